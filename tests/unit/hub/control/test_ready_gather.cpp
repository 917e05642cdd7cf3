// SPDX-License-Identifier: Apache-2.0
//
// ready_gather: lanes of both sources at any rate, and an uplink that takes packets at any rate.
// Every lane leaves once, in the order of arrival. A packet has three lanes if three are present,
// and fills its places from the first one on. It is offered in the cycle in which it is due, and
// stays.

#include "Vready_gather.h"
#include "bench/stream.h"

using namespace tb;

static const unsigned N = PARAM_N, TOKENS = 1u << PARAM_TokensLog2, LANES = 3;

struct gather : model<Vready_gather> {
    struct row {
        unsigned home, index;
        uint64_t taken;
    };
    source<row> far, own;
    unsigned rate = 100; // percent of the cycles in which a packet is taken
    const unsigned port = below(N);
    std::deque<row> inside;
    bool due = false;
    uint64_t packets = 0, lanes = 0, full = 0, paused = 0;

    gather()
    {
        dut.port_i = port;
        reset();
    }

    void drive() override
    {
        dut.far_valid_i = far.offer(rng);
        dut.far_home_i = dut.far_valid_i ? far.front().home : below(N);
        dut.far_index_i = dut.far_valid_i ? far.front().index : below(TOKENS);
        dut.own_valid_i = own.offer(rng);
        dut.own_index_i = dut.own_valid_i ? own.front().index : below(TOKENS);
        settle();
        dut.pkt_take_i = dut.pkt_valid_o && percent(rate);
    }

    void sample() override
    {
        // due in this cycle: three lanes, or 16 cycles without one
        if (!inside.empty()) {
            const bool three = inside.size() == LANES, pause = now - inside.back().taken >= 16;
            if (!due) {
                full += three;
                paused += !three && pause;
            }
            due = due || three || pause;
            assert_true(due || now - inside.front().taken < 32);
        }
        assert_int_equal(dut.pkt_valid_o, due);
        assert_int_equal(dut.idle_o, inside.empty());
        for (unsigned l = 0; l < LANES; l++) {
            const uint64_t bits = dut.lanes_o >> MW_LANE_BITS * l;
            assert_int_equal(bits >> 20 & 1, l < inside.size());
            if (l < inside.size())
                assert_true((bits >> 15 & 31) == inside[l].home &&
                            (bits & 0x7fff) == inside[l].index);
        }
        const bool take = dut.pkt_take_i;
        const row f = far.empty() ? row() : far.front(), o = own.empty() ? row() : own.front();
        assert_true(dut.own_ready_o == (inside.size() < LANES));
        assert_true(dut.far_ready_o == (inside.size() < LANES && !dut.own_valid_i));
        if (take) {
            packets++;
            lanes += inside.size();
            inside.clear();
            due = false;
        }
        if (far.taken(dut.far_ready_o))
            inside.push_back({f.home, f.index, now});
        if (own.taken(dut.own_ready_o))
            inside.push_back({port, o.index, now});
    }
};

TEST(every_lane_leaves)
{
    uint64_t full = 0, paused = 0;
    for (unsigned r = 0; r < 60; r++) {
        gather b;
        b.rate = b.rng.pick({100u, 50u, 5u});
        b.far.rate = b.rng.pick({100u, 50u, 10u, 7u, 2u});
        b.own.rate = b.rng.pick({50u, 10u, 2u});
        uint64_t lanes = 0;
        for (unsigned i = 0; i < 200; i++) {
            if (b.percent(80))
                b.far.queue.push_back({b.below(N), b.below(TOKENS), 0});
            else
                b.own.queue.push_back({0, b.below(TOKENS), 0});
            lanes++;
        }
        b.until("the last lane", 40000,
                [&] { return b.far.empty() && b.own.empty() && b.inside.empty(); });
        assert_int_equal(b.lanes, lanes);
        full += b.full;
        paused += b.paused;
    }
    assert_true(full > 1000 && paused > 100);
}

// The distance of two lanes is about as long as the pause.
TEST(about_the_pause)
{
    gather b;
    for (unsigned apart = 14; apart <= 18; apart++) {
        for (unsigned i = 0; i < 2; i++) {
            b.far.queue.push_back({1, i, 0});
            b.cycles(apart);
        }
        b.until("the packets", 200, [&] { return b.inside.empty() && b.far.empty(); });
    }
}
