// SPDX-License-Identifier: Apache-2.0
//
// rr_arb in many sizes against a linear search from a pointer, with random requests, advances and
// clears. Then its fairness when all requests stay high. MW_SEED repeats a run.
#include "bench/dut.h"

using namespace tb;

static const unsigned COUNT = 18;
static const unsigned SIZES[COUNT] = {1, 1, 2, 2, 3, 3, 4, 4, 7, 7, 8, 8, 33, 33, 63, 63, 64, 64};

struct arbiters : model<Vrr_arb_sizes> {
    arbiters()
    {
        for (unsigned i = 0; i < COUNT; i++)
            dut.clear_i[i] = dut.req_i[i] = dut.advance_i[i] = 0;
        reset();
    }
};

static uint64_t ones(unsigned n)
{
    return n == 64 ? ~0ull : (1ull << n) - 1;
}

// Index of the first request at or after the pointer, or -1.
static int first_from(uint64_t req, unsigned n, unsigned pointer)
{
    for (unsigned k = 0; k < n; k++) {
        unsigned i = (pointer + k) % n;
        if (req >> i & 1)
            return static_cast<int>(i);
    }
    return -1;
}

TEST(matches_linear_search)
{
    arbiters b;
    auto &dut = b.dut;
    auto &rng = b.rng;
    unsigned pointer[COUNT] = {};
    for (unsigned cycle = 0; cycle < 20000; cycle++) {
        for (unsigned i = 0; i < COUNT; i++) {
            uint64_t req = rng();
            for (unsigned thin = rng.below(5); thin > 0; thin--)
                req &= rng();
            if (rng.one_in(8))
                req = 1ull << rng.below(SIZES[i]);
            dut.req_i[i] = req & ones(SIZES[i]);
        }
        b.settle();
        for (unsigned i = 0; i < COUNT; i++) {
            int want = first_from(dut.req_i[i], SIZES[i], pointer[i]);
            assert_true(dut.grant_o[i] == (want < 0 ? 0 : 1ull << want));
            assert_int_equal(dut.idx_o[i], want < 0 ? 0 : want);
            dut.advance_i[i] = want >= 0 && !rng.one_in(3);
            dut.clear_i[i] = rng.one_in(50);
            if (dut.advance_i[i])
                pointer[i] = (static_cast<unsigned>(want) + 1) % SIZES[i];
            if (dut.clear_i[i])
                pointer[i] = 0;
        }
        b.edge();
    }
}

TEST(serves_all_in_turn)
{
    arbiters b;
    auto &dut = b.dut;
    for (unsigned i = 0; i < COUNT; i++) {
        dut.req_i[i] = ones(SIZES[i]);
        dut.advance_i[i] = 1;
    }
    for (unsigned cycle = 0; cycle < 200; cycle++) {
        b.settle();
        for (unsigned i = 0; i < COUNT; i++)
            assert_int_equal(dut.idx_o[i], cycle % SIZES[i]);
        b.edge();
    }
}
