// SPDX-License-Identifier: Apache-2.0
//
// Instruction streams and routing entries: their bits, and values that do not fit into them.
#include "fake_device.h"

#include <stdio.h>
#include <string.h>

// ---- streams ------------------------------------------------------------------------------------

static void stream_words(void **state)
{
    (void)state;
    struct mw_stream s;
    mw_stream_init(&s);
    mw_stream_wait(&s, MW_EV_ROWS_DONE, 1);
    mw_stream_count(&s, 2, 3, false);
    mw_stream_count(&s, 2, 3, true);
    mw_stream_prefix(&s);
    mw_stream_signal(&s, 4);
    mw_stream_flag(&s, 5, false);
    mw_stream_flag(&s, 6, true);
    mw_stream_fence(&s);
    mw_stream_dymultimem_st(&s, 6, 7);
    mw_stream_dymultimem_st_rows(&s, 6, 7, false);
    mw_stream_dymultimem_st_rows(&s, 6, 7, true);
    mw_stream_st(&s, 8, 9);
    mw_stream_st_linear(&s, 3, 0x10, 0x20, 0x30);
    mw_stream_multimem_st(&s, 11, 0x40, 0x50, 0x60);
    mw_stream_multimem_red(&s, 11, 0x40, 0x50, 0x60);
    mw_stream_reduction(&s, MW_DTYPE_FP32, MW_REDOP_MAX);
    mw_stream_red_cais(&s, 11, 0x40, 0x50, 0x60);
    mw_stream_red_cais_homes(&s, 11, 0x40, 0x50, 0x60);
    mw_stream_reduction(&s, MW_DTYPE_FP32, MW_REDOP_MAX);
    mw_stream_expert(&s, 1);
    mw_stream_expert_gradients(&s);
    mw_stream_expert_rows(&s);
    mw_stream_expert_range(&s, 21, 22);
    mw_stream_delay(&s, 0x7fffffff);
    mw_stream_poll(&s, MW_EV_SW1, 25, 0x7fffffff);
    mw_stream_flag_rows(&s, MW_EV_SW8, false);
    mw_stream_flag_rows(&s, MW_EV_SW23, true);
    mw_stream_wait(&s, MW_EV_SW23, 24);
    mw_stream_dymultimem_ld_reduce(&s, 12, 13, true);
    mw_stream_multimem_ld_reduce(&s, 14, 0x70, 0x80, 0x90);
    mw_stream_dymultimem_ld_reduce(&s, 12, 13, false);
    mw_stream_reduction(&s, MW_DTYPE_S32, MW_REDOP_XOR);
    mw_stream_multimem_ld_reduce(&s, 14, 0x70, 0x80, 0x90);
    mw_stream_reduction(&s, MW_DTYPE_FP16, MW_REDOP_MIN);
    mw_stream_sum_st(&s, 17, 18);
    mw_stream_sum(&s, 15, 16, false);
    mw_stream_sum(&s, 19, 20, true);
    mw_stream_multimem_st_rows(&s, 11, 3, 4, 10, 0x100);
    mw_stream_multimem_st_routes(&s, 11, 5, 6, 0x200);
    mw_stream_expert_gathered(&s, 23, 24);
    mw_stream_expert_gathered(&s, 23, 24);
    mw_stream_expert_cycles(&s, 65535);
    mw_stream_expert_homes(&s, 30, 31, true);
    mw_stream_expert_cycles(&s, 7);
    mw_stream_expert_homes(&s, 32, 33, false);
    mw_stream_expert_gradients(&s);
    mw_stream_expert_landed(&s, 34);
    mw_stream_expert_cycles(&s, 8);
    mw_stream_ld_cais(&s, 35, 36, 0, 0);
    mw_stream_ld_cais(&s, 35, 36, 255, MW_LOAD_ALONE);
    mw_stream_ld_cais(&s, 35, 36, 4, MW_LOAD_BESIDE);
    mw_stream_sync(&s, 37, 38);
    mw_stream_sync_pushes(&s, 5, 39, 40);
    mw_stream_sum_dense(&s, 25, 26, MW_DENSE_EMPTY);
    mw_stream_sum_dense(&s, 25, 26, MW_DENSE_SUMS);
    mw_stream_sum_dense(&s, 25, 26, MW_DENSE_ALL);
    mw_stream_multimem_ld_reduce_rows(&s, 14, 0x70, 7, 8, 10);
    mw_stream_sum_gathered(&s, 27, 28, 29);
    assert_code(mw_stream_end(&s), 0);
#define INSTR(o, f, i, x, y, z) \
    { \
        .op = o, .flags = f, .imm = i, .a = x, .b = y, .c = z \
    }
    const struct mw_instr expect[] = {
        INSTR(MW_I_WAIT, 0, 10, 1, 0, 0),
        INSTR(MW_I_COUNT, 0, 0, 2, 3, 0),
        INSTR(MW_I_COUNT, 1, 0, 2, 3, 0),
        INSTR(MW_I_PREFIX, 0, 0, 0, 0, 0),
        INSTR(MW_I_SIGNAL, 0, 4, 0, 0, 0),
        INSTR(MW_I_FLAG, 0, 5, 0, 0, 0),
        INSTR(MW_I_FLAG, 1, 6, 0, 0, 0),
        INSTR(MW_I_FENCE, 0, 0, 0, 0, 0),
        INSTR(MW_I_DYMULTIMEM_ST, 0, 0, 6, 7, 0),
        INSTR(MW_I_DYMULTIMEM_ST, 1, 0, 6, 7, 0),
        INSTR(MW_I_DYMULTIMEM_ST, 3, 0, 6, 7, 0),
        INSTR(MW_I_ST, 0, 0, 8, 9, 0),
        INSTR(MW_I_ST_LINEAR, 0, 3, 0x10, 0x20, 0x30),
        INSTR(MW_I_MULTIMEM_ST, 0, 11, 0x40, 0x50, 0x60),
        INSTR(MW_I_MULTIMEM_RED, 0, 0x220b, 0x40, 0x50, 0x60),
        INSTR(MW_I_MULTIMEM_RED, 0, 0x800b, 0x40, 0x50, 0x60),
        INSTR(MW_I_MULTIMEM_RED, 1, 0xa20b, 0x40, 0x50, 0x60),
        INSTR(MW_I_EXPERT, 9, 0, 0, 0, 0),
        INSTR(MW_I_EXPERT_ROWS, 0, 0, 0, 0, 0),
        INSTR(MW_I_EXPERT_ROWS, 1, 0, 21, 22, 0),
        INSTR(MW_I_DELAY, 0, 0, 0x7fffffff, 0, 0),
        INSTR(MW_I_WAIT, 0, 1, 25, 0x7fffffff, 0),
        INSTR(MW_I_FLAG, 2, 16, 0, 0, 0),
        INSTR(MW_I_FLAG, 3, 31, 0, 0, 0),
        INSTR(MW_I_WAIT, 0, 31, 24, 0, 0),
        INSTR(MW_I_DYMULTIMEM_LD_REDUCE, 1, 0, 12, 13, 0),
        INSTR(MW_I_MULTIMEM_LD_REDUCE, 0, 14, 0x70, 0x80, 0x90),
        INSTR(MW_I_DYMULTIMEM_LD_REDUCE, 0, 0x5400, 12, 13, 0),
        INSTR(MW_I_MULTIMEM_LD_REDUCE, 0, 0x110e, 0x70, 0x80, 0x90),
        INSTR(MW_I_SUM_ST, 0, 0, 17, 18, 0),
        INSTR(MW_I_SUM, 0, 0, 15, 16, 0),
        INSTR(MW_I_SUM, 1, 0, 19, 20, 0),
        INSTR(MW_I_MULTIMEM_ST, 1, 11, 3 << 10, 4 << 10, 0x100),
        INSTR(MW_I_MULTIMEM_ST, 2, 11, 5 * 128, 6 * 128, 0x200),
        INSTR(MW_I_EXPERT_ROWS, 2, 0, 23, 24, 0),
        INSTR(MW_I_EXPERT_ROWS, 2, 65535, 23, 24, 0),
        INSTR(MW_I_EXPERT_ROWS, 7, 7, 30, 31, 0),
        INSTR(MW_I_EXPERT_ROWS, 14, 0, 32, 33, 0),
        INSTR(MW_I_EXPERT_ROWS, 3, 8, 0, 34, 0),
        INSTR(MW_I_LD_CAIS, 0, 0, 35, 36, 0),
        INSTR(MW_I_LD_CAIS, 1, 255, 35, 36, 0),
        INSTR(MW_I_LD_CAIS, 2, 4, 35, 36, 0),
        INSTR(MW_I_SYNC, 0, 0, 37, 38, 0),
        INSTR(MW_I_SYNC, 1, 5, 39, 40, 0),
        INSTR(MW_I_SUM, 2, 0, 25, 26, 0),
        INSTR(MW_I_SUM, 3, 0, 25, 26, 0),
        INSTR(MW_I_SUM, 6, 0, 25, 26, 0),
        INSTR(MW_I_MULTIMEM_LD_REDUCE, 1, 14, 0x70, 8 << 10, 7 << 10),
        INSTR(MW_I_SUM, 5, 0, 27, 28, 29),
        INSTR(MW_I_END, 0, 0, 0, 0, 0),
    };
#undef INSTR
    assert_int_equal(s.count, sizeof expect / sizeof *expect);
    assert_memory_equal(s.instr, expect, sizeof expect);
}

static void stream_position(void **state)
{
    (void)state;
    unsigned issued = 9;
    *fake_node(&fake, 2, offsetof(mw_node_t, status.stream1)) = 7u << 8 | 1;
    assert_code(mw_stream_position(device, 2, 1, &issued), 0);
    assert_int_equal(issued, 7);
    *fake_node(&fake, 2, offsetof(mw_node_t, status.stream1)) = 7u << 8 | 2; // ended
    assert_code(mw_stream_position(device, 2, 1, &issued), 0);
    assert_int_equal(issued, MW_STREAM_INSTRS);
    assert_code(mw_stream_position(device, 2, MW_STREAMS, &issued), MW_ERR_INVALID);
    assert_code(mw_stream_position(device, MW_MAX_PORTS, 0, &issued), MW_ERR_INVALID);
    fake_fail_at(&fake, 0);
    assert_code(mw_stream_position(device, 2, 1, &issued), MW_ERR_IO);
}

static void stream_failures(void **state)
{
    (void)state;
    struct mw_stream s;
    for (unsigned event = 0; event < 40; event++) {
        mw_stream_init(&s);
        bool more = event >= MW_EV_SW8 && event <= MW_EV_SW23;
        int packets = event <= MW_EV_SW7 || more ? 0 : MW_ERR_INVALID;
        assert_code(mw_stream_signal(&s, event), packets);
        assert_code(mw_stream_flag(&s, event, false), packets);
        assert_code(mw_stream_flag(&s, event, true), packets);
        assert_code(mw_stream_flag_rows(&s, event, false), packets);
        assert_code(mw_stream_end(&s), packets);
        assert_int_equal(s.count, packets ? 1 : 5); // what is refused is no instruction
        mw_stream_init(&s);
        assert_code(mw_stream_wait(&s, event, 0),
                    event <= MW_EV_SYNCS || more ? 0 : MW_ERR_INVALID);
    }
    assert_message("event 39: 0 to 13, or 16 to 31");
    mw_stream_init(&s);
    assert_code(mw_stream_delay(&s, 1u << 31), MW_ERR_INVALID);
    assert_code(mw_stream_end(&s), MW_ERR_INVALID);
    mw_stream_init(&s);
    assert_code(mw_stream_poll(&s, MW_EV_SW0, 1, 1u << 31), MW_ERR_INVALID);
    assert_code(mw_stream_poll(&s, MW_EVENTS, 1, 1), MW_ERR_INVALID);
    assert_int_equal(s.count, 0);
    assert_code(mw_stream_end(&s), MW_ERR_INVALID);
    static int (*const to_group[])(struct mw_stream *, unsigned, uint64_t, uint32_t, uint64_t) = {
        mw_stream_multimem_st, mw_stream_multimem_red, mw_stream_red_cais, mw_stream_red_cais_homes,
        mw_stream_multimem_ld_reduce};
    static const unsigned no_group[] = {128,   129,   255,      256,
                                        65535, 65536, 1u << 31, (unsigned)MW_ERR_STATE};
    for (unsigned i = 0; i < 5; i++) {
        mw_stream_init(&s);
        assert_code(to_group[i](&s, 127, 0, 16, 0), 0);
        assert_code(mw_stream_end(&s), 0);
        for (unsigned g = 0; g < sizeof no_group / sizeof *no_group; g++) {
            mw_stream_init(&s);
            assert_code(to_group[i](&s, no_group[g], 0, 16, 0), MW_ERR_INVALID);
            assert_int_equal(s.count, 0);
            assert_code(mw_stream_end(&s), MW_ERR_INVALID);
        }
    }
    assert_message("group -10: 0 to 127");
    static const unsigned no_gpu[] = {MW_MAX_PORTS, 65535, 65536, 65537, (unsigned)MW_ERR_STATE};
    for (unsigned g = 0; g < sizeof no_gpu / sizeof *no_gpu; g++) {
        mw_stream_init(&s);
        assert_code(mw_stream_st_linear(&s, MW_MAX_PORTS - 1, 0, 16, 0), 0);
        assert_code(mw_stream_st_linear(&s, no_gpu[g], 0, 16, 0), MW_ERR_INVALID);
        assert_code(mw_stream_end(&s), MW_ERR_INVALID);
    }
    mw_stream_init(&s);
    assert_code(mw_stream_expert(&s, 3), 0);
    assert_code(mw_stream_expert(&s, 4), MW_ERR_INVALID);
    assert_code(mw_stream_expert(&s, 256), MW_ERR_INVALID);
    // A group of an object that is not bound.
    struct mw_multicast *unbound;
    assert_code(mw_multicast_create(device, 64, &unbound), 0);
    mw_stream_init(&s);
    assert_code(mw_stream_multimem_st(&s, (unsigned)mw_multicast_group(unbound), 0, 64, 0),
                MW_ERR_INVALID);
    mw_multicast_destroy(unbound);
    mw_stream_init(&s);
    assert_code(mw_stream_wait(&s, MW_EVENTS, 0), MW_ERR_INVALID);
    assert_code(mw_stream_fence(&s), 0);
    assert_code(mw_stream_end(&s), MW_ERR_INVALID); // the first failure is kept
    mw_stream_init(&s);
    for (int i = 0; i < MW_STREAM_INSTRS - 1; i++)
        assert_code(mw_stream_fence(&s), 0);
    struct mw_stream full = s;
    assert_code(mw_stream_end(&s), 0);
    assert_code(mw_stream_fence(&full), 0);
    assert_code(mw_stream_end(&full), MW_ERR_CAPACITY);
    assert_int_equal(full.count, MW_STREAM_INSTRS);
    mw_stream_init(&s);
    assert_code(mw_stream_reduction(&s, MW_DTYPE_FP16, MW_REDOP_ADD), MW_ERR_INVALID);
    mw_stream_init(&s);
    mw_stream_fence(&s);
    assert_code(mw_stream_reduction(&s, MW_DTYPE_FP16, MW_REDOP_ADD), MW_ERR_INVALID);
    assert_code(mw_stream_end(&s), MW_ERR_INVALID);
    mw_stream_init(&s);
    mw_stream_dymultimem_ld_reduce(&s, 0, 1, false);
    assert_code(mw_stream_reduction(&s, 16, MW_REDOP_ADD), MW_ERR_INVALID);
    mw_stream_init(&s);
    assert_code(mw_stream_expert_cycles(&s, 1), MW_ERR_INVALID);
    mw_stream_init(&s);
    mw_stream_expert_range(&s, 0, 1);
    assert_code(mw_stream_expert_cycles(&s, 1), MW_ERR_INVALID);
    assert_code(mw_stream_end(&s), MW_ERR_INVALID);
    mw_stream_init(&s);
    assert_code(mw_stream_expert_gradients(&s), MW_ERR_INVALID);
    mw_stream_init(&s);
    mw_stream_expert_range(&s, 0, 1);
    mw_stream_fence(&s);
    assert_code(mw_stream_expert_gradients(&s), MW_ERR_INVALID);
    mw_stream_init(&s);
    mw_stream_expert_gathered(&s, 0, 1);
    assert_code(mw_stream_expert_cycles(&s, 65536), MW_ERR_INVALID);
    assert_code(mw_stream_end(&s), MW_ERR_INVALID);
}

/// Make a stream of so many instructions.
static void fill(struct mw_stream *s, unsigned count)
{
    mw_stream_init(s);
    while (s->count < count - 1)
        assert_code(mw_stream_fence(s), 0);
    assert_code(mw_stream_end(s), 0);
}

static void stream_load(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    struct mw_stream s[8];
    c.stream_instrs = 16;
    assert_code(mw_layout_make(device, &c, &l), 0);
    for (unsigned i = 0; i < 8; i++) {
        mw_stream_init(&s[i]);
        mw_stream_st_linear(&s[i], 0x12, 0x389abcdef, i, 0x101020304);
        assert_code(mw_stream_end(&s[i]), 0);
    }
    assert_code(mw_stream_load(device, &l, s, 2), 0);
    const uint8_t first[16] = {
        MW_I_ST_LINEAR, 0x70, 0x12, 0, 0xef, 0xcd, 0xab, 0x89, 5, 0, 0, 0, 4, 3, 2, 1};
    const uint8_t end[16] = {MW_I_END};
    assert_memory_equal(fake.mem[2] + l.stream[1], first, 16);
    assert_memory_equal(fake.mem[2] + l.stream[1] + 16, end, 16);

    // the device has room for 64 instructions
    fill(&s[5], MW_STREAM_INSTRS_LEAST);
    c.stream_instrs = 0;
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_int_equal(l.stream[1] - l.stream[0], MW_STREAM_INSTRS_LEAST * MW_INSTR_BYTES);
    assert_code(mw_stream_load(device, &l, s, 2), 0);
    fill(&s[5], MW_STREAM_INSTRS_LEAST + 1);
    assert_code(mw_stream_load(device, &l, s, 2), MW_ERR_CAPACITY);
    assert_message("stream 1 of GPU 2 has 65 instructions, the layout 64");

    assert_code(mw_stream_load(device, &l, s, 0), MW_ERR_INVALID);
    assert_code(mw_stream_load(device, &l, s, 5), MW_ERR_INVALID);
    s[3].count = 1;
    assert_code(mw_stream_load(device, &l, s, 2), MW_ERR_STATE);
    assert_message("stream 1 of GPU 1 has no end");
    mw_stream_init(&s[3]);
    assert_code(mw_stream_load(device, &l, s, 2), MW_ERR_STATE);
    for (int i = 0; i < 16; i++)
        mw_stream_fence(&s[3]);
    mw_stream_end(&s[3]);
    assert_code(mw_stream_load(device, &l, s, 2), MW_ERR_CAPACITY);
    s[3].error = MW_ERR_INVALID;
    assert_code(mw_stream_load(device, &l, s, 2), MW_ERR_STATE);
}

static void add_delay(struct mw_stream *s)
{
    mw_stream_delay(s, 1);
}

static void add_poll(struct mw_stream *s)
{
    mw_stream_poll(s, MW_EV_SW0, 1, 1);
}

static void add_rows(struct mw_stream *s)
{
    mw_stream_flag_rows(s, 0, true);
}

static void add_range(struct mw_stream *s)
{
    mw_stream_expert_range(s, 0, 1);
}

static void add_st_rows(struct mw_stream *s)
{
    mw_stream_multimem_st_rows(s, 0, 0, 1, 10, 0);
}

static void add_st_routes(struct mw_stream *s)
{
    mw_stream_multimem_st_routes(s, 0, 0, 1, 0);
}

static void add_gathered(struct mw_stream *s)
{
    mw_stream_expert_gathered(s, 0, 1);
}

static void add_homes(struct mw_stream *s)
{
    mw_stream_expert_homes(s, 0, 1, false);
}

static void add_reports(struct mw_stream *s)
{
    mw_stream_expert_homes(s, 0, 1, true);
}

static void add_landed(struct mw_stream *s)
{
    mw_stream_expert_landed(s, 1);
}

static void add_loads(struct mw_stream *s)
{
    mw_stream_ld_cais(s, 0, 1, 0, 0);
}

static void add_sync(struct mw_stream *s)
{
    mw_stream_sync(s, 0, 1);
}

static void add_push_sync(struct mw_stream *s)
{
    mw_stream_sync_pushes(s, 0, 0, 1);
}

static void add_syncs(struct mw_stream *s)
{
    mw_stream_wait(s, MW_EV_SYNCS, 1);
}

static void add_dense(struct mw_stream *s)
{
    mw_stream_sum_dense(s, 0, 1, MW_DENSE_EMPTY);
}

static void add_reduce_rows(struct mw_stream *s)
{
    mw_stream_multimem_ld_reduce_rows(s, 0, 0, 0, 1, 10);
}

static void add_sum_gathered(struct mw_stream *s)
{
    mw_stream_sum_gathered(s, 0, 1, 0);
}

static void add_wait(struct mw_stream *s)
{
    mw_stream_wait(s, MW_EV_SW8, 1);
}

static void add_rowsp(struct mw_stream *s)
{
    mw_stream_st_rowsp(s, 0, 1);
}

static void add_return(struct mw_stream *s)
{
    mw_stream_expert(s, 2);
}

static void add_gradients(struct mw_stream *s)
{
    mw_stream_expert(s, 0);
    mw_stream_expert_gradients(s);
}

static void add_gradients_of_rows(struct mw_stream *s)
{
    mw_stream_expert_rows(s);
    mw_stream_expert_gradients(s);
}

static void add_signal(struct mw_stream *s)
{
    mw_stream_signal(s, MW_EV_SW23);
}

static void add_red(struct mw_stream *s)
{
    mw_stream_multimem_red(s, 0, 0, 64, 0);
}

static void add_merged_red(struct mw_stream *s)
{
    mw_stream_red_cais(s, 0, 0, 64, 0);
}

static void add_u64(struct mw_stream *s)
{
    mw_stream_multimem_red(s, 0, 0, 64, 0);
    mw_stream_reduction(s, MW_DTYPE_U64, MW_REDOP_XOR);
}

static void add_s64(struct mw_stream *s)
{
    mw_stream_multimem_ld_reduce(s, 0, 0, 64, 0);
    mw_stream_reduction(s, MW_DTYPE_S64, MW_REDOP_MIN);
}

static void add_e4m3(struct mw_stream *s)
{
    mw_stream_multimem_ld_reduce(s, 0, 0, 64, 0);
    mw_stream_reduction(s, MW_DTYPE_E4M3, MW_REDOP_ADD);
}

static void add_e5m2(struct mw_stream *s)
{
    mw_stream_dymultimem_ld_reduce(s, 0, 1, false);
    mw_stream_reduction(s, MW_DTYPE_E5M2, MW_REDOP_MAX);
}

static void add_fp64(struct mw_stream *s)
{
    mw_stream_multimem_red(s, 0, 0, 64, 0);
    mw_stream_reduction(s, MW_DTYPE_FP64, MW_REDOP_ADD);
}

static void add_row_sums(struct mw_stream *s)
{
    mw_stream_dymultimem_ld_reduce(s, 0, 1, false);
}

#define RED_TYPE(type) (1u << (MW_FABRIC__PRIMITIVES__RED_TYPES_bp + MW_DTYPE_##type))

/// An instruction that the device lacks is refused by name, and nothing is written.
static void streams_need_primitives(void **state)
{
    (void)state;
    static const struct {
        uint32_t without;
        void (*add)(struct mw_stream *s);
        const char *what;
    } needs[] = {
        {MW_FABRIC__PRIMITIVES__DELAY_bm, add_delay, "delay"},
        {MW_FABRIC__PRIMITIVES__DELAY_bm, add_poll, "delays behind a wait"},
        {MW_FABRIC__PRIMITIVES__ROW_RANGES_bm, add_rows, "flags that report rows"},
        {MW_FABRIC__PRIMITIVES__ROW_RANGES_bm, add_range, "expert.rows over ranges of tokens"},
        {MW_FABRIC__PRIMITIVES__GATHERED_bm, add_st_rows, "gathered tokens"},
        {MW_FABRIC__PRIMITIVES__GATHERED_bm, add_st_routes, "gathered tokens"},
        {MW_FABRIC__PRIMITIVES__GATHERED_bm, add_gathered, "gathered tokens"},
        {MW_FABRIC__PRIMITIVES__TILE_REDUCTIONS_bm, add_homes, "rows of every home in turn"},
        {MW_FABRIC__PRIMITIVES__TILE_REDUCTIONS_bm, add_reports, "rows of every home in turn"},
        {MW_FABRIC__PRIMITIVES__MERGE_LOADS_bm, add_landed, "merged loads"},
        {MW_FABRIC__PRIMITIVES__MERGE_LOADS_bm, add_loads, "merged loads"},
        {MW_FABRIC__PRIMITIVES__MERGE_LOADS_bm, add_sync, "merged loads"},
        {MW_FABRIC__PRIMITIVES__MERGE_REDS_bm, add_push_sync, "SYNC of pushes"},
        {MW_FABRIC__PRIMITIVES__MERGE_REDS_bm, add_syncs, "SYNC of pushes"},
        {MW_FABRIC__PRIMITIVES__GATHERED_bm, add_dense, "gathered tokens"},
        {MW_FABRIC__PRIMITIVES__GATHERED_bm, add_reduce_rows, "gathered tokens"},
        {MW_FABRIC__PRIMITIVES__GATHERED_bm, add_sum_gathered, "gathered tokens"},
        {MW_FABRIC__PRIMITIVES__ROW_SPARSE_bm, add_rowsp, "st.rowsp"},
        {MW_FABRIC__PRIMITIVES__ROW_SPARSE_bm, add_return, "rows that return"},
        {MW_FABRIC__PRIMITIVES__MORE_EVENTS_bm, add_wait, "event counters from SW8 on"},
        {MW_FABRIC__PRIMITIVES__MORE_EVENTS_bm, add_signal, "event counters from SW8 on"},
        {MW_FABRIC__PRIMITIVES__MULTIMEM_RED_bm, add_red, "multimem.red"},
        {MW_FABRIC__PRIMITIVES__MERGE_REDS_bm, add_merged_red, "red.cais"},
        {RED_TYPE(U64), add_u64, "reductions of u64"},
        {RED_TYPE(S64), add_s64, "reductions of s64"},
        {RED_TYPE(E4M3), add_e4m3, "reductions of e4m3"},
        {RED_TYPE(E5M2), add_e5m2, "reductions of e5m2"},
        {RED_TYPE(FP64), add_fp64, "reductions of fp64"},
        {RED_TYPE(BF16), add_row_sums, "reductions of bf16"},
        {MW_FABRIC__PRIMITIVES__GATE_GRADIENTS_bm, add_gradients, "gradients of gate weights"},
        {MW_FABRIC__PRIMITIVES__GATE_GRADIENTS_bm, add_gradients_of_rows,
         "gradients of gate weights"},
    };
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    uint32_t all = *fake_fabric(&fake, FABRIC(primitives)) | MW_FABRIC__PRIMITIVES__DELAY_bm |
                   MW_FABRIC__PRIMITIVES__ROW_RANGES_bm | MW_FABRIC__PRIMITIVES__MORE_EVENTS_bm |
                   MW_FABRIC__PRIMITIVES__GATHERED_bm | MW_FABRIC__PRIMITIVES__ROW_SPARSE_bm |
                   MW_FABRIC__PRIMITIVES__TILE_REDUCTIONS_bm |
                   MW_FABRIC__PRIMITIVES__MERGE_LOADS_bm | MW_FABRIC__PRIMITIVES__MERGE_REDS_bm |
                   MW_FABRIC__PRIMITIVES__GATE_GRADIENTS_bm;
    for (unsigned i = 0; i < sizeof needs / sizeof *needs; i++) {
        for (unsigned without = 0; without < 2; without++) {
            struct mw_stream s[4];
            *fake_fabric(&fake, FABRIC(primitives)) = without ? all & ~needs[i].without : all;
            fake_reopen();
            assert_code(mw_layout_make(device, &c, &l), 0);
            for (unsigned g = 0; g < 4; g++) {
                mw_stream_init(&s[g]);
                mw_stream_fence(&s[g]);
                if (g == 2)
                    needs[i].add(&s[g]);
                mw_stream_end(&s[g]);
                memset(fake.mem[g] + l.stream[0], 0x5a, 16);
            }
            assert_code(mw_stream_load(device, &l, s, 1), without ? MW_ERR_CAPACITY : 0);
            if (!without)
                continue;
            char text[160];
            snprintf(
                text, sizeof text,
                "stream 0 of GPU 2, instruction 1: this device was built without %s: leave it out",
                needs[i].what);
            assert_message(text);
            assert_int_equal(fake.mem[0][l.stream[0]], 0x5a);
        }
    }
}

static void routes(void **state)
{
    (void)state;
    uint8_t entry[MW_ROUTE_BYTES];
    const int16_t idx[3] = {300, -1, 7};
    const float w[3] = {1.0f, 2.0f, -0.5f};
    memset(entry, 0xee, sizeof entry);
    mw_route_pack(entry, idx, w, 3);
    const uint8_t ids[8] = {300 & 255, 1, 0xff, 0xff, 7, 0, 0xff, 0xff};
    const uint8_t weights[16] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xbf, 0, 0, 0, 0};
    assert_memory_equal(entry, ids, 8);
    assert_memory_equal(entry + 32, weights, 16);
    for (int i = 96; i < MW_ROUTE_BYTES; i++)
        assert_int_equal(entry[i], 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
    const struct CMUnitTest tests[] = {
        TEST(stream_words), TEST(stream_position),         TEST(stream_failures),
        TEST(stream_load),  TEST(streams_need_primitives), TEST(routes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
