// SPDX-License-Identifier: Apache-2.0
//
// The Verilated device at its ULPI pins (rtl/top/device_usb.sv) for the C interface of mw_device.h.
// A PHY and a USB host (sim/ulpi) carry the bytes of the interface's endpoints, a packet out and a
// packet in, in turn. Time is that of the bus: run may exceed its end by a transaction.
#include "mw_device.h"

#include "endpoints.h"
#include "start.h"

#include "Vdevice_usb.h"
#include "verilated.h"

extern "C" {
#include "ulpi/usb_transfer.h"
}

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>

namespace {
constexpr unsigned RESET_CYCLES = 16;
constexpr unsigned USB_KHZ = 60000;
#ifndef MW_SIM_START_MS
#define MW_SIM_START_MS 6 // of a PHY; a board's own start may take longer
#endif
#ifndef MW_SIM_CYCLE_CLOCKS
#define MW_SIM_CYCLE_CLOCKS 1
#endif
// instead of the 20 of a resume, which the test of the USB core waits: here they would be seconds
constexpr unsigned RESUME_MS = 2;
constexpr unsigned PATIENCE = 8; // packets out before an endpoint without data is polled again
} // namespace

struct mw_device_model {
    random_context context;
    Vdevice_usb top{&context};
    usb_host host;
    usb_pipe pipe{};
    bool wait_ping = false; // the endpoint was full
    unsigned device_khz = USB_KHZ, phase = 0;
    unsigned silent = 0; // packets out during which the IN endpoint is not polled
    endpoints ends;

    static ulpi_link clock(void *self, const ulpi_bus *bus)
    {
        Vdevice_usb &t = static_cast<mw_device_model *>(self)->top;
        t.ulpi_dir_i = bus->dir;
        t.ulpi_nxt_i = bus->nxt;
        t.ulpi_data_i = bus->data;
        t.usb_clk_i = 0;
        t.clk_i = t.node_clk_i = 0;
        t.eval();
        const ulpi_link link = {static_cast<uint8_t>(t.ulpi_data_o), t.ulpi_data_oe_o != 0,
                                t.ulpi_stp_o != 0, t.ulpi_rst_o != 0};
        t.usb_clk_i = 1;
        static_cast<mw_device_model *>(self)->clock_device();
        t.eval();
        return link;
    }

    // The device's own clock: all of its edges in this clock of the PHY. The first one coincides
    // with the PHY's edge.
    void clock_device()
    {
        for (phase += device_khz; phase >= USB_KHZ; phase -= USB_KHZ) {
            top.clk_i = top.node_clk_i = 1;
            top.eval();
            // the other clocks of the nodes in this cycle: their inputs do not change meanwhile
            for (unsigned i = 1; i < MW_SIM_CYCLE_CLOCKS; i++)
                for (unsigned level = 0; level < 2; level++) {
                    top.node_clk_i = level;
                    top.eval();
                }
            if (phase >= 2 * USB_KHZ) {
                top.clk_i = top.node_clk_i = 0;
                top.eval();
            }
        }
    }

    bool start()
    {
        if (const char *khz = getenv("MW_DEVICE_KHZ"))
            device_khz = static_cast<unsigned>(strtoul(khz, nullptr, 10));
        top.rst_ni = top.usb_rst_ni = 0;
        top.connect_i = 1;
        top.uart_rx_i = 1;
        usb_host_init(&host, clock, this);
        host.resume = RESUME_MS * USB_CLOCKS_PER_MS;
        for (unsigned i = 0; i < RESET_CYCLES; i++)
            clock(this, &host.phy.bus);
        top.rst_ni = top.usb_rst_ni = 1;
        usb_host_wait(&host, MW_SIM_START_MS * USB_CLOCKS_PER_MS);
        return enumerate();
    }

    bool enumerate()
    {
        uint8_t configuration[64];
        ends.clear();
        wait_ping = false;
        return usb_enumerate(&host, &pipe, configuration, sizeof configuration) == 0;
    }

    // Sends a packet if one waits. After NAK it is sent again when PING is acknowledged.
    void out_packet()
    {
        std::size_t n = std::min<std::size_t>(ends.pending(), pipe.packet);
        if (n == 0)
            return;
        if (wait_ping && usb_host_ping(&host, pipe.out) != USB_PID_ACK)
            return;
        int answer = usb_host_out(&host, USB_PID_OUT, pipe.out, pipe.out_toggle, ends.next(), n, 0);
        wait_ping = answer == USB_PID_NAK || answer == USB_PID_NYET;
        if (answer != USB_PID_ACK && answer != USB_PID_NYET)
            return;
        pipe.out_toggle ^= 1;
        if (silent > 0)
            silent--;
        ends.take(n);
    }

    // Reads a packet if the device has one. Returns whether a transfer is now complete.
    bool in_packet()
    {
        uint8_t data[USB_MAX_DATA];
        std::size_t size = 0;
        if (!ends.room() || (silent > 0 && ends.pending() && !wait_ping))
            return false;
        int answer = usb_host_in(&host, pipe.in, data, &size, 0);
        silent = answer == USB_PID_NAK ? PATIENCE : 0;
        if (answer != (pipe.in_toggle ? USB_PID_DATA1 : USB_PID_DATA0))
            return false;
        pipe.in_toggle ^= 1;
        ends.add(data, size);
        if (size == pipe.packet)
            return false;
        ends.end_transfer();
        return true;
    }
};

namespace {
void destroy(mw_device_model *d)
{
    if (d)
        d->top.final();
    delete d;
}

mw_device_model *create() noexcept
try {
    auto *d = new mw_device_model;
    if (!d->start()) {
        destroy(d);
        d = nullptr;
    }
    return d;
} catch (const std::exception &) {
    return nullptr;
}

void link_reset(mw_device_model *d)
{
    d->enumerate();
}

void out(mw_device_model *d, const uint8_t *data, std::size_t bytes)
{
    d->ends.put(data, bytes);
}

std::size_t pending(const mw_device_model *d)
{
    return d->ends.pending();
}

std::size_t in(mw_device_model *d, uint8_t *data, std::size_t room, bool *last)
{
    return d->ends.fetch(data, room, last);
}

uint64_t run(mw_device_model *d, uint64_t cycles)
{
    uint64_t start = d->host.phy.now;
    while (d->host.phy.now - start < cycles) {
        d->out_packet();
        if (d->in_packet())
            break;
    }
    return d->host.phy.now - start;
}

std::size_t console(mw_device_model *, char *, std::size_t)
{
    return 0; // its line is not read
}

bool plug(mw_device_model *d, bool full_speed)
{
    d->host.high_speed_port = !full_speed;
    return d->enumerate() && (d->top.high_speed_o != 0) == !full_speed;
}

bool suspend(mw_device_model *d, uint64_t cycles)
{
    usb_host_suspend(&d->host);
    usb_host_wait(&d->host, cycles);
    bool asleep = d->top.suspended_o;
    usb_host_resume(&d->host);
    return asleep && !d->top.suspended_o;
}

const mw_device_ops OPS = {MW_DEVICE_ABI, MW_SIM_N, MW_SIM_F, create,  destroy, link_reset, out,
                           pending,       in,       run,      console, plug,    suspend};
} // namespace

extern "C" __attribute__((visibility("default"))) const mw_device_ops *mw_device_get_ops(void)
{
    return &OPS;
}
