// SPDX-License-Identifier: Apache-2.0
//
// Access to the fields of a bundle (bundles.h) in Verilator's representation. This is an integer up
// to 64 bits, a VlWide of 32-bit words from 65 bits on, or anything else with words by operator[].
#pragma once

#include "bundles.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace bundle {
// Word `w` of a bundle
template <typename T> uint32_t word(const T &bundle, unsigned w)
{
    if constexpr (std::is_integral_v<T>)
        return static_cast<uint32_t>(static_cast<uint64_t>(bundle) >> 32 * w);
    else
        return bundle[w];
}
template <typename T> void put_word(T &bundle, unsigned w, uint32_t value)
{
    if constexpr (std::is_integral_v<T>)
        bundle = static_cast<T>((bundle & ~(0xffffffffULL << 32 * w)) | static_cast<uint64_t>(value)
                                                                            << 32 * w);
    else
        bundle[w] = value;
}

// A field of at most 32 bits
template <typename T> uint32_t take(const T &bundle, field f)
{
    const unsigned w = f.at / 32, shift = f.at % 32;
    uint64_t bits = word(bundle, w) >> shift;
    if (shift + f.width > 32)
        bits |= static_cast<uint64_t>(word(bundle, w + 1)) << (32 - shift);
    return static_cast<uint32_t>(bits & ((1ULL << f.width) - 1));
}
template <typename T> void put(T &bundle, field f, uint32_t value)
{
    const unsigned w = f.at / 32, shift = f.at % 32;
    const uint64_t mask = ((1ULL << f.width) - 1) << shift;
    const uint64_t bits = static_cast<uint64_t>(value) << shift & mask;
    put_word(bundle, w,
             (word(bundle, w) & ~static_cast<uint32_t>(mask)) | static_cast<uint32_t>(bits));
    if (shift + f.width > 32)
        put_word(bundle, w + 1,
                 (word(bundle, w + 1) & ~static_cast<uint32_t>(mask >> 32)) |
                     static_cast<uint32_t>(bits >> 32));
}

// A flit, in the low bits of its bundle
template <typename T> void put_flit(T &bundle, const uint8_t *data)
{
    for (unsigned w = 0; w < MW_SIM_F / 4; w++) {
        uint32_t value;
        memcpy(&value, data + 4 * w, sizeof value);
        put_word(bundle, w, value);
    }
}
template <typename T> void get_flit(const T &bundle, uint8_t *data)
{
    for (unsigned w = 0; w < MW_SIM_F / 4; w++) {
        const uint32_t value = word(bundle, w);
        memcpy(data + 4 * w, &value, sizeof value);
    }
}
} // namespace bundle
