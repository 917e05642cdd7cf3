// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch bench latency`: GPU 0 stores to GPU 1 and sets a flag after it, and GPU 1 answers
// likewise. Half of a round trip counts, as in perftest's write latency. A stream of any device has
// room for 21 rounds, so the iterations take many go's. From go to go the GPUs start at other
// distances, so that the other GPUs' traffic, if requested, meets the rounds elsewhere. Times are
// those at which GPU 0's stream is seen to have passed its wait.
#include "base/interrupt.h"
#include "base/random.h"
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = (MW_STREAM_INSTRS_LEAST - 1) / 3,
    INSTRS = 3,         ///< of a round
    LOAD_TOKENS = 1024, ///< that every other GPU sends
    LOAD_ROW = 128,
    DELAYS = 61, ///< different distances
};

struct game {
    struct mw_bench *b;
    uint64_t *sample; ///< cycles of a round trip
    unsigned count;
    unsigned resolution;
};

static uint32_t slot(const struct mw_bench *b)
{
    return (uint32_t)((b->size + MW_MEM_ALIGN - 1) / MW_MEM_ALIGN * MW_MEM_ALIGN);
}

static void make(const struct mw_bench *b, unsigned gpu, struct mw_stream *s)
{
    if (gpu > 1) {
        mw_bench_rows(b, gpu, s);
        return;
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (gpu == 1)
            mw_stream_wait(s, MW_EV_SW0, i + 1);
        mw_stream_st_linear(s, !gpu, b->source, (uint32_t)b->size,
                            b->result + (uint64_t)i * slot(b));
        mw_stream_flag(s, gpu ? MW_EV_SW1 : MW_EV_SW0, false);
        if (gpu == 0)
            mw_stream_wait(s, MW_EV_SW1, i + 1);
    }
}

static int prepare(struct mw_bench *b)
{
    uint64_t size = b->size;
    b->pattern = &mw_bench_patterns[0];
    b->row = LOAD_ROW;
    b->scratch = (1 + ROUNDS) * (uint64_t)slot(b);
    b->size = LOAD_TOKENS * LOAD_ROW;
    int status = b->params->load ? mw_bench_tokens_prepare(b) : mw_bench_configure(b);
    b->size = size;
    if (status)
        return status;
    b->tokens[0] = b->tokens[1] = 0;
    if (!b->params->load) {
        b->config.k = 1;
        b->config.row_bytes = LOAD_ROW;
        b->config.scratch_bytes = b->scratch;
        b->streams = 1;
        if ((status = mw_bench_layout(b)))
            return status;
    }
    b->source = b->layout.scratch;
    b->result = b->source + slot(b);
    return MW_EXIT_OK;
}

static uint8_t byte(const struct mw_bench *b, unsigned gpu, size_t at)
{
    return (uint8_t)mw_hash3(b->seed, gpu, at);
}

static int load(struct mw_bench *b)
{
    size_t bytes = b->config.scratch_bytes;
    uint8_t *data = malloc(b->info.gpus * bytes);
    if (!data)
        return mw_fail_memory(b->err, "the buffers");
    memset(data, MW_BENCH_UNTOUCHED, b->info.gpus * bytes);
    for (unsigned g = 0; g < b->info.gpus; g++)
        for (size_t i = 0; i < b->size; i++)
            data[g * bytes + i] = byte(b, g, i);
    int status = mw_bench_move(b, true, b->source, data, bytes, "buffers");
    free(data);
    if (!status && b->params->load)
        status = mw_bench_tokens_load(b);
    return status ? status : mw_bench_load_streams(b, make);
}

static int check(struct mw_bench *b, uint64_t *wrong)
{
    size_t bytes = (size_t)ROUNDS * slot(b);
    uint8_t *data = malloc(b->info.gpus * bytes);
    if (!data)
        return mw_fail_memory(b->err, "the results");
    int status = mw_bench_move(b, false, b->result, data, bytes, "results");
    for (unsigned g = 0; g < b->info.gpus && !status; g++)
        for (size_t i = 0; i < bytes; i++) {
            size_t at = i % slot(b);
            bool sent = g < 2 && at < b->size;
            *wrong += data[g * bytes + i] != (sent ? byte(b, !g, at) : MW_BENCH_UNTOUCHED);
        }
    free(data);
    return !status && b->params->load ? mw_bench_flat_check(b, wrong) : status;
}

/// Follow GPU 0's stream; every round that ended while all other GPUs were still sending counts.
static int watch(struct game *g, unsigned wanted)
{
    struct mw_device *d = g->b->device;
    uint64_t last = 0, before = mw_total_cycles(d);
    for (unsigned round = 0, position = 0;
         round < ROUNDS && g->count < wanted && !mw_interrupted;) {
        int code = mw_stream_position(d, 0, 0, &position);
        uint64_t now = mw_total_cycles(d);
        unsigned step = (unsigned)(now - before);
        before = now;
        if (code)
            return mw_bench_failed(g->b, "latency", code);
        if (!g->resolution || step < g->resolution)
            g->resolution = step;
        if (position <= INSTRS * (round + 1)) // the next one has been issued: the wait has retired
            continue;
        bool loaded = true;
        for (unsigned p = 2; g->b->params->load && p < g->b->info.gpus && !code; p++) {
            unsigned other;
            code = mw_stream_position(d, p, 0, &other);
            loaded &= other <= 1;
        }
        if (code || !loaded)
            return code ? mw_bench_failed(g->b, "latency", code) : MW_EXIT_OK;
        if (round) // the first began at an unknown moment
            g->sample[g->count++] = now - last;
        last = now;
        round++;
    }
    return MW_EXIT_OK;
}

static int play(struct game *g, unsigned number, unsigned wanted)
{
    struct mw_bench *b = g->b;
    unsigned experts[MW_MAX_PORTS], had = g->count;
    for (unsigned p = 0; p < b->info.gpus; p++)
        experts[p] = b->config.experts_per_gpu;
    b->config.start_delay = number % DELAYS;
    int code = mw_layer_configure(b->device, &b->config, &b->layout, b->tokens, experts, 1);
    if (!code)
        code = mw_launch(b->device);
    int status = code ? MW_EXIT_OK : watch(g, wanted);
    if (!code && !status)
        code = mw_wait(b->device,
                       &(struct mw_wait_options){.size = sizeof(struct mw_wait_options),
                                                 .stop = &mw_interrupted},
                       NULL);
    if (code == MW_ERR_TIMEOUT)
        return mw_fail(b->err, MW_EXIT_STUCK, "latency: %s", mw_message());
    if (code)
        return mw_bench_failed(b, "latency", code);
    if (!status && g->count == had && !mw_interrupted)
        return mw_fail(b->err, MW_EXIT_FAILED, "latency: the other GPUs end before one round");
    return status;
}

// ---- figures ------------------------------------------------------------------------------------

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/// The smallest sample that is not below `permille` of all, one way.
static double percentile(const struct game *g, unsigned permille)
{
    size_t rank = ((size_t)g->count * permille + 999) / 1000;
    return (double)g->sample[rank ? rank - 1 : 0] / 2;
}

static int begin(struct mw_bench *b, uint64_t size)
{
    // whole flits
    b->size = (size + b->info.flit_bytes - 1) / b->info.flit_bytes * b->info.flit_bytes;
    b->seed = mw_hash3(b->params->seed, b->size, 0);
    return prepare(b);
}

int mw_bench_pingpong_fits(struct mw_bench *b, uint64_t size)
{
    int status = begin(b, size);
    mw_bench_release(b);
    return status;
}

int mw_bench_pingpong(struct mw_bench *b, uint64_t size, struct mw_bench_latency *r)
{
    unsigned wanted = b->params->iterations;
    struct game g = {.b = b, .sample = calloc(wanted, sizeof *g.sample)};
    if (!g.sample)
        return mw_fail_memory(b->err, "samples");
    int status = begin(b, size);
    *r = (struct mw_bench_latency){.size = b->size};
    if (!status)
        status = load(b);
    for (unsigned i = 0; g.count < wanted && !status && !mw_interrupted; i++)
        status = play(&g, i, wanted);
    if (!status && mw_interrupted)
        status = mw_bench_interrupted(b);
    if (!status)
        status = check(b, &r->wrong);
    if (!status) {
        qsort(g.sample, g.count, sizeof *g.sample, by_size);
        double sum = 0;
        for (unsigned i = 0; i < g.count; i++)
            sum += (double)g.sample[i] / 2;
        r->count = g.count;
        r->resolution = g.resolution;
        r->min = percentile(&g, 0);
        r->typical = percentile(&g, 500);
        r->max = percentile(&g, 1000);
        r->average = sum / g.count;
        r->p99 = percentile(&g, 990);
        r->p999 = percentile(&g, 999);
    }
    free(g.sample);
    mw_bench_release(b);
    return status;
}
