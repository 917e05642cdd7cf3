// SPDX-License-Identifier: Apache-2.0
//
// Input values for the tests of reductions: existing types and operators, and elements that are
// often special values.
#ifndef BENCH_VALUES_H
#define BENCH_VALUES_H

#include "bench/packet.h"

#include "golden/reduce.h"

// What the model was built with; without the parameter the types of 16 and 32 bits.
#ifdef PARAM_RedTypes
#define RED_TYPES (PARAM_RedTypes)
#else
#define RED_TYPES 0x1f
#endif
// bits of red_t that are kept: types below number 8 have one fewer
#define RED_BITS (RED_TYPES >> 8 ? 7 : 6)

namespace tb {
/// Whether the model has this reduction.
inline bool reduces(unsigned dtype, unsigned redop)
{
    return RED_TYPES >> dtype & 1 && mw_reduce_exists(dtype, redop);
}

/// Type and operator of a reduction. The default is the sum of bf16.
struct reduction_kind {
    unsigned dtype = MW_DTYPE_BF16, redop = MW_REDOP_ADD;

    /// As the RTL's red_t has it.
    uint8_t bits() const { return static_cast<uint8_t>(dtype << 3 | redop); }
};

inline reduction_kind random_kind(dice &rng)
{
    reduction_kind k;
    do {
        k.dtype = rng.below(MW_DTYPES);
        k.redop = rng.below(MW_REDOPS);
    } while (!reduces(k.dtype, k.redop));
    return k;
}

/// Mostly near 1, so that sums round and cancel. Some are random, some special.
inline uint16_t random_bf16(dice &rng)
{
    if (rng.percent(5))
        return rng.pick<uint16_t>({0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x8080, 0x7f7f,
                                   0xff7f, 0x7f80, 0xff80, 0x7f81, 0x7fc0, 0xffc1});
    if (rng.percent(12))
        return static_cast<uint16_t>(rng());
    return static_cast<uint16_t>((rng() & 0x807f) | rng.between(118, 133) << 7);
}

/// `size` bytes of elements.
inline bytes random_row(dice &rng, size_t size)
{
    bytes row(size);
    for (size_t i = 0; i + 1 < size; i += 2) {
        const uint16_t h = random_bf16(rng);
        memcpy(&row[i], &h, 2);
    }
    return row;
}

/// Rows reduced in the order given; no row gives zeros.
inline bytes reduce_rows(const std::vector<bytes> &rows, size_t size, reduction_kind kind)
{
    bytes out(size);
    std::vector<const void *> terms;
    for (const bytes &r : rows)
        terms.push_back(r.data());
    mw_reduce_rows(kind.dtype, kind.redop, terms.data(), terms.size(), size, out.data());
    return out;
}
} // namespace tb

#endif
