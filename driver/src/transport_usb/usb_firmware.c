// SPDX-License-Identifier: Apache-2.0
//
// The transport "usb": what the device's firmware answers.
#include "transport_usb/usb_firmware.h"

#include "core/error.h"
#include "transport_usb/usb_session.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

int mwu_firmware(void *context, struct mw_firmware *f)
{
    struct usb *u = context;
    struct mw_frame_info info; // u->info stays as it is if this fails
    int status = mwu_link_info(&u->link, &info);
    if (status)
        return mwu_failed(u, status);
    u->info = info;
    *f = (struct mw_firmware){.protocol_major = u->link.version >> 16,
                              .protocol_minor = u->link.version & 0xffff,
                              .version = u->info.firmware,
                              .features = u->info.features,
                              .clock_hz = u->info.clock_hz,
                              .resets = u->info.resets,
                              .cycle_clocks = u->info.cycle_clocks ? u->info.cycle_clocks : 1};
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

/// Append the results of the tests of a mask.
static int run_tests(struct usb *u, uint32_t tests, struct mw_selftest *list, size_t max,
                     size_t *count)
{
    struct mw_frame_selftest record[MW_HOST_MAX_COMMAND / sizeof(struct mw_frame_selftest)];
    struct mwu_request r = {.type = MW_FRAME_SELFTEST,
                            .argument = tests,
                            .data = record,
                            .capacity = sizeof record,
                            .patience_ms = 600000};
    int status = mwu_call(u, &r);
    if (status)
        return status;
    for (size_t i = 0; i < r.reply_bytes / sizeof *record; i++, ++*count)
        if (*count < max)
            list[*count] = (struct mw_selftest){record[i].test, record[i].unit, record[i].checked,
                                                record[i].failed};
    return 0;
}

/// A reply has room for the results of one test of every GPU.
int mwu_selftest(void *context, uint32_t tests, struct mw_selftest *list, size_t max, size_t *count)
{
    static_assert(MW_HOST_MAX_GPUS * sizeof(struct mw_frame_selftest) <= MW_HOST_MAX_COMMAND,
                  "room");
    struct usb *u = context;
    int status = need_feature(u, MW_FEATURE_SELFTEST, "self-test");
    for (uint32_t test = 1; test && !status; test <<= 1)
        if (tests & test)
            status = run_tests(u, test, list, max, count);
    return status ? status : mwu_reset(u);
}

int mwu_log_read(void *context, uint32_t first, struct mw_log_entry *list, size_t max,
                 size_t *count)
{
    struct usb *u = context;
    struct mw_frame_log record[MW_HOST_MAX_COMMAND / sizeof(struct mw_frame_log)];
    struct mwu_request r = {
        .type = MW_FRAME_LOG_READ, .argument = first, .data = record, .capacity = sizeof record};
    int status = need_feature(u, MW_FEATURE_LOG, "error log");
    if (status || (status = mwu_call(u, &r)))
        return status;
    *count = r.reply_bytes / sizeof *record;
    *count = *count < max ? *count : max;
    for (size_t i = 0; i < *count; i++)
        list[i] = (struct mw_log_entry){record[i].number, record[i].code, record[i].detail,
                                        record[i].seconds};
    return 0;
}

// ---- feeding ------------------------------------------------------------------------------------

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

int mwu_feed(void *context, const struct mw_register *list, size_t count, bool sweep,
             uint32_t *number)
{
    struct usb *u = context;
    struct mwu_request r = {.type = MW_FRAME_FEED,
                            .argument = sweep,
                            .payload = list,
                            .payload_bytes = count * sizeof *list};
    int status = need_feed(u);
    if (!status)
        status = mwu_call(u, &r);
    *number = (uint32_t)r.reply_argument;
    return status;
}

int mwu_fed(void *context, uint32_t number, uint64_t max_cycles, struct mw_fed *fed, bool *done)
{
    struct usb *u = context;
    struct mw_frame_fed record = {0};
    struct mwu_request r = {.type = MW_FRAME_FED,
                            .argument = number,
                            .count = max_cycles < UINT32_MAX ? (uint32_t)max_cycles : UINT32_MAX,
                            .data = &record,
                            .capacity = sizeof record,
                            .patience_ms = mwu_patience(u, max_cycles)};
    *done = false;
    int status = need_feed(u);
    if (status || (status = mwu_call(u, &r)))
        return status;
    *done = r.reply_count & 1 && r.reply_bytes == sizeof record;
    *fed = (struct mw_fed){record.cycles, record.start, record.outcome, record.error};
    return 0;
}
