// SPDX-License-Identifier: Apache-2.0
//
// What other programs may see of a device that this one has open: a file in a folder of the user's,
// which both map. A device has one owner, and no other program reaches it. So the owner reads the
// counters itself and writes them into the file. It does so between the slices of its waits, if a
// program has requested a sample within the last seconds. The owner holds a lock of the file
// (flock) until it closes the device or ends. A file without a lock is left over.
#ifndef MW_SAMPLE_PUBLISH_H
#define MW_SAMPLE_PUBLISH_H

#include "moeswitch.h"

#include <stdatomic.h>

enum { MWI_SHARE_MAGIC = 0x3153574d, MWI_SHARE_FOLDER = 108 };

/// The file.
struct mwi_share_page {
    uint32_t magic,
        bytes; ///< MWI_SHARE_MAGIC, sizeof(struct mwi_share_page): of a library like this one
    atomic_uint_least64_t asked; ///< by a watcher, when: ms of CLOCK_MONOTONIC, 0: never
    atomic_uint interval;        ///< ms between two samples that it would like
    atomic_uint turn;            ///< odd while the owner writes what follows
    uint64_t sampled;            ///< when `shared` was, as above; 0: never
    struct mw_shared shared;
};

struct mwi_share;

/// Ms of CLOCK_MONOTONIC.
uint64_t mwi_share_now(void);
/// The user's folder. Returns whether it is there, or was made with `make`, and belongs to no other
/// user.
bool mwi_share_folder(char path[MWI_SHARE_FOLDER], bool make);

/// Share a device that was opened. Where that cannot be done it is not shared.
void mwi_share_begin(struct mw_device *device);
/// ... and no longer. A process that inherited the device leaves the file to its owner.
void mwi_share_end(struct mw_device *device);
/// Between slices, under the lock: publish if a program has requested it, and it is time.
void mwi_share_look(struct mw_device *device);

#endif
