// SPDX-License-Identifier: Apache-2.0
//
// Wires between the parts of a model in lanes, by the types at their ends.
#pragma once

#include "lanes.h"
#include "nodes.h"
#include "ports.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// A wire from the switch's ports to an array with an element for each
template <typename Word, typename Words>
void wire(VlUnpacked<Word, MW_SIM_N> &to, Words switch_ports::ends::*from, switch_ports &ports)
{
    for (unsigned g = 0; g < MW_SIM_N; g++)
        to[g] = static_cast<Word>((ports.end_of(g).*from).at[switch_ports::lane_of(g)]);
}

// Wires between the links, which have lanes for all GPUs, and a block of nodes
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

// ... and the blocks of switch ports
template <typename Vectors, typename Words>
void to_ports(switch_ports &ports, Words switch_ports::ends::*to, const Vectors &from)
{
    constexpr std::size_t ONE = sizeof(typename Words::word), LANES = switch_ports::LANES * ONE;
    static_assert(sizeof from == Words::WORDS * lanes::L * ONE, "the same words");
    for (unsigned b = 0; b < switch_ports::COUNT; b++)
        for (unsigned w = 0; w < Words::WORDS; w++)
            memcpy((ports.end[b].*to).at + w * switch_ports::LANES,
                   reinterpret_cast<const char *>(&from) + w * lanes::L * ONE + b * LANES, LANES);
}
template <typename Vectors, typename Words>
void of_ports(Vectors &to, const switch_ports &ports, Words switch_ports::ends::*from)
{
    constexpr std::size_t ONE = sizeof(typename Words::word), LANES = switch_ports::LANES * ONE;
    static_assert(sizeof to == Words::WORDS * lanes::L * ONE, "the same words");
    for (unsigned b = 0; b < switch_ports::COUNT; b++)
        for (unsigned w = 0; w < Words::WORDS; w++)
            memcpy(reinterpret_cast<char *>(&to) + w * lanes::L * ONE + b * LANES,
                   (ports.end[b].*from).at + w * switch_ports::LANES, LANES);
}

constexpr unsigned SET_BITS = 8 * sizeof(gpu_set);
constexpr gpu_set EVERY = ~gpu_set(0) >> (SET_BITS - MW_SIM_N);

// The GPUs whose lane holds 1
inline gpu_set set_of(lanes::U bits)
{
    return lanes::set_of(lanes::nz(bits)) & EVERY;
}

// Lanes from a set of GPUs
inline lanes::U lanes_of(gpu_set set)
{
    if constexpr (MW_SIM_N <= 32)
        return ((lanes::U) static_cast<uint32_t>(set) >> lanes::NUMBER) & 1U;
    return lanes::bit(lanes::M{static_cast<lanes::M::bits>(set)});
}

// A port with a bit for each GPU
template <typename Word> std::enable_if_t<std::is_integral_v<Word>, gpu_set> gpus_of(Word port)
{
    return port;
}
template <std::size_t Words> gpu_set gpus_of(const VlWide<Words> &port)
{
    gpu_set set = 0;
    memcpy(&set, &port, sizeof port);
    return set;
}
template <typename Word>
std::enable_if_t<std::is_integral_v<Word>> put_gpus(Word &port, gpu_set set)
{
    port = static_cast<Word>(set);
}
template <std::size_t Words> void put_gpus(VlWide<Words> &port, gpu_set set)
{
    memcpy(&port, &set, sizeof port);
}

// ... of one switch port
template <typename Words> void put_gpus(const Words &port, unsigned lane, gpu_set set)
{
    for (unsigned w = 0; w < Words::WORDS; w++)
        port.at[w * switch_ports::LANES + lane] = static_cast<typename Words::word>(set >> 32 * w);
}

// Row `row` of a packed matrix with MW_SIM_N columns
template <typename Matrix> gpu_set row_of(const Matrix &matrix, unsigned row)
{
    uint32_t words[(MW_SIM_N * MW_SIM_N + 31) / 32 + 1] = {};
    memcpy(words, &matrix, sizeof matrix);
    gpu_set set = 0;
    for (unsigned column = 0; column < MW_SIM_N; column++) {
        const unsigned at = row * MW_SIM_N + column;
        set |= gpu_set(words[at / 32] >> at % 32 & 1U) << column;
    }
    return set;
}
