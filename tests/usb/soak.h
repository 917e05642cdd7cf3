// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads random pieces of a device's memories, with a copy of what was acknowledged, and opens
// the device anew whenever it was unplugged.
#ifndef MW_TEST_SOAK_H
#define MW_TEST_SOAK_H

#include "moeswitch.h"

#include "random.h"

struct soak {
    // what is asked for
    const char *serial;
    bool keeps; ///< its memories keep what is in them when it is opened anew, as a stub's do
    unsigned timeout_ms;                ///< as mw_open_options
    unsigned long disconnects, seconds; ///< it ends after so many, or after that time
    struct mw_random random;            ///< with the seed
    void (*before)(void *context);      ///< each call; may be NULL
    void (*unplugged)(void *context);   ///< seen as such; may be NULL
    void *context;
    // what came of it
    unsigned long calls, failures, seen_disconnects;
    unsigned long long bytes, lost;
    // its own
    struct mw_device *device;
    struct mw_device_info info;
    uint8_t *copy; ///< [gpu][AREA]: what was acknowledged
    bool *unknown; ///< of each MW_MEM_ALIGN bytes: an unacknowledged write was there
};

/// 0, or the code of the failure that ended it.
int soak_run(struct soak *soak);

#endif
