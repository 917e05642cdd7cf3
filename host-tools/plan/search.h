// SPDX-License-Identifier: Apache-2.0
//
// All ways to share a step over GPUs, and the fastest of those that fit.
#ifndef MW_PLAN_SEARCH_H
#define MW_PLAN_SEARCH_H

#include "plan/step.h"

struct mw_search {
    bool system[MW_SYSTEMS];       ///< that are compared
    unsigned top;                  ///< steps that are kept
    struct mw_step *best;          ///< [top], the fastest first
    unsigned found;                ///< of them
    struct mw_step of[MW_SYSTEMS]; ///< the fastest of each system; seconds 0: none fits
    size_t tried, too_large;       ///< ways whose sizes divide; of them those that do not fit
    struct mw_step smallest;       ///< the one that takes least memory
};

/// Try every way with the sizes of `fixed` that are not 0. Sizes are powers of two, of stages and
/// expert parallelism every divisor. A context is split only from MW_LONG_CONTEXT tokens on, unless
/// it is fixed. MW_EXIT_INPUT: no sizes divide, or none fits, with the largest part of the smallest
/// and what is too much; MW_EXIT_FAILED: no memory.
int mw_search_run(struct mw_search *s, struct mw_planner *p, const struct mw_parallel *fixed,
                  bool recompute_fixed, struct mw_error *err);
void mw_search_free(struct mw_search *s);

enum { MW_LONG_CONTEXT = 32768 };

#endif
