// SPDX-License-Identifier: Apache-2.0
//
// Tiles of the instruction `expert`: which rows a tile has, when it starts, how long it takes, and
// the rate of the data path.

#include "expert_engine_model.h"

using namespace tb;

// With all inputs present, a tile ends exactly tile * expert_cycles cycles after the previous one,
// full or not.
TEST(tiles_take_their_time)
{
    for (unsigned tile : {1u, 3u, 8u}) {
        for (unsigned cycles : {20u, 33u}) {
            engine b;
            b.set_row(8 * F);
            b.cfg.set("tile", tile);
            b.cfg.set("expert_cycles", cycles);
            b.cfg.set("local_experts", 2);
            b.plan({2 * tile + (tile > 1), 3 * tile});
            b.run({}, 100000);
            std::vector<uint64_t> ends;
            for (const auto &s : b.seen) {
                if (s.idx % tile == 0)
                    ends.push_back(s.cycle);
            }
            assert_int_equal(ends.size(), 5 + (tile > 1));
            assert_int_equal(b.tiles_started, 5 + (tile > 1));
            // The first one starts some cycles after the command (clearing, scan), and waits for
            // its data.
            assert_in_range(ends[0], tile * cycles + 1, tile * cycles + MAX_LOCAL + 30);
            for (size_t i = 2; i < ends.size(); i++)
                assert_int_equal(ends[i] - ends[i - 1], tile * cycles);
        }
    }
}

// With a slow memory a tile takes longer, and the next one starts after it: 25 to 60 cycles per row
// instead of 17.
TEST(slow_memory_makes_tiles_longer)
{
    engine b;
    b.set_row(32 * F);
    b.cfg.set("tile", 2);
    b.cfg.set("expert_cycles", 17);
    b.cfg.set("local_experts", 1);
    b.plan({32});
    weather w;
    w.memory = 50;
    b.run(w, 100000);
    uint64_t took = b.seen.back().cycle - b.seen.front().cycle;
    assert_in_range(took, 15 * 2 * 25, 15 * 2 * 60);
    assert_true(b.mem_stalls > 300);
}

static double cycles_per_row(unsigned experts, unsigned rows, unsigned tile, unsigned bytes,
                             unsigned type = MW_ROWTYPE_BF16, bool gradients = false,
                             const weather &w = {})
{
    engine b;
    if (type)
        b.set_codes(type);
    b.gradients = gradients;
    b.cfg.set("xf_base", 0x4000);
    b.set_row(bytes);
    b.set_map(6, 0x100, 0x800, 0x10000, 0x28000);
    if (experts > 1)
        b.set_map(5, 0x100, 0x800, 0x10000, 0x28000);
    b.cfg.set("tile", tile);
    b.cfg.set("expert_cycles", 1);
    b.cfg.set("local_experts", experts);
    b.plan(std::vector<unsigned>(experts, rows));
    b.run(w, 100000);
    return static_cast<double>(b.seen.back().cycle - b.seen.front().cycle) /
           (experts * rows - tile);
}

// 64 rows of 64 flits. The data path needs 32 cycles per row, and two more are permitted.
TEST(data_path_is_full)
{
    double one = cycles_per_row(1, 64, 1, 64 * F), two = cycles_per_row(2, 32, 1, 64 * F),
           big = cycles_per_row(2, 32, 8, 64 * F);
    double shorter = cycles_per_row(2, 32, 8, 16 * F), odd = cycles_per_row(1, 64, 4, 31 * F),
           tiny = cycles_per_row(1, 64, 16, F);
    printf("cycles per row of 64 flits: %.2f, two experts %.2f, tile 8 %.2f; 31 flits %.2f, 16 "
           "flits %.2f, 1 flit %.2f\n",
           one, two, big, odd, shorter, tiny);
    assert_true(one <= 34 && two <= 34 && big <= 32.5 && odd <= 16.5 && shorter <= 8.5 &&
                tiny <= 7.5);
    // twice as many flits are read, and a dot product keeps up
    if (GRADIENTS)
        assert_true(cycles_per_row(2, 32, 8, 64 * F, MW_ROWTYPE_BF16, true) <= 64.5);
    if (!TYPES)
        return;
    assert_true(cycles_per_row(2, 32, 8, 64 * F, MW_ROWTYPE_E4M3) <= 33.5);
    // 1024 / F flits, without a gap between blocks or rows, though scales are read, and also while
    // others use every other cycle of their port
    weather busy;
    busy.misc = 50;
    for (unsigned type : {MW_ROWTYPE_E4M3_BLOCKS, MW_ROWTYPE_NVFP4}) {
        const double alone = cycles_per_row(2, 32, 8, 1024, type),
                     shared = cycles_per_row(2, 32, 8, 1024, type, false, busy);
        printf("cycles per row of 4 blocks of type %u: %.2f, busy memory %.2f\n", type, alone,
               shared);
        assert_true(alone <= 512.0 / F + 0.7 && shared <= 512.0 / F + 1.5);
    }
}

// Full experts are served in turn.
TEST(full_experts_take_turns)
{
    engine b;
    b.cfg.set("local_experts", 5);
    b.cfg.set("tile", 2);
    b.plan({8, 8, 0, 8, 8});
    b.run({}, 10000);
    static const unsigned order[] = {0, 1, 3, 4};
    for (unsigned i = 0; i < b.seen.size(); i++) {
        assert_int_equal(b.seen[i].le, order[i / 2 % 4]);
        assert_int_equal(b.seen[i].idx, 2 * (i / 8) + i % 2);
    }
}

// The last rows start when the counts are present, and not before.
TEST(last_tile_waits_for_counts)
{
    engine b;
    b.cfg.set("local_experts", 3);
    b.cfg.set("tile", 4);
    b.plan({6, 0, 3});
    weather w;
    w.counts_at = 1000;
    b.run(w, 10000);
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(b.seen[i].cycle < 1000, i < 4);
    assert_true(b.idle_stalls > 800);
}

// When its own list is counted, the last tile does not wait for the counts of other lists. It does
// not need the signal that all lists are counted.
TEST(last_tile_waits_for_the_count_of_its_list)
{
    engine b;
    b.cfg.set("local_experts", 3);
    b.cfg.set("tile", 4);
    b.plan({6, 0, 3});
    weather w;
    w.counts_at = 2000;
    w.counted_at = 1000;
    b.run(w, 10000);
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(b.seen[i].cycle < 1000, i < 4);
        assert_true(b.seen[i].cycle < 2000);
    }
}

// Counts come before the rows. A tile starts when it is full, or when it is the expert's last.
TEST(tiles_wait_for_rows)
{
    engine b;
    b.cfg.set("local_experts", 3);
    b.cfg.set("tile", 4);
    b.cfg.set("expert_cycles", 1);
    b.plan({10, 0, 7});
    weather w;
    w.arrive = 3;
    b.run(w, 20000);
    assert_int_equal(b.tiles_started, 3 + 2);
}

// A tile larger than all rows, experts without rows, no expert at all.
TEST(corners)
{
    for (unsigned experts : {0u, 1u, 3u, 16u}) {
        for (unsigned rows : {0u, 1u, 2u}) {
            engine b;
            b.cfg.set("local_experts", experts);
            b.cfg.set("tile", 255);
            b.cfg.set("expert_cycles", 1);
            b.plan(std::vector<unsigned>(experts, rows));
            weather w;
            w.counts_at = 300;
            b.run(w, 10000);
            assert_true(b.now >= 300);
            assert_int_equal(b.seen.size(), experts * rows);
        }
    }
    engine b; // largest tile
    b.set_row(F);
    b.set_map(10, 0x100, 0x28000, 0x8000, 0x18000);
    b.cfg.set("local_experts", 1);
    b.cfg.set("tile", 255);
    b.cfg.set("expert_cycles", 2);
    b.plan({900});
    weather w;
    w.signals = 10;
    b.run(w, 40000);
}

// An idle engine starts the fullest expert after partial_wait cycles without work, repeatedly.
TEST(partial_tiles_start_the_fullest)
{
    for (unsigned on : {0u, 1u}) {
        engine b;
        const unsigned wait = 100, tile = 8, cycles = 10;
        b.cfg.set("local_experts", 4);
        b.cfg.set("tile", tile);
        b.cfg.set("expert_cycles", cycles);
        b.cfg.set("partial_tiles", on);
        b.cfg.set("partial_wait", wait);
        b.plan({3, 5, 0, 5});
        weather w;
        w.counts_at = 2000;
        b.run(w, 10000);
        std::vector<signal_seen> first;
        for (const auto &s : b.seen) {
            if (s.idx == 0)
                first.push_back(s);
        }
        assert_int_equal(first.size(), 3);
        if (!on) {
            assert_true(first[0].cycle > 2000);
            continue;
        }
        assert_int_equal(first[0].le, 1);
        assert_int_equal(first[1].le, 3);
        assert_int_equal(first[2].le, 0);
        assert_in_range(first[0].cycle, wait + tile * cycles,
                        wait + tile * cycles + MAX_LOCAL + 40);
        for (unsigned i = 1; i < 3; i++)
            assert_in_range(first[i].cycle - first[i - 1].cycle, wait + tile * cycles,
                            wait + tile * cycles + 20);
    }
}

// A full tile that comes while the engine waits for partial_wait starts at once.
TEST(full_tile_beats_waiting)
{
    engine b;
    b.cfg.set("local_experts", 2);
    b.cfg.set("tile", 4);
    b.cfg.set("expert_cycles", 10);
    b.cfg.set("partial_tiles", 1);
    b.cfg.set("partial_wait", 200);
    b.plan({3, 4});
    b.auto_arrive = false;
    b.counts_all = false;
    b.complete = {3, 3};
    b.complete.resize(MAX_LOCAL);
    b.start(MW_I_EXPERT);
    b.cycles(150 - b.now);
    b.complete[1] = 4;
    b.cycles(500 - b.now);
    assert_int_equal(b.seen.size(), 7);
    assert_int_equal(b.seen[0].le, 1);
    assert_in_range(b.seen[0].cycle, 190, 220);
    assert_int_equal(b.seen[4].le, 0);
    assert_true(b.seen[4].cycle >= 190 + 200 + 40);
}
