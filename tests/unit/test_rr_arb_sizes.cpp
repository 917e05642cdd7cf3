// SPDX-License-Identifier: Apache-2.0
//
// rr_arb in many sizes against a linear search from a pointer, with random
// requests, advances and clears; and its fairness when all requests stay up.
// MW_SEED repeats a run.

#include "Vrr_arb_sizes.h"
#include "verilated.h"

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <csetjmp>
#include <ctime>
#include <memory>
#include <random>

extern "C" {
#include <cmocka.h>
}

static const unsigned COUNT = 18;
static const unsigned SIZES[COUNT] = {1, 1, 2, 2, 3, 3, 4, 4, 7, 7, 8, 8, 33, 33, 63, 63, 64, 64};

static uint64_t seed;

static void edge(Vrr_arb_sizes &dut)
{
    dut.clk_i = 1;
    dut.eval();
    dut.clk_i = 0;
    dut.eval();
}

static std::unique_ptr<Vrr_arb_sizes> fresh()
{
    auto dut = std::make_unique<Vrr_arb_sizes>();
    for (unsigned i = 0; i < COUNT; i++) {
        dut->clear_i[i] = 0;
        dut->req_i[i] = 0;
        dut->advance_i[i] = 0;
    }
    dut->clk_i = 0;
    dut->rst_ni = 0;
    edge(*dut);
    dut->rst_ni = 1;
    return dut;
}

static uint64_t ones(unsigned n)
{
    return n == 64 ? ~0ull : (1ull << n) - 1;
}

// Index of the first request at or after the pointer, or -1.
static int first_from(uint64_t req, unsigned n, unsigned pointer)
{
    for (unsigned k = 0; k < n; k++) {
        unsigned i = (pointer + k) % n;
        if (req >> i & 1)
            return static_cast<int>(i);
    }
    return -1;
}

static void matches_linear_search(void **state)
{
    (void)state;
    std::mt19937_64 rng(seed);
    auto dut = fresh();
    unsigned pointer[COUNT] = {};
    for (unsigned cycle = 0; cycle < 20000; cycle++) {
        for (unsigned i = 0; i < COUNT; i++) {
            uint64_t req = rng();
            for (unsigned thin = rng() % 5; thin > 0; thin--)
                req &= rng();
            if (rng() % 8 == 0)
                req = 1ull << rng() % SIZES[i];
            dut->req_i[i] = req & ones(SIZES[i]);
        }
        dut->eval();
        for (unsigned i = 0; i < COUNT; i++) {
            int want = first_from(dut->req_i[i], SIZES[i], pointer[i]);
            assert_true(dut->grant_o[i] == (want < 0 ? 0 : 1ull << want));
            assert_int_equal(dut->idx_o[i], want < 0 ? 0 : want);
            dut->advance_i[i] = want >= 0 && rng() % 3 != 0;
            dut->clear_i[i] = rng() % 50 == 0;
            if (dut->advance_i[i])
                pointer[i] = (static_cast<unsigned>(want) + 1) % SIZES[i];
            if (dut->clear_i[i])
                pointer[i] = 0;
        }
        edge(*dut);
    }
}

static void serves_all_in_turn(void **state)
{
    (void)state;
    auto dut = fresh();
    for (unsigned i = 0; i < COUNT; i++) {
        dut->req_i[i] = ones(SIZES[i]);
        dut->advance_i[i] = 1;
    }
    for (unsigned cycle = 0; cycle < 200; cycle++) {
        dut->eval();
        for (unsigned i = 0; i < COUNT; i++)
            assert_int_equal(dut->idx_o[i], cycle % SIZES[i]);
        edge(*dut);
    }
}

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_linear_search),
        cmocka_unit_test(serves_all_in_turn),
    };
    return cmocka_run_group_tests_name("rr_arb_sizes", tests, nullptr, nullptr);
}
