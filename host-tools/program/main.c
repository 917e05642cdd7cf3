// SPDX-License-Identifier: Apache-2.0
//
// The `moeswitch` command: picks the subcommand.
#include "base/interrupt.h"
#include "base/text.h"
#include "cli/command_help.h"
#include "program/commands.h"

#include "moeswitch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void usage(FILE *out)
{
    fputs("usage: moeswitch COMMAND [OPTION]...\n"
          "       moeswitch --help | --version\n\n",
          out);
    for (unsigned i = 0; i < mw_command_count; i++)
        fprintf(out, "  %-11s %s\n", mw_commands[i].table->command, mw_commands[i].table->summary);
    fputs("\n`moeswitch COMMAND --help` lists the options of a command.\n", out);
}

static volatile sig_atomic_t reader_gone;

/// What was printed may not have arrived: a full disk must not look like success.
static int close_output(int status)
{
    errno = 0;
    bool failed = ferror(stdout) != 0;
    failed |= fclose(stdout) != 0;
    if (!failed || status == MW_EXIT_FAILED || status == MW_EXIT_PIPE) // which are reported
        return status;
    if (reader_gone)
        return status > MW_EXIT_MISMATCH ? status : MW_EXIT_PIPE;
    fprintf(stderr, "moeswitch: standard output: cannot write: %s\n",
            errno ? strerror(errno) : "some of it was lost");
    return status > MW_EXIT_MISMATCH ? status : MW_EXIT_FAILED;
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static int unknown(const char *word)
{
    const char *names[64];
    unsigned count = 0;
    for (; count < mw_command_count && count < sizeof names / sizeof *names; count++)
        names[count] = mw_commands[count].table->command;
    const char *near = mw_closest(word, names, count);
    fprintf(stderr, "moeswitch: %s: unknown command, see moeswitch --help%s%s%s\n", MW_SHOWN(word),
            near ? " (" : "", near ? near : "", near ? "?)" : "");
    return MW_EXIT_INPUT;
}

static int run(int argc, char **argv)
{
    int words;
    const struct mw_command *command = mw_command_find(argc - 1, argv + 1, &words);
    if (command) {
        argv[words] = (char *)command->table->command; // as its messages call it
        return command->run(argc - words, argv + words, stdout, stderr);
    }
    if (argc > 2 && strcmp(argv[1], "help") == 0) {
        command = mw_command_find(argc - 2, argv + 2, &words);
        if (!command)
            return unknown(argv[2]);
        if (words != argc - 2) {
            fprintf(stderr, "moeswitch: %s: unexpected word behind help %s\n",
                    MW_SHOWN(argv[2 + words]), command->table->command);
            return MW_EXIT_INPUT;
        }
        mw_command_help(command->table, stdout);
        return MW_EXIT_OK;
    }
    if (argc > 1 && asks_for_help(argv[1])) {
        usage(stdout);
        return MW_EXIT_OK;
    }
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts("moeswitch " MW_VERSION);
        return MW_EXIT_OK;
    }
    if (argc > 1 && *argv[1])
        return unknown(argv[1]);
    usage(stderr);
    return MW_EXIT_INPUT;
}

/// A reader that has gone ends the command, in order and without a line.
static void take_broken_pipe(int number)
{
    reader_gone = number;
}

/// A file that may not grow (`ulimit -f`): its writer gets EFBIG, and reports it.
static void take_file_limit(int number)
{
    (void)number;
}

/// A standard descriptor that is closed would be that of a file which is opened later, and tables
/// and messages would go there. What takes its place can be neither read nor written.
static void occupy_closed(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_DIRECTORY) < 0)
            return; // no descriptor is left for any other file
}

int main(int argc, char **argv)
{
    // handlers, which programs that are started do not inherit, as they would SIG_IGN
    const struct sigaction on_pipe = {.sa_handler = take_broken_pipe},
                           on_limit = {.sa_handler = take_file_limit};
    sigaction(SIGPIPE, &on_pipe, NULL);
    sigaction(SIGXFSZ, &on_limit, NULL);
    occupy_closed();
    return mw_interrupt_status(close_output(run(argc, argv)));
}
