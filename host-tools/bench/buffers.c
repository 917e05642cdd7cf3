// SPDX-License-Identifier: Apache-2.0
//
// Patterns with explicit addresses: alltoall, the collectives over static multimem and its red.
// Each GPU has a source and a result buffer of S bytes, N blocks each. The golden result comes from
// the rule of the pattern alone.
#include "base/random.h"
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

enum {
    PARTS = 16,    ///< of all_reduce: a block's sums are sent on while later ones are made
    COLUMN = 4096, ///< elements per place of mw_hidden_value
};

static unsigned gpus(const struct mw_bench *b)
{
    return b->info.gpus;
}

static uint32_t block(const struct mw_bench *b)
{
    return (uint32_t)(b->size / gpus(b));
}

// ---- streams ------------------------------------------------------------------------------------

void mw_bench_alltoall(const struct mw_bench *b, unsigned gpu, struct mw_stream *s)
{
    for (unsigned i = 1; i < gpus(b); i++) {
        unsigned q = (gpu + i) % gpus(b);
        mw_stream_st_linear(s, q, b->source + (uint64_t)q * block(b), block(b),
                            b->result + (uint64_t)gpu * block(b));
    }
    mw_stream_fence(s);
}

void mw_bench_all_gather(const struct mw_bench *b, unsigned gpu, struct mw_stream *s)
{
    uint64_t at = (uint64_t)gpu * block(b);
    mw_stream_multimem_st(s, (unsigned)mw_multicast_group(b->group), b->source + at, block(b),
                          b->result + at);
    mw_stream_fence(s);
}

void mw_bench_reduce_scatter(const struct mw_bench *b, unsigned gpu, struct mw_stream *s)
{
    uint64_t at = (uint64_t)gpu * block(b);
    mw_stream_multimem_ld_reduce(s, (unsigned)mw_multicast_group(b->group), b->source + at,
                                 block(b), b->result + at);
    mw_stream_reduction(s, b->dtype, b->redop);
}

void mw_bench_all_reduce(const struct mw_bench *b, unsigned gpu, struct mw_stream *s)
{
    unsigned group = (unsigned)mw_multicast_group(b->group), parts = 0;
    uint32_t rows = (block(b) + b->row - 1) / b->row, part = (rows + PARTS - 1) / PARTS * b->row;
    for (uint32_t from = 0; from < block(b); from += part) {
        uint64_t at = (uint64_t)gpu * block(b) + from;
        uint32_t bytes = block(b) - from < part ? block(b) - from : part;
        mw_stream_multimem_ld_reduce(&s[0], group, b->source + at, bytes, b->result + at);
        mw_stream_reduction(&s[0], b->dtype, b->redop);
        mw_stream_flag(&s[0], MW_EV_SW0, true);
        mw_stream_wait(&s[1], MW_EV_SW0, ++parts);
        mw_stream_multimem_st(&s[1], group, b->result + at, bytes, b->result + at);
    }
    mw_stream_fence(&s[1]);
}

void mw_bench_red(const struct mw_bench *b, unsigned gpu, struct mw_stream *s)
{
    (void)gpu;
    mw_stream_multimem_red(s, (unsigned)mw_multicast_group(b->group), b->source, (uint32_t)b->size,
                           b->result);
    mw_stream_reduction(s, b->dtype, b->redop);
    mw_stream_fence(s);
}

// ---- memory -------------------------------------------------------------------------------------

/// Sums of bf16 get values that differ in sign and exponent, so that rounding counts;
/// all else any bits.
static bool has_values(const struct mw_bench *b)
{
    return b->pattern->reduces && b->pattern->make != mw_bench_red && b->dtype == MW_DTYPE_BF16 &&
           b->redop == MW_REDOP_ADD;
}

static uint16_t value(const struct mw_bench *b, unsigned gpu, size_t element)
{
    return mw_hidden_value(b->seed, gpu, element / COLUMN, (unsigned)(element % COLUMN));
}

/// red adds in any order, so its sums must be exact in any. Floats are therefore small whole
/// numbers, whose sum bf16 can hold with up to 32 GPUs. Whole numbers are exact in e5m2 only up to
/// 8. With floats of 8 bits, the first seven GPUs therefore have -1 to 1, and the others 0. The
/// buffer to which they are added begins with the GPU's own source.
static uint64_t whole_numbers(const struct mw_bench *b, unsigned gpu, uint64_t word)
{
    enum { FEW = 7 };
    unsigned width = mw_reduce_bytes(b->dtype);
    uint64_t out = 0;
    for (unsigned at = 0; at < 8; at += width) {
        const int some = (int)(word >> 8 * at & 0xff);
        float v = (float)(width > 1 ? some % 15 - 7 : gpu < FEW ? some % 3 - 1 : 0);
        const double d = v;
        uint32_t bits;
        memcpy(&bits, &v, sizeof bits);
        if (b->dtype == MW_DTYPE_FP64)
            memcpy(&out, &d, sizeof out);
        else
            out |= mw_reduce_last(b->dtype, bits) << 8 * at;
    }
    return out;
}

static bool adds_in_any_order(const struct mw_bench *b)
{
    return b->pattern->make == mw_bench_red && b->redop == MW_REDOP_ADD &&
           mw_reduce_is_float(b->dtype);
}

static void fill_source(const struct mw_bench *b, unsigned gpu, uint8_t *data)
{
    for (size_t i = 0; i < b->size; i += 8) {
        uint64_t word = mw_hash3(b->seed, gpu, i);
        for (unsigned e = 0; has_values(b) && e < 4; e++) {
            uint64_t v = value(b, gpu, i / 2 + e);
            word = (word & ~(UINT64_C(0xffff) << 16 * e)) | v << 16 * e;
        }
        if (adds_in_any_order(b))
            word = whole_numbers(b, gpu, word);
        memcpy(data + i, &word, 8);
    }
}

int mw_bench_buffers_prepare(struct mw_bench *b)
{
    int status = mw_bench_configure(b);
    if (status)
        return status;
    b->config.k = 1;
    b->config.row_bytes = b->row;
    b->config.scratch_bytes = 2 * b->size;
    b->streams = b->pattern->make == mw_bench_all_reduce ? 2 : 1;
    status = mw_bench_layout(b);
    b->source = b->layout.scratch;
    b->result = b->source + b->size;
    if (status || !b->device)
        return status;
    int code = mw_multicast_create(b->device, 2 * b->size, &b->group);
    for (unsigned g = 0; g < gpus(b) && !code; g++)
        code = mw_multicast_add_device(b->group, g);
    if (!code)
        code = mw_multicast_bind_addr(b->group, b->source);
    return code ? mw_bench_failed(b, "static group", code) : MW_EXIT_OK;
}

/// The result gets a pattern first: what the device never writes must not pass.
int mw_bench_buffers_load(struct mw_bench *b)
{
    size_t bytes = 2 * (size_t)b->size;
    uint8_t *data = malloc(bytes * gpus(b));
    if (!data)
        return mw_fail_memory(b->err, "the buffers");
    for (unsigned g = 0; g < gpus(b); g++) {
        fill_source(b, g, data + g * bytes);
        if (b->pattern->make == mw_bench_red) // begins with the GPU's own source
            memcpy(data + g * bytes + b->size, data + g * bytes, b->size);
        else
            memset(data + g * bytes + b->size, MW_BENCH_UNTOUCHED, b->size);
    }
    int status = mw_bench_move(b, true, b->source, data, bytes, "buffers");
    free(data);
    return status;
}

// ---- golden results -----------------------------------------------------------------------------

/// `bytes` bytes from `at` on, reduced over all GPUs as GPU `p` requests them. The terms are
/// elements of p + 1, p + 2 and so on, then its own.
static void reduce(const struct mw_bench *b, const uint8_t *source, unsigned p, size_t at,
                   size_t bytes, uint8_t *out)
{
    const void *term[MW_MAX_PORTS];
    for (unsigned i = 1; i < gpus(b); i++)
        term[i - 1] = source + (p + i) % gpus(b) * b->size + at;
    mw_reduce_rows(b->dtype, b->redop, term, gpus(b) - 1, bytes, out);
    mw_reduce_rows(b->dtype, b->redop, (const void *const[]){source + p * b->size + at, out}, 2,
                   bytes, out);
}

/// The sources of all GPUs, taken into what GPU g began with.
static void reduce_into(const struct mw_bench *b, const uint8_t *source, unsigned g, size_t at,
                        size_t bytes, uint8_t *out)
{
    const void *term[MW_MAX_PORTS + 1] = {source + g * b->size + at};
    for (unsigned i = 0; i < gpus(b); i++)
        term[i + 1] = source + i * b->size + at;
    mw_reduce_rows(b->dtype, b->redop, term, gpus(b) + 1, bytes, out);
}

/// What block `i` of GPU g's result must be. `source` has the sources of all GPUs.
static void golden_block(const struct mw_bench *b, const uint8_t *source, unsigned g, unsigned i,
                         uint8_t *out)
{
    size_t bytes = block(b), at = i * bytes;
    if ((b->pattern->make == mw_bench_alltoall && g == i) ||
        (b->pattern->make == mw_bench_reduce_scatter && g != i))
        memset(out, MW_BENCH_UNTOUCHED, bytes);
    else if (b->pattern->make == mw_bench_alltoall)
        memcpy(out, source + i * b->size + g * bytes, bytes);
    else if (b->pattern->make == mw_bench_all_gather)
        memcpy(out, source + i * b->size + at, bytes);
    else if (b->pattern->make == mw_bench_red)
        reduce_into(b, source, g, at, bytes, out);
    else
        reduce(b, source, i, at, bytes, out);
}

int mw_bench_buffers_check(struct mw_bench *b, uint64_t *wrong)
{
    size_t bytes = block(b), element = mw_bench_element(b);
    uint8_t *source = malloc(b->size * gpus(b)), *got = malloc(b->size * gpus(b)),
            *golden = malloc(bytes);
    int status = source && got && golden
                     ? mw_bench_move(b, false, b->result, got, b->size, "results")
                     : mw_fail_memory(b->err, "the results");
    for (unsigned g = 0; g < gpus(b) && !status; g++)
        fill_source(b, g, source + g * b->size);
    for (unsigned g = 0; g < gpus(b) && !status; g++)
        for (unsigned i = 0; i < gpus(b); i++) {
            golden_block(b, source, g, i, golden);
            for (size_t at = 0; at < bytes; at += element)
                *wrong += memcmp(golden + at, got + g * b->size + i * bytes + at, element) != 0;
        }
    free(source);
    free(got);
    free(golden);
    return status;
}
