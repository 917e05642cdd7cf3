// SPDX-License-Identifier: Apache-2.0
//
// Unit load against a model. The switch grants reported tiles in any order, and rows reach memory
// in any order. Checked:
// - Tiles are reported in the common order, own tiles only when they have been offered.
// - The rows of granted tiles become lanes or own rows, each row or part once, in the order of the
//   grants.
// - Open lanes stay within the window.
// - The instruction retires with its last row, or at once.
#include "Vload.h"
#include "bench/errors.h"
#include "bench/stream.h"
#include "hub/node_cfg.h"

#include <isa.h>

using namespace tb;

static const unsigned N = PARAM_N, OPEN = PARAM_OpenLoads, SYNCS = PARAM_OpenSyncs, SHIFT = 5;

struct load : model<Vload> {
    struct tile {
        unsigned home, first;
    };
    struct part {
        unsigned home, row, number;
        bool last; // of its row
    };
    node_cfg cfg;
    watch reports{"reports"}, lds{"LD packets"}, own_rows{"own rows"};
    error_watch errors{"errors"};
    const unsigned port = below(N), load_first = below(20), epoch = below(4);
    const unsigned report_rate = rng.pick({100u, 50u, 5u}), grant_rate = rng.pick({100u, 30u, 3u});
    const unsigned ld_rate = rng.pick({100u, 30u}), land_rate = rng.pick({100u, 20u, 2u});
    const unsigned part_shift = rng.pick({0u, 0u, 1u, 2u, 3u}),
                   row_shift = 7 + part_shift + below(3);
    // as many parts as the window has room for, or rows of any length
    const unsigned part_bytes = 1u << (row_shift - part_shift),
                   parts =
                       part_shift
                           ? std::min((1u << (part_shift - 1)) + 1 + below(1u << (part_shift - 1)),
                                      OPEN)
                           : 1,
                   row_bytes = part_shift ? (parts - 1) * part_bytes + 1 + below(part_bytes)
                                          : 1 + below(1u << row_shift);
    mw_instr in = {};
    std::deque<tile> to_report, reported; // reported: and not granted
    std::deque<part> far, own;            // of granted tiles, not seen yet
    std::deque<unsigned> open;            // numbers of rows in flight
    bool refused = false;
    unsigned offered = 0, far_open = 0, most_open = 0, most_reported = 0, landed = 0, retired = 0;

    load()
    {
        cfg.set("port", port);
        cfg.set("epoch", epoch);
        cfg.set("token_shift", SHIFT);
        cfg.set("load_first", load_first);
        cfg.set("load_parts", part_shift);
        cfg.set("row_shift", row_shift);
        cfg.set("row_bytes", row_bytes);
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
        dut.go_i = dut.cmd_valid_i = dut.grant_valid_i = dut.landed_valid_i = 0;
        dut.report_ready_i = dut.ld_ready_i = dut.own_ready_i = 0;
        reset();
    }

    unsigned tile_rows() const { return in.imm ? in.imm : 1; }
    unsigned end() const { return in.a + in.b; }
    unsigned behind(const tile &t) const { return std::min(t.first + tile_rows(), end()); }

    void grant(const tile &t)
    {
        for (unsigned i = t.first; i < behind(t); i++)
            for (unsigned p = 0; p < parts; p++)
                (t.home == port ? own : far)
                    .push_back({t.home, i, i << part_shift | p, p + 1 == parts});
    }

    void start(unsigned a, unsigned b, unsigned imm, unsigned flags)
    {
        in = {};
        in.op = MW_I_LD_CAIS;
        in.flags = flags & 0xf;
        in.imm = static_cast<uint16_t>(imm);
        in.a = a;
        in.b = b;
        offered = landed = retired = 0;
        until("the unit to be ready", 10, [&] { return dut.cmd_ready_o; });
        memcpy(&dut.cmd_i, &in, sizeof in);
        dut.cmd_valid_i = 1;
        cycle();
        dut.cmd_valid_i = 0;
        scramble(dut.cmd_i, 128, rng);
    }

    void run(unsigned a, unsigned b, unsigned imm, unsigned flags)
    {
        start(a, b, imm, flags);
        for (unsigned first = a; first < a + b; first += tile_rows())
            for (unsigned home = 0; home < N; home++)
                (imm ? to_report : reported).push_back({home, first});
        while (!imm && !reported.empty()) { // granted at once
            grant(reported.front());
            reported.pop_front();
        }
        if (flags & 2) {
            cycle();
            assert_int_equal(retired, 1);
        }
        until("the last row", 200000, [&] { return landed == N * b; });
        cycles(3);
        assert_int_equal(retired, 1);
        assert_true(dut.cmd_ready_o && to_report.empty() && reported.empty());
        assert_true(far.empty() && own.empty() && open.empty());
        errors.done();
    }

    void drive() override
    {
        dut.report_ready_i = percent(report_rate);
        dut.ld_ready_i = percent(ld_rate);
        dut.own_ready_i = percent(ld_rate);
        if (percent(10))
            offered += below(8);
        dut.offered_i = std::min(in.a + offered, 1u << SHIFT);
        dut.grant_valid_i = !reported.empty() && percent(grant_rate);
        dut.grant_home_i = below(N);
        dut.grant_index_i = below(1u << PARAM_TokensLog2);
        if (dut.grant_valid_i) {
            std::swap(reported[0], reported[below(reported.size())]);
            dut.grant_home_i = reported[0].home;
            dut.grant_index_i = reported[0].first;
        }
        dut.landed_valid_i = !open.empty() && percent(land_rate);
        dut.landed_token_i = below(N << SHIFT);
        if (dut.landed_valid_i) {
            std::swap(open[0], open[below(open.size())]);
            dut.landed_token_i = open[0];
        }
    }

    void see_ld()
    {
        uint64_t words[2];
        const bytes got = get(dut.ld_header_o, sizeof words);
        memcpy(words, got.data(), sizeof words);
        const mw_header h = header_of(got);
        assert_true(h.opcode == MW_OP_LD && h.cls == MW_CLS_CTRL && h.src == port);
        assert_true(h.epoch == epoch && h.own == !(in.flags & 1));
        assert_true(h.cnt == 0 && h.len == 0);
        for (unsigned l = 0; l < 3; l++) {
            const uint64_t bits = words[1] >> MW_LANE_BITS * l;
            if (!(bits >> 20 & 1)) {
                assert_true(l > 0);
                continue;
            }
            assert_false(far.empty());
            assert_int_equal(bits >> 15 & 31, far.front().home);
            assert_int_equal(bits & 0x7fff, far.front().number);
            if (far.front().last)
                open.push_back(far.front().home << SHIFT | far.front().row);
            far.pop_front();
            far_open++;
        }
        assert_true(far_open <= OPEN);
        most_open = std::max(most_open, far_open);
    }

    void sample() override
    {
        retired += dut.retire_o;
        assert_true(!dut.retire_o || refused || in.flags & 2 || landed == N * in.b);
        errors.see(now, dut.err_valid_o, dut.err_code_o);
        if (dut.landed_valid_i) {
            landed++;
            if (open[0] >> SHIFT != port)
                far_open -= parts;
            open.pop_front();
        }
        if (dut.grant_valid_i) {
            assert_true(dut.grant_ready_o);
            grant(reported[0]);
            reported.pop_front();
        }
        if (reports.see(dut.report_valid_o, dut.report_ready_i, dut.report_home_o,
                        dut.report_index_o)) {
            assert_false(to_report.empty());
            const tile t = to_report.front();
            assert_int_equal(dut.report_home_o, t.home);
            assert_int_equal(dut.report_index_o, t.first);
            assert_true(t.home != port || dut.offered_i >= behind(t));
            to_report.pop_front();
            reported.push_back(t);
            most_reported = std::max<unsigned>(most_reported, reported.size());
        }
        assert_true(reported.size() <= SYNCS);
        if (lds.see(dut.ld_valid_o, dut.ld_ready_i)) // lanes may join it while it waits
            see_ld();
        if (own_rows.see(dut.own_valid_o, dut.own_ready_i, dut.own_index_o)) {
            assert_false(own.empty());
            assert_int_equal(dut.own_index_o, own.front().number);
            assert_true(own.front().row < dut.offered_i);
            if (own.front().last)
                open.push_back(port << SHIFT | own.front().row);
            own.pop_front();
        }
    }
};

TEST(every_row_is_loaded_once)
{
    unsigned most_open = 0, most_reported = 0, most_parts = 0;
    for (unsigned r = 0; r < 60; r++) {
        load b;
        for (unsigned i = 0; i < 3; i++) {
            const unsigned a = b.load_first + b.below(4), most = (1u << SHIFT) - a;
            b.run(a, 1 + b.below(most), b.rng.pick({0u, 1u, 2u, 3u, 5u, 40u, 255u}), b.below(4));
        }
        most_open = std::max(most_open, b.most_open);
        most_parts = std::max(most_parts, b.parts);
        most_reported = std::max(most_reported, b.most_reported);
    }
    assert_int_equal(most_open, OPEN);
    assert_int_equal(most_parts, OPEN);
    assert_int_equal(most_reported, SYNCS);
}

// Parts with numbers that no lane can hold, and rows of more parts than may be open.
TEST(parts_that_do_not_fit_are_bounds)
{
    load b;
    const auto refused = [&](unsigned part_shift, unsigned bytes, unsigned rows, bool all) {
        b.cfg.set("load_first", 0);
        b.cfg.set("load_parts", part_shift);
        b.cfg.set("row_shift", 10);
        b.cfg.set("row_bytes", bytes);
        b.cfg.drive(b.dut.cfg_i);
        b.refused = true;
        if (!all)
            b.errors.expect(MW_HWERR_BOUNDS);
        b.start(0, rows, 0, 2);
        b.cycles(3);
        assert_int_equal(b.retired, 1);
        assert_int_equal(b.dut.cmd_ready_o, !all);
        b.errors.done();
        b.dut.go_i = 1;
        b.cycle();
        b.dut.go_i = 0;
    };
    const unsigned part = 1024 >> 3;
    refused(3, OPEN * part, 32, true); // 32 << 3 numbers: as many as lanes have
    refused(3, OPEN * part + 1, 1, false);
    refused(4, part / 2, 32, false);
    refused(4, part / 2, 16, true);
}

TEST(an_empty_range_retires)
{
    load b;
    for (unsigned flags = 0; flags < 4; flags++) {
        b.start(b.below(1u << SHIFT), 0, b.below(256), flags);
        b.cycles(3);
        assert_true(b.retired == 1 && b.dut.cmd_ready_o);
    }
}

TEST(ranges_that_do_not_exist_are_bounds)
{
    load b;
    const unsigned all = 1u << SHIFT;
    const auto refused = [&](unsigned a, unsigned b_, unsigned imm) {
        b.errors.expect(MW_HWERR_BOUNDS);
        b.refused = true;
        b.start(a, b_, imm, b.below(4));
        b.cycles(3);
        assert_true(b.retired == 1 && b.dut.cmd_ready_o);
        b.errors.done();
    };
    refused(all, 1, 1);
    refused(all - 1, 2, 0);
    refused(b.load_first, all - b.load_first + 1, 4);
    refused(b.load_first, 1, 256);
    refused(1u << 31, 1, 1);
    if (b.load_first)
        refused(b.load_first - 1, 2, 1);
    b.refused = false;
    b.run(b.load_first, 3, 2, 0);
}

// A grant of a tile that was not reported names no row. The next instruction loads all of its rows.
TEST(grants_of_nothing_are_counted_wrong)
{
    load b;
    b.start(b.load_first, 1, 1, 0);
    b.landed = 0;
    for (unsigned home = 0; home < N; home++)
        b.to_report.push_back({home, b.load_first});
    b.until("all rows", 200000, [&] { return b.landed == N; });
    b.cycles(3);
    b.errors.expect(MW_HWERR_COUNT);
    b.settle();
    b.dut.grant_valid_i = 1;
    b.dut.grant_home_i = 0;
    b.dut.grant_index_i = b.load_first;
    b.settle();
    b.errors.see(b.now, b.dut.err_valid_o, b.dut.err_code_o);
    b.edge();
    b.dut.grant_valid_i = 0;
    b.errors.done();
    b.run(b.load_first, 4, 3, 0);
}
