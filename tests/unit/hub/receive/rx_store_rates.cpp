// SPDX-License-Identifier: Apache-2.0
//
// Rates and back-pressure of the receive side: packets per cycle, results together with stores,
// slow tables, small caches, short sweeps, and packets beyond the credit.

#include "rx_store_model.h"

using namespace tb;

// Results share a RAM with worker 0. Alone, they pass at one flit per cycle. Then stores for every
// target keep both workers busy. A result waits for at most one job that has begun, and the stores
// keep their rate.
TEST(results_between_stores)
{
    settings s;
    s.results = 100;
    s.result_share = 100;
    s.result_size = 128;
    s.tokens = 0;
    s.counts = false;
    {
        bench b(s);
        b.start();
        b.run(100000);
        b.check();
        assert_true(b.taken <= s.results * (16 + 128) / F + 12);
    }
    s.tokens = 8;
    s.counts = true;
    s.density = 100;
    s.row_bytes = 256;
    s.look = 0;
    for (unsigned busy = 0; busy < 2; busy++) {
        s.result_share = 30;
        s.wr_ready[0] = busy ? 50 : 100;
        bench b(s);
        b.start();
        b.layer(100000);
        print_message("results with stores: %llu cycles, a flit waited %u at most\n",
                      static_cast<unsigned long long>(b.taken), b.longest_gap);
        assert_true(b.longest_gap <= (busy ? 6 : 2) * 128 / F + 8);
    }
}

// Results that are not taken delay nothing else.
TEST(results_wait)
{
    settings s;
    s.results = RESULTS;
    s.result_share = 100;
    s.result_ready = 0;
    bench b(s);
    b.start();
    b.make_layer();
    b.cycles(5000);
    for (auto &src : b.sources)
        assert_int_equal(src.sent, src.items.size());
    assert_int_equal(b.store_credits.left(), SLOTS);
    assert_int_equal(b.result_credits.left(), 0);
    b.s.result_ready = 100;
    b.run(1000);
    b.check();
}

// More rows in flight than cache entries, and a slow table: targets are parked all the time.
TEST(table_is_slow)
{
    settings s;
    s.density = 100;
    s.tokens = 12;
    s.row_bytes = F;
    s.al_latency = 60;
    s.al_ready = 30;
    s.ordered = 3;
    s.cap_shift = 6 - 2;
    bench b(s);
    b.start();
    b.layer();
}

// The same layers with fewer cache entries: the same answers, more misses. A single layer may have
// fewer by chance, because the order of packets differs.
TEST_IF(F == 8, smaller_caches_miss_more)
{
    uint64_t layers[16];
    dice rng;
    for (uint64_t &layer : layers)
        layer = rng();
    unsigned misses[7] = {};
    for (unsigned log2 : {6u, 4u}) {
        for (uint64_t layer : layers) {
            settings s;
            s.density = 100;
            s.tokens = 16;
            s.row_bytes = 256;
            s.cache_log2 = log2;
            bench b(s);
            b.sweep();
            b.rng = dice(layer);
            b.go(1);
            b.layer();
            misses[log2] += b.misses;
        }
    }
    print_message("%u misses with 64 entries, %u with 16\n", misses[6], misses[4]);
    assert_true(misses[4] > misses[6]);
}

// A small layer does not wait for tables that it does not use. The sweep takes one cycle per flit
// of the allocation table, and one per row.
TEST(sweeps_are_short)
{
    settings s;
    for (s.cap_shift = 1; s.cap_shift < 4; s.cap_shift++) {
        bench b(s);
        unsigned cache = F == 16 ? 16 : 64; // entries, of the parameters in modules.mk
        unsigned table = (LE << (LOG_N + s.token_shift)) / (F / 4), rows = LE << s.cap_shift;
        assert_true(b.sweep() < cache + table + rows + 16);
    }
}

// Back-to-back packets at the link's rate must not wait for credits, with the local stream in the
// gaps.
static void measure(unsigned targets, unsigned local, double *per_packet, unsigned *stalled)
{
    const unsigned packets = 96;
    settings s;
    s.row_bytes = 1024;
    s.cap_shift = 2;
    s.k = 8;
    s.look = 0;
    s.counts = false;
    s.credit_delay = 4;
    bench b(s);
    b.start();
    for (unsigned i = 0; i < packets + local; i++) {
        unsigned src = i < packets ? (s.port + 1) % N : s.port, n = i < packets ? i : i - packets;
        std::vector<uint16_t> t;
        std::vector<key> k;
        unsigned token = src << s.token_shift | n / (s.row_bytes / 128) % (s.port == src ? 1 : 2);
        for (unsigned j = 0; j < targets; j++) {
            t.push_back(b.own(j, j));
            k.push_back({j, token});
            b.rows[{j, token}] = j;
        }
        b.add(src, b.dynamic(src, token, t, k, MW_STAGE_COMBINE, n * 128 % s.row_bytes, 128));
    }
    // the same bytes are written several times, because only the time counts here
    b.run(100000);
    *per_packet = static_cast<double>(b.taken) / packets;
    *stalled = static_cast<unsigned>(b.stalled);
    assert_int_equal(b.io->store[0].writes + b.io->store[1].writes,
                     (packets + local) * targets * (128 / F));
}

TEST(rates)
{
    const unsigned pf = 128 / F, hf = 16 / F;
    struct {
        unsigned targets, local;
        double most;
    } cases[] = {
        {1, 0, hf + pf + 0.6}, {1, 12, hf + pf + 0.6}, {2, 0, hf + pf + 1.6},
        {3, 0, 1.5 * pf + 1},  {4, 0, 2.0 * pf + 1},
    };
    for (auto &m : cases) {
        double per_packet;
        unsigned stalled;
        measure(m.targets, m.local, &per_packet, &stalled);
        print_message("%u targets, %u local packets: %.2f cycles per packet, %u stalled\n",
                      m.targets, m.local, per_packet, stalled);
        assert_true(per_packet <= m.most);
        if (m.targets <= 2)
            assert_int_equal(stalled, 0);
    }
}

// A sender that ignores credits loses exactly the packets without a slot.
TEST(beyond_credit)
{
    settings s;
    s.wr_ready[0] = s.wr_ready[1] = 0;
    s.look = 0;
    s.counts = false;
    bench b(s);
    b.sweep();
    b.go(2);
    unsigned src = (s.port + 1) % N, lost = 5;
    for (unsigned i = 0; i < SLOTS + lost; i++) {
        item p = b.plain(src, 1 + b.below(100));
        b.plain_at[src] += p.p.h.len;
        p.writes = i < SLOTS;
        if (!p.writes)
            p.errors[MW_HWERR_CREDIT] = 1;
        b.add(src, p);
    }
    b.store_credits.limit = SLOTS + lost;
    b.cycles(900);
    assert_int_equal(b.store_credits.left(), 0);
    assert_int_equal(b.sources[src].sent, SLOTS + lost);
    b.s.wr_ready[0] = b.s.wr_ready[1] = 100;
    b.run(1000);
    b.check();
}
