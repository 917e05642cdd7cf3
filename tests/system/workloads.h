// SPDX-License-Identifier: Apache-2.0
//
// Runs of tensor-parallel workloads in tests: words of a command line, a system, and a device.
#ifndef SYSTEM_WORKLOADS_H
#define SYSTEM_WORKLOADS_H

#include "experiment/params.h"
#include "tp_run/tp_run.h"

struct workload {
    struct mw_run_params params;
    struct mw_tp_problem problem;
};

/// Parse the options after `run`, and prepare, as the command does. MW_EXIT_INPUT, and a line:
/// refused.
int workload_prepare(struct workload *w, const char *words, struct mw_error *err);
/// The same. The test fails if the workload is refused.
void workload_make(struct workload *w, const char *words);
/// Run a system on the device, all zero for a simulated one. The test fails where a bit, a flit
/// or a bound is wrong.
struct mw_tp_result workload_pass(struct workload *w, const struct mw_tp_system *system,
                                  struct mw_device_choice device);
/// Run a system, or where it is NULL each that fits, on a simulated device and on `device`.
/// The test fails where cycles, flits or stalls differ.
void workload_compare(struct workload *w, const struct mw_tp_system *system,
                      struct mw_device_choice device);

#endif
