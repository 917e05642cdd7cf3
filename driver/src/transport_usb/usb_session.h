// SPDX-License-Identifier: Apache-2.0
//
// A device on the bus, from finding it to letting it go: requests with a code and a message.
#ifndef MW_USB_SESSION_H
#define MW_USB_SESSION_H

#include "moeswitch.h"
#include "transport_usb/usb_devices.h"
#include "transport_usb/usb_link.h"

enum { MWU_NAME_SIZE = 96 };

struct usb {
    struct mwu_device device;
    struct mwu_link link;
    struct mw_frame_info info;
    char name[MWU_NAME_SIZE]; ///< for messages
    uint64_t cycles;          ///< as last heard of
};

/// The MW_ERR_ code of a MW_STATUS_.
int mwu_status_code(uint32_t status);
/// Find the device and take it, and start the link to it, which has not sent anything
/// yet; and let it go.
int mwu_connect(const struct mw_open_options *options, struct usb **usb);
void mwu_disconnect(struct usb *usb);
/// Fail with the link's message.
int mwu_failed(struct usb *usb, int error);
/// A request and its reply; a code, with a message.
int mwu_call(struct usb *usb, struct mwu_request *request);
int mwu_reset(struct usb *usb);
/// Read or write registers, in their order.
int mwu_registers(struct usb *usb, struct mw_register *list, size_t count, bool write);
/// INFO, and whether the device is one that this library can use. MW_ERR_FIRMWARE: there is no
/// firmware that answers.
int mwu_greet(struct usb *usb);
/// Cycles of the fabric per second. 0: simulated.
uint32_t mwu_cycles_hz(const struct mw_frame_info *info);
/// Milliseconds that so many cycles may take.
unsigned mwu_patience(const struct usb *usb, uint64_t cycles);

#endif
