// SPDX-License-Identifier: Apache-2.0
//
// Synthetic routing traces, see trace.h: experts of log-normal popularity, some of which a token
// shares with the one before.
#include "base/random.h"
#include "trace/trace.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Sum of twelve uniform numbers: almost normal. As it has only additions, every machine draws the
/// same.
static double draw_normal(struct mw_random *r)
{
    double sum = -6.0;
    for (unsigned i = 0; i < 12; i++)
        sum += mw_random_unit(r);
    return sum;
}

/// Log-normal popularity as whole numbers, which absorbs differences of exp() between libraries.
static void draw_popularity(struct mw_random *r, double sigma, unsigned experts,
                            uint32_t *popularity)
{
    for (unsigned e = 0; e < experts; e++) {
        double p = exp(sigma * draw_normal(r)) * 4096.0;
        popularity[e] = p < 1.0 ? 1u : p > 1e8 ? 100000000u : (uint32_t)p;
    }
}

/// One expert by popularity among those not yet in the token's list.
static uint16_t draw_expert(struct mw_random *r, const uint32_t *popularity, unsigned experts,
                            const bool *taken)
{
    uint64_t total = 0;
    for (unsigned e = 0; e < experts; e++)
        total += taken[e] ? 0 : popularity[e];
    assert(total > 0); // k is at most the number of experts
    // The total may exceed 32 bits with thousands of very popular experts.
    uint64_t pick = mw_random_next(r) % total;
    unsigned e = 0;
    for (;; e++) {
        if (taken[e])
            continue;
        if (pick < popularity[e])
            return (uint16_t)e;
        pick -= popularity[e];
    }
}

void mw_trace_draw_weights(struct mw_random *r, unsigned k, float *weights)
{
    double raw[MW_MAX_K], sum = 0;
    for (unsigned j = 0; j < k; j++) {
        double u = mw_random_unit(r);
        raw[j] = u * u + 0.02;
        sum += raw[j];
        for (unsigned i = j; i > 0 && raw[i] > raw[i - 1]; i--) {
            double swap = raw[i];
            raw[i] = raw[i - 1];
            raw[i - 1] = swap;
        }
    }
    for (unsigned j = 0; j < k; j++)
        weights[j] = (float)(raw[j] / sum);
}

/// Once the last of a token's `chosen` experts opens the last group that it may use, the experts of
/// all other groups count as taken.
static void limit_groups(const struct mw_synthetic *how, const uint16_t *ids, unsigned chosen,
                         bool *taken)
{
    const unsigned size = how->groups ? how->experts / how->groups : 0;
    unsigned group[MW_MAX_K], open = 0;
    bool opens = false;
    for (unsigned j = 0; size && j < chosen; j++) {
        unsigned i = 0;
        group[open] = ids[j] / size;
        while (group[i] != group[open])
            i++;
        opens = i == open;
        open += opens;
    }
    if (!opens || open < how->topk_groups)
        return;
    for (unsigned e = 0; e < how->experts; e++) {
        bool closed = true;
        for (unsigned i = 0; i < open; i++)
            closed = closed && e / size != group[i];
        taken[e] = taken[e] || closed;
    }
}

static void make_layer(struct mw_trace *trace, const struct mw_synthetic *how, size_t layer,
                       uint32_t *popularity, bool *taken)
{
    struct mw_random r = {mw_hash3(how->seed, 0x7472616365, layer)};
    draw_popularity(&r, how->sigma, how->experts, popularity);
    for (size_t t = 0; t < how->tokens; t++) {
        uint16_t *ids = trace->ids + mw_trace_at(trace, layer, t);
        const uint16_t *before = t ? ids - how->k : NULL;
        memset(taken, 0, how->experts * sizeof *taken);
        for (unsigned j = 0; j < how->k; j++) {
            bool repeat = mw_random_unit(&r) < how->locality;
            unsigned from = (unsigned)mw_random_below(&r, how->k);
            if (before && repeat && !taken[before[from]])
                ids[j] = before[from];
            else
                ids[j] = draw_expert(&r, popularity, how->experts, taken);
            taken[ids[j]] = true;
            limit_groups(how, ids, j + 1, taken);
        }
        mw_trace_draw_weights(&r, how->k, trace->weights + mw_trace_at(trace, layer, t));
    }
}

static int check_groups(const struct mw_synthetic *how, const char *where, struct mw_error *err)
{
    if (!how->groups && !how->topk_groups)
        return MW_EXIT_OK;
    if (!how->groups || how->experts % how->groups)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: %u groups (--groups), expected a number that divides the %u experts",
                       where, how->groups, how->experts);
    if (!how->topk_groups || how->topk_groups > how->groups)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: a token in %u of the %u groups (--topk-groups), expected 1 to %u",
                       where, how->topk_groups, how->groups, how->groups);
    if (how->k > how->topk_groups * (how->experts / how->groups))
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: k = %u, expected at most the %u experts of %u of %u groups", where,
                       how->k, how->topk_groups * (how->experts / how->groups), how->topk_groups,
                       how->groups);
    return MW_EXIT_OK;
}

int mw_synthetic_check(const struct mw_synthetic *how, struct mw_error *err)
{
    static const char where[] = "synthetic trace";
    if (!how->experts || how->experts > MW_MAX_EXPERTS)
        return mw_fail(err, MW_EXIT_INPUT, "%s: %u experts, expected 1 to %d", where, how->experts,
                       MW_MAX_EXPERTS);
    if (!how->k || how->k > MW_MAX_K || how->k > how->experts)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: k = %u with %u experts, expected 1 to %d and not more than there are",
                       where, how->k, how->experts, MW_MAX_K);
    if (!how->layers || !how->tokens)
        return mw_fail(err, MW_EXIT_INPUT, "%s: %zu layers and %zu tokens, expected at least 1",
                       where, how->layers, how->tokens);
    if (!(how->sigma >= 0 && how->sigma <= 4))
        return mw_fail(err, MW_EXIT_INPUT, "%s: sigma %g, expected 0 to 4", where, how->sigma);
    if (!(how->locality >= 0 && how->locality <= 1))
        return mw_fail(err, MW_EXIT_INPUT, "%s: locality %g, expected 0 to 1", where,
                       how->locality);
    return check_groups(how, where, err);
}

int mw_trace_make(struct mw_trace *trace, const struct mw_synthetic *how, struct mw_error *err)
{
    *trace = (struct mw_trace){0};
    int status = mw_synthetic_check(how, err);
    if (status)
        return status;
    size_t rows, elements;
    if (__builtin_mul_overflow(how->layers, how->tokens, &rows) ||
        __builtin_mul_overflow(rows, (size_t)how->k, &elements))
        return mw_fail(err, MW_EXIT_INPUT, "synthetic trace: %zu layers of %zu tokens are too many",
                       how->layers, how->tokens);
    trace->layers = how->layers;
    trace->tokens = how->tokens;
    trace->k = how->k;
    trace->experts = how->experts;
    trace->synthetic = true;
    snprintf(trace->model, sizeof trace->model, "synthetic");
    char limit[48] = "";
    if (how->groups)
        snprintf(limit, sizeof limit, ",groups=%u,topk_groups=%u", how->groups, how->topk_groups);
    snprintf(trace->name, sizeof trace->name, "synthetic(experts=%u,k=%u,sigma=%g,locality=%g%s)",
             how->experts, how->k, how->sigma, how->locality, limit);
    trace->ids = calloc(elements, sizeof *trace->ids);
    trace->weights = calloc(elements, sizeof *trace->weights);
    uint32_t *popularity = calloc(how->experts, sizeof *popularity);
    bool *taken = calloc(how->experts, sizeof *taken);
    if (!trace->ids || !trace->weights || !popularity || !taken)
        status = mw_fail_memory(err, "a synthetic trace");
    for (size_t layer = 0; !status && layer < how->layers; layer++)
        make_layer(trace, how, layer, popularity, taken);
    free(popularity);
    free(taken);
    if (status)
        mw_trace_free(trace);
    return status;
}
