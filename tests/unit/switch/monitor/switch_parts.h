// SPDX-License-Identifier: Apache-2.0
//
// Parts of a switch port, each alone. A test drives one of them, and the others get any input.
#ifndef SWITCH_PARTS_H
#define SWITCH_PARTS_H

#include "Vswitch_parts.h"

#include "bench/dut.h"

#include "errors.h"
#include "map.h"
#include "packet.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>

constexpr unsigned N = PARAM_N, CTRL_PKTS = PARAM_CtrlPkts, OPEN_ROWS = PARAM_OpenRows;
constexpr unsigned ALL = (1u << N) - 1;

struct parts : tb::model<Vswitch_parts> {
    parts() { reset(); }
    void drive() override
    {
        tb::inputs<Vswitch_parts>::each(
            dut, [&](auto &port, unsigned width) { tb::scramble(port, width, rng); });
        dut.go_i = dut.grant_push_i = 0; // a row only where there is a place
    }
};

#endif
