// SPDX-License-Identifier: Apache-2.0
//
// The commands of `moeswitch`, each with the table of its options. The users of all commands go
// through this list: the program, manual pages, completion.
#ifndef MW_HOST_COMMANDS_H
#define MW_HOST_COMMANDS_H

#include "cli/option_table.h"

#include <stdio.h>

struct mw_command {
    const struct mw_option_table *table;
    /// argv[0] is the name of the command. Returns the exit status.
    int (*run)(int argc, char **argv, FILE *out, FILE *errors);
};

extern const struct mw_command mw_commands[];
extern const unsigned mw_command_count;

/// The command that the words begin with, and in `words` how many of them are its name; or NULL.
/// The longest name counts.
const struct mw_command *mw_command_find(int argc, char *const *argv, int *words);

#endif
