// SPDX-License-Identifier: Apache-2.0
//
// reduce_join for a port of five, with random gaps in partials, credits and results. The test
// drives the queues of partials and the egress. Checked:
// - sums bit for bit, in the order of distance
// - poison and stamps
// - the number of open rows, and the member whose term is next
// - the full rate, without a gap between members, packets and rows
//
// MW_SEED repeats a run.
#include "bench/dut.h"
#include "bench/values.h"
#include "map.h"

#include <algorithm>
#include <deque>

using namespace tb;

static const unsigned MEMBERS = 4;
static const unsigned FLIT = 8;
static const unsigned OPEN_ROWS = 8;

struct flit {
    uint64_t data;
    bool last, poison;
};

static const unsigned NONE = ~0u;

struct result {
    unsigned len;
    bool poison;
    unsigned bad; // the flit from which on all are marked
    uint64_t stamp;
    std::vector<uint64_t> flits;
};

struct row {
    unsigned mask, size;
    reduction_kind red = {};
    unsigned missing = 0; // members that are down when it comes, none of the mask
    uint64_t stamp = 0;   // time of its request
};

// An open row: the remaining passes on its members.
struct passes {
    unsigned mask, left;
};

struct join : model<Vreduce_join> {
    join()
    {
        dut.open_valid_i = dut.res_start_i = dut.res_read_i = dut.res_first_i = dut.res_last_i = 0;
        dut.q_has_i = dut.q_hold_i = 0;
        dut.away_i = 0;
        put_data(nullptr);
        reset();
    }

    unsigned has_percent = 100, hold_percent = 0, drain_percent = 100;
    unsigned poison_percent = 0, error_percent = 0, length_percent = 0;
    uint64_t reads = 0, first_read = 0, last_read = 0;

    // Opens rows, provides all their partials, and runs until every result has been
    // taken and checked.
    void run(const std::vector<row> &rows)
    {
        std::vector<row> stamped = rows;
        for (row &r : stamped) {
            r.stamp = rng.bits(MW_MONITOR_STAMP_BITS);
            add(r);
        }
        size_t opened = 0;
        unsigned idle = 0, here = 0, away = 0; // of the row of the previous cycle
        const uint64_t limit = now + 100000;
        while (idle < 8) {
            if (now > limit)
                fail_msg("stuck: %zu results missing", want.size());
            dut.open_valid_i = opened < rows.size() && !dut.open_full_o;
            rng.fill(&dut.open_stamp_i, sizeof dut.open_stamp_i);
            dut.open_stamp_i &= (1u << MW_MONITOR_STAMP_BITS) - 1;
            dut.away_i = static_cast<uint8_t>((rng.bits(4) | away) & ~here);
            here = away = 0;
            if (dut.open_valid_i) {
                const row &r = stamped[opened++];
                here = r.mask;
                away = r.missing;
                dut.open_mask_i = static_cast<uint8_t>(here | away);
                dut.open_bytes_i = static_cast<uint16_t>(r.size - 1);
                dut.open_red_i = r.red.bits();
                dut.open_stamp_i = static_cast<uint32_t>(r.stamp);
                open.push_back({here, static_cast<unsigned>(__builtin_popcount(here)) *
                                          ((r.size + 127) / 128)});
            }
            egress();
            cycle();
            idle = want.empty() && dut.idle_o ? idle + 1 : 0;
        }
        for (auto &q : queue)
            assert_true(q.empty());
    }

  private:
    std::deque<std::vector<flit>> queue[MEMBERS]; // packets
    std::deque<result> want;
    // rows, and how many of them level_o counts: not the one that came in the previous cycle
    std::deque<passes> open;
    size_t level = 0;
    bool came = false, inside = false; // inside: the oldest row is in a pass that is not its first
    unsigned rest = 0; // remaining members of its packet, none before its first pass
    // egress
    unsigned sending = 0; // cycles since start, 0: none
    result got;

    uint64_t random_flit()
    {
        uint64_t f = 0;
        for (unsigned i = 0; i < 4; i++)
            f |= static_cast<uint64_t>(random_bf16(rng)) << 16 * i;
        return f;
    }

    void add(const row &r)
    {
        for (unsigned at = 0; at < r.size; at += 128) {
            result w = {
                std::min(128u, r.size - at), r.mask == 0 || r.missing != 0, NONE, r.stamp, {}};
            unsigned n = (w.len + FLIT - 1) / FLIT;
            std::vector<std::vector<uint64_t>> terms;
            for (unsigned d = 0; d < MEMBERS; d++) {
                if (!(r.mask >> d & 1))
                    continue;
                bool last_member = r.mask >> (d + 1) == 0;
                std::vector<flit> p;
                bool poison = percent(poison_percent);
                for (unsigned k = 0; k < n; k++)
                    p.push_back({random_flit(), k + 1 == n, poison});
                terms.emplace_back();
                for (const flit &x : p)
                    terms.back().push_back(x.data);
                unsigned late = NONE; // the first flit that shows it
                if (percent(error_percent)) {
                    p[n - 1].poison = true;
                    late = n - 1;
                }
                if (percent(length_percent)) { // too long, or it ends at any flit
                    late = below(n);
                    p[late].last = !p[late].last;
                }
                // a fault after the first flit of the last member is found after the header has
                // left
                bool header_has_left = last_member && late != 0;
                if (poison || (late != NONE && !header_has_left))
                    w.poison = true;
                if (late != NONE && header_has_left && !w.poison)
                    w.bad = late;
                queue[d].push_back(p);
            }
            w.flits.assign(n, 0);
            std::vector<const void *> pointers;
            for (const auto &t : terms)
                pointers.push_back(t.data());
            mw_reduce_rows(r.red.dtype, r.red.redop, pointers.data(), pointers.size(), n * FLIT,
                           w.flits.data());
            want.push_back(w);
        }
    }

    void put_data(const flit *f)
    {
        dut.q_data_i[0] = f ? static_cast<uint32_t>(f->data) : 0;
        dut.q_data_i[1] = f ? static_cast<uint32_t>(f->data >> 32) : 0;
        dut.q_data_i[2] = f ? static_cast<uint32_t>(f->last | f->poison << 1) : 0;
    }

    // Takes a result like egress: header first, then its flits in consecutive cycles.
    void egress()
    {
        dut.res_start_i = dut.res_read_i = dut.res_first_i = dut.res_last_i = 0;
        unsigned flits = (got.len + FLIT - 1) / FLIT;
        bool may_start = !sending;
        if (sending) {
            if (sending > 2) {
                dut.res_read_i = 1;
                dut.res_first_i = sending == 3;
                dut.res_last_i = sending == 2 + flits;
                got.flits.push_back(dut.res_data_o);
                if (dut.res_err_o && got.bad == NONE)
                    got.bad = sending - 3;
                assert_int_equal(dut.res_err_o, got.bad != NONE);
            }
            may_start = sending == 2 + flits;
            sending++;
            if (may_start) {
                assert_false(want.empty());
                const result &w = want.front();
                assert_int_equal(got.len, w.len);
                assert_int_equal(got.poison, w.poison);
                assert_int_equal(got.bad, w.bad);
                SAME(got.stamp, w.stamp);
                for (size_t i = 0; i < w.flits.size(); i++)
                    assert_int_equal(got.flits[i], w.flits[i]);
                want.pop_front();
                sending = 0;
            }
        }
        if (may_start && dut.res_valid_o && percent(drain_percent)) {
            dut.res_start_i = 1;
            got = {dut.res_len_o + 1u, dut.res_poison_o != 0, NONE, dut.res_stamp_o, {}};
            sending = 1;
        }
    }

    void cycle() override
    {
        uint8_t has = 0, hold = 0, may = 0;
        for (unsigned d = 0; d < MEMBERS; d++) {
            // like on the link, a packet that has begun never pauses
            bool begun = dut.q_idx_o != 0;
            if (!queue[d].empty() && (begun || percent(has_percent)))
                has |= static_cast<uint8_t>(1u << d);
            if (percent(hold_percent))
                hold |= static_cast<uint8_t>(1u << d);
            if (!percent(hold_percent))
                may |= static_cast<uint8_t>(1u << d);
        }
        dut.q_has_i = has;
        dut.q_hold_i = hold;
        dut.q_may_i = may;
        settle();
        assert_int_equal(dut.q_want_o & (dut.q_want_o - 1), 0);
        assert_int_equal(dut.q_want_o & ~has, 0);
        SAME(dut.level_o, level);
        SAME(dut.open_full_o, level + came >= OPEN_ROWS);
        if (!rest && !open.empty())
            rest = open.front().mask;
        const unsigned turn = rest & (~rest + 1);
        assert_int_equal(dut.q_want_o & ~turn, 0);
        if (inside)
            SAME(dut.q_wait_o, turn & ~has);
        else
            assert_int_equal(dut.q_wait_o & ~(turn & ~has), 0);
        bool taken = false;
        flit f = {};
        for (unsigned d = 0; d < MEMBERS; d++) {
            if (dut.q_re_o >> d & 1) {
                assert_false(taken);
                assert_true(has >> d & 1);
                if (dut.q_idx_o == 0) { // a pass begins
                    assert_false(hold >> d & 1);
                    assert_true(may & dut.q_want_o & 1u << d);
                }
                f = queue[d].front()[dut.q_idx_o];
                taken = true;
                if (!reads++)
                    first_read = now;
                last_read = now;
            }
            if (dut.q_done_o >> d & 1) {
                assert_true(dut.q_re_o >> d & 1);
                queue[d].pop_front();
                SAME(1u << d, turn);
                rest &= ~turn;
                open.front().left--;
                inside = true;
            }
        }
        // one without members at any time
        if (open.empty() || open.front().mask)
            SAME(dut.row_done_o, inside && !open.front().left);
        if (dut.row_done_o) {
            assert_false(open.empty());
            open.pop_front();
            inside = false;
            level--;
        }
        level += came;
        came = dut.open_valid_i;
        edge();
        put_data(taken ? &f : nullptr);
        settle();
    }
};

static std::vector<row> random_rows(dice &rng, unsigned count, bool empty)
{
    std::vector<row> rows;
    for (unsigned i = 0; i < count; i++) {
        unsigned mask = rng.below(16);
        rows.push_back(
            {mask || empty ? mask : 5, 1 + rng.below(rng.one_in(3) ? 40 : 700), random_kind(rng)});
    }
    return rows;
}

TEST(sums_under_random_gaps)
{
    for (unsigned round = 0; round < 12; round++) {
        join b;
        b.has_percent = round % 3 == 0 ? 100 : 20 + b.below(80);
        b.hold_percent = round % 3 == 1 ? 0 : b.below(60);
        b.drain_percent = round % 3 == 2 ? 100 : 10 + b.below(90);
        b.run(random_rows(b.rng, 120, true));
    }
}

TEST(poisons_what_is_not_valid)
{
    for (unsigned round = 0; round < 8; round++) {
        join b;
        b.poison_percent = b.error_percent = b.length_percent = 10;
        std::vector<row> rows = random_rows(b.rng, 120, true);
        for (row &r : rows)
            r.missing = b.rng.one_in(5) ? b.below(16) & ~r.mask : 0;
        b.has_percent = 60;
        b.drain_percent = 50;
        b.run(rows);
    }
}

// A flit is read in every cycle, from the first one to the last one of all members, across packets
// and rows.
TEST(reads_a_flit_in_every_cycle)
{
    for (unsigned mask : {3u, 7u, 15u}) {
        join b;
        b.run(std::vector<row>(20, row{mask, 1024}));
        assert_int_equal(b.last_read - b.first_read + 1, b.reads);
    }
}

// With one member the result, header included, sets the rate: the link is never idle.
TEST(one_member_keeps_the_link_full)
{
    join b;
    b.run(std::vector<row>(20, row{2, 1024}));
    assert_in_range(b.last_read - b.first_read + 1, 20 * 8 * 16, 20 * 8 * 18);
}
