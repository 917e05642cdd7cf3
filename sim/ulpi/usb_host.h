// SPDX-License-Identifier: Apache-2.0
//
// A USB 2.0 host with one port, at the level of packets. It drives a device core through
// ulpi_phy.h, keeps (micro)frames, times and toggles, and checks the device's answers. Transactions
// may be sent damaged. usb_transfer.h has the level of drivers: control and bulk transfers,
// enumeration.
#ifndef MW_SIM_USB_HOST_H
#define MW_SIM_USB_HOST_H

#include "ulpi_phy.h"

enum {
    USB_CLOCKS_PER_US = 60,
    USB_CLOCKS_PER_MS = 60000,
    USB_MICROFRAME = 7500, ///< clocks
    USB_FRAME = 60000,
};

/// Faults that the host makes on purpose.
enum usb_damage {
    USB_BAD_CRC5 = 1,   ///< in the token
    USB_BAD_CRC16 = 2,  ///< in the host's data
    USB_BAD_PID = 4,    ///< of the token: the halves do not match
    USB_LOSE_ACK = 8,   ///< the host's acknowledgement is not sent
    USB_CUT_DATA = 16,  ///< the host's data stops in the middle
    USB_LOSE_DATA = 32, ///< a token without data
};

/// The end of a transaction: a PID of the device, or one of these.
enum usb_result { USB_SILENT = -1, USB_BROKEN = -2 };

struct usb_host {
    struct ulpi_phy phy;
    /// One clock of the device: gives it `bus`, returns its outputs before the edge.
    struct ulpi_link (*clock)(void *device, const struct ulpi_bus *bus);
    void *device;

    bool high_speed_port; ///< false: a host that does not answer the chirp
    unsigned gap_out_out; ///< clocks from one packet of the host to its next, at least 11 (88 bits)
    unsigned gap_in_out;  ///< from the device's packet to the host's next, at least 1 (8 bits)

    uint64_t resume; ///< clocks of resume signalling

    unsigned address;
    bool frames; ///< starts of (micro)frames are sent
    uint64_t next_frame, free_at;
    unsigned frame, microframe;

    // statistics
    unsigned broken;     ///< packets of the device with a wrong PID, CRC or length
    unsigned fast, slow; ///< least and most clocks from the host's packet to the device's answer
};

void usb_host_init(struct usb_host *h, struct ulpi_link (*clock)(void *, const struct ulpi_bus *),
                   void *device);
/// Let time pass, with starts of frames.
void usb_host_wait(struct usb_host *h, uint64_t clocks);
/// Reset the bus (7.1.7.5): returns whether the device is present after it; ulpi_phy_high_speed
/// returns its speed.
bool usb_host_reset(struct usb_host *h);
void usb_host_suspend(struct usb_host *h);
void usb_host_resume(struct usb_host *h);

// ---- transactions (8.5): the device's handshake, DATA0 or DATA1, or an enum usb_result ----------
int usb_host_out(struct usb_host *h, unsigned pid, unsigned endpoint, unsigned toggle,
                 const uint8_t *data, size_t size, unsigned damage);
/// `data` holds USB_MAX_DATA bytes.
int usb_host_in(struct usb_host *h, unsigned endpoint, uint8_t *data, size_t *size,
                unsigned damage);
int usb_host_ping(struct usb_host *h, unsigned endpoint);

#endif
