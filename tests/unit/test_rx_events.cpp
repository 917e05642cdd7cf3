// SPDX-License-Identifier: Apache-2.0
//
// Packets of class CTRL at a hub, right ones and wrong ones: what each becomes, in their order, while token tracker and event counters make them wait. Wrong
// ones are errors by name and become nothing; each gives its credit back once, when it leaves.

#include "bench/credits.h"
#include "bench/stream.h"
#include "errors.h"
#include "isa.h"
#include "node_cfg.h"

using namespace tb;

static const unsigned F = PARAM_FlitBytes, TOKENS = PARAM_N << PARAM_TokensLog2, CTRL_PKTS = 16;

struct hub : model<Vrx> {
    enum kind { TOKEN, EVENT, ACK, ERROR };
    struct outcome {
        kind is;
        unsigned value; // token, counter, source or code
        bool operator==(const outcome &o) const { return is == o.is && value == o.value; }
    };
    unsigned pace = 50; // percent, of what makes packets wait
    unsigned seen[32] = {};
    packet_source link;
    std::deque<outcome> due, coming;
    const unsigned epoch = rng.below(4);

    hub()
    {
        node_cfg cfg;
        cfg.set("epoch", epoch);
        cfg.drive(dut.cfg_i);
        link.pauses = false;
        dut.rx_valid_i = dut.st_crd_i = dut.res_crd_i = 0;
        dut.req_ready_i = dut.res_room_i = 1;
        reset();
    }

    void send(packet p)
    {
        if (p.h.cnt)
            p.targets.resize(p.h.cnt, static_cast<uint16_t>(p.h.target0));
        p.payload.resize(p.h.len);
        link.queue.push_back(encode(p, F, &rng));
        coming.push_back(becomes(p, link.queue.back().flits()));
    }

    packet any()
    {
        packet p;
        p.h = header(rng.pick({MW_OP_SIGNAL, MW_OP_EVENT, MW_OP_EVENT, MW_OP_ACK, MW_OP_ERROR}));
        p.h.src = below(PARAM_N);
        p.h.tag = p.h.opcode == MW_OP_ERROR ? rng.between(1, 15) : below(256);
        p.h.epoch = epoch;
        p.h.addr = p.h.opcode == MW_OP_SIGNAL  ? below(TOKENS)
                   : p.h.opcode == MW_OP_EVENT ? below(MW_SW_EVENTS)
                                               : rng.bits(48);
        if (!rng.one_in(3))
            return p;
        switch (below(7)) {
        case 0:
            p.h.epoch = (epoch + rng.between(1, 3)) & 3;
            break;
        case 1:
            p.h.opcode = rng.pick({0u, 5u, 6u, 15u});
            break;
        case 2:
            p.h.len = rng.between(1, 20);
            break;
        case 3:
            p.h.cnt = rng.between(1, 16);
            break;
        case 4:
            p.cut = F == 8 ? rng.pick({-1, 1, 3}) : rng.pick({1, 3});
            break;
        case 5:
            p.err = true;
            break;
        default: // one bit too high, or just beyond
            p.h.addr = rng.pick<uint64_t>(
                {p.h.addr | 1ull << rng.between(3, 47), MW_SW_EVENTS, 15, TOKENS, TOKENS - 1});
        }
        return p;
    }

    bool idle() const { return link.empty() && due.empty() && coming.empty() && dut.idle_o; }

  private:
    outcome becomes(const packet &p, size_t flits) const
    {
        if (p.err || flits != MW_HEADER_BYTES / F)
            return {ERROR, MW_HWERR_LENGTH};
        if (p.h.epoch != epoch)
            return {ERROR, MW_HWERR_EPOCH};
        if (p.h.len || p.h.cnt)
            return {ERROR, MW_HWERR_LENGTH};
        switch (p.h.opcode) {
        case MW_OP_SIGNAL:
            return p.h.addr < TOKENS ? outcome{TOKEN, static_cast<unsigned>(p.h.addr)}
                                     : outcome{ERROR, MW_HWERR_BOUNDS};
        case MW_OP_EVENT:
            return p.h.addr < MW_SW_EVENTS ? outcome{EVENT, static_cast<unsigned>(p.h.addr)}
                                           : outcome{ERROR, MW_HWERR_BOUNDS};
        case MW_OP_ACK:
            return {ACK, p.h.src};
        case MW_OP_ERROR:
            return {ERROR, p.h.tag};
        default:
            return {ERROR, MW_HWERR_OPCODE};
        }
    }

    void drive() override
    {
        const bool inside = link.busy();
        bool valid = false;
        if (inside || credit.left())
            link.drive(rng, valid, dut.rx_data_i, dut.rx_last_i);
        if (valid && !inside)
            credit.spend();
        dut.rx_valid_i = valid;
        dut.rx_cls_i = valid ? static_cast<unsigned>(MW_CLS_CTRL) : below(4);
        dut.rx_err_i = valid ? link.err() : percent(50);
        dut.sig_ready_i = percent(pace);
        dut.ev_ready_i = percent(pace);
    }

    void sample() override
    {
        assert_false(dut.st_valid_o || dut.req_valid_o || dut.res_push_o);
        signals.see(dut.sig_valid_o, dut.sig_ready_i, dut.sig_token_o);
        events.see(dut.ev_valid_o, dut.ev_ready_i, dut.ev_idx_o);
        const bool left = (dut.sig_valid_o && dut.sig_ready_i) ||
                          (dut.ev_valid_o && dut.ev_ready_i) || dut.ev_ack_o || dut.err_valid_o;
        assert_int_equal(dut.sig_valid_o + dut.ev_valid_o + dut.ev_ack_o + dut.err_valid_o,
                         !due.empty());
        assert_int_equal(dut.crd_o, left ? 1 << MW_CLS_CTRL : 0);
        if (!due.empty()) {
            const outcome is = dut.sig_valid_o  ? outcome{TOKEN, dut.sig_token_o}
                               : dut.ev_valid_o ? outcome{EVENT, dut.ev_idx_o}
                               : dut.ev_ack_o
                                   ? outcome{ACK, dut.ack_src_o}
                                   : outcome{ERROR, static_cast<unsigned>(dut.err_code_o)};
            if (!(is == due.front()))
                fail_msg("%u %u, expected was %u %u", is.is, is.value, due.front().is,
                         due.front().value);
        }
        if (left) {
            seen[due.front().is == ERROR ? due.front().value : 16 + due.front().is]++;
            due.pop_front();
            credit.give_back();
        }
        if (dut.rx_valid_i && link.taken(true)) {
            due.push_back(coming.front());
            coming.pop_front();
        }
    }

    credits credit{"CTRL", CTRL_PKTS};
    watch signals{"signals"}, events{"events"};
};

TEST(what_each_becomes)
{
    hub b;
    for (unsigned r = 0; r < 8; r++) {
        b.pace = b.rng.pick({100u, 50u, 10u});
        for (unsigned i = 0; i < 500; i++)
            b.send(b.any());
        b.until("the last packet", 60000, [&] { return b.idle(); });
    }
    for (unsigned code : {MW_HWERR_OPCODE, MW_HWERR_LENGTH, MW_HWERR_EPOCH, MW_HWERR_BOUNDS})
        assert_true(b.seen[code] > 30);
    for (unsigned kind : {hub::TOKEN, hub::EVENT, hub::ACK})
        assert_true(b.seen[16 + kind] > 100);
}

// Every counter that packets count, and every number of a bit more than they have.
TEST(event_counters)
{
    hub b;
    for (unsigned bit = 0; bit < 48; bit++) {
        for (unsigned e = 0; e < 16; e++) {
            packet p;
            p.h = header(MW_OP_EVENT);
            p.h.epoch = b.epoch;
            p.h.addr = e | uint64_t{bit > 3} << bit;
            b.send(p);
        }
    }
    b.until("the last packet", 60000, [&] { return b.idle(); });
    assert_true(b.seen[MW_HWERR_BOUNDS] > 300 && b.seen[16 + hub::EVENT] > 8);
}
