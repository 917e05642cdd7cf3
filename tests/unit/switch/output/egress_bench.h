// SPDX-License-Identifier: Apache-2.0
//
// One output of the switch. The bench drives the inputs that fill its queues, the join, and the
// endpoint. The tests derive from it, and check each cycle.
#ifndef EGRESS_BENCH_H
#define EGRESS_BENCH_H

#include "Vswitch_output.h"
#include "Vswitch_output___024root.h"

#include "bench/packet.h"
#include "switch_sizes.h"

#include "errors.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>

constexpr unsigned I = N - 1, ALL_LANES = (1u << LANES) - 1, PART_PKTS = PARAM_PartPkts,
                   WINDOW = PARAM_Window;
#ifndef PARAM_SwitchReductions
#define PARAM_SwitchReductions 0
#endif
constexpr bool BY_SWITCH = PARAM_SwitchReductions;
using tb::log2_up;
constexpr unsigned MOST = std::max(STORE_PKTS, CTRL_PKTS), SLOT_W = MOST > 1 ? log2_up(MOST) : 1,
                   OFF_W = log2_up(PF), SEQ_W = log2_up(STORE_PKTS) + 1, SEQS = 1u << SEQ_W;

// make mutate: all signals inside are one level deeper, and a block is a part of a name
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
#define EGRESS(port) S(i_egress__DOT__##port)

// Bits of a port of any width.
template <class Port> uint64_t field(const Port &port, unsigned at, unsigned width)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < width; i++)
        v |= uint64_t{bit(port, at + i)} << i;
    return v;
}

// A packet in a queue, its required output, and the lines of its slot.
struct packet {
    unsigned in = 0, cls = 0, stamp = 0, seq = 0, dyn = 0, more = 0, pay = 0, len = 0;
    tb::wire w;
    bool bad = false;
    std::map<unsigned, std::pair<bytes, bool>> lines;
};
using packet_p = std::shared_ptr<packet>;

// Writes of an input in a cycle.
struct step {
    unsigned region = 0, line = 0, lanes = 0, part = 0, idx = 0;
    bool copy = false, bad = false, desc = false, push = false, arrive = false, come = false;
    unsigned flags = 0; // of a partial: last, poison
    bytes data = bytes(F);
    packet_p p;
};

struct output : tb::model<Vswitch_output> {
    unsigned rate = 50, drain = 50, held = 0, epoch;

    // limit: of the look-ahead window, none, small, or any
    enum window_limit { NONE, SMALL, ANY };
    explicit output(window_limit limit)
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
        edge(); // data read during reset is gone
    }
    /// Checks the outputs of this cycle.
    virtual void check() = 0;

    // ---- an input ----
    struct source {
        unsigned store = STORE_PKTS, ctrl = CTRL_PKTS, reqs = 0, seq = 0;
        std::deque<step> steps;
        step before; // of the previous cycle: its word is written now
    };
    source inputs[I];
    std::deque<packet_p> queues[I][3];
    std::deque<std::array<bytes, 2 * PF>>
        parts[I]; // partial sums: flits, followed by their contents

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
            if (k == 0 && p->dyn) // the output fills in the count, bits 45:41
                x.data[5] &= 0xc1;
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
        // descriptions have the number of targets so far
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
        // a partial is announced before it arrives
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
        // the mark belongs to the last lane, and counts in no other
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
    // After the outputs: a credit may return in a cycle in which there is room.
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
        if (x.push)
            queues[i][x.p->cls].push_back(x.p);
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
            if (dut.q_has_o >> m & 1) { // as in the previous cycle: it is stable
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
                // flits after a short pass still belong to the packet
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
        check();
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

    // Follows the choice of egress at its ports.
    void starts()
    {
        fresh = false;
        const unsigned pop = EGRESS(pop_o), cls = EGRESS(cls_o);
        const bool error = bundle::take(EGRESS(takes), bundle::credit_classes::ctrl) && !pop,
                   grant = EGRESS(grant_start);
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

    // Updates the credits at the endpoint, and removes packets that have ended.
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
            go = percent(50); // all turns restart
            cycle();
        }
    }
};

/// Test of a module inside, or of the whole.
#define MODULE(name) \
    TEST(name) \
    { \
        for (auto limit : {output::NONE, output::SMALL, output::ANY}) { \
            name b(limit); \
            b.run(6000); \
            assert_true(b.packets > 100); \
            assert_int_equal(b.grants > 50, BY_SWITCH); \
        } \
    }

#endif
