// SPDX-License-Identifier: Apache-2.0
//
// A descriptor that becomes readable when a layer ends, and the thread that looks at the device meanwhile.
#ifndef MW_NOTIFY_H
#define MW_NOTIFY_H

#include "core/internal.h"

struct mwi_notify {
    int fd;
    pthread_t thread;
};

#endif
