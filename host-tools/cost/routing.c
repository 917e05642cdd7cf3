// SPDX-License-Identifier: Apache-2.0
//
// See routing.h.
#include "cost/routing.h"

#include <stdlib.h>
#include <string.h>

/// One token of the sample: places of its experts.
struct walk {
    struct mw_routing *r;
    const struct mw_trace *trace;
    size_t layer, token, sampled; ///< of the trace; tokens taken so far
    unsigned filled;              ///< of the workload
    double machines, far, far_rows, remote, sampled_remote;
    size_t visits; ///< of machines
};

static const uint16_t *ids_of(const struct walk *w)
{
    return w->trace->ids + mw_trace_at(w->trace, w->layer, w->token % w->trace->tokens);
}

/// Distinct ones of `count` GPUs with `experts` each that hold an expert in [first, first + count *
/// experts), but `own`.
static unsigned remote_gpus(const uint16_t *ids, unsigned k, unsigned first, unsigned experts,
                            unsigned count, unsigned own)
{
    unsigned found = 0;
    for (unsigned i = 0; i < k; i++) {
        if (ids[i] == MW_NO_EXPERT || ids[i] < first || ids[i] >= first + count * experts)
            continue;
        const unsigned gpu = (ids[i] - first) / experts;
        bool before = gpu == own;
        for (unsigned j = 0; j < i && !before; j++)
            before = ids[j] != MW_NO_EXPERT && ids[j] >= first && (ids[j] - first) / experts == gpu;
        found += !before;
    }
    return found;
}

/// The places of the machine's experts as one token of the workload. As in a run, a GPU is home of
/// tokens one after the other.
static void visit(struct walk *w, const uint16_t *ids, unsigned machine)
{
    struct mw_routing *r = w->r;
    const unsigned k = w->trace->k, here = r->switched * r->experts_per_gpu;
    const unsigned first = machine * here, gpus = r->w.shape.gpus;
    const unsigned all = gpus * r->w.shape.tokens_per_gpu;
    unsigned count = 0;
    if (w->filled == all)
        return;
    const unsigned home = w->filled / r->w.shape.tokens_per_gpu;
    uint16_t *to = r->w.layer[0].ids + (size_t)w->filled * k;
    for (unsigned i = 0; i < k; i++)
        if (ids[i] != MW_NO_EXPERT && ids[i] >= first && ids[i] < first + here)
            to[count++] = (uint16_t)(ids[i] - first);
    for (; count < k; count++)
        to[count] = MW_NO_EXPERT;
    w->filled++;
    w->visits++;
    w->remote += remote_gpus(ids, k, first, r->experts_per_gpu, r->switched, home % r->switched);
    w->sampled_remote += remote_gpus(to, k, 0, r->w.experts_per_gpu, gpus, home);
}

/// The range of token number `at` of `tokens`, by where ranges end.
static unsigned range_of(const unsigned *ends, size_t at, size_t tokens)
{
    unsigned range = 0;
    while (at >= mw_range_end(ends[range], MW_RANGE_PARTS, (uint32_t)tokens))
        range++;
    return range;
}

/// The range of a GPU's gathered tokens in which token `at` of GPU `source` is: the others' begin
/// with those of the next GPU. Own tokens come last.
static unsigned gathered_range(unsigned gpus, unsigned gpu, size_t source, size_t at, size_t tokens)
{
    const size_t turn = (source + gpus - gpu - 1) % gpus;
    if (source == gpu)
        return MW_GATHERED_RANGES;
    return range_of(mw_gathered_ends, turn * tokens + at, (gpus - 1) * tokens);
}

static void count_rows(struct walk *w, const uint16_t *ids, unsigned own)
{
    struct mw_routing *r = w->r;
    const size_t tokens = r->w.shape.tokens_per_gpu, at = w->sampled % tokens;
    const size_t source = w->sampled / tokens;
    const size_t range = range_of(mw_overlap_ends, at, tokens);
    for (unsigned i = 0; i < w->trace->k; i++) {
        if (ids[i] == MW_NO_EXPERT)
            continue;
        const unsigned gpu = ids[i] / r->experts_per_gpu % r->w.shape.gpus;
        const size_t gathered = gathered_range(r->w.shape.gpus, gpu, source, at, tokens);
        w->far_rows += ids[i] / (r->switched * r->experts_per_gpu) != own;
        r->rows[ids[i]]++;
        r->range_rows[range * r->experts + ids[i]]++;
        r->gathered_rows[gathered * r->experts + ids[i]]++;
        r->source_rows[source * r->experts + ids[i]]++;
    }
}

/// The machine of a token's own GPU: tokens go round.
static void take(struct walk *w)
{
    struct mw_routing *r = w->r;
    const uint16_t *ids = ids_of(w);
    const unsigned here = r->switched * r->experts_per_gpu, k = w->trace->k;
    const unsigned own = (unsigned)(w->token % r->machines);
    const unsigned far = remote_gpus(ids, k, 0, here, r->machines, own);
    const unsigned both = remote_gpus(ids, k, 0, here, r->machines, r->machines);
    w->machines += both;
    w->far += far;
    count_rows(w, ids, own);
    for (unsigned m = 0; m < r->machines; m++)
        if (r->machines == 1 || remote_gpus(ids, k, m * here, here, 1, 1))
            visit(w, ids, m);
    w->token++;
    w->sampled++;
}

static void busiest_gpu(struct mw_routing *r)
{
    double most = 0, all = 0;
    for (unsigned g = 0; g < r->ep; g++) {
        double rows = 0;
        for (unsigned e = 0; e < r->experts_per_gpu; e++)
            rows += r->rows[g * r->experts_per_gpu + e];
        most = rows > most ? rows : most;
        all += rows;
    }
    r->busiest = all > 0 ? most * r->ep / all : 1;
}

static int allocate(struct mw_routing *r, const struct mw_trace *trace, struct mw_error *err)
{
    const size_t all = (size_t)r->w.tokens * r->w.k;
    r->rows = calloc(trace->experts, sizeof *r->rows);
    r->range_rows = calloc((size_t)trace->experts * MW_OVERLAP_RANGES, sizeof *r->range_rows);
    r->gathered_rows = calloc((size_t)trace->experts * MW_ALL_GATHERED, sizeof *r->gathered_rows);
    r->source_rows = calloc((size_t)trace->experts * r->w.shape.gpus, sizeof *r->source_rows);
    r->w.layer = calloc(1, sizeof *r->w.layer);
    if (r->w.layer)
        r->w.layer[0].ids = malloc(all * sizeof *r->w.layer[0].ids);
    if (!r->rows || !r->range_rows || !r->gathered_rows || !r->source_rows || !r->w.layer ||
        !r->w.layer[0].ids)
        return mw_fail_memory(err, "a sample of the routing");
    for (size_t i = 0; i < all; i++)
        r->w.layer[0].ids[i] = MW_NO_EXPERT;
    return MW_EXIT_OK;
}

int mw_routing_make(struct mw_routing *r, const struct mw_trace *trace, size_t layer, unsigned ep,
                    unsigned gpus, unsigned tokens_per_gpu, struct mw_error *err)
{
    *r = (struct mw_routing){.ep = ep, .experts = trace->experts};
    r->machines = ep > gpus ? ep / gpus : 1;
    r->switched = ep / r->machines;
    r->experts_per_gpu = trace->experts / ep;
    const unsigned n = r->switched > MW_COUNTED_GPUS ? MW_COUNTED_GPUS : r->switched;
    r->w = (struct mw_workload){
        .shape = {.gpus = n, .tokens_per_gpu = tokens_per_gpu, .allow_padding = true},
        .tokens = n * tokens_per_gpu,
        .k = trace->k,
        .experts = r->switched * r->experts_per_gpu,
        .layers = 1,
    };
    r->w.experts_per_gpu = (r->w.experts + n - 1) / n;
    int status = allocate(r, trace, err);
    if (status) {
        mw_routing_free(r);
        return status;
    }
    struct walk w = {.r = r, .trace = trace, .layer = layer};
    for (unsigned i = 0; i < r->w.tokens; i++)
        take(&w);
    r->tokens = w.sampled;
    r->machines_per_token = w.machines / (double)w.sampled;
    r->far_machines = w.far / (double)w.sampled;
    r->far_rows = w.far_rows / (double)w.sampled;
    r->remote = w.visits ? w.remote / (double)w.visits : 0;
    r->sampled_remote = w.visits ? w.sampled_remote / (double)w.visits : 0;
    busiest_gpu(r);
    return MW_EXIT_OK;
}

void mw_routing_free(struct mw_routing *r)
{
    if (r->w.layer)
        free(r->w.layer[0].ids);
    free(r->w.layer);
    free(r->rows);
    free(r->range_rows);
    free(r->gathered_rows);
    free(r->source_rows);
    *r = (struct mw_routing){0};
}
