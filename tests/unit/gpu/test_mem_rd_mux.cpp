// SPDX-License-Identifier: Apache-2.0
//
// mem_rd_mux before a memory that refuses at random. Every response reaches its client with its
// data, in order. A request that waits at the memory stays. No client starves, and no cycle of the
// port is lost. Clear restarts the round robin. MW_SEED repeats a run.
#include "bench/stream.h"

using namespace tb;

static const unsigned CLIENTS = 6, ADDRS = 2048, LATENCY = 3;

static uint64_t word(unsigned addr)
{
    return (addr + 1) * 0x9e3779b97f4a7c15ull;
}

struct client {
    bool valid;
    unsigned addr, waited;
    std::deque<unsigned> asked;
    uint64_t granted;
};

struct mux : model<Vmem_rd_mux> {
    mux()
    {
        dut.go_i = dut.rd_ready_i = dut.rd_rvalid_i = 0;
        for (unsigned c = 0; c < CLIENTS; c++)
            dut.cl_valid_i[c] = 0;
        reset();
    }

    // In each cycle a client of the mask raises a new request with a probability of `loads`
    // percent. The memory takes one with a probability of `takes` percent.
    void run(unsigned clients, unsigned loads, unsigned takes, unsigned n)
    {
        mask = clients;
        load = loads;
        take = takes;
        cycles(n);
    }

    client cl[CLIENTS] = {};
    unsigned longest = 0; // accesses of others that a request saw before its own
    int last = -1;

  private:
    void drive() override
    {
        for (unsigned c = 0; c < CLIENTS; c++) {
            if (!cl[c].valid && (mask >> c & 1) && percent(load)) {
                cl[c].valid = true;
                cl[c].waited = 0;
                cl[c].addr = below(ADDRS);
            }
            dut.cl_valid_i[c] = cl[c].valid;
            dut.cl_addr_i[c] = static_cast<uint16_t>(cl[c].valid ? cl[c].addr : below(ADDRS));
        }
        dut.rd_ready_i = percent(take);
        bool valid = !memory.empty() && memory.front().first == now;
        dut.rd_rvalid_i = valid;
        dut.rd_rdata_i = valid ? word(memory.front().second) : rng();
        if (valid)
            memory.pop_front();
    }

    void sample() override
    {
        bool any = false;
        for (unsigned c = 0; c < CLIENTS; c++)
            any |= cl[c].valid;
        assert_int_equal(dut.rd_valid_o, any);
        if (requests.see(dut.rd_valid_o, dut.rd_ready_i, dut.rd_addr_o))
            memory.push_back({now + LATENCY, dut.rd_addr_o});
        last = -1;
        for (unsigned c = 0; c < CLIENTS; c++)
            check_client(c);
    }

    void check_client(unsigned c)
    {
        if (dut.cl_rvalid_o[c]) {
            assert_true(dut.rd_rvalid_i);
            assert_false(cl[c].asked.empty());
            assert_true(dut.cl_rdata_o == word(cl[c].asked.front()));
            cl[c].asked.pop_front();
        }
        if (cl[c].valid && dut.cl_ready_o[c]) {
            assert_true(dut.rd_ready_i);
            assert_int_equal(last, -1);
            assert_int_equal(dut.rd_addr_o, cl[c].addr);
            last = static_cast<int>(c);
            cl[c].asked.push_back(cl[c].addr);
            cl[c].granted++;
            cl[c].valid = false;
        } else if (cl[c].valid && dut.rd_ready_i && ++cl[c].waited > longest) {
            longest = cl[c].waited;
        }
    }

    unsigned mask = 0, load = 0, take = 0;
    watch requests{"request"};
    std::deque<std::pair<uint64_t, unsigned>> memory;
};

TEST(routes_responses)
{
    mux b;
    for (unsigned load : {5u, 30u, 100u}) {
        for (unsigned take : {10u, 60u, 100u}) {
            b.run(0x3f, load, take, 3000);
        }
    }
    b.run(0, 0, 100, 200);
    for (unsigned c = 0; c < CLIENTS; c++) {
        assert_true(b.cl[c].asked.empty());
        assert_true(b.cl[c].granted > 500);
    }
    assert_in_range(b.longest, 5, 5);
}

TEST(loses_no_cycle)
{
    for (unsigned mask : {0x01u, 0x20u, 0x12u, 0x3fu}) {
        mux b;
        b.run(mask, 100, 100, 600);
        unsigned n = static_cast<unsigned>(__builtin_popcount(mask));
        for (unsigned c = 0; c < CLIENTS; c++)
            assert_int_equal(b.cl[c].granted, (mask >> c & 1) ? 600 / n : 0);
    }
}

TEST(go_restarts_the_round)
{
    mux b;
    for (unsigned stop = 0; stop < 12; stop++) {
        b.run(0x3f, 100, 100, stop);
        b.run(0, 0, 100, CLIENTS);
        for (const client &c : b.cl)
            assert_false(c.valid);
        b.dut.go_i = 1;
        b.run(0, 0, 100, 1);
        b.dut.go_i = 0;
        b.run(0x3f, 100, 100, 1);
        assert_int_equal(b.last, 0);
    }
}

// The round robin does not depend on the time without a request, or on a memory that refused.
TEST(keeps_the_round)
{
    mux b;
    for (unsigned i = 0; i < 200; i++) {
        unsigned first = b.below(CLIENTS), other = (first + 1 + b.below(CLIENTS - 1)) % CLIENTS;
        while (b.last != static_cast<int>(first))
            b.run(1u << first, 100, 60, 1);
        b.run(0, 0, 50, b.below(3));
        do
            b.run(1u << first | 1u << other, 100, b.percent(50) ? 100 : 20, 1);
        while (b.last < 0);
        assert_int_equal(b.last, other);
        while (b.cl[first].valid || b.cl[other].valid)
            b.run(0, 0, 100, 1);
    }
}
