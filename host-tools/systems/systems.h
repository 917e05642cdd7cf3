// SPDX-License-Identifier: Apache-2.0
//
// The way from the tool to the device: everything that uses instruction streams and libmoeswitch is
// behind these functions.
#ifndef MW_HOST_SYSTEMS_H
#define MW_HOST_SYSTEMS_H

#include "analysis/demand.h"
#include "experiment/result.h"

/// The system, with the settings' changes of the packets that it sends. Mechanisms without a use
/// stay off, as reports if no stream waits for signals.
struct mw_system mw_system_as_set(const struct mw_system *system,
                                  const struct mw_settings *settings);

/// Rows that `moeswitch` lets dispatch be ahead of its part, of a layer of that shape.
unsigned mw_throttle_ahead(unsigned tile, unsigned experts_per_gpu, unsigned k, unsigned trip);
/// Rows that a GPU dispatches between a row's dispatch and its partial sum's, if experts are chosen
/// evenly. The time is that of four links longer than a cycle (row, target, report, grant).
unsigned mw_throttle_trip(const struct mw_run_params *params, unsigned k);

/// Tokens that each GPU dispatches by their numbers. The others wait until copies are counted, and
/// leave in the order made. They are as many as the dispatch throttle allows before the first
/// partial sum, and at least as many as the links carry while a GPU counts and orders, if experts
/// are chosen evenly. In a cached layer nothing is counted.
unsigned mw_early_tokens(const struct mw_system *system, const struct mw_run_params *params,
                         const struct mw_workload *w, bool cached);

/// Take out of `moeswitch` what cannot help in a layer of the workload's shape, unless a
/// setting names one of its mechanisms. Other systems stay as they are. Returns whether it sends
/// what `dysharp` does.
bool mw_system_fit_layer(struct mw_system *system, const struct mw_run_params *params,
                         const struct mw_workload *workload);

/// The setting of a primitive that the system needs and the device lacks, or NULL.
const char *mw_system_lack(const struct mw_system *system, const struct mw_device_info *info);

/// Find out before a run whether the device holds it under every system that `params` requests;
/// params->shape has its GPUs. `touched` gets what each takes of this machine where the device is
/// simulated, 0 for systems that were not requested. If all are requested, those that need a
/// primitive without which the device was built are left out. MW_EXIT_INPUT: it does not, and the
/// line has what is too large, why, and which option to change. `built`: no device is opened. The
/// check uses the device that `make model` makes (mw_device_built), which need not be there.
/// Otherwise, a run with waveforms is not checked: mw_system_run checks again when it begins.
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
/// Returns MW_EXIT_OK or MW_EXIT_FAILED. MW_EXIT_INPUT: the device cannot hold the sizes or does
/// not have a setting. MW_EXIT_STUCK, with result->state: it stopped making progress. Except for
/// MW_EXIT_OK, result->error has the cause. The caller compares the output with the golden model.
int mw_system_run(const struct mw_run_params *params, const struct mw_workload *workload,
                  struct mw_result *result);

#endif
