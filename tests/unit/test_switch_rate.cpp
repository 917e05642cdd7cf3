// SPDX-License-Identifier: Apache-2.0
//
// What share of its links switch_top keeps busy: inputs that always have a packet, receivers that give every credit back at once. Long
// packets of random destinations, look-ahead windows from 1 on, dispatch multicast, reductions by all ports at once, and the latency of an idle switch.
//
// The shares are those of random traffic, so they vary: what is compared with a figure close by runs longer. A port has no queue to itself. Where traffic goes to all outputs, the own one included, one half of the ports sends and the
// other half receives: a switch of half as many ports. MW_SEED repeats a run; MW_CYCLES=n measures longer.

#include "Vswitch_bench.h"
#include "packet.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <random>
#include <vector>

extern "C" {
#include <setjmp.h>

#include <cmocka.h>
}

namespace {

uint64_t seed;
unsigned cycles = 0; // of a run; 0: as many as take some seconds
const unsigned warm_up = 6000;

struct wire {
    std::vector<uint32_t> words;
    unsigned cls;
};

struct port {
    std::deque<wire> queue; // stores and requests
    unsigned at = 0;        // word of the packet being sent
    bool sending = false;
    wire now;
    unsigned store_credits;
    std::vector<unsigned> part_credits, owed; // by requester
    unsigned turn = 0;                        // requester that is served next
    unsigned rows_open = 0, row_packets = 0;
    bool receiving = false;
    uint64_t up_busy = 0, dn_busy = 0, first_rx = 0;
};

class traffic {
  public:
    Vswitch_bench dut;
    unsigned n, f, open_rows;
    std::mt19937_64 rng;
    uint64_t now = 0;
    std::vector<port> ports;
    unsigned row_bytes = 0; // of a reduction, 0: none are asked for

    explicit traffic(unsigned window) : rng(seed)
    {
        dut.clk_i = dut.rst_ni = dut.go_i = dut.epoch_i = 0;
        dut.latency_i = 1;
        dut.emap_we_i = dut.group_we_i = 0;
        dut.throttle_i = dut.store_credits_i = dut.part_credits_i = 0;
        dut.window_i = static_cast<uint8_t>(window);
        dut.cnt_port_i = dut.cnt_idx_i = 0;
        dut.eval();
        n = dut.param_o[0];
        f = dut.param_o[1];
        open_rows = dut.param_o[4];
        ports.resize(n);
        for (unsigned p = 0; p < n; p++) {
            ports[p].store_credits = dut.param_o[2];
            ports[p].part_credits.assign(n, dut.param_o[5]);
            ports[p].owed.assign(n, 0);
            ports[p].turn = p;
            dut.partition_i[p] = ~0u;
            idle(p);
        }
        for (int i = 0; i < 4; i++)
            edge();
        dut.rst_ni = 1;
        for (unsigned e = 0; e < 64; e++) {
            dut.emap_we_i = 1;
            dut.emap_addr_i = static_cast<uint16_t>(e);
            dut.emap_data_i = static_cast<uint16_t>(0x800 | (e % n) << 6);
            edge();
        }
        dut.emap_we_i = 0;
        dut.group_we_i = 1;
        dut.group_addr_i = 0;
        dut.group_data_i = ~0u;
        edge();
        dut.group_we_i = 0;
        for (int i = 0; i < 40; i++)
            edge();
    }

    unsigned below(unsigned m) { return static_cast<unsigned>(rng() % m); }

    wire make(unsigned op, unsigned dst, unsigned len, const std::vector<unsigned> &experts = {})
    {
        mw_header h = {};
        h.opcode = op;
        h.cls = op >> 4 & 3;
        h.dst = dst;
        h.len = len;
        h.dtype = MW_DTYPE_BF16;
        h.redop = MW_REDOP_ADD;
        h.cnt = static_cast<uint32_t>(experts.size());
        if (!experts.empty())
            h.target0 = experts[0] << 4;
        uint64_t half[2];
        mw_header_pack(&h, half);
        std::vector<uint8_t> b(16);
        memcpy(b.data(), half, 16);
        for (size_t i = 1; i < experts.size(); i++) {
            b.push_back(static_cast<uint8_t>(experts[i] << 4 | i));
            b.push_back(static_cast<uint8_t>(experts[i] >> 4));
        }
        b.resize((b.size() + f - 1) / f * f + (h.cls == MW_CLS_REQ ? 0 : len));
        wire w = {std::vector<uint32_t>(b.size() / 4), h.cls};
        memcpy(w.words.data(), b.data(), b.size());
        return w;
    }

    // Six of 64 experts, those of the port itself left out.
    wire dispatch(unsigned p)
    {
        std::vector<unsigned> t;
        while (t.empty()) {
            uint64_t seen = 0;
            for (int k = 0; k < 6;) {
                unsigned e = below(64);
                if (seen >> e & 1)
                    continue;
                seen |= UINT64_C(1) << e;
                k++;
                if (e % n != p)
                    t.push_back(e);
            }
        }
        return make(MW_OP_DYMULTIMEM_ST, 0, 128, t);
    }

    // Runs, counts busy cycles after the warm-up; next(p, packet) makes the next packet of port p.
    template <typename F> void run(unsigned count, F next)
    {
        for (unsigned c = 0; c < count; c++) {
            for (unsigned p = 0; p < n; p++)
                transmit(p, next);
            dut.eval();
            bool counts = c >= warm_up;
            for (unsigned p = 0; p < n; p++)
                receive(p, counts);
            edge();
        }
    }

    double busy(unsigned from, unsigned to, uint64_t port::*what, double *least = nullptr)
    {
        double sum = 0;
        if (least)
            *least = 1;
        for (unsigned p = from; p < to; p++) {
            double share = static_cast<double>(ports[p].*what) / (cycles - warm_up);
            sum += share;
            if (least && share < *least)
                *least = share;
        }
        return sum / (to - from);
    }

  private:
    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
        now++;
    }

    void idle(unsigned p)
    {
        dut.up_valid_i[p] = dut.up_last_i[p] = dut.up_err_i[p] = 0;
        dut.up_cls_i[p] = 0;
        dut.dn_crd_i[p] = 0;
        for (unsigned w = 0; w < f / 4; w++)
            dut.up_data_i[p * f / 4 + w] = 0;
    }

    template <typename F> bool start(unsigned p, F next)
    {
        port &q = ports[p];
        if (row_bytes) {
            if (q.rows_open < open_rows) {
                q.rows_open++;
                q.now = make(MW_OP_MULTIMEM_LD_REDUCE, 0, row_bytes);
                return true;
            }
            for (unsigned k = 1; k <= n; k++) {
                unsigned r = (q.turn + k) % n;
                if (!q.owed[r] || !q.part_credits[r])
                    continue;
                q.owed[r]--;
                q.part_credits[r]--;
                q.turn = r;
                q.now = make(MW_OP_PARTIAL, r, row_bytes < 128 ? row_bytes : 128);
                return true;
            }
            return false;
        }
        if (!q.store_credits || !next(p, q.now))
            return false;
        q.store_credits--;
        return true;
    }

    template <typename F> void transmit(unsigned p, F next)
    {
        port &q = ports[p];
        if (!q.sending) {
            q.at = 0;
            q.sending = start(p, next);
        }
        dut.up_valid_i[p] = q.sending;
        dut.dn_crd_i[p] = 0;
        if (!q.sending)
            return;
        for (unsigned w = 0; w < f / 4; w++)
            dut.up_data_i[p * f / 4 + w] = q.now.words[q.at + w];
        q.at += f / 4;
        dut.up_cls_i[p] = static_cast<uint8_t>(q.now.cls);
        dut.up_last_i[p] = q.at == q.now.words.size();
        if (dut.up_last_i[p])
            q.sending = false;
    }

    void receive(unsigned p, bool counts)
    {
        port &q = ports[p];
        q.up_busy += counts && dut.up_valid_i[p];
        q.dn_busy += counts && dut.dn_valid_o[p];
        q.store_credits += dut.up_crd_o[p] >> MW_CLS_STORE & 1;
        if (dut.up_crd_o[p] >> MW_CLS_PART & 1)
            q.part_credits[dut.up_crd_part_o[p]]++;
        assert_false(dut.err_valid_o);
        if (!dut.dn_valid_o[p])
            return;
        unsigned cls = dut.dn_cls_o[p];
        if (!q.receiving) {
            if (!q.first_rx)
                q.first_rx = now;
            uint64_t half[2] = {dut.dn_data_o[p * f / 4] |
                                    static_cast<uint64_t>(dut.dn_data_o[p * f / 4 + 1]) << 32,
                                0};
            mw_header h;
            mw_header_unpack(&h, half);
            if (cls == MW_CLS_REQ)
                q.owed[h.src] += (h.len + 127) / 128;
            if (cls == MW_CLS_PART && ++q.row_packets == (row_bytes + 127) / 128) {
                q.row_packets = 0;
                q.rows_open--;
            }
        }
        q.receiving = !dut.dn_last_o[p];
        if (dut.dn_last_o[p] && cls != MW_CLS_REQ)
            dut.dn_crd_i[p] = static_cast<uint8_t>(1u << cls);
    }
};

// Runs while it lives for more cycles, for a figure with little to spare.
class longer {
  public:
    explicit longer(unsigned times) : usual(cycles) { cycles *= times; }
    ~longer() { cycles = usual; }
    longer(const longer &) = delete;
    longer &operator=(const longer &) = delete;

  private:
    unsigned usual;
};

// Uniform unicast. Halves: to every output of a switch of n / 2 ports; else to every port but the own one.
double unicast(unsigned window, bool halves)
{
    auto t = std::make_unique<traffic>(window);
    unsigned m = halves ? t->n / 2 : t->n;
    t->run(cycles, [&](unsigned p, wire &w) {
        if (p >= m)
            return false;
        unsigned d = halves ? m + t->below(m) : (p + 1 + t->below(m - 1)) % m;
        w = t->make(MW_OP_ST, d, 128);
        return true;
    });
    double share = t->busy(halves ? m : 0, t->n, &port::dn_busy);
    printf("  unicast, %2u %s, window %2u: %.4f\n", m,
           halves ? "inputs to as many outputs" : "ports, own one left out ", window, share);
    return share;
}

double dispatch(unsigned window)
{
    auto t = std::make_unique<traffic>(window);
    t->run(cycles, [&](unsigned p, wire &w) {
        w = t->dispatch(p);
        return true;
    });
    double share = t->busy(0, t->n, &port::dn_busy);
    printf("  dispatch, %2u ports, window %2u: %.4f\n", t->n, window, share);
    return share;
}

// What an input-queued switch with one packet of look-ahead is known to reach; it validates the bench.
void one_packet_of_look_ahead_gives_the_classical_limits(void **)
{
    static const struct {
        unsigned ports;
        double limit;
    } known[] = {{4, 0.655}, {8, 0.618}, {16, 0.602}};
    longer run(2);
    double share = unicast(1, true);
    unsigned ports = traffic(0).n / 2, found = 0;
    for (auto &k : known) {
        if (k.ports != ports)
            continue;
        found++;
        assert_true(share > k.limit - 0.01 && share < k.limit + 0.01);
    }
    assert_int_equal(found, 1);
}

void unicast_fills_the_outputs(void **)
{
    longer run(traffic(0).n <= 8 ? 6 : 2);
    assert_true(unicast(0, false) >= 0.99);
}

void a_wider_window_is_faster(void **)
{
    double last = 0;
    for (unsigned w : {1u, 4u, 16u}) {
        double share = unicast(w, false);
        assert_true(share > last);
        last = share;
    }
}

void dispatch_fills_the_outputs(void **)
{
    unsigned n = traffic(0).n;
    longer run(3);
    assert_true(dispatch(4) >= (n <= 8 ? 0.98 : 0.96));
    assert_true(dispatch(16) >= (n <= 8 ? 0.995 : 0.99));
    assert_true(dispatch(0) >= (n <= 8 ? 0.995 : 0.99));
}

void reduce_scatter_fills_the_uplinks(void **)
{
    for (unsigned bytes : {128u, 1024u}) {
        auto t = std::make_unique<traffic>(0);
        t->row_bytes = bytes;
        t->run(cycles, [](unsigned, wire &) { return false; });
        double least, share = t->busy(0, t->n, &port::up_busy, &least);
        printf(
            "  reduce-scatter, %2u ports, rows of %4u bytes: uplinks %.4f, the least busy %.4f\n",
            t->n, bytes, share, least);
        assert_true(least >= 0.97);
    }
}

// From the first flit at the switch's input to the first one at its output 1, the links left out; with targets on ports 1, 2, .. (0: a plain store).
unsigned idle_latency(unsigned targets)
{
    auto t = std::make_unique<traffic>(0);
    std::vector<unsigned> e;
    for (unsigned i = 1; i <= targets; i++)
        e.push_back(i);
    bool sent = false;
    uint64_t start = t->now;
    t->run(60, [&](unsigned p, wire &w) {
        if (p || sent)
            return false;
        sent = true;
        w = targets ? t->make(MW_OP_DYMULTIMEM_ST, 0, 128, e) : t->make(MW_OP_ST, 1, 128);
        return true;
    });
    assert_true(t->ports[1].first_rx > start);
    unsigned took = static_cast<unsigned>(t->ports[1].first_rx - start - 2); // a cycle in each link
    printf("  idle, %2u targets%s: %u cycles\n", targets, targets ? "" : " (plain store)", took);
    return took;
}

void idle_switch_is_fast(void **)
{
    unsigned plain = idle_latency(0);
    assert_in_range(plain, 1, 4);
    for (unsigned targets = 1; targets < traffic(0).n && targets <= 16; targets++)
        assert_in_range(idle_latency(targets), 1, plain + targets);
}

} // namespace

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    if ((s = getenv("MW_CYCLES")) != nullptr && strtoul(s, nullptr, 0) > warm_up)
        cycles = static_cast<unsigned>(strtoul(s, nullptr, 0));
    if (!cycles)
        cycles = traffic(0).n <= 8 ? 100000 : 30000;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_packet_of_look_ahead_gives_the_classical_limits),
        cmocka_unit_test(unicast_fills_the_outputs),
        cmocka_unit_test(a_wider_window_is_faster),
        cmocka_unit_test(dispatch_fills_the_outputs),
        cmocka_unit_test(reduce_scatter_fills_the_uplinks),
        cmocka_unit_test(idle_switch_is_fast),
    };
    return cmocka_run_group_tests_name("switch_rate", tests, nullptr, nullptr);
}
