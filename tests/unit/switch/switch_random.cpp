// SPDX-License-Identifier: Apache-2.0
//
// Random traffic through switch_top: good and wrong packets of all classes, under back-pressure,
// over long links, with every monitor and counter checked.

#include "switch_model.h"

struct mix {
    unsigned ctrl, store, req; // weights
    unsigned invalid;          // percent
};

static packet random_packet(hubs &b, unsigned s, const mix &m)
{
    unsigned n = b.n;
    unsigned d = (s + 1 + static_cast<unsigned>(b.rng() % (n - 1))) % n;
    unsigned w = static_cast<unsigned>(b.rng() % (m.ctrl + m.store + m.req));
    if (w < m.ctrl) {
        static const unsigned ops[] = {MW_OP_SIGNAL, MW_OP_EVENT, MW_OP_ACK, MW_OP_ERROR};
        return b.make(ops[b.rng() % 4], s, d);
    }
    bool req = w >= m.ctrl + m.store;
    std::vector<uint16_t> t;
    unsigned k = 1 + static_cast<unsigned>(b.rng() % 16);
    bool near = b.rng() % 4 == 0; // all on one port
    while (t.size() < k) {
        unsigned e = static_cast<unsigned>(b.rng() % b.max_experts);
        if (near && b.rules.emap[e] != static_cast<int>(d)) {
            if (b.rng() % 64 == 0)
                k = static_cast<unsigned>(std::max<size_t>(1, t.size()));
            continue;
        }
        bool old = std::any_of(t.begin(), t.end(), [&](uint16_t x) { return x >> 4 == e; });
        if (old) {
            if (b.rng() % 64 == 0)
                k = static_cast<unsigned>(t.size());
            continue;
        }
        if (b.rules.emap[e] < 0 || !(b.rules.reach(s) >> b.rules.emap[e] & 1))
            continue;
        t.push_back(target(e, static_cast<unsigned>(b.rng() & 15)));
    }
    if (req) {
        bool dyn = b.rng() % 4 != 0;
        packet p = b.make(dyn ? MW_OP_DYMULTIMEM_LD_REDUCE : MW_OP_MULTIMEM_LD_REDUCE, s, 0);
        p.h.len = b.rng() % 8 == 0 ? 1 + static_cast<unsigned>(b.rng() % 600)
                                   : b.f * (1 + static_cast<unsigned>(b.rng() % 48));
        if (dyn)
            p.set_targets(t);
        else
            p.h.target0 = 0;
        return p;
    }
    static const unsigned ops[] = {
        MW_OP_ST,          MW_OP_FLAG,          MW_OP_FENCE,         MW_OP_COUNTS,
        MW_OP_MULTIMEM_ST, MW_OP_DYMULTIMEM_ST, MW_OP_DYMULTIMEM_ST, MW_OP_MULTIMEM_RED};
    unsigned op = ops[b.rng() % 8];
    packet p = b.make(op, s, d);
    if (tb::has_payload(op)) {
        if (b.rng() % 2)
            p.h.addr &= ~static_cast<uint64_t>(b.f - 1);
        unsigned most = 128 - static_cast<unsigned>(p.h.addr % b.f);
        b.fill(p, b.rng() % 2 ? most : static_cast<unsigned>(b.rng() % (most + 1)));
    }
    if (op == MW_OP_MULTIMEM_ST || op == MW_OP_MULTIMEM_RED)
        p.h.target0 = 0;
    if (op == MW_OP_DYMULTIMEM_ST) {
        p.h.stage = static_cast<uint32_t>(b.rng() % 4);
        if (b.rng() % 2 || !b.rules.row[s].open || !b.rules.follows(p.h))
            p.set_targets(t);
    }
    return p;
}

static void spoil(hubs &b, packet &p)
{
    switch (b.rng() % 8) {
    case 0:
        p.h.epoch ^= 1 + static_cast<uint32_t>(b.rng() % 3);
        break;
    case 1:
        p.h.opcode = (p.h.opcode & 0x30) | 0xf;
        break;
    case 2:
        p.h.cls ^= 1;
        break;
    case 3:
        p.h.dst = static_cast<uint32_t>(b.rng() & 31);
        break;
    case 4:
        p.h.target0 = static_cast<uint32_t>(b.rng() & 0xffff);
        if (!p.targets.empty())
            p.targets[0] = static_cast<uint16_t>(p.h.target0);
        break;
    case 5:
        p.h.cnt = static_cast<uint32_t>(b.rng() & 1 ? 0 : 17 + b.rng() % 15);
        break;
    case 6:
        if (p.targets.size() > 1)
            p.targets.back() = p.targets[b.rng() % (p.targets.size() - 1)];
        break;
    default:
        if (!p.targets.empty())
            p.targets.back() = static_cast<uint16_t>(b.rng() & 0xffff);
        p.h.target0 = p.targets.empty() ? p.h.target0 : p.targets[0];
    }
}

static void random_run(unsigned latency, unsigned packets, const mix &m,
                       const std::function<void(hubs &)> &behave)
{
    auto b = bench(latency);
    unsigned n = b->n;
    // limits above the real values limit nothing
    b->dut.ctl_store_credits_i =
        static_cast<uint8_t>(b->rng.pick({0u, b->rx_store, 128 + b->below(128)}));
    b->dut.ctl_part_credits_i =
        static_cast<uint8_t>(b->rng.pick({0u, b->rx_result, 128 + b->below(128)}));
    behave(*b);
    static const uint8_t windows[] = {0, 1, 2, 5, 16};
    b->dut.ctl_window_i = windows[b->rng() % 5];
    b->dut.ctl_link_wait_i = b->rng.pick({0, 0, 1, 3});
    static const uint16_t intervals[] = {0, 1, 2, 3, 17, 250, 999};
    b->monitor(static_cast<unsigned>(b->rng() % 16), intervals[b->rng() % 7]);
    packets = tb::cases(packets * 2 / 5, packets);
    for (unsigned i = 0; i < packets; i++) {
        unsigned s = static_cast<unsigned>(b->rng() % n);
        packet p = random_packet(*b, s, m);
        unsigned cls = p.h.cls;
        bool bad = b->rng() % 100 < m.invalid;
        if (bad && b->rng() % 4 == 0) {
            auto how = static_cast<hubs::fault>(1 + b->rng() % 3);
            b->send(s, p, how);
        } else {
            if (bad)
                spoil(*b, p);
            b->send(s, p, hubs::WHOLE, static_cast<int>(cls));
        }
        if (b->rng() % 4 == 0)
            b->cycles(static_cast<unsigned>(b->rng() % 30));
    }
    b->finish(3000000);
    b->check_monitors();
    b->check_counters();
    b->check_rate();
}

static const mix all_classes = {2, 6, 2, 0};

TEST(random_fast)
{
    random_run(1, 3000, all_classes, [](hubs &) {});
}

TEST(random_back_pressure)
{
    random_run(1, 3000, all_classes, [](hubs &b) {
        b.credit_delay = 200;
        b.start_percent = 30;
        b.serve_percent = 20;
        b.dut.ctl_throttle_i = 100;
    });
}

TEST(random_uneven_sinks)
{
    random_run(1, 2000, all_classes, [](hubs &b) {
        b.credit_delay = 20;
        b.dut.ctl_store_credits_i = 1;
        b.dut.ctl_part_credits_i = 1;
    });
}

TEST(random_long_links)
{
    random_run(64, 1500, all_classes, [](hubs &) {});
}

TEST(random_invalid)
{
    for (unsigned latency : {1u, 5u}) {
        random_run(latency, 2500, {2, 6, 2, 30}, [](hubs &b) {
            b.credit_delay = 30;
            b.poison_percent = 3;
            b.spoil_percent = 3;
        });
    }
}

TEST(random_reductions)
{
    random_run(2, 1200, {1, 1, 8, 2}, [](hubs &b) {
        b.credit_delay = 40;
        b.poison_percent = 2;
        b.spoil_percent = 2;
    });
}

TEST(random_small_packets)
{
    random_run(1, 4000, {8, 1, 1, 5}, [](hubs &b) { b.start_percent = 90; });
}
