// SPDX-License-Identifier: Apache-2.0
//
// What the library keeps of a device that is open.
#ifndef MW_CORE_DEVICE_H
#define MW_CORE_DEVICE_H

#include "core/error.h"
#include "core/lock.h"

#include <sys/types.h>

enum {
    MWI_WRITES = 64, ///< of registers, gathered at most
    MWI_MOVED = 14,  ///< registers that differ between fed layers, at most, beside the epoch
};

/// State of a device, by which core/state.h decides.
struct mwi_state {
    enum mw_state now;   ///< MW_STATE_DONE is RUNNING, to the outside, once the layer has ended
    enum mw_state after; ///< RUNNING: what comes after it
    bool closed;
    int lost; ///< UNKNOWN: the code of what failed, and its message
    char why[MWI_MESSAGE];

    uint64_t canceled; ///< how often a mw_combine was canceled before or after its layer
    uint64_t resets;
    uint64_t
        begun; ///< layers that have begun, in any way, and resets: what changes it leaves no rows
    unsigned epoch;    ///< of the next layer
    bool sweep;        ///< the allocation tables must be cleared before it
    uint64_t swept[5]; ///< where they are, how large, rows, cache and tokens, as last configured
    /// The layer whose counts and rows cached ones may use.
    struct {
        bool there;
        unsigned epoch;
        uint64_t owner; ///< of which handle (mw_handle.routes) it was a layer, 0: of none
        char why[96];   ///< it is not there
    } kept;
    unsigned handle;       ///< MW_HANDLE_ of the layer that is configured
    uint64_t tokens_total; ///< of the layer, for progress
    uint64_t quiet_cycles; ///< longest that this layer may legitimately do nothing visible,
    uint64_t delays;       ///< besides what its streams wait for nothing but time

    /// The layer that was launched last.
    struct {
        uint64_t number; ///< counted from 1
        bool runs;
        bool dispatch; ///< it is the first phase of a handle alone
        bool waited;   ///< its result was handed out
        /// ... and has no owner any more: the layer is that of a mw_combine, or others follow
        bool gone;
        int code; ///< its result
        uint64_t cycles;
        char message[MWI_MESSAGE];
    } layer;
    struct {
        bool used;                        ///< since the configuration
        uint64_t generation;              ///< changes when all that were fed are gone
        struct mw_layout layout;          ///< as last fed
        unsigned count;                   ///< layers that are not known to be done
        uint32_t number[MW_FEED_BUFFERS]; ///< theirs, the oldest first
        unsigned buffer[MW_FEED_BUFFERS]; ///< that they use
    } fed;
};

/// The layer that the registers hold.
struct mwi_configured {
    struct mw_layer_config config; ///< k 0: none yet
    struct mw_layout layout;
    unsigned tokens[MW_MAX_PORTS];
    /// As mwi_moved_registers, of the layer that was configured or fed last.
    struct mw_register moved[MWI_MOVED];
};

struct mw_device {
    struct mwi_lock
        lock;         ///< all below but what is constant since mw_open: process, transport, info
    pid_t process;    ///< that opened it
    unsigned holders; ///< the program, until it closes the device, and objects
    struct mw_register writes[MWI_WRITES];
    unsigned write_count;
    struct mw_transport own_transport;
    const struct mw_transport *transport; ///< that
    void *context;
    struct mw_device_info info;
    struct mwi_state state;
    struct mwi_configured configured;
    struct mwi_tables *tables; ///< expert map and groups, requested and in the device
    bool combining;     ///< a call of a handle uses the device alone, from loading to reading
    pthread_t combiner; ///< its thread
    uint64_t handles;   ///< made so far
    uint64_t loaded;    ///< number of the handle whose data are in the memories, 0: none
    unsigned program;   ///< number of that handle's program whose streams are there, too
    struct mwi_notify *notify; ///< NULL: no descriptor was requested
    struct mwi_share *share;   ///< NULL: no other program sees it
};

#endif
