// SPDX-License-Identifier: Apache-2.0
//
// A host at the endpoints of the Verilated device (sim/mw_device.h). It sends requests one at a
// time, and implements a transport of libmoeswitch with them.
#ifndef DEVICE_FRAMES_H
#define DEVICE_FRAMES_H

#include "transport_usb/frame.h"
#include "moeswitch.h"
#include "mw_device.h"

enum { FRAME_BYTES = MW_HOST_HEADER_BYTES + MW_HOST_MAX_PAYLOAD + MW_HOST_TRAILER_BYTES };

struct endpoints {
    const struct mw_device_ops *ops;
    struct mw_device_model *model;
    uint16_t sequence;
    uint32_t key;    ///< of the session
    uint64_t cycles; ///< passed since its creation
    uint64_t limit;  ///< cycles that a reply may take; the test fails where one takes longer
    /// Called once, after some cycles of a layer, and then cleared. NULL: nothing.
    void (*in_layer)(struct endpoints *e);
    uint8_t bytes[FRAME_BYTES];
    struct mw_frame_header reply; ///< the last one
    const uint8_t *payload;       ///< of it
    uint32_t trailer;             ///< status after the payload
};

/// Make a device of the model `mwdevice`, or `mwdevice_usb` at its ULPI pins. The test fails if the
/// model is missing.
struct endpoints *endpoints_open(const char *model);
/// The same for a configuration other than N = 2 with 8-byte flits: its folder in build/model.
struct endpoints *endpoints_open_in(const char *configuration, const char *model);
/// Devices at the pins that are opened later have this number of cycles per millisecond, with the
/// 60 000 clocks of their bus. A lower number simulates the waits of the bus faster. MW_DEVICE_KHZ
/// overrides the number.
void endpoints_clock(const char *khz);
void endpoints_close(struct endpoints *e);
/// A whole frame in e->bytes. Returns its bytes.
size_t endpoints_make(struct endpoints *e, const struct mw_frame_header *header,
                      const void *payload, size_t bytes);
/// Wait for a transfer and read it as a frame into e->reply and e->payload. The test fails if none
/// comes in `cycles` or if it is damaged.
void endpoints_receive(struct endpoints *e, uint64_t cycles);
/// SYNC after its gap, up to its reply. What comes before the reply is discarded.
void endpoints_session(struct endpoints *e);
/// The same, and then INFO.
void endpoints_sync(struct endpoints *e);
/// A request and its reply, whose status is returned, or that of its trailer.
unsigned endpoints_call(struct endpoints *e, unsigned type, uint64_t argument, uint32_t count,
                        const void *payload, size_t bytes);

/// The device's self-test of every GPU's memory and port. The test fails if anything fails.
void endpoints_selftest(struct endpoints *e, unsigned gpus);

/// The device as a transport. Its context is mw_open_options.custom_context, a struct endpoints in
/// step.
extern const struct mw_transport endpoints_transport;

#endif
