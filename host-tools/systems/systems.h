// SPDX-License-Identifier: Apache-2.0
//
// The way from the tool to the device: everything that knows instruction streams and libmoeswitch
// is behind this function.
#ifndef MW_HOST_SYSTEMS_H
#define MW_HOST_SYSTEMS_H

#include "analysis/demand.h"
#include "experiment/result.h"

/// The system with what the settings change of the packets that it sends. What it has no use for,
/// as reports where nobody waits for signals, stays off.
struct mw_system mw_system_as_set(const struct mw_system *system,
                                  const struct mw_settings *settings);

/// Rows that `moeswitch` lets dispatch be ahead of its part, of a layer of that shape.
unsigned mw_throttle_ahead(unsigned tile, unsigned experts_per_gpu, unsigned k, unsigned trip);
/// Rows that a GPU dispatches, where experts are chosen evenly, from a row's dispatch to its
/// partial sum's: four links longer than a cycle (row, target, report, grant).
unsigned mw_throttle_trip(const struct mw_run_params *params, unsigned k);

/// Take out of `moeswitch` what cannot help in a layer of the workload's shape, unless a
/// setting names one of its mechanisms. Other systems stay as they are. Returns whether it sends
/// what `dysharp` does.
bool mw_system_fit_layer(struct mw_system *system, const struct mw_run_params *params,
                         const struct mw_workload *workload);

/// The setting of a primitive that the system needs and the device lacks, or NULL.
const char *mw_system_lack(const struct mw_system *system, const struct mw_device_info *info);

/// Find out before a run whether the device holds it under every system that `params` asks for;
/// params->shape has its GPUs. `touched` gets what each takes of this machine where the device is
/// simulated, 0 for systems that were not asked for. If all are, those that need a primitive which
/// the device was built without are left out. MW_EXIT_INPUT: it does not, and the line says what
/// is too large, why, and which option to change. `built`: no device is opened; it is asked of what
/// `make model` makes (mw_device_built), which need not be there. Else a run with waveforms is not
/// looked at: mw_system_run looks once more when it begins.
int mw_systems_check(const struct mw_run_params *params, const struct mw_demand *demand, bool built,
                     uint64_t touched[MW_SYSTEMS], struct mw_left_out left_out[MW_SYSTEMS],
                     struct mw_error *err);

/// Whether the settings of `params` are there, with values that they may have; without a device.
int mw_system_settings_check(const struct mw_run_params *params, struct mw_error *err);

/// Run all layers of `workload` under the system of `result` on one device, back to back and
/// without a reset in between. `params` is prepared (mw_run_prepare), except that params->fst is
/// the file for this system. `result` comes from mw_result_make; filled in are, for every layer,
/// cycles, traffic, stalls and out, and simulated_cycles.
///
/// Returns MW_EXIT_OK; MW_EXIT_INPUT if the device cannot hold the sizes or does not know a
/// setting; MW_EXIT_STUCK, with result->state, if it stopped making progress; MW_EXIT_FAILED.
/// Except for the first, result->error says why. Comparing the output with the golden model
/// is left to the caller.
int mw_system_run(const struct mw_run_params *params, const struct mw_workload *workload,
                  struct mw_result *result);

#endif
