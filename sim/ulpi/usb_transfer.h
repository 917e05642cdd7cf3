// SPDX-License-Identifier: Apache-2.0
//
// Transfers of USB 2.0 (chapters 8 and 9) on the transactions of usb_host.h.
#ifndef MW_SIM_USB_TRANSFER_H
#define MW_SIM_USB_TRANSFER_H

#include "usb_host.h"

/// A request of endpoint 0 (table 9-2).
struct usb_setup {
    uint8_t type, request;
    uint16_t value, index, length;
};

enum {
    USB_STALLED = -3, ///< the device refused
    USB_LOST = -4,    ///< no answer to three tries, or NAK for a second of transactions
};

/// A pair of bulk endpoints: toggles, packet size, numbers of retries.
struct usb_pipe {
    unsigned out, in; ///< endpoint numbers
    unsigned packet;  ///< wMaxPacketSize
    unsigned out_toggle, in_toggle;
    unsigned long naks, pings, retries;
};

/// Returns bytes moved in the data stage, or a negative error. The direction is in setup->type.
int usb_control(struct usb_host *h, const struct usb_setup *setup, uint8_t *data);
/// One transfer; with `zero_packet`, a zero-length packet ends one of whole packets. 0 or an error.
int usb_bulk_out(struct usb_host *h, struct usb_pipe *pipe, const uint8_t *data, size_t size,
                 bool zero_packet);
/// Until a short packet, or `size` bytes. Returns bytes, or an error; `size` is a
/// multiple of the packet.
long usb_bulk_in(struct usb_host *h, struct usb_pipe *pipe, uint8_t *data, size_t size);

/// Reset, SET_ADDRESS, descriptors, SET_CONFIGURATION, as an operating system does it.
/// The configuration descriptor goes to `configuration` (`size` bytes), the bulk endpoints it names
/// to `pipe`. 0 or an error.
int usb_enumerate(struct usb_host *h, struct usb_pipe *pipe, uint8_t *configuration, size_t size);

#endif
