// SPDX-License-Identifier: Apache-2.0
//
// See facts.h.
#include "analysis/facts.h"

#include "golden/places.h"

void mw_layer_facts(const struct mw_workload *w, unsigned layer, struct mw_layer_facts *facts)
{
    *facts = (struct mw_layer_facts){0};
    uint64_t remote = 0, home = 0;
    for (unsigned t = 0; t < w->tokens; t++) {
        struct mw_places p;
        mw_places_find(w, layer, t, &p);
        remote += p.remote_gpus;
        home += p.at[p.home] != 0;
        for (unsigned q = 0; q < w->shape.gpus; q++) {
            facts->rows[q] += p.at[q];
            if (p.at[q])
                facts->additions[q] += p.at[q] - 1u + (q == p.home && p.remote_gpus > 0);
        }
    }
    for (unsigned q = 1; q < w->shape.gpus; q++)
        if (facts->rows[q] > facts->rows[facts->busiest])
            facts->busiest = q;
    facts->remote_gpus_per_token = (double)remote / w->tokens;
    facts->home_share = (double)home / w->tokens;
}
