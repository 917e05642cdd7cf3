// SPDX-License-Identifier: Apache-2.0
//
// GPU memories.
#ifndef MW_MEMORY_H
#define MW_MEMORY_H

#include "core/device.h"

/// As mw_mem_write and mw_mem_read, of pieces that were checked, under the lock.
int mwi_mem_write(struct mw_device *device, const struct mw_transfer *list, size_t count);
int mwi_mem_read(struct mw_device *device, const struct mw_transfer *list, size_t count);

#endif
