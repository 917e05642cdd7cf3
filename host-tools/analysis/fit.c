// SPDX-License-Identifier: Apache-2.0
//
// See fit.h.
#include "analysis/fit.h"

#include "base/text.h"
#include "trace/row_type.h"

#include "isa.h"

#include <stdio.h>
#include <string.h>

enum {
    ALIGN = 128,      ///< of regions
    MAX_ROW = 32752,  ///< bytes: 15 bits, a multiple of 16
    PAGES = 4 * 4096, ///< smallest that a write takes from the system: a page of each bank
    MODEL = 4 << 20,  ///< of a simulated GPU, beside its memory
    TOKEN_BITS = 20,  ///< of a number of a received row and its place in the list
    LISTED = 3,       ///< regions that a message names
};

static unsigned log2_up(uint64_t n)
{
    unsigned s = 0;
    while (UINT64_C(1) << s < n)
        s++;
    return s;
}

static uint64_t at_least(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void mw_fit_config(struct mw_layer_config *c, const struct mw_demand *d, bool multicast)
{
    c->k = d->k;
    c->tokens_per_gpu = d->shape.tokens_per_gpu;
    c->row_bytes = 2 * d->shape.hidden;
    c->dispatch_type = d->shape.dispatch_type;
    c->experts_per_gpu = d->experts / d->shape.gpus;
    c->rows_per_expert = d->rows_per_expert;
    // a unicast layout is one with received rows: at least one, where no token has any expert
    c->received_rows = multicast ? 0 : (unsigned)at_least(d->received_rows, 1);
}

// ---- regions ------------------------------------------------------------------------------------

/// `count` areas of `bytes`, all of which is used.
static void add(struct mw_fit *f, unsigned *at, const char *name, uint64_t count, uint64_t bytes,
                unsigned gpus)
{
    struct mw_region *r = &f->region[(*at)++];
    r->name = name;
    r->bytes = count * ((bytes + ALIGN - 1) / ALIGN * ALIGN);
    r->touched = gpus * r->bytes;
}

/// Of the region that was added last, only that is used.
static void touch(struct mw_fit *f, unsigned at, uint64_t bytes)
{
    struct mw_region *r = &f->region[at - 1];
    r->touched = bytes < r->touched ? bytes : r->touched;
}

/// Lists of rows of a GPU: of each expert or, of each source, too.
static uint64_t lists_of(const struct mw_fit *f, unsigned gpus)
{
    const struct mw_layer_config *c = &f->config;
    return (uint64_t)c->experts_per_gpu << (c->source_lists ? log2_up(gpus) : 0);
}

/// Rows lie where the allocator puts them, list by list from its first on, or where
/// their sources do.
static void add_allocated(struct mw_fit *f, unsigned *at, const struct mw_demand *d)
{
    const struct mw_layer_config *c = &f->config;
    unsigned gpus = d->shape.gpus, gate_shift = log2_up(at_least(4 * c->k, MW_MEM_ALIGN));
    uint64_t rows = lists_of(f, gpus) << f->cap_shift, edges = gpus * lists_of(f, gpus) * PAGES;
    const unsigned regions = c->handle ? 2 : 1; // of x, and of dY
    add(f, at, "dispatch rows", regions, rows << f->row_shift, gpus);
    touch(f, *at, regions * ((d->rows << f->row_shift) + edges));
    add(f, at, "combine rows", 1, rows << f->row_shift, gpus);
    touch(f, *at, (d->rows << f->row_shift) + edges);
    add(f, at, "gate weights", 1, rows << gate_shift, gpus);
    touch(f, *at, (d->rows << gate_shift) + edges);
    // with gradients after them, slots of all indices
    const uint64_t tokens =
        c->gate_gradients ? UINT64_C(1) << log2_up(c->tokens_per_gpu) : c->tokens_per_gpu;
    if (c->row_returns)
        add(f, at, "returned rows", 1, tokens << log2_up(c->k) << f->row_shift, gpus);
}

/// Per token received, a row and its metadata. Per place of the token's list, an expert's row. Per
/// own token and GPU, a slot for the partial sum.
static void add_received(struct mw_fit *f, unsigned *at, const struct mw_demand *d)
{
    const struct mw_layer_config *c = &f->config;
    uint64_t received = c->received_rows, tokens = c->tokens_per_gpu;
    // rows with others between them, which begin and end inside pages
    uint64_t apart = (UINT64_C(1) << f->row_shift) + PAGES;
    unsigned gpus = d->shape.gpus;
    const unsigned regions = c->handle ? 2 : 1; // of x, and of dY
    add(f, at, "received rows", regions, received << f->row_shift, gpus);
    touch(f, *at, regions * ((d->received << f->row_shift) + (uint64_t)gpus * PAGES));
    add(f, at, "combine rows", 1, received << log2_up(c->k) << f->row_shift, gpus);
    touch(f, *at, d->rows * apart);
    add(f, at, "received metadata", 1, received * MW_META_BYTES, gpus);
    add(f, at, "partial sums", 1, tokens << log2_up(gpus) << f->row_shift, gpus);
    touch(f, *at, d->received * apart);
}

void mw_fit_make(struct mw_fit *f, const struct mw_layer_config *c,
                 const struct mw_device_info *info, const struct mw_demand *d)
{
    unsigned at = 0, gpus = info->gpus, buffers = c->buffers ? c->buffers : 1;
    uint64_t tokens = c->tokens_per_gpu;
    uint64_t instrs = c->stream_instrs ? c->stream_instrs : info->stream_instrs;
    *f = (struct mw_fit){.config = *c};
    f->row_shift = log2_up(at_least(c->row_bytes, 4 * info->flit_bytes));
    f->cap_shift = log2_up(at_least(c->rows_per_expert, 1));
    add(f, &at, "instructions", MW_STREAMS, instrs * MW_INSTR_BYTES, gpus);
    add(f, &at, "coefficients", 1, 2 * (uint64_t)c->experts_per_gpu, gpus);
    add(f, &at, "routing tables", buffers, tokens * MW_ROUTE_BYTES, gpus);
    add(f, &at, "allocation tables", 1,
        4 * (uint64_t)c->experts_per_gpu << (log2_up(gpus) + log2_up(at_least(tokens, 1))), gpus);
    add(f, &at, "hidden values", buffers, tokens << f->row_shift, gpus);
    add(f, &at, "output rows", buffers, tokens << f->row_shift, gpus);
    if (c->received_rows)
        add_received(f, &at, d);
    else
        add_allocated(f, &at, d);
    if (c->switch_reductions)
        add(f, &at, "lists of targets", 1,
            (uint64_t)MW_LIST_BYTES << (log2_up(gpus) + log2_up(at_least(tokens, 1))), gpus);
    if (c->gate_gradients)
        add(f, &at, "gradients of gate weights", 1, 4 * tokens << log2_up(c->k), gpus);
    for (unsigned i = 0; i < at; i++) {
        f->bytes += f->region[i].bytes;
        f->touched += f->region[i].touched;
    }
    f->touched += (uint64_t)gpus * MODEL;
}

// ---- the device ---------------------------------------------------------------------------------

/// The largest regions first.
static void list_regions(const struct mw_fit *f, char *text, size_t size)
{
    bool used[MW_REGIONS] = {false};
    uint64_t rest = f->bytes;
    char bytes[32];
    size_t at = 0;
    *text = 0;
    for (unsigned n = 0; n < LISTED; n++) {
        unsigned best = MW_REGIONS;
        for (unsigned i = 0; i < MW_REGIONS; i++)
            if (!used[i] && (best == MW_REGIONS || f->region[i].bytes > f->region[best].bytes))
                best = i;
        used[best] = true;
        rest -= f->region[best].bytes;
        snprintf(text + at, size - at, "%s %s, ", f->region[best].name,
                 mw_bytes_text(f->region[best].bytes, bytes, sizeof bytes));
        at = strlen(text);
    }
    snprintf(text + at, size - at, "all else %s", mw_bytes_text(rest, bytes, sizeof bytes));
}

static int refuse_memory(const struct mw_fit *f, const struct mw_device_info *info,
                         struct mw_error *err)
{
    const struct mw_layer_config *c = &f->config;
    char list[256], why[160] = "";
    list_regions(f, list, sizeof list);
    if (!c->received_rows)
        snprintf(why, sizeof why, "; kept for each of %llu %s: %llu rows, of %u",
                 (unsigned long long)lists_of(f, info->gpus),
                 c->source_lists ? "lists {expert, source}" : "experts", 1ull << f->cap_shift,
                 c->rows_per_expert);
    return mw_fail(err, MW_EXIT_INPUT,
                   "%llu bytes of memory per GPU, it has %llu: %s%s; a row takes %llu bytes, of %u "
                   "(powers of two): lower --tokens-per-gpu or --hidden%s",
                   (unsigned long long)f->bytes, (unsigned long long)info->mem_bytes, list, why,
                   1ull << f->row_shift, c->row_bytes,
                   c->buffers > 1 ? ", or leave out --batches" : "");
}

/// What to do about too many.
static const char *fewer_experts(const struct mw_demand *d)
{
    if (d->replicas)
        return "lower --replicas";
    return d->given ? "take a trace of fewer experts" : "lower --experts";
}

int mw_fit_check(const struct mw_fit *f, const struct mw_device_info *info,
                 const struct mw_demand *d, struct mw_error *err)
{
    const struct mw_layer_config *c = &f->config;
    uint64_t lists = lists_of(f, info->gpus), rows = lists << f->cap_shift;
    uint64_t places = (uint64_t)c->received_rows << log2_up(c->k);
    if (c->row_bytes % info->flit_bytes)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%u bytes per row are no multiple of the %u-byte flit: --hidden must be a "
                       "multiple of %u",
                       c->row_bytes, info->flit_bytes, info->flit_bytes / 2);
    const unsigned sent = (unsigned)mw_row_type_bytes(c->dispatch_type, d->shape.hidden);
    if (sent % info->flit_bytes)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--dispatch-type %s: %u bytes per row are no multiple of the %u-byte flit: "
                       "--hidden must be a multiple of %u",
                       mw_row_type_names[c->dispatch_type], sent, info->flit_bytes,
                       info->flit_bytes);
    if (c->dispatch_type != MW_ROWTYPE_BF16 && !info->row_types)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--dispatch-type %s: this device's rows are bf16 in both directions: leave "
                       "it out",
                       mw_row_type_names[c->dispatch_type]);
    if (c->handle && !info->cached_handle)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--pass: each layer of this device counts its own rows (it has no "
                       "cached_handle): only --pass forward");
    if (c->gate_gradients && !info->gate_gradients)
        return mw_fail(
            err, MW_EXIT_INPUT,
            "--pass: experts of this device make no gradients of gate weights (it has no "
            "gate_gradients): add --no-gate-gradients");
    if (c->row_bytes > MAX_ROW)
        return mw_fail(err, MW_EXIT_INPUT, "bytes per row: %u, it has %d: --hidden may be %d",
                       c->row_bytes, MAX_ROW, MAX_ROW / 2 / 8 * 8);
    if (c->tokens_per_gpu > info->tokens)
        return mw_fail(err, MW_EXIT_INPUT, "tokens per GPU: %u, it has %u: lower --tokens-per-gpu",
                       c->tokens_per_gpu, info->tokens);
    if (d->experts > info->experts)
        return mw_fail(err, MW_EXIT_INPUT, "experts: %u, it has %u: %s", d->experts, info->experts,
                       fewer_experts(d));
    if (c->experts_per_gpu > info->local_experts)
        return mw_fail(err, MW_EXIT_INPUT, "experts per GPU: %u, it has %u: raise --gpus or %s",
                       c->experts_per_gpu, info->local_experts, fewer_experts(d));
    if (lists > info->local_experts)
        return mw_fail(err, MW_EXIT_INPUT,
                       "lists {expert, source} per GPU: %llu, it has %u: %u experts of each of %u "
                       "GPUs, rounded up to a power of two: %s",
                       (unsigned long long)lists, info->local_experts, c->experts_per_gpu,
                       1u << log2_up(info->gpus), fewer_experts(d));
    if (rows > info->rows)
        return mw_fail(
            err, MW_EXIT_INPUT,
            "rows per GPU: %llu, it has %u: %llu %s with %llu each, %u rounded up to a power "
            "of two%s",
            (unsigned long long)rows, info->rows, (unsigned long long)lists,
            c->source_lists ? "lists {expert, source}" : "experts", 1ull << f->cap_shift,
            c->rows_per_expert,
            c->rows_per_expert > d->rows_per_expert
                ? ": lower --set rows_per_expert"
                : " for the busiest: lower --tokens-per-gpu or raise --gpus");
    if (places > 1u << TOKEN_BITS)
        return mw_fail(err, MW_EXIT_INPUT,
                       "rows per GPU: %llu, it has %u: %u tokens received with room for %u experts "
                       "each, k rounded up to a power of two: lower --tokens-per-gpu",
                       (unsigned long long)places, 1u << TOKEN_BITS, c->received_rows,
                       1u << log2_up(c->k));
    return f->bytes > info->mem_bytes ? refuse_memory(f, info, err) : MW_EXIT_OK;
}

// ---- this machine -------------------------------------------------------------------------------

uint64_t mw_memory_host(const struct mw_demand *d, unsigned jobs)
{
    uint64_t tokens = (uint64_t)d->shape.gpus * d->shape.tokens_per_gpu;
    uint64_t values = 2 * tokens * d->shape.hidden, lists = 6 * tokens * d->k;
    // hidden values and golden results of all; of each that runs, its results and rows under way
    return d->layers * (2 * values + 2 * lists) +
           jobs * (d->layers * values + d->shape.gpus * (UINT64_C(1) << 20));
}

int mw_memory_check(const struct mw_memory *m, uint64_t available, struct mw_error *err)
{
    char all[32], gpus[32], host[32], have[32];
    uint64_t need = m->gpus + m->host;
    if (!available || need <= available)
        return MW_EXIT_OK;
    return mw_fail(
        err, MW_EXIT_INPUT,
        "the run takes %s of memory (simulated GPUs %s, data of the run %s), this machine "
        "has %s available: lower --tokens-per-gpu%s or --hidden",
        mw_bytes_text(need, all, sizeof all), mw_bytes_text(m->gpus, gpus, sizeof gpus),
        mw_bytes_text(m->host, host, sizeof host), mw_bytes_text(available, have, sizeof have),
        m->several ? ", --jobs" : "");
}
