// SPDX-License-Identifier: Apache-2.0
//
// How a Verilated model starts: registers and memories hold random contents, the same ones for
// the same MW_SEED (1 without). Nothing that a device answers may depend on them: what relies on a
// value that no reset gives shows as another result under another seed.
//
// It runs in its caller's thread. Without that setting each context has a pool of a thread for
// every processor, which no model here uses. Such a pool costs memory, fails where no thread can be
// had, and hangs whoever ends it in a forked child.
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

    // What is made from now on starts as copy `number` of its kind does.
    void start_as(unsigned number)
    {
        const char *text = getenv("MW_SEED");
        const unsigned long long seed = text ? strtoull(text, nullptr, 0) : 1;
        randSeed(static_cast<int>(seed % 0x7fffff00) + 1 + static_cast<int>(number)); // 0 is none
    }
};
