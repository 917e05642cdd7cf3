// SPDX-License-Identifier: Apache-2.0
//
// Finding devices on the bus, and opening one for this process alone.
#ifndef MW_USB_DEVICES_H
#define MW_USB_DEVICES_H

#include "host.h"

#include <libusb-1.0/libusb.h>

enum { MWU_SERIAL_SIZE = 64 };

struct mwu_device {
    libusb_context *context;
    libusb_device_handle *handle;
    char serial[MWU_SERIAL_SIZE];
};

/// Open the device with that serial number, or the only one where `serial` is NULL or empty, and
/// claim its interface. 0 or a MW_ERR_ code, with the message set.
int mwu_device_open(struct mwu_device *device, const char *serial);
void mwu_device_close(struct mwu_device *device);

#endif
