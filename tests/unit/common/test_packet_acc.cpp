// SPDX-License-Identifier: Apache-2.0
//
// packet_acc against the golden model of reductions. It gets random terms of every type and
// operator on random words with hazards and gaps, whole packets back to back, single terms, and
// pairs. The cycles of ready, valid and busy are checked, too. Meta has 12 bits. MW_SEED repeats a
// run.

#include "bench/dut.h"
#include "bench/values.h"

#include <deque>

using namespace tb;

static const unsigned FLIT_BYTES = PARAM_FlitBytes;
static const unsigned LANES = FLIT_BYTES / 2;
static const unsigned DEPTH = 128 / FLIT_BYTES;
static const unsigned OUT_LATENCY = 6; // from the cycle of acceptance to valid_o
static const unsigned SPACING = 6;     // from term to term of one word

struct flit {
    uint16_t lane[LANES];
};

struct term {
    unsigned idx;
    reduction_kind red;
    bool first, pair, last;
    uint16_t meta;
    flit a, b;
};

struct result {
    uint64_t cycle;
    uint16_t meta;
    flit data;
};

struct accumulator : model<Vpacket_acc> {
    accumulator()
    {
        dut.valid_i = 0;
        reset(10);
    }

    // Offers the term and waits for ready. Returns the number of cycles that it waited.
    unsigned give(const term &t)
    {
        unsigned waited = 0;
        offer(t, true);
        while (!step())
            waited++;
        accept(t);
        return waited;
    }

    // A cycle without a valid term, with random values at the other inputs.
    void gap()
    {
        offer(random_term(), false);
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
            f.lane[l] = random_bf16(rng);
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
        t.red = random_kind(rng);
        return t;
    }

    uint64_t results = 0;

  private:
    void offer(const term &t, bool valid)
    {
        dut.valid_i = valid;
        dut.idx_i = static_cast<uint8_t>(t.idx);
        dut.first_i = t.first;
        dut.pair_i = t.pair;
        dut.last_i = t.last;
        dut.meta_i = t.meta;
        dut.red_i = t.red.bits();
        memcpy(&dut.a_i, t.a.lane, FLIT_BYTES);
        memcpy(&dut.b_i, t.b.lane, FLIT_BYTES);
    }

    // Checks this cycle's outputs and clocks; true if the term was taken.
    bool step()
    {
        settle();
        uint64_t free_at = last_use[dut.idx_i];
        bool ready = dut.first_i || now >= free_at;
        assert_int_equal(dut.ready_o, ready);
        assert_int_equal(dut.busy_o, now < busy_until);
        bool is_due = !due.empty() && due.front().cycle == now;
        assert_int_equal(dut.valid_o, is_due);
        if (is_due) {
            assert_int_equal(dut.meta_o, due.front().meta);
            assert_memory_equal(&dut.data_o, due.front().data.lane, FLIT_BYTES);
            due.pop_front();
            results++;
        }
        bool taken = dut.valid_i && dut.ready_o;
        edge();
        return taken;
    }

    // Updates the model with a term taken in the previous cycle.
    void accept(const term &t)
    {
        uint64_t when = now - 1;
        unsigned width = mw_reduce_bytes(t.red.dtype);
        for (unsigned l = 0; l < FLIT_BYTES / width; l++) {
            uint64_t a = 0, b = 0;
            memcpy(&a, reinterpret_cast<const uint8_t *>(t.a.lane) + l * width, width);
            memcpy(&b, reinterpret_cast<const uint8_t *>(t.b.lane) + l * width, width);
            uint64_t &s = sum[t.idx][l];
            if (t.first && t.pair)
                s = mw_reduce_first(t.red.dtype, a);
            s = t.first && !t.pair ? mw_reduce_first(t.red.dtype, b)
                                   : mw_reduce_next(t.red.dtype, t.red.redop, s, b);
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
            uint64_t e = mw_reduce_last(t.red.dtype, sum[t.idx][l]);
            memcpy(reinterpret_cast<uint8_t *>(r.data.lane) + l * width, &e, width);
        }
        due.push_back(r);
    }

    uint64_t busy_until = 0;
    std::vector<uint64_t> last_use = std::vector<uint64_t>(DEPTH, 0);
    std::deque<result> due;
    uint64_t sum[DEPTH][FLIT_BYTES] = {};
};

// Words are opened, extended and closed in any order, with gaps.
TEST(random_terms)
{
    accumulator b;
    std::vector<bool> open(DEPTH, false);
    std::vector<reduction_kind> red(DEPTH);
    for (unsigned i = 0; i < 60000; i++) {
        while (b.rng() % 4 == 0)
            b.gap();
        term t = b.random_term();
        if (i / 1000 % 2 == 1)
            t.idx %= 2; // half of the time: mostly hazards
        t.first = !open[t.idx] || b.rng() % 16 == 0;
        t.last = b.rng() % 5 == 0;
        if (t.first)
            red[t.idx] = t.red;
        t.red = red[t.idx];
        b.give(t);
        open[t.idx] = !t.last;
    }
    b.drain();
    assert_in_range(b.results, 10000, 14000);
}

// Passes over whole packets, as its users make them, take one cycle per flit.
TEST(packets_without_a_bubble)
{
    accumulator b;
    uint64_t flits = 0;
    for (unsigned packet = 0; packet < 1000; packet++) {
        unsigned passes = 1 + static_cast<unsigned>(b.rng() % 7);
        bool pair = b.rng() & 1;
        reduction_kind kind = random_kind(b.rng);
        for (unsigned pass = 0; pass < passes; pass++) {
            for (unsigned i = 0; i < DEPTH; i++) {
                term t = b.random_term();
                t.idx = i;
                t.first = pass == 0;
                t.pair = pair;
                t.red = kind;
                t.last = pass == passes - 1;
                assert_int_equal(b.give(t), 0);
            }
        }
        flits += DEPTH;
    }
    b.drain();
    assert_int_equal(b.results, flits);
}

// Every word of 16 bits alone, and every one with its own negative as a pair.
TEST(every_value)
{
    accumulator b;
    for (uint32_t v = 0; v < 0x10000; v++) {
        term t = b.random_term();
        t.first = true;
        t.last = true;
        t.pair = false;
        for (unsigned l = 0; l < LANES; l++)
            t.b.lane[l] = static_cast<uint16_t>(v + l * 0x1111);
        b.give(t);
        t.pair = true;
        for (unsigned l = 0; l < LANES; l++)
            t.a.lane[l] = t.b.lane[l] ^ 0x8000;
        b.give(t);
    }
    b.drain();
}
