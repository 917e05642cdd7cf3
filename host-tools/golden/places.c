// SPDX-License-Identifier: Apache-2.0
#include "golden/places.h"

#include <string.h>

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

void mw_places_tiles(const struct mw_workload *w, unsigned layer, unsigned tile,
                     uint64_t tiles[MW_MAX_GPUS][MW_MAX_GPUS])
{
    unsigned rows[MW_MAX_EXPERTS]; // of this home
    memset(tiles, 0, MW_MAX_GPUS * sizeof *tiles);
    for (unsigned p = 0, token = 0; p < w->shape.gpus; p++) {
        memset(rows, 0, sizeof rows);
        for (; token < (p + 1) * w->shape.tokens_per_gpu; token++) {
            const uint16_t *ids = w->layer[layer].ids + (size_t)token * w->k;
            for (unsigned j = 0; j < w->k; j++)
                if (ids[j] != MW_NO_EXPERT && rows[ids[j]]++ % tile == 0)
                    tiles[mw_gpu_of_expert(w, ids[j])][p]++;
        }
    }
}
