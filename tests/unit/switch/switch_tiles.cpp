// SPDX-License-Identifier: Apache-2.0
//
// Tile reductions: every port reports every row, and nothing is dispatched. Checked: the order of
// rows, all rows at once, partitions, and each error by name.

#if PARAM_TileReductions

#include "switch_row_bench.h"

namespace {
// Reports the first `rows` rows of each home, at each port in a random order. With in_order each
// port reports the rows of each home by ascending index.
void report_all(hubs &b, unsigned rows, bool in_order, unsigned others)
{
    std::vector<std::vector<std::pair<unsigned, unsigned>>> left(b.n);
    for (unsigned p = 0; p < b.n; p++) {
        for (unsigned i = 0; i < rows; i++)
            for (unsigned h = 0; h < b.n; h++)
                left[p].push_back({h, i});
        if (!in_order)
            std::shuffle(left[p].begin(), left[p].end(), b.rng);
    }
    constexpr unsigned TURNS = 200000; // far more than any run takes
    unsigned turns = 0;
    for (size_t some = 1; some;) {
        if (++turns > TURNS)
            fail_msg("reports of %zu rows are left", some);
        some = 0;
        for (unsigned p = 0; p < b.n; p++) {
            some += left[p].size();
            if (b.percent(others) && b.ports[p].queue[MW_CLS_STORE].size() < 6)
                other(b, p);
            if (left[p].empty() || b.ports[p].queue[MW_CLS_CTRL].size() > 3 || b.percent(50))
                continue;
            const size_t now = std::min<size_t>(left[p].size(), b.rng.between(1, MW_LANES));
            says(b, p, {left[p].begin(), left[p].begin() + static_cast<long>(now)});
            left[p].erase(left[p].begin(), left[p].begin() + static_cast<long>(now));
        }
        b.cycles(1 + b.below(6));
    }
}

struct tile_errors : named_errors {
    tile_errors() : named_errors(asking(64, true)) {}
    // all except the mask `but` report a row
    void rest(unsigned of, unsigned index, uint32_t but)
    {
        for (unsigned p = 0; p < n; p++)
            if (!(but >> p & 1))
                lane(MW_HWERR_NONE, p, of, index);
    }
    void opened(unsigned of, unsigned index, uint32_t ports)
    {
        assert_int_equal(b->about(of, index).notified, ports);
    }
    uint32_t all() const { return static_cast<uint32_t>((UINT64_C(1) << n) - 1); }
};
} // namespace

TEST(tiles_are_opened)
{
    auto b = bench();
    for (unsigned l = 0; l < 6; l++) {
        b->layer(true, b->f * b->rng.between(1, 20), true);
        b->auto_report = false;
        b->serve_percent = b->rng.pick({100u, 20u});
        b->credit_delay = b->rng.pick({0u, 100u});
        const bool in_order = l % 2;
        const unsigned rows = std::min(1u << b->token_shift, 24u);
        report_all(*b, rows, in_order, 20);
        b->finish(3000000);
        for (unsigned h = 0; h < b->n; h++) {
            assert_int_equal(b->granted[h][h].size(), rows);
            for (unsigned i = 0; i < rows && in_order;
                 i++) // rows of a home open in the order of its reports
                assert_int_equal(b->reductions[b->granted[h][h][i]].index, i);
        }
        b->check_counters();
        // a layer of dispatched rows comes between, and some of its rows stay open
        b->auto_report = true;
        b->forget_percent = 20;
        b->layer(true, 128);
        for (unsigned h = 0; h < b->n; h++)
            for (unsigned i = 0; i < 8; i++)
                whole_row(*b, h, i, some_ports(*b, h), b->percent(50));
        b->finish(3000000);
        b->forget_percent = 0;
    }
}

TEST(tiles_of_a_home_are_all_ready_at_once)
{
    auto b = asking(32, true);
    b->auto_report = false;
    b->dut.ctl_throttle_i = 253;
    report_all(*b, 1u << b->token_shift, true, 0);
    b->dut.ctl_throttle_i = 0;
    b->finish(3000000);
    for (unsigned h = 0; h < b->n; h++)
        assert_int_equal(b->granted[h][h].size(), 1u << b->token_shift);
}

TEST(tiles_that_are_reported_wrongly)
{
    tile_errors e;
    hubs &b = *e.b;
    for (unsigned who : {e.q, e.home}) { // twice: before the row opens, and after it
        const unsigned index = 3 + who;
        e.lane(MW_HWERR_NONE, who, e.home, index);
        e.lane(MW_HWERR_COUNT, who, e.home, index);
        e.opened(e.home, index, 0);
        e.rest(e.home, index, 1u << who);
        e.opened(e.home, index, e.all());
        e.lane(MW_HWERR_COUNT, who, e.home, index);
    }
    // rows and homes that do not exist
    auto is = [&](unsigned code, std::vector<std::pair<unsigned, unsigned>> lanes) {
        e.notified(code, e.q, [&] { assert_int_equal(b.send(e.q, b.ready(e.q, lanes)), code); });
    };
    is(MW_HWERR_BOUNDS, {{e.home, TOKENS}});
    if (e.n < 32)
        is(MW_HWERR_UNMAPPED, {{e.n, 0}});
    packet p = b.ready(e.q, {{e.home, 9}});
    p.h.epoch ^= 1;
    e.notified(MW_HWERR_EPOCH, e.q, [&] { b.send(e.q, p); });
    e.rest(e.home, 9, 0);
    e.opened(e.home, 9, e.all());
    // rows that were dispatched, before and after they are complete
    for (unsigned index : {3u + e.q, 11u})
        e.notified(MW_HWERR_COUNT, e.home, [&] { whole_row(b, e.home, index, {e.q}, true); });
    e.rest(e.home, 11, 0);
    e.opened(e.home, 11, e.all());
    // requests from the wire
    p = b.make(MW_OP_DYMULTIMEM_LD_REDUCE, e.home, 0);
    p.h.len = 64;
    p.set_targets(targets_on(b, {e.q}));
    e.notified(MW_HWERR_WINDOW, e.home, [&] { b.send(e.home, p); });
}

TEST(tiles_of_a_partition)
{
    tile_errors e;
    hubs &b = *e.b;
    if (e.n < 3)
        return;
    const uint32_t others = e.all() & ~(1u << e.last);
    for (unsigned p = 0; p < e.n; p++)
        b.set_partition(p, p == e.last ? 1u << e.last : others);
    b.layer(true, 64, true);
    e.notified(MW_HWERR_PARTITION, e.last, [&] { b.send(e.last, b.ready(e.last, {{e.home, 1}})); });
    e.notified(MW_HWERR_PARTITION, e.home, [&] { b.send(e.home, b.ready(e.home, {{e.last, 1}})); });
    e.rest(e.home, 1, 1u << e.last);
    e.opened(e.home, 1, others);
    e.lane(MW_HWERR_COUNT, e.last, e.last, 1); // its rows have no members
    // only the home excludes it
    b.set_partition(e.last, ~0u);
    b.layer(true, 64, true);
    e.lane(MW_HWERR_COUNT, e.last, e.home, 1);
    e.rest(e.home, 1, 1u << e.last);
    e.opened(e.home, 1, others);
    for (unsigned p = 0; p < e.n; p++)
        b.set_partition(p, ~0u);
    b.layer(true, 64, true);
    e.rest(e.home, 1, 0);
    e.opened(e.home, 1, e.all());
}
#endif
