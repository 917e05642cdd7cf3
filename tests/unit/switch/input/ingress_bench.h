// SPDX-License-Identifier: Apache-2.0
//
// One input of the switch between a sender and free outputs: valid packets, invalid packets, late
// credits, and kept answers. The tests of the input derive from it, and check each cycle.
#ifndef INGRESS_BENCH_H
#define INGRESS_BENCH_H

#include "Vingress.h"
#include "Vingress___024root.h"

#include "switch_rules.h"
#include "switch_sizes.h"

#include <algorithm>
#include <deque>
#include <memory>

#ifndef PARAM_MergeKeep
#define PARAM_MergeKeep 0
#endif

constexpr unsigned EXPERTS = PARAM_MaxExperts, ALL = (1u << N) - 1, STAMPS = (1u << STAMP_W) - 1;

// make mutate: all signals inside are one level deeper, and a block is a part of a name
#ifdef UNIT_NETLIST
#define S(signal) dut.rootp->flat_ingress__DOT__i_dut__DOT__i_netlist__DOT__##signal
#define IN_SHARED(signal) S(gen_shared_ram__02e##signal)
#define IN_ROW(signal) S(gen_row__02e##signal)
#else
#define S(signal) dut.rootp->flat_ingress__DOT__i_dut__DOT__##signal
#define IN_SHARED(signal) S(gen_shared_ram__DOT__##signal)
#define IN_ROW(signal) S(gen_row__DOT__##signal)
#endif
#define QUEUE(port) S(i_queue__DOT__##port)
#define QUEUE_FLIT(field) bundle::take(QUEUE(flit_o), bundle::link::field)

template <class Port> mw_header head(const Port &port)
{
    return tb::header_of(tb::get(port));
}
inline uint16_t lane_of(const bytes &b, unsigned lane)
{
    return static_cast<uint16_t>(b[2 * lane] | b[2 * lane + 1] << 8);
}

constexpr unsigned GOOD_OPS[] = {MW_OP_SIGNAL,
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

struct input : tb::model<Vingress> {
    unsigned me;
    switch_rules rules{N, F};
    unsigned rate = 100; // percent of the cycles between packets in which the next one may begin
    unsigned wrong = 15; // percent of the packets
    unsigned back = 40;  // percent of the cycles in which a credit that is due returns
    uint64_t sent = 0, codes[32] = {};

    input() : me(below(N))
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
    }
    /// Checks the outputs of this cycle.
    virtual void check() = 0;
    /// Checks that nothing is left after the last packet.
    virtual void check_end() {}

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

    // At most `most` experts that this input reaches, as targets.
    std::vector<uint16_t> reached(size_t most) const
    {
        std::vector<uint16_t> list;
        for (unsigned e = 0; e < EXPERTS && list.size() < most; e++)
            if (!rules.reachable(rules.behind_expert(e), me))
                list.push_back(tb::target(e));
        return list;
    }
    tb::packet any()
    {
        tb::packet p;
        p.h = tb::header(0);
        uint64_t half[2] = {rng(), rng()};
        mw_header_unpack(&p.h, half);
        p.h.opcode = rng.pick(GOOD_OPS);
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
            // without a payload the mark is at the last flit of the list, which may then hold
            // anything
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

    // Changes the epoch, or the outputs that may be reached, while nothing is inside.
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

    // A packet of class STORE for the link, and its required result.
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
            // a STORE without credit would take a credit of kept answers
            if (!percent(wrong / 5) || (keeps && o.cls == MW_CLS_STORE))
                return;
            o.enters = false;
        } else if (o.cls <= MW_CLS_STORE) {
            held[o.cls]--;
        } else if (o.cls == MW_CLS_REQ && rows == OPEN_ROWS) {
            if (frozen || level < rows || !percent(wrong / 5) || p.cut || p.err)
                return;
            frozen = true; // until it is rejected, which ends rows
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
            // the first one can be reached, so lists exist
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
        check();
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
    // The credits of STORE are shared like in kept_credits: the sender leaves some of its own
    // unused.
    static constexpr unsigned SHARE = MW_KEPT_STORES;
    bool keeps = false;
    struct {
        bool pending = false; // a packet waits, or its flits are taken
        outgoing o = {};
        size_t at = 0;                          // its flits that were taken
        unsigned rate = 100;                    // percent of the cycles in which one may come
        unsigned row = 0, mask = 0;             // packets of the row to come, and its readers
        unsigned taken = 0, free = STORE_PKTS;  // credits: of kept packets; unused
        unsigned behind_link = 0, in_a_row = 0; // packets of one that went before the other
        uint64_t decided = 0;                   // packets of the link, in the previous cycle
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
        if (take) // its payload is in the memory already
            SAME(dut.pay_o, 0);
        // a packet that the parser has seen is not delayed
        if (kept.seen)
            SAME(mine, false);
        kept.seen = QUEUE(begin_i) && QUEUE_FLIT(valid) && !QUEUE(take_i) && !mine;
        // They take turns. A packet of the link is at the head of its queue after at most 3 cycles.
        // A rejection is visible a cycle later.
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
        // a credit that returns belongs to a kept answer, if one has taken any
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
            back = i % 3 == 2 ? 1 : 40; // so late that the sender has none left
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
            cycles(LATE); // the last word leaves a cycle after its address
            inside_done();
        }
    }

    enum { GOOD, NO_ROW, REVOKED, ELSE };
    uint64_t followers[4] = {}; // packets without targets: accepted, or why not
    bool idle = true;
    uint64_t pauses = 0;         // cycles in which a partial was written and the parser waited
    std::deque<outgoing> inside; // entered and not decided; only the test of the whole removes them
    uint64_t decided = 0;        // that it took out
    void inside_done()
    {
        check_end();
        inside.clear();
    }
};

/// Input whose tables are written.
template <class Module> struct started : Module {
    started() { this->cycles(EXPERTS + 40); }
};

constexpr unsigned CYCLES = 12000;

template <class Module> void test_module()
{
    uint64_t followers[4] = {};
    auto seen = [&] {
        return !PARAM_TargetListCache ||
               (followers[input::GOOD] > 20 && followers[input::NO_ROW] > 2 &&
                followers[input::REVOKED] + followers[input::ELSE] > 0);
    };
    for (unsigned i = 0; i < 2 || (i < 20 && !seen()); i++) {
        started<Module> b;
        b.run(CYCLES);
        assert_true(b.sent > 200);
        for (unsigned k = 0; k < 4; k++)
            followers[k] += b.followers[k];
    }
    assert_true(seen());
}
/// Test of a module inside, or of the whole, with traffic of all kinds.
#define MODULE(name) \
    TEST(name) \
    { \
        test_module<name>(); \
    }

#endif
