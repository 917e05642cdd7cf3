// SPDX-License-Identifier: Apache-2.0
//
// A system of its own, beside MoE layers: an AllReduce as NVLS does it. Each GPU takes its share of
// a vector from all GPUs through the switch (multimem.ld_reduce), and gives the sum to all of them
// (multimem.st). docs/user/own-system.md goes through it.
#include "moeswitch.h"

#include <stdio.h>
#include <stdlib.h>

enum { GPUS = 4, SHARE = 1024, BYTES = GPUS * SHARE };

struct own_system {
    unsigned group;
    uint64_t vector, share; ///< addresses, the same on every GPU
};

static int check(const char *call, int status)
{
    if (status)
        fprintf(stderr, "%s: %s: %s\n", call, mw_strerror(status), mw_message());
    return status;
}

static void make_stream(void *context, unsigned gpu, struct mw_stream *s)
{
    const struct own_system *o = context;
    const uint64_t mine = o->vector + gpu * SHARE;
    mw_stream_multimem_ld_reduce(s, o->group, mine, SHARE, o->share);
    mw_stream_reduction(s, MW_DTYPE_U32, MW_REDOP_ADD);
    mw_stream_multimem_st(s, o->group, o->share, SHARE, mine);
    mw_stream_flag(s, MW_EV_SW0, false); // lands behind the stores
    mw_stream_wait(s, MW_EV_SW0, GPUS - 1);
}

static int prepare(struct mw_device *d, struct mw_multicast *all, struct own_system *o)
{
    const unsigned tokens[GPUS] = {0}, experts[GPUS] = {1, 1, 1, 1};
    struct mw_layer_config config;
    struct mw_layout layout;
    mw_layer_defaults(&config);
    config.k = config.tokens_per_gpu = config.experts_per_gpu = config.rows_per_expert = 1;
    config.row_bytes = 128;
    config.scratch_bytes = BYTES + SHARE;
    if (check("layout", mw_layout_make(d, &config, &layout)) ||
        check("bind", mw_multicast_bind_addr(all, layout.scratch)))
        return 1;
    o->group = (unsigned)mw_multicast_group(all);
    o->vector = layout.scratch;
    o->share = layout.scratch + BYTES;
    return check("streams", mw_streams_load(d, &layout, 1, make_stream, o)) ||
           check("configure", mw_layer_configure(d, &config, &layout, tokens, experts, 1));
}

static int run(struct mw_device *d, struct mw_multicast *all)
{
    static uint32_t vector[GPUS][BYTES / 4];
    struct own_system o;
    struct mw_transfer list[GPUS];
    uint64_t cycles;
    if (prepare(d, all, &o))
        return 1;
    for (uint32_t g = 0; g < GPUS; g++) {
        for (uint32_t i = 0; i < BYTES / 4; i++)
            vector[g][i] = (g + 1) * i;
        list[g] = (struct mw_transfer){g, o.vector, BYTES, (uint8_t *)vector[g]};
    }
    if (check("write", mw_mem_write(d, list, GPUS)) || check("launch", mw_launch(d)) ||
        check("wait", mw_wait(d, NULL, &cycles)) || check("read", mw_mem_read(d, list, GPUS)))
        return 1;
    for (uint32_t g = 0; g < GPUS; g++)
        for (uint32_t i = 0; i < BYTES / 4; i++)
            if (vector[g][i] != (1 + 2 + 3 + 4) * i)
                return fprintf(stderr, "GPU %u, element %u: %u\n", g, i, vector[g][i]), 1;
    printf("AllReduce of %d bytes among %d GPUs in %llu cycles\n", BYTES, GPUS,
           (unsigned long long)cycles);
    return 0;
}

int main(void)
{
    struct mw_open_options options;
    struct mw_device *d;
    struct mw_multicast *all = NULL;
    mw_open_defaults(&options);
    options.gpus = GPUS;
    options.flit_bytes = 8;
    if (check("open", mw_open(&options, &d)))
        return 1;
    int status = check("create", mw_multicast_create(d, BYTES + SHARE, &all));
    for (unsigned g = 0; g < GPUS && !status; g++)
        status = check("add", mw_multicast_add_device(all, g));
    if (!status)
        status = run(d, all);
    mw_multicast_destroy(all);
    mw_close(d);
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
