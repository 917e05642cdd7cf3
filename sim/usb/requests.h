// SPDX-License-Identifier: Apache-2.0
//
// What the files of the device share.
#ifndef MW_SIM_USB_REQUESTS_H
#define MW_SIM_USB_REQUESTS_H

#include "device.h"

enum {
    MWD_REQUESTS = 64,
    MWD_REPLIES = 2, ///< frames that wait for IN transfers, as in a FIFO; more hold the link up
    MWD_LOG = 32,
};

struct mwd_request {
    struct mw_frame_header header;
    uint8_t *payload;
    uint8_t status; ///< what the link found wrong with it
};

struct mwd_reply {
    uint8_t *bytes;
    size_t count;
};

enum mwd_part { MWD_HEADER, MWD_PAYLOAD, MWD_TRAILER };

struct mwd_device {
    struct mwd_backend backend;
    struct mwd_settings settings;
    uint8_t configuration;

    // link
    bool in_step;
    bool refused; ///< the host speaks another major version
    uint16_t sequence;
    enum mwd_part part;
    size_t have; ///< bytes of the part
    struct mw_frame_header header;
    struct mw_frame_trailer trailer;
    uint8_t *payload;
    struct mwd_request requests[MWD_REQUESTS];
    unsigned request_first, request_count;
    struct mwd_reply replies[MWD_REPLIES];
    unsigned reply_first, reply_count;
    size_t sent; ///< of the first reply
    bool zero_packet;

    // firmware
    bool waiting; ///< a WAIT is under way
    uint64_t wait_left;
    struct mw_frame_log log[MWD_LOG]; ///< entry n at n % MWD_LOG
    uint32_t log_next, log_first;
};

void mwd_log(struct mwd_device *device, uint32_t code, uint32_t detail);
/// Carry a request out and put its reply into the queue, which has room. False: there is more to do.
bool mwd_carry_out(struct mwd_device *device, const struct mwd_request *request);

#endif
