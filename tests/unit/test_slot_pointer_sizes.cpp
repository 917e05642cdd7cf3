// SPDX-License-Identifier: Apache-2.0
//
// slot_pointer in every width: a round uses each slot once, the round bit
// changes exactly behind it, all rounds have one order, and nothing moves without next_i. MW_SEED repeats a run.

#include "Vslot_pointer_sizes.h"
#include "verilated.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <vector>

extern "C" {
#include <cmocka.h>
}

static const unsigned COUNT = 10;
static uint64_t seed;

static void edge(Vslot_pointer_sizes &dut)
{
    dut.clk_i = 1;
    dut.eval();
    dut.clk_i = 0;
    dut.eval();
}

static void visits_every_slot_once_a_round(void **state)
{
    (void)state;
    auto dut = std::make_unique<Vslot_pointer_sizes>();
    std::mt19937_64 rng(seed);
    dut->clk_i = 0;
    dut->rst_ni = 0;
    dut->next_i = 1;
    edge(*dut);
    dut->rst_ni = 1;
    std::vector<std::vector<uint32_t>> seen(COUNT);
    unsigned steps = 0;
    while (steps < 3 * 2048 + 5) {
        dut->next_i = rng() % 4 != 0;
        dut->eval();
        if (dut->next_i) {
            for (unsigned i = 0; i < COUNT; i++)
                seen[i].push_back(dut->ptr_o[i]);
            steps++;
        }
        edge(*dut);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        uint32_t slots = 1u << dut->width_o[i];
        std::vector<bool> used(slots);
        for (uint32_t k = 0; k < seen[i].size(); k++) {
            uint32_t slot = seen[i][k] & (slots - 1);
            assert_int_equal(seen[i][k] >> dut->width_o[i], k / slots & 1);
            if (k < slots) {
                assert_false(used[slot]);
                used[slot] = true;
            } else {
                assert_int_equal(slot, seen[i][k - slots] & (slots - 1));
            }
        }
    }
}

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visits_every_slot_once_a_round),
    };
    return cmocka_run_group_tests_name("slot_pointer", tests, nullptr, nullptr);
}
