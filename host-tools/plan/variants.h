// SPDX-License-Identifier: Apache-2.0
//
// How the step of the best configuration changes with the GPUs that share experts, and with k.
#ifndef MW_PLAN_VARIANTS_H
#define MW_PLAN_VARIANTS_H

#include "plan/search.h"

enum { MW_VARIANTS = 12 };

/// The same step with another value.
struct mw_variant {
    unsigned value;             ///< GPUs of expert parallelism, or experts per token
    double seconds[MW_SYSTEMS]; ///< of each system; 0: not compared
    bool extrapolated;          ///< of one system at least
};

struct mw_variants {
    unsigned gpus, ks; ///< how many there are of each
    struct mw_variant by_gpus[MW_VARIANTS];
    struct mw_variant by_k[MW_VARIANTS];
};

/// Steps of `best` with every number of GPUs that divides its experts and GPUs, whether they fit or
/// not. If the routing is synthetic (`synthetic` is not NULL; its k is not used), also steps with k
/// doubled from 1 on. MW_EXIT_FAILED: no memory.
int mw_variants_make(struct mw_variants *v, const struct mw_search *s, const struct mw_planner *p,
                     const struct mw_synthetic *synthetic, struct mw_error *err);

#endif
