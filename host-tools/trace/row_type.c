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
    SCALES_ALIGN = 16,   ///< bytes, of a row's scales
    ROW_SCALE_BYTES = 8, ///< of a row of NVFP4, four of them 0
};

const char *const mw_row_type_names[MW_ROW_TYPES] = {"bf16", "e4m3-tensor", "e4m3", "nvfp4"};

static uint64_t filled_up(uint64_t bytes)
{
    return (bytes + SCALES_ALIGN - 1) / SCALES_ALIGN * SCALES_ALIGN;
}

uint64_t mw_row_type_bytes(unsigned type, unsigned hidden)
{
    switch (type) {
    case MW_ROWTYPE_BF16:
        return 2ull * hidden;
    case MW_ROWTYPE_E4M3_BLOCKS:
        return hidden + filled_up(hidden / MW_SCALE_BLOCK * sizeof(float));
    case MW_ROWTYPE_NVFP4:
        return hidden / 2 + filled_up(ROW_SCALE_BYTES + hidden / MW_SCALE_GROUP);
    default:
        return hidden;
    }
}

bool mw_row_type_scaled(unsigned type)
{
    return mw_row_type_scales(type, MW_SCALE_BLOCK) > 0;
}

unsigned mw_row_type_scales(unsigned type, unsigned hidden)
{
    return type == MW_ROWTYPE_E4M3_BLOCKS ? hidden / MW_SCALE_BLOCK
           : type == MW_ROWTYPE_NVFP4     ? 1 + hidden / MW_SCALE_GROUP
                                          : 0;
}

unsigned mw_row_type_values(unsigned type)
{
    return type == MW_ROWTYPE_BF16 ? 64 : type == MW_ROWTYPE_NVFP4 ? 256 : 128;
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

static const float e2m1[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
enum { LARGEST_E2M1 = 7 };

uint8_t mw_e2m1_nearest(float value)
{
    unsigned code = 0;
    // past the middle of two codes, or in it and from an odd one
    while (code < LARGEST_E2M1) {
        const float middle = (e2m1[code] + e2m1[code + 1]) / 2;
        if (fabsf(value) < middle || (fabsf(value) == middle && code % 2 == 0))
            break;
        code++;
    }
    return (uint8_t)(code | (signbit(value) ? 8u : 0));
}

/// Of a number that bf16 has.
static uint16_t exact_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static float of_bf16(uint16_t value)
{
    const uint32_t bits = (uint32_t)value << 16;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

float mw_nvfp4_scale(const float *x, float row, uint16_t *values)
{
    float largest = 0;
    for (unsigned i = 0; i < MW_SCALE_GROUP; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    const uint8_t nearest = mw_e4m3_nearest(largest / e2m1[LARGEST_E2M1] / row);
    const float scale = of_bf16(mw_e4m3_to_bf16(nearest ? nearest : 1));
    for (unsigned i = 0; i < MW_SCALE_GROUP; i++) {
        const uint8_t code = mw_e2m1_nearest(x[i] / (row * scale));
        values[i] = exact_bf16(copysignf(e2m1[code & 7] * scale, x[i]));
    }
    return scale;
}

static void pack_nvfp4(const uint16_t *values, const float *scales, unsigned hidden, uint8_t *row)
{
    const float *groups = scales + 1;
    uint8_t *to = row + hidden / 2;
    for (unsigned i = 0; i < hidden; i++) {
        const uint8_t code = mw_e2m1_nearest(of_bf16(values[i]) / groups[i / MW_SCALE_GROUP]);
        row[i / 2] = (uint8_t)(i % 2 ? row[i / 2] | code << 4 : code);
    }
    memset(to, 0, mw_row_type_bytes(MW_ROWTYPE_NVFP4, hidden) - hidden / 2);
    memcpy(to, scales, sizeof *scales);
    for (unsigned g = 0; g < hidden / MW_SCALE_GROUP; g++)
        to[ROW_SCALE_BYTES + g] = mw_e4m3_from_bf16(exact_bf16(groups[g]));
}

void mw_row_type_pack(unsigned type, const uint16_t *values, const float *scales, unsigned hidden,
                      void *row)
{
    uint8_t *codes = row;
    if (type == MW_ROWTYPE_BF16) {
        memcpy(row, values, 2 * (size_t)hidden);
        return;
    }
    if (type == MW_ROWTYPE_NVFP4) {
        pack_nvfp4(values, scales, hidden, row);
        return;
    }
    for (unsigned i = 0; i < hidden; i++)
        codes[i] = mw_e4m3_from_bf16(values[i]);
    if (!mw_row_type_scaled(type))
        return;
    memset(codes + hidden, 0, mw_row_type_bytes(type, hidden) - hidden);
    memcpy(codes + hidden, scales, hidden / MW_SCALE_BLOCK * sizeof *scales);
}
