// SPDX-License-Identifier: Apache-2.0
//
// What leaves an output: each packet is complete, follows the order of classes and sources, and has
// a credit.

#include "egress_bench.h"

#define CHOICE(port) S(i_egress__DOT__i_choice__DOT__##port)
#define CHOICE_CRD(cls) bundle::take(CHOICE(crd_i), bundle::credit_classes::cls)
#define CHOICE_TAKES(cls) bundle::take(CHOICE(takes_o), bundle::credit_classes::cls)
#define STORE_CRD(port) S(i_egress__DOT__i_store_crd__DOT__##port)

namespace {
struct egress : output {
    using output::output;
    void check() override
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
                                  flits; // read in the cycles after the choice, sent a cycle later
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
        } else if (open) { // no packet that may go waits
            const unsigned may = ~static_cast<unsigned>(EGRESS(claimed_i));
            SAME((has_req & may) || grant || (ctrl && ((has_ctrl & may) || error)) ||
                     (store && (has_store & may)) || (result_crd && dut.res_valid_i),
                 0);
        }
        if (dut.idle_o)
            SAME(has_ctrl | has_req | has_store | valid, 0);
    }
};

struct credit_use : output {
    using output::output;
    unsigned crd_used = 0;
    void check() override
    {
        SAME(STORE_CRD(used_o), crd_used);
        if (now > 2)
            SAME(STORE_CRD(ready_o), crd_used < limits[1]);
        crd_used = STORE_CRD(clear_i) ? 0 : crd_used + STORE_CRD(take_i) - STORE_CRD(back_i);
        assert_in_range(crd_used, 0, limits[1]);
    }
};

struct egress_choice : output {
    using output::output;
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
    void check() override
    {
        const unsigned ctrl = CHOICE(has_ctrl_i), req = CHOICE(has_req_i),
                       store = CHOICE(has_store_i), urgent = store & CHOICE(urgent_i);
        const bool error = CHOICE(has_error_i), grant = CHOICE(has_grant_i);
        const bool can[4] = {(ctrl || error) && CHOICE_CRD(ctrl), store && CHOICE_CRD(store),
                             req || grant, CHOICE(has_result_i) && CHOICE_CRD(part)};
        const bool any = can[0] || can[1] || can[2] || can[3];
        unsigned cls = can[MW_CLS_CTRL]   ? MW_CLS_CTRL
                       : can[MW_CLS_REQ]  ? MW_CLS_REQ
                       : can[MW_CLS_PART] ? MW_CLS_PART
                                          : MW_CLS_STORE;
        // one of every 16 packets is that of each lower class, if it waits
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
        SAME(CHOICE_TAKES(ctrl), starts_now && cls == MW_CLS_CTRL);
        SAME(CHOICE_TAKES(store), starts_now && cls == MW_CLS_STORE);
        SAME(CHOICE_TAKES(part), starts_now && cls == MW_CLS_PART);
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
};
} // namespace

MODULE(egress)
MODULE(egress_choice)
MODULE(credit_use)
