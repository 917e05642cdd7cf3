// SPDX-License-Identifier: Apache-2.0
//
// See ulpi_phy.h. Section numbers are those of the ULPI specification 1.1.
#include "ulpi_phy.h"

#include <string.h>

enum {
    FUNCTION_CONTROL = 0x04,
    OTG_CONTROL = 0x0a,
    FUNCTION_RESET_VALUE = 0x41,
    OTG_RESET_VALUE = 0x06,
    OPMODE_CHIRP = 2,

    TX_AHEAD = 2,  // bytes taken before the wire needs them
    TX_DELAY = 2,  // clocks from the command to the first bit of SYNC
    RX_LEAD = 3,   // clocks of RxActive before the first byte
    STOP_LIMIT = 8 // clocks for stp behind a register's value
};

// ---- the wire -----------------------------------------------------------------------------------

static unsigned xcvr(const struct ulpi_phy *p)
{
    return p->function_control & 3;
}

static bool pulled_up(const struct ulpi_phy *p)
{
    return p->function_control >> 2 & 1;
}

static unsigned opmode(const struct ulpi_phy *p)
{
    return p->function_control >> 3 & 3;
}

bool ulpi_phy_high_speed(const struct ulpi_phy *p)
{
    return xcvr(p) == 0 && !pulled_up(p) && opmode(p) == 0;
}

bool ulpi_phy_attached(const struct ulpi_phy *p)
{
    return ulpi_phy_high_speed(p) || (pulled_up(p) && opmode(p) != 1);
}

unsigned ulpi_phy_byte_clocks(const struct ulpi_phy *p)
{
    return ulpi_phy_high_speed(p) ? 1 : 40;
}

/// Clocks of some bits on the wire.
static uint64_t clocks(const struct ulpi_phy *p, uint64_t bits)
{
    return ulpi_phy_high_speed(p) ? bits / 8 : bits * 5;
}

static unsigned sync_bits(const struct ulpi_phy *p)
{
    return ulpi_phy_high_speed(p) ? 32 : 8;
}

static unsigned end_bits(const struct ulpi_phy *p)
{
    return ulpi_phy_high_speed(p) ? 8 : 3;
}

static enum usb_line line_state(const struct ulpi_phy *p)
{
    if (p->state == ULPI_CHIRP && p->line == USB_SE0)
        return USB_K;
    if (p->line != USB_RELEASED)
        return p->line;
    return pulled_up(p) && opmode(p) != 1 ? USB_J : USB_SE0;
}

void ulpi_phy_send(struct ulpi_phy *p, const uint8_t *packet, size_t size)
{
    struct usb_rx *rx = &p->rx;
    struct usb_stuffing stuffing;
    if (p->state == ULPI_TRANSMIT || rx->active)
        p->collisions++;
    memcpy(rx->bytes, packet, size);
    usb_stuffing_start(&stuffing);
    for (size_t i = 0; i < size; i++) {
        usb_stuffing_byte(&stuffing, packet[i]);
        rx->at[i] = p->now + clocks(p, sync_bits(p) + 8 * (i + 1) + stuffing.bits) + p->rx_delay;
    }
    // a start of frame at high speed has a long end (7.1.13.2)
    unsigned end = end_bits(p);
    if (usb_pid_of(packet[0]) == USB_PID_SOF && ulpi_phy_high_speed(p))
        end = 40;
    rx->end = p->now + clocks(p, sync_bits(p) + 8 * size + stuffing.bits + end);
    rx->gone = rx->end + p->rx_delay;
    rx->visible = rx->at[0] - RX_LEAD;
    rx->size = size;
    rx->shown = 0;
    rx->active = true;
}

// ---- the link's packet --------------------------------------------------------------------------

static uint64_t tx_end(const struct ulpi_phy *p, unsigned extra_bits)
{
    return p->tx.begin +
           clocks(p, sync_bits(p) + 8 * p->tx.size + p->tx.stuffing.bits + extra_bits);
}

static void tx_begin(struct ulpi_phy *p)
{
    if (p->rx.active || p->tx.complete)
        p->collisions++;
    p->tx.begin = p->now + TX_DELAY;
    p->tx.size = 0;
    usb_stuffing_start(&p->tx.stuffing);
}

static void tx_byte(struct ulpi_phy *p, uint8_t byte)
{
    if (p->tx.size == sizeof p->tx.bytes) {
        p->faults++;
        return;
    }
    p->tx.bytes[p->tx.size++] = byte;
    usb_stuffing_byte(&p->tx.stuffing, byte);
}

/// Whether the next byte is taken at the coming edge.
static bool tx_wants(const struct ulpi_phy *p)
{
    return p->now + (uint64_t)TX_AHEAD * ulpi_phy_byte_clocks(p) >= tx_end(p, 0);
}

// ---- the bus ------------------------------------------------------------------------------------

static uint8_t rxcmd(const struct ulpi_phy *p, bool active)
{
    // 3.8.1.2: line state, VBUS valid, RxActive, ID
    unsigned line = line_state(p);
    if (active && ulpi_phy_high_speed(p))
        line = USB_J;
    else if (active && p->now + 10 >= p->rx.gone)
        line = USB_SE0; // full speed's end of packet
    return (uint8_t)(line | (p->vbus ? 3u : 0u) << 2 | (unsigned)active << 4 | 1u << 6);
}

static void drive(struct ulpi_phy *p, bool dir, bool nxt, uint8_t data)
{
    p->bus = (struct ulpi_bus){.dir = dir, .nxt = nxt, .data = data};
}

static void release(struct ulpi_phy *p)
{
    drive(p, false, false, 0);
    p->turned = true;
    p->state = ULPI_IDLE;
}

/// One clock of a received packet: the byte that is due, else an RXCMD.
static void receive(struct ulpi_phy *p)
{
    struct usb_rx *rx = &p->rx;
    if (rx->shown < rx->size && p->now >= rx->at[rx->shown]) {
        drive(p, true, true, rx->bytes[rx->shown++]);
    } else if (p->now < rx->gone || rx->shown < rx->size) {
        drive(p, true, false, p->reported = rxcmd(p, true));
    } else if (p->style == ULPI_DIR_BOUNDS) {
        rx->active = false;
        p->reported = rxcmd(p, true); // so that an RXCMD tells of the idle line
        release(p);
    } else if (p->reported != rxcmd(p, false)) {
        drive(p, true, false, p->reported = rxcmd(p, false));
    } else {
        rx->active = false;
        release(p);
    }
}

static void idle(struct ulpi_phy *p, uint8_t command)
{
    drive(p, false, false, 0);
    if (p->rx.active && p->now >= p->rx.visible) {
        drive(p, true, p->style == ULPI_DIR_BOUNDS, 0);
        p->state = ULPI_RECEIVE;
    } else if (rxcmd(p, false) != p->reported && !command) {
        drive(p, true, false, 0);
        p->state = ULPI_TURN;
    } else if (command >> 6 == 2) {
        p->reg = command & 0x3f;
        drive(p, false, true, 0);
        p->state = ULPI_COMMAND;
    } else if (command >> 6 == 1 && opmode(p) == OPMODE_CHIRP) {
        p->chirp_begin = p->now;
        p->chirp_end = 0;
        drive(p, false, true, 0);
        p->state = ULPI_CHIRP;
    } else if (command >> 6 == 1) {
        tx_begin(p);
        drive(p, false, true, 0);
        p->state = ULPI_TRANSMIT;
    } else if (command) {
        p->faults++; // register reads and reserved commands: the core has no use for them
    }
}

static void write_register(struct ulpi_phy *p, uint8_t value)
{
    p->writes++;
    if (p->reg == FUNCTION_CONTROL)
        p->function_control = value;
    else if (p->reg == OTG_CONTROL)
        p->otg_control = value;
}

static void transmit(struct ulpi_phy *p, const struct ulpi_link *link)
{
    if (link->stp) {
        p->tx.end = tx_end(p, end_bits(p));
        p->tx.complete = true;
        drive(p, false, false, 0);
        p->state = ULPI_IDLE;
        return;
    }
    if (p->bus.nxt)
        tx_byte(p, p->tx.size ? link->data : usb_pid_byte(link->data & 0xf));
    drive(p, false, tx_wants(p), 0);
}

void ulpi_phy_init(struct ulpi_phy *p)
{
    *p = (struct ulpi_phy){.rx_delay = 4, .line = USB_RELEASED, .vbus = true};
    p->function_control = FUNCTION_RESET_VALUE;
    p->otg_control = OTG_RESET_VALUE;
    drive(p, true, false, 0);
}

struct ulpi_bus ulpi_phy_step(struct ulpi_phy *p, const struct ulpi_link *link)
{
    bool listens = !p->bus.dir && !p->turned && link->drives;
    bool writing = p->state == ULPI_COMMAND || p->state == ULPI_VALUE || p->state == ULPI_STOP;
    p->now++;
    p->turned = false;
    if (link->reset) {
        p->function_control = FUNCTION_RESET_VALUE;
        p->otg_control = OTG_RESET_VALUE;
        p->reported = 0;
        p->state = ULPI_IDLE;
        drive(p, true, false, 0); // 3.10.1: dir is up while the PHY starts
        return p->bus;
    }
    if (writing && p->rx.active && p->now >= p->rx.visible) {
        p->interrupted++; // 3.8.3.1: the link writes again
        p->state = ULPI_IDLE;
        listens = false;
    }
    switch (p->state) {
    case ULPI_IDLE:
        idle(p, listens ? link->data : 0);
        break;
    case ULPI_COMMAND:
        drive(p, false, true, 0);
        p->state = ULPI_VALUE;
        break;
    case ULPI_VALUE:
        write_register(p, link->data);
        drive(p, false, false, 0);
        p->state = ULPI_STOP;
        p->stop_wait = 0;
        break;
    case ULPI_STOP:
        if (link->stp)
            p->state = ULPI_IDLE;
        else if (p->stop_wait++ == STOP_LIMIT) {
            p->faults++;
            p->state = ULPI_IDLE;
        }
        break;
    case ULPI_TRANSMIT:
        transmit(p, link);
        break;
    case ULPI_CHIRP:
        drive(p, false, true, 0);
        if (link->stp) {
            p->chirp_end = p->now;
            drive(p, false, false, 0);
            p->state = ULPI_IDLE;
        }
        break;
    case ULPI_TURN:
        drive(p, true, false, p->reported = rxcmd(p, false));
        p->state = ULPI_REPORT;
        break;
    case ULPI_REPORT:
        if (p->rx.active && p->now >= p->rx.visible) {
            p->state = ULPI_RECEIVE;
            receive(p);
        } else
            release(p);
        break;
    case ULPI_RECEIVE:
        receive(p);
        break;
    }
    return p->bus;
}
