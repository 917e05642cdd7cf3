// SPDX-License-Identifier: Apache-2.0
//
// link with several greatest latencies and every latency up to them: each flit and each credit
// comes out after exactly that many cycles, nothing else does, and busy is high while something is inside. MW_SEED repeats a run.

#include "Vlink_sizes.h"
#include "verilated.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <memory>
#include <random>

extern "C" {
#include <cmocka.h>
}

static const unsigned COUNT = 5;
static uint64_t seed;

struct word {
    bool valid, last, err;
    unsigned cls;
    uint64_t data;
    unsigned crd, part;
};

static void edge(Vlink_sizes &dut)
{
    dut.clk_i = 1;
    dut.eval();
    dut.clk_i = 0;
    dut.eval();
}

// One link against the word that went in latency cycles ago.
static void check(Vlink_sizes &dut, unsigned i, const std::deque<word> &past)
{
    unsigned latency = dut.latency_i[i];
    bool busy = false;
    for (unsigned k = 0; k < latency; k++)
        busy |= past[k].valid || past[k].crd;
    assert_int_equal(dut.busy_o[i], busy);
    const word &w = past[latency - 1];
    assert_int_equal(dut.rx_valid_o[i], w.valid);
    assert_int_equal(dut.crd_o[i], w.crd);
    if (w.crd)
        assert_int_equal(dut.crd_part_o[i], w.part % dut.parts_o[i]);
    if (!w.valid)
        return;
    assert_int_equal(dut.rx_last_o[i], w.last);
    assert_int_equal(dut.rx_err_o[i], w.err);
    assert_int_equal(dut.rx_cls_o[i], w.cls);
    assert_int_equal(dut.rx_data_o[i], w.data);
}

static void delays_by_its_latency(void **state)
{
    (void)state;
    auto dut = std::make_unique<Vlink_sizes>();
    std::mt19937_64 rng(seed);
    dut->clk_i = 0;
    dut->rst_ni = 0;
    dut->tx_valid_i = 0;
    dut->crd_i = 0;
    for (unsigned i = 0; i < COUNT; i++)
        dut->latency_i[i] = 1;
    edge(*dut);
    dut->rst_ni = 1;
    std::deque<word> past(256, word());
    for (unsigned round = 0; round < 80; round++) {
        for (unsigned i = 0; i < COUNT; i++)
            dut->latency_i[i] = static_cast<uint8_t>(round < 2 ? (round ? dut->longest_o[i] : 1)
                                                               : 1 + rng() % dut->longest_o[i]);
        edge(*dut);
        past.push_front(word());
        past.pop_back();
        unsigned density = static_cast<unsigned>(rng() % 101);
        for (unsigned cycle = 0; cycle < 800; cycle++) {
            bool drain = cycle >= 500; // empty before the latency changes
            word w = {!drain && rng() % 100 < density,
                      (rng() & 1) != 0,
                      (rng() & 1) != 0,
                      static_cast<unsigned>(rng() & 3),
                      rng(),
                      drain || rng() % 100 >= density ? 0 : static_cast<unsigned>(rng() & 15),
                      static_cast<unsigned>(rng() & 31)};
            dut->tx_valid_i = w.valid;
            dut->tx_last_i = w.last;
            dut->tx_err_i = w.err;
            dut->tx_cls_i = static_cast<uint8_t>(w.cls);
            dut->tx_data_i = w.data;
            dut->crd_i = static_cast<uint8_t>(w.crd);
            for (unsigned i = 0; i < COUNT; i++)
                dut->crd_part_i[i] = static_cast<uint8_t>(w.part % dut->parts_o[i]);
            edge(*dut);
            past.push_front(w);
            past.pop_back();
            for (unsigned i = 0; i < COUNT; i++)
                check(*dut, i, past);
        }
        for (unsigned i = 0; i < COUNT; i++)
            assert_false(dut->busy_o[i]);
    }
}

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delays_by_its_latency),
    };
    return cmocka_run_group_tests_name("link", tests, nullptr, nullptr);
}
