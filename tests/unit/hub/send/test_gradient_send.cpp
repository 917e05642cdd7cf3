// SPDX-License-Identifier: Apache-2.0
//
// gradient_send with the packets of control, and streams that wait at random. Each gradient becomes
// one complete ST to its place at its home, in order. The local packets of control are unchanged.
// MW_SEED repeats a run.
#include "bench/stream.h"
#include "node_cfg.h"

using namespace tb;

static const unsigned F = PARAM_FlitBytes, N = PARAM_N, TOK_W = PARAM_TokensLog2;

struct gradient {
    bool dense;
    unsigned token, pos;
    uint32_t value;
};

struct sender : model<Vgradient_send> {
    node_cfg cfg;
    source<gradient> dw;
    packet_source control;
    packet_watch out[2] = {packet_watch("uplink"), packet_watch("local")};
    std::deque<wire> want_control, want[2];
    unsigned ready = 100, port;
    uint64_t came_at = 0, offered_at = 0; // of the first gradient, and of the first flit

    sender()
    {
        port = below(N);
        cfg.set("port", port);
        cfg.set("epoch", rng.bits(2));
        cfg.set("token_shift", rng.between(1, TOK_W));
        cfg.set("tokens", rng.between(1, 1u << cfg["token_shift"]));
        cfg.set("k_shift", rng.between(0, 4));
        cfg.set("dw_base", 16 * rng.bits(30));
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
        dut.go_i = dut.dw_valid_i = dut.clo_valid_i = 0;
        reset();
    }

    void add_gradient()
    {
        const bool dense = rng.one_in(2);
        const unsigned tokens = static_cast<unsigned>(cfg["tokens"]), home = below(N),
                       index = below(dense ? tokens : 1u << cfg["token_shift"]), pos = below(16);
        gradient g = {dense,
                      dense ? home * tokens + index
                            : static_cast<unsigned>(home << cfg["token_shift"] | index),
                      pos, rng.word()};
        packet p;
        p.h = header(MW_OP_ST);
        p.h.src = port;
        p.h.dst = home;
        p.h.len = 4;
        p.h.epoch = static_cast<uint32_t>(cfg["epoch"]);
        p.h.addr = cfg["dw_base"] + 4 * (static_cast<uint64_t>(index) << cfg["k_shift"] | pos);
        p.lane = p.h.addr % F;
        for (unsigned b = 0; b < 4; b++)
            p.payload.push_back(static_cast<uint8_t>(g.value >> 8 * b));
        want[home == port].push_back(encode(p, F));
        dw.queue.push_back(g);
    }

    void add_control()
    {
        packet p;
        p.h = header(MW_OP_COUNTS);
        p.h.tag = rng.bits(8);
        p.payload = rng.some(rng.between(1, 40));
        p.h.len = static_cast<uint32_t>(p.payload.size());
        control.queue.push_back(encode(p, F, &rng));
        want_control.push_back(control.queue.back());
    }

    void drive() override
    {
        dut.dw_valid_i = dw.offer(rng);
        dut.dw_token_i = dut.dw_valid_i ? dw.front().token : rng.bits(22);
        dut.dw_dense_i = dut.dw_valid_i ? dw.front().dense : rng.one_in(2);
        dut.dw_pos_i = static_cast<uint8_t>(dut.dw_valid_i ? dw.front().pos : rng.bits(4));
        dut.dw_value_i = dut.dw_valid_i ? dw.front().value : rng.word();
        control.drive(rng, dut.clo_valid_i, dut.clo_data_i, dut.clo_last_i);
        dut.st_ready_i = percent(ready);
        dut.lo_ready_i = percent(ready);
    }

    void sample() override
    {
        if (dut.dw_valid_i && !came_at)
            came_at = now;
        if ((dut.st_valid_o || dut.lo_valid_o) && !offered_at)
            offered_at = now;
        // with the last flit, so that a later fence follows the packet
        const bool last = (dut.st_valid_o && dut.st_ready_i && dut.st_last_o) ||
                          (dut.lo_valid_o && dut.lo_ready_i && dut.lo_last_o);
        assert_true(!dut.dw_ready_o || last);
        dw.taken(dut.dw_ready_o);
        control.taken(dut.clo_ready_o);
        out[0].see(dut.st_valid_o, dut.st_ready_i, dut.st_data_o, dut.st_last_o);
        out[1].see(dut.lo_valid_o, dut.lo_ready_i, dut.lo_data_o, dut.lo_last_o);
        for (unsigned to = 0; to < 2; to++) {
            while (!out[to].packets.empty()) {
                const bytes p = out[to].take();
                const bool gradient = header_of(p).opcode == MW_OP_ST;
                assert_true(gradient || to);
                auto &list = gradient ? want[to] : want_control;
                assert_false(list.empty());
                assert_wire(list.front(), p, to ? "local" : "uplink");
                list.pop_front();
            }
        }
    }

    bool done() const { return want[0].empty() && want[1].empty() && want_control.empty(); }
};

TEST(every_gradient_goes_home)
{
    for (unsigned round = 0; round < cases(20, 100); round++) {
        sender s;
        s.dw.rate = s.rng.pick({5u, 50u, 100u});
        s.control.rate = s.rng.pick({5u, 50u, 100u});
        s.ready = s.rng.pick({5u, 50u, 100u});
        for (unsigned i = 0; i < 100; i++) {
            s.add_gradient();
            s.add_control();
        }
        s.until("all packets", 200000, [&] { return s.done(); });
        s.cycles(5);
        assert_true(s.dut.idle_o);
    }
}

TEST(a_gradient_leaves_in_its_time)
{
    for (unsigned round = 0; round < 20; round++) {
        sender s;
        s.cycles(s.rng.between(1, 10));
        s.add_gradient();
        const gradient first = s.dw.front();
        s.until("the packet", 100, [&] { return s.done(); });
        const unsigned more =
            first.dense ? static_cast<unsigned>(first.token / s.cfg["tokens"]) : 0;
        assert_int_equal(s.offered_at - s.came_at, 3 + more);
    }
}

// The next go clears what an aborted layer has left.
TEST(go_clears)
{
    sender s;
    s.ready = 0;
    for (unsigned i = 0; i < 3; i++)
        s.add_gradient();
    s.cycles(20);
    s.dut.go_i = 1;
    s.drive();
    s.settle();
    s.edge();
    s.dut.go_i = 0;
    s.dut.dw_valid_i = 0;
    s.settle();
    assert_true(s.dut.idle_o && !s.dut.st_valid_o && !s.dut.lo_valid_o);
}

// ... but a packet on the link ends there.
TEST(go_cuts_no_packet)
{
    for (unsigned round = 0; round < 20; round++) {
        sender s;
        s.add_gradient();
        s.out[0].gapless = s.out[1].gapless = true;
        s.until("a flit", 100, [&] { return !s.out[0].open.empty() || !s.out[1].open.empty(); });
        s.dut.go_i = 1;
        s.cycle();
        s.dut.go_i = 0;
        s.cycles(5);
        assert_true(s.done() && s.dut.idle_o);
    }
}
