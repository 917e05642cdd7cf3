// SPDX-License-Identifier: Apache-2.0
//
// row_return: rows of any token in any order, some of which return, under back-pressure of both sides: each row that returns to
// another GPU comes as one item with its home, place and position there, all others as signals, and both keep their order.
#include "bench/dut.h"
#include "node_cfg.h"

#include <deque>

using namespace tb;

static const unsigned N = PARAM_N, TOKENS = PARAM_TokensLog2, ROWS = PARAM_RowsLog2;

struct item {
    unsigned home, row, token, pos;
};

TEST(rows_go_home)
{
    unsigned seen = 0, signals = 0;
    for (unsigned run = 0; run < 40; run++) {
        model<Vrow_return> b;
        node_cfg cfg;
        const unsigned port = b.below(N), shift = b.below(TOKENS + 1), cap = b.below(ROWS - 3);
        cfg.set("port", port);
        cfg.set("token_shift", shift);
        cfg.set("cap_shift", cap);
        cfg.drive(b.dut.cfg_i);
        b.dut.row_valid_i = b.dut.sig_ready_i = b.dut.item_done_i = 0;
        b.reset();
        std::deque<item> items;
        std::deque<unsigned> tokens;
        unsigned pace = b.rng.pick({10u, 50u, 100u});
        bool offered = false;
        for (unsigned i = 0; i < 2000; i++) {
            if (!offered) {
                b.dut.row_valid_i = b.percent(70);
                b.dut.row_back_i = b.percent(70);
                b.dut.row_token_i = b.below(N) << shift | b.below(1u << shift);
                b.dut.row_le_i = static_cast<uint8_t>(b.below(8));
                b.dut.row_row_i = b.below(1u << cap);
                b.dut.row_pos_i = static_cast<uint8_t>(b.below(16));
            }
            b.dut.sig_ready_i = b.percent(pace);
            b.dut.item_done_i = 0;
            b.settle();
            if (b.dut.item_valid_o) {
                assert_false(items.empty());
                const item &want = items.front();
                assert_int_equal(b.dut.item_home_o, want.home);
                assert_int_equal(b.dut.item_row_o, want.row);
                assert_int_equal(b.dut.item_token_o, want.token);
                assert_int_equal(b.dut.item_pos_o, want.pos);
                b.dut.item_done_i = b.percent(pace);
                b.settle();
            } else {
                assert_true(items.empty());
            }
            const unsigned home = b.dut.row_token_i >> shift;
            const bool back = b.dut.row_back_i && home != port;
            assert_int_equal(b.dut.sig_valid_o, b.dut.row_valid_i && !back);
            if (b.dut.sig_valid_o)
                assert_int_equal(b.dut.sig_token_o, b.dut.row_token_i);
            const bool taken = b.dut.row_valid_i && b.dut.ready_o;
            if (b.dut.row_valid_i)
                assert_int_equal(taken, back ? items.empty() : b.dut.sig_ready_i);
            if (b.dut.item_done_i) {
                items.pop_front();
                seen++;
            }
            if (taken && back)
                items.push_back({home, b.dut.row_le_i << cap | b.dut.row_row_i,
                                 b.dut.row_token_i & ((1u << shift) - 1), b.dut.row_pos_i});
            signals += taken && !back;
            offered = b.dut.row_valid_i && !taken;
            b.edge();
        }
    }
    assert_true(seen > 1000 && signals > 1000);
}
