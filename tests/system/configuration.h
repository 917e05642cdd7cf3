// SPDX-License-Identifier: Apache-2.0
//
// Random configurations of a run: sizes, routing, credits down to the minimum, latency, tiles,
// windows, stalls and skew. All are set at run time, so a few models serve them all.
#ifndef MW_TEST_CONFIGURATION_H
#define MW_TEST_CONFIGURATION_H

#include "bench.h"

/// A model, and the largest sizes for it.
struct configuration_model {
    unsigned gpus, flit_bytes;
    bool small;
    unsigned weight; ///< how often; those of all models are 16 together
    unsigned tokens, rows_flits, experts_per_gpu;
    bool far; ///< links of more than 64 cycles, and credits of all sizes
};

struct configuration {
    struct bench bench; ///< prepared; bench_free it
    const char *system;
};

/// Make configuration `i` of a seed, and print it.
void configuration_make(struct configuration *c, uint64_t seed, unsigned i,
                        const struct configuration_model *models);
/// The same with more options, such as " --pass step".
void configuration_make_with(struct configuration *c, uint64_t seed, unsigned i,
                             const struct configuration_model *models, const char *more);
/// Run configurations 0 to few - 1, with MW_LONG 0 to many - 1, or MW_CONFIG alone. MW_SEED is the
/// seed. `run` returns false for one that it leaves out. Of each system at least 1 / share of an
/// equal part must run, for 0 any number.
void configurations_run(unsigned few, unsigned many, const struct configuration_model *models,
                        const char *more, bool (*run)(struct configuration *c), unsigned share);

#endif
