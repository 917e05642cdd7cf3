// SPDX-License-Identifier: Apache-2.0
//
// The start of a Verilated model: registers and memories have random contents, the same ones for
// the same MW_SEED (1 without). No answer of a device may depend on them. If one depends on a value
// without a reset, another seed shows another result.
//
// It runs in its caller's thread. Without that setting each context has a pool of a thread for
// every processor, which no model here uses. Such a pool costs memory, and fails if no thread can
// be created. A forked child that ends it hangs.
#pragma once

#include "verilated.h"

#include <cstdlib>

struct random_context : VerilatedContext {
    random_context()
    {
        threads(1);
        randReset(2);
        start_as(0);
    }

    // Everything made from now on starts like copy `number` of its kind.
    void start_as(unsigned number)
    {
        const char *text = getenv("MW_SEED");
        const unsigned long long seed = text ? strtoull(text, nullptr, 0) : 1;
        randSeed(static_cast<int>(seed % 0x7fffff00) + 1 + static_cast<int>(number)); // 0 is none
    }
};
