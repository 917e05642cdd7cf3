// SPDX-License-Identifier: Apache-2.0
//
// packet_acc against the golden model of reductions: random terms of every type and operator on random
// words with hazards and gaps, whole packets back to back, single terms, pairs,
// and the cycle in which ready, valid and busy must be what they are. The flit size
// is that of the model (8 bytes, or that of the file that includes this one);
// meta has 12 bits. MW_SEED repeats a run.

#ifndef DUT
#include "Vpacket_acc.h"
#define DUT Vpacket_acc
#define DUT_NAME "packet_acc"
#endif
#include "reduce.h"
#include "verilated.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <random>
#include <vector>

extern "C" {
#include <cmocka.h>
}

static const unsigned FLIT_BYTES = sizeof(DUT::b_i);
static const unsigned LANES = FLIT_BYTES / 2;
static const unsigned DEPTH = 128 / FLIT_BYTES;
static const unsigned OUT_LATENCY = 6; // from the cycle of acceptance to valid_o
static const unsigned SPACING = 6;     // from term to term of one word

static uint64_t seed;

struct flit {
    uint16_t lane[LANES];
};

struct term {
    unsigned idx, dtype, redop;
    bool first, pair, last;
    uint16_t meta;
    flit a, b;
};

struct result {
    uint64_t cycle;
    uint16_t meta;
    flit data;
};

class bench {
  public:
    explicit bench(uint64_t s) : rng(s), last_use(DEPTH, 0)
    {
        dut.rst_ni = 0;
        dut.valid_i = 0;
        dut.clk_i = 0;
        for (unsigned i = 0; i < 10; i++)
            edge();
        dut.rst_ni = 1;
    }

    // Gives the term, waiting for ready. Returns the cycles that it waited.
    unsigned give(const term &t)
    {
        unsigned waited = 0;
        drive(t, true);
        while (!step())
            waited++;
        accept(t);
        return waited;
    }

    // A cycle without a valid term, with anything on the other inputs.
    void gap()
    {
        drive(random_term(), false);
        step();
    }

    void drain()
    {
        for (unsigned i = 0; i < 10; i++)
            gap();
        assert_true(due.empty());
        assert_int_equal(dut.busy_o, 0);
    }

    flit random_flit()
    {
        flit f;
        for (unsigned l = 0; l < LANES; l++)
            f.lane[l] = random_value();
        return f;
    }

    term random_term()
    {
        term t;
        t.idx = static_cast<unsigned>(rng() % DEPTH);
        t.first = rng() & 1;
        t.pair = rng() & 1;
        t.last = rng() & 1;
        t.meta = static_cast<uint16_t>(rng() & 0xfff);
        t.a = random_flit();
        t.b = random_flit();
        do {
            t.dtype = static_cast<unsigned>(rng() % MW_DTYPES);
            t.redop = static_cast<unsigned>(rng() % MW_REDOPS);
        } while (!mw_reduce_exists(t.dtype, t.redop));
        return t;
    }

    std::mt19937_64 rng;
    uint64_t results = 0;

  private:
    // Mostly numbers near 1, so that sums cancel and tie; some of anything, some special.
    uint16_t random_value()
    {
        static const uint16_t special[] = {0,      0x8000, 1,      0x8001, 0x7f,   0x80,
                                           0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xff81};
        uint64_t r = rng();
        if (r % 64 == 0)
            return special[(r >> 8) % (sizeof special / sizeof *special)];
        if (r % 8 == 1)
            return static_cast<uint16_t>(r >> 16);
        return static_cast<uint16_t>((r >> 16 & 0x807f) | (120 + (r >> 40) % 14) << 7);
    }

    void drive(const term &t, bool valid)
    {
        dut.valid_i = valid;
        dut.idx_i = static_cast<uint8_t>(t.idx);
        dut.first_i = t.first;
        dut.pair_i = t.pair;
        dut.last_i = t.last;
        dut.meta_i = t.meta;
        dut.red_i = static_cast<uint8_t>(t.dtype << 3 | t.redop);
        memcpy(&dut.a_i, t.a.lane, FLIT_BYTES);
        memcpy(&dut.b_i, t.b.lane, FLIT_BYTES);
    }

    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    // Checks this cycle's outputs and clocks; true if the term was taken.
    bool step()
    {
        dut.eval();
        uint64_t free_at = last_use[dut.idx_i];
        bool ready = dut.first_i || cycle >= free_at;
        assert_int_equal(dut.ready_o, ready);
        assert_int_equal(dut.busy_o, cycle < busy_until);
        bool is_due = !due.empty() && due.front().cycle == cycle;
        assert_int_equal(dut.valid_o, is_due);
        if (is_due) {
            assert_int_equal(dut.meta_o, due.front().meta);
            assert_memory_equal(&dut.data_o, due.front().data.lane, FLIT_BYTES);
            due.pop_front();
            results++;
        }
        bool taken = dut.valid_i && dut.ready_o;
        edge();
        cycle++;
        return taken;
    }

    // The model's view of a term taken in the cycle before.
    void accept(const term &t)
    {
        uint64_t when = cycle - 1;
        unsigned width = mw_reduce_bytes(t.dtype);
        for (unsigned l = 0; l < FLIT_BYTES / width; l++) {
            uint32_t a = 0, b = 0;
            memcpy(&a, reinterpret_cast<const uint8_t *>(t.a.lane) + l * width, width);
            memcpy(&b, reinterpret_cast<const uint8_t *>(t.b.lane) + l * width, width);
            uint32_t &s = sum[t.idx][l];
            if (t.first && t.pair)
                s = mw_reduce_first(t.dtype, a);
            s = t.first && !t.pair ? mw_reduce_first(t.dtype, b)
                                   : mw_reduce_next(t.dtype, t.redop, s, b);
        }
        uint64_t until = when + (t.last ? OUT_LATENCY + 1 : SPACING);
        if (until > busy_until)
            busy_until = until;
        if (!t.last) {
            last_use[t.idx] = when + SPACING;
            return;
        }
        result r = {when + OUT_LATENCY, t.meta, {}};
        for (unsigned l = 0; l < FLIT_BYTES / width; l++) {
            uint32_t e = mw_reduce_last(t.dtype, sum[t.idx][l]);
            memcpy(reinterpret_cast<uint8_t *>(r.data.lane) + l * width, &e, width);
        }
        due.push_back(r);
    }

    DUT dut;
    uint64_t cycle = 0;
    uint64_t busy_until = 0;
    std::vector<uint64_t> last_use;
    std::deque<result> due;
    uint32_t sum[DEPTH][LANES] = {};
};

// Words are opened, extended and closed in any order, with gaps.
static void random_terms(void **state)
{
    (void)state;
    auto b = std::make_unique<bench>(seed);
    std::vector<bool> open(DEPTH, false);
    std::vector<std::pair<unsigned, unsigned>> red(DEPTH);
    for (unsigned i = 0; i < 60000; i++) {
        while (b->rng() % 4 == 0)
            b->gap();
        term t = b->random_term();
        if (i / 1000 % 2 == 1)
            t.idx %= 2; // every other stretch: mostly hazards
        t.first = !open[t.idx] || b->rng() % 16 == 0;
        t.last = b->rng() % 5 == 0;
        if (t.first)
            red[t.idx] = {t.dtype, t.redop};
        t.dtype = red[t.idx].first;
        t.redop = red[t.idx].second;
        b->give(t);
        open[t.idx] = !t.last;
    }
    b->drain();
    assert_in_range(b->results, 10000, 14000);
}

// Passes over whole packets, as its users make them, take one cycle per flit.
static void packets_without_a_bubble(void **state)
{
    (void)state;
    auto b = std::make_unique<bench>(seed + 1);
    uint64_t flits = 0;
    for (unsigned packet = 0; packet < 1000; packet++) {
        unsigned passes = 1 + static_cast<unsigned>(b->rng() % 7);
        bool pair = b->rng() & 1;
        term kind = b->random_term();
        for (unsigned pass = 0; pass < passes; pass++) {
            for (unsigned i = 0; i < DEPTH; i++) {
                term t = b->random_term();
                t.idx = i;
                t.first = pass == 0;
                t.pair = pair;
                t.dtype = kind.dtype;
                t.redop = kind.redop;
                t.last = pass == passes - 1;
                assert_int_equal(b->give(t), 0);
            }
        }
        flits += DEPTH;
    }
    b->drain();
    assert_int_equal(b->results, flits);
}

// Every word of 16 bits alone, and every one with its own negative as a pair.
static void every_value(void **state)
{
    (void)state;
    auto b = std::make_unique<bench>(seed + 2);
    for (uint32_t v = 0; v < 0x10000; v++) {
        term t = b->random_term();
        t.first = true;
        t.last = true;
        t.pair = false;
        for (unsigned l = 0; l < LANES; l++)
            t.b.lane[l] = static_cast<uint16_t>(v + l * 0x1111);
        b->give(t);
        t.pair = true;
        for (unsigned l = 0; l < LANES; l++)
            t.a.lane[l] = t.b.lane[l] ^ 0x8000;
        b->give(t);
    }
    b->drain();
}

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_terms),
        cmocka_unit_test(packets_without_a_bubble),
        cmocka_unit_test(every_value),
    };
    return cmocka_run_group_tests_name(DUT_NAME, tests, nullptr, nullptr);
}
