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

    TX_AHEAD = 2, // bytes taken before the wire needs them
    TX_DELAY = 2, // clocks from the command to the first bit of SYNC
    RX_LEAD = 3,  // clocks of RxActive before the first byte
    TX_QUEUE = 8  // bytes that a PHY with moods takes ahead
};

// ---- moods --------------------------------------------------------------------------------------

static uint64_t draw(struct ulpi_phy *p)
{
    // splitmix64
    uint64_t z = p->moods.seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static bool chance(struct ulpi_phy *p, unsigned of, unsigned all)
{
    return of && draw(p) % all < of;
}

static unsigned lateness(struct ulpi_phy *p)
{
    return p->moods.late ? (unsigned)(draw(p) % (p->moods.late + 1)) : 0;
}

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
static bool tx_wants(struct ulpi_phy *p)
{
    unsigned ahead = p->moods.late ? TX_QUEUE : TX_AHEAD;
    return p->now + (uint64_t)ahead * ulpi_phy_byte_clocks(p) >= tx_end(p, 0) &&
           (!p->moods.late || chance(p, 1, 2));
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

static void turn(struct ulpi_phy *p)
{
    drive(p, true, false, 0);
    p->state = ULPI_TURN;
}

/// The end of a packet is on the bus. The link sees it at the next edge.
static void end_heard(struct ulpi_phy *p)
{
    p->heard = p->now + 1;
}

static void release(struct ulpi_phy *p)
{
    drive(p, false, false, 0);
    p->turned = true;
    p->state = ULPI_IDLE;
}

/// One clock of a received packet: the byte that is due, or an RXCMD.
static void receive(struct ulpi_phy *p)
{
    struct usb_rx *rx = &p->rx;
    if (rx->shown < rx->size && p->now >= rx->at[rx->shown]) {
        drive(p, true, true, rx->bytes[rx->shown++]);
    } else if (p->now < rx->gone || rx->shown < rx->size) {
        drive(p, true, false, p->reported = rxcmd(p, true));
    } else if (p->style == ULPI_DIR_BOUNDS) {
        rx->active = false;
        p->reported = rxcmd(p, true); // so that an RXCMD reports the idle line
        if (ulpi_phy_high_speed(p))   // full speed counts from the idle line
            end_heard(p);
        release(p);
    } else if (p->reported != rxcmd(p, false)) {
        drive(p, true, false, p->reported = rxcmd(p, false));
        end_heard(p);
    } else {
        rx->active = false;
        release(p);
    }
}

/// Another clock of a command or a value on the bus: an RXCMD comes first, or nxt comes now or
/// later.
static void answer(struct ulpi_phy *p)
{
    if (chance(p, p->moods.reports, 1000)) {
        p->interrupted++;
        turn(p);
        return;
    }
    drive(p, false, p->wait == 0, 0);
    p->wait -= p->wait > 0;
}

static void command(struct ulpi_phy *p)
{
    p->state = ULPI_COMMAND;
    answer(p);
    if (!p->bus.nxt || p->command >> 6 != 1)
        return;
    if (opmode(p) == OPMODE_CHIRP) {
        p->chirp_begin = p->now;
        p->chirp_end = 0;
        p->quiet = p->moods.late && chance(p, 1, 2);
        p->begun = false;
        p->state = ULPI_CHIRP;
    } else {
        tx_begin(p);
        p->state = ULPI_TRANSMIT;
    }
}

static void count_decision(struct ulpi_phy *p)
{
    if (!p->heard)
        return;
    unsigned clocks = (unsigned)(p->now - p->heard);
    p->quick = clocks < p->quick ? clocks : p->quick;
    p->slow = clocks > p->slow ? clocks : p->slow;
    p->heard = 0;
}

static void idle(struct ulpi_phy *p, uint8_t shown)
{
    drive(p, false, false, 0);
    if (shown >> 6 == 1)
        count_decision(p);
    if (p->rx.active && p->now >= p->rx.visible) {
        drive(p, true, p->style == ULPI_DIR_BOUNDS, 0);
        p->state = ULPI_RECEIVE;
    } else if (!shown && (rxcmd(p, false) != p->reported || chance(p, p->moods.reports, 1000))) {
        turn(p);
    } else if (shown >> 6 == 1 || shown >> 6 == 2) {
        p->command = shown;
        p->wait = lateness(p);
        command(p);
    } else if (shown) {
        p->faults++; // register reads and reserved commands: the core does not use them
    }
}

static void write_register(struct ulpi_phy *p, uint8_t value)
{
    uint8_t reg = p->command & 0x3f;
    p->writes++;
    if (reg == FUNCTION_CONTROL)
        p->function_control = value;
    else if (reg == OTG_CONTROL)
        p->otg_control = value;
}

static void transmit(struct ulpi_phy *p, const struct ulpi_link *link)
{
    if (link->stp) {
        p->tx.end = tx_end(p, end_bits(p));
        if (p->tx.end < p->now)
            p->tx.end = p->now;
        p->tx.complete = true;
        drive(p, false, false, 0);
        p->state = ULPI_IDLE;
        return;
    }
    if (p->bus.nxt)
        tx_byte(p, p->tx.size ? link->data : usb_pid_byte(link->data & 0xf));
    if (chance(p, p->moods.cuts, 1000000)) {
        p->cuts++;
        p->tx.lost = true;
        turn(p);
    } else {
        drive(p, false, tx_wants(p), 0);
    }
}

static void chirp(struct ulpi_phy *p, const struct ulpi_link *link)
{
    drive(p, false, !p->quiet, 0);
    if (link->stp) {
        p->chirp_end = p->now;
        drive(p, false, false, 0);
        p->state = ULPI_IDLE;
    } else if (p->begun && link->data) {
        p->faults++; // a chirp K is zeros
    }
    p->begun = true;
}

static void value(struct ulpi_phy *p, uint8_t shown)
{
    p->state = ULPI_VALUE;
    if (!p->bus.nxt) {
        answer(p);
    } else if (chance(p, p->moods.reports, 1000)) { // with stp: the link takes it as aborted
        p->interrupted++;
        turn(p);
    } else {
        write_register(p, shown);
        drive(p, false, false, 0);
        p->state = ULPI_STOP;
    }
}

/// The rules for the link in the cycle that ends. Returns how many it broke.
static unsigned broken_rules(const struct ulpi_phy *p, const struct ulpi_link *link)
{
    bool packet = p->state == ULPI_TRANSMIT, stops = packet || p->state == ULPI_STOP || p->bus.dir;
    unsigned broken = link->drives == p->bus.dir;
    broken += p->holds && !p->bus.dir && (link->data != p->held || link->stp);
    broken += link->stp && p->state != ULPI_CHIRP && !(stops && p->taken);
    broken += p->state == ULPI_STOP && !link->stp;
    return broken;
}

void ulpi_phy_init(struct ulpi_phy *p)
{
    *p = (struct ulpi_phy){.rx_delay = 4, .line = USB_RELEASED, .vbus = true, .quick = ~0u};
    p->function_control = FUNCTION_RESET_VALUE;
    p->otg_control = OTG_RESET_VALUE;
    drive(p, true, false, 0);
}

static void step(struct ulpi_phy *p, const struct ulpi_link *link)
{
    bool listens = !p->bus.dir && !p->turned && link->drives;
    bool writing = p->state == ULPI_COMMAND || p->state == ULPI_VALUE || p->state == ULPI_STOP;
    p->turned = false;
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
        if (!p->bus.nxt) {
            command(p);
        } else {
            p->wait = lateness(p);
            drive(p, false, false, 0);
            value(p, 0);
        }
        break;
    case ULPI_VALUE:
        value(p, link->data);
        break;
    case ULPI_STOP:
        drive(p, false, false, 0);
        p->state = ULPI_IDLE;
        break;
    case ULPI_TRANSMIT:
        transmit(p, link);
        break;
    case ULPI_CHIRP:
        chirp(p, link);
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
}

struct ulpi_bus ulpi_phy_step(struct ulpi_phy *p, const struct ulpi_link *link)
{
    bool taken = p->bus.nxt && !p->bus.dir;
    bool listened = !p->bus.dir && !p->turned && !taken;
    p->now++;
    if (link->reset) {
        p->function_control = FUNCTION_RESET_VALUE;
        p->otg_control = OTG_RESET_VALUE;
        p->reported = 0;
        p->turned = p->taken = p->holds = false;
        p->state = ULPI_IDLE;
        drive(p, true, false, 0); // 3.10.1: dir is up while the PHY starts
        return p->bus;
    }
    p->faults += broken_rules(p, link);
    step(p, link);
    p->taken = taken;
    p->held = link->data;
    p->holds = listened &&
               (p->state == ULPI_COMMAND || p->state == ULPI_VALUE || p->state == ULPI_TRANSMIT);
    return p->bus;
}
