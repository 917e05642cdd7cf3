// SPDX-License-Identifier: Apache-2.0
//
// Rows, or parts of them, that GPUs load through the switch: loads that share a FETCH, slow homes,
// partitions, and a home that goes down. Each error is checked by name.

#if PARAM_MergeLoads

#include "switch_load_bench.h"

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

// Each part of a row has its own load, FETCH and answer. Numbers of parts before the first row, or
// after the last, are of no row.
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
    l.b->cycles(300);
    assert_int_equal(l.gpus[home].fetched, MW_LANES);
    l.silent = false;
    while (!l.gpus[home].fetches.empty())
        l.b->cycle(), l.serve_fetches(home);
    l.b->finish();
    assert_int_equal(l.gpus[home].fetched, MW_LANES);
    for (unsigned p = 0; p < home; p++)
        assert_int_equal(l.gpus[p].open, 0);
}

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

    // the same row twice while the first load waits, and then the window
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

    // answers for which no load waits
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
    // only the home excludes the reader
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
    b.cycles(100);
    l.wrong(MW_HWERR_OWES, q, l.ld(q, {{home, l.first}}));
    b.enable(home);
    b.cycles(500);
    b.faulty[home] = false;
    l.wrong(MW_HWERR_OWES, q, l.ld(q, {{home, l.first}}));
    l.layer(64);
    l.load_all();
}
#endif
