// SPDX-License-Identifier: Apache-2.0
//
// See transformer.h: presets, and what follows from a shape.
#include "cost/transformer.h"

#include "cli/command_help.h"
#include "cost/transformer_file.h"
#include "trace/models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/// What a model has besides the experts that models.h has. Each number is from the config.json that
/// models.h names as the source.
struct rest {
    const char *name;
    struct mw_transformer shape;
};

static const struct rest presets[] = {
    {"deepseek-v3",
     {.layers = 61,
      .dense_layers = 3,
      .heads = 128,
      .head_size = 192,
      .q_rank = 1536,
      .kv_rank = 512,
      .rope_size = 64,
      .value_size = 128,
      .shared_size = 2048,
      .dense_size = 18432,
      .vocabulary = 129280,
      .predicted = 1}},
    {"deepseek-v2-lite",
     {.layers = 27,
      .dense_layers = 1,
      .heads = 16,
      .head_size = 192,
      .kv_rank = 512,
      .rope_size = 64,
      .value_size = 128,
      .shared_size = 2816,
      .dense_size = 10944,
      .vocabulary = 102400}},
    {"qwen3-235b",
     {.layers = 94, .heads = 64, .kv_heads = 4, .head_size = 128, .vocabulary = 151936}},
    {"gpt-oss-20b",
     {.layers = 24,
      .heads = 64,
      .kv_heads = 8,
      .head_size = 64,
      .window = 128,
      .windowed = 12,
      .vocabulary = 201088}},
    {"gpt-oss-120b",
     {.layers = 36,
      .heads = 64,
      .kv_heads = 8,
      .head_size = 64,
      .window = 128,
      .windowed = 18,
      .vocabulary = 201088}},
    {"mixtral-8x7b",
     {.layers = 32, .heads = 32, .kv_heads = 8, .head_size = 128, .vocabulary = 32000}},
    {"phi-3.5-moe",
     {.layers = 32, .heads = 32, .kv_heads = 8, .head_size = 128, .vocabulary = 32064}},
    {"pangu-ultra-moe",
     {.layers = 61,
      .dense_layers = 3,
      .heads = 128,
      .head_size = 192,
      .q_rank = 1536,
      .kv_rank = 512,
      .rope_size = 64,
      .value_size = 128,
      .shared_size = 2048,
      .dense_size = 18432,
      .vocabulary = 153600,
      .predicted = 1}},
};

enum { PRESETS = sizeof presets / sizeof *presets };

bool mw_transformer_names(unsigned i, struct mw_term *term)
{
    if (i < PRESETS)
        *term = (struct mw_term){presets[i].name, NULL};
    return i < PRESETS;
}

static const struct rest *find(const char *name)
{
    for (unsigned i = 0; i < PRESETS; i++)
        if (strcasecmp(name, presets[i].name) == 0)
            return &presets[i];
    return NULL;
}

static int unknown(const char *name, const char *text, struct mw_error *err)
{
    const char *names[PRESETS];
    char all[512];
    for (unsigned i = 0; i < PRESETS; i++)
        names[i] = presets[i].name;
    mw_terms_names(mw_transformer_names, all, sizeof all);
    const char *near = mw_closest(text, names, PRESETS);
    return mw_fail(err, MW_EXIT_INPUT, "--%s %s: %s%s%sexpected %s, or the path of a config.json",
                   name, text, near ? "did you mean " : "", near ? near : "", near ? "? " : "",
                   all);
}

int mw_set_transformer(void *place, const char *name, const char *text, struct mw_error *err)
{
    struct mw_transformer *m = place;
    if (strchr(text, '/') || (strchr(text, '.') && strstr(text, ".json")))
        return mw_transformer_read(m, text, err);
    const struct rest *rest = find(text);
    const struct mw_model *layer;
    if (!rest)
        return unknown(name, text, err);
    int status = mw_set_model(&layer, name, rest->name, err);
    if (status)
        return status;
    *m = rest->shape;
    snprintf(m->name, sizeof m->name, "%s", layer->name);
    m->hidden = layer->hidden;
    m->experts = layer->experts;
    m->k = layer->k;
    m->expert_size = layer->expert_size;
    m->groups = layer->groups;
    m->topk_groups = layer->topk_groups;
    return MW_EXIT_OK;
}

// ---- what follows -------------------------------------------------------------------------------

enum { FFN_MATRICES = 3 }; ///< gate, up, down

double mw_attention_weights(const struct mw_transformer *m)
{
    const double h = m->hidden, heads = m->heads;
    if (!m->kv_rank)
        return h * m->head_size * (2 * heads + 2.0 * m->kv_heads);
    const double query = heads * m->head_size;
    const double unshared = m->head_size - m->rope_size;
    return (m->q_rank ? m->q_rank * (h + query) : h * query) + h * (m->kv_rank + m->rope_size) +
           m->kv_rank * heads * (unshared + m->value_size) + heads * m->value_size * h;
}

double mw_shared_weights(const struct mw_transformer *m)
{
    return (double)m->hidden * m->experts + (double)FFN_MATRICES * m->hidden * m->shared_size;
}

double mw_expert_weights(const struct mw_transformer *m)
{
    return (double)FFN_MATRICES * m->hidden * m->expert_size;
}

double mw_dense_weights(const struct mw_transformer *m)
{
    return (double)FFN_MATRICES * m->hidden * m->dense_size;
}

double mw_tables(const struct mw_transformer *m)
{
    return m->tied ? 1 : 2;
}

/// With `experts` routed experts of each layer that has some.
static double weights(const struct mw_transformer *m, unsigned experts)
{
    return m->layers * mw_attention_weights(m) + m->dense_layers * mw_dense_weights(m) +
           (m->layers - m->dense_layers) * (mw_shared_weights(m) + experts * mw_expert_weights(m)) +
           mw_tables(m) * m->vocabulary * m->hidden;
}

double mw_all_weights(const struct mw_transformer *m)
{
    return weights(m, m->experts);
}

double mw_active_weights(const struct mw_transformer *m)
{
    return weights(m, m->k);
}

/// The mean of layers with a window and of those without.
static double mean_layer(const struct mw_transformer *m, double windowed, double other)
{
    const double share = m->window ? (double)m->windowed / m->layers : 0;
    return share * windowed + (1 - share) * other;
}

double mw_attended_behind(const struct mw_transformer *m, double sequence)
{
    return mean_layer(m, fmin(m->window, sequence), sequence);
}

/// Before token w of a sequence the window is not full.
double mw_attended_within(const struct mw_transformer *m, double sequence)
{
    const double w = fmin(m->window, sequence);
    return mean_layer(m, w - w * w / (2 * sequence), sequence / 2);
}

double mw_model_flops(const struct mw_transformer *m, double attended)
{
    const double value = m->kv_rank ? m->value_size : m->head_size;
    const double attention = 2.0 * m->layers * m->heads * (m->head_size + value) * attended;
    const double unused = (mw_tables(m) - 1) * m->vocabulary * m->hidden; // of the embedding
    return 2 * (mw_active_weights(m) - unused) + attention;
}

double mw_kept_values(const struct mw_transformer *m)
{
    return m->kv_rank ? m->kv_rank + m->rope_size : 2.0 * m->kv_heads * m->head_size;
}
