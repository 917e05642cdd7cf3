// SPDX-License-Identifier: Apache-2.0
//
// What the shim requires of Verilator, for builds without a Verilated model.
#pragma once

#include <cstdint>

struct VerilatedContext {
    void threads(unsigned) {}
    void randReset(int) {}
    void randSeed(int) {}
    uint64_t time() const { return 0; }
    void timeInc(uint64_t) {}
};
