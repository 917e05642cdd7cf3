// SPDX-License-Identifier: Apache-2.0
//
// pkt_fifo against a queue model: random packet lengths 1 .. MaxPkt, random pace on both sides, with and without promises. Checked: flits in
// order, a packet never starts before it is whole, and never pauses once it started, back-pressure only when full, throughput of one flit
// per cycle across packets, the count of packets, and that a promised packet never waits. MW_SEED repeats a run.

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

static const unsigned FLITS = 48; // default parameters, FlitBytes 8
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
        dut.reserve_i = 0;
        dut.out_ready_i = 0;
        edge();
        edge();
        dut.rst_ni = 1;
        dut.eval();
    }

    // One cycle: the writer offers with `push` percent, the reader takes with `pop` percent.
    void cycle(unsigned push, unsigned pop, bool promises)
    {
        drive(push, pop, promises);
        dut.eval();
        check();
        step();
        edge();
    }

    uint64_t flits_out = 0, full = 0, room_low = 0;

  private:
    bool percent(unsigned p) { return rng() % 100 < p; }

    void drive(unsigned push, unsigned pop, bool promises)
    {
        promised_mode = promises;
        dut.reserve_i = promises && dut.room_o && percent(push);
        bool may_start = !promises || promised > 0;
        if (!dut.in_valid_i && percent(push) && (left > 0 || may_start)) {
            if (left == 0) {
                left = 1 + static_cast<unsigned>(rng() % (percent(30) ? 3 : MAX_PKT));
                if (promises)
                    promised--;
            }
            dut.in_valid_i = 1;
            dut.in_data_i = rng();
            dut.in_last_i = left == 1;
        }
        dut.out_ready_i = percent(pop);
    }

    void check()
    {
        assert_int_equal(dut.in_ready_o, stored.size() < FLITS);
        assert_int_equal(dut.out_valid_o, whole > 0); // hence neither early nor with a pause
        assert_int_equal(dut.packets_o, whole);
        if (promised_mode) {
            assert_int_equal(dut.room_o, slots < FLITS / MAX_PKT);
            if (dut.in_valid_i)
                assert_true(dut.in_ready_o);
        }
        if (dut.out_valid_o) {
            assert_true(dut.out_data_o == stored.front().data);
            assert_int_equal(dut.out_last_o, stored.front().last);
        }
        full += !dut.in_ready_o;
        room_low += promised_mode && !dut.room_o;
    }

    void step()
    {
        bool take = dut.out_valid_o && dut.out_ready_i, put = dut.in_valid_i && dut.in_ready_o;
        if (dut.reserve_i)
            promised++, slots++;
        if (put) {
            stored.push_back({dut.in_data_i, static_cast<bool>(dut.in_last_i)});
            whole += dut.in_last_i;
            left--;
            accepted = true;
        }
        if (take) {
            flits_out++;
            if (stored.front().last) {
                whole--;
                if (promised_mode)
                    slots--;
            }
            stored.pop_front();
        }
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
    unsigned whole = 0, left = 0, promised = 0, slots = 0;
    bool accepted = false, promised_mode = false;
};

static void run(unsigned push, unsigned pop, bool promises, unsigned cycles, uint64_t at_least)
{
    std::unique_ptr<bench> b(new bench(seed + push * 1000 + pop * 10 + promises));
    for (unsigned i = 0; i < cycles; i++)
        b->cycle(push, pop, promises);
    assert_true(b->flits_out >= at_least);
    if (push > pop && !promises)
        assert_true(b->full > 0);
    if (push > pop && promises)
        assert_true(b->room_low > 0);
}

static void test_pace(void **state)
{
    (void)state;
    run(50, 50, false, 40000, 10000);
    run(90, 40, false, 40000, 12000);
    run(30, 95, false, 40000, 9000);
    run(100, 20, false, 40000, 7000);
}

static void test_promises(void **state)
{
    (void)state;
    run(50, 60, true, 40000, 8000);
    run(95, 40, true, 40000, 10000);
    run(100, 100, true, 40000, 20000);
}

static void test_line_rate(void **state)
{
    (void)state;
    run(100, 100, false, 20000, 20000 - MAX_PKT - 2);
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
        cmocka_unit_test(test_promises),
        cmocka_unit_test(test_line_rate),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
