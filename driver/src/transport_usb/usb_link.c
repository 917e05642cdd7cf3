// SPDX-License-Identifier: Apache-2.0
//
// Two threads run this code: the caller's, one at a time, and the pipe's, which delivers replies
// and failures. The pipe's lock covers everything in struct mwu_link. When the link breaks, every
// waiting request ends at once with the same error. The parser is silenced, so that it no longer
// writes into a caller's memory. The next request synchronizes the link first.
#include "transport_usb/usb_link.h"

#include "moeswitch.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    SYNC_TRIES = 2,
    NS_PER_MS = 1000000,
};

static_assert(MWU_OUT_BYTES >= MW_HOST_SYNC_GAP + MW_HOST_HEADER_BYTES, "SYNC is one transfer");
static_assert(MWU_OUT_BYTES >= MW_HOST_HEADER_BYTES + MW_HOST_MAX_PAYLOAD + MW_HOST_TRAILER_BYTES,
              "a frame is one transfer");

const char *mwu_frame_name(unsigned type)
{
    switch (type & ~(unsigned)MW_FRAME_REPLY) {
#define NAME(name, value, text) \
    case (value) & ~(unsigned)MW_FRAME_REPLY: \
        return #name;
        MW_FRAME_LIST(NAME)
    default:
        return "unknown";
    }
}

const char *mwu_status_text(unsigned status)
{
    switch (status) {
#define TEXT(name, value, text) \
    case value: \
        return text;
        MW_STATUS_LIST(TEXT)
    default:
        return "unknown status";
    }
}

const char *mwu_link_why(struct mwu_link *link, char *text)
{
    pthread_mutex_lock(&link->pipe.lock);
    memcpy(text, link->message, MWU_MESSAGE_SIZE);
    pthread_mutex_unlock(&link->pipe.lock);
    return text;
}

// ---- breaking -----------------------------------------------------------------------------------

__attribute__((format(printf, 3, 4))) static int break_link(struct mwu_link *l, int error,
                                                            const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(l->message, sizeof l->message, format, args);
    va_end(args);
    l->error = error;
    l->in_step = false;
    mwu_reply_silence(&l->reply);
    for (; l->count; l->count--, l->first++) {
        struct mwu_request *r = l->waiting[l->first % MWU_WINDOW];
        r->error = error;
        r->done = true;
    }
    l->bulk = 0;
    mwu_pipe_wake(&l->pipe);
    return error;
}

static void pipe_worse(void *context, enum mwu_health health, const char *why)
{
    break_link(context, health == MWU_GONE ? MW_ERR_NODEV : MW_ERR_IO, "%s", why);
}

static void pipe_in(void *context, const uint8_t *bytes, size_t count, bool end)
{
    struct mwu_link *l = context;
    mwu_reply_feed(&l->reply, bytes, count, end);
}

// ---- replies ------------------------------------------------------------------------------------

static void reply_error(void *context, const char *why)
{
    break_link(context, MW_ERR_IO, "the device sent %s", why);
}

static bool reply_header(void *context, const struct mw_frame_header *h, uint8_t **data)
{
    struct mwu_link *l = context;
    if (l->searching)
        return true;
    if (h->type == MW_FRAME_LINK_ERROR) {
        break_link(l, MW_ERR_IO, "the device lost step: %s", mwu_status_text(h->status));
        return false;
    }
    struct mwu_request *r = l->count ? l->waiting[l->first % MWU_WINDOW] : NULL;
    if (!r || h->sequence != r->sequence || h->type != (r->type | MW_FRAME_REPLY)) {
        break_link(l, MW_ERR_IO, "the device sent reply %u to %s instead of %u to %s", h->sequence,
                   mwu_frame_name(h->type), r ? r->sequence : 0,
                   r ? mwu_frame_name(r->type) : "nothing");
        return false;
    }
    size_t bytes = 8 * (size_t)h->words;
    if (bytes > r->capacity || (h->status && bytes)) {
        break_link(l, MW_ERR_IO, "the device answered %s with %zu bytes", mwu_frame_name(h->type),
                   bytes);
        return false;
    }
    *data = r->data;
    return true;
}

static void reply_frame(void *context, const struct mw_frame_header *h, uint32_t status)
{
    struct mwu_link *l = context;
    mwu_pipe_wake(&l->pipe);
    if (l->searching) {
        l->searching = false;
        l->version = h->count;
        l->key = mwf_key(h);
        l->in_step = true;
        return;
    }
    struct mwu_request *r = l->waiting[l->first++ % MWU_WINDOW];
    l->count--;
    l->bulk -= r->bulk;
    r->status = status;
    r->reply_argument = h->argument;
    r->reply_count = h->count;
    r->reply_bytes = 8 * (size_t)h->words;
    r->done = true;
    // LINK_ERROR follows, and nothing that was sent after this is carried out
    if (status == MW_STATUS_PAYLOAD)
        break_link(l, MW_ERR_IO, "the device lost step: %s", mwu_status_text(status));
}

// ---- time ---------------------------------------------------------------------------------------

static struct timespec later(struct timespec t, unsigned ms)
{
    t.tv_sec += ms / 1000;
    t.tv_nsec += (long)(ms % 1000) * NS_PER_MS;
    if (t.tv_nsec >= 1000L * NS_PER_MS) {
        t.tv_sec++;
        t.tv_nsec -= 1000L * NS_PER_MS;
    }
    return t;
}

static struct timespec now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t;
}

static bool before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/// Wait for a change. Returns false when since `start`, and since the pipe last moved something,
/// the link's timeout and `patience_ms` have passed.
static bool wait_change(struct mwu_link *l, const struct timespec *start, unsigned patience_ms)
{
    struct timespec from = before(start, &l->pipe.progress) ? l->pipe.progress : *start;
    struct timespec deadline = later(from, l->timeout_ms + patience_ms), time = now();
    if (!before(&time, &deadline))
        return false;
    mwu_pipe_wait(&l->pipe, &deadline);
    return true;
}

// ---- into step ----------------------------------------------------------------------------------

/// One SYNC. The pipe has just been restarted, so a buffer is free.
static bool send_sync(struct mwu_link *l)
{
    struct mwu_slot *slot = mwu_pipe_buffer(&l->pipe);
    struct timespec time = now();
    struct mw_frame_header h = {
        .type = MW_FRAME_SYNC,
        .sequence = l->sequence,
        .argument =
            (uint64_t)time.tv_nsec << 32 | (uint32_t)(((uint32_t)time.tv_sec << 16) + ++l->syncs),
        .count = MW_HOST_PROTOCOL_MAJOR << 16 | MW_HOST_PROTOCOL_MINOR,
    };
    mwf_seal(&h);
    memset(slot->bytes, 0, MW_HOST_SYNC_GAP);
    memcpy(slot->bytes + MW_HOST_SYNC_GAP, &h, sizeof h);
    l->searching = true;
    mwu_reply_search(&l->reply, (uint32_t)h.argument);
    return mwu_pipe_send(slot, MW_HOST_SYNC_GAP + sizeof h);
}

/// A link that does not take SYNC may still be carrying out another program's request: a USB reset
/// ends that.
static int get_in_step(struct mwu_link *l)
{
    for (unsigned i = 0; i < SYNC_TRIES && !l->in_step; i++) {
        l->error = 0;
        struct timespec start = now();
        bool sent = mwu_pipe_restart(&l->pipe, i > 0) && send_sync(l);
        while (sent && !l->in_step && l->pipe.health == MWU_WELL && wait_change(l, &start, 0))
            ;
        l->searching = false;
        if (l->pipe.health == MWU_GONE)
            return break_link(l, MW_ERR_NODEV, "the device was unplugged");
    }
    if (l->in_step)
        return 0;
    if (l->error)
        return l->error;
    return break_link(l, MW_ERR_TIMEOUT, "the device did not answer SYNC for %u ms", l->timeout_ms);
}

// ---- requests -----------------------------------------------------------------------------------

static bool is_bulk(const struct mwu_request *r)
{
    return r->type == MW_FRAME_MEM_READ || r->type == MW_FRAME_MEM_WRITE;
}

static bool has_credit(const struct mwu_link *l, const struct mwu_request *r)
{
    return l->count < l->window && (!r->bulk || l->bulk + r->bulk <= l->bulk_limit);
}

/// Wait until the request may be sent and there is a buffer for it.
static struct mwu_slot *get_slot(struct mwu_link *l, const struct mwu_request *r)
{
    struct timespec start = now();
    unsigned patience = l->count ? l->waiting[l->first % MWU_WINDOW]->patience_ms : 0;
    while (l->in_step) {
        struct mwu_slot *slot = has_credit(l, r) ? mwu_pipe_buffer(&l->pipe) : NULL;
        if (slot)
            return slot;
        if (!wait_change(l, &start, patience))
            break_link(l, MW_ERR_TIMEOUT, "the device did not move for %u ms",
                       l->timeout_ms + patience);
    }
    return NULL;
}

static size_t build(const struct mwu_request *r, uint32_t key, uint8_t *bytes)
{
    struct mw_frame_header h = {
        .type = r->type,
        .sequence = r->sequence,
        .words = (uint16_t)(r->payload_bytes / 8),
        .argument = r->argument,
        .count = r->count,
    };
    mwf_seal_request(&h, key);
    memcpy(bytes, &h, sizeof h);
    if (!r->payload_bytes)
        return sizeof h;
    uint32_t crc =
        mwf_crc_copy(mwf_payload_start(&h, key), bytes + sizeof h, r->payload, r->payload_bytes);
    struct mw_frame_trailer t = mwf_trailer_behind(crc, MW_STATUS_OK);
    memcpy(bytes + sizeof h + r->payload_bytes, &t, sizeof t);
    return mwf_bytes(r->payload_bytes);
}

int mwu_link_send(struct mwu_link *link, struct mwu_request *request)
{
    struct mwu_link *l = link;
    struct mwu_request *r = request;
    r->done = false;
    r->error = 0;
    r->bulk = !is_bulk(r) ? 0 : r->type == MW_FRAME_MEM_WRITE ? r->payload_bytes : r->count;
    pthread_mutex_lock(&l->pipe.lock);
    int error = l->in_step ? 0 : get_in_step(l);
    struct mwu_slot *slot = error ? NULL : get_slot(l, r);
    if (!error && !slot)
        error = l->error;
    if (!error) {
        r->sequence = ++l->sequence;
        // The slot is this thread's until it is queued: no need to keep replies waiting meanwhile.
        pthread_mutex_unlock(&l->pipe.lock);
        size_t bytes = build(r, l->key, slot->bytes);
        pthread_mutex_lock(&l->pipe.lock);
        if (l->in_step) {
            l->waiting[(l->first + l->count++) % MWU_WINDOW] = r;
            l->bulk += r->bulk;
            mwu_pipe_send(slot, bytes); // a failure breaks the link, which ends this request, too
        }
        error = l->in_step ? 0 : l->error;
    }
    r->error = error;
    pthread_mutex_unlock(&l->pipe.lock);
    return error;
}

int mwu_link_wait(struct mwu_link *link, struct mwu_request *request)
{
    struct timespec start = now();
    pthread_mutex_lock(&link->pipe.lock);
    while (!request->done)
        if (!wait_change(link, &start, request->patience_ms))
            break_link(link, MW_ERR_TIMEOUT, "no reply to %s for %u ms",
                       mwu_frame_name(request->type), link->timeout_ms + request->patience_ms);
    pthread_mutex_unlock(&link->pipe.lock);
    return request->error;
}

int mwu_link_call(struct mwu_link *link, struct mwu_request *request)
{
    int error = mwu_link_send(link, request);
    return error ? error : mwu_link_wait(link, request);
}

// ---- start and end ------------------------------------------------------------------------------

int mwu_link_start(struct mwu_link *link, libusb_context *context, libusb_device_handle *handle,
                   unsigned timeout_ms)
{
    *link = (struct mwu_link){.timeout_ms = timeout_ms,
                              .window = 1,
                              .sequence = (uint16_t)now().tv_nsec,
                              .pipe_owner = {link, pipe_in, pipe_worse},
                              .reply_owner = {link, reply_header, reply_frame, reply_error}};
    mwu_reply_init(&link->reply, &link->reply_owner);
    int error = mwu_pipe_start(&link->pipe, &link->pipe_owner, context, handle);
    if (!error)
        return 0;
    snprintf(link->message, sizeof link->message, "%s", libusb_strerror(error));
    return error == LIBUSB_ERROR_NO_MEM ? MW_ERR_NOMEM : MW_ERR_IO;
}

void mwu_link_stop(struct mwu_link *link)
{
    mwu_pipe_stop(&link->pipe);
}

/// What the caller's thread finds wrong.
__attribute__((format(printf, 3, 4))) static int complain(struct mwu_link *l, int error,
                                                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&l->pipe.lock);
    vsnprintf(l->message, sizeof l->message, format, args);
    pthread_mutex_unlock(&l->pipe.lock);
    va_end(args);
    return error;
}

static int version_error(struct mwu_link *l, const char *what, const char *upgrade)
{
    return complain(
        l, MW_ERR_VERSION,
        "the device speaks version %u.%u of the host protocol, this library %d.%d%s: upgrade %s",
        l->version >> 16, l->version & 0xffff, MW_HOST_PROTOCOL_MAJOR, MW_HOST_PROTOCOL_MINOR, what,
        upgrade);
}

/// The credits that it gives. Its limits may be above those of this end.
static int take_credits(struct mwu_link *l, const struct mw_frame_info *info)
{
    if (!info->window || info->max_payload < MW_HOST_MEM_BYTES_ALIGN ||
        info->bulk_bytes < info->max_payload)
        return complain(l, MW_ERR_VERSION, "the device gives %u requests and %u bytes credit",
                        info->window, info->bulk_bytes);
    l->window = info->window < MWU_WINDOW ? info->window : MWU_WINDOW;
    l->bulk_limit = info->bulk_bytes;
    l->max_payload =
        info->max_payload < MW_HOST_MAX_PAYLOAD ? info->max_payload : MW_HOST_MAX_PAYLOAD;
    l->max_payload -= l->max_payload % MW_HOST_MEM_BYTES_ALIGN;
    return 0;
}

int mwu_link_info(struct mwu_link *link, struct mw_frame_info *info)
{
    struct mwu_request r = {.type = MW_FRAME_INFO, .data = info, .capacity = sizeof *info};
    memset(info, 0, sizeof *info);
    int error = mwu_link_call(link, &r);
    if (error)
        return error;
    unsigned major = link->version >> 16;
    if (major != MW_HOST_PROTOCOL_MAJOR)
        return version_error(
            link, "", major < MW_HOST_PROTOCOL_MAJOR ? "the device's firmware" : "this library");
    if (r.status == MW_STATUS_STATE)
        return complain(link, MW_ERR_FIRMWARE, "the device's processor is held");
    if (r.status == MW_STATUS_FAULT)
        return complain(link, MW_ERR_FIRMWARE, "the device's processor started anew");
    if (r.status || r.reply_bytes != sizeof *info)
        return complain(link, MW_ERR_IO, "INFO: %s, %zu bytes", mwu_status_text(r.status),
                        r.reply_bytes);
    if (info->needs_minor > MW_HOST_PROTOCOL_MINOR)
        return version_error(link, ", which it finds too old", "this library");
    return take_credits(link, info);
}
