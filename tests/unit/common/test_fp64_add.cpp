// SPDX-License-Identifier: Apache-2.0
//
// fp64_add against the host's doubles, with random gaps between pairs. The pairs are all pairs of
// edge values, pairs with cancellation, ties, subnormals and overflow, and pairs of any bits.
// MW_SEED repeats a run. MW_PAIRS is the number of random pairs of each kind (default two million).

#include "bench/dut.h"

#include <cmath>

using namespace tb;

static const unsigned LATENCY = 4;
static const uint64_t NAN_BITS = 0x7fffffffffffffff;

static const uint64_t PAIRS =
    getenv("MW_PAIRS") ? strtoull(getenv("MW_PAIRS"), nullptr, 0) : cases(400000, 2000000);

static uint64_t sum(uint64_t a, uint64_t b)
{
    double x, y;
    memcpy(&x, &a, 8);
    memcpy(&y, &b, 8);
    const double s = x + y;
    uint64_t bits;
    memcpy(&bits, &s, 8);
    return std::isnan(s) ? NAN_BITS : bits;
}

struct adder : model<Vfp64_add> {
    void pass(bool valid, uint64_t a, uint64_t b)
    {
        slot &in = flight[at % SLOTS];
        const slot &out = flight[(at - LATENCY) % SLOTS];
        in = {valid, a, b};
        dut.valid_i = valid;
        dut.a_i = a;
        dut.b_i = b;
        settle();
        if (out.valid) {
            checked++;
            const uint64_t want = sum(out.a, out.b);
            if (dut.res_o != want && failures++ < 10)
                print_error("%016lx + %016lx: %016lx, not %016lx\n", out.a, out.b, dut.res_o, want);
        } else if (checked) { // nothing has been computed since
            failures += dut.res_o != last;
        }
        last = dut.res_o;
        edge();
        at++;
    }

    // Both orders, and sometimes a gap with anything on the operands.
    void give(uint64_t a, uint64_t b)
    {
        pass(true, a, b);
        pass(true, b, a);
        if (rng.one_in(16))
            pass(false, rng(), rng());
    }

    void drain()
    {
        for (unsigned i = 0; i < LATENCY; i++)
            pass(false, rng(), rng());
        print_message("%llu sums compared\n", static_cast<unsigned long long>(checked));
        assert_int_equal(failures, 0);
    }

    uint64_t failures = 0, checked = 0;

  private:
    static const unsigned SLOTS = 8;
    struct slot {
        bool valid;
        uint64_t a, b;
    };
    slot flight[SLOTS] = {};
    uint64_t last = 0; // result
    uint64_t at = SLOTS;
};

static const uint64_t FRACTION = (UINT64_C(1) << 52) - 1;

TEST(edge_pairs)
{
    static const uint64_t exps[] = {0,    1,    2,    3,    4,    51,   52,   53,   54,  55,  56,
                                    57,   58,   62,   63,   64,   65,   119,  127,  128, 960, 1022,
                                    1023, 1024, 1075, 1076, 1077, 2044, 2045, 2046, 2047};
    static const uint64_t fracs[] = {0,
                                     1,
                                     2,
                                     3,
                                     4,
                                     5,
                                     6,
                                     7,
                                     UINT64_C(1) << 51,
                                     (UINT64_C(1) << 51) - 1,
                                     (UINT64_C(1) << 51) + 1,
                                     UINT64_C(0x5555555555555),
                                     FRACTION,
                                     FRACTION - 1,
                                     FRACTION - 2,
                                     FRACTION - 3};
    std::vector<uint64_t> v;
    for (uint64_t sign = 0; sign < 2; sign++)
        for (uint64_t e : exps)
            for (uint64_t f : fracs)
                v.push_back(sign << 63 | e << 52 | f);
    adder l;
    for (uint64_t a : v)
        for (uint64_t b : v)
            l.give(a, b);
    l.drain();
}

// Exponents near each other, and fractions with runs of zeros and ones. Most bits cancel, or the
// sum lies halfway between two numbers.
TEST(near_pairs)
{
    adder l;
    dice &rng = l.rng;
    for (uint64_t i = 0; i < PAIRS / 2; i++) {
        uint64_t a = rng(), b = rng();
        const uint64_t e = (a >> 52 & 2047) + rng() % 120 - 60;
        b = (b & (UINT64_C(1) << 63 | FRACTION)) | (e & 2047) << 52;
        if (rng.one_in(2))
            b &= ~UINT64_C(0) << rng() % 53;
        if (rng.one_in(2))
            a &= ~UINT64_C(0) << rng() % 53;
        if (rng.one_in(3))
            b |= FRACTION >> rng() % 53;
        if (rng.one_in(8))
            b = (a ^ UINT64_C(1) << 63) + rng() % 5 - 2;
        l.give(a, b);
    }
    l.drain();
}

// Subnormals and the numbers above them, and the largest ones.
TEST(ends_of_the_range)
{
    adder l;
    dice &rng = l.rng;
    for (uint64_t i = 0; i < PAIRS / 2; i++) {
        uint64_t x[2];
        const bool high = rng.one_in(3);
        for (uint64_t &v : x) {
            const uint64_t e = high ? 2047 - rng() % 60 : rng() % 60;
            v = (rng() & (UINT64_C(1) << 63 | FRACTION)) | e << 52;
            if (rng.one_in(3))
                v &= ~(FRACTION >> rng() % 53);
        }
        l.give(x[0], x[1]);
    }
    l.drain();
}

TEST(any_pairs)
{
    adder l;
    for (uint64_t i = 0; i < PAIRS / 2; i++)
        l.give(l.rng(), l.rng());
    l.drain();
}
