// SPDX-License-Identifier: Apache-2.0
//
// The USB device core at its ULPI pins, with the host of sim/ulpi. It covers enumeration, and bulk
// transfers of every size at every rate, at both speeds. Packets are damaged as by a cable or a
// faulty host. Then suspend, reset and unplugging. MW_SEED repeats a run.

#include "usb_bench.h"

static void show(Vusb_core &dut, const ulpi_bus &bus)
{
    dut.ulpi_dir_i = bus.dir;
    dut.ulpi_nxt_i = bus.nxt;
    dut.ulpi_data_i = bus.data;
}

static ulpi_link driven(const Vusb_core &dut)
{
    return {static_cast<uint8_t>(dut.ulpi_data_o), dut.ulpi_data_oe_o != 0, dut.ulpi_stp_o != 0,
            dut.ulpi_rst_o != 0};
}

static constexpr unsigned MIB = 1u << 20;

struct bench : usb_bench<Vusb_core> {
    using usb_bench::usb_bench;
    void start(bool high_speed = true)
    {
        usb_bench::start(high_speed);
        assert_int_equal(dut.high_speed_o, high_speed);
    }
};

// ---- enumeration --------------------------------------------------------------------------------

static void check_descriptors(bench &b, unsigned packet)
{
    check_identity(b, packet);
    uint8_t d[64];
    // the descriptors of the other speed
    assert_int_equal(b.control(0x80, 6, 0x600, sizeof d, d), 10);
    assert_int_equal(d[1], 6);
    assert_int_equal(b.control(0x80, 6, 0x700, sizeof d, d), 32);
    assert_int_equal(d[1], 7);
    assert_int_equal(d[9 + 9 + 4] | d[9 + 9 + 5] << 8, packet == 512 ? 64 : 512);
}

TEST(enumerates)
{
    bench b;
    b.start();
    check_descriptors(b, 512);
    const double chirp =
        static_cast<double>(b.host.phy.chirp_end - b.host.phy.chirp_begin) / USB_CLOCKS_PER_MS;
    assert_true(chirp >= 1 && chirp <= 7); // 7.1.7.5: TUCH, TUCHEND
    uint8_t d[2];
    assert_int_equal(b.control(0x80, 8, 0, 1, d), 1); // GET_CONFIGURATION
    assert_int_equal(d[0], 1);
    assert_int_equal(b.control(0x80, 0, 0, 2, d), 2); // GET_STATUS
    b.clean();
}

TEST(refuses_unknown_requests)
{
    bench b;
    b.start();
    uint8_t d[64];
    assert_int_equal(b.control(0x80, 6, 0xf00, 64, d), USB_STALLED);
    assert_int_equal(b.control(0xc0, 0x42, 0, 8, d), USB_STALLED);
    assert_int_equal(b.control(0x40, 0x42, 0, 0, d), USB_STALLED);
    assert_int_equal(b.control(0x80, 8, 0, 1, d), 1);
    b.clean();
}

TEST(stays_away_until_connected)
{
    bench b(false);
    b.wait(6 * USB_CLOCKS_PER_MS);
    assert_false(ulpi_phy_attached(&b.host.phy));
    assert_int_equal(b.host.phy.chirp_begin, 0);
    b.dut.connect_i = 1;
    b.start();
    b.dut.connect_i = 0;
    b.wait(USB_CLOCKS_PER_MS);
    assert_false(ulpi_phy_attached(&b.host.phy));
    b.host.frames = false;
    b.wait(5 * USB_CLOCKS_PER_MS);
    b.dut.connect_i = 1;
    b.start();
    b.out(b.random(600));
    b.clean();
}

// ---- speed --------------------------------------------------------------------------------------

// 13 packets in a microframe are 53.2 MB/s.
TEST(moves_a_mebibyte_each_way)
{
    bench b;
    b.start();
    const bulk_rates r = move_both_ways(b, b.rng.some(MIB));
    printf("       OUT %.2f MB/s, IN %.2f MB/s of 53.25; answers after %u to %u clocks\n", r.out,
           r.in, b.host.fast, b.host.slow);
    assert_true(r.out >= 50 && r.in >= 50);
    assert_true(b.host.fast >= 1 && b.host.slow <= 24); // 7.1.18.2: 8 to 192 bits
    b.clean();
}

TEST(moves_transfers_of_any_size)
{
    for (unsigned style = 0; style < 2; style++) {
        bench b;
        b.start();
        b.host.phy.style = static_cast<ulpi_style>(style);
        for (unsigned i = 0; i < 60; i++) {
            static const size_t corners[] = {1,    2,    511,  512,  513, 1023,
                                             1024, 1025, 1536, 2048, 2560};
            const size_t size =
                i < sizeof corners / sizeof *corners ? corners[i] : 1 + b.rng() % 3000;
            b.host.phy.rx_delay = 3 + b.rng() % 6;
            b.host.gap_out_out = 11 + b.rng() % 14;
            b.host.gap_in_out = 1 + b.rng() % 24;
            b.sink_rate = b.percent(50) ? 100 : 10 + b.rng() % 90;
            b.source_rate = b.percent(50) ? 100 : 10 + b.rng() % 90;
            b.out(b.random(size), b.percent(50));
            b.in(b.random(size));
        }
        b.clean();
    }
}

TEST(falls_back_to_full_speed)
{
    bench b;
    b.start(false);
    check_descriptors(b, 64);
    for (size_t size : {1, 63, 64, 65, 128, 500, 512, 513, 1024}) {
        b.out(b.random(size), size % 64 == 0);
        b.in(b.random(size));
    }
    b.clean();
    // and back: another host
    b.start(true);
    b.out(b.random(700));
    b.in(b.random(1024));
    b.clean();
}

// ---- damage -------------------------------------------------------------------------------------

TEST(damaged_packets_are_dropped)
{
    bench b;
    b.start();
    const bytes data = b.random(512);
    damage_packets(b, data, b.random(300));
    b.host.address ^= 3; // of another device
    b.sink.clear();
    assert_int_equal(b.out_once(data), USB_SILENT);
    b.wait(2000);
    assert_int_equal(b.sink.size(), 0);
    b.host.address ^= 3;
    b.out(data);
    b.clean();
}

TEST(an_out_packet_repeated_is_dropped)
{
    bench b;
    b.start();
    repeat_an_out_packet(b, b.random(512));
    b.out(b.random(100));
    b.clean();
}

TEST(an_in_packet_without_ack_comes_again)
{
    bench b;
    b.start();
    const bytes data = b.random(700);
    lose_an_in_ack(b, data);
    bytes rest(512);
    assert_int_equal(usb_bulk_in(&b.host, &b.pipe, rest.data(), rest.size()), 188);
    assert_memory_equal(rest.data(), data.data() + 512, 188);
    b.clean();
}

TEST(whole_packets_end_in_an_empty_one)
{
    bench b;
    b.start();
    for (size_t size : {512, 1024, 1536})
        b.in(b.random(size)); // ends only after a zero-length packet
    b.sink.clear();
    assert_int_equal(b.out_once({}), USB_PID_ACK);
    b.pipe.out_toggle ^= 1;
    b.wait(200);
    assert_int_equal(b.sink.size(), 0);
    uint8_t in[USB_MAX_DATA];
    size_t n;
    assert_int_equal(usb_host_in(&b.host, b.pipe.in, in, &n, 0), USB_PID_NAK);
    b.clean();
}

TEST(a_full_device_says_so)
{
    bench b;
    b.start();
    const bytes data = b.random(512);
    const unsigned taken = fill(b, data, 20);
    assert_int_equal(usb_host_ping(&b.host, b.pipe.out), USB_PID_NAK);
    b.sink_rate = 100;
    b.wait(6000);
    assert_int_equal(usb_host_ping(&b.host, b.pipe.out), USB_PID_ACK);
    assert_int_equal(b.sink.size(), taken * 512);
    for (unsigned i = 0; i < taken; i++)
        assert_memory_equal(b.sink.data() + i * 512, data.data(), 512);
    b.sink_rate = 60; // slower than the wire
    b.out(b.random(65536));
    assert_true(b.pipe.naks > 0 && b.pipe.pings > 0);
    b.clean();
}

TEST(halt_is_cleared)
{
    bench b;
    b.start();
    if (!b.pipe.out_toggle)
        b.out(b.random(5));
    clear_halt(b);
    b.clean();
}

// ---- the bus ------------------------------------------------------------------------------------

// Both toggles at DATA1, and bytes inside on both sides.
static void leave_in_the_middle(bench &b)
{
    uint8_t in[USB_MAX_DATA];
    size_t n;
    if (!b.pipe.out_toggle)
        b.out(b.random(5));
    b.offer(b.random(512 * 9), false);
    b.wait(1100);
    do {
        assert_true(usb_host_in(&b.host, b.pipe.in, in, &n, 0) > 0);
        b.pipe.in_toggle ^= 1;
    } while (!b.pipe.in_toggle);
    b.wait(1100);
    b.offer({});
}

static void starts_afresh(bench &b)
{
    b.pipe.out_toggle = b.pipe.in_toggle = 0;
    b.out(b.random(600));
    b.in(b.random(600));
}

TEST(a_reset_forgets_everything)
{
    bench b;
    b.start();
    leave_in_the_middle(b);
    const unsigned restarts = b.restarts;
    assert_int_equal(b.control(0, 9, 1, 0, nullptr), 0); // SET_CONFIGURATION
    assert_true(b.restarts > restarts);
    starts_afresh(b);

    leave_in_the_middle(b);
    assert_int_equal(b.out_once(b.random(512), USB_LOSE_DATA), USB_SILENT); // within a transaction
    assert_true(usb_host_reset(&b.host));
    assert_false(b.dut.configured_o);
    assert_int_equal(usb_enumerate(&b.host, &b.pipe, b.configuration, sizeof b.configuration), 0);
    starts_afresh(b);
    b.clean();
}

TEST(suspends_and_resumes)
{
    bench b;
    b.start();
    leave_in_the_middle(b);
    usb_host_suspend(&b.host);
    assert_true(b.dut.suspended_o);
    assert_true(b.dut.configured_o);
    usb_host_resume(&b.host);
    assert_false(b.dut.suspended_o);
    assert_true(ulpi_phy_high_speed(&b.host.phy));
    uint8_t d[1];
    assert_int_equal(b.control(0x80, 8, 0, 1, d), 1);
    assert_int_equal(d[0], 1);
    b.out(b.random(600));
    b.clean();
}

// Bytes that the device gets while the bus is suspended, or shortly before, leave after resume.
TEST(bytes_given_asleep_come_later)
{
    bench b;
    b.start();
    for (unsigned i = 0; i < 2; i++) {
        const bytes data = b.random(700);
        bytes got(1024);
        if (i)
            b.offer(data); // while it suspends: the first packet fills
        b.source_rate = i ? 1 : 100;
        usb_host_suspend(&b.host);
        assert_true(b.dut.suspended_o);
        b.source_rate = 100;
        if (!i)
            b.offer(data);
        b.wait(3000);
        usb_host_resume(&b.host);
        assert_false(b.dut.suspended_o);
        assert_int_equal(usb_bulk_in(&b.host, &b.pipe, got.data(), got.size()), data.size());
        assert_memory_equal(got.data(), data.data(), data.size());
    }
    b.clean();
}

// ---- ULPI's rules at the pins -----------------------------------------------------------------

// The PHY checks the link's outputs against the rules in every clock, and clean() reads the result.

// Link decision times. ULPI 1.1 permits 1 to 14 clocks at high speed and 7 to 18 at full speed
// (3.8.2.6.3).
TEST(answers_within_the_link_decision_time)
{
    for (unsigned style = 0; style < 2; style++) {
        bench b;
        b.start();
        b.host.phy.style = static_cast<ulpi_style>(style);
        b.out(b.random(5000));
        b.in(b.random(5000));
        uint8_t d[64];
        assert_int_equal(b.control(0x80, 6, 0xf00, 64, d), USB_STALLED);
        printf("       high speed: decides within %u to %u clocks\n", b.host.phy.quick,
               b.host.phy.slow);
        assert_true(b.host.phy.quick >= 1 && b.host.phy.slow <= 14);
        b.clean();
    }
    bench b;
    b.start(false);
    b.out(b.random(500));
    b.in(b.random(500));
    printf("       full speed: decides within %u to %u clocks\n", b.host.phy.quick,
           b.host.phy.slow);
    assert_true(b.host.phy.quick >= 7);
    assert_true(b.host.phy.slow <= 18);
    b.clean();
}

// With 100 RXCMDs in 1000 clocks an answer is in time for the host. With 300 a write succeeds.
static ulpi_moods any_moods(bench &b, unsigned reports = 100)
{
    ulpi_moods m{};
    m.seed = b.rng();
    m.late = b.percent(80) ? b.rng.between(1, 5) : 0;
    m.reports = b.percent(80) ? b.rng.between(5, reports) : 0;
    return m;
}

TEST(a_phy_takes_its_time_and_interrupts)
{
    const unsigned rounds = tb::cases(4, 8);
    unsigned interrupted = 0;
    for (unsigned i = 0; i < rounds; i++) {
        bench b;
        b.host.phy.moods = any_moods(b);
        b.host.phy.style = static_cast<ulpi_style>(i % 2);
        b.start(i % 4 != 3);
        for (unsigned n = 0; n < 12; n++) {
            b.host.phy.moods = any_moods(b);
            const size_t most = i % 4 != 3 ? 2100 : 150;
            b.out(b.random(b.rng.between(1, most)), b.percent(50));
            b.in(b.random(b.rng.between(1, most)));
        }
        if (i % 3 == 0) {
            usb_host_suspend(&b.host);
            usb_host_resume(&b.host);
            b.out(b.random(60));
        }
        interrupted += b.host.phy.interrupted;
        assert_int_equal(b.pipe.retries, 0);
        b.clean();
    }
    assert_true(interrupted > 12 * rounds);
}

// The pull-up is switched off and on. Each time the PHY gets the link's value, whatever happened
// between.
TEST(a_write_that_is_broken_off_is_repeated)
{
    enum {
        PULL_UP = 4,
        SILENT = 8,
        CHIRP = 0x10,
        REST = 0x41
    }; // Function Control; full speed, not suspended
    unsigned interrupted = 0;
    for (unsigned i = 0; i < 6; i++) {
        bench b;
        b.wait(3 * USB_CLOCKS_PER_MS);
        for (unsigned n = 0; n < 60; n++) {
            b.host.phy.moods = any_moods(b, 300);
            b.dut.connect_i = n % 2;
            b.wait(b.below(400)); // perhaps within the write before
            b.dut.connect_i = !b.dut.connect_i;
            b.wait(600);
            b.dut.connect_i = !b.dut.connect_i;
            b.wait(4000);
            b.host.phy.moods = {};
            b.wait(1000); // a late change is a write of its own
            // A pull-up that is switched may look like a bus reset. The core's answer takes
            // milliseconds, and writes wait for it.
            for (unsigned ms = 0; ms < 8 && b.host.phy.function_control & CHIRP; ms++)
                b.wait(USB_CLOCKS_PER_MS);
            const unsigned function = b.host.phy.function_control;
            assert_int_equal(function & PULL_UP, n % 2 ? PULL_UP : 0);
            assert_int_equal(function & ~(PULL_UP | SILENT), REST);
            assert_int_equal(b.host.phy.otg_control, 0); // no pull-downs
        }
        interrupted += b.host.phy.interrupted;
        b.clean();
    }
    assert_true(interrupted > 1000);
}

// dir rises within a packet. Nothing of the rest is taken for a command, and the next try is
// complete.
TEST(a_packet_that_dir_cuts_is_over)
{
    unsigned cuts = 0;
    for (unsigned i = 0; i < 2; i++) {
        bench b;
        b.start();
        b.host.phy.moods = any_moods(b);
        for (unsigned n = 0; n < 60; n++) {
            const bytes data = b.random(b.rng.between(1, 511));
            uint8_t in[USB_MAX_DATA];
            size_t size;
            int pid;
            b.offer(data);
            b.wait(3000);
            b.host.phy.moods.cuts = n % 4 ? 3000 : 200000;
            for (unsigned tries = 0; (pid = usb_host_in(&b.host, b.pipe.in, in, &size, 0)) < 0;
                 tries++) {
                assert_int_equal(pid, USB_SILENT);
                if (tries == 3)
                    b.host.phy.moods.cuts = 0;
                assert_true(tries < 5);
            }
            b.host.phy.moods.cuts = 0;
            assert_int_equal(pid, b.pipe.in_toggle ? USB_PID_DATA1 : USB_PID_DATA0);
            b.pipe.in_toggle ^= 1;
            assert_int_equal(size, data.size());
            assert_memory_equal(in, data.data(), size);
        }
        cuts += b.host.phy.cuts;
        b.out(b.random(700));
        b.clean();
    }
    assert_true(cuts > 40);
}
