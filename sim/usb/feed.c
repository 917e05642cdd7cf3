// SPDX-License-Identifier: Apache-2.0
//
// FEED and FED, and the time of fed layers: it passes while there is no request, and during each
// request.
#include "requests.h"

#include <string.h>

enum { SLICE = 2000 }; ///< cycles between two checks of the link

void mwd_feed_init(struct mwd_device *d)
{
    d->queue_ops = (struct mwi_queue_ops){d->backend.cfg, d->backend.cycles};
    d->queue = (struct mwi_queue){
        .ops = &d->queue_ops, .context = d->backend.context, .gpus = d->backend.gpus};
}

/// True if requests follow the one in execution, or wait because their replies have no room.
static bool host_waits(const struct mwd_device *d, unsigned carried_out)
{
    return d->request_count > carried_out && d->reply_count < MWD_REPLIES;
}

static void pass_time(struct mwd_device *d, uint64_t cycles)
{
    d->backend.run(d->backend.context, cycles);
    mwi_queue_poll(&d->queue);
}

bool mwd_feed_work(struct mwd_device *d)
{
    bool busy = mwi_queue_poll(&d->queue);
    if (busy && !host_waits(d, 0))
        pass_time(d, SLICE);
    return busy;
}

void mwd_feed(struct mwd_device *d, const struct mwd_request *r)
{
    struct mw_frame_register list[MW_HOST_FEED_REGISTERS];
    uint32_t number = 0;
    size_t count = r->header.words;
    if (count > MW_HOST_FEED_REGISTERS || r->header.argument > 1) {
        mwd_reply(d, r, MW_STATUS_LENGTH, 0, 0, NULL, 0);
        return;
    }
    if (count)
        memcpy(list, r->payload, count * sizeof *list);
    unsigned status = mwi_queue_add(&d->queue, list, count, r->header.argument & 1, &number);
    mwd_reply(d, r, (uint8_t)status, status ? 0 : number, 0, NULL, 0);
}

bool mwd_fed(struct mwd_device *d, const struct mwd_request *r)
{
    const struct mw_frame_fed *record;
    if (!d->waiting) {
        d->waiting = true;
        d->wait_left = r->header.count;
    }
    bool odd = r->header.words || r->header.argument > UINT32_MAX;
    unsigned status =
        odd ? MW_STATUS_LENGTH : mwi_queue_ask(&d->queue, (uint32_t)r->header.argument, &record);
    if (!status && !record && d->wait_left && !host_waits(d, 1)) {
        uint64_t slice = d->wait_left < SLICE ? d->wait_left : SLICE;
        pass_time(d, slice);
        d->wait_left -= slice;
        return false;
    }
    d->waiting = false;
    uint8_t *frame = status || !record ? NULL : mwd_make_frame(sizeof *record);
    if (frame)
        memcpy(frame + MW_HOST_HEADER_BYTES, record, sizeof *record);
    mwd_reply(d, r, (uint8_t)status, 0, frame != NULL, frame, frame ? sizeof *record : 0);
    return true;
}
