// SPDX-License-Identifier: Apache-2.0
//
// board_leds with clocks a thousand times slower than a board's. Light 0 blinks about once a second
// with each clock. Activity is visible for a quarter of a blink. An error is visible for a whole
// blink after its last pulse.

#include "Vboard_leds.h"
#include "bench/dut.h"

using namespace tb;

static const uint64_t SECOND = 1000ull * PARAM_ClockKhz;

struct leds : model<Vboard_leds> {
    bool active = false, error = false, configured = false;

    leds() { reset(); }
    void drive() override
    {
        dut.active_i = active;
        dut.error_i = error;
        dut.configured_i = configured;
    }
    unsigned light(unsigned n) const { return dut.led_o >> n & 1; }
    /// Cycles until a light is on or off.
    uint64_t until_light(unsigned n, unsigned on)
    {
        const uint64_t begin = now;
        until("the light", 4 * SECOND, [&] { return light(n) == on; });
        return now - begin;
    }
    void pulse(bool &which)
    {
        which = true;
        cycles(1);
        which = false;
    }
};

TEST(blinks_once_a_second)
{
    leds b;
    b.until_light(0, 0);
    b.until_light(0, 1);
    uint64_t blink = 0;
    for (unsigned i = 0; i < 3; i++) {
        const uint64_t on = b.until_light(0, 0), off = b.until_light(0, 1);
        assert_int_equal(on, off);
        if (i)
            assert_int_equal(blink, on + off);
        blink = on + off;
    }
    assert_true(4 * blink >= 3 * SECOND && 2 * blink <= 3 * SECOND);
}

TEST(shows_what_is_short)
{
    leds b;
    b.until_light(0, 0);
    b.until_light(0, 1);
    const uint64_t blink = 2 * b.until_light(0, 0);
    for (unsigned i = 0; i < 4; i++) {
        bool &which = i % 2 ? b.error : b.active;
        const unsigned n = i % 2 ? 3 : 2;
        const uint64_t shown = i % 2 ? blink : blink / 4;
        b.pulse(which);
        b.cycles(1);
        assert_int_equal(b.light(n), 1);
        assert_int_equal(b.light(5 - n), 0);
        b.cycles(b.below((unsigned)shown / 2)); // and again
        b.pulse(which);
        assert_true(b.until_light(n, 0) + 2 >= shown);
        b.pulse(which);
        b.cycles(2);
        const uint64_t once = b.until_light(n, 0);
        assert_true(once + 4 >= shown && once <= shown);
    }
}

TEST(follows_the_host)
{
    leds b;
    for (unsigned i = 0; i < 20; i++) {
        const bool now_is = i % 2 == 0;
        b.configured = now_is;
        b.cycles(1 + 2 + 1);
        assert_int_equal(b.light(1), now_is);
        b.cycles(b.below(100));
        assert_int_equal(b.light(1), now_is);
    }
}
