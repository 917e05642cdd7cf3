// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch selftest`: tests of a device, one of which is a run of a small layer.
#ifndef MW_HOST_SELFTEST_H
#define MW_HOST_SELFTEST_H

#include "cli/option_table.h"

#include <stdio.h>

/// The options of the command.
extern const struct mw_option_table mw_selftest_table;
/// The command: argv[0] is "selftest". Returns the exit status.
int mw_selftest_command(int argc, char **argv, FILE *out, FILE *errors);

#endif
