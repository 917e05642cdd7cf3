// SPDX-License-Identifier: Apache-2.0
//
// The `moeswitch` command: picks the subcommand.
#include "bench/bench.h"
#include "device.h"
#include "gen.h"
#include "option_table.h"
#include "run.h"
#include "sweep/sweep.h"
#include "top.h"
#include "trace_info.h"

#include <errno.h>
#include <string.h>

static void usage(FILE *out)
{
    fputs("usage: moeswitch COMMAND [OPTION]...\n"
          "       moeswitch --help | --version\n"
          "\n"
          "  run       run MoE layers through the switch and check every bit\n"
          "  trace     say what a routing trace holds\n"
          "  gen       make a routing trace up\n"
          "  sweep     run a grid of options, here or on a cluster, into one table\n"
          "  bench     measure the fabric with patterns of traffic, in the manner of nccl-tests\n"
          "  top       show what devices do that programs have open\n"
          "  list      list the devices on USB\n"
          "  info      say what a device is\n"
          "  selftest  test a device\n"
          "  firmware  bring a firmware into a device\n"
          "\n"
          "`moeswitch COMMAND --help` lists the options of a command.\n",
          out);
}

/// What was printed may not have arrived: a full disk must not look like success.
static int close_output(int status)
{
    errno = 0;
    bool failed = ferror(stdout) != 0;
    failed |= fclose(stdout) != 0;
    if (!failed)
        return status;
    fprintf(stderr, "moeswitch: standard output: cannot write: %s\n",
            errno ? strerror(errno) : "some of it was lost");
    return status > MW_EXIT_MISMATCH ? status : MW_EXIT_FAILED;
}

static int run(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv, FILE *out, FILE *errors);
    } commands[] = {{"run", mw_run_command},           {"trace", mw_trace_command},
                    {"gen", mw_gen_command},           {"sweep", mw_sweep_command},
                    {"bench", mw_bench_command},       {"top", mw_top_command},
                    {"list", mw_list_command},         {"info", mw_info_command},
                    {"selftest", mw_selftest_command}, {"firmware", mw_firmware_command}};
    enum { COMMANDS = sizeof commands / sizeof *commands };
    const char *names[COMMANDS];
    const char *command = argc > 1 ? argv[1] : "";
    for (unsigned i = 0; i < COMMANDS; i++) {
        names[i] = commands[i].name;
        if (strcmp(command, names[i]) == 0)
            return commands[i].run(argc - 1, argv + 1, stdout, stderr);
        if (argc == 3 && strcmp(command, "help") == 0 && strcmp(argv[2], names[i]) == 0)
            return commands[i].run(2, (char *[]){argv[2], (char *)"--help", NULL}, stdout, stderr);
    }
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0 ||
        strcmp(command, "help") == 0) {
        usage(stdout);
        return MW_EXIT_OK;
    }
    if (strcmp(command, "--version") == 0) {
        puts("moeswitch " MW_VERSION);
        return MW_EXIT_OK;
    }
    const char *near = mw_closest(command, names, COMMANDS);
    if (*command)
        fprintf(stderr, "moeswitch: %s: unknown command, see moeswitch --help%s%s%s\n", command,
                near ? " (" : "", near ? near : "", near ? "?)" : "");
    else
        usage(stderr);
    return MW_EXIT_INPUT;
}

int main(int argc, char **argv)
{
    return close_output(run(argc, argv));
}
