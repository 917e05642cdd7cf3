// SPDX-License-Identifier: Apache-2.0
//
// Golden model of reductions, see reduce.h. As golden.c: without fused or reordered
// float operations.
#include "golden/reduce.h"

#include <math.h>
#include <string.h>

static const struct {
    unsigned bytes;
    bool is_float;
} types[MW_DTYPES] = {
    [MW_DTYPE_BF16] = {2, true}, [MW_DTYPE_FP16] = {2, true}, [MW_DTYPE_FP32] = {4, true},
    [MW_DTYPE_U32] = {4, false}, [MW_DTYPE_S32] = {4, false}, [MW_DTYPE_U64] = {8, false},
    [MW_DTYPE_S64] = {8, false}, [MW_DTYPE_E4M3] = {1, true}, [MW_DTYPE_E5M2] = {1, true},
    [MW_DTYPE_FP64] = {8, true},
};

static const char *const ops[MW_REDOPS] = {
    [MW_REDOP_ADD] = "sum", [MW_REDOP_MIN] = "min", [MW_REDOP_MAX] = "max",
    [MW_REDOP_AND] = "and", [MW_REDOP_OR] = "or",   [MW_REDOP_XOR] = "xor",
};

bool mw_reduce_exists(unsigned dtype, unsigned redop)
{
    return dtype < MW_DTYPES && redop < MW_REDOPS &&
           (!types[dtype].is_float || redop <= MW_REDOP_MAX) &&
           (dtype != MW_DTYPE_FP64 || redop == MW_REDOP_ADD);
}

unsigned mw_reduce_bytes(unsigned dtype)
{
    return types[dtype].bytes;
}

bool mw_reduce_is_float(unsigned dtype)
{
    return types[dtype].is_float;
}

const char *mw_reduce_type_name(unsigned dtype)
{
    static const char *const names[MW_DTYPES] = {MW_DTYPE_NAMES("")};
    return names[dtype];
}

const char *mw_reduce_op_name(unsigned redop)
{
    return ops[redop];
}

static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t bits;
    if (isnan(f))
        return MW_FP32_NAN;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static uint64_t bits_of_double(double d)
{
    uint64_t bits;
    if (isnan(d))
        return MW_FP64_NAN;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

float mw_fp16_to_float(uint16_t v)
{
    int exponent = v >> 10 & 0x1f, fraction = v & 0x3ff;
    float magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                      : exponent == 0 ? ldexpf((float)fraction, -24)
                                      : ldexpf((float)(fraction + 1024), exponent - 25);
    return copysignf(magnitude, v >> 15 ? -1.0f : 1.0f);
}

/// Exponent and fraction of the nearest number with `bits` fraction bits, whose smallest normal one
/// is 2^least.
static uint32_t nearest(double magnitude, int bits, int least)
{
    // In places of the last bit, which below 2^least is that of 2^least, whatever the number.
    int exponent = magnitude < ldexp(1, least) ? least : ilogb(magnitude);
    uint32_t places = (uint32_t)nearbyint(ldexp(magnitude, bits - exponent));
    return ((uint32_t)(exponent - least) << bits) + places;
}

uint16_t mw_fp16_from_float(float v)
{
    if (isnan(v))
        return MW_FP16_NAN;
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    double magnitude = fabs((double)v);
    if (magnitude >= 0x1.ffep15) // half a place above the largest number
        return sign | 0x7c00;
    return (uint16_t)(sign | nearest(magnitude, 10, -14));
}

static float e4m3_to_float(uint8_t v)
{
    int exponent = v >> 3 & 15, fraction = v & 7;
    float magnitude = (v & 0x7f) == 0x7f ? NAN
                      : exponent == 0    ? ldexpf((float)fraction, -9)
                                         : ldexpf((float)(fraction + 8), exponent - 10);
    return copysignf(magnitude, v >> 7 ? -1.0f : 1.0f);
}

/// There is no infinity: what is beyond the largest number becomes that.
static uint8_t e4m3_from_float(float v)
{
    if (isnan(v))
        return MW_FP8_NAN;
    double magnitude = fabs((double)v);
    return (uint8_t)((signbit(v) ? 0x80 : 0) |
                     (magnitude > 448 ? 0x7e : nearest(magnitude, 3, -6)));
}

static uint8_t e5m2_from_float(float v)
{
    if (isnan(v))
        return MW_FP8_NAN;
    double magnitude = fabs((double)v);
    // from half a place above the largest number on
    return (uint8_t)((signbit(v) ? 0x80 : 0) |
                     (magnitude >= 61440 ? 0x7c : nearest(magnitude, 2, -14)));
}

uint64_t mw_reduce_first(unsigned dtype, uint64_t element)
{
    switch (dtype) {
    case MW_DTYPE_BF16:
        return bits_of(float_of((uint32_t)element << 16));
    case MW_DTYPE_FP16:
        return bits_of(mw_fp16_to_float((uint16_t)element));
    case MW_DTYPE_FP64:
        return bits_of_double(double_of(element));
    case MW_DTYPE_E4M3:
        return bits_of(e4m3_to_float((uint8_t)element));
    case MW_DTYPE_E5M2: // the upper half of an fp16
        return bits_of(mw_fp16_to_float((uint16_t)(element << 8)));
    case MW_DTYPE_FP32:
        return bits_of(float_of((uint32_t)element));
    default:
        return element;
    }
}

/// PTX's min and max: -0 below +0, a number beats a NaN.
static float pick(float a, float b, bool greater)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    bool a_below = a < b || (a == b && signbit(a) && !signbit(b));
    return a_below == greater ? b : a;
}

static uint32_t reduce_floats(unsigned redop, float a, float b)
{
    return bits_of(redop == MW_REDOP_ADD ? a + b : pick(a, b, redop == MW_REDOP_MAX));
}

/// Of `width` bytes, a result of 32 bits has zeros above.
static uint64_t reduce_integers(bool is_signed, unsigned width, unsigned redop, uint64_t a,
                                uint64_t b)
{
    // numbers are ordered by their upper bits, which for the sign are turned over
    const uint64_t flip = is_signed ? UINT64_C(1) << (8 * width - 1) : 0;
    const bool a_below = (a ^ flip) < (b ^ flip);
    switch (redop) {
    case MW_REDOP_ADD:
        return width == 8 ? a + b : (uint32_t)(a + b);
    case MW_REDOP_MIN:
        return a_below ? a : b;
    case MW_REDOP_MAX:
        return a_below ? b : a;
    case MW_REDOP_AND:
        return a & b;
    case MW_REDOP_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

uint64_t mw_reduce_next(unsigned dtype, unsigned redop, uint64_t result, uint64_t element)
{
    if (!types[dtype].is_float)
        return reduce_integers(dtype == MW_DTYPE_S32 || dtype == MW_DTYPE_S64, types[dtype].bytes,
                               redop, result, element);
    if (dtype == MW_DTYPE_FP64)
        return bits_of_double(double_of(result) + double_of(element));
    return reduce_floats(redop, float_of((uint32_t)result),
                         float_of((uint32_t)mw_reduce_first(dtype, element)));
}

uint64_t mw_reduce_last(unsigned dtype, uint64_t result)
{
    if (dtype == MW_DTYPE_FP16)
        return mw_fp16_from_float(float_of((uint32_t)result));
    if (dtype == MW_DTYPE_E4M3)
        return e4m3_from_float(float_of((uint32_t)result));
    if (dtype == MW_DTYPE_E5M2)
        return e5m2_from_float(float_of((uint32_t)result));
    if (dtype != MW_DTYPE_BF16)
        return result;
    if (isnan(float_of((uint32_t)result)))
        return MW_FP16_NAN;
    // the nearest multiple of 2^16, the even one of two; a carry raises the exponent,
    // up to infinity
    uint32_t rest = (uint32_t)result & 0xffff, kept = (uint32_t)result >> 16;
    return kept + (rest > 0x8000 || (rest == 0x8000 && (kept & 1)));
}

void mw_reduce_rows(unsigned dtype, unsigned redop, const void *const *terms, size_t count,
                    size_t bytes, void *out)
{
    unsigned width = types[dtype].bytes;
    for (size_t at = 0; at < bytes; at += width) {
        uint64_t result = 0;
        for (size_t i = 0; i < count; i++) {
            uint64_t element = 0;
            memcpy(&element, (const uint8_t *)terms[i] + at, width); // little endian, as the device
            result =
                i ? mw_reduce_next(dtype, redop, result, element) : mw_reduce_first(dtype, element);
        }
        result = mw_reduce_last(dtype, result);
        memcpy((uint8_t *)out + at, &result, width);
    }
}
