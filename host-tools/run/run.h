// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch run`: one MoE layer, or several, under one or all systems. experiment/params.h has its
// parameters, systems/systems.h executes it, and report/report.h prints the result.
#ifndef MW_HOST_RUN_H
#define MW_HOST_RUN_H

#include "cli/option_table.h"
#include "experiment/params.h"

#include <stdio.h>

/// The defaults of every option.
void mw_run_defaults(struct mw_run_params *params);
/// The options that there are.
const struct mw_option_table *mw_run_option_table(void);
/// Parse the words after `moeswitch run`. Sets `help` if help was requested. The rest is then
/// unset.
int mw_run_parse(struct mw_run_params *params, int argc, char **argv, bool *help,
                 struct mw_error *err);
/// The options of the command.
extern const struct mw_option_table mw_run_table;
/// The command: argv[0] is "run". Tables go to `out`, messages to `err`. Returns the exit status.
int mw_run_command(int argc, char **argv, FILE *out, FILE *err);

#endif
