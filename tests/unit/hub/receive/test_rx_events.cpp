// SPDX-License-Identifier: Apache-2.0
//
// Valid and invalid packets of class CTRL at a hub, while token tracker and event counters delay
// them. The test compares the effect of each, in order. Invalid ones are errors by name and have no
// effect. Each returns its credit once, when it leaves. For packets of the other classes it
// compares each flit in its cycle, bit for bit. It also checks which flits are poisoned or dropped.

#include "bench/credits.h"
#include "bench/stream.h"
#include "errors.h"
#include "event_numbers.h"
#include "isa.h"
#include "node_cfg.h"

using namespace tb;

static const std::vector<unsigned> SOFTWARE = counted_events(PARAM_Events);

static const unsigned F = PARAM_FlitBytes, TOKENS = PARAM_N << PARAM_TokensLog2, CTRL_PKTS = 16;

struct hub : model<Vrx> {
    enum kind { TOKEN, EVENT, ACK, ERROR };
    struct outcome {
        kind is;
        unsigned value; // token, counter, source or code
        bool operator==(const outcome &o) const { return is == o.is && value == o.value; }
    };
    unsigned rate = 50;                      // percent, of what makes packets wait
    unsigned seen[4] = {}, errors[256] = {}; // of each kind, and code
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
        // rx passes the source that the switch has written, without a check
        p.h.src = below(32);
        p.h.tag = p.h.opcode == MW_OP_ERROR ? rng.between(1, 255) : below(256);
        p.h.epoch = epoch;
        p.h.addr = p.h.opcode == MW_OP_SIGNAL  ? below(TOKENS)
                   : p.h.opcode == MW_OP_EVENT ? rng.pick(SOFTWARE)
                                               : rng.bits(48);
        if (!rng.one_in(3))
            return p;
        const unsigned fault = below(tb::BARE_FAULTS + 1);
        if (fault < tb::BARE_FAULTS)
            tb::spoil_bare(p, fault, F, rng, {0u, 5u, 6u, 15u});
        else // one bit too high, or just beyond
            p.h.addr = rng.pick<uint64_t>({p.h.addr | 1ull << rng.between(3, 47), MW_SW_EVENTS, 15,
                                           MW_EV_SW8, MW_EVENTS, TOKENS, TOKENS - 1});
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
            return is_counted(PARAM_Events, p.h.addr)
                       ? outcome{EVENT, static_cast<unsigned>(p.h.addr)}
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
        dut.sig_ready_i = percent(rate);
        dut.ev_ready_i = percent(rate);
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
            seen[due.front().is]++;
            if (due.front().is == ERROR)
                errors[due.front().value]++;
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
        b.rate = b.rng.pick({100u, 50u, 10u});
        for (unsigned i = 0; i < 500; i++)
            b.send(b.any());
        b.until("the last packet", 60000, [&] { return b.idle(); });
    }
    for (unsigned code : {MW_HWERR_OPCODE, MW_HWERR_LENGTH, MW_HWERR_EPOCH, MW_HWERR_BOUNDS})
        assert_true(b.errors[code] > 30);
    for (unsigned kind : {hub::TOKEN, hub::EVENT, hub::ACK})
        assert_true(b.seen[kind] > 100);
}

// Every counter that packets count, and every number with one bit more.
TEST(event_counters)
{
    hub b;
    for (unsigned bit = 0; bit < 48; bit++) {
        for (unsigned e = 0; e < 32; e++) {
            packet p;
            p.h = header(MW_OP_EVENT);
            p.h.epoch = b.epoch;
            p.h.addr = e | uint64_t{bit > 4} << bit;
            b.send(p);
        }
    }
    b.until("the last packet", 60000, [&] { return b.idle(); });
    assert_true(b.errors[MW_HWERR_BOUNDS] > 300 && b.seen[hub::EVENT] > 8);
}

// A packet of another class at the outputs of rx, which wait or have no room at random.
struct passing : model<Vrx> {
    const unsigned epoch = rng.below(4);
    unsigned errors[256] = {};
    bool lost = false; // of class PART, the packet under way

    passing()
    {
        node_cfg cfg;
        cfg.set("epoch", epoch);
        cfg.drive(dut.cfg_i);
        dut.rx_valid_i = 0;
        dut.sig_ready_i = dut.ev_ready_i = 1;
        reset();
    }

    packet any(unsigned cls)
    {
        packet p;
        const bool right = !rng.one_in(3);
        const unsigned request = rng.pick({MW_OP_MULTIMEM_LD_REDUCE, MW_OP_DYMULTIMEM_LD_REDUCE});
        uint64_t head[2] = {rng(), rng()};
        mw_header_unpack(&p.h, head);
        p.h.opcode = !right               ? below(64)
                     : cls == MW_CLS_PART ? static_cast<unsigned>(MW_OP_RESULT)
                                          : request;
        if (rng.one_in(4))
            p.h.opcode = request; // which no PART packet is
        p.h.epoch = rng.one_in(4) ? below(4) : epoch;
        p.h.poison = rng.one_in(4);
        p.payload = rng.some(below(4) * F);
        p.err = rng.one_in(8);
        return p;
    }

    void idle_cycle()
    {
        dut.rx_valid_i = 0;
        dut.rx_cls_i = below(4);
        dut.rx_err_i = dut.rx_last_i = percent(50);
        scramble(dut.rx_data_i, 8 * F, rng);
        around();
        settle();
        assert_false(dut.st_valid_o || dut.req_valid_o || dut.res_push_o || dut.err_valid_o);
        assert_int_equal(dut.crd_o, credits());
        edge();
    }

    void pass(unsigned cls, const packet &p)
    {
        const bool request = cls == MW_CLS_REQ, part = cls == MW_CLS_PART;
        const bool bad_epoch = p.h.epoch != epoch;
        const bool alien = request ? p.h.opcode != MW_OP_MULTIMEM_LD_REDUCE &&
                                         p.h.opcode != MW_OP_DYMULTIMEM_LD_REDUCE
                                   : p.h.opcode != MW_OP_RESULT;
        const wire in = encode(p, F);
        packet marked = p;
        marked.h.poison = p.h.poison || bad_epoch || alien;
        const wire out = request || part ? encode(marked, F) : in;
        for (size_t i = 0; i < in.flits(); i++) {
            const bool first = i == 0, last = in.last(i), err = last && p.err;
            dut.rx_valid_i = 1;
            dut.rx_cls_i = cls;
            dut.rx_last_i = last;
            dut.rx_err_i = err;
            put(dut.rx_data_i, in.at(i));
            around();
            settle();
            if (first)
                lost = part && !dut.res_room_i;
            assert_int_equal(dut.st_valid_o, cls == MW_CLS_STORE);
            assert_int_equal(dut.req_valid_o, request);
            assert_int_equal(dut.res_push_o, part && !lost);
            if (request) {
                assert_memory_equal(&dut.req_data_o, out.at(i), F);
                assert_int_equal(dut.req_last_o, last);
                assert_int_equal(dut.req_err_o, err);
            } else {
                assert_memory_equal(&dut.st_data_o, out.at(i), F);
                assert_int_equal(dut.st_last_o, last);
                assert_int_equal(dut.st_err_o, err);
            }
            const unsigned code = lost                           ? MW_HWERR_CREDIT
                                  : request && !dut.req_ready_i  ? MW_HWERR_WINDOW
                                  : (request || part) && err     ? MW_HWERR_LENGTH
                                  : !(request || part) || !first ? MW_HWERR_NONE
                                  : bad_epoch                    ? MW_HWERR_EPOCH
                                  : alien                        ? MW_HWERR_OPCODE
                                                                 : MW_HWERR_NONE;
            assert_int_equal(dut.err_valid_o, code != MW_HWERR_NONE);
            if (code)
                assert_int_equal(dut.err_code_o, code);
            errors[code]++;
            assert_int_equal(dut.crd_o, credits());
            edge();
        }
        lost = false;
    }

  private:
    void around()
    {
        dut.st_crd_i = percent(50);
        dut.res_crd_i = percent(50);
        dut.req_ready_i = percent(80);
        dut.res_room_i = percent(80);
    }
    unsigned credits() const { return dut.st_crd_i << MW_CLS_STORE | dut.res_crd_i << MW_CLS_PART; }
};

TEST(other_classes)
{
    passing b;
    for (unsigned i = 0; i < 4000; i++) {
        const unsigned cls = b.rng.pick({MW_CLS_STORE, MW_CLS_REQ, MW_CLS_PART});
        b.pass(cls, b.any(cls));
        if (b.rng.one_in(3))
            b.idle_cycle();
    }
    for (unsigned code :
         {MW_HWERR_OPCODE, MW_HWERR_LENGTH, MW_HWERR_EPOCH, MW_HWERR_WINDOW, MW_HWERR_CREDIT})
        assert_true(b.errors[code] > 30);
}
