// SPDX-License-Identifier: Apache-2.0
//
// mem_rd_mux in front of a memory that refuses at random: every response reaches its client with its data, in order; a request that
// waits at the memory stays; nobody starves; no cycle of the port is lost; clear puts the round robin back. MW_SEED repeats a run.

#include "Vmem_rd_mux.h"
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

static const unsigned CLIENTS = 6, ADDRS = 2048, LATENCY = 3;

static uint64_t seed;

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

class bench {
  public:
    explicit bench(uint64_t s) : rng(s)
    {
        dut.clk_i = 0;
        dut.rst_ni = 0;
        dut.go_i = 0;
        dut.rd_ready_i = 0;
        dut.rd_rvalid_i = 0;
        for (unsigned c = 0; c < CLIENTS; c++)
            dut.cl_valid_i[c] = 0;
        edge();
        edge();
        dut.rst_ni = 1;
    }

    // One cycle; clients of the mask raise a new request with load percent, the memory takes one with take percent probability.
    void cycle(unsigned mask, unsigned load, unsigned take)
    {
        for (unsigned c = 0; c < CLIENTS; c++) {
            if (!cl[c].valid && (mask >> c & 1) && rng() % 100 < load) {
                cl[c].valid = true;
                cl[c].waited = 0;
                cl[c].addr = static_cast<unsigned>(rng() % ADDRS);
            }
            dut.cl_valid_i[c] = cl[c].valid;
            dut.cl_addr_i[c] = static_cast<uint16_t>(cl[c].valid ? cl[c].addr : rng() % ADDRS);
        }
        dut.rd_ready_i = rng() % 100 < take;
        respond();
        dut.eval();
        check_request();
        for (unsigned c = 0; c < CLIENTS; c++)
            check_client(c);
        edge();
        now++;
    }

    Vmem_rd_mux dut;
    std::mt19937_64 rng;
    client cl[CLIENTS] = {};
    unsigned longest = 0; // accesses of others that a request saw before its own
    int last = -1;

  private:
    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    void respond()
    {
        bool valid = !memory.empty() && memory.front().first == now;
        dut.rd_rvalid_i = valid;
        dut.rd_rdata_i = valid ? word(memory.front().second) : rng();
        if (valid)
            memory.pop_front();
    }

    void check_request()
    {
        bool any = false;
        for (unsigned c = 0; c < CLIENTS; c++)
            any |= cl[c].valid;
        assert_int_equal(dut.rd_valid_o, any);
        if (waiting)
            assert_int_equal(dut.rd_addr_o, waiting_addr);
        waiting = any && !dut.rd_ready_i;
        waiting_addr = dut.rd_addr_o;
        if (any && dut.rd_ready_i)
            memory.push_back({now + LATENCY, dut.rd_addr_o});
        last = -1;
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

    std::deque<std::pair<uint64_t, unsigned>> memory;
    bool waiting = false;
    unsigned waiting_addr = 0;
    uint64_t now = 0;
};

static void routes_responses(void **state)
{
    (void)state;
    auto b = std::make_unique<bench>(seed);
    for (unsigned load : {5u, 30u, 100u}) {
        for (unsigned take : {10u, 60u, 100u}) {
            for (unsigned c = 0; c < 3000; c++)
                b->cycle(0x3f, load, take);
        }
    }
    for (unsigned c = 0; c < 200; c++)
        b->cycle(0, 0, 100);
    for (unsigned c = 0; c < CLIENTS; c++) {
        assert_true(b->cl[c].asked.empty());
        assert_true(b->cl[c].granted > 500);
    }
    assert_in_range(b->longest, 5, 5);
}

static void loses_no_cycle(void **state)
{
    (void)state;
    for (unsigned mask : {0x01u, 0x20u, 0x12u, 0x3fu}) {
        auto b = std::make_unique<bench>(seed + 1);
        for (unsigned c = 0; c < 600; c++)
            b->cycle(mask, 100, 100);
        unsigned n = static_cast<unsigned>(__builtin_popcount(mask));
        for (unsigned c = 0; c < CLIENTS; c++)
            assert_int_equal(b->cl[c].granted, (mask >> c & 1) ? 600 / n : 0);
    }
}

static void go_restarts_the_round(void **state)
{
    (void)state;
    auto b = std::make_unique<bench>(seed + 2);
    for (unsigned stop = 0; stop < 12; stop++) {
        for (unsigned c = 0; c < stop; c++)
            b->cycle(0x3f, 100, 100);
        while (b->cl[0].valid || b->cl[1].valid || b->cl[2].valid || b->cl[3].valid ||
               b->cl[4].valid || b->cl[5].valid)
            b->cycle(0, 0, 100);
        b->dut.go_i = 1;
        b->cycle(0, 0, 100);
        b->dut.go_i = 0;
        b->cycle(0x3f, 100, 100);
        assert_int_equal(b->last, 0);
    }
}

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_responses),
        cmocka_unit_test(loses_no_cycle),
        cmocka_unit_test(go_restarts_the_round),
    };
    return cmocka_run_group_tests_name("mem_rd_mux", tests, nullptr, nullptr);
}
