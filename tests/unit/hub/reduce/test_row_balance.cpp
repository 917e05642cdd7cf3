// SPDX-License-Identifier: Apache-2.0
//
// row_balance against the comparison of its header, in whole numbers and in its cycles. Layers have
// any copy counts, none and the most included. Some layers get no counts, not all of them, or those
// of the layer before. Rows end at random and back to back, before the counts, between them and
// behind them. Layers are aborted at any time. Words of other counts pass, which the unit must not
// use.
#include "bench/dut.h"
#include "node_cfg.h"

#include <algorithm>

using namespace tb;

namespace {
constexpr unsigned N = PARAM_N, T = PARAM_TokensLog2;
constexpr uint64_t MOST = uint64_t{1} << T; // tokens of a GPU
constexpr uint64_t LAST = 2 * MOST - 1;     // D of a GPU stops here

struct bench : model<Vrow_balance> {
    enum counts { ANY, EQUAL, FULL, FEW };

    node_cfg cfg;
    unsigned own = 0, event_percent = 0, word_percent = 0, burst = 0;
    bool on = false, cached = false, here = false;
    uint64_t rows[N] = {}, done[N] = {}, rows_all = 0, done_all = 0;
    std::vector<unsigned> to_count; // sources that have not counted
    std::vector<unsigned> order;    // of GPUs, by how often their rows end
    unsigned missing = 0;           // of these, whose counts do not come in this layer

    // the comparison
    bool marks[N] = {}, busy = false, is_behind = false;
    unsigned gpu = 0, left = 0;

    unsigned layers = 0, kept = 0, ties = 0, set = 0, cleared = 0, delayed = 0, stopped = 0;

    bench()
    {
        for (unsigned g = 0; g < N; g++)
            order.push_back(g);
        dut.go_i = dut.cnt_valid_i = dut.copies_here_i = dut.done_valid_i = 0;
        begin();
        reset();
        clear(false);
    }

    // Settings of the next layer, which hold from its go on.
    void begin()
    {
        on = percent(85);
        cached = percent(40);
        if (!keeps())
            own = below(N);
        cfg.set("port", own);
        cfg.set("balance_rows", on);
        cfg.set("cached", cached);
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
        event_percent = rng.pick({0u, 2u, 15u, 60u, 100u});
        word_percent = rng.pick({5u, 50u, 100u});
        rng.shuffle(order);
        kind = rng.pick({ANY, ANY, EQUAL, FULL, FEW});
        common = below(MOST + 1);
    }
    bool keeps() const { return PARAM_CachedHandle && cached; }

    void clear(bool keep)
    {
        if (!keep) {
            std::fill(rows, rows + N, 0);
            rows_all = 0;
            here = false;
            to_count = order;
            missing = percent(30) ? below(N + 1) : 0;
        }
        std::fill(done, done + N, 0);
        std::fill(marks, marks + N, false);
        done_all = 0;
        busy = false;
        gpu = 0;
    }

    virtual bool goes() { return layers == 0 || rng.one_in(N * (T + 2) * 12); }
    void drive() override
    {
        dut.go_i = goes();
        if (dut.go_i)
            begin();
        dut.copies_here_i = here;
        words();
        events();
    }

    void words()
    {
        dut.cnt_valid_i = !dut.go_i && percent(word_percent);
        dut.cnt_kind_i = percent(50);
        dut.cnt_src_i = static_cast<uint8_t>(below(N));
        dut.cnt_idx_i = static_cast<uint8_t>(below(N));
        dut.cnt_val_i = rng.word();
        dut.cnt_last_i = percent(50);
        dut.cnt_halves_i = static_cast<uint8_t>(rng.bits(2));
        dut.cnt_part_i = static_cast<uint8_t>(rng.bits(2));
        counting = false;
        if (!dut.cnt_valid_i || !dut.cnt_kind_i)
            return;
        counting = to_count.size() > missing && percent(50);
        if (counting) {
            dut.cnt_src_i = static_cast<uint8_t>(to_count.back());
            dut.cnt_idx_i = static_cast<uint8_t>(own);
            dut.cnt_val_i = static_cast<uint32_t>(a_count());
        } else if (dut.cnt_idx_i == own) {
            dut.cnt_idx_i = static_cast<uint8_t>((own + 1 + below(N - 1)) % N);
        }
    }

    uint64_t a_count()
    {
        switch (kind) {
        case EQUAL:
            return common;
        case FULL:
            return percent(70) ? MOST : 0;
        case FEW:
            return below(3);
        default:
            return below(MOST + 1);
        }
    }

    // Some GPUs are served more often than others. Few get more rows than they have.
    virtual void events()
    {
        const unsigned g = order[std::min(below(N), below(N))];
        burst = burst ? burst - 1 : rng.one_in(100) ? 3 * N : 0;
        dut.done_port_i = static_cast<uint8_t>(g);
        dut.done_valid_i = g != own && (burst || percent(event_percent)) &&
                           (done[g] < rows[g] || rng.one_in(here ? 200 : 20));
    }

    void sample() override
    {
        uint64_t want = 0;
        for (unsigned g = 0; g < N; g++)
            want |= uint64_t{marks[g]} << g;
        SAME(dut.behind_o, want);
        compare();
        if (dut.done_valid_i) {
            const unsigned g = dut.done_port_i;
            stopped += done[g] == LAST;
            done_all += done[g] < LAST;
            done[g] += done[g] < LAST;
        }
        if (counting) {
            const unsigned g = to_count.back();
            to_count.pop_back();
            rows[g] = g == own ? 0 : dut.cnt_val_i;
            rows_all += rows[g];
            here = to_count.empty();
        }
        if (dut.go_i) {
            kept += keeps() && here;
            clear(keeps());
            layers++;
        }
    }

    // One cycle of the comparison: a start, or a bit of its products.
    void compare()
    {
        if (busy) {
            if (--left)
                return;
            busy = false;
            set += is_behind && !marks[gpu];
            cleared += !is_behind && marks[gpu];
            marks[gpu] = is_behind;
            gpu = (gpu + 1) % N;
        } else if (on && here && dut.done_valid_i) {
            delayed++;
        } else if (on && here) {
            busy = true;
            left = T + 1;
            is_behind = done_all * rows[gpu] > done[gpu] * rows_all;
            ties += done[gpu] && done_all * rows[gpu] == done[gpu] * rows_all;
        }
    }

  private:
    counts kind = ANY;
    uint64_t common = 0;
    bool counting = false;
};

// Rows end by the marks, see below.
struct even_bench : bench {
    const unsigned renewal = N * (T + 2) + 1;
    uint64_t rows_due = 0;

    even_bench() { cycle(); } // go
    bool goes() override { return layers == 0; }
    void events() override
    {
        dut.done_port_i = static_cast<uint8_t>(below(N));
        dut.done_valid_i = 0;
        if (done_all == rows_due || ++waited % renewal)
            return;
        const bool some = std::count(marks, marks + N, true) != 0;
        const auto next = [&](unsigned g) { return some ? marks[g] : done[g] < rows[g]; };
        unsigned g = below(N);
        while (!next(g))
            g = (g + 1) % N;
        dut.done_port_i = static_cast<uint8_t>(g);
        dut.done_valid_i = 1;
    }
    void sample() override
    {
        bench::sample();
        for (unsigned g = 0; g < N; g++) {
            const auto ahead = static_cast<int64_t>(done[g] * rows_all - rows[g] * done_all);
            assert_true(ahead < static_cast<int64_t>(rows_all) || rows_all == 0);
            assert_true(ahead >= -static_cast<int64_t>((N - 1) * rows_all));
        }
    }

  private:
    unsigned waited = 0;
};
} // namespace

TEST(marks_who_has_received_less)
{
    bench b;
    b.cycles(400000);
    printf("%u layers, %u of them with kept counts: %u marks set, %u cleared, %u ties\n", b.layers,
           b.kept, b.set, b.cleared, b.ties);
    assert_true(b.layers > 100 && b.delayed > 200 && b.ties > 0);
    assert_true(PARAM_CachedHandle ? b.kept > 10 : b.kept == 0);
    if (N > 2)
        assert_true(b.set > 100 && b.cleared > 100);
    else
        assert_int_equal(b.set, 0); // with one other GPU, all is what it has
    assert_true(T > 1 || b.stopped > 10);
}

// One row after the other ends, when all marks are renewed, and always that of a marked GPU if
// there is one. Then no GPU is more than a row before its part, or more than N - 1 rows behind it.
TEST_IF(PARAM_N > 2, all_end_together)
{
    for (unsigned round = 0; round < 4; round++) {
        even_bench b;
        while (!b.on)
            b.begin();
        b.missing = 0;
        b.until("the counts", 10000, [&] { return b.here; });
        b.rows_due = std::min<uint64_t>(b.rows_all, 400);
        b.until("the rows", 401 * b.renewal, [&] { return b.done_all == b.rows_due; });
        if (b.rows_due == b.rows_all) {
            b.cycles(b.renewal);
            assert_int_equal(b.dut.behind_o, 0);
        }
    }
}
