// SPDX-License-Identifier: Apache-2.0
//
// row_return with rows of any token in any order, some of which return, and back-pressure on every
// side. Checked:
// - Each row that returns to another GPU comes as one item, with its home, place and position
//   there. All others come as signals.
// - Signals keep their order. Items keep that of their home, and a home has at most one item that
//   has not left.
// - A home that takes nothing delays no other.
// - A tile of rows for one home is reported when its last row has left. Tiles are reported in the
//   order of their last rows.
// - While sixteen tiles wait to be reported, no row leaves its queue.
// - A go at any time clears everything.
#include "bench/dut.h"
#include "node_cfg.h"

#include <deque>

using namespace tb;

static const unsigned N = PARAM_N, TOKENS = PARAM_TokensLog2, ROWS = PARAM_RowsLog2, DEPTH = 64,
                      OPEN = 1, TILES = 16;

struct item {
    unsigned row, token, pos, tile; // rows of the tile that it ends, 0: it ends none
};
struct notified_tile {
    unsigned home, rows, behind; // number of the row of its home
};

struct returns : model<Vrow_return> {
    node_cfg cfg;
    const bool lists;
    const unsigned port = below(N), shift = below(TOKENS + 1), cap = below(ROWS - 3);
    std::deque<item> queue[N];
    std::deque<unsigned> on_link; // homes of items that have not left
    std::deque<notified_tile> tiles;
    unsigned given[N] = {}, left[N] = {}, home = 0, rows_left = 0, tile_rows = 0;
    unsigned items = 0, signals = 0, notified = 0, stuck = N; // a home whose items do not leave
    bool offered = false, done = false;
    bool offers = true, tells = true; // rows come; the home that is notified of a tile takes it
    unsigned most = 20, to_home = N;  // rows of a tile; all rows are for this home
    unsigned rate = rng.pick({10u, 50u, 100u});

    returns() : returns(PARAM_SourceLists && dice().percent(60)) {}
    explicit returns(bool with_lists) : lists(with_lists)
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

    // The next row. With lists, tiles have rows of one home each.
    void offer()
    {
        if (!rows_left) {
            home = to_home < N ? to_home : below(N);
            rows_left = tile_rows = most > 20 ? most : rng.between(1, most);
        }
        dut.row_valid_i = offers && percent(70);
        dut.row_back_i = lists || percent(70);
        dut.row_token_i = (lists ? home : below(N)) << shift | below(1u << shift);
        dut.row_le_i = static_cast<uint8_t>(below(8));
        dut.row_row_i = below(1u << cap);
        dut.row_pos_i = static_cast<uint8_t>(below(16));
        dut.row_last_i = rows_left == 1;
        dut.row_rows_i = static_cast<uint8_t>(tile_rows);
    }

    size_t waiting() const
    {
        size_t n = 0;
        for (const auto &q : queue)
            n += q.size();
        return n;
    }

    // Begins a layer, whatever the previous one has left.
    void go()
    {
        dut.go_i = 1;
        dut.row_valid_i = dut.item_done_i = dut.left_valid_i = 0;
        settle();
        edge();
        dut.go_i = 0;
        for (unsigned h = 0; h < N; h++) {
            queue[h].clear();
            given[h] = left[h] = 0;
        }
        on_link.clear();
        tiles.clear();
        rows_left = 0;
        offered = done = false;
        settle();
        assert_true(dut.idle_o && !dut.item_valid_o && !dut.tile_valid_o);
    }

    // No new row comes, and all rows inside leave.
    void drain()
    {
        offers = offered = false;
        tells = true;
        stuck = N;
        rate = 100;
        for (unsigned i = 0; i < 4000 && (waiting() || done || !tiles.empty() || !on_link.empty());
             i++)
            step();
        step();
        assert_true(dut.idle_o);
    }

    void step()
    {
        if (!offered)
            offer();
        dut.sig_ready_i = percent(rate);
        dut.item_done_i = dut.item_valid_o && percent(rate);
        dut.tile_ready_i = tells && percent(rate);
        dut.left_valid_i = !on_link.empty() && on_link.front() != stuck && percent(rate);
        dut.left_port_i = static_cast<uint8_t>(on_link.empty() ? 0 : on_link.front());
        if (!on_link.empty() && on_link.front() == stuck &&
            on_link.size() > OPEN) { // others pass it
            auto other = std::find_if(on_link.begin(), on_link.end(),
                                      [&](unsigned h) { return h != stuck; });
            if (other != on_link.end() && percent(rate)) {
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
        assert_int_equal(dut.idle_o, !waiting() && !dut.item_valid_o && tiles.empty());
        assert_true(tiles.size() <= TILES);
        if (dut.tile_valid_o) {
            assert_false(tiles.empty());
            assert_int_equal(dut.tile_home_o, tiles.front().home);
            assert_int_equal(dut.tile_rows_o, tiles.front().rows);
            assert_true(left[tiles.front().home] >= tiles.front().behind);
        }
        if (dut.tile_valid_o && dut.tile_ready_i) {
            tiles.pop_front();
            notified++;
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
    unsigned seen = 0, signals = 0, notified = 0;
    for (unsigned run = 0; run < 60; run++) {
        returns b;
        for (unsigned i = 0; i < 2000; i++)
            b.step();
        b.drain();
        seen += b.items;
        signals += b.signals;
        notified += b.notified;
    }
    assert_true(seen > 1000 && signals > 1000 && (!PARAM_SourceLists || notified > 300));
}

// A home takes nothing. Its rows let rows for all others pass while its own queue has room, and
// leave later.
TEST(a_home_holds_up_no_other)
{
    for (unsigned run = 0; run < 20; run++) {
        returns b;
        b.rate = 100;
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

// While sixteen tiles wait to be reported, no row leaves for any home, and none is lost. The rows
// before a tile may be as many as a tile can have.
TEST_IF(PARAM_SourceLists, tiles_wait_for_their_turn)
{
    for (unsigned most : {1u, 20u, 255u}) {
        returns b(true);
        b.rate = 100;
        b.most = most;
        b.to_home =
            most > 20 ? (b.port + 1) % N : N; // as many rows in front of a tile as there can be
        b.tells = false;
        for (unsigned i = 0; i < 40 * most * TILES + 400; i++)
            b.step();
        assert_int_equal(b.tiles.size(), TILES);
        const unsigned items = b.items;
        for (unsigned i = 0; i < 200; i++)
            b.step();
        assert_int_equal(b.items, items);
        b.tells = true;
        for (unsigned i = 0; i < 2000; i++)
            b.step();
        assert_true(b.items > items && b.notified > TILES);
        b.drain();
    }
}

// Rows, items and tiles of an aborted layer are cleared. The next layer begins like the first.
TEST(a_layer_behind_one_that_was_cut_off)
{
    for (unsigned run = 0; run < 40; run++) {
        returns b;
        for (unsigned layer = 0; layer < 6; layer++) {
            b.stuck = b.percent(50) ? (b.port + 1) % N : N;
            b.tells = b.percent(70);
            b.offers = true;
            for (unsigned i = 0, n = b.below(300); i < n; i++)
                b.step();
            b.go();
        }
        b.stuck = N;
        b.tells = true;
        const unsigned was = b.items;
        b.rate = 100;
        for (unsigned i = 0; i < 1000; i++)
            b.step();
        assert_true(b.items > was);
        b.drain();
    }
}
