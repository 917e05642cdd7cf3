// SPDX-License-Identifier: Apache-2.0
//
// Ports of a part's block of lanes: the same value in all lanes, and sets.
#pragma once

#include "lanes.h"

template <typename Lanes> void all(Lanes &to, uint64_t value)
{
    to = static_cast<std::remove_reference_t<decltype(to[0] + 0)>>(value);
}
template <typename Lanes, std::size_t Words> void all(Lanes &to, const VlWide<Words> &value)
{
    for (unsigned w = 0; w < Words; w++)
        to[w] = value[w];
}

// The lanes that hold 1, the block's first one at bit 0
inline uint32_t set_of(lanes::U bits)
{
    return static_cast<uint32_t>(lanes::set_of(lanes::nz(bits)));
}
// ... and 1 in those
inline lanes::U lanes_of(uint32_t set)
{
    return ((lanes::U)set >> lanes::NUMBER) & 1U;
}
