// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the register blocks share: seed, clock, and a test's random numbers.
#ifndef CSR_BENCH_H
#define CSR_BENCH_H

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <csetjmp>
#include <ctime>
#include <random>

extern "C" {
#include <cmocka.h>
}

#include "verilated.h"

/// MW_SEED, or the time; printed once.
inline uint64_t bench_seed()
{
    static const uint64_t seed = [] {
        const char *text = getenv("MW_SEED");
        uint64_t s = text ? strtoull(text, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
        print_message("MW_SEED=%llu\n", static_cast<unsigned long long>(s));
        return s;
    }();
    return seed;
}

/// A model with clk_i and rst_ni. In a cycle: set inputs, settle(), look at outputs, edge().
template <class Dut> class csr_bench {
  public:
    csr_bench() : rng(bench_seed())
    {
        context.randReset(2);
        context.randSeed(static_cast<int>(bench_seed() % 0x7fffffff) + 1);
    }

    void settle()
    {
        dut.clk_i = 0;
        dut.eval();
    }

    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
    }

    void reset()
    {
        dut.rst_ni = 0;
        for (int i = 0; i < 3; i++) {
            settle();
            edge();
        }
        dut.rst_ni = 1;
        settle();
    }

    bool percent(unsigned p) { return rng() % 100 < p; }
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(rng() % n); }
    uint32_t word() { return static_cast<uint32_t>(rng()); }

    VerilatedContext context;
    Dut dut{&context};
    std::mt19937_64 rng;
};

#endif
