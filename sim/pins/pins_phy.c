// SPDX-License-Identifier: Apache-2.0
//
// A bus without a PHY: the functions of ulpi/ulpi_phy.h, linked in place of its own, for a device
// that has D+ and D- at its pins. The host and its time are the same, 60 clocks per microsecond and
// 5 per bit. The levels on the wire are made and read bit by bit here (USB 2.0 sections 7.1.7 to
// 7.1.10).
//
// Contents of ulpi_bus and ulpi_link: data of the bus holds the levels at the device, PINS_DP and
// PINS_DN. Data of the device holds those that it drives while `drives`, and stp is its pull-up.
#include "pins_phy.h"

#include <string.h>

enum {
    BIT = 5, // clocks
    SE0 = 0,
    K = PINS_DN,
    J = PINS_DP,
    SYNC_BITS = 8,
    END_BITS = 3,
    STUFF = 6, // ones in a row
};

bool ulpi_phy_high_speed(const struct ulpi_phy *p)
{
    (void)p;
    return false;
}

bool ulpi_phy_attached(const struct ulpi_phy *p)
{
    return p->function_control != 0;
}

unsigned ulpi_phy_byte_clocks(const struct ulpi_phy *p)
{
    (void)p;
    return 8 * BIT;
}

void ulpi_phy_init(struct ulpi_phy *p)
{
    *p = (struct ulpi_phy){.line = USB_RELEASED, .vbus = true, .state = ULPI_IDLE};
}

// ---- the host's packet --------------------------------------------------------------------------

/// Level of bit `n` of the packet on the wire.
static unsigned level_of(const struct ulpi_phy *p, uint64_t n)
{
    return p->wire.levels[n / 4] >> n % 4 * 2 & 3;
}

static void add_level(struct ulpi_phy *p, unsigned level)
{
    uint8_t *place = &p->wire.levels[p->wire.count / 4];
    unsigned shift = p->wire.count++ % 4 * 2;
    *place = (uint8_t)((*place & ~(3u << shift)) | level << shift);
}

/// A 0 changes the level (7.1.8).
static void add_bit(struct ulpi_phy *p, bool bit)
{
    if (!bit)
        p->wire.level ^= PINS_DP | PINS_DN;
    add_level(p, p->wire.level);
}

void ulpi_phy_send(struct ulpi_phy *p, const uint8_t *packet, size_t size)
{
    struct usb_wire *w = &p->wire;
    if (p->state == ULPI_TRANSMIT || p->rx.active)
        p->collisions++;
    w->count = 0;
    w->level = J;
    for (unsigned i = 0; i < SYNC_BITS; i++)
        add_bit(p, i == SYNC_BITS - 1);
    unsigned ones = 1;
    for (size_t i = 0; i < 8 * size; i++) {
        bool bit = packet[i / 8] >> i % 8 & 1;
        add_bit(p, bit);
        ones = bit ? ones + 1 : 0;
        if (ones == STUFF) {
            add_bit(p, false);
            ones = 0;
        }
    }
    add_level(p, SE0);
    add_level(p, SE0);
    add_level(p, J);
    w->start = p->now;
    p->rx.end = p->now + (uint64_t)BIT * w->count;
    p->rx.active = true;
}

/// Level on the wire while the device does not drive it.
static unsigned host_level(struct ulpi_phy *p)
{
    if (p->rx.active && p->now >= p->rx.end)
        p->rx.active = false;
    if (p->rx.active)
        return level_of(p, (p->now - p->wire.start) / BIT);
    if (p->line != USB_RELEASED)
        return p->line == USB_J ? J : p->line == USB_K ? K : SE0;
    return ulpi_phy_attached(p) ? J : SE0;
}

// ---- the device's packet ------------------------------------------------------------------------

static void take_bit(struct ulpi_phy *p, bool bit)
{
    struct usb_wire *w = &p->wire;
    if (!w->synced) { // zeros, and the 1 that ends them
        w->zeros = bit ? w->zeros : w->zeros + 1;
        if (!bit)
            return;
        p->faults += w->zeros < SYNC_BITS - 2; // the first ones may be lost (7.1.10)
        w->synced = true;
        w->ones = 1;
        return;
    }
    if (w->ones == STUFF) {
        p->faults += bit;
        w->ones = 0;
        return;
    }
    w->ones = bit ? w->ones + 1 : 0;
    w->byte = (uint8_t)(w->byte >> 1 | bit << 7);
    if (++w->bits % 8)
        return;
    if (p->tx.size < sizeof p->tx.bytes)
        p->tx.bytes[p->tx.size++] = w->byte;
    else
        p->faults++;
}

static void begin(struct ulpi_phy *p)
{
    if (p->rx.active || p->tx.complete || p->line != USB_RELEASED)
        p->collisions++;
    p->state = ULPI_TRANSMIT;
    p->tx.begin = p->now;
    p->tx.size = 0;
    p->wire.synced = p->wire.ended = false;
    p->wire.zeros = p->wire.bits = p->wire.ones = 0;
    p->wire.level = p->wire.sampled = J;
    p->wire.timer = 0;
}

static void end(struct ulpi_phy *p)
{
    p->faults += !p->wire.ended || p->wire.bits % 8;
    p->tx.end = p->now;
    p->tx.complete = true;
    p->state = ULPI_IDLE;
}

/// A clock of the device's packet: it is sampled in the middle of each bit, and each change of
/// level synchronizes the sampling.
static void transmit(struct ulpi_phy *p, unsigned level)
{
    struct usb_wire *w = &p->wire;
    if (level != w->level) {
        w->level = level;
        w->timer = BIT / 2;
    } else if (w->timer-- == 0) {
        w->timer = BIT - 1;
        p->faults += level == (PINS_DP | PINS_DN);
        if (level == SE0)
            w->ended = true;
        else if (!w->ended)
            take_bit(p, level == w->sampled);
        w->sampled = level;
    }
}

struct ulpi_bus ulpi_phy_step(struct ulpi_phy *p, const struct ulpi_link *link)
{
    p->now++;
    p->function_control = link->stp;
    if (link->drives) {
        if (p->state != ULPI_TRANSMIT)
            begin(p);
        transmit(p, link->data & 3);
    } else if (p->state == ULPI_TRANSMIT) {
        end(p);
    }
    unsigned level = host_level(p), before = p->wire.shown;
    if (link->drives)
        level = link->data & 3;
    p->wire.shown = level;
    // D- may change a little later than D+
    if (p->wire.skew)
        level = (level & PINS_DP) | (before & PINS_DN);
    p->bus = (struct ulpi_bus){.data = (uint8_t)level};
    return p->bus;
}
