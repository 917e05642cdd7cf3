// SPDX-License-Identifier: Apache-2.0
//
// A descriptor that becomes readable when a layer ends.
#ifndef MW_EVENT_FD_H
#define MW_EVENT_FD_H

#include "core/device.h"

/// Without the lock: end its thread. Where it was inherited there is none: close the descriptor.
void mwi_notify_stop(struct mw_device *device);

#endif
