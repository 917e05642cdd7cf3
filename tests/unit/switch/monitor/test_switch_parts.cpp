// SPDX-License-Identifier: Apache-2.0
//
// Parts of a switch port with any input that their interfaces permit: errors, credits, time limits,
// dummy partials, GRANTs, and the guard of an uplink.

#include "switch_parts.h"

namespace {
unsigned ones(unsigned set)
{
    return static_cast<unsigned>(__builtin_popcount(set));
}

// ---- error_join ----
struct errors : parts {
    unsigned waits = 0, shown = 0, both = 0;
    void drive() override
    {
        parts::drive();
        dut.join_code_i = static_cast<uint8_t>(rng.between(1, 255)); // any error code
        dut.join_link_code_i = static_cast<uint8_t>(percent(20) ? rng.between(1, 255) : 0);
        const unsigned what = below(6); // the parser is in one of these states
        dut.join_row_err_valid_i = percent(20);
        dut.join_row_err_code_i = static_cast<uint8_t>(rng.between(1, 255));
        dut.join_reject_i = what == 0;
        dut.join_cut_i = what == 1;
        dut.join_end_i = what == 2;
    }
    void sample() override
    {
        SAME(dut.join_valid_o, shown != 0);
        if (shown)
            SAME(dut.join_code_o, shown);
        SAME(dut.join_waits_o, waits != 0);
        const bool spoilt = dut.join_cut_i || (dut.join_end_i && dut.join_wrong_i);
        const unsigned parser = dut.join_reject_i ? dut.join_code_i
                                : spoilt          ? unsigned{MW_HWERR_LENGTH}
                                                  : 0;
        both += parser && waits;
        shown = parser ? parser : waits;
        if (!parser)
            waits = 0;
        if (dut.join_link_code_i) // the last one counts
            waits = dut.join_link_code_i;
        if (dut.join_row_err_valid_i)
            waits = dut.join_row_err_code_i;
    }
};

// ---- credit_return ----
struct credits_back : parts {
    unsigned ctrl = 0, out = CTRL_PKTS, hold = 0, notified = 0; // to give back; packets inside
    std::array<unsigned, 32> parts_notified{}, parts_done{};

    void drive() override
    {
        parts::drive();
        dut.crd_room_i = static_cast<uint8_t>(percent(50) ? ALL : rng.bits(N));
        dut.crd_ctrl_drop_i = out && percent(30);
        unsigned free = static_cast<unsigned>(rng.bits(N) & rng.bits(N));
        while (ones(free) + dut.crd_ctrl_drop_i > out)
            free &= free - 1;
        dut.crd_ctrl_free_i = static_cast<uint8_t>(free);
        dut.crd_part_done_i = static_cast<uint8_t>(rng.bits(N) & rng.bits(N) & ~hold);
    }
    void sample() override
    {
        const unsigned lowest = hold ? static_cast<unsigned>(__builtin_ctz(hold)) : 0;
        SAME(dut.crd_cls_o, (ctrl != 0) | (dut.crd_room_i == ALL) << 1 | (hold != 0) << 3);
        SAME(dut.crd_part_hold_o, hold);
        SAME(dut.crd_idle_o, dut.crd_cls_o == 0);
        if (hold)
            SAME(dut.crd_part_o, lowest);
        const unsigned freed = ones(dut.crd_ctrl_free_i) + dut.crd_ctrl_drop_i, back = ctrl != 0;
        ctrl += freed - back;
        out -= freed;
        out = std::min(CTRL_PKTS, out + back);
        hold = (hold & (hold - 1)) | dut.crd_part_done_i;
    }
};

// ---- stall_timer ----
struct timers : parts {
    unsigned ticks[4] = {}, late = 0;
    void drive() override
    {
        parts::drive();
        dut.timer_tick_i = static_cast<uint8_t>(rng.bits(4) & rng.bits(4));
        dut.timer_wait_i = static_cast<uint8_t>(rng.bits(4) | rng.bits(4) | rng.bits(4));
    }
    void sample() override
    {
        for (unsigned i = 0; i < 4; i++) {
            SAME(dut.timer_late_o >> i & 1, ticks[i] == 3);
            late += ticks[i] == 3;
            if (!(dut.timer_wait_i >> i & 1))
                ticks[i] = 0;
            else if (dut.timer_tick_i >> i & 1)
                ticks[i] = std::min(3u, ticks[i] + 1);
        }
    }
};

// ---- dummy_partial ----
struct dummy : parts {
    unsigned old = 0, ticks = 0, late = 0, waits = 0;
    bool stands = false;
    void drive() override
    {
        parts::drive();
        dut.stand_tick_i = percent(30);
        dut.stand_mark_i = percent(3);
        dut.stand_level_i = static_cast<uint8_t>(below(OPEN_ROWS + 1));
        dut.stand_row_done_i = percent(20) && dut.stand_level_i;
        if (percent(8))
            waits = below(N + 1);
        dut.stand_wait_i = static_cast<uint8_t>(waits < N ? 1u << waits : 0);
        dut.stand_re_i = static_cast<uint8_t>(percent(50) ? 1u << below(N) : 0);
        dut.stand_done_i = percent(30) ? dut.stand_re_i : 0;
    }
    void sample() override
    {
        SAME(dut.stand_has_o, dut.stand_has_i | dut.stand_down_i);
        SAME(dut.stand_re_o, dut.stand_re_i & dut.stand_has_i);
        SAME(dut.stand_done_o, dut.stand_done_i & dut.stand_has_i);
        SAME(dut.stand_term_o & 0x1ffff, dut.stand_term_i & 0x1ffff);
        if (now > 1)
            SAME(dut.stand_term_o >> 17, (dut.stand_term_i >> 17) | stands);
        SAME(dut.stand_late_o, ticks == 3 ? dut.stand_wait_i : 0);
        SAME(dut.stand_old_o, old != 0);
        late += dut.stand_late_o != 0;
        stands = dut.stand_re_i & ~dut.stand_has_i;
        ticks = !dut.stand_wait_i ? 0 : std::min(3u, ticks + dut.stand_tick_i);
        if (dut.stand_mark_i)
            old = dut.stand_level_i - dut.stand_row_done_i;
        else if (dut.stand_row_done_i && old)
            old--;
    }
};

// ---- port_guard ----
struct guard : parts {
    enum { UP, MARKED, SHUT, DOWN, DRAIN, FLUSH } state = UP;
    unsigned steps = 0, ticks[4] = {}, cls = 0, why = 0, codes[32] = {}, left = 0, pauses = 10,
             cuts = 0;
    bool open = false, drop = false, shut = false, report = false;
    unsigned starved = 0, flushes = 0;

    void drive() override
    {
        parts::drive();
        if (rng.one_in(300))
            pauses = rng.pick({0u, 10u, 100u});
        if (!left && percent(60))
            left = percent(3) ? 60 : 1 + below(12);
        dut.guard_up_valid_i = left && !percent(pauses);
        dut.guard_up_last_i = dut.guard_up_valid_i ? left == 1 : percent(50);
        left -= dut.guard_up_valid_i;
        dut.guard_tick_i = static_cast<uint8_t>(percent(10) | percent(8) << 1 | percent(6) << 2);
        if (rng.one_in(40))
            starved = static_cast<unsigned>(rng.bits(3) & rng.bits(3));
        dut.guard_starved_i = static_cast<uint8_t>(starved);
        dut.guard_late_i = rng.one_in(400);
        dut.guard_disable_i = rng.one_in(300);
        dut.guard_enable_i = rng.one_in(20);
        dut.guard_step_i = rng.one_in(6);
        dut.guard_ready_i = rng.one_in(4);
        dut.guard_drained_i = rng.one_in(4);
        dut.guard_report_take_i =
            report && (percent(30) || state >= DOWN); // long before it is up again
    }
    void sample() override
    {
        const bool valid = dut.guard_up_valid_i, flush = state == FLUSH, down = state >= DOWN;
        SAME(dut.guard_down_o, down);
        SAME(dut.guard_flush_o, flush);
        SAME(dut.guard_report_o, report);
        if (report)
            SAME(dut.guard_report_code_o, why);
        // packets come complete, and none comes while the port is shut
        const bool inside = open && !drop, cut = inside && (shut || !valid);
        SAME(dut.guard_in_valid_o, inside || (valid && !open && !shut));
        if (dut.guard_in_valid_o) {
            SAME(dut.guard_in_last_o, cut || dut.guard_up_last_i);
            SAME(dut.guard_in_err_o, cut || dut.guard_up_err_i);
            SAME(dut.guard_in_cls_o, open ? cls : unsigned{dut.guard_up_cls_i});
            if (!cut)
                SAME(dut.guard_in_data_o, dut.guard_up_data_i);
        }
        SAME(dut.guard_drop_o, cut || (valid && !open && shut));
        cuts += cut;

        const bool sinks = ticks[0] == 3 || ticks[1] == 3 || ticks[2] == 3,
                   overdue = dut.guard_late_i, endless = ticks[3] == 3;
        const unsigned waits[4] = {starved & 1, starved >> 1 & 1, starved >> 2 & 1, open};
        const unsigned tick[4] = {dut.guard_tick_i & 1u, dut.guard_tick_i >> 1 & 1u,
                                  dut.guard_tick_i >> 2 & 1u, dut.guard_tick_i & 1u};
        for (unsigned i = 0; i < 4; i++)
            ticks[i] = !waits[i] || state != UP ? 0 : std::min(3u, ticks[i] + tick[i]);
        if (dut.guard_report_take_i)
            report = false;
        const bool marked = state != UP;
        switch (state) {
        case UP:
            if (sinks || overdue || endless) {
                report = true;
                why = sinks ? MW_HWERR_SINK : overdue ? MW_HWERR_LATE : MW_HWERR_OPEN;
                codes[why]++;
            }
            if (sinks || overdue || endless || dut.guard_disable_i)
                state = MARKED;
            break;
        case MARKED:
            state = SHUT;
            break;
        case SHUT:
            if (dut.guard_written_i)
                state = DOWN;
            break;
        case DOWN:
            if (dut.guard_enable_i)
                state = DRAIN;
            break;
        case DRAIN:
            if (dut.guard_drained_i)
                state = FLUSH;
            steps = 0;
            break;
        default:
            if (steps == 2 && dut.guard_ready_i) {
                state = UP;
                flushes++;
            } else if (steps < 2) {
                steps += dut.guard_step_i;
            }
        }
        // The class is that of the first flit. Flits after a cut are dropped.
        if (!open) {
            drop = shut;
            cls = dut.guard_up_cls_i;
        } else if (shut || !valid) {
            drop = true;
        }
        if (flush)
            open = false;
        else if (valid)
            open = !dut.guard_up_last_i;
        shut = marked;
    }
};

// ---- switch_common ----
struct common : parts {
    unsigned store = 0, part = 0, ticks[3] = {}, since[3] = {}, limit = 3, held[32] = {},
             throttle = 0, steps = 0;
    bool settled = false;
    void drive() override
    {
        parts::drive();
        dut.ctl_limit_i = static_cast<uint8_t>(limit);
        dut.ctl_throttle_i = static_cast<uint8_t>(throttle);
        if (percent(50))
            for (unsigned p = 0; p < N; p++)
                dut.err_valid_i[p] = 0;
    }
    static unsigned limited(unsigned asked, unsigned most)
    {
        return asked && asked < most ? asked : most;
    }
    void sample() override
    {
        if (now > 1) {
            SAME(dut.common_store_limit_o, store);
            SAME(dut.common_part_limit_o, part);
        }
        store = limited(dut.ctl_store_credits_i, PARAM_RxStorePkts);
        part = limited(dut.ctl_part_credits_i, PARAM_RxResultPkts);
        SAME(dut.common_window_limit_o, std::min<unsigned>(dut.ctl_window_i, PARAM_Window));
        // errors: one per cycle, the lowest port first
        unsigned first = 0;
        while (first < N && !dut.err_valid_i[first])
            first++;
        SAME(dut.err_valid_o, first < N);
        SAME(dut.err_take_o, first < N ? 1u << first : 0);
        if (first < N) {
            SAME(dut.err_port_o, first);
            SAME(dut.err_code_o, dut.err_code_i[first]);
        }
        for (unsigned k = 0; k < 3; k++) {
            since[k]++;
            if (!(dut.common_tick_o >> k & 1))
                continue;
            if (ticks[k]++)
                SAME(since[k], 1u << (limit + k));
            since[k] = 0;
        }
        for (unsigned p = 0; p < N; p++)
            held[p] += dut.hold_o >> p & 1;
        if (dut.common_step_o)
            SAME(now % 32, 31);
        steps += dut.common_step_o;
    }
};

// ---- grant_queue ----
struct grants : parts {
    static constexpr unsigned PLACES = 16, LANES = 3, PATIENCE = 15; // cycles after the first
    struct row {
        unsigned home, index;
    };
    std::deque<row> waiting, lanes; // in the queue, and in the packet that is being filled
    unsigned age = 0, rate = 100, egress = 0; // percent
    bool decided = false;                     // a row is opened, and comes in this cycle
    unsigned filled = 0, full = 0, packets = 0, short_packets = 0;

    bool ready() const { return lanes.size() == LANES || age == PATIENCE; }

    void drive() override
    {
        parts::drive();
        if (rng.one_in(64)) { // rows in bursts, and outputs that are busy for long
            rate = rng.pick({0u, 3u, 30u, 100u});
            egress = rng.pick({0u, 5u, 50u, 100u});
        }
        dut.grant_push_i = decided;
        dut.grant_home_i = below(N);
        dut.grant_index_i = static_cast<uint16_t>(rng.bits(PARAM_TokensLog2));
        dut.grant_sent_i = ready() && percent(egress);
    }
    void sample() override
    {
        uint64_t upper = 0;
        for (unsigned l = 0; l < lanes.size(); l++)
            upper |= mw_lane_pack(lanes[l].index, lanes[l].home, 1) << MW_LANE_BITS * l;
        SAME(dut.grant_full_o, waiting.size() >= PLACES - 1);
        SAME(dut.grant_valid_o, ready());
        SAME(dut.grant_upper_o, upper);
        SAME(dut.grant_idle_o, waiting.empty() && lanes.empty());
        filled += waiting.size() == PLACES;
        full += dut.grant_full_o;
        const bool pop = !waiting.empty() && !ready();
        if (dut.grant_sent_i) {
            packets++;
            short_packets += lanes.size() < LANES;
            lanes.clear();
            age = 0;
        } else {
            age += !lanes.empty() && age < PATIENCE;
            if (pop) {
                lanes.push_back(waiting.front());
                waiting.pop_front();
            }
        }
        if (dut.grant_push_i)
            waiting.push_back({dut.grant_home_i, dut.grant_index_i});
        decided = !dut.grant_full_o && percent(rate); // like row_open: it comes a cycle later
    }
};
} // namespace

TEST(error_join)
{
    errors b;
    b.cycles(20000);
    assert_true(b.both > 100);
}

TEST(credit_return)
{
    credits_back b;
    b.cycles(20000);
}

TEST(stall_timer)
{
    timers b;
    b.cycles(20000);
    assert_true(b.late > 100);
}

TEST(dummy_partial)
{
    dummy b;
    b.cycles(20000);
    assert_true(b.late > 100);
}

/// All of its 16 places, including the one for the row that was selected in the previous cycle.
TEST(grant_queue)
{
    grants b;
    b.cycles(40000);
    assert_true(b.filled > 300 && b.full > 1000);
    assert_true(b.packets > 1000 && b.short_packets > 100);
}

TEST(port_guard)
{
    guard b;
    b.cycles(60000);
    for (unsigned code : {MW_HWERR_SINK, MW_HWERR_OPEN, MW_HWERR_LATE})
        assert_true(b.codes[code] > 10);
    assert_true(b.cuts > 100 && b.flushes > 30);
}

TEST(switch_common)
{
    for (unsigned limit : {1u, 3u, 6u, 0u}) {
        common b;
        b.limit = limit;
        b.cycles(8000);
        for (unsigned k = 0; k < 3; k++)
            assert_true(limit ? b.ticks[k] > 10 : b.ticks[k] == 0);
        assert_int_equal(b.steps, 250);
        for (unsigned p = 0; p < N; p++)
            assert_int_equal(b.held[p], 0);
    }
    { // a period that none of the low 15 bits has
        common b;
        b.limit = 16;
        b.cycles((3 << 16) + 3);
        assert_in_range(b.ticks[0], 2, 3);
    }
    for (unsigned throttle : {64u, 200u}) {
        common b;
        b.throttle = throttle;
        b.cycles(20000);
        for (unsigned p = 0; p < N; p++)
            assert_in_range(b.held[p], 20000 * throttle / 256 * 9 / 10,
                            20000 * throttle / 256 * 11 / 10);
    }
}
