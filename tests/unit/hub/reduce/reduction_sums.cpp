// SPDX-License-Identifier: Apache-2.0
//
// The kinds of `sum` and `sum.st`: rows that return singly, dense rows of gathered tokens, sums of
// static rows, and unicast copies.

#include "reduction_bench.h"

using namespace tb;

// Where rows return: sums of slots and own rows. Meanwhile rows of the own engine leave for other
// homes. Nothing else of memory changes. Sums have the order of tokens, or that in which tokens are
// complete.
TEST(rows_return)
{
    for (unsigned round = 0; round < cases(12, 24); round++) {
        settings s;
        s.returns = true;
        s.k = round % 4 == 3 ? 16 : 1 + round % 13;
        s.row_bytes = round % 3 == 0 ? 256 : round % 3 == 1 ? 128 + F : F;
        s.ready = round < 6 ? 100 : 30 + 3 * round;
        s.miss = round * 4;
        s.faults = round % 5 == 4 ? 20 : 0;
        s.open_rows = round % 9;
        s.port = round % N;
        bench b(s);
        const unsigned first = b.below(4), tokens = std::min(20u, b.slots() - first),
                       by_ready = round % 2;
        std::vector<unsigned> order;
        for (unsigned i = first; i < first + tokens; i++) {
            std::vector<int> list = b.random_list(i % 7 ? 15 : 100);
            if (s.faults && b.percent(20))
                b.rng.pick(list) = static_cast<int>(b.experts.size() + b.below(100));
            b.put_route(i, list);
            order.push_back(i);
        }
        if (by_ready)
            b.rng.shuffle(order);
        bytes after = b.mem.data;
        for (unsigned i : order)
            b.expect_returned(i);
        for (const auto &w : b.out_due)
            std::copy(w.second.begin(), w.second.end(), after.begin() + static_cast<long>(w.first));
        if (by_ready)
            b.ready_tokens.assign(order.begin(), order.end());
        for (unsigned i = 0; i < 30; i++)
            b.give_back((s.port + 1 + b.below(N - 1)) % N);
        b.run(MW_I_SUM, by_ready, 0, first, tokens, b.rng.word());
        assert_true(b.mem.data == after);
    }
}

// A slow uplink delays rows that return, and no sum.
TEST(rows_return_to_a_slow_uplink)
{
    settings s;
    s.returns = true;
    bench b(s);
    b.up_period = 9;
    for (unsigned i = 0; i < 8; i++) {
        b.put_route(i, b.random_list(10));
        b.expect_returned(i);
    }
    for (unsigned i = 0; i < 40; i++)
        b.give_back((s.port + 1 + i % (N - 1)) % N);
    b.command(MW_I_SUM, 0, 0, 0, 8, 0);
    b.wait_retired();
    assert_true(b.back.size() > 5);
    b.finish();
}

// Dense rows of gathered tokens, for the tokens that the flags select: -0 or partial sums of own
// experts. Experts of other GPUs do not count, and no token is reported as done. Experts that no
// GPU has count as absent.
TEST_IF(GATHERED, dense_rows)
{
    for (unsigned round = 0; round < 12; round++) {
        settings s;
        s.k = round % 4 == 0 ? 16 : 1 + round;
        s.local = 8;
        s.row_bytes = round % 3 == 0 ? 256 : round % 3 == 1 ? 128 + F : F;
        s.ready = round < 3 ? 100 : 40 + 5 * round;
        s.port = round % N;
        s.open_rows = round % 4;
        bench b(s);
        for (unsigned t = 0; t < 28; t++) {
            std::vector<int> list = b.random_list(t % 7 ? 15 : 100);
            if (b.percent(20))
                b.rng.pick(list) = static_cast<int>(b.experts.size() + b.below(100));
            b.put_gathered(t, list);
        }
        for (unsigned i = 0; i < 6; i++) {
            const unsigned first = b.below(20), count = b.below(9),
                           flags = b.rng.pick({2u, 3u, 6u});
            for (unsigned t = first; t < first + count; t++)
                b.expect_dense(t, flags);
            b.run(MW_I_SUM, flags, 0, first, count, b.rng.word());
        }
    }
}

// Own experts' rows if every own token has its place among the gathered ones. Sums of either kind
// come before.
TEST_IF(GATHERED, gathered_sums)
{
    for (unsigned round = 0; round < 12; round++) {
        settings s;
        s.k = 1 + round;
        s.row_bytes = round % 3 == 0 ? 256 : round % 3 == 1 ? 128 + F : F;
        s.ready = round < 3 ? 100 : 40 + 5 * round;
        s.port = round % N;
        bench b(s);
        for (unsigned i = 0; i < 24; i++)
            b.put_route(i, b.random_list(i % 6 ? 15 : 100));
        unsigned at = 0;
        for (unsigned end : {b.below(9), 9 + b.below(8), 24u}) {
            const unsigned t = b.below(12);
            for (unsigned i = at; i < end; i++)
                b.expect_gathered(i, t + i - at);
            b.run(MW_I_SUM, 5, 0, at, end - at, t);
            at = end;
        }
    }
}

// Static rows with a stride: bytes between them are not requested, and do not change.
TEST_IF(GATHERED, static_rows_apart)
{
    for (unsigned round = 0; round < 12; round++) {
        settings s;
        s.row_bytes = round % 3 ? 256 - F : 128 + F;
        s.ready = round ? 70 : 100;
        s.port = round % N;
        s.open_rows = round % 4;
        bench b(s);
        b.own_kind = random_kind(b.rng);
        const unsigned group = 17 * round % GROUPS, stride = 1u << b.row_shift, rows = b.below(7),
                       to = F * b.below(40);
        const uint32_t from = YD + F * b.below(1000);
        const bytes before = b.mem.data;
        b.expect_rows(group, from, rows * stride, OUT + to, stride);
        b.run(MW_I_MULTIMEM_LD_REDUCE, 1, group, from, rows * stride, to);
        for (unsigned i = 0; i < rows; i++) {
            const uint64_t gap = OUT + to + i * stride + s.row_bytes;
            assert_memory_equal(&b.mem.data[gap], &before[gap], stride - s.row_bytes);
        }
    }
}

TEST(unicast_sums)
{
    for (unsigned round = 0; round < 12; round++) {
        settings s;
        s.k = round % 4 == 0 ? 16 : 1 + round;
        s.local = 8;
        s.row_bytes = round % 3 == 0 ? 512 : round % 3 == 1 ? 128 + F : F;
        if (s.k == 16 && s.row_bytes == 512)
            s.row_bytes = 256;
        s.ready = round < 3 ? 100 : 40 + 5 * round;
        s.port = round % N;
        bench b(s);
        // Received rows by source, each source's in the order of its tokens.
        unsigned row = 0, first_row[N];
        std::vector<unsigned> of[N];
        for (unsigned q = 0; q < N; q++) {
            first_row[q] = row;
            if (q == s.port)
                b.own_base = row;
            std::vector<unsigned> tokens;
            for (unsigned t = 0; t < 1u << TOKEN_SHIFT; t++) {
                if (row + tokens.size() < 28 && b.percent(24 / N))
                    tokens.push_back(t);
            }
            for (unsigned t : tokens)
                b.put_meta(row++, q, t, b.random_list(15));
            b.src_rows[q] = static_cast<unsigned>(tokens.size());
            of[q] = tokens;
        }
        for (unsigned i = 0; i < 24; i++)
            b.put_route(i, b.random_list(15));
        for (unsigned i = 0; i < 24; i++)
            b.expect_sum(i);
        // flags, first token, tokens: remote ones, before the own experts
        const unsigned sums[][3] = {{0, 0, 10}, {0, 10, 5}, {1, 0, 10}, {0, 15, 9}};
        for (const auto &c : sums) {
            b.command(MW_I_SUM, c[0], 0, c[1], c[2], 0);
            b.wait_retired();
        }
        b.command(MW_I_SUM, 1, 0, 10, 14,
                  0); // the count of copies continues from one range to the next
        b.cycle();
        if (round % 2 == 0) // else at the same time
            b.wait_retired();
        unsigned at[] = {0, b.below(5), 5 + b.below(9), 14 + b.below(10), 1u << TOKEN_SHIFT};
        const bool tells = round % 3 == 1;
        unsigned gone[N] = {};
        for (unsigned r = 1; r < 5; r++) {
            // Rows from the reported one on wait for the next instruction, whatever their tokens. A
            // report beyond the source's last row, or below the rows that have left, has no effect.
            for (unsigned q = 0; q < N && tells; q++)
                b.notified[q] =
                    static_cast<int>(r == 4 ? first_row[q] + b.src_rows[q] + b.below(3)
                                            : first_row[q] + b.below(b.src_rows[q] + 1));
            b.push(at[r - 1], at[r]);
            for (unsigned q = 0; q < N && tells; q++) {
                unsigned here = 0;
                while (here < of[q].size() && of[q][here] < at[r] &&
                       static_cast<int>(first_row[q] + here) < b.notified[q])
                    here++;
                gone[q] = std::max(gone[q], here);
                if (q != s.port)
                    assert_int_equal(b.rows_due(q), of[q].size() - gone[q]);
            }
        }
        b.finish();
    }
}
