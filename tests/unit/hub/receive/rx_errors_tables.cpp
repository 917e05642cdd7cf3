// SPDX-License-Identifier: Apache-2.0
//
// Tables of rows and counts: full tables, counts that are too large or come twice, entries of
// another epoch, and a reset within packets.

#include "rx_errors_model.h"

using namespace tb;

// ---- allocator ----
// An expert has no rows left. The next token gets none from either client, and earlier ones keep
// theirs.
TEST(no_row_left)
{
    hub b;
    for (unsigned i = 0; i < 1u << CAP_SHIFT; i++)
        b.whole_row(OTHER << TOKEN_SHIFT | i, 3);
    assert_int_equal(b.complete(3), 1 << CAP_SHIFT);
    for (unsigned t = 0; t < 3; t++) { // the first one reads the table: later
        const bytes before = b.mem.data;
        b.reports(MW_HWERR_BOUNDS, STORE, 0, 80, b.row(t, MW_STAGE_DISPATCH, 0, 128, {own(3)}));
        assert_true(b.mem.data == before);
        b.rejects(MW_HWERR_BOUNDS, b.row(t, MW_STAGE_DISPATCH, 128, 128, {own(3)}));
        assert_true(b.look(3, t).err);
    }
    for (unsigned i = 0; i < 1u << CAP_SHIFT; i++) {
        auto l = b.look(3, OTHER << TOKEN_SHIFT | i);
        assert_true(!l.err && l.row == i);
    }
    assert_int_equal(b.complete(3), 1 << CAP_SHIFT);
}

// Look-ups of rows that were never stored, and of impossible ones.
TEST(rows_that_are_not_there)
{
    hub b;
    b.whole_row(5, 1);
    for (unsigned le = 0; le < 64; le++)
        for (unsigned token : {0u, 5u, 31u, 32u, 127u, 128u + 5, 1u << 21 | 5})
            assert_int_equal(b.look(le, token).err, !(le == 1 && token == 5));
    b.set("local_experts", 1);
    assert_true(b.look(1, 5).err);
}

// ---- row tracker ----
TEST(bytes_beyond_a_row)
{
    hub b;
    const unsigned token = 3;
    b.whole_row(token, 2);
    assert_int_equal(b.row_events, 1);
    // One byte too many is written and reported once. The row is not listed again.
    for (unsigned i = 0; i < 3; i++) {
        b.reports(MW_HWERR_COUNT, ROWS, HF, HF + 20,
                  b.row(token, MW_STAGE_DISPATCH, 16 * i, 1, {own(2)}));
        assert_int_equal(b.complete(2), 1);
    }
    // A row with bytes beyond its end is complete, once, because an engine waits for each row that
    // is counted.
    for (unsigned at = 0; at < ROW; at += 128)
        b.send(b.row(4, MW_STAGE_DISPATCH, at, 128, {own(2)}), MW_CLS_STORE);
    for (unsigned i = 0; i < 2; i++) {
        b.reports(MW_HWERR_COUNT, ROWS, 0, 40, b.row(4, MW_STAGE_DISPATCH, 0, 4 * K + 1, {own(2)}));
        assert_int_equal(b.complete(2), 2);
        assert_int_equal(b.row_events, 2);
    }
}

TEST(counts_that_are_too_big)
{
    hub b;
    for (unsigned bit = ROWS_LOG2 + 1; bit < 32; bit++) {
        b.reports(MW_HWERR_BOUNDS, ROWS, HF, HF + 12, b.words(0, {0, 1u << bit, 0, 0}));
        assert_int_equal(b.expected(1), 0);
        b.next_layer();
    }
    b.send(b.words(0, {0, (2u << ROWS_LOG2) - 1, 0, 0}), MW_CLS_STORE); // all that its bits hold
    b.settle_down();
    assert_int_equal(b.expected(1), (2u << ROWS_LOG2) - 1);
    b.send(b.words(1, {~0u, ~0u, ~0u, ~0u}), MW_CLS_STORE); // copy counts are not the tracker's
    b.settle_down();
    assert_int_equal(b.expected(1), (2u << ROWS_LOG2) - 1);
}

// A GPU that counts again adds nothing and does not replace another one, with whole rows or in
// halves. Each such packet is one COUNT. Counts of an older layer are EPOCH. In the next layer none
// of them has an effect.
TEST(counts_twice)
{
    hub b;
    unsigned again = 0, complete = 0;
    for (unsigned layer = 0; layer < 40; layer++) {
        unsigned halves[N] = {}, rows[LE] = {}, copied = 0;
        b.next_layer();
        for (unsigned i = 0; i < 80; i++) {
            const unsigned src = b.below(N), kind = b.below(4);
            const bool copies = kind == MW_COUNTS_COPIES;
            const unsigned of = kind == MW_COUNTS_ROWS_LOW    ? 1
                                : kind == MW_COUNTS_ROWS_HIGH ? 2
                                                              : 3;
            const bool twice = copies ? copied >> src & 1 : (halves[src] & of) != 0;
            std::vector<uint32_t> list(1 + b.below(copies ? N : LE));
            for (uint32_t &word : list)
                word = b.below(8);
            packet p = b.words(kind, list);
            p.h.src = src;
            if (b.rng.one_in(8)) {
                p.h.epoch ^= 1 + b.below(3);
                b.rejects(MW_HWERR_EPOCH, p);
                continue;
            }
            const unsigned words_before = b.counts;
            if (twice)
                b.errors.expect_between(b.now, b.now + 60, MW_HWERR_COUNT, SAID);
            b.comes(p);
            b.errors.done();
            again += twice;
            assert_int_equal(b.counts - words_before, twice ? 0 : list.size());
            if (!twice && copies)
                copied |= 1u << src;
            if (!twice && !copies) {
                halves[src] |= of;
                for (unsigned le = 0; le < list.size() && of & 1; le++)
                    rows[le] += list[le];
            }
            for (unsigned le = 0; le < LE; le++)
                assert_int_equal(b.expected(le), rows[le]);
            const bool all = std::all_of(halves, halves + N, [](unsigned h) { return h == 3; });
            assert_int_equal(b.dut.counts_all_o, all);
            assert_int_equal(b.dut.copies_here_o, copied == (1u << N) - 1);
            complete += all && copied == (1u << N) - 1;
        }
    }
    assert_true(again > 300 && complete > 100);
}

// Lists that the engine makes itself are complete when it reports so. Row counts of others have no
// effect, whether they come before, during or after.
TEST(pushed_rows_whatever_is_counted)
{
    hub b;
    for (unsigned round = 0; round < 60; round++) {
        b.next_layer();
        unsigned pushed[LE] = {};
        std::vector<unsigned> sources{0, 1, 2, 3};
        b.rng.shuffle(sources);
        sources.resize(b.below(N)); // not all of them
        const unsigned rows = b.below(6);
        for (unsigned i = 0; i <= rows; i++) {
            if (!sources.empty() && b.percent(50)) {
                packet p =
                    b.words(MW_COUNTS_ROWS, {b.below(4), b.below(4), b.below(4), b.below(4)});
                p.h.src = sources.back();
                sources.pop_back();
                b.comes(p);
            }
            assert_false(b.dut.counts_all_o);
            if (i == rows)
                break;
            const unsigned le = b.below(LE);
            if (pushed[le] == 1u << CAP_SHIFT)
                continue;
            pushed[le]++;
            b.push(le, i);
        }
        b.dut.push_last_i = 1;
        b.cycles(4);
        assert_true(b.dut.counts_all_o && b.dut.rows_done_o);
        for (unsigned le = 0; le < LE; le++) {
            assert_int_equal(b.complete(le), pushed[le]);
            assert_int_equal(b.expected(le), pushed[le]);
        }
        b.dut.push_last_i = 0;
        b.cycle();
        b.errors.done();
    }
}

TEST(pushed_rows_beyond_the_capacity)
{
    hub b;
    for (unsigned i = 0; i < 3u << CAP_SHIFT; i++) {
        if (i >= 1u << CAP_SHIFT)
            b.errors.expect_between(b.now + 1, b.now + 1, MW_HWERR_BOUNDS, ROWS);
        b.push(1, i);
        b.cycles(2);
    }
    b.errors.done();
    assert_int_equal(b.complete(1), 1 << CAP_SHIFT);
    for (unsigned le = 0; le < LE; le++)
        assert_int_equal(b.complete(le), le == 1 ? 1 << CAP_SHIFT : 0);
}

// ---- what other epochs left ----
TEST(tables_of_another_epoch_are_empty)
{
    hub b(0);
    for (unsigned e = 0; e < 9; e++) {
        if (e) {
            if (e % 4 == 0)
                b.sweep();
            b.go(e % 4);
        }
        for (unsigned le = 0; le < LE; le++) {
            assert_int_equal(b.complete(le), 0);
            assert_int_equal(b.expected(le), 0);
            for (unsigned t = 0; t < N << TOKEN_SHIFT; t++)
                assert_true(b.look(le, t).err);
        }
        // all rows are in use again, and some have only half of their bytes
        unsigned before = b.row_events;
        for (unsigned i = 0; i < 1u << CAP_SHIFT; i++) {
            unsigned token = b.below(8) << 2 | i;
            b.lands(b.row(token, MW_STAGE_DISPATCH, 0, 128, {own(e % LE)}));
            auto l = b.look(e % LE, token);
            assert_true(!l.err && l.row == i);
            if (i % 2) {
                b.lands(b.row(token, MW_STAGE_DISPATCH, 128, 128, {own(e % LE)}));
                assert_int_equal(b.row_events - before, i / 2);
                b.lands(b.row(token, MW_STAGE_GATE, 0, 4 * K, {own(e % LE)}));
            }
            assert_int_equal(b.row_events - before, (i + 1) / 2);
        }
        b.errors.expect(MW_HWERR_BOUNDS, STORE); // and one has no row
        b.send(b.row(4 * (e % 8) + (e % 4), MW_STAGE_COMBINE, 0, F, {own((e + 1) % LE)}),
               MW_CLS_STORE);
        for (unsigned i = 0; i < 1u << CAP_SHIFT; i++)
            b.send(b.row((4 * (e % 8) + (e % 4) + 1 + i) % 32, MW_STAGE_COMBINE, 0, F,
                         {own((e + 1) % LE)}),
                   MW_CLS_STORE);
        b.lands(b.words(0, {e, e + 1, e + 2, e + 3}));
        b.errors.done();
        assert_int_equal(b.expected(2), e + 2);
    }
}

// A sweep clears the tables for the new configuration, with more rows and tokens than before. The
// tables have random contents.
TEST(sweeps_of_new_rows)
{
    hub b(0);
    for (unsigned cap = 0; cap <= ROWS_LOG2 - 2 && cap < 5; cap++) {
        b.set("cap_shift", cap);
        b.set("token_shift", cap);
        b.sweep();
        b.go(0);
        unsigned before = b.row_events;
        for (unsigned le = 0; le < LE; le++) {
            for (unsigned i = 0; i < 1u << cap; i++)
                b.whole_row(i, le);
            assert_int_equal(b.complete(le), 1 << cap);
            for (unsigned i = 0; i < 1u << cap; i++) {
                auto l = b.look(le, i);
                assert_true(!l.err && l.row == i);
            }
        }
        assert_int_equal(b.row_events - before, LE << cap);
        packet p = b.bare(MW_OP_SIGNAL);
        for (unsigned i = 0; i < 1u << cap; i++) {
            p.h.addr = PORT << cap | i;
            b.fails(TOKENS, MW_HWERR_COUNT, p);
        }
    }
}

// ---- reset ----
// A reset within valid and invalid packets of every class. After it nothing of them is left, and
// every credit is available.
TEST(reset_forgets)
{
    hub b;
    for (unsigned i = 0; i < 60; i++) {
        b.rate = b.percent(50) ? 0 : 30;
        b.result_rate = b.percent(50) ? 0 : 30;
        b.errors = error_watch("before the reset");
        for (unsigned n = 0; n < 3; n++)
            b.send(b.row(8 * n, MW_STAGE_COMBINE, 0, 128, {own(0), own(1)}), MW_CLS_STORE);
        b.send(b.store(ST_LO, 1 + b.below(100)), MW_CLS_STORE);
        b.send(b.result(128), MW_CLS_PART);
        b.local.queue.push_back(encode(b.store(ST_LO + 256, 100), F, &b.rng));
        b.cycles(b.below(30));
        // the last packet stops at any flit
        packet p = i % 3 ? b.store(ST_LO, 128) : b.result(128);
        packet signal = b.bare(MW_OP_SIGNAL, PORT << TOKEN_SHIFT);
        p.cut = -static_cast<int>(1 + b.below(8));
        if (i % 3 == 1) {
            p = signal;
            p.cut = static_cast<int>(b.below(4));
        }
        const wire w = encode(p, F, &b.rng);
        for (size_t f = 0; f < w.flits(); f++) {
            b.dut.rx_valid_i = 1;
            b.dut.rx_cls_i = static_cast<uint8_t>(p.h.cls);
            put(b.dut.rx_data_i, w.at(f));
            b.dut.rx_last_i = b.dut.rx_err_i = 0;
            b.cycle();
        }
        b.dut.rx_valid_i = 0;
        b.local.queue.clear();
        b.local = packet_source();
        b.io.emplace(b.mem, b.lists);
        b.results = packet_watch("results");
        b.requests = packet_watch("requests");
        b.reset(2 + b.below(3));
        b.errors = error_watch("behind the reset");
        b.rate = b.result_rate = 100;
        b.cycles(40);
        assert_true(b.idle());
        b.write_map(); // which has no reset; in it the bench may have written any of its entries
        b.sweep();
        b.go(i % 4);
        signal.h.epoch = b.epoch;
        b.fails(TOKENS, MW_HWERR_COUNT, signal); // the only error: its token is not armed
        for (unsigned &c : b.credits)
            c = 0;
        for (unsigned n = 0; n < SLOTS; n++)
            b.send(b.store(ST_LO + 128 * n, 128), MW_CLS_STORE);
        b.whole_row(i % 32, i % LE);
        for (unsigned n = 0; n < RESULTS; n++)
            b.send(b.result(128), MW_CLS_PART);
        b.settle_down();
        assert_int_equal(b.complete(i % LE), 1);
        assert_int_equal(b.credits[MW_CLS_STORE], SLOTS + 3);
        assert_int_equal(b.credits[MW_CLS_PART], RESULTS);
        b.errors.done();
    }
}
