// SPDX-License-Identifier: Apache-2.0
//
// What the shim asks of Verilator, where it has no model of it.
#pragma once

#include <cstdint>

struct VerilatedContext {
    void threads(unsigned) {}
    void randReset(int) {}
    void randSeed(int) {}
    uint64_t time() const { return 0; }
    void timeInc(uint64_t) {}
};
