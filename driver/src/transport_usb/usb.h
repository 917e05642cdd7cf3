// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the transport "usb" share.
#ifndef MW_USB_H
#define MW_USB_H

#include "core/internal.h"
#include "transport_usb/usb_devices.h"
#include "transport_usb/usb_link.h"

enum { NAME_SIZE = 96 };

struct usb {
    struct mwu_device device;
    struct mwu_link link;
    struct mw_frame_info info;
    char name[NAME_SIZE]; ///< for messages
    uint64_t cycles;      ///< as last heard of
};

/// The MW_ERR_ code of a MW_STATUS_.
int mwu_status_code(uint32_t status);
/// Find the device and take it, and start the link to it, which has not sent anything yet; and let it go.
int mwu_connect(const struct mw_open_options *options, struct usb **usb);
void mwu_disconnect(struct usb *usb);
/// Fail with what the link says.
int mwu_failed(struct usb *usb, int error);
/// A request and its reply; a code, with a message.
int mwu_call(struct usb *usb, struct mwu_request *request);
int mwu_reset(struct usb *usb);
/// Read or write registers, in their order.
int mwu_registers(struct usb *usb, struct mw_register *list, size_t count, bool write);
/// INFO, and whether the device is one that this library can use. MW_ERR_FIRMWARE: there is no firmware
/// that answers.
int mwu_greet(struct usb *usb);
/// Cycles of the fabric per second; 0: simulated.
uint32_t mwu_cycles_hz(const struct mw_frame_info *info);
/// Milliseconds that so many cycles may take.
unsigned mwu_patience(const struct usb *usb, uint64_t cycles);

// Functions of the transport: usb_memory.c, usb_firmware.c, usb_firmware_load.c.
int mwu_mem_write(void *context, const struct mw_transfer *list, size_t count);
int mwu_mem_read(void *context, const struct mw_transfer *list, size_t count);
int mwu_firmware(void *context, struct mw_firmware *firmware);
int mwu_selftest(void *context, uint32_t tests, struct mw_selftest *list, size_t max,
                 size_t *count);
int mwu_log_read(void *context, uint32_t first, struct mw_log_entry *list, size_t max,
                 size_t *count);
int mwu_feed(void *context, const struct mw_register *list, size_t count, bool sweep,
             uint32_t *number);
int mwu_fed(void *context, uint32_t number, uint64_t max_cycles, struct mw_fed *fed, bool *done);
int mwu_image_read(const struct mw_open_options *options, uint32_t *words, size_t max,
                   size_t *count);
int mwu_image_load(const struct mw_open_options *options, const uint32_t *words,
                   const struct mw_firmware_image *image, mw_firmware_keep *keep, void *context);

#endif
