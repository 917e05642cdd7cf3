// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch gen`: a synthetic routing trace, as a folder that --trace reads.
#ifndef MW_HOST_GEN_H
#define MW_HOST_GEN_H

#include "cli/option_table.h"

#include <stdio.h>

/// The options of the command.
extern const struct mw_option_table mw_gen_table;
/// The command: argv[0] is "gen". Returns the exit status.
int mw_gen_command(int argc, char **argv, FILE *out, FILE *errors);

#endif
