// SPDX-License-Identifier: Apache-2.0
//
// A ULPI 1.1 PHY with its cable, one call per clock of 60 MHz. The device core is its link. The
// host of usb_host.h drives the other end of the cable. High and full speed.
//
// The wire in bit times: 8 per clock at high speed, one in 5 clocks at full speed. A packet of the
// host is visible at the link `rx_delay` clocks after it was on the wire (ULPI 3.8.2.6.2: 3 to 8 at
// high speed). Of a packet of the link the PHY takes bytes as the wire needs them, two ahead.
//
// The link's outputs are checked against ULPI's rules in every clock. It drives only while dir is
// low, and must drive then. Its data is stable until nxt. stp comes only in the cycle after the nxt
// of the last byte.
#ifndef MW_SIM_ULPI_PHY_H
#define MW_SIM_ULPI_PHY_H

#include "usb_packet.h"

/// The link's outputs just before the edge, and the PHY's after it.
struct ulpi_link {
    uint8_t data;
    bool drives, stp, reset;
};
struct ulpi_bus {
    uint8_t data;
    bool dir, nxt;
};

enum usb_line { USB_SE0, USB_J, USB_K, USB_RELEASED };

/// How the PHY signals the bounds of a received packet. All are permitted (ULPI 3.8.2.5).
enum ulpi_style {
    ULPI_RXCMD_BOUNDS, ///< RXCMDs with RxActive before, one without it after
    ULPI_DIR_BOUNDS,   ///< dir and nxt rise together, dir falls after the last byte
};

enum ulpi_state {
    ULPI_IDLE,
    ULPI_COMMAND, ///< the link's command is on the bus
    ULPI_VALUE,   ///< of a register write
    ULPI_STOP,
    ULPI_TRANSMIT,
    ULPI_CHIRP,
    ULPI_TURN,    ///< dir has risen: the bus turns around
    ULPI_REPORT,  ///< an RXCMD is on the bus
    ULPI_RECEIVE, ///< a packet is
};

/// Permitted and rare behaviour of a PHY. All 0: none of it.
struct ulpi_moods {
    uint64_t seed;
    /// most clocks by which nxt is late; the bytes of a packet are taken at any rate, those of a
    /// chirp perhaps never
    unsigned late;
    /// of a thousand clocks, those in which an RXCMD without a change may begin, also in a command
    unsigned reports;
    unsigned cuts; ///< of a million clocks of the link's packets, those in which dir ends it
};

struct ulpi_phy {
    // set by the user
    struct ulpi_moods moods;
    unsigned rx_delay; ///< clocks
    enum ulpi_style style;
    enum usb_line line; ///< driven by the host
    bool vbus;

    // registers written by the link
    uint8_t function_control, otg_control;

    // the host's packet on the wire
    struct usb_rx {
        bool active;
        uint8_t bytes[USB_MAX_PACKET];
        uint64_t at[USB_MAX_PACKET]; ///< clock in which the link may see each byte
        size_t size, shown;
        uint64_t visible, end, gone; ///< RxActive rises; the wire is idle; RxActive falls
    } rx;

    // the device's packet
    struct usb_tx {
        bool complete, lost; ///< cleared by the user; lost: aborted by dir
        uint8_t bytes[2 * USB_MAX_PACKET];
        size_t size;
        struct usb_stuffing stuffing;
        uint64_t begin, end; ///< on the wire
    } tx;
    // of a bus without a PHY (pins/pins_phy.c): levels, two bits each
    struct usb_wire {
        bool skew;                          ///< D- changes a clock after D+; set by the user
        uint8_t levels[USB_MAX_PACKET * 3]; ///< of the host's packet: up to 7 for 6 of its bits
        unsigned count, level, shown,
            sampled; ///< bits; levels of the bit before, now, and when last looked at
        uint64_t start;
        bool synced, ended;
        unsigned zeros, ones, bits, timer;
        uint8_t byte;
    } wire;
    uint64_t chirp_begin, chirp_end; ///< of the device's last chirp K; end 0: still active

    uint64_t now;
    struct ulpi_bus bus;
    enum ulpi_state state;
    uint8_t command, reported;
    unsigned wait; ///< clocks until nxt
    bool turned;   ///< dir fell at the last edge: the link does not drive yet
    bool taken;    ///< nxt was high in the previous cycle
    bool holds;    ///< `held` was driven in the previous cycle and not taken
    uint8_t held;
    bool quiet, begun; ///< a chirp without nxt; one whose command has been taken
    uint64_t heard;    ///< the clock in which the link sees the end of a packet; 0: it has answered

    // statistics
    unsigned writes, interrupted, collisions, cuts, faults; ///< faults: the link broke ULPI's rules
    /// least and most clocks from the end of a packet to the link's command (link decision time)
    unsigned quick, slow;
};

void ulpi_phy_init(struct ulpi_phy *p);
/// One clock: takes the link's outputs before the edge, returns the PHY's after it.
struct ulpi_bus ulpi_phy_step(struct ulpi_phy *p, const struct ulpi_link *link);
/// Begin a packet on the wire; its end is in p->rx.end.
void ulpi_phy_send(struct ulpi_phy *p, const uint8_t *packet, size_t size);
bool ulpi_phy_high_speed(const struct ulpi_phy *p);
/// The device's pull-up or high-speed termination is on.
bool ulpi_phy_attached(const struct ulpi_phy *p);
/// Clocks of one bit times eight.
unsigned ulpi_phy_byte_clocks(const struct ulpi_phy *p);

#endif
