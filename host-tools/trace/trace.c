// SPDX-License-Identifier: Apache-2.0
//
// Routing traces: checks of their elements, repetition, see trace.h.
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Of an array, for messages.
static const char *place_of(const struct mw_trace *trace, const char *file)
{
    return *file ? file : trace->name;
}

static int bad_token(const struct mw_trace *trace, const char *file, size_t layer, size_t token,
                     unsigned column, const char *cause, struct mw_error *err)
{
    return mw_fail(err, MW_EXIT_INPUT, "%s: layer %zu, token %zu, column %u: %s",
                   place_of(trace, file), layer, token, column, cause);
}

static int check_token(const struct mw_trace *trace, size_t layer, size_t token, bool allow_padding,
                       struct mw_error *err)
{
    const uint16_t *ids = trace->ids + mw_trace_at(trace, layer, token);
    const float *weights = trace->weights + mw_trace_at(trace, layer, token);
    char cause[128];
    for (unsigned j = 0; j < trace->k; j++) {
        if (ids[j] == MW_NO_EXPERT && allow_padding)
            continue;
        if (ids[j] == MW_NO_EXPERT)
            return bad_token(trace, trace->ids_file, layer, token, j,
                             "-1 (no expert), which only moeswitch run --allow-padding takes", err);
        if (ids[j] >= trace->experts) {
            snprintf(cause, sizeof cause, "expert %u is out of range, the model has %u", ids[j],
                     trace->experts);
            return bad_token(trace, trace->ids_file, layer, token, j, cause, err);
        }
        for (unsigned i = 0; i < j; i++) {
            if (ids[i] != ids[j])
                continue;
            snprintf(cause, sizeof cause, "expert %u twice in one row, also in column %u", ids[j],
                     i);
            return bad_token(trace, trace->ids_file, layer, token, j, cause, err);
        }
        if (!isfinite(weights[j]))
            return bad_token(trace, trace->weights_file, layer, token, j,
                             isnan(weights[j]) ? "the weight is NaN" : "the weight is infinite",
                             err);
    }
    return MW_EXIT_OK;
}

int mw_trace_check(const struct mw_trace *trace, size_t layer, size_t tokens, bool allow_padding,
                   struct mw_error *err)
{
    const char *path = place_of(trace, trace->ids_file);
    if (layer >= trace->layers)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: layer %zu was requested, the trace has layers 0 to %zu", path, layer,
                       trace->layers - 1);
    if (tokens > trace->tokens)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: layer %zu: %zu tokens were requested, the trace has %zu (moeswitch run "
                       "--repeat-tokens repeats them)",
                       path, layer, tokens, trace->tokens);
    for (size_t t = 0; t < tokens; t++) {
        int status = check_token(trace, layer, t, allow_padding, err);
        if (status)
            return status;
    }
    return MW_EXIT_OK;
}

int mw_trace_repeat(struct mw_trace *trace, size_t tokens, struct mw_error *err)
{
    const size_t k = trace->k, have = trace->tokens;
    if (!have || tokens <= have)
        return MW_EXIT_OK;
    uint16_t *ids = calloc(trace->layers * tokens * k, sizeof *ids);
    float *weights = calloc(trace->layers * tokens * k, sizeof *weights);
    if (!ids || !weights) {
        free(ids);
        free(weights);
        return mw_fail_memory(err, "the trace");
    }
    for (size_t i = 0; i < trace->layers * tokens; i++) {
        size_t from = mw_trace_at(trace, i / tokens, i % tokens % have);
        memcpy(ids + i * k, trace->ids + from, k * sizeof *ids);
        memcpy(weights + i * k, trace->weights + from, k * sizeof *weights);
    }
    free(trace->ids);
    free(trace->weights);
    trace->ids = ids;
    trace->weights = weights;
    trace->tokens = tokens;
    return MW_EXIT_OK;
}

const char *mw_trace_weights(const struct mw_trace *trace)
{
    return trace->synthetic ? "synthetic" : trace->uniform ? "1/k" : "trace";
}

void mw_trace_free(struct mw_trace *trace)
{
    free(trace->ids);
    free(trace->weights);
    free(trace->expert_at);
    *trace = (struct mw_trace){0};
}
