// SPDX-License-Identifier: Apache-2.0
//
// The wires between a switch and its hubs, cycle by cycle: flits, credits, errors, and each packet
// that arrives.
#ifndef SWITCH_WIRES_H
#define SWITCH_WIRES_H

#include "switch_expect.h"

struct hub_wires : hub_rows {
    using hub_rows::hub_rows;

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

    // Follows the state of a port. A hub is reset while its port is flushed.
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
        // a result is marked from its first invalid flit on, any other packet only in its last flit
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
        // packets on their way when the port went down may still arrive
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
            fail_msg("port %u got a packet of class %u, opcode %u from %u that was not sent to it",
                     p, cls, h.opcode, h.src);
        expected &e = list.front();
        if (err && !e.wire.err && faulty[h.src] && down_at[h.src] != 0) {
            // truncated when its port went down
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

    // An ERROR packet has the code of the last error before its header was made. That error is
    // reported within some cycles of this time, after those of other ports. On a short link it may
    // even be reported after the packet.
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

    // Latency of the received packet, from its first flit, or that of its request, to its own at
    // the switch.
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
        assert_int_equal(h.epoch, dut.epoch_i);
        check_result(q.rx, err, r, std::any_of(r.members.begin(), r.members.end(), [&](unsigned m) {
                         return down[m] || up_at[m] > r.when;
                     }));
        if (r.last_of_row)
            q.rows_open--;
        note_latency(p, MW_CLS_PART, q.began[MW_CLS_REQ][r.number]);
        results[p].pop_front();
    }
};

#endif
