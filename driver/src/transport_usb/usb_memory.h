// SPDX-License-Identifier: Apache-2.0
//
// Functions of the transport "usb": GPU memories.
#ifndef MW_USB_MEMORY_H
#define MW_USB_MEMORY_H

#include "moeswitch.h"

int mwu_mem_write(void *context, const struct mw_transfer *list, size_t count);
int mwu_mem_read(void *context, const struct mw_transfer *list, size_t count);

#endif
