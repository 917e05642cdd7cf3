// SPDX-License-Identifier: Apache-2.0
//
// The USB device core without a PHY, at D+ and D-: enumeration, and bulk transfers of every size at
// every rate. Clocks differ as far as is permitted, and the two lines do not change together. Then
// damaged packets, suspend, reset and unplugging. MW_SEED repeats a run.

#include "usb_bench.h"

extern "C" {
#include "pins/pins_phy.h"
}

static void show(Vusb_core_pins &dut, const ulpi_bus &bus)
{
    dut.usb_dp_i = bus.data & PINS_DP ? 1 : 0;
    dut.usb_dn_i = bus.data & PINS_DN ? 1 : 0;
}

static ulpi_link driven(const Vusb_core_pins &dut)
{
    const unsigned level = (dut.usb_dp_o ? PINS_DP : 0) | (dut.usb_dn_o ? PINS_DN : 0);
    return {static_cast<uint8_t>(level), dut.usb_oe_o != 0, dut.usb_pullup_o != 0, false};
}

static constexpr unsigned CLOCK = 800000; // 48 MHz of 60, in a million
static constexpr unsigned OFF = 2000;     // 0.25 % of that (7.1.11)

struct bench : usb_bench<Vusb_core_pins> {
    explicit bench(bool connect = true) : usb_bench(connect)
    {
        clocks.rate = CLOCK;
        dut.rst_ni = 0;
        wait(10);
        dut.rst_ni = 1;
    }
};

TEST(enumerates)
{
    bench b;
    b.start();
    check_identity(b, 64);
    uint8_t d[64];
    // one speed only: no other descriptors (9.6.2), and never a chirp
    assert_int_equal(b.control(0x80, 6, 0x600, sizeof d, d), USB_STALLED);
    assert_int_equal(b.control(0x80, 6, 0x700, sizeof d, d), USB_STALLED);
    assert_int_equal(b.control(0xc0, 0x42, 0, 8, d), USB_STALLED);
    assert_int_equal(b.host.phy.chirp_begin, 0);
    assert_int_equal(b.dut.high_speed_o, 0);
    b.clean();
}

TEST(stays_away_until_connected)
{
    bench b(false);
    b.wait(6 * USB_CLOCKS_PER_MS);
    assert_false(ulpi_phy_attached(&b.host.phy));
    b.dut.connect_i = 1;
    b.start();
    b.dut.connect_i = 0;
    b.host.frames = false;
    b.wait(6 * USB_CLOCKS_PER_MS);
    assert_false(ulpi_phy_attached(&b.host.phy));
    b.dut.connect_i = 1;
    b.start();
    b.out(b.random(600));
    b.clean();
}

// Any size, at any rate, with different clocks at both ends, and D- later than D+.
TEST(moves_transfers_of_any_size)
{
    for (unsigned i = 0; i < 6; i++) {
        bench b;
        b.clocks.rate = CLOCK - OFF + i % 3 * OFF;
        b.host.phy.wire.skew = i >= 3;
        b.start();
        for (unsigned n = 0; n < 20; n++) {
            static const size_t corners[] = {1, 2, 63, 64, 65, 127, 128, 129, 512, 2048};
            const size_t size =
                n < sizeof corners / sizeof *corners ? corners[n] : 1 + b.rng() % 700;
            b.host.gap_out_out = 10 + b.rng() % 100;
            b.host.gap_in_out = 1 + b.rng() % 3;
            b.sink_rate = b.percent(50) ? 100 : 2 + b.rng() % 98;
            b.source_rate = b.percent(50) ? 100 : 2 + b.rng() % 98;
            b.out(b.random(size), b.percent(50));
            b.in(b.random(size));
        }
        b.clean();
    }
}

// 19 packets in a frame are the most (5.8.4).
TEST(moves_as_much_as_a_frame_holds)
{
    enum { BYTES = 64 * 500 };
    bench b;
    b.start();
    b.host.gap_out_out = 10;
    bytes data = b.random(BYTES);
    for (auto &x : data)
        x = static_cast<uint8_t>(x & 0x7f); // least stuffing
    const bulk_rates r = move_both_ways(b, data);
    printf("       OUT %.3f MB/s, IN %.3f MB/s of 1.216; answers after %.1f to %.1f bit times\n",
           r.out, r.in, b.host.fast / 5.0, b.host.slow / 5.0);
    assert_true(r.out > 1.0 && r.in > 1.0);
    // 2 to 6.5 bit times (7.1.18.1). LUNA's own PHY takes longer. A host waits for 16 (7.1.19.1).
    assert_true(b.host.fast >= 10 && b.host.slow <= 5 * 14);
    b.clean();
}

TEST(damaged_packets_are_dropped)
{
    bench b;
    b.start();
    damage_packets(b, b.random(64), b.random(50));
    repeat_an_out_packet(b, b.random(64));
    lose_an_in_ack(b, b.random(50));
    if (!b.pipe.out_toggle)
        b.out(b.random(5));
    clear_halt(b);
    b.clean();
}

TEST(a_full_device_says_so)
{
    bench b;
    b.start();
    const bytes data = b.random(64);
    const unsigned taken = fill(b, data, 50);
    b.sink_rate = 100;
    b.wait(60000);
    assert_int_equal(b.sink.size(), taken * 64);
    b.sink_rate = 1; // slower than the wire
    b.out(b.random(8192));
    assert_true(b.pipe.naks > 0);
    b.clean();
}

// Bytes inside on both sides and toggles at DATA1. Then the bus is reset.
TEST(a_reset_forgets_everything)
{
    bench b;
    b.start();
    for (unsigned i = 0; i < 3; i++) {
        if (!b.pipe.out_toggle)
            b.out(b.random(5));
        uint8_t in[USB_MAX_DATA];
        size_t n;
        b.offer(b.random(640), false);
        b.wait(20000);
        assert_true(usb_host_in(&b.host, b.pipe.in, in, &n, 0) > 0);
        b.wait(20000);
        b.offer({});
        b.sink_rate = 0; // a byte waits at the output, with more after it
        assert_int_equal(b.out_once(b.random(64)), USB_PID_ACK);
        b.wait(500);
        const unsigned restarts = b.restarts;
        if (i) {
            assert_int_equal(b.out_once(b.random(64), USB_LOSE_DATA), USB_SILENT);
            assert_true(usb_host_reset(&b.host));
            assert_int_equal(b.dut.configured_o, 0);
            assert_int_equal(
                usb_enumerate(&b.host, &b.pipe, b.configuration, sizeof b.configuration), 0);
        } else {
            assert_int_equal(b.control(0, 9, 1, 0, nullptr), 0); // SET_CONFIGURATION
            b.pipe.out_toggle = b.pipe.in_toggle = 0;
        }
        assert_true(b.restarts > restarts);
        b.sink_rate = 100;
        b.wait(2000);
        b.out(b.random(600));
        b.in(b.random(600));
    }
    b.clean();
}

TEST(suspends_and_resumes)
{
    bench b;
    b.start();
    b.out(b.random(70));
    b.host.frames = false;
    b.wait(2 * USB_CLOCKS_PER_MS);
    assert_int_equal(b.dut.suspended_o, 0);
    b.wait(2 * USB_CLOCKS_PER_MS); // suspended after 3 ms, at most 10 (7.1.7.6)
    assert_int_equal(b.dut.suspended_o, 1);
    assert_int_equal(b.dut.configured_o, 1);
    usb_host_resume(&b.host);
    assert_int_equal(b.dut.suspended_o, 0);
    uint8_t d[1];
    assert_int_equal(b.control(0x80, 8, 0, 1, d), 1);
    assert_int_equal(d[0], 1);
    b.out(b.random(600));
    b.in(b.random(600));
    b.clean();
}
