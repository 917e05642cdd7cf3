// SPDX-License-Identifier: Apache-2.0
//
// Rows that a hub combines and serves: each bit of every packet and of memory, alone and together
// with requests of all GPUs. Then faults that affect only their row, and the rates.

#include "reduction_bench.h"

using namespace tb;

// Own tokens and requests of all GPUs at the same time.
static void combine_run(bench &b, unsigned tokens, unsigned requested, bool by_ready, bool unmapped)
{
    b.own_kind = b.conf.by_switch ? reduction_kind() : random_kind(b.rng);
    const unsigned first = b.below(4);
    std::vector<unsigned> order;
    for (unsigned i = first; i < first + tokens; i++) {
        std::vector<int> list = b.random_list(10);
        if (unmapped && b.percent(20))
            b.rng.pick(list) = static_cast<int>(b.experts.size() + b.below(100));
        b.put_route(i, list);
        order.push_back(i);
    }
    if (by_ready)
        b.rng.shuffle(order);
    for (unsigned i : order)
        b.expect_dynamic(i);
    if (by_ready)
        b.ready_tokens.assign(order.begin(), order.end());
    for (unsigned q = 0; q < N; q++) {
        for (unsigned t = 0; t < requested && q != b.conf.port; t++)
            b.ask(q);
    }
    b.run(MW_I_DYMULTIMEM_LD_REDUCE, by_ready && (!b.conf.by_switch || b.percent(50)), 0, first,
          tokens, 0);
}

// Delays around the hub, whose ports are always ready in the first six rounds.
static void slow_around(settings &s, dice &rng, unsigned round)
{
    s.ready = round < 6 ? 100 : 25 + rng.below(75);
    s.miss = rng.below(100);
    s.open_rows = rng.below(12);
    s.port = rng.below(N);
    s.result_gap = rng.below(70);
    s.request_gap = rng.below(90);
}

TEST(combines_and_serves)
{
    static const unsigned sizes[] = {512, 128, 384 + F, 256 - F, 2 * F, F};
    unsigned most_open = 0;
    dice rng;
    for (unsigned round = 0; round < 24; round++) {
        settings s;
        s.row_bytes = sizes[round % 6];
        s.k = round % 4 == 3 ? 16 : 1 + rng.below(16);
        s.local = round % 4 == 3 ? 64 / N : std::max((s.k + N - 1) / N, 1 + rng.below(64 / N));
        if (s.local > 16)
            s.local = 16;
        if (s.k > s.local * N)
            s.k = s.local * N;
        slow_around(s, rng, round);
        s.credits = rng.below(6);
        bench b(s);
        combine_run(b, 20, 20, round % 2, false);
        most_open = std::max(most_open, b.max_open);
    }
    assert_int_equal(most_open, WINDOW);
}

// With switch-initiated reductions nothing is requested. Tokens come in the order of their GRANTs,
// whatever the instruction selects.
TEST_IF(BY_SWITCH, combines_what_is_granted)
{
    dice rng;
    for (unsigned round = 0; round < cases(12, 24); round++) {
        settings s;
        s.by_switch = true;
        s.row_bytes = rng.pick({512u, 128u, 256 - F, F});
        s.k = 1 + rng.below(16);
        s.local = std::max((s.k + N - 1) / N, 1 + rng.below(64 / N));
        s.local = std::min(s.local, 16u);
        s.k = std::min(s.k, s.local * N);
        slow_around(s, rng, round);
        s.faults = round % 3 ? 0 : 20;
        bench b(s);
        combine_run(b, 24, 20, true, false);
    }
}

// With tile reductions no row has a routing entry or a list. The contents of the table do not
// matter.
TEST_IF(TILES, sums_of_tiles)
{
    dice rng;
    for (unsigned round = 0; round < cases(12, 24); round++) {
        settings s;
        s.by_switch = s.tiles = true;
        s.row_bytes = rng.pick({512u, 128u, 256 - F, F});
        s.k = 1;
        slow_around(s, rng, round);
        s.faults = round % 3 ? 0 : 20;
        bench b(s);
        b.own_kind = {};
        for (unsigned first : {0u, 12u}) {
            for (unsigned i = first; i < first + 12; i++) {
                b.mem.write(RT + 128 * i, rng.some(32));
                b.expect_tile(i);
                b.ready_tokens.push_back(i);
            }
            for (unsigned q = 0; q < N; q++)
                for (unsigned t = 0; t < 12 && q != s.port; t++)
                    b.ask_tile(q);
            b.run(MW_I_DYMULTIMEM_LD_REDUCE, b.below(2), 0, first, 12, 0);
        }
    }
}

TEST(faults_poison_their_row_only)
{
    for (unsigned round = 0; round < 8; round++) {
        settings s;
        s.row_bytes = round % 2 ? 128 + F : 384;
        s.faults = 20;
        s.ready = 60;
        s.port = round % N;
        s.result_gap = 30;
        s.request_gap = 30;
        bench b(s);
        combine_run(b, 24, 16, round % 2, true);
        assert_true(b.errors.count(MW_HWERR_UNALLOCATED) > 0);
    }
}

TEST(static_groups)
{
    for (unsigned round = 0; round < 8; round++) {
        settings s;
        s.row_bytes = round % 3 ? 256 : 128 + F;
        s.ready = round ? 70 : 100;
        s.port = round % N;
        bench b(s);
        b.own_kind = random_kind(b.rng);
        unsigned group = 17 * round % GROUPS, length = 3 * s.row_bytes + F * b.below(12);
        uint32_t from = YD + 4096 + F * b.below(8);
        b.expect_static(group, from, length, OUT + F);
        for (unsigned q = 0; q < N; q++) {
            for (unsigned t = 0; t < 6 && q != s.port; t++) {
                bool bad = t == 3;
                unsigned n = F * (1 + b.below(s.row_bytes / F));
                uint64_t at =
                    YD + F * b.below(1000) + (bad ? (b.percent(50) ? 2 : uint64_t{MEM}) : 0);
                reduction_kind kind = random_kind(b.rng);
                if (bad && b.percent(30)) { // a type or operator that does not exist
                    at = YD;
                    kind.dtype = b.percent(50) ? 5 + b.below(3) : b.below(3);
                    kind.redop = kind.dtype < 5 || b.percent(50) ? 3 + b.below(5) : 0;
                }
                if (t == 4) { // ends with memory, or a flit beyond it
                    bad = b.percent(50);
                    at = MEM - n + (bad ? F : 0);
                }
                b.ask_static(q, at, n, bad, kind);
            }
        }
        b.run(MW_I_MULTIMEM_LD_REDUCE, 0, group, from, length, OUT + F);
    }
}

// Cycles per packet of a long run that only the adder limits.
TEST(rates)
{
    for (unsigned m = 1; m <= 3; m++) {
        settings s;
        s.k = 8;
        s.row_bytes = 512;
        s.credit_delay = 0;
        s.port = 0;
        bench b(s);
        const std::vector<int> here = b.some_experts(m, true);
        unsigned rows = 64;
        for (unsigned t = 0; t < rows; t++)
            b.ask_list(1 + t % (N - 1), (1 + t % (N - 1)) << TOKEN_SHIFT | t % 32, here);
        b.finish();
        const double per = b.partials_out.per_event();
        unsigned adder = PF * (m > 2 ? m - 1 : 1), link = PF + HF;
        printf("N=%u F=%u, %u terms: %.2f cycles per packet\n", N, F, m, per);
        assert_true(per <= std::max(adder, link) + 0.1);
    }
}

// Rows of one packet over a static group for all other GPUs. They are set up as fast as the uplink
// takes their packets.
TEST(rate_of_short_rows)
{
    settings s;
    s.row_bytes = 128;
    s.credit_delay = 6;
    s.port = 0;
    bench b(s);
    for (unsigned t = 0; t < 300; t++) {
        for (unsigned q = 1; q < N; q++)
            b.ask_static(q, YD + F * b.below(1000), 128, false, random_kind(b.rng));
    }
    b.finish();
    const double per = b.partials_out.per_event();
    printf("N=%u F=%u: %.2f cycles per row of a packet\n", N, F, per);
    assert_true(per <= PF + HF + 0.1);
}

// A GPU sums partials of all others and its own rows, and all inputs are always present. The adder
// never waits.
TEST(hot)
{
    for (unsigned m = 1; m <= 3; m++) {
        for (unsigned own = 0; own < 2; own++) {
            settings s;
            s.k = 8;
            s.row_bytes = 512;
            s.credit_delay = 6;
            s.port = 0;
            bench b(s);
            const std::vector<int> here = b.some_experts(m, true);
            std::vector<int> list = here;
            for (int e : b.some_experts(2, false))
                list.push_back(e);
            list.resize(8, -1);
            unsigned tokens = 28;
            for (unsigned i = 0; i < tokens; i++) {
                b.put_route(i, list);
                b.expect_dynamic(i);
            }
            for (unsigned t = 0; t < (own ? 0 : 6 * tokens); t++) {
                unsigned q = 1 + t % (N - 1);
                b.ask_list(q, q << TOKEN_SHIFT | t % 32, here);
            }
            b.command(MW_I_DYMULTIMEM_LD_REDUCE, 0, 0, 0, tokens, 0);
            while (b.tokens_done < 4)
                b.cycle();
            uint64_t start = b.now, parts = b.partials_out.count, flits = b.flits_written.count;
            while (b.tokens_done < tokens - 8 && (own || b.requests_left()))
                b.cycle();
            double time = static_cast<double>(b.now - start),
                   sums = static_cast<double>(b.flits_written.count - flits) * m;
            parts = b.partials_out.count - parts;
            double work = sums + static_cast<double>(parts) * PF * (m > 2 ? m - 1 : 1);
            printf("N=%u F=%u, %u terms%s: adder busy %.1f %%\n", N, F, m,
                   own ? ", own rows alone" : "", 100 * work / time);
            // R comes with its header, a flit or two in PF + HF; with 8-byte flits one at a time.
            assert_true(work >= (own ? (F < 16 ? 0.6 : 0.88) : F < 16 ? 0.95 : 0.99) * time);
            b.finish();
        }
    }
}
