// SPDX-License-Identifier: Apache-2.0
//
// See operators.h.
#include "cost/operators.h"

const double mw_type_bytes[MW_GEMM_TYPES] = {2, 1, 0.5};
const char *const mw_goal_names[MW_GOALS] = {"train", "prefill", "decode"};
const char *const mw_recompute_names[MW_RECOMPUTES] = {"none", "selective", "full"};
const char *const mw_schedule_names[MW_SCHEDULES] = {"1f1b", "dualpipe"};

/// Bytes of an activation; times of backward in those of forward. Attention's backward has five
/// matrix products where forward has two.
static const double ACTIVATION = 2, BACKWARD = 2, ATTENTION_BACKWARD = 2.5;
/// Rows of hidden values that two norms, two residuals and RoPE read and write per token.
static const double POINTWISE_ROWS = 12;

struct list {
    const struct mw_task *t;
    struct mw_operator *op;
    unsigned count;
};

static struct mw_operator gemm(const struct mw_task *t, const char *name, double m, double k,
                               double n)
{
    return (struct mw_operator){
        .name = name,
        .kind = MW_OP_GEMM,
        .type = t->gemm,
        .m = m,
        .n = n,
        .k = k,
        .flops = 2 * m * n * k,
        .bytes = (m * k + k * n) * mw_type_bytes[t->gemm] + m * n * ACTIVATION,
        .backward = BACKWARD,
    };
}

static void add(struct list *l, struct mw_operator op)
{
    l->op[l->count++] = op;
}

static void add_split(struct list *l, struct mw_operator op, enum mw_split split)
{
    op.split = split;
    add(l, op);
}

/// `count` matrices, one for each of as many heads.
static void add_heads(struct list *l, const char *name, double count, double m, double k, double n)
{
    struct mw_operator op = gemm(l->t, name, m, k, n);
    op.flops *= count;
    op.bytes *= count;
    op.n *= count;
    add(l, op);
}

/// Scores and sums of `width` values per head, token and token before it.
static void add_core(struct list *l, const struct mw_parallel *p, const struct mw_layer_work *w,
                     double heads, double width, double kept)
{
    const struct mw_transformer *m = &l->t->model;
    const bool decode = l->t->goal == MW_DECODE;
    const double cached = w->sequences * w->context * kept * mw_type_bytes[l->t->cache];
    add(l, (struct mw_operator){
               .name = "attention",
               .kind = MW_OP_ATTENTION,
               .type = MW_GEMM_BF16,
               .m = w->tokens,
               .n = w->context,
               .k = heads * width,
               .flops = 2 * w->tokens * w->context * heads * width,
               .bytes = (decode ? cached : 0) + w->tokens * heads * width * 2 * ACTIVATION,
               .backward = ATTENTION_BACKWARD,
               .sequences = p->cp > 1 || m->window ? 0 : w->sequences,
               .span = decode ? l->t->sequence : w->tokens / w->sequences,
               .heads = (unsigned)heads,
               .kv_heads = m->kv_rank            ? 0
                           : m->kv_heads > p->tp ? m->kv_heads / p->tp
                                                 : 1,
               .head_size = m->kv_rank ? 0 : m->head_size,
               .cache = decode ? l->t->cache : MW_GEMM_BF16,
               .decode = decode,
           });
}

/// Projections to and from latents. Decode multiplies queries with the keys' projection, and so
/// attends to latents themselves.
static void add_latent(struct list *l, const struct mw_parallel *p, const struct mw_layer_work *w)
{
    const struct mw_transformer *m = &l->t->model;
    const double heads = (double)m->heads / p->tp, unshared = m->head_size - m->rope_size;
    if (m->q_rank)
        add_split(l, gemm(l->t, "query down", w->tokens, m->hidden, m->q_rank), MW_SPLIT_GATHERED);
    add_split(
        l,
        gemm(l->t, "query up", w->tokens, m->q_rank ? m->q_rank : m->hidden, heads * m->head_size),
        m->q_rank ? MW_SPLIT_NONE : MW_SPLIT_GATHERED);
    l->op[l->count - 1].selective = true;
    add_split(l, gemm(l->t, "kv down", w->tokens, m->hidden, m->kv_rank + m->rope_size),
              MW_SPLIT_GATHERED);
    l->op[l->count - 1].same_input = true;
    if (l->t->goal == MW_DECODE) {
        add_heads(l, "key absorbed", heads, w->tokens, unshared, m->kv_rank);
        add_core(l, p, w, heads, 2.0 * m->kv_rank + m->rope_size, mw_kept_values(m));
        add_heads(l, "value absorbed", heads, w->tokens, m->kv_rank, m->value_size);
    } else {
        add(l, gemm(l->t, "kv up", w->tokens, m->kv_rank, heads * (unshared + m->value_size)));
        l->op[l->count - 1].selective = true;
        add_core(l, p, w, heads, m->head_size + m->value_size, 0);
    }
    add_split(l, gemm(l->t, "output", w->tokens, heads * m->value_size, m->hidden),
              MW_SPLIT_REDUCED);
}

/// A GPU with fewer heads than keys and values has one of these at least.
static void add_grouped(struct list *l, const struct mw_parallel *p, const struct mw_layer_work *w)
{
    const struct mw_transformer *m = &l->t->model;
    const double heads = (double)m->heads / p->tp;
    const double kv = m->kv_heads > p->tp ? (double)m->kv_heads / p->tp : 1;
    add_split(
        l, gemm(l->t, "query, key, value", w->tokens, m->hidden, (heads + 2 * kv) * m->head_size),
        MW_SPLIT_GATHERED);
    add_core(l, p, w, heads, 2.0 * m->head_size, 2 * kv * m->head_size);
    add_split(l, gemm(l->t, "output", w->tokens, heads * m->head_size, m->hidden),
              MW_SPLIT_REDUCED);
}

static void add_ffn(struct list *l, const char *up, const char *down, double tokens, double size)
{
    const double hidden = l->t->model.hidden;
    add_split(l, gemm(l->t, up, tokens, hidden, 2 * size), MW_SPLIT_GATHERED);
    add_split(l, gemm(l->t, down, tokens, size, hidden), MW_SPLIT_REDUCED);
}

static void add_experts(struct list *l, const struct mw_layer_work *w)
{
    const struct mw_transformer *m = &l->t->model;
    const double weights = w->local_experts * mw_expert_weights(m);
    const double h = m->hidden, size = m->expert_size, bytes = mw_type_bytes[l->t->gemm];
    add(l, (struct mw_operator){
               .name = "experts",
               .kind = MW_OP_EXPERTS,
               .type = l->t->gemm,
               .m = w->expert_rows,
               .n = size,
               .k = h,
               .flops = 6 * w->expert_rows * h * size,
               .bytes = weights * bytes +
                        w->expert_rows * ((h + size) * bytes + (2 * size + h) * ACTIVATION),
               .backward = BACKWARD,
               .local_experts = w->local_experts,
           });
}

/// Norms and residuals of tokens, which tensor parallelism splits by tokens. Activations of inner
/// values. Permutation of experts' rows, both ways.
static void add_pointwise(struct list *l, const struct mw_parallel *p,
                          const struct mw_layer_work *w)
{
    const struct mw_transformer *m = &l->t->model;
    const double inner = (w->dense ? m->dense_size : m->shared_size) * w->tokens / p->tp +
                         m->expert_size * w->expert_rows;
    const double values = POINTWISE_ROWS * m->hidden * w->tokens / p->tp + 3 * inner +
                          4.0 * m->hidden * w->expert_rows;
    add(l, (struct mw_operator){
               .name = "pointwise",
               .kind = MW_OP_POINTWISE,
               .type = MW_GEMM_BF16,
               .m = w->tokens,
               .n = m->hidden,
               .bytes = values * ACTIVATION,
               .backward = BACKWARD,
               .selective = true,
           });
}

/// What makes bf16 values those of the GEMMs' type. Forward reads inputs and writes them once;
/// training keeps a second copy in columns, for gradients of weights. Backward does the same with
/// gradients of outputs.
static void add_quantization(struct list *l)
{
    const double bytes = mw_type_bytes[l->t->gemm];
    const double copies = l->t->goal == MW_TRAIN ? 2 : 1;
    double inputs = 0, outputs = 0;
    for (unsigned i = 0; i < l->count; i++) {
        const struct mw_operator *op = &l->op[i];
        if (op->kind == MW_OP_EXPERTS) {
            inputs += op->m * (op->k + op->n);
            outputs += op->m * (op->k + 2 * op->n);
        } else if (op->kind == MW_OP_GEMM && op->type == l->t->gemm) {
            inputs += op->same_input ? 0 : op->m * op->k;
            outputs += op->m * op->n;
        }
    }
    add(l, (struct mw_operator){
               .name = "quantization",
               .kind = MW_OP_POINTWISE,
               .type = MW_GEMM_BF16,
               .bytes = inputs * (ACTIVATION + copies * bytes),
               .backward =
                   outputs * (ACTIVATION + 2 * bytes) / (inputs * (ACTIVATION + copies * bytes)),
           });
}

unsigned mw_layer_operators(const struct mw_task *t, const struct mw_parallel *p,
                            const struct mw_layer_work *w, struct mw_operator op[MW_OPERATORS])
{
    const struct mw_transformer *m = &t->model;
    struct list l = {.t = t, .op = op};
    if (m->kv_rank)
        add_latent(&l, p, w);
    else
        add_grouped(&l, p, w);
    if (w->dense) {
        add_ffn(&l, "FFN gate and up", "FFN down", w->tokens, (double)m->dense_size / p->tp);
    } else {
        add(&l, gemm(t, "router", w->tokens / p->tp, m->hidden, m->experts));
        l.op[l.count - 1].type = MW_GEMM_BF16;
        if (m->shared_size)
            add_ffn(&l, "shared gate and up", "shared down", w->tokens,
                    (double)m->shared_size / p->tp);
        add_experts(&l, w);
    }
    if (t->gemm != MW_GEMM_BF16)
        add_quantization(&l);
    add_pointwise(&l, p, w);
    return l.count;
}

struct mw_operator mw_head_operator(const struct mw_task *t, const struct mw_parallel *p,
                                    double tokens)
{
    struct mw_operator op =
        gemm(t, "head", tokens, t->model.hidden, (double)t->model.vocabulary / p->tp);
    op.type = MW_GEMM_BF16;
    return op;
}
