// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: the reply parser. The input defines the transfers: good, damaged or not frames
// at all, and their pieces. A second reader, which sees each transfer whole, computes what the
// parser must report.
#include "input.h"
#include "transport_usb/usb_reply.h"

#include <stdlib.h>
#include <string.h>

enum {
    EVENTS = 64,
    TRANSFERS = 8,
    TRANSFER_BYTES = 256,
    NUMBER = 0x1234567, ///< of SYNC
};

enum kind { HEADER_REFUSED = 1, FRAME, ERROR };

struct event { // without padding, so that two can be compared byte by byte
    enum kind kind;
    uint32_t sequence;
    uint32_t status;
    uint32_t check; ///< CRC of the payload
};

struct log {
    struct event event[EVENTS];
    unsigned count;
};

static void note(struct log *log, struct event e)
{
    if (log->count < EVENTS)
        log->event[log->count++] = e;
}

/// A frame that both readers refuse, as the library refuses an unexpected reply.
static bool refused(const struct mw_frame_header *h)
{
    return h->type == MW_FRAME_LINK_ERROR || h->sequence % 61 == 60;
}

/// Whether the payload is stored, or only checked.
static bool wanted(const struct mw_frame_header *h)
{
    return h->sequence % 2;
}

// ---- the parser under test ----------------------------------------------------------------------

struct owner {
    struct log log;
    uint8_t *data; ///< of exactly the payload's size, so that a byte too much is seen
};

static bool on_header(void *context, const struct mw_frame_header *h, uint8_t **data)
{
    struct owner *o = context;
    free(o->data);
    o->data = NULL;
    if (refused(h)) {
        note(&o->log, (struct event){.kind = HEADER_REFUSED, .sequence = h->sequence});
        return false;
    }
    if (wanted(h) && h->words)
        *data = o->data = calloc(h->words, 8);
    return true;
}

static void on_frame(void *context, const struct mw_frame_header *h, uint32_t status)
{
    struct owner *o = context;
    note(&o->log, (struct event){.kind = FRAME,
                                 .sequence = h->sequence,
                                 .status = status,
                                 .check = o->data ? mwf_crc(0, o->data, 8 * (size_t)h->words) : 0});
}

static void on_error(void *context, const char *why)
{
    struct owner *o = context;
    (void)why;
    note(&o->log, (struct event){.kind = ERROR});
}

// ---- the reader of whole transfers --------------------------------------------------------------

struct reader {
    struct log log;
    bool silent, searching;
};

static void read_error(struct reader *r)
{
    note(&r->log, (struct event){.kind = ERROR});
    r->silent = true;
}

static void read_frame(struct reader *r, const struct mw_frame_header *h, const uint8_t *bytes,
                       size_t count)
{
    size_t payload = 8 * (size_t)h->words, whole = mwf_bytes(payload);
    struct mw_frame_trailer t = {0};
    if (refused(h)) {
        note(&r->log, (struct event){.kind = HEADER_REFUSED, .sequence = h->sequence});
        r->silent = true;
        return;
    }
    if (count < whole) {
        read_error(r);
        return;
    }
    if (payload) {
        memcpy(&t, bytes + MW_HOST_HEADER_BYTES + payload, sizeof t);
        struct mw_frame_trailer right =
            mwf_trailer(bytes + MW_HOST_HEADER_BYTES, payload, t.status);
        if (right.crc != t.crc) {
            read_error(r);
            return;
        }
    }
    note(&r->log, (struct event){.kind = FRAME,
                                 .sequence = h->sequence,
                                 .status = h->status ? h->status : t.status,
                                 .check = wanted(h) && payload
                                              ? mwf_crc(0, bytes + MW_HOST_HEADER_BYTES, payload)
                                              : 0});
    if (count > whole)
        read_error(r);
}

static void read_transfer(struct reader *r, const uint8_t *bytes, size_t count)
{
    struct mw_frame_header h;
    if (r->silent || count == 0)
        return;
    bool whole = count >= sizeof h;
    memset(&h, 0, sizeof h);
    if (whole)
        memcpy(&h, bytes, sizeof h);
    bool ok = whole && mwf_header_ok(&h);
    if (r->searching) {
        if (!ok || h.type != (MW_FRAME_SYNC | MW_FRAME_REPLY) || h.argument != NUMBER || h.words)
            return;
        r->searching = false;
    }
    if (ok)
        read_frame(r, &h, bytes, count);
    else
        read_error(r);
}

// ---- the input ----------------------------------------------------------------------------------

/// A transfer: usually a good frame, then damaged as the input defines.
static size_t make_transfer(struct input *in, uint8_t *bytes)
{
    static const uint8_t types[] = {MW_FRAME_SYNC, MW_FRAME_INFO, MW_FRAME_MEM_READ, MW_FRAME_WAIT};
    unsigned shape = byte(in), words = byte(in) % 17;
    struct mw_frame_header h = {.type = types[shape % 4] | MW_FRAME_REPLY,
                                .status = shape & 0x10 ? (uint8_t)byte(in) : 0,
                                .sequence = (uint16_t)byte(in),
                                .words = (uint16_t)(shape & 4 ? words : 0),
                                .argument = shape & 8 ? byte(in) : NUMBER};
    if (shape & 0x20 && byte(in) % 4 == 0)
        h.words = (uint16_t)(byte(in) << 8 | byte(in));
    size_t payload = 8 * (size_t)(h.words < 17 ? h.words : 16);
    mwf_seal(&h);
    memcpy(bytes, &h, sizeof h);
    for (size_t i = 0; i < payload; i++)
        bytes[sizeof h + i] = (uint8_t)(byte(in) + i);
    struct mw_frame_trailer t = mwf_trailer(bytes + sizeof h, payload, shape & 0x40 ? byte(in) : 0);
    memcpy(bytes + sizeof h + payload, &t, sizeof t);
    size_t count = mwf_bytes(payload);
    if (shape & 0x80) {
        unsigned how;
        count = damage(in, bytes, count, &how);
        for (unsigned more = how & 4 ? how >> 3 : 0; more && count < TRANSFER_BYTES; more--)
            bytes[count++] = (uint8_t)byte(in);
    }
    return count;
}

/// The same bytes, in pieces.
static void feed(struct mwu_reply *reply, struct input *in, const uint8_t *bytes, size_t count)
{
    while (count > 1 && byte(in) % 4 == 0) {
        size_t piece = 1 + byte(in) % (count - 1);
        uint8_t *copy = malloc(piece);
        memcpy(copy, bytes, piece);
        mwu_reply_feed(reply, copy, piece, false);
        free(copy);
        bytes += piece;
        count -= piece;
    }
    mwu_reply_feed(reply, bytes, count, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct owner owner = {0};
    struct reader reader = {.silent = true};
    struct mwu_reply reply;
    const struct mwu_reply_owner calls = {&owner, on_header, on_frame, on_error};
    mwu_reply_init(&reply, &calls);
    for (unsigned i = 0; i < TRANSFERS && in.left; i++) {
        uint8_t bytes[TRANSFER_BYTES];
        if (byte(&in) % 8 == 0 || i == 0) {
            mwu_reply_search(&reply, NUMBER);
            reader.silent = false;
            reader.searching = true;
        }
        size_t count = make_transfer(&in, bytes);
        read_transfer(&reader, bytes, count);
        feed(&reply, &in, bytes, count);
    }
    free(owner.data);
    if (owner.log.count != reader.log.count ||
        memcmp(owner.log.event, reader.log.event, sizeof owner.log.event) != 0)
        abort();
    return 0;
}
