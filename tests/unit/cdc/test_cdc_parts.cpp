// SPDX-License-Identifier: Apache-2.0
//
// The modules of rtl/cdc below cdc_restart. test_usb_cross tests cdc_restart itself. Checked:
// - order, room and rate of cdc_fifo between any clocks
// - cdc_sync passes a bit in two or three cycles
// - cdc_reset falls without a clock and rises with the fourth edge
#include "Vcdc_parts.h"
#include "two_clocks.h"

#include <deque>

using namespace tb;

namespace {
constexpr unsigned DEPTH = 16;

struct parts : two_clocks<Vcdc_parts> {
    unsigned push = 70, take = 70;
    std::deque<uint16_t> inside;
    uint64_t done = 0;
    size_t most = 0;
    bool taken = false;

    CData &other_clock() override { return dut.wclk_i; }

    parts()
    {
        dut.wclk_i = 0;
        dut.rst_ni = dut.wrst_ni = 0;
        dut.valid_i = dut.ready_i = dut.bit_i = 0;
        dut.async_ni = 1;
        for (unsigned i = 0; i < 40; i++)
            cycle();
        dut.rst_ni = dut.wrst_ni = 1;
    }
    void other_drive() override
    {
        if (!dut.valid_i || taken) {
            dut.valid_i = dut.wrst_ni && percent(push);
            dut.data_i = rng.bits(12);
        }
    }
    void other_sample() override
    {
        taken = dut.wrst_ni && dut.valid_i && dut.ready_o;
        if (taken)
            inside.push_back(dut.data_i);
        most = std::max(most, inside.size());
    }
    void drive() override { dut.ready_i = percent(take); }
    void sample() override
    {
        if (dut.rst_ni && dut.valid_o && dut.ready_i) {
            assert_false(inside.empty());
            assert_int_equal(dut.data_o, inside.front());
            inside.pop_front();
            done++;
        }
    }
};
} // namespace

TEST(order_and_room)
{
    for (unsigned i = 0; i < 100; i++) {
        parts b;
        b.any_periods(b.rng.pick({1.001, 1.5, 20.0}));
        b.push = b.rng.pick({5, 50, 100});
        b.take = b.rng.pick({5, 50, 100});
        b.cycles(3000);
        b.take = 0; // it fills: the RAM, and the word at the output
        b.push = 100;
        b.cycles(1500);
        assert_int_equal(b.inside.size(), DEPTH + 1);
        assert_int_equal(b.most, DEPTH + 1);
        b.take = 100;
        b.push = 0;
        b.until("it to be empty", 3000, [&] { return b.inside.empty(); });
    }
}

/// A word per cycle of the slower clock.
TEST(rate)
{
    for (unsigned i = 0; i < 20; i++) {
        parts b;
        b.any_periods(9); // as far apart as a device's clocks
        b.jitter = 0;
        b.push = b.take = 100;
        b.cycles(500);
        uint64_t words = b.done, edges = b.now, others = b.other_now;
        b.cycles(10000);
        double slower = static_cast<double>(std::min(b.now - edges, b.other_now - others));
        assert_true(static_cast<double>(b.done - words) > 0.98 * slower);
    }
}

TEST(a_bit_takes_two_or_three_cycles)
{
    parts b;
    b.push = 0;
    unsigned took[8] = {};
    for (unsigned i = 0; i < 2000; i++) {
        b.cycles(20 + b.below(20));
        b.dut.bit_i = !b.dut.bit_i;
        b.settle();
        uint64_t start = b.now;
        b.until("the bit", 20, [&] { return b.dut.bit_o == b.dut.bit_i; });
        assert_in_range(b.now - start, 2, 3);
        took[b.now - start]++;
    }
    assert_true(took[2] > 100 && took[3] > 100); // with MW_CDC_RANDOM
}

TEST(reset_needs_no_clock_to_fall)
{
    parts b;
    for (unsigned i = 0; i < 100; i++) {
        b.cycles(20);
        assert_int_equal(b.dut.reset_no, 1);
        b.dut.async_ni = 0;
        b.settle();
        assert_int_equal(b.dut.reset_no, 0);
        b.cycles(b.below(10));
        b.dut.async_ni = 1;
        b.settle();
        uint64_t start = b.now;
        b.until("the reset's end", 20, [&] { return b.dut.reset_no; });
        assert_int_equal(b.now - start, 4);
    }
}
