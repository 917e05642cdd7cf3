// SPDX-License-Identifier: Apache-2.0
//
// notified_rows against the last report of each source. A flag of any source comes in any cycle,
// and some flags carry no report.
#include "bench/dut.h"

using namespace tb;

static const unsigned N = PARAM_N, USERS = 2;

struct notified : model<Vnotified_rows> {
    int row[N];

    notified()
    {
        dut.go_i = dut.ev_valid_i = 0;
        std::fill(row, row + N, -1);
        reset();
    }

    void look()
    {
        for (unsigned u = 0; u < USERS; u++) {
            const unsigned src = below(N), rows = below(1u << 20);
            dut.src_i[u] = static_cast<uint8_t>(src);
            dut.src_rows_i[u] = rows;
            settle();
            assert_int_equal(dut.rows_rows_o[u], rows);
            assert_int_equal(dut.rows_notified_o[u], row[src] >= 0);
            if (row[src] >= 0)
                assert_int_equal(dut.rows_row_o[u], row[src]);
        }
    }
};

TEST(the_last_one_counts)
{
    notified b;
    unsigned seen = 0;
    for (unsigned i = 0; i < 20000; i++) {
        b.look();
        b.dut.go_i = b.rng.one_in(100);
        const unsigned src = b.below(N), last = N << PARAM_TokensLog2, // a row beyond the last one
            rows = b.percent(10) ? last : b.below(last + 1);
        b.dut.ev_valid_i = b.percent(30);
        b.dut.ev_notified_i = b.percent(70);
        b.dut.ev_src_i = static_cast<uint8_t>(src);
        b.dut.ev_row_i = rows;
        b.dut.ev_idx_i = static_cast<uint8_t>(b.below(32));
        if (b.dut.go_i) {
            std::fill(b.row, b.row + N, -1);
        } else if (b.dut.ev_valid_i && b.dut.ev_notified_i) {
            b.row[src] = static_cast<int>(rows);
            seen++;
        }
        b.settle();
        b.edge();
    }
    assert_true(seen > 2000);
}
