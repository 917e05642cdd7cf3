// SPDX-License-Identifier: Apache-2.0
//
// Waits of the instruction streams: each event counter, bursts, the restart of the counters,
// thresholds and delays.

#include "streams_model.h"

using namespace tb;

// With one event less than the threshold the stream waits. It continues within 14 cycles of the
// last event. A threshold of 0 does not wait.
TEST(each_counter_counts)
{
    for (unsigned e : EVENTS) {
        for (unsigned threshold : {0u, 1u, 2u, 40u, 300u}) {
            for (unsigned s = 0; s < S; s++) {
                gpu b;
                b.enable(1u << s);
                b.load(s, {wait_instr(e, threshold), unit_instr(b, s, 1, 0), END}, 512 * s);
                b.go();
                b.cycles(RESTART + 4);
                for (unsigned i = 0; i + 1 < threshold; i++) {
                    b.event(e);
                    b.cycle();
                }
                b.cycles(60);
                assert_int_equal(b.unit[0].runs, threshold == 0);
                if (threshold)
                    b.event(e);
                b.cycles(30);
                assert_int_equal(b.unit[0].runs, 1);
                assert_true(b.dut.idle_o);
                if (threshold > 1)
                    assert_in_range(b.issued_at[s], RESTART + 4 + threshold + 58,
                                    RESTART + 4 + threshold + 58 + 14);
            }
        }
    }
}

TEST(rows_done_is_a_level)
{
    gpu b;
    b.enable(2);
    b.load(1, {wait_instr(MW_EV_ROWS_DONE, 1), unit_instr(b, 1, 1, 2), END}, 1024);
    b.rows_done(false);
    b.go();
    b.cycles(100);
    assert_int_equal(b.unit[2].runs, 0);
    b.rows_done(true);
    b.cycles(20);
    assert_int_equal(b.unit[2].runs, 1);
}

// Runs a layer that waits for `threshold` of event e. EVENTs, rows and tokens come in every cycle.
// FLAGs and COUNTS, in turn, come in every cycle for several times the capacity of the ring. An ACK
// of every GPU comes, too. Returns whether the wait ended, and the number of events e.
static bool burst(unsigned e, uint32_t threshold, uint32_t *count)
{
    gpu b;
    b.enable(1);
    b.load(0, {wait_instr(e, threshold), unit_instr(b, 0, 1, 0), END}, 0);
    b.go();
    b.cycles(RESTART);
    unsigned sent = 0;
    for (unsigned c = 0; c < 240; c++) {
        if (b.events.empty())
            b.event(SOFTWARE[sent++ * 5 / 3 % SOFTWARE.size()]);
        b.event(MW_EV_ROWS);
        b.event(MW_EV_TOKENS);
        b.event(MW_EV_SYNCS);
        if (c < 32)
            b.event(MW_EV_ACKS);
        if (c >= 40 && c < 40 + 6 * RING) {
            if (c % 2)
                b.event(MW_EV_COUNTS);
            else
                b.flag(SOFTWARE[c / 4 % SOFTWARE.size()]);
        }
        b.cycle();
    }
    assert_in_range(sent, 240 - 6 * RING, 240 - 3 * RING); // they had to wait
    b.cycles(100);
    assert_true(b.events.empty());
    *count = b.counter[e];
    return b.unit[0].runs;
}

// Each counter counts exactly its events.
TEST(bursts_lose_nothing)
{
    for (unsigned e : EVENTS) {
        uint32_t count, again;
        burst(e, 0, &count);
        assert_in_range(count, 3, 1000);
        assert_true(burst(e, count, &again));
        assert_int_equal(again, count);
        assert_false(burst(e, count + 1, &again));
        assert_int_equal(again, count);
    }
}

// EVENTs of a GPU that does not wait for the layer to begin are counted after the restart. They are
// not lost, and neither are FLAGs.
TEST(events_wait_for_the_restart)
{
    for (unsigned e : SOFTWARE) {
        for (unsigned threshold = 3; threshold < 5; threshold++) {
            gpu b;
            b.enable(1);
            b.load(0, {wait_instr(e, threshold), unit_instr(b, 0, 1, 0), END}, 0);
            b.go();
            b.event(e);
            b.event(e);
            b.cycles(b.below(RESTART));
            b.flag(e);
            b.cycles(RESTART + 2 - b.now);
            assert_int_equal(b.event_at, RESTART + 1);
            b.cycles(50);
            assert_int_equal(b.unit[0].runs, threshold == 3);
        }
    }
}

// The largest threshold is valid: no error, and the stream waits.
TEST(largest_threshold)
{
    gpu b;
    b.enable(1);
    b.load(0, {wait_instr(MW_EV_ROWS, THRESHOLDS - 1), unit_instr(b, 0, 1, 0), END}, 0);
    b.go();
    for (uint32_t i = 0; i < THRESHOLDS - 2; i++) {
        b.event(MW_EV_ROWS);
        b.cycle();
    }
    b.cycles(30);
    assert_int_equal(b.unit[0].runs, 0);
    b.event(MW_EV_ROWS);
    b.cycles(30);
    assert_int_equal(b.unit[0].runs, 1);
    b.errors.done();
}

// A delay holds its stream for its number of cycles, in whatever cycle it begins. It may take up to
// seven cycles more, in addition to those of the instructions. The other streams continue.
TEST(delays_take_their_time)
{
    for (unsigned round = 0; round < 60 && PARAM_Delay; round++) {
        gpu b;
        const uint32_t cycles = b.rng.pick({0u, 1u, 2u, 3u, 4u, 5u, 100u, 5000u, b.below(3000)});
        const unsigned start = b.below(9), s = b.below(4), other = (s + 1) % S;
        b.enable(1u << s | 1u << other, start);
        b.load(s, {delay_instr(cycles), unit_instr(b, s, 1, 0), END}, 512 * s);
        b.load(other, {wait_instr(MW_EV_ROWS, 3), unit_instr(b, other, 1, 2), END}, 512 * other);
        b.go();
        b.until("the delay to be read", 100, [&] { return b.read_at[s] != 0; });
        const uint64_t begun = b.read_at[s] + 1;
        b.cycles(100);
        for (unsigned i = 0; i < 3; i++) {
            b.event(MW_EV_ROWS);
            b.cycle();
        }
        b.cycles(30);
        assert_int_equal(b.unit[2].runs, 1);
        if (cycles > 200)
            assert_int_equal(b.unit[0].runs, 0);
        b.cycles(cycles + 60);
        assert_int_equal(b.unit[0].runs, 1);
        // Like every wait it does not end before the counters have restarted. The next instruction
        // takes its usual time.
        assert_in_range(b.issued_at[s], begun + cycles + 6,
                        std::max<uint64_t>(begun + cycles, RESTART) + 7 + 24);
        b.errors.done();
    }
}

// A wait with a delay. The stream continues that many cycles after the event that ends the wait,
// whatever the other streams start meanwhile. It may take up to 15 cycles more, in addition to
// those of the instructions. An event that came before the wait has the same effect.
TEST(polls_come_late)
{
    for (unsigned round = 0; round < 100 && PARAM_Delay; round++) {
        gpu b;
        const uint32_t cycles =
            round < 2 ? 20000 : b.rng.pick({1u, 2u, 3u, 4u, 5u, 100u, 1 + b.below(3000)});
        const bool before = round & 1, alone = round & 2;
        const unsigned s = alone ? b.below(4) : 0, event = b.rng.pick(EVENTS);
        b.enable(alone ? 1u << s : 0xf);
        b.load(s, {wait_instr(event, 2, cycles), unit_instr(b, s, 1, 1), END}, 1024 * s);
        for (unsigned o = 0; o < S;
             o++) { // the others begin delays repeatedly, and are fetched last
            std::vector<instr> p;
            for (unsigned i = 0; i < 60; i++)
                p.push_back(delay_instr(b.below(9)));
            p.push_back(END);
            if (o != s)
                b.load(o, p, 1024 * o);
        }
        b.go();
        b.cycles(RESTART + 4);
        b.event(event);
        b.cycle();
        if (!before) {
            b.cycles(b.below(200));
            assert_int_equal(b.unit[1].runs, 0);
        }
        b.event(event);
        b.cycle();
        const uint64_t met = std::max(b.now, b.read_at[s]);
        b.cycles(cycles + 60);
        assert_int_equal(b.unit[1].runs, 1);
        assert_in_range(b.issued_at[s], met + cycles, met + cycles + 15 + (alone ? 24 : 48));
        b.errors.done();
    }
}

// Every bit of a delay, alone or after a wait, holds its stream.
TEST_IF(PARAM_Delay, each_bit_delays)
{
    for (unsigned bit = 9; bit < 31; bit++) {
        gpu b;
        b.enable(3);
        b.load(0, {wait_instr(MW_EV_ROWS, 1, 1u << bit), unit_instr(b, 0, 1, 1), END}, 0);
        b.load(1, {delay_instr(1u << bit), unit_instr(b, 1, 1, 2), END}, 512);
        b.go();
        b.cycles(RESTART + 4);
        b.event(MW_EV_ROWS);
        b.cycles(400);
        assert_int_equal(b.unit[1].runs + b.unit[2].runs, 0);
    }
}

// Delays begin late: when the last one does, all low bits of the time are ones or were ones.
TEST_IF(PARAM_Delay, delays_add_up)
{
    gpu b;
    b.enable(1);
    std::vector<instr> p;
    uint32_t all = 0;
    for (unsigned bit = 8; bit < 17; bit++, all += p.back().a)
        p.push_back(delay_instr(1u << bit));
    p.push_back(unit_instr(b, 0, static_cast<unsigned>(p.size()), 1));
    p.push_back(END);
    b.load(0, p, 0);
    b.go();
    b.cycles(all + 50 * static_cast<unsigned>(p.size()));
    assert_int_equal(b.unit[1].runs, 1);
    assert_in_range(b.issued_at[0], all, all + 32 * p.size());
    b.errors.done();
}
