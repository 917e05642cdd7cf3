// SPDX-License-Identifier: Apache-2.0
//
// rx_red against a model that applies every red when it is taken: all types and operators, few addresses so that flits follow
// each other at the same one, byte enables, passing flits between, a memory that refuses and answers late. What is offered to
// memory stays until it is taken. And the rate: a flit per cycle at different addresses. MW_SEED repeats a run.

#include "Vrx_red.h"
#include "reduce.h"
#include "verilated.h"

#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <random>
#include <vector>

extern "C" {
#include <cmocka.h>
}

static const unsigned F = 8, WORDS = 256, REDS = 128; // reds lie below, what passes from there on
static uint64_t seed;

struct flit {
    bool red;
    unsigned dtype, redop, addr;
    uint64_t data;
    uint8_t be;
};

class bench {
  public:
    explicit bench(uint64_t s) : rng(s), memory(WORDS), model(WORDS)
    {
        for (auto &w : memory)
            w = rng();
        model = memory;
        dut.clk_i = dut.rst_ni = 0;
        dut.in_valid_i = dut.rd_rvalid_i = 0;
        edge();
        edge();
        dut.rst_ni = 1;
    }

    unsigned percent = 100, late = 0,
             gap = 0; // readiness of memory, most cycles of a late answer, pauses of the input
    uint64_t now = 0;

    // Gives the flits, waits until nothing is inside, and compares memories. Returns the cycles.
    uint64_t run(const std::vector<flit> &list)
    {
        uint64_t start = now, limit = now + 200 * list.size() + 1000;
        size_t at = 0;
        bool offered = false;
        while (at < list.size() || dut.busy_o || dut.wr_valid_o) {
            offered = at < list.size() && (offered || rng() % 100 >= gap);
            const flit &f = list[at < list.size() ? at : 0];
            dut.in_valid_i = offered;
            dut.in_red_i = f.red;
            dut.in_kind_i = static_cast<uint8_t>(f.dtype << 3 | f.redop);
            dut.in_addr_i = static_cast<uint8_t>(f.addr);
            dut.in_data_i = f.data;
            dut.in_be_i = f.be;
            memory_side();
            dut.eval();
            if (cycle(f)) {
                at++;
                offered = false;
            }
            assert_true(now < limit);
        }
        assert_true(answers.empty());
        for (unsigned i = 0; i < WORDS; i++)
            if (memory[i] != model[i])
                fail_msg("word %u: %016llx, not %016llx", i,
                         static_cast<unsigned long long>(memory[i]),
                         static_cast<unsigned long long>(model[i]));
        return now - start;
    }

    flit random_flit(unsigned addresses)
    {
        flit f;
        f.red = rng() % 4 != 0;
        do {
            f.dtype = static_cast<unsigned>(rng() % MW_DTYPES);
            f.redop = static_cast<unsigned>(rng() % MW_REDOPS);
        } while (!mw_reduce_exists(f.dtype, f.redop));
        f.addr = static_cast<unsigned>(rng() % addresses) + (f.red ? 0 : REDS);
        f.data = rng();
        f.be = 0;
        for (unsigned w = mw_reduce_bytes(f.dtype), i = 0; i < F; i += w)
            if (rng() % 4)
                f.be |= static_cast<uint8_t>(((1u << w) - 1) << i);
        return f;
    }

    std::mt19937_64 rng;

  private:
    Vrx_red dut;
    std::vector<uint64_t> memory, model;
    std::deque<std::pair<uint64_t, uint64_t>> answers; // cycle, data
    uint64_t last_answer = 0;
    bool held = false;
    flit held_flit = {};

    void edge()
    {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    static void merge(uint64_t &word, uint64_t data, uint8_t be)
    {
        for (unsigned i = 0; i < F; i++)
            if (be >> i & 1)
                word = (word & ~(UINT64_C(0xff) << 8 * i)) | (data & UINT64_C(0xff) << 8 * i);
    }

    void memory_side()
    {
        dut.rd_ready_i = rng() % 100 < percent;
        dut.wr_ready_i = rng() % 100 < percent;
        dut.rd_rvalid_i = !answers.empty() && answers.front().first <= now;
        dut.rd_rdata_i = dut.rd_rvalid_i ? answers.front().second : rng();
        if (dut.rd_rvalid_i)
            answers.pop_front();
    }

    // True if the flit was taken.
    bool cycle(const flit &f)
    {
        if (held)
            assert_true(dut.wr_valid_o && dut.wr_addr_o == held_flit.addr &&
                        dut.wr_data_o == held_flit.data && dut.wr_be_o == held_flit.be);
        held = dut.wr_valid_o && !dut.wr_ready_i;
        held_flit.addr = dut.wr_addr_o;
        held_flit.data = dut.wr_data_o;
        held_flit.be = dut.wr_be_o;
        if (dut.rd_valid_o && dut.rd_ready_i) { // what was written in earlier cycles
            last_answer = std::max(last_answer + 1, now + 3 + (late ? rng() % late : 0));
            answers.push_back({last_answer, memory[dut.rd_addr_o]});
        }
        bool taken = dut.in_valid_i && dut.in_ready_o;
        if (taken && f.red) {
            uint64_t out;
            const void *terms[2] = {&model[f.addr], &f.data};
            mw_reduce_rows(f.dtype, f.redop, terms, 2, F, &out);
            merge(model[f.addr], out, f.be);
        } else if (taken) {
            merge(model[f.addr], f.data, f.be);
        }
        if (dut.wr_valid_o && dut.wr_ready_i)
            merge(memory[dut.wr_addr_o], dut.wr_data_o, dut.wr_be_o);
        edge();
        now++;
        return taken;
    }
};

static void random_flits(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        auto b = std::make_unique<bench>(seed + round);
        b->percent = round % 4 == 0 ? 100 : 20 + static_cast<unsigned>(b->rng() % 80);
        b->late = static_cast<unsigned>(b->rng() % 20);
        b->gap = round % 3 == 0 ? 0 : static_cast<unsigned>(b->rng() % 80);
        unsigned addresses = round % 5 == 0 ? 1 : 1 + static_cast<unsigned>(b->rng() % REDS);
        std::vector<flit> list;
        for (unsigned i = 0; i < 2000; i++)
            list.push_back(b->random_flit(addresses));
        b->run(list);
    }
}

static void a_flit_per_cycle(void **state)
{
    (void)state;
    bench b(seed + 100);
    std::vector<flit> list;
    for (unsigned i = 0; i < 1000; i++) {
        flit f = b.random_flit(1);
        f.red = true;
        f.addr = i % REDS;
        list.push_back(f);
    }
    uint64_t took = b.run(list);
    assert_in_range(took, 1000, 1020);
}

// Flits of one address wait for each other, no longer than the page says.
static void one_address(void **state)
{
    (void)state;
    bench b(seed + 101);
    std::vector<flit> list;
    for (unsigned i = 0; i < 100; i++) {
        flit f = b.random_flit(1);
        f.red = true;
        list.push_back(f);
    }
    uint64_t took = b.run(list);
    printf("one address: %.1f cycles per flit\n", static_cast<double>(took) / 100);
    assert_in_range(took, 100, 100 * (3 + 8));
}

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    Verilated::randReset(2); // registers and memories start with random contents
    Verilated::randSeed(static_cast<int>(seed % 0x7ffffffe) + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_flits),
        cmocka_unit_test(a_flit_per_cycle),
        cmocka_unit_test(one_address),
    };
    return cmocka_run_group_tests_name("rx_red", tests, nullptr, nullptr);
}
