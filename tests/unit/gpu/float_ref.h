// SPDX-License-Identifier: Apache-2.0
//
// Reference of the arithmetic tests: the host's IEEE floats as bits, with the design's canonical
// NaN. Rounding to bf16 is by distance, a method that the RTL does not use.
#ifndef FLOAT_REF_H
#define FLOAT_REF_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

static inline float to_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t to_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return std::isnan(f) ? 0x7fffffffu : bits;
}

static inline float from_bf16(uint16_t h)
{
    return to_float(static_cast<uint32_t>(h) << 16);
}

// Sign, 4 bits of exponent, 3 of fraction. The largest magnitude is NaN, the one below it is 448.
static inline float from_e4m3(uint8_t c)
{
    const int exponent = c >> 3 & 15, fraction = c & 7;
    if ((c & 0x7f) == 0x7f)
        return NAN;
    const float magnitude = exponent ? std::ldexp(static_cast<float>(8 + fraction), exponent - 10)
                                     : std::ldexp(static_cast<float>(fraction), -9);
    return c & 0x80 ? -magnitude : magnitude;
}

// Sign, 2 bits of exponent, 1 of fraction.
static inline float from_e2m1(uint8_t c)
{
    static const float magnitude[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    return c & 8 ? -magnitude[c & 7] : magnitude[c & 7];
}

// The nearer of the two bf16 around f. 2^128 is infinity.
static inline uint16_t nearest_bf16(float f)
{
    if (std::isnan(f))
        return 0x7fff;
    uint16_t low = static_cast<uint16_t>(to_bits(f) >> 16);
    if (std::isinf(f))
        return low;
    uint16_t high = static_cast<uint16_t>(low + 1);
    double magnitude = std::fabs(static_cast<double>(f));
    double below = std::fabs(static_cast<double>(from_bf16(low)));
    double above =
        (high & 0x7fff) == 0x7f80 ? 0x1p128 : std::fabs(static_cast<double>(from_bf16(high)));
    if (magnitude - below != above - magnitude)
        return magnitude - below < above - magnitude ? low : high;
    return low & 1 ? high : low;
}

static inline double flushed(uint16_t h)
{
    double d = static_cast<double>(from_bf16(h));
    return std::fabs(d) < 0x1p-126 ? std::copysign(0.0, d) : d;
}

// Element i is added to sum i modulo 32. The sums are added as a tree of halves. Products are exact
// in double.
static inline uint32_t dot_product(const std::vector<uint16_t> &a, const std::vector<uint16_t> &b)
{
    float sum[32] = {};
    for (size_t i = 0; i < a.size(); i++) {
        const double d = flushed(a[i]) * flushed(b[i]);
        sum[i % 32] += static_cast<float>(std::fabs(d) < 0x1p-126 ? std::copysign(0.0, d) : d);
    }
    for (unsigned half = 16; half; half /= 2) {
        for (unsigned j = 0; j < half; j++)
            sum[j] += sum[j + half];
    }
    return to_bits(sum[0]);
}

#endif
