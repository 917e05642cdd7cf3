// SPDX-License-Identifier: Apache-2.0
//
// The words of DeepEP over a fake device: objects, handles, dispatch and combine.
#include "fake_device.h"

#include <math.h>
#include <string.h>

// ---- DeepEP's words -----------------------------------------------------------------------------

enum { K = 2, T = 3, HIDDEN = 12 };
static uint16_t x[4][T][HIDDEN], out[4][T][HIDDEN];
static int16_t idx[4][T][K];
static float weights[4][T][K];
static uint16_t coefficient[8];

static void make_parts(struct mw_tokens *part)
{
    for (unsigned g = 0; g < 4; g++) {
        for (unsigned t = 0; t < T; t++) {
            for (unsigned i = 0; i < HIDDEN; i++)
                x[g][t][i] = (uint16_t)(g * 1000 + t * 100 + i);
            idx[g][t][0] = (int16_t)((g + t) % 8);
            idx[g][t][1] = (int16_t)(t == 2 ? -1 : (int)((g + t + 3) % 8));
            weights[g][t][0] = weights[g][t][1] = 0.25f;
        }
        part[g] = (struct mw_tokens){g == 2 ? 0 : T, x[g][0], idx[g][0], weights[g][0]};
    }
    for (unsigned e = 0; e < 8; e++)
        coefficient[e] = (uint16_t)(0x3f80 + e);
}

static struct mw_dymulticast *make_object(unsigned rows)
{
    const struct mw_dymulticast_prop prop = {
        .size = sizeof prop, .block_bytes = 2 * HIDDEN, .region_sets = 2, .k = K, .experts = 8};
    struct mw_dymulticast *m;
    assert_code(mw_dymulticast_create(device, &prop, &m), 0);
    assert_code(mw_dymulticast_bind_addr(m, 4 * T - 1, rows), 0); // rounded up
    return m;
}

static void dymulticast_checks(void **state)
{
    (void)state;
    struct mw_dymulticast *m;
    struct mw_layout l;
#define PROP(b, r, kk, e) \
    { \
        .size = sizeof(struct mw_dymulticast_prop), .block_bytes = b, .region_sets = r, .k = kk, \
        .experts = e \
    }
    static const struct mw_dymulticast_prop bad[] = {
        PROP(24, 1, 2, 8),  PROP(24, 3, 2, 8), PROP(24, 2, 0, 8), PROP(24, 2, 17, 32),
        PROP(24, 2, 16, 8), PROP(24, 2, 2, 0), PROP(24, 2, 2, 10)};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(mw_dymulticast_create(device, &bad[i], &m), MW_ERR_INVALID);
        assert_null(m);
    }
    const struct mw_dymulticast_prop large = PROP(24, 2, 2, 68), good = PROP(24, 2, 2, 8);
#undef PROP
    assert_code(mw_dymulticast_create(device, &large, &m), MW_ERR_CAPACITY);
    assert_code(mw_dymulticast_create(device, &good, &m), 0);
    assert_code(mw_dymulticast_layout(m, &l), MW_ERR_STATE);
    struct mw_handle *h;
    struct mw_tokens part[4];
    make_parts(part);
    assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_STATE);
    assert_null(h);
    assert_code(mw_dymulticast_bind_addr(m, 4 * 129, 4), MW_ERR_CAPACITY);
    assert_code(mw_dymulticast_layout(m, &l), MW_ERR_STATE);
    assert_code(mw_dymulticast_bind_addr(m, 12, 4), 0);
    assert_code(mw_dymulticast_layout(m, &l), 0);
    assert_int_equal(l.cap_shift, 2);
    mw_dymulticast_destroy(m);
    mw_dymulticast_destroy(NULL);
    mw_handle_destroy(NULL);
}

static void dispatch_checks(void **state)
{
    (void)state;
    struct mw_dymulticast *m = make_object(4);
    struct mw_handle *h;
    struct mw_tokens part[4];
    make_parts(part);
    idx[1][2][1] = 8;
    assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_INVALID);
    assert_message("GPU 1, token 2, place 1: expert 8 of 8");
    idx[1][2][1] = -2;
    assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_INVALID);
    idx[1][2][1] = idx[1][2][0];
    assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_INVALID);
    assert_message("expert 3 twice");
    idx[1][2][1] = -1;
    static const float none[] = {NAN, INFINITY, -INFINITY};
    for (unsigned i = 0; i < 3; i++) {
        weights[1][1][1] = none[i];
        assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_INVALID);
        assert_message("GPU 1, token 1, place 1: the weight of expert 5 is ");
        assert_null(h);
    }
    weights[1][1][1] = 0.25f;
    weights[1][2][1] = NAN; // no expert has it
    assert_code(mw_handle_create(m, part, coefficient, &h), 0);
    mw_handle_destroy(h);
    part[1].tokens = 4;
    assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_CAPACITY);
    assert_message("GPU 1: 4 tokens");
    part[1].tokens = T;
    mw_dymulticast_bind_addr(m, 12, 1);
    assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_CAPACITY);
    assert_message("rows, its region holds 1: bind with rows_per_expert");
    assert_null(h);
    mw_dymulticast_destroy(m);
}

static void dispatch_and_combine(void **state)
{
    (void)state;
    struct mw_dymulticast *m = make_object(4);
    struct mw_layout l;
    struct mw_handle *h;
    struct mw_tokens part[4];
    uint16_t *rows[4] = {out[0][0], out[1][0], NULL, out[3][0]};
    uint64_t cycles;
    make_parts(part);
    assert_code(mw_dymulticast_layout(m, &l), 0);
    const long calls = fake.calls;
    assert_code(mw_handle_create(m, part, coefficient, &h), 0);
    assert_int_equal(fake.calls, calls); // it only copies
    for (unsigned g = 0; g < 4; g++)
        for (unsigned t = 0; t < T; t++)
            for (unsigned i = 0; i < HIDDEN; i++) {
                uint16_t v = (uint16_t)(g + 10 * t + 100 * i);
                memcpy(fake.mem[g] + l.out_base + (t << l.row_shift) + 2 * (size_t)i, &v, 2);
            }
    assert_code(mw_handle_set(h, "tile", 3), 0);
    assert_code(mw_handle_set(h, "tiles", 3), MW_ERR_INVALID);
    assert_code(mw_layer_run(h, rows, NULL, &cycles), 0);
    assert_int_equal(cycles, 1000);
    assert_int_equal(fake.go, 1);
    assert_int_equal(*fake_fabric(&fake, FABRIC(emap) + 4 * 5), 1 << 13 | 2 << 6 | 1);
    assert_memory_equal(fake.mem[3] + l.xs_base + (2u << l.row_shift), x[3][2], 2 * HIDDEN);
    assert_memory_equal(fake.mem[3] + l.ce_base, &coefficient[6], 4);
    uint8_t entry[MW_ROUTE_BYTES];
    mw_route_pack(entry, idx[1][2], weights[1][2], K);
    assert_memory_equal(fake.mem[1] + l.rt_base + 2 * MW_ROUTE_BYTES, entry, sizeof entry);
    const uint8_t ops[4] = {MW_I_COUNT, MW_I_DYMULTIMEM_ST, MW_I_EXPERT, MW_I_DYMULTIMEM_LD_REDUCE};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(fake.mem[1][l.stream[i]], ops[i]);
        assert_int_equal(fake.mem[1][l.stream[i] + 16], MW_I_END);
    }
    assert_int_equal(*fake_node(&fake, 2, NODE(expert)) & 0xff, 3);
    assert_int_equal(*fake_node(&fake, 2, NODE(shape)), K);
    assert_int_equal(*fake_node(&fake, 3, NODE(shape)), K | T << 16);
    for (unsigned g = 0; g < 4; g++)
        for (unsigned t = 0; t < (g == 2 ? 0 : T); t++)
            for (unsigned i = 0; i < HIDDEN; i++)
                assert_int_equal(out[g][t][i], g + 10 * t + 100 * i);
    mw_handle_destroy(h);
    mw_dymulticast_destroy(m);
}

// ---- rows of other types ------------------------------------------------------------------------

enum { VALUES = 256, BLOCKS = VALUES / MW_SCALE_BLOCK };
static uint8_t codes[4][T][VALUES];
static float scales[4][T][BLOCKS];
static uint8_t groups[4][T][VALUES / MW_SCALE_GROUP];
static struct mw_typed_rows typed[4];

static void make_typed(struct mw_tokens *part)
{
    make_parts(part);
    for (unsigned g = 0; g < 4; g++) {
        for (unsigned t = 0; t < T; t++) {
            for (unsigned i = 0; i < VALUES; i++)
                codes[g][t][i] = (uint8_t)(g + 3 * t + 7 * i);
            for (unsigned i = 0; i < VALUES / MW_SCALE_GROUP; i++)
                groups[g][t][i] = (uint8_t)(1 + (5 * g + 11 * t + i) % 126);
            for (unsigned b = 0; b < BLOCKS; b++)
                scales[g][t][b] = 0.5f + (float)(16 * g + 4 * t + b);
        }
        part[g].x = NULL;
        typed[g] = (struct mw_typed_rows){codes[g][0], scales[g][0], groups[g][0]};
    }
}

static int create_typed(unsigned type, unsigned block_bytes, struct mw_dymulticast **m)
{
    const struct mw_dymulticast_prop prop = {.size = sizeof prop,
                                             .block_bytes = block_bytes,
                                             .region_sets = 2,
                                             .k = K,
                                             .experts = 8,
                                             .dispatch_type = type};
    return mw_dymulticast_create(device, &prop, m);
}

static void typed_checks(void **state)
{
    (void)state;
    struct mw_dymulticast *m;
    struct mw_handle *h;
    struct mw_tokens part[4];
    assert_code(create_typed(MW_ROWTYPE_E4M3_BLOCKS, 2 * VALUES, &m), MW_ERR_CAPACITY);
    assert_message("dispatch_type: this device's rows are bf16");
    fake_open_with_all();
    assert_code(create_typed(MW_ROWTYPE_E4M3_BLOCKS, MW_SCALE_BLOCK, &m), MW_ERR_INVALID);
    assert_message("block_bytes: 128 are no multiple of 256, a block of 128 values");
    assert_code(create_typed(MW_ROWTYPE_NVFP4, 3 * MW_SCALE_BLOCK, &m), MW_ERR_INVALID);
    assert_message("block_bytes: 384 are no multiple of 256, a block of 128 values");
    assert_code(create_typed(MW_ROWTYPE_E4M3, 24, &m), MW_ERR_INVALID);
    assert_message("bytes per row of dispatch: 12 is no multiple");
    assert_code(create_typed(99, 2 * VALUES, &m), MW_ERR_INVALID);
    assert_message("there is no type 99");
    assert_code(create_typed(MW_ROWTYPE_E4M3_BLOCKS, 2 * VALUES, &m), 0);
    assert_code(mw_dymulticast_bind_addr(m, 4 * T, 4), 0);
    make_typed(part);
    static const float bad[] = {NAN, 0, -0.0f, -1, INFINITY, 0x1p-127f};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        scales[1][2][1] = bad[i];
        assert_code(mw_dispatch_typed(m, part, typed, coefficient, &h), MW_ERR_INVALID);
        assert_message("GPU 1, token 2, block 1: the scale is ");
        assert_null(h);
    }
    scales[1][2][1] = 1;
    typed[3].scales = NULL;
    assert_code(mw_dispatch_typed(m, part, typed, coefficient, &h), MW_ERR_INVALID);
    assert_message("GPU 3: 3 tokens without x or scales");
    typed[3].scales = scales[3][0];
    part[0].topk_weights = NULL;
    assert_code(mw_dispatch_typed(m, part, typed, coefficient, &h), MW_ERR_INVALID);
    assert_message("GPU 0: 3 tokens without topk_idx or topk_weights");
    part[0].topk_weights = weights[0][0];
    assert_code(mw_dispatch_typed(m, part, NULL, coefficient, &h), MW_ERR_INVALID);
    assert_code(mw_dispatch(m, part, coefficient, &h), MW_ERR_INVALID);
    assert_message("mw_handle_create: the object's dispatch_type is not bf16");
    assert_code(mw_handle_create_typed(m, part, typed, coefficient, &h), 0);
    size_t count;
    assert_code(mw_received(h, 1, NULL, x[0][0], 1, &count, NULL), MW_ERR_INVALID);
    assert_message("mw_received: the rows are not bf16: call mw_received_typed");
    assert_code(mw_received(h, 1, NULL, NULL, 0, &count, NULL), 0);
    assert_code(mw_received_typed(h, 1, NULL, NULL, 1, &count, NULL), MW_ERR_INVALID);
    assert_code(mw_received_typed(h, 1, NULL, typed, 1, &count, NULL), MW_ERR_STATE);
    mw_handle_destroy(h);
    mw_dymulticast_destroy(m);
    m = make_object(4);
    assert_code(mw_dispatch_typed(m, part, typed, coefficient, &h), MW_ERR_INVALID);
    assert_message("without x, topk_idx");
    make_parts(part);
    assert_code(mw_dispatch_typed(m, part, typed, coefficient, &h), MW_ERR_INVALID);
    assert_message("the object's rows are bf16: set dispatch_type");
    mw_dymulticast_destroy(m);
}

/// A row of NVFP4 has scales of its groups and of its own.
static void groups_are_checked(void **state)
{
    (void)state;
    struct mw_dymulticast *m;
    struct mw_handle *h;
    struct mw_tokens part[4];
    fake_open_with_all();
    assert_code(create_typed(MW_ROWTYPE_NVFP4, 2 * VALUES, &m), 0);
    assert_code(mw_dymulticast_bind_addr(m, 4 * T, 4), 0);
    make_typed(part);
    static const uint8_t bad[] = {0, 0x80, 0x7f, 0xff, 0x81};
    for (unsigned i = 0; i < sizeof bad; i++) {
        groups[1][2][3] = bad[i];
        assert_code(mw_dispatch_typed(m, part, typed, coefficient, &h), MW_ERR_INVALID);
        assert_message("GPU 1, token 2, group 3: the e4m3 scale is 0x");
        assert_null(h);
    }
    groups[1][2][3] = 0x7e;
    scales[1][0][1] = NAN; // the second row's
    assert_code(mw_dispatch_typed(m, part, typed, coefficient, &h), MW_ERR_INVALID);
    assert_message("GPU 1, token 1, block 0: the scale is nan");
    scales[1][0][1] = 1;
    typed[0].group_scales = NULL;
    assert_code(mw_dispatch_typed(m, part, typed, coefficient, &h), MW_ERR_INVALID);
    assert_message("GPU 0: 3 tokens without x or scales or group_scales");
    mw_dymulticast_destroy(m);
}

/// Values, then scales, then zeros up to 16 bytes. The registers contain the type.
static void typed_rows(void **state)
{
    (void)state;
    static const struct {
        unsigned type, bytes;
    } of[] = {{MW_ROWTYPE_E4M3, VALUES},
              {MW_ROWTYPE_E4M3_BLOCKS, VALUES + 16},
              {MW_ROWTYPE_NVFP4, VALUES / 2 + 32}};
    fake_open_with_all();
    for (unsigned i = 0; i < 3; i++) {
        static const uint8_t zeros[16];
        struct mw_dymulticast *m;
        struct mw_layout l;
        struct mw_handle *h;
        struct mw_tokens part[4];
        make_typed(part);
        assert_code(create_typed(of[i].type, 2 * VALUES, &m), 0);
        assert_code(mw_dymulticast_bind_addr(m, 4 * T, 4), 0);
        assert_code(mw_dymulticast_layout(m, &l), 0);
        assert_code(mw_dispatch_typed(m, part, typed, coefficient, &h), 0);
        assert_int_equal(*fake_node(&fake, 1, NODE(dispatch_row)),
                         (MW_NODE__DISPATCH_ROW__BYTES_bm & of[i].bytes) |
                             of[i].type << MW_NODE__DISPATCH_ROW__KIND_bp);
        const uint8_t *row = fake.mem[3] + l.xs_base + (2u << l.row_shift);
        if (i < 2)
            assert_memory_equal(row, codes[3][2], VALUES);
        if (i == 1) {
            assert_memory_equal(row + VALUES, scales[3][2], sizeof scales[3][2]);
            assert_memory_equal(row + VALUES + sizeof scales[3][2], zeros, 8);
        } else if (i == 2) {
            const unsigned x_bytes = VALUES / 2; // rows lie closer than those of e4m3
            assert_memory_equal(row, codes[3][0] + 2 * x_bytes, x_bytes);
            assert_memory_equal(row + x_bytes, scales[3][0] + 2, 4);
            assert_memory_equal(row + x_bytes + 4, zeros, 4);
            assert_memory_equal(row + x_bytes + 8, groups[3][2], sizeof groups[3][2]);
            assert_memory_equal(row + x_bytes + 8 + sizeof groups[3][2], zeros, 8);
        }
        mw_handle_destroy(h);
        mw_dymulticast_destroy(m);
        assert_code(mw_reset(device), 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
    const struct CMUnitTest tests[] = {
        TEST(dymulticast_checks), TEST(dispatch_checks),    TEST(dispatch_and_combine),
        TEST(typed_checks),       TEST(groups_are_checked), TEST(typed_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
