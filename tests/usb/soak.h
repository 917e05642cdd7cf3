// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads random pieces of a device's memories, with a copy of what was acknowledged.
// Sends small requests in between, and opens the device again after it was unplugged.
#ifndef MW_TEST_SOAK_H
#define MW_TEST_SOAK_H

#include "moeswitch.h"

#include "base/random.h"

struct soak {
    // parameters
    const char *serial;
    bool keeps;          ///< its memories keep their contents when it is opened again, as a stub's
    unsigned timeout_ms; ///< as mw_open_options
    unsigned large;      ///< one of this many pieces may be of 64 KB, others of 1 KB
    struct mw_random random;          ///< with the seed
    bool (*enough)(void *context);    ///< called before each call, and may change the device
    void (*unplugged)(void *context); ///< called after an unplugging; may be NULL
    void *context;
    // results
    unsigned long calls, disconnects, timeouts,
        errors;                     ///< of the failures: MW_ERR_NODEV, MW_ERR_TIMEOUT, others
    unsigned long long bytes, lost; ///< acknowledged bytes, and those of them that are wrong
    unsigned long wrong;            ///< impossible answers
    double longest;                 ///< call, in seconds
    // internal
    struct mw_device *device;
    struct mw_device_info info;
    uint8_t *copy; ///< [gpu][AREA]: what was acknowledged
    bool *unknown; ///< for each MW_MEM_ALIGN bytes: an unacknowledged write was there
};

/// 0, or the code of the failure that ended it.
int soak_run(struct soak *soak);

#endif
