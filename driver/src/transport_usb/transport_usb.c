// SPDX-License-Identifier: Apache-2.0
//
// The library's calls as requests of the host protocol.
#include "transport_usb/transport_usb.h"

#include "transport_usb/usb_firmware.h"
#include "transport_usb/usb_firmware_load.h"
#include "transport_usb/usb_memory.h"
#include "transport_usb/usb_session.h"

static void usb_close(void *context)
{
    mwu_disconnect(context);
}

static int usb_open(const struct mw_open_options *o, void **context, char *message, size_t size)
{
    (void)message; // mwi_fail has it
    (void)size;
    struct usb *u;
    int status = mwu_connect(o, &u);
    if (status)
        return status;
    status = mwu_greet(u);
    if (!status)
        status = mwu_reset(u);
    if (status) {
        mwu_disconnect(u);
        return status;
    }
    *context = u;
    return 0;
}

static int usb_cfg_read(void *context, uint32_t address, uint32_t *value)
{
    struct mw_register r = {.address = address};
    int status = mwu_registers(context, &r, 1, false);
    *value = r.value;
    return status;
}

static int usb_cfg_write(void *context, uint32_t address, uint32_t value)
{
    struct mw_register r = {.address = address, .value = value};
    return mwu_registers(context, &r, 1, true);
}

static int usb_cfg_list(void *context, struct mw_register *list, size_t count, bool write)
{
    return mwu_registers(context, list, count, write);
}

static int usb_run_until(void *context, uint64_t max_cycles, bool *done)
{
    struct usb *u = context;
    struct mwu_request r = {
        .type = MW_FRAME_WAIT, .argument = max_cycles, .patience_ms = mwu_patience(u, max_cycles)};
    int status = mwu_call(u, &r);
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

static int usb_reset(void *context)
{
    return mwu_reset(context);
}

/// Some ten milliseconds, which the device spends alone.
static uint64_t usb_slice(void *context)
{
    enum { SIMULATED = 8192, PER_SECOND = 100 };
    struct usb *u = context;
    uint32_t hz = mwu_cycles_hz(&u->info);
    return hz ? hz / PER_SECOND + 1 : SIMULATED;
}

const struct mw_transport mwi_transport_usb = {
    .size = sizeof(struct mw_transport),
    .name = "usb",
    .open = usb_open,
    .close = usb_close,
    .cfg_read = usb_cfg_read,
    .cfg_write = usb_cfg_write,
    .mem_write = mwu_mem_write,
    .mem_read = mwu_mem_read,
    .run_until = usb_run_until,
    .total_cycles = usb_total_cycles,
    .cfg_list = usb_cfg_list,
    .firmware = mwu_firmware,
    .selftest = mwu_selftest,
    .log_read = mwu_log_read,
    .feed = mwu_feed,
    .fed = mwu_fed,
    .reset = usb_reset,
    .slice = usb_slice,
    .image_read = mwu_image_read,
    .image_load = mwu_image_load,
};
