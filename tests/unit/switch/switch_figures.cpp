// SPDX-License-Identifier: Apache-2.0
//
// Figures of switch_top in cycles: full links, latency, counted waits, limits of credits, the
// throttle, and links slower than the switch.

#include "switch_model.h"

static unsigned full_packet(const hubs &b)
{
    return 16 / b.f + 128 / b.f;
}

// ---- figures ----
TEST(unicast_fills_every_link)
{
    auto b = bench();
    unsigned n = b->n, count = 200;
    if (b->store_pkts < 4 || b->rx_store < 4)
        SKIP("a round trip of credits takes longer than a packet");
    for (unsigned i = 0; i < count; i++)
        for (unsigned s = 0; s < n; s++)
            b->send(s, b->store(MW_OP_ST, s, (s + 1) % n, 128));
    b->finish();
    for (auto &q : b->ports)
        assert_int_equal(q.last_rx - q.first_rx + 1, count * full_packet(*b));
}

TEST(short_packets_leave_no_gap)
{
    auto b = bench();
    unsigned n = b->n, count = 300;
    if (b->ctrl_pkts < 16 || b->rx_ctrl < 16)
        SKIP("a round trip of credits takes longer than a packet");
    for (unsigned i = 0; i < count; i++)
        for (unsigned s = 0; s < n; s++)
            b->send(s, b->make(MW_OP_EVENT, s, (s + 1) % n));
    b->finish();
    for (auto &q : b->ports)
        assert_int_equal(q.last_rx - q.first_rx + 1, count * 16 / b->f);
}

TEST(multicast_leaves_on_every_output_at_once)
{
    auto b = bench();
    unsigned n = b->n, count = 100;
    if (b->store_pkts < 4 || b->rx_store < 4)
        SKIP("a round trip of credits takes longer than a packet");
    for (unsigned i = 0; i < count; i++) {
        packet p = b->store(MW_OP_MULTIMEM_ST, 0, 0, 128);
        p.h.target0 = 0;
        b->send(0, p);
    }
    b->finish();
    for (unsigned p = 1; p < n; p++)
        assert_int_equal(b->ports[p].last_rx - b->ports[p].first_rx + 1, count * full_packet(*b));
}

TEST(partials_fill_the_uplink)
{
    auto b = bench();
    unsigned n = b->n, rows = 60;
    if (b->part_pkts < 4 || b->open_rows < 8 || b->rx_result < 4)
        SKIP("a round trip of credits takes longer than a packet");
    // every port requests from its neighbour: each uplink has one partial per result on each
    // downlink
    for (unsigned i = 0; i < rows; i++)
        for (unsigned s = 0; s < n; s++)
            request(*b, s, 1024, {expert(*b, (s + 1) % n, 0)});
    b->finish();
    unsigned flits = rows * (8 * full_packet(*b) + 16 / b->f);
    for (auto &q : b->ports)
        assert_in_range(q.last_rx - q.first_rx + 1, flits, flits + flits / 50);
}

TEST(join_takes_one_flit_per_cycle)
{
    auto b = bench();
    unsigned n = b->n, rows = 40;
    if (n < 3 || b->part_pkts < 4 || b->open_rows < 8)
        SKIP("it takes two members, and credits for longer than a round trip");
    std::vector<uint16_t> t;
    for (unsigned d = 1; d < n && t.size() < 16; d++)
        t.push_back(expert(*b, d, 0));
    for (unsigned i = 0; i < rows; i++)
        request(*b, 0, 1024, t);
    b->finish();
    // Packets of all members, read one after another without a gap. If they take turns with the
    // output, each packet takes a cycle more.
    unsigned flits = rows * 8 * static_cast<unsigned>(t.size()) * (128 / b->f + b->part_shared_ram);
    assert_in_range(b->ports[0].last_rx - b->ports[0].first_rx, 0, flits + flits / 50);
}

TEST(first_flit_leaves_after_four_cycles)
{
    for (unsigned latency : {1u, 64u}) {
        auto b = bench(latency);
        for (unsigned op :
             {MW_OP_EVENT, MW_OP_FLAG, MW_OP_ST, MW_OP_DYMULTIMEM_ST, MW_OP_MULTIMEM_ST}) {
            packet p = b->store(op, 0, 1, op == MW_OP_EVENT || op == MW_OP_FLAG ? 0 : 128);
            if (op == MW_OP_DYMULTIMEM_ST)
                p.set_targets({expert(*b, 1, 0)});
            if (op == MW_OP_MULTIMEM_ST)
                p.h.target0 = 0;
            b->cycles(20);
            hubs::port &q = b->ports[1];
            q.rx_flits = 0;
            b->send(0, p);
            uint64_t start = b->now;
            b->finish();
            // one cycle to the input of the link, two links, the switch
            assert_in_range(q.first_rx - start, 2 * latency, 2 * latency + 4);
        }
    }
}

// ---- limits of credits, throttle ----
TEST(limits_hold)
{
    auto b = bench();
    unsigned n = b->n;
    b->dut.ctl_store_credits_i = 2;
    b->dut.ctl_part_credits_i = 1;
    for (unsigned p = 0; p < n; p++)
        b->sink[p] = false;
    for (unsigned i = 0; i < 6; i++)
        b->send(0, b->store(MW_OP_ST, 0, 1, 64));
    request(*b, 1, 512, {expert(*b, 0, 0)});
    b->cycles(600);
    assert_int_equal(b->ports[1].held[MW_CLS_STORE], std::min(2u, b->rx_store));
    assert_int_equal(b->ports[1].held[MW_CLS_PART], 1);
    for (unsigned p = 0; p < n; p++)
        b->sink[p] = true;
    b->finish();
}

TEST(counts_waiting_copies)
{
    auto b = bench();
    unsigned n = b->n;
    // a copy that is alone waits for nothing
    b->send(0, b->store(MW_OP_ST, 0, 1, 128));
    b->finish();
    assert_int_equal(b->counter(1, 11), 0);
    assert_int_equal(b->counter(1, 12), 0);
    // without credits every cycle counts
    b->sink[1] = false;
    for (unsigned i = 0; i < b->rx_store + 1; i++)
        b->send(0, b->store(MW_OP_ST, 0, 1, 128));
    b->cycles(40 * (b->rx_store + 2));
    uint32_t before = b->counter(1, 12), turns = b->counter(1, 11);
    b->cycles(500);
    assert_int_equal(b->counter(1, 12) - before, 500 + 2 * 3); // the cycles of the reads, too
    assert_int_equal(b->counter(1, 11), turns);
    assert_int_equal(b->counter(0, 12), 0);
    b->sink[1] = true;
    b->finish();
    if (n < 3 || b->rx_store < 2)
        return; // the rest takes two senders
    // two copies at once: the second starts when the last flit of the first one has been read
    b->go();
    b->send(0, b->store(MW_OP_ST, 0, 1, 128));
    b->send(2, b->store(MW_OP_ST, 2, 1, 128));
    b->finish();
    assert_int_equal(b->counter(1, 11), full_packet(*b) - 1);
    assert_int_equal(b->counter(1, 12), 0);
}

// A downlink is idle after each packet for the cycles that its flits require, and not a cycle
// longer.
TEST(slower_downlinks_are_full)
{
    auto b = bench();
    unsigned n = b->n, count = 100;
    if (b->store_pkts < 4 || b->rx_store < 4)
        SKIP("a round trip of credits takes longer than a packet");
    for (unsigned wait = 0; wait < 4; wait++) {
        b->dut.ctl_link_wait_i = static_cast<uint8_t>(wait);
        for (auto &q : b->ports)
            q.rx_flits = 0;
        for (unsigned i = 0; i < count; i++)
            for (unsigned s = 0; s < n; s++)
                b->send(s, b->store(MW_OP_ST, s, (s + 1) % n, 128));
        b->finish();
        for (auto &q : b->ports)
            assert_int_equal(q.last_rx - q.first_rx + 1,
                             (count + (count - 1) * wait) * full_packet(*b));
    }
}

TEST(throttle_delays_packets)
{
    auto b = bench();
    unsigned count = 100;
    if (b->store_pkts < 4 || b->rx_store < 4)
        SKIP("a round trip of credits takes longer than a packet");
    for (unsigned t : {0u, 128u, 250u}) {
        b->dut.ctl_throttle_i = static_cast<uint8_t>(t);
        b->ports[1].rx_flits = 0;
        for (unsigned i = 0; i < count; i++)
            b->send(0, b->store(MW_OP_ST, 0, 1, 128));
        b->finish();
        uint64_t extra = b->ports[1].last_rx - b->ports[1].first_rx + 1 - count * full_packet(*b);
        // a start is delayed by t / (256 - t) cycles on average
        double mean = static_cast<double>(t) / (256 - t);
        assert_in_range(extra, static_cast<unsigned>(count * mean * 0.4),
                        static_cast<unsigned>(count * mean * 2.0));
    }
}

// The same traffic takes the same cycles after each go.
TEST(repeats_after_go)
{
    auto b = bench();
    unsigned n = b->n;
    b->dut.ctl_throttle_i = 60;
    uint64_t took[3];
    for (unsigned k = 0; k < 3; k++) {
        b->cycles(7 + 13 * k);
        b->go();
        b->cycles(33); // a scan clears the counters
        b->check_counters();
        uint64_t start = b->now;
        uint64_t sum = 0;
        b->rng = tb::dice(12345);
        for (unsigned i = 0; i < 60; i++)
            for (unsigned s = 0; s < n; s++)
                b->send(s, b->store(MW_OP_ST, s, (s + 1 + i % (n - 1)) % n, 96));
        b->finish();
        for (unsigned p = 0; p < n; p++)
            sum = sum * 31 + b->ports[p].last_rx - start;
        took[k] = sum;
    }
    assert_int_equal(took[0], took[1]);
    assert_int_equal(took[1], took[2]);
}
