// SPDX-License-Identifier: Apache-2.0
//
// Instructions with invalid operands on one GPU of a whole device, whose library did not refuse
// them. Each causes one error of that GPU, by name. The instructions of its stream before and after
// it are executed. No other memory changes, no packet of it leaves, and the next layer takes its
// usual cycles.
#include "system/bench.h"

#include "moeswitch.h"

enum {
    GPUS = 4,
    BAD = 2,
    BLOCK = 2048,
    SPACE = (GPUS + 1) * BLOCK, ///< own values, a block from every GPU
    LOW = 4096,                 ///< bytes of memory's beginning, where what wraps would land
    ROW = 64,
};

struct device {
    struct mw_device *d;
    struct mw_layer_config config;
    struct mw_layout layout;
    struct mw_multicast *all;
    uint64_t memory;  ///< bytes of a GPU
    uint64_t cycles;  ///< of a layer with no such instruction
    uint64_t packets; ///< flits of class STORE that BAD sends in it
};

static void open_device(struct device *t)
{
    struct mw_open_options o;
    struct mw_device_info info;
    *t = (struct device){0};
    mw_open_defaults(&o);
    o.gpus = GPUS;
    o.flit_bytes = 8;
    assert_int_equal(mw_open(&o, &t->d), 0);
    assert_int_equal(mw_info(t->d, &info), 0);
    t->memory = info.mem_bytes;
    mw_layer_defaults(&t->config);
    t->config.k = t->config.tokens_per_gpu = t->config.experts_per_gpu = 1;
    t->config.rows_per_expert = 1;
    t->config.row_bytes = ROW;
    t->config.scratch_bytes = SPACE;
    assert_int_equal(mw_layout_make(t->d, &t->config, &t->layout), 0);
    assert_int_equal(mw_multicast_create(t->d, SPACE, &t->all), 0);
    for (unsigned g = 0; g < GPUS; g++)
        assert_int_equal(mw_multicast_add_device(t->all, g), 0);
    assert_int_equal(mw_multicast_bind_addr(t->all, t->layout.scratch), 0);
    assert_int_equal(mw_multicast_group(t->all), 0);
}

/// Every GPU stores its block to all others. BAD runs the instruction after its first store.
/// `code`: the error that the device must record, 0 if none.
static void layer(struct device *t, const struct mw_instr *wrong, unsigned code,
                  struct mw_counters *c)
{
    static uint8_t own[GPUS][SPACE], got[GPUS][SPACE], low[2][GPUS][LOW];
    const unsigned tokens[GPUS] = {1, 1, 1, 1};
    struct mw_transfer list[GPUS], lows[2][GPUS];
    struct mw_stream s[GPUS];
    const uint32_t scratch = t->layout.scratch;
    uint64_t cycles;
    for (unsigned g = 0; g < GPUS; g++) {
        memset(own[g], 0x5a, SPACE);
        for (unsigned i = 0; i < BLOCK; i++)
            own[g][i] = (uint8_t)(i * 7 + g * 31 + 1);
        list[g] = (struct mw_transfer){g, scratch, SPACE, own[g]};
        for (unsigned i = 0; i < 2; i++)
            lows[i][g] = (struct mw_transfer){g, 0, LOW, low[i][g]};
        mw_stream_init(&s[g]);
        for (unsigned d = 1; d < GPUS; d++) {
            if (d == 2 && g == BAD && wrong)
                s[g].instr[s[g].count++] = *wrong;
            mw_stream_st_linear(&s[g], (g + d) % GPUS, scratch, BLOCK, scratch + (1 + g) * BLOCK);
        }
        assert_int_equal(mw_stream_end(&s[g]), 0);
    }
    assert_int_equal(mw_mem_write(t->d, list, GPUS), 0);
    assert_int_equal(mw_stream_load(t->d, &t->layout, s, 1), 0);
    assert_int_equal(mw_layer_configure(t->d, &t->config, &t->layout, tokens, tokens, 1), 0);
    assert_int_equal(mw_mem_read(t->d, lows[0], GPUS), 0);
    assert_int_equal(mw_launch(t->d), 0);
    const struct mw_wait_options w = {.size = sizeof w, .quiet_cycles = 20000, .step_cycles = 1000};
    assert_int_equal(mw_wait(t->d, &w, &cycles), code ? MW_ERR_DEVICE : 0);
    if (code)
        assert_line(mw_message(), "GPU 2: ", mw_hw_strerror(code));
    assert_int_equal(mw_counters_read(t->d, c), 0);
    for (unsigned g = 0; g < GPUS; g++)
        list[g].data = got[g];
    assert_int_equal(mw_mem_read(t->d, list, GPUS), 0);
    assert_int_equal(mw_mem_read(t->d, lows[1], GPUS), 0);
    assert_memory_equal(low[1], low[0], sizeof low[0]);
    for (unsigned g = 0; g < GPUS; g++) {
        for (unsigned from = 0; from < GPUS; from++)
            if (from != g)
                memcpy(&own[g][(1 + from) * BLOCK], own[from], BLOCK);
        assert_memory_equal(got[g], own[g], SPACE);
    }
}

static struct mw_instr instr(unsigned op, unsigned flags, unsigned imm, uint64_t a, uint32_t b,
                             uint64_t c)
{
    return (struct mw_instr){.op = (uint8_t)op,
                             .flags = flags & 15,
                             .a_high = a >> 32 & 3,
                             .c_high = c >> 32 & 3,
                             .imm = (uint16_t)imm,
                             .a = (uint32_t)a,
                             .b = b,
                             .c = (uint32_t)c};
}

static void refused(void **state)
{
    (void)state;
    struct device t;
    struct mw_counters c;
    open_device(&t);
    layer(&t, NULL, 0, &c);
    t.cycles = c.cycles;
    t.packets = c.port[BAD].up_flits[1];
    const uint64_t scratch = t.layout.scratch, end = t.memory;
    const struct {
        unsigned code;
        struct mw_instr in;
    } wrong[] = {
        {MW_HWERR_BOUNDS, instr(MW_I_SIGNAL, 0, 8, 0, 0, 0)},
        {MW_HWERR_BOUNDS, instr(MW_I_SIGNAL, 0, 15, 0, 0, 0)},
        {MW_HWERR_BOUNDS, instr(MW_I_SIGNAL, 0, 32, 0, 0, 0)},
        {MW_HWERR_BOUNDS, instr(MW_I_FLAG, 0, 8, 0, 0, 0)},
        {MW_HWERR_BOUNDS, instr(MW_I_FLAG, 1, 12, 0, 0, 0)},
        {MW_HWERR_BOUNDS, instr(MW_I_FLAG, 1, 0x8000, 0, 0, 0)},
        {MW_HWERR_UNMAPPED, instr(MW_I_MULTIMEM_ST, 0, 16, scratch, ROW, scratch + 64)},
        {MW_HWERR_UNMAPPED, instr(MW_I_MULTIMEM_ST, 0, 0x100, scratch, ROW, scratch + 64)},
        {MW_HWERR_UNMAPPED, instr(MW_I_MULTIMEM_RED, 0, 16, scratch, ROW, scratch + 64)},
        {MW_HWERR_UNMAPPED, instr(MW_I_MULTIMEM_LD_REDUCE, 0, 16, scratch, ROW, scratch + 64)},
        {MW_HWERR_UNMAPPED, instr(MW_I_ST_LINEAR, 0, GPUS, scratch, ROW, scratch + 64)},
        {MW_HWERR_UNMAPPED, instr(MW_I_ST_LINEAR, 0, 32, scratch, ROW, scratch + 64)},
        {MW_HWERR_REDUCTION, instr(MW_I_MULTIMEM_RED, 0, 0x0f00, scratch, ROW, scratch + 64)},
        {MW_HWERR_REDUCTION, instr(MW_I_MULTIMEM_LD_REDUCE, 0, 0x8000, scratch, ROW, scratch)},
        {MW_HWERR_REDUCTION, instr(MW_I_DYMULTIMEM_LD_REDUCE, 0, 0x0f00, 0, 1, 0)},
        {MW_HWERR_BOUNDS, instr(MW_I_MULTIMEM_LD_REDUCE, 0, 0, end - LOW / 2, LOW, scratch + 64)},
        {MW_HWERR_BOUNDS, instr(MW_I_MULTIMEM_LD_REDUCE, 0, 0, scratch, LOW, end - LOW / 2)},
        {MW_HWERR_BOUNDS, instr(MW_I_MULTIMEM_LD_REDUCE, 0, 0, scratch, ROW + 1, scratch + 64)},
        {MW_HWERR_BOUNDS, instr(MW_I_ST_LINEAR, 0, 0, end - ROW, 2 * ROW, scratch + 64)},
        {MW_HWERR_BOUNDS, instr(MW_I_ST_LINEAR, 0, 0, end, ROW, scratch + 64)},
        {MW_HWERR_BOUNDS, instr(MW_I_ST_LINEAR, 0, 0, scratch + 1, ROW, scratch + 64)},
        {MW_HWERR_BOUNDS, instr(MW_I_DYMULTIMEM_ST, 0, 0, 1, 1, 0)},
        {MW_HWERR_BOUNDS, instr(MW_I_DYMULTIMEM_ST, 3, 0, 0, 2, 0)},
        {MW_HWERR_BOUNDS, instr(MW_I_ST, 0, 0, 0, 1u << 31, 0)},
        {MW_HWERR_BOUNDS, instr(MW_I_COUNT, 0, 0, 0, 2, 0)},
        {MW_HWERR_BOUNDS, instr(MW_I_DYMULTIMEM_LD_REDUCE, 0, 0, 0x1000, 1, 0)},
        {MW_HWERR_BOUNDS, instr(MW_I_SUM, 0, 0, 0xffffffff, 1, 0)},
        {MW_HWERR_BOUNDS, instr(MW_I_SUM_ST, 0, 0, 1, 1, 0)},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        layer(&t, &wrong[i].in, wrong[i].code, &c);
        assert_int_equal(c.gpu[BAD].first_error, wrong[i].code);
        assert_int_equal(c.gpu[BAD].errors, 1);
        assert_int_equal(c.switch_errors, 0);
        for (unsigned g = 0; g < GPUS; g++) {
            assert_int_equal(c.port[g].rejected, 0);
            assert_true(g == BAD || c.gpu[g].errors == 0);
        }
        assert_int_equal(c.port[BAD].up_flits[1], t.packets);
        assert_int_equal(c.port[BAD].up_flits[0] + c.port[BAD].up_flits[2], 0);
        layer(&t, NULL, 0, &c);
        assert_int_equal(c.cycles, t.cycles);
    }
    mw_multicast_destroy(t.all);
    mw_close(t.d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
