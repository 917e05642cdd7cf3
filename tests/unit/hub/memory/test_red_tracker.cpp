// SPDX-License-Identifier: Apache-2.0
//
// red_tracker against plain counts: contributions in any order and number, layers that end early,
// epochs that wrap, too many contributions. When a row and all rows before it are complete, the row
// is reported within the latency in the module's header. It is never reported earlier.

#include "Vred_tracker.h"
#include "bench/errors.h"
#include "bench/stream.h"
#include "node_cfg.h"

using namespace tb;

static const unsigned ROWS = 1u << PARAM_TokensLog2;

struct red {
    unsigned row, adds;
};

struct tracker : model<Vred_tracker> {
    node_cfg cfg;
    error_watch errors{"red_tracker"};
    source<red> in;
    unsigned count = 0, first = 0, rows = 0, done = 0, whole = 0;
    uint64_t changed = 0; // cycle of the last input or report
    std::vector<unsigned> sums;

    tracker()
    {
        dut.go_i = dut.sweep_i = dut.added_valid_i = 0;
        reset();
    }
    void configure(unsigned shift, unsigned its_first, unsigned its_count, unsigned epoch)
    {
        rows = 1u << shift;
        first = its_first;
        count = its_count;
        cfg.set("token_shift", shift);
        cfg.set("red_first", first);
        cfg.set("red_count", count);
        cfg.set("epoch", epoch);
        cfg.drive(dut.cfg_i);
    }
    void sweep()
    {
        dut.sweep_i = 1;
        cycle();
        dut.sweep_i = 0;
        settle();
        assert_int_equal(until("the sweep", 2 * ROWS, [&] { return !dut.sweep_busy_o; }), rows);
    }
    void go()
    {
        dut.go_i = 1;
        cycle();
        dut.go_i = 0;
        sums.assign(ROWS, 0);
        done = whole = first;
    }

    void drive() override
    {
        dut.added_valid_i = in.offer(rng);
        const red r = dut.added_valid_i ? in.front() : red{below(ROWS), below(256)};
        dut.added_row_i = r.row;
        dut.added_adds_i = static_cast<uint8_t>(r.adds);
    }
    void sample() override
    {
        errors.see(now, dut.err_valid_o, dut.err_code_o);
        if (dut.done_o) {
            assert_true(done < whole); // this row and all before it are complete
            done++;
            changed = now;
        }
        assert_true(done == whole || now <= changed + 3);
        const bool some = !in.empty();
        const red r = some ? in.front() : red();
        if (!in.taken(dut.added_ready_o))
            return;
        changed = now;
        if ((sums[r.row] += r.adds) > count) {
            sums[r.row] = count;
            errors.expect_between(now + 1, now + 1, MW_HWERR_COUNT);
        }
        while (whole < rows && sums[whole] == count)
            whole++;
    }
};

TEST(rows_in_order)
{
    for (unsigned r = 0; r < 60; r++) {
        tracker t;
        const unsigned shift = t.rng.between(0, PARAM_TokensLog2);
        t.in.rate = t.rng.pick({20u, 60u, 100u});
        for (unsigned layer = 0; layer < 6; layer++) {
            t.configure(shift, t.rng.below(1u << shift), t.rng.pick({1u, 7u, 60u, 448u}),
                        layer % 4);
            if (layer % 4 == 0)
                t.sweep();
            t.go();
            std::vector<red> reds;
            const bool ends = t.percent(70);
            for (unsigned row = t.first; row < t.rows; row++)
                for (unsigned sum = 0; sum < t.count && (ends || t.percent(90));) {
                    const unsigned adds = t.rng.between(1, std::min(t.count - sum, 71u));
                    reds.push_back({row, adds});
                    sum += adds;
                }
            if (t.percent(70)) // rows far apart, or nearly in order
                t.rng.shuffle(reds);
            for (const red &x : reds) {
                t.in.queue.push_back(x);
                if (ends && t.rng.one_in(200)) // to a row that may be complete
                    t.in.queue.push_back({t.rng.between(t.first, t.rows - 1), 70});
            }
            t.until("the reports", 20 * reds.size() + 100, [&] { return t.in.empty(); });
            t.cycles(2 * (t.rows - t.first) + 10);
            t.errors.done();
            assert_int_equal(t.done, t.whole);
            if (ends)
                assert_int_equal(t.done, t.rows);
        }
    }
}

// One input in two cycles. Rows that were complete before row 0 are reported after it, one in two
// cycles.
TEST(rates)
{
    tracker t;
    t.configure(PARAM_TokensLog2, 0, 1, 0);
    t.sweep();
    t.go();
    for (unsigned row = ROWS; row--;)
        t.in.queue.push_back({row, 1});
    const uint64_t begin = t.now;
    t.until("the reports", 4 * ROWS, [&] { return t.in.empty(); });
    assert_in_range(t.now - begin, 2 * ROWS - 2, 2 * ROWS + 2);
    const uint64_t last = t.now;
    t.until("the rows", 4 * ROWS, [&] { return t.done == ROWS; });
    assert_in_range(t.now - last, 2 * ROWS - 2, 2 * ROWS + 4);
}
