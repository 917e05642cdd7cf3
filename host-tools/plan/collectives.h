// SPDX-License-Identifier: Apache-2.0
//
// What a layer waits for when GPUs split its projections or its sequence.
#ifndef MW_PLAN_COLLECTIVES_H
#define MW_PLAN_COLLECTIVES_H

#include "plan/layer.h"

/// Add what the layer's other parts, which `time` has, do not hide.
void mw_collectives_add(const struct mw_planner *p, const struct mw_parallel *how, bool ffn_split,
                        struct mw_step *s, struct mw_layer_time *time);

#endif
