// SPDX-License-Identifier: Apache-2.0
//
// stat_counters against thirteen plain counters: events of every density, clears at any time, reads
// at any time. Each answer is exact up to two cycles before it. MW_SEED repeats a run.
#include "bench/dut.h"

using namespace tb;

static const unsigned COUNT = 13; // the default

struct counters : model<Vstat_counters> {
    counters()
    {
        dut.clear_i = dut.event_i = dut.rd_valid_i = 0;
        reset();
    }
};

TEST(counts_exactly)
{
    counters b;
    auto &d = b.dut;
    uint32_t count[COUNT] = {},
             earlier[COUNT] = {}; // before this cycle, and before the previous one
    unsigned reads = 0, waited = 0, since_clear = 0, density = 50;
    for (unsigned cycle = 0; cycle < 200000; cycle++) {
        if (cycle % 500 == 0) {
            density = b.rng.pick({0, 3, 50, 97, 100});
        }
        d.clear_i = b.rng.one_in(3000);
        uint32_t events = 0;
        for (unsigned i = 0; i < COUNT; i++)
            events |= static_cast<uint32_t>(b.percent(density)) << i;
        d.event_i = static_cast<uint16_t>(events);
        if (!d.rd_valid_i && b.percent(20)) {
            d.rd_valid_i = 1;
            d.rd_idx_i = static_cast<uint8_t>(b.below(COUNT));
            waited = 0;
        }
        b.settle();
        bool ended = d.rd_valid_i && d.rd_ack_o;
        if (ended) {
            assert_int_equal(d.rd_data_o, earlier[d.rd_idx_i]);
            reads++;
        } else {
            assert_true(!d.rd_valid_i || waited++ < 2 * COUNT + 1);
        }
        for (unsigned i = 0; i < COUNT; i++) {
            earlier[i] = d.clear_i ? 0 : count[i];
            count[i] = d.clear_i ? 0 : count[i] + (events >> i & 1);
        }
        since_clear = d.clear_i ? 0 : since_clear + 1;
        b.edge();
        if (ended || d.clear_i)
            d.rd_valid_i = 0;
    }
    assert_true(reads > 5000);
}

TEST(answers_within_a_scan)
{
    counters b;
    auto &d = b.dut;
    b.cycles(2 * COUNT + 2);
    for (unsigned i = 0; i < 2000; i++) {
        d.rd_valid_i = 1;
        d.rd_idx_i = static_cast<uint8_t>(b.below(COUNT));
        b.until("an answer", COUNT - 1, [&] {
            b.settle();
            return d.rd_ack_o;
        });
        b.edge();
        d.rd_valid_i = 0;
        b.cycle();
    }
}
