// SPDX-License-Identifier: Apache-2.0
//
// Cached handles on the fake device. Tested are what an object may keep on which device, and what
// the library writes in each phase of forward and cached layers.
#include "fake_device.h"

enum { GPUS = 4, TOKENS = 3, ROW = 16, EXPERTS = 4, K = 2 };

static uint16_t x[GPUS][TOKENS][ROW], dy[GPUS][TOKENS][ROW], out[GPUS][TOKENS][ROW];
static int16_t idx[GPUS][TOKENS][K];
static float weights[GPUS][TOKENS][K];
static uint16_t coefficient[EXPERTS] = {0x3f80, 0x4000, 0x4040, 0x4080};
static uint16_t *rows[GPUS];
static const uint16_t *grads[GPUS];
static struct mw_tokens part[GPUS];

/// Of rows with so many values.
static int create(unsigned row, bool cached, bool gradients, unsigned type,
                  struct mw_dymulticast **object)
{
    const struct mw_dymulticast_prop prop = {.size = sizeof prop,
                                             .block_bytes = 2 * row,
                                             .region_sets = 2,
                                             .k = K,
                                             .experts = EXPERTS,
                                             .dispatch_type = type,
                                             .cached_handles = cached,
                                             .gate_gradients = gradients};
    return mw_dymulticast_create(device, &prop, object);
}

static void set_primitive(uint32_t mask, bool on)
{
    *fake_fabric(&fake, FABRIC(primitives)) = on ? UINT32_MAX : ~mask;
    fake_reopen();
}

/// Properties that the device lacks, or that exclude each other, are refused by name when the
/// object is made.
static void properties(void **state)
{
    (void)state;
    struct mw_dymulticast *m;
    set_primitive(MW_FABRIC__PRIMITIVES__CACHED_HANDLE_bm, false);
    assert_code(create(MW_SCALE_BLOCK, true, false, 0, &m), MW_ERR_CAPACITY);
    assert_message("cached_handles: each layer of this device counts its own rows");
    set_primitive(MW_FABRIC__PRIMITIVES__GATE_GRADIENTS_bm, false);
    assert_code(create(MW_SCALE_BLOCK, true, true, 0, &m), MW_ERR_CAPACITY);
    assert_message("gate_gradients: this device's experts return no gradients");
    assert_code(create(MW_SCALE_BLOCK, true, false, 0, &m), 0);
    mw_dymulticast_destroy(m);
    set_primitive(0, true);
    assert_code(create(MW_SCALE_BLOCK, false, true, 0, &m), MW_ERR_INVALID);
    assert_message("gate_gradients: only with cached_handles");
    for (unsigned type = MW_ROWTYPE_E4M3; type <= MW_ROWTYPE_NVFP4; type++) {
        assert_code(create(MW_SCALE_BLOCK, true, true, type, &m), MW_ERR_INVALID);
        assert_message("gate_gradients: only for rows of dispatch in bf16");
        assert_code(create(MW_SCALE_BLOCK, true, false, type, &m), 0);
        mw_dymulticast_destroy(m);
    }
    assert_code(create(MW_SCALE_BLOCK, true, true, 0, &m), 0);
    mw_dymulticast_destroy(m);
}

static void make_parts(void)
{
    for (unsigned g = 0; g < GPUS; g++) {
        for (unsigned t = 0; t < TOKENS; t++) {
            for (unsigned i = 0; i < ROW; i++) {
                x[g][t][i] = (uint16_t)(1000 + g * 100 + t * 20 + i);
                dy[g][t][i] = (uint16_t)(5000 + g * 100 + t * 20 + i);
            }
            idx[g][t][0] = (int16_t)((g + t) % EXPERTS);
            idx[g][t][1] = -1;
            weights[g][t][0] = (float)(1 + t);
        }
        rows[g] = out[g][0];
        grads[g] = dy[g][0];
        part[g] = (struct mw_tokens){TOKENS, x[g][0], idx[g][0], weights[g][0]};
    }
}

static struct mw_dymulticast *object;
static struct mw_layout layout;

static void set_up(bool gradients)
{
    fake_open_with_all();
    fake.echo = true;
    make_parts();
    assert_code(create(ROW, true, gradients, MW_ROWTYPE_BF16, &object), 0);
    assert_code(mw_dymulticast_bind_addr(object, GPUS * TOKENS, GPUS * TOKENS), 0);
    assert_code(mw_dymulticast_layout(object, &layout), 0);
}

/// Operations of a stream of GPU 1, and the registers: the epoch, whose handle, and where rows are.
static void expect(unsigned stream, const uint8_t *ops, unsigned count, unsigned epoch, int handle,
                   uint64_t xd_base)
{
    const uint32_t reg = *fake_node(&fake, 1, NODE(handle));
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(fake.mem[1][layout.stream[stream] + MW_INSTR_BYTES * i], ops[i]);
    assert_int_equal(*fake_fabric(&fake, FABRIC(epoch)), epoch);
    assert_int_equal(!!(reg & MW_NODE__HANDLE__CACHED_bm), handle >= 0);
    if (handle >= 0)
        assert_int_equal((reg & MW_NODE__HANDLE__EPOCH_bm) >> MW_NODE__HANDLE__EPOCH_bp, handle);
    assert_int_equal(*fake_node(&fake, 1, NODE(xd_base)), BASE(xd_base));
    assert_int_equal(*fake_node(&fake, 1, NODE(xf_base)), BASE(layout.xd_base));
}

static unsigned flags_of_expert(unsigned stream, unsigned instr)
{
    const uint8_t *at = fake.mem[1] + layout.stream[stream] + MW_INSTR_BYTES * instr;
    assert_int_equal(at[0], MW_I_EXPERT);
    return at[1] & 15;
}

/// Whether the hidden values of all GPUs are present.
static void expect_rows(const uint16_t (*values)[TOKENS][ROW])
{
    for (unsigned g = 0; g < GPUS; g++)
        for (unsigned t = 0; t < TOKENS; t++)
            assert_memory_equal(fake.mem[g] + layout.xs_base + (t << layout.row_shift),
                                values[g][t], 2 * ROW);
}

/// The second phase of a forward layer uses the counts of the first, in its epoch and its region.
/// A cached one counts nothing, and has the other region in both phases.
static void programs(void **state)
{
    (void)state;
    enum { GRADIENTS = 8, NO_SIGNALS = 1 };
    static const uint8_t counts[] = {MW_I_COUNT, MW_I_WAIT, MW_I_END},
                         waits[] = {MW_I_WAIT, MW_I_END},
                         second[] = {MW_I_EXPERT, MW_I_SIGNAL, MW_I_WAIT, MW_I_DYMULTIMEM_LD_REDUCE,
                                     MW_I_END},
                         none[] = {MW_I_END};
    for (unsigned gradients = 0; gradients < 2; gradients++) {
        struct mw_handle *forward, *cached;
        const unsigned dw = gradients ? GRADIENTS : 0;
        set_up(gradients);
        assert_true(layout.xd_cached > layout.xd_base);
        assert_code(mw_dispatch(object, part, coefficient, &forward), 0);
        expect(0, counts, 3, 0, -1, layout.xd_base);
        expect_rows((const uint16_t(*)[TOKENS][ROW])x);
        assert_code(mw_combine(forward, rows, NULL, NULL), 0);
        expect(0, second, 5, 0, 0, layout.xd_base);
        assert_int_equal(flags_of_expert(0, 0), NO_SIGNALS);

        assert_code(mw_dispatch_cached(forward, grads, NULL, &cached), 0);
        expect(0, waits, 2, 1, 0, layout.xd_cached);
        expect_rows((const uint16_t(*)[TOKENS][ROW])dy);
        assert_code(mw_combine(cached, rows, NULL, NULL), 0);
        assert_memory_equal(out, dy, sizeof out);
        expect(0, second, 5, 1, 0, layout.xd_cached);
        assert_int_equal(flags_of_expert(0, 0), NO_SIGNALS | dw);
        assert_code(mw_layer_run(cached, rows, NULL, NULL), 0);
        expect(0, none, 1, 2, 0, layout.xd_cached);
        assert_int_equal(flags_of_expert(2, 0), dw);

        assert_code(mw_layer_run(forward, rows, NULL, NULL), 0); // a sweep: one epoch is not enough
        expect(0, counts, 1, 0, -1, layout.xd_base);
        assert_int_equal(flags_of_expert(2, 0), 0);
        assert_int_equal(fake.sweeps, 2);
        expect_rows((const uint16_t(*)[TOKENS][ROW])x);
        mw_handle_destroy(forward);
        assert_code(mw_layer_run(cached, rows, NULL, NULL), 0); // whose routes it has
        expect(0, none, 1, 1, 0, layout.xd_cached);
        mw_handle_destroy(cached);
        mw_dymulticast_destroy(object);
        fake_teardown(NULL);
        fake_setup(NULL);
    }
}

static void expect_no_gradients(struct mw_handle *cached, float *const *dw)
{
    assert_code(mw_gate_gradients(cached, dw), MW_ERR_STATE);
    assert_message("mw_gate_gradients: call mw_combine or mw_layer_run first");
}

/// Gradients of the table, 0 where there is no expert, and only those of a layer that ended well.
static void gradients(void **state)
{
    (void)state;
    struct mw_handle *forward, *cached;
    float dw[GPUS][TOKENS][K], *of_gpu[GPUS];
    set_up(true);
    for (unsigned g = 0; g < GPUS; g++) {
        of_gpu[g] = dw[g][0];
        for (unsigned t = 0; t < TOKENS; t++)
            for (unsigned j = 0; j < K; j++) {
                const float value = (float)(1 + g * 100 + t * 10 + j);
                memcpy(fake.mem[g] + layout.dw_base + 4 * (t << layout.k_shift | j), &value, 4);
            }
    }
    assert_code(mw_handle_create(object, part, coefficient, &forward), 0);
    assert_code(mw_handle_create_cached(forward, grads, NULL, &cached), 0);
    assert_code(mw_layer_run(forward, rows, NULL, NULL), 0);
    expect_no_gradients(cached, of_gpu);
    memset(dw, 0xee, sizeof dw);
    assert_code(mw_layer_run(cached, rows, NULL, NULL), 0);
    assert_code(mw_gate_gradients(cached, of_gpu), 0);
    for (unsigned g = 0; g < GPUS; g++)
        for (unsigned t = 0; t < TOKENS; t++) {
            assert_true(dw[g][t][0] == (float)(1 + g * 100 + t * 10));
            assert_true(dw[g][t][1] == 0);
        }
    assert_code(mw_dispatch_start(cached, NULL), 0);
    expect_no_gradients(cached, of_gpu);
    *fake_fabric(&fake, FABRIC(error)) = 1u << 16 | MW_HWERR_BOUNDS;
    assert_code(mw_combine(cached, rows, NULL, NULL), MW_ERR_DEVICE);
    *fake_fabric(&fake, FABRIC(error)) = 0;
    expect_no_gradients(cached, of_gpu);
    assert_code(mw_layer_run(cached, rows, NULL, NULL), MW_ERR_HANDLE);
    assert_message("mw_layer_run: there is no handle that a cached layer could use: a layer has "
                   "ended with an error");
    mw_handle_destroy(cached);
    mw_handle_destroy(forward);
    mw_dymulticast_destroy(object);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
    const struct CMUnitTest tests[] = {TEST(properties), TEST(programs), TEST(gradients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
