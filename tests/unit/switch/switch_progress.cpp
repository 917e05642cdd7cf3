// SPDX-License-Identifier: Apache-2.0
//
// Sums of rows in a fixed order, and progress: a blocked output, a full window, or another class
// stops no other traffic.

#include "switch_model.h"

// ---- reductions ----
TEST(sums_rows_in_fixed_order)
{
    for (unsigned mode = 0; mode < 3; mode++) {
        auto b = bench();
        unsigned n = b->n;
        b->serve_percent = mode == 1 ? 10 : 100;
        b->credit_delay = mode == 2 ? 60 : 0;
        for (unsigned i = 0; i < 40; i++) {
            for (unsigned s = 0; s < n; s++) {
                std::vector<uint16_t> t;
                for (unsigned e = 0; e < b->max_experts; e++)
                    if (e % n != s && b->rng() % b->max_experts < 8)
                        t.push_back(target(e));
                if (t.empty())
                    t.push_back(expert(*b, (s + 1) % n, 0));
                if (t.size() > 16)
                    t.resize(16);
                request(*b, s,
                        i % 4 == 0 ? 1 + static_cast<unsigned>(b->rng() % 700)
                                   : b->f * (1 + static_cast<unsigned>(b->rng() % 40)),
                        shuffled(*b, t));
            }
        }
        b->finish();
        b->check_counters();
    }
}

// Two members that serve two requesters in opposite order, each first one row, then the other.
TEST(members_may_serve_in_opposite_order)
{
    auto b = bench();
    unsigned n = b->n;
    if (n < 4)
        SKIP("two requesters and two members take four ports");
    b->serve_order[2] = {0, 1};
    b->serve_order[3] = {1, 0};
    for (unsigned i = 0; i < 30; i++) {
        for (unsigned s = 0; s < 2; s++)
            request(*b, s, 1024, {expert(*b, 2, i % 4), expert(*b, 3, i % 4)});
    }
    b->finish();
}

TEST(poison_stays_in_its_packet)
{
    auto b = bench();
    unsigned n = b->n;
    b->poison_percent = 10;
    b->spoil_percent = 20;
    for (unsigned i = 0; i < 40; i++) {
        for (unsigned s = 0; s < n; s++) {
            std::vector<uint16_t> t;
            for (unsigned d = 1; d < n && t.size() < 16; d++)
                if (d == 1 || b->rng() % 2)
                    t.push_back(expert(*b, (s + d) % n, 0));
            request(*b, s, b->f * (1 + static_cast<unsigned>(b->rng() % 40)), t);
        }
    }
    b->finish();
}

// ---- progress ----
TEST(blocked_output_stops_no_other)
{
    auto b = bench();
    unsigned n = b->n;
    if (n < 3)
        SKIP("it takes a third port");
    b->sink[1] = false;
    // fills the receiver and all but one place of the queue 0 -> 1
    for (unsigned i = 0; i < b->rx_store + b->store_pkts - 1; i++)
        b->send(0, b->store(MW_OP_ST, 0, 1, 128));
    b->cycles(80 * (b->rx_store + b->store_pkts));
    assert_int_equal(b->ports[0].queue[MW_CLS_STORE].size(), 0);
    uint64_t before = b->ports[2].rx_packets;
    for (unsigned i = 0; i < 100; i++)
        b->send(0, b->store(MW_OP_ST, 0, 2, 128));
    for (unsigned i = 0; i < 10; i++)
        request(*b, 0, 512, {expert(*b, 2, 0)});
    b->cycles(100 * 60);
    assert_int_equal(b->expect[2][0][MW_CLS_STORE].size(), 0);
    assert_int_equal(b->results[0].size(), 0);
    assert_in_range(b->ports[2].rx_packets - before, 110, 110);
    b->sink[1] = true;
    b->finish();
}

// Output 1 takes no more packets: the next store to it waits.
static void block_output_1(hubs &b)
{
    b.sink[1] = false;
    for (unsigned i = 0; i < b.rx_store; i++)
        b.send(2, b.store(MW_OP_ST, 2, 1, 128));
    b.cycles(80 * b.rx_store);
    assert_int_equal(b.ports[1].held[MW_CLS_STORE], b.rx_store);
}

TEST(a_window_lets_exactly_its_packets_pass)
{
    for (unsigned w : {1u, 2u, 4u, 7u, 16u}) {
        auto b = bench();
        if (b->n < 4 || !b->most_window)
            SKIP("it takes four ports and a window");
        if (w > b->most_window)
            break;
        b->dut.ctl_window_i = static_cast<uint8_t>(w);
        block_output_1(*b);
        b->send(0, b->store(MW_OP_ST, 0, 1, 128));
        for (unsigned i = 0; i < w + 3; i++)
            b->send(0, b->store(MW_OP_ST, 0, 2, 128));
        b->send(3, b->store(MW_OP_ST, 3, 2, 128));
        b->cycles(80 * (w + 3));
        assert_int_equal(b->expect[2][0][MW_CLS_STORE].size(), w + 3 - (w - 1));
        assert_int_equal(b->expect[2][3][MW_CLS_STORE].size(), 0);
        b->sink[1] = true;
        b->finish();
    }
}

TEST(other_classes_pass_a_full_window)
{
    auto b = bench();
    if (b->n < 4 || !b->most_window)
        SKIP("it takes four ports and a window");
    b->dut.ctl_window_i = 1;
    block_output_1(*b);
    for (unsigned i = 0; i < b->store_pkts; i++)
        b->send(0, b->store(MW_OP_ST, 0, 1, 128));
    b->cycles(80 * b->store_pkts);
    for (unsigned i = 0; i < 30; i++)
        b->send(0, b->make(MW_OP_SIGNAL, 0, 2));
    for (unsigned i = 0; i < 10; i++)
        request(*b, 0, 512, {expert(*b, 2, 0), expert(*b, 3, 0)});
    b->cycles(100 * 60);
    assert_int_equal(b->expect[2][0][MW_CLS_CTRL].size(), 0);
    assert_int_equal(b->results[0].size(), 0);
    b->sink[1] = true;
    b->finish();
}

TEST(no_class_waits_for_ever)
{
    auto b = bench();
    unsigned n = b->n;
    if (n < 4)
        SKIP("it takes four ports");
    unsigned gap[4] = {}, worst[4] = {}, seen[4] = {};
    b->on_packet = [&](unsigned p, const mw_header &h) {
        if (p != 0)
            return;
        for (unsigned c = 0; c < 4; c++) {
            gap[c] = c == h.cls ? 0 : gap[c] + 1;
            if (seen[c])
                worst[c] = std::max(worst[c], gap[c]);
        }
        seen[h.cls]++;
    };
    // More signals for port 0 than its downlink carries, and stores and results that always wait.
    for (unsigned i = 0; i < 3000; i++) {
        for (unsigned s = 1; s < n; s++) {
            b->send(s, b->make(MW_OP_SIGNAL, s, 0));
            if (i < 600)
                b->send(s, b->store(MW_OP_ST, s, 0, 8));
        }
    }
    for (unsigned i = 0; i < 30; i++)
        request(*b, 0, 1024, {expert(*b, 1, 0)});
    b->cycles(3500);
    assert_in_range(seen[MW_CLS_CTRL], b->rx_ctrl < 16 ? 200 : 500, 100000);
    assert_in_range(seen[MW_CLS_STORE], 50, 100000);
    assert_in_range(seen[MW_CLS_PART], 50, 100000);
    assert_in_range(worst[MW_CLS_STORE], 1, 16);
    if (b->part_pkts >= 4 && b->rx_result >= 4)
        assert_in_range(worst[MW_CLS_PART], 1, 32);
    b->finish();
}
