// SPDX-License-Identifier: Apache-2.0
//
// The host's end of the link (docs/reference/host-protocol.md): requests with sequence numbers and
// credits, their replies, and synchronization of the link after an error.
#ifndef MW_USB_LINK_H
#define MW_USB_LINK_H

#include "transport_usb/usb_pipe.h"
#include "transport_usb/usb_reply.h"

enum {
    MWU_WINDOW = 64, ///< most requests under way, whatever the device allows
    MWU_MESSAGE_SIZE = 200,
};

/// A request and its result. From mwu_link_send until mwu_link_wait returns it belongs to the link.
struct mwu_request {
    // the request
    uint8_t type; ///< MW_FRAME_
    uint64_t argument;
    uint32_t count;
    const void *payload; ///< read before mwu_link_send returns
    size_t payload_bytes;
    void *data;           ///< where the reply's payload goes
    size_t capacity;      ///< of it
    unsigned patience_ms; ///< beyond the link's own timeout, for requests that take time

    // the result
    bool done;
    int error;       ///< 0, or a MW_ERR_: there was no reply, mwu_link.message has the cause
    uint32_t status; ///< MW_STATUS_
    uint64_t reply_argument;
    uint32_t reply_count;
    size_t reply_bytes;

    // the link's
    uint16_t sequence;
    size_t bulk; ///< payload bytes, both ways, of a bulk request
};

struct mwu_link {
    struct mwu_pipe pipe;
    struct mwu_pipe_owner pipe_owner;
    struct mwu_reply reply;
    struct mwu_reply_owner reply_owner;
    unsigned timeout_ms;
    bool in_step;
    bool searching; ///< for the reply to SYNC
    uint16_t sequence;
    uint32_t syncs;
    uint32_t key;                            ///< of the session, 0: the device has none
    struct mwu_request *waiting[MWU_WINDOW]; ///< in their order, from `first`
    unsigned first, count;
    size_t bulk; ///< of the waiting ones
    unsigned window;
    size_t bulk_limit;
    size_t max_payload;
    uint32_t version; ///< of the device's protocol, {major, minor}
    int error;        ///< of the last break, and why
    char message[MWU_MESSAGE_SIZE];
};

/// Take over an opened device whose interface is claimed. 0 or a MW_ERR_ code, with the cause in
/// `message`.
int mwu_link_start(struct mwu_link *link, libusb_context *context, libusb_device_handle *handle,
                   unsigned timeout_ms);
void mwu_link_stop(struct mwu_link *link);
/// The device's description of itself. Sets the credits. MW_ERR_VERSION: it and this library cannot
/// work together. MW_ERR_FIRMWARE: its processor is held, or restarted during this call.
int mwu_link_info(struct mwu_link *link, struct mw_frame_info *info);

/// Send a request, after waiting until there is credit for it. Returns 0, or a MW_ERR_ code with
/// the request not sent.
int mwu_link_send(struct mwu_link *link, struct mwu_request *request);
/// Wait for its reply. Returns its error.
int mwu_link_wait(struct mwu_link *link, struct mwu_request *request);
/// Both.
int mwu_link_call(struct mwu_link *link, struct mwu_request *request);

/// Why the link broke last, copied into `text` (MWU_MESSAGE_SIZE bytes), which is returned:
/// the pipe's thread may break it again at any time.
const char *mwu_link_why(struct mwu_link *link, char *text);

const char *mwu_frame_name(unsigned type);
const char *mwu_status_text(unsigned status);

#endif
