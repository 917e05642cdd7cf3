// SPDX-License-Identifier: Apache-2.0
//
// Wires between copies (sim/lanes/lanes.py --ring): six copies of tests/sim/ring_sample.sv
// as lanes of one model against six models of Verilator's own that are wired by hand and
// evaluated until nothing changes. Registers and outputs in every cycle, under random inputs.
// MW_SEED repeats a run.
#include "Vring_sample.h"
#include "Vring_sample___024root.h"
#include "Vring_sample_lanes.h"
#include "verilated.h"

#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <vector>

extern "C" {
#include <cmocka.h>
}

namespace {
constexpr unsigned N = MW_COPIES, OTHERS = N - 1, STEPS = 3;
uint64_t seed;

// Input bit d of copy p is about copy q = p + 1 + d modulo N, and what q calls bit N - 2 - d.
void wire(std::vector<std::unique_ptr<Vring_sample>> &m)
{
    for (unsigned p = 0; p < N; p++) {
        Vring_sample &to = *m[p];
        to.three_i = 0;
        to.nine_i = 0;
        std::fill_n(&to.many_i[0], 3, 0);
        to.set_i = to.bit_i = to.mixed_i = to.last_i = 0;
        for (unsigned d = 0; d < OTHERS; d++) {
            const Vring_sample &from = *m[(p + 1 + d) % N];
            unsigned back = N - 2 - d;
            to.set_i |= (from.set_o >> back & 1) << d;
            to.mixed_i |= (from.mixed_o >> back & 1) << d;
            for (unsigned s = 0; s < 3; s++)
                to.three_i |= (from.three_o >> (s * OTHERS + back) & 1U) << (s * OTHERS + d);
            for (unsigned s = 0; s < 9; s++)
                to.nine_i |= (from.nine_o >> (s * OTHERS + back) & 1) << (s * OTHERS + d);
            for (unsigned s = 0; s < 17; s++) {
                const unsigned of = s * OTHERS + back, at = s * OTHERS + d;
                to.many_i[at / 32] |= (from.many_o[of / 32] >> of % 32 & 1U) << at % 32;
            }
            to.bit_i |= from.bit_o << d;
            to.last_i |= from.last_o << d;
            to.wide_i[d] = from.wide_o;
            to.long_i[d] = from.long_o;
            to.sum_i[d] = from.sum_o;
        }
    }
}

void wired_copies_agree(void **)
{
    VerilatedContext context;
    std::mt19937_64 random(seed);
    std::vector<std::unique_ptr<Vring_sample>> plain;
    std::unique_ptr<Vring_sample_lanes> lanes{new Vring_sample_lanes};
    for (unsigned i = 0; i < N; i++) {
        plain.push_back(std::make_unique<Vring_sample>(&context));
        plain[i]->eval();
        lanes->load(i, *plain[i]->rootp);
    }
    for (unsigned cycle = 0; cycle < 20000; cycle++) {
        bool rst_n = cycle >= 4 && random() % 256 != 0;
        for (unsigned i = 0; i < N; i++) {
            uint32_t a = static_cast<uint32_t>(random());
            plain[i]->rst_ni = rst_n;
            plain[i]->a_i = a;
            lanes->rst_ni[i] = rst_n;
            lanes->a_i[i] = a;
        }
        for (unsigned step = 0; step < STEPS + 1; step++) {
            wire(plain);
            for (auto &p : plain)
                p->eval();
        }
        lanes->inputs();
        for (unsigned i = 0; i < N; i++) {
            const Vring_sample &p = *plain[i];
            assert_int_equal(lanes->mixed_o[i], p.mixed_o);
            assert_int_equal(lanes->long_o[i], p.long_o);
            assert_int_equal(lanes->last_o[i], p.last_o);
            assert_int_equal(lanes->sum_o[i], p.sum_o);
        }
        for (auto &p : plain) {
            p->clk_i = 1;
            p->eval();
            p->clk_i = 0;
            p->eval();
        }
        lanes->edge();
        for (unsigned i = 0; i < N; i++) {
            const Vring_sample &p = *plain[i];
            assert_int_equal(lanes->set_o[i], p.set_o);
            assert_int_equal(lanes->bit_o[i], p.bit_o);
            assert_int_equal(lanes->out_o[i], p.out_o);
            for (unsigned w = 0; w < 3; w++)
                assert_int_equal(lanes->wide_o[w][i], p.wide_o[w]);
        }
    }
}
} // namespace

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("ring: MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const CMUnitTest tests[] = {
        cmocka_unit_test(wired_copies_agree),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
