// SPDX-License-Identifier: Apache-2.0
//
// Functions of the transport "usb": firmware in and out of a device.
#ifndef MW_USB_FIRMWARE_LOAD_H
#define MW_USB_FIRMWARE_LOAD_H

#include "moeswitch.h"

int mwu_image_read(const struct mw_open_options *options, uint32_t *words, size_t max,
                   size_t *count);
int mwu_image_load(const struct mw_open_options *options, const uint32_t *words,
                   const struct mw_firmware_image *image, mw_firmware_keep *keep, void *context);

#endif
