// SPDX-License-Identifier: Apache-2.0
//
// Counters, histograms and time series of a switch's ports. Each event of a layer counts once, and
// no event of the previous layer counts.

#include "switch_parts.h"

namespace {
// ---- port_counters, monitor_port, switch_monitor ----
struct counted : parts {
    uint64_t counts[N][15] = {};
    unsigned left[N][2] = {};
    bool first[N][2] = {}, quiet = false, runs = false;
    bool leaves = false; // packets leave although everything else is quiet
    unsigned interval = 0, in_interval = 0, classes = 15;
    std::map<unsigned, uint64_t> bins[N];
    std::vector<std::array<unsigned, 4>> samples[N];
    std::array<unsigned, 4> sum[N] = {};
    bool go = false, ran = false;

    void drive() override
    {
        parts::drive();
        dut.go_i = go;
        dut.run_i = runs;
        dut.ctl_mon_interval_i = static_cast<uint16_t>(interval);
        dut.ctl_mon_classes_i = static_cast<uint8_t>(classes);
        dut.ctl_mon_read_i = 0;
        for (unsigned p = 0; p < N; p++) {
            dut.events_i[p] =
                quiet ? 0 : static_cast<uint8_t>(rng.bits(5) | (percent(60) ? 31 : 0));
            dut.link_valid_i[p] = quiet ? 0 : static_cast<uint8_t>(rng.bits(2) | rng.bits(2));
            // a header, and no more bytes than its flits have
            unsigned len = dut.link_len_i[p], last = 0;
            for (unsigned d = 0; d < 2; d++) {
                if (!(dut.link_valid_i[p] >> d & 1))
                    continue;
                if (!left[p][d]) {
                    const unsigned bytes = below(129);
                    left[p][d] = 1 + (bytes + 15) / 16;
                    len = (len & ~(255u << 8 * d)) | bytes << 8 * d;
                }
                last |= (--left[p][d] == 0) << d;
            }
            dut.link_len_i[p] = static_cast<uint16_t>(len);
            dut.link_last_i[p] = static_cast<uint8_t>(last);
        }
        if (quiet && !leaves)
            dut.leave_i = 0;
        for (unsigned p = 0; p < N; p++) // mostly short
            if (percent(80))
                dut.leave_stamp_i[p] =
                    (dut.common_now_o - static_cast<uint32_t>(rng.bits(below(17)))) & 0x1ffff;
    }
    void sample() override
    {
        const bool counts_now = runs && interval > 1;
        SAME(dut.common_now_o, now & ((1u << MW_MONITOR_STAMP_BITS) - 1));
        for (unsigned p = 0; p < N; p++) {
            for (unsigned d = 0; d < 2; d++) {
                if (!(dut.link_valid_i[p] >> d & 1))
                    continue;
                const unsigned cls = dut.link_cls_i[p] >> 2 * d & 3;
                counts[p][4 * d + cls]++;
                if (first[p][d] && (cls == MW_CLS_STORE || cls == MW_CLS_PART))
                    counts[p][8 + d] += dut.link_len_i[p] >> 8 * d & 255;
                first[p][d] = dut.link_last_i[p] >> d & 1;
            }
            for (unsigned e = 0; e < 5; e++)
                counts[p][10 + e] += dut.events_i[p] >> e & 1;
            if (dut.leave_i >> p & 1 && classes >> dut.leave_cls_i[p] & 1) {
                const unsigned latency = (dut.common_now_o + 2 - dut.leave_stamp_i[p]) &
                                         ((1u << MW_MONITOR_STAMP_BITS) - 1);
                unsigned bin = latency;
                if (latency >= 8) { // four bins per octave
                    const unsigned octave = 31 - static_cast<unsigned>(__builtin_clz(latency));
                    bin = 4 * (octave - 1) + (latency >> (octave - 2) & 3);
                }
                bins[p][bin]++;
            }
            if (counts_now) {
                sum[p][0] += dut.link_valid_i[p] & 1;
                sum[p][1] += dut.link_valid_i[p] >> 1 & 1;
                sum[p][2] += dut.events_i[p] >> 2 & 1;
                sum[p][3] += dut.events_i[p] >> 1 & 1;
            }
        }
        in_interval += counts_now;
        if ((counts_now && in_interval == interval) || (ran && !runs && in_interval)) {
            for (unsigned p = 0; p < N; p++) {
                samples[p].push_back(sum[p]);
                sum[p] = {};
            }
            in_interval = 0;
        }
        ran = runs;
        if (dut.go_i) {
            memset(counts, 0, sizeof counts);
            for (unsigned p = 0; p < N; p++) {
                first[p][0] = first[p][1] = true;
                left[p][0] = left[p][1] = 0;
                bins[p].clear();
                samples[p].clear();
                sum[p] = {};
            }
            in_interval = 0;
        }
    }
    void layer_begins()
    {
        quiet = true;
        cycles(5);
        leaves = false;
        go = true;
        cycle();
        go = false;
        runs = true;
        quiet = false;
    }
    void layer(unsigned cycles_of_it)
    {
        layer_begins();
        cycles(cycles_of_it);
        runs = false;
        quiet = true;
        cycles(8);
    }
    // A layer without an end: its port is reset, or another layer begins.
    void cut_layer(unsigned cycles_of_it, bool by_reset)
    {
        layer_begins();
        cycles(cycles_of_it);
        quiet = true;
        leaves = !by_reset;
        if (!by_reset)
            return;
        runs = ran = false;
        reset();
    }
    void same_counters(unsigned p)
    {
        for (unsigned i = 0; i < 15; i++)
            SAME(counter(p, i), counts[p][i]);
    }
    void same_bins(unsigned p)
    {
        for (unsigned i = 0; i < MW_MONITOR_BINS; i++)
            SAME(word(p, false, i), bins[p].count(i) ? bins[p][i] : 0);
    }
    uint64_t counter(unsigned p, unsigned i)
    {
        for (unsigned k = 0; k < 3; k++) {
            drive();
            dut.ctl_cnt_port_i = static_cast<uint8_t>(p);
            dut.ctl_cnt_idx_i = static_cast<uint8_t>(i);
            settle();
            edge();
        }
        return dut.cnt_data_o;
    }
    uint32_t word(unsigned p, bool series, unsigned i)
    {
        drive();
        dut.ctl_mon_port_i = static_cast<uint8_t>(p);
        dut.ctl_mon_series_i = series;
        dut.ctl_mon_word_i = static_cast<uint8_t>(i);
        dut.ctl_mon_read_i = 1;
        settle();
        edge();
        settle();
        edge();
        return dut.mon_data_o;
    }
};
} // namespace

TEST(port_counters)
{
    counted b;
    uint32_t lows = 0; // the low five bits have a code of their own, of which each word is met
    auto read_all = [&] {
        for (unsigned p = 0; p < N; p++) {
            b.same_counters(p);
            for (unsigned i = 0; i < 15; i++)
                if (i != 8 && i != 9) // numbers of bytes have none
                    lows |= 1u << (b.counts[p][i] & 31);
        }
    };
    for (unsigned n : {1u, 40u, 3000u, 9000u}) {
        b.layer(n);
        read_all();
        for (unsigned p = N; p < 32; p++) // not there
            SAME(b.counter(p, p % 15), 0U);
    }
    for (unsigned n = 0; n < 100 && ~lows; n++) {
        b.layer(1 + b.below(60));
        read_all();
    }
    SAME(lows, ~0u);
}

TEST(monitor_port)
{
    counted b;
    for (unsigned n : {1u, 500u, 4000u}) {
        b.classes = static_cast<unsigned>(b.rng.bits(4));
        b.layer(n);
        for (unsigned p = 0; p < N; p++)
            b.same_bins(p);
    }
}

static void same_series(counted &b)
{
    const size_t taken = b.samples[0].size();
    SAME(b.dut.mon_samples_o, taken);
    for (unsigned p = 0; p < N; p++)
        for (size_t s = taken > MW_MONITOR_SAMPLES ? taken - MW_MONITOR_SAMPLES : 0; s < taken;
             s++) {
            const unsigned at = 2 * (s % MW_MONITOR_SAMPLES);
            const auto &must = b.samples[p][s];
            SAME(b.word(p, true, at), must[0] | must[1] << 16);
            SAME(b.word(p, true, at + 1), must[2] | must[3] << 16);
        }
}

TEST(switch_monitor)
{
    counted b;
    for (unsigned interval : {0u, 1u, 2u, 3u, 17u, 250u, 9000u, 0xffffu}) {
        const unsigned length = interval < 500 ? 1000 : 2 * interval - 7;
        b.interval = interval;
        b.layer(length);
        SAME(b.samples[0].size(), interval > 1 ? (length + interval - 1) / interval : 0);
        same_series(b);
    }
}

// Counters, histogram and first sample after an aborted layer, which ended inside an interval. They
// contain only the new layer.
TEST(layers_behind_one_that_was_cut_off)
{
    counted b;
    for (unsigned i = 0; i < 12; i++) {
        b.interval = b.rng.pick({2u, 17u, 250u});
        b.classes = static_cast<unsigned>(b.rng.bits(4));
        b.cut_layer(1 + b.below(400), i % 2);
        if (i % 2)
            b.interval = b.rng.pick({17u, 250u});
        b.layer(1 + b.below(600));
        same_series(b);
        for (unsigned p = 0; p < N; p++) {
            b.same_bins(p);
            b.same_counters(p);
        }
    }
}
