// SPDX-License-Identifier: Apache-2.0
//
// pkt_fifo against a queue model: random packet lengths 1 .. MaxPkt, random rates on both sides.
// Checked:
// - Flits keep their order.
// - A packet starts only when it is complete, and does not pause after that.
// - Back-pressure comes only from a full queue.
// - The throughput is one flit per cycle across packets.
// - The output register holds between steps, and is 0 after a step that took nothing.
//
// MW_SEED repeats a run.
#include "bench/dut.h"

#include <deque>

using namespace tb;

static const unsigned FLITS = 32; // default parameters, FlitBytes 8
static const unsigned MAX_PKT = 22;

struct flit {
    uint64_t data;
    bool last;
};

struct fifo : model<Vpkt_fifo> {
    fifo()
    {
        dut.in_valid_i = dut.take_i = dut.step_i = 0;
        reset();
    }

    // The writer offers with `push` percent, the reader takes with `pop` percent.
    unsigned push = 0, pop = 0;
    uint64_t flits_out = 0, full = 0;

  private:
    void drive() override
    {
        if (!dut.in_valid_i && percent(push)) {
            if (left == 0)
                left = 1 + below(percent(30) ? 3 : MAX_PKT);
            dut.in_valid_i = 1;
            dut.in_data_i = rng();
            dut.in_last_i = left == 1;
        }
        dut.take_i = whole > 0 && percent(pop);
        dut.step_i = dut.take_i || percent(30);
    }

    void sample() override
    {
        assert_int_equal(dut.in_ready_o, stored.size() < FLITS);
        assert_int_equal(dut.out_valid_o, whole > 0); // hence neither early nor with a pause
        if (dut.out_valid_o)
            assert_int_equal(dut.out_last_o, stored.front().last);
        if (stepped)
            assert_true(dut.out_data_o == shown);
        full += !dut.in_ready_o;
        step();
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
        }
        if (dut.take_i) {
            flits_out++;
            whole -= stored.front().last;
            stored.pop_front();
        }
        whole += put && dut.in_last_i;
        taken = put;
    }

    void cycle() override
    {
        model::cycle();
        if (taken)
            dut.in_valid_i = 0;
    }

    std::deque<flit> stored;
    unsigned whole = 0, left = 0;
    uint64_t shown = 0;
    bool stepped = false, taken = false;
};

static void run(unsigned push, unsigned pop, unsigned cycles, uint64_t at_least)
{
    fifo b;
    b.push = push;
    b.pop = pop;
    b.cycles(cycles);
    assert_true(b.flits_out >= at_least);
    if (push > pop)
        assert_true(b.full > 0);
}

TEST(rate)
{
    run(50, 50, 40000, 10000);
    run(90, 40, 40000, 12000);
    run(30, 95, 40000, 9000);
    run(100, 20, 40000, 7000);
}

TEST(line_rate)
{
    run(100, 100, 20000, 20000 - MAX_PKT - 2);
}
