// SPDX-License-Identifier: Apache-2.0
//
// Parts of a switch port that stand alone, each under anything that its interface allows, against
// a model of it made of that interface and docs/design/microarchitecture/switch.md. What is not
// under test gets any input.

#include "Vswitch_parts.h"

#include "bench/dut.h"

#include "errors.h"
#include "map.h"
#include "packet.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>

namespace {
constexpr unsigned N = PARAM_N, CTRL_PKTS = PARAM_CtrlPkts, OPEN_ROWS = PARAM_OpenRows;
constexpr unsigned ALL = (1u << N) - 1;

struct parts : tb::model<Vswitch_parts> {
    parts() { reset(); }
    void drive() override
    {
        tb::inputs<Vswitch_parts>::each(
            dut, [&](auto &port, unsigned width) { tb::scramble(port, width, rng); });
        dut.go_i = dut.grant_push_i = 0; // a row only where there is a place
    }
};
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
        dut.join_code_i = static_cast<uint8_t>(rng.between(1, 255)); // whatever stands for an error
        dut.join_link_code_i = static_cast<uint8_t>(percent(20) ? rng.between(1, 255) : 0);
        const unsigned what = below(6); // the parser is at one of these
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
        // packets come whole, and not at all while the port is shut
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
        // the class is that of the first flit; what follows a cut is dropped
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
        // errors: one a cycle, the lowest port first
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

// ---- port_counters, monitor_port, switch_monitor ----
struct counted : parts {
    uint64_t counts[N][15] = {};
    unsigned left[N][2] = {};
    bool first[N][2] = {}, quiet = false, runs = false;
    bool leaves = false; // packets leave though all else is quiet
    unsigned interval = 0, in_interval = 0, classes = 15;
    std::map<unsigned, uint64_t> bins[N];
    std::vector<std::array<unsigned, 4>> samples[N];
    std::array<unsigned, 4> sum[N] = {};
    bool go = false, ran = false;

    void drive() override
    {
        parts::drive();
        dut.go_i = go;
        dut.run_i = runs;
        dut.ctl_mon_interval_i = static_cast<uint16_t>(interval);
        dut.ctl_mon_classes_i = static_cast<uint8_t>(classes);
        dut.ctl_mon_read_i = 0;
        for (unsigned p = 0; p < N; p++) {
            dut.events_i[p] =
                quiet ? 0 : static_cast<uint8_t>(rng.bits(5) | (percent(60) ? 31 : 0));
            dut.link_valid_i[p] = quiet ? 0 : static_cast<uint8_t>(rng.bits(2) | rng.bits(2));
            // a header, and no more bytes than flits have
            unsigned len = dut.link_len_i[p], last = 0;
            for (unsigned d = 0; d < 2; d++) {
                if (!(dut.link_valid_i[p] >> d & 1))
                    continue;
                if (!left[p][d]) {
                    const unsigned bytes = below(129);
                    left[p][d] = 1 + (bytes + 15) / 16;
                    len = (len & ~(255u << 8 * d)) | bytes << 8 * d;
                }
                last |= (--left[p][d] == 0) << d;
            }
            dut.link_len_i[p] = static_cast<uint16_t>(len);
            dut.link_last_i[p] = static_cast<uint8_t>(last);
        }
        if (quiet && !leaves)
            dut.leave_i = 0;
        for (unsigned p = 0; p < N; p++) // mostly short
            if (percent(80))
                dut.leave_stamp_i[p] =
                    (dut.common_now_o - static_cast<uint32_t>(rng.bits(below(17)))) & 0x1ffff;
    }
    void sample() override
    {
        const bool counts_now = runs && interval > 1;
        SAME(dut.common_now_o, now & ((1u << MW_MONITOR_STAMP_BITS) - 1));
        for (unsigned p = 0; p < N; p++) {
            for (unsigned d = 0; d < 2; d++) {
                if (!(dut.link_valid_i[p] >> d & 1))
                    continue;
                const unsigned cls = dut.link_cls_i[p] >> 2 * d & 3;
                counts[p][4 * d + cls]++;
                if (first[p][d] && (cls == MW_CLS_STORE || cls == MW_CLS_PART))
                    counts[p][8 + d] += dut.link_len_i[p] >> 8 * d & 255;
                first[p][d] = dut.link_last_i[p] >> d & 1;
            }
            for (unsigned e = 0; e < 5; e++)
                counts[p][10 + e] += dut.events_i[p] >> e & 1;
            if (dut.leave_i >> p & 1 && classes >> dut.leave_cls_i[p] & 1) {
                const unsigned latency = (dut.common_now_o + 2 - dut.leave_stamp_i[p]) &
                                         ((1u << MW_MONITOR_STAMP_BITS) - 1);
                unsigned bin = latency;
                if (latency >= 8) { // four to the octave
                    const unsigned octave = 31 - static_cast<unsigned>(__builtin_clz(latency));
                    bin = 4 * (octave - 1) + (latency >> (octave - 2) & 3);
                }
                bins[p][bin]++;
            }
            if (counts_now) {
                sum[p][0] += dut.link_valid_i[p] & 1;
                sum[p][1] += dut.link_valid_i[p] >> 1 & 1;
                sum[p][2] += dut.events_i[p] >> 2 & 1;
                sum[p][3] += dut.events_i[p] >> 1 & 1;
            }
        }
        in_interval += counts_now;
        if ((counts_now && in_interval == interval) || (ran && !runs && in_interval)) {
            for (unsigned p = 0; p < N; p++) {
                samples[p].push_back(sum[p]);
                sum[p] = {};
            }
            in_interval = 0;
        }
        ran = runs;
        if (dut.go_i) {
            memset(counts, 0, sizeof counts);
            for (unsigned p = 0; p < N; p++) {
                first[p][0] = first[p][1] = true;
                left[p][0] = left[p][1] = 0;
                bins[p].clear();
                samples[p].clear();
                sum[p] = {};
            }
            in_interval = 0;
        }
    }
    void layer_begins()
    {
        quiet = true;
        cycles(5);
        leaves = false;
        go = true;
        cycle();
        go = false;
        runs = true;
        quiet = false;
    }
    void layer(unsigned cycles_of_it)
    {
        layer_begins();
        cycles(cycles_of_it);
        runs = false;
        quiet = true;
        cycles(8);
    }
    // A layer that has no end: its port is reset, or another one begins.
    void cut_layer(unsigned cycles_of_it, bool by_reset)
    {
        layer_begins();
        cycles(cycles_of_it);
        quiet = true;
        leaves = !by_reset;
        if (!by_reset)
            return;
        runs = ran = false;
        reset();
    }
    uint64_t counter(unsigned p, unsigned i)
    {
        for (unsigned k = 0; k < 3; k++) {
            drive();
            dut.ctl_cnt_port_i = static_cast<uint8_t>(p);
            dut.ctl_cnt_idx_i = static_cast<uint8_t>(i);
            settle();
            edge();
        }
        return dut.cnt_data_o;
    }
    uint32_t word(unsigned p, bool series, unsigned i)
    {
        drive();
        dut.ctl_mon_port_i = static_cast<uint8_t>(p);
        dut.ctl_mon_series_i = series;
        dut.ctl_mon_word_i = static_cast<uint8_t>(i);
        dut.ctl_mon_read_i = 1;
        settle();
        edge();
        settle();
        edge();
        return dut.mon_data_o;
    }
};

// ---- grant_queue ----
struct grants : parts {
    static constexpr unsigned PLACES = 16, LANES = 3, PATIENCE = 15; // cycles behind the first
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
        if (rng.one_in(64)) { // rows in bursts, and outputs that are taken for long
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
        decided = !dut.grant_full_o && percent(rate); // as row_open: it comes a cycle later
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

/// All of its 16 places, the one for the row that was decided on in the cycle before among them.
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

TEST(port_counters)
{
    counted b;
    uint32_t lows = 0; // the low five bits have a code of their own, of which each word is met
    auto read_all = [&] {
        for (unsigned p = 0; p < N; p++)
            for (unsigned i = 0; i < 15; i++) {
                SAME(b.counter(p, i), b.counts[p][i]);
                if (i != 8 && i != 9) // numbers of bytes have none
                    lows |= 1u << (b.counts[p][i] & 31);
            }
    };
    for (unsigned n : {1u, 40u, 3000u, 9000u}) {
        b.layer(n);
        read_all();
        for (unsigned p = N; p < 32; p++) // not there
            SAME(b.counter(p, p % 15), 0U);
    }
    for (unsigned n = 0; n < 100 && ~lows; n++) {
        b.layer(1 + b.below(60));
        read_all();
    }
    SAME(lows, ~0u);
}

TEST(monitor_port)
{
    counted b;
    for (unsigned n : {1u, 500u, 4000u}) {
        b.classes = static_cast<unsigned>(b.rng.bits(4));
        b.layer(n);
        for (unsigned p = 0; p < N; p++)
            for (unsigned i = 0; i < MW_MONITOR_BINS; i++)
                SAME(b.word(p, false, i), b.bins[p].count(i) ? b.bins[p][i] : 0);
    }
}

static void same_series(counted &b)
{
    const size_t taken = b.samples[0].size();
    SAME(b.dut.mon_samples_o, taken);
    for (unsigned p = 0; p < N; p++)
        for (size_t s = taken > MW_MONITOR_SAMPLES ? taken - MW_MONITOR_SAMPLES : 0; s < taken;
             s++) {
            const unsigned at = 2 * (s % MW_MONITOR_SAMPLES);
            const auto &must = b.samples[p][s];
            SAME(b.word(p, true, at), must[0] | must[1] << 16);
            SAME(b.word(p, true, at + 1), must[2] | must[3] << 16);
        }
}

TEST(switch_monitor)
{
    counted b;
    for (unsigned interval : {0u, 1u, 2u, 3u, 17u, 250u, 9000u, 0xffffu}) {
        const unsigned length = interval < 500 ? 1000 : 2 * interval - 7;
        b.interval = interval;
        b.layer(length);
        SAME(b.samples[0].size(), interval > 1 ? (length + interval - 1) / interval : 0);
        same_series(b);
    }
}

// Counters, histogram and first sample behind a layer that was cut off inside an interval are those
// of the new layer alone.
TEST(layers_behind_one_that_was_cut_off)
{
    counted b;
    for (unsigned i = 0; i < 12; i++) {
        b.interval = b.rng.pick({2u, 17u, 250u});
        b.classes = static_cast<unsigned>(b.rng.bits(4));
        b.cut_layer(1 + b.below(400), i % 2);
        if (i % 2)
            b.interval = b.rng.pick({17u, 250u});
        b.layer(1 + b.below(600));
        same_series(b);
        for (unsigned p = 0; p < N; p++) {
            for (unsigned n = 0; n < MW_MONITOR_BINS; n++)
                SAME(b.word(p, false, n), b.bins[p].count(n) ? b.bins[p][n] : 0);
            for (unsigned n = 0; n < 15; n++)
                SAME(b.counter(p, n), b.counts[p][n]);
        }
    }
}
