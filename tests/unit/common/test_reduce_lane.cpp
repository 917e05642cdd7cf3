// SPDX-License-Identifier: Apache-2.0
//
// reduce_lane against the golden model in C, which computes with the host's IEEE arithmetic. Each
// type and operator gets:
// - all pairs of edge values
// - random pairs with cancellation, ties and subnormals
// - for types of 16 bits, every value with 320 partners
// - single terms
//
// Then terms of all types follow in random order with gaps. MW_SEED repeats a run. MW_PAIRS is the
// number of random pairs (default a million). With fewer than a million the number of partners is
// lower, too.

#include "bench/dut.h"
#include "bench/values.h"

#include <algorithm>
#include <functional>

using namespace tb;

static const unsigned LATENCY = 5; // from a term to its result

static const uint64_t PAIRS =
    getenv("MW_PAIRS") ? strtoull(getenv("MW_PAIRS"), nullptr, 0) : cases(100000, 1000000);
static const unsigned PARTNERS =
    static_cast<unsigned>(std::clamp<uint64_t>(PAIRS / 3125, 16, 320)); // of each value

#ifndef PARAM_RedOps
#define PARAM_RedOps 0x3f
#endif
static bool built(unsigned dtype, unsigned redop)
{
    return PARAM_RedOps >> redop & 1 && reduces(dtype, redop);
}

enum kind { GAP, NEXT, SINGLE, PAIR };

struct term {
    kind k;
    unsigned dtype, redop;
    bool last;                   // leaves as an element
    uint32_t acc[2], a[2], b[2]; // of 32-bit types the first of each
};

static unsigned elements(unsigned dtype)
{
    return 4 / mw_reduce_bytes(dtype);
}

struct lane : model<Vreduce_lane> {
    lane() { drain(); }

    // Sends a term. A bf16 term is sent twice, once for its sum and once for its element, because
    // the adder rounds the element itself.
    void give(term t)
    {
        t.last = false;
        pass(t);
        if (t.k == GAP || t.dtype != MW_DTYPE_BF16)
            return;
        t.last = true;
        pass(t);
    }

    // Checks sum and element of the terms that are due.
    void pass(const term &t)
    {
        slot &in = flight[at % SLOTS];
        const slot &stage0 = flight[(at - 1) % SLOTS];
        const slot &rounded = flight[(at - LATENCY + 1) % SLOTS];
        const slot &end = flight[(at - LATENCY) % SLOTS];
        const slot &out = flight[(at - LATENCY - 1) % SLOTS];
        in.t = t;
        for (unsigned i = 0; t.k != GAP && i < elements(t.dtype); i++) {
            in.sum[i] = want(t, i);
            in.element[i] = mw_reduce_last(t.dtype, in.sum[i]);
        }

        dut.take_i = t.k != GAP;
        dut.first_i = t.k >= SINGLE;
        dut.pair_i = t.k == PAIR;
        dut.red_i = red(t);
        dut.acc_i = t.acc[0] | static_cast<uint64_t>(t.acc[1]) << 32;
        dut.a_i = flit(t.dtype, t.a);
        dut.b_i = flit(t.dtype, t.b);
        dut.valid_i = stage0.t.k != GAP;
        dut.red_q_i = red(stage0.t);
        dut.half_i = rounded.t.last;
        dut.emit_i = end.t.k != GAP;
        dut.red_end_i = red(end.t);
        settle();
        for (unsigned i = 0; end.t.k != GAP && !end.t.last && i < elements(end.t.dtype); i++)
            compare(end.t, i, static_cast<uint32_t>(dut.sum_o >> 32 * i), end.sum[i]);
        if (out.t.k != GAP && out.t.last == (out.t.dtype == MW_DTYPE_BF16))
            compare(out.t, 0, dut.data_o, flit(out.t.dtype, out.element));
        edge();
        at++;
    }

    void drain()
    {
        for (unsigned i = 0; i < LATENCY + 1; i++)
            give({});
        assert_int_equal(failures, 0);
    }

    uint64_t failures = 0, checked = 0;

  private:
    static const unsigned SLOTS = 8;
    struct slot {
        term t;
        uint32_t sum[2], element[2];
    };

    static uint8_t red(const term &t) { return static_cast<uint8_t>(t.dtype << 3 | t.redop); }
    static uint32_t flit(unsigned dtype, const uint32_t *e)
    {
        return elements(dtype) == 2 ? (e[0] & 0xffff) | e[1] << 16 : e[0];
    }

    static uint32_t want(const term &t, unsigned i)
    {
        if (t.k == SINGLE)
            return mw_reduce_first(t.dtype, t.b[i]);
        uint32_t a = t.k == PAIR ? mw_reduce_first(t.dtype, t.a[i]) : t.acc[i];
        return mw_reduce_next(t.dtype, t.redop, a, t.b[i]);
    }

    void compare(const term &t, unsigned i, uint32_t got, uint32_t expected)
    {
        checked++;
        if (got != expected && failures++ < 10)
            print_error("%s %s kind %d: sum %08x, a %08x, b %08x: %08x, not %08x\n",
                        mw_reduce_type_name(t.dtype), mw_reduce_op_name(t.redop), t.k, t.acc[i],
                        t.a[i], t.b[i], got, expected);
    }

    slot flight[SLOTS] = {};
    uint64_t at = SLOTS;
};

// Two pairs per term where a lane has two elements.
class feeder {
  public:
    feeder(lane &to, kind k, unsigned dtype, unsigned redop) : l(to)
    {
        t = {};
        t.k = k;
        t.dtype = dtype;
        t.redop = redop;
    }

    // a is a running result (NEXT) or an element (PAIR).
    void pair(uint32_t a, uint32_t b)
    {
        t.acc[n] = t.a[n] = a;
        t.b[n] = b;
        if (++n == elements(t.dtype)) {
            l.give(t);
            n = 0;
        }
    }

    ~feeder()
    {
        if (n)
            l.give(t);
    }

  private:
    lane &l;
    term t;
    unsigned n = 0;
};

static void for_each(const std::function<void(unsigned, unsigned)> &f)
{
    for (unsigned d = 0; d < MW_DTYPES; d++) {
        for (unsigned o = 0; o < MW_REDOPS; o++) {
            if (built(d, o))
                f(d, o);
        }
    }
}

static std::vector<uint32_t> fp32_edges()
{
    std::vector<uint32_t> v;
    static const uint32_t exps[] = {0,   1,   2,   3,   8,   22,  23,  24,  25,  26,  27,  28,
                                    31,  32,  33,  101, 102, 103, 104, 111, 112, 113, 114, 120,
                                    126, 127, 128, 129, 134, 135, 136, 141, 142, 143, 144, 150,
                                    151, 152, 153, 159, 160, 230, 253, 254, 255};
    static const uint32_t fracs[] = {
        0,        1,        2,        3,        0xfff,    0x1000,   0x1001,   0x2000,   0x3000,
        0x7fff,   0x8000,   0x8001,   0xffff,   0x10000,  0x17fff,  0x18000,  0x3fffff, 0x400000,
        0x400001, 0x7e0000, 0x7f0000, 0x7f8000, 0x7fe000, 0x7ff000, 0x7ffffe, 0x7fffff};
    for (uint32_t sign = 0; sign < 2; sign++) {
        for (uint32_t e : exps) {
            for (uint32_t f : fracs)
                v.push_back(sign << 31 | e << 23 | f);
        }
    }
    return v;
}

static std::vector<uint32_t> edges(unsigned dtype)
{
    std::vector<uint32_t> v;
    if (dtype == MW_DTYPE_FP32)
        return fp32_edges();
    if (dtype == MW_DTYPE_BF16) {
        for (uint32_t x : fp32_edges()) {
            if (v.empty() || v.back() != x >> 16)
                v.push_back(x >> 16);
        }
    } else if (dtype == MW_DTYPE_FP16) {
        static const uint32_t fracs[] = {0, 1, 2, 3, 0x1ff, 0x200, 0x201, 0x3fe, 0x3ff};
        for (uint32_t top = 0; top < 64; top++) {
            for (uint32_t f : fracs)
                v.push_back(top << 10 | f);
        }
    } else {
        for (uint32_t base : {0x0u, 0x7fffffffu, 0x80000000u, 0xffffffffu, 0x55555555u, 0x10000u})
            for (uint32_t d : {0u, 1u, 2u, 0xffffffffu, 0xfffffffeu})
                v.push_back(base + d);
    }
    return v;
}

// An fp32 whose exponent is near that of `to`, with few or many low bits, half of the time.
static uint32_t near(uint32_t to, dice &rng)
{
    uint32_t r = static_cast<uint32_t>(rng());
    if (r & 1)
        return static_cast<uint32_t>(rng());
    uint32_t e = ((to >> 23) + rng() % 60 - 30) & 0xffu;
    uint32_t frac = static_cast<uint32_t>(rng()) & 0x7fffff;
    if (r & 2)
        frac &= 0x7fffffu << rng() % 23;
    if (r & 4)
        frac |= 0x7fffffu >> rng() % 23;
    return (r & 0x80000000u) | e << 23 | frac;
}

// A running result that has an interesting sum with element b. It is canonical, like those of the
// lane.
static uint32_t partner(unsigned dtype, uint32_t b, dice &rng)
{
    if (dtype == MW_DTYPE_U32 || dtype == MW_DTYPE_S32)
        return rng() % 4 ? static_cast<uint32_t>(rng()) : b + static_cast<uint32_t>(rng() % 5) - 2;
    return mw_reduce_first(MW_DTYPE_FP32, near(mw_reduce_first(dtype, b), rng));
}

static uint32_t element(unsigned dtype, dice &rng)
{
    uint32_t r = static_cast<uint32_t>(rng());
    return mw_reduce_bytes(dtype) == 2 ? r & 0xffff : r;
}

TEST(edge_pairs)
{
    lane l;
    for_each([&](unsigned d, unsigned o) {
        std::vector<uint32_t> v = edges(d);
        {
            feeder f(l, PAIR, d, o);
            for (uint32_t a : v)
                for (uint32_t b : v)
                    f.pair(a, b);
        }
        if (mw_reduce_bytes(d) == 4)
            return;
        // sums have more bits than elements
        feeder f(l, NEXT, d, o);
        for (uint32_t a : fp32_edges())
            for (uint32_t b : v)
                f.pair(mw_reduce_first(MW_DTYPE_FP32, a), b);
    });
    l.drain();
}

TEST(every_value)
{
    lane l;
    auto &rng = l.rng;
    for_each([&](unsigned d, unsigned o) {
        if (mw_reduce_bytes(d) == 4)
            return;
        std::vector<uint32_t> v = edges(d);
        std::shuffle(v.begin(), v.end(), rng);
        v.resize(PARTNERS / 2);
        while (v.size() < PARTNERS)
            v.push_back(element(d, rng));
        feeder f(l, PAIR, d, o);
        for (uint32_t a : v)
            for (uint32_t b = 0; b < 0x10000; b++)
                f.pair(a, b);
    });
    l.drain();
}

// Sums two units around every value and its negative: where most bits cancel.
TEST(neighbours)
{
    lane l;
    for_each([&](unsigned d, unsigned o) {
        if (mw_reduce_bytes(d) == 4)
            return;
        feeder f(l, NEXT, d, o);
        for (uint32_t b = 0; b < 0x10000; b++) {
            for (uint32_t i = 0; i < 5; i++) {
                uint32_t a = mw_reduce_first(MW_DTYPE_FP32, mw_reduce_first(d, b) + i - 2);
                f.pair(a, b);
                f.pair(a ^ 0x80000000u, b);
            }
        }
    });
    l.drain();
}

TEST(random_pairs)
{
    lane l;
    auto &rng = l.rng;
    for_each([&](unsigned d, unsigned o) {
        feeder f(l, NEXT, d, o);
        for (uint64_t i = 0; i < PAIRS; i++) {
            uint32_t b = element(d, rng);
            f.pair(partner(d, b, rng), b);
        }
    });
    l.drain();
    print_message("%llu results compared\n", static_cast<unsigned long long>(l.checked));
}

// Every element of 16 bits alone, with random values at the other operand.
TEST(single_terms)
{
    lane l;
    auto &rng = l.rng;
    for_each([&](unsigned d, unsigned o) {
        feeder f(l, SINGLE, d, o);
        for (uint32_t b = 0; b < 0x10000; b++) {
            uint32_t other = rng() % 2 ? static_cast<uint32_t>(rng()) : 0x7f800001u;
            f.pair(other, mw_reduce_bytes(d) == 2 ? b : near(b << 16, rng));
        }
    });
    l.drain();
}

// Types and operators change from term to term. A gap changes nothing.
TEST(mixed)
{
    lane l;
    auto &rng = l.rng;
    std::vector<std::pair<unsigned, unsigned>> all;
    for_each([&](unsigned d, unsigned o) { all.push_back({d, o}); });
    for (unsigned i = 0; i < cases(100000, 300000); i++) {
        term t = {};
        t.k = static_cast<kind>(rng() % 4);
        auto red = all[rng() % all.size()];
        t.dtype = red.first;
        t.redop = red.second;
        for (unsigned e = 0; e < 2; e++) {
            t.b[e] = element(t.dtype, rng);
            t.a[e] = element(t.dtype, rng);
            t.acc[e] = partner(t.dtype, t.b[e], rng);
        }
        l.give(t);
    }
    l.drain();
}
