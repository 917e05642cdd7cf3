// SPDX-License-Identifier: Apache-2.0
//
// Expert counts: how many tokens each expert of each layer had, as serving engines record them for
// load balancing (EPLB), and traces with these shares.
#ifndef MW_HOST_COUNTS_H
#define MW_HOST_COUNTS_H

#include "trace/trace.h"

enum { MW_MAX_COUNT_LAYERS = 10000 };

struct mw_counts {
    size_t layers;
    unsigned experts;
    double *load; ///< [layers][experts], finite, at least 0
};

/// Read a file of numbers [layers][experts], or [experts] of one layer: .npy, or CSV with a line
/// for each layer. MW_EXIT_OK, or MW_EXIT_INPUT and a line that names file, place and cause.
int mw_counts_read(struct mw_counts *counts, const char *path, struct mw_error *err);
void mw_counts_free(struct mw_counts *counts);

/// Make a trace of `tokens` tokens in each layer with k experts each. Each expert has its share of
/// the layer's `tokens * k` places, rounded to a whole number by the largest remainder. Counts that
/// sum to `tokens * k` come back exactly. Which tokens those are is random.
int mw_trace_of_counts(struct mw_trace *trace, const struct mw_counts *counts, size_t tokens,
                       unsigned k, uint64_t seed, const char *name, struct mw_error *err);

#endif
