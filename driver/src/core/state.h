// SPDX-License-Identifier: Apache-2.0
//
// The state of a device, and the requests that it allows. This is the only place that decides them.
// All functions are called under the device's lock.
//
//     IDLE ---configured---> CONFIGURED ---started, fed---> RUNNING ---ended---> CONFIGURED or IDLE
//     any ---lost, canceled---> UNKNOWN ---reset---> IDLE
//
// LOST: a request that changes the device has failed, so it may or may not have been carried out.
// Such a device gets no request before its reset: a layer that may be running would meet the
// registers and the epoch of another.
#ifndef MW_STATE_H
#define MW_STATE_H

#include "core/device.h"

void mwi_state_init(struct mwi_state *state);

/// As mw_query returns it.
enum mw_state mwi_state_outside(const struct mw_device *device);

// ---- what is allowed ----------------------------------------------------------------------------

/// Whether another process opened it, which this one was forked from. Its threads, including the
/// owner of a lock, do not exist here. The device belongs to that process: none of its functions
/// may be called or waited for.
bool mwi_inherited(const struct mw_device *device);
/// It was not closed, and this is the process that opened it.
bool mwi_is_open(const struct mw_device *device);
/// ... Else MW_ERR_STATE.
int mwi_check_open(const struct mw_device *device, const char *call);
/// ... and the device is there, and its state is known. Else MW_ERR_STATE, or MW_ERR_NODEV
/// permanently.
int mwi_check_well(const struct mw_device *device, const char *call);
/// ... and no layer runs.
int mwi_check_idle(const struct mw_device *device, const char *call);
/// ... and mw_launch may start what was configured.
int mwi_check_launch(const struct mw_device *device, const char *call);
/// ... or: mw_feed may give it this buffer (MW_FEED_BUFFERS: a layer without one), and the layer
/// `handle` (MW_HANDLE_).
int mwi_check_feed(const struct mw_device *device, const char *call, const struct mw_layout *layout,
                   unsigned buffer, unsigned handle);
/// ... or: the handle of a layer of these sizes is there, and an epoch for one more that uses it.
/// Else MW_ERR_HANDLE.
int mwi_check_kept(const struct mw_device *device, const char *call,
                   const struct mw_layer_config *config, const struct mw_layout *layout);
/// ... and it is that of a layer of `owner`.
int mwi_check_kept_for(const struct mw_device *device, const char *call, uint64_t owner,
                       const struct mw_layer_config *config, const struct mw_layout *layout);
/// ... or: no layer runs that may touch one of the pieces.
int mwi_check_free(const struct mw_device *device, const char *call, const struct mw_transfer *list,
                   size_t count);

// ---- what has happened --------------------------------------------------------------------------

/// The registers hold this layer.
void mwi_state_configured(struct mw_device *device, const struct mw_layer_config *config,
                          const struct mw_layout *layout, const unsigned *tokens,
                          uint64_t quiet_cycles);
/// The memories hold streams with such delays.
void mwi_state_streams(struct mw_device *device, uint64_t delays);
/// They hold none that may be launched again; a running layer continues.
void mwi_state_unconfigured(struct mw_device *device);
/// The epoch of a layer with `handle` that is started now; `sweep`: the tables must be cleared
/// first. It counts as used with mwi_state_started or mwi_state_fed.
unsigned mwi_state_epoch(const struct mw_device *device, unsigned handle, bool *sweep);
void mwi_state_started(struct mw_device *device);
/// ... in the epoch of the layer before. The entries of its rows in the tables stay valid. Its
/// counts stay valid if the configured layer uses them.
void mwi_state_continued(struct mw_device *device);
/// The epoch of the last layer.
unsigned mwi_state_last_epoch(const struct mw_device *device);
/// The epoch of the layer whose handle is kept; 0 if none is.
unsigned mwi_state_kept_epoch(const struct mw_device *device);
/// The layer that was started last keeps its counts and rows for layers of `owner`.
void mwi_state_keeps(struct mw_device *device, uint64_t owner);
/// The layer that was started last is the dispatch of a handle alone.
void mwi_state_dispatches(struct mw_device *device);
/// ... and still runs.
bool mwi_state_dispatch_runs(const struct mw_device *device);
/// The tables hold no rows that a layer could continue with, and must be cleared.
void mwi_state_rows_lost(struct mw_device *device, const char *why);
void mwi_state_fed(struct mw_device *device, const struct mw_layout *layout, unsigned buffer,
                   unsigned handle, uint32_t number);
/// The launched layer has ended; mw_message is that of a `code` that is not 0.
void mwi_state_ended(struct mw_device *device, int code, uint64_t cycles);
/// Only the thread that has waited for the launched layer gets its result.
void mwi_state_taken(struct mw_device *device);
/// The fed layer and all before it are done.
void mwi_state_fed_done(struct mw_device *device, uint32_t number);
/// A request that changes the device has failed with `code` and the message that mw_message has.
/// Returns `code`.
int mwi_state_lost(struct mw_device *device, int code);
/// The mw_combine that has the device is to end, before its layer runs or after it.
void mwi_state_moves_canceled(struct mw_device *device);
/// No thread waits for the running layer any more.
void mwi_state_canceled(struct mw_device *device);
/// The device is as after power-up.
void mwi_state_reset(struct mw_device *device);

#endif
