// SPDX-License-Identifier: Apache-2.0
//
// slot_pointer in every width. A round uses each slot once, and the round bit changes exactly at
// its end. All rounds have the same order. Without next_i nothing changes. MW_SEED repeats a run.
#include "bench/dut.h"

using namespace tb;

static const unsigned COUNT = 10;

TEST(visits_every_slot_once_a_round)
{
    model<Vslot_pointer_sizes> b;
    b.reset();
    std::vector<std::vector<uint32_t>> seen(COUNT);
    while (seen[0].size() < 3 * 2048 + 5) {
        b.dut.next_i = !b.rng.one_in(4);
        b.settle();
        for (unsigned i = 0; b.dut.next_i && i < COUNT; i++)
            seen[i].push_back(b.dut.ptr_o[i]);
        b.edge();
    }
    for (unsigned i = 0; i < COUNT; i++) {
        uint32_t slots = 1u << b.dut.width_o[i];
        std::vector<bool> used(slots);
        for (uint32_t k = 0; k < seen[i].size(); k++) {
            uint32_t slot = seen[i][k] & (slots - 1);
            assert_int_equal(seen[i][k] >> b.dut.width_o[i], k / slots & 1);
            if (k < slots) {
                assert_false(used[slot]);
                used[slot] = true;
            } else {
                assert_int_equal(slot, seen[i][k - slots] & (slots - 1));
            }
        }
    }
}
