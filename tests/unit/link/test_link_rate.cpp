// SPDX-License-Identifier: Apache-2.0
//
// link_rate before a sender that sees hold_o late, like tx and egress. Packets have any length, and
// start whenever the module permits it. In any interval no more flits leave than the rate permits,
// except packets that the sender starts too soon. While packets wait, no part of the rate is lost.
// MW_SEED repeats a run.
#include "bench/dut.h"

#include <deque>

using namespace tb;

static const unsigned AHEAD = 2, LONGEST = 11; // as in the list of tests

struct slow_link : model<Vlink_rate> {
    unsigned wait; ///< cycles after each flit
    explicit slow_link(unsigned w) : wait(w)
    {
        dut.wait_i = static_cast<uint8_t>(w);
        dut.valid_i = 0;
        reset();
    }

    std::deque<bool> line; ///< of the sender, from a start to the link
    unsigned left = 0;     ///< flits of the packet that has started
    uint64_t flits = 0, starts = 0;
    int64_t owed = 0, most = 0; ///< idle cycles still required for the flits that have left

    /// A cycle, in which a packet of `length` flits may start, 0: none.
    void step(unsigned length)
    {
        settle();
        assert_int_equal(dut.busy_o, owed > 0);
        assert_int_equal(dut.hold_o, owed > AHEAD);
        if (!left && length && !dut.hold_o) {
            left = length;
            starts++;
        }
        line.push_back(left > 0);
        left -= left > 0;
        dut.valid_i = 0;
        if (line.size() >= AHEAD) {
            dut.valid_i = line.front();
            line.pop_front();
        }
        settle();
        owed = dut.valid_i ? owed + wait : owed > 0 ? owed - 1 : 0;
        flits += dut.valid_i;
        most = owed > most ? owed : most;
        edge();
    }

    void rest()
    {
        for (unsigned i = 0; i < 4 * 64; i++)
            step(0);
        settle();
        assert_true(!dut.busy_o && !dut.hold_o);
    }
};

TEST(keeps_the_rate_and_loses_none_of_it)
{
    for (unsigned wait = 0; wait < 4; wait++) {
        for (unsigned longest : {1u, 3u, LONGEST}) {
            slow_link b(wait);
            uint64_t before = b.flits, cycles = 0;
            while (b.starts < 400) {
                b.step(1 + b.below(longest));
                cycles++;
            }
            uint64_t sent = b.flits - before;
            // remaining idle cycles, flits that have not reached the link, and the delay of the
            // first packet
            assert_true(cycles + (wait + 1) * (LONGEST + AHEAD + 2) >= sent * (wait + 1));
            assert_true(cycles <= sent * (wait + 1) + (wait + 1) * (LONGEST + 2 * AHEAD));
            // too soon: one start for each cycle by which the sender sees the hold late
            assert_true(b.most <= static_cast<int64_t>(wait * (LONGEST + AHEAD + 1) + AHEAD));
            b.rest();
        }
    }
}

TEST(a_pause_is_over_without_packets)
{
    slow_link b(3);
    for (unsigned i = 0; i < 3000; i++) {
        b.step(b.percent(5) ? 1 + b.below(LONGEST) : 0);
    }
    assert_true(b.starts > 50);
    b.rest();
}

TEST(a_packet_behind_its_pause_waits_for_nothing)
{
    for (unsigned wait = 0; wait < 4; wait++) {
        slow_link b(wait);
        for (unsigned i = 0; i < 5; i++) {
            uint64_t starts = b.starts;
            b.step(LONGEST);
            assert_int_equal(b.starts, starts + 1);
            b.rest();
        }
    }
}
