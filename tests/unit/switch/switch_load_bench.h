// SPDX-License-Identifier: Apache-2.0
//
// GPUs that load rows of others through the switch, and homes that answer. The bench predicts what
// each load, FETCH and answer must become.
#ifndef SWITCH_LOAD_BENCH_H
#define SWITCH_LOAD_BENCH_H

#include "switch_model.h"

constexpr unsigned TOKENS = 1u << PARAM_TokensLog2, WINDOW = PARAM_OpenLoads,
                   SYNCS = PARAM_OpenSyncs;
using lane = std::pair<unsigned, unsigned>; // home, and index of a row or number of a part

struct loads {
    std::unique_ptr<hubs> b = bench();
    const unsigned n = b->n;
    unsigned first = 0, rows = 0, tile = 4, entries = PARAM_MergeEntries, merged = 100;
    unsigned parts = 0; // log2 of those of a row
    bool sync = true, keep = false;
    unsigned serve = 100; // percent of the cycles in which a home queues a packet if it can

    struct wanted { // a row or part, at its reader
        bool open = false, done = false;
        unsigned bytes = 0, spoilt = 0; // spoilt: packets with the poison bit or a link error
    };
    struct fetch {
        unsigned index, who, byte;
    };
    struct gpu {
        std::map<lane, wanted> row;
        std::deque<lane> to_load;
        unsigned next = 0, synced = 0, granted = 0, open = 0; // in the order of tiles
        std::deque<fetch> fetches;
        unsigned fetched = 0, asked = 0;
        std::set<lane> grants;
    };
    std::vector<gpu> gpus = std::vector<gpu>(n);
    bool silent = false;
    bool spoils = false; // answers may be poisoned or truncated

    loads()
    {
        b->usual_tables();
        b->takes = [this](unsigned p, const mw_header &h, bool err) { return arrived(p, h, err); };
    }

    void layer(unsigned row_bytes)
    {
        b->auto_report = false;
        b->dut.ctl_merge_loads_i = 1;
        first = b->rng.below(TOKENS / 4);
        b->dut.ctl_load_first_i = static_cast<uint16_t>(first);
        b->dut.ctl_load_entries_i = static_cast<uint16_t>(entries);
        b->dut.ctl_load_keep_i = keep;
        b->dut.ctl_load_parts_i = static_cast<uint8_t>(parts);
        b->dut.ctl_fetch_cycles_i = static_cast<uint16_t>(b->rng.pick({0u, 12u, 50u}));
        b->spare_store = keep ? 4 : 0;
        b->layer(true, row_bytes, true);
        rows = std::min((1u << b->token_shift) - first, 40u);
        gpus.assign(n, {});
    }

    // ---- rows, and their parts ----
    unsigned load_shift() const { return b->rules.row_shift - parts; }
    unsigned load_bytes() const { return parts ? 1u << load_shift() : b->row_bytes; }
    unsigned row_loads() const { return parts ? ((b->row_bytes - 1) >> load_shift()) + 1 : 1; }
    unsigned all_loads() const { return rows * (n - 1) * row_loads(); }
    void push_tile(unsigned p, unsigned home, unsigned index)
    {
        for (unsigned k = index; home != p && k < std::min(index + tile, first + rows); k++)
            for (unsigned i = 0; i < row_loads(); i++)
                gpus[p].to_load.push_back({home, k << parts | i});
    }

    // ---- packets ----
    void raw(unsigned src, const packet &p)
    {
        const unsigned cls = p.h.cls;
        b->ports[src].queue[cls].push_back({tb::encode(p, b->f), cls});
        b->ports[src].queued[cls]++;
    }
    packet ld(unsigned src, const std::vector<lane> &lanes, bool merge = true)
    {
        packet p = b->ready(src, lanes);
        p.h.opcode = MW_OP_LD;
        p.h.own = merge;
        return p;
    }
    uint8_t content(unsigned home, unsigned index, unsigned byte) const
    {
        return static_cast<uint8_t>(home * 89 + index * 31 + byte * 7 + byte / 128);
    }
    packet answer(unsigned home, const fetch &f, unsigned len)
    {
        packet p = b->make(MW_OP_LD_RESP, home, 0);
        p.h.stage = MW_STAGE_DISPATCH;
        p.h.addr = uint64_t{f.index} << load_shift() | f.byte;
        p.h.target0 = f.who;
        p.h.len = len;
        for (unsigned i = 0; i < len; i++)
            p.payload.push_back(content(home, f.index, f.byte + i));
        return p;
    }
    unsigned packet_bytes(const fetch &f) const { return std::min(128u, load_bytes() - f.byte); }

    // ---- what comes ----
    bool arrived(unsigned p, const mw_header &h, bool err)
    {
        if (h.opcode == MW_OP_FETCH)
            return fetched(p, h);
        if (h.opcode == MW_OP_LD_RESP)
            return answered(p, h, err);
        return h.opcode == MW_OP_GRANT && granted(p, h);
    }
    bool fetched(unsigned p, const mw_header &h)
    {
        gpu &g = gpus[p];
        assert_int_equal(h.src, p);
        assert_int_equal(h.dst, p);
        assert_int_equal(h.epoch, b->rules.epoch);
        assert_int_equal(h.len | h.cnt | h.stage | h.tag | h.poison, 0);
        assert_true(h.addr >> parts >= first && h.addr >> parts < 1u << b->token_shift);
        g.fetches.push_back({static_cast<unsigned>(h.addr), h.target0, 0});
        g.fetched++;
        assert_in_range(g.fetches.size(), 1, (n - 1) * WINDOW);
        return true;
    }
    bool answered(unsigned p, const mw_header &h, bool err)
    {
        gpu &g = gpus[p];
        const unsigned index = static_cast<unsigned>(h.addr >> load_shift());
        auto it = g.row.find({h.src, index});
        assert_true(it != g.row.end() && it->second.open);
        wanted &w = it->second;
        assert_int_equal(h.addr & ((1u << load_shift()) - 1), w.bytes);
        assert_int_equal(b->ports[p].rx.size(), MW_HEADER_BYTES + (h.len + b->f - 1) / b->f * b->f);
        assert_true(spoils || (!err && !h.poison));
        w.spoilt += err || h.poison;
        for (unsigned i = 0; i < h.len && !err && !h.poison; i++)
            assert_int_equal(b->ports[p].rx[MW_HEADER_BYTES + i],
                             content(h.src, index, w.bytes + i));
        w.bytes += h.len;
        if (w.bytes == load_bytes()) {
            w.open = false;
            w.done = true;
            g.open--;
        }
        return true;
    }
    // Checks that all lanes are of tiles.
    bool granted(unsigned p, const mw_header &h)
    {
        for (const auto &[home, index] : lanes_of(h)) {
            assert_true(index >= first);
            assert_true(gpus[p].grants.insert({home, index}).second);
            for (unsigned q = 0; q < n; q++) // all have reported it
                assert_true(place(home, index) < gpus[q].next);
            gpus[p].granted++;
            push_tile(p, home, index);
        }
        return true;
    }

    // ---- what GPUs do ----
    unsigned tiles() const { return (rows + tile - 1) / tile * n; }
    unsigned place(unsigned home, unsigned index) const
    {
        return (index - first) / tile * n + home;
    }
    lane tile_at(unsigned at) const { return {at % n, first + at / n * tile}; }

    void report(unsigned p)
    {
        gpu &g = gpus[p];
        if (g.next == tiles() || b->ports[p].queue[MW_CLS_CTRL].size() > 3 || !b->percent(30))
            return;
        if (!sync) {
            const auto [home, index] = tile_at(g.next++);
            push_tile(p, home, index);
            return;
        }
        std::vector<lane> some;
        while (g.next < tiles() && some.size() < MW_LANES && g.next - g.granted < SYNCS)
            some.push_back(tile_at(g.next++));
        if (!some.empty())
            raw(p, b->ready(p, some));
    }
    void ask(unsigned p)
    {
        gpu &g = gpus[p];
        if (g.to_load.empty() || b->ports[p].queue[MW_CLS_CTRL].size() > 3 || !b->percent(40))
            return;
        std::vector<lane> some;
        while (!g.to_load.empty() && some.size() < MW_LANES && g.open < WINDOW) {
            some.push_back(g.to_load.front());
            g.row[g.to_load.front()].open = true;
            g.to_load.pop_front();
            g.open++;
            g.asked++;
        }
        if (!some.empty())
            raw(p, ld(p, some, b->percent(merged)));
    }
    void serve_fetches(unsigned p)
    {
        gpu &g = gpus[p];
        if (g.fetches.empty() || silent || b->ports[p].queue[MW_CLS_STORE].size() > 3 ||
            !b->percent(serve))
            return;
        fetch &f = g.fetches.front();
        const unsigned len = packet_bytes(f);
        raw(p, answer(p, f, len));
        f.byte += len;
        if (f.byte == load_bytes())
            g.fetches.pop_front();
    }
    bool all_done() const
    {
        for (unsigned p = 0; p < n; p++) {
            if (b->down[p])
                continue;
            const gpu &g = gpus[p];
            if (g.next < tiles() || (sync && g.granted < tiles()) || !g.to_load.empty() || g.open ||
                !g.fetches.empty())
                return false;
        }
        return true;
    }
    void step()
    {
        for (unsigned p = 0; p < n; p++) {
            report(p);
            ask(p);
            serve_fetches(p);
        }
        b->cycle();
    }
    void load_all(uint64_t limit = 400000)
    {
        const uint64_t end = b->now + limit;
        while (!all_done() && b->now < end)
            step();
        assert_true(all_done());
        b->finish();
        for (unsigned p = 0; p < n; p++) {
            unsigned done = 0;
            for (const auto &r : gpus[p].row)
                done += r.second.done;
            assert_int_equal(done, all_loads());
            assert_int_equal(gpus[p].granted, sync ? tiles() : 0);
        }
        check();
    }
    uint32_t count(unsigned p, unsigned i)
    {
        b->dut.ctl_cnt_loads_i = 1;
        const uint32_t c = b->counter(p, i);
        b->dut.ctl_cnt_loads_i = 0;
        return c;
    }
    void check()
    {
        for (unsigned p = 0; p < n; p++) {
            assert_int_equal(count(p, 0), all_loads());
            assert_int_equal(count(p, 1), gpus[p].fetched);
            assert_in_range(gpus[p].fetched, rows * row_loads(), all_loads());
            assert_in_range(count(p, 2), 0, gpus[p].fetched);
            assert_in_range(count(p, 7), 0, keep ? all_loads() - gpus[p].fetched : 0);
            assert_in_range(count(p, 4), 0, std::min(entries, unsigned{PARAM_MergeEntries}));
            if (!entries || !merged)
                assert_int_equal(count(p, 2), all_loads());
        }
        b->check_counters();
    }

    // The error that port src gets for a packet.
    void wrong(unsigned code, unsigned src, const packet &p)
    {
        const std::vector<unsigned> before = b->reports;
        if (code)
            b->reject(src, code);
        raw(src, p);
        b->cycles(200);
        for (unsigned q = 0; q < n; q++)
            assert_int_equal(b->reports[q] - before[q], q == src && code);
    }
};

#endif
