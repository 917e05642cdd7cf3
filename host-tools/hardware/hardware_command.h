// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch hardware`: the machines that --hardware accepts, and one of them as a file.
#ifndef MW_HOST_HARDWARE_COMMAND_H
#define MW_HOST_HARDWARE_COMMAND_H

#include "cli/option_table.h"

#include <stdio.h>

extern const struct mw_option_table mw_hardware_table;
int mw_hardware_command(int argc, char **argv, FILE *out, FILE *errors);

#endif
