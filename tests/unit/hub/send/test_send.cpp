// SPDX-License-Identifier: Apache-2.0
//
// Instructions of send: each of the stores by token, linear ones and those to groups, refused
// operands, and the rate of the uplink.

#include "send_model.h"

using namespace tb;

static layer random_layer(dice &rng)
{
    layer l = {};
    l.k = rng.between(1, 16);
    l.row_bytes = F * rng.between(1, rng.one_in(4) ? 8 : 40);
    l.row_shift = log2_up(l.row_bytes) + rng.below(2);
    l.tokens = std::min(rng.between(1, 30), (MEM - 128) / ((1u << l.row_shift) + 128));
    l.token_shift = log2_up(l.tokens) + rng.below(3);
    l.port = rng.below(N);
    l.latency = rng.between(1, 9);
    l.own_percent = rng.below(40);
    l.empty_percent = rng.percent(50) ? 0 : 25;
    l.bad_percent = rng.percent(50) ? 0 : 15;
    l.once = rng.below(2);
    l.scatter = rng.one_in(2) ? rng.below(8) : 0;
    l.by_switch = BY_SWITCH ? l.once && rng.below(2) : rng.below(2);
    return l;
}

static rates random_rate(dice &rng)
{
    auto ready = [&] { return rng.pick({100u, 100u, 90u, 50u, 20u}); };
    return {ready(), ready(), ready(), ready(), rng.pick({0u, 0u, 3u, 30u})};
}

// Mostly with gate weights. Sometimes rows alone, and rows at explicit addresses.
static unsigned flags(dice &rng)
{
    return (rng.one_in(4) ? rng.pick({1u, 3u}) : 0) | (rng.one_in(3) ? 4 : 0);
}

static void random_tokens(unsigned op, unsigned runs, unsigned in_flight)
{
    dice rng;
    runs = cases(runs * 2 / 5, runs);
    size_t unmapped = 0, duplicate = 0;
    for (unsigned r = 0; r < runs; r++) {
        layer l = random_layer(rng);
        l.in_flight = in_flight ? rng.between(1, in_flight) : 0;
        hub b(l, random_rate(rng));
        const unsigned split = rng.below(l.tokens + 1);
        b.run(instr(op, flags(rng), rng.below(0x10000), 0, split, rng.word()));
        if (rng.percent(50))
            b.go();
        b.run(instr(op, flags(rng), rng.below(0x10000), split, l.tokens - split, rng.word()));
        unmapped += b.errors.count(MW_HWERR_UNMAPPED);
        duplicate += b.errors.count(MW_HWERR_DUPLICATE);
    }
    assert_true(unmapped > 10 && duplicate > 0);
}

TEST(dymultimem)
{
    random_tokens(MW_I_DYMULTIMEM_ST, 150, 0);
}

TEST(in_flight)
{
    random_tokens(MW_I_DYMULTIMEM_ST, 120, 5);
}

TEST(rowsp)
{
    random_tokens(MW_I_ST_ROWSP, 150, 0);
}

TEST(rowsp_in_flight)
{
    random_tokens(MW_I_ST_ROWSP, 80, 3);
}

// Rows with their places in lists of this GPU, counted again for each instruction. The counts of
// the lists are those of the rows sent. Lists are valid here, because an invalid one would leave a
// hole.
TEST(rowsp_of_lists)
{
    dice rng;
    const unsigned runs = cases(32, 80);
    size_t rows = 0;
    for (unsigned r = 0; r < runs; r++) {
        layer l = random_layer(rng);
        l.lists = 1;
        l.by_switch = l.bad_percent = 0;
        l.in_flight = rng.one_in(3) ? rng.between(1, 5) : 0;
        hub b(l, random_rate(rng));
        const unsigned split = rng.below(l.tokens + 1);
        for (unsigned half = 0; half < 2; half++) {
            b.run(instr(MW_I_ST_ROWSP, 0, rng.below(0x10000), half * split,
                        half ? l.tokens - split : split, rng.word()));
            for (unsigned g = 0; g < N; g++)
                for (unsigned le = 0; le < LOCAL; le++) {
                    b.dut.notified_gpu_i = static_cast<uint8_t>(g);
                    b.dut.notified_local_i = static_cast<uint8_t>(le);
                    b.settle();
                    assert_int_equal(b.dut.notified_rows_o, b.listed_to(g, le));
                    rows += b.dut.notified_rows_o;
                }
        }
    }
    assert_true(rows > 12 * runs);
}

TEST(unicast)
{
    random_tokens(MW_I_ST, 150, 0);
}

// Rows of own tokens with a stride, or routing entries, each to one of two groups.
TEST(gathered)
{
    dice rng;
    for (unsigned r = 0; r < cases(24, 60); r++) {
        const layer l = random_layer(rng);
        hub b(l, random_rate(rng));
        for (unsigned i = 0; i < 4; i++) {
            const bool rows = rng.percent(70);
            const unsigned first = rng.below(l.tokens), count = rng.below(l.tokens - first + 1),
                           shift = rows ? l.row_shift : 7;
            const uint32_t length = (count << shift) + (rng.one_in(6) ? F * rng.between(1, 3) : 0);
            const uint32_t a = (first << shift) + (rng.one_in(8) ? MEM : 0);
            b.run(instr(MW_I_MULTIMEM_ST, rows ? 1 : 2, rng.between(5, 6), a, length,
                        F * rng.below(2 * MEM / F)));
        }
    }
}

// multimem.red with flags 1: rows of every other home in turn.
TEST(homes)
{
    dice rng;
    for (unsigned r = 0; r < (PARAM_SumEntries ? 24 : 0); r++) {
        layer l = random_layer(rng);
        l.row_shift = rng.between(7, 9);
        l.token_shift = rng.between(1, 3);
        l.tokens = 1u << l.token_shift;
        l.row_bytes = F * rng.between(1, (1u << l.row_shift) / F);
        hub b(l, random_rate(rng));
        for (unsigned i = 0; i < 4; i++) {
            const uint32_t rows = rng.below(l.tokens + 1) << l.row_shift;
            const uint32_t a = F * rng.below((MEM - b.home_from(N - 1)) / F);
            const unsigned group = rng.one_in(4) ? rng.below(256) : rng.below(GROUPS - N + 1);
            b.run(instr(MW_I_MULTIMEM_RED, 1, group | MW_DTYPE_U32 << 8 | 0x8000, a,
                        rows + (rng.one_in(8) ? F : 0), F * rng.below(2 * MEM / F)));
        }
    }
}

TEST(linear)
{
    dice rng;
    for (unsigned r = 0; r < 20; r++) {
        hub b(random_layer(rng), random_rate(rng));
        for (unsigned i = 0; i < 12; i++) {
            const unsigned op =
                rng.pick({MW_I_ST_LINEAR, MW_I_ST_LINEAR, MW_I_MULTIMEM_ST, MW_I_MULTIMEM_RED});
            uint32_t a = F * rng.below(MEM / F / 2), c = F * rng.below(MEM / F / 2);
            const uint32_t n = rng.below(rng.one_in(3) ? 30 : 700);
            if (rng.one_in(8))
                a += rng.between(1, F - 1);
            else if (rng.one_in(8))
                c += rng.between(1, F - 1);
            else if (rng.one_in(6))
                c += MEM << rng.below(15);
            else if (rng.one_in(6))
                c = MEM - F * rng.below(60); // leaves memory on the way
            if (rng.one_in(6))
                a = (MEM - n) / F * F; // up to the end of own memory
            unsigned imm = rng.below(op == MW_I_ST_LINEAR ? N + 1 : 16);
            if (op == MW_I_MULTIMEM_RED) // mostly types and operators that exist
                imm |= rng.below(rng.one_in(8) ? 16 : MW_DTYPES) << 8 |
                       rng.below(rng.one_in(4) ? 16 : 3) << 12;
            b.run(instr(op, rng.below(256), imm, a, n, c));
        }
    }
}

static const layer FULL = {4, 4 * F, F == 8 ? 5u : 6u, 16, 4, 1, 3, 0, 20, 0, 0, 0,
                           0, 0}; // as many tokens as token_shift has

// Groups, GPUs, tokens and own bytes at their limits and beyond, by all bits of the operands. Valid
// instructions come between.
TEST(refused)
{
    dice rng;
    const uint32_t half = MEM / 2;
    hub b(FULL, {100, 100, 100, 100, 3});
    auto refuse = [&](unsigned code, const mw_instr &in) {
        assert_int_equal(b.refusal(in), code);
        b.run(in);
    };
    auto allow = [&](const mw_instr &in) {
        assert_int_equal(b.refusal(in), 0);
        b.run(in);
    };
    for (unsigned op : {MW_I_MULTIMEM_ST, MW_I_MULTIMEM_RED}) {
        for (unsigned imm = 0; imm < 0x10000;
             imm = imm < 300 ? imm + 1 : imm + rng.between(1, 999)) {
            const mw_instr in = instr(op, 0, imm, 0, F, half);
            if ((op == MW_I_MULTIMEM_ST ? imm : imm & 255) >= GROUPS || b.refusal(in))
                refuse(b.refusal(in), in);
            else
                allow(in);
        }
        refuse(MW_HWERR_UNMAPPED, instr(op, 0, 7, 0, F, half)); // has no member
        refuse(MW_HWERR_UNMAPPED, instr(op, 0, GROUPS + 6, 0, F, half));
        refuse(MW_HWERR_UNMAPPED, instr(op, 0, 0xf0 + 6, 0, F, half));
        allow(instr(op, 0, 6, 0, F, half));
    }
    refuse(MW_HWERR_UNMAPPED, instr(MW_I_MULTIMEM_ST, 0, 0x100 + 6, 0, F, half));
    for (unsigned imm :
         {0x0806u, 0x8806u, 0x0506u, 0x6006u, 0x3006u}) // fp types have no bits to combine
        refuse(MW_HWERR_REDUCTION, instr(MW_I_MULTIMEM_RED, 0, imm, 0, F, half));
    if (!PARAM_SumEntries)
        refuse(MW_HWERR_REDUCTION, instr(MW_I_MULTIMEM_RED, 0, 0x8006u, 0, F, half));
    refuse(MW_HWERR_REDUCTION,
           instr(MW_I_MULTIMEM_RED, 0, 0x0816, 1, F, half)); // the first of three errors
    for (unsigned gpu : {N, N + 1, 31u, 32u, 33u, 0x100u, 0x8000u, 0xffffu})
        refuse(MW_HWERR_UNMAPPED, instr(MW_I_ST_LINEAR, 0, gpu, 0, F, half));
    for (unsigned op : {MW_I_ST_LINEAR, MW_I_MULTIMEM_ST, MW_I_MULTIMEM_RED}) {
        const unsigned to = op == MW_I_ST_LINEAR ? 0 : 6;
        const uint32_t bad[][3] = {
            {F / 2, F, half},     {0, F, half + 1},        {MEM, 1, half},
            {MEM, F, half},       {MEM - F, F + 1, half},  {0, MEM + 1, half},
            {F, MEM, half},       {1u << 31, F, half},     {0, 1u << 31, half},
            {half, 0u - half, 0}, {1u << 31, 1u << 31, 0}, {0u - F, 2 * F, 0},
            {2 * MEM, F, half},   {MEM | F, F, half},      {MEM, MEM, half},
            {0, UINT32_MAX, 0},   {half, half + 1, half},  {2 * MEM, 0, half}};
        for (const auto &r : bad)
            refuse(MW_HWERR_BOUNDS, instr(op, 0, to, r[0], r[1], r[2]));
        allow(instr(op, 0, to, MEM - F, F, half));
        allow(instr(op, 0, to, MEM, 0, half));
    }
    allow(instr(MW_I_ST_LINEAR, 0, N - 1, 0, MEM, 0)); // all of it
    const uint32_t stride = 1u << FULL.row_shift, rows = (MEM - b.base(true)) & ~(stride - 1);
    allow(instr(MW_I_MULTIMEM_ST, 1, 6, 0, 2 * stride, half));
    allow(instr(MW_I_MULTIMEM_ST, 1, 6, 0, rows, half));
    allow(instr(MW_I_MULTIMEM_ST, 2, 6, 0, MEM - b.base(false), half));
    for (uint32_t length : {1u, F, stride - F, stride + F, stride / 2, rows + stride, MEM + stride})
        refuse(MW_HWERR_BOUNDS, instr(MW_I_MULTIMEM_ST, 1, 6, 0, length, half));
    refuse(MW_HWERR_BOUNDS, instr(MW_I_MULTIMEM_ST, 2, 6, 0, MEM - b.base(false) + F, half));
    refuse(MW_HWERR_BOUNDS, instr(MW_I_MULTIMEM_ST, 2, 6, F, MEM - b.base(false), half));
    for (unsigned flag : {1u, 2u}) // beyond any memory with its base
        refuse(MW_HWERR_BOUNDS, instr(MW_I_MULTIMEM_ST, flag | 0x30, 6, 0u - F, stride, half));
    for (unsigned op : {MW_I_DYMULTIMEM_ST, MW_I_ST_ROWSP, MW_I_ST}) {
        const uint32_t end = 1u << FULL.token_shift;
        const uint32_t bad[][2] = {{0, end + 1},
                                   {end, 1},
                                   {end - 1, 2},
                                   {2 * end, 1},
                                   {1u << PARAM_TokensLog2, 1},
                                   {2u << PARAM_TokensLog2, 1},
                                   {0, 2u << PARAM_TokensLog2},
                                   {1u << 31, 1},
                                   {0, 1u << 31},
                                   {1u << 31, 1u << 31},
                                   {3, 0u - 2},
                                   {UINT32_MAX, 1},
                                   {UINT32_MAX, 2},
                                   {5, (2u << PARAM_TokensLog2) - 2}};
        for (const auto &r : bad)
            refuse(MW_HWERR_BOUNDS,
                   instr(op, rng.below(256), rng.below(0x10000), r[0], r[1], rng.word()));
        allow(instr(op, 0, rng.below(0x10000), 0, end, rng.word()));
        allow(instr(op, 0, rng.below(0x10000), end, 0, rng.word()));
    }
}

// Random operands for the six opcodes. Long instructions are left out to save time.
TEST(any_operands)
{
    dice rng;
    size_t seen[3] = {}, went = 0;
    const unsigned codes[] = {MW_HWERR_REDUCTION, MW_HWERR_UNMAPPED, MW_HWERR_BOUNDS};
    for (unsigned r = 0; r < 6; r++) {
        layer l = FULL;
        l.port = rng.below(N);
        hub b(l, random_rate(rng));
        for (unsigned i = 0; i < 400; i++) {
            const mw_instr in = b.any_instr();
            if (b.refusal(in) || in.b < 2000) {
                b.run(in);
                went += !b.refusal(in);
            }
        }
        for (unsigned c = 0; c < 3; c++)
            seen[c] += b.errors.count(codes[c]);
    }
    assert_true(seen[0] > 100 && seen[1] > 100 && seen[2] > 100 && went > 100);
}

// Uplink and memory never stall. From the first flit to the last every cycle belongs to a packet.
// The slack is for the first payload, which comes later than the header. In st it is also for
// packing META.
static void rate_of(const layer &l, const mw_instr &in, uint64_t slack)
{
    hub b(l, {100, 100, 100, 100, 0});
    b.run(in);
    const uint64_t took = b.last_flit - b.first_flit + 1;
    printf("op %u row %u k %u: %llu cycles for %llu\n", in.op, l.row_bytes, l.k,
           (unsigned long long)took, (unsigned long long)b.slots);
    assert_true(took <= b.slots + slack);
}

static void rate(unsigned op, unsigned row_bytes, unsigned k, uint64_t slack, unsigned flag = 0)
{
    layer l = {};
    l.k = k;
    l.row_bytes = row_bytes;
    l.row_shift = log2_up(row_bytes);
    l.tokens = std::min(24u, MEM / (2 * row_bytes) - 1);
    l.token_shift = 5;
    l.port = 1;
    l.latency = 3;
    rate_of(l, instr(op, flag, 0, 0, l.tokens, 0), slack);
}

// The same for rows with a stride.
static void rate_apart(unsigned row_bytes)
{
    layer l = {};
    l.k = 1;
    l.row_bytes = row_bytes;
    l.row_shift = log2_up(row_bytes) + 1;
    l.tokens = 12;
    l.token_shift = 4;
    l.latency = 3;
    rate_of(l, instr(MW_I_MULTIMEM_ST, 1, 6, 0, l.tokens << l.row_shift, 0), 8);
}

TEST(rates)
{
    rate(MW_I_DYMULTIMEM_ST, 512, 8, 8);
    rate(MW_I_DYMULTIMEM_ST, 128, 8, 8);
    rate(MW_I_DYMULTIMEM_ST, 256, 2, 8);
    rate(MW_I_DYMULTIMEM_ST, 256, 16, 8);
    rate(MW_I_DYMULTIMEM_ST, 128, 1, 8, 1);
    rate(MW_I_DYMULTIMEM_ST, 128, 6, 8, 1);
    rate(MW_I_DYMULTIMEM_ST, 1024, 4, 8, 4);
    rate(MW_I_DYMULTIMEM_ST, 512, 8, 8, 4);
    rate(MW_I_ST_ROWSP, 512, 8, 8);
    rate(MW_I_ST_ROWSP, 128, 8, 8);
    rate(MW_I_ST_ROWSP, 128, 4, 8, 1);
    rate(MW_I_ST, 512, 8, 8);
    rate(MW_I_ST, 256, 6, 300);
    rate_apart(512);
    rate_apart(128);
}
