// SPDX-License-Identifier: Apache-2.0
//
// Routing traces: which experts every token of every layer was sent to, and with which gate
// weights. Loaded from a folder (topk_ids.npy, topk_weights.npy, meta.json) or made up.
#ifndef MW_HOST_TRACE_H
#define MW_HOST_TRACE_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    MW_NO_EXPERT = 0xffff, ///< -1 of topk_ids: this place of the token's list is empty
    MW_MAX_K = 16,         ///< a target has 4 bits for the place in the list
    MW_MAX_EXPERTS = 4096, ///< and 12 for the expert
};

/// Names of a trace's files: ids, weights, what they mean.
extern const char *const mw_trace_files[3];

struct mw_trace {
    size_t layers, tokens; ///< tokens per layer
    unsigned k;            ///< experts per token, 1 .. MW_MAX_K
    unsigned experts;      ///< 1 .. MW_MAX_EXPERTS
    unsigned hidden;       ///< of the real model, 0 if not known
    char model[128];
    char name[512]; ///< the folder, or a description of the generator; for messages and reports
    bool synthetic;
    const char *ids_type; ///< of the file, as NumPy names it; NULL: made up
    uint16_t *ids;        ///< [layers][tokens][k], expert or MW_NO_EXPERT
    float *weights;       ///< [layers][tokens][k]
};

/// Parameters of a made-up trace.
struct mw_synthetic {
    size_t layers, tokens;
    unsigned k, experts;
    double sigma;    ///< of the logarithm of an expert's popularity: 0 uniform, 0.5 mixed text,
                     ///< up to 1.0 one domain
    double locality; ///< probability that a place of the list repeats an expert of the token
                     ///< before, 0 .. 1
    /// Group-limited routing, as DeepSeek-V3 has it: the experts are `groups` runs of as many each, and a
    /// token's experts lie in at most `topk_groups` of them. 0: no limit.
    unsigned groups, topk_groups;
    uint64_t seed;
};

/// Load a folder. Checks types, shapes and meta.json, and that the three agree; not the elements.
int mw_trace_load(struct mw_trace *trace, const char *folder, struct mw_error *err);

/// Whether there is such a trace.
int mw_synthetic_check(const struct mw_synthetic *how, struct mw_error *err);
/// Make one up. A layer depends on the seed and its number only, not on how many there are, and its
/// first tokens not on how many follow.
int mw_trace_make(struct mw_trace *trace, const struct mw_synthetic *how, struct mw_error *err);

/// Check the first `tokens` tokens of `layer`: the trace has them, experts in range and each once
/// per token, weights finite, empty places (whose weight is not looked at) only if allowed. The
/// message names file, layer, token and column.
int mw_trace_check(const struct mw_trace *trace, size_t layer, size_t tokens, bool allow_padding,
                   struct mw_error *err);

/// Make every layer at least `tokens` long by its own tokens over again, from the first on; an empty
/// trace stays empty.
int mw_trace_repeat(struct mw_trace *trace, size_t tokens, struct mw_error *err);

void mw_trace_free(struct mw_trace *trace);

/// Index of the first of the k elements of a token.
static inline size_t mw_trace_at(const struct mw_trace *trace, size_t layer, size_t token)
{
    return (layer * trace->tokens + token) * trace->k;
}

#endif
