// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch info`: what a device is, and which systems it can run.
#ifndef MW_HOST_INFO_H
#define MW_HOST_INFO_H

#include "cli/option_table.h"

#include <stdio.h>

/// The options of the command.
extern const struct mw_option_table mw_info_table;
/// The command: argv[0] is "info". Returns the exit status.
int mw_info_command(int argc, char **argv, FILE *out, FILE *errors);

#endif
