// SPDX-License-Identifier: Apache-2.0
//
// See row_type.h.
#include "trace/row_type.h"

#include <math.h>
#include <string.h>

enum {
    BIAS = 7,        ///< of e4m3's exponent, bits 6 to 3
    BF16_BIAS = 127, ///< bits 14 to 7
    NAN_CODE = 0x7f,
    SCALES_ALIGN = 16, ///< bytes, of a row's scales
};

const char *const mw_row_type_names[MW_ROW_TYPES] = {"bf16", "e4m3-tensor", "e4m3"};

uint64_t mw_row_type_bytes(unsigned type, unsigned hidden)
{
    const uint64_t scales = hidden / MW_SCALE_BLOCK * sizeof(float);
    if (type == MW_ROWTYPE_BF16)
        return 2ull * hidden;
    if (!mw_row_type_scaled(type))
        return hidden;
    return hidden + (scales + SCALES_ALIGN - 1) / SCALES_ALIGN * SCALES_ALIGN;
}

bool mw_row_type_scaled(unsigned type)
{
    return type == MW_ROWTYPE_E4M3_BLOCKS;
}

unsigned mw_row_type_values(unsigned type)
{
    return type == MW_ROWTYPE_BF16 ? 64 : 128;
}

uint16_t mw_e4m3_to_bf16(uint8_t code)
{
    unsigned sign = (code & 0x80u) << 8, exponent = code >> 3 & 15, fraction = code & 7;
    if ((code & NAN_CODE) == NAN_CODE)
        return MW_BF16_NAN;
    if (!exponent) {
        if (!fraction)
            return (uint16_t)sign;
        // a subnormal: fraction * 2^-9, whose leading bit moves to where normal numbers have it
        for (exponent = 1; !(fraction & 8); exponent--)
            fraction <<= 1;
        fraction &= 7;
    }
    return (uint16_t)(sign | (exponent - BIAS + BF16_BIAS) << 7 | fraction << 4);
}

uint8_t mw_e4m3_from_bf16(uint16_t value)
{
    unsigned sign = value >> 8 & 0x80, magnitude = value & 0x7fff, significand;
    if (value == MW_BF16_NAN)
        return NAN_CODE;
    if (!magnitude)
        return (uint8_t)sign;
    int exponent = (int)(magnitude >> 7) - BF16_BIAS + BIAS;
    if (exponent > 0)
        return (uint8_t)(sign | (unsigned)exponent << 3 | (magnitude >> 4 & 7));
    significand = 8 | (magnitude >> 4 & 7);
    return (uint8_t)(sign | significand >> (1 - exponent));
}

uint8_t mw_e4m3_nearest(float value)
{
    const float largest = 448, magnitude = fminf(fabsf(value), largest);
    const uint8_t sign = signbit(value) ? 0x80 : 0;
    if (isnan(value))
        return NAN_CODE;
    int exponent = 1 - BIAS; // of subnormals, too
    if (magnitude >= 0x1p-6f)
        exponent = ilogbf(magnitude);
    // eighths; 16 of them are the next exponent's first value
    const unsigned eighths = (unsigned)rintf(ldexpf(magnitude, 3 - exponent));
    return (uint8_t)(sign | ((unsigned)(exponent + BIAS - 1) * 8 + eighths));
}

float mw_e4m3_scale(const float *x, uint16_t *values)
{
    float largest = 1e-4f;
    for (unsigned i = 0; i < MW_SCALE_BLOCK; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    const float times = 448.0f / largest;
    for (unsigned i = 0; i < MW_SCALE_BLOCK; i++)
        values[i] = mw_e4m3_to_bf16(mw_e4m3_nearest(x[i] * times));
    return largest / 448.0f;
}

void mw_row_type_pack(unsigned type, const uint16_t *values, const float *scales, unsigned hidden,
                      void *row)
{
    uint8_t *codes = row;
    if (type == MW_ROWTYPE_BF16) {
        memcpy(row, values, 2 * (size_t)hidden);
        return;
    }
    for (unsigned i = 0; i < hidden; i++)
        codes[i] = mw_e4m3_from_bf16(values[i]);
    if (!mw_row_type_scaled(type))
        return;
    memset(codes + hidden, 0, mw_row_type_bytes(type, hidden) - hidden);
    memcpy(codes + hidden, scales, hidden / MW_SCALE_BLOCK * sizeof *scales);
}
