// SPDX-License-Identifier: Apache-2.0
//
// vccio_18 with a settling time of 2^10 clocks. The pin's mean is the required voltage, without
// long runs. The regulators start when the filter has settled, and powered_o follows later. When
// the PLL loses its lock, the sequence restarts.

#include "Vvccio_18.h"
#include "bench/dut.h"

using namespace tb;

static const uint64_t SETTLE = 1ull << PARAM_SettleLog2;
static const double MEAN =
    (0.6 * (1 + 68 / 53.6) + 0.6 * 68 / 13 - 68 / 53.6 * 1.8) / 3.3; // see the module

struct supply : model<Vvccio_18> {
    bool locked = false;

    supply()
    {
        cycles(4);
        locked = true;
    }
    void drive() override { dut.locked_i = locked; }
    /// Cycles until an output is high.
    uint64_t until_high(const char *what, const CData &output)
    {
        const uint64_t begin = now;
        until(what, 4 * SETTLE, [&] { return output == 1; });
        return now - begin;
    }
};

TEST(the_mean_is_the_voltage)
{
    supply b;
    b.cycles(16);
    uint64_t ones = 0, run = 0, longest = 0;
    for (unsigned i = 0; i < 65536; i++) {
        b.cycles(1);
        ones += b.dut.pdm_o;
        run = b.dut.pdm_o ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    assert_true(std::abs((double)ones / 65536 - MEAN) < 0.0005);
    assert_int_equal(longest, 3); // two of three are high, and sometimes one more
}

TEST(starts_behind_the_filter)
{
    supply b;
    for (unsigned i = 0; i < 5; i++) {
        const uint64_t en = b.until_high("the regulators", b.dut.en_o);
        assert_int_equal(b.dut.powered_o, 0);
        const uint64_t more = b.until_high("what is behind them", b.dut.powered_o);
        assert_true(en >= SETTLE && en < SETTLE + 16);
        assert_true(4 * more >= SETTLE - 64);
        b.cycles(b.below(1000));
        assert_true(b.dut.en_o && b.dut.powered_o);
        b.locked = false;
        b.cycles(2);
        assert_true(!b.dut.en_o && !b.dut.powered_o);
        b.cycles(b.below(100));
        b.locked = true;
    }
}
