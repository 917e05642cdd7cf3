// SPDX-License-Identifier: Apache-2.0
//
// Whole layers on the receive side of a hub, with packets of all sources interleaved at random. In
// any order each byte, row, list and count is right. Then capacity, layers one after another, and
// the window of explicit stores.

#include "rx_store_model.h"

using namespace tb;

static unsigned one_layer(const settings &s) // returns packets without targets
{
    bench b(s);
    b.start();
    b.layer();
    return b.followers;
}

TEST(layer_at_full_speed)
{
    one_layer(settings());
}

TEST(layer_with_everything)
{
    dice rng;
    unsigned followers = 0;
    for (unsigned run = 0; run < 12; run++) {
        settings s;
        s.port = rng.below(N);
        s.k = 1 + rng.below(16);
        s.row_bytes = F * (1 + rng.below(256 / F));
        s.token_shift = 3 + rng.below(TOKENS_LOG2 - 2);
        s.tokens = 1 + rng.below(std::min(8u, 1u << s.token_shift));
        s.wr_ready[0] = 10 + rng.below(91);
        s.wr_ready[1] = 10 + rng.below(91);
        s.al_ready = 10 + rng.below(91);
        s.al_latency = 1 + rng.below(40);
        s.gap = rng.below(70);
        s.credit_delay = rng.below(30);
        s.wrong = rng.below(25);
        s.plain = rng.below(40);
        s.ordered = rng.below(10);
        s.counts = rng.percent(80);
        s.results = rng.below(300);
        s.result_share = 5 + rng.below(96);
        s.result_ready = 10 + rng.below(91);
        s.result_wrong = rng.below(20);
        s.once = rng.below(101);
        s.cache_log2 = rng.below(16);
        s.by_switch = BY_SWITCH && run % 3;
        s.list_ready = rng.pick({100u, 50u, 4u});
        followers += one_layer(s);
    }
    assert_true(followers > 20);
}

// Rows that come for each expert separately, with other stores between. Any piece of a row may be
// the first, which allocates it.
TEST(row_sparse)
{
    dice rng;
    for (unsigned run = 0; run < 8; run++) {
        settings s;
        s.rowsp = run < 4 ? 100 : 50;
        s.k = 1 + rng.below(8);
        s.row_bytes = rng.pick({256u, 128 + F, 32u, F});
        s.density = 80;
        s.al_latency = 1 + rng.below(40);
        s.al_ready = 40 + rng.below(61);
        s.cap_shift = run % 4 == 3 ? 2 : 4;
        s.plain = rng.below(20);
        s.ordered = rng.below(10);
        s.by_switch = BY_SWITCH && run % 2;
        one_layer(s);
    }
}

// A pushed row is listed with all bits of its token and position.
TEST(pushed_rows_are_listed)
{
    settings s;
    bench b(s);
    b.start();
    const unsigned bits = 4 + TOKENS_LOG2 + LOG_N, n = 1u << s.cap_shift;
    std::vector<unsigned> pushed;
    for (unsigned i = 0; i < n; i++) {
        pushed.push_back(b.rng.bits(bits));
        b.push(2, pushed[i]);
        b.cycles(2);
    }
    for (unsigned i = 0; i < n; i++) {
        b.list(2, i);
        assert_int_equal(b.dut.list_token_o << 4 | b.dut.list_pos_o, pushed[i]);
    }
}

// The most rows of a KB: they fill half of the memory.
TEST(long_rows)
{
    for (unsigned run = 0; run < 2; run++) {
        settings s;
        s.row_bytes = 1024 - 8 * F * run;
        s.tokens = run ? 8 : 4;
        s.density = 100;
        s.cap_shift = 4;
        one_layer(s);
    }
}

// Few rows per expert. Tokens that come too late get none, each of their targets is counted, and
// they have no other effect.
TEST(no_row_left)
{
    for (unsigned cap = 0; cap < 3; cap++) {
        settings s;
        s.cap_shift = cap;
        s.density = 100;
        s.wr_ready[0] = 60;
        s.al_latency = 9;
        s.ordered = 5;
        one_layer(s);
    }
}

// An expert has more rows than 5 bits can number.
TEST_IF(PARAM_RowsLog2 - log2_up(LE) >= 6, many_rows_of_an_expert)
{
    settings s;
    s.cap_shift = 6;
    s.k = 8;
    s.tokens = 1 << TOKENS_LOG2;
    s.density = 100;
    s.row_bytes = F;
    bench b(s);
    b.start();
    b.layer();
    assert_true(*std::max_element(b.expected_rows.begin(), b.expected_rows.end()) > 32);
}

// If send and control offer a packet in the same cycle, send goes first in a new layer. It does not
// matter which of them sent the last packet of the previous layer.
TEST(send_goes_first)
{
    settings s;
    s.counts = false;
    bench b(s);
    b.sweep();
    for (unsigned layer = 0; layer < 4; layer++) {
        b.go(layer);
        std::vector<packet_source *> order{&b.local, &b.control};
        if (layer % 2 == 0)
            order.push_back(&b.local); // the last one
        for (packet_source *stream : order) {
            item p = b.plain(s.port, F);
            b.plain_at[s.port] += p.p.h.len;
            b.add(s.port, p);
            b.sources[s.port].sent++;
            stream->queue.push_back(b.encoded(p.p));
        }
        b.cycle();
        assert_true(b.dut.loc_valid_i && b.dut.clo_valid_i);
        b.until("a flit", 100, [&] { return b.dut.loc_ready_o || b.dut.clo_ready_o; });
        assert_false(b.dut.clo_ready_o);
        b.run(1000);
        b.check();
    }
}

// Layers one after another. Epochs differ until they wrap, and then the tables are swept. The same
// layer takes the same cycles.
TEST(layers_repeat)
{
    settings s;
    s.gap = 20;
    s.al_latency = 7;
    s.wr_ready[0] = s.wr_ready[1] = 80;
    s.credit_delay = 5;
    bench b(s);
    b.sweep();
    uint64_t taken = 0, layers[6];
    for (uint64_t &stream : layers)
        stream = b.rng();
    for (unsigned layer = 0; layer < 11; layer++) {
        if (layer && layer % 4 == 0)
            b.sweep();
        b.rng = dice(layers[layer / 2]);
        b.go(layer % 4);
        b.layer();
        if (layer % 2)
            assert_int_equal(b.taken, taken);
        taken = b.taken;
    }
}

// ... and reaches every row in use. The 256 rows of an expert are directly before those of the next
// one.
TEST_IF(PARAM_RowsLog2 >= 10, lists_of_many_rows)
{
    const unsigned each = 256;
    for (unsigned experts = 1; experts <= 4; experts++) {
        settings s;
        s.cap_shift = 8;
        bench b(s);
        b.set("local_experts", experts);
        assert_in_range(b.rx_bench::sweep(), experts * each - 4, experts * each + 4);
        b.go(1);
        std::vector<std::vector<unsigned>> pushed(experts);
        for (unsigned i = 0; i < 8; i++)
            for (unsigned le = 0; le < experts; le++) {
                pushed[le].push_back(b.rng.bits(4 + TOKENS_LOG2 + LOG_N));
                b.push(le, pushed[le][i]);
                b.cycles(2);
            }
        for (unsigned le = 0; le < experts; le++)
            for (unsigned i = 0; i < 8; i++) {
                b.list(le, i);
                assert_int_equal(b.dut.list_token_o << 4 | b.dut.list_pos_o, pushed[le][i]);
            }
    }
}

// When all rows are counted, all of them must be in the numbers. Otherwise the engine would end too
// early. Each instruction adds to the previous ones, and meanwhile the rows are not all counted.
TEST(pushed_rows_are_counted)
{
    for (unsigned rows = 1; rows <= 3; rows++) {
        settings s;
        s.counts = false;
        bench b(s);
        b.start();
        b.dut.stat_le_i = 1;
        unsigned pushed = 0;
        for (unsigned ranges = 1; ranges <= 3; ranges++) {
            b.dut.push_last_i = 0;
            b.dut.push_more_i = ranges > 1;
            b.cycle();
            b.dut.push_more_i = 0;
            assert_false(b.dut.counts_all_o);
            for (unsigned i = 0; i < 40; i++) {
                b.dut.push_valid_i = pushed < ranges * rows;
                b.dut.push_le_i = 1;
                b.dut.push_row_i = pushed;
                b.dut.push_last_i = pushed == ranges * rows;
                b.dut.eval();
                pushed += b.dut.push_valid_i && b.dut.push_ready_o;
                b.cycle();
                if (b.dut.counts_all_o) {
                    assert_int_equal(b.dut.stat_expected_o, ranges * rows);
                    assert_int_equal(b.dut.stat_complete_o, ranges * rows);
                }
            }
            assert_true(b.dut.counts_all_o);
            assert_true(b.dut.rows_done_o);
        }
        assert_int_equal(b.row_events, 0); // the engine makes these itself
    }
}

// The window of plain stores, to the byte. Its ends are anywhere, also beyond the end of memory. A
// store inside window and memory is written. One that leaves either is not.
TEST(window_to_the_byte)
{
    const uint64_t ends[] = {0,        1,       ST_LO,       MEM - 1,  MEM,       MEM + 1,
                             MEM + 64, 2 * MEM, 2 * MEM + 1, 1u << 31, 0xffffffff};
    settings s;
    s.counts = false;
    bench b(s);
    b.sweep();
    unsigned src = (s.port + 1) % N, written = 0, rejected = 0;
    for (uint64_t lo : ends) {
        for (uint64_t hi : ends) {
            b.cfg.set("st_lo", lo);
            b.cfg.set("st_hi", hi);
            for (unsigned i = 0; i < 12; i++) {
                unsigned len = i % 3 == 0 ? 1 : i % 3 == 1 ? 2 * F : 128;
                uint64_t from = b.percent(50) ? lo : b.percent(50) ? hi : MEM;
                uint64_t at = from + b.below(3) - 1 - (b.percent(50) ? len : 0);
                at &= (1ull << 48) - 1;
                if (len == 128)
                    at &= ~static_cast<uint64_t>(F - 1); // or it has a flit too many
                if (b.percent(5))
                    at |= 1ull << (33 + b.below(15));
                if (at >= AL - 128 && at < GT)
                    continue;
                b.go(2);
                item p = b.plain(src, F);
                p.p.h.addr = at;
                p.p.h.len = len;
                p.p.payload = b.rng.some(len);
                p.writes = lo <= at && at + len <= hi && at + len <= MEM;
                if (at % F + len > 128)
                    continue;
                if (!p.writes)
                    p.errors[MW_HWERR_BOUNDS] = 1;
                (p.writes ? written : rejected)++;
                b.add(src, p);
                b.run(1000);
                b.check();
            }
        }
    }
    assert_true(written > 50 && rejected > 500);
}
