// SPDX-License-Identifier: Apache-2.0
//
// ctrl_packets without switch-initiated reductions. ACKs, signals and events come at any time, and
// so does ready of the uplink. Each leaves once, with its fields, in the order of its kind. At most
// two packets of other kinds pass it.
#include "bench/dut.h"
#include "bench/packet.h"

#include "hub/node_cfg.h"

using namespace tb;

namespace {
constexpr unsigned N = PARAM_N, TOKEN_SHIFT = PARAM_TokensLog2;
enum kind : unsigned { ACK, SIGNAL, EVENT, KINDS };

struct bench : model<Vctrl_packets> {
    struct packet {
        bool here;
        unsigned dst, value; // token, or event counter
    } wants[KINDS] = {};
    node_cfg cfg;
    unsigned port, epoch, ready = 50, rate = 50; // percent
    bool offered = false;                        // a packet is on its way to the uplink
    packet last = {};
    kind last_kind = ACK;
    unsigned passed[KINDS] = {}, sent[KINDS] = {}, own_tokens = 0, most = 0;

    bench() : port(below(N)), epoch(below(4))
    {
        cfg.set("port", port);
        cfg.set("epoch", epoch);
        cfg.set("token_shift", TOKEN_SHIFT);
        cfg.set("switch_reductions", 0);
        cfg.set("tile_reductions", 0);
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
        dut.go_i = dut.ack_valid_i = dut.sig_valid_i = dut.tok_valid_i = dut.event_valid_i = 0;
        dut.report_valid_i = dut.ctl_ready_i = 0;
        reset();
    }

    void drive() override
    {
        if (rng.one_in(100)) {
            ready = rng.pick({5U, 50U, 100U});
            rate = rng.pick({5U, 50U, 100U});
        }
        for (unsigned k = 0; k < KINDS; k++)
            if (!wants[k].here && percent(rate)) {
                const unsigned dst = below(N);
                wants[k] = {true, k != SIGNAL && dst == port ? (port + 1) % N : dst,
                            k == SIGNAL ? dst << TOKEN_SHIFT | below(1U << TOKEN_SHIFT)
                                        : below(16)};
            }
        dut.ack_valid_i = wants[ACK].here;
        dut.ack_port_i = static_cast<uint8_t>(wants[ACK].dst);
        dut.sig_valid_i = wants[SIGNAL].here;
        dut.sig_token_i = wants[SIGNAL].value;
        dut.own_ready_i = percent(50);
        dut.event_valid_i = wants[EVENT].here;
        dut.event_dst_i = static_cast<uint8_t>(wants[EVENT].dst);
        dut.event_idx_i = static_cast<uint8_t>(wants[EVENT].value);
        dut.ctl_ready_i = percent(ready);
    }

    void check_offered()
    {
        const mw_header h = header_of(get(dut.ctl_header_o));
        static const unsigned op[] = {MW_OP_ACK, MW_OP_SIGNAL, MW_OP_EVENT};
        SAME(h.opcode, op[last_kind]);
        SAME(h.cls, unsigned{MW_CLS_CTRL});
        SAME(h.src, port);
        SAME(h.dst, last.dst);
        SAME(h.epoch, epoch);
        SAME(h.addr, last_kind == ACK ? 0 : last.value);
    }

    void sample() override
    {
        SAME(dut.ctl_valid_o, offered);
        if (offered)
            check_offered();
        // a signal for the GPU itself needs no packet
        const bool sig_own = wants[SIGNAL].here && wants[SIGNAL].dst == port;
        SAME(dut.own_valid_o, sig_own);
        if (sig_own)
            SAME(dut.own_token_o, wants[SIGNAL].value);
        const bool free = !offered || dut.ctl_ready_i;
        const bool takes[KINDS] = {wants[ACK].here && dut.ack_ready_o,
                                   wants[SIGNAL].here && !sig_own && dut.sig_ready_o,
                                   wants[EVENT].here && dut.event_ready_o};
        const bool waits[KINDS] = {wants[ACK].here, wants[SIGNAL].here && !sig_own,
                                   wants[EVENT].here};
        SAME(takes[0] + takes[1] + takes[2], free && (waits[0] || waits[1] || waits[2]));
        if (free)
            offered = false;
        for (unsigned k = 0; k < KINDS; k++) {
            if (takes[k]) {
                offered = true;
                last = wants[k];
                last_kind = static_cast<kind>(k);
                most = std::max(most, passed[k]);
                assert_true(passed[k] <= 2);
                sent[k]++;
                wants[k].here = false;
                passed[k] = 0;
            } else if (waits[k]) {
                passed[k] += takes[0] || takes[1] || takes[2];
            }
        }
        if (sig_own && dut.sig_ready_o) {
            assert_true(dut.own_ready_i);
            wants[SIGNAL].here = false;
            own_tokens++;
        }
    }
};
} // namespace

TEST(kinds_alternate)
{
    bench b;
    b.cycles(30000);
    for (unsigned n : b.sent)
        assert_true(n > 1000);
    assert_true(b.own_tokens > 300);
    assert_int_equal(b.most, 2);
}
