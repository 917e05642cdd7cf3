// SPDX-License-Identifier: Apache-2.0
//
// Where a token's experts are.
#ifndef MW_HOST_PLACES_H
#define MW_HOST_PLACES_H

#include "trace/workload.h"

struct mw_places {
    unsigned home;
    unsigned at[MW_MAX_GPUS]; ///< experts of the token per GPU, home too
    unsigned remote_rows;     ///< sum of at[] without home
    unsigned remote_gpus;
};

/// `layer` as an index, `token` of the layer. Places without an expert count nothing.
void mw_places_find(const struct mw_workload *w, unsigned layer, unsigned token,
                    struct mw_places *p);

/// Tiles where each has rows of one expert and one home: tiles[q][p] of the experts of GPU
/// q for tokens of GPU p.
void mw_places_tiles(const struct mw_workload *w, unsigned layer, unsigned tile,
                     uint64_t tiles[MW_MAX_GPUS][MW_MAX_GPUS]);

#endif
