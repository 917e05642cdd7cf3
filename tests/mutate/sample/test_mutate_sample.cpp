// SPDX-License-Identifier: Apache-2.0
//
// The test of mutate_sample.sv: every pair of numbers. It does not look at spare_o.
#include "Vmutate_sample.h"
#include "verilated.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

extern "C" {
#include <cmocka.h>
}

static void test_sums(void **)
{
    Verilated::randReset(2);
    Vmutate_sample dut;
    auto edge = [&] {
        dut.clk_i = 0;
        dut.eval();
        dut.clk_i = 1;
        dut.eval();
    };
    dut.rst_ni = 0;
    edge();
    assert_int_equal(dut.same_o, 0);
    dut.rst_ni = 1;
    for (unsigned a = 0; a < 4; a++) {
        for (unsigned b = 0; b < 4; b++) {
            dut.a_i[0] = a;
            dut.a_i[1] = b;
            edge();
            assert_int_equal(dut.sum_o, (a + b) % 4);
            assert_int_equal(dut.same_o, a & 1);
        }
    }
}

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test_sums)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
