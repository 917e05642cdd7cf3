// SPDX-License-Identifier: Apache-2.0
//
// The `moeswitch` command: picks the subcommand.
#include "bench/bench.h"
#include "run.h"

#include <string.h>

static void usage(FILE *out)
{
    fputs("usage: moeswitch COMMAND [OPTION]...\n"
          "       moeswitch --help | --version\n"
          "\n"
          "  run    run MoE layers through the simulated switch and check every bit\n"
          "  bench  measure the fabric with patterns of traffic, in the manner of nccl-tests\n"
          "\n"
          "`moeswitch COMMAND --help` lists the options of a command.\n",
          out);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    if (strcmp(command, "run") == 0)
        return mw_run_command(argc - 1, argv + 1, stdout, stderr);
    if (strcmp(command, "bench") == 0)
        return mw_bench_command(argc - 1, argv + 1, stdout, stderr);
    if (strcmp(command, "--help") == 0 || strcmp(command, "help") == 0) {
        usage(stdout);
        return MW_EXIT_OK;
    }
    if (strcmp(command, "--version") == 0) {
        puts("moeswitch " MW_VERSION);
        return MW_EXIT_OK;
    }
    if (*command)
        fprintf(stderr, "moeswitch: %s: unknown command, see moeswitch --help\n", command);
    else
        usage(stderr);
    return MW_EXIT_INPUT;
}
