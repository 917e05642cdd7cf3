// SPDX-License-Identifier: Apache-2.0
//
// Instructions that a reduction refuses: one error in the next cycle, no packet, and no write. The
// next instruction works as usual.

#include "reduction_bench.h"

#include <optional>

using namespace tb;

// With switch-initiated reductions, static rows and other sums than bf16 are refused.
TEST_IF(BY_SWITCH, refused_with_switch_reductions)
{
    settings s;
    s.by_switch = true;
    bench b(s);
    for (unsigned group = 0; group < GROUPS; group++) {
        b.errors.expect(MW_HWERR_WINDOW, COMBINE);
        b.run(MW_I_MULTIMEM_LD_REDUCE, 0, group, OUT, 512, OUT + 512);
    }
    for (unsigned dtype = 0; dtype < 5; dtype++) {
        for (unsigned redop = 0; redop < 3; redop++) {
            if (dtype == 0 && redop == 0)
                continue;
            b.own_kind.dtype = dtype;
            b.own_kind.redop = redop;
            b.errors.expect(MW_HWERR_REDUCTION, COMBINE);
            b.run(MW_I_DYMULTIMEM_LD_REDUCE, b.below(2), 0, 0, 4, 0);
        }
    }
}

// Runs a command that must be refused. One error of unit combine comes in the next cycle, by name,
// and the command retires. Nothing is requested, and memory does not change. The next command works
// as usual.
static void refused(bench &b, unsigned code, unsigned op, unsigned imm, uint32_t at, uint32_t count,
                    uint32_t to, std::optional<unsigned> flags = {})
{
    const bytes before = b.mem.data;
    b.own_kind = {};
    b.errors.expect(code, COMBINE);
    b.run(op, flags ? *flags : b.below(2), imm, at, count, to);
    assert_true(b.mem.data == before);
    assert_int_equal(b.errors.seen.back().from, b.command_at + 1);
}

static void allowed(bench &b)
{
    const unsigned group = 4 + b.below(GROUPS - 4); // 3 has no member
    b.own_kind = random_kind(b.rng);
    b.expect_static(group, YD, b.conf.row_bytes, OUT);
    b.run(MW_I_MULTIMEM_LD_REDUCE, 0, group, YD, b.conf.row_bytes, OUT);
}

// Types and operators that do not exist, including bits without a wire.
TEST(unknown_reductions)
{
    for (unsigned round = 0; round < 6; round++) {
        bench b;
        for (unsigned i = 0; i < 8; i++) {
            const bool no_type = i % 2;
            unsigned dtype = no_type ? 5 + b.below(11) : b.below(3);
            unsigned redop = no_type ? b.below(16) : 3 + b.below(13);
            if (i == 7)
                dtype = 0, redop = 8; // as sum, but for the highest bit
            if (i == 6)
                dtype = 8, redop = 0;
            const bool fixed = i % 4 < 2; // also with other faults, which are checked later
            refused(b, MW_HWERR_REDUCTION,
                    fixed ? MW_I_MULTIMEM_LD_REDUCE : MW_I_DYMULTIMEM_LD_REDUCE,
                    (fixed ? b.below(256) : 0) | dtype << 8 | redop << 12,
                    fixed ? YD + b.below(2) : b.below(100), 64, OUT);
        }
        allowed(b);
    }
}

// Instructions of other units.
TEST(unknown_instructions)
{
    bench b;
    for (unsigned op = 0; op < 256; op++) {
        if (op != MW_I_DYMULTIMEM_LD_REDUCE && op != MW_I_MULTIMEM_LD_REDUCE && op != MW_I_SUM)
            refused(b, MW_HWERR_INSTR, op, b.below(1u << 16), b.rng.word(), b.rng.word(),
                    b.rng.word());
    }
    allowed(b);
}

// Groups beyond the largest number, and one without a member.
TEST(unknown_groups)
{
    bench b;
    for (unsigned group = GROUPS; group < 256; group++)
        refused(b, MW_HWERR_UNMAPPED, MW_I_MULTIMEM_LD_REDUCE, group, YD, b.conf.row_bytes, OUT);
    const bytes before = b.mem.data;
    b.expect_static(3, YD, 3 * b.conf.row_bytes, OUT); // each of its rows
    b.run(MW_I_MULTIMEM_LD_REDUCE, 0, 3, YD, 3 * b.conf.row_bytes, OUT);
    assert_int_equal(b.errors.count(MW_HWERR_UNMAPPED), 256 - GROUPS + 3);
    assert_true(b.mem.data == before);
    allowed(b);
}

// A static range does not begin or end at a flit, or lies outside on either side. Its first or its
// last byte shows this.
TEST(bad_ranges)
{
    for (unsigned round = 0; round < 4; round++) {
        bench b;
        const uint32_t row = b.conf.row_bytes, far = MEM << b.below(12);
        const uint32_t bad[][3] = {// from, bytes, to
                                   {YD + F / 2, row, OUT},
                                   {YD, row + 1, OUT},
                                   {YD, row, OUT + 1},
                                   {YD | far, row, OUT},
                                   {YD, row, OUT | 1u << 31},
                                   {MEM, row, OUT},
                                   {YD, row, MEM},
                                   {MEM - row + F, row, OUT},
                                   {YD, row, MEM - row + F},
                                   {MEM - F, MEM, OUT},
                                   {MEM - 32 * row, 33 * row, 0},
                                   {0, 33 * row, MEM - 32 * row},
                                   {0, MEM + F, 0},
                                   {F, MEM, 0},
                                   {0, MEM, F},
                                   {YD, 0u - YD, OUT},
                                   {YD, 0u - F, OUT},
                                   {YD, 1u << 31, OUT}};
        for (const auto &r : bad)
            refused(b, MW_HWERR_BOUNDS, MW_I_MULTIMEM_LD_REDUCE, b.below(GROUPS), r[0], r[1], r[2]);
        // The last rows of memory are inside, on both sides. An empty range may begin where memory
        // ends.
        b.own_kind = random_kind(b.rng);
        b.expect_static(5, MEM - 2 * row, 2 * row, OUT);
        b.run(MW_I_MULTIMEM_LD_REDUCE, 0, 5, MEM - 2 * row, 2 * row, OUT);
        b.expect_static(6, YD, 2 * row, MEM - 2 * row);
        b.run(MW_I_MULTIMEM_LD_REDUCE, 0, 6, YD, 2 * row, MEM - 2 * row);
        b.run(MW_I_MULTIMEM_LD_REDUCE, 0, 6, MEM, 0, MEM);
        allowed(b);
    }
}

// Tokens from 2^token_shift on belong to another GPU.
TEST(bad_tokens)
{
    const uint32_t end = 1u << TOKEN_SHIFT;
    static const uint32_t bad[][2] = {{0, end + 1},  {end, 1},        {end - 1, 2},
                                      {1u << 12, 1}, {1u << 13, 1},   {1u << 31, 1},
                                      {0, 1u << 13}, {5, 0u - 4},     {0u - 1, 1},
                                      {0u - 1, 2},   {5, 0x1ffe},     {1u << 31, 1u << 31},
                                      {0, 1u << 31}, {0, 0xffffffffu}};
    bench b;
    for (const auto &r : bad) {
        refused(b, MW_HWERR_BOUNDS, MW_I_DYMULTIMEM_LD_REDUCE, 0, r[0], r[1], 0);
        refused(b, MW_HWERR_BOUNDS, MW_I_SUM, b.below(1u << 16), r[0], r[1], 0);
        b.errors.expect_between(b.now, b.now, MW_HWERR_BOUNDS, COMBINE);
        b.push(r[0], r[0] + r[1]);
        b.finish();
    }
    // The last token is valid.
    b.own_kind = random_kind(b.rng);
    b.put_route(end - 1, b.random_list(10));
    b.expect_dynamic(end - 1);
    b.run(MW_I_DYMULTIMEM_LD_REDUCE, 0, 0, end - 1, 1, 0);
    b.run(MW_I_DYMULTIMEM_LD_REDUCE, 0, 0, end, 0, 0);
    allowed(b);
}

// Commands with random operands follow the rules of docs/reference/isa.md. None has an effect on
// the next one.
TEST(any_command)
{
    const uint32_t tokens = 1u << TOKEN_SHIFT;
    bench b;
    for (unsigned i = 0; i < tokens; i++)
        b.put_route(i, std::vector<int>(b.conf.k, -1));
    unsigned went = 0;
    for (unsigned round = 0; round < cases(240, 600); round++) {
        static const unsigned ops[] = {MW_I_DYMULTIMEM_LD_REDUCE, MW_I_MULTIMEM_LD_REDUCE,
                                       MW_I_SUM};
        auto operand = [&](uint64_t limit) {
            const uint64_t near[] = {0, F, limit - F, limit, limit + F, 2 * limit};
            const uint64_t v = b.percent(60) ? near[b.below(6)] : b.rng() >> (32 + b.below(32));
            return static_cast<uint32_t>(b.percent(20) ? v + 1 : v);
        };
        const unsigned op = b.percent(10) ? b.below(256) : ops[b.below(3)];
        const bool fixed = op == MW_I_MULTIMEM_LD_REDUCE;
        const uint64_t limit = fixed ? MEM : tokens;
        const uint32_t at = operand(limit), to = operand(MEM);
        const uint32_t count = b.percent(20) ? 0 : operand(limit);
        const unsigned imm = b.percent(50) ? b.below(20) : b.below(1u << 16);
        const unsigned dtype = imm >> 8 & 15, redop = imm >> 12;
        unsigned code = 0;
        if (op != ops[0] && op != ops[1] && op != ops[2])
            code = MW_HWERR_INSTR;
        else if (op != MW_I_SUM && (redop > 7 || !reduces(dtype, redop)))
            code = MW_HWERR_REDUCTION;
        else if (fixed && (imm & 255) >= GROUPS)
            code = MW_HWERR_UNMAPPED;
        else if (uint64_t{at} + count > limit ||
                 (fixed && (at % F || count % F || to % F || uint64_t{to} + count > MEM)))
            code = MW_HWERR_BOUNDS;
        if (code) {
            refused(b, code, op, imm, at, count, to);
        } else if (!fixed && count == 0) {
            b.run(op, 0, imm, at, count, to);
            went++;
        }
    }
    assert_true(went > 0);
    allowed(b);
}

// Gathered tokens that no GPU has. Then separate rows that are incomplete, or whose result lies
// outside.
TEST_IF(GATHERED, bad_gathered)
{
    const uint32_t end = 1u << (TOKEN_SHIFT + N_SHIFT), own = 1u << TOKEN_SHIFT;
    const uint32_t bad[][2] = {{0, end + 1},  {end, 1},      {end - 1, 2},        {2 * end, 1},
                               {1u << 20, 1}, {1u << 31, 1}, {5, 0u - 4},         {0u - 1, 1},
                               {0u - 1, 2},   {0, 1u << 31}, {1u << 31, 1u << 31}};
    bench b;
    const uint32_t stride = 1u << b.row_shift;
    auto refuse = [&](unsigned op, unsigned flags, uint32_t at, uint32_t count, uint32_t to) {
        refused(b, MW_HWERR_BOUNDS, op, 5, at, count, to, flags);
    };
    for (const auto &r : bad) {
        for (unsigned flags : {2u, 3u, 6u})
            refuse(MW_I_SUM, flags, r[0], r[1], b.below(20));
        refuse(MW_I_SUM, 5, 0, r[1] > own ? 1 : r[1], r[1] > own ? 0u - 1 : r[0]);
    }
    refuse(MW_I_SUM, 5, own, 1, 0); // there are fewer own tokens
    refuse(MW_I_SUM, 3 | 1u << 4, 0, 1, 0);
    for (uint32_t length : {F, stride - F, stride + F, stride / 2, stride + 1})
        refuse(MW_I_MULTIMEM_LD_REDUCE, 1, YD, length, 0);
    refuse(MW_I_MULTIMEM_LD_REDUCE, 1, YD, 2 * stride, MEM - OUT - stride);
    refuse(MW_I_MULTIMEM_LD_REDUCE, 1, YD, stride, 0u - F);
    refuse(MW_I_MULTIMEM_LD_REDUCE, 1 | 0xc0, YD, stride,
           0u - F); // beyond any memory with its base
    refuse(MW_I_MULTIMEM_LD_REDUCE, 1, MEM - stride, 2 * stride, 0);
    b.expect_rows(5, YD, stride, MEM - stride, stride); // the last possible place
    b.run(MW_I_MULTIMEM_LD_REDUCE, 1, 5, YD, stride, MEM - OUT - stride);
    b.expect_rows(6, MEM - stride, stride, OUT, stride);
    b.run(MW_I_MULTIMEM_LD_REDUCE, 1, 6, MEM - stride, stride, 0);
    for (unsigned flags : {2u, 6u}) {
        b.put_gathered(end / 2 - 1, std::vector<int>(b.conf.k, -1));
        b.expect_dense(end / 2 - 1, flags);
        b.run(MW_I_SUM, flags, 0, end / 2 - 1, 1, 0);
        b.run(MW_I_SUM, flags, 0, end, 0, 0);
    }
    allowed(b);
}
