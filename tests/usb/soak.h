// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads random pieces of a device's memories, with a copy of what was acknowledged, asks
// it small things in between, and opens it anew whenever it was unplugged.
#ifndef MW_TEST_SOAK_H
#define MW_TEST_SOAK_H

#include "moeswitch.h"

#include "base/random.h"

struct soak {
    // what is asked for
    const char *serial;
    bool keeps; ///< its memories keep what is in them when it is opened anew, as a stub's do
    unsigned timeout_ms;     ///< as mw_open_options
    unsigned large;          ///< one piece of so many may be of 64 KB, others of 1 KB
    struct mw_random random; ///< with the seed
    bool (*enough)(
        void *context); ///< looked at before each call, and may do something to the device
    void (*unplugged)(void *context); ///< seen as such; may be NULL
    void *context;
    // what came of it
    unsigned long calls, disconnects, timeouts,
        errors;                     ///< of the failures: MW_ERR_NODEV, MW_ERR_TIMEOUT, others
    unsigned long long bytes, lost; ///< bytes that were acknowledged, and are others
    unsigned long wrong;            ///< answers that cannot be
    double longest;                 ///< call, in seconds
    // its own
    struct mw_device *device;
    struct mw_device_info info;
    uint8_t *copy; ///< [gpu][AREA]: what was acknowledged
    bool *unknown; ///< of each MW_MEM_ALIGN bytes: an unacknowledged write was there
};

/// 0, or the code of the failure that ended it.
int soak_run(struct soak *soak);

#endif
