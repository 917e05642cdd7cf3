// SPDX-License-Identifier: Apache-2.0
//
// fifo and fifo_ram in many depths against a queue model, under random back-pressure. Checked:
// order, level, ready, stability of the output, latency through an empty queue, and throughput.
// MW_SEED repeats a run.
#include "bench/stream.h"

using namespace tb;

static const unsigned COUNT = 14;
static const unsigned FIRST_RAM = 7;
static const unsigned DEPTHS[COUNT] = {1, 2, 3, 5, 16, 17, 64, 1, 2, 3, 4, 7, 64, 100};

struct queue {
    source<uint32_t> in;
    watch out{"output"};
    std::deque<uint32_t> words;
    unsigned hidden_cycles = 0; // cycles in a row with words inside and none at the output
    uint64_t moved = 0, was_full = 0;
};

struct queues : model<Vfifo_sizes> {
    unsigned push = 0, pop = 0; // percent
    queue q[COUNT];

    queues() { reset(); }

    void run(unsigned pushes, unsigned pops, unsigned n)
    {
        push = pushes;
        pop = pops;
        cycles(n);
    }

    void drive() override
    {
        for (unsigned i = 0; i < COUNT; i++) {
            if (q[i].in.empty())
                q[i].in.queue.push_back(rng.word());
            q[i].in.rate = push;
            dut.valid_i[i] = q[i].in.offer(rng);
            dut.data_i[i] = dut.valid_i[i] ? q[i].in.front() : rng.word();
            dut.ready_i[i] = percent(pop);
        }
    }

    void sample() override
    {
        for (unsigned i = 0; i < COUNT; i++)
            check(i, q[i]);
    }

    void check(unsigned i, queue &x)
    {
        unsigned latency = i < FIRST_RAM ? 0 : 1;
        assert_int_equal(dut.level_o[i], x.words.size());
        assert_int_equal(dut.ready_o[i], x.words.size() < DEPTHS[i]);
        x.was_full += x.words.size() == DEPTHS[i];
        if (dut.valid_o[i]) {
            assert_true(!x.words.empty());
            assert_int_equal(dut.data_o[i], x.words.front());
            x.hidden_cycles = 0;
        } else if (!x.words.empty()) {
            assert_in_range(++x.hidden_cycles, 0, latency);
        }
        if (x.out.see(dut.valid_o[i], dut.ready_i[i], dut.data_o[i])) {
            x.words.pop_front();
            x.moved++;
        }
        if (x.in.taken(dut.ready_o[i]))
            x.words.push_back(dut.data_i[i]);
    }
};

TEST(random_traffic)
{
    queues b;
    static const unsigned mix[][2] = {{50, 50}, {95, 30}, {30, 95}, {100, 10}, {10, 100}, {80, 80}};
    for (unsigned round = 0; round < 20; round++) {
        for (const auto &m : mix)
            b.run(m[0], m[1], 300);
    }
    for (const queue &q : b.q) {
        assert_true(q.was_full > 100);
        assert_true(q.moved > 3000);
    }
}

TEST(sustains_one_word_per_cycle)
{
    queues b;
    b.run(100, 100, 1000);
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned latency = i < FIRST_RAM ? 1 : 2;
        if (DEPTHS[i] > latency)
            assert_int_equal(b.q[i].moved, 1000 - latency);
    }
}

TEST(fills_and_empties)
{
    queues b;
    b.run(100, 0, 120);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(b.q[i].words.size(), DEPTHS[i]);
    b.run(0, 100, 120);
    // The word offered when the queues were full may have gone in after them.
    for (unsigned i = 0; i < COUNT; i++) {
        assert_in_range(b.q[i].moved, DEPTHS[i], DEPTHS[i] + 1);
        assert_int_equal(b.q[i].words.size(), 0);
    }
}
