// SPDX-License-Identifier: Apache-2.0
//
// fabric_reset against its description, cycle by cycle: requests of both sources at any time, the
// wait for the ports, and the length of the reset. No request is lost.
#include "Vfabric_reset.h"
#include "bench/dut.h"

using namespace tb;

namespace {
constexpr unsigned LENGTH = 8; // cycles of the fabric's reset

struct bench : model<Vfabric_reset> {
    // requests, and accesses in flight
    bool link_requests = false, idle = true, was_busy = false;
    unsigned low = 0, resets = 0, link_resets = 0;

    bench()
    {
        dut.link_i = dut.soc_i = 0;
        dut.ports_idle_i = 1;
        reset();
        cycle();
    }

    void drive() override
    {
        dut.link_i = link_requests;
        dut.ports_idle_i = idle;
    }

    void sample() override
    {
        assert_int_equal(dut.ports_hold_o, dut.busy_o);
        if (now == 0) // that of power-up still lasts
            return;
        // The reset is active only while busy_o is high and the ports are idle, and for all of its
        // cycles.
        if (!dut.fabric_rst_no) {
            assert_true(dut.busy_o);
            low++;
        } else if (low) {
            assert_int_equal(low, LENGTH);
            low = 0;
            resets++;
        }
        if (dut.done_o) {
            assert_true(dut.busy_o);
            if (link_requests)
                link_resets++;
            link_requests = false;
        }
        was_busy = dut.busy_o;
    }
};

/// Random register contents at power-up.
TEST(from_the_first_cycle)
{
    for (unsigned i = 0; i < 50; i++) {
        model<Vfabric_reset> m;
        m.dut.rst_ni = 0;
        m.dut.link_i = m.dut.soc_i = m.dut.ports_idle_i = 0;
        for (unsigned n = 0; n < 4; n++) {
            m.settle();
            assert_false(m.dut.fabric_rst_no);
            m.edge();
        }
        m.dut.rst_ni = 1;
        m.settle();
        assert_false(m.dut.fabric_rst_no);
        m.edge();
        m.settle();
        assert_true(m.dut.fabric_rst_no);
        assert_false(m.dut.busy_o);
    }
}

TEST(one_request)
{
    for (bool link : {true, false}) {
        for (unsigned wait : {0u, 1u, 50u}) {
            bench b;
            b.cycles(5);
            assert_false(b.dut.busy_o);
            assert_true(b.dut.fabric_rst_no);
            b.idle = wait == 0;
            b.link_requests = link;
            b.dut.soc_i = !link;
            b.cycle();
            b.dut.soc_i = 0;
            b.cycles(wait);
            b.settle();
            assert_true(b.dut.fabric_rst_no);
            b.idle = true;
            unsigned took = static_cast<unsigned>(
                b.until("the end", 40, [&] { return b.was_busy && b.dut.done_o; }));
            assert_in_range(took, LENGTH, LENGTH + 4);
            b.cycles(3);
            assert_false(b.dut.busy_o);
            assert_int_equal(b.resets, 1);
            assert_int_equal(b.link_resets, link);
            b.cycles(50);
            assert_int_equal(b.resets, 1);
        }
    }
}

/// Both send requests at any time. A reset ends after each request of the SoC. No reset begins
/// without a request, or while an access is in flight.
TEST(at_random)
{
    bench b;
    unsigned asked = 0;
    bool open = false;  // requested, and no reset has ended since
    bool before = true; // idle, a cycle earlier: the reset is registered
    for (unsigned i = 0; i < 100000; i++) {
        bool soc = b.rng.one_in(40), was_open = open || b.link_requests;
        if (b.rng.one_in(60))
            b.link_requests = true;
        bool was_idle = before;
        before = b.idle;
        b.idle = b.percent(i / 1000 % 2 ? 90 : 5);
        b.dut.soc_i = soc;
        asked += soc;
        unsigned was_low = b.low;
        b.cycle();
        if (b.low && !was_low)
            assert_true(was_idle && was_open);
        if (b.dut.done_o)
            open = false;
        open = open || soc;
    }
    b.dut.soc_i = 0;
    b.idle = true;
    b.until("rest", 200, [&] { return !b.dut.busy_o && !b.link_requests; });
    b.cycles(40);
    assert_false(b.dut.busy_o);
    assert_true(b.resets > 500 && b.link_resets > 300 && asked > 1000);
}

/// A request that comes during a reset. No request waits for ever, and the firmware's is kept until
/// its reset has ended.
TEST(while_under_way)
{
    for (unsigned at = 0; at < 16; at++) {
        bench b;
        b.link_requests = true;
        b.cycles(at);
        b.dut.soc_i = 1;
        b.cycle();
        b.dut.soc_i = 0;
        b.cycles(60);
        assert_false(b.dut.busy_o);
        assert_true(b.resets >= 1 && b.resets <= 2);
        assert_int_equal(b.link_resets, 1);
    }
}

TEST(waits_for_the_ports)
{
    bench b;
    b.idle = false;
    b.link_requests = true;
    b.cycles(1000);
    assert_true(b.dut.busy_o && b.dut.fabric_rst_no);
    assert_int_equal(b.resets + b.low, 0);
    b.idle = true;
    b.cycles(30);
    assert_int_equal(b.resets, 1);
    assert_false(b.dut.busy_o);
}
} // namespace
