// SPDX-License-Identifier: Apache-2.0
//
// Wires between the parts of a model in lanes, by the types at their ends.
#pragma once

#include "lanes.h"
#include "nodes.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// A wire from all lanes to all
template <typename T> void wire(T &to, const T &from)
{
    to = from;
}
template <typename T, std::size_t Words> void wire(T (&to)[Words], const T (&from)[Words])
{
    for (unsigned w = 0; w < Words; w++)
        to[w] = from[w];
}

// ... from one place to all
template <typename Vectors, typename Word>
std::enable_if_t<std::is_integral_v<Word>> wire(Vectors &to, Word from)
{
    to = from;
}
template <std::size_t Words> void wire(lanes::U (&to)[Words], const VlWide<Words> &from)
{
    for (unsigned w = 0; w < Words; w++)
        to[w] = from[w];
}

// ... and between the lanes and an array with an element for each
template <typename Vector, typename Word>
void wire(Vector &to, const VlUnpacked<Word, MW_SIM_N> &from)
{
    for (unsigned g = 0; g < MW_SIM_N; g++)
        to[g] = from[g];
}
template <typename Vector, typename Word>
void wire(VlUnpacked<Word, MW_SIM_N> &to, const Vector &from)
{
    for (unsigned g = 0; g < MW_SIM_N; g++)
        to[g] = static_cast<Word>(from[g]);
}

// ... and between the lanes and those of a block of nodes
template <typename Vectors, typename Rows>
void to_block(Rows &to, const Vectors &from, unsigned block)
{
    constexpr std::size_t LANES = sizeof to.row[0], ALL = lanes::L * (LANES / node_block::LANES);
    static_assert(sizeof from / ALL == sizeof to.row / LANES, "the same words");
    for (unsigned w = 0; w < sizeof to.row / LANES; w++)
        memcpy(to.row[w], reinterpret_cast<const char *>(&from) + w * ALL + block * LANES, LANES);
}
template <typename Vectors, typename Rows>
void of_block(Vectors &to, const Rows &from, unsigned block)
{
    constexpr std::size_t LANES = sizeof from.row[0], ALL = lanes::L * (LANES / node_block::LANES);
    static_assert(sizeof to / ALL == sizeof from.row / LANES, "the same words");
    for (unsigned w = 0; w < sizeof from.row / LANES; w++)
        memcpy(reinterpret_cast<char *>(&to) + w * ALL + block * LANES, from.row[w], LANES);
}

constexpr uint32_t EVERY = MW_SIM_N == 32 ? ~0U : (1U << MW_SIM_N % 32) - 1;

// The GPUs whose lane holds 1
inline uint32_t set_of(lanes::U bits)
{
    return lanes::set_of(lanes::nz(bits)) & EVERY;
}

// Lanes from a set of GPUs
inline lanes::U lanes_of(uint32_t set)
{
    return ((lanes::U)set >> lanes::NUMBER) & 1U;
}

// Row `row` of a packed matrix with MW_SIM_N columns
template <typename Matrix> uint32_t row_of(const Matrix &matrix, unsigned row)
{
    uint32_t words[(MW_SIM_N * MW_SIM_N + 31) / 32 + 1] = {};
    memcpy(words, &matrix, sizeof matrix);
    uint64_t two;
    memcpy(&two, words + row * MW_SIM_N / 32, sizeof two);
    return static_cast<uint32_t>(two >> row * MW_SIM_N % 32) & EVERY;
}
