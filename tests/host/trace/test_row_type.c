// SPDX-License-Identifier: Apache-2.0
//
// Tests of rows of dispatch. Every e4m3 code is converted from and to floats, and compared with its
// definition. Whole rows follow.
#include "host/support.h"

#include "golden/golden.h"
#include "trace/row_type.h"

#include <math.h>

/// By the definition: sign, 4 bits of exponent with bias 7, 3 bits of fraction, no infinity.
static double value_of(unsigned code)
{
    const int exponent = (int)(code >> 3 & 15), fraction = (int)(code & 7);
    const double magnitude = exponent ? ldexp(8 + fraction, exponent - 10) : ldexp(fraction, -9);
    return code & 0x80 ? -magnitude : magnitude;
}

static void every_code_is_exact(void **state)
{
    (void)state;
    for (unsigned code = 0; code < 256; code++) {
        const uint16_t v = mw_e4m3_to_bf16((uint8_t)code);
        if ((code & 0x7f) == 0x7f) {
            assert_int_equal(v, MW_BF16_NAN);
            assert_int_equal(mw_e4m3_from_bf16(v), 0x7f);
            continue;
        }
        const double is = (double)mw_bf16_to_float(v), must = value_of(code);
        assert_true(is == must && signbit(is) == signbit(must));
        assert_int_equal(mw_e4m3_from_bf16(v), code);
    }
    assert_true((double)mw_bf16_to_float(mw_e4m3_to_bf16(0x7e)) == 448);
    assert_true((double)mw_bf16_to_float(mw_e4m3_to_bf16(0x01)) == 0x1p-9);
}

/// Every number that lies at a code, between two, or close to that, and all beyond 448.
static void nearest_codes(void **state)
{
    (void)state;
    for (unsigned code = 0; code < 0x7e; code++) {
        const float low = (float)value_of(code), high = (float)value_of(code + 1);
        const float tie = (low + high) / 2;
        const uint8_t c = (uint8_t)code, next = (uint8_t)(code + 1);
        assert_int_equal(mw_e4m3_nearest(low), c);
        assert_int_equal(mw_e4m3_nearest(-low), c | 0x80);
        assert_int_equal(mw_e4m3_nearest(nextafterf(tie, 0)), c);
        assert_int_equal(mw_e4m3_nearest(tie), code & 1 ? next : c);
        assert_int_equal(mw_e4m3_nearest(nextafterf(tie, 500)), next);
        assert_int_equal(mw_e4m3_nearest(-nextafterf(tie, 500)), next | 0x80);
    }
    assert_int_equal(mw_e4m3_nearest(1e30f), 0x7e);
    assert_int_equal(mw_e4m3_nearest(-INFINITY), 0xfe);
    assert_int_equal(mw_e4m3_nearest(NAN), 0x7f);
}

/// The largest magnitude of the block is 3.5, which is 448 times 2^-7. A block of zeros has
/// DeepEP's least scale.
static void blocks_are_scaled(void **state)
{
    (void)state;
    float x[MW_SCALE_BLOCK] = {1, -3.5f, 0.25f};
    uint16_t values[MW_SCALE_BLOCK];
    assert_true((double)mw_e4m3_scale(x, values) == 0x1p-7);
    assert_true((double)mw_bf16_to_float(values[0]) == 128);
    assert_true((double)mw_bf16_to_float(values[1]) == -448);
    assert_true((double)mw_bf16_to_float(values[2]) == 32);
    assert_int_equal(values[MW_SCALE_BLOCK - 1], 0);
    memset(x, 0, sizeof x);
    assert_true(mw_e4m3_scale(x, values) == 1e-4f / 448.0f);
}

static void rows_with_scales_are_packed(void **state)
{
    (void)state;
    enum { HIDDEN = 5 * MW_SCALE_BLOCK };
    const float scales[] = {1, -2, 0.5f, 4, 3};
    uint16_t values[HIDDEN];
    uint8_t row[HIDDEN + 33];
    memset(row, 0xaa, sizeof row);
    for (unsigned i = 0; i < HIDDEN; i++)
        values[i] = mw_e4m3_to_bf16(i % 0x7f);
    assert_false(mw_row_type_scaled(MW_ROWTYPE_E4M3));
    assert_int_equal(mw_row_type_bytes(MW_ROWTYPE_E4M3_BLOCKS, HIDDEN), HIDDEN + 32);
    mw_row_type_pack(MW_ROWTYPE_E4M3_BLOCKS, values, scales, HIDDEN, row);
    for (unsigned i = 0; i < HIDDEN; i++)
        assert_int_equal(row[i], i % 0x7f);
    assert_memory_equal(row + HIDDEN, scales, sizeof scales);
    for (unsigned i = HIDDEN + sizeof scales; i < HIDDEN + 32; i++)
        assert_int_equal(row[i], 0);
    assert_int_equal(row[HIDDEN + 32], 0xaa);
}

/// Each of the 16 codes by hand, the middles between them, and what is beyond.
static void nearest_half_bytes(void **state)
{
    (void)state;
    static const float number[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    for (unsigned c = 0; c < 8; c++) {
        assert_int_equal(mw_e2m1_nearest(number[c]), c);
        assert_int_equal(mw_e2m1_nearest(-number[c]), c | 8);
    }
    for (unsigned c = 0; c < 7; c++) {
        const float middle = (number[c] + number[c + 1]) / 2;
        assert_int_equal(mw_e2m1_nearest(nextafterf(middle, 0)), c);
        assert_int_equal(mw_e2m1_nearest(middle), c % 2 ? c + 1 : c);
        assert_int_equal(mw_e2m1_nearest(nextafterf(-middle, -9)), (c + 1) | 8);
    }
    assert_int_equal(mw_e2m1_nearest(1e30f), 7);
    assert_int_equal(mw_e2m1_nearest(-INFINITY), 15);
}

/// The largest of a group is 6 of its scale, which is at most 448 and at least 2^-9.
static void groups_are_scaled(void **state)
{
    (void)state;
    float x[MW_SCALE_GROUP] = {1, -12, 3, 0.4f};
    uint16_t values[MW_SCALE_GROUP];
    assert_true((double)mw_nvfp4_scale(x, 0.125f, values) == 16); // 12 / 6 / 0.125
    assert_true((double)mw_bf16_to_float(values[0]) == 8);        // 1 / 2 is a code
    assert_true((double)mw_bf16_to_float(values[1]) == -96);
    assert_true((double)mw_bf16_to_float(values[2]) == 24);
    assert_true((double)mw_bf16_to_float(values[3]) == 0); // 0.2 is nearer to 0 than to 0.5
    assert_true((double)mw_nvfp4_scale(x, 1e-3f, values) == 448);
    assert_true((double)mw_bf16_to_float(values[1]) == -6 * 448);
    memset(x, 0, sizeof x);
    assert_true((double)mw_nvfp4_scale(x, 1, values) == 0x1p-9);
}

static void rows_of_half_bytes_are_packed(void **state)
{
    (void)state;
    enum { HIDDEN = MW_SCALE_BLOCK, BYTES = HIDDEN / 2 + 16 };
    const float number[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    const float scales[] = {0.1f, 1, 2, 448, 0x1p-9f, 0.5f, 3, 1.125f, 240};
    const uint8_t codes[] = {0x38, 0x40, 0x7e, 0x01, 0x30, 0x44, 0x39, 0x77};
    uint16_t values[HIDDEN];
    uint8_t row[BYTES + 1];
    memset(row, 0xaa, sizeof row);
    for (unsigned i = 0; i < HIDDEN; i++) {
        const float v = number[i % 8] * scales[1 + i / 16];
        values[i] = mw_bf16_from_float(i & 8 ? -v : v);
    }
    assert_int_equal(mw_row_type_scales(MW_ROWTYPE_NVFP4, HIDDEN), 9);
    assert_int_equal(mw_row_type_bytes(MW_ROWTYPE_NVFP4, HIDDEN), BYTES);
    assert_int_equal(mw_row_type_bytes(MW_ROWTYPE_NVFP4, 512), 256 + 48);
    assert_int_equal(mw_row_type_bytes(MW_ROWTYPE_NVFP4, 7168), 3584 + 464);
    mw_row_type_pack(MW_ROWTYPE_NVFP4, values, scales, HIDDEN, row);
    for (unsigned i = 0; i < HIDDEN; i++)
        assert_int_equal(row[i / 2] >> (i % 2 ? 4 : 0) & 15, i % 16);
    assert_memory_equal(row + HIDDEN / 2, scales, 4);
    assert_memory_equal(row + HIDDEN / 2 + 4, ((uint8_t[4]){0}), 4);
    assert_memory_equal(row + HIDDEN / 2 + 8, codes, sizeof codes);
    assert_int_equal(row[BYTES], 0xaa);
}

static void rows_are_packed(void **state)
{
    (void)state;
    const uint16_t values[] = {0x3f80, 0xc0e0, 0x0000, 0x43e0, 0x3b00}; // 1, -7, 0, 448, 2^-9
    uint8_t row[12];
    memset(row, 0xaa, sizeof row);
    assert_int_equal(mw_row_type_bytes(MW_ROWTYPE_BF16, 5), 10);
    mw_row_type_pack(MW_ROWTYPE_BF16, values, NULL, 5, row);
    assert_memory_equal(row, values, 10);
    assert_int_equal(row[10], 0xaa);
    memset(row, 0xaa, sizeof row);
    assert_int_equal(mw_row_type_bytes(MW_ROWTYPE_E4M3, 5), 5);
    mw_row_type_pack(MW_ROWTYPE_E4M3, values, NULL, 5, row);
    assert_memory_equal(row, ((uint8_t[]){0x38, 0xce, 0x00, 0x7e, 0x01, 0xaa}), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_is_exact), cmocka_unit_test(nearest_codes),
        cmocka_unit_test(blocks_are_scaled),   cmocka_unit_test(rows_with_scales_are_packed),
        cmocka_unit_test(rows_are_packed),     cmocka_unit_test(nearest_half_bytes),
        cmocka_unit_test(groups_are_scaled),   cmocka_unit_test(rows_of_half_bytes_are_packed),
    };
    return cmocka_run_group_tests_name("row_type", tests, NULL, NULL);
}
