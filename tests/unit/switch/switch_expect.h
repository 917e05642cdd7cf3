// SPDX-License-Identifier: Apache-2.0
//
// The packets that hubs send to a switch, and their results: copies or an error of each packet, and
// the rows that the switch opens.
#ifndef SWITCH_EXPECT_H
#define SWITCH_EXPECT_H

#include "switch_ports.h"

struct hub_rows : hub_ports {
    using hub_ports::hub_ports;

    // ---- rows that the switch opens ----
    // Sweeps the tables for the number of tokens that layers have from now on.
    void sweep()
    {
        rules.token_shift = token_shift = PARAM_TokensLog2 - (percent(30) ? 1 : 0);
        dut.ctl_token_shift_i = static_cast<uint8_t>(token_shift);
        cycles(3);
        dut.sweep_i = 1;
        edge();
        dut.sweep_i = 0;
        settle();
        for (unsigned k = 0; k < 1u << token_shift; k++) {
            assert_true(dut.sweep_busy_o);
            assert_false(dut.idle_o);
            edge();
            settle();
        }
        assert_false(dut.sweep_busy_o);
    }
    // Begins a layer, in another epoch. The table's words are random, or from four layers ago,
    // unless they are swept. Words beyond the layers' tokens are not swept.
    void layer(bool on, unsigned bytes_of_row = 0, bool of_tiles = false)
    {
        const unsigned epoch = rules.by_switch ? (rules.epoch + 1) % 4 : rules.epoch;
        rules.set_epoch(epoch);
        dut.epoch_i = static_cast<uint8_t>(epoch);
        if (on && (!swept || epoch == 0 || percent(20)))
            sweep();
        swept |= on;
        rules.by_switch = on;
        row_bytes = bytes_of_row;
        rules.row_shift = on ? 10 : 0;
        dut.ctl_switch_reductions_i = on;
        dut.ctl_tile_reductions_i = tiles = of_tiles;
        dut.ctl_row_bytes_i = static_cast<uint16_t>(row_bytes);
        dut.ctl_row_shift_i = static_cast<uint8_t>(rules.row_shift);
        cycles(3);
        go();
        forget_rows();
        if (on)
            cycles(33); // a scan clears the counters
    }
    bool swept = false, tiles = false;

    asked &about(unsigned home, unsigned index)
    {
        auto it = reduction_of.find({home, index});
        if (it == reduction_of.end()) {
            it = reduction_of.emplace(std::make_pair(home, index), reductions.size()).first;
            reductions.emplace_back();
            reductions.back().home = home;
            reductions.back().index = index;
        }
        return reductions[it->second];
    }
    // A packet that makes an entry was accepted. Returns its result by the rules of
    // report_scoreboard.
    unsigned enter(unsigned src, const verdict &v)
    {
        const uint64_t at_home = v.token & ((UINT64_C(1) << token_shift) - 1);
        if (fell[src])
            return MW_HWERR_NONE;
        if (v.token >> token_shift != src || at_home >> rules.tokens_log2)
            return MW_HWERR_BOUNDS;
        asked &a = about(src, static_cast<unsigned>(at_home));
        if (tiles || a.entry || (a.early && !v.own))
            return MW_HWERR_COUNT;
        a.entry = true;
        a.own = v.own && !a.early;
        a.left = v.targets;
        a.reports = v.targets + v.own;
        a.members = row_list[src];
        expect_sum(a);
        if (a.own && auto_report && !percent(forget_percent))
            report_later(src, a);
        return MW_HWERR_NONE;
    }
    // The sum of a row that is expected from now on.
    void expect_sum(asked &a)
    {
        const unsigned src = a.home;
        a.id = next_id++;
        reduction_by_id[a.id] = reduction_of[{src, a.index}];
        mw_header h = {};
        h.addr = a.id;
        h.len = row_bytes;
        std::vector<unsigned> ports_of;
        for (const auto &m : a.members)
            ports_of.push_back(m.first);
        std::deque<result_expected> before;
        before.swap(results[src]);
        expect_rows(src, h, ports_of);
        before.swap(results[src]);
        a.packets.assign(before.begin(), before.end());
    }
    // With tile reductions every row is expected, from all GPUs that its home may reach, if any.
    void expect_tile(asked &a)
    {
        if (a.entry)
            return;
        a.entry = true;
        for (unsigned p = 0; p < n; p++)
            if (rules.reach(a.home) >> p & 1)
                a.members[p] = 1;
        a.own = !a.members.empty();
        a.reports = static_cast<unsigned>(a.members.size()) + 1;
        expect_sum(a);
    }
    void report_later(unsigned p, const asked &a)
    {
        to_report[p].emplace(now + below(report_delay + 1), std::make_pair(a.home, a.index));
    }
    // A lane of an accepted READY.
    unsigned report(unsigned src, unsigned home, unsigned index, outgoing &o)
    {
        if (fell[home])
            return MW_HWERR_NONE;
        asked &a = about(home, index);
        if (tiles) {
            expect_tile(a);
            if (src == home ? !a.own : !a.members.count(src) || a.reported >> src & 1)
                return MW_HWERR_COUNT;
            a.reported |= 1u << src;
            a.left++; // which is counted down here
        }
        if (src == home ? (a.entry ? !a.own : a.early)
                        : !a.entry || !a.members.count(src) || !a.left)
            return MW_HWERR_COUNT;
        if (src != home)
            a.left--;
        else if (a.entry)
            a.own = false;
        else
            a.early = true;
        o.reports.push_back(reduction_of[{home, index}]);
        return MW_HWERR_NONE;
    }
    packet ready(unsigned src, const std::vector<std::pair<unsigned, unsigned>> &lanes)
    {
        packet p = make(MW_OP_READY, src, static_cast<unsigned>(rng() & 31));
        uint64_t upper = rng() & ~(UINT64_C(1) << 20 | UINT64_C(1) << 41 | UINT64_C(1) << 62);
        unsigned at = 0;
        for (size_t k = 0; k < lanes.size(); k++, at++) {
            at += below(static_cast<unsigned>(MW_LANES - lanes.size() + k - at + 1));
            upper &= ~(UINT64_C(0x1fffff) << MW_LANE_BITS * at);
            upper |= mw_lane_pack(lanes[k].second, lanes[k].first, 1) << MW_LANE_BITS * at;
        }
        p.h.addr = upper & UINT64_C(0xffffffffffff);
        p.h.target0 = static_cast<uint32_t>(upper >> 48);
        return p;
    }
    // Reports of a port go in packets of one to three lanes.
    void report_some(unsigned p)
    {
        auto &list = to_report[p];
        std::vector<decltype(list.begin())> due;
        for (auto it = list.begin(); it != list.end() && it->first <= now; ++it)
            due.push_back(it);
        if (due.empty() || ports[p].queue[MW_CLS_CTRL].size() > 3 ||
            !percent(due.size() >= MW_LANES ? 50 : 5))
            return;
        std::shuffle(due.begin(), due.end(), rng);
        due.resize(std::min<size_t>(due.size(), rng.between(1, MW_LANES)));
        std::vector<std::pair<unsigned, unsigned>> lanes;
        for (auto it : due) {
            lanes.push_back(it->second);
            list.erase(it);
        }
        send(p, ready(p, lanes));
    }
    // A copy of a row's last packet arrived complete: the experts there will finish.
    void row_came(unsigned p, const mw_header &h)
    {
        const uint64_t token = h.addr >> rules.row_shift;
        auto it =
            reduction_of.find({h.src, static_cast<unsigned>(token & ((1u << token_shift) - 1))});
        if (!auto_report || token >> token_shift != h.src || it == reduction_of.end())
            return;
        const asked &a = reductions[it->second];
        for (unsigned k = 0; a.members.count(p) && k < a.members.at(p); k++)
            if (!percent(forget_percent))
                report_later(p, a);
    }
    void grant(unsigned p, const mw_header &h)
    {
        const auto lanes = lanes_of(h);
        assert_true(rules.by_switch);
        assert_int_equal(h.src, p);
        assert_int_equal(h.dst, p);
        assert_int_equal(h.epoch, rules.epoch);
        assert_int_equal(h.len | h.cnt | h.stage | h.tag | h.poison, 0);
        assert_int_equal(ports[p].rx.size(), MW_HEADER_BYTES);
        grant_packets++;
        for (const auto &[home, index] : lanes) {
            auto it = reduction_of.find({home, index});
            assert_true(it != reduction_of.end());
            asked &a = reductions[it->second];
            if (!a.entry || a.on_wire != a.reports || !(p == home || a.members.count(p)))
                fail_msg("port %u has a GRANT of row %u of %u: entry %u, %u of %u reports", p,
                         index, home, a.entry, a.on_wire, a.reports);
            assert_false(a.notified >> p & 1);
            // packets on their way may still arrive
            assert_true(!fell[p] || now <= down_at[p] + latency + 64);
            a.notified |= 1u << p;
            granted[p][home].push_back(it->second);
            if (p != home)
                ports[p].serve[home].push_back({a.id, row_bytes, 0});
            unsigned open = 0; // at least
            for (size_t r : reductions_of_home(home))
                open += reductions[r].notified && !all_answered(reductions[r]);
            most_open = std::max(most_open, open);
            assert_in_range(open, 0, open_rows);
        }
        assert_in_range(lanes.size(), 1, MW_LANES);
        assert_int_equal(h.target0 >> 15, 0);
        grant_lanes += static_cast<unsigned>(lanes.size());
        see_results(p);
    }
    std::vector<size_t> reductions_of_home(unsigned home)
    {
        std::vector<size_t> list;
        for (size_t r = 0; r < reductions.size(); r++)
            if (reductions[r].home == home)
                list.push_back(r);
        return list;
    }
    bool all_answered(const asked &a) const
    {
        return std::all_of(a.members.begin(), a.members.end(), [&](const auto &m) {
            return fell[m.first] || a.answered >> m.first & 1;
        });
    }
    bool some_member_fell(const asked &a) const
    {
        return std::any_of(a.members.begin(), a.members.end(),
                           [&](const auto &m) { return fell[m.first]; });
    }
    // A result must be poisoned if a term was bad, and may be if a member was down.
    void check_result(const bytes &got, bool err, const result_expected &r, bool member_down)
    {
        const mw_header h = tb::header_of(got);
        const bool poisoned = h.poison || err, excused = poisoned && !r.bad && member_down;
        assert_int_equal(h.len, r.len);
        assert_int_equal(got.size(), MW_HEADER_BYTES + r.payload.size());
        stood_in += excused;
        if (!excused)
            assert_int_equal(poisoned, r.bad);
        if (!poisoned)
            assert_memory_equal(&got[MW_HEADER_BYTES], r.payload.data(), r.payload.size());
    }
    // Compares results with the rows that GRANTs have opened.
    void see_results(unsigned p)
    {
        if (fell[p])
            results_came[p].clear();
        auto &order = granted[p][p];
        while (!results_came[p].empty() && rows_done[p] < order.size()) {
            const asked &a = reductions[order[rows_done[p]]];
            const auto &[got, err] = results_came[p].front();
            check_result(got, err, a.packets[packets_done[p]], some_member_fell(a));
            results_came[p].pop_front();
            if (++packets_done[p] == a.packets.size()) {
                packets_done[p] = 0;
                rows_done[p]++;
            }
        }
    }
    // Checks that every row that could be opened was, in one order, and that nothing is left.
    void check_rows()
    {
        for (const asked &a : reductions) {
            const bool due = a.entry && a.on_wire == a.reports && !fell[a.home];
            uint32_t must = due ? 1u << a.home : 0;
            for (const auto &m : a.members)
                must |= due && !fell[m.first] ? 1u << m.first : 0;
            if (fell[a.home] || some_member_fell(a))
                assert_true((a.notified & must) == must ||
                            !a.notified); // its last report may be lost
            else
                assert_int_equal(a.notified, must);
        }
        for (unsigned h = 0; h < n; h++) {
            if (fell[h])
                continue;
            assert_int_equal(results_came[h].size(), 0);
            assert_int_equal(rows_done[h], granted[h][h].size());
            for (unsigned q = 0; q < n; q++) {
                std::vector<size_t> part;
                for (size_t r : granted[h][h])
                    if (q != h && reductions[r].notified >> q & 1)
                        part.push_back(r);
                if (q != h && !fell[q])
                    assert_true(part == granted[q][h]);
            }
        }
    }

    // ---- sending ----
    enum fault { WHOLE, LINK_ERROR, SHORT_BY_ONE, LONG_BY_ONE };

    // Queues p at src and notes its required result. Returns the code with which the switch rejects
    // it.
    unsigned send(unsigned src, packet p, fault how = WHOLE, int link_cls = -1)
    {
        const unsigned cls = link_cls < 0 ? p.h.cls : static_cast<unsigned>(link_cls);
        if (cls == MW_CLS_REQ)
            p.h.addr = next_id++;
        if (how == SHORT_BY_ONE && tb::encode(p, f).flits() == 1)
            return ~0u; // no flit would be left
        p.err = how == LINK_ERROR;
        p.cut = how == SHORT_BY_ONE ? -1 : how == LONG_BY_ONE;
        const tb::wire w = tb::encode(p, f);
        const verdict v = rules.judge(w, src, cls, !rules.by_switch);
        if (v.accepted && p.h.opcode == MW_OP_DYMULTIMEM_ST && p.h.stage != MW_STAGE_FLAT &&
            p.h.cnt) {
            row_list[src].clear();
            for (uint16_t t : p.targets)
                row_list[src][static_cast<unsigned>(rules.emap[t >> 4])]++;
        }
        ports[src].queue[cls].push_back({w, cls});
        if (v.accepted && v.entry)
            if (unsigned code = enter(src, v))
                reject(src, code);
        if (v.accepted && rules.is_ready(p.h)) {
            ready_packets++;
            for (const auto &[home, index] : lanes_of(p.h))
                if (unsigned code = report(src, home, index, ports[src].queue[cls].back()))
                    reject(src, code);
        }
        const size_t number = ports[src].queued[cls]++;
        if (v.code != MW_HWERR_NONE)
            reject(src, v.code);
        std::vector<unsigned> members;
        for (const auto &c : v.copies) {
            expect[c.first][src][cls].push_back({c.second, now, number});
            members.push_back(c.first);
        }
        size_t rows = results[src].size();
        if (v.opens)
            expect_rows(src, p.h, members);
        for (; rows < results[src].size(); rows++)
            results[src][rows].number = number;
        return v.accepted ? static_cast<unsigned>(MW_HWERR_NONE) : v.code;
    }
    // Sends the first `flits` flits of p, then nothing for `gap` cycles, then the rest. The switch
    // ends it in the gap, as if the next flit were the last, and bad.
    void send_with_gap(unsigned src, packet p, unsigned flits, uint64_t gap)
    {
        const unsigned cls = p.h.cls;
        const tb::wire w = tb::encode(p, f);
        const verdict v = rules.judge(w, src, cls);
        assert_true(v.accepted && !v.bad);
        assert_true(flits >= 1 && flits < w.flits());
        if (cls == MW_CLS_STORE && (flits < v.decided || p.h.opcode == MW_OP_DYMULTIMEM_ST))
            rules.row[src].open = false; // rejected, or marked bad
        ports[src].queue[cls].push_back({w, cls, flits, gap});
        const size_t number = ports[src].queued[cls]++;
        ports[src].drops++;
        if (flits < v.decided || w.flits() != flits + 1)
            ports[src].rejected++; // its code depends on what the wires held in the gap
        if (flits < v.decided)
            return;
        for (auto [to, copy] : v.copies) {
            const size_t cut = (w.flits() - flits) * f;
            copy.err = true;
            std::fill(copy.sure.end() - static_cast<long>(cut), copy.sure.end(), false);
            expect[to][src][cls].push_back({copy, now, number});
        }
    }
    void reject(unsigned src, unsigned code)
    {
        ports[src].rejected++;
        reject_codes[src].insert(code);
    }
};

#endif
