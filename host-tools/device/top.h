// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch top`: counters and links of the devices that programs of this user have open.
#ifndef MW_HOST_TOP_H
#define MW_HOST_TOP_H

#include "cli/option_table.h"
#include "moeswitch.h"

#include <stdio.h>

/// One device, as lines. `before` is the sample before (sampled: false where there is none),
/// `seconds` the time between the two. With `colour` for a terminal.
void mw_top_device(FILE *out, const struct mw_shared *now, const struct mw_shared *before,
                   double seconds, bool colour);

/// The options of the command.
extern const struct mw_option_table mw_top_table;
/// The command: argv[0] is "top".
int mw_top_command(int argc, char **argv, FILE *out, FILE *errors);

#endif
