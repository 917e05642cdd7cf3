// SPDX-License-Identifier: Apache-2.0
//
// fp32_bf16_add against the host's IEEE arithmetic: all pairs of edge values,
// random pairs drawn to hit cancellation, ties and subnormals, loads, and the
// latency behind random gaps. MW_SEED repeats a run.

#include "Vfp32_bf16_add.h"
#include "float_ref.h"
#include "verilated.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <random>
#include <vector>

extern "C" {
#include <cmocka.h>
}

static const unsigned LATENCY = 4;

static uint64_t seed;

static uint32_t expected(uint32_t a, uint16_t b, bool load)
{
    float fb = from_bf16(b);
    return to_bits(load ? fb : to_float(a) + fb);
}

class lane {
  public:
    lane()
    {
        dut.clk_i = 0;
        dut.valid_i = 0;
        for (unsigned i = 0; i < 2 * LATENCY; i++)
            edge();
    }

    // One cycle with an operation, and the check of the one that is due.
    void operate(uint32_t a, uint16_t b, bool load)
    {
        dut.valid_i = 1;
        dut.load_i = load;
        dut.a_i = a;
        dut.b_i = b;
        step({true, a, b, load, expected(a, b, load)});
    }

    void gap(uint32_t noise)
    {
        dut.valid_i = 0;
        dut.load_i = noise & 1;
        dut.a_i = noise;
        dut.b_i = static_cast<uint16_t>(noise >> 8);
        step({false, 0, 0, false, 0});
    }

    void drain()
    {
        for (unsigned i = 0; i < LATENCY; i++)
            gap(i * 0x12345677u);
        assert_int_equal(failures, 0);
    }

    uint64_t failures = 0;

  private:
    struct op {
        bool valid;
        uint32_t a;
        uint16_t b;
        bool load;
        uint32_t want;
    };

    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    void step(const op &o)
    {
        edge();
        flight.push_back(o);
        if (flight.size() < LATENCY)
            return;
        op due = flight.front();
        flight.pop_front();
        // A gap leaves the result before it in place.
        if (due.valid)
            held = due;
        if (!held.valid || dut.res_o == held.want)
            return;
        if (failures++ < 10)
            print_error("%08x + %04x load %d: %08x, not %08x\n", held.a, held.b, held.load,
                        dut.res_o, held.want);
    }

    Vfp32_bf16_add dut;
    std::deque<op> flight;
    op held = {};
};

// Patterns of 32 bits whose upper halves are also the bf16 edges.
static std::vector<uint32_t> edges()
{
    std::vector<uint32_t> v;
    static const uint32_t exps[] = {0,   1,   2,   3,   8,   22,  23,  24,  25,  26,  27,  28,
                                    31,  32,  33,  103, 120, 126, 127, 128, 129, 134, 135, 136,
                                    150, 151, 152, 153, 159, 160, 230, 253, 254, 255};
    static const uint32_t fracs[] = {0,        1,        2,        3,        0x7fff,
                                     0x8000,   0x8001,   0xffff,   0x10000,  0x17fff,
                                     0x18000,  0x3fffff, 0x400000, 0x400001, 0x7e0000,
                                     0x7f0000, 0x7f8000, 0x7ffffe, 0x7fffff};
    for (uint32_t sign = 0; sign < 2; sign++) {
        for (uint32_t e : exps) {
            for (uint32_t f : fracs)
                v.push_back(sign << 31 | e << 23 | f);
        }
    }
    return v;
}

static std::vector<uint16_t> bf16_edges()
{
    std::vector<uint16_t> v;
    for (uint32_t x : edges()) {
        uint16_t h = static_cast<uint16_t>(x >> 16);
        if (v.empty() || v.back() != h)
            v.push_back(h);
    }
    return v;
}

static void edge_pairs(void **state)
{
    (void)state;
    lane l;
    std::vector<uint16_t> bs = bf16_edges();
    for (uint32_t a : edges()) {
        for (uint16_t b : bs)
            l.operate(a, b, false);
    }
    l.drain();
}

static void neighbours_of_every_bf16(void **state)
{
    (void)state;
    lane l;
    for (uint32_t b = 0; b < 0x10000; b++) {
        uint32_t same = b << 16;
        for (int d = -2; d <= 2; d++) {
            l.operate(same + static_cast<uint32_t>(d), static_cast<uint16_t>(b), false);
            l.operate((same + static_cast<uint32_t>(d)) ^ 0x80000000u, static_cast<uint16_t>(b),
                      false);
        }
    }
    l.drain();
}

// An a whose exponent is near b's, with few or many low bits, half of the time.
static uint32_t near(uint16_t b, std::mt19937_64 &rng)
{
    uint32_t r = static_cast<uint32_t>(rng());
    if (r & 1)
        return static_cast<uint32_t>(rng());
    uint32_t e = ((b >> 7 & 0xffu) + rng() % 60 - 30) & 0xffu;
    uint32_t frac = static_cast<uint32_t>(rng()) & 0x7fffff;
    if (r & 2)
        frac &= 0x7fffffu << rng() % 23;
    if (r & 4)
        frac |= 0x7fffffu >> rng() % 23;
    return (r & 0x80000000u) | e << 23 | frac;
}

static void random_pairs(void **state)
{
    (void)state;
    std::mt19937_64 rng(seed);
    lane l;
    for (unsigned i = 0; i < 3000000; i++) {
        uint16_t b = static_cast<uint16_t>(rng());
        l.operate(near(b, rng), b, false);
    }
    l.drain();
}

static void loads(void **state)
{
    (void)state;
    std::mt19937_64 rng(seed + 1);
    lane l;
    for (uint32_t b = 0; b < 0x10000; b++) {
        l.operate(static_cast<uint32_t>(rng()), static_cast<uint16_t>(b), true);
        l.operate(0x7f800001u + static_cast<uint32_t>(rng() % 3) * 0x7fffffu,
                  static_cast<uint16_t>(b), true);
        l.operate((b << 16) ^ 0x80000000u, static_cast<uint16_t>(b), true);
    }
    l.drain();
}

static void gaps_hold_the_result(void **state)
{
    (void)state;
    std::mt19937_64 rng(seed + 2);
    lane l;
    for (unsigned i = 0; i < 200000; i++) {
        uint16_t b = static_cast<uint16_t>(rng());
        if (rng() % 3 == 0) {
            l.operate(near(b, rng), b, rng() % 4 == 0);
        } else {
            l.gap(static_cast<uint32_t>(rng()));
        }
    }
    l.drain();
}

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edge_pairs),           cmocka_unit_test(neighbours_of_every_bf16),
        cmocka_unit_test(random_pairs),         cmocka_unit_test(loads),
        cmocka_unit_test(gaps_hold_the_result),
    };
    return cmocka_run_group_tests_name("fp32_bf16_add", tests, nullptr, nullptr);
}
