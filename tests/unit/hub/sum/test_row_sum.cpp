// SPDX-License-Identifier: Apache-2.0
//
// row_sum alone. A model of the set-up provides rows of every kind, and answers requests for term
// addresses at any rate. Memory, results and credits are those of reduction_model.h. Every flit
// that leaves is compared. Cases include 1 credit, 1 flit, 16 terms and R, poison, and rows without
// a term. Then the rate of own rows, and of rows of ST packets.

#include "Vrow_sum.h"
#include "reduction_model.h"

#include <map>

using namespace tb;

static const unsigned OWN = 2, EPOCH = 1;
static const unsigned OUT = 0x10000; // rows are read below and written from here on
static const unsigned NONE = ~0u;

struct row {
    std::vector<unsigned> terms; // flit addresses
    bool use_r = false, again = false, st = false, poison = false, more = false;
    bool minus = false; // without terms it is -0
    unsigned flits = 1, dest = 0;
    reduction_kind kind;
    unsigned r_poison = NONE; // packet of the reduced row that is poisoned
    unsigned r_bad = NONE;    // flit from which on its packet is bad

    unsigned steps() const { return static_cast<unsigned>(poison ? 0 : terms.size()) + use_r; }
};

struct bench : sums<Vrow_sum> {
    std::deque<row> rows[N]; // by context
    unsigned term_wait = 0, pend_wait = 0;
    uint64_t left_before_own = 0; // packets of others when the last own row ended
    std::deque<bool> own_due;     // own rows to come: whether another row of the token follows

    explicit bench(unsigned flits, unsigned percent_ready = 100, unsigned part_credits = 0)
        : sums(EPOCH, OWN, percent_ready, part_credits)
    {
        cfg.set("row_bytes", flits * F);
        cfg.any_rest(rng);
        cfg.drive(dut.cfg_i);
        dut.go_i = dut.rows_pend_i = dut.res_valid_i = dut.part_crd_valid_i = dut.term_valid_i = 0;
        dut.sum_rd_rvalid_i[0] = dut.sum_rd_rvalid_i[1] = dut.copy_rd_rvalid_i = 0;
        reset();
    }

    unsigned random_term(unsigned flits) { return below(OUT / F - flits); }
    row row_of(unsigned flits, unsigned terms)
    {
        row r;
        r.flits = flits;
        for (unsigned t = 0; t < terms; t++)
            r.terms.push_back(random_term(flits));
        return r;
    }

    // A row of context ctx, and its required result.
    void add(unsigned ctx, row r)
    {
        const unsigned size = r.flits * F;
        if (ctx == OWN) {
            r.dest = r.again ? last_dest : next_dest;
            if (r.again)
                r.terms.push_back(r.dest);
            else
                next_dest += r.flits;
            last_dest = r.dest;
        }
        std::vector<bytes> terms;
        for (unsigned t : r.terms)
            terms.push_back(r.again && t == r.dest ? last_sum : mem.read(t * F, size));
        if (r.use_r)
            terms.push_back(send_result(r));
        bytes sum = reduce_rows(terms, size, r.kind);
        if (terms.empty() && r.minus)
            for (unsigned i = 1; i < size; i += 2)
                sum[i] = 0x80;
        last_sum = sum;
        if (ctx == OWN) {
            written[r.dest] = kept(r, sum);
            dests.push_back(r);
            own_due.push_back(r.more);
        } else {
            mw_header h = head(r.st ? MW_OP_ST : MW_OP_PARTIAL, ctx);
            h.poison = r.poison;
            if (r.st) {
                r.dest = below(MEM / F - r.flits);
                h.addr = uint64_t{r.dest} * F;
                st_due++;
            }
            expect_row((r.st ? stores_due : partials_due)[ctx], h, sum);
        }
        rows[ctx].push_back(r);
    }

    void run(unsigned limit)
    {
        unsigned quiet = 0;
        until("the last row", limit, [&] {
            bool done = dut.idle_o && nothing_leaves() && results.empty() && own_due.empty();
            for (auto &list : rows)
                done = done && list.empty();
            quiet = done ? quiet + 1 : 0;
            return quiet > 30;
        });
        assert_int_equal(st_done, st_due);
        assert_int_equal(errors, spoilt);
        assert_all_ended();
        for (auto &w : written)
            assert_true(mem.read(w.first * F, w.second.size()) == w.second);
    }

  private:
    // The reduced row from the wire, as a term of the sum.
    bytes send_result(const row &r)
    {
        const bytes data = reduced_row(r.flits * F);
        unsigned number = 0;
        for (wire &w : reduced(data, r.r_poison)) {
            const bool turns = r.r_bad / PF == number;
            if (turns) { // marked once, or to the end
                const size_t from = HF + r.r_bad % PF;
                w.bad.resize(percent(50) ? w.flits() : from + 1);
                std::fill(w.bad.begin() + static_cast<long>(from), w.bad.end(), true);
            }
            spoilt += turns || number == r.r_poison;
            results.queue.push_back(w);
            number++;
        }
        return data;
    }

    // Contents of memory after an own row. A poisoned packet, and flits after one that turned bad,
    // keep the old contents.
    bytes kept(const row &r, const bytes &sum) const
    {
        const bytes old = mem.read(r.dest * F, sum.size());
        bytes b = r.poison ? old : sum;
        auto keep = [&](unsigned from, unsigned to) {
            for (unsigned i = from * F; i < std::min(to, r.flits) * F; i++)
                b[i] = old[i];
        };
        if (r.r_poison != NONE)
            keep(r.r_poison * PF, (r.r_poison + 1) * PF);
        if (r.r_bad != NONE)
            keep(r.r_bad, (r.r_bad / PF + 1) * PF);
        return b;
    }

    void drive() override
    {
        sums::drive();
        for (unsigned i = 0; i < N; i++) {
            if (!rows[i].empty() && !percent(pend_wait))
                dut.rows_pend_i |= static_cast<uint8_t>(1u << i);
        }
        for (unsigned i = 0; i < N; i++) {
            const unsigned bit = 1u << i;
            if (rows[i].empty() ? percent(50) : rows[i].front().steps() < 2)
                dut.rows_one_i |= static_cast<uint8_t>(bit);
            else
                dut.rows_one_i &= static_cast<uint8_t>(~bit);
        }
        const bool own = !rows[OWN].empty();
        dut.rows_own_r_i = own ? rows[OWN].front().use_r : percent(50);
        dut.rows_own_again_i = own ? rows[OWN].front().again : percent(50);
        dut.dest_valid_i = !dests.empty();
        dut.dest_addr_i = static_cast<uint16_t>(dests.empty() ? rng() : dests.front().dest);
        dut.dest_more_i = dests.empty() ? percent(50) : dests.front().more;
        dut.term_valid_i = term_asked;
        dut.term_addr_i = static_cast<uint16_t>(term_asked ? term_addr : rng());
        settle();
        const std::deque<row> &q = rows[dut.row_ctx_o];
        if (q.empty())
            return;
        const row &r = q.front(); // combinational, as from LUT RAM
        const unsigned steps = r.steps();
        dut.row_last_i = static_cast<uint8_t>(steps ? steps - 1 : 0);
        dut.row_use_r_i = r.use_r;
        dut.row_st_i = r.st;
        dut.row_zero_i = steps == 0;
        dut.row_poison_i = r.poison;
        dut.row_minus_i = r.minus;
        dut.row_dest_i = static_cast<uint16_t>(r.dest);
        dut.row_red_i = r.kind.bits();
        dut.row_last_pkt_i = static_cast<uint8_t>((r.flits - 1) / PF);
        dut.row_last_len_i = static_cast<uint8_t>((r.flits - 1) % PF);
    }

    void sample() override
    {
        sums::sample();
        term_asked = dut.term_re_o && !percent(term_wait);
        if (term_asked) {
            const std::vector<unsigned> &terms = rows[dut.row_ctx_o].front().terms;
            term_addr = dut.term_idx_o < terms.size() ? terms[dut.term_idx_o] : rng.word();
        }
        assert_true(dut.row_pop_o || !dut.part_done_valid_o);
        end_of_row(dut.part_done_valid_o, dut.part_done_port_o);
        if (dut.row_pop_o) {
            rows[dut.row_ctx_o].pop_front();
            if (rows[dut.row_ctx_o].empty())
                dut.rows_pend_i &= static_cast<uint8_t>(~(1u << dut.row_ctx_o));
        }
        if (dut.dest_valid_i && dut.dest_ready_o)
            dests.pop_front();
        if (dut.row_done_o) {
            assert_false(own_due.empty());
            assert_int_equal(dut.row_more_o, own_due.front());
            own_due.pop_front();
            left_before_own = partials_out.count + stores_out.count;
        }
        st_done += dut.st_done_o;
        errors += dut.err_valid_o;
    }

    std::deque<row> dests;
    std::map<unsigned, bytes> written;
    bytes last_sum;
    unsigned errors = 0, spoilt = 0, st_done = 0, st_due = 0;
    unsigned next_dest = OUT / F, last_dest = 0, term_addr = 0;
    bool term_asked = false;
};

// In contexts of others partial sums and ST packets alternate randomly from row to row.
static row random_row_of(bench &b, unsigned ctx, unsigned flits, unsigned st_percent)
{
    row r = b.row_of(flits, b.percent(60) ? b.below(4) : b.below(17));
    r.kind = random_kind(b.rng);
    r.poison = b.percent(10);
    if (ctx != OWN) {
        r.st = b.percent(st_percent);
        return r;
    }
    r.more = b.percent(30);
    r.minus = b.percent(30);
    if (r.minus) {
        r.kind = {};
        if (b.percent(50))
            r.terms.clear();
    }
    if (b.percent(60)) {
        r.use_r = true;
        if (b.percent(15))
            r.r_poison = b.below((flits + PF - 1) / PF);
        if (b.percent(15))
            r.r_bad = b.below(flits);
    }
    return r;
}

TEST(rows_of_all_kinds)
{
    static const unsigned lengths[] = {4 * PF, 1, PF, PF + 1, 3 * PF - 1, 2};
    dice rng;
    for (unsigned round = 0; round < 30; round++) {
        const unsigned flits = lengths[round % 6];
        bench b(flits, round < 6 ? 100 : rng.between(20, 99), rng.below(5));
        b.results.rate = b.rng.between(41, 100);
        b.term_wait = b.percent(50) ? b.below(60) : 0;
        b.pend_wait = b.percent(50) ? b.below(90) : 0;
        for (unsigned i = 0; i < 12; i++) {
            for (unsigned ctx = 0; ctx < N; ctx++) {
                const unsigned n = ctx == OWN || b.percent(70) ? flits : b.rng.between(1, 4 * PF);
                b.add(ctx, random_row_of(b, ctx, n, round % 4 * 33));
            }
        }
        b.run(400000);
    }
}

// An own row without its reduced row waits outside, and delays no other.
TEST(others_go_on_without_results)
{
    for (unsigned round = 0; round < 4; round++) {
        bench b(3 * PF);
        b.results.rate = 0;
        row own = b.row_of(3 * PF, 1 + round);
        own.use_r = true;
        b.add(OWN, own);
        for (unsigned i = 0; i < 4 * (N - 1); i++)
            b.add((OWN + 1 + i % (N - 1)) % N, b.row_of(3 * PF, 1 + i % 3));
        b.until("the rows of others", 5000, [&] {
            for (unsigned ctx = 0; ctx < N; ctx++)
                if (ctx != OWN && !b.rows[ctx].empty())
                    return false;
            return true;
        });
        assert_int_equal(b.rows[OWN].size(), 1);
        b.results.rate = 100;
        b.run(20000);
    }
}

// A row, then one that adds to its result. The second never reads too early.
TEST(reads_its_own_sum)
{
    static const unsigned lengths[] = {1, 2, PF - 1, PF, PF + 1, 3 * PF, 8 * PF};
    for (unsigned round = 0; round < 21; round++) {
        const unsigned flits = lengths[round % 7];
        bench b(flits, round < 7 ? 100 : 40 + 3 * round);
        for (unsigned i = 0; i < 10; i++) {
            row first = b.row_of(flits, 1 + b.below(4)), second = b.row_of(flits, 1 + b.below(3));
            first.more = second.again = true;
            b.add(OWN, first);
            b.add(OWN, second);
        }
        b.run(100000);
    }
}

// Own rows without terms: their flits are -0 by either lane, and no other flits change.
TEST(dense_rows_are_minus_zero)
{
    for (unsigned lane = 0; lane < 2; lane++) {
        bench b(4 * PF);
        b.cfg.set("adder_bypass", lane);
        b.cfg.drive(b.dut.cfg_i);
        for (unsigned i = 0; i < 24; i++) {
            row r = b.row_of(4 * PF, i % 3 == 0 ? 0 : b.below(3));
            r.minus = i % 2;
            b.add(OWN, r);
        }
        b.run(20000);
        assert_true(b.flits_written.per_event() < 2.1);
    }
}

// Own and ST rows of 1 to 3 terms at full rate: PF cycles per packet and pass, and the header's
// cycles for ST.
TEST(rate_of_own_rows)
{
    const unsigned rows = 20, packets = 8;
    for (unsigned m = 1; m <= 3; m++) {
        for (bool st : {false, true}) {
            bench b(packets * PF);
            for (unsigned i = 0; i < rows; i++) {
                row r = b.row_of(packets * PF, m);
                r.st = st;
                b.add(st ? (OWN + 1 + i % (N - 1)) % N : OWN, r);
            }
            b.run(100000);
            const double per = st ? b.stores_out.per_event() : PF * b.flits_written.per_event();
            const unsigned adder = PF * (m > 2 ? m - 1 : 1), out = PF + (st ? HF : 0);
            printf("F=%u, %s rows of %u terms: %.2f cycles per packet\n", F, st ? "ST" : "own", m,
                   per);
            assert_true(per <= std::max(adder, out) + 0.1);
        }
    }
}

// Rows of one term, own and others', between rows of three, which keep the adder busy for two
// cycles per flit. With the adder bypass, rows of one term cost the adder nothing. All bits are the
// same as without it. The same holds if own rows may go by the adder.
TEST(copies_pass_the_adder)
{
    const unsigned rows = 12, packets = 8;
    uint64_t cycles[3];
    for (unsigned lane = 0; lane < 3; lane++) {
        bench b(packets * PF);
        b.cfg.set("adder_bypass", lane > 0);
        b.cfg.set("own_by_adder", lane > 1);
        b.cfg.drive(b.dut.cfg_i);
        b.credit_delay = 0;
        for (unsigned i = 0; i < rows; i++) {
            for (unsigned ctx : {(OWN + 1) % N, (OWN + 2) % N})
                b.add(ctx, b.row_of(packets * PF, (i + ctx) % 2 ? 1 : 3));
            row own = b.row_of(packets * PF, 0); // R alone
            own.use_r = true;
            if (i % 2)
                b.add(OWN, own);
        }
        b.run(100000);
        cycles[lane] = std::max(b.flits_written.last, b.partials_out.last);
    }
    const uint64_t sums = uint64_t{rows} * packets * 2 * PF, all = sums * 7 / 4;
    const uint64_t up = uint64_t{rows} * packets * 2 * (HF + PF), bound = std::max(sums, up);
    printf(
        "F=%u: %lu cycles with the adder bypass, %lu if own rows may go by the adder, %lu without; "
        "the adder adds for %lu, the uplink sends for %lu\n",
        F, static_cast<unsigned long>(cycles[1]), static_cast<unsigned long>(cycles[2]),
        static_cast<unsigned long>(cycles[0]), static_cast<unsigned long>(sums),
        static_cast<unsigned long>(up));
    assert_true(cycles[0] >= all);
    for (unsigned lane = 1; lane < 3; lane++)
        assert_true(!PARAM_AdderBypass || cycles[lane] * 8 <= bound * 9);
}

// Loads without a sum: one term for each of the others, and R alone for own rows. They share the
// bypass, unless own rows go by the adder. Then both directions have their full rate.
TEST_IF(PARAM_AdderBypass, own_rows_take_the_idle_adder)
{
    const unsigned rows = 12, packets = 8;
    uint64_t cycles[2];
    for (unsigned by_adder = 0; by_adder < 2; by_adder++) {
        bench b(packets * PF);
        b.cfg.set("adder_bypass", 1);
        b.cfg.set("own_by_adder", by_adder);
        b.cfg.drive(b.dut.cfg_i);
        b.credit_delay = 0;
        for (unsigned i = 0; i < rows; i++) {
            b.add((OWN + 1 + i % (N - 1)) % N, b.row_of(packets * PF, 1));
            row own = b.row_of(packets * PF, 0);
            own.use_r = true;
            b.add(OWN, own);
        }
        b.run(100000);
        cycles[by_adder] = std::max(b.flits_written.last, b.partials_out.last);
    }
    const uint64_t up = uint64_t{rows} * packets * (HF + PF);
    printf("F=%u: loads take %lu cycles, %lu if own rows may go by the adder; the uplink sends for "
           "%lu\n",
           F, static_cast<unsigned long>(cycles[0]), static_cast<unsigned long>(cycles[1]),
           static_cast<unsigned long>(up));
    assert_true(cycles[0] * 4 >= up * 6);
    assert_true(cycles[1] * 5 <= up * 6);
}

// A row of one term keeps every value except NaN, which becomes the canonical one. Most values are
// infinities, or differ from one in a single bit. Each type is tested.
TEST(copies_keep_every_value_but_nan)
{
    static const unsigned infinite[] = {0x7c00, 0x7f80,
                                        0}; // FP16; BF16 and the upper half of FP32; its lower half
    const unsigned packets = 8;
    for (unsigned dtype = 0; dtype < MW_DTYPES; dtype++) {
        if (!reduces(dtype, MW_REDOP_ADD))
            continue;
        bench b(packets * PF);
        for (size_t i = 0; i + 2 <= b.mem.data.size(); i += 2) {
            unsigned v = infinite[b.below(3)] ^ b.below(2) << 15;
            if (b.percent(60))
                v ^= 1u << b.below(16);
            b.mem.set<uint16_t>(static_cast<unsigned>(i), static_cast<uint16_t>(v));
        }
        for (unsigned i = 0; i < 6; i++)
            for (unsigned ctx = 0; ctx < N; ctx++) {
                row r = b.row_of(packets * PF, 1);
                r.kind.dtype = dtype;
                b.add(ctx, r);
            }
        b.run(100000);
    }
}

// Of three that request all the time one is always behind. The other two get one packet after two
// periods of 4 N packets at most, and not many more.
TEST_IF(PARAM_BalanceRows, who_is_behind_goes_first)
{
    const unsigned rows = 160, one = (OWN + 1) % N, period = 4 * N;
    for (unsigned on = 0; on < 2; on++) {
        bench b(PF);
        b.any_behind = 0;
        b.behind = 1u << one;
        b.credit_delay = 0;
        b.cfg.set("balance_rows", on);
        b.cfg.drive(b.dut.cfg_i);
        for (unsigned i = 0; i < rows * N; i++)
            if (i % N != OWN)
                b.add(i % N, b.row_of(PF, 2));
        b.until("the rows of the one that is behind", 100000, [&] { return b.rows[one].empty(); });
        for (unsigned ctx = 0; ctx < N; ctx++) {
            if (ctx == OWN || ctx == one)
                continue;
            printf(
                "F=%u, balance_rows %u: %u rows of GPU %u of %u left before the last of GPU %u\n",
                F, on, b.ended[ctx], ctx, rows, one);
            if (on)
                assert_in_range(b.ended[ctx], rows / (2 * period + 2 * N), rows / 3);
            else
                assert_in_range(b.ended[ctx], rows - 2, rows);
        }
        b.run(100000);
    }
}

// Without the adder bypass and with a slow uplink, own rows get more than their turn. Otherwise all
// others would end first. When AddPkts - 2 others are inside, sum_choice makes every second packet
// an own one. Here as many stay inside, because the uplink takes longer for a packet than the adder
// for two. Before the last own packet is in memory, at most as many others have left as there are
// own ones. Others that were chosen in turn before are among those inside. Memory never waits here.
// If it did, the adder could be as slow as the uplink, which would then need all that it gets.
TEST(own_rows_get_more)
{
    const unsigned rows = 4, packets = 8;
    for (unsigned period = 2; period <= 5; period++) {
        bench b(packets * PF);
        b.up_period = period;
        b.cfg.set("adder_bypass", 0);
        b.cfg.drive(b.dut.cfg_i);
        for (unsigned i = 0; i < rows * N; i++)
            b.add(i % N, b.row_of(packets * PF, 2));
        b.run(100000);
        printf(
            "F=%u, %u cycles per flit of the uplink: %lu packets before the last own row's end\n",
            F, period, static_cast<unsigned long>(b.left_before_own));
        assert_in_range(b.left_before_own, 1, rows * packets); // in turn: N - 1 times as many
    }
}

// No more packets are chosen than keep the uplink busy. The result of an own row comes late, while
// others wait for a slow uplink. The row then waits for two of their packets at most.
TEST_IF(F == 8 && PARAM_AdderBypass, late_own_row_finds_room)
{
    for (unsigned terms = 1; terms <= 2; terms++) {
        bench b(PF);
        b.up_period = 8;
        b.credit_delay = 0;
        b.cfg.set("adder_bypass", 0);
        b.cfg.drive(b.dut.cfg_i);
        b.results.rate = 0;
        row own = b.row_of(PF, terms);
        own.use_r = true;
        b.add(OWN, own);
        for (unsigned i = 0; i < 12 * (N - 1); i++)
            b.add((OWN + 1 + i % (N - 1)) % N, b.row_of(PF, terms));
        b.cycles(1000);
        b.results.rate = 100;
        const uint64_t took = b.until("the own row", 5000, [&] { return b.own_due.empty(); });
        printf("F=%u: a late own row of %u terms took %lu cycles\n", F, terms,
               static_cast<unsigned long>(took));
        assert_true(took <= 2 * b.up_period * (HF + PF));
        b.up_period = 0;
        b.run(20000);
    }
}
