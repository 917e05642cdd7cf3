// SPDX-License-Identifier: Apache-2.0
//
// Results of the instruction `expert`: random layers, the longest rows, and each format of elements
// and scales.

#include "expert_engine_model.h"

using namespace tb;

static void random_layer(engine &b, dice &rng)
{
    unsigned experts = 1 + rng.below(8);
    if (b.scaled)
        b.set_row(2 * MW_SCALE_BLOCK * rng.pick({1, 2, 3, 4, 5, 9}));
    else
        b.set_row((b.codes ? 2 * F : F) * rng.pick({1, 2, 3, 4, 5, 8, 15, 16, 33}));
    unsigned cap = 0;
    while (cap < 6 && (experts << (cap + 1)) * (1u << b.row_shift) <= 0xfc00)
        cap++;
    b.set_map(cap, 0x80 * rng.below(8), 0x10000, 0x20000 + 0x80 * rng.below(4), 0x30000 - 0x80);
    b.gradients = GRADIENTS && !b.codes && rng.percent(70);
    b.cfg.set("xf_base", 0x1c000 + 0x80 * rng.below(8)); // those of dY at other numbers
    b.cfg.set("local_experts", experts);
    b.cfg.set("tile", 1 + rng() % (rng.percent(50) ? 6 : 40));
    b.cfg.set("expert_cycles", rng() % (rng.percent(50) ? 4 : 50));
    b.cfg.set("partial_tiles", rng() % 2);
    b.cfg.set("partial_wait", rng() % 60);
    std::vector<unsigned> counts(experts);
    for (auto &c : counts)
        c = !rng.one_in(4) ? rng.below((1u << cap) + 1) : 0;
    b.plan(counts);
    weather w;
    w.memory = rng.percent(50) ? 100 : 20 + rng.below(80);
    w.signals = rng.percent(50) ? 100 : 3 + rng.below(90);
    w.arrive = rng.percent(50) ? 100 : 1 + rng.below(20);
    w.gradients = rng.percent(50) ? 100 : 1 + rng.below(90);
    w.list_latency = 1 + rng.below(4);
    w.counts_at = static_cast<int>(rng() % 2000) - 1000 < 0 ? -1 : static_cast<int>(rng() % 2000);
    b.run(w, 400000);
    b.finish({MW_I_EXPERT, 0, 0, 0, 0, 0, 0, 0}, 200); // nothing is left: ends at once
}

TEST(random_layers)
{
    dice rng;
    for (unsigned round = 0; round < 60; round++) {
        engine b;
        if (TYPES && rng.percent(60))
            b.set_codes(rng.pick({MW_ROWTYPE_E4M3, MW_ROWTYPE_E4M3_BLOCKS, MW_ROWTYPE_NVFP4}));
        random_layer(b, rng);
        if (rng.percent(50))
            random_layer(b, rng); // nothing of the first one is left
    }
}

// The longest row, and rows with other bits in the number of groups.
TEST(long_rows)
{
    for (unsigned bytes : {33 * 4 * F, 0x4000 + 3 * F, 32752u}) {
        engine b;
        b.set_row(bytes);
        b.set_map(1, 0x800, 0x10000, 0x20000, 0x30000);
        b.cfg.set("local_experts", 1);
        b.gradients = GRADIENTS;
        b.cfg.set("xf_base", 0x18000);
        b.plan({2});
        b.run({}, 100000);
    }
}

// One row of an expert whose factor is 1.0: from 0x20000 to 0x30000, with the weight at 0x10000.
static void one_row(engine &b, unsigned type, unsigned bytes)
{
    b.set_codes(type);
    b.set_row(bytes);
    b.set_map(0, 0x800, 0x10000, 0x20000, 0x30000);
    b.cfg.set("local_experts", 1);
    b.plan({1});
    b.mem.set<uint16_t>(0x800, 0x3f80);
}

static void expect_row(engine &b, uint32_t weight)
{
    b.want = b.mem.data;
    b.compute_row(0x20000, 0x30000, 0x3f80, weight);
    b.run({}, 100000);
}

// The longest rows of one-byte elements, with every code.
TEST(codes)
{
    if (!TYPES)
        return;
    for (unsigned bytes : {512u, 0x4000 + 2 * F, 32752 / (2 * F) * (2 * F)}) {
        engine b;
        one_row(b, MW_ROWTYPE_E4M3, bytes);
        for (unsigned i = 0; i < bytes / 2; i++)
            b.mem.set(0x20000 + i, static_cast<uint8_t>(i));
        b.mem.set<uint32_t>(0x10000 + 4 * b.list[0][0].pos, 0x3f800000);
        b.want = b.mem.data;
        for (unsigned i = 0; i < bytes / 2; i++) {
            const uint16_t v = nearest_bf16(from_e4m3(static_cast<uint8_t>(i)));
            memcpy(&b.want[0x30000 + 2 * i], &v, 2);
        }
        b.run({}, 100000);
    }
}

// The longest row of blocks. Every code occurs with every class of scale.
TEST(blocks)
{
    if (!TYPES)
        return;
    for (unsigned bytes : {2 * MW_SCALE_BLOCK, 32752 / (2 * MW_SCALE_BLOCK) * 2 * MW_SCALE_BLOCK}) {
        engine b;
        one_row(b, MW_ROWTYPE_E4M3_BLOCKS, bytes);
        // 9/8 times 1871417 * 2^-21 is 1 + 2^-8 + 2^-24. It lies halfway between two fp32. The even
        // one is also a tie of bf16.
        const uint32_t weight = 0x3f900000;
        b.mem.set(0x10000 + 4 * b.list[0][0].pos, weight);
        for (unsigned i = 0; i < bytes / 2; i++)
            b.mem.set(0x20000 + i, static_cast<uint8_t>(i ^ i >> 8));
        b.mem.set<uint32_t>(b.scale_at(0x20000, 0), 0x3f6471c8);
        expect_row(b, weight);
    }
}

// Rows of half bytes. Every element occurs with every scale of its group of 16.
TEST(half_bytes)
{
    if (!TYPES)
        return;
    for (unsigned blocks : {1u, 32u, 63u}) {
        const unsigned bytes = 2 * MW_SCALE_BLOCK * blocks;
        engine b;
        one_row(b, MW_ROWTYPE_NVFP4, bytes);
        const uint32_t weight = 0x3f900000; // as in `blocks`
        b.mem.set(0x10000 + 4 * b.list[0][0].pos, weight);
        b.mem.set<uint32_t>(b.scale_at(0x20000, 0), blocks > 1 ? 0x3f6471c8 : 0x3f800000);
        for (unsigned i = 0; i < bytes / 2; i += 2)
            b.mem.set(0x20000 + i / 2, static_cast<uint8_t>((i & 15) | ((i + 1) & 15) << 4));
        for (unsigned i = 0; i < bytes / 2; i += MW_SCALE_GROUP)
            b.mem.set(b.group_at(0x20000, i), static_cast<uint8_t>(i / MW_SCALE_GROUP));
        expect_row(b, weight);
    }
}
