// SPDX-License-Identifier: Apache-2.0
//
// Times of experts as LLMServingSim reads them: its profiler's moe.csv.
#ifndef MW_PLAN_MOE_CSV_H
#define MW_PLAN_MOE_CSV_H

#include "plan/step.h"

#include <stdio.h>

/// Lines "tokens,activated_experts,time_us" for powers of two up to `most` tokens and the local
/// experts of the step. The time is that of router, experts and permutation of the tokens that one
/// GPU has after dispatch, in forward. Each token has as many of its k experts there as are
/// activated. Dispatch and combine are not in them, as LLMServingSim simulates its network.
void mw_moe_csv(FILE *out, const struct mw_planner *p, const struct mw_step *s, unsigned most);

#endif
