// SPDX-License-Identifier: Apache-2.0
//
// The share of its links that switch_top keeps busy. Inputs always have a packet, and receivers
// return every credit at once. Traffic is long packets to random destinations with look-ahead
// windows from 1 on, dispatch multicast, and reductions by all ports at once. The latency of an
// idle switch is measured, too.
//
// Shares of random traffic vary, so a test with a close limit runs longer. A port has no queue to
// itself. If traffic goes to all outputs, including the own one, half of the ports send and the
// other half receive. They act as a switch with half as many ports. MW_CYCLES=n sets the length of
// the measurement.

#include "Vswitch_bench.h"
#include "bench/dut.h"
#include "bench/packet.h"

#include <algorithm>
#include <map>

using namespace tb;

static const unsigned N = PARAM_N, F = PARAM_FlitBytes, EXPERTS = 64;
static const unsigned WARM_UP = 6000; // cycles
static const bool SMALL = N <= 8;

// Cycles of a run: as many as take some seconds, or MW_CYCLES.
static unsigned usual_cycles()
{
    const char *s = getenv("MW_CYCLES");
    const unsigned wanted = s ? static_cast<unsigned>(strtoul(s, nullptr, 0)) : 0;
    return wanted > WARM_UP ? wanted : SMALL ? 40000 : 30000;
}

struct port {
    size_t at = 0; // flit of the packet being sent
    bool sending = false;
    wire now;
    unsigned cls = 0; // of that
    unsigned store_credits = 0;
    unsigned part_credits[N] = {}, owed[N] = {}; // by requester
    unsigned turn = 0;                           // requester that is served next
    unsigned rows_open = 0, row_packets = 0;
    bool receiving = false;
    uint64_t up_busy = 0, dn_busy = 0, first_rx = 0;
};

struct traffic : model<Vswitch_bench> {
    unsigned open_rows;
    port ports[N];
    unsigned row_bytes = 0; // of a reduction, 0: no requests
    unsigned cycles_run = 0;

    explicit traffic(unsigned window)
    {
        dut.go_i = dut.epoch_i = dut.emap_we_i = dut.groups_we_i = 0;
        dut.latency_i = 1;
        dut.ctl_throttle_i = dut.ctl_link_wait_i = dut.ctl_store_credits_i =
            dut.ctl_part_credits_i = 0;
        dut.enable_i = dut.disable_i = dut.ctl_limit_i = dut.run_i = dut.ctl_mon_read_i = 0;
        dut.ctl_switch_reductions_i = dut.ctl_row_bytes_i = dut.ctl_row_shift_i =
            dut.ctl_token_shift_i = 0;
        dut.sweep_i = 0;
        dut.ctl_window_i = static_cast<uint8_t>(window);
        for (unsigned p = 0; p < N; p++) {
            dut.partition_i[p] = ~0u;
            idle(p);
        }
        reset();
        assert_int_equal(dut.param_o[0], N);
        open_rows = dut.param_o[4];
        for (unsigned p = 0; p < N; p++) {
            ports[p].store_credits = dut.param_o[2];
            std::fill_n(ports[p].part_credits, N, dut.param_o[5]);
            ports[p].turn = p;
        }
        dut.emap_we_i = 1;
        for (unsigned e = 0; e < EXPERTS; e++) {
            dut.emap_addr_i = static_cast<uint16_t>(e);
            dut.emap_data_i = tb::place(true, e % N);
            edge();
        }
        dut.emap_we_i = 0;
        dut.groups_we_i = 1;
        dut.groups_addr_i = 0;
        dut.groups_data_i = ~0u;
        edge();
        dut.groups_we_i = 0;
        for (int i = 0; i < 40; i++)
            edge();
    }

    packet make(unsigned op, unsigned dst, unsigned len, const std::vector<uint16_t> &targets = {})
    {
        packet p;
        p.h = header(op);
        p.h.dst = dst;
        p.h.len = len;
        p.h.dtype = MW_DTYPE_BF16;
        p.h.redop = MW_REDOP_ADD;
        p.set_targets(targets);
        p.payload.resize(has_payload(op) ? len : 0);
        return p;
    }

    // Six of the experts, those of the port itself left out.
    packet dispatch(unsigned p)
    {
        std::vector<uint16_t> list;
        while (list.empty()) {
            uint64_t seen = 0;
            for (unsigned k = 0; k < 6;) {
                const unsigned e = below(EXPERTS);
                if (seen >> e & 1)
                    continue;
                seen |= UINT64_C(1) << e;
                k++;
                if (e % N != p)
                    list.push_back(target(e, static_cast<unsigned>(list.size())));
            }
        }
        return make(MW_OP_DYMULTIMEM_ST, 0, 128, list);
    }

    // Runs, counts busy cycles after the warm-up; next(p, packet) makes the next packet of port p.
    template <typename Next> void run(unsigned count, Next next)
    {
        for (unsigned c = 0; c < count; c++) {
            for (unsigned p = 0; p < N; p++)
                transmit(p, next);
            settle();
            for (unsigned p = 0; p < N; p++)
                receive(p, c >= WARM_UP);
            edge();
        }
        cycles_run = count;
    }

    // Shares of ports from .. to - 1: their mean, and the least one.
    double busy(unsigned from, unsigned to, uint64_t port::*what, double *least = nullptr)
    {
        double sum = 0;
        for (unsigned p = from; p < to; p++) {
            const double share = static_cast<double>(ports[p].*what) / (cycles_run - WARM_UP);
            sum += share;
            if (least)
                *least = p == from ? share : std::min(*least, share);
        }
        return sum / (to - from);
    }

  private:
    void idle(unsigned p)
    {
        dut.up_valid_i[p] = 0;
        dut.up_last_i[p] = percent(50);
        dut.up_err_i[p] = percent(50);
        dut.up_cls_i[p] = static_cast<uint8_t>(below(4));
        dut.dn_crd_i[p] = 0;
        scramble(dut.up_data_i[p], 8 * F, rng);
    }

    // The port's next packet, if it may begin one.
    template <typename Next> bool start(unsigned p, packet &made, Next next)
    {
        port &q = ports[p];
        if (!row_bytes) {
            if (!q.store_credits || !next(p, made))
                return false;
            q.store_credits--;
            return true;
        }
        if (q.rows_open < open_rows) {
            q.rows_open++;
            made = make(MW_OP_MULTIMEM_LD_REDUCE, 0, row_bytes);
            return true;
        }
        for (unsigned k = 1; k <= N; k++) {
            const unsigned r = (q.turn + k) % N;
            if (!q.owed[r] || !q.part_credits[r])
                continue;
            q.owed[r]--;
            q.part_credits[r]--;
            q.turn = r;
            made = make(MW_OP_PARTIAL, r, std::min(row_bytes, 128u));
            return true;
        }
        return false;
    }

    template <typename Next> void transmit(unsigned p, Next next)
    {
        port &q = ports[p];
        packet made;
        if (!q.sending && start(p, made, next)) {
            q.sending = true;
            q.at = 0;
            q.now = encode(made, F);
            q.cls = made.h.cls;
        }
        if (!q.sending)
            return idle(p);
        dut.dn_crd_i[p] = 0;
        dut.up_valid_i[p] = 1;
        dut.up_err_i[p] = 0;
        memcpy(&dut.up_data_i[p], q.now.at(q.at), F);
        dut.up_cls_i[p] = static_cast<uint8_t>(q.cls);
        dut.up_last_i[p] = q.now.last(q.at++);
        q.sending = !dut.up_last_i[p];
    }

    void receive(unsigned p, bool counts)
    {
        port &q = ports[p];
        q.up_busy += counts && dut.up_valid_i[p];
        q.dn_busy += counts && dut.dn_valid_o[p];
        q.store_credits += dut.up_crd_cls_o[p] >> MW_CLS_STORE & 1;
        if (dut.up_crd_cls_o[p] >> MW_CLS_PART & 1)
            q.part_credits[dut.up_crd_part_o[p]]++;
        assert_false(dut.err_valid_o);
        if (!dut.dn_valid_o[p])
            return;
        unsigned cls = dut.dn_cls_o[p];
        if (!q.receiving) {
            if (!q.first_rx)
                q.first_rx = now;
            const auto *data = reinterpret_cast<const uint8_t *>(&dut.dn_data_o[p]);
            const mw_header h = header_of(bytes(data, data + F));
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

// Uniform unicast. With halves, to every output of a switch of n / 2 ports, and otherwise to every
// port except the own one. A test with a close limit takes more runs.
static double unicast(unsigned window, bool halves, unsigned runs = 1)
{
    traffic t(window);
    const unsigned m = halves ? N / 2 : N;
    t.run(runs * usual_cycles(), [&](unsigned p, packet &made) {
        if (p >= m)
            return false;
        const unsigned d = halves ? m + t.below(m) : (p + 1 + t.below(m - 1)) % m;
        made = t.make(MW_OP_ST, d, 128);
        return true;
    });
    const double share = t.busy(halves ? m : 0, N, &port::dn_busy);
    printf("  unicast, %2u %s, window %2u: %.4f\n", m,
           halves ? "inputs to as many outputs" : "ports, own one left out ", window, share);
    return share;
}

static double dispatch(unsigned window, unsigned runs = 1)
{
    traffic t(window);
    t.run(runs * usual_cycles(), [&](unsigned p, packet &made) {
        made = t.dispatch(p);
        return true;
    });
    const double share = t.busy(0, N, &port::dn_busy);
    printf("  dispatch, %2u ports, window %2u: %.4f\n", N, window, share);
    return share;
}

// The known share of an input-queued switch with one packet of look-ahead. It validates the bench.
TEST(one_packet_of_look_ahead_gives_the_classical_limits)
{
    const std::map<unsigned, double> known = {
        {2, 0.750}, {4, 0.655}, {8, 0.618}, {16, 0.602}}; // by ports
    const double share = unicast(1, true, SMALL ? 5 : 2), limit = known.at(N / 2);
    assert_true(share > limit - 0.01 && share < limit + 0.01);
}

// Long, because shares of 600 000 cycles differ by up to 0.2 %.
TEST(unicast_fills_the_outputs)
{
    assert_true(unicast(0, false, SMALL ? 45 : 2) >= 0.99);
}

TEST(a_wider_window_is_faster)
{
    double last = 0;
    for (unsigned w : {1u, 4u, 16u}) {
        double share = unicast(w, false);
        assert_true(share > last);
        last = share;
    }
}

TEST(dispatch_fills_the_outputs)
{
    assert_true(dispatch(4, SMALL ? 8 : 3) >= (SMALL ? 0.98 : 0.96));
    assert_true(dispatch(16, SMALL ? 1 : 3) >= (SMALL ? 0.995 : 0.99));
    assert_true(dispatch(0, SMALL ? 1 : 3) >= (SMALL ? 0.995 : 0.99));
}

TEST(reduce_scatter_fills_the_uplinks)
{
    for (unsigned size : {128u, 1024u}) {
        traffic t(0);
        t.row_bytes = size;
        t.run(usual_cycles(), [](unsigned, packet &) { return false; });
        double least;
        const double share = t.busy(0, N, &port::up_busy, &least);
        printf(
            "  reduce-scatter, %2u ports, rows of %4u bytes: uplinks %.4f, the least busy %.4f\n",
            N, size, share, least);
        assert_true(least >= 0.97);
    }
}

// Cycles from the first flit at the switch's input to the first one at its output 1, without those
// of the links. The packet has targets on ports 1, 2, .. (0: a plain store).
static unsigned idle_latency(unsigned targets)
{
    traffic t(0);
    std::vector<uint16_t> list;
    for (unsigned i = 1; i <= targets; i++)
        list.push_back(target(i, i - 1));
    bool sent = false;
    const uint64_t start = t.now;
    t.run(60, [&](unsigned p, packet &made) {
        if (p || sent)
            return false;
        sent = true;
        made = targets ? t.make(MW_OP_DYMULTIMEM_ST, 0, 128, list) : t.make(MW_OP_ST, 1, 128);
        return true;
    });
    assert_true(t.ports[1].first_rx > start);
    // a cycle in each link
    const unsigned took = static_cast<unsigned>(t.ports[1].first_rx - start - 2);
    printf("  idle, %2u targets%s: %u cycles\n", targets, targets ? "" : " (plain store)", took);
    return took;
}

TEST(idle_switch_is_fast)
{
    const unsigned plain = idle_latency(0);
    assert_in_range(plain, 1, 4);
    for (unsigned targets = 1; targets < N && targets <= 16; targets++)
        assert_in_range(idle_latency(targets), 1, plain + targets);
}
