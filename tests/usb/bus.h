// SPDX-License-Identifier: Apache-2.0
//
// A USB bus for tests: libusb and everything above it run unchanged. umockdev provides what they
// read in /sys and /dev. This bus answers their calls of Linux's usbfs. Its devices are those of
// sim/usb, each in its own thread. A test can plug devices in and out, read what was sent, and
// damage it.
#ifndef MW_TEST_BUS_H
#define MW_TEST_BUS_H

#include "usb/device.h"

enum bus_fault {
    BUS_NONE,
    BUS_CORRUPT_IN,  ///< one byte of a reply is wrong
    BUS_CUT_IN,      ///< a reply ends early
    BUS_TWICE_IN,    ///< a reply comes twice
    BUS_CORRUPT_OUT, ///< one byte of a request is wrong
    BUS_CUT_OUT,     ///< a request ends early
    BUS_TWICE_OUT,   ///< a request comes twice
    BUS_HALT_IN,     ///< the endpoint answers with STALL until its halt is cleared
    BUS_HALT_OUT,    ///< the same
    BUS_RESET,       ///< the device loses the state of the link
    BUS_PAUSE,       ///< nothing moves for `seed` milliseconds
    BUS_UNPLUG,      ///< the device is unplugged
    BUS_FAULTS,
};

struct bus_counts {
    unsigned long out,
        in; ///< transfers that carried bytes, each of which is a frame of the protocol
    unsigned long wrong_zero_flag; ///< OUT transfers with a wrong zero-length packet flag
    unsigned long clear_halts, cancels, resets;
    unsigned long struck[BUS_FAULTS];
};

struct bus;
struct bus_device;

/// umockdev must be loaded before the program. If it is not, this restarts the program.
void bus_prepare(char **argv);
struct bus *bus_create(void);
void bus_destroy(struct bus *bus);
struct bus_plugged {
    struct mwd_settings settings; ///< may have a window, versions and so on
    unsigned gpus;                ///< of a stub; 0: BUS_GPUS
    const char *model;            ///< a Verilated fabric in place of the stub, or NULL
    const char *whole;            ///< a whole Verilated device (sim/mw_device.h), or NULL
};

/// Plug a device in.
struct bus_device *bus_plug_in(struct bus *bus, const struct bus_plugged *what);
/// The same for a stub.
struct bus_device *bus_plug(struct bus *bus, const struct mwd_settings *settings);
void bus_unplug(struct bus_device *device);
/// Plugs in again a device that BUS_UNPLUG has unplugged.
void bus_replug(struct bus_device *device);
/// Injects one fault after `after` more transfers, of its direction if it has one. `seed` selects
/// the place in the transfer.
void bus_fault(struct bus_device *device, enum bus_fault fault, unsigned after, uint64_t seed);
/// Stops all transfers, or resumes them.
void bus_freeze(struct bus_device *device, bool frozen);
struct bus_counts bus_counts(struct bus_device *device);
/// The limit that usbfs has on memory.
void bus_memory_limit(struct bus *bus, const char *megabytes);

enum { BUS_GPUS = 2, BUS_FLIT = 8, BUS_MEM = 1 << 23 };

#endif
