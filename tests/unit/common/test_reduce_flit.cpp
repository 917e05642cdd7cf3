// SPDX-License-Identifier: Apache-2.0
//
// The lanes of a flit of 8 bytes against the golden model in C. Each type and operator gets single
// terms, pairs and running results of edge values and random values. Then terms of all types follow
// in random order with gaps. The test of reduce_lane covers all values of a lane of 32 bits. This
// test covers wider elements, and types that share a flit. MW_SEED repeats a run. MW_PAIRS is the
// number of random pairs of each (default a million).

#include "bench/dut.h"
#include "bench/values.h"

using namespace tb;

static const unsigned LATENCY = 5; // from a term to its result
static const unsigned BYTES = 8, PARTS = 4, MOST = 8;

static const uint64_t PAIRS =
    getenv("MW_PAIRS") ? strtoull(getenv("MW_PAIRS"), nullptr, 0) : cases(100000, 1000000);

enum kind { GAP, NEXT, SINGLE, PAIR };

struct term {
    kind k = GAP;
    reduction_kind red;
    bool last = false;                                   // leaves as elements
    uint64_t acc[MOST] = {}, a[MOST] = {}, b[MOST] = {}; // for each element of the flit
};

static unsigned elements(const reduction_kind &red)
{
    return BYTES / mw_reduce_bytes(red.dtype);
}

struct lanes : model<Vreduce_flit> {
    lanes() { drain(); }

    void give(const term &t)
    {
        slot &in = flight[at % SLOTS];
        const slot &stage0 = flight[(at - 1) % SLOTS];
        const slot &rounded = flight[(at - LATENCY + 1) % SLOTS];
        const slot &end = flight[(at - LATENCY) % SLOTS];
        const slot &out = flight[(at - LATENCY - 1) % SLOTS];
        in.t = t;
        for (unsigned e = 0; t.k != GAP && e < elements(t.red); e++)
            in.sum[e] = want(t, e);

        dut.take_i = t.k != GAP;
        dut.first_i = t.k >= SINGLE;
        dut.pair_i = t.k == PAIR;
        dut.red_i = t.red.bits();
        for (unsigned w = 0; w < BYTES / 4 * PARTS; w++)
            dut.acc_i[w] = static_cast<uint32_t>(rng());
        for (unsigned e = 0; t.k == NEXT && e < elements(t.red); e++)
            for (unsigned half = 0; half < (mw_reduce_bytes(t.red.dtype) + 3) / 4; half++)
                dut.acc_i[place(t.red, e) + PARTS * half] =
                    static_cast<uint32_t>(t.acc[e] >> 32 * half);
        dut.a_i = t.k == PAIR ? flit(t.red, t.a) : rng();
        dut.b_i = flit(t.red, t.b);
        dut.valid_i = stage0.t.k != GAP;
        dut.red_q_i = stage0.t.red.bits();
        dut.half_i = rounded.t.last && rounded.t.red.dtype == MW_DTYPE_BF16;
        dut.emit_i = end.t.k != GAP && end.t.last;
        dut.red_end_i = end.t.red.bits();
        settle();
        for (unsigned e = 0; end.t.k != GAP && !end.t.last && e < elements(end.t.red); e++)
            compare(end.t, e, sum_of(end.t.red, e), end.sum[e]);
        if (out.t.k != GAP && out.t.last)
            for (unsigned e = 0; e < elements(out.t.red); e++)
                compare(out.t, e, element_of(out.t.red, dut.data_o, e),
                        mw_reduce_last(out.t.red.dtype, out.sum[e]));
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
        uint64_t sum[MOST];
    };

    // Where the running result of an element begins. A wide one continues in the next word.
    static unsigned place(const reduction_kind &red, unsigned e)
    {
        const unsigned at = e * mw_reduce_bytes(red.dtype), width = mw_reduce_bytes(red.dtype);
        return at / 4 * PARTS + at % 4 / width;
    }

    uint64_t sum_of(const reduction_kind &red, unsigned e)
    {
        const unsigned first = place(red, e);
        return dut.sum_o[first] | (mw_reduce_bytes(red.dtype) == 8
                                       ? static_cast<uint64_t>(dut.sum_o[first + PARTS]) << 32
                                       : 0);
    }

    static uint64_t element_of(const reduction_kind &red, uint64_t flit, unsigned e)
    {
        const unsigned bits = 8 * mw_reduce_bytes(red.dtype);
        return flit >> bits * e & (~UINT64_C(0) >> (64 - bits));
    }

    static uint64_t flit(const reduction_kind &red, const uint64_t *element)
    {
        uint64_t f = 0;
        for (unsigned e = 0; e < elements(red); e++)
            f |= element[e] << 8 * mw_reduce_bytes(red.dtype) * e;
        return f;
    }

    static uint64_t want(const term &t, unsigned e)
    {
        if (t.k == SINGLE)
            return mw_reduce_first(t.red.dtype, t.b[e]);
        uint64_t a = t.k == PAIR ? mw_reduce_first(t.red.dtype, t.a[e]) : t.acc[e];
        return mw_reduce_next(t.red.dtype, t.red.redop, a, t.b[e]);
    }

    void compare(const term &t, unsigned e, uint64_t got, uint64_t expected)
    {
        checked++;
        if (got != expected && failures++ < 10)
            print_error("%s %s kind %d, element %u: sum %016lx, a %016lx, b %016lx: %016lx, not "
                        "%016lx\n",
                        mw_reduce_type_name(t.red.dtype), mw_reduce_op_name(t.red.redop), t.k, e,
                        t.acc[e], t.a[e], t.b[e], got, expected);
    }

    slot flight[SLOTS] = {};
    uint64_t at = SLOTS;
};

static std::vector<reduction_kind> all_kinds()
{
    std::vector<reduction_kind> v;
    reduction_kind k;
    for (k.dtype = 0; k.dtype < MW_DTYPES; k.dtype++)
        for (k.redop = 0; k.redop < MW_REDOPS; k.redop++)
            if (reduces(k.dtype, k.redop))
                v.push_back(k);
    return v;
}

static uint64_t narrowed(const reduction_kind &red, uint64_t bits)
{
    return bits & (~UINT64_C(0) >> (64 - 8 * mw_reduce_bytes(red.dtype)));
}

// Ends of the range, and values one or two away from them, also in the halves.
static std::vector<uint64_t> integer_edges()
{
    std::vector<uint64_t> v;
    for (uint64_t base : {UINT64_C(0), UINT64_C(0x7fffffffffffffff), UINT64_C(0x8000000000000000),
                          UINT64_C(0x5555555555555555), UINT64_C(0xffffffff), UINT64_C(0x80000000),
                          UINT64_C(0xffffffff00000000)})
        for (uint64_t d : {UINT64_C(0), UINT64_C(1), UINT64_C(2), ~UINT64_C(0), ~UINT64_C(1)})
            v.push_back(base + d);
    return v;
}

// An element of random bits, a special value, or one next to `to`.
static uint64_t element(const reduction_kind &red, uint64_t to, dice &rng)
{
    static const std::vector<uint64_t> edges = integer_edges();
    const uint64_t r = rng.one_in(3)   ? edges[rng() % edges.size()]
                       : rng.one_in(3) ? to + rng() % 5 - 2
                                       : rng();
    return narrowed(red, r);
}

// A running result that the lanes can have. It is an element or, for floats, also any fp32 with
// exponents of the smaller types. The latter is often halfway between two numbers of a smaller
// type.
static uint64_t running(const reduction_kind &red, uint64_t to, dice &rng)
{
    if (!mw_reduce_is_float(red.dtype) || red.dtype == MW_DTYPE_FP64 || rng.one_in(2))
        return mw_reduce_first(red.dtype, element(red, to, rng));
    uint64_t bits = (rng() & 1) << 31 | uint64_t{rng.between(95, 150)} << 23 | (rng() & 0x7fffff);
    if (rng.one_in(2))
        bits &= ~UINT64_C(0) << rng.between(13, 23);
    return mw_reduce_first(MW_DTYPE_FP32, bits + rng() % 3 - 1);
}

static term random_term(dice &rng, const reduction_kind &red, kind k)
{
    term t;
    t.k = k;
    t.red = red;
    t.last = rng.one_in(2);
    for (unsigned e = 0; e < elements(red); e++) {
        t.b[e] = element(red, rng(), rng);
        t.a[e] = element(red, t.b[e], rng);
        t.acc[e] = running(red, t.b[e], rng);
    }
    return t;
}

TEST(edge_pairs)
{
    lanes l;
    const std::vector<uint64_t> v = integer_edges();
    for (const reduction_kind &red : all_kinds())
        for (uint64_t a : v)
            for (uint64_t b : v) {
                term t = random_term(l.rng, red, PAIR);
                t.a[0] = narrowed(red, a);
                t.b[0] = narrowed(red, b);
                l.give(t);
            }
    l.drain();
}

// Every element of 8 bits alone, and with every other one.
TEST(every_byte)
{
    lanes l;
    for (const reduction_kind &red : all_kinds())
        for (unsigned a = 0; mw_reduce_bytes(red.dtype) == 1 && a < 256; a++)
            for (unsigned b = 0; b < 2 * 256; b += MOST) {
                term t = random_term(l.rng, red, b < 256 ? PAIR : SINGLE);
                for (unsigned e = 0; e < MOST; e++) {
                    t.a[e] = a;
                    t.b[e] = (b + (e + a) % MOST) & 255;
                }
                l.give(t);
                t.last = !t.last;
                l.give(t);
            }
    l.drain();
}

TEST(random_pairs)
{
    lanes l;
    for (const reduction_kind &red : all_kinds())
        for (uint64_t i = 0; i < PAIRS / 10; i++)
            l.give(random_term(l.rng, red, i % 4 == 0 ? PAIR : NEXT));
    for (const reduction_kind &red : all_kinds())
        for (uint64_t i = 0; mw_reduce_bytes(red.dtype) % 7 == 1 && i < PAIRS; i++)
            l.give(random_term(l.rng, red, NEXT));
    l.drain();
    print_message("%llu results compared\n", static_cast<unsigned long long>(l.checked));
}

// Types and operators change from term to term. A gap changes nothing.
TEST(mixed)
{
    lanes l;
    const std::vector<reduction_kind> all = all_kinds();
    for (unsigned i = 0; i < cases(100000, 300000); i++)
        l.give(random_term(l.rng, all[l.rng() % all.size()], static_cast<kind>(l.rng() % 4)));
    l.drain();
}
