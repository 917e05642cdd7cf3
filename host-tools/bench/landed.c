// SPDX-License-Identifier: Apache-2.0
//
// Results of patterns of tokens: rows at explicit addresses, rows and gate weights at the places
// from the receivers' allocators, and the output rows of combine. The allocators' tables are read
// from memory.
#include "bench/bench.h"
#include "golden/golden.h"

#include <stdlib.h>
#include <string.h>

enum { LOCAL = 64 }; ///< experts of a GPU, at most (emap_t has 6 bits)

/// What one GPU received, read back; of expert le the rows 0 .. rows[le] - 1.
struct received {
    unsigned rows[LOCAL];
    bool *taken[LOCAL]; ///< a row that some token was found in
    uint8_t *x[LOCAL], *gates[LOCAL];
    uint32_t *table;
};

struct landing {
    struct mw_bench *b;
    unsigned index_bits; ///< of a token of all GPUs
    struct received gpu[MW_MAX_PORTS];
};

static bool sent(const struct mw_bench *b, unsigned token)
{
    return b->tokens[mw_gpu_of_token(&b->w, token)] != 0;
}

static size_t row_stride(const struct mw_bench *b)
{
    return (size_t)1 << b->layout.row_shift;
}

static size_t gate_stride(const struct mw_bench *b)
{
    return (size_t)1 << b->layout.gate_shift;
}

static void count_rows(struct landing *l)
{
    const struct mw_workload *w = &l->b->w;
    for (unsigned t = 0; t < w->tokens; t++)
        for (unsigned j = 0; j < w->k && sent(l->b, t); j++) {
            unsigned e = w->layer[0].ids[t * w->k + j];
            if (e != MW_NO_EXPERT)
                l->gpu[mw_gpu_of_expert(w, e)].rows[e % w->experts_per_gpu]++;
        }
}

/// What is to be read of GPU g, after what `list` has.
static int list_gpu(struct landing *l, unsigned g, struct mw_transfer *list, size_t *length)
{
    const struct mw_bench *b = l->b;
    struct received *r = &l->gpu[g];
    unsigned experts = b->w.experts_per_gpu;
    size_t entries = (size_t)experts << l->index_bits, count = *length;
    // the table is in whole transfers: 128 bytes
    size_t bytes = (4 * entries + MW_MEM_ALIGN - 1) / MW_MEM_ALIGN * MW_MEM_ALIGN;
    bool ok = (r->table = malloc(bytes)) != NULL;
    list[count++] = (struct mw_transfer){g, b->layout.al_base, bytes, r->table};
    for (unsigned le = 0; le < experts; le++) {
        size_t n = r->rows[le];
        uint32_t first = le << b->layout.cap_shift;
        ok &= (r->taken[le] = calloc(n + 1, sizeof(bool))) != NULL;
        ok &= (r->x[le] = malloc(n * row_stride(b) + 1)) != NULL;
        ok &= (r->gates[le] = malloc(n * gate_stride(b) + 1)) != NULL;
        list[count++] =
            (struct mw_transfer){g, b->layout.xd_base + ((uint64_t)first << b->layout.row_shift),
                                 n * row_stride(b), r->x[le]};
        if (b->pattern->gates)
            list[count++] = (struct mw_transfer){
                g, b->layout.gt_base + ((uint64_t)first << b->layout.gate_shift),
                n * gate_stride(b), r->gates[le]};
    }
    *length = count;
    return ok ? MW_EXIT_OK : mw_fail_memory(b->err, "received rows");
}

/// All GPUs in one call: their host ports work side by side.
static int read_all(struct landing *l)
{
    const struct mw_bench *b = l->b;
    size_t count = 0;
    struct mw_transfer *list = calloc(b->info.gpus * (1 + 2 * LOCAL), sizeof *list);
    int status = list ? MW_EXIT_OK : mw_fail_memory(b->err, "received rows");
    for (unsigned g = 0; g < b->info.gpus && !status; g++)
        status = list_gpu(l, g, list, &count);
    int code = status ? 0 : mw_mem_read(b->device, list, count);
    free(list);
    return code ? mw_bench_failed(b, "received rows", code) : status;
}

static uint64_t differing(const uint8_t *a, const uint8_t *b, size_t bytes, size_t element)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < bytes; i += element)
        wrong += memcmp(a + i, b + i, element) != 0;
    return wrong;
}

/// An entry of the allocation table: valid, epoch, row.
enum { VALID = 31, EPOCH = 29, ROW_MASK = 0xfffff };

/// The copy of `token` for one expert. `epoch` is that of the table's first entry that was checked.
static uint64_t check_copy(struct landing *l, unsigned token, unsigned expert, int *epoch)
{
    const struct mw_bench *b = l->b;
    const struct mw_workload *w = &b->w;
    struct received *r = &l->gpu[mw_gpu_of_expert(w, expert)];
    unsigned le = expert % w->experts_per_gpu;
    unsigned index =
        mw_gpu_of_token(w, token) << b->layout.token_shift | token % w->shape.tokens_per_gpu;
    uint32_t entry = r->table[(size_t)le << l->index_bits | index];
    uint32_t row = entry & ROW_MASK;
    if (*epoch < 0)
        *epoch = entry >> EPOCH & 3;
    if (!(entry >> VALID) || (int)(entry >> EPOCH & 3) != *epoch || row >= r->rows[le] ||
        r->taken[le][row])
        return w->shape.hidden;
    r->taken[le][row] = true;
    uint64_t wrong = differing((const uint8_t *)(w->layer[0].x + (size_t)token * w->shape.hidden),
                               r->x[le] + row * row_stride(b), b->row, 2);
    if (b->pattern->gates)
        wrong += differing((const uint8_t *)(w->layer[0].weights + (size_t)token * w->k),
                           r->gates[le] + row * gate_stride(b), 4 * (size_t)w->k, 4);
    return wrong;
}

/// Entries of this epoch, and of no token that was sent there.
static uint64_t strangers(const struct landing *l, unsigned g, int epoch)
{
    uint64_t entries = (uint64_t)l->b->w.experts_per_gpu << l->index_bits, here = 0;
    for (uint64_t i = 0; i < entries; i++) {
        uint32_t entry = l->gpu[g].table[i];
        here += entry >> VALID && (int)(entry >> EPOCH & 3) == epoch;
    }
    for (unsigned le = 0; le < l->b->w.experts_per_gpu; le++)
        here -= l->gpu[g].rows[le] < here ? l->gpu[g].rows[le] : here;
    return here;
}

int mw_bench_landed_check(struct mw_bench *b, uint64_t *wrong)
{
    struct landing *l = calloc(1, sizeof *l);
    if (!l)
        return mw_fail_memory(b->err, "received rows");
    const struct mw_workload *w = &b->w;
    int status, epoch = -1;
    l->b = b;
    l->index_bits = b->layout.n_shift + b->layout.token_shift;
    count_rows(l);
    status = read_all(l);
    for (unsigned t = 0; t < w->tokens && !status; t++)
        for (unsigned j = 0; j < w->k && sent(b, t); j++)
            if (w->layer[0].ids[t * w->k + j] != MW_NO_EXPERT)
                *wrong += check_copy(l, t, w->layer[0].ids[t * w->k + j], &epoch);
    for (unsigned g = 0; g < b->info.gpus; g++) {
        struct received *r = &l->gpu[g];
        if (!status)
            *wrong += w->shape.hidden * strangers(l, g, epoch);
        free(r->table);
        for (unsigned le = 0; le < w->experts_per_gpu; le++) {
            free(r->taken[le]);
            free(r->x[le]);
            free(r->gates[le]);
        }
    }
    free(l);
    return status;
}

/// Whether `token` was sent to GPU g.
static bool sent_to(const struct mw_bench *b, unsigned token, unsigned g)
{
    bool found = false;
    for (unsigned j = 0; j < b->w.k && sent(b, token); j++) {
        unsigned e = b->w.layer[0].ids[token * b->w.k + j];
        found |= e != MW_NO_EXPERT && mw_gpu_of_expert(&b->w, e) == g;
    }
    return found;
}

/// Every row is at its token's number in the memory of every target, and nowhere else.
int mw_bench_flat_check(struct mw_bench *b, uint64_t *wrong)
{
    const struct mw_workload *w = &b->w;
    unsigned own = w->shape.tokens_per_gpu;
    size_t stride = row_stride(b), area = b->flat;
    uint8_t *got = malloc(b->info.gpus * area), *none = malloc(b->row);
    int status = got && none ? mw_bench_move(b, false, 0, got, area, "received rows")
                             : mw_fail_memory(b->err, "received rows");
    if (!status)
        memset(none, MW_BENCH_UNTOUCHED, b->row);
    for (unsigned g = 0; g < b->info.gpus && !status; g++)
        for (unsigned t = 0; t < w->tokens; t++) {
            size_t at = ((size_t)(t / own) << b->layout.token_shift | t % own) * stride;
            const void *golden = sent_to(b, t, g)
                                     ? (const void *)(w->layer[0].x + (size_t)t * w->shape.hidden)
                                     : none;
            *wrong += differing(golden, got + g * area + at, b->row, 2);
        }
    free(got);
    free(none);
    return status;
}

int mw_bench_combine_check(struct mw_bench *b, uint64_t *wrong)
{
    const struct mw_workload *w = &b->w;
    size_t stride = row_stride(b);
    uint8_t *got = malloc(w->tokens * stride);
    uint16_t *golden = malloc(b->row);
    int status = got && golden ? mw_bench_move(b, false, b->layout.out_base, got,
                                               w->shape.tokens_per_gpu * stride, "output rows")
                               : mw_fail_memory(b->err, "output rows");
    for (unsigned t = 0; t < w->tokens && !status; t++) {
        mw_golden_reduced_row(w, 0, t, b->dtype, b->redop, golden);
        *wrong += differing((const uint8_t *)golden, got + t * stride, b->row, mw_bench_element(b));
    }
    free(got);
    free(golden);
    return status;
}
