// SPDX-License-Identifier: Apache-2.0
//
// See row_type.h.
#include "trace/row_type.h"

#include <string.h>

enum {
    BIAS = 7,        ///< of e4m3's exponent, bits 6 to 3
    BF16_BIAS = 127, ///< bits 14 to 7
    NAN_CODE = 0x7f,
};

const char *const mw_row_type_names[MW_ROW_TYPES] = {"bf16", "e4m3-tensor"};

uint64_t mw_row_type_bytes(unsigned type, unsigned hidden)
{
    return type == MW_ROWTYPE_E4M3 ? hidden : 2ull * hidden;
}

unsigned mw_row_type_values(unsigned type)
{
    return type == MW_ROWTYPE_E4M3 ? 128 : 64;
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

void mw_row_type_pack(unsigned type, const uint16_t *values, unsigned hidden, void *row)
{
    uint8_t *codes = row;
    if (type != MW_ROWTYPE_E4M3) {
        memcpy(row, values, 2 * (size_t)hidden);
        return;
    }
    for (unsigned i = 0; i < hidden; i++)
        codes[i] = mw_e4m3_from_bf16(values[i]);
}
