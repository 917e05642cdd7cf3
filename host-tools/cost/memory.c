// SPDX-License-Identifier: Apache-2.0
//
// See memory.h.
#include "cost/memory.h"

#include <math.h>

const char *const mw_memory_names[MW_MEMORY_PARTS] = {"weights",     "gradients", "optimizer",
                                                      "activations", "cache",     "buffers"};

enum { ACTIVATION = 2, TRAINED = 2, LOGIT = 6 }; ///< bytes; a logit is there in bf16 and fp32

/// Stages of which a GPU holds the weights.
static double stages_held(const struct mw_task *t)
{
    return t->goal == MW_TRAIN && t->schedule == MW_DUALPIPE ? 2 : 1;
}

/// Layers with experts of the stage that has most of them.
static double moe_layers(const struct mw_task *t, const struct mw_parallel *p)
{
    const double all = mw_task_layers(t) - t->model.dense_layers;
    return fmin(all, (double)mw_part_layers(t, p) * p->virtual_stages);
}

struct mw_stage_weights mw_stage_weights(const struct mw_task *t, const struct mw_parallel *p)
{
    const struct mw_transformer *m = &t->model;
    const double layers = moe_layers(t, p), dense = p->pp == 1 ? m->dense_layers : 0;
    const double vocabulary = (p->pp == 1 ? mw_tables(m) : 1) * m->vocabulary * m->hidden;
    const double shared = (layers + dense) * mw_attention_weights(m) +
                          layers * mw_shared_weights(m) + dense * mw_dense_weights(m);
    return (struct mw_stage_weights){
        .shared = stages_held(t) * (shared + vocabulary) / p->tp,
        .experts = stages_held(t) * layers * mw_expert_weights(m) * m->experts / p->ep,
    };
}

/// Values that one layer keeps of a micro-batch on one GPU.
static double kept_values(const struct mw_task *t, const struct mw_parallel *p, double expert_rows,
                          enum mw_recompute recompute)
{
    const struct mw_transformer *m = &t->model;
    const double tokens = mw_part_tokens(t, p) / p->tp, heads = m->heads, h = m->hidden;
    if (recompute == MW_RECOMPUTE_FULL)
        return tokens * h;
    const bool all = recompute == MW_KEEP_ALL;
    double token = 2 * h; // inputs of attention and FFN
    double inner = 2;     // gate and up
    if (m->kv_rank) {
        token += m->q_rank + m->kv_rank + m->rope_size + heads * m->value_size;
        token += all ? heads * (2.0 * m->head_size + m->value_size) : 0;
    } else {
        token += (2 * heads + 2.0 * m->kv_heads) * m->head_size;
    }
    token += all ? 2 * h : 0; // of norms
    inner += all;             // the activation
    return tokens * (token + inner * m->shared_size) + expert_rows * (h + inner * m->expert_size);
}

/// Micro-batches of a stage that wait for their backward, in whole stages' layers.
static double in_flight(const struct mw_task *t, const struct mw_parallel *p)
{
    const double batches = mw_micro_batches(t, p), stages = p->pp;
    if (t->schedule == MW_DUALPIPE)
        return stages + 1;
    return fmin(batches, stages + (p->virtual_stages > 1 ? (stages - 1) / p->virtual_stages : 0));
}

static double activation_bytes(const struct mw_task *t, const struct mw_parallel *p,
                               double expert_rows)
{
    const double whole = kept_values(t, p, expert_rows, MW_KEEP_ALL) * ACTIVATION;
    if (t->goal != MW_TRAIN)
        return whole;
    const double layers = (double)mw_part_layers(t, p) * p->virtual_stages;
    const double kept = kept_values(t, p, expert_rows, p->recompute) * ACTIVATION;
    return in_flight(t, p) * layers * kept + (p->recompute == MW_KEEP_ALL ? 0 : whole);
}

static double cache_bytes(const struct mw_task *t, const struct mw_parallel *p)
{
    const struct mw_transformer *m = &t->model;
    if (t->goal == MW_TRAIN)
        return 0;
    const double split = m->kv_rank ? 1 : fmin(p->tp, m->kv_heads);
    const double layers = (double)mw_part_layers(t, p) * p->virtual_stages;
    return (double)t->batch / p->dp * mw_attended_behind(m, t->sequence) / p->cp * layers *
           mw_kept_values(m) * mw_type_bytes[t->cache] / split;
}

void mw_memory_parts(const struct mw_task *t, const struct mw_parallel *p, double expert_rows,
                     double bytes[MW_MEMORY_PARTS])
{
    const bool train = t->goal == MW_TRAIN;
    const struct mw_stage_weights w = mw_stage_weights(t, p);
    const double replicas = (double)p->dp * p->cp, expert_replicas = replicas * p->tp / p->ep;
    const double logits = mw_part_tokens(t, p) * t->model.vocabulary / p->tp * LOGIT;
    bytes[MW_WEIGHTS] = (w.shared + w.experts) * (train ? TRAINED : mw_type_bytes[t->gemm]);
    bytes[MW_GRADIENTS] = train ? (w.shared + w.experts) * t->gradient_bytes : 0;
    bytes[MW_OPTIMIZER] =
        train ? (w.shared / replicas + w.experts / expert_replicas) * t->optimizer_bytes : 0;
    bytes[MW_ACTIVATIONS] = activation_bytes(t, p, expert_rows);
    bytes[MW_CACHE] = cache_bytes(t, p);
    // rows come in one buffer and return in another
    bytes[MW_BUFFERS] = 2 * expert_rows * t->model.hidden * ACTIVATION +
                        (p->pp == 1 && t->goal != MW_PREFILL ? logits : 0);
}

double mw_memory_sum(const double bytes[MW_MEMORY_PARTS])
{
    double sum = 0;
    for (unsigned i = 0; i < MW_MEMORY_PARTS; i++)
        sum += bytes[i];
    return sum;
}
