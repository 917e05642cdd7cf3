// SPDX-License-Identifier: Apache-2.0
//
// What the routing of a layer requires of its GPUs, independent of the system.
#ifndef MW_HOST_FACTS_H
#define MW_HOST_FACTS_H

#include "trace/workload.h"

/// Facts of a layer that do not depend on the system.
struct mw_layer_facts {
    uint64_t rows[MW_MAX_GPUS];      ///< (token, expert) rows of each engine
    unsigned busiest;                ///< the engine with the most of them
    uint64_t additions[MW_MAX_GPUS]; ///< of rows in the hub of each GPU where the switch joins
                                     ///< partial sums: terms - 1 of every row summed there
    double remote_gpus_per_token;    ///< mean of d, home excluded
    double home_share;               ///< share of tokens with an expert at home
};

/// Count them in layer `layer` (an index) of `w`.
void mw_layer_facts(const struct mw_workload *w, unsigned layer, struct mw_layer_facts *facts);

#endif
