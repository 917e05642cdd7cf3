// SPDX-License-Identifier: Apache-2.0
//
// GPUs, or ports, of the device of a model in lanes: bit g, GPU g.
#pragma once

#include <cstdint>
#include <type_traits>

using gpu_set = std::conditional_t<MW_SIM_N <= 32, uint32_t,
                                   std::conditional_t<MW_SIM_N <= 64, uint64_t, unsigned __int128>>;
