// SPDX-License-Identifier: Apache-2.0
//
// Model of the hubs around a switch, for the tests of switch_top: packets and their flits, senders
// with credits, receivers that give credits back late, members that answer reduction requests, and
// a scoreboard that knows every packet that each port must receive, by the rules in switch_rules.h.
#ifndef SWITCH_MODEL_H
#define SWITCH_MODEL_H

#include "Vswitch_bench.h"

#include "bench/dut.h"
#include "bench/errors.h"
#include "bench/packet.h"

#include "map.h"
#include "switch_rules.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>

using tb::bytes, tb::packet, tb::target;

#ifndef PARAM_TokensLog2
#define PARAM_TokensLog2 12
#endif

struct outgoing {
    tb::wire wire;
    unsigned cls;
    unsigned stop = 0;                // flits after which the sender pauses, 0: it does not
    uint64_t gap = 0;                 // for how many cycles
    std::vector<size_t> reports = {}; // of a READY: what its lanes count for
};

struct expected {
    tb::wire wire;
    uint64_t when = 0; // it was queued
    size_t number = 0; // among the packets of its source and class
};

struct result_expected {
    unsigned len;
    bool bad;
    bool last_of_row;
    bytes payload;
    std::vector<unsigned> members = {};
    uint64_t when = 0;
    size_t number = 0; // of the request
};

struct row {
    uint64_t id;
    unsigned bytes;
    unsigned sent; // packets of it that this member has queued
};

// What is said of a token in a layer in which the switch opens reductions, and the
// row that it becomes.
struct asked {
    unsigned home = 0, index = 0;
    uint64_t id = 0;
    // what the switch's table must have: own report came first; the row is wanted; reports to come
    bool early = false, entry = false, own = false;
    unsigned left = 0;
    uint32_t reported = 0;                     // with tile reductions: members that have
    std::map<unsigned, unsigned> members = {}; // with an entry: experts there
    unsigned reports = 0, on_wire = 0;         // needed, and those that have been sent whole
    uint32_t notified = 0, answered = 0; // ports that have its GRANT; members that have answered
    std::vector<result_expected> packets = {};
};

class hubs : public tb::model<Vswitch_bench> {
  public:
    const unsigned n = PARAM_N, f = PARAM_FlitBytes;
    switch_rules rules{n, f};
    unsigned store_pkts, ctrl_pkts, open_rows, part_pkts, rx_store, rx_result, rx_ctrl, max_experts,
        most_window;
    bool part_shared_ram;
    unsigned latency;

    // how the hubs behave, in percent or cycles
    unsigned start_percent = 100; // a sender that could start a packet does so
    unsigned credit_delay = 0;    // a credit is given back after 0 .. this many cycles
    unsigned spare_store = 0;     // store credits that a sender leaves unused
    unsigned serve_percent = 100; // a member that could queue a partial does so
    unsigned poison_percent = 0;  // partials with the poison bit
    unsigned spoil_percent = 0;   // partials with a link error or a wrong length
    std::vector<bool> sink;       // ports that give no credit back while false
    std::vector<unsigned> refuse; // classes (a mask) of which a port gives no credit back
    std::vector<bool> mute;       // members that answer no request
    std::vector<bool>
        faulty; // ports that may break rules: what they are reported is counted in reported
    std::vector<std::map<unsigned, unsigned>> notified; // [port], code -> times

    // ports that are down
    std::vector<bool> down;
    std::vector<uint64_t> down_at, up_at; // cycle in which that changed last, 0: never
    unsigned stood_in = 0;                // results poisoned because a member was down
    unsigned lost = 0;                    // packets not delivered because a port was down
    std::vector<std::vector<unsigned>>
        serve_order;     // member -> requesters in its order, empty: random
    bool silent = false; // members do not answer by themselves

    struct port {
        std::deque<outgoing> queue[3];
        std::vector<std::deque<outgoing>> part; // by requester
        unsigned store_credits, ctrl_credits;
        std::vector<unsigned> part_credits;
        unsigned rows_open = 0;
        // on the wire
        outgoing current;
        size_t at = 0;
        uint64_t gap = 0; // cycles left of a pause
        bool sending = false;
        // received
        bytes rx;
        unsigned rx_cls = 0;
        bool receiving = false, rx_err = false;
        unsigned held[4] = {0, 0, 0, 0};           // packets received and credits not given back
        std::multimap<uint64_t, unsigned> returns; // time -> class
        std::vector<std::deque<row>> serve;        // by requester
        uint64_t first_rx = 0, last_rx = 0, rx_flits = 0, rx_packets = 0, drops = 0;
        uint64_t up_flits[4] = {0, 0, 0, 0}, dn_flits[4] = {0, 0, 0, 0}, up_bytes = 0, dn_bytes = 0,
                 rejected = 0;
        unsigned errors_back = 0;
        // what a monitor must show
        size_t queued[4] = {0, 0, 0, 0};           // packets, by class
        std::vector<uint64_t> began[4];            // cycle of the first flit of each
        uint64_t rx_began = 0;                     // of the packet being received
        std::vector<uint64_t> up_at, dn_at;        // cycles in which a flit went up, came down
        std::map<unsigned, uint64_t> latencies[4]; // of what came, by class: bin, packets
        std::vector<std::vector<uint8_t>> log;     // classes of received packets, when wanted
    };
    std::vector<port> ports;
    std::vector<std::vector<std::array<std::deque<expected>, 3>>> expect; // [dst][src][class]
    std::vector<std::deque<result_expected>> results;                     // [requester]
    std::vector<std::multiset<unsigned>> reject_codes;                    // [src], not yet reported
    std::vector<unsigned> reports;                                        // [src]
    std::vector<std::vector<std::pair<uint64_t, unsigned>>> reported;     // [src]: when, code
    uint64_t next_id = 1;
    std::function<void(unsigned, const mw_header &)> on_packet;
    // packets that another model expects and judges: of loads
    std::function<bool(unsigned, const mw_header &, bool)> takes;

    // ---- rows that the switch opens ----
    unsigned row_bytes = 0, token_shift = 0;
    bool auto_report = true;       // members and home report by themselves what they have
    unsigned report_delay = 20;    // within so many cycles
    unsigned forget_percent = 0;   // reports that never come
    std::vector<asked> reductions; // of this layer
    std::map<std::pair<unsigned, unsigned>, size_t> reduction_of; // by home and index
    std::map<uint64_t, size_t> reduction_by_id;
    std::vector<std::map<unsigned, unsigned>> row_list; // [src]: targets of the open row, by port
    // [port]: reports by the time from which they may go; what its GRANTs named, by home; of its
    // own rows how many have given results, and packets of the next one
    std::vector<std::multimap<uint64_t, std::pair<unsigned, unsigned>>> to_report;
    std::vector<std::vector<std::vector<size_t>>> granted;
    std::vector<size_t> rows_done, packets_done;
    std::vector<std::deque<std::pair<bytes, bool>>> results_came;
    std::vector<bool> fell; // was down since go
    unsigned ready_packets = 0, grant_packets = 0, grant_lanes = 0, most_open = 0, left_out = 0;

    explicit hubs(unsigned link_latency) : latency(link_latency)
    {
        dut.go_i = 0;
        dut.epoch_i = rules.epoch = below(4);
        dut.latency_i = static_cast<uint8_t>(latency);
        dut.emap_we_i = dut.groups_we_i = 0;
        dut.ctl_throttle_i = dut.ctl_store_credits_i = dut.ctl_part_credits_i = dut.ctl_window_i =
            dut.ctl_link_wait_i = 0;
        dut.ctl_cnt_port_i = dut.ctl_cnt_idx_i = 0;
        dut.ctl_merge_loads_i = dut.ctl_cnt_loads_i = 0;
        dut.ctl_sum_entries_i = dut.ctl_sum_cycles_i = dut.ctl_push_sync_i = 0;
        dut.run_i = dut.ctl_mon_interval_i = dut.ctl_mon_read_i = dut.ctl_mon_port_i =
            dut.ctl_mon_series_i = dut.ctl_mon_word_i = 0;
        dut.ctl_mon_classes_i = 15;
        dut.ctl_limit_i = 0;
        dut.ctl_switch_reductions_i = dut.ctl_row_bytes_i = dut.ctl_row_shift_i =
            dut.ctl_token_shift_i = 0;
        dut.sweep_i = 0;
        dut.enable_i = dut.disable_i = 0;
        dut.rst_ni = 0;
        settle();
        store_pkts = dut.param_o[2];
        ctrl_pkts = dut.param_o[3];
        open_rows = dut.param_o[4];
        part_pkts = dut.param_o[5];
        rx_store = dut.param_o[6];
        rx_result = dut.param_o[7];
        rx_ctrl = dut.param_o[8];
        max_experts = dut.param_o[9];
        most_window = dut.param_o[10];
        part_shared_ram = dut.param_o[11] != 0;
        ports.resize(n);
        sink.assign(n, true);
        refuse.assign(n, 0);
        mute.assign(n, false);
        faulty.assign(n, false);
        down.assign(n, false);
        fell.assign(n, false);
        row_list.resize(n);
        rules.tokens_log2 = PARAM_TokensLog2;
        forget_rows();
        notified.resize(n);
        down_at.assign(n, 0);
        up_at.assign(n, 0);
        serve_order.resize(n);
        reports.assign(n, 0);
        reported.resize(n);
        reject_codes.resize(n);
        expect.resize(n);
        results.resize(n);
        for (unsigned p = 0; p < n; p++) {
            port &q = ports[p];
            q.store_credits = store_pkts;
            q.ctrl_credits = ctrl_pkts;
            q.part_credits.assign(n, part_pkts);
            q.part.resize(n);
            q.serve.resize(n);
            expect[p].resize(n);
            drive_none(p);
        }
        rules.max_experts = max_experts;
        rules.emap.assign(max_experts, -1);
        for (unsigned p = 0; p < n; p++)
            dut.partition_i[p] = ~0u;
        reset();
    }

    // ---- tables ----
    void set_expert(unsigned e, int gpu)
    {
        rules.emap[e] = gpu;
        dut.emap_we_i = 1;
        dut.emap_addr_i = static_cast<uint16_t>(e);
        dut.emap_data_i = gpu < 0 ? static_cast<uint16_t>(rng() & 0x1fff)
                                  : tb::place(true, static_cast<unsigned>(gpu),
                                              static_cast<unsigned>(rng() & 63));
        edge();
        dut.emap_we_i = 0;
    }
    void set_group(unsigned g, uint32_t mask)
    {
        rules.group[g] = mask & rules.all();
        dut.groups_we_i = 1;
        dut.groups_addr_i = static_cast<uint8_t>(g);
        dut.groups_data_i = mask;
        edge();
        dut.groups_we_i = 0;
    }
    void set_partition(unsigned p, uint32_t mask)
    {
        rules.partition[p] = mask;
        dut.partition_i[p] = mask;
    }
    // Experts dealt to the ports in turn, and groups 0: everyone, 1: even ports, 2:
    // the last two ports.
    void usual_tables()
    {
        for (unsigned e = 0; e < max_experts; e++)
            set_expert(e, static_cast<int>(e % n));
        for (unsigned g = 0; g < 16; g++)
            set_group(g, 0);
        set_group(0, ~0u);
        set_group(1, 0x55555555u);
        set_group(2, 3u << (n - 2));
    }

    // ---- making packets ----
    packet make(unsigned op, unsigned src, unsigned dst)
    {
        packet p;
        p.h = tb::header(op);
        p.h.src = static_cast<uint32_t>(rng() & 31); // the switch writes it
        p.h.dst = dst;
        p.h.tag = static_cast<uint32_t>(rng() & 255);
        p.h.epoch = dut.epoch_i;
        p.h.stage = static_cast<uint32_t>(rng() % 3);
        p.h.addr = rng() & UINT64_C(0xffffffffffff);
        while (p.h.cls == MW_CLS_REQ && percent(90)) {
            unsigned dtype = static_cast<unsigned>(rng() % MW_DTYPES);
            unsigned redop = static_cast<unsigned>(rng() % MW_REDOPS);
            if (!tb::reduces(dtype, redop))
                continue;
            p.h.dtype = dtype;
            p.h.redop = redop;
        }
        (void)src;
        return p;
    }
    void fill(packet &p, unsigned len)
    {
        p.h.len = len;
        p.payload = rng.some(rules.payload_flits(p.h) * f); // whole flits, as on the wire
    }
    packet store(unsigned op, unsigned src, unsigned dst, unsigned len)
    {
        packet p = make(op, src, dst);
        p.h.addr &= ~static_cast<uint64_t>(f - 1);
        fill(p, len);
        return p;
    }

    // ---- reductions ----
    // What a partial holds is a function of {member, requester, row, packet}, so
    // both sides know it.
    std::mt19937_64 dice(unsigned member, unsigned requester, uint64_t id, unsigned pkt,
                         unsigned what)
    {
        return std::mt19937_64(id * 1000003 + member * 10007 + requester * 101 + pkt * 65537 +
                               what * UINT64_C(0x9e3779b97f4a7c15));
    }
    bytes partial_data(unsigned member, unsigned requester, uint64_t id, unsigned pkt, unsigned len)
    {
        auto r = dice(member, requester, id, pkt, 0);
        bytes b((len + f - 1) / f * f);
        for (size_t i = 0; i < b.size(); i += 2) {
            uint16_t v;
            unsigned kind = static_cast<unsigned>(r() % 16);
            if (kind == 0)
                v = static_cast<uint16_t>(r()); // anything: NaN, infinity, subnormal
            else
                v = static_cast<uint16_t>((r() & 0x807f) | (118 + r() % 16) << 7);
            memcpy(&b[i], &v, 2);
        }
        return b;
    }
    // 0 good, 1 poison bit, 2 link error at the end, 3 a flit too few, 4 a flit too many
    unsigned partial_fault(unsigned member, unsigned requester, uint64_t id, unsigned pkt,
                           unsigned len)
    {
        auto r = dice(member, requester, id, pkt, 1);
        if (r() % 100 < poison_percent)
            return 1;
        if (r() % 100 < spoil_percent) {
            unsigned kind = 2 + static_cast<unsigned>(r() % 3);
            return kind == 3 && len <= f ? 4 : kind;
        }
        return 0;
    }
    void expect_rows(unsigned requester, const mw_header &h, const std::vector<unsigned> &members)
    {
        uint64_t id = h.addr;
        unsigned len = h.len;
        unsigned pkts = (len + 127) / 128;
        for (unsigned k = 0; k < pkts; k++) {
            result_expected r;
            r.len = std::min(128u, len - 128 * k);
            r.last_of_row = k + 1 == pkts;
            r.bad = members.empty();
            r.members = members;
            r.when = now;
            std::vector<bytes> parts;
            for (unsigned d = 1; d < n; d++) {
                unsigned m = (requester + d) % n;
                if (!std::count(members.begin(), members.end(), m))
                    continue;
                bytes b = partial_data(m, requester, id, k, r.len);
                if (partial_fault(m, requester, id, k, r.len))
                    r.bad = true;
                parts.push_back(b);
            }
            r.payload.resize((r.len + f - 1) / f * f);
            std::vector<const void *> terms;
            for (const bytes &b : parts)
                terms.push_back(b.data());
            if (!parts.empty())
                mw_reduce_rows(h.dtype, h.redop, terms.data(), terms.size(), r.payload.size(),
                               r.payload.data());
            results[requester].push_back(r);
        }
    }
    void queue_partial(unsigned member, unsigned requester, row &w)
    {
        packet p = make(MW_OP_PARTIAL, member, requester);
        p.h.len = std::min(128u, w.bytes - 128 * w.sent);
        p.h.addr = 0;
        p.payload = partial_data(member, requester, w.id, w.sent, p.h.len);
        unsigned wrong = partial_fault(member, requester, w.id, w.sent, p.h.len);
        if (wrong == 1)
            p.h.poison = 1;
        p.cut = wrong == 3 ? -1 : wrong == 4;
        p.err = wrong == 2;
        ports[member].part[requester].push_back({tb::encode(p, f), MW_CLS_PART});
        w.sent++;
    }

    // ---- rows that the switch opens ----
    void forget_rows()
    {
        reductions.clear();
        reduction_of.clear();
        reduction_by_id.clear();
        to_report.assign(n, {});
        granted.assign(n, std::vector<std::vector<size_t>>(n));
        rows_done.assign(n, 0);
        packets_done.assign(n, 0);
        results_came.assign(n, {});
        fell = down;
    }
    // The tables' words of as many tokens as layers have from now on
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
    // Begins a layer, in another epoch. The table's words are random, or of four layers ago,
    // unless they are swept, and beyond the tokens that layers have.
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
            run(33); // a scan clears the counters
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
    // A packet that makes an entry was accepted. What comes of it, by the rules of
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
    // With tile reductions every row is expected, from all that its home may reach, if any.
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
    // What a port has to report goes in packets of one to three lanes.
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
    // A copy of a row's last packet came whole: the experts there will finish.
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
        const uint64_t upper = h.addr | uint64_t{h.target0} << 48;
        unsigned lanes = 0;
        assert_true(rules.by_switch);
        assert_int_equal(h.src, p);
        assert_int_equal(h.dst, p);
        assert_int_equal(h.epoch, rules.epoch);
        assert_int_equal(h.len | h.cnt | h.stage | h.tag | h.poison, 0);
        assert_int_equal(ports[p].rx.size(), MW_HEADER_BYTES);
        grant_packets++;
        for (unsigned i = 0; i < MW_LANES; i++) {
            const uint64_t lane = upper >> MW_LANE_BITS * i;
            if (!(lane >> 20 & 1))
                continue;
            lanes++;
            const unsigned home = lane >> 15 & 31, index = lane & 0x7fff;
            auto it = reduction_of.find({home, index});
            assert_true(it != reduction_of.end());
            asked &a = reductions[it->second];
            if (!a.entry || a.on_wire != a.reports || !(p == home || a.members.count(p)))
                fail_msg("port %u has a GRANT of row %u of %u: entry %u, %u of %u reports", p,
                         index, home, a.entry, a.on_wire, a.reports);
            assert_false(a.notified >> p & 1);
            // what was on its way may still come
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
        assert_in_range(lanes, 1, MW_LANES);
        assert_int_equal(upper >> 63, 0);
        grant_lanes += lanes;
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
    // Results that came, against the rows that GRANTs have named.
    void see_results(unsigned p)
    {
        if (fell[p])
            results_came[p].clear();
        auto &order = granted[p][p];
        while (!results_came[p].empty() && rows_done[p] < order.size()) {
            const asked &a = reductions[order[rows_done[p]]];
            const result_expected &r = a.packets[packets_done[p]];
            const bytes &got = results_came[p].front().first;
            const mw_header h = tb::header_of(got);
            const bool poisoned = h.poison || results_came[p].front().second;
            assert_int_equal(h.len, r.len);
            assert_int_equal(got.size(), 16 + r.payload.size());
            const bool excused = poisoned && !r.bad &&
                                 std::any_of(a.members.begin(), a.members.end(),
                                             [&](auto &m) { return fell[m.first]; });
            stood_in += excused;
            if (!excused)
                assert_int_equal(poisoned, r.bad);
            if (!poisoned)
                assert_memory_equal(&got[16], r.payload.data(), r.payload.size());
            results_came[p].pop_front();
            if (++packets_done[p] == a.packets.size()) {
                packets_done[p] = 0;
                rows_done[p]++;
            }
        }
    }
    // Everything that could be opened was, and in one order; nothing is left over.
    void check_rows()
    {
        for (const asked &a : reductions) {
            const bool due = a.entry && a.on_wire == a.reports && !fell[a.home];
            uint32_t must = due ? 1u << a.home : 0;
            for (const auto &m : a.members)
                must |= due && !fell[m.first] ? 1u << m.first : 0;
            if (fell[a.home] || std::any_of(a.members.begin(), a.members.end(),
                                            [&](const auto &m) { return fell[m.first]; }))
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

    // Queues p at src and notes what must come of it. Returns the code with which the
    // switch rejects it.
    unsigned send(unsigned src, packet p, fault how = WHOLE, int link_cls = -1)
    {
        const unsigned cls = link_cls < 0 ? p.h.cls : static_cast<unsigned>(link_cls);
        if (cls == MW_CLS_REQ)
            p.h.addr = next_id++;
        if (how == SHORT_BY_ONE && tb::encode(p, f).flits() == 1)
            return ~0u; // nothing would be left of it
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
            const uint64_t upper = p.h.addr | uint64_t{p.h.target0} << 48;
            ready_packets++;
            for (unsigned i = 0; i < MW_LANES; i++) {
                const uint64_t lane = upper >> MW_LANE_BITS * i;
                if (lane >> 20 & 1)
                    if (unsigned code = report(src, lane >> 15 & 31, lane & 0x7fff,
                                               ports[src].queue[cls].back()))
                        reject(src, code);
            }
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
    // Sends the first `flits` flits of p, is silent for `gap` cycles, and sends the rest.
    // The switch ends it in the gap, as if the next flit were the last, and bad.
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

    // ---- one cycle ----
    void cycle() override
    {
        for (unsigned p = 0; p < n; p++) {
            watch(p);
            if (!silent && !mute[p])
                serve(p);
            if (rules.by_switch && !down[p])
                report_some(p);
            transmit(p);
            give_back(p);
        }
        settle();
        for (unsigned p = 0; p < n; p++) {
            take_credits(p);
            receive(p);
        }
        if (dut.err_valid_o) {
            unsigned p = dut.err_port_o;
            reported[p].emplace_back(now, dut.err_code_o);
            if (faulty[p]) {
                notified[p][dut.err_code_o]++;
            } else {
                auto it = reject_codes[p].find(dut.err_code_o);
                if (it == reject_codes[p].end())
                    fail_msg("port %u: error %u reported and not expected", p, dut.err_code_o);
                reject_codes[p].erase(it);
            }
            reports[p]++;
        }
        while (!error_packets.empty() && error_packets.front().made + error_slack() <= now) {
            check_error(error_packets.front());
            error_packets.pop_front();
        }
        edge();
    }

    void run(unsigned cycles)
    {
        while (cycles--)
            cycle();
    }

    bool quiet()
    {
        if (!dut.idle_o || !dut.links_idle_o)
            return false;
        for (unsigned p = 0; p < n; p++) {
            port &q = ports[p];
            if (down[p])
                continue;
            if ((q.sending && q.gap != NEVER) || !q.returns.empty() || !to_report[p].empty())
                return false;
            for (auto &x : q.queue)
                if (!x.empty())
                    return false;
            for (auto &x : q.part)
                if (!x.empty())
                    return false;
            for (auto &x : q.serve)
                if (!x.empty())
                    return false;
        }
        return true;
    }

    // Runs until nothing is left, then checks that everything came and every credit is back.
    void finish(uint64_t limit = 200000)
    {
        uint64_t end = now + limit;
        unsigned still = 0;
        while (still < 4 && now < end) {
            cycle();
            still = quiet() ? still + 1 : 0;
        }
        if (still < 4)
            complain();
        while (!error_packets.empty())
            cycle();
        if (rules.by_switch)
            check_rows();
        for (unsigned p = 0; p < n; p++) {
            for (unsigned s = 0; s < n; s++) {
                for (unsigned c = 0; c < 3; c++) {
                    auto &list = expect[p][s][c];
                    while (!list.empty() && may_be_lost(p, s, list.front()))
                        lose(list);
                    assert_int_equal(list.size(), 0);
                }
            }
            if (down[p])
                continue;
            assert_int_equal(results[p].size(), 0);
            assert_int_equal(ports[p].store_credits, store_pkts);
            assert_int_equal(ports[p].ctrl_credits, ctrl_pkts);
            assert_int_equal(ports[p].rows_open, 0);
            for (unsigned s = 0; s < n; s++)
                assert_int_equal(ports[p].part_credits[s], part_pkts);
            if (!faulty[p])
                assert_int_equal(ports[p].errors_back != 0, ports[p].rejected != 0);
        }
    }

    /// Downlinks rested as long as ctl_link_wait_i says behind what was sent, but for what started
    /// too soon: a packet of a flit in each of three cycles, and a longest one.
    void check_rate()
    {
        const int64_t wait = dut.ctl_link_wait_i, longest = (16 + 30 + 128) / f + 2;
        for (port &q : ports) {
            int64_t owed = 0;
            uint64_t last = 0;
            for (uint64_t at : q.dn_at) {
                int64_t idle = static_cast<int64_t>(at - last) - 1;
                owed = (owed > idle ? owed - idle : 0) + wait;
                last = at;
                assert_in_range(owed, 0, wait * (longest + 4) + 2);
            }
        }
    }

    uint32_t counter(unsigned p, unsigned i)
    {
        dut.ctl_cnt_port_i = static_cast<uint8_t>(p);
        dut.ctl_cnt_idx_i = static_cast<uint8_t>(i);
        for (int k = 0; k < 3; k++)
            edge();
        return dut.cnt_data_o;
    }
    void check_counters()
    {
        for (unsigned p = 0; p < n; p++) {
            port &q = ports[p];
            for (unsigned c = 0; c < 4; c++) {
                assert_int_equal(counter(p, c), q.up_flits[c]);
                assert_int_equal(counter(p, 4 + c), q.dn_flits[c]);
            }
            assert_int_equal(counter(p, 8), q.up_bytes);
            assert_int_equal(counter(p, 9), q.dn_bytes);
            assert_int_equal(counter(p, 10), q.rejected);
        }
    }
    // ---- monitors ----
    uint64_t monitored_at = 0; // cycle in which the time series began

    void monitor(unsigned classes, unsigned interval)
    {
        dut.ctl_mon_classes_i = static_cast<uint8_t>(classes);
        dut.ctl_mon_interval_i = static_cast<uint16_t>(interval);
        dut.run_i = 1;
        monitored_at = now;
    }
    uint32_t monitor_word(unsigned p, bool series, unsigned word)
    {
        dut.ctl_mon_port_i = static_cast<uint8_t>(p);
        dut.ctl_mon_series_i = series;
        dut.ctl_mon_word_i = static_cast<uint8_t>(word);
        dut.ctl_mon_read_i = 1;
        edge();
        edge();
        dut.ctl_mon_read_i = 0;
        return dut.mon_data_o;
    }
    // Every bin and every sample kept, of a run without ports that went down.
    void check_monitors()
    {
        uint64_t cycles = now - monitored_at, interval = dut.ctl_mon_interval_i;
        dut.run_i = 0;
        for (int i = 0; i < 8; i++)
            edge();
        uint64_t samples = interval > 1 ? (cycles + interval - 1) / interval : 0;
        assert_int_equal(dut.mon_samples_o, samples);
        for (unsigned p = 0; p < n; p++) {
            check_histogram(p);
            if (samples)
                check_series(p, cycles, samples);
        }
    }
    void check_histogram(unsigned p)
    {
        std::map<unsigned, uint64_t> sum;
        for (unsigned c = 0; c < 4; c++)
            for (auto &bin : ports[p].latencies[c])
                if (dut.ctl_mon_classes_i >> c & 1)
                    sum[bin.first] += bin.second;
        for (unsigned b = 0; b < MW_MONITOR_BINS; b++)
            assert_int_equal(monitor_word(p, false, b), sum.count(b) ? sum[b] : 0);
    }
    void check_series(unsigned p, uint64_t cycles, uint64_t samples)
    {
        uint64_t interval = dut.ctl_mon_interval_i, credit = 0, turn = 0;
        std::vector<uint64_t> up(samples), dn(samples);
        for (uint64_t t : ports[p].up_at)
            if (t + latency >= monitored_at && t + latency < monitored_at + cycles)
                up[(t + latency - monitored_at) / interval]++;
        for (uint64_t t : ports[p].dn_at)
            if (t >= monitored_at + latency && t - latency < monitored_at + cycles)
                dn[(t - latency - monitored_at) / interval]++;
        uint64_t first = samples > MW_MONITOR_SAMPLES ? samples - MW_MONITOR_SAMPLES : 0;
        for (uint64_t s = first; s < samples; s++) {
            unsigned at = 2 * (s % MW_MONITOR_SAMPLES);
            uint32_t flits = monitor_word(p, true, at), waits = monitor_word(p, true, at + 1);
            assert_int_equal(flits & 0xffff, up[s]);
            assert_int_equal(flits >> 16, dn[s]);
            credit += waits & 0xffff;
            turn += waits >> 16;
        }
        if (first)
            return;
        assert_int_equal(turn, counter(p, 11));
        assert_int_equal(credit, counter(p, 12));
    }
    void go()
    {
        dut.go_i = 1;
        edge();
        dut.go_i = 0;
        for (auto &q : ports) {
            for (unsigned c = 0; c < 4; c++)
                q.up_flits[c] = q.dn_flits[c] = 0;
            q.up_bytes = q.dn_bytes = q.rejected = q.drops = 0;
            q.first_rx = q.last_rx = q.rx_flits = q.rx_packets = 0;
            q.errors_back = 0;
        }
    }

    static constexpr uint64_t NEVER = UINT64_MAX;

    // Software's two commands.
    void enable(unsigned p)
    {
        dut.enable_i = 1u << p;
        cycle();
        dut.enable_i = 0;
    }
    void disable(unsigned p)
    {
        dut.disable_i = 1u << p;
        cycle();
        dut.disable_i = 0;
    }

  private:
    // A packet queued while one of its ports was down, or not sent when that port went down.
    bool may_be_lost(unsigned dst, unsigned src, const expected &e) const
    {
        return down[dst] || down[src] || up_at[dst] > e.when || up_at[src] > e.when;
    }
    void lose(std::deque<expected> &list)
    {
        list.pop_front();
        lost++;
    }

    // Follows the state of a port: a hub is reset while its port is flushed.
    void watch(unsigned p)
    {
        port &q = ports[p];
        bool is = dut.down_o >> p & 1;
        if (is && !down[p]) {
            down[p] = fell[p] = true;
            to_report[p].clear();
            results_came[p].clear();
            down_at[p] = now;
        }
        if (dut.flush_o >> p & 1) {
            q.store_credits = store_pkts;
            q.ctrl_credits = ctrl_pkts;
            q.part_credits.assign(n, part_pkts);
            q.rows_open = 0;
            q.sending = q.receiving = false;
            q.gap = 0;
            q.returns.clear();
            for (auto &x : q.queue)
                x.clear();
            for (auto &x : q.part)
                x.clear();
            for (auto &x : q.serve)
                x.clear();
            for (unsigned &h : q.held)
                h = 0;
            results[p].clear();
            rules.row[p].open = false;
        }
        if (!is && down[p]) {
            down[p] = false;
            up_at[p] = now;
        }
    }

    void complain()
    {
        for (unsigned p = 0; p < n; p++) {
            port &q = ports[p];
            printf("port %u: store %u ctrl %u rows %u queued %zu %zu %zu results %zu\n", p,
                   q.store_credits, q.ctrl_credits, q.rows_open, q.queue[0].size(),
                   q.queue[1].size(), q.queue[2].size(), results[p].size());
            for (unsigned s = 0; s < n; s++)
                printf("  from %u: expected %zu %zu %zu, to it: partials %zu credits %u rows %zu\n",
                       s, expect[p][s][0].size(), expect[p][s][1].size(), expect[p][s][2].size(),
                       q.part[s].size(), q.part_credits[s], q.serve[s].size());
        }
        fail_msg("nothing more happens: switch idle %d, links idle %d, cycle %llu", dut.idle_o,
                 dut.links_idle_o, static_cast<unsigned long long>(now));
    }

    void drive_none(unsigned p)
    {
        dut.up_valid_i[p] = 0;
        dut.up_last_i[p] = rng() & 1;
        dut.up_err_i[p] = rng() & 1;
        dut.up_cls_i[p] = rng() & 3;
        tb::scramble(dut.up_data_i[p], 8 * f, rng);
        dut.dn_crd_i[p] = 0;
    }

    // A member queues the next partial of the oldest row of some requester.
    void serve(unsigned p)
    {
        port &q = ports[p];
        if (!percent(serve_percent))
            return;
        unsigned r;
        if (!serve_order[p].empty()) {
            size_t i = 0;
            while (i < serve_order[p].size() &&
                   (q.serve[serve_order[p][i]].empty() || q.part[serve_order[p][i]].size() >= 2))
                i++;
            if (i == serve_order[p].size())
                return;
            r = serve_order[p][i];
        } else {
            r = static_cast<unsigned>(rng() % n);
            for (unsigned k = 0; k < n && (q.serve[r].empty() || q.part[r].size() >= 2); k++)
                r = (r + 1) % n;
        }
        if (q.serve[r].empty() || q.part[r].size() >= 2)
            return;
        row &w = q.serve[r].front();
        queue_partial(p, r, w);
        if (w.sent * 128 < w.bytes)
            return;
        if (rules.by_switch)
            reductions[reduction_by_id[w.id]].answered |= 1u << p;
        q.serve[r].pop_front();
    }

    bool start(unsigned p)
    {
        port &q = ports[p];
        if (!percent(start_percent))
            return false;
        unsigned from = static_cast<unsigned>(rng() % (3 + n));
        for (unsigned k = 0; k < 3 + n; k++) {
            unsigned i = (from + k) % (3 + n);
            std::deque<outgoing> &d = i < 3 ? q.queue[i] : q.part[i - 3];
            if (d.empty())
                continue;
            if (i == MW_CLS_CTRL) {
                if (!q.ctrl_credits)
                    continue;
                q.ctrl_credits--;
            } else if (i == MW_CLS_STORE) {
                if (q.store_credits <= spare_store)
                    continue;
                q.store_credits--;
            } else if (i == MW_CLS_REQ) {
                if (q.rows_open == open_rows && !rules.by_switch)
                    continue;
                const mw_header h = tb::header_of(d.front().wire.data);
                if (!rules.by_switch && h.len && d.front().wire.data.size() >= MW_HEADER_BYTES)
                    q.rows_open++;
            } else {
                if (!q.part_credits[i - 3])
                    continue;
                q.part_credits[i - 3]--;
            }
            q.current = d.front();
            d.pop_front();
            q.sending = true;
            q.at = 0;
            q.gap = q.current.stop ? q.current.gap : 0;
            const mw_header h = tb::header_of(q.current.wire.data);
            if (q.current.cls == MW_CLS_STORE || q.current.cls == MW_CLS_PART)
                q.up_bytes += h.len & 255;
            return true;
        }
        return false;
    }

    void transmit(unsigned p)
    {
        port &q = ports[p];
        drive_none(p);
        if (dut.flush_o >> p & 1)
            return;
        if (!q.sending && !start(p))
            return;
        if (q.gap && q.at == q.current.stop) {
            q.gap -= q.gap != NEVER;
            return;
        }
        const tb::wire &w = q.current.wire;
        dut.up_valid_i[p] = 1;
        dut.up_last_i[p] = w.last(q.at);
        dut.up_err_i[p] = w.marked(q.at);
        dut.up_cls_i[p] = static_cast<uint8_t>(q.current.cls);
        memcpy(&dut.up_data_i[p], w.at(q.at), f);
        q.up_flits[q.current.cls]++;
        q.up_at.push_back(now);
        if (q.at == 0)
            q.began[q.current.cls].push_back(now);
        q.sending = !w.last(q.at++);
        if (!q.sending)
            for (size_t r : q.current.reports)
                reductions[r].on_wire++;
    }

    void give_back(unsigned p)
    {
        port &q = ports[p];
        if (!sink[p])
            return;
        unsigned given = 0;
        for (auto it = q.returns.begin(); it != q.returns.end() && it->first <= now;) {
            if ((given | refuse[p]) >> it->second & 1) {
                ++it;
                continue;
            }
            given |= 1u << it->second;
            q.held[it->second]--;
            it = q.returns.erase(it);
        }
        dut.dn_crd_i[p] = static_cast<uint8_t>(given);
    }

    void take_credits(unsigned p)
    {
        port &q = ports[p];
        unsigned c = dut.up_crd_cls_o[p];
        if (dut.flush_o >> p & 1)
            return;
        assert_int_equal(c >> MW_CLS_REQ & 1, 0);
        if (c >> MW_CLS_CTRL & 1)
            q.ctrl_credits++;
        if (c >> MW_CLS_STORE & 1)
            q.store_credits++;
        if (c >> MW_CLS_PART & 1) {
            assert_in_range(dut.up_crd_part_o[p], 0, n - 1);
            q.part_credits[dut.up_crd_part_o[p]]++;
            assert_in_range(q.part_credits[dut.up_crd_part_o[p]], 0, part_pkts);
        }
        assert_in_range(q.ctrl_credits, 0, ctrl_pkts);
        assert_in_range(q.store_credits, 0, store_pkts);
    }

    void receive(unsigned p)
    {
        port &q = ports[p];
        if (dut.flush_o >> p & 1)
            return; // a hub in reset sees nothing
        if (!dut.dn_valid_o[p]) {
            assert_false(q.receiving); // flits of a packet come in consecutive cycles
            return;
        }
        if (!q.receiving) {
            q.rx.clear();
            q.rx_cls = dut.dn_cls_o[p];
            q.rx_began = now;
            q.rx_err = false;
            q.receiving = true;
        }
        assert_int_equal(dut.dn_cls_o[p], q.rx_cls);
        size_t old = q.rx.size();
        q.rx.resize(old + f);
        memcpy(&q.rx[old], &dut.dn_data_o[p], f);
        if (!q.rx_flits)
            q.first_rx = now;
        q.last_rx = now;
        q.rx_flits++;
        q.dn_flits[q.rx_cls]++;
        q.dn_at.push_back(now);
        // a result is marked from the first flit on that is not valid, any other packet
        // in its last one
        assert_true(dut.dn_err_o[p] || !q.rx_err);
        q.rx_err = dut.dn_err_o[p];
        assert_true(dut.dn_last_o[p] || !q.rx_err || q.rx_cls == MW_CLS_PART);
        if (dut.dn_last_o[p]) {
            q.receiving = false;
            q.rx_packets++;
            arrived(p, q.rx_err);
        }
    }

    void arrived(unsigned p, bool err)
    {
        port &q = ports[p];
        unsigned cls = q.rx_cls;
        mw_header h = tb::header_of(q.rx);
        assert_int_equal(h.cls, cls);
        // what was on its way when the port went down may still come
        assert_true(!down[p] || now <= down_at[p] + latency + 64);
        if (cls != MW_CLS_REQ) {
            static const unsigned none = 1;
            unsigned room[4] = {rx_ctrl, rx_store, none, rx_result};
            q.held[cls]++;
            assert_in_range(q.held[cls], 0, room[cls]);
            q.returns.emplace(now + 1 + (credit_delay ? rng() % (credit_delay + 1) : 0), cls);
        }
        if (cls == MW_CLS_STORE || cls == MW_CLS_PART)
            q.dn_bytes += h.len & 255;
        if (on_packet)
            on_packet(p, h);
        if (takes && takes(p, h, err))
            return;
        if (h.opcode == MW_OP_GRANT)
            return grant(p, h);
        if (h.opcode == MW_OP_RESULT && rules.by_switch) {
            assert_int_equal(h.dst, p);
            assert_int_equal(h.epoch, dut.epoch_i);
            results_came[p].emplace_back(q.rx, err);
            return see_results(p);
        }
        if (h.opcode == MW_OP_RESULT)
            return result(p, h, err);
        assert_in_range(h.src, 0, n - 1);
        if (h.opcode == MW_OP_ERROR && h.src == p) {
            q.errors_back++;
            assert_int_equal(h.dst, p);
            error_packets.push_back({p, h.tag, ports[p].rx_began - latency});
            assert_int_equal(q.rx.size(), 16);
            return;
        }
        auto &list = expect[p][h.src][cls];
        while (!list.empty() && may_be_lost(p, h.src, list.front()) &&
               memcmp(list.front().wire.data.data(), q.rx.data(), MW_HEADER_BYTES) != 0)
            lose(list);
        if (list.empty())
            fail_msg("port %u got a packet of class %u, opcode %u from %u that nobody sent to it",
                     p, cls, h.opcode, h.src);
        expected &e = list.front();
        if (err && !e.wire.err && faulty[h.src] && down_at[h.src] != 0) {
            // cut when its port went down
            assert_int_equal(q.rx.size(), e.wire.data.size());
            assert_memory_equal(q.rx.data(), e.wire.data.data(), MW_HEADER_BYTES);
        } else {
            tb::assert_wire(e.wire, q.rx, "a port");
            assert_int_equal(err, e.wire.err);
        }
        note_latency(p, cls, ports[h.src].began[cls][e.number]);
        list.pop_front();
        if (rules.by_switch && h.opcode == MW_OP_DYMULTIMEM_ST && h.stage == MW_STAGE_GATE &&
            h.reduce && !err)
            row_came(p, h);
        if (cls == MW_CLS_REQ)
            q.serve[h.src].push_back({h.addr, h.len, 0});
    }

    // An ERROR packet has the code of the last error before its header was made, which is
    // reported within some cycles of that: behind those of other ports, and then on a short link
    // behind the packet, too.
    struct error_packet {
        unsigned port, code;
        uint64_t made;
    };
    std::deque<error_packet> error_packets;

    unsigned error_slack() const { return 3 + n; }

    void check_error(const error_packet &e)
    {
        unsigned last = MW_HWERR_NONE;
        bool another = false; // was reported about then
        const auto &list = reported[e.port];
        for (auto r = list.rbegin(); r != list.rend() && !last; ++r) {
            const bool later = r->first > e.made + error_slack();
            if (!later && r->second == e.code)
                return;
            if (r->first + error_slack() < e.made)
                last = r->second;
            else
                another |= !later;
        }
        // while a report waits for those of other ports, the port's next error takes its place
        auto it = reject_codes[e.port].find(e.code);
        if (another && it != reject_codes[e.port].end()) {
            reject_codes[e.port].erase(it);
            return;
        }
        fail_msg("port %u was reported %s, and its last error was %s", e.port,
                 tb::error_name(e.code), tb::error_name(last));
    }

    // Of the packet that came, from its first flit, or its request's, at the switch
    // to its own there.
    void note_latency(unsigned p, unsigned cls, uint64_t began)
    {
        unsigned cycles = static_cast<unsigned>(ports[p].rx_began - began) - 2 * latency,
                 bin = cycles;
        if (cycles >= 8) {
            unsigned octave = 31 - static_cast<unsigned>(__builtin_clz(cycles));
            bin = 4 * (octave - 1) + (cycles >> (octave - 2) & 3);
        }
        ports[p].latencies[cls][bin]++;
    }

    void result(unsigned p, const mw_header &h, bool err)
    {
        port &q = ports[p];
        assert_false(results[p].empty());
        result_expected &r = results[p].front();
        assert_int_equal(h.dst, p);
        assert_int_equal(h.len, r.len);
        assert_int_equal(h.epoch, dut.epoch_i);
        assert_int_equal(q.rx.size(), 16 + r.payload.size());
        bool poisoned = h.poison || err;
        bool excused = poisoned && !r.bad &&
                       std::any_of(r.members.begin(), r.members.end(),
                                   [&](unsigned m) { return down[m] || up_at[m] > r.when; });
        stood_in += excused;
        if (!excused)
            assert_int_equal(poisoned, r.bad);
        if (!poisoned)
            assert_memory_equal(&q.rx[16], r.payload.data(), r.payload.size());
        if (r.last_of_row)
            q.rows_open--;
        note_latency(p, MW_CLS_PART, q.began[MW_CLS_REQ][r.number]);
        results[p].pop_front();
    }
};

// The i-th expert on port p, as a target.
static inline uint16_t expert(const hubs &b, unsigned p, unsigned i)
{
    return target(i * b.n + p);
}

#endif
