// SPDX-License-Identifier: Apache-2.0
//
// Wires between copies (sim/lanes/lanes.py --ring): MW_RING copies of tests/sim/ring_sample.sv as
// lanes, in blocks of MW_COPIES. They are compared with as many models of Verilator, which are
// wired by hand and evaluated until nothing changes. Registers and outputs are compared in every
// cycle, under random inputs. MW_SEED repeats a run.
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
constexpr unsigned N = MW_RING, BLOCKS = (N + MW_COPIES - 1) / MW_COPIES, OTHERS = N - 1, STEPS = 3;
uint64_t seed;

// Bit `at` of a port, of any width
template <typename Word> bool bit(Word port, unsigned at)
{
    return port >> at & 1;
}
template <std::size_t Words> bool bit(const VlWide<Words> &port, unsigned at)
{
    return port[at / 32] >> at % 32 & 1;
}
template <typename Word> void put(Word &port, unsigned at, bool value)
{
    port = static_cast<Word>((port & ~(Word(1) << at)) | Word(value) << at);
}
template <std::size_t Words> void put(VlWide<Words> &port, unsigned at, bool value)
{
    port[at / 32] = (port[at / 32] & ~(1U << at % 32)) | uint32_t(value) << at % 32;
}

// A port of one bit for each other copy, in one lane
template <typename Vector, typename Word> void same(const Vector &lanes, unsigned lane, Word port)
{
    assert_true(lanes[lane] == port);
}
template <typename Vector, std::size_t Words>
void same(const Vector &lanes, unsigned lane, const VlWide<Words> &port)
{
    for (unsigned w = 0; w < Words; w++)
        assert_int_equal(lanes[w][lane], port[w]);
}

// Input bit d of copy p refers to copy q = p + 1 + d modulo N. For q it is bit N - 2 - d.
void wire(std::vector<std::unique_ptr<Vring_sample>> &m)
{
    for (unsigned p = 0; p < N; p++) {
        Vring_sample &to = *m[p];
        for (unsigned d = 0; d < OTHERS; d++) {
            const Vring_sample &from = *m[(p + 1 + d) % N];
            unsigned back = N - 2 - d;
            put(to.set_i, d, bit(from.set_o, back));
            put(to.mixed_i, d, bit(from.mixed_o, back));
            for (unsigned s = 0; s < 3; s++)
                put(to.three_i, s * OTHERS + d, bit(from.three_o, s * OTHERS + back));
            for (unsigned s = 0; s < 9; s++)
                put(to.nine_i, s * OTHERS + d, bit(from.nine_o, s * OTHERS + back));
            for (unsigned s = 0; s < 17; s++)
                put(to.many_i, s * OTHERS + d, bit(from.many_o, s * OTHERS + back));
            put(to.bit_i, d, from.bit_o);
            put(to.last_i, d, from.last_o);
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
    std::vector<std::unique_ptr<Vring_sample_lanes>> blocks;
    Vring_sample_lanes *lanes[BLOCKS];
    for (unsigned b = 0; b < BLOCKS; b++) {
        blocks.push_back(std::make_unique<Vring_sample_lanes>());
        lanes[b] = blocks[b].get();
    }
    for (unsigned i = 0; i < N; i++) {
        plain.push_back(std::make_unique<Vring_sample>(&context));
        plain[i]->eval();
        lanes[i / MW_COPIES]->load(i % MW_COPIES, *plain[i]->rootp);
    }
    for (unsigned cycle = 0; cycle < 120000 / N; cycle++) {
        bool rst_n = cycle >= 4 && random() % 256 != 0;
        for (unsigned i = 0; i < N; i++) {
            uint32_t a = static_cast<uint32_t>(random());
            plain[i]->rst_ni = rst_n;
            plain[i]->a_i = a;
            lanes[i / MW_COPIES]->rst_ni[i % MW_COPIES] = rst_n;
            lanes[i / MW_COPIES]->a_i[i % MW_COPIES] = a;
        }
        for (unsigned step = 0; step < STEPS + 1; step++) {
            wire(plain);
            for (auto &p : plain)
                p->eval();
        }
        Vring_sample_lanes::inputs(lanes, BLOCKS);
        for (unsigned i = 0; i < N; i++) {
            const Vring_sample &p = *plain[i];
            const Vring_sample_lanes &v = *lanes[i / MW_COPIES];
            const unsigned lane = i % MW_COPIES;
            same(v.mixed_o, lane, p.mixed_o);
            assert_int_equal(v.long_o[lane], p.long_o);
            assert_int_equal(v.last_o[lane], p.last_o);
            assert_int_equal(v.sum_o[lane], p.sum_o);
        }
        for (auto &p : plain) {
            p->clk_i = 1;
            p->eval();
            p->clk_i = 0;
            p->eval();
        }
        Vring_sample_lanes::edge(lanes, BLOCKS);
        for (unsigned i = 0; i < N; i++) {
            const Vring_sample &p = *plain[i];
            const Vring_sample_lanes &v = *lanes[i / MW_COPIES];
            const unsigned lane = i % MW_COPIES;
            same(v.set_o, lane, p.set_o);
            assert_int_equal(v.bit_o[lane], p.bit_o);
            assert_int_equal(v.out_o[lane], p.out_o);
            for (unsigned w = 0; w < 3; w++)
                assert_int_equal(v.wide_o[w][lane], p.wide_o[w]);
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
