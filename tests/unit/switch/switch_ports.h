// SPDX-License-Identifier: Apache-2.0
//
// The hubs around a switch: how they behave, what each port has sent and received, the switch's
// tables, and packets of every kind.
#ifndef SWITCH_PORTS_H
#define SWITCH_PORTS_H

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
    std::vector<size_t> reports = {}; // of a READY: the rows of its lanes
};

struct expected {
    tb::wire wire;
    uint64_t when = 0; // it was queued
    size_t number = 0; // index in its source and class
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

// State of a token in a layer in which the switch opens reductions, and the row that it becomes.
struct asked {
    unsigned home = 0, index = 0;
    uint64_t id = 0;
    // required state of the switch's table: own report came first, the row has an entry, missing
    // reports
    bool early = false, entry = false, own = false;
    unsigned left = 0;
    uint32_t reported = 0;                     // with tile reductions: members that have reported
    std::map<unsigned, unsigned> members = {}; // with an entry: experts there
    unsigned reports = 0, on_wire = 0;         // required, and completely sent
    uint32_t notified = 0, answered = 0; // ports that have its GRANT; members that have answered
    std::vector<result_expected> packets = {};
};

struct hub_ports : tb::model<Vswitch_bench> {
    const unsigned n = PARAM_N, f = PARAM_FlitBytes;
    switch_rules rules{n, f};
    unsigned store_pkts, ctrl_pkts, open_rows, part_pkts, rx_store, rx_result, rx_ctrl, max_experts,
        most_window;
    bool part_shared_ram;
    unsigned latency;

    // behaviour of the hubs, in percent or cycles
    unsigned start_percent = 100; // a sender that can start a packet does so
    unsigned credit_delay = 0;    // a credit returns after 0 .. this many cycles
    unsigned spare_store = 0;     // store credits that a sender leaves unused
    unsigned serve_percent = 100; // a member that can queue a partial does so
    unsigned poison_percent = 0;  // partials with the poison bit
    unsigned spoil_percent = 0;   // partials with a link error or a wrong length
    std::vector<bool> sink;       // ports that return no credit while false
    std::vector<unsigned> refuse; // classes (a mask) of which a port returns no credit
    std::vector<bool> mute;       // members that answer no request
    std::vector<bool>
        faulty; // ports that may break rules: what they are reported is counted in reported
    std::vector<std::map<unsigned, unsigned>> notified; // [port], code -> times

    // ports that are down
    std::vector<bool> down;
    std::vector<uint64_t> down_at, up_at; // cycle of the last change, 0: none
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
        unsigned held[4] = {0, 0, 0, 0};           // packets whose credits have not returned
        std::multimap<uint64_t, unsigned> returns; // time -> class
        std::vector<std::deque<row>> serve;        // by requester
        uint64_t first_rx = 0, last_rx = 0, rx_flits = 0, rx_packets = 0, drops = 0;
        uint64_t up_flits[4] = {0, 0, 0, 0}, dn_flits[4] = {0, 0, 0, 0}, up_bytes = 0, dn_bytes = 0,
                 rejected = 0;
        unsigned errors_back = 0;
        // required values of a monitor
        size_t queued[4] = {0, 0, 0, 0};           // packets, by class
        std::vector<uint64_t> began[4];            // cycle of the first flit of each
        uint64_t rx_began = 0;                     // of the packet being received
        std::vector<uint64_t> up_at, dn_at;        // cycles in which a flit was sent, received
        std::map<unsigned, uint64_t> latencies[4]; // of received packets, by class: bin, packets
        std::vector<std::vector<uint8_t>> log;     // classes of received packets, if enabled
    };
    std::vector<port> ports;
    std::vector<std::vector<std::array<std::deque<expected>, 3>>> expect; // [dst][src][class]
    std::vector<std::deque<result_expected>> results;                     // [requester]
    std::vector<std::multiset<unsigned>> reject_codes;                    // [src], not yet reported
    std::vector<unsigned> reports;                                        // [src]
    std::vector<std::vector<std::pair<uint64_t, unsigned>>> reported;     // [src]: when, code
    uint64_t next_id = 1;
    std::function<void(unsigned, const mw_header &)> on_packet;
    // packets of loads, which another model checks
    std::function<bool(unsigned, const mw_header &, bool)> takes;

    // ---- rows that the switch opens ----
    unsigned row_bytes = 0, token_shift = 0;
    bool auto_report = true;       // members and home send their reports automatically
    unsigned report_delay = 20;    // within this number of cycles
    unsigned forget_percent = 0;   // reports that never come
    std::vector<asked> reductions; // of this layer
    std::map<std::pair<unsigned, unsigned>, size_t> reduction_of; // by home and index
    std::map<uint64_t, size_t> reduction_by_id;
    std::vector<std::map<unsigned, unsigned>> row_list; // [src]: targets of the open row, by port
    // [port]: reports by the time from which they may go. Then lanes of its GRANTs by home. Then
    // its own rows that have given results, and packets of the next one.
    std::vector<std::multimap<uint64_t, std::pair<unsigned, unsigned>>> to_report;
    std::vector<std::vector<std::vector<size_t>>> granted;
    std::vector<size_t> rows_done, packets_done;
    std::vector<std::deque<std::pair<bytes, bool>>> results_came;
    std::vector<bool> fell; // was down since go
    unsigned ready_packets = 0, grant_packets = 0, grant_lanes = 0, most_open = 0, left_out = 0;

    explicit hub_ports(unsigned link_latency) : latency(link_latency)
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
    // Assigns experts to the ports in turn, and sets groups. 0: all, 1: even ports, 2: the last two
    // ports.
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

    packet reduction(unsigned src, unsigned len, const std::vector<uint16_t> &targets)
    {
        packet p = make(MW_OP_DYMULTIMEM_LD_REDUCE, src, 0);
        p.h.len = len;
        p.set_targets(targets);
        return p;
    }

    // ---- reductions ----
    // The contents of a partial are a function of {member, requester, row, packet}, so both sides
    // can compute them.
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

    // The two commands of software.
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

    void drive_none(unsigned p)
    {
        dut.up_valid_i[p] = 0;
        dut.up_last_i[p] = rng() & 1;
        dut.up_err_i[p] = rng() & 1;
        dut.up_cls_i[p] = rng() & 3;
        tb::scramble(dut.up_data_i[p], 8 * f, rng);
        dut.dn_crd_i[p] = 0;
    }
};

#endif
