// SPDX-License-Identifier: Apache-2.0
//
// C interface of the simulated device, as its USB core sees it: its host link, soft CPU and
// firmware, and bytes in and out of its two bulk endpoints. There are two models:
// build/model/dev-<configuration>/libmwdevice.so (rtl/top/device.sv at its endpoints) and
// libmwdevice_usb.so (rtl/top/device_usb.sv at its ULPI pins, under the host of sim/ulpi). They
// export one symbol each, mw_device_get_ops. INFO of both: name `moeswitch`, serial the firmware's,
// clock_hz 0.
//
// Time passes in whole clock cycles, and only inside run.
#ifndef MW_DEVICE_H
#define MW_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MW_DEVICE_ABI = 2 };

struct mw_device_model;

struct mw_device_ops {
    uint32_t abi;        ///< MW_DEVICE_ABI
    uint32_t gpus;       ///< N
    uint32_t flit_bytes; ///< 8 or 16

    /// Make a device and reset it. NULL: no memory.
    struct mw_device_model *(*create)(void);
    void (*destroy)(struct mw_device_model *device);
    /// USB reset and SET_CONFIGURATION: discards data that was sent and not taken, or not fetched.
    void (*link_reset)(struct mw_device_model *device);
    /// Adds bytes for the OUT endpoint after those that still wait (pending returns their number).
    void (*out)(struct mw_device_model *device, const uint8_t *data, size_t bytes);
    size_t (*pending)(const struct mw_device_model *device);
    /// Bytes from the IN endpoint: up to `room` of the oldest transfer; `last`: it ends with them.
    /// 0: none is complete. The endpoint takes two transfers ahead of those fetched.
    size_t (*in)(struct mw_device_model *device, uint8_t *data, size_t room, bool *last);
    /// Let time pass: `cycles`, or less if a transfer for the host is complete. Returns how many
    /// passed.
    uint64_t (*run)(struct mw_device_model *device, uint64_t cycles);
    /// Characters that the console has sent since the last call, up to `room`. The rate is 115200
    /// baud at 60 MHz, unless the firmware sets another one.
    size_t (*console)(struct mw_device_model *device, char *text, size_t room);
    // At the pins; NULL at the endpoints.
    /// Plug it into a port of that speed: as link_reset. False: it does not run at that speed then.
    bool (*plug)(struct mw_device_model *device, bool full_speed);
    /// Suspend the bus, let `cycles` pass, and resume it. False: the device did not detect one of
    /// them.
    bool (*suspend)(struct mw_device_model *device, uint64_t cycles);
};

/// The only symbol of the shared object.
const struct mw_device_ops *mw_device_get_ops(void);
typedef const struct mw_device_ops *(*mw_device_get_ops_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
