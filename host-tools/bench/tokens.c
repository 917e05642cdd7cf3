// SPDX-License-Identifier: Apache-2.0
//
// Patterns of tokens: every row goes to the experts of its list in the routing table. Lists are
// random or from a trace; hidden values, weights and the golden sums are those of a workload of
// `moeswitch run`.
#include "base/random.h"
#include "bench/bench.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// ---- streams ------------------------------------------------------------------------------------

void mw_bench_rows(const struct mw_bench *b, unsigned gpu, struct mw_stream *s)
{
    if (!b->tokens[gpu])
        return;
    mw_stream_dymultimem_st_rows(s, 0, b->tokens[gpu], true);
    mw_stream_fence(s);
}

void mw_bench_dispatch(const struct mw_bench *b, unsigned gpu, struct mw_stream *s)
{
    mw_stream_count(s, 0, b->tokens[gpu], false);
    mw_stream_dymultimem_st(s, 0, b->tokens[gpu]);
    mw_stream_wait(s, MW_EV_ROWS_DONE, 1);
}

void mw_bench_experts(const struct mw_bench *b, unsigned gpu, struct mw_stream *s)
{
    enum { NO_SIGNALS = 1 };
    mw_bench_dispatch(b, gpu, s);
    mw_stream_expert(s, NO_SIGNALS);
    mw_stream_signal(s, MW_EV_SW0);
    mw_stream_wait(s, MW_EV_SW0, b->info.gpus - 1);
}

void mw_bench_combine(const struct mw_bench *b, unsigned gpu, struct mw_stream *s)
{
    mw_bench_experts(b, gpu, s);
    mw_stream_dymultimem_ld_reduce(s, 0, b->tokens[gpu], false);
    mw_stream_reduction(s, b->dtype, b->redop);
}

// ---- lists --------------------------------------------------------------------------------------

/// k different experts of first .. first + count - 1.
static void random_list(struct mw_random *r, unsigned k, unsigned first, unsigned count,
                        uint16_t *list)
{
    for (unsigned j = 0; j < k; j++) {
        bool again = true;
        while (again) {
            list[j] = (uint16_t)(first + mw_random_below(r, count));
            again = false;
            for (unsigned i = 0; i < j; i++)
                again |= list[i] == list[j];
        }
    }
}

/// Lists of all tokens of all GPUs, those that are never sent included.
static int random_lists(const struct mw_bench *b, unsigned experts, unsigned k, unsigned tokens,
                        struct mw_trace *trace)
{
    unsigned gpus = b->info.gpus;
    size_t all = (size_t)gpus * tokens;
    *trace = (struct mw_trace){
        .layers = 1, .tokens = all, .k = k, .experts = experts, .synthetic = true};
    strcpy(trace->name, "--experts");
    trace->ids = malloc(all * k * sizeof *trace->ids);
    trace->weights = malloc(all * k * sizeof *trace->weights);
    if (!trace->ids || !trace->weights) {
        mw_trace_free(trace);
        return mw_fail_memory(b->err, "lists of experts");
    }
    struct mw_random r = {mw_mix64(b->seed ^ 0x6c69737473)};
    for (size_t t = 0; t < all; t++) {
        uint16_t *list = trace->ids + t * k;
        if (b->params->split)
            random_list(&r, k, experts / 2, experts / 2, list);
        else if (b->pattern->lists)
            random_list(&r, k, 0, experts, list);
        else // one expert per GPU: any but the own
            list[0] = (uint16_t)((t / tokens + 1 + mw_random_below(&r, gpus - 1)) % gpus);
        for (unsigned j = 0; j < k; j++)
            trace->weights[t * k + j] = (float)(0.5 + mw_random_unit(&r)) / (float)k;
    }
    return MW_EXIT_OK;
}

static int make_workload(struct mw_bench *b, unsigned tokens)
{
    const struct mw_bench_params *p = b->params;
    bool lists = b->pattern->lists;
    size_t layer = b->pattern->gates && p->trace ? p->layer : 0;
    struct mw_trace own = {0};
    const struct mw_trace *trace = &b->trace;
    struct mw_shape shape = {.gpus = b->info.gpus,
                             .tokens_per_gpu = tokens,
                             .hidden = b->row / 2,
                             .spread = MW_SPREAD_FAR,
                             .seed = b->seed};
    int status = MW_EXIT_OK;
    if (!b->pattern->gates || !p->trace) {
        unsigned experts = lists ? p->experts : b->info.gpus;
        status = random_lists(b, experts, lists ? p->k : 1, tokens, &own);
        trace = &own;
    }
    if (!status)
        status = mw_workload_make(&b->w, trace, &layer, 1, &shape, b->err);
    mw_trace_free(&own);
    return status;
}

// ---- sizes --------------------------------------------------------------------------------------

/// Rows that the fullest expert gets.
static unsigned most_rows(const struct mw_bench *b)
{
    unsigned *rows = calloc(b->w.experts, sizeof *rows), most = 0;
    if (!rows)
        return 0;
    for (unsigned t = 0; t < b->w.tokens; t++)
        for (unsigned j = 0; j < b->w.k; j++) {
            uint16_t e = b->w.layer[0].ids[t * b->w.k + j];
            if (b->tokens[mw_gpu_of_token(&b->w, t)] && e != MW_NO_EXPERT && ++rows[e] > most)
                most = rows[e];
        }
    free(rows);
    return most;
}

static int map_experts(struct mw_bench *b)
{
    int code = mw_expert_map_even(b->device, b->w.experts);
    return code ? mw_bench_failed(b, "expert map", code) : MW_EXIT_OK;
}

/// Rows at explicit addresses land from address 0 on, at their token's number: everything
/// else moves after them.
static int make_flat(struct mw_bench *b)
{
    struct mw_layout *l = &b->layout;
    enum { ALIGN = 128 }; // of the layout's regions
    uint64_t area = UINT64_C(1) << (l->n_shift + l->token_shift + l->row_shift);
    area = (area + ALIGN - 1) / ALIGN * ALIGN;
    if (l->end + area > b->info.mem_bytes)
        return mw_fail(
            b->err, MW_EXIT_INPUT,
            "the device cannot hold this size: bytes of memory per GPU: %llu, it has %llu",
            (unsigned long long)(l->end + area), (unsigned long long)b->info.mem_bytes);
    uint64_t *const bases[] = {&l->stream[0], &l->stream[1], &l->stream[2], &l->stream[3],
                               &l->rt_base,   &l->ce_base,   &l->al_base,   &l->xs_base,
                               &l->out_base,  &l->yd_base,   &l->xd_base,   &l->gt_base,
                               &l->cb_base,   &l->scratch};
    for (unsigned i = 0; i < sizeof bases / sizeof *bases; i++)
        *bases[i] += area;
    l->end += area;
    l->st_lo = 0;
    l->st_hi = b->scratch ? l->end : area;
    b->flat = area;
    return MW_EXIT_OK;
}

/// Before lists and rows of so many tokens are made: whether there is room for the
/// least that they need.
static int check_tokens(struct mw_bench *b, unsigned tokens)
{
    b->config.k = b->config.experts_per_gpu = b->config.rows_per_expert = 1;
    b->config.tokens_per_gpu = tokens;
    b->config.row_bytes = b->row;
    return mw_bench_layout(b);
}

int mw_bench_tokens_prepare(struct mw_bench *b)
{
    unsigned tokens = (unsigned)(b->size / b->row);
    int status = mw_bench_configure(b);
    if (!status)
        status = check_tokens(b, tokens);
    if (!status)
        status = make_workload(b, tokens);
    if (status)
        return status;
    for (unsigned g = 0; g < b->info.gpus; g++)
        b->tokens[g] = b->params->split && g >= b->info.gpus / 2 ? 0 : tokens;
    b->config.k = b->w.k;
    b->config.tokens_per_gpu = tokens;
    b->config.row_bytes = b->row;
    b->config.scratch_bytes = b->scratch;
    b->config.experts_per_gpu = b->w.experts_per_gpu;
    b->config.rows_per_expert = b->pattern->gates ? most_rows(b) : 1;
    b->streams = 1;
    status = mw_bench_layout(b);
    if (!status && !b->pattern->gates)
        status = make_flat(b);
    return status || !b->device ? status : map_experts(b);
}

// ---- memory -------------------------------------------------------------------------------------

/// What each GPU has of the layer.
static void make_parts(const struct mw_bench *b, struct mw_tokens *part)
{
    const struct mw_layer *layer = &b->w.layer[0];
    const size_t own = b->w.shape.tokens_per_gpu, k = b->w.k;
    static_assert((int16_t)MW_NO_EXPERT == -1, "lists are as the library takes them");
    for (size_t g = 0; g < b->info.gpus; g++)
        part[g] = (struct mw_tokens){(unsigned)own, layer->x + g * own * b->w.shape.hidden,
                                     (const int16_t *)layer->ids + g * own * k,
                                     layer->weights + g * own * k};
}

static int load_routing(struct mw_bench *b, const struct mw_tokens *part)
{
    int code = mw_routing_load(b->device, b->layout.rt_base, b->w.k, part);
    return code ? mw_bench_failed(b, "routing tables", code) : MW_EXIT_OK;
}

static int load_values(struct mw_bench *b, const struct mw_tokens *part)
{
    int code = mw_rows_load(b->device, b->layout.xs_base, b->row, b->layout.row_shift, part);
    return code ? mw_bench_failed(b, "hidden values", code) : MW_EXIT_OK;
}

/// The output rows of a combine get a pattern first.
static int spoil_output(struct mw_bench *b)
{
    const size_t own = (size_t)b->w.shape.tokens_per_gpu << b->layout.row_shift;
    uint8_t *data = malloc(b->info.gpus * own);
    if (!data)
        return mw_fail_memory(b->err, "output rows");
    memset(data, MW_BENCH_UNTOUCHED, b->info.gpus * own);
    int status = mw_bench_move(b, true, b->layout.out_base, data, own, "output rows");
    free(data);
    return status;
}

static int load_coefficients(struct mw_bench *b)
{
    int code = mw_coefficients_load(b->device, &b->layout, b->w.experts_per_gpu, b->w.coefficients);
    return code ? mw_bench_failed(b, "expert coefficients", code) : MW_EXIT_OK;
}

static int clear_flat(struct mw_bench *b)
{
    size_t area = b->flat;
    uint8_t *data = malloc(b->info.gpus * area);
    if (!data)
        return mw_fail_memory(b->err, "received rows");
    memset(data, MW_BENCH_UNTOUCHED, b->info.gpus * area);
    int status = mw_bench_move(b, true, 0, data, area, "received rows");
    free(data);
    return status;
}

int mw_bench_tokens_load(struct mw_bench *b)
{
    struct mw_tokens part[MW_MAX_PORTS];
    make_parts(b, part);
    int status = load_routing(b, part);
    if (!status)
        status = load_values(b, part);
    if (!status && b->pattern->make == mw_bench_combine)
        status = spoil_output(b);
    if (!status && !b->pattern->gates)
        status = clear_flat(b);
    return status ? status : load_coefficients(b);
}
