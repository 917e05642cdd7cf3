// SPDX-License-Identifier: Apache-2.0
//
// The two bulk endpoints of one device as a queue of transfers, on libusb-1.0. IN transfers are
// always queued. OUT transfers are sent from a few buffers. One thread of the pipe's own handles
// libusb's events and calls the owner back, with the pipe's lock held. All other calls come from
// one thread at a time, and unless stated otherwise with the lock held.
#ifndef MW_USB_PIPE_H
#define MW_USB_PIPE_H

#include <libusb-1.0/libusb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/// Megabytes that all programs' transfers together may use; 0 is no limit.
#define MWU_MEMORY_LIMIT "/sys/module/usbcore/parameters/usbfs_memory_mb"
#define MWU_MEMORY_REMEDY "echo 16 | sudo tee " MWU_MEMORY_LIMIT

enum {
    // each buffer holds the longest transfer of its direction, so that a frame is one transfer of
    // libusb. OUT: SYNC_GAP zeros and a header. IN: a frame with the longest payload. Both are
    // rounded up to whole packets.
    MWU_OUT_COUNT = 16,
    MWU_OUT_BYTES = 66048,
    MWU_IN_COUNT = 16,
    MWU_IN_BYTES = 66048,
};

enum mwu_health {
    MWU_WELL,
    MWU_BROKEN, ///< a transfer failed; mwu_pipe_restart may help
    MWU_GONE,   ///< unplugged
};

struct mwu_pipe_owner {
    void *context;
    /// Bytes came; `end`: they are the last of a USB transfer.
    void (*in)(void *context, const uint8_t *bytes, size_t count, bool end);
    /// The health became worse; `why` in a few words.
    void (*worse)(void *context, enum mwu_health health, const char *why);
};

struct mwu_pipe;

struct mwu_slot {
    struct mwu_pipe *pipe;
    struct libusb_transfer *transfer;
    uint8_t *bytes;
    bool mapped; ///< they are the kernel's, so that it neither copies nor clears them
    bool queued;
};

struct mwu_pipe {
    libusb_context *context;
    libusb_device_handle *handle;
    const struct mwu_pipe_owner *owner;
    pthread_mutex_t lock;
    pthread_cond_t changed; ///< an event has come for which a thread may wait
    pthread_t thread;
    int stop; ///< of the thread
    enum mwu_health health;
    bool pausing;             ///< nothing is queued again
    bool buffer_wanted;       ///< there was none
    bool halted;              ///< an endpoint answered with STALL
    unsigned queued;          ///< transfers that libusb has
    unsigned packet;          ///< wMaxPacketSize
    struct timespec progress; ///< when a transfer last ended well
    struct mwu_slot in[MWU_IN_COUNT], out[MWU_OUT_COUNT];
};

/// Take over an opened device whose interface is claimed, and start the thread. Returns 0 or a
/// libusb error, after which nothing has been taken over. Called without the lock.
int mwu_pipe_start(struct mwu_pipe *pipe, const struct mwu_pipe_owner *owner,
                   libusb_context *context, libusb_device_handle *handle);
/// End all transfers and the thread; the device stays open. Called without the lock.
void mwu_pipe_stop(struct mwu_pipe *pipe);

/// A buffer of MWU_OUT_BYTES that is free, or NULL: none is.
struct mwu_slot *mwu_pipe_buffer(struct mwu_pipe *pipe);
/// Send its first `count` bytes as one transfer. Returns false where the pipe is not well.
bool mwu_pipe_send(struct mwu_slot *slot, size_t count);
/// End all transfers and wait until they have ended. If `reset`, reset the device on the bus. Clear
/// halts, and queue IN transfers again. Returns false if the device is gone or does not take them.
/// Releases the lock in between.
bool mwu_pipe_restart(struct mwu_pipe *pipe, bool reset);
/// End waits: the owner has news for the waiting thread. Only a buffer that becomes free again,
/// when none was free, ends waits without this call.
void mwu_pipe_wake(struct mwu_pipe *pipe);
/// Wait until that, or until `deadline` (CLOCK_MONOTONIC) has come.
void mwu_pipe_wait(struct mwu_pipe *pipe, const struct timespec *deadline);

/// Bytes of usbfs memory that a pipe may use.
size_t mwu_pipe_memory(void);

#endif
