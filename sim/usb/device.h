// SPDX-License-Identifier: Apache-2.0
//
// The device's end of the host protocol (docs/reference/host-protocol.md) in C, at the level of USB
// transfers. It replaces the USB core, the host link and the firmware in tests that connect the
// host's software to a device without a board. The backend, a Verilated fabric or a stub, is a
// table of functions.
#ifndef MW_SIM_USB_DEVICE_H
#define MW_SIM_USB_DEVICE_H

#include "transport_usb/frame.h"

struct mwd_backend {
    void *context;
    const char *name;
    unsigned gpus, flit_bytes;
    uint64_t mem_bytes;
    /// 0, -1: the bus answered with an error, -2: no answer.
    int (*cfg)(void *context, bool write, uint32_t address, uint32_t *value);
    /// 0, or -1: the memory did not answer. The address was checked.
    int (*mem)(void *context, bool write, unsigned gpu, uint64_t offset, uint8_t *data,
               size_t bytes);
    /// Let time pass until a layer is done, at most `cycles`. Returns whether it is.
    bool (*run)(void *context, uint64_t cycles);
    uint64_t (*cycles)(void *context);
    int (*reset)(void *context);
    void (*close)(void *context);
};

/// N stubs of memories of `mem_bytes` (a power of two), with registers that report this. A layer is
/// done as soon as it was started. False: no memory.
bool mwd_stub(struct mwd_backend *backend, unsigned gpus, unsigned flit_bytes, uint64_t mem_bytes);
/// The Verilated fabric in that shared object (sim/mw_sim.h). False, with a line on standard error.
bool mwd_fabric(struct mwd_backend *backend, const char *model);

struct mwd_device;

enum { MWD_NAK = -1, MWD_STALL = -2 };

struct mwd_settings {
    const char *serial;      ///< at most 31 characters
    unsigned packet;         ///< wMaxPacketSize of the bulk endpoints: 512 or 64
    unsigned major, minor;   ///< of the protocol; 0.0: this one
    unsigned needs_minor;    ///< of the host
    uint32_t features;       ///< 0: all
    unsigned window, credit; ///< requests and bulk bytes; 0: 16 and 1 MB
    unsigned zeros;          ///< directly before a SYNC; 0: the protocol's. Fewer are for tests
    unsigned soc_minor;      ///< of the SoC's registers; 0: 2, with which came `hold`
    unsigned stuck_word;     ///< word of the processor's RAM whose lowest bit is always 0; 0: none
    unsigned first;          ///< instruction of its first firmware; 0: one that runs
};

/// The processor's RAM. The processor runs only an image (docs/reference/host-protocol.md) with the
/// right checksum. Its first instruction may also be one of these.
enum {
    MWD_RAM_BYTES = 1 << 14,
    MWD_LOOP = 0x0000006f, ///< j .: it never starts, and the watchdog expires
    MWD_DEAF = 0x00000013, ///< nop: it starts, and answers no command
    MWD_RUNS = 0x01c0006f, ///< j, over the header
};
/// Completes `count` words, which begin with an instruction and a header, with the header's magic,
/// sizes and checksum.
void mwd_image_seal(uint32_t *words, size_t count);

/// The backend stays the caller's. NULL: no memory.
struct mwd_device *mwd_create(const struct mwd_backend *backend,
                              const struct mwd_settings *settings);
/// The whole Verilated device in that shared object (sim/mw_device.h). Its own link and firmware
/// answer, and only the settings of USB count. NULL, with a line on standard error.
struct mwd_device *mwd_create_whole(const char *model, const struct mwd_settings *settings);
void mwd_destroy(struct mwd_device *device);

/// USB reset and SET_CONFIGURATION: the link is out of step, and requests in progress are
/// discarded.
void mwd_bus_reset(struct mwd_device *device);
/// A control transfer: `setup` as in the USB specification, `data` is sent, or gets up to wLength
/// bytes. Returns how many, or MWD_STALL.
int mwd_control(struct mwd_device *device, const uint8_t setup[8], uint8_t *data);
/// Device, configuration and string descriptors. Returns the length, 0 if there is none.
size_t mwd_descriptor(const struct mwd_device *device, unsigned type, unsigned index,
                      uint8_t data[256]);
/// An OUT transfer on the bulk endpoint: all of it is taken, or nothing (false: NAK).
bool mwd_out(struct mwd_device *device, const uint8_t *data, size_t bytes);
/// An IN transfer for up to `room` bytes, a multiple of wMaxPacketSize. Returns the number of
/// bytes, 0 for a zero-length packet, or MWD_NAK.
int mwd_in(struct mwd_device *device, uint8_t *data, size_t room);
/// Sets another key for the current session: that of the device with which a test compares this
/// one.
void mwd_set_key(struct mwd_device *device, uint32_t key);
/// Do some work. Returns whether there is more to do without another transfer.
bool mwd_work(struct mwd_device *device);

#endif
