// SPDX-License-Identifier: Apache-2.0
//
// The golden model of reductions. Conversions of fp16 are compared with integer arithmetic, and min
// and max with the definition of PTX. Also integers at their ends, and the order of terms.
#include "host/support.h"

#include "golden/golden.h"
#include "golden/reduce.h"

#include <math.h>

static uint32_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static uint64_t reduce2(unsigned dtype, unsigned redop, uint64_t a, uint64_t b)
{
    uint64_t r = mw_reduce_next(dtype, redop, mw_reduce_first(dtype, a), b);
    return mw_reduce_last(dtype, r);
}

/// Magnitude of a finite fp16 in units of 2^-24.
static uint64_t units(unsigned v)
{
    unsigned exponent = v >> 10 & 31, fraction = v & 0x3ff;
    return exponent ? (uint64_t)(0x400 | fraction) << (exponent - 1) : fraction;
}

static void every_fp16(void **state)
{
    (void)state;
    for (unsigned v = 0; v < 0x10000; v++) {
        float f = mw_fp16_to_float((uint16_t)v);
        if ((v & 0x7c00) == 0x7c00) {
            assert_true(v & 0x3ff ? isnan(f) : isinf(f) && !signbit(f) == !(v >> 15));
            assert_int_equal(mw_fp16_from_float(f), v & 0x3ff ? MW_FP16_NAN : v);
            continue;
        }
        assert_true(ldexp(fabs((double)f), 24) == (double)units(v));
        assert_int_equal(mw_fp16_from_float(f), v);
        // halfway to the next one, and just beside it. 2^16 stands for the one beyond the largest
        double half = ldexp((double)units(v) + ((double)units(v + 1) - (double)units(v)) / 2, -24);
        if ((v & 0x7fff) == 0x7bff)
            half = 0x1.ffep15;
        float middle = copysignf((float)half, f);
        assert_int_equal(mw_fp16_from_float(middle), v + (v & 1));
        assert_int_equal(mw_fp16_from_float(nextafterf(middle, 0)), v);
        assert_int_equal(mw_fp16_from_float(nextafterf(middle, copysignf(INFINITY, f))), v + 1);
    }
}

static void least_and_greatest(void **state)
{
    (void)state;
    static const struct {
        unsigned dtype;
        uint32_t zero, one, nan, quiet, infinity;
    } t[] = {{MW_DTYPE_BF16, 0x8000, 0x3f80, 0x7fff, 0xffc1, 0x7f80},
             {MW_DTYPE_FP16, 0x8000, 0x3c00, 0x7fff, 0xfe01, 0x7c00},
             {MW_DTYPE_FP32, 0x80000000, 0x3f800000, 0x7fffffff, 0xffc00001, 0x7f800000}};
    for (unsigned i = 0; i < 3; i++) {
        unsigned d = t[i].dtype;
        for (unsigned swap = 0; swap < 2; swap++) {
#define OF(op, a, b) reduce2(d, MW_REDOP_##op, swap ? (b) : (a), swap ? (a) : (b))
            assert_int_equal(OF(MIN, t[i].zero, 0), t[i].zero); // -0 below +0
            assert_int_equal(OF(MAX, t[i].zero, 0), 0);
            assert_int_equal(OF(MIN, t[i].quiet, t[i].one), t[i].one);
            assert_int_equal(OF(MAX, t[i].quiet, t[i].one), t[i].one);
            assert_int_equal(OF(MIN, t[i].quiet, t[i].quiet), t[i].nan);
            assert_int_equal(OF(MAX, t[i].one, t[i].infinity), t[i].infinity);
            assert_int_equal(OF(MIN, t[i].one, t[i].infinity), t[i].one);
            assert_int_equal(OF(MIN, t[i].one, t[i].one | t[i].zero), t[i].one | t[i].zero);
            assert_int_equal(OF(ADD, t[i].quiet, t[i].one), t[i].nan);
            assert_int_equal(OF(ADD, t[i].infinity, t[i].infinity | t[i].zero), t[i].nan);
#undef OF
        }
        assert_int_equal(mw_reduce_last(d, mw_reduce_first(d, t[i].quiet)), t[i].nan); // alone
        assert_int_equal(mw_reduce_last(d, mw_reduce_first(d, t[i].zero)), t[i].zero);
    }
}

static void integers(void **state)
{
    (void)state;
    const uint32_t low = 0x80000000u, high = 0x7fffffffu, ones = 0xffffffffu;
    assert_int_equal(reduce2(MW_DTYPE_U32, MW_REDOP_ADD, ones, 2), 1);
    assert_int_equal(reduce2(MW_DTYPE_S32, MW_REDOP_ADD, high, 1), low);
    assert_int_equal(reduce2(MW_DTYPE_U32, MW_REDOP_MIN, low, high), high);
    assert_int_equal(reduce2(MW_DTYPE_S32, MW_REDOP_MIN, low, high), low);
    assert_int_equal(reduce2(MW_DTYPE_U32, MW_REDOP_MAX, 0, ones), ones);
    assert_int_equal(reduce2(MW_DTYPE_S32, MW_REDOP_MAX, 0, ones), 0);
    assert_int_equal(reduce2(MW_DTYPE_U32, MW_REDOP_AND, 0xff00ff00u, 0x0ff00ff0u), 0x0f000f00u);
    assert_int_equal(reduce2(MW_DTYPE_S32, MW_REDOP_OR, 0xff00ff00u, 0x0ff00ff0u), 0xfff0fff0u);
    assert_int_equal(reduce2(MW_DTYPE_U32, MW_REDOP_XOR, 0xff00ff00u, 0x0ff00ff0u), 0xf0f0f0f0u);
}

static void wide_integers(void **state)
{
    (void)state;
    const uint64_t low = UINT64_C(1) << 63, high = low - 1, ones = ~UINT64_C(0);
    assert_true(reduce2(MW_DTYPE_U64, MW_REDOP_ADD, ones, 2) == 1);
    assert_true(reduce2(MW_DTYPE_U64, MW_REDOP_ADD, 0xffffffff, 1) == UINT64_C(1) << 32);
    assert_true(reduce2(MW_DTYPE_S64, MW_REDOP_ADD, high, 1) == low);
    assert_true(reduce2(MW_DTYPE_U64, MW_REDOP_MIN, low, high) == high);
    assert_true(reduce2(MW_DTYPE_S64, MW_REDOP_MIN, low, high) == low);
    assert_true(reduce2(MW_DTYPE_U64, MW_REDOP_MAX, 0, ones) == ones);
    assert_true(reduce2(MW_DTYPE_S64, MW_REDOP_MAX, 0, ones) == 0);
    assert_true(reduce2(MW_DTYPE_S64, MW_REDOP_AND, ones << 8, ones >> 8) == ones << 16 >> 8);
    assert_true(reduce2(MW_DTYPE_U64, MW_REDOP_OR, low, 1) == low + 1);
    assert_true(reduce2(MW_DTYPE_U64, MW_REDOP_XOR, ones, high) == low);
}

static void fp8(void **state)
{
    (void)state;
    for (unsigned v = 0; v < 256; v++) {
        // bit by bit: sign, exponent, fraction
        const unsigned e4 = v >> 3 & 15, e5 = v >> 2 & 31;
        double four = e4 ? ldexp(8 + (v & 7), (int)e4 - 10) : ldexp(v & 7, -9);
        double five = e5 ? ldexp(4 + (v & 3), (int)e5 - 17) : ldexp(v & 3, -16);
        const bool nan4 = (v & 127) == 127, nan5 = e5 == 31 && v & 3;
        if (e5 == 31 && !(v & 3))
            five = INFINITY;
        const float f4 = nan4 ? NAN : (float)(v >> 7 ? -four : four);
        const float f5 = nan5 ? NAN : (float)(v >> 7 ? -five : five);
        const uint32_t r4 = (uint32_t)mw_reduce_first(MW_DTYPE_E4M3, v),
                       r5 = (uint32_t)mw_reduce_first(MW_DTYPE_E5M2, v);
        assert_int_equal(r4, nan4 ? MW_FP32_NAN : bits_of(f4));
        assert_int_equal(r5, nan5 ? MW_FP32_NAN : bits_of(f5));
        assert_int_equal(mw_reduce_last(MW_DTYPE_E4M3, r4), nan4 ? MW_FP8_NAN : v);
        assert_int_equal(mw_reduce_last(MW_DTYPE_E5M2, r5), nan5 ? MW_FP8_NAN : v);
        // halfway to the next one, and just beside it
        if ((v & 127) < 126) {
            const float middle = (f4 + (float)(v >> 7 ? -1 : 1) *
                                           (float)(e4 ? ldexp(1, (int)e4 - 10) : ldexp(1, -9)) / 2);
            const float above = nextafterf(middle, v >> 7 ? -INFINITY : INFINITY);
            assert_int_equal(mw_reduce_last(MW_DTYPE_E4M3, bits_of(middle)), v + (v & 1));
            assert_int_equal(mw_reduce_last(MW_DTYPE_E4M3, bits_of(nextafterf(middle, 0))), v);
            assert_int_equal(mw_reduce_last(MW_DTYPE_E4M3, bits_of(above)), v + 1);
        }
        if (e5 < 31) {
            const float middle =
                (f5 + (float)(v >> 7 ? -1 : 1) *
                          (float)(e5 ? ldexp(1, (int)e5 - 17) : ldexp(1, -16)) / 2);
            const float above = nextafterf(middle, v >> 7 ? -INFINITY : INFINITY);
            assert_int_equal(mw_reduce_last(MW_DTYPE_E5M2, bits_of(middle)), v + (v & 1));
            assert_int_equal(mw_reduce_last(MW_DTYPE_E5M2, bits_of(nextafterf(middle, 0))), v);
            assert_int_equal(mw_reduce_last(MW_DTYPE_E5M2, bits_of(above)), v + 1);
        }
    }
    // beyond the largest number, 448: without infinity
    assert_int_equal(mw_reduce_last(MW_DTYPE_E4M3, bits_of(449.0f)), 0x7e);
    assert_int_equal(mw_reduce_last(MW_DTYPE_E4M3, bits_of(-1e30f)), 0xfe);
    assert_int_equal(mw_reduce_last(MW_DTYPE_E4M3, bits_of(INFINITY)), 0x7e);
    assert_int_equal(mw_reduce_last(MW_DTYPE_E5M2, bits_of(-1e30f)), 0xfc);
    assert_int_equal(reduce2(MW_DTYPE_E4M3, MW_REDOP_MIN, 0x80, 0), 0x80);
    assert_int_equal(reduce2(MW_DTYPE_E5M2, MW_REDOP_MAX, 0xff, 0x3c), 0x3c);
}

static void doubles(void **state)
{
    (void)state;
    static const struct {
        uint64_t a, b, sum;
    } t[] = {
        {UINT64_C(0x3ff0000000000000), UINT64_C(0x3ff0000000000000), UINT64_C(0x4000000000000000)},
        {UINT64_C(0x8000000000000000), 0, 0}, // -0 + 0
        {1, 1, 2},                            // subnormals
        // half a place to the even number, and slightly more
        {UINT64_C(0x3ff0000000000000), UINT64_C(0x3ca0000000000000), UINT64_C(0x3ff0000000000000)},
        {UINT64_C(0x3ff0000000000000), UINT64_C(0x3ca0000000000001), UINT64_C(0x3ff0000000000001)},
        {UINT64_C(0x7fefffffffffffff), UINT64_C(0x7fefffffffffffff), UINT64_C(0x7ff0000000000000)},
        {UINT64_C(0x7ff0000000000000), UINT64_C(0xfff0000000000000), MW_FP64_NAN},
        {UINT64_C(0xfff0000000000001), 1, MW_FP64_NAN},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        assert_true(reduce2(MW_DTYPE_FP64, MW_REDOP_ADD, t[i].a, t[i].b) == t[i].sum);
        assert_true(reduce2(MW_DTYPE_FP64, MW_REDOP_ADD, t[i].b, t[i].a) == t[i].sum);
    }
    assert_true(mw_reduce_first(MW_DTYPE_FP64, UINT64_C(0xfff8000000000000)) == MW_FP64_NAN);
    assert_false(mw_reduce_exists(MW_DTYPE_FP64, MW_REDOP_MIN));
}

static void what_exists(void **state)
{
    (void)state;
    unsigned count = 0;
    for (unsigned d = 0; d < 16; d++)
        for (unsigned o = 0; o < 8; o++)
            count += mw_reduce_exists(d, o);
    assert_int_equal(count, 5 * 3 + 4 * 6 + 1);
    assert_false(mw_reduce_exists(MW_DTYPE_FP32, MW_REDOP_XOR));
    assert_true(mw_reduce_exists(MW_DTYPE_S32, MW_REDOP_XOR));
}

/// Sums keep fp32 from term to term, and their order counts.
static void rows_in_order(void **state)
{
    (void)state;
    // 2^11, 1, 1: one by one in fp16 each 1 would be lost
    const uint16_t big[2] = {0x6800, 0x4900}, one[2] = {0x3c00, 0x4248};
    const void *const terms[3] = {big, one, one};
    uint16_t out[2];
    mw_reduce_rows(MW_DTYPE_FP16, MW_REDOP_ADD, terms, 3, sizeof out, out);
    assert_int_equal(out[0], 0x6801);
    // 2^24 + 1 + 1 in fp32, forwards and backwards
    const uint32_t a = bits_of(0x1p24f), b = bits_of(1.0f);
    const void *const up[3] = {&b, &b, &a}, *const down[3] = {&a, &b, &b};
    uint32_t sum;
    mw_reduce_rows(MW_DTYPE_FP32, MW_REDOP_ADD, up, 3, sizeof sum, &sum);
    assert_int_equal(sum, bits_of(0x1p24f + 2));
    mw_reduce_rows(MW_DTYPE_FP32, MW_REDOP_ADD, down, 3, sizeof sum, &sum);
    assert_int_equal(sum, bits_of(0x1p24f));
}

/// Sums of bf16 are those of the golden model of layers.
static void sums_of_bf16(void **state)
{
    (void)state;
    for (uint32_t v = 0; v < 0x10000; v++) {
        uint64_t r = mw_reduce_first(MW_DTYPE_BF16, v);
        r = mw_reduce_next(MW_DTYPE_BF16, MW_REDOP_ADD, r, 0x3f81);
        float sum = mw_bf16_to_float((uint16_t)v) + mw_bf16_to_float(0x3f81);
        assert_int_equal(mw_reduce_last(MW_DTYPE_BF16, r), mw_bf16_from_float(sum));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fp16),   cmocka_unit_test(least_and_greatest),
        cmocka_unit_test(integers),     cmocka_unit_test(wide_integers),
        cmocka_unit_test(doubles),      cmocka_unit_test(fp8),
        cmocka_unit_test(what_exists),  cmocka_unit_test(rows_in_order),
        cmocka_unit_test(sums_of_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
