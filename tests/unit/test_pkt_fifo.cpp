// SPDX-License-Identifier: Apache-2.0
//
// pkt_fifo against a queue model: random packet lengths 1 .. MaxPkt, random pace on both sides. Checked: flits in
// order, a packet never starts before it is whole, and never pauses once it started, back-pressure only when full, throughput of one flit
// per cycle across packets, and that the output register holds between steps and is 0 behind a step that took nothing. MW_SEED repeats a run.

#include "Vpkt_fifo.h"
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

static const unsigned FLITS = 32; // default parameters, FlitBytes 8
static const unsigned MAX_PKT = 22;

static uint64_t seed;

struct flit {
    uint64_t data;
    bool last;
};

class bench {
  public:
    explicit bench(uint64_t s) : rng(s)
    {
        dut.clk_i = 0;
        dut.rst_ni = 0;
        dut.in_valid_i = 0;
        dut.take_i = dut.step_i = 0;
        edge();
        edge();
        dut.rst_ni = 1;
        dut.eval();
    }

    // One cycle: the writer offers with `push` percent, the reader takes with `pop` percent.
    void cycle(unsigned push, unsigned pop)
    {
        drive(push, pop);
        dut.eval();
        check();
        step();
        edge();
    }

    uint64_t flits_out = 0, full = 0;

  private:
    bool percent(unsigned p) { return rng() % 100 < p; }

    void drive(unsigned push, unsigned pop)
    {
        if (!dut.in_valid_i && percent(push)) {
            if (left == 0)
                left = 1 + static_cast<unsigned>(rng() % (percent(30) ? 3 : MAX_PKT));
            dut.in_valid_i = 1;
            dut.in_data_i = rng();
            dut.in_last_i = left == 1;
        }
        dut.take_i = whole > 0 && percent(pop);
        dut.step_i = dut.take_i || percent(30);
    }

    void check()
    {
        assert_int_equal(dut.in_ready_o, stored.size() < FLITS);
        assert_int_equal(dut.out_valid_o, whole > 0); // hence neither early nor with a pause
        if (dut.out_valid_o)
            assert_int_equal(dut.out_last_o, stored.front().last);
        if (stepped)
            assert_true(dut.out_data_o == shown);
        full += !dut.in_ready_o;
    }

    void step()
    {
        if (dut.step_i) {
            stepped = true;
            shown = dut.take_i ? stored.front().data : 0;
        }
        bool put = dut.in_valid_i && dut.in_ready_o;
        if (put) {
            stored.push_back({dut.in_data_i, static_cast<bool>(dut.in_last_i)});
            left--;
            accepted = true;
        }
        if (dut.take_i) {
            flits_out++;
            whole -= stored.front().last;
            stored.pop_front();
        }
        whole += put && dut.in_last_i;
    }

    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        if (accepted)
            dut.in_valid_i = 0;
        accepted = false;
        dut.eval();
    }

    Vpkt_fifo dut;
    std::mt19937_64 rng;
    std::deque<flit> stored;
    unsigned whole = 0, left = 0;
    uint64_t shown = 0;
    bool accepted = false, stepped = false;
};

static void run(unsigned push, unsigned pop, unsigned cycles, uint64_t at_least)
{
    std::unique_ptr<bench> b(new bench(seed + push * 1000 + pop * 10));
    for (unsigned i = 0; i < cycles; i++)
        b->cycle(push, pop);
    assert_true(b->flits_out >= at_least);
    if (push > pop)
        assert_true(b->full > 0);
}

static void test_pace(void **state)
{
    (void)state;
    run(50, 50, 40000, 10000);
    run(90, 40, 40000, 12000);
    run(30, 95, 40000, 9000);
    run(100, 20, 40000, 7000);
}

static void test_line_rate(void **state)
{
    (void)state;
    run(100, 100, 20000, 20000 - MAX_PKT - 2);
}

int main(void)
{
    const char *env = getenv("MW_SEED");
    seed = env ? strtoull(env, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    Verilated::randReset(2); // registers and memories start with random contents
    Verilated::randSeed(static_cast<int>(seed));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pace),
        cmocka_unit_test(test_line_rate),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
