// SPDX-License-Identifier: Apache-2.0
//
// Notifies a program that waits at a descriptor (api/event_fd.h) that a layer has ended.
#ifndef MW_NOTIFY_H
#define MW_NOTIFY_H

#include "core/device.h"

struct mwi_notify {
    int fd;
    pthread_t thread; ///< that looks at the device meanwhile
};

/// Under the lock: a layer has ended.
void mwi_notify(struct mw_device *device);

#endif
