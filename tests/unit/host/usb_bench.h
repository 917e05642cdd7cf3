// SPDX-License-Identifier: Apache-2.0
//
// A USB device core under the host of sim/ulpi, with a sink and a source of bytes. The test defines
// two functions for its pins: show(dut, bus) and driven(dut).
#ifndef USB_BENCH_H
#define USB_BENCH_H

extern "C" {
#include "host.h"
#include "ulpi/usb_transfer.h"
}

#include "bench/dut.h"

using namespace tb;

// The device's clock relative to the host's: `rate` of a million clocks, at most all.
struct device_clock {
    unsigned rate = 1000000, phase = 0;
    bool next()
    {
        phase += rate;
        const bool edge = phase >= 1000000;
        phase -= edge ? 1000000 : 0;
        return edge;
    }
};

// The device, with a sink and a source of bytes on one side and the host on the other.
template <class Dut> struct usb_bench : model<Dut> {
    using model<Dut>::dut;
    using model<Dut>::rng;
    usb_host host;
    usb_pipe pipe{};
    uint8_t configuration[64]{};

    bytes sink;   // what came out of the OUT endpoint
    bytes source; // what is to go into the IN endpoint
    size_t given = 0;
    bool ends = true;                            // the source's last byte ends a transfer
    unsigned sink_rate = 100, source_rate = 100; // percent of the clocks
    unsigned restarts = 0;
    device_clock clocks;
    ulpi_link last{};

    explicit usb_bench(bool connect = true)
    {
        dut.rst_ni = 0;
        dut.connect_i = connect;
        dut.in_valid_i = dut.in_last_i = dut.out_ready_i = 0;
        usb_host_init(&host, clock, this);
        for (unsigned i = 0; i < 8; i++)
            clock(this, &host.phy.bus);
        dut.rst_ni = 1;
    }

    static ulpi_link clock(void *self, const ulpi_bus *bus)
    {
        return static_cast<usb_bench *>(self)->step(*bus);
    }

    ulpi_link step(const ulpi_bus &bus)
    {
        show(dut, bus);
        if (!clocks.next())
            return last;
        this->settle();
        last = driven(dut);
        if (dut.out_valid_o && dut.out_ready_i)
            sink.push_back(static_cast<uint8_t>(dut.out_data_o));
        const bool gave = dut.in_valid_i && dut.in_ready_o;
        restarts += dut.restart_o;
        this->edge();
        given += gave;
        dut.out_ready_i = this->percent(sink_rate);
        dut.in_valid_i =
            given < source.size() && ((dut.in_valid_i && !gave) || this->percent(source_rate));
        dut.in_data_i = given < source.size() ? source[given] : 0;
        dut.in_last_i = ends && given + 1 == source.size();
        return last;
    }

    void wait(uint64_t time) { usb_host_wait(&host, time); }

    bytes random(size_t size)
    {
        bytes b(size);
        for (auto &x : b)
            x = static_cast<uint8_t>(rng() % 4 ? rng() : 0xff); // 0xff: the most stuffing
        return b;
    }

    void offer(const bytes &b, bool end = true)
    {
        source = b;
        given = 0;
        ends = end;
    }

    void start(bool high_speed = true)
    {
        host.high_speed_port = high_speed;
        wait(6 * USB_CLOCKS_PER_MS);
        assert_true(ulpi_phy_attached(&host.phy));
        assert_int_equal(usb_enumerate(&host, &pipe, configuration, sizeof configuration), 0);
        assert_int_equal(ulpi_phy_high_speed(&host.phy), dut.high_speed_o);
        assert_true(dut.configured_o);
    }

    int control(unsigned type, unsigned request, unsigned value, unsigned length, uint8_t *data,
                unsigned index = 0)
    {
        const usb_setup s = {static_cast<uint8_t>(type), static_cast<uint8_t>(request),
                             static_cast<uint16_t>(value), static_cast<uint16_t>(index),
                             static_cast<uint16_t>(length)};
        return usb_control(&host, &s, data);
    }

    // One transfer out. It must reach the sink complete.
    void out(const bytes &b, bool zero_packet = false)
    {
        sink.clear();
        assert_int_equal(usb_bulk_out(&host, &pipe, b.data(), b.size(), zero_packet), 0);
        for (unsigned i = 0; i < 400 && sink.size() < b.size(); i++)
            wait(1000);
        wait(100);
        assert_int_equal(sink.size(), b.size());
        assert_memory_equal(sink.data(), b.data(), b.size());
    }

    // One transfer in.
    void in(const bytes &b)
    {
        bytes got(b.size() / pipe.packet * pipe.packet + pipe.packet);
        offer(b);
        assert_int_equal(usb_bulk_in(&host, &pipe, got.data(), got.size()), b.size());
        assert_memory_equal(got.data(), b.data(), b.size());
    }

    int out_once(const bytes &b, unsigned damage = 0)
    {
        return usb_host_out(&host, USB_PID_OUT, pipe.out, pipe.out_toggle, b.data(), b.size(),
                            damage);
    }

    // Checks that nothing sent by the device or its ULPI side was wrong.
    void clean()
    {
        assert_int_equal(host.broken, 0);
        assert_int_equal(host.phy.collisions, 0);
        assert_int_equal(host.phy.faults, 0);
    }

    ~usb_bench() { dut.final(); }
};

template <class Dut> std::string string_descriptor(usb_bench<Dut> &b, unsigned index)
{
    uint8_t d[64];
    int n = b.control(0x80, 6, 0x300 | index, sizeof d, d, 0x409);
    assert_true(n >= 2 && d[0] == n && d[1] == 3);
    std::string s;
    for (int i = 2; i < n; i += 2)
        s += static_cast<char>(d[i]);
    return s;
}

// The same bytes out and in, at the highest rate. MB/s at 60 MHz.
struct bulk_rates {
    double out, in;
};
template <class Bench> bulk_rates move_both_ways(Bench &b, const bytes &data)
{
    bytes got(data.size());
    auto rate = [&](uint64_t since) {
        return 60.0 * static_cast<double>(data.size()) /
               static_cast<double>(b.host.phy.now - since);
    };
    bulk_rates r;
    b.sink.reserve(data.size());
    uint64_t since = b.host.phy.now;
    assert_int_equal(usb_bulk_out(&b.host, &b.pipe, data.data(), data.size(), false), 0);
    r.out = rate(since);
    b.wait(10000);
    assert_true(b.sink == data);
    b.offer(data, false);
    b.wait(2000);
    since = b.host.phy.now;
    assert_int_equal(usb_bulk_in(&b.host, &b.pipe, got.data(), got.size()), got.size());
    r.in = rate(since);
    assert_true(got == data);
    return r;
}

// ---- what every device core must do, whatever its pins are --------------------------------------

// Checks the device's identity and its endpoints.
template <class Bench> void check_identity(Bench &b, unsigned packet)
{
    uint8_t d[64];
    assert_int_equal(b.control(0x80, 6, 0x100, sizeof d, d), 18);
    assert_int_equal(d[8] | d[9] << 8, MW_HOST_USB_VENDOR);
    assert_int_equal(d[10] | d[11] << 8, MW_HOST_USB_PRODUCT);
    assert_int_equal(d[12] | d[13] << 8, MW_HOST_PROTOCOL_MAJOR << 8 | MW_HOST_PROTOCOL_MINOR);
    assert_string_equal(string_descriptor(b, d[14]).c_str(), "moeswitch");
    assert_string_equal(string_descriptor(b, d[16]).c_str(), "sim");
    assert_int_equal(b.configuration[2], 9 + 9 + 7 + 7); // wTotalLength
    assert_int_equal(b.configuration[9 + 5], MW_HOST_USB_CLASS);
    assert_int_equal(b.configuration[9 + 6], MW_HOST_USB_SUBCLASS);
    assert_int_equal(b.pipe.out, MW_HOST_USB_OUT);
    assert_int_equal(b.pipe.in | 0x80, MW_HOST_USB_IN);
    assert_int_equal(b.pipe.packet, packet);
}

// Packets damaged in every way, after a transaction that succeeded and after one that was refused.
template <class Bench> void damage_packets(Bench &b, const bytes &data, const bytes &more)
{
    static const unsigned damages[] = {USB_BAD_CRC16, USB_BAD_CRC5,  USB_BAD_PID,
                                       USB_CUT_DATA,  USB_LOSE_DATA, USB_BAD_CRC5 | USB_BAD_CRC16};
    for (unsigned before = 0; before < 2; before++)
        for (unsigned damage : damages) {
            uint8_t in[USB_MAX_DATA];
            size_t size;
            if (before) // the last good token was an IN, and was refused
                assert_int_equal(usb_host_in(&b.host, b.pipe.in, in, &size, 0), USB_PID_NAK);
            else
                b.out(more);
            b.sink.clear();
            assert_int_equal(b.out_once(data, damage), USB_SILENT);
            b.wait(2000);
            assert_int_equal(b.sink.size(), 0);
            b.out(data); // the next try is taken
        }
}

// Repeats a packet, as if the first acknowledgement had been lost.
template <class Bench> void repeat_an_out_packet(Bench &b, const bytes &data)
{
    b.sink.clear();
    assert_int_equal(b.out_once(data), USB_PID_ACK);
    assert_int_equal(b.out_once(data), USB_PID_ACK);
    b.pipe.out_toggle ^= 1;
    b.wait(2000);
    assert_int_equal(b.sink.size(), data.size());
}

// The first packet of a transfer comes again. The rest of the transfer is still to be read.
template <class Bench> void lose_an_in_ack(Bench &b, const bytes &data)
{
    const size_t size = data.size() < b.pipe.packet ? data.size() : b.pipe.packet;
    uint8_t first[USB_MAX_DATA], again[USB_MAX_DATA];
    size_t n = 0, m = 0;
    b.offer(data);
    b.wait(3000);
    const int pid = usb_host_in(&b.host, b.pipe.in, first, &n, USB_LOSE_ACK);
    assert_int_equal(usb_host_in(&b.host, b.pipe.in, again, &m, 0), pid);
    assert_true(n == size && m == size);
    assert_memory_equal(first, data.data(), n);
    assert_memory_equal(again, data.data(), n);
    b.pipe.in_toggle ^= 1;
}

// Sends as many packets as the device takes while the sink takes nothing. Returns their number.
template <class Bench> unsigned fill(Bench &b, const bytes &data, unsigned most)
{
    unsigned taken = 0;
    b.sink_rate = 0;
    b.wait(10);
    b.sink.clear();
    while (taken < most && b.out_once(data) == USB_PID_ACK) {
        b.pipe.out_toggle ^= 1;
        taken++;
    }
    assert_true(taken >= 3 && taken < most);
    return taken;
}

template <class Bench> void clear_halt(Bench &b)
{
    assert_int_equal(b.control(0x02, 1, 0, 0, nullptr, b.pipe.out), 0);
    b.pipe.out_toggle = 0;
    b.out(b.random(5));
}

#endif
