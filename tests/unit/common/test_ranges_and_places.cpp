// SPDX-License-Identifier: Apache-2.0
//
// cmd_range with ranges that end at, below and above each bound, and with each single bit of an
// operand. scatter_order with every transfer of up to 256 packets. rx_extent with every row shift,
// opcode and address bit. MW_SEED repeats a run.
#include "bench/dut.h"
#include "bench/packet.h"
#include "isa.h"

using namespace tb;

static constexpr unsigned TOKENS = PARAM_TokensLog2, MEMORY = PARAM_MemBytesLog2;

struct ranges : model<Vranges_and_places> {
    void check(uint64_t first, uint64_t count, unsigned shift)
    {
        dut.first_i = first;
        dut.count_i = static_cast<uint32_t>(count);
        dut.shift_i = static_cast<uint8_t>(shift);
        settle();
        const uint64_t end = first + count;
        if (dut.no_tokens_o != (end > 1ull << shift) || dut.no_bytes_o != (end > 1ull << MEMORY))
            fail_msg("[%#llx, %#llx), shift %u: tokens %u, bytes %u",
                     static_cast<unsigned long long>(first), static_cast<unsigned long long>(end),
                     shift, dut.no_tokens_o, dut.no_bytes_o);
        if (!dut.no_tokens_o)
            assert_int_equal(dut.end_o, end);
    }
    /// Ranges of all kinds whose end is near `bound`.
    void near(uint64_t bound, unsigned shift)
    {
        const uint64_t high = std::min(bound + below(3), (uint64_t{1} << 34) - 1);
        const uint64_t end = high - std::min<uint64_t>(high, below(3));
        const uint64_t first =
            rng.one_in(3) ? end - std::min<uint64_t>(end, below(4)) : rng.bits(34) % (end + 1);
        if (end - first < uint64_t{1} << 32)
            check(first, end - first, shift);
    }
    unsigned below(unsigned n) { return static_cast<unsigned>(rng.below(n)); }
};

TEST(ranges_end_at_their_bounds)
{
    ranges b;
    for (unsigned i = 0; i < 60000; i++) {
        const unsigned shift = b.below(TOKENS + 1);
        b.near(uint64_t{4} << b.below(32), shift);
        b.near(uint64_t{1} << shift, shift);
        b.near(uint64_t{1} << MEMORY, shift);
    }
    for (unsigned shift = 0; shift <= TOKENS; shift++)
        for (unsigned i = 0; i < 34; i++)
            for (unsigned j = 0; j < 32; j++) {
                b.check(uint64_t{1} << i, 0, shift);
                b.check(0, uint64_t{1} << j, shift);
                b.check(uint64_t{1} << i, uint64_t{1} << j, shift);
                b.check((uint64_t{1} << i) - 1, uint64_t{1} << j, shift);
            }
}

TEST(packets_leave_line_by_line)
{
    model<Vranges_and_places> b;
    for (unsigned scatter = 1; scatter < 8; scatter++) {
        const unsigned lines = 1u << (std::min(scatter, 5u) - 1), window = 4 * lines;
        for (unsigned last = 0; last < 256; last++)
            for (unsigned i = 0; i <= last; i++) {
                const unsigned first = i / window * window, at = i - first;
                const bool whole = first + window <= last + 1;
                b.dut.scatter_i = static_cast<uint8_t>(scatter);
                b.dut.last_i = static_cast<uint8_t>(last);
                b.dut.index_i = static_cast<uint8_t>(i);
                b.settle();
                assert_int_equal(b.dut.place_o, whole ? first + at % lines * 4 + at / lines : i);
            }
    }
}

struct extents : model<Vranges_and_places> {
    static constexpr unsigned TOKEN_BITS = TOKENS + log2_up(PARAM_N), ADDRESS_BITS = 25;

    /// Whether the address is valid.
    bool inside(unsigned op, uint64_t addr, unsigned row_shift, bool said) const
    {
        switch (mw_opcode_of(op).extent) {
        case MW_EXTENT_ROW:
            return addr < uint64_t{1} << (TOKEN_BITS + row_shift);
        case MW_EXTENT_NONE:
            return true;
        case MW_EXTENT_COUNTS:
            return addr % PARAM_FlitBytes == 0;
        case MW_EXTENT_EVENT: {
            const unsigned event = addr & 31;
            const bool counts = event <= MW_EV_SW7 || event >= MW_EV_SW8;
            return said ? addr < uint64_t{1} << 23 && addr < uint64_t{1} << MEMORY
                        : counts && addr >> 5 < uint64_t{2} << TOKEN_BITS;
        }
        default:
            return addr < uint64_t{1} << MEMORY;
        }
    }
    void check(unsigned op, uint64_t addr, unsigned row_shift, unsigned len)
    {
        dut.op_i = static_cast<uint8_t>(op);
        dut.addr_i = static_cast<uint32_t>(addr);
        dut.row_shift_i = static_cast<uint8_t>(row_shift);
        dut.len_i = static_cast<uint8_t>(len);
        dut.said_i = rng.one_in(2);
        settle();
        const bool of_row = mw_opcode_of(op).extent == MW_EXTENT_ROW;
        const uint64_t first = addr & ((uint64_t{1} << (of_row ? row_shift : MEMORY)) - 1);
        assert_int_equal(dut.first_o, first);
        assert_int_equal(dut.behind_o, first + len);
        if (of_row)
            assert_int_equal(dut.token_o, addr >> row_shift & ((1u << TOKEN_BITS) - 1));
        if (dut.beyond_o == inside(op, addr, row_shift, dut.said_i))
            fail_msg("opcode %u, address %#llx, row shift %u, said %u: beyond %u", op,
                     static_cast<unsigned long long>(addr), row_shift, dut.said_i, dut.beyond_o);
    }
};

TEST(payloads_lie_where_their_header_says)
{
    extents b;
    for (unsigned op = 0; op < 64; op++)
        for (unsigned row_shift = log2_up(PARAM_FlitBytes); row_shift < 16; row_shift++) {
            if (mw_opcode_of(op).cls != MW_CLS_STORE)
                continue;
            for (unsigned bit = 0; bit < extents::ADDRESS_BITS; bit++)
                for (unsigned i = 0; i < 8; i++) // a bit alone, and above others
                    b.check(op, uint64_t{1} << bit | b.rng.bits(i ? bit : 0), row_shift,
                            static_cast<unsigned>(b.rng.bits(8)));
            for (unsigned i = 0; i < 200; i++)
                b.check(op, b.rng.bits(extents::ADDRESS_BITS), row_shift,
                        static_cast<unsigned>(b.rng.bits(8)));
        }
}
