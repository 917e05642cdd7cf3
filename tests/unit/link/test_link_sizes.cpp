// SPDX-License-Identifier: Apache-2.0
//
// link with several maximum latencies and every latency up to them. Each flit and each credit comes
// out after exactly that many cycles, and nothing else does. busy is high while something is
// inside. MW_SEED repeats a run.
#include "bench/dut.h"

#include <deque>

using namespace tb;

static const unsigned COUNT = 5;
struct word {
    bool valid, last, err;
    unsigned cls;
    uint64_t data;
    unsigned crd, part;
};

// Compares one link with the word that entered `latency` cycles ago.
static void check(Vlink_sizes &dut, unsigned i, const std::deque<word> &past)
{
    unsigned latency = dut.latency_i[i];
    bool busy = false;
    for (unsigned k = 0; k < latency; k++)
        busy |= past[k].valid || past[k].crd;
    assert_int_equal(dut.busy_o[i], busy);
    const word &w = past[latency - 1];
    assert_int_equal(dut.rx_valid_o[i], w.valid);
    assert_int_equal(dut.crd_cls_o[i], w.crd);
    if (w.crd)
        assert_int_equal(dut.crd_part_o[i], w.part % dut.parts_o[i]);
    if (!w.valid)
        return;
    assert_int_equal(dut.rx_last_o[i], w.last);
    assert_int_equal(dut.rx_err_o[i], w.err);
    assert_int_equal(dut.rx_cls_o[i], w.cls);
    assert_int_equal(dut.rx_data_o[i], w.data);
}

TEST(delays_by_its_latency)
{
    model<Vlink_sizes> b;
    auto &dut = b.dut;
    dut.tx_valid_i = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        dut.crd_cls_i[i] = 0;
        dut.latency_i[i] = 1;
    }
    b.reset();
    std::deque<word> past(2048, word());
    auto pass = [&](const word &w) {
        b.edge();
        past.push_front(w);
        past.pop_back();
    };
    pass(word());
    for (unsigned round = 0; round < 30; round++) {
        for (unsigned i = 0; i < COUNT; i++)
            dut.latency_i[i] = static_cast<uint16_t>(round < 2 ? (round ? dut.longest_o[i] : 1)
                                                               : 1 + b.below(dut.longest_o[i]));
        pass(word());
        unsigned density = b.below(101);
        for (unsigned cycle = 0; cycle < 500 + 2048; cycle++) {
            bool drain = cycle >= 500; // empty before the latency changes
            word w = {!drain && b.percent(density),
                      b.percent(50),
                      b.percent(50),
                      b.below(4),
                      b.rng(),
                      drain || !b.percent(density) ? 0 : b.below(16),
                      b.below(32)};
            dut.tx_valid_i = w.valid;
            dut.tx_last_i = w.last;
            dut.tx_err_i = w.err;
            dut.tx_cls_i = static_cast<uint8_t>(w.cls);
            dut.tx_data_i = w.data;
            for (unsigned i = 0; i < COUNT; i++) {
                dut.crd_cls_i[i] = static_cast<uint8_t>(w.crd);
                dut.crd_part_i[i] = static_cast<uint8_t>(w.part % dut.parts_o[i]);
            }
            pass(w);
            for (unsigned i = 0; i < COUNT; i++)
                check(dut, i, past);
        }
        for (unsigned i = 0; i < COUNT; i++)
            assert_false(dut.busy_o[i]);
    }
}
