// SPDX-License-Identifier: Apache-2.0
//
// The calls of libmoeswitch that all patterns share.
#include "bench/bench.h"
#include "device/setting_table.h"

#include <stdlib.h>
#include <string.h>

int mw_bench_interrupted(const struct mw_bench *b)
{
    return mw_fail(b->err, MW_EXIT_INTERRUPTED, "interrupted: the lines above are complete");
}

int mw_bench_failed(const struct mw_bench *b, const char *what, int code)
{
    return code == MW_ERR_CANCELED ? mw_bench_interrupted(b) : mw_device_failed(b->err, what, code);
}

int mw_bench_configure(struct mw_bench *b)
{
    const struct mw_bench_params *p = b->params;
    mw_layer_defaults(&b->config);
    memset(b->tokens, 0, sizeof b->tokens);
    // those of the device: open_device of command.c
    int status = mw_settings_apply(&p->settings, &b->config, b->err);
    if (status)
        return status;
    if (p->window && mw_layer_set(&b->config, "window", p->window))
        return mw_fail(b->err, MW_EXIT_INPUT, "--window %u: %s", p->window, mw_message());
    return MW_EXIT_OK;
}

int mw_bench_layout(struct mw_bench *b)
{
    int code = mw_layout_of(&b->info, &b->config, &b->layout);
    return code ? mw_bench_failed(b, "the device cannot hold this size", code) : MW_EXIT_OK;
}

struct making {
    const struct mw_bench *b;
    void (*make)(const struct mw_bench *, unsigned, struct mw_stream *);
};

static void make_streams(void *context, unsigned gpu, struct mw_stream *s)
{
    const struct making *m = context;
    m->make(m->b, gpu, s);
}

int mw_bench_load_streams(struct mw_bench *b,
                          void (*make)(const struct mw_bench *, unsigned, struct mw_stream *))
{
    struct making m = {b, make};
    int code = mw_streams_load(b->device, &b->layout, b->streams, make_streams, &m);
    return code ? mw_bench_failed(b, "instruction streams", code) : MW_EXIT_OK;
}

int mw_bench_move(struct mw_bench *b, bool write, uint64_t address, void *data, size_t bytes,
                  const char *what)
{
    struct mw_transfer list[MW_MAX_PORTS];
    for (unsigned g = 0; g < b->info.gpus; g++)
        list[g] = (struct mw_transfer){g, address, bytes, (uint8_t *)data + g * bytes};
    int code = write ? mw_mem_write(b->device, list, b->info.gpus)
                     : mw_mem_read(b->device, list, b->info.gpus);
    return code ? mw_bench_failed(b, what, code) : MW_EXIT_OK;
}

unsigned mw_bench_element(const struct mw_bench *b)
{
    return b->pattern->reduces ? mw_reduce_bytes(b->dtype) : b->pattern->element;
}

void mw_bench_release(struct mw_bench *b)
{
    mw_multicast_destroy(b->group);
    b->group = NULL;
    mw_workload_free(&b->w);
}
