// SPDX-License-Identifier: Apache-2.0
//
// --hardware of `moeswitch run`: the parameters of a run that a machine sets and no option.
#ifndef MW_HOST_HARDWARE_OPTIONS_H
#define MW_HOST_HARDWARE_OPTIONS_H

#include "cli/option_table.h"
#include "experiment/params.h"

/// GPUs, link latency, time of an expert's row and the simulated share of a row from
/// params->hardware, if there is one. Options that were given stay. MW_EXIT_INPUT: the fabric or
/// the machine cannot do what was requested.
int mw_hardware_apply(struct mw_run_params *params, const struct mw_options_said *said,
                      struct mw_error *err);

#endif
