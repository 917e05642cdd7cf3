// SPDX-License-Identifier: Apache-2.0
#include "transport_usb/usb_reply.h"

#include <string.h>

void mwu_reply_init(struct mwu_reply *reply, const struct mwu_reply_owner *owner)
{
    *reply = (struct mwu_reply){.owner = owner};
}

void mwu_reply_search(struct mwu_reply *reply, uint32_t number)
{
    reply->state = MWU_SEARCH;
    reply->searching = true;
    reply->number = number;
    reply->have = 0;
}

void mwu_reply_silence(struct mwu_reply *reply)
{
    reply->state = MWU_SILENT;
    reply->searching = false;
}

static void fail(struct mwu_reply *r, const char *why)
{
    mwu_reply_silence(r);
    r->owner->error(r->owner->context, why);
}

/// Take up to `want` bytes in all to `to`. Returns how many of `count` were used.
static size_t collect(struct mwu_reply *r, void *to, size_t want, const uint8_t *bytes,
                      size_t count)
{
    size_t take = want - r->have < count ? want - r->have : count;
    memcpy((uint8_t *)to + r->have, bytes, take);
    r->have += take;
    return take;
}

/// As collect, for the payload.
static size_t take_payload(struct mwu_reply *r, size_t want, const uint8_t *bytes, size_t count)
{
    size_t take = want - r->have < count ? want - r->have : count;
    r->crc = r->data ? mwf_crc_copy(r->crc, r->data + r->have, bytes, take)
                     : mwf_crc(r->crc, bytes, take);
    r->have += take;
    return take;
}

static void enter(struct mwu_reply *r, enum mwu_reply_state state)
{
    r->state = state;
    r->have = 0;
}

static void whole_frame(struct mwu_reply *r, uint32_t status)
{
    enter(r, MWU_END);
    r->owner->frame(r->owner->context, &r->header, status);
}

static void whole_header(struct mwu_reply *r)
{
    bool ok = mwf_header_ok(&r->header);
    if (r->searching) {
        if (!ok || r->header.type != (MW_FRAME_SYNC | MW_FRAME_REPLY) ||
            (uint32_t)r->header.argument != r->number || r->header.words) {
            enter(r, MWU_SKIP);
            return;
        }
        r->searching = false;
    } else if (!ok) {
        fail(r, "a damaged header");
        return;
    }
    r->data = NULL;
    if (!r->owner->header(r->owner->context, &r->header, &r->data)) {
        mwu_reply_silence(r);
        return;
    }
    r->crc = 0;
    if (r->header.words)
        enter(r, MWU_PAYLOAD);
    else
        whole_frame(r, r->header.status);
}

static void whole_trailer(struct mwu_reply *r)
{
    uint32_t crc = mwf_crc(r->crc, &r->trailer.status, sizeof r->trailer.status);
    if (crc != r->trailer.crc)
        fail(r, "a damaged payload");
    else
        whole_frame(r, r->header.status ? r->header.status : r->trailer.status);
}

/// Use some of the bytes. Returns how many.
static size_t step(struct mwu_reply *r, const uint8_t *bytes, size_t count)
{
    size_t used = count, want = 8 * (size_t)r->header.words;
    switch (r->state) {
    case MWU_SILENT:
    case MWU_SKIP:
        break;
    case MWU_SEARCH:
    case MWU_HEADER:
        used = collect(r, &r->header, sizeof r->header, bytes, count);
        if (r->have == sizeof r->header)
            whole_header(r);
        break;
    case MWU_PAYLOAD:
        used = take_payload(r, want, bytes, count);
        if (r->have == want)
            enter(r, MWU_TRAILER);
        break;
    case MWU_TRAILER:
        used = collect(r, &r->trailer, sizeof r->trailer, bytes, count);
        if (r->have == sizeof r->trailer)
            whole_trailer(r);
        break;
    case MWU_END:
        fail(r, "bytes behind a frame");
        break;
    }
    return used;
}

static void end_of_transfer(struct mwu_reply *r)
{
    switch (r->state) {
    case MWU_SILENT:
        break;
    case MWU_SEARCH:
    case MWU_SKIP:
        enter(r, MWU_SEARCH);
        break;
    case MWU_END:
        enter(r, MWU_HEADER);
        break;
    case MWU_HEADER:
        if (r->have) // a zero-length packet alone has no meaning
            fail(r, "a header that was cut short");
        break;
    case MWU_PAYLOAD:
    case MWU_TRAILER:
        fail(r, "a frame that was cut short");
        break;
    }
}

void mwu_reply_feed(struct mwu_reply *reply, const uint8_t *bytes, size_t count, bool end)
{
    while (count) {
        size_t used = step(reply, bytes, count);
        bytes += used;
        count -= used;
    }
    if (end)
        end_of_transfer(reply);
}
