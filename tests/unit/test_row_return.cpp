// SPDX-License-Identifier: Apache-2.0
//
// row_return: rows of any token in any order, some of which return, under back-pressure of every side: each row that returns to
// another GPU comes as one item with its home, place and position there, all others as signals; signals keep their order, items
// that of their home, of which one at most has not left. A home that takes nothing holds up no other. Tiles of rows for one
// home are told once their last row has left, in the order in which these were given.
#include "bench/dut.h"
#include "node_cfg.h"

#include <deque>

using namespace tb;

static const unsigned N = PARAM_N, TOKENS = PARAM_TokensLog2, ROWS = PARAM_RowsLog2, DEPTH = 64,
                      OPEN = 1;

struct item {
    unsigned row, token, pos, tile; // rows of the tile that it ends, 0: it ends none
};
struct told_tile {
    unsigned home, rows, behind; // number of the row of its home
};

struct returns : model<Vrow_return> {
    node_cfg cfg;
    const bool lists = PARAM_SourceLists && percent(60);
    const unsigned port = below(N), shift = below(TOKENS + 1), cap = below(ROWS - 3);
    std::deque<item> queue[N];
    std::deque<unsigned> on_link; // homes of items that have not left
    std::deque<told_tile> tiles;
    unsigned given[N] = {}, left[N] = {}, home = 0, rows_left = 0, tile_rows = 0;
    unsigned items = 0, signals = 0, told = 0, stuck = N; // a home whose items do not leave
    bool offered = false, done = false, tile_done = false;
    unsigned pace = rng.pick({10u, 50u, 100u});

    returns()
    {
        cfg.set("port", port);
        cfg.set("token_shift", shift);
        cfg.set("cap_shift", cap);
        cfg.set("source_lists", lists);
        cfg.drive(dut.cfg_i);
        dut.go_i = dut.row_valid_i = dut.sig_ready_i = dut.item_done_i = dut.left_valid_i = 0;
        dut.tile_ready_i = 0;
        reset();
    }

    // The next row: with lists tiles of one home each.
    void offer()
    {
        if (!rows_left) {
            home = below(N);
            rows_left = tile_rows = rng.between(1, 20);
        }
        dut.row_valid_i = percent(70);
        dut.row_back_i = lists || percent(70);
        dut.row_token_i = (lists ? home : below(N)) << shift | below(1u << shift);
        dut.row_le_i = static_cast<uint8_t>(below(8));
        dut.row_row_i = below(1u << cap);
        dut.row_pos_i = static_cast<uint8_t>(below(16));
        dut.row_last_i = rows_left == 1;
        dut.row_rows_i = static_cast<uint8_t>(tile_rows);
    }

    void step()
    {
        if (!offered)
            offer();
        dut.sig_ready_i = percent(pace);
        dut.item_done_i = dut.item_valid_o && percent(pace);
        dut.tile_ready_i = percent(pace);
        dut.left_valid_i = !on_link.empty() && on_link.front() != stuck && percent(pace);
        dut.left_port_i = static_cast<uint8_t>(on_link.empty() ? 0 : on_link.front());
        if (!on_link.empty() && on_link.front() == stuck &&
            on_link.size() > OPEN) { // others pass it
            auto other = std::find_if(on_link.begin(), on_link.end(),
                                      [&](unsigned h) { return h != stuck; });
            if (other != on_link.end() && percent(pace)) {
                dut.left_valid_i = 1;
                dut.left_port_i = static_cast<uint8_t>(*other);
            }
        }
        settle();
        if (dut.item_valid_o && !done) {
            const unsigned h = dut.item_home_o;
            assert_false(queue[h].empty());
            const item &want = queue[h].front();
            assert_int_equal(dut.item_row_o, want.row);
            assert_int_equal(dut.item_token_o, want.token);
            assert_int_equal(dut.item_pos_o, want.pos);
            given[h]++;
            assert_true(given[h] - left[h] <= OPEN);
            if (want.tile)
                tiles.push_back({h, want.tile, given[h]});
            queue[h].pop_front();
            on_link.push_back(h);
            items++;
            done = true;
        }
        if (dut.tile_valid_o && !tile_done) {
            assert_false(tiles.empty());
            assert_int_equal(dut.tile_home_o, tiles.front().home);
            assert_int_equal(dut.tile_rows_o, tiles.front().rows);
            assert_true(left[tiles.front().home] >= tiles.front().behind);
        }
        if (dut.tile_valid_o && dut.tile_ready_i) {
            tiles.pop_front();
            told++;
        }
        const unsigned to = dut.row_token_i >> shift;
        const bool back = dut.row_back_i && to != port;
        assert_int_equal(dut.sig_valid_o, dut.row_valid_i && !back);
        if (dut.sig_valid_o)
            assert_int_equal(dut.sig_token_o, dut.row_token_i);
        const bool taken = dut.row_valid_i && dut.ready_o;
        if (dut.row_valid_i)
            assert_int_equal(taken, back ? queue[to].size() < DEPTH : dut.sig_ready_i);
        if (taken && back)
            queue[to].push_back({dut.row_le_i << cap | dut.row_row_i,
                                 dut.row_token_i & ((1u << shift) - 1), dut.row_pos_i,
                                 lists && dut.row_last_i ? dut.row_rows_i : 0u});
        signals += taken && !back;
        rows_left -= taken;
        offered = dut.row_valid_i && !taken;
        if (dut.item_done_i)
            done = false;
        if (dut.left_valid_i) {
            left[dut.left_port_i]++;
            on_link.erase(std::find(on_link.begin(), on_link.end(), dut.left_port_i));
        }
        edge();
    }
};

TEST(rows_go_home)
{
    unsigned seen = 0, signals = 0, told = 0;
    for (unsigned run = 0; run < 60; run++) {
        returns b;
        for (unsigned i = 0; i < 2000; i++)
            b.step();
        seen += b.items;
        signals += b.signals;
        told += b.told;
    }
    assert_true(seen > 1000 && signals > 1000 && (!PARAM_SourceLists || told > 300));
}

// What waits for a home that takes nothing lets rows for all others pass, while its own queue has room; and goes on behind it.
TEST(a_home_holds_up_no_other)
{
    for (unsigned run = 0; run < 20; run++) {
        returns b;
        b.pace = 100;
        b.stuck = (b.port + 1) % N;
        for (unsigned i = 0; i < 5000 && b.queue[b.stuck].size() < DEPTH; i++)
            b.step();
        assert_int_equal(b.queue[b.stuck].size(), DEPTH);
        assert_true(b.given[b.stuck] == OPEN && b.items > 2 * OPEN);
        b.stuck = N;
        const unsigned was = b.items;
        for (unsigned i = 0; i < 2000; i++)
            b.step();
        assert_true(b.items > was + DEPTH);
    }
}
