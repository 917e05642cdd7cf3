// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of the device.
#ifndef MW_SIM_USB_REQUESTS_H
#define MW_SIM_USB_REQUESTS_H

#include "device.h"
#include "transport_sim/queue.h"

enum {
    MWD_REQUESTS = 64,
    MWD_REPLIES = 2, ///< frames that wait for IN transfers, as in a FIFO; more stop the link
    MWD_LOG = 32,
};

struct mwd_request {
    struct mw_frame_header header;
    uint8_t *payload;
    uint8_t status; ///< error that the link found in it
    uint32_t key;   ///< made by a SYNC, or 0
};

struct mwd_reply {
    uint8_t *bytes;
    size_t count;
};

/// Moves the bytes of bulk transfers instead of device.c.
struct mwd_port {
    void (*bus_reset)(struct mwd_device *device);
    bool (*out)(struct mwd_device *device, const uint8_t *data, size_t bytes);
    int (*in)(struct mwd_device *device, uint8_t *data, size_t room);
    bool (*work)(struct mwd_device *device);
    void (*destroy)(struct mwd_device *device);
};

struct mwd_cpu {
    uint32_t ram[MWD_RAM_BYTES / 4];
    bool held;
    unsigned starts; ///< but the first
};

enum mwd_part { MWD_HEADER, MWD_PAYLOAD, MWD_TRAILER };

struct mwd_device {
    struct mwd_backend backend;
    const struct mwd_port *port; ///< NULL: the link below
    struct mwd_whole *whole;
    struct mwd_settings settings;
    uint8_t configuration;

    // link
    bool in_step;
    bool refused; ///< a session for SYNC and INFO only
    bool guarded; ///< a host with keys has connected since the last reset of the link
    bool gap;     ///< enough zeros for a SYNC came before this header
    uint32_t key; ///< of the session, 0: none
    uint64_t stir;
    size_t zeros; ///< that came last, at most settings.zeros; as many when nothing else did
    uint16_t sequence;
    enum mwd_part part;
    size_t have;  ///< bytes of the part
    uint8_t word; ///< all bytes of the frame's present word, ORed
    struct mw_frame_header header;
    struct mw_frame_trailer trailer;
    uint8_t *payload;
    /// the rest of the last OUT transfer, for which earlier requests have left no room; or NULL
    uint8_t *late;
    size_t late_bytes, late_at;
    struct mwd_request requests[MWD_REQUESTS];
    unsigned request_first, request_count;
    struct mwd_reply replies[MWD_REPLIES];
    unsigned reply_first, reply_count;
    size_t sent; ///< of the first reply
    bool zero_packet;

    struct mwd_cpu cpu;

    // firmware
    bool waiting; ///< a WAIT or FED is in progress
    uint64_t wait_left;
    struct mw_frame_log log[MWD_LOG]; ///< entry n at n % MWD_LOG
    uint32_t log_next, log_first;
    struct mwi_queue_ops queue_ops;
    struct mwi_queue queue; ///< of layers
};

void mwd_cpu_init(struct mwd_device *device);
/// Registers of the SoC that the host reaches, and the window to the RAM. 0, or -1: an error;
/// -2: not of the SoC.
int mwd_cpu_access(struct mwd_device *device, bool write, uint32_t address, uint32_t *value);
/// State of a command: the firmware answers it, or keeps it until a bus reset. If no firmware runs,
/// the watchdog ends it.
enum mwd_firmware { MWD_ANSWERS, MWD_KEEPS, MWD_BITTEN };
enum mwd_firmware mwd_cpu_firmware(const struct mwd_device *device);
/// The version in the header of the image.
uint32_t mwd_cpu_version(const struct mwd_device *device);
void mwd_log(struct mwd_device *device, uint32_t code, uint32_t detail);
/// Reply to `request`. A payload is in `frame`, after the header. Without one, `frame` is NULL.
void mwd_reply(struct mwd_device *device, const struct mwd_request *request, uint8_t status,
               uint64_t argument, uint32_t count, uint8_t *frame, size_t bytes);
/// Memory filled with zeros. Without memory, the program ends.
void *mwd_allocate(size_t bytes);
/// Room for a frame with such a payload.
uint8_t *mwd_make_frame(size_t bytes);
void mwd_feed_init(struct mwd_device *device);
void mwd_feed(struct mwd_device *device, const struct mwd_request *request);
/// False: the layer is not done yet.
bool mwd_fed(struct mwd_device *device, const struct mwd_request *request);
/// Lets a fed layer proceed. Returns whether there is one.
bool mwd_feed_work(struct mwd_device *device);
/// Executes a request and puts its reply into the queue, which has room. False: there is more to
/// do.
bool mwd_carry_out(struct mwd_device *device, const struct mwd_request *request);

#endif
