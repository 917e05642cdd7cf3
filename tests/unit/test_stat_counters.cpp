// SPDX-License-Identifier: Apache-2.0
//
// stat_counters against thirteen plain counters: events of every density, clears at any time, reads
// at any time, exact up to two cycles before the answer. MW_SEED repeats a run.
#include "Vstat_counters.h"
#include "csr_bench.h"

static const unsigned COUNT = 13; // the default

static void counts_exactly(void **)
{
    csr_bench<Vstat_counters> b;
    auto &d = b.dut;
    uint32_t count[COUNT] = {},
             earlier[COUNT] = {}; // before this cycle, and before the one in front of it
    unsigned reads = 0, waited = 0, since_clear = 0, density = 50;
    d.clear_i = 0;
    d.event_i = 0;
    d.rd_valid_i = 0;
    b.reset();
    for (unsigned cycle = 0; cycle < 200000; cycle++) {
        if (cycle % 500 == 0) {
            const unsigned choices[] = {0, 3, 50, 97, 100};
            density = choices[b.below(5)];
        }
        d.clear_i = b.below(3000) == 0;
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

static void answers_within_a_scan(void **)
{
    csr_bench<Vstat_counters> b;
    auto &d = b.dut;
    d.clear_i = 0;
    d.event_i = 0;
    d.rd_valid_i = 0;
    b.reset();
    for (unsigned i = 0; i < 2 * COUNT + 2; i++) {
        b.settle();
        b.edge();
    }
    for (unsigned i = 0; i < 2000; i++) {
        d.rd_valid_i = 1;
        d.rd_idx_i = static_cast<uint8_t>(b.below(COUNT));
        unsigned cycles = 0;
        for (b.settle(); !d.rd_ack_o; b.settle()) {
            b.edge();
            assert_true(++cycles < COUNT);
        }
        b.edge();
        d.rd_valid_i = 0;
        b.settle();
        b.edge();
    }
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_exactly),
        cmocka_unit_test(answers_within_a_scan),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
