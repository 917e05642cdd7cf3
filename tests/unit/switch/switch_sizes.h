// SPDX-License-Identifier: Apache-2.0
//
// Sizes of an input and of an output of the switch, with the names that their tests use.
#ifndef SWITCH_SIZES_H
#define SWITCH_SIZES_H

#include "bench/dut.h"

#include "map.h"

#define MW_SIM_F PARAM_FlitBytes
#include "bundle_access.h"

using tb::bit;
using tb::bytes;

/// Ports, and bytes and lanes of a flit. Then the most flits of a header, of its targets, and of a
/// payload.
constexpr unsigned N = PARAM_N, F = PARAM_FlitBytes, LANES = F / 2, HF = 16 / F,
                   TF = (30 + F - 1) / F, PF = 128 / F;
constexpr unsigned STORE_PKTS = PARAM_StorePkts, CTRL_PKTS = PARAM_CtrlPkts,
                   OPEN_ROWS = PARAM_OpenRows, STAMP_W = MW_MONITOR_STAMP_BITS;
constexpr bool SHARED_RAM = PARAM_PartSharedRam;
constexpr bool LATE = SHARED_RAM && F == 8; ///< a word comes a cycle after its address

template <class Port> bytes flit(const Port &port)
{
    return tb::get(port, F);
}

#endif
