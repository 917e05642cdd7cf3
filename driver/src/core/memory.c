// SPDX-License-Identifier: Apache-2.0
//
// GPU memories: what may be moved, and moving it.
#include "core/memory.h"

#include "core/registers.h"
#include "core/state.h"

static int check_transfers(const struct mw_device *d, const char *call,
                           const struct mw_transfer *list, size_t count)
{
    if (count && !list)
        return mwi_fail(MW_ERR_INVALID, "%s: list is NULL", call);
    for (size_t i = 0; i < count; i++) {
        const struct mw_transfer *t = &list[i];
        if (t->gpu >= d->info.gpus)
            return mwi_fail(MW_ERR_INVALID, "transfer %zu: GPU %u of %u", i, t->gpu, d->info.gpus);
        if (t->address % MW_MEM_ALIGN || t->bytes % MW_MEM_ALIGN || (t->bytes && !t->data))
            return mwi_fail(MW_ERR_INVALID,
                            "transfer %zu: address 0x%llx, %zu bytes: multiples of %d and data "
                            "are needed",
                            i, (unsigned long long)t->address, t->bytes, MW_MEM_ALIGN);
        if (t->address > d->info.mem_bytes || t->bytes > d->info.mem_bytes - t->address)
            return mwi_fail(MW_ERR_RANGE, "transfer %zu: 0x%llx + %zu bytes: GPU %u has 0x%llx", i,
                            (unsigned long long)t->address, t->bytes, t->gpu,
                            (unsigned long long)d->info.mem_bytes);
    }
    return 0;
}

int mwi_mem_write(struct mw_device *d, const struct mw_transfer *list, size_t count)
{
    int status = mwi_flush(d);
    if (status)
        return status;
    mwi_say_nothing();
    status = d->transport->mem_write(d->context, list, count);
    return status ? mwi_fail_also(status, "writing GPU memory failed") : 0;
}

int mwi_mem_read(struct mw_device *d, const struct mw_transfer *list, size_t count)
{
    int status = mwi_flush(d);
    if (status)
        return status;
    mwi_say_nothing();
    status = d->transport->mem_read(d->context, list, count);
    return status ? mwi_fail_also(status, "reading GPU memory failed") : 0;
}

int mw_mem_write(struct mw_device *device, const struct mw_transfer *list, size_t count)
{
    MWI_NEED(device);
    mwi_lock(device);
    int status = check_transfers(device, __func__, list, count);
    if (!status)
        status = mwi_check_free(device, __func__, list, count);
    if (!status) {
        device->loaded = 0; // it may be over what a handle has loaded
        status = mwi_mem_write(device, list, count);
    }
    return mwi_unlock(device, status);
}

int mw_mem_read(struct mw_device *device, const struct mw_transfer *list, size_t count)
{
    MWI_NEED(device);
    mwi_lock(device);
    int status = check_transfers(device, __func__, list, count);
    if (!status)
        status = mwi_check_free(device, __func__, list, count);
    if (!status)
        status = mwi_mem_read(device, list, count);
    return mwi_unlock(device, status);
}
