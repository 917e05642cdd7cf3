// SPDX-License-Identifier: Apache-2.0
//
// Tests of rows of dispatch: every e4m3 code against its definition in floats, and back; rows.
#include "host/support.h"

#include "golden/golden.h"
#include "trace/row_type.h"

#include <math.h>

/// By the definition: sign, 4 bits of exponent with bias 7, 3 bits of fraction; no infinity.
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

static void rows_are_packed(void **state)
{
    (void)state;
    const uint16_t values[] = {0x3f80, 0xc0e0, 0x0000, 0x43e0, 0x3b00}; // 1, -7, 0, 448, 2^-9
    uint8_t row[12];
    memset(row, 0xaa, sizeof row);
    assert_int_equal(mw_row_type_bytes(MW_ROWTYPE_BF16, 5), 10);
    mw_row_type_pack(MW_ROWTYPE_BF16, values, 5, row);
    assert_memory_equal(row, values, 10);
    assert_int_equal(row[10], 0xaa);
    memset(row, 0xaa, sizeof row);
    assert_int_equal(mw_row_type_bytes(MW_ROWTYPE_E4M3, 5), 5);
    mw_row_type_pack(MW_ROWTYPE_E4M3, values, 5, row);
    assert_memory_equal(row, ((uint8_t[]){0x38, 0xce, 0x00, 0x7e, 0x01, 0xaa}), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_is_exact),
        cmocka_unit_test(rows_are_packed),
    };
    return cmocka_run_group_tests_name("row_type", tests, NULL, NULL);
}
