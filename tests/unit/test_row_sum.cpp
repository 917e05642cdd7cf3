// SPDX-License-Identifier: Apache-2.0
//
// row_sum alone: rows of every kind from a model of the set-up, which answers for the addresses of
// terms as late as it likes; memory, results and credits as in test_reduction. Every flit that
// leaves is compared; 1 credit, 1 flit, 16 terms and R, poison and rows without a term are among the cases.
// The rate of own rows, and of rows of ST packets. MW_SEED repeats a run.

#include "Vrow_sum.h"
#include "node_cfg.h"
#include "reduction_model.h"
#include "verilated.h"

#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

extern "C" {
#include <cmocka.h>
}

static const unsigned N = 4, OWN = 2;
static const unsigned F = sizeof(Vrow_sum::res_data_i);
static const unsigned PF = 128 / F;
static const unsigned ADDR_W = 14;
static const unsigned OUT = 0x10000; // rows are read below and written from here on

static uint64_t seed;

struct row {
    std::vector<unsigned> terms; // flit addresses
    bool use_r = false, again = false, st = false, poison = false, more = false;
    unsigned flits = 1, dest = 0;
    reduction_kind kind;
    bytes r;                 // the reduced row from the wire
    unsigned r_poison = ~0u; // packet that comes poisoned
    unsigned r_bad = ~0u;    // flit from which on a packet is bad
    bytes want;
    unsigned sent = 0; // flits that left
};

class bench {
  public:
    bench(uint64_t s, unsigned ready_percent, unsigned part_credits)
        : c(s), mem(ADDR_W), ready(ready_percent)
    {
        mem.data = random_row(c, mem.data.size());
        suma.ready_percent = sumb.ready_percent = ready;
        limit = part_credits == 0 ? 4 : std::min(part_credits, 4u);
        cfg.set("port", OWN);
        cfg.set("epoch", 1);
        cfg.set("part_credits", part_credits);
        dut.rst_ni = 0;
        dut.clk_i = 0;
        dut.go_i = dut.res_valid_i = dut.part_crd_valid_i = dut.term_valid_i = dut.dest_valid_i = 0;
        dut.row_pend_i = 0;
        dut.suma_rd_rvalid_i = dut.sumb_rd_rvalid_i = 0;
        for (unsigned i = 0; i < 4; i++)
            edge();
        dut.rst_ni = 1;
    }

    void configure(unsigned row_bytes)
    {
        cfg.set("row_bytes", row_bytes);
        cfg.drive(dut.cfg_i);
    }

    // A row of context ctx; what it must become is known at once but for rows that read again.
    void add(unsigned ctx, row r)
    {
        if (ctx == OWN) {
            r.dest = next_dest;
            if (r.again) {
                r.dest = last_dest;
                r.terms.push_back(r.dest);
            } else {
                next_dest += r.flits;
            }
            last_dest = r.dest;
        }
        std::vector<bytes> sum;
        for (unsigned t : r.terms) {
            if (r.again && t == r.dest)
                sum.push_back(last_want);
            else
                sum.push_back(mem.get(static_cast<uint64_t>(t) * F, r.flits * F));
        }
        if (r.use_r) {
            r.r = random_row(c, r.flits * F);
            for (unsigned i = 0; i < r.flits * F; i += 2) {
                uint16_t v;
                memcpy(&v, &r.r[i], 2);
                v = nearest_bf16(from_bf16(v));
                memcpy(&r.r[i], &v, 2);
            }
            sum.push_back(r.r);
            for (unsigned f = 0; f < r.flits; f += PF) {
                mw_header h = {};
                h.opcode = MW_OP_RESULT;
                h.poison = f / PF == r.r_poison;
                unsigned n = std::min(PF, r.flits - f);
                packets<F>::append(results, h,
                                   bytes(r.r.begin() + f * F, r.r.begin() + (f + n) * F));
                bool turns = r.r_bad / PF == f / PF;
                if (turns) // marked once, or to the end
                    for (unsigned i = r.r_bad; i < (c.percent(50) ? f + n : r.r_bad + 1); i++)
                        results[results.size() - (f + n) + i].bad = true;
                poisoned += h.poison || turns;
            }
        }
        r.want = sum_rows(sum, r.flits * F, r.kind);
        last_want = r.want;
        if (ctx == OWN) {
            dests.push_back({r.dest, r.more});
            done_due++;
            more_due += r.more;
            bytes old = mem.get(static_cast<uint64_t>(r.dest) * F, r.flits * F);
            if (r.poison)
                r.want = old;
            if (r.use_r && r.r_poison != ~0u) {
                unsigned from = r.r_poison * 128, n = std::min<unsigned>(128, r.flits * F - from);
                std::copy_n(old.begin() + from, n, r.want.begin() + from);
            }
            if (r.use_r && r.r_bad != ~0u) {
                unsigned from = r.r_bad * F, to = std::min(r.flits, (r.r_bad / PF + 1) * PF) * F;
                std::copy(old.begin() + from, old.begin() + to, r.want.begin() + from);
            }
            finals[r.dest] = r.want;
        }
        if (r.st) {
            r.dest = c.below((1u << ADDR_W) - r.flits);
            st_due++;
        }
        rows[ctx].push_back(r);
        if (ctx != OWN)
            leaving[r.st ? N + ctx : ctx].push_back(r);
    }

    unsigned random_term(unsigned flits) { return c.below(OUT / F - flits); }

    void run(unsigned limit_cycles)
    {
        unsigned quiet = 0;
        for (unsigned n = 0; quiet < 30; n++) {
            cycle();
            assert_in_range(n, 0, limit_cycles);
            bool left = !results.empty() || done < done_due;
            for (unsigned i = 0; i < 2 * N; i++)
                left |= !leaving[i].empty() || (i < N && !rows[i].empty());
            quiet = !left && dut.idle_o ? quiet + 1 : 0;
        }
        assert_int_equal(done, done_due);
        assert_int_equal(st_done, st_due);
        assert_int_equal(more, more_due);
        assert_int_equal(errors, poisoned);
        for (auto &w : finals)
            assert_memory_equal(&mem.data[static_cast<size_t>(w.first) * F], &w.second[0],
                                w.second.size());
    }

    Vrow_sum dut;
    chance c;
    flit_memory<F> mem;
    uint64_t now = 0, last_out = 0, first_out = 0;
    unsigned sent = 0, sent_before_own = 0; // packets, and when the last own row ended
    unsigned max_used = 0, ready, gap = 0, term_wait = 0, pend_wait = 0;
    unsigned up_period = 0; // cycles of the uplink per flit; 0: it is ready at random

  private:
    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    void cycle()
    {
        suma.drive(c, now, dut.suma_rd_ready_i, dut.suma_rd_rvalid_i, dut.suma_rd_rdata_i);
        sumb.drive(c, now, dut.sumb_rd_ready_i, dut.sumb_rd_rvalid_i, dut.sumb_rd_rdata_i);
        dut.out_wr_ready_i = c.percent(ready);
        const bool up = up_period ? now % up_period == 0 : c.percent(ready);
        dut.part_ready_i = up;
        dut.sst_ready_i = up_period ? up : c.percent(ready);
        for (unsigned i = 0; i < N; i++) {
            if (!rows[i].empty() && !c.percent(pend_wait))
                dut.row_pend_i |= static_cast<uint8_t>(1u << i);
        }
        if (!rows[OWN].empty()) {
            dut.row_own_r_i = rows[OWN].front().use_r;
            dut.row_own_again_i = rows[OWN].front().again;
        }
        dut.dest_valid_i = !dests.empty();
        if (dut.dest_valid_i) {
            dut.dest_addr_i = static_cast<uint16_t>(dests.front().first);
            dut.dest_more_i = dests.front().second;
        }
        if (!res_held)
            res_held = !results.empty() && !c.percent(gap);
        dut.res_valid_i = res_held;
        if (res_held) {
            memcpy(&dut.res_data_i, results.front().b, F);
            dut.res_last_i = results.front().last;
        }
        dut.res_bad_i = res_held ? results.front().bad : c.percent(50);
        dut.part_crd_valid_i = !credits.empty() && c.percent(50);
        if (dut.part_crd_valid_i) {
            dut.part_crd_port_i = static_cast<uint8_t>(credits.front());
            used[credits.front()]--;
            credits.pop_front();
        }
        dut.term_valid_i = term_asked;
        dut.term_addr_i = static_cast<uint16_t>(term_asked ? term_addr : c.rng());
        dut.eval();
        const std::deque<row> &q = rows[dut.row_ctx_o];
        if (!q.empty()) { // combinational, as from LUT RAM
            const row &r = q.front();
            unsigned steps = static_cast<unsigned>(r.poison ? 0 : r.terms.size()) + r.use_r;
            dut.row_last_i = static_cast<uint8_t>(steps ? steps - 1 : 0);
            dut.row_use_r_i = r.use_r;
            dut.row_st_i = r.st;
            dut.row_zero_i = steps == 0;
            dut.row_poison_i = r.poison;
            dut.row_dest_i = static_cast<uint16_t>(r.dest);
            dut.row_red_i = static_cast<uint8_t>(r.kind.dtype << 3 | r.kind.redop);
            dut.row_last_pkt_i = static_cast<uint8_t>((r.flits - 1) / PF);
            dut.row_last_len_i = static_cast<uint8_t>((r.flits - 1) % PF);
        }
        dut.eval();
        sample();
        edge();
        now++;
    }

    void sample()
    {
        suma.sample(now, dut.suma_rd_valid_o, dut.suma_rd_ready_i, dut.suma_rd_addr_o, mem);
        sumb.sample(now, dut.sumb_rd_valid_o, dut.sumb_rd_ready_i, dut.sumb_rd_addr_o, mem);
        term_asked = dut.term_re_o && !c.percent(term_wait);
        if (term_asked) {
            const row &r = rows[dut.row_ctx_o].front();
            term_addr = dut.term_idx_o < r.terms.size() ? r.terms[dut.term_idx_o]
                                                        : static_cast<unsigned>(c.rng());
        }
        if (dut.row_pop_o) {
            rows[dut.row_ctx_o].pop_front();
            if (rows[dut.row_ctx_o].empty())
                dut.row_pend_i &= static_cast<uint8_t>(~(1u << dut.row_ctx_o));
        }
        if (dut.dest_valid_i && dut.dest_ready_o)
            dests.pop_front();
        if (dut.res_valid_i && dut.res_ready_o) {
            results.pop_front();
            res_held = false;
        }
        if (dut.row_done_o) {
            sent_before_own = sent;
            done++;
            more += dut.row_more_o;
        }
        st_done += dut.st_done_o;
        errors += dut.err_valid_o;
        if (dut.out_wr_valid_o && dut.out_wr_ready_i) {
            assert_int_equal(dut.out_wr_be_o, (1u << F) - 1);
            const uint8_t *b = reinterpret_cast<const uint8_t *>(&dut.out_wr_data_o);
            mem.put(static_cast<uint64_t>(dut.out_wr_addr_o) * F, bytes(b, b + F));
            mark();
        }
        if (inside[0])
            assert_true(dut.part_valid_o);
        if (inside[1])
            assert_true(dut.sst_valid_o);
        if (dut.part_valid_o && dut.part_ready_i)
            take(0, &dut.part_data_o, dut.part_last_o);
        if (dut.sst_valid_o && dut.sst_ready_i)
            take(1, &dut.part_data_o, dut.part_last_o);
    }

    void mark()
    {
        if (first_out == 0)
            first_out = now;
        last_out = now;
    }

    void take(unsigned s, const void *data, bool last)
    {
        const uint8_t *b = static_cast<const uint8_t *>(data);
        packet[s].insert(packet[s].end(), b, b + F);
        inside[s] = !last;
        if (!last)
            return;
        mark();
        sent++;
        mw_header h = packets<F>::header(packet[s]);
        assert_int_equal(h.opcode, s ? MW_OP_ST : MW_OP_PARTIAL);
        assert_int_equal(h.cls, s ? MW_CLS_STORE : MW_CLS_PART);
        assert_int_equal(h.epoch, 1);
        assert_in_range(h.dst, 0, N - 1);
        std::deque<row> &q = leaving[s ? N + h.dst : h.dst];
        assert_false(q.empty());
        row &r = q.front();
        unsigned n = std::min(PF, r.flits - r.sent);
        if (s)
            assert_int_equal(h.addr, static_cast<uint64_t>(r.dest + r.sent) * F);
        assert_int_equal(h.len, n * F);
        assert_int_equal(h.poison, r.poison);
        assert_int_equal(packet[s].size(), 16 + n * F);
        if (!r.poison)
            assert_memory_equal(&packet[s][16], &r.want[r.sent * F], n * F);
        r.sent += n;
        if (r.sent == r.flits)
            q.pop_front();
        if (s == 0) {
            used[h.dst]++;
            assert_in_range(used[h.dst], 1, limit);
            max_used = std::max(max_used, used[h.dst]);
            credits.push_back(h.dst);
        }
        packet[s].clear();
    }

    node_cfg cfg;
    read_port<F> suma, sumb;
    std::deque<row> rows[N], leaving[2 * N]; // partial sums, then ST packets
    std::deque<std::pair<unsigned, bool>> dests;
    typename packets<F>::stream results;
    std::deque<unsigned> credits;
    std::map<unsigned, bytes> finals;
    unsigned used[N] = {}, limit, done = 0, done_due = 0, more = 0, more_due = 0, errors = 0,
             poisoned = 0, st_done = 0, st_due = 0;
    unsigned next_dest = OUT / F, last_dest = 0, term_addr = 0;
    bool term_asked = false, res_held = false, inside[2] = {};
    bytes packet[2], last_want;
};

// In the contexts of others partial sums and ST packets take turns row by row, if only to be nasty.
static row random_row_of(bench &b, unsigned ctx, unsigned flits, unsigned st_percent)
{
    row r;
    r.flits = flits;
    r.kind = random_kind(b.c);
    unsigned terms = b.c.percent(60) ? b.c.below(4) : b.c.below(17);
    for (unsigned t = 0; t < terms; t++)
        r.terms.push_back(b.random_term(flits));
    r.poison = b.c.percent(10);
    if (ctx != OWN) {
        r.st = b.c.percent(st_percent);
        return r;
    }
    r.more = b.c.percent(30);
    if (b.c.percent(60)) {
        r.use_r = true;
        if (b.c.percent(15))
            r.r_poison = b.c.below((flits + PF - 1) / PF);
        if (b.c.percent(15))
            r.r_bad = b.c.below(flits);
    }
    return r;
}

static void rows_of_all_kinds(void **state)
{
    (void)state;
    static const unsigned lengths[] = {4 * PF, 1, PF, PF + 1, 3 * PF - 1, 2};
    for (unsigned round = 0; round < 30; round++) {
        chance c(seed + round);
        bench b(seed + 100 + round, round < 6 ? 100 : 20 + c.below(80), c.below(5));
        unsigned flits = lengths[round % 6];
        b.configure(flits * F);
        b.gap = c.below(60);
        b.term_wait = c.percent(50) ? c.below(60) : 0;
        b.pend_wait = c.percent(50) ? c.below(90) : 0;
        for (unsigned i = 0; i < 12; i++) {
            for (unsigned ctx = 0; ctx < N; ctx++) {
                unsigned n = ctx == OWN || b.c.percent(70) ? flits : 1 + b.c.below(4 * PF);
                b.add(ctx, random_row_of(b, ctx, n, round % 4 * 33));
            }
        }
        b.run(400000);
    }
}

// A row, then one that adds to it what it wrote: the second never reads too early.
static void reads_its_own_sum(void **state)
{
    (void)state;
    static const unsigned lengths[] = {1, 2, PF - 1, PF, PF + 1, 3 * PF, 8 * PF};
    for (unsigned round = 0; round < 21; round++) {
        bench b(seed + 200 + round, round < 7 ? 100 : 40 + 3 * round, 0);
        unsigned flits = lengths[round % 7];
        b.configure(flits * F);
        for (unsigned i = 0; i < 10; i++) {
            row first, second;
            first.flits = second.flits = flits;
            for (unsigned t = 0; t < 1 + b.c.below(4); t++)
                first.terms.push_back(b.random_term(flits));
            first.more = true;
            b.add(OWN, first);
            second.again = true;
            for (unsigned t = 0; t < 1 + b.c.below(3); t++)
                second.terms.push_back(b.random_term(flits));
            b.add(OWN, second);
        }
        b.run(100000);
    }
}

// Own and ST rows of 1 and 2 terms at full rate: PF cycles per packet, and the header's for ST.
static void rate_of_own_rows(void **state)
{
    (void)state;
    for (unsigned m = 1; m <= 3; m++) {
        for (unsigned st = 0; st < 2; st++) {
            bench b(seed + 300 + m, 100, 0);
            b.configure(8 * 128);
            for (unsigned i = 0; i < 20; i++) {
                row r;
                r.flits = 8 * PF;
                r.st = st;
                for (unsigned t = 0; t < m; t++)
                    r.terms.push_back(b.random_term(r.flits));
                b.add(st ? (OWN + 1 + i % (N - 1)) % N : OWN, r);
            }
            b.run(100000);
            double per = static_cast<double>(b.last_out - b.first_out + 1) / (20 * 8);
            unsigned adder = PF * (m > 2 ? m - 1 : 1), out = PF + (st ? 16 / F : 0);
            printf("F=%u, %s rows of %u terms: %.2f cycles per packet\n", F, st ? "ST" : "own", m,
                   per);
            assert_true(per <= std::max(adder, out) + 0.1);
        }
    }
}

// Beside a slow uplink own rows get more than their turn, which would let all others end first: sum_choice makes every second packet an own one from UpPkts - 2 others inside on,
// which stay inside here, as the uplink takes longer for a packet than the adder for two. So before the last own packet is in memory no more others have left than there are own ones; those chosen in turn before are
// among the ones inside. Memory never waits: beside one that does the adder may be as slow as the uplink, which then needs all that it gives.
static void own_rows_get_more(void **state)
{
    (void)state;
    const unsigned rows = 4, pkts = 8;
    for (unsigned period = 2; period <= 5; period++) {
        bench b(seed + 400 + period, 100, 0);
        b.up_period = period;
        b.configure(pkts * 128);
        for (unsigned i = 0; i < rows * N; i++) {
            row r;
            r.flits = pkts * PF;
            for (unsigned t = 0; t < 2; t++)
                r.terms.push_back(b.random_term(r.flits));
            b.add(i % N, r);
        }
        b.run(100000);
        printf("F=%u, %u cycles per flit of the uplink: %u packets before the last own row's end\n",
               F, period, b.sent_before_own);
        assert_in_range(b.sent_before_own, 1, rows * pkts); // in turn: N - 1 times as many
    }
}

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    Verilated::randReset(2); // registers and memories start with random contents
    Verilated::randSeed(static_cast<int>(seed % 0x7ffffffe) + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_all_kinds),
        cmocka_unit_test(reads_its_own_sum),
        cmocka_unit_test(rate_of_own_rows),
        cmocka_unit_test(own_rows_get_more),
    };
    return cmocka_run_group_tests_name("row_sum", tests, nullptr, nullptr);
}
