// SPDX-License-Identifier: Apache-2.0
//
// The lock of a device and the registers that it protects: writes are gathered, and are done in
// their order.
#include "core/registers.h"

#include "core/known_tables.h"
#include "core/state.h"

#include <stdlib.h>

// ---- lock ---------------------------------------------------------------------------------------

void mwi_lock(struct mw_device *device)
{
    if (!mwi_inherited(device))
        mwi_lock_take(&device->lock);
}

int mwi_unlock(struct mw_device *device, int status)
{
    if (mwi_inherited(device))
        return status;
    if (device->lock.depth == 1 && device->write_count) {
        int late = mwi_flush(device);
        status = status ? status : late;
    }
    mwi_lock_give(&device->lock);
    return status;
}

void mwi_hold(struct mw_device *device)
{
    device->holders++;
}

void mwi_put(struct mw_device *device)
{
    if (--device->holders) {
        mwi_unlock(device, 0);
        return;
    }
    if (!mwi_inherited(device)) {
        mwi_lock_drain(&device->lock);
        mwi_lock_free(&device->lock);
    }
    mwi_tables_free(device);
    free(device);
}

// ---- registers ----------------------------------------------------------------------------------

int mwi_flush(struct mw_device *device)
{
    unsigned count = device->write_count;
    device->write_count = 0;
    if (!count)
        return 0;
    mwi_say_nothing();
    int status = device->transport->cfg_list(device->context, device->writes, count, true);
    if (!status)
        return 0;
    mwi_fail_also(status, "%u registers cannot be written", count);
    return mwi_state_lost(device, status);
}

int mwi_read(struct mw_device *device, uint32_t address, uint32_t *value)
{
    int status = mwi_flush(device);
    if (status)
        return status;
    mwi_say_nothing();
    status = device->transport->cfg_read(device->context, address, value);
    return status ? mwi_fail_also(status, "register 0x%x cannot be read", address) : 0;
}

int mwi_read_list(struct mw_device *device, struct mw_register *list, size_t count)
{
    int status = 0;
    if (!device->transport->cfg_list) {
        for (size_t i = 0; i < count && !status; i++)
            status = mwi_read(device, list[i].address, &list[i].value);
        return status;
    }
    if ((status = mwi_flush(device)))
        return status;
    mwi_say_nothing();
    status = device->transport->cfg_list(device->context, list, count, false);
    return status ? mwi_fail_also(status, "%zu registers cannot be read", count) : 0;
}

int mwi_write(struct mw_device *device, uint32_t address, uint32_t value)
{
    if (device->transport->cfg_list) {
        device->writes[device->write_count++] = (struct mw_register){address, value};
        return device->write_count == MWI_WRITES ? mwi_flush(device) : 0;
    }
    mwi_say_nothing();
    int status = device->transport->cfg_write(device->context, address, value);
    if (!status)
        return 0;
    mwi_fail_also(status, "register 0x%x cannot be written", address);
    return mwi_state_lost(device, status);
}

// ---- sets of GPUs -------------------------------------------------------------------------------

static unsigned words_of(const struct mw_device *d)
{
    return (d->info.gpus + 31) / 32;
}

int mwi_set_read(struct mw_device *d, uint32_t address, struct mw_gpu_set *set)
{
    int status = 0;
    *set = (struct mw_gpu_set){{0}};
    for (unsigned w = 0; w < words_of(d) && !status; w++)
        status = mwi_read(d, address + 4 * w, &set->word[w]);
    return status;
}

int mwi_set_write(struct mw_device *d, uint32_t address, const struct mw_gpu_set *set)
{
    int status = 0;
    for (unsigned w = words_of(d); w-- && !status;)
        status = mwi_write(d, address + 4 * w, set->word[w]);
    return status;
}
