// SPDX-License-Identifier: Apache-2.0
//
// row_ranges against the rules of its header, request by request. Ranges end at any token and
// beyond all. Sources have no, few or many rows. Reports of any row change while a row is in work.
// Layers follow one another, with resets in the middle. MW_SEED repeats a run.
#include "bench/dut.h"
#include "isa.h"
#include "node_cfg.h"
#include "packet.h"

using namespace tb;

static const unsigned N = PARAM_N, TOKENS = PARAM_TokensLog2, ROW_BITS = 22,
                      LINES = 1u << (PARAM_MemBytesLog2 - log2_up(MW_PAYLOAD_MAX_BYTES));
static constexpr bool OWN = PARAM_Own;

struct ranges : model<Vrow_ranges> {
    enum output { None, Entry, Item, Retire };
    struct source {
        unsigned rows = 0, next = 0, end = 0, reported = 0;
        bool reports = false;
    };
    std::vector<source> sources{N};
    unsigned port = 0, shift = 0, items = 0, by_token = 0, by_report = 0, by_end = 0, errors = 0;

    /// Random values at inputs that do not count, and the rows of the selected source.
    void inputs()
    {
        dut.entry_ready_i = dut.entry_first_i = dut.entry_got_i = dut.item_done_i = 0;
        dut.entry_token_i = static_cast<uint8_t>(rng.bits(TOKENS));
        dut.quiet_i = percent(40);
        dut.cmd_valid_i = dut.go_i = 0;
        scramble(dut.cmd_i, 128, rng);
    }
    void look()
    {
        settle();
        const source &s = sources[dut.src_o % N];
        dut.src_rows_rows_i = s.rows;
        dut.src_rows_notified_i = s.reports;
        dut.src_rows_row_i = s.reported;
        settle();
    }
    /// In this cycle the module offers `what` or nothing.
    void expect(output what)
    {
        if ((dut.entry_valid_o && what != Entry) || (dut.item_valid_o && what != Item) ||
            (dut.retire_o && what != Retire) || dut.cmd_ready_o || dut.err_valid_o)
            fail_msg("expected %u: entry %u, item %u, retire %u, ready %u, error %u", what,
                     dut.entry_valid_o, dut.item_valid_o, dut.retire_o, dut.cmd_ready_o,
                     dut.err_valid_o);
    }
    bool is(output what) const
    {
        return what == Entry ? dut.entry_valid_o : what == Item ? dut.item_valid_o : dut.retire_o;
    }
    /// Runs to the cycle in which it is offered, before the inputs of that cycle are set.
    void await(output what)
    {
        for (unsigned i = 0;; i++) {
            inputs();
            look();
            expect(what);
            if (is(what))
                return;
            if (i >= 40u + 3 * N)
                fail_msg("waited for %u", what);
            edge();
        }
    }
    /// The output is stable up to a random cycle.
    void keep(output what, unsigned src, unsigned row)
    {
        for (;;) {
            assert_true(is(what));
            assert_int_equal(dut.src_o, src);
            assert_int_equal(dut.entry_row_o, row);
            if (percent(60))
                return;
            edge();
            inputs();
            report();
            look();
            expect(what);
        }
    }
    void report()
    {
        source &s = sources[below(N)];
        s.reports = percent(60);
        s.reported = percent(70)   ? s.next + below(4)
                     : percent(50) ? static_cast<unsigned>(rng.bits(ROW_BITS))
                                   : 1u << below(ROW_BITS);
    }

    void layer()
    {
        port = below(N);
        shift = below(TOKENS + 1);
        node_cfg cfg;
        cfg.set("port", port);
        cfg.set("token_shift", shift);
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
        unsigned left = LINES - 1, at = 0;
        for (unsigned s = 0; s < N; s++) {
            source &x = sources[s] = {};
            x.rows = std::min(left, percent(60) ? below(5) : 1u << below(log2_up(LINES)));
            left -= x.rows;
            if (s == port)
                dut.own_base_i = at;
            x.next = at;
            x.end = at += x.rows;
        }
        for (unsigned i = 0; i < N; i++)
            report();
        inputs();
        dut.go_i = 1;
        dut.rst_ni = percent(50);
        look();
        edge();
        dut.go_i = 0;
        dut.rst_ni = 1;
    }

    /// An own token below the end, or from the end on, with any GPU number above it.
    unsigned token(unsigned end, bool below_it)
    {
        const unsigned near = below_it ? end - 1 : end,
                       any = below_it ? below(end) : end + below((1u << shift) - end);
        return (percent(50) ? near : any) | (static_cast<unsigned>(rng.bits(TOKENS)) >> shift)
                                                << shift;
    }

    /// Reads the requested entry, and returns its token.
    unsigned read_entry(unsigned end)
    {
        dut.entry_ready_i = 1;
        settle();
        edge();
        while (percent(40))
            pass();
        const unsigned t = token(end, end && (end == 1u << shift || percent(85)));
        inputs();
        dut.entry_first_i = 1;
        dut.entry_token_i = static_cast<uint8_t>(t);
        look();
        expect(None);
        edge();
        while (percent(40))
            pass();
        inputs();
        dut.entry_got_i = 1;
        look();
        expect(None);
        edge();
        return t & ((1u << shift) - 1);
    }
    void pass()
    {
        inputs();
        report();
        look();
        expect(None);
        edge();
    }

    /// The next row of the source, if it is present and in the range.
    bool row(unsigned s, unsigned end)
    {
        source &x = sources[s];
        const bool fewer = x.reports && x.reported < x.end;
        if (x.next >= (fewer ? x.reported : x.end)) {
            (fewer ? by_report : by_end)++;
            return false;
        }
        await(Entry);
        keep(Entry, s, x.next);
        const unsigned t = read_entry(end);
        if (t >= end) {
            by_token++;
            return false;
        }
        await(Item);
        keep(Item, s, x.next);
        assert_int_equal(dut.item_token_o, t);
        dut.item_done_i = 1;
        settle();
        edge();
        x.next++;
        items++;
        return true;
    }

    /// Returns false if a reset ended the instruction.
    bool instruction(uint64_t first, uint32_t count)
    {
        const uint64_t end = first + count;
        const bool wrong = end > 1ull << shift;
        inputs();
        mw_instr in;
        rng.fill(&in, sizeof in);
        in.a = static_cast<uint32_t>(first);
        in.a_high = static_cast<uint8_t>(first >> 32 & 3);
        in.b = count;
        memcpy(&dut.cmd_i, &in, sizeof in);
        while (!percent(50)) {
            dut.cmd_valid_i = 0;
            look();
            assert_true(dut.cmd_ready_o && !dut.err_valid_o);
            edge();
        }
        dut.cmd_valid_i = 1;
        look();
        assert_true(dut.cmd_ready_o);
        assert_int_equal(dut.err_valid_o, wrong);
        errors += wrong;
        edge();
        std::vector<bool> over(N, wrong);
        if (!OWN)
            over[port] = true;
        const unsigned reset_at = rng.one_in(20) ? below(8) : ~0u;
        for (unsigned s = port, i = 0; std::count(over.begin(), over.end(), false);
             s = (s + 1) % N, i++) {
            if (i == reset_at)
                return false;
            if (!over[s])
                over[s] = !row(s, static_cast<unsigned>(end));
        }
        await(Retire);
        assert_true(dut.quiet_i);
        edge();
        return true;
    }
    uint64_t bound() { return 1ull << shift; }
};

TEST(rows_of_every_source_in_turn)
{
    ranges b;
    b.reset();
    for (unsigned i = 0; i < 1500; i++) {
        b.layer();
        uint64_t end = 0;
        for (unsigned j = 0; j < 5; j++) {
            end = std::min(b.bound(), end + b.below(b.bound() / 2 + 1));
            uint64_t first = b.below(end + 1), count = end - first;
            if (b.percent(8)) { // beyond the bound by one, or by any bit of either
                first = b.percent(50) ? b.bound() : 1ull << b.below(34);
                count = 1ull << b.below(32);
            }
            if (!b.instruction(first, static_cast<uint32_t>(count))) {
                b.inputs();
                b.reset();
                break;
            }
        }
    }
    assert_true(b.items > 2000 && b.by_token > 500 && b.by_report > 500 && b.by_end > 500);
    assert_true(b.errors > 100);
}
