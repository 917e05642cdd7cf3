// SPDX-License-Identifier: Apache-2.0
//
// See layer.h.
#include "plan/layer.h"

#include "plan/collectives.h"
#include "systems/system_list.h"

#include <math.h>
#include <stdlib.h>

enum {
    ACTIVATION = 2,   ///< bytes
    SAMPLE = 512,     ///< tokens of a GPU in a sample of the routing, at most
    TILE_SHARE = 4,   ///< of an expert's rows, a tile has at most one part of so many
    BACKWARD_MOE = 2, ///< experts' time of backward in that of forward
    CROSSINGS = 4, ///< of links, at least: of the first row to its expert, of the last result back
};

/// A sample, and what each system sends of it.
struct mw_moe_cache {
    unsigned ep, tokens;
    struct mw_routing routing;
    struct mw_moe_counts counts[MW_SYSTEMS];
};

// ---- the planner --------------------------------------------------------------------------------

/// Bytes of a row of dispatch with its scales: fp8 has 4 bytes for each 128 values (DeepEP), fp4
/// one for each 16 (NVFP4).
static double row_bytes(const struct mw_task *t)
{
    const double values = t->model.hidden, bytes = values * mw_type_bytes[t->dispatch];
    return bytes + (t->dispatch == MW_GEMM_FP8   ? values / 32
                    : t->dispatch == MW_GEMM_FP4 ? values / 16
                                                 : 0);
}

static int take_rows(struct mw_planner *p, struct mw_error *err)
{
    const double flits = ceil(row_bytes(&p->task) / MW_PLAN_FLIT);
    const struct mw_expert_shape combine = {.hidden = p->task.model.hidden};
    const struct mw_expert_shape dispatch = {.hidden = (unsigned)flits * MW_PLAN_FLIT / ACTIVATION};
    int status = mw_plane_of(&p->combine, p->task.hardware, MW_PLAN_FLIT, 1, &combine, err);
    if (!status)
        status = mw_plane_of(&p->dispatch, p->task.hardware, MW_PLAN_FLIT, 1, &dispatch, err);
    return status;
}

int mw_planner_make(struct mw_planner *p, struct mw_error *err)
{
    const struct mw_task *t = &p->task;
    const struct mw_hardware *h = t->hardware;
    const enum mw_gemm_type types[] = {t->gemm, MW_GEMM_BF16};
    for (unsigned i = 0; i < 2; i++)
        if (!(h->tflops[types[i]] > 0))
            return mw_fail(err, MW_EXIT_INPUT, "--hardware %s: it states no TFLOPS of %s", h->name,
                           mw_gemm_names[types[i]]);
    if (!(t->capacity > 0))
        return mw_fail(err, MW_EXIT_INPUT,
                       "--hardware %s: it states no memory_gbytes: add it, or --memory", h->name);
    if (t->gpus > h->gpus && !(h->network_gbytes > 0 && h->network_ns > 0))
        return mw_fail(err, MW_EXIT_INPUT,
                       "--gpus %u: more than one machine of %u, and %s states no "
                       "network_gbytes_per_s and network_latency_ns",
                       t->gpus, h->gpus, h->name);
    return take_rows(p, err);
}

void mw_planner_free(struct mw_planner *p)
{
    for (unsigned i = 0; i < p->cached; i++)
        mw_routing_free(&p->cache[i].routing);
    free(p->cache);
    p->cache = NULL;
    p->cached = 0;
    mw_compute_free(&p->compute);
}

// ---- routing ------------------------------------------------------------------------------------

/// Tokens of a micro-batch that a GPU sends to experts.
static double own_tokens(const struct mw_planner *p, const struct mw_parallel *how)
{
    return mw_part_tokens(&p->task, how) / how->tp;
}

static struct mw_moe_layer moe_layer(const struct mw_planner *p, const struct mw_parallel *how,
                                     double row_seconds)
{
    const double rows = own_tokens(p, how) * how->ep * p->trace->k / p->task.model.experts;
    const double share = floor(rows / TILE_SHARE);
    return (struct mw_moe_layer){
        .tokens = own_tokens(p, how),
        .dispatch = p->dispatch.hidden,
        .combine = p->combine.hidden,
        .tile = (unsigned)fmax(1, fmin(p->tile, share)),
        .expert_cycles = row_seconds * 1e9 / p->combine.cycle_ns,
        .flit_bytes = MW_PLAN_FLIT,
        .link_latency = p->combine.link_latency,
    };
}

/// The entry for `how`, made where it is missing; NULL with `err`: no memory.
static const struct mw_moe_cache *find(struct mw_planner *p, const struct mw_parallel *how,
                                       struct mw_error *err)
{
    unsigned tokens = 1;
    while (tokens < SAMPLE && 2 * tokens <= own_tokens(p, how))
        tokens *= 2;
    for (unsigned i = 0; i < p->cached; i++)
        if (p->cache[i].ep == how->ep && p->cache[i].tokens == tokens)
            return &p->cache[i];
    struct mw_moe_cache *cache = realloc(p->cache, (p->cached + 1) * sizeof *cache);
    if (!cache) {
        mw_fail_memory(err, "samples of the routing");
        return NULL;
    }
    p->cache = cache;
    cache += p->cached;
    *cache = (struct mw_moe_cache){.ep = how->ep, .tokens = tokens};
    if (mw_routing_make(&cache->routing, p->trace, p->layer, how->ep, p->task.hardware->gpus,
                        tokens, err))
        return NULL;
    p->cached++;
    const struct mw_moe_layer layer = moe_layer(p, how, 0);
    for (unsigned s = 0; s < MW_SYSTEMS && how->ep > 1; s++)
        mw_moe_count(&cache->routing, &mw_systems[s], &layer, &cache->counts[s]);
    return cache;
}

int mw_layer_rows(struct mw_planner *p, const struct mw_parallel *how, struct mw_step *s,
                  struct mw_error *err)
{
    const struct mw_moe_cache *c = find(p, how, err);
    if (!c)
        return MW_EXIT_FAILED;
    s->expert_rows = own_tokens(p, how) * p->trace->k * c->routing.busiest;
    s->remote = c->routing.remote;
    return MW_EXIT_OK;
}

// ---- experts and their communication ------------------------------------------------------------

/// Rows that a token sends to other machines: one for each machine, or for each expert, or to all.
static double far_rows(const struct mw_routing *r, const struct mw_system *system)
{
    if (system->gathered)
        return r->machines - 1;
    return system->row_sparse ? r->far_rows : r->far_machines;
}

/// Seconds of rows between machines, to experts and back.
static double network_seconds(const struct mw_planner *p, const struct mw_routing *r,
                              const struct mw_system *system, double tokens)
{
    enum { WAYS = 2 };
    const struct mw_hardware *h = p->task.hardware;
    const double row = row_bytes(&p->task) + ACTIVATION * (double)p->task.model.hidden;
    return WAYS * h->network_ns * 1e-9 +
           tokens * far_rows(r, system) * row / (h->network_gbytes * 1e9);
}

/// Seconds of dispatch, experts that take `experts`, and combine.
static double moe_seconds(const struct mw_planner *p, const struct mw_parallel *how,
                          const struct mw_moe_cache *c, unsigned system, double experts,
                          struct mw_step *s)
{
    if (how->ep == 1)
        return experts;
    const struct mw_moe_layer layer = moe_layer(p, how, experts / s->expert_rows);
    s->outside |= mw_moe_outside(&p->calibration[MW_FIT_MOE], &c->routing, &layer);
    const double cycles =
        mw_moe_cycles(&p->calibration[MW_FIT_MOE], system, &c->routing, &c->counts[system], &layer);
    const double least = experts + CROSSINGS * p->task.hardware->link_ns * 1e-9;
    const double seconds = fmax(least, cycles * p->combine.cycle_ns * 1e-9);
    if (c->routing.machines == 1)
        return seconds;
    const double network = network_seconds(p, &c->routing, &mw_systems[system], layer.tokens);
    return fmax(seconds, network + (mw_systems[system].phased ? experts : 0));
}

int mw_layer_communication(struct mw_planner *p, struct mw_step *s, double *seconds,
                           double *nothing, double *bytes, struct mw_error *err)
{
    const struct mw_moe_cache *c = find(p, &s->parallel, err);
    const double *coefficient = p->calibration[MW_FIT_MOE].coefficient[s->system];
    if (!c)
        return MW_EXIT_FAILED;
    *seconds = moe_seconds(p, &s->parallel, c, s->system, 0, s);
    *nothing = (coefficient[MW_F_LATENCY] * p->combine.link_latency + coefficient[MW_F_CONSTANT]) *
               p->combine.cycle_ns * 1e-9;
    *nothing = s->parallel.ep > 1 ? fmin(*nothing, *seconds) : 0;
    *bytes = own_tokens(p, &s->parallel) * p->trace->k * p->task.model.hidden * ACTIVATION;
    return MW_EXIT_OK;
}

/// What of dispatch and combine is not hidden: by the layer's experts, as the system does it, or by
/// all compute of another micro-batch.
static double exposed(const struct mw_planner *p, const struct mw_parallel *how,
                      const struct mw_moe_cache *c, unsigned system, double experts, double compute,
                      struct mw_step *s)
{
    const double visible = moe_seconds(p, how, c, system, experts, s) - experts;
    if (!p->task.overlap_batches)
        return visible;
    const double alone = moe_seconds(p, how, c, system, 0, s);
    return fmin(visible, fmax(0, alone - compute));
}

// ---- a layer ------------------------------------------------------------------------------------

static enum mw_step_part part_of(const struct mw_operator *op)
{
    if (op->kind == MW_OP_EXPERTS)
        return MW_P_EXPERTS;
    if (op->kind == MW_OP_POINTWISE)
        return MW_P_POINTWISE;
    const bool ffn = op->name[0] == 'F' || op->name[0] == 's' || op->name[0] == 'r';
    return ffn ? MW_P_FFN : MW_P_ATTENTION;
}

static struct mw_layer_work work_of(const struct mw_planner *p, const struct mw_parallel *how,
                                    const struct mw_step *s, bool dense)
{
    const struct mw_task *t = &p->task;
    const bool decode = t->goal == MW_DECODE;
    return (struct mw_layer_work){
        .tokens = mw_part_tokens(t, how),
        .sequences = how->micro_batch,
        .context = decode ? mw_attended_behind(&t->model, t->sequence) / how->cp
                          : mw_attended_within(&t->model, t->sequence),
        .expert_rows = dense ? 0 : s->expert_rows,
        .local_experts = t->model.experts / how->ep,
        .dense = dense,
    };
}

/// Operators of forward, backward and recomputation.
static void add_operators(const struct mw_planner *p, const struct mw_parallel *how, bool dense,
                          struct mw_step *s, struct mw_layer_time *time)
{
    const struct mw_layer_work work = work_of(p, how, s, dense);
    struct mw_operator op[MW_OPERATORS];
    const unsigned count = mw_layer_operators(&p->task, how, &work, op);
    const bool train = p->task.goal == MW_TRAIN;
    s->operators = dense ? s->operators : count;
    for (unsigned i = 0; i < count; i++) {
        bool measured;
        const double forward = mw_compute_seconds(&p->compute, &p->task, &op[i], &measured);
        const bool again = train && (how->recompute == MW_RECOMPUTE_FULL ||
                                     (how->recompute == MW_RECOMPUTE_SELECTIVE && op[i].selective));
        const double backward = train ? forward * op[i].backward : 0;
        s->measured += !dense && measured;
        time->part[part_of(&op[i])] += forward + backward;
        time->part[MW_P_RECOMPUTE] += again ? forward : 0;
        time->forward += forward;
        time->backward += backward + (again ? forward : 0);
        const enum mw_side side = part_of(&op[i]) == MW_P_FFN ? MW_SIDE_FFN : MW_SIDE_ATTENTION;
        time->gathered[side] += op[i].split == MW_SPLIT_GATHERED ? forward : 0;
        time->reduced[side] += op[i].split == MW_SPLIT_REDUCED ? forward : 0;
        if (op[i].kind == MW_OP_EXPERTS)
            s->moe_experts = forward;
    }
}

static void add_moe(const struct mw_planner *p, const struct mw_parallel *how, unsigned system,
                    const struct mw_moe_cache *c, struct mw_step *s, struct mw_layer_time *time)
{
    const double experts = s->moe_experts;
    const double out = exposed(p, how, c, system, experts, time->forward, s);
    s->moe_forward = experts + out;
    time->part[MW_P_MOE] += out;
    time->forward += out;
    if (p->task.goal != MW_TRAIN)
        return;
    double back = exposed(p, how, c, system, BACKWARD_MOE * experts, time->backward, s);
    back += how->recompute == MW_RECOMPUTE_FULL ? out : 0;
    time->part[MW_P_MOE] += back;
    time->backward += back;
}

int mw_layer_time(struct mw_planner *p, const struct mw_parallel *how, unsigned system, bool dense,
                  struct mw_step *s, struct mw_layer_time *time, struct mw_error *err)
{
    const struct mw_moe_cache *c = dense ? NULL : find(p, how, err);
    if (!dense && !c)
        return MW_EXIT_FAILED;
    *time = (struct mw_layer_time){0};
    add_operators(p, how, dense, s, time);
    if (!dense)
        add_moe(p, how, system, c, s, time);
    mw_collectives_add(p, how, dense || p->task.model.shared_size, s, time);
    return MW_EXIT_OK;
}

double mw_head_seconds(const struct mw_planner *p, const struct mw_parallel *how)
{
    const struct mw_task *t = &p->task;
    const bool train = t->goal == MW_TRAIN;
    // prefill needs the logits of the last token of each sequence alone
    const double tokens = t->goal == MW_PREFILL ? how->micro_batch : mw_part_tokens(t, how);
    const struct mw_operator head = mw_head_operator(t, how, tokens);
    bool measured;
    return mw_compute_seconds(&p->compute, t, &head, &measured) *
           (train ? 1 + t->model.predicted : 1);
}
