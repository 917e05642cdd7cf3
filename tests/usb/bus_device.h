// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of the bus. One lock covers everything, except the state inside mwd_device,
// which only the device's own thread uses.
#ifndef MW_TEST_BUS_DEVICE_H
#define MW_TEST_BUS_DEVICE_H

#include "bus.h"

#include <glib.h>
#include <linux/usbdevice_fs.h>
#include <pthread.h>
#include <sys/stat.h>

/// A transfer that a program has queued, in its own memory.
struct urb {
    int file; ///< the file that it came from and returns to
    struct usbdevfs_urb *fields;
};

struct bus_device {
    unsigned number; ///< on the bus
    char *path;      ///< in sysfs
    struct stat node;
    struct mwd_backend backend;
    struct mwd_device *device;
    pthread_t thread;
    pthread_cond_t wake;         ///< of the thread: `kicked`
    pthread_cond_t ended;        ///< a transfer has ended, or none will any more
    int claimed;                 ///< file that has the interface, or -1
    GPtrArray *queue;            ///< struct urb that wait
    GPtrArray *done;             ///< that wait to be reaped
    bool kicked, stop, restless; ///< restless: its time passes without transfers, too
    bool plugged, frozen, halted_in, halted_out, reset;
    enum bus_fault fault;
    unsigned fault_after;
    uint64_t fault_seed;
    uint8_t *again; ///< a reply that comes twice
    int again_bytes;
    struct bus_counts counts;
};

extern pthread_mutex_t bus_lock;

/// A millisecond from now, for pthread_cond_timedwait.
struct timespec bus_deadline(void);
/// Wakes the device's thread.
void bus_device_kick(struct bus_device *device);
/// The thread.
void *bus_device_live(void *device);
/// Ends all queued transfers. No new one is taken.
void bus_device_pull_out(struct bus_device *device);
/// End a queued transfer: it can be reaped.
void bus_device_end(struct bus_device *device, struct urb *urb, int status, int bytes);
/// The device whose node is open as that file, or NULL. Without the lock.
struct bus_device *bus_device_of(int file);

#endif
