// SPDX-License-Identifier: Apache-2.0
//
// A module with two independent clocks: clk_i, and another one that the bench names. Each has its
// own period and jitter. Edges of the two clocks never coincide, and their order is random, as in
// silicon.
#ifndef UNIT_TWO_CLOCKS_H
#define UNIT_TWO_CLOCKS_H

#include "bench/dut.h"

namespace tb {
template <class Dut> struct two_clocks : model<Dut> {
    using base = model<Dut>;

    double period = 1, other_period = 1, jitter = 0; ///< jitter: of the period, to each side
    uint64_t other_now = 0;                          ///< edges of the other clock

    virtual CData &other_clock() = 0;
    virtual void other_drive() {}
    virtual void other_sample() {}

    /// Random periods, up to `ratio` times as long as the shorter one.
    void any_periods(double ratio)
    {
        double r = 1 + (ratio - 1) * base::rng.below(1000001) / 1e6;
        period = base::percent(50) ? r : 1;
        other_period = period == 1 ? r : 1;
        jitter = base::rng.below(31) / 100.0;
    }

    /// The next edge, of whichever clock it is; time passes until both have been seen `n`
    /// times in a row of calls.
    void cycle() override
    {
        if (due < other_due) {
            base::cycle();
            due += length(period);
        } else {
            other_drive();
            base::settle();
            other_sample();
            other_clock() = 1;
            base::settle();
            other_clock() = 0;
            base::settle();
            other_now++;
            other_due += length(other_period);
        }
    }

  private:
    double due = 0, other_due = 0.5;

    double length(double mean)
    {
        return mean * (1 + jitter * (base::rng.below(2001) / 1000.0 - 1));
    }
};
} // namespace tb

#endif
