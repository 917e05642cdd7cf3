// SPDX-License-Identifier: Apache-2.0
//
// board_start with any two clocks. It checks the PHY's reset, the wait for its clock, and that both
// halves of the device leave reset together. The sequence repeats when the PLL loses its lock at
// any time. The PHY's clock may stand still during the PHY's reset.

#include "Vboard_start.h"
#include "two_clocks.h"

using namespace tb;

namespace {
constexpr uint64_t WAIT = 1ull << PARAM_WaitLog2, RESET = 1024;

struct start : two_clocks<Vboard_start> {
    bool locked = false, stands = false;

    CData &other_clock() override { return stands && dut.phy_rst_o ? nowhere : dut.usb_clk_i; }
    void drive() override { dut.locked_i = locked; }

    start()
    {
        dut.usb_clk_i = 0;
        cycles(10);
    }
    /// The PLL locks, and all steps must come in order. Ends when both halves run.
    void comes_up()
    {
        locked = true;
        const uint64_t begin = now;
        until("the end of the PHY's reset", 20 * RESET, [&] {
            assert_true(!dut.rst_no && !dut.usb_rst_no);
            return !dut.phy_rst_o;
        });
        assert_in_range(now - begin, RESET, RESET + 8);
        until("the device", 20 * WAIT, [&] {
            assert_true(!dut.phy_rst_o);
            return dut.rst_no || dut.usb_rst_no;
        });
        assert_in_range(now - begin, WAIT, WAIT + 16);
        const uint64_t first = now, other_first = other_now;
        until("the other half", 100, [&] { return dut.rst_no && dut.usb_rst_no; });
        assert_true(now - first <= 4 || other_now - other_first <= 4);
    }

  private:
    CData nowhere = 0;
};
} // namespace

TEST(in_order)
{
    for (unsigned i = 0; i < 10; i++) {
        start b;
        b.any_periods(6);
        b.stands = i % 2;
        assert_true(b.dut.phy_rst_o && !b.dut.rst_no);
        b.comes_up();
        b.cycles(b.below(500));
        assert_true(b.dut.rst_no && b.dut.usb_rst_no && !b.dut.phy_rst_o);
    }
}

TEST(anew_when_the_lock_is_lost)
{
    start b;
    b.any_periods(3);
    for (unsigned i = 0; i < 12; i++) {
        b.locked = true;
        if (i % 3)
            b.cycles(b.below(2 * (unsigned)WAIT)); // during the sequence, or after it
        b.locked = false;
        const uint64_t lost = b.now;
        b.until("two clocks", 100, [&] { return b.now == lost + 2; });
        assert_true(b.dut.phy_rst_o && !b.dut.rst_no && !b.dut.usb_rst_no);
        b.cycles(b.below(20));
        if (i % 2)
            b.comes_up();
    }
}
