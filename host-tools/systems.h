// SPDX-License-Identifier: Apache-2.0
//
// The way from the tool to the device: everything that knows instruction streams and libmoeswitch is
// behind this function.
#ifndef MW_HOST_SYSTEMS_H
#define MW_HOST_SYSTEMS_H

#include "result.h"

/// Run all layers of `workload` under `system` (a name of mw_systems) on one device, back to back
/// and without a reset in between. `params` is prepared (mw_run_prepare), except that params->fst is
/// the file for this system. `result` comes from mw_result_make; filled in are, for every layer,
/// cycles, traffic, stalls and out, and simulated_cycles.
///
/// Returns MW_EXIT_OK; MW_EXIT_INPUT if the device cannot hold the sizes or does not know a setting;
/// MW_EXIT_STUCK, with result->state, if it stopped making progress; MW_EXIT_FAILED. Except for the
/// first, result->error says why. Comparing the output with the golden model is left to the caller.
int mw_system_run(const struct mw_run_params *params, const struct mw_workload *workload,
                  const char *system, struct mw_result *result);

#endif
