// SPDX-License-Identifier: Apache-2.0
//
// Traces with given counts of tokens per expert, see counts.h. The places of a layer are assigned
// so that each expert has its count and no token has an expert twice. Exchanges of two places,
// which keep both properties, then make the layer random.
#include "base/random.h"
#include "trace/counts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXCHANGES = 10 }; ///< tries for each place

/// Memory for a layer.
struct dealer {
    struct mw_random random;
    size_t tokens;
    unsigned k, experts;
    size_t *places;    ///< of each expert
    double *remainder; ///< of what rounding down took from it
    unsigned *order;   ///< of the experts
};

/// Whole numbers of places, whose sum is tokens * k. An expert without load gets none.
static void share_out(struct dealer *d, const double *load, double sum)
{
    const double all = (double)d->tokens * d->k;
    size_t left = d->tokens * d->k;
    for (unsigned e = 0; e < d->experts; e++) {
        double exact = load[e] / sum * all;
        d->places[e] = exact < (double)d->tokens ? (size_t)exact : d->tokens;
        d->remainder[e] = load[e] > 0 ? exact - (double)d->places[e] : -1;
        left -= d->places[e];
    }
    for (; left; left--) {
        unsigned best = d->experts;
        for (unsigned e = 0; e < d->experts; e++)
            if (load[e] > 0 && d->places[e] < d->tokens &&
                (best == d->experts || d->remainder[e] > d->remainder[best]))
                best = e;
        d->places[best]++;
        d->remainder[best] -= 1;
    }
}

static void shuffle(struct dealer *d)
{
    for (unsigned e = 0; e < d->experts; e++)
        d->order[e] = e;
    for (unsigned e = d->experts - 1; e > 0; e--) {
        unsigned other = (unsigned)mw_random_below(&d->random, e + 1), swap = d->order[e];
        d->order[e] = d->order[other];
        d->order[other] = swap;
    }
}

/// Token after token, expert after expert, k times round. An expert has at most as many places as
/// there are tokens, and so no token twice.
static void deal(const struct dealer *d, uint16_t *ids)
{
    size_t at = 0;
    for (unsigned i = 0; i < d->experts; i++)
        for (size_t n = 0; n < d->places[d->order[i]]; n++, at++)
            ids[at % d->tokens * d->k + at / d->tokens] = (uint16_t)d->order[i];
}

static bool has(const uint16_t *list, unsigned k, uint16_t expert)
{
    for (unsigned j = 0; j < k; j++)
        if (list[j] == expert)
            return true;
    return false;
}

static void exchange(struct dealer *d, uint16_t *ids)
{
    const size_t all = d->tokens * d->k;
    for (size_t n = 0; n < EXCHANGES * all; n++) {
        uint16_t *a = ids + mw_random_next(&d->random) % all;
        uint16_t *b = ids + mw_random_next(&d->random) % all;
        const uint16_t *list_a = ids + (size_t)(a - ids) / d->k * d->k;
        const uint16_t *list_b = ids + (size_t)(b - ids) / d->k * d->k;
        if (has(list_a, d->k, *b) || has(list_b, d->k, *a))
            continue;
        uint16_t swap = *a;
        *a = *b;
        *b = swap;
    }
}

/// No expert may have more than its tokens: each has an expert once.
static int check_load(const struct mw_counts *c, size_t layer, unsigned k, const char *name,
                      double *sum, struct mw_error *err)
{
    const double *load = c->load + layer * c->experts;
    *sum = 0;
    for (unsigned e = 0; e < c->experts; e++)
        *sum += load[e];
    if (!(*sum > 0) || !isfinite(*sum))
        return mw_fail(err, MW_EXIT_INPUT, "%s: layer %zu: the counts sum up to %g", name, layer,
                       *sum);
    for (unsigned e = 0; e < c->experts; e++)
        if (load[e] / *sum * k > 1 + 1e-9)
            return mw_fail(err, MW_EXIT_INPUT,
                           "%s: layer %zu, expert %u: %.1f %% of the counts; with k = %u (--k) an "
                           "expert has at most %.1f %%, one place of every token",
                           name, layer, e, 100 * load[e] / *sum, k, 100.0 / k);
    return MW_EXIT_OK;
}

static int make_layers(struct mw_trace *t, const struct mw_counts *c, struct dealer *d,
                       uint64_t seed, const char *name, struct mw_error *err)
{
    for (size_t l = 0; l < t->layers; l++) {
        uint16_t *ids = t->ids + mw_trace_at(t, l, 0);
        double sum;
        int status = check_load(c, l, t->k, name, &sum, err);
        if (status)
            return status;
        d->random = (struct mw_random){mw_hash3(seed, 0x636f756e7473, l)};
        share_out(d, c->load + l * c->experts, sum);
        shuffle(d);
        deal(d, ids);
        exchange(d, ids);
        for (size_t i = 0; i < t->tokens; i++)
            mw_trace_draw_weights(&d->random, t->k, t->weights + mw_trace_at(t, l, i));
    }
    return MW_EXIT_OK;
}

int mw_trace_of_counts(struct mw_trace *trace, const struct mw_counts *counts, size_t tokens,
                       unsigned k, uint64_t seed, const char *name, struct mw_error *err)
{
    const size_t elements = counts->layers * tokens * k;
    struct dealer d = {.tokens = tokens, .k = k, .experts = counts->experts};
    int status = MW_EXIT_OK;
    *trace = (struct mw_trace){.layers = counts->layers,
                               .tokens = tokens,
                               .k = k,
                               .experts = counts->experts,
                               .synthetic = true,
                               .model = "synthetic"};
    snprintf(trace->name, sizeof trace->name, "counts(%.400s,experts=%u,k=%u)", name,
             counts->experts, k);
    if (k > counts->experts)
        return mw_fail(err, MW_EXIT_INPUT, "%s: counts of %u experts, fewer than k = %u (--k)",
                       name, counts->experts, k);
    trace->ids = calloc(elements, sizeof *trace->ids);
    trace->weights = calloc(elements, sizeof *trace->weights);
    d.places = calloc(counts->experts, sizeof *d.places);
    d.remainder = calloc(counts->experts, sizeof *d.remainder);
    d.order = calloc(counts->experts, sizeof *d.order);
    if (!trace->ids || !trace->weights || !d.places || !d.remainder || !d.order)
        status = mw_fail_memory(err, "a trace of counts");
    if (!status)
        status = make_layers(trace, counts, &d, seed, name, err);
    free(d.places);
    free(d.remainder);
    free(d.order);
    if (status)
        mw_trace_free(trace);
    return status;
}
