// SPDX-License-Identifier: Apache-2.0
//
// usb_cross between clocks of any ratio. Checked:
// - Every byte and every word passes once, in order, with its end.
// - After a restart at any time no earlier byte comes out at either end, and no later one is lost.
// - The link is notified of the restart.
// - The rates are those that the host protocol requires.
#include "Vusb_cross.h"
#include "two_clocks.h"

#include <deque>

using namespace tb;

namespace {
struct byte_in {
    uint8_t data;
    bool last;
    bool operator==(const byte_in &o) const { return data == o.data && last == o.last; }
};

struct cross : two_clocks<Vusb_cross> {
    // percent of the cycles in which each end takes part
    unsigned out_push = 70, out_take = 70, in_push = 70, in_take = 70;
    struct byte_out {
        uint8_t data;
        uint64_t behind; // restarts before it
        uint64_t since;  // when it was taken, in clocks of the USB core
    };
    std::deque<byte_out> out;
    std::deque<byte_in> in;
    uint64_t out_done = 0, in_done = 0, restarts = 0, notified = 0, taken_words = 0;
    uint64_t waited = 0,
             pieces = 0; // most clocks that a byte was inside; words that had less than 8
    unsigned at = 0;     // place of the next byte in a word of 8
    bool restart = false;

    CData &other_clock() override { return dut.usb_clk_i; }

    cross()
    {
        dut.usb_clk_i = 0;
        dut.usb_rst_ni = dut.rst_ni = 0;
        idle();
        for (unsigned i = 0; i < 40; i++) // both in reset
            cycle();
        dut.usb_rst_ni = dut.rst_ni = 1;
    }

    void idle()
    {
        dut.restart_i = dut.out_valid_i = dut.in_ready_i = 0;
        dut.link_out_ready_i = dut.link_in_valid_i = 0;
    }

    // ---- the USB core's end ----
    void other_drive() override
    {
        if (!dut.usb_rst_ni)
            return;
        dut.restart_i = restart;
        // what is offered is stable until it is taken
        if (!dut.out_valid_i || out_taken) {
            dut.out_valid_i = percent(out_push);
            dut.out_data_i = rng.bits(8);
        }
        dut.in_ready_i = percent(in_take);
    }
    void other_sample() override
    {
        if (!dut.usb_rst_ni)
            return;
        out_taken = dut.out_valid_i && dut.out_ready_o;
        if (out_taken)
            out.push_back({static_cast<uint8_t>(dut.out_data_i), restarts, other_now});
        if (dut.in_valid_o && dut.in_ready_i) {
            assert_false(in.empty());
            assert_true((byte_in{static_cast<uint8_t>(dut.in_data_o), dut.in_last_o != 0}) ==
                        in.front());
            in.pop_front();
            in_done++;
        }
        if (restart) {
            restarts++;
            restart = false;
        }
    }

    // ---- the link's ----
    void drive() override
    {
        if (!dut.rst_ni)
            return;
        dut.link_out_ready_i = percent(out_take);
        if (!dut.link_in_valid_i || in_taken) {
            dut.link_in_valid_i = percent(in_push);
            dut.link_in_data_i = rng();
            dut.link_in_last_i = percent(20);
        }
    }
    void sample() override
    {
        if (!dut.rst_ni)
            return;
        if (dut.link_reset_o) {
            notified++;
            for (const byte_out &b : out) // bytes taken after the restart are not lost
                assert_true(b.behind < restarts);
            out.clear();
            in.clear();
            at = 0;
            assert_false(dut.link_in_ready_o);
        }
        in_taken = dut.link_in_valid_i && dut.link_in_ready_o;
        if (in_taken) {
            taken_words++;
            for (unsigned i = 0; i < 8; i++)
                in.push_back({static_cast<uint8_t>(dut.link_in_data_i >> 8 * i),
                              i == 7 && dut.link_in_last_i});
        }
        if (dut.link_out_valid_o && dut.link_out_ready_i) {
            unsigned n = dut.link_out_bytes_o;
            assert_in_range(n, 1, 8 - at); // a word ends where one of 8 does
            at = (at + n) % 8;
            pieces += n < 8;
            for (unsigned i = 0; i < n; i++) {
                assert_false(out.empty());
                assert_int_equal(dut.link_out_data_o >> 8 * i & 0xff, out.front().data);
                waited = std::max(waited, other_now - out.front().since);
                out.pop_front();
                out_done++;
            }
        }
    }

    /// No more input, and everything inside comes out.
    void drain()
    {
        unsigned push[] = {out_push, in_push};
        out_push = in_push = 0;
        until("all that is inside", 100000, [&] {
            return out.empty() && in.empty() && !dut.out_valid_i && !dut.link_in_valid_i;
        });
        out_push = push[0];
        in_push = push[1];
    }

  private:
    bool out_taken = false, in_taken = false;
};

void any_rate(cross &b)
{
    for (unsigned *p : {&b.out_push, &b.out_take, &b.in_push, &b.in_take})
        *p = b.rng.pick({3, 30, 70, 100});
}
} // namespace

TEST(every_byte_once_in_order)
{
    for (unsigned i = 0; i < 60; i++) {
        cross b;
        b.any_periods(b.rng.pick({1.01, 2.0, 9.0, 12.0}));
        any_rate(b);
        b.cycles(20000);
        b.drain();
        assert_true(b.out_done > 20 && b.in_done > 20);
        assert_int_equal(b.notified, 0);
    }
}

TEST(restart_at_any_time)
{
    for (unsigned i = 0; i < 60; i++) {
        cross b;
        b.any_periods(b.rng.pick({1.01, 2.0, 9.0, 12.0}));
        any_rate(b);
        for (unsigned n = 0; n < 40; n++) {
            b.cycles(
                b.below(n % 4 ? 300 : 12)); // the next one may come before the last one is through
            uint64_t notified = b.notified, before = b.restarts;
            b.restart = true;
            b.until("the restart", 200, [&] { return b.restarts > before; });
            b.until("the link to be reported", 400, [&] { return b.notified > notified; });
        }
        b.drain();
        uint64_t out = b.out_done, in = b.in_done;
        b.out_push = b.out_take = b.in_push = b.in_take = 70;
        b.cycles(2000);
        b.drain();
        assert_true(b.out_done > out && b.in_done > in);
        assert_true(b.notified <= b.restarts);
    }
}

/// A single byte waits for two clocks and the crossing: at most five clocks of the link, and the
/// word at the output.
TEST(one_byte_alone)
{
    for (unsigned i = 0; i < 50; i++) {
        cross b;
        b.any_periods(8);
        b.out_push = b.out_take = 100;
        b.until("a byte in", 100, [&] { return !b.out.empty(); });
        b.out_push = 0;
        b.until("those out", 1000, [&] { return b.out.empty() && !b.dut.out_valid_i; });
        const double link = b.period * (1 + b.jitter) / (b.other_period * (1 - b.jitter));
        assert_true(static_cast<double>(b.waited) <= 2 + 1 + 5 * link + 1);
    }
}

/// At any rate of bytes, none waits longer than for seven others of two clocks each.
TEST(no_byte_waits_long)
{
    for (unsigned push : {100, 60, 50, 40, 20, 5}) {
        cross b;
        b.period = 0.5;
        b.out_push = push;
        b.out_take = 100;
        b.cycles(30000); // at 5 %, some 500 bytes
        assert_true(b.out_done > 300);
        assert_in_range(b.waited, 3, 14 + 4);
    }
}

/// Without back-pressure, the rate each way is a byte per cycle of the USB core, or a word of 8 per
/// cycle of the link.
TEST(rate_at_any_ratio)
{
    for (double ratio : {60 / 7.0, 8.0, 7.5, 5.3, 4.0, 2.0, 1.5, 1.01, 0.7, 0.5})
        for (unsigned pause = 0; pause < 2; pause++) {
            cross b;
            b.period = ratio;
            b.out_push = b.out_take = b.in_push = b.in_take = 100;
            if (pause) { // words are in pieces, and the queue is empty, before
                b.out_push = b.in_push = 20;
                b.cycles(500);
                b.out_push = b.in_push = 100;
            }
            b.cycles(500);
            uint64_t start = b.other_now, cycles = b.now, out = b.out_done, in = b.in_done;
            uint64_t pieces = b.pieces;
            b.cycles(20000);
            const double n = std::min(static_cast<double>(b.other_now - start),
                                      8 * static_cast<double>(b.now - cycles));
            assert_true(static_cast<double>(b.out_done - out) > 0.99 * n);
            assert_true(static_cast<double>(b.in_done - in) > 0.99 * n);
            assert_int_equal(b.pieces, pieces);
        }
}

/// After a pause at any place words are complete again. At most two are not: the one that the pause
/// cuts, and its rest.
TEST(words_are_whole_behind_a_pause)
{
    for (double ratio : {7.5, 4.0, 1.01}) {
        cross b;
        b.period = ratio;
        b.out_take = 100;
        for (unsigned i = 0; i < 300; i++) {
            b.out_push = 100;
            b.cycles(100 + b.below(100));
            b.out_push = 0;
            b.cycles(b.below(20));
        }
        b.drain();
        assert_true(b.pieces > 50 && b.pieces <= 600);
    }
}
