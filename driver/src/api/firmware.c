// SPDX-License-Identifier: Apache-2.0
//
// Calls that a device's firmware answers.
#include "core/registers.h"
#include "core/state.h"
#include "core/tables.h"

static int no_firmware(struct mw_device *d)
{
    return mwi_fail(MW_ERR_NODEV, "transport %s: there is no firmware", d->transport->name);
}

/// It only looks: allowed in the unknown state, too.
static int check_look(struct mw_device *d, const char *call, bool can)
{
    int status = mwi_check_open(d, call);
    if (!status)
        status = can ? mwi_flush(d) : no_firmware(d);
    if (!status)
        mwi_say_nothing();
    return status;
}

int mw_firmware_info(struct mw_device *device, struct mw_firmware *firmware)
{
    MWI_NEED(device);
    MWI_NEED(firmware);
    struct mw_firmware got = {0};
    mwi_lock(device);
    int status = check_look(device, __func__, device->transport->firmware);
    if (!status)
        status = device->transport->firmware(device->context, &got);
    if (!status)
        *firmware = got;
    return mwi_unlock(device, status ? mwi_fail_also(status, "the firmware does not answer") : 0);
}

int mw_selftest(struct mw_device *device, uint32_t tests, struct mw_selftest *list, size_t max,
                size_t *count)
{
    MWI_NEED(device);
    MWI_NEED(count);
    *count = 0;
    if (max)
        MWI_NEED(list);
    mwi_lock(device);
    int status = mwi_check_idle(device, __func__);
    if (!status && !device->transport->selftest)
        status = no_firmware(device);
    if (!status)
        status = mwi_flush(device);
    if (status)
        return mwi_unlock(device, status);
    mwi_say_nothing();
    status = device->transport->selftest(device->context, tests, list, max, count);
    if (!status) {
        mwi_state_reset(device); // what was written before is gone
        status = mwi_restore(device);
    } else if (status != MW_ERR_VERSION && status != MW_ERR_STATE) { // which it answers at once
        mwi_fail_also(status, "the self-test failed");
        mwi_state_lost(device, status);
    }
    return mwi_unlock(device, status);
}

int mw_log_read(struct mw_device *device, uint32_t first, struct mw_log_entry *list, size_t max,
                size_t *count)
{
    MWI_NEED(device);
    MWI_NEED(count);
    *count = 0;
    if (max)
        MWI_NEED(list);
    mwi_lock(device);
    int status = check_look(device, __func__, device->transport->log_read);
    if (!status)
        status = device->transport->log_read(device->context, first, list, max, count);
    return mwi_unlock(device, status ? mwi_fail_also(status, "the log cannot be read") : 0);
}
