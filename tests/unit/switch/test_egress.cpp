// SPDX-License-Identifier: Apache-2.0
//
// An output of the switch, with the queues that inputs fill for it. The test plays the inputs,
// which write packets and partial sums as ingress does, the join and the endpoint. Each module
// has a test of its name, in which a model of that module alone, made of its interface and
// docs/design/microarchitecture/switch.md, sees what goes into it and says what must come out,
// cycle by cycle. Of the modules that are there once per input that of input 0 is watched.

#include "Vswitch_output.h"
#include "Vswitch_output___024root.h"

#include "bench/dut.h"
#include "bench/packet.h"

#include "errors.h"
#include "map.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>

namespace {
constexpr unsigned N = PARAM_N, I = N - 1, F = PARAM_FlitBytes, LANES = F / 2, HF = 16 / F,
                   TF = (30 + F - 1) / F, PF = 128 / F, ALL_LANES = (1u << LANES) - 1;
constexpr unsigned STORE_PKTS = PARAM_StorePkts, CTRL_PKTS = PARAM_CtrlPkts,
                   OPEN_ROWS = PARAM_OpenRows, PART_PKTS = PARAM_PartPkts, WINDOW = PARAM_Window,
                   STAMP_W = MW_MONITOR_STAMP_BITS;
#ifndef PARAM_SwitchReductions
#define PARAM_SwitchReductions 0
#endif
constexpr bool BY_SWITCH = PARAM_SwitchReductions;
constexpr bool SHARED_RAM = PARAM_PartSharedRam, LATE = SHARED_RAM && F == 8;
using tb::log2_up;
constexpr unsigned MOST = std::max(STORE_PKTS, CTRL_PKTS), SLOT_W = MOST > 1 ? log2_up(MOST) : 1,
                   OFF_W = log2_up(PF), SEQ_W = log2_up(STORE_PKTS) + 1, SEQS = 1u << SEQ_W;
using tb::bit;
using tb::bytes;

// make mutate: all that is inside stands one deeper, and a block is a part of a name
#ifdef UNIT_NETLIST
#define S(signal) dut.rootp->flat_switch_output__DOT__i_dut__DOT__i_netlist__DOT__##signal
#define IN(signal) S(gen_in__05b0__05d__02e##signal)
#define IN_WINDOW(signal) IN(gen_window__02e##signal)
#define IN_TURNS(signal) S(gen_turns__02e##signal)
#else
#define S(signal) dut.rootp->flat_switch_output__DOT__i_dut__DOT__##signal
#define IN(signal) S(gen_in__BRA__0__KET____DOT__##signal)
#define IN_WINDOW(signal) IN(gen_window__DOT__##signal)
#define IN_TURNS(signal) S(gen_turns__DOT__##signal)
#endif
#define VOQ(port) IN(i_voq__DOT__##port)
#define RAM(port) IN(i_voq__DOT__i_ram__DOT__##port)
#define PARTS(port) IN(i_part__DOT__##port)
#define WINDOW_OF(port) IN_WINDOW(i_window__DOT__##port)
#define EGRESS(port) S(i_egress__DOT__##port)
#define CHOICE(port) S(i_egress__DOT__i_choice__DOT__##port)
#define STORE_CRD(port) S(i_egress__DOT__i_store_crd__DOT__##port)
#define TURNS(port) IN_TURNS(i_turns__DOT__##port)

template <class Port> bytes flit(const Port &port)
{
    return tb::get(port, F);
}
// Bits of a port of any width.
template <class Port> uint64_t field(const Port &port, unsigned at, unsigned width)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < width; i++)
        v |= uint64_t{bit(port, at + i)} << i;
    return v;
}

// A packet in a queue, as it must leave, and the lines of its slot.
struct packet {
    unsigned in = 0, cls = 0, stamp = 0, seq = 0, dyn = 0, more = 0, pay = 0, len = 0;
    tb::wire w;
    bool bad = false;
    std::map<unsigned, std::pair<bytes, bool>> lines;
};
using packet_p = std::shared_ptr<packet>;

// What an input writes in a cycle.
struct step {
    unsigned region = 0, line = 0, lanes = 0, part = 0, idx = 0;
    bool copy = false, bad = false, desc = false, push = false, arrive = false, come = false;
    unsigned flags = 0; // of a partial: last, poison
    bytes data = bytes(F);
    packet_p p;
};

class output : public tb::model<Vswitch_output> {
  public:
    typedef void (output::*checker)();
    checker check;
    unsigned rate = 50, drain = 50, held = 0, epoch;

    // limit: of the look-ahead window, none, small, or any
    enum window_limit { NONE, SMALL, ANY };
    output(checker c, window_limit limit) : check(c)
    {
        tb::inputs<Vswitch_output>::each(
            dut, [](auto &port, unsigned) { memset(&port, 0, sizeof port); });
        dut.epoch_i = static_cast<uint8_t>(epoch = below(4));
        dut.store_limit_i = static_cast<uint8_t>(1 + below(PARAM_RxStorePkts));
        dut.part_limit_i = static_cast<uint8_t>(1 + below(PARAM_RxResultPkts));
        limits[0] = PARAM_RxCtrlPkts;
        limits[1] = dut.store_limit_i;
        limits[3] = dut.part_limit_i;
        dut.window_limit_i = static_cast<uint8_t>(
            limit == NONE || !WINDOW ? 0
                                     : 1 + below(limit == SMALL ? std::min(WINDOW, 3u) : WINDOW));
        reset();
        edge(); // what was read in reset is gone
    }

    // ---- an input ----
    struct source {
        unsigned store = STORE_PKTS, ctrl = CTRL_PKTS, reqs = 0, seq = 0;
        std::deque<step> steps;
        step before; // of the cycle before: its word goes now
    };
    source inputs[I];
    std::deque<packet_p> queues[I][3];
    std::deque<std::array<bytes, 2 * PF>>
        parts[I]; // partial sums: flits, and behind them what they carry

    void plan(unsigned i)
    {
        source &s = inputs[i];
        const unsigned kind = below(6);
        if (kind == 5) {
            if (!(dut.part_full_o >> i & 1))
                plan_partial(i);
            return;
        }
        const unsigned cls = kind == 0 ? MW_CLS_CTRL : kind == 1 ? MW_CLS_REQ : MW_CLS_STORE;
        if (cls == MW_CLS_CTRL ? !s.ctrl : cls == MW_CLS_STORE ? !s.store : s.reqs == OPEN_ROWS)
            return;
        const bool elsewhere = percent(20); // it has no target here, or is rejected
        auto p = std::make_shared<packet>();
        p->in = i;
        p->cls = cls;
        p->stamp = static_cast<unsigned>(rng.bits(STAMP_W));
        p->seq = s.seq;
        tb::packet t;
        uint64_t half[2] = {rng(), rng()};
        mw_header_unpack(&t.h, half);
        t.h.opcode = cls == MW_CLS_CTRL  ? MW_OP_EVENT
                     : cls == MW_CLS_REQ ? MW_OP_MULTIMEM_LD_REDUCE
                                         : MW_OP_ST;
        std::vector<uint16_t> list;
        if (cls != MW_CLS_CTRL && percent(50)) {
            t.h.opcode = cls == MW_CLS_REQ ? MW_OP_DYMULTIMEM_LD_REDUCE : MW_OP_DYMULTIMEM_ST;
            for (unsigned n = 1 + (percent(50) ? below(16) : 0); list.size() < n;)
                list.push_back(static_cast<uint16_t>(rng()));
            t.set_targets(list);
            p->dyn = 1;
            p->more = static_cast<unsigned>(list.size()) - 1;
        }
        t.h.cls = cls;
        t.h.src = i + 1;
        const unsigned flits = cls == MW_CLS_STORE && percent(80) ? 1 + below(PF) : 0;
        p->pay = flits != 0;
        p->len = flits ? flits - 1 : 0;
        p->bad = flits && percent(10);
        t.payload = rng.some(flits * F);
        p->w = tb::encode(t, F);
        p->w.err = p->bad;

        const unsigned base = PF + (cls == MW_CLS_REQ ? PF / 2 : cls == MW_CLS_CTRL ? HF + TF : 0);
        step x;
        x.region = cls;
        x.p = p;
        x.lanes = ALL_LANES;
        for (unsigned k = 0; k < HF; k++) {
            x.copy = true;
            x.line = base + k;
            x.data.assign(p->w.at(k), p->w.at(k) + F);
            if (k == 0 && p->dyn) { // the output fills in the count, bits 45:41
                x.data[5] &= 0xc1;
            }
            x.desc = k + 1 == HF && !elsewhere;
            s.steps.push_back(x);
        }
        for (unsigned k = 1; k < list.size() && !elsewhere; k++) {
            if (percent(20)) { // a target of another output
                step other = x;
                other.copy = other.desc = false;
                s.steps.push_back(other);
            }
            const unsigned lane = (k - 1) % LANES;
            x.line = base + HF + (k - 1) / LANES;
            x.lanes = lane ? 1u << lane : ALL_LANES;
            x.data.assign(F, 0);
            x.data[2 * lane] = static_cast<uint8_t>(list[k]);
            x.data[2 * lane + 1] = static_cast<uint8_t>(list[k] >> 8);
            x.desc = true;
            s.steps.push_back(x);
        }
        s.steps.back().push = !elsewhere;
        s.steps.back().arrive = cls == MW_CLS_STORE;
        // descriptions say how many targets there were so far
        unsigned more = 0;
        for (step &y : s.steps)
            if (y.desc)
                y.idx = more++;
        for (unsigned k = 0; k < flits && !elsewhere; k++) {
            step y;
            y.region = 3;
            y.line = k;
            y.lanes = ALL_LANES;
            y.copy = true;
            y.bad = p->bad && k + 1 == flits;
            y.p = p;
            y.data.assign(p->w.at(p->w.flits() - flits + k), p->w.at(p->w.flits() - flits + k) + F);
            s.steps.push_back(y);
        }
        if (cls == MW_CLS_STORE) {
            s.store--;
            s.seq = (s.seq + (dut.window_limit_i && !elsewhere)) % SEQS;
        } else if (!elsewhere) {
            (cls == MW_CLS_CTRL ? --s.ctrl : ++s.reqs);
        }
    }

    void plan_partial(unsigned i)
    {
        const unsigned flits = percent(70) ? PF : 1 + below(PF);
        // a partial is announced before it is there
        const unsigned ahead = SHARED_RAM && percent(50) ? 1 + below(8) : 0;
        for (unsigned k = 0; k < ahead; k++) {
            step x;
            x.region = below(4);
            x.come = k == 0;
            inputs[i].steps.push_back(x);
        }
        for (unsigned k = 0; k < flits; k++) {
            step x;
            x.part = 1;
            x.idx = k;
            x.come = k == 0 && !ahead;
            x.lanes = ALL_LANES;
            x.flags = static_cast<unsigned>((k + 1 == flits) + 2 * percent(10));
            x.data = rng.some(F);
            inputs[i].steps.push_back(x);
        }
    }

    void drive_input(unsigned i)
    {
        source &s = inputs[i];
        if (s.steps.empty() && percent(rate))
            plan(i);
        step x;
        x.region = below(4);
        if (!s.steps.empty()) {
            x = s.steps.front();
            s.steps.pop_front();
        }
        auto set = [i](auto &port, bool on) {
            port =
                static_cast<std::remove_reference_t<decltype(port)>>((port & ~(1u << i)) | on << i);
        };
        const step &word = LATE ? s.before : x;
        set(dut.wr_valid_i, word.copy || (SHARED_RAM && word.part));
        dut.wr_lane_i[i] = static_cast<uint8_t>(word.lanes);
        bytes data(sizeof dut.wr_data_i[i]);
        std::copy(word.data.begin(), word.data.end(), data.begin());
        // the mark is of the last lane, and counts in no other
        data[F] = static_cast<uint8_t>(word.part                       ? word.flags
                                       : word.lanes >> (LANES - 1) & 1 ? word.bad
                                                                       : below(2));
        if (data.size() > F)
            tb::put(dut.wr_data_i[i], data.data());
        dut.wr_region_i[i] = static_cast<uint8_t>(x.region);
        dut.wr_line_i[i] = static_cast<uint8_t>(x.line);
        set(dut.desc_we_i, x.desc);
        set(dut.push_i, x.push);
        set(dut.arrive_i, x.arrive);
        if (x.p) {
            dut.desc_dyn_i[i] = static_cast<uint8_t>(x.p->dyn);
            dut.desc_pay_i[i] = static_cast<uint8_t>(x.p->pay);
            dut.desc_more_i[i] = static_cast<uint8_t>(x.idx);
            dut.desc_len_i[i] = static_cast<uint8_t>(x.p->len);
            dut.desc_stamp_i[i] = x.p->stamp;
        }
        set(dut.part_come_i, x.come);
        set(dut.part_we_i, x.part);
        dut.part_idx_i[i] = static_cast<uint8_t>(x.idx);
        data.assign(sizeof dut.part_data_i[i], 0);
        std::copy(x.data.begin(), x.data.end(), data.begin());
        data[F] = static_cast<uint8_t>(x.flags);
        tb::put(dut.part_data_i[i], data.data());
        set(dut.scarce_i, s.store < (STORE_PKTS + 3) / 4);
        s.before = x;
    }
    // Behind the outputs: a credit may go back in a cycle in which there is room.
    void settle_credits()
    {
        dut.issue_i = 0;
        settle();
        for (unsigned i = 0; i < I; i++)
            if (dut.room_o >> i & dut.may_o >> i & 1 && percent(70))
                dut.issue_i |= static_cast<uint8_t>(1u << i);
    }
    void see_input(unsigned i)
    {
        source &s = inputs[i];
        const step &x = s.before;
        s.store += dut.issue_i >> i & 1;
        s.ctrl += dut.free_ctrl_o >> (i + 1) & 1;
        if (x.push) {
            queues[i][x.p->cls].push_back(x.p);
        }
        if (x.part) {
            if (x.idx == 0)
                parts[i].emplace_back();
            parts[i].back()[x.idx] = x.data;
            parts[i].back()[PF + x.idx] = bytes(1, static_cast<uint8_t>(x.flags));
        }
    }

    // ---- the join: reads the partials of one member at a time, and offers results ----
    int member = -1;
    unsigned pass_at = 0, pass_flits = 0;
    bool asked = false;
    bytes
        term_must; // what q_term_o must show in this cycle, and its flags; empty: nothing is known
    unsigned term_flags = 0;
    bool term_read = false;
    struct result {
        unsigned len, stamp;
        bool poison;
        std::vector<bytes> data;
        std::vector<bool> bad;
    };
    std::deque<result> offers; // the first one is offered, or being read
    result reading;
    unsigned read_at = 0;

    void drive_join()
    {
        if (member < 0 && percent(50)) {
            const unsigned m = below(I);
            if (dut.q_has_o >> m & 1) { // as of the cycle before: it stays
                member = static_cast<int>(m);
                pass_at = 0;
                pass_flits = percent(70) ? PF : 1 + below(PF);
                asked = false;
            }
        }
        dut.q_want_i = dut.q_re_i = dut.q_done_i = 0;
        dut.q_idx_i = static_cast<uint8_t>(below(PF));
        if (member >= 0) {
            const auto mine = static_cast<uint8_t>(1u << member);
            if (pass_at == 0 && !asked) {
                dut.q_want_i = mine;
                settle();
                asked = dut.q_may_o >> member & 1;
            }
            if (pass_at || asked) {
                dut.q_re_i = mine;
                dut.q_want_i = pass_at ? 0 : mine;
                dut.q_idx_i = static_cast<uint8_t>(pass_at);
                dut.q_done_i = pass_at + 1 == pass_flits ? mine : 0;
            }
        }
        if (offers.empty() && percent(drain) && percent(30)) {
            result r;
            r.len = below(128);
            r.poison = percent(20);
            r.stamp = static_cast<unsigned>(rng.bits(STAMP_W));
            for (unsigned k = 0; k <= r.len / F; k++) {
                r.data.push_back(rng.some(F));
                r.bad.push_back(percent(20));
            }
            offers.push_back(r);
        }
        dut.res_valid_i = !offers.empty();
        if (!offers.empty()) {
            dut.res_len_i = static_cast<uint8_t>(offers[0].len);
            dut.res_poison_i = offers[0].poison;
            dut.res_stamp_i = offers[0].stamp;
        }
        tb::scramble(dut.res_data_i, 8 * F, rng);
        dut.res_err_i = percent(50);
        if (read_at < reading.data.size()) {
            tb::put(dut.res_data_i, reading.data[read_at].data());
            dut.res_err_i = reading.bad[read_at];
        }
    }
    void see_join()
    {
        if (term_read) {
            if (!term_must.empty()) {
                if (flit(dut.q_term_o) != term_must)
                    fail_msg("part_queue: a term is not what was written");
                SAME(field(dut.q_term_o, 8 * F, 2), term_flags);
            }
        } else {
            SAME(field(dut.q_term_o, 0, 8 * F + 2) != 0, false);
        }
        term_read = dut.q_re_i != 0;
        if (dut.q_re_i) {
            assert_false(parts[member].empty());
            const auto &p = parts[member].front();
            term_must = p[pass_at];
            term_flags = p[PF + pass_at].empty() ? 0 : p[PF + pass_at][0];
            pass_at++;
            if (dut.q_done_i) {
                // flits that come later than a short pass are the packet's own still
                parts[member].pop_front();
                member = -1;
            }
        }
        read_at += dut.res_read_o;
        if (dut.res_start_o) {
            reading = offers.front();
            offers.pop_front();
            read_at = 0;
        }
    }

    // ---- the endpoint ----
    unsigned limits[4] = {}, used[4] = {};
    std::multimap<uint64_t, unsigned> owed;
    uint64_t up_again = 0;
    bool quiet = false;

    void drive() override
    {
        for (unsigned i = 0; i < I; i++)
            drive_input(i);
        drive_join();
        dut.held_i = 0;
        for (unsigned i = 0; i < I; i++)
            dut.held_i |= static_cast<uint8_t>(unsigned{percent(held)} << i);
        dut.hold_i = percent(100 - drain) && percent(30);
        dut.go_i = go;
        go = false;
        if (dut.down_i && now >= up_again)
            dut.down_i = 0;
        else if (!dut.down_i && can_fail && rng.one_in(1500)) {
            dut.down_i = 1;
            up_again = now + 100 + below(200);
        }
        if (dut.down_i)
            owed.clear();
        dut.dn_crd_i = 0;
        for (auto it = owed.begin(); it != owed.end() && it->first <= now;) {
            if (dut.dn_crd_i >> it->second & 1) {
                ++it;
                continue;
            }
            dut.dn_crd_i |= static_cast<uint8_t>(1u << it->second);
            it = owed.erase(it);
        }
        if (!dut.error_valid_i && rng.one_in(60)) {
            dut.error_valid_i = 1;
            dut.error_code_i =
                rng.pick({MW_HWERR_OPCODE, MW_HWERR_LENGTH, MW_HWERR_WINDOW, MW_HWERR_PARTITION});
        }
        if (!dut.grant_valid_i && rng.one_in(40)) {
            dut.grant_valid_i = 1;
            dut.grant_upper_i = rng();
        }
        settle_credits();
    }
    bool can_fail = true, go = false;

    // A packet that was chosen.
    struct started {
        tb::wire w;
        unsigned cls, in;
        uint64_t at;
        bool discard, error, grant, result;
        packet_p p;
        std::vector<bool> marks = {}; // of a result: flits that are not valid
    };
    std::deque<started> leaving;
    uint64_t free_at = 0, packets = 0;

    void sample() override
    {
        starts();
        (this->*check)();
        for (unsigned i = 0; i < I; i++)
            see_input(i);
        see_join();
        clear_error = dut.error_sent_o;
        clear_grant = dut.grant_sent_o;
        account();
    }
    void cycle() override
    {
        if (clear_error)
            dut.error_valid_i = 0;
        if (clear_grant)
            dut.grant_valid_i = 0;
        tb::model<Vswitch_output>::cycle();
    }
    bool clear_error = false, clear_grant = false, fresh = false;
    unsigned grants = 0;

    // Follows the choice of egress, whose ports say what it is.
    void starts()
    {
        fresh = false;
        const unsigned pop = EGRESS(pop_o), cls = EGRESS(cls_o);
        const bool error = EGRESS(ctrl_start) && !pop, grant = EGRESS(grant_start);
        if (!pop && !dut.res_start_o && !error && !grant)
            return;
        started s = {{},      cls, 0, now, bool(dut.down_i), error, grant, bool(dut.res_start_o),
                     nullptr, {}};
        tb::packet t;
        t.h = tb::header(error ? MW_OP_ERROR : grant ? MW_OP_GRANT : MW_OP_RESULT);
        t.h.epoch = epoch;
        if (grant) {
            t.h.addr = dut.grant_upper_i & UINT64_C(0xffffffffffff);
            t.h.target0 = static_cast<uint32_t>(dut.grant_upper_i >> 48);
            s.w = tb::encode(t, F);
            grants++;
        } else if (error) {
            t.h.tag = dut.error_code_i;
            s.w = tb::encode(t, F);
        } else if (s.result) {
            const result &r = offers.front();
            t.h.len = r.len + 1;
            t.h.poison = r.poison;
            for (const bytes &b : r.data)
                t.payload.insert(t.payload.end(), b.begin(), b.end());
            s.w = tb::encode(t, F);
            s.marks = r.bad;
        } else {
            assert_int_equal(pop & (pop - 1), 0);
            while (!(pop >> s.in & 1))
                s.in++;
            assert_in_range(s.in, 1, I);
            auto &q = queues[s.in - 1][cls];
            assert_false(q.empty());
            s.p = q.front();
            s.w = s.p->w;
            q.pop_front();
            if (cls == MW_CLS_REQ)
                reqs_out.insert({now + s.w.flits() + 2, s.in - 1});
        }
        leaving.push_back(s);
        fresh = true;
    }
    std::multimap<uint64_t, unsigned> reqs_out;

    // Credits that the endpoint owes, and what is over.
    void account()
    {
        if (fresh) {
            const started &s = leaving.back();
            packets++;
            free_at = now + s.w.flits();
            if (s.cls != MW_CLS_REQ && !dut.down_i)
                owed.emplace(now + s.w.flits() + 3 + (percent(drain) ? 0 : below(100)), s.cls);
        }
        for (unsigned c : {0u, 1u, 3u})
            used[c] = dut.down_i
                          ? 0
                          : used[c] + (fresh && leaving.back().cls == c) - (dut.dn_crd_i >> c & 1);
        while (!leaving.empty() && leaving.front().at + 1 + leaving.front().w.flits() < now)
            leaving.pop_front();
        for (; !reqs_out.empty() && reqs_out.begin()->first <= now;
             reqs_out.erase(reqs_out.begin()))
            inputs[reqs_out.begin()->second].reqs--;
    }

    void run(unsigned n)
    {
        for (unsigned k = 0; k < 5; k++) {
            rate = rng.pick({100u, 60u, 15u});
            drain = rng.pick({100u, 90u, 30u});
            held = rng.pick({0u, 50u, 95u});
            can_fail = true;
            cycles(n / 5);
            rate = held = 0;
            can_fail = false;
            until("the output to be empty", 20000, [&] {
                bool left =
                    !dut.idle_o || !offers.empty() || !owed.empty() || member >= 0 || dut.down_i;
                for (unsigned i = 0; i < I; i++)
                    left |= !inputs[i].steps.empty() || !parts[i].empty() ||
                            inputs[i].store != STORE_PKTS || inputs[i].ctrl != CTRL_PKTS;
                return !left;
            });
            go = percent(50); // all turns begin anew
            cycle();
        }
    }

    // ---- egress ----
    void egress()
    {
        const unsigned has_ctrl = EGRESS(has_ctrl_i), has_req = EGRESS(has_req_i),
                       has_store = EGRESS(has_store_i);
        const bool ctrl = used[0] < limits[0], store = used[1] < limits[1],
                   result_crd = used[3] < limits[3];
        const bool open = now >= free_at && !dut.hold_i, starts_now = fresh;
        bool making_error = false, making_grant = false, valid = false;
        unsigned free_ctrl = 0, free_store = 0, sent = 0, error_sent = 0, res_read = 0,
                 grant_sent = 0;
        for (const started &s : leaving) {
            const uint64_t flits = s.w.flits(),
                           last = s.at +
                                  flits; // read in the cycles behind the choice, sent a cycle later
            const bool reads = now > s.at && now <= last;
            making_error |= s.error && reads;
            error_sent |= s.error && now == last;
            making_grant |= s.grant && reads;
            grant_sent |= s.grant && now == last;
            if (reads && s.result && now - s.at > HF) {
                res_read = 1;
                SAME(dut.res_first_o, now - s.at == HF + 1);
                SAME(dut.res_last_o, now == last);
            }
            if (s.p && now == last && s.cls == MW_CLS_CTRL)
                free_ctrl = 1u << s.in;
            if (s.p && now == last && s.cls == MW_CLS_STORE)
                free_store = 1u << s.in;
            if (s.p && s.cls == MW_CLS_STORE && now == last - (s.p->len != 0))
                sent = 1u << s.in;
            if (s.discard || now < s.at + 2 || now > last + 1)
                continue;
            const auto k = static_cast<unsigned>(now - s.at - 2);
            valid = true;
            SAME(dut.dn_valid_o, 1);
            SAME(dut.dn_last_o, k + 1 == flits);
            SAME(dut.dn_cls_o, s.cls);
            SAME(dut.dn_err_o, s.result ? k >= HF && s.marks[k - HF] : k + 1 == flits && s.w.err);
            const bytes got = flit(dut.dn_data_o);
            for (unsigned b = 0; b < F; b++)
                if (s.w.sure[k * F + b] && got[b] != s.w.at(k)[b])
                    fail_msg(
                        "egress: byte %u of flit %u of a packet of class %u is %02x, must be %02x",
                        b, k, s.cls, got[b], s.w.at(k)[b]);
        }
        const bool error = dut.error_valid_i && !making_error,
                   grant = BY_SWITCH && dut.grant_valid_i && !making_grant;
        SAME(dut.dn_valid_o, valid);
        SAME(EGRESS(open_o), open);
        SAME(EGRESS(able_o), has_req | (ctrl ? has_ctrl : 0) | (store ? has_store : 0));
        SAME(dut.free_ctrl_o, free_ctrl);
        SAME(EGRESS(free_store_o), free_store);
        SAME(EGRESS(sent_o), WINDOW ? sent : 0);
        SAME(dut.error_sent_o, error_sent);
        SAME(dut.grant_sent_o, grant_sent);
        SAME(dut.res_read_o, res_read);
        const bool store_starts = starts_now && leaving.back().cls == MW_CLS_STORE;
        SAME(dut.wait_turn_o, has_store && store && !store_starts);
        SAME(dut.wait_credit_o, has_store && !store);
        SAME(dut.starved_o, (dut.res_valid_i && !result_crd) << 2 | (has_store && !store) << 1 |
                                ((has_ctrl || error) && !ctrl));
        SAME(dut.discard_o, starts_now && dut.down_i);
        SAME(dut.leave_o,
             starts_now && !dut.down_i && !leaving.back().error && !leaving.back().grant);
        if (dut.leave_o)
            SAME(dut.leave_stamp_o,
                 leaving.back().result ? offers.front().stamp : leaving.back().p->stamp);
        if (starts_now) {
            const unsigned cls = leaving.back().cls;
            SAME(open, 1);
            SAME(cls == MW_CLS_CTRL    ? ctrl
                 : cls == MW_CLS_STORE ? store
                 : cls == MW_CLS_PART  ? result_crd
                                       : true,
                 1);
            SAME(EGRESS(pop_o) & EGRESS(claimed_i), 0);
        } else if (open) { // nothing that may go waits
            const unsigned may = ~static_cast<unsigned>(EGRESS(claimed_i));
            SAME((has_req & may) || grant || (ctrl && ((has_ctrl & may) || error)) ||
                     (store && (has_store & may)) || (result_crd && dut.res_valid_i),
                 0);
        }
        if (dut.idle_o)
            SAME(has_ctrl | has_req | has_store | valid, 0);
    }

    // ---- credit_use: that of STORE ----
    unsigned crd_used = 0;
    void credit_use()
    {
        SAME(STORE_CRD(used_o), crd_used);
        if (now > 2)
            SAME(STORE_CRD(ready_o), crd_used < limits[1]);
        crd_used = STORE_CRD(clear_i) ? 0 : crd_used + STORE_CRD(take_i) - STORE_CRD(back_i);
        assert_in_range(crd_used, 0, limits[1]);
    }

    // ---- egress_choice ----
    struct {
        unsigned turn = 0, stores = 0;   // packets, STORE packets
        unsigned next[4] = {0, 0, 0, 0}; // who is first, by class, and of those that are urgent
    } choice;
    static unsigned first_from(unsigned set, unsigned from)
    {
        for (unsigned k = 0; k < N; k++)
            if (set >> (from + k) % N & 1)
                return (from + k) % N;
        return N;
    }
    void egress_choice()
    {
        const unsigned ctrl = CHOICE(has_ctrl_i), req = CHOICE(has_req_i),
                       store = CHOICE(has_store_i), urgent = store & CHOICE(urgent_i);
        const bool error = CHOICE(has_error_i), grant = CHOICE(has_grant_i);
        const bool can[4] = {(ctrl || error) && CHOICE(ctrl_crd_i), store && CHOICE(store_crd_i),
                             req || grant, CHOICE(has_result_i) && CHOICE(part_crd_i)};
        const bool any = can[0] || can[1] || can[2] || can[3];
        unsigned cls = can[MW_CLS_CTRL]   ? MW_CLS_CTRL
                       : can[MW_CLS_REQ]  ? MW_CLS_REQ
                       : can[MW_CLS_PART] ? MW_CLS_PART
                                          : MW_CLS_STORE;
        // of every 16 packets one is that of each lower class, if it waits
        const unsigned turn = choice.turn == 5    ? MW_CLS_REQ
                              : choice.turn == 10 ? MW_CLS_PART
                              : choice.turn == 15 ? MW_CLS_STORE
                                                  : MW_CLS_CTRL;
        if (turn != MW_CLS_CTRL && can[turn])
            cls = turn;
        SAME(CHOICE(start_o), CHOICE(open_i) && any);
        const bool starts_now = CHOICE(open_i) && any;
        if (any)
            SAME(CHOICE(cls_o), cls);
        SAME(CHOICE(ctrl_start_o), starts_now && cls == MW_CLS_CTRL);
        SAME(CHOICE(store_start_o), starts_now && cls == MW_CLS_STORE);
        SAME(CHOICE(part_start_o), starts_now && cls == MW_CLS_PART);
        SAME(CHOICE(grant_start_o), starts_now && cls == MW_CLS_REQ && grant);
        const bool only_urgent = WINDOW && choice.stores % 8 != 7 && urgent;
        unsigned pop = 0, from = N, which = cls;
        if (starts_now && cls == MW_CLS_CTRL && !error)
            from = first_from(ctrl, choice.next[0]);
        else if (starts_now && cls == MW_CLS_REQ && !grant)
            from = first_from(req, choice.next[2]);
        else if (starts_now && cls == MW_CLS_STORE) {
            which = only_urgent ? 3 : 1;
            from = first_from(only_urgent ? urgent : store, choice.next[which]);
        }
        if (from < N)
            pop = 1u << from;
        SAME(CHOICE(pop_o), pop);
        if (starts_now) {
            choice.turn = (choice.turn + 1) % 16;
            choice.stores += cls == MW_CLS_STORE;
            if (from < N)
                choice.next[which] = (from + 1) % N;
        }
        if (dut.go_i)
            choice = {};
    }

    // ---- voq ----
    struct {
        int room = 0;
        bool missed = false, read = false, shared_read = false;
        packet_p free[3], filling, sending;
        unsigned sending_seq = 0;
        std::map<unsigned, packet_p> slots[3];
        std::deque<packet_p> waits[3];
        bytes must;
        bool must_bad = false, known = false;
        step word; // address of the cycle before
        packet_p word_to;
        std::map<unsigned, bytes> shared;
        bytes shared_must;
        unsigned shared_addr = 0;
        bool shared_we = false;
    } queue;
    void voq()
    {
        auto &q = queue;
        const unsigned region = dut.wr_region_i[0], cls = VOQ(cls_i), limit = VOQ(limit_i),
                       oldest = static_cast<unsigned>(field(VOQ(win_i), 0, SEQ_W));
        auto &stores = q.waits[MW_CLS_STORE];
        const bool inside =
            !limit || (!stores.empty() && (stores[0]->seq + SEQS - oldest) % SEQS < limit);
        SAME(VOQ(has_o), (q.waits[0].empty() ? 0 : 1) | (stores.empty() || !inside ? 0 : 2) |
                             (q.waits[2].empty() ? 0 : 4));
        SAME(VOQ(room_o), q.room > 0);
        if (WINDOW) {
            const bool first = !stores.empty() && stores[0]->seq == oldest;
            SAME(VOQ(here_o), first || (q.sending && !VOQ(sent_i) && q.sending_seq == oldest));
            SAME(VOQ(urgent_o), limit ? first : VOQ(scarce_i) && q.room <= 0);
        }
        // what was read
        if (q.read && q.known) {
            if (flit(IN(rdata)) != q.must)
                fail_msg("voq: a flit of class %u is not what was written", cls);
            SAME(bit(IN(rdata), 8 * F), q.must_bad);
        }
        if (!q.read)
            SAME(field(IN(rdata), 0, 8 * F + 1), 0);
        if (SHARED_RAM && q.shared_read && !q.shared_must.empty() &&
            tb::get(IN(shared_term)) != q.shared_must)
            fail_msg("voq: the queue of partials does not read what it wrote");
        if (!q.shared_read)
            SAME(field(IN(shared_term), 0, 8 * F + 1 + SHARED_RAM), 0);

        // a word is written where its address was, a cycle ago if late
        for (auto &f : q.free)
            if (!f)
                f = std::make_shared<packet>();
        step x;
        x.line = dut.wr_line_i[0];
        packet_p to = region == 3 ? q.filling : q.free[region];
        unsigned shared_addr = VOQ(shared_waddr_i);
        bool shared_we = VOQ(shared_we_i);
        if (LATE) {
            std::swap(x, q.word);
            std::swap(to, q.word_to);
            std::swap(shared_addr, q.shared_addr);
            std::swap(shared_we, q.shared_we);
        }
        if (VOQ(wr_valid_i) && shared_we) {
            q.shared[shared_addr] = tb::get(dut.wr_data_i[0]);
        } else if (VOQ(wr_valid_i) && to) {
            auto &line = to->lines[x.line];
            line.first.resize(F);
            const bytes data = flit(dut.wr_data_i[0]);
            for (unsigned b = 0; b < F; b++)
                if (dut.wr_lane_i[0] >> b / 2 & 1)
                    line.first[b] = data[b];
            if (dut.wr_lane_i[0] >> (LANES - 1) & 1)
                line.second = bit(dut.wr_data_i[0], 8 * F);
        }
        if (VOQ(sent_i)) // the one before what is taken in this cycle, of whatever class that is
            q.sending = nullptr;
        if (VOQ(pop_i)) {
            assert_false(q.waits[cls].empty());
            packet_p p = q.waits[cls].front();
            q.waits[cls].pop_front();
            const unsigned desc_low = 6 + OFF_W;
            const unsigned more = static_cast<unsigned>(field(IN(desc), 1 + OFF_W, 4)),
                           slot = static_cast<unsigned>(field(IN(desc), desc_low, SLOT_W));
            SAME(field(IN(desc), desc_low + SLOT_W, STAMP_W), p->stamp);
            SAME(field(IN(desc), 5 + OFF_W, 1), p->dyn);
            if (p->dyn)
                SAME(more, p->more);
            SAME(field(IN(desc), OFF_W, 1), p->pay);
            if (p->pay)
                SAME(field(IN(desc), 0, OFF_W), p->len);
            q.slots[cls][slot] = p;
            if (cls == MW_CLS_STORE) {
                q.sending = p;
                q.sending_seq = p->seq;
            }
        }
        if (VOQ(push_i)) {
            const packet_p must = inputs[0].before.p;
            packet_p p = q.free[region];
            p->seq =
                region == MW_CLS_STORE ? static_cast<unsigned>(field(VOQ(win_i), SEQ_W, SEQ_W)) : 0;
            p->stamp = must->stamp;
            p->dyn = must->dyn;
            p->more = must->more;
            p->pay = must->pay;
            p->len = must->len;
            q.waits[region].push_back(p);
            q.free[region] = nullptr;
            if (region == MW_CLS_STORE)
                q.filling = p;
        }
        q.read = VOQ(re_i);
        if (q.read) {
            const unsigned line = VOQ(rd_line_i), of = line < PF              ? MW_CLS_STORE
                                                       : line >= PF + PF / 2  ? MW_CLS_REQ
                                                       : line >= PF + HF + TF ? MW_CLS_CTRL
                                                                              : MW_CLS_STORE;
            packet_p p = q.slots[of][VOQ(rd_slot_i)];
            assert_true(p != nullptr);
            auto at = p->lines.find(line);
            q.known = at != p->lines.end();
            assert_true(q.known || LATE);
            if (q.known) {
                q.must = at->second.first;
                q.must_bad = at->second.second;
            }
        }
        q.shared_read = VOQ(shared_re_i);
        if (q.shared_read)
            q.shared_must =
                q.shared.count(VOQ(shared_raddr_i)) ? q.shared[VOQ(shared_raddr_i)] : bytes();
        q.room += q.missed - VOQ(issue_i) + VOQ(free_i);
        q.missed = VOQ(arrive_i) && !VOQ(push_i);
        assert_in_range(q.room, 0, STORE_PKTS);
    }

    // ---- gated_ram ----
    struct {
        std::map<unsigned, std::vector<int>> words; // bits, -1: never written
        std::vector<int> must = std::vector<int>(8 * F + 2, -1);
        bool read = SHARED_RAM; // then it is read in every cycle
    } ram;
    void gated_ram()
    {
        const unsigned width = 8 * F + 1 + SHARED_RAM, lanes = width / 16;
        for (unsigned k = 0; k < width; k++)
            if (!ram.read)
                SAME(bit(RAM(rdata_o), k), 0);
            else if (ram.must[k] >= 0)
                SAME(bit(RAM(rdata_o), k), ram.must[k]);
        ram.read = RAM(re_i);
        const std::vector<int> unknown(width, -1);
        auto word = [&](unsigned a) -> std::vector<int> & {
            return ram.words.emplace(a, unknown).first->second;
        };
        if (ram.read)
            ram.must = RAM(we_i) && RAM(raddr_i) == RAM(waddr_i) ? unknown : word(RAM(raddr_i));
        if (RAM(we_i))
            for (unsigned k = 0; k < width; k++)
                if (RAM(lane_i) >> std::min(k / 16, lanes - 1) & 1)
                    word(RAM(waddr_i))[k] = bit(RAM(wdata_i), k);
    }

    // ---- part_queue ----
    struct {
        unsigned come = 0, here = 0; // packets announced, begun; not read
        std::set<unsigned> taken;
    } part;
    void part_queue()
    {
        SAME(PARTS(has_o), part.here != 0);
        SAME(PARTS(full_o), (SHARED_RAM ? part.come : part.here) == PART_PKTS);
        part.come += PARTS(come_i) - PARTS(done_i);
        part.here += (PARTS(we_i) && PARTS(widx_i) == 0) - PARTS(done_i);
        if (PARTS(we_i))
            SAME(PARTS(waddr_o) % PF, PARTS(widx_i));
        if (PARTS(re_i))
            SAME(PARTS(raddr_o) % PF, PARTS(ridx_i));
    }

    // ---- window ----
#if PARAM_Window
    struct {
        unsigned seq = 0, oldest = 0, load = STORE_PKTS;
    } win;
    void window()
    {
        const bool limited = WINDOW_OF(limited_i), idle = win.seq == win.oldest;
        SAME(field(WINDOW_OF(win_o), SEQ_W, SEQ_W), win.seq);
        SAME(field(WINDOW_OF(win_o), 0, SEQ_W), win.oldest);
        SAME(WINDOW_OF(idle_o), idle);
        SAME(WINDOW_OF(may_o), !limited || win.load < STORE_PKTS);
        if (!limited)
            return;
        const unsigned moves = !WINDOW_OF(here_i) && !idle;
        win.load += WINDOW_OF(issue_i) - moves - WINDOW_OF(drop_i);
        win.seq = (win.seq + WINDOW_OF(push_i)) % SEQS;
        win.oldest = (win.oldest + moves) % SEQS;
        assert_in_range(win.load, 0, STORE_PKTS);
    }
#endif

    // ---- read_turns ----
#if PARAM_PartSharedRam
    unsigned claims = 0, owes = 0;
    void read_turns()
    {
        const unsigned want = TURNS(want_i), reads = TURNS(read_i), done = TURNS(done_i),
                       able = TURNS(able_i), pop = TURNS(pop_i), busy = TURNS(reads_i);
        SAME(TURNS(claimed_o), claims);
        SAME(TURNS(may_o), claims & ~busy);
        SAME(reads & busy, 0); // never of one RAM in one cycle
        SAME(pop & claims, 0);
        const unsigned lost = TURNS(open_i) ? able & claims : 0;
        const unsigned next = (reads | (want & ~owes)) & ~done;
        owes = (owes | lost) & able & ~pop;
        claims = next;
    }
#endif
};
} // namespace

#define MODULE(name) \
    TEST(name) \
    { \
        for (auto limit : {output::NONE, output::SMALL, output::ANY}) { \
            output b(&output::name, limit); \
            b.run(6000); \
            assert_true(b.packets > 100); \
            assert_int_equal(b.grants > 50, BY_SWITCH); \
        } \
    }

MODULE(egress)
MODULE(egress_choice)
MODULE(credit_use)
MODULE(voq)
MODULE(gated_ram)
MODULE(part_queue)
#if PARAM_Window
MODULE(window)
#endif
#if PARAM_PartSharedRam
MODULE(read_turns)
#endif
