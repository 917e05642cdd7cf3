// SPDX-License-Identifier: Apache-2.0
//
// Rows that GPUs load through the switch: every GPU loads every row of the others, or each part of
// it, with and without SYNC, beside sums of other rows and stores; homes answer as slowly as they
// like; each error by name; a reader and a home that go down. Linked into the tests of switch_top.

#include "switch_model.h"

#if PARAM_MergeLoads

namespace {
constexpr unsigned TOKENS = 1u << PARAM_TokensLog2, WINDOW = PARAM_OpenLoads,
                   SYNCS = PARAM_OpenSyncs;
using lane = std::pair<unsigned, unsigned>; // home, and index of a row or number of a part

struct loads {
    std::unique_ptr<hubs> b = std::make_unique<hubs>(1);
    const unsigned n = b->n;
    unsigned first = 0, rows = 0, tile = 4, entries = PARAM_MergeEntries, merged = 100;
    unsigned parts = 0; // log2 of those of a row
    bool sync = true, keep = false;
    unsigned serve = 100; // percent of the cycles in which a home could queue a packet and does

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
    bool spoils = false; // answers may be poisoned or cut

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
    unsigned row_loads() const { return parts ? (b->row_bytes - 1 >> load_shift()) + 1 : 1; }
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
    // Lanes of tiles; the packet may have lanes of sums, too.
    bool granted(unsigned p, const mw_header &h)
    {
        const uint64_t upper = h.addr | uint64_t{h.target0} << 48;
        bool sums = false;
        for (unsigned i = 0; i < MW_LANES; i++) {
            const uint64_t l = upper >> MW_LANE_BITS * i;
            const unsigned home = l >> 15 & 31, index = l & 0x7fff;
            if (!(l >> 20 & 1))
                continue;
            if (index < first) {
                sums = true;
                continue;
            }
            assert_true(gpus[p].grants.insert({home, index}).second);
            for (unsigned q = 0; q < n; q++) // all have reported it
                assert_true(place(home, index) < gpus[q].next);
            gpus[p].granted++;
            push_tile(p, home, index);
        }
        assert_false(sums);
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

    // What port src is reported for a packet.
    void wrong(unsigned code, unsigned src, const packet &p)
    {
        const std::vector<unsigned> before = b->reports;
        if (code)
            b->reject(src, code);
        raw(src, p);
        b->run(200);
        for (unsigned q = 0; q < n; q++)
            assert_int_equal(b->reports[q] - before[q], q == src && code);
    }
};
} // namespace

TEST(loads_are_answered)
{
    loads l;
    for (unsigned k = 0; k < 8; k++) {
        l.sync = k % 2;
        l.entries = l.b->rng.pick({0u, 1u, 3u, 511u});
        l.merged = l.b->rng.pick({100u, 100u, 60u, 0u});
        l.tile = l.b->rng.between(1, 5);
        l.serve = l.b->rng.pick({100u, 20u});
        l.keep = l.b->percent(50);
        l.b->credit_delay = l.b->rng.pick({0u, 100u});
        l.b->start_percent = l.b->rng.pick({100u, 60u});
        l.layer(l.b->f * l.b->rng.between(1, 128 / l.b->f * (l.keep ? 8 : 2)));
        l.load_all();
    }
}

// Each part of a row has a load, a fetch and an answer of its own. Numbers of parts before the
// first row, or behind the last, are those of no row.
TEST(parts_of_rows_are_loaded)
{
    loads l;
    for (unsigned k = 0; k < 4; k++) {
        l.sync = k % 2;
        l.parts = 1 + k / 2;
        l.tile = l.b->rng.between(1, 5);
        l.keep = l.b->percent(50);
        l.serve = l.b->rng.pick({100u, 20u});
        const unsigned bytes = 128u << l.b->rng.below(2), left = l.b->rng.below(l.parts);
        l.layer((bytes << l.parts) - left * bytes);
        l.rows = std::min(l.rows, 12u);
        l.load_all();
        l.wrong(MW_HWERR_BOUNDS, 1, l.ld(1, {{0, 1u << (l.b->token_shift + l.parts)}}));
        if (l.first)
            l.wrong(MW_HWERR_BOUNDS, 1, l.ld(1, {{0, (l.first << l.parts) - 1}}));
    }
}

TEST(loads_that_wait_share_one_fetch)
{
    loads l;
    l.layer(256);
    l.silent = true;
    const unsigned home = l.n - 1;
    for (unsigned p = 0; p < home; p++) {
        std::vector<lane> lanes;
        for (unsigned k = 0; k < MW_LANES; k++) {
            lanes.push_back({home, l.first + k});
            l.gpus[p].row[lanes.back()].open = true;
        }
        l.gpus[p].open = MW_LANES;
        l.raw(p, l.ld(p, lanes));
    }
    l.b->run(300);
    assert_int_equal(l.gpus[home].fetched, MW_LANES);
    l.silent = false;
    while (!l.gpus[home].fetches.empty())
        l.b->cycle(), l.serve_fetches(home);
    l.b->finish();
    assert_int_equal(l.gpus[home].fetched, MW_LANES);
    for (unsigned p = 0; p < home; p++)
        assert_int_equal(l.gpus[p].open, 0);
}

#ifdef PARAM_MergeKeep
namespace {
/// Loads of single rows of one home, whose answers stay.
struct kept_loads : loads {
    static constexpr unsigned HOME = 0;
    const unsigned places =
        std::min(unsigned{PARAM_MergeKeep} >> 10, unsigned{PARAM_KeepRows}); // rows 1 KB apart

    kept_loads() { keep = true; }
    wanted &at(unsigned reader, unsigned row) { return gpus[reader].row[{HOME, first + row}]; }
    void ask_for(unsigned reader, unsigned row)
    {
        at(reader, row) = {};
        at(reader, row).open = true;
        gpus[reader].open++;
        raw(reader, ld(reader, {{HOME, first + row}}));
    }
    void wait_for(unsigned reader)
    {
        for (unsigned i = 0; i < 4000 && gpus[reader].open; i++)
            b->cycle(), serve_fetches(HOME);
        assert_int_equal(gpus[reader].open, 0);
    }
    /// FETCHs of a load.
    unsigned load(unsigned reader, unsigned row)
    {
        const unsigned before = gpus[HOME].fetched;
        ask_for(reader, row);
        wait_for(reader);
        return gpus[HOME].fetched - before;
    }
    uint32_t kept() { return count(HOME, 7); }
    uint32_t evicted() { return count(HOME, 3); }
};
} // namespace

// A row that stays: later loads get it without a fetch. Rows that were used least recently make
// room.
TEST(late_loads_get_kept_rows)
{
    kept_loads l;
    for (unsigned layer = 0; layer < 2; layer++) {
        l.layer(l.b->f * 9);
        assert_in_range(l.places, 2, l.rows - 1);
        for (unsigned row = 0; row < l.places; row++)
            assert_int_equal(l.load(1, row), 1);
        assert_int_equal(l.load(2, 0), 0);
        assert_int_equal(l.load(1, l.places), 1); // in the place of row 1, not of row 0
        assert_int_equal(l.load(3, 0), 0);
        assert_int_equal(l.load(2, 1), 1);
        l.b->finish();
        assert_int_equal(l.kept(), 2);
        assert_int_equal(l.evicted(), 2);
    }
}

// Rows of one layer are not given to loads of the next one, whose rows have the same numbers.
TEST(kept_rows_end_with_their_layer)
{
    kept_loads l;
    l.layer(256);
    const unsigned index = l.first;
    for (unsigned layer = 0; layer < 5; layer++) { // all epochs
        assert_int_equal(l.load(1, index - l.first), 1);
        assert_int_equal(l.load(2, index - l.first), 0);
        l.b->finish();
        assert_int_equal(l.kept(), 1);
        do
            l.layer(256);
        while (l.first > index);
    }
}

// A row of which a packet comes poisoned, or is cut, is not kept. The load that waits for its end
// gets it with the mark of poison, once.
TEST(spoilt_rows_are_not_kept)
{
    kept_loads l;
    hubs &b = *l.b;
    l.spoils = true;
    for (unsigned k = 0; k < 12; k++) {
        const unsigned packets = 3, at = k % packets;
        const bool cut = k / packets % 2, waits = k / packets / 2;
        l.layer(128 * packets - b.f * b.rng.below(8));
        l.silent = true;
        l.ask_for(1, 0);
        b.run(100);
        assert_int_equal(l.gpus[l.HOME].fetches.size(), 1);
        loads::fetch f = l.gpus[l.HOME].fetches.front();
        l.gpus[l.HOME].fetches.clear();
        for (unsigned i = 0; i < packets; i++, f.byte += 128) {
            packet p = l.answer(l.HOME, f, l.packet_bytes(f));
            p.h.poison = i == at && !cut;
            p.err = i == at && cut;
            l.raw(l.HOME, p);
            b.run(100);
            if (waits && i == 0 && at != 0) {
                l.ask_for(2, 0);
                b.run(100);
                l.wrong(MW_HWERR_COUNT, 2, l.ld(2, {{l.HOME, l.first}})); // it waits already
            }
            b.run(100);
        }
        l.silent = false;
        l.wait_for(1);
        assert_int_equal(l.at(1, 0).spoilt, 1);
        if (waits && at != 0) {
            l.wait_for(2);
            assert_int_equal(l.at(2, 0).spoilt, packets);
            assert_int_equal(l.kept(), 1);
            assert_int_equal(l.gpus[l.HOME].fetched, 1);
        }
        assert_int_equal(l.load(3, 0), 1);
        assert_int_equal(l.at(3, 0).spoilt, 0);
        assert_int_equal(l.load(4, 0), 0); // this one is
        assert_int_equal(l.at(4, 0).spoilt, 0);
        for (unsigned row = 1; row < l.places; row++) // one in the place of the spoilt row
            assert_int_equal(l.load(1, row), 1);
        b.finish();
        assert_int_equal(l.evicted(), 0);
    }
}

// A home that goes down and comes back while its rows are sent to others: they come whole.
TEST(kept_rows_of_a_home_that_goes_down)
{
    kept_loads l;
    hubs &b = *l.b;
    for (unsigned at = 0; at < 130; at++) {
        l.layer(1024);
        assert_int_equal(l.load(1, 0), 1);
        b.faulty[l.HOME] = b.faulty[2] = true;
        l.ask_for(2, 0);
        b.run(at);
        b.disable(l.HOME);
        b.run(4);
        b.enable(l.HOME);
        b.run(600);
        const bool came = !l.gpus[2].open;
        assert_true(came || b.notified[2][MW_HWERR_OWES]);
        b.faulty[l.HOME] = b.faulty[2] = false;
        b.finish();
    }
    l.layer(256);
    l.load_all();
}
#endif

TEST(loads_that_are_wrong)
{
    loads l;
    hubs &b = *l.b;
    l.layer(256);
    const unsigned home = 0, q = 1, i = l.first;
    auto is = [&](unsigned code, const std::vector<lane> &lanes) {
        l.wrong(code, q, l.ld(q, lanes));
    };
    is(MW_HWERR_PARTITION, {{q, i}}); // its own
    is(MW_HWERR_BOUNDS, {{home, 1u << b.token_shift}});
    if (l.first)
        is(MW_HWERR_BOUNDS, {{home, l.first - 1}});
    if (l.n < 32)
        is(MW_HWERR_UNMAPPED, {{l.n, i}});
    is(MW_HWERR_LENGTH, {});
    packet p = l.ld(q, {{home, i}});
    p.h.epoch ^= 1;
    l.wrong(MW_HWERR_EPOCH, q, p);
    p = l.ld(q, {{home, i}});
    p.h.len = 1;
    l.wrong(MW_HWERR_LENGTH, q, p);

    // the same row twice while it waits; then the window
    l.silent = true;
    is(MW_HWERR_NONE, {{home, i}});
    is(MW_HWERR_COUNT, {{home, i}});
    l.gpus[q].row[{home, i}].open = true;
    unsigned open = 1;
    for (; open < WINDOW; open++) {
        l.gpus[q].row[{home, i + open}].open = true;
        is(MW_HWERR_NONE, {{home, i + open}});
    }
    is(MW_HWERR_WINDOW, {{home, i + open}});
    l.gpus[q].open = open;
    assert_int_equal(l.gpus[home].fetches.size(), WINDOW);

    // answers that nobody waits for
    loads::fetch f = l.gpus[home].fetches.front();
    auto bad = [&](unsigned code, loads::fetch g, unsigned len) {
        l.wrong(code, home, l.answer(home, g, len));
    };
    bad(MW_HWERR_TARGETS, {f.index + 1, f.who, 0}, 128);
    bad(MW_HWERR_TARGETS, {f.index, f.who ^ 0x4000, 0}, 128);
    bad(MW_HWERR_LENGTH, {f.index, f.who, 0}, 64);
    bad(MW_HWERR_LENGTH, {f.index, f.who, 64}, 128);
    p = l.answer(home, f, 128);
    p.h.epoch ^= 1;
    l.wrong(MW_HWERR_EPOCH, home, p);
    l.silent = false;
    while (!l.gpus[home].fetches.empty() || l.gpus[q].open)
        l.b->cycle(), l.serve_fetches(home);
    bad(MW_HWERR_TARGETS, f, 128);
    b.finish();
    assert_int_equal(l.gpus[q].open, 0);
}

TEST(loads_without_their_layer)
{
    loads l;
    l.b->layer(true, 64, true);
    l.wrong(MW_HWERR_OPCODE, 1, l.ld(1, {{0, 0}}));
    l.b->row_bytes = 64;
    l.wrong(MW_HWERR_OPCODE, 0, l.answer(0, {0, 0, 0}, 64));
    l.b->finish();
}

TEST(loads_of_a_partition)
{
    loads l;
    hubs &b = *l.b;
    if (l.n < 3)
        return;
    const unsigned last = l.n - 1;
    const uint32_t others = (1u << last) - 1;
    for (unsigned p = 0; p < last; p++)
        b.set_partition(p, others);
    l.layer(64);
    l.wrong(MW_HWERR_PARTITION, 1, l.ld(1, {{last, l.first}}));
    // the home alone excludes the reader
    l.wrong(MW_HWERR_PARTITION, last, l.ld(last, {{0, l.first}}));
    assert_int_equal(l.gpus[0].fetches.size(), 0);
    l.wrong(MW_HWERR_NONE, 1, l.ld(1, {{0, l.first}}));
    l.gpus[1].row[{0, l.first}].open = true;
    l.gpus[1].open = 1;
    while (l.gpus[1].open)
        b.cycle(), l.serve_fetches(0);
    b.finish();
}

TEST(loads_of_a_home_that_is_down)
{
    loads l;
    hubs &b = *l.b;
    l.layer(64);
    const unsigned home = 0, q = 1;
    b.faulty[home] = true;
    b.disable(home);
    b.run(100);
    l.wrong(MW_HWERR_OWES, q, l.ld(q, {{home, l.first}}));
    b.enable(home);
    b.run(500);
    b.faulty[home] = false;
    l.wrong(MW_HWERR_OWES, q, l.ld(q, {{home, l.first}}));
    l.layer(64);
    l.load_all();
}
#endif
