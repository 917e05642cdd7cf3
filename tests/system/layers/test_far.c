// SPDX-License-Identifier: Apache-2.0
//
// Memory beyond 4 GiB: a layer whose regions lie there, and every instruction that uses bytes, with
// operands there. The bytes at an address without its high bits stay as they are.
#include "system/layers.h"

enum { GPUS = 3, FLIT = 16, BLOCK = 2048 };
#define GIB (UINT64_C(1) << 30)

static void layer_beyond(void **state)
{
    (void)state;
    static const struct layer_shape shape = {GPUS, 3, 7168, 4 * GPUS, 4, false};
    struct mw_random r = {test_seed()};
    struct mw_device *d = layer_device(GPUS, FLIT);
    struct layer near, far;
    layer_make(&near, &shape, &r);
    layer_make(&far, &shape, &r);
    far.rows =
        1 << 16; // of each of 4 experts, 16 KiB apart: 4 GiB a region, of which there are two
    uint64_t cycles = layer_pass(&near, d, "as near as it is");
    layer_pass(&far, d, "beyond 4 GiB");
    assert_int_equal(layer_pass(&near, d, "near again"), cycles);
    layer_free(&near);
    layer_free(&far);
    mw_close(d);
}

struct far {
    struct mw_device *d;
    struct mw_layer_config config;
    struct mw_layout layout;
    uint64_t from, st, multi, sum, red; ///< addresses
    unsigned group;
};

static void make_stream(void *context, unsigned gpu, struct mw_stream *s)
{
    const struct far *t = context;
    mw_stream_st_linear(s, (gpu + 1) % GPUS, t->from, BLOCK, t->st);
    mw_stream_multimem_st(s, t->group, t->from, BLOCK, t->multi + gpu * BLOCK);
    mw_stream_multimem_red(s, t->group, t->from, BLOCK, t->red);
    mw_stream_reduction(s, MW_DTYPE_U32, MW_REDOP_ADD);
    mw_stream_fence(s);
    mw_stream_signal(s, MW_EV_SW0);
    mw_stream_wait(s, MW_EV_SW0, GPUS - 1);
    mw_stream_multimem_ld_reduce(s, t->group, t->multi + gpu * BLOCK, BLOCK, t->sum);
    mw_stream_reduction(s, MW_DTYPE_U32, MW_REDOP_ADD);
}

static void move(struct mw_device *d, bool write, uint64_t address, uint32_t (*data)[BLOCK / 4])
{
    struct mw_transfer list[GPUS];
    for (unsigned g = 0; g < GPUS; g++)
        list[g] = (struct mw_transfer){g, address, BLOCK, (uint8_t *)data[g]};
    assert_int_equal(write ? mw_mem_write(d, list, GPUS) : mw_mem_read(d, list, GPUS), 0);
}

static void operands_beyond(void **state)
{
    (void)state;
    static uint32_t own[GPUS][BLOCK / 4], got[GPUS][BLOCK / 4], old[GPUS][BLOCK / 4];
    const unsigned tokens[GPUS] = {1, 1, 1};
    struct mw_random r = {test_seed()};
    struct far t = {.d = layer_device(GPUS, FLIT)};
    struct mw_multicast *all;
    mw_layer_defaults(&t.config);
    t.config.k = t.config.tokens_per_gpu = t.config.experts_per_gpu = 1;
    t.config.rows_per_expert = 1;
    t.config.row_bytes = 64;
    t.config.scratch_bytes = 15 * GIB;
    assert_int_equal(mw_layout_make(t.d, &t.config, &t.layout), 0);
    t.from = t.layout.scratch + 5 * GIB;
    t.sum = t.layout.scratch + 6 * GIB;
    t.st = t.layout.scratch + 9 * GIB;
    t.multi = t.layout.scratch + 13 * GIB;
    t.red = t.layout.scratch + 14 * GIB;
    assert_int_equal(mw_multicast_create(t.d, 15 * GIB, &all), 0);
    for (unsigned g = 0; g < GPUS; g++)
        assert_int_equal(mw_multicast_add_device(all, g), 0);
    assert_int_equal(mw_multicast_bind_addr(all, t.layout.scratch), 0);
    t.group = (unsigned)mw_multicast_group(all);

    for (unsigned g = 0; g < GPUS; g++)
        for (unsigned i = 0; i < BLOCK / 4; i++) {
            own[g][i] = (uint32_t)mw_random_next(&r);
            old[g][i] = (uint32_t)mw_random_next(&r);
        }
    move(t.d, true, t.from, own);
    move(t.d, true, t.red, old);
    const uint64_t places[] = {t.from, t.sum, t.st, t.multi, t.red};
    for (unsigned p = 0; p < sizeof places / sizeof *places; p++)
        move(t.d, true, places[p] % (4 * GIB), old); // where it would lie with 32 bits
    assert_int_equal(mw_streams_load(t.d, &t.layout, 1, make_stream, &t), 0);
    assert_int_equal(mw_layer_configure(t.d, &t.config, &t.layout, tokens, tokens, 1), 0);
    assert_int_equal(mw_launch(t.d), 0);
    if (mw_wait(t.d, NULL, NULL))
        fail_msg("%s", mw_message());

    move(t.d, false, t.st, got);
    for (unsigned g = 0; g < GPUS; g++)
        assert_memory_equal(got[(g + 1) % GPUS], own[g], BLOCK);
    for (unsigned from = 0; from < GPUS; from++) {
        move(t.d, false, t.multi + from * BLOCK, got);
        for (unsigned g = 0; g < GPUS; g++)
            assert_memory_equal(got[g], own[from], BLOCK);
    }
    move(t.d, false, t.sum, got);
    for (unsigned g = 0; g < GPUS; g++)
        for (unsigned i = 0; i < BLOCK / 4; i++)
            assert_int_equal(got[g][i], GPUS * own[g][i]);
    move(t.d, false, t.red, got);
    for (unsigned g = 0; g < GPUS; g++)
        for (unsigned i = 0; i < BLOCK / 4; i++)
            assert_int_equal(got[g][i], old[g][i] + own[0][i] + own[1][i] + own[2][i]);
    for (unsigned p = 0; p < sizeof places / sizeof *places; p++) {
        move(t.d, false, places[p] % (4 * GIB), got);
        assert_memory_equal(got, old, sizeof old);
    }
    mw_multicast_destroy(all);
    mw_close(t.d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_beyond),
        cmocka_unit_test(operands_beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
