// SPDX-License-Identifier: Apache-2.0
//
// An input of the switch: a sender that is right, one that is wrong in every way, and one
// that ignores credits. Each module inside has a test of its name, in which a model of that
// module alone, made of its interface and docs/design/microarchitecture/switch.md, sees what
// goes into it and says what must come out, cycle by cycle; `ingress` is the whole: the queues
// that it fills, by packet. `kept_packets` is the whole with answers that the switch has kept,
// which enter between packets of the link.

#include "Vingress.h"
#include "Vingress___024root.h"

#include "bench/dut.h"
#include "switch_rules.h"

#include "map.h"

#include <algorithm>
#include <deque>
#include <memory>

#ifndef PARAM_MergeKeep
#define PARAM_MergeKeep 0
#endif

namespace {
constexpr unsigned N = PARAM_N, F = PARAM_FlitBytes, LANES = F / 2, HF = 16 / F,
                   TF = (30 + F - 1) / F, PF = 128 / F;
constexpr unsigned STORE_PKTS = PARAM_StorePkts, CTRL_PKTS = PARAM_CtrlPkts,
                   OPEN_ROWS = PARAM_OpenRows, STAMP_W = MW_MONITOR_STAMP_BITS,
                   EXPERTS = PARAM_MaxExperts;
constexpr bool SHARED_RAM = PARAM_PartSharedRam, LATE = SHARED_RAM && F == 8;
constexpr unsigned ALL = (1u << N) - 1, STAMPS = (1u << STAMP_W) - 1;
using tb::bit;
using tb::bytes;

// make mutate: all that is inside stands one deeper, and a block is a part of a name
#ifdef UNIT_NETLIST
#define S(signal) dut.rootp->flat_ingress__DOT__i_dut__DOT__i_netlist__DOT__##signal
#define IN_SHARED(signal) S(gen_shared_ram__02e##signal)
#define IN_ROW(signal) S(gen_row__02e##signal)
#else
#define S(signal) dut.rootp->flat_ingress__DOT__i_dut__DOT__##signal
#define IN_SHARED(signal) S(gen_shared_ram__DOT__##signal)
#define IN_ROW(signal) S(gen_row__DOT__##signal)
#endif
#define GATE(port) S(i_gate__DOT__##port)
#define FIFO(port) S(i_queue__DOT__i_queue__DOT__##port)
#define QUEUE(port) S(i_queue__DOT__##port)
#define CHECK(port) S(i_header__DOT__##port)
#define LOOKUP(port) S(i_lookup__DOT__##port)
#define SEEN(port) S(i_walk__DOT__i_seen__DOT__##port)
#define WALK(port) S(i_walk__DOT__##port)
#define OPEN(port) S(i_open__DOT__##port)
#define COPY(port) S(i_copies__DOT__##port)
#define PART(port) S(i_partials__DOT__##port)
#define ERRORS(port) S(i_errors__DOT__##port)
#define TURNS(port) IN_SHARED(i_turns__DOT__##port)
#define ROW(port) IN_ROW(i_row__DOT__##port)

template <class Port> bytes flit(const Port &port)
{
    return tb::get(port, F);
}
template <class Port> mw_header head(const Port &port)
{
    return tb::header_of(tb::get(port));
}
uint16_t lane_of(const bytes &b, unsigned lane)
{
    return static_cast<uint16_t>(b[2 * lane] | b[2 * lane + 1] << 8);
}

class input : public tb::model<Vingress> {
  public:
    typedef void (input::*checker)();
    checker check;
    unsigned me;
    switch_rules rules{N, F};
    unsigned rate = 100; // percent of the cycles between packets in which the next one may begin
    unsigned wrong = 15; // percent of the packets
    unsigned back = 40;  // percent of the cycles in which a credit that is owed comes back
    uint64_t sent = 0, codes[32] = {};

    explicit input(checker c) : check(c), me(below(N))
    {
        dut.port_i = static_cast<uint8_t>(me);
        dut.go_i = 0;
        dut.epoch_i = rules.epoch = below(4);
        rules.max_experts = EXPERTS;
        rules.emap.assign(EXPERTS, -1);
        for (unsigned p = 0; p < N; p++)
            if (N > 2 && p != me && percent(20))
                rules.partition[me] &= ~(1u << p);
        if (!rules.reach(me))
            rules.partition[me] = ~0u;
        dut.partition_i = static_cast<uint8_t>(rules.partition[me] & ALL);
        dut.up_valid_i = dut.emap_we_i = dut.groups_we_i = 0;
        dut.crd_i = dut.open_full_i = dut.part_full_i = dut.kept_i = dut.kept_use_i = 0;
        dut.common_switch_reductions_i = dut.common_merge_loads_i = dut.lane_take_i = 0;
        dut.row_err_valid_i = 0;
        reset();
        cycles(EXPERTS + 40);
    }

    // ---- the sender ----
    struct outgoing {
        tb::wire w;
        unsigned cls;
        bool enters;
        verdict v;
        uint64_t began;
        bool idle; // nothing was inside when it began
        mw_header h;
        uint64_t pauses = 0; // of the parser, before it began
    };
    std::deque<outgoing> queue; // the first one is being sent
    size_t at = 0;
    unsigned held[2] = {CTRL_PKTS, STORE_PKTS}, rows = 0,
             level = 0; // credits; rows that the sender has open; those of them at the join
    unsigned owed[2] = {0, 0};
    bool frozen = false, traffic = false, flooding = false;

    tb::packet any()
    {
        tb::packet p;
        p.h = tb::header(0);
        static const unsigned good[] = {MW_OP_SIGNAL,
                                        MW_OP_EVENT,
                                        MW_OP_ACK,
                                        MW_OP_ERROR,
                                        MW_OP_ST,
                                        MW_OP_ST,
                                        MW_OP_FLAG,
                                        MW_OP_FENCE,
                                        MW_OP_COUNTS,
                                        MW_OP_MULTIMEM_ST,
                                        MW_OP_DYMULTIMEM_ST,
                                        MW_OP_DYMULTIMEM_ST,
                                        MW_OP_DYMULTIMEM_ST,
                                        MW_OP_DYMULTIMEM_ST,
                                        MW_OP_ST_ROWSP,
                                        MW_OP_ST_ROWSP_NOP,
                                        MW_OP_MULTIMEM_RED,
                                        MW_OP_MULTIMEM_LD_REDUCE,
                                        MW_OP_DYMULTIMEM_LD_REDUCE,
                                        MW_OP_DYMULTIMEM_LD_REDUCE,
                                        MW_OP_PARTIAL,
                                        MW_OP_PARTIAL};
        uint64_t half[2] = {rng(), rng()};
        mw_header_unpack(&p.h, half);
        p.h.opcode = rng.pick(good);
        p.h.cls = p.h.opcode >> 4;
        p.h.epoch = rules.epoch;
        p.h.dst = (me + 1 + below(N - 1)) % N;
        for (unsigned i = 0; i < 8 && !(rules.reach(me) >> p.h.dst & 1); i++)
            p.h.dst = (p.h.dst + 1) % N;
        p.h.poison = percent(5);
        while (p.h.cls == MW_CLS_REQ && !tb::reduces(p.h.dtype, p.h.redop)) {
            p.h.dtype = below(16);
            p.h.redop = below(8);
        }
        if (tb::has_group(p.h.opcode))
            p.h.target0 = below(4);
        if (tb::has_targets(p.h.opcode)) {
            std::vector<uint16_t> t;
            unsigned most = 1 + below(16);
            for (unsigned tries = 0; tries < 200 && t.size() < most; tries++) {
                unsigned e = below(EXPERTS);
                bool old = false;
                for (uint16_t x : t)
                    old |= x >> 4 == e;
                if (!old && !rules.reachable(rules.behind_expert(e), me))
                    t.push_back(tb::target(e, below(16)));
            }
            p.set_targets(t);
            if (p.h.opcode == MW_OP_DYMULTIMEM_ST && percent(50))
                p.h.stage = below(2); // so that rows stay open
            tb::packet bare = p;
            bare.set_targets({});
            if (rules.follows(bare.h) && percent(rules.row[me].open ? 80 : wrong / 2))
                p = bare;
        }
        if (p.h.cls == MW_CLS_REQ)
            p.h.len = 1 + below(0x7fff);
        else if (p.h.opcode == MW_OP_PARTIAL)
            p.h.len = 1 + below(128);
        else
            p.h.len =
                tb::has_payload(p.h.opcode) ? below(129 - static_cast<unsigned>(p.h.addr % F)) : 0;
        if (percent(wrong)) {
            switch (below(9)) {
            case 0:
                p.h.epoch = below(4);
                break;
            case 1:
                do
                    p.h.opcode = below(64);
                while (keeps && mw_opcode_of(p.h.opcode).needs == MW_NEEDS_MERGED_LOADS);
                break;
            case 2:
                p.h.cls = below(4);
                break;
            case 3:
                p.h.dst = below(32);
                break;
            case 4:
                p.h.target0 = static_cast<uint16_t>(rng());
                break;
            case 5:
                p.h.cnt = below(32);
                break;
            case 6:
                p.h.len = below(400);
                break;
            case 7:
                p.h.dtype = below(16);
                p.h.redop = below(8);
                break;
            default:
                if (!p.targets.empty())
                    p.targets.back() = percent(50) ? p.targets[below(p.targets.size())]
                                                   : static_cast<uint16_t>(rng());
            }
        }
        if (percent(wrong / 3)) {
            p.err = true;
            // without a payload the mark is at the last flit of the list, which then
            // may hold anything
            if (p.targets.size() > 1 && percent(50))
                for (size_t t = 1 + (p.targets.size() - 2) / LANES * LANES; t < p.targets.size();
                     t++)
                    p.targets[t] = static_cast<uint16_t>(rng());
        }
        if (percent(wrong / 3))
            p.cut = static_cast<int>(below(5)) - 2;
        return p;
    }

    tb::wire on_the_link(tb::packet p)
    {
        const bool pays = tb::has_payload(p.h.opcode) && p.h.len <= 128;
        p.lane = pays && p.h.opcode != MW_OP_PARTIAL ? static_cast<unsigned>(p.h.addr % F) : 0;
        if (pays)
            p.payload = rng.some(p.h.len);
        tb::wire w = tb::encode(p, F, &rng);
        return w;
    }

    // Another epoch, or other outputs that may be reached: while nothing is inside.
    void change()
    {
        if (percent(50)) {
            rules.set_epoch(below(4));
            dut.epoch_i = static_cast<uint8_t>(rules.epoch);
            return;
        }
        unsigned may = static_cast<unsigned>(rng.bits(N)) | static_cast<unsigned>(rng.bits(N));
        if (!(may & ~(1u << me)))
            may = ALL;
        rules.partition[me] = may;
        dut.partition_i = static_cast<uint8_t>(may);
    }

    // A packet of class STORE for the link, and what must come of it.
    unsigned offer(const tb::packet &p)
    {
        outgoing o;
        o.w = on_the_link(p);
        o.h = p.h;
        o.cls = MW_CLS_STORE;
        o.enters = true;
        o.v = rules.judge(o.w, me, o.cls);
        held[MW_CLS_STORE]--;
        queue.push_back(o);
        sent++;
        return o.v.code;
    }
    uint64_t epoch_at = UINT64_MAX; // the cycle from which on there is another epoch,
    unsigned epoch_then = 0;        // this one

    // The next packet, or none if it would have to wait.
    void next()
    {
        if (idle && !kept.pending && percent(4))
            change();
        tb::packet p = any();
        outgoing o;
        o.w = on_the_link(p);
        o.h = p.h;
        o.cls = p.h.opcode >> 4;
        if (percent(wrong / 8))
            o.cls = below(4);
        o.enters = o.cls != MW_CLS_PART;
        bool room = true;
        if (o.cls <= MW_CLS_STORE && !held[o.cls]) {
            // a STORE without credit would take one of those of kept answers
            if (!percent(wrong / 5) || (keeps && o.cls == MW_CLS_STORE))
                return;
            o.enters = false;
        } else if (o.cls <= MW_CLS_STORE) {
            held[o.cls]--;
        } else if (o.cls == MW_CLS_REQ && rows == OPEN_ROWS) {
            if (frozen || level < rows || !percent(wrong / 5) || p.cut || p.err)
                return;
            frozen = true; // no row ends until it is rejected, for that reason
            room = false;
        }
        const bool was_open = rules.row[me].open;
        if (o.enters)
            o.v = rules.judge(o.w, me, o.cls, room);
        if (o.enters && rules.follows(o.h))
            followers[o.v.accepted                     ? GOOD
                      : !was_open                      ? NO_ROW
                      : o.v.code == MW_HWERR_PARTITION ? REVOKED
                                                       : ELSE]++;
        rows += o.v.opens;
        if (o.cls == MW_CLS_PART)
            dut.part_full_i = static_cast<uint8_t>(percent(70) ? 0 : rng.bits(N));
        queue.push_back(o);
        sent++;
    }

    void drive() override
    {
        dut.emap_we_i = now < EXPERTS;
        if (now < EXPERTS) {
            // the first one can be reached, so that there are lists
            const int gpu = !now          ? __builtin_ctz(rules.reach(me))
                            : percent(70) ? static_cast<int>(below(N))
                                          : -1;
            rules.emap[now] = gpu;
            dut.emap_addr_i = static_cast<uint16_t>(now);
            dut.emap_data_i = gpu < 0 ? static_cast<uint16_t>(rng.bits(13))
                                      : tb::place(true, static_cast<unsigned>(gpu),
                                                  static_cast<unsigned>(rng.bits(6)));
        }
        dut.groups_we_i = now >= EXPERTS && now < EXPERTS + 16;
        if (dut.groups_we_i) {
            const unsigned g = static_cast<unsigned>(now) - EXPERTS;
            rules.group[g] = g == 0   ? rules.reach(me) | 1u << me
                             : g == 3 ? 0
                                      : static_cast<uint32_t>(rng.bits(N));
            dut.groups_addr_i = static_cast<uint8_t>(g);
            dut.groups_data_i = rules.group[g] | static_cast<uint32_t>(rng() << N); // no ports
        }
        dut.common_now_i = static_cast<uint32_t>(now & STAMPS);
        dut.crd_i = 0;
        for (unsigned c = 0; c < 2; c++)
            if (owed[c] && percent(back)) {
                owed[c]--;
                dut.crd_i |= static_cast<uint8_t>(1u << c);
            }
        if (level && !frozen && percent(10)) {
            level--;
            if (!flooding)
                rows--;
        }
        dut.open_full_i = level == OPEN_ROWS;

        if (now == epoch_at)
            dut.epoch_i = static_cast<uint8_t>(epoch_then);
        if (traffic && queue.empty() && percent(rate))
            next();
        dut.up_valid_i = !queue.empty();
        if (queue.empty()) {
            dut.up_last_i = percent(50);
            dut.up_err_i = percent(50);
            dut.up_cls_i = static_cast<uint8_t>(below(4));
            tb::scramble(dut.up_data_i, 8 * F, rng);
            return;
        }
        outgoing &o = queue.front();
        if (at == 0) {
            o.began = now;
            o.idle = inside.empty() && idle;
            o.pauses = pauses;
            if (o.enters)
                inside.push_back(o);
        }
        dut.up_last_i = o.w.last(at);
        dut.up_err_i = o.w.last(at) ? o.w.err : percent(20) && o.cls == MW_CLS_PART;
        dut.up_cls_i = static_cast<uint8_t>(o.cls);
        tb::put(dut.up_data_i, o.w.at(at));
    }

    void sample() override
    {
        (this->*check)();
        idle = dut.idle_o;
        held[MW_CLS_CTRL] += dut.crd_i & 1; // the sender has it in the next cycle
        if (keeps)
            sample_kept();
        else
            held[MW_CLS_STORE] += dut.crd_i >> 1;
        if (dut.arrive_o)
            owed[MW_CLS_STORE]++;
        owed[MW_CLS_CTRL] += (dut.push_o && dut.wr_region_o == MW_CLS_CTRL) + dut.ctrl_drop_o;
        level += dut.open_valid_o;
        if (dut.err_valid_o) {
            codes[dut.err_code_o & 31]++;
            frozen &= dut.err_code_o != MW_HWERR_WINDOW;
        }
        if (!queue.empty() && ++at == queue.front().w.flits()) {
            queue.pop_front();
            at = 0;
        }
    }

    // ---- kept answers ----
    // The credits of STORE are shared as by kept_credits: the sender leaves some of its own.
    static constexpr unsigned SHARE = MW_KEPT_STORES;
    bool keeps = false;
    struct {
        bool pending = false; // a packet waits, or its flits are taken
        outgoing o = {};
        size_t at = 0;                          // flits of it that were taken
        unsigned rate = 100;                    // percent of the cycles in which one may come
        unsigned row = 0, mask = 0;             // packets of the row that are to come, its readers
        unsigned taken = 0, free = STORE_PKTS;  // credits: of kept packets; nobody's
        unsigned behind_link = 0, in_a_row = 0; // packets of one that went before the other
        uint64_t decided = 0;                   // packets of the link, a cycle before
        bool seen = false; // the parser saw a packet of the link, and took nothing of it
        uint64_t sent = 0;
    } kept;
    void keep()
    {
        keeps = true;
        dut.common_merge_loads_i = 1;
        held[MW_CLS_STORE] = STORE_PKTS - SHARE;
    }

    void next_kept()
    {
        if (!kept.row) {
            kept.row = 1 + below(4);
            kept.mask = 0;
        }
        while (!(kept.mask & rules.reach(me)))
            kept.mask = static_cast<unsigned>(rng.bits(N));
        kept.mask &= rules.reach(me); // of now
        tb::packet p;
        p.h = tb::header(MW_OP_LD_RESP);
        p.h.epoch = rules.epoch;
        p.h.len = F * (percent(70) ? PF : 1 + below(PF));
        p.h.poison = percent(10);
        p.h.addr = rng.bits(40) / F * F;
        p.payload = rng.some(p.h.len);
        outgoing o = {};
        o.w = tb::encode(p, F);
        o.h = p.h;
        o.cls = MW_CLS_STORE;
        o.v.accepted = true;
        p.h.src = me;
        for (unsigned to = 0; to < N; to++)
            if (kept.mask >> to & 1)
                o.v.copies[to] = tb::encode(p, F);
        kept.o = o;
        kept.pending = true;
        kept.row--;
    }

    bool store_begins() const { return dut.up_valid_i && !at && queue.front().cls == MW_CLS_STORE; }
    void drive_kept()
    {
        if (!kept.pending && traffic && percent(kept.rate))
            next_kept();
        if (kept.pending && dut.up_valid_i && !at && queue.front().enters)
            inside.back().idle = false; // it may wait
        const bool shown =
            kept.pending && (kept.at || (kept.free && !store_begins() && kept.taken < SHARE));
        dut.kept_i = shown;
        dut.kept_use_i = 0;
        if (shown) {
            dut.kept_last_i = kept.o.w.last(kept.at);
            tb::put(dut.kept_data_i, kept.o.w.at(kept.at));
        } else {
            dut.kept_last_i = percent(50);
            tb::scramble(dut.kept_data_i, 8 * F, rng);
        }
        dut.answer_mask_i = static_cast<uint8_t>(shown ? kept.mask : rng.bits(N));
        dut.answer_code_i = static_cast<uint8_t>(shown ? 0 : rng.bits(8));
    }
    void cycle() override
    {
        drive();
        if (keeps)
            drive_kept();
        settle();
        if (keeps && dut.kept_take_o && !kept.at) {
            dut.kept_use_i = 1;
            settle();
        }
        sample();
        edge();
    }

    void sample_kept()
    {
        const bool comes = dut.crd_i >> 1, take = dut.kept_take_o, mine = dut.answer_kept_o;
        SAME(dut.kept_left_o, kept.free != 0);
        SAME(dut.kept_begins_o, store_begins());
        if (take)
            assert_true(dut.kept_i);
        if (take) // its payload is kept already
            SAME(dut.pay_o, 0);
        // a packet that the parser has seen is not put off
        if (kept.seen)
            SAME(mine, false);
        kept.seen = QUEUE(begin_i) && QUEUE(valid_o) && !QUEUE(take_i) && !mine;
        // They take turns. A packet of the link shows in at most 3 cycles at the head of its queue,
        // and one that is rejected is known a cycle later.
        if (kept.decided != decided)
            kept.in_a_row = 0;
        kept.behind_link = dut.kept_i && !take
                               ? kept.behind_link + static_cast<unsigned>(decided - kept.decided)
                               : 0;
        assert_true(kept.behind_link <= 2); // one is there already
        kept.decided = decided;
        if (dut.push_o && mine && !inside.empty() && inside.front().began + 3 < now)
            assert_true(++kept.in_a_row <= 1);
        if (take && ++kept.at == kept.o.w.flits()) {
            kept.pending = false;
            kept.at = 0;
            kept.sent++;
        }
        // a credit that comes back is that of a kept answer, if one has taken any
        kept.free += comes;
        kept.free -= (store_begins() && queue.front().enters) + dut.kept_use_i;
        if (comes && kept.taken)
            kept.taken--;
        else
            held[MW_CLS_STORE] += comes;
        kept.taken += dut.kept_use_i;
    }

    void run(unsigned n)
    {
        for (unsigned i = 0; i < 6; i++) {
            rate = rng.pick({100u, 100u, 60u, 5u});
            wrong = rng.pick({0u, 15u, 40u});
            back = i % 3 == 2 ? 1 : 40; // so late that the sender runs out of them
            wrong = back == 1 ? 40 : wrong;
            kept.rate = rng.pick({100u, 30u, 3u});
            traffic = true;
            cycles(n / 6);
            traffic = false;
            back = 40;
            until("the input to be empty", 20000, [&] {
                return queue.empty() && dut.idle_o && !kept.pending && !owed[0] && !owed[1];
            });
            frozen = false;
            until("the rows to end", 20000, [&] { return level == 0; });
            cycles(LATE); // the last word leaves a cycle behind its address
            inside_done();
        }
    }

    enum { GOOD, NO_ROW, REVOKED, ELSE };
    uint64_t followers[4] = {}; // packets without targets: accepted, or why not
    bool idle = true;
    uint64_t pauses = 0;         // cycles in which a partial was written and the parser waited
    std::deque<outgoing> inside; // entered and not decided; only `ingress` takes out
    uint64_t decided = 0;        // that it took out
    void inside_done()
    {
        if (check == &input::ingress) {
            assert_int_equal(inside.size(), 0);
            assert_int_equal(partials.size(), 0);
            assert_int_equal(part_comes, 0);
            assert_int_equal(held[MW_CLS_CTRL], CTRL_PKTS);
            assert_int_equal(held[MW_CLS_STORE], STORE_PKTS - (keeps ? SHARE : 0));
            assert_int_equal(kept.taken, 0);
        }
        inside.clear();
    }

    // ---- credit_gate ----
    struct {
        unsigned held[2] = {CTRL_PKTS, STORE_PKTS}, flit = 0;
        bool open = false;
    } gate;
    void credit_gate()
    {
        const bool valid = GATE(valid_i), last = GATE(last_i), err = GATE(err_i),
                   almost_full = GATE(almost_full_i), first = gate.flit == 0;
        const unsigned cls = GATE(cls_i), crd = GATE(crd_i);
        const bool may =
            first ? !almost_full && (cls == MW_CLS_REQ || (cls < MW_CLS_REQ && gate.held[cls]))
                  : gate.open;
        const bool cut = !first && almost_full && !last;
        SAME(GATE(first_o), first);
        SAME(GATE(second_o), HF == 2 && gate.flit == 1);
        SAME(GATE(enters_o), valid && may);
        if (valid && may) {
            SAME(GATE(last_o), last || cut);
            SAME(GATE(err_o), err || cut);
        }
        SAME(GATE(code_o), !valid || !first || may || cls == MW_CLS_PART ? MW_HWERR_NONE
                           : cls == MW_CLS_REQ                           ? MW_HWERR_WINDOW
                                                                         : MW_HWERR_CREDIT);
        SAME(GATE(scarce_o), gate.held[MW_CLS_STORE] < (STORE_PKTS + 3) / 4);
        if (valid) {
            if (first && may && cls < MW_CLS_REQ)
                gate.held[cls]--;
            gate.open = may && !cut;
            gate.flit = last ? 0 : gate.flit + 1;
        }
        gate.held[0] += crd & 1;
        gate.held[1] += crd >> 1;
    }

    // ---- flit_queue ----
    struct {
        struct word {
            bytes data;
            uint64_t came;
            bool soon; // in the register from the next cycle on
        };
        std::deque<word> words;
        bytes load;
        bool loads = false;
        size_t before = 0;
        uint64_t most = 0;
    } fifo;
    void flit_queue()
    {
        auto &q = fifo.words;
        const bool comes = FIFO(valid_i), direct = FIFO(direct_i), shown = FIFO(valid_o),
                   take = FIFO(take_i), load = FIFO(load_o), almost_full = FIFO(almost_full_o);
        const bytes in = tb::get(FIFO(data_i)), out = tb::get(FIFO(data_o)),
                    reg = tb::get(FIFO(held_o));
        constexpr unsigned most =
            (STORE_PKTS + 1) * (HF + TF + PF) + CTRL_PKTS * HF + OPEN_ROWS * (HF + TF);
        unsigned depth = 512;
        while (depth < most + 5)
            depth *= 2;
        SAME(FIFO(empty_o), q.empty());
        if (q.empty())
            SAME(shown, comes && direct);
        else if (q.front().soon || q.front().came + 3 <= now)
            SAME(shown, true);
        SAME(FIFO(held_valid_o), shown && !q.empty());
        if (shown && out != (q.empty() ? in : q.front().data))
            fail_msg("flit_queue: not the flit that came");
        if (fifo.loads && (reg != fifo.load || !FIFO(held_valid_o)))
            fail_msg("flit_queue: not what was loaded");
        if (almost_full)
            assert_true(q.size() + 5 >= depth);
        if (q.size() >= depth && fifo.before >= depth)
            assert_true(almost_full);
        assert_true(q.size() <= depth + 1);
        fifo.loads = load;
        fifo.load = tb::get(FIFO(load_data_o));
        fifo.before = q.size();
        fifo.most = std::max<uint64_t>(fifo.most, q.size());
        if (comes)
            q.push_back({in, now, q.empty() || (q.size() == 1 && take)});
        if (take)
            q.pop_front();
    }

    // ---- queue_head ----
    struct {
        struct word {
            bytes data;
            bool head, last, err;
            unsigned cls, stamp;
        };
        std::deque<word> words;
        unsigned stamp = 0, next = 0;
        bool loads = false;
    } heads;
    void queue_head()
    {
        auto &q = heads.words;
        const bool comes = QUEUE(valid_i), shown = QUEUE(valid_o), list = QUEUE(list_i),
                   begins = QUEUE(begin_i);
        if (comes)
            q.push_back({flit(QUEUE(data_i)), bool(QUEUE(head_i)), bool(QUEUE(last_i)),
                         bool(QUEUE(err_i)), QUEUE(cls_i), QUEUE(now_i)});
        const bool straight = comes && q.size() == 1;
        SAME(QUEUE(held_o), shown && !straight);
        SAME(lane_of(flit(QUEUE(data_i)), LANES - 1), QUEUE(link_target_o));
        if (shown) {
            assert_false(q.empty());
            const auto &w = q.front();
            assert_true(w.data == flit(QUEUE(data_o)));
            SAME(QUEUE(last_o), w.last);
            SAME(QUEUE(err_o), w.err);
            SAME(QUEUE(cls_o), w.cls);
            if (list)
                SAME(QUEUE(target_o), lane_of(w.data, QUEUE(lane_i)));
            else if (w.head)
                SAME(QUEUE(target_o), lane_of(w.data, LANES - 1));
            if (heads.loads)
                SAME(QUEUE(target_o), heads.next);
            if (begins && !QUEUE(late_i))
                SAME(QUEUE(stamp_o), w.stamp);
        }
        if (STAMP_W && (!begins || QUEUE(late_i)) && shown)
            SAME(QUEUE(stamp_o), heads.stamp);
        if (shown && begins)
            heads.stamp = q.front().stamp;
        heads.loads = QUEUE(next_we_o) && !(list && QUEUE(take_i) && !FIFO(load_o));
        heads.next = QUEUE(next_target_o);
        if (QUEUE(take_i))
            q.pop_front();
    }

    // ---- header_check ----
    void header_check()
    {
        const mw_header h = head(CHECK(head_i));
        const unsigned cls = CHECK(cls_i);
        const bool valid = CHECK(valid_i);
        const unsigned code = rules.check(h, cls, !CHECK(no_room_i));
        SAME(CHECK(code_o), valid ? code : 0);
        if (!valid || code)
            return;
        SAME(CHECK(dynamic_o), tb::has_targets(h.opcode) && !rules.follows(h));
        SAME(CHECK(follow_o), rules.follows(h));
        SAME(CHECK(group_o), tb::has_group(h.opcode));
        SAME(CHECK(pay_o), rules.pays(h));
        if (rules.pays(h))
            SAME(CHECK(flits_o), rules.payload_flits(h) - 1);
    }

    // ---- target_lookup ----
    unsigned lookup_next = 0;
    void target_lookup()
    {
        const bool list = LOOKUP(listing_i), group = LOOKUP(grouped_i), held_i = LOOKUP(held_i),
                   follow = LOOKUP(follow_i) && !list && !group;
        if (now > EXPERTS + 30) {
            const unsigned e =
                (held_i ? lookup_next : static_cast<unsigned>(LOOKUP(link_target_i))) >> 4;
            const unsigned g = LOOKUP(group_i), dst = LOOKUP(dst_i);
            const uint32_t outs = list     ? rules.behind_expert(e)
                                  : group  ? rules.behind_group(g, me)
                                  : follow ? LOOKUP(row_open_i) ? LOOKUP(row_mask_i) : 0
                                           : rules.behind_port(dst);
            if (!follow || outs)
                SAME(LOOKUP(sel_o), outs);
            SAME(LOOKUP(somewhere_o), outs != 0);
            if (outs)
                SAME(LOOKUP(allowed_o), !rules.reachable(outs, me));
            SAME(LOOKUP(port_good_o), !rules.reachable(rules.behind_port(dst), me));
            if (!list && (group || follow))
                SAME(LOOKUP(other_good_o), !rules.reachable(outs, me));
            SAME(LOOKUP(other_good_o) && list, false);
            SAME(LOOKUP(in_range_o), e < EXPERTS);
            if (e < EXPERTS)
                SAME(LOOKUP(reached_o), !rules.reachable(rules.behind_expert(e), me));
            if (rules.behind_expert(e))
                SAME(LOOKUP(out_o), rules.emap[e]);
            if (held_i) {
                SAME(LOOKUP(list_sel_o), rules.behind_expert(e));
                if (rules.behind_expert(e))
                    SAME(LOOKUP(list_out_o), rules.emap[e]);
            }
        }
        if (LOOKUP(next_we_i))
            lookup_next = LOOKUP(next_target_i);
    }

    // ---- target_walk ----
    struct {
        unsigned left = 0, lane = LANES - 1, clear = 8;
        uint32_t found = 0;
        std::map<unsigned, unsigned> behind; // targets, by output
        std::set<unsigned> named;
    } walk;
    void target_walk()
    {
        const bool valid = WALK(valid_i), is_head = WALK(head_i), list = WALK(list_i),
                   dynamic = WALK(dynamic_i);
        const unsigned cnt = WALK(cnt_i), e = WALK(expert_i), o = WALK(out_i);
        const uint32_t sel = WALK(sel_i);
        const bool listing = list || dynamic, listed = list || (dynamic && cnt != 1),
                   right = !is_head || !dynamic || (cnt >= 1 && cnt <= 16);
        SAME(WALK(clearing_o), walk.clear != 0);
        if (valid && (is_head || list) && right) {
            const bool more = list ? walk.left > 1 : dynamic && cnt > 1,
                       wait = is_head && listed && walk.clear;
            if (is_head) {
                walk.found = 0;
                walk.behind.clear();
                if (!wait)
                    walk.named.clear();
            }
            SAME(WALK(listing_o), listing);
            SAME(WALK(wait_o), wait);
            SAME(WALK(more_o), more);
            SAME(WALK(lane_o), walk.lane);
            SAME(WALK(lane_end_o), walk.lane == LANES - 1 || !more);
            SAME(WALK(mask_o), walk.found | sel);
            if (!wait) {
                SAME(WALK(twice_o), listed && walk.named.count(e));
                const unsigned before = listing && sel ? walk.behind[o] : 0;
                SAME(WALK(again_o), list && before);
                if (before)
                    SAME(WALK(earlier_o), before - 1);
                SAME(WALK(count_o), before);
                if (listed)
                    walk.named.insert(e);
                if (listing && sel)
                    walk.behind[o]++;
                walk.found |= sel;
            }
            if (list)
                walk.left--;
            else
                walk.left = cnt - 1;
        } else if (valid && is_head) {
            walk.found = 0;
        } else if (valid && !list && walk.found) {
            SAME(WALK(all_o), walk.found);
        }
        if (valid && (is_head || list))
            walk.lane = WALK(next_i) ? (walk.lane + 1) % LANES : LANES - 1;
        walk.clear -= walk.clear != 0;
        if (WALK(done_i) && listed)
            walk.clear = 8;
    }

    // ---- row_outputs ----
#if PARAM_TargetListCache
    struct {
        bool open = false, store = false, of_row = false, keep = false;
        unsigned outputs = 0, epoch = 0;
    } row;
    void row_outputs()
    {
        if (row.epoch !=
            ROW(epoch_i)) // no row survives it, and a list that began before opens none
            row.open = row.of_row = false;
        row.epoch = ROW(epoch_i);
        SAME(ROW(open_o), row.open);
        if (row.open)
            SAME(ROW(mask_o), row.outputs);
        bool follows = false;
        if (ROW(head_i)) {
            const mw_header h = head(ROW(header_i));
            row.store = tb::stores_row(h.opcode);
            row.of_row = row.store && h.stage != MW_STAGE_FLAT;
            row.keep = h.stage != MW_STAGE_GATE;
            follows = rules.follows(h);
            SAME(ROW(follow_i), follows);
        }
        if (row.of_row && ROW(accept_i)) {
            if (!follows)
                row.outputs = ROW(mask_i);
            row.open = row.keep;
        }
        if (ROW(lost_i) || (row.store && (ROW(reject_i) || ROW(wrong_i))))
            row.open = false;
    }
#endif

    // ---- seen_table ----
    std::set<unsigned> seen;
    unsigned seen_clear = 8;
    void seen_table()
    {
        const unsigned e = SEEN(expert_i);
        SAME(SEEN(clearing_o), seen_clear != 0);
        if (!seen_clear) {
            SAME(SEEN(seen_o), seen.count(e));
            if (SEEN(mark_i))
                seen.insert(e);
        }
        seen_clear -= seen_clear != 0;
        if (SEEN(clear_i)) {
            seen_clear = 8;
            seen.clear();
        }
    }

    // ---- request_open ----
    struct {
        mw_header h = {};
        bool first = false, full = false, late = false;
        uint64_t opened = 0;
    } open;
    void request_open()
    {
        const bool is_head = OPEN(head_i), decides = OPEN(decide_i), more = OPEN(more_i),
                   bad = OPEN(bad_i);
        SAME(OPEN(late_o), open.late);
        if (open.first) // behind the first flit, where a late push shows
            open.full = OPEN(full_i);
        if (is_head && !open.late)
            open.h = head(OPEN(now_i));
        if (is_head || decides)
            SAME(OPEN(no_room_o), HF == 2 ? open.full : OPEN(full_i));
        const bool room = HF == 2 ? !open.full : !OPEN(full_i),
                   opens = decides && open.h.len && room;
        SAME(OPEN(valid_o), open.late || (opens && !more));
        if (OPEN(valid_o)) {
            open.opened++;
            SAME(OPEN(bytes_o), open.h.len - 1);
            SAME(OPEN(red_o), (open.h.dtype << 3 | open.h.redop) & ((1 << RED_BITS) - 1));
        }
        open.late = opens && more && bad;
        open.first = OPEN(first_i);
    }

    // ---- copy_write ----
    struct {
        unsigned flits = 0, count = 0;
    } copy;
    void copy_write()
    {
        const bool valid = COPY(valid_i), last = COPY(last_i), begins = COPY(begin_i),
                   is_head = COPY(head_i), list = COPY(list_i), pay = COPY(pay_i);
        const unsigned cls = COPY(cls_i), earlier = COPY(earlier_i);
        constexpr unsigned
            REQ_LINES = PF / 2,
            OTHER = PF; // lines: payload, then header and targets, those of REQ in the upper half
        const unsigned request = cls == MW_CLS_REQ ? REQ_LINES : 0;
        bytes in = flit(COPY(data_i)), must = in, out = flit(COPY(wr_data_o));
        unsigned to = 0, line = 0, lanes = (1u << LANES) - 1, desc = 0;
        bool bad = false;
        if (begins || is_head) {
            to = valid && !COPY(refuse_i) ? ALL : 0;
            line = OTHER + request + (cls == MW_CLS_CTRL ? HF + TF : 0) + (HF == 2 && is_head);
            desc = is_head && COPY(described_i) ? COPY(sel_i) : 0;
            if (begins) {
                must[1] = static_cast<uint8_t>((must[1] & 0xe0) | me);
                if (tb::has_targets(in[0] & 63)) {
                    must[5] &= 0x01; // the count, bits 45:41
                    must[5] |= in[5] & 0xc0;
                }
            }
        } else if (list) {
            to = valid ? COPY(list_sel_i) : 0;
            desc = to;
            const unsigned target = COPY(target_i);
            line = OTHER + request + HF - 1;
            lanes = 1u << (LANES - 1);
            unsigned lane = LANES - 1;
            if (COPY(again_i)) {
                lane = earlier % LANES;
                line = OTHER + request + HF + earlier / LANES;
                lanes = lane ? 1u << lane : (1u << LANES) - 1;
            }
            std::fill(must.begin(), must.end(), 0);
            must[2 * lane] = static_cast<uint8_t>(target);
            must[2 * lane + 1] = static_cast<uint8_t>(target >> 8);
        } else if (pay) {
            to = valid ? COPY(all_i) : 0;
            line = last ? copy.flits : copy.count;
            bad = COPY(err_i) || !last || copy.count != copy.flits;
        }
        const bool ends = valid && pay && (last || copy.count == copy.flits);
        SAME(COPY(wr_valid_o), to);
        SAME(COPY(desc_we_o), desc);
        SAME(COPY(end_o), ends);
        if (ends)
            SAME(COPY(wrong_o), !last || copy.count != copy.flits);
        if (to) {
            SAME(COPY(wr_region_o), pay ? 3 : cls);
            SAME(COPY(wr_line_o), line);
            SAME(COPY(wr_lane_o), lanes);
            for (unsigned l = 0; l < LANES; l++)
                if (lanes >> l & 1)
                    SAME(lane_of(out, l), lane_of(must, l));
            if (!pay || ends)
                SAME(bit(COPY(wr_data_o), 8 * F), bad);
        }
        if (desc)
            SAME(COPY(desc_len_o), is_head ? COPY(flits_i) : copy.flits);
        if (valid && is_head) {
            copy.flits = COPY(flits_i);
            copy.count = 0;
        } else if (valid && pay) {
            copy.count++;
        }
    }

    // ---- part_entry ----
    struct {
        unsigned flit = 0;
        mw_header h = {};
        bool drop = false, poison = false;
    } part;
    void part_entry()
    {
        const bool valid = PART(valid_i), last = PART(last_i),
                   mine = valid && PART(cls_i) == MW_CLS_PART;
        const bytes in = flit(PART(data_i));
        const unsigned full = PART(full_i);
        unsigned code = MW_HWERR_NONE, we = 0;
        if (valid && part.flit == 0) {
            part.h = tb::header_of(in);
            part.poison =
                part.h.poison || part.h.epoch != rules.epoch || part.h.opcode != MW_OP_PARTIAL;
            part.drop = part.h.dst == me || part.h.dst >= N;
            if (mine)
                code = part.h.opcode != MW_OP_PARTIAL ? MW_HWERR_OPCODE
                       : part.h.epoch != rules.epoch  ? MW_HWERR_EPOCH
                       : part.drop                    ? MW_HWERR_UNMAPPED
                                                      : MW_HWERR_NONE;
        }
        if (mine && part.flit < HF && last)
            code = MW_HWERR_LENGTH;
        if (mine && part.flit >= HF && part.flit < HF + PF) {
            if (part.flit == HF && !part.drop && full >> part.h.dst & 1) {
                code = MW_HWERR_CREDIT;
                part.drop = true;
            }
            if (!part.drop)
                we = 1u << part.h.dst;
        }
        SAME(PART(code_o), code);
        SAME(PART(we_o), we);
        if (we) {
            SAME(PART(idx_o), part.flit - HF);
            assert_true(flit(PART(data_o)) == in);
            SAME(bit(PART(data_o), 8 * F), last);
            SAME(bit(PART(data_o), 8 * F + 1), part.poison || (last && PART(err_i)));
        }
        if (valid)
            part.flit = last ? 0 : part.flit + 1;
    }

    // ---- write_turns ----
#if PARAM_PartSharedRam
    struct {
        struct word {
            unsigned we, idx;
            bytes data;
        };
        std::deque<word> words;
        bool in_payload = false, late_pays = false;
        unsigned late_valid = 0, late_lane = 0;
        bytes late_data;
        unsigned turns = 0;
    } turn;
    void write_turns()
    {
        auto &q = turn.words;
        const bool pause = !q.empty() && !turn.in_payload;
        const unsigned copies = TURNS(copy_valid_i);
        bytes word = tb::get(TURNS(copy_data_i));
        unsigned lane = TURNS(copy_lane_i), valid = copies;
        SAME(TURNS(pause_o), pause);
        SAME(TURNS(part_we_o), pause ? q.front().we : 0);
        SAME(TURNS(idle_o), q.empty() && !TURNS(we_i));
        if (pause) {
            turn.turns++;
            SAME(copies, 0);
            SAME(TURNS(part_idx_o), q.front().idx);
            valid = q.front().we;
            lane = (1u << LANES) - 1;
            word = q.front().data;
            q.pop_front();
        }
        if (LATE) {
            std::swap(valid, turn.late_valid);
            std::swap(lane, turn.late_lane);
            std::swap(word, turn.late_data);
        }
        SAME(TURNS(wr_valid_o), valid);
        if (valid) {
            SAME(TURNS(wr_lane_o), lane);
            bytes out = tb::get(TURNS(wr_data_o));
            word.resize(out.size());
            if (out != word)
                fail_msg("write_turns: not the word that was to be written");
        }
        if (TURNS(we_i))
            q.push_back({TURNS(we_i), TURNS(idx_i), tb::get(TURNS(data_i))});
        turn.in_payload = TURNS(pay_i);
        assert_true(q.size() <= PF + 1);
    }
#endif

    // ---- the whole ----
    struct slot {
        std::vector<bytes> line = std::vector<bytes>(2 * PF, bytes(F));
        std::vector<bool> bad = std::vector<bool>(2 * PF);
        unsigned dyn = 0, more = 0, pay = 0, len = 0, stamp = 0;
    };
    struct pushed {
        std::shared_ptr<slot> s;
        tb::wire must;
        unsigned cls, out;
        mw_header h;
        uint64_t due;
    };
    struct place {
        std::shared_ptr<slot> s;
        unsigned line = 0;
    };
    std::shared_ptr<slot> free_slot[32][3], filled[32];
    place places[2][32];
    std::deque<pushed> wanted;
    unsigned payload_code = 0, copies_seen = 0;
    bool parser_error = false;
    struct partial {
        unsigned to, idx, flags;
        bytes data;
    };
    std::deque<partial> partials;
    std::multiset<unsigned> link_codes;
    unsigned part_at[2] = {0, 0};

    // What the partial sum on the link must become; one flit.
    void expect_link()
    {
        if (queue.empty())
            return;
        const outgoing &o = queue.front();
        if (!at && !o.enters && o.cls < MW_CLS_REQ)
            link_codes.insert(MW_HWERR_CREDIT);
        if (o.cls != MW_CLS_PART)
            return;
        const mw_header h = tb::header_of(o.w.data);
        const bool nowhere = h.dst == me || h.dst >= N, refused = dut.part_full_i >> h.dst & 1;
        if (!at) {
            if (h.opcode != MW_OP_PARTIAL)
                link_codes.insert(MW_HWERR_OPCODE);
            else if (h.epoch != rules.epoch)
                link_codes.insert(MW_HWERR_EPOCH);
            else if (nowhere)
                link_codes.insert(MW_HWERR_UNMAPPED);
            if (o.w.flits() <= HF)
                link_codes.insert(MW_HWERR_LENGTH);
            else if (!nowhere && refused)
                link_codes.insert(MW_HWERR_CREDIT);
        }
        if (at < HF || at >= HF + PF || nowhere || refused)
            return;
        part_comes -= at == HF;
        const bool last = o.w.last(at), poison = h.poison || h.epoch != rules.epoch ||
                                                 h.opcode != MW_OP_PARTIAL || (last && o.w.err);
        const bytes data(o.w.at(at), o.w.at(at) + F);
        partials.push_back({1u << h.dst, static_cast<unsigned>(at) - HF, poison * 2u + last, data});
    }
    void see_partial(unsigned to, unsigned idx, unsigned flags, const bytes &data)
    {
        assert_false(partials.empty());
        const partial &p = partials.front();
        SAME(to, p.to);
        SAME(idx, p.idx);
        SAME(flags, p.flags);
        assert_true(data == p.data);
        partials.pop_front();
    }

    void ingress()
    {
        if (!free_slot[0][0])
            for (unsigned o = 0; o < N; o++)
                for (auto &s : free_slot[o])
                    s = std::make_shared<slot>();
        expect_link();

        // errors: of the parser in the order of packets. A rejected request is opened in the cycle
        // before its error, or with it.
        bool late_open = false;
        outgoing last;
        if (dut.err_valid_o) {
            const unsigned code = dut.err_code_o;
            if (!parser_error) {
                if (!link_codes.count(code))
                    fail_msg("ingress: error %u, which nothing on the link has", code);
                link_codes.erase(link_codes.find(code));
            } else if (payload_code) {
                SAME(code, payload_code);
                payload_code = 0;
            } else {
                assert_false(inside.empty());
                const outgoing &o = inside.front();
                SAME(o.v.accepted, false);
                SAME(code, o.v.code);
                late_open = o.v.opens;
                last = o;
                inside.pop_front();
                decided++;
            }
        }
        parser_error = ERRORS(reject_i) || ERRORS(cut_i) || (ERRORS(end_i) && ERRORS(wrong_i));

        // addresses; the words come with them or a cycle later
        place here[32];
        const unsigned parts = dut.part_we_o, region = dut.wr_region_o;
        pauses += SHARED_RAM && parts;
        for (unsigned o = 0; o < N; o++)
            if (!(SHARED_RAM && parts))
                here[o] = {region == 3 ? filled[o] : free_slot[o][region], dut.wr_line_o};
        std::copy(here, here + N, places[LATE ? now & 1 : 0]);
        part_at[LATE ? now & 1 : 0] = SHARED_RAM && parts ? parts << 8 | dut.part_idx_o : 0;
        const place *to = places[LATE ? ~now & 1 : 0];
        const unsigned part_to = part_at[LATE ? ~now & 1 : 0];
        const bytes word = flit(dut.wr_data_o);
        if (SHARED_RAM && part_to) {
            SAME(dut.wr_valid_o, part_to >> 8);
            see_partial(part_to >> 8, part_to & 255,
                        bit(dut.wr_data_o, 8 * F) + 2 * bit(dut.wr_data_o, 8 * F + SHARED_RAM),
                        word);
        } else {
            for (unsigned o = 0; o < N; o++) {
                if (!(dut.wr_valid_o >> o & 1))
                    continue;
                assert_true(to[o].s != nullptr);
                for (unsigned l = 0; l < F; l++)
                    if (dut.wr_lane_o >> l / 2 & 1)
                        to[o].s->line[to[o].line][l] = word[l];
                to[o].s->bad[to[o].line] = bit(dut.wr_data_o, 8 * F);
            }
        }
        if (!SHARED_RAM && parts)
            see_partial(parts, dut.part_idx_o,
                        bit(dut.part_data_o, 8 * F) + 2 * bit(dut.part_data_o, 8 * F + 1),
                        flit(dut.part_data_o));

        for (unsigned o = 0; o < N; o++)
            if (dut.desc_we_o >> o & 1) {
                slot &s = *free_slot[o][region];
                s.dyn = dut.desc_dyn_o;
                s.more = dut.desc_more_o;
                s.pay = dut.desc_pay_o;
                s.len = dut.desc_len_o;
                s.stamp = dut.desc_stamp_o;
            }
        if (dut.push_o) {
            const bool of_kept = keeps && dut.answer_kept_o;
            if (of_kept)
                SAME(kept.at, 0);
            else
                assert_false(inside.empty());
            outgoing o = of_kept ? kept.o : inside.front();
            if (of_kept) {
                o.began = now;
            } else {
                inside.pop_front();
                decided++;
            }
            if (!o.v.accepted)
                fail_msg("ingress: a packet was accepted that has error %u", o.v.code);
            SAME(dut.push_o, o.v.outputs());
            SAME(region, o.cls);
            // One target: with the header's last flit. A list's first flit is looked at in the
            // cycle behind it, then there is a target in every cycle, but those in which a partial
            // that came behind the list is written to the same RAMs.
            if (o.idle)
                SAME(now, o.began + HF - 1 + (o.v.looked_up > 1 ? o.v.looked_up : 0) + pauses -
                              o.pauses);
            payload_code = o.v.code;
            const unsigned flits = rules.pays(o.h) ? rules.payload_flits(o.h) : 0;
            for (const auto &c : o.v.copies) {
                auto &s = free_slot[c.first][o.cls];
                wanted.push_back({s, c.second, o.cls, c.first, o.h, now + flits + 4});
                if (o.cls == MW_CLS_STORE)
                    filled[c.first] = s;
                const unsigned count = tb::header_of(c.second.data).cnt;
                SAME(s->dyn, tb::has_targets(o.h.opcode) && !rules.follows(o.h));
                if (s->dyn)
                    SAME(s->more, count - 1);
                SAME(s->pay, flits != 0);
                if (flits)
                    SAME(s->len, flits - 1);
                if (STAMP_W)
                    SAME(s->stamp, o.began & STAMPS);
                s = std::make_shared<slot>();
            }
            if (o.v.opens)
                opened(o, dut.push_o);
        } else if (late_open) {
            opened(last, 0);
        } else if (dut.open_valid_o) {
            assert_false(inside.empty());
            SAME(inside.front().v.accepted, false);
            SAME(inside.front().v.opens, true);
            opened(inside.front(), 0);
            inside.front().v.opens = false;
        }
        unsigned begun = 0;
        for (const outgoing &o : inside)
            begun += o.began == now;
        if (dut.idle_o)
            SAME(inside.size(), begun);
        if (dut.part_come_o) {
            SAME(dut.part_come_o, 1u << tb::header_of(queue.front().w.data).dst);
            SAME(at, HF);
        }
        part_comes += dut.part_come_o != 0;
        while (!wanted.empty() && wanted.front().due <= now) {
            compare(wanted.front());
            wanted.pop_front();
        }
    }
    uint64_t part_comes = 0;

    void opened(const outgoing &o, unsigned mask)
    {
        SAME(dut.open_valid_o, 1);
        SAME(dut.open_mask_o, mask);
        SAME(dut.open_bytes_o, o.h.len - 1);
        SAME(dut.open_red_o, (o.h.dtype << 3 | o.h.redop) & ((1 << RED_BITS) - 1));
        if (STAMP_W)
            SAME(dut.desc_stamp_o, o.began & STAMPS);
    }

    void compare(const pushed &p)
    {
        const unsigned base = PF + (p.cls == MW_CLS_REQ    ? PF / 2
                                    : p.cls == MW_CLS_CTRL ? HF + TF
                                                           : 0),
                       count = p.s->dyn ? p.s->more + 1 : 1;
        const unsigned front = HF + (2 * (count - 1) + F - 1) / F;
        bytes got;
        for (unsigned i = 0; i < front; i++)
            got.insert(got.end(), p.s->line[base + i].begin(), p.s->line[base + i].end());
        if (p.s->dyn) {
            mw_header h = tb::header_of(got);
            SAME(h.cnt, 0); // the output fills it in
            uint64_t half[2];
            h.cnt = count;
            mw_header_pack(&h, half);
            memcpy(got.data(), half, 16);
        }
        for (unsigned i = 0; p.s->pay && i <= p.s->len; i++)
            got.insert(got.end(), p.s->line[i].begin(), p.s->line[i].end());
        tb::assert_wire(p.must, got, "ingress");
        if (p.s->pay)
            SAME(p.s->bad[p.s->len], p.must.err);
        copies_seen++;
    }
};

constexpr unsigned CYCLES = 12000;
} // namespace

#define MODULE(name) \
    TEST(name) \
    { \
        uint64_t followers[4] = {}; \
        auto seen = [&] { \
            return !PARAM_TargetListCache || \
                   (followers[input::GOOD] > 20 && followers[input::NO_ROW] > 2 && \
                    followers[input::REVOKED] + followers[input::ELSE] > 0); \
        }; \
        for (unsigned i = 0; i < 2 || (i < 20 && !seen()); i++) { \
            input b(&input::name); \
            b.run(CYCLES); \
            assert_true(b.sent > 200); \
            for (unsigned k = 0; k < 4; k++) \
                followers[k] += b.followers[k]; \
        } \
        assert_true(seen()); \
    }

MODULE(ingress)
MODULE(queue_head)
MODULE(header_check)
MODULE(target_lookup)
MODULE(target_walk)
#if PARAM_TargetListCache
MODULE(row_outputs)
#endif
MODULE(seen_table)
MODULE(request_open)
MODULE(copy_write)
MODULE(part_entry)
#if PARAM_PartSharedRam
MODULE(write_turns)
#endif

// Each leaves whole and once, in turns with those of the link, and takes a credit of its class.
TEST_IF(PARAM_MergeKeep, kept_packets)
{
    for (unsigned i = 0; i < 4; i++) {
        input b(&input::ingress);
        b.keep();
        b.run(CYCLES);
        assert_true(b.sent > 200);
        assert_true(b.kept.sent > 200);
    }
}

// The epoch changes in each cycle around a list and around a packet without one: none ever has the
// outputs of another epoch.
TEST_IF(PARAM_TargetListCache, no_row_outlives_its_epoch)
{
    input b(&input::ingress);
    std::vector<uint16_t> list;
    for (unsigned e = 0; e < EXPERTS && list.size() < 16; e++)
        if (!b.rules.reachable(b.rules.behind_expert(e), b.me))
            list.push_back(tb::target(e));
    assert_true(list.size() > 1);
    auto store = [&](unsigned epoch, size_t targets, unsigned flits) {
        tb::packet p;
        p.h = tb::header(MW_OP_DYMULTIMEM_ST);
        p.h.epoch = epoch;
        p.h.len = flits * F;
        p.set_targets({list.begin(), list.begin() + static_cast<long>(targets)});
        return p;
    };
    auto settle = [&] {
        b.until("the input to be empty", 1000,
                [&] { return b.queue.empty() && b.idle && !b.owed[MW_CLS_STORE]; });
        b.cycles(8);
    };
    for (size_t targets : {size_t{1}, size_t{2}, list.size()}) {
        for (unsigned flits : {0u, 1u, 3u}) {
            const unsigned whole = static_cast<unsigned>(HF + (2 * (targets - 1) + F - 1) / F +
                                                         flits); // of the list's packet
            // a list of the epoch before, and behind it at once a packet without targets
            for (unsigned at = 0; at < whole + HF; at++) {
                const unsigned before = b.rules.epoch, then = (before + 1 + b.below(3)) % 4;
                b.epoch_then = then;
                b.epoch_at = b.now + at;
                if (at < HF)
                    b.rules.set_epoch(then);
                assert_int_equal(b.offer(store(before, targets, flits)),
                                 at < HF ? MW_HWERR_EPOCH : MW_HWERR_NONE);
                b.rules.set_epoch(then);
                assert_int_equal(b.offer(store(then, 0, 1)), MW_HWERR_TARGETS);
                settle();
            }
            for (unsigned at = 0; at < HF; at++) {
                // a list of the new one, in whose header it comes, opens a row
                b.epoch_then = (b.rules.epoch + 1) % 4;
                b.epoch_at = b.now + at;
                b.rules.set_epoch(b.epoch_then);
                assert_int_equal(b.offer(store(b.epoch_then, targets, flits)), MW_HWERR_NONE);
                assert_int_equal(b.offer(store(b.epoch_then, 0, 1)), MW_HWERR_NONE);
                settle();
                // which is gone for a header in which the next one comes
                b.epoch_then = (b.epoch_then + 1) % 4;
                b.epoch_at = b.now + at;
                b.rules.set_epoch(b.epoch_then);
                assert_int_equal(b.offer(store(b.epoch_then, 0, 1)), MW_HWERR_TARGETS);
                settle();
            }
        }
    }
    b.inside_done();
}

// Packets that come faster than they are rejected, from a sender that keeps to no window and to no
// length: the queue takes what it has room for, the rest is refused with a code; nothing is lost in
// silence, and what comes behind is right.
static void flood(input::checker c, bool requests)
{
    input b(c);
    std::vector<uint16_t> list;
    for (unsigned e = 0; e < EXPERTS && list.size() < 15; e++)
        if (!b.rules.reachable(b.rules.behind_expert(e), b.me))
            list.push_back(tb::target(e));
    list.push_back(list[0]); // named twice, which shows at the end of the list
    b.flooding = true;
    while (b.now < 20000) {
        tb::packet p;
        p.h = tb::header(requests ? MW_OP_DYMULTIMEM_LD_REDUCE : MW_OP_DYMULTIMEM_ST);
        p.h.epoch = b.rules.epoch;
        p.h.len = requests;
        p.set_targets(list);
        const unsigned cls = p.h.cls;
        if (!requests && b.held[cls] == 1) // the parser is at the lists meanwhile
            p.cut = 250;
        if (requests || b.held[cls]) {
            if (!requests)
                b.held[cls]--;
            b.queue.push_back({tb::encode(p, F, &b.rng), cls, true, {}, 0, false, p.h});
        }
        b.cycle();
        b.until("the packet to leave", 1000, [&] { return b.queue.empty(); });
        b.inside.clear();
    }
    b.until("the input to be empty", 20000, [&] { return b.dut.idle_o && !b.level; });
    assert_true(b.codes[MW_HWERR_DUPLICATE] > 10);
    assert_true(requests ? b.codes[MW_HWERR_WINDOW] > 100 : b.codes[MW_HWERR_CREDIT] > 0);
    b.flooding = false;
    b.run(3000);
}
TEST(credit_gate)
{
    input b(&input::credit_gate);
    b.run(CYCLES);
    flood(&input::credit_gate, true);
    if (STORE_PKTS > 1) // with one credit nothing piles up
        flood(&input::credit_gate, false);
}
TEST(flit_queue)
{
    input b(&input::flit_queue);
    b.run(CYCLES);
    flood(&input::flit_queue, true);
    if (STORE_PKTS > 1)
        flood(&input::flit_queue, false);
}
