// SPDX-License-Identifier: Apache-2.0
//
// Time of one layer of a micro-batch on the busiest GPU.
#ifndef MW_PLAN_LAYER_H
#define MW_PLAN_LAYER_H

#include "plan/step.h"

enum { MW_PLAN_FLIT = 16 }; ///< bytes, of every machine

enum mw_side { MW_SIDE_ATTENTION, MW_SIDE_FFN, MW_SIDES };

struct mw_layer_time {
    double part[MW_STEP_PARTS]; ///< seconds of forward and backward
    double forward, backward;   ///< backward with what is recomputed; 0 without training
    /// Seconds of forward GEMMs that read gathered rows, and of those whose results are added.
    double gathered[MW_SIDES], reduced[MW_SIDES];
};

/// Set rows and remote GPUs of `s`, which depend on the routing. MW_EXIT_FAILED: no memory.
int mw_layer_rows(struct mw_planner *p, const struct mw_parallel *how, struct mw_step *s,
                  struct mw_error *err);
/// Time of a layer with experts, or of a dense one; of the first kind also the figures of `s` that
/// are one layer's. MW_EXIT_FAILED: no memory.
int mw_layer_time(struct mw_planner *p, const struct mw_parallel *how, unsigned system, bool dense,
                  struct mw_step *s, struct mw_layer_time *time, struct mw_error *err);
/// Dispatch and combine of a micro-batch without experts: `seconds`, and `nothing`, the seconds
/// that they take without rows. `bytes` are those of a GPU's tokens with a bf16 row for each
/// expert. MW_EXIT_FAILED: no memory.
int mw_layer_communication(struct mw_planner *p, struct mw_step *s, double *seconds,
                           double *nothing, double *bytes, struct mw_error *err);
/// Forward of the head.
double mw_head_seconds(const struct mw_planner *p, const struct mw_parallel *how);

#endif
