// SPDX-License-Identifier: Apache-2.0
//
// Wires between copies (sim/lanes/lanes.py --ring). Copies number the others by distance: bit, or
// element, d of an input of copy l belongs to copy l + 1 + d, modulo their number. For that copy, l
// has the index number - 2 - d. MW_RING copies are in blocks of MW_COPIES lanes, of which the last
// block may use fewer. In one block an input is an output with rotated lanes. Several blocks
// combine bits as a set of all copies, and the words of all copies in one array.
#pragma once

#include "lanes.h"

namespace lanes {
inline namespace MW_LANES_NAMES {
constexpr unsigned RING = MW_RING, BLOCKS = (RING + MW_COPIES - 1) / MW_COPIES;
static_assert(BLOCKS == 1 ? RING <= 32 : L == MW_COPIES, "one block, or full ones and the last");

// ---- one block ----
template <unsigned By, typename T, std::size_t... Lane>
inline T turned(T x, std::index_sequence<Lane...>)
{
    return __builtin_shufflevector(x, x, (Lane < MW_COPIES ? (Lane + By) % MW_COPIES : Lane)...);
}
template <unsigned By, typename T> inline T turned(T x)
{
    return turned<By>(x, std::make_index_sequence<L>());
}
constexpr unsigned SET = RING - 1; // the others of each copy
using others = std::make_index_sequence<SET>;
constexpr uint32_t SET_BITS = SET < 32 ? (1U << SET % 32) - 1 : ~0U;

// each copy has a bit for each other one
template <std::size_t... D> inline U ring_sets(U from, std::index_sequence<D...>)
{
    constexpr unsigned LAST = SET - 1;
    return (((LAST - D >= D ? turned<D + 1>(from) >> (LAST - D >= D ? LAST - 2 * D : 0)
                            : turned<D + 1>(from) << (LAST - D >= D ? 0 : 2 * D - LAST)) &
             (1U << D)) |
            ...);
}
// ... or several such sets, one after another
template <unsigned Bits> inline void ring_sets(U &to, U from)
{
    U all = 0U;
    for (unsigned at = 0; at < Bits; at += SET)
        all |= ring_sets(from >> at & SET_BITS, others()) << at;
    to = all;
}
template <unsigned Bits> inline void ring_sets(Q &to, Q from)
{
    Q all = 0UL;
    for (unsigned at = 0; at < Bits; at += SET)
        all |= wide(ring_sets(low(from >> at) & SET_BITS, others())) << at;
    to = all;
}
template <unsigned Bits> inline void ring_sets(U *to, const U *from)
{
    for (unsigned w = 0; w < (Bits + 31) / 32; w++)
        to[w] = 0U;
    for (unsigned at = 0; at < Bits; at += SET) {
        const unsigned w = at / 32, shift = at % 32;
        const bool crosses = shift + SET > 32;
        const U part = from[w] >> shift | (crosses ? from[w + 1] << (32 - shift) : (U)0U);
        const U set = ring_sets(part & SET_BITS, others());
        to[w] |= set << shift;
        if (crosses)
            to[w + 1] |= set >> (32 - shift);
    }
}
// each has the same bit for all
template <std::size_t... D> inline U ring_bits(U from, std::index_sequence<D...>)
{
    return ((turned<D + 1>(from) << D) | ...);
}
// ... the same words for all
template <unsigned Words, typename T, std::size_t... D>
inline void ring_each(T *to, const T *from, std::index_sequence<D...>)
{
    for (unsigned w = 0; w < Words; w++)
        ((to[D * Words + w] = turned<D + 1>(from[w])), ...);
}

// ---- several blocks ----
// A set of all copies
using ring_set = std::conditional_t<RING <= 64, uint64_t, unsigned __int128>;
constexpr ring_set EVERY_COPY = ~ring_set(0) >> (8 * sizeof(ring_set) - RING);
// ... bit d of it is for copy `by` + d
inline ring_set turned(ring_set set, unsigned by)
{
    return by == 0 ? set : (set >> by | set << (RING - by)) & EVERY_COPY;
}

// The words of a port
template <typename Port> struct port_words {
    using word = Port;
    static constexpr unsigned BITS = 8 * sizeof(Port) / L;
    static word &at(Port &port, unsigned) { return port; }
};
template <std::size_t Words> struct port_words<U[Words]> {
    using word = U;
    static constexpr unsigned BITS = 32;
    static word &at(U (&port)[Words], unsigned w) { return port[w]; }
};

// The copies in whose port bit `at` is 1
template <typename V, typename Port>
ring_set copies_of(V *const *blocks, Port V::*port, unsigned at)
{
    using words = port_words<Port>;
    ring_set set = 0;
    for (unsigned b = 0; b < BLOCKS; b++) {
        const auto &word = words::at(blocks[b]->*port, at / words::BITS);
        set |= ring_set(nz(word & (typename words::word)1U << at % words::BITS).lanes) << b * L;
    }
    return set & EVERY_COPY;
}

template <unsigned Bits, typename V, typename Port>
void ring_sets(V *const *blocks, Port V::*to, Port V::*from)
{
    static_assert(Bits % SET == 0, "a bit for each other copy");
    if constexpr (BLOCKS == 1) {
        ring_sets<Bits>(blocks[0]->*to, blocks[0]->*from);
    } else {
        using words = port_words<Port>;
        using Word = typename words::word;
        for (unsigned w = 0; w * words::BITS < Bits; w++) {
            Word word[BLOCKS] = {};
            for (unsigned i = 0; i < words::BITS && w * words::BITS + i < Bits; i++) {
                const unsigned bit = w * words::BITS + i, d = bit % SET;
                const ring_set set = turned(copies_of(blocks, from, bit - d + SET - 1 - d), d + 1);
                for (unsigned b = 0; b < BLOCKS; b++)
                    word[b] |=
                        sel(M{static_cast<M::bits>(set >> b * L)} & ALL, (Word)1U << i, (Word)0U);
            }
            for (unsigned b = 0; b < BLOCKS; b++)
                words::at(blocks[b]->*to, w) = word[b];
        }
    }
}
template <typename V, typename Port> void ring_bits(V *const *blocks, Port V::*to, U V::*from)
{
    if constexpr (BLOCKS == 1) {
        blocks[0]->*to = ring_bits(blocks[0]->*from, others());
    } else {
        using words = port_words<Port>;
        const ring_set set = copies_of(blocks, from, 0);
        for (unsigned copy = 0; copy < RING; copy++) {
            const ring_set others = turned(set, (copy + 1) % RING) & EVERY_COPY >> 1;
            for (unsigned w = 0; w * words::BITS < SET; w++)
                words::at(blocks[copy / L]->*to, w)[copy % L] =
                    static_cast<decltype(words::at(blocks[0]->*to, 0)[0] + 0)>(others >>
                                                                               w * words::BITS);
        }
    }
}
template <unsigned Words, typename V, std::size_t All, typename From, typename T>
void ring_each(V *const *blocks, T (V::*to)[All], From V::*from)
{
    static_assert(All == Words * SET && sizeof(From) == Words * sizeof(T), "words for each other");
    if constexpr (BLOCKS == 1) {
        ring_each<Words>(blocks[0]->*to, reinterpret_cast<const T *>(&(blocks[0]->*from)),
                         others());
    } else {
        constexpr std::size_t ONE = sizeof(T) / L;
        alignas(64) char all[(2 * RING + L) * ONE] = {}; // a word of each copy, twice
        for (unsigned w = 0; w < Words; w++) {
            for (unsigned b = 0; b < BLOCKS; b++)
                memcpy(all + b * sizeof(T), reinterpret_cast<const T *>(&(blocks[b]->*from)) + w,
                       sizeof(T));
            memmove(all + RING * ONE, all, RING * ONE);
            for (unsigned b = 0; b < BLOCKS; b++)
                for (unsigned d = 0; d < SET; d++)
                    memcpy(&(blocks[b]->*to)[d * Words + w], all + (b * L + 1 + d) * ONE,
                           sizeof(T));
        }
    }
}
} // namespace MW_LANES_NAMES
} // namespace lanes
