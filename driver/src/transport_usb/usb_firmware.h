// SPDX-License-Identifier: Apache-2.0
//
// Functions of the transport "usb": what the firmware answers.
#ifndef MW_USB_FIRMWARE_H
#define MW_USB_FIRMWARE_H

#include "moeswitch.h"

int mwu_firmware(void *context, struct mw_firmware *firmware);
int mwu_selftest(void *context, uint32_t tests, struct mw_selftest *list, size_t max,
                 size_t *count);
int mwu_log_read(void *context, uint32_t first, struct mw_log_entry *list, size_t max,
                 size_t *count);
int mwu_feed(void *context, const struct mw_register *list, size_t count, bool sweep,
             uint32_t *number);
int mwu_fed(void *context, uint32_t number, uint64_t max_cycles, struct mw_fed *fed, bool *done);

#endif
