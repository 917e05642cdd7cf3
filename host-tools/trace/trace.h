// SPDX-License-Identifier: Apache-2.0
//
// Routing traces: which experts every token of every layer was sent to, and with which gate
// weights. Loaded from files (docs/user/traces.md) or synthetic.
#ifndef MW_HOST_TRACE_H
#define MW_HOST_TRACE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    MW_NO_EXPERT = 0xffff, ///< -1 of topk_ids: this place of the token's list is empty
    MW_MAX_K = 16,         ///< a target has 4 bits for the place in the list
    MW_MAX_EXPERTS = 4096, ///< and 12 for the expert
};

/// Names of a trace's files: ids, weights, what they mean.
extern const char *const mw_trace_files[3];
/// The first two in one archive.
extern const char mw_trace_archive[];

/// The dimensions of a trace, and of its arrays in memory in this order.
enum mw_dimension { MW_AXIS_LAYERS, MW_AXIS_TOKENS, MW_AXIS_K, MW_AXES };

/// The order in which an array has them; without `layers` it has one layer.
struct mw_axes {
    unsigned count;                  ///< 0: not declared
    enum mw_dimension axis[MW_AXES]; ///< the slowest first
};

enum { MW_AXES_BYTES = 24 };

/// The names of `tokens`, `k` and perhaps `layers`, each once, with commas. False:
/// it is nothing such.
bool mw_axes_parse(struct mw_axes *axes, const char *text);
const char *mw_axes_text(const struct mw_axes *axes, char text[MW_AXES_BYTES]);

/// Parameters of a trace's files from options. Where meta.json has them too, both must be the same.
struct mw_trace_said {
    struct mw_axes axes;
    unsigned experts;       ///< 0: not given
    unsigned model_experts; ///< of the model that is run; taken where neither has it, 0: none
};

struct mw_trace {
    size_t layers, tokens; ///< tokens per layer
    unsigned k;            ///< experts per token, 1 .. MW_MAX_K
    unsigned experts;      ///< 1 .. MW_MAX_EXPERTS
    unsigned hidden;       ///< of the real model, 0 if not known
    char model[128];
    char name[512]; ///< the path, or a description of the generator; for messages and reports
    bool synthetic;
    char ids_file[640], weights_file[640]; ///< where the arrays are from; empty: synthetic
    struct mw_axes axes;                   ///< of the files
    char ids_type[16];                     ///< of the file, as NumPy names it; empty: synthetic
    char weights_type[16]; ///< the same; empty: synthetic, or there is no file of them
    bool uniform;          ///< there are no gate weights: every one is 1 / k
    uint16_t *ids;         ///< [layers][tokens][k], expert or MW_NO_EXPERT
    float *weights;        ///< [layers][tokens][k]
    /// If lists have places of experts (placement/placement.h), `experts` is the number of places.
    /// This many of them are extra places of an expert that has one.
    unsigned replicas;
    uint16_t *expert_at; ///< [layers][experts], the expert of each place; NULL: lists name experts
};

/// Parameters of a synthetic trace.
struct mw_synthetic {
    size_t layers, tokens;
    unsigned k, experts;
    double sigma;    ///< of the logarithm of an expert's popularity: 0 uniform, 0.5 mixed text,
                     ///< up to 1.0 one domain
    double locality; ///< probability that a place of the list repeats an expert of the token
                     ///< before, 0 .. 1
    /// Group-limited routing, as in DeepSeek-V3: the experts are `groups` runs of equal length, and
    /// a token's experts are in at most `topk_groups` of them. 0: no limit.
    unsigned groups, topk_groups;
    uint64_t seed;
};

/// Load a folder, or a file of arrays without a meta.json. Checks types, shapes, axes and
/// meta.json, and that they agree; not the elements. `said` may be NULL.
int mw_trace_load(struct mw_trace *trace, const char *path, const struct mw_trace_said *said,
                  struct mw_error *err);

/// Whether there is such a trace.
int mw_synthetic_check(const struct mw_synthetic *how, struct mw_error *err);
/// Make one up. A layer depends on the seed and its number only, not on how many there are, and its
/// first tokens not on how many follow.
int mw_trace_make(struct mw_trace *trace, const struct mw_synthetic *how, struct mw_error *err);

/// Check the first `tokens` tokens of `layer`: the trace has them, experts are in range and at most
/// once per token, and weights are finite. Empty places, whose weight is not checked, are right
/// only if allowed. The message names file, layer, token and column.
int mw_trace_check(const struct mw_trace *trace, size_t layer, size_t tokens, bool allow_padding,
                   struct mw_error *err);

/// Make every layer at least `tokens` long by its own tokens over again, from the first on;
/// an empty trace stays empty.
int mw_trace_repeat(struct mw_trace *trace, size_t tokens, struct mw_error *err);

void mw_trace_free(struct mw_trace *trace);

struct mw_random;
/// Synthetic weights of one token: positive, largest first, sum about 1.
void mw_trace_draw_weights(struct mw_random *r, unsigned k, float *weights);

/// Where the gate weights are from: "trace", "1/k" where the trace has none, or "synthetic".
const char *mw_trace_weights(const struct mw_trace *trace);

/// Index of the first of the k elements of a token.
static inline size_t mw_trace_at(const struct mw_trace *trace, size_t layer, size_t token)
{
    return (layer * trace->tokens + token) * trace->k;
}

#endif
