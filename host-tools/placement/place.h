// SPDX-License-Identifier: Apache-2.0
//
// The parts of placement.h: one layer's placement made or read, and its lists rewritten.
#ifndef MW_HOST_PLACE_H
#define MW_HOST_PLACE_H

#include "placement/placement.h"

struct mw_csv_table;

/// Sizes of a placement.
struct mw_place_sizes {
    unsigned gpus, experts, places; ///< of a layer: places divisible by GPUs
};

/// Place by load, greedily. Extra copies go to the experts with the largest load per copy. The
/// copies, largest share first, go to the GPU with the smallest sum that has room and no copy of
/// the expert. `expert_at` has an expert for each place. MW_EXIT_FAILED: no memory.
int mw_place_by_loads(const struct mw_place_sizes *sizes, const double *load, uint16_t *expert_at,
                      struct mw_error *err);
/// Place p has expert p modulo the number of experts.
void mw_place_contiguously(const struct mw_place_sizes *sizes, uint16_t *expert_at);

/// Places of a file that hold for layer `layer`.
int mw_places_of_file(const struct mw_csv_table *t, size_t layer, unsigned *places,
                      struct mw_error *err);
/// Take them. `sizes` has their number. MW_EXIT_INPUT: an expert or GPU that does not exist, an
/// expert without a place or twice on a GPU, different numbers of places.
int mw_place_by_file(const struct mw_csv_table *t, size_t layer, const struct mw_place_sizes *sizes,
                     uint16_t *expert_at, struct mw_error *err);

/// Rewrite the lists [tokens][k] of experts as lists of places. `tokens` is a multiple of N *
/// `per_gpu`: each GPU has `per_gpu` of them, one GPU after the other, repeatedly.
int mw_choose_places(const struct mw_place_sizes *sizes, const uint16_t *expert_at,
                     enum mw_replica_choice choice, uint16_t *ids, size_t tokens, unsigned per_gpu,
                     unsigned k, struct mw_error *err);

#endif
