// SPDX-License-Identifier: Apache-2.0
//
// Calls that a device's firmware answers.
#include "internal.h"

static int no_firmware(struct mw_device *d)
{
    return mwi_fail(MW_ERR_NODEV, "transport %s: there is no firmware", d->transport->name);
}

int mw_firmware_info(struct mw_device *device, struct mw_firmware *firmware)
{
    mwi_lock(device);
    int status = !device->transport->firmware
                     ? no_firmware(device)
                     : device->transport->firmware(device->context, firmware);
    return mwi_unlock(device, status);
}

int mw_selftest(struct mw_device *device, uint32_t tests, struct mw_selftest *list, size_t max,
                size_t *count)
{
    mwi_lock(device);
    *count = 0;
    int status = mwi_check_idle(device, "mw_selftest");
    if (!status && !device->transport->selftest)
        status = no_firmware(device);
    if (!status)
        status = device->transport->selftest(device->context, tests, list, max, count);
    if (!status) {
        // reset: what was written before is gone
        device->sweep = true;
        device->configured = false;
        status = mwi_write(device, MWI_FABRIC(link), device->info.link_latency);
    }
    return mwi_unlock(device, status);
}

int mw_log_read(struct mw_device *device, uint32_t first, struct mw_log_entry *list, size_t max,
                size_t *count)
{
    mwi_lock(device);
    *count = 0;
    int status = !device->transport->log_read
                     ? no_firmware(device)
                     : device->transport->log_read(device->context, first, list, max, count);
    return mwi_unlock(device, status);
}
