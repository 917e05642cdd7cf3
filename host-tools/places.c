// SPDX-License-Identifier: Apache-2.0
#include "places.h"

void mw_places_find(const struct mw_workload *w, unsigned layer, unsigned token,
                    struct mw_places *p)
{
    const uint16_t *ids = w->layer[layer].ids + (size_t)token * w->k;
    *p = (struct mw_places){.home = mw_gpu_of_token(w, token)};
    for (unsigned j = 0; j < w->k; j++) {
        if (ids[j] == MW_NO_EXPERT)
            continue;
        unsigned q = mw_gpu_of_expert(w, ids[j]);
        p->remote_gpus += q != p->home && !p->at[q];
        p->remote_rows += q != p->home;
        p->at[q]++;
    }
}
