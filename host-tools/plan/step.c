// SPDX-License-Identifier: Apache-2.0
//
// See step.h. A stage's time of a micro-batch is the sum of its layers'. Parts that other work
// hides count only as far as they are longer than it.
#include "plan/step.h"

#include "cost/collective.h"
#include "plan/layer.h"

#include <math.h>
#include <string.h>

const char *const mw_step_names[MW_STEP_PARTS] = {"attention",
                                                  "FFN and shared experts",
                                                  "experts",
                                                  "pointwise",
                                                  "head",
                                                  "recomputation",
                                                  "MoE communication",
                                                  "tensor parallelism",
                                                  "context parallelism",
                                                  "between stages",
                                                  "bubble",
                                                  "gradients",
                                                  "optimizer"};
const char *const mw_step_keys[MW_STEP_PARTS] = {
    "attention", "ffn",     "experts", "pointwise", "head",      "recompute", "moe",
    "tensor",    "context", "send",    "bubble",    "gradients", "optimizer"};

enum { ACTIVATION = 2, WEIGHT = 2 }; ///< bytes

/// A stage's micro-batch.
struct stage {
    double part[MW_STEP_PARTS];
    double forward, backward;
};

static void add_layers(struct stage *s, const struct mw_layer_time *layer, double count)
{
    for (unsigned i = 0; i < MW_STEP_PARTS; i++)
        s->part[i] += layer->part[i] * count;
    s->forward += layer->forward * count;
    s->backward += layer->backward * count;
}

static double both_ways(const struct stage *s)
{
    return s->forward + s->backward;
}

static void add_head(const struct mw_task *t, struct stage *s, double head)
{
    const double back = t->goal == MW_TRAIN ? 2 * head : 0;
    s->forward += head;
    s->backward += back;
    s->part[MW_P_HEAD] += head + back;
}

/// The stage that takes longest. The stage with the head has fewer layers, so all stages take about
/// the mean. No stage has a part of a layer or of the head.
static int slowest_stage(struct mw_planner *p, const struct mw_parallel *how, unsigned system,
                         struct mw_step *step, struct stage *slowest, struct mw_error *err)
{
    const struct mw_task *t = &p->task;
    struct mw_layer_time moe, dense = {0};
    int status = mw_layer_time(p, how, system, false, step, &moe, err);
    if (!status && t->model.dense_layers)
        status = mw_layer_time(p, how, system, true, step, &dense, err);
    if (status)
        return status;
    const double layers = mw_task_layers(t), first = t->model.dense_layers, stages = how->pp;
    const double full = (double)mw_part_layers(t, how) * how->virtual_stages;
    const double head = mw_head_seconds(p, how);
    struct stage inner = {0}, mean = {0}, last = {0};
    add_layers(&mean, &moe, (layers - first) / stages);
    add_layers(&mean, &dense, first / stages);
    add_head(t, &mean, head / stages);
    add_head(t, &last, head);
    if (how->pp > 1)
        add_layers(&inner, &moe, full);
    *slowest = both_ways(&inner) > both_ways(&mean) ? inner : mean;
    if (both_ways(&last) > both_ways(slowest))
        *slowest = last;
    return MW_EXIT_OK;
}

/// Add the pipeline: micro-batches pass one after the other, and stages wait for the first and the
/// last of them.
static void add_pipeline(const struct mw_task *t, const struct stage *stage, struct mw_step *s)
{
    const struct mw_parallel *how = &s->parallel;
    const double batches = mw_micro_batches(t, how), stages = how->pp;
    const double both = both_ways(stage);
    for (unsigned i = 0; i < MW_STEP_PARTS; i++)
        s->part[i] = stage->part[i] * batches;
    if (how->pp == 1)
        return;
    if (t->goal == MW_DECODE)
        s->part[MW_P_BUBBLE] = fmax(0, stages - batches) * both;
    else if (t->goal == MW_TRAIN && t->schedule == MW_DUALPIPE)
        s->part[MW_P_BUBBLE] =
            (stages / 2 - 1) * fmax(0, both + stage->backward - 1.5 * stage->backward);
    else
        s->part[MW_P_BUBBLE] = (stages - 1) / how->virtual_stages * both;
    const double bytes = mw_part_tokens(t, how) / how->tp * t->model.hidden * ACTIVATION;
    const double ways = t->goal == MW_TRAIN ? 2 : 1;
    const double send = mw_send_seconds(t->hardware, how->tp * how->cp * how->dp, bytes) * ways;
    const double hidden = both / how->virtual_stages;
    s->part[MW_P_SEND] =
        (stages - 1) * send + batches * how->virtual_stages * fmax(0, send - hidden);
}

/// Gradients are reduced beside the last backward, weights gathered beside the first forward.
static void add_update(const struct mw_task *t, const struct stage *stage, struct mw_step *s)
{
    const struct mw_parallel *how = &s->parallel;
    const struct mw_hardware *h = t->hardware;
    const struct mw_stage_weights w = mw_stage_weights(t, how);
    const struct mw_group shared = {how->dp * how->cp, how->tp};
    const struct mw_group experts = {how->dp * how->cp * how->tp / how->ep, how->ep};
    const double reduce = mw_gather_seconds(h, shared, w.shared * t->gradient_bytes) +
                          mw_gather_seconds(h, experts, w.experts * t->gradient_bytes);
    const double gather = mw_gather_seconds(h, shared, w.shared * WEIGHT) +
                          mw_gather_seconds(h, experts, w.experts * WEIGHT);
    const double own = w.shared / shared.ranks + w.experts / experts.ranks;
    s->part[MW_P_GRADIENTS] = fmax(0, reduce - stage->backward) + fmax(0, gather - stage->forward);
    // state is read and written, the gradient read, the weight written
    s->part[MW_P_OPTIMIZER] = own * (2 * t->optimizer_bytes + t->gradient_bytes + WEIGHT) /
                              (h->memory_gbytes * 1e9 * t->memory_share);
}

int mw_step_memory(struct mw_planner *p, const struct mw_parallel *parallel, struct mw_step *s,
                   struct mw_error *err)
{
    *s = (struct mw_step){.parallel = *parallel};
    int status = mw_layer_rows(p, parallel, s, err);
    if (!status)
        mw_memory_parts(&p->task, parallel, s->expert_rows, s->memory);
    return status;
}

int mw_step_make(struct mw_planner *p, const struct mw_parallel *parallel, unsigned system,
                 struct mw_step *s, struct mw_error *err)
{
    struct stage stage;
    int status = mw_step_memory(p, parallel, s, err);
    s->system = system;
    if (!status)
        status = slowest_stage(p, parallel, system, s, &stage, err);
    if (status)
        return status;
    s->forward = stage.forward;
    s->backward = stage.backward;
    add_pipeline(&p->task, &stage, s);
    if (p->task.goal == MW_TRAIN)
        add_update(&p->task, &stage, s);
    for (unsigned i = 0; i < MW_STEP_PARTS; i++)
        s->seconds += s->part[i];
    return MW_EXIT_OK;
}

double mw_task_tokens(const struct mw_task *t)
{
    return (double)t->batch * (t->goal == MW_DECODE ? 1 : t->sequence);
}

static double head_flops(const struct mw_task *t)
{
    return 2.0 * t->model.vocabulary * t->model.hidden;
}

double mw_step_mfu(const struct mw_task *t, const struct mw_step *s)
{
    const double attended = t->goal == MW_DECODE ? mw_attended_behind(&t->model, t->sequence)
                                                 : mw_attended_within(&t->model, t->sequence);
    // of a prompt the head computes the last token alone
    const double unneeded = t->goal == MW_PREFILL ? (1 - 1.0 / t->sequence) * head_flops(t) : 0;
    const double token = mw_model_flops(&t->model, attended) - unneeded;
    const double flops = token * (t->goal == MW_TRAIN ? 3 : 1);
    return flops * mw_task_tokens(t) /
           (s->seconds * t->gpus * t->hardware->tflops[MW_GEMM_BF16] * 1e12);
}
