// SPDX-License-Identifier: Apache-2.0
//
// The transport "usb": the library's calls as requests of the host protocol. Memory moves in pieces of
// the device's largest payload, as many under way as its credits allow.
#include "usb_devices.h"
#include "usb_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMEOUT_MS = 10000, ///< without anything moving, where the caller names none
    NAME_SIZE = 96,
    SLOW_HZ = 2000, ///< clock cycles per second that a simulated device reaches at least
};

struct usb {
    struct mwu_device device;
    struct mwu_link link;
    struct mw_frame_info info;
    char name[NAME_SIZE]; ///< for messages
    uint64_t cycles;      ///< as last heard of
};

// ---- calls --------------------------------------------------------------------------------------------------

static int status_code(uint32_t status)
{
    switch (status) {
    case MW_STATUS_OK:
        return 0;
    case MW_STATUS_RANGE:
        return MW_ERR_RANGE;
    case MW_STATUS_STATE:
        return MW_ERR_STATE;
    case MW_STATUS_VERSION:
    case MW_STATUS_TYPE:
        return MW_ERR_VERSION;
    default:
        return MW_ERR_IO;
    }
}

/// The code of an ended request, with a message where it failed.
static int judge(struct usb *u, const struct mwu_request *r)
{
    if (r->error)
        return mwi_fail(r->error, "%s: %s", u->name, u->link.message);
    if (r->status)
        return mwi_fail(status_code(r->status), "%s: %s: %s", u->name, mwu_frame_name(r->type),
                        mwu_status_text(r->status));
    return 0;
}

static int call(struct usb *u, struct mwu_request *r)
{
    int error = mwu_link_call(&u->link, r);
    return error ? mwi_fail(error, "%s: %s", u->name, u->link.message) : judge(u, r);
}

// ---- opening ------------------------------------------------------------------------------------------------

static int reset(struct usb *u)
{
    struct mwu_request r = {.type = MW_FRAME_RESET};
    return call(u, &r);
}

static int check_features(struct usb *u)
{
    if (u->info.features >> MW_FEATURE_FABRIC & 1)
        return 0;
    return mwi_fail(MW_ERR_VERSION, "%s: the device has no fabric", u->name);
}

static void usb_close(void *context)
{
    struct usb *u = context;
    mwu_link_stop(&u->link);
    mwu_device_close(&u->device);
    free(u);
}

static int usb_open(const struct mw_open_options *o, void **context, char *message, size_t size)
{
    (void)message; // mwi_fail has it
    (void)size;
    struct usb *u = calloc(1, sizeof *u);
    if (!u)
        return MW_ERR_NOMEM;
    int status = mwu_device_open(&u->device, o->serial);
    if (status) {
        free(u);
        return status;
    }
    snprintf(u->name, sizeof u->name, "usb:%s", u->device.serial);
    status = mwu_link_start(&u->link, u->device.context, u->device.handle,
                            o->timeout_ms ? o->timeout_ms : TIMEOUT_MS);
    if (status) {
        mwi_fail(status, "%s: %s", u->name, u->link.message);
        mwu_device_close(&u->device);
        free(u);
        return status;
    }
    if ((status = mwu_link_info(&u->link, &u->info)))
        mwi_fail(status, "%s: %s", u->name, u->link.message);
    if (!status)
        status = check_features(u);
    if (!status)
        status = reset(u);
    if (status) {
        usb_close(u);
        return status;
    }
    *context = u;
    return 0;
}

// ---- registers ----------------------------------------------------------------------------------------------

static int registers(struct usb *u, struct mw_register *list, size_t count, bool write)
{
    enum { MOST = MW_HOST_MAX_COMMAND / sizeof(struct mw_register) };
    static_assert(sizeof(struct mw_register) == sizeof(struct mw_frame_register), "the same thing");
    for (size_t at = 0, n; at < count; at += n) {
        n = count - at < MOST ? count - at : MOST;
        struct mwu_request r = {.type = write ? MW_FRAME_REG_WRITE : MW_FRAME_REG_READ,
                                .payload = &list[at],
                                .payload_bytes = n * sizeof *list,
                                .data = write ? NULL : &list[at],
                                .capacity = write ? 0 : n * sizeof *list};
        int status = call(u, &r);
        if (status && !r.error && at + r.reply_count < count)
            mwi_fail(status, "%s: register 0x%x cannot be %s: %s", u->name,
                     list[at + r.reply_count].address, write ? "written" : "read",
                     mwu_status_text(r.status));
        if (status)
            return status;
    }
    return 0;
}

static int usb_cfg_read(void *context, uint32_t address, uint32_t *value)
{
    struct mw_register r = {.address = address};
    int status = registers(context, &r, 1, false);
    *value = r.value;
    return status;
}

static int usb_cfg_write(void *context, uint32_t address, uint32_t value)
{
    struct mw_register r = {.address = address, .value = value};
    return registers(context, &r, 1, true);
}

static int usb_cfg_list(void *context, struct mw_register *list, size_t count, bool write)
{
    return registers(context, list, count, write);
}

// ---- memory -------------------------------------------------------------------------------------------------

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
    int error = mwu_link_wait(&s->usb->link, r);
    if (error)
        return fail_moved(s, error, s->usb->link.message);
    if (r->status)
        return fail_moved(s, status_code(r->status), mwu_status_text(r->status));
    if (!s->write && r->reply_bytes != r->capacity)
        return fail_moved(s, MW_ERR_IO, "the device sent too little");
    s->moved += s->write ? r->payload_bytes : r->reply_bytes;
    return 0;
}

static int move(struct usb *u, const struct mw_transfer *list, size_t count, bool write)
{
    struct stream s = {.usb = u, .list = list, .count = count, .write = write};
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
            status = retire(&s); // those under way tell what had been moved
        if (error && !status)
            status = fail_moved(&s, error, u->link.message);
    }
    // what is still under way points to memory of this call
    while (s.under_way) {
        mwu_link_wait(&u->link, &s.ring[s.first++ % MWU_WINDOW]);
        s.under_way--;
    }
    return status;
}

static int usb_mem_write(void *context, const struct mw_transfer *list, size_t count)
{
    return move(context, list, count, true);
}

static int usb_mem_read(void *context, const struct mw_transfer *list, size_t count)
{
    return move(context, list, count, false);
}

// ---- running ------------------------------------------------------------------------------------------------

/// How long that many cycles may take.
static unsigned patience(const struct usb *u, uint64_t cycles)
{
    uint64_t hz = u->info.clock_hz ? u->info.clock_hz : SLOW_HZ, ms = cycles * 1000 / hz;
    return ms < INT32_MAX ? (unsigned)ms : INT32_MAX;
}

static int usb_run_until(void *context, uint64_t max_cycles, bool *done)
{
    struct usb *u = context;
    struct mwu_request r = {
        .type = MW_FRAME_WAIT, .argument = max_cycles, .patience_ms = patience(u, max_cycles)};
    int status = call(u, &r);
    *done = r.reply_count & 1;
    if (!status)
        u->cycles = r.reply_argument;
    return status;
}

static uint64_t usb_total_cycles(void *context)
{
    struct usb *u = context;
    bool done;
    usb_run_until(u, 0, &done);
    return u->cycles;
}

// ---- firmware -----------------------------------------------------------------------------------------------

static int usb_firmware(void *context, struct mw_firmware *f)
{
    struct usb *u = context;
    struct mw_frame_info info; // what is known stays, whatever becomes of this
    int status = mwu_link_info(&u->link, &info);
    if (status)
        return mwi_fail(status, "%s: %s", u->name, u->link.message);
    u->info = info;
    *f = (struct mw_firmware){.protocol_major = u->link.version >> 16,
                              .protocol_minor = u->link.version & 0xffff,
                              .version = u->info.firmware,
                              .features = u->info.features,
                              .clock_hz = u->info.clock_hz,
                              .resets = u->info.resets};
    static_assert(sizeof f->name > sizeof u->info.name, "and an end");
    memcpy(f->name, u->info.name, sizeof u->info.name);
    snprintf(f->serial, sizeof f->serial, "%s", u->device.serial);
    return 0;
}

static int need_feature(struct usb *u, unsigned feature, const char *what)
{
    if (u->info.features >> feature & 1)
        return 0;
    return mwi_fail(MW_ERR_VERSION, "%s: the device's firmware has no %s: upgrade it", u->name,
                    what);
}

static int usb_selftest(void *context, uint32_t tests, struct mw_selftest *list, size_t max,
                        size_t *count)
{
    struct usb *u = context;
    struct mw_frame_selftest record[MW_HOST_MAX_COMMAND / sizeof(struct mw_frame_selftest)];
    struct mwu_request r = {.type = MW_FRAME_SELFTEST,
                            .argument = tests,
                            .data = record,
                            .capacity = sizeof record,
                            .patience_ms = 600000};
    int status = need_feature(u, MW_FEATURE_SELFTEST, "self-test");
    if (status || (status = call(u, &r)))
        return status;
    *count = r.reply_bytes / sizeof *record;
    for (size_t i = 0; i < *count && i < max; i++)
        list[i] = (struct mw_selftest){record[i].test, record[i].unit, record[i].checked,
                                       record[i].failed};
    return reset(u);
}

static int usb_log_read(void *context, uint32_t first, struct mw_log_entry *list, size_t max,
                        size_t *count)
{
    struct usb *u = context;
    struct mw_frame_log record[MW_HOST_MAX_COMMAND / sizeof(struct mw_frame_log)];
    struct mwu_request r = {
        .type = MW_FRAME_LOG_READ, .argument = first, .data = record, .capacity = sizeof record};
    int status = need_feature(u, MW_FEATURE_LOG, "error log");
    if (status || (status = call(u, &r)))
        return status;
    *count = r.reply_bytes / sizeof *record;
    *count = *count < max ? *count : max;
    for (size_t i = 0; i < *count; i++)
        list[i] = (struct mw_log_entry){record[i].number, record[i].code, record[i].detail,
                                        record[i].seconds};
    return 0;
}

// ---- feeding ------------------------------------------------------------------------------------------------

static int need_feed(struct usb *u)
{
    enum { SINCE = 1 }; // minor version
    if ((u->link.version & 0xffff) < SINCE)
        return mwi_fail(MW_ERR_VERSION,
                        "%s: the device speaks version %u.%u of the host protocol, which has no "
                        "queue of layers: upgrade its firmware",
                        u->name, u->link.version >> 16, u->link.version & 0xffff);
    return need_feature(u, MW_FEATURE_FEED, "queue of layers");
}

static int usb_feed(void *context, const struct mw_register *list, size_t count, bool sweep,
                    uint32_t *number)
{
    struct usb *u = context;
    struct mwu_request r = {.type = MW_FRAME_FEED,
                            .argument = sweep,
                            .payload = list,
                            .payload_bytes = count * sizeof *list};
    int status = need_feed(u);
    if (!status)
        status = call(u, &r);
    *number = (uint32_t)r.reply_argument;
    return status;
}

static int usb_fed(void *context, uint32_t number, uint64_t max_cycles, struct mw_fed *fed,
                   bool *done)
{
    struct usb *u = context;
    struct mw_frame_fed record = {0};
    struct mwu_request r = {.type = MW_FRAME_FED,
                            .argument = number,
                            .count = max_cycles < UINT32_MAX ? (uint32_t)max_cycles : UINT32_MAX,
                            .data = &record,
                            .capacity = sizeof record,
                            .patience_ms = patience(u, max_cycles)};
    *done = false;
    int status = need_feed(u);
    if (status || (status = call(u, &r)))
        return status;
    *done = r.reply_count & 1 && r.reply_bytes == sizeof record;
    *fed = (struct mw_fed){record.cycles, record.start, record.outcome, record.error};
    return 0;
}

static int usb_reset(void *context)
{
    return reset(context);
}

/// Some ten milliseconds, which the device spends alone.
static uint64_t usb_slice(void *context)
{
    enum { SIMULATED = 8192, PER_SECOND = 100 };
    struct usb *u = context;
    return u->info.clock_hz ? u->info.clock_hz / PER_SECOND + 1 : SIMULATED;
}

const struct mw_transport mwi_transport_usb = {
    .name = "usb",
    .open = usb_open,
    .close = usb_close,
    .cfg_read = usb_cfg_read,
    .cfg_write = usb_cfg_write,
    .mem_write = usb_mem_write,
    .mem_read = usb_mem_read,
    .run_until = usb_run_until,
    .total_cycles = usb_total_cycles,
    .cfg_list = usb_cfg_list,
    .firmware = usb_firmware,
    .selftest = usb_selftest,
    .log_read = usb_log_read,
    .feed = usb_feed,
    .fed = usb_fed,
    .reset = usb_reset,
    .slice = usb_slice,
};
