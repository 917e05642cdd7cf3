// SPDX-License-Identifier: Apache-2.0
#include "transport_usb/usb_session.h"

#include "core/error.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TIMEOUT_MS = 10000, ///< without anything moving, where the caller names none
    SLOW_HZ = 2000,     ///< clock cycles per second that a simulated device reaches at least
};

// ---- calls --------------------------------------------------------------------------------------

int mwu_status_code(uint32_t status)
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

int mwu_failed(struct usb *u, int error)
{
    char why[MWU_MESSAGE_SIZE];
    return mwi_fail(error, "%s: %s", u->name, mwu_link_why(&u->link, why));
}

/// The code of an ended request, with a message where it failed.
static int judge(struct usb *u, const struct mwu_request *r)
{
    if (r->error)
        return mwu_failed(u, r->error);
    if (r->status)
        return mwi_fail(mwu_status_code(r->status), "%s: %s: %s", u->name, mwu_frame_name(r->type),
                        mwu_status_text(r->status));
    return 0;
}

int mwu_call(struct usb *u, struct mwu_request *r)
{
    int error = mwu_link_call(&u->link, r);
    return error ? mwu_failed(u, error) : judge(u, r);
}

int mwu_registers(struct usb *u, struct mw_register *list, size_t count, bool write)
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
        int status = mwu_call(u, &r);
        if (status && !r.error && at + r.reply_count < count)
            mwi_fail(status, "%s: register 0x%x cannot be %s: %s", u->name,
                     list[at + r.reply_count].address, write ? "written" : "read",
                     mwu_status_text(r.status));
        if (status)
            return status;
    }
    return 0;
}

uint32_t mwu_cycles_hz(const struct mw_frame_info *info)
{
    return info->clock_hz / (info->cycle_clocks ? info->cycle_clocks : 1);
}

unsigned mwu_patience(const struct usb *u, uint64_t cycles)
{
    uint32_t hz = mwu_cycles_hz(&u->info);
    uint64_t ms = cycles * 1000 / (hz ? hz : SLOW_HZ);
    return ms < INT32_MAX ? (unsigned)ms : INT32_MAX;
}

// ---- opening ------------------------------------------------------------------------------------

int mwu_reset(struct usb *u)
{
    struct mwu_request r = {.type = MW_FRAME_RESET};
    return mwu_call(u, &r);
}

static int check_features(struct usb *u)
{
    if (u->info.features >> MW_FEATURE_FABRIC & 1)
        return 0;
    return mwi_fail(MW_ERR_VERSION, "%s: the device has no fabric", u->name);
}

/// If SYNC was answered and INFO was not, the failure is the firmware's, not the link's.
int mwu_greet(struct usb *u)
{
    int status = mwu_link_info(&u->link, &u->info);
    char why[MWU_MESSAGE_SIZE];
    if (!status)
        return check_features(u);
    if (status == MW_ERR_TIMEOUT && u->link.version)
        status = MW_ERR_FIRMWARE;
    if (status != MW_ERR_FIRMWARE)
        return mwu_failed(u, status);
    return mwi_fail(status,
                    "%s: %s: its firmware does not answer; `moeswitch firmware FILE` loads one",
                    u->name, mwu_link_why(&u->link, why));
}

void mwu_disconnect(struct usb *u)
{
    mwu_link_stop(&u->link);
    mwu_device_close(&u->device);
    free(u);
}

int mwu_connect(const struct mw_open_options *o, struct usb **usb)
{
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
        mwi_fail(status, "%s: %s", u->name, u->link.message); // the message is freed with u
        mwu_device_close(&u->device);
        free(u);
        return status;
    }
    *usb = u;
    return 0;
}
