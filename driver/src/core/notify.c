// SPDX-License-Identifier: Apache-2.0
//
// Tells whoever waits at a device's descriptor that a layer has ended; event_fd.c hands it out.
#include "core/notify.h"

#include <unistd.h>

void mwi_notify(struct mw_device *d)
{
    const uint64_t one = 1;
    // it fails where 2^64 - 2 layers have ended unseen
    if (d->notify && write(d->notify->fd, &one, sizeof one) != sizeof one)
        return;
}
