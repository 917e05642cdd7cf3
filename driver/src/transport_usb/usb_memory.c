// SPDX-License-Identifier: Apache-2.0
//
// The transport "usb": GPU memories. They move in pieces of the device's largest payload, as many
// under way as its credits allow.
#include "transport_usb/usb_memory.h"

#include "core/error.h"
#include "transport_usb/usb_session.h"

/// A list of pieces on its way: cut into requests, of which a ring is under way.
struct stream {
    struct usb *usb;
    const struct mw_transfer *list;
    size_t count;
    bool write;
    size_t piece, offset; ///< next to be sent
    struct mwu_request ring[MWU_WINDOW];
    unsigned first, under_way;
    uint64_t moved, total;
};

static void next_request(struct stream *s)
{
    const struct mw_transfer *t = &s->list[s->piece];
    size_t left = t->bytes - s->offset;
    size_t bytes = left < s->usb->link.max_payload ? left : s->usb->link.max_payload;
    uint8_t *data = (uint8_t *)t->data + s->offset;
    uint64_t address = (uint64_t)t->gpu << MW_HOST_GPU_SHIFT | (t->address + s->offset);
    s->ring[(s->first + s->under_way) % MWU_WINDOW] =
        s->write ? (struct mwu_request){.type = MW_FRAME_MEM_WRITE,
                                        .argument = address,
                                        .payload = data,
                                        .payload_bytes = bytes}
                 : (struct mwu_request){.type = MW_FRAME_MEM_READ,
                                        .argument = address,
                                        .count = (uint32_t)bytes,
                                        .data = data,
                                        .capacity = bytes};
    s->offset += bytes;
    while (s->piece < s->count && s->offset == s->list[s->piece].bytes) {
        s->piece++;
        s->offset = 0;
    }
}

static int fail_moved(struct stream *s, int status, const char *why)
{
    return mwi_fail(status, "%s: %s; %llu of %llu bytes had been %s", s->usb->name, why,
                    (unsigned long long)s->moved, (unsigned long long)s->total,
                    s->write ? "written" : "read");
}

/// Wait for the oldest request.
static int retire(struct stream *s)
{
    struct mwu_request *r = &s->ring[s->first++ % MWU_WINDOW];
    s->under_way--;
    char why[MWU_MESSAGE_SIZE];
    int error = mwu_link_wait(&s->usb->link, r);
    if (error)
        return fail_moved(s, error, mwu_link_why(&s->usb->link, why));
    if (r->status)
        return fail_moved(s, mwu_status_code(r->status), mwu_status_text(r->status));
    if (!s->write && r->reply_bytes != r->capacity)
        return fail_moved(s, MW_ERR_IO, "the device sent too little");
    s->moved += s->write ? r->payload_bytes : r->reply_bytes;
    return 0;
}

static int move(struct usb *u, const struct mw_transfer *list, size_t count, bool write)
{
    struct stream s = {.usb = u, .list = list, .count = count, .write = write};
    char why[MWU_MESSAGE_SIZE];
    for (size_t i = 0; i < count; i++)
        s.total += list[i].bytes;
    while (s.piece < count && list[s.piece].bytes == 0)
        s.piece++;
    int status = 0;
    while (!status && (s.piece < count || s.under_way)) {
        if (s.piece == count || s.under_way == MWU_WINDOW) {
            status = retire(&s);
            continue;
        }
        next_request(&s);
        int error = mwu_link_send(&u->link, &s.ring[(s.first + s.under_way) % MWU_WINDOW]);
        s.under_way += !error;
        while (error && !status && s.under_way)
            status = retire(&s); // those under way show what had been moved
        if (error && !status)
            status = fail_moved(&s, error, mwu_link_why(&u->link, why));
    }
    // what is still under way points to memory of this call
    while (s.under_way) {
        mwu_link_wait(&u->link, &s.ring[s.first++ % MWU_WINDOW]);
        s.under_way--;
    }
    return status;
}

int mwu_mem_write(void *context, const struct mw_transfer *list, size_t count)
{
    return move(context, list, count, true);
}

int mwu_mem_read(void *context, const struct mw_transfer *list, size_t count)
{
    return move(context, list, count, false);
}
