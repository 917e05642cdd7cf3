// SPDX-License-Identifier: Apache-2.0
//
// Which options of `moeswitch run` go with which workload.
#ifndef MW_TP_OPTIONS_H
#define MW_TP_OPTIONS_H

#include "experiment/params.h"

/// MW_EXIT_INPUT, and a line: an option, setting or system that the workload does not have.
int mw_tp_check_options(const struct mw_run_params *params, const struct mw_options_said *said,
                        struct mw_error *err);

#endif
