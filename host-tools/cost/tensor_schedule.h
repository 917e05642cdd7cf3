// SPDX-License-Identifier: Apache-2.0
//
// When the streams of a tensor-parallel system end, by a schedule of one GPU. All GPUs run alike,
// so that what a GPU gets from the others it sends at the same time. The streams are those that
// devices run.
#ifndef MW_COST_TENSOR_SCHEDULE_H
#define MW_COST_TENSOR_SCHEDULE_H

#include "tp/tp.h"

/// Cycles of the workload under a system that can run it, at most MW_TP_MOST_ROWS rows.
/// `link_latency` is that of one link.
double mw_tensor_schedule(const struct mw_tp_problem *p, const struct mw_tp_system *system,
                          unsigned link_latency);

#endif
