// SPDX-License-Identifier: Apache-2.0
//
// What a call of a handle does before and after its layer: it moves data and clears tables, in
// pieces of some ten milliseconds. Between two pieces, other calls may run, and the options of the
// call, mw_cancel, mw_reset and mw_close can end it. The call has exclusive use of the device
// (mw_device.combining).
#ifndef MW_MOVES_H
#define MW_MOVES_H

#include "core/device.h"

struct mwi_pause {
    const char *call; ///< for messages
    const struct mw_wait_options *options;
    uint64_t tokens_total; ///< for progress
    uint64_t canceled;     ///< mwi_state.canceled when the call began, or its turn
};

struct mwi_pause mwi_pause_begin(const struct mw_device *device, const char *call,
                                 const struct mw_wait_options *options, uint64_t tokens_total);
/// MW_ERR_CANCELED if the options end the call now, which waits for its turn. The lock is released
/// while `progress` runs.
int mwi_turn_canceled(struct mw_device *device, const struct mwi_pause *pause);
/// Whether the call continues after other calls had the device: MW_ERR_CANCELED by mw_cancel or
/// mw_reset, MW_ERR_STATE where the device was closed.
int mwi_check_ended(const struct mw_device *device, const struct mwi_pause *pause);
/// Between two pieces, under the lock. MW_ERR_CANCELED, or MW_ERR_STATE where the device was
/// closed: the call ends.
int mwi_pause(struct mw_device *device, const struct mwi_pause *pause);

/// Until no other call has the device, or the options end this one: MW_ERR_CANCELED. MW_ERR_STATE:
/// that call is this thread's, which has called again from `progress`.
int mwi_wait_for_turn(struct mw_device *device, const struct mwi_pause *pause);

/// As mwi_mem_write and mwi_mem_read.
int mwi_move(struct mw_device *device, bool write, const struct mw_transfer *list, size_t count,
             const struct mwi_pause *pause);

#endif
