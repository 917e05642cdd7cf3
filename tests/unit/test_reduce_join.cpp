// SPDX-License-Identifier: Apache-2.0
//
// reduce_join for a port of five: sums bit for bit in the order of distance under random gaps in
// partials, credits and results; poison; the full rate without a gap between members, packets and rows. The test plays the queues of
// partials and the egress. MW_SEED repeats a run.

#include "Vreduce_join.h"
#include "verilated.h"

#include "reduce.h"

#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

extern "C" {
#include <cmocka.h>
}

static const unsigned MEMBERS = 4;
static const unsigned FLIT = 8;
static const unsigned WINDOW = 8;
static uint64_t seed;

struct flit {
    uint64_t data;
    bool last, poison;
};

struct result {
    unsigned len;
    bool poison, err;
    std::vector<uint64_t> flits;
};

struct row {
    unsigned mask, bytes;
    unsigned dtype = MW_DTYPE_BF16, redop = MW_REDOP_ADD;
    unsigned missing = 0; // members that are away when it comes, none of the mask
};

class bench {
  public:
    explicit bench(uint64_t s) : rng(s)
    {
        dut.clk_i = 0;
        dut.rst_ni = 0;
        dut.open_valid_i = dut.res_start_i = dut.res_read_i = dut.res_first_i = dut.res_last_i = 0;
        dut.q_has_i = dut.q_hold_i = 0;
        dut.away_i = 0;
        put_data(nullptr);
        edge();
        edge();
        dut.rst_ni = 1;
    }

    unsigned has_percent = 100, hold_percent = 0, drain_percent = 100;
    unsigned poison_percent = 0, error_percent = 0, length_percent = 0;
    uint64_t reads = 0, first_read = 0, last_read = 0, now = 0;
    unsigned rows_done = 0;

    // Opens rows, provides all their partials, and runs until every result has been taken and checked.
    void run(const std::vector<row> &rows)
    {
        for (const row &r : rows)
            add(r);
        size_t opened = 0;
        unsigned idle = 0, here = 0, away = 0; // of the row that came a cycle before
        for (uint64_t limit = now + 100000; idle < 8; now++) {
            if (now > limit)
                fail_msg("stuck: %zu results missing", want.size());
            dut.open_valid_i = opened < rows.size() && !dut.open_full_o;
            dut.away_i = static_cast<uint8_t>(((rng() & 15) | away) & ~here);
            here = away = 0;
            if (dut.open_valid_i) {
                here = rows[opened].mask;
                away = rows[opened].missing;
                dut.open_mask_i = static_cast<uint8_t>(here | away);
                dut.open_bytes_i = static_cast<uint16_t>(rows[opened].bytes - 1);
                dut.open_red_i = static_cast<uint8_t>(rows[opened].dtype << 3 | rows[opened].redop);
                opened++;
            }
            egress();
            cycle();
            idle = want.empty() && dut.idle_o ? idle + 1 : 0;
        }
        for (auto &q : queue)
            assert_true(q.empty());
    }

  private:
    Vreduce_join dut;
    std::mt19937_64 rng;
    std::deque<std::vector<flit>> queue[MEMBERS]; // packets
    std::deque<result> want;
    unsigned stalled[MEMBERS] = {};
    // egress
    unsigned sending = 0; // cycles since start, 0: none
    result got;

    bool percent(unsigned p) { return rng() % 100 < p; }

    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    uint64_t random_flit()
    {
        uint64_t f = 0;
        for (unsigned i = 0; i < 4; i++) {
            uint64_t v = percent(5) ? rng() & 0xffff : (rng() & 0x807f) | (118 + rng() % 16) << 7;
            f |= v << 16 * i;
        }
        return f;
    }

    void add(const row &r)
    {
        for (unsigned at = 0; at < r.bytes; at += 128) {
            result w = {std::min(128u, r.bytes - at), r.mask == 0 || r.missing != 0, false, {}};
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
                bool late = false; // found with the last flit
                if (percent(error_percent))
                    p[n - 1].poison = late = true;
                if (percent(length_percent)) {
                    p[n - 1].last = false;
                    late = true;
                }
                // what is found in the last flit of the last member comes after the header
                bool header_has_left = last_member && n > 1;
                if (poison || (late && !header_has_left))
                    w.poison = true;
                if (late && header_has_left && !w.poison)
                    w.err = true;
                queue[d].push_back(p);
            }
            w.flits.assign(n, 0);
            std::vector<const void *> pointers;
            for (const auto &t : terms)
                pointers.push_back(t.data());
            mw_reduce_rows(r.dtype, r.redop, pointers.data(), pointers.size(), n * FLIT,
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

    // Takes a result as egress does: header first, then its flits in consecutive cycles.
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
                got.err = dut.res_err_o;
            }
            may_start = sending == 2 + flits;
            sending++;
            if (may_start) {
                assert_false(want.empty());
                const result &w = want.front();
                assert_int_equal(got.len, w.len);
                assert_int_equal(got.poison, w.poison);
                assert_int_equal(got.err, w.err);
                for (size_t i = 0; i < w.flits.size(); i++)
                    assert_int_equal(got.flits[i], w.flits[i]);
                want.pop_front();
                sending = 0;
            }
        }
        if (may_start && dut.res_valid_o && percent(drain_percent)) {
            dut.res_start_i = 1;
            got = {dut.res_len_o + 1u, dut.res_poison_o != 0, false, {}};
            sending = 1;
        }
    }

    void cycle()
    {
        uint8_t has = 0, hold = 0, may = 0;
        for (unsigned d = 0; d < MEMBERS; d++) {
            // a packet that has begun never pauses, as on the link
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
        dut.eval();
        assert_int_equal(dut.q_want_o & (dut.q_want_o - 1), 0);
        assert_int_equal(dut.q_want_o & ~has, 0);
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
            }
        }
        edge();
        put_data(taken ? &f : nullptr);
        dut.eval();
    }
};

static std::vector<row> random_rows(std::mt19937_64 &rng, unsigned count, bool empty)
{
    std::vector<row> rows;
    for (unsigned i = 0; i < count; i++) {
        unsigned mask = static_cast<unsigned>(rng() % 16);
        if (!mask && !empty)
            mask = 5;
        unsigned bytes = rng() % 3 == 0 ? 1 + static_cast<unsigned>(rng() % 40)
                                        : 1 + static_cast<unsigned>(rng() % 700);
        row r = {mask, bytes};
        do {
            r.dtype = static_cast<unsigned>(rng() % MW_DTYPES);
            r.redop = static_cast<unsigned>(rng() % MW_REDOPS);
        } while (!mw_reduce_exists(r.dtype, r.redop));
        rows.push_back(r);
    }
    return rows;
}

static void sums_under_random_gaps(void **state)
{
    (void)state;
    std::mt19937_64 rng(seed);
    for (unsigned round = 0; round < 12; round++) {
        auto b = std::make_unique<bench>(rng());
        b->has_percent = round % 3 == 0 ? 100 : 20 + static_cast<unsigned>(rng() % 80);
        b->hold_percent = round % 3 == 1 ? 0 : static_cast<unsigned>(rng() % 60);
        b->drain_percent = round % 3 == 2 ? 100 : 10 + static_cast<unsigned>(rng() % 90);
        b->run(random_rows(rng, 120, true));
    }
}

static void poisons_what_is_not_valid(void **state)
{
    (void)state;
    std::mt19937_64 rng(seed + 1);
    for (unsigned round = 0; round < 8; round++) {
        auto b = std::make_unique<bench>(rng());
        b->poison_percent = b->error_percent = b->length_percent = 10;
        std::vector<row> rows = random_rows(rng, 120, true);
        for (row &r : rows)
            r.missing = rng() % 5 == 0 ? static_cast<unsigned>(rng() % 16) & ~r.mask : 0;
        b->has_percent = 60;
        b->drain_percent = 50;
        b->run(rows);
    }
}

// Every cycle reads a flit, from the first of the first member to the last of the last one, over packets and rows.
static void reads_a_flit_in_every_cycle(void **state)
{
    (void)state;
    for (unsigned mask : {3u, 7u, 15u}) {
        auto b = std::make_unique<bench>(seed);
        std::vector<row> rows(20, row{mask, 1024});
        b->run(rows);
        assert_int_equal(b->last_read - b->first_read + 1, b->reads);
    }
}

// With one member the result, header included, sets the pace: the link is never idle.
static void one_member_keeps_the_link_full(void **state)
{
    (void)state;
    auto b = std::make_unique<bench>(seed);
    b->run(std::vector<row>(20, row{2, 1024}));
    assert_in_range(b->last_read - b->first_read + 1, 20 * 8 * 16, 20 * 8 * 18);
}

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_under_random_gaps),
        cmocka_unit_test(poisons_what_is_not_valid),
        cmocka_unit_test(reads_a_flit_in_every_cycle),
        cmocka_unit_test(one_member_keeps_the_link_full),
    };
    return cmocka_run_group_tests_name("reduce_join", tests, nullptr, nullptr);
}
