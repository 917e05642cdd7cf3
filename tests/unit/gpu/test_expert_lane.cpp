// SPDX-License-Identifier: Apache-2.0
//
// expert_lanes and expert_factor against the host: products exact in double, flushed, rounded to
// float, then to bf16 values. Operands are all triples of edge values, random triples over all
// exponents and near the limits, and products that round twice. Gaps come between. MW_SEED repeats
// a run.
#include "bench/dut.h"
#include "float_ref.h"

#include <deque>

using namespace tb;

static const unsigned LATENCY = 8; // tests/unit/gpu/expert_lane.sv: 4 to prepare c and w, 4 for x

static double flushed(float f)
{
    return std::fabs(f) < 0x1p-126f ? std::copysign(0.0, f) : f;
}

// 24 by 24 bits are exact in double, and so is the comparison with 2^-126.
static float multiply(float a, float b)
{
    double d = flushed(a) * flushed(b);
    return static_cast<float>(std::fabs(d) < 0x1p-126 ? std::copysign(0.0, d) : d);
}

static uint16_t expected(uint16_t x, uint16_t c, uint32_t w)
{
    return nearest_bf16(multiply(multiply(from_bf16(x), from_bf16(c)), to_float(w)));
}

struct lane : model<Vexpert_lane> {
    lane()
    {
        dut.valid_i = 0;
        for (unsigned i = 0; i < 2 * LATENCY; i++)
            edge();
    }

    void operate(uint16_t x, uint16_t c, uint32_t w)
    {
        offer(true, x, c, w);
        step({true, x, c, w, expected(x, c, w)});
    }

    void gap(uint64_t noise)
    {
        offer(false, static_cast<uint16_t>(noise), static_cast<uint16_t>(noise >> 16),
              static_cast<uint32_t>(noise >> 32));
        step({false, 0, 0, 0, 0});
    }

    void drain()
    {
        for (unsigned i = 0; i < LATENCY; i++)
            gap(rng());
        assert_int_equal(failures, 0);
    }

  private:
    struct op {
        bool valid;
        uint16_t x, c;
        uint32_t w;
        uint16_t want;
    };

    void offer(bool valid, uint16_t x, uint16_t c, uint32_t w)
    {
        dut.valid_i = valid;
        dut.x_i = x;
        dut.c_i = c;
        dut.w_i = w;
    }

    void step(const op &o)
    {
        settle();
        edge();
        flight.push_back(o);
        if (flight.size() < LATENCY)
            return;
        op due = flight.front();
        flight.pop_front();
        // A gap keeps the previous result.
        if (due.valid)
            held = due;
        if (!held.valid || dut.y_o == held.want)
            return;
        if (failures++ < 10)
            print_error("%04x * %04x * %08x: %04x, not %04x\n", held.x, held.c, held.w, dut.y_o,
                        held.want);
    }

    std::deque<op> flight;
    op held = {};
    uint64_t failures = 0;
};

static std::vector<uint32_t> edges(const std::vector<uint32_t> &fracs, unsigned frac_bits)
{
    static const uint32_t exps[] = {0,   1,   2,   62,  63,  64,  65,  126,
                                    127, 128, 190, 191, 192, 253, 254, 255};
    std::vector<uint32_t> v;
    for (uint32_t sign = 0; sign < 2; sign++) {
        for (uint32_t e : exps) {
            for (uint32_t f : fracs)
                v.push_back((sign << 8 | e) << frac_bits | f);
        }
    }
    return v;
}

TEST(edge_triples)
{
    lane l;
    std::vector<uint32_t> halves = edges({0, 1, 0x35, 0x7f}, 7);
    std::vector<uint32_t> words = edges({0, 1, 0x3504f3, 0x7fffff}, 23);
    for (uint32_t x : halves) {
        for (uint32_t c : halves) {
            for (uint32_t w : words)
                l.operate(static_cast<uint16_t>(x), static_cast<uint16_t>(c), w);
        }
    }
    l.drain();
}

TEST(random_triples)
{
    lane l;
    auto &rng = l.rng;
    for (unsigned i = 0; i < cases(400000, 2000000); i++) {
        uint64_t r = rng();
        l.operate(static_cast<uint16_t>(r), static_cast<uint16_t>(r >> 16),
                  static_cast<uint32_t>(r >> 32));
    }
    l.drain();
}

// Exponents whose sums are near the smallest and the largest result, for one product or both.
TEST(random_near_the_limits)
{
    lane l;
    auto &rng = l.rng;
    for (unsigned i = 0; i < cases(200000, 1000000); i++) {
        uint64_t r = rng();
        unsigned ex = 1 + static_cast<unsigned>(rng() % 254);
        unsigned first = rng() & 1 ? 127 + static_cast<unsigned>(rng() % 254)
                                   : (rng() & 1 ? 126 : 380) + static_cast<unsigned>(rng() % 4);
        unsigned ec = (first - ex) & 0xff;
        unsigned total = (rng() & 1 ? 252 : 506) + static_cast<unsigned>(rng() % 5);
        unsigned ew = (total - first) & 0xff;
        uint32_t frac = static_cast<uint32_t>(r >> 32) & 0x7fffff;
        if (r & 1ull << 60)
            frac |= 0x7fff00;
        if (r & 1ull << 61)
            r |= 0x7f007f;
        l.operate(static_cast<uint16_t>((r & 0x807f) | ex << 7),
                  static_cast<uint16_t>((r >> 16 & 0x807f) | ec << 7),
                  (static_cast<uint32_t>(r >> 32) & 0x80000000u) | ew << 23 | frac);
    }
    l.drain();
}

// A w next to the quotient for which the product is a bf16 tie. The rounding to 24 bits then
// reaches, leaves or keeps the tie.
TEST(products_that_round_twice)
{
    lane l;
    auto &rng = l.rng;
    for (unsigned i = 0; i < cases(200000, 1000000); i++) {
        uint64_t r = rng();
        uint16_t x = static_cast<uint16_t>(0x3f80 | (r & 0x807f));
        uint16_t c = static_cast<uint16_t>(0x3f80 | (r >> 16 & 0x7f));
        double tie = 1.0 + (static_cast<double>(r >> 32 & 0xff) + 0.5) / 128.0;
        float w = static_cast<float>(tie / (static_cast<double>(from_bf16(x)) * from_bf16(c)));
        l.operate(x, c, to_bits(w) + static_cast<uint32_t>(r >> 40 & 3) - 1);
    }
    l.drain();
}

TEST(gaps_hold_the_result)
{
    lane l;
    auto &rng = l.rng;
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t r = rng();
        if (rng() % 3 != 0)
            l.gap(r);
        else
            l.operate(static_cast<uint16_t>(r & 0xbfff), static_cast<uint16_t>(r >> 16 | 0x3000),
                      static_cast<uint32_t>(r >> 32 | 0x30000000));
    }
    l.drain();
}
