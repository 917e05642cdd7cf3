// SPDX-License-Identifier: Apache-2.0
//
// sim/lanes/lanes.py and sim/lanes/lanes.h: five copies of tests/sim/lanes_sample.sv as lanes of
// one model against five models of Verilator. Every output is compared in every cycle, under random
// inputs that let copies take different branches. MW_SEED repeats a run.
#include "Vlanes_sample.h"
#include "Vlanes_sample___024root.h"
#include "Vlanes_sample_lanes.h"
#include "verilated.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <cmocka.h>
}

namespace {
constexpr unsigned COPIES = MW_COPIES;
uint64_t seed;

struct pair_of_models {
    VerilatedContext context;
    std::vector<std::unique_ptr<Vlanes_sample>> plain;
    std::unique_ptr<Vlanes_sample_lanes> lanes{new Vlanes_sample_lanes};
    std::mt19937_64 random;

    explicit pair_of_models(uint64_t s) : random(s)
    {
        for (unsigned i = 0; i < COPIES; i++) {
            plain.push_back(std::make_unique<Vlanes_sample>(&context));
            plain[i]->clk_i = 0;
            plain[i]->eval();
            lanes->load(i, *plain[i]->rootp);
        }
    }

    // numbers that are sometimes equal
    uint32_t word()
    {
        uint32_t x = static_cast<uint32_t>(random());
        switch (random() % 8) {
        case 0:
        case 1:
            return x % 8;
        case 2:
            return x & 1 ? 0 : 1U << (x >> 1) % 32;
        case 3:
            return ~0U << x % 4;
        case 4:
            return x & 0x00ff00ff;
        default:
            return x;
        }
    }

    void drive(unsigned i, bool rst_n)
    {
        Vlanes_sample &p = *plain[i];
        p.rst_ni = rst_n;
        p.op_i = static_cast<uint8_t>(random());
        p.a_i = word();
        p.b_i = word();
        p.c_i = (static_cast<uint64_t>(word()) << 32) | word();
        for (unsigned w = 0; w < 4; w++)
            p.w_i[w] = word();
        lanes->rst_ni[i] = p.rst_ni;
        lanes->op_i[i] = p.op_i;
        lanes->a_i[i] = p.a_i;
        lanes->b_i[i] = p.b_i;
        lanes->c_i[i] = p.c_i;
        for (unsigned w = 0; w < 4; w++)
            lanes->w_i[w][i] = p.w_i[w];
    }

    void rise()
    {
        for (auto &p : plain) {
            p->eval();
            p->clk_i = 1;
            p->eval();
            p->clk_i = 0;
            p->eval();
        }
        lanes->inputs();
        lanes->edge();
    }

    void compare(unsigned i)
    {
        const Vlanes_sample &p = *plain[i];
        assert_int_equal(lanes->sum_o[i], p.sum_o);
        assert_int_equal(lanes->long_o[i], p.long_o);
        assert_int_equal(lanes->first_o[i], p.first_o);
        assert_int_equal(lanes->early_o[i], p.early_o);
        assert_int_equal(lanes->word_o[i], p.word_o);
        assert_int_equal(lanes->small_o[i], p.small_o);
        assert_int_equal(lanes->queue_o[i], p.queue_o);
        assert_int_equal(lanes->slice_o[i], p.slice_o);
        assert_int_equal(lanes->table_o[i], p.table_o);
        assert_int_equal(lanes->parity_o[i], p.parity_o);
        assert_int_equal(lanes->count_o[i], p.count_o);
        assert_int_equal(lanes->part_o[i], p.part_o);
        assert_int_equal(lanes->ones_o[i], p.ones_o);
        assert_int_equal(lanes->only_o[i], p.only_o);
        assert_int_equal(lanes->ratio_o[i], p.ratio_o);
        assert_int_equal(lanes->ratio64_o[i], p.ratio64_o);
        assert_int_equal(lanes->signed_o[i], p.signed_o);
        assert_int_equal(lanes->signed64_o[i], p.signed64_o);
        assert_int_equal(lanes->product_o[i], p.product_o);
        assert_int_equal(lanes->product64_o[i], p.product64_o);
        assert_int_equal(lanes->order_o[i], p.order_o);
        assert_int_equal(lanes->bits_o[i], p.bits_o);
        assert_int_equal(lanes->high_o[i], p.high_o);
        assert_int_equal(lanes->marks_o[i], p.marks_o);
        for (unsigned w = 0; w < 3; w++) {
            assert_int_equal(lanes->parts_o[w][i], p.parts_o[w]);
            assert_int_equal(lanes->few_o[w][i], p.few_o[w]);
            assert_int_equal(lanes->hits_o[w][i], p.hits_o[w]);
        }
        for (unsigned w = 0; w < 4; w++) {
            assert_int_equal(lanes->wide_o[w][i], p.wide_o[w]);
            assert_int_equal(lanes->ram_o[w][i], p.ram_o[w]);
            assert_int_equal(lanes->total_o[w][i], p.total_o[w]);
            assert_int_equal(lanes->rest_o[w][i], p.rest_o[w]);
        }
    }
};

void copies_go_their_own_ways(void **)
{
    pair_of_models m(seed);
    for (unsigned cycle = 0; cycle < 20000; cycle++) {
        for (unsigned i = 0; i < COPIES; i++)
            m.drive(i, cycle >= 4 && m.random() % 256 != 0);
        m.rise();
        for (unsigned i = 0; i < COPIES; i++)
            m.compare(i);
    }
}

// With equal inputs all lanes hold equal values, except those of missing copies.
void equal_inputs_give_equal_lanes(void **)
{
    pair_of_models m(seed + 1);
    for (unsigned cycle = 0; cycle < 2000; cycle++) {
        auto state = m.random;
        for (unsigned i = 0; i < COPIES; i++) {
            m.random = state;
            m.drive(i, cycle >= 4);
        }
        m.rise();
        for (unsigned i = 1; i < COPIES; i++) {
            assert_int_equal(m.lanes->sum_o[i], m.lanes->sum_o[0]);
            assert_int_equal(m.lanes->long_o[i], m.lanes->long_o[0]);
        }
        m.compare(0);
    }
}

// A memory of the RTL begins at random in a model, a table that Verilator made does not.
void tables_of_verilator_begin_empty(void **)
{
    pair_of_models m(seed + 3);
    for (unsigned i = 0; i < COPIES; i++)
        m.lanes->start(i);
    for (unsigned cycle = 0; cycle < 400; cycle++) {
        for (unsigned i = 0; i < COPIES; i++)
            m.drive(i, cycle >= 4);
        m.rise();
        for (unsigned i = 0; i < COPIES; i++)
            for (unsigned w = 0; w < 3; w++)
                assert_int_equal(m.lanes->hits_o[w][i], m.plain[i]->hits_o[w]);
    }
}

// The run ends, as with Verilator's code. The message names the place, the instance and the copies.
void an_assertion_ends_the_run(void **)
{
    int err[2];
    assert_int_equal(pipe(err), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(err[1], STDERR_FILENO);
        dup2(err[1], STDOUT_FILENO);
        setrlimit(RLIMIT_CORE, std::make_unique<rlimit>().get());
        pair_of_models m(seed + 2);
        for (unsigned cycle = 0; cycle < 10; cycle++) {
            for (unsigned i = 0; i < COPIES; i++)
                m.drive(i, cycle >= 4);
            if (cycle == 2 || cycle == 6) { // in reset it is allowed
                m.lanes->op_i[3] = 0xff;
                m.lanes->a_i[3] = 0xdead;
            }
            if (cycle == 6)
                puts("forbidden");
            fflush(stdout);
            m.lanes->inputs();
            m.lanes->edge();
        }
        _exit(0);
    }
    close(err[1]);
    std::string said;
    char part[256];
    for (ssize_t n; (n = read(err[0], part, sizeof part)) > 0;)
        said.append(part, static_cast<size_t>(n));
    close(err[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(said.find("forbidden\nFatal: lanes_sample.sv:"), 0);
    assert_true(
        said.find(": Assertion failed in lanes_sample: a forbidden operand (copies 0x8)\n") !=
        std::string::npos);
}
} // namespace

int main()
{
    const char *s = getenv("MW_SEED");
    seed = s ? strtoull(s, nullptr, 0) : static_cast<uint64_t>(time(nullptr));
    printf("lanes: MW_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const CMUnitTest tests[] = {
        cmocka_unit_test(copies_go_their_own_ways),
        cmocka_unit_test(equal_inputs_give_equal_lanes),
        cmocka_unit_test(tables_of_verilator_begin_empty),
        cmocka_unit_test(an_assertion_ends_the_run),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
