// SPDX-License-Identifier: Apache-2.0
//
// Model of the hubs around a switch: what must hold at the end of a test, rates, counters and
// monitors. Tests of switch_top share it.
#ifndef SWITCH_MODEL_H
#define SWITCH_MODEL_H

#include "switch_wires.h"

struct hubs : hub_wires {
    using hub_wires::hub_wires;

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
            auto some = [](const auto &lists) {
                return std::any_of(std::begin(lists), std::end(lists),
                                   [](const auto &x) { return !x.empty(); });
            };
            if (some(q.queue) || some(q.part) || some(q.serve))
                return false;
        }
        return true;
    }

    // Runs until nothing is left. Then checks that everything arrived and every credit has
    // returned.
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

    /// Downlinks were idle for as long as ctl_link_wait_i requires after each flit. Packets that
    /// started too soon are excepted: a packet of one flit in each of three cycles, and a longest
    /// one.
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
    uint64_t monitored_at = 0; // first cycle of the time series

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
    // Every bin and every stored sample of a run in which no port went down.
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
};

/// A switch whose ports have equal numbers of experts, and the groups of usual_tables.
inline std::unique_ptr<hubs> bench(unsigned latency = 1)
{
    auto b = std::make_unique<hubs>(latency);
    b->usual_tables();
    return b;
}

inline std::vector<uint16_t> shuffled(hubs &b, std::vector<uint16_t> t)
{
    std::shuffle(t.begin(), t.end(), b.rng);
    return t;
}

inline void request(hubs &b, unsigned s, unsigned len, const std::vector<uint16_t> &t)
{
    assert_int_equal(b.send(s, b.reduction(s, len, t)), MW_HWERR_NONE);
}

// The i-th expert on port p, as a target.
inline uint16_t expert(const hubs &b, unsigned p, unsigned i)
{
    return target(i * b.n + p);
}

#endif
