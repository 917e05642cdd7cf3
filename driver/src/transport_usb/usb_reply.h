// SPDX-License-Identifier: Apache-2.0
//
// The reply parser: what comes in on the bulk IN endpoint, in pieces of any size, becomes frames.
// Its input is untrusted: a frame is reported only if its header's CRC is right. Its payload goes
// to the place that the owner sets. Anything else is an error, after which the parser is silent
// until it is restarted.
#ifndef MW_USB_REPLY_H
#define MW_USB_REPLY_H

#include "transport_usb/frame.h"

struct mwu_reply_owner {
    void *context;
    /// A header has come. Returns false to refuse the frame: no more of it, and no later one, is
    /// reported. Otherwise, `data` may get a place for its payload, of header->words * 8 bytes.
    /// Without a place, the payload is only checked.
    bool (*header)(void *context, const struct mw_frame_header *header, uint8_t **data);
    /// The frame is whole and right. `status` is that of the header, or of the trailer if not OK.
    void (*frame)(void *context, const struct mw_frame_header *header, uint32_t status);
    /// What came is no frame; `why` in a few words.
    void (*error)(void *context, const char *why);
};

enum mwu_reply_state {
    MWU_SILENT,  ///< discard everything
    MWU_SEARCH,  ///< discard what is no reply to SYNC with the right number
    MWU_SKIP,    ///< the same, until this transfer has ended
    MWU_HEADER,  ///< a transfer begins with a header
    MWU_PAYLOAD, ///< of a frame
    MWU_TRAILER, ///< of a frame
    MWU_END,     ///< only the transfer's end may come
};

struct mwu_reply {
    enum mwu_reply_state state;
    const struct mwu_reply_owner *owner;
    bool searching;  ///< between mwu_reply_search and the reply to SYNC
    uint32_t number; ///< of the SYNC
    struct mw_frame_header header;
    struct mw_frame_trailer trailer;
    size_t have;   ///< bytes of the part that the state names
    uint8_t *data; ///< where the payload goes, or NULL
    uint32_t crc;
};

void mwu_reply_init(struct mwu_reply *reply, const struct mwu_reply_owner *owner);
/// Discard everything up to the reply to the SYNC with this number in the lower half of its
/// argument, which is reported as a frame.
void mwu_reply_search(struct mwu_reply *reply, uint32_t number);
void mwu_reply_silence(struct mwu_reply *reply);
/// `bytes` bytes came; `end`: they are the last of a USB transfer.
void mwu_reply_feed(struct mwu_reply *reply, const uint8_t *bytes, size_t count, bool end);

#endif
