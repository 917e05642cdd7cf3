// SPDX-License-Identifier: Apache-2.0
//
// fifo and fifo_ram in many depths against a queue model, under random
// back-pressure: order, level, ready, stability of the output, latency through
// an empty queue and throughput. MW_SEED repeats a run.

#include "Vfifo_sizes.h"
#include "verilated.h"

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <csetjmp>
#include <ctime>
#include <deque>
#include <memory>
#include <random>

extern "C" {
#include <cmocka.h>
}

static const unsigned COUNT = 14;
static const unsigned FIRST_RAM = 7;
static const unsigned DEPTHS[COUNT] = {1, 2, 3, 5, 16, 17, 64, 1, 2, 3, 4, 7, 64, 100};

static uint64_t seed;

struct model {
    std::deque<uint32_t> words;
    unsigned hidden_cycles; // cycles in a row with words inside and none at the output
    uint64_t moved;
    uint64_t was_full;
};

class bench {
  public:
    explicit bench(uint64_t s) : rng(s)
    {
        for (unsigned i = 0; i < COUNT; i++) {
            queue[i] = model();
            drive(i, false, false);
        }
        dut.rst_ni = 0;
        dut.clk_i = 0;
        edge();
        edge();
        dut.rst_ni = 1;
        dut.eval();
    }

    // One cycle in which queue i is offered a word with push percent and
    // emptied with pop percent probability.
    void cycle(unsigned push, unsigned pop)
    {
        for (unsigned i = 0; i < COUNT; i++) {
            bool offered = dut.valid_i[i] && !accepted[i];
            drive(i, offered || percent(push), percent(pop));
            if (!offered)
                dut.data_i[i] = static_cast<uint32_t>(rng());
        }
        dut.eval();
        for (unsigned i = 0; i < COUNT; i++)
            check(i);
        edge();
    }

    model queue[COUNT];

  private:
    void drive(unsigned i, bool valid, bool ready)
    {
        dut.valid_i[i] = valid;
        dut.ready_i[i] = ready;
    }

    bool percent(unsigned p) { return rng() % 100 < p; }

    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    // What the outputs must be before the clock edge, then the model's step.
    void check(unsigned i)
    {
        model &q = queue[i];
        unsigned latency = i < FIRST_RAM ? 0 : 1;
        assert_int_equal(dut.level_o[i], q.words.size());
        assert_int_equal(dut.ready_o[i], q.words.size() < DEPTHS[i]);
        if (q.words.size() == DEPTHS[i])
            q.was_full++;
        if (dut.valid_o[i]) {
            assert_true(!q.words.empty());
            assert_int_equal(dut.data_o[i], q.words.front());
            q.hidden_cycles = 0;
        } else if (!q.words.empty()) {
            q.hidden_cycles++;
            assert_in_range(q.hidden_cycles, 0, latency);
        }
        accepted[i] = dut.valid_i[i] && dut.ready_o[i];
        if (dut.valid_o[i] && dut.ready_i[i]) {
            q.words.pop_front();
            q.moved++;
        }
        if (accepted[i])
            q.words.push_back(dut.data_i[i]);
    }

    Vfifo_sizes dut;
    std::mt19937_64 rng;
    bool accepted[COUNT] = {};
};

static void random_traffic(void **state)
{
    (void)state;
    auto b = std::make_unique<bench>(seed);
    static const unsigned mix[][2] = {{50, 50}, {95, 30}, {30, 95}, {100, 10}, {10, 100}, {80, 80}};
    for (unsigned round = 0; round < 20; round++) {
        for (const auto &m : mix) {
            for (unsigned c = 0; c < 300; c++)
                b->cycle(m[0], m[1]);
        }
    }
    for (unsigned i = 0; i < COUNT; i++) {
        assert_true(b->queue[i].was_full > 100);
        assert_true(b->queue[i].moved > 3000);
    }
}

static void sustains_one_word_per_cycle(void **state)
{
    (void)state;
    auto b = std::make_unique<bench>(seed + 1);
    for (unsigned c = 0; c < 1000; c++)
        b->cycle(100, 100);
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned latency = i < FIRST_RAM ? 1 : 2;
        if (DEPTHS[i] > latency)
            assert_int_equal(b->queue[i].moved, 1000 - latency);
    }
}

static void fills_and_empties(void **state)
{
    (void)state;
    auto b = std::make_unique<bench>(seed + 2);
    for (unsigned c = 0; c < 120; c++)
        b->cycle(100, 0);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(b->queue[i].words.size(), DEPTHS[i]);
    for (unsigned c = 0; c < 120; c++)
        b->cycle(0, 100);
    // The word offered when the queues were full may have gone in after them.
    for (unsigned i = 0; i < COUNT; i++)
        assert_in_range(b->queue[i].moved, DEPTHS[i], DEPTHS[i] + 1);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(b->queue[i].words.size(), 0);
}

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traffic),
        cmocka_unit_test(sustains_one_word_per_cycle),
        cmocka_unit_test(fills_and_empties),
    };
    return cmocka_run_group_tests_name("fifo_sizes", tests, nullptr, nullptr);
}
