// SPDX-License-Identifier: Apache-2.0
//
// Results of a request: a reply, an entry of the log.
#include "requests.h"

#include <stdlib.h>
#include <string.h>

void *mwd_allocate(size_t bytes)
{
    void *room = calloc(1, bytes);
    if (!room)
        abort();
    return room;
}

uint8_t *mwd_make_frame(size_t bytes)
{
    return mwd_allocate(mwf_bytes(bytes));
}

void mwd_log(struct mwd_device *device, uint32_t code, uint32_t detail)
{
    uint32_t n = device->log_next++;
    device->log[n % MWD_LOG] = (struct mw_frame_log){.number = n, .code = code, .detail = detail};
    if (device->log_next - device->log_first > MWD_LOG)
        device->log_first = device->log_next - MWD_LOG;
}

void mwd_reply(struct mwd_device *d, const struct mwd_request *r, uint8_t status, uint64_t argument,
               uint32_t count, uint8_t *frame, size_t bytes)
{
    struct mw_frame_header h = {.type = r->header.type | MW_FRAME_REPLY,
                                .status = status,
                                .sequence = r->header.sequence,
                                .words = (uint16_t)(bytes / 8),
                                .argument = argument,
                                .count = count};
    if (!frame)
        frame = mwd_allocate(sizeof h);
    mwf_seal(&h);
    memcpy(frame, &h, sizeof h);
    if (bytes) {
        struct mw_frame_trailer t = mwf_trailer(frame + sizeof h, bytes, MW_STATUS_OK);
        memcpy(frame + sizeof h + bytes, &t, sizeof t);
    }
    d->replies[(d->reply_first + d->reply_count++) % MWD_REPLIES] =
        (struct mwd_reply){frame, mwf_bytes(bytes)};
}
