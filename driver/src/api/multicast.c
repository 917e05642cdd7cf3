// SPDX-License-Identifier: Apache-2.0
//
// Static multicast objects: groups of the switch (NVLS).
#include "core/registers.h"
#include "core/state.h"
#include "core/tables.h"

#include <stdlib.h>

struct mw_multicast {
    struct mw_device *device;
    unsigned group;
    struct mw_gpu_set members;
    uint64_t bytes;
    bool bound;
};

int mw_multicast_create(struct mw_device *device, uint64_t bytes, struct mw_multicast **object)
{
    MWI_NEED(object);
    *object = NULL;
    MWI_NEED(device);
    if (!bytes)
        return mwi_fail(MW_ERR_INVALID, "%s: 0 bytes: at least 1", __func__);
    struct mw_multicast *m = calloc(1, sizeof *m);
    if (!m)
        return mwi_fail(MW_ERR_NOMEM, "no memory for a multicast object");
    mwi_lock(device);
    int group = mwi_check_well(device, __func__);
    if (!group)
        group = mwi_group_take(device);
    if (group < 0) {
        free(m);
        return mwi_unlock(device, group);
    }
    mwi_hold(device);
    *m = (struct mw_multicast){.device = device, .group = (unsigned)group, .bytes = bytes};
    *object = m;
    return mwi_unlock(device, 0);
}

int mw_multicast_add_device(struct mw_multicast *object, unsigned gpu)
{
    MWI_NEED(object);
    struct mw_device *d = object->device;
    if (gpu >= d->info.gpus)
        return mwi_fail(MW_ERR_INVALID, "GPU %u of %u", gpu, d->info.gpus);
    mwi_lock(d);
    int status = mwi_check_open(d, __func__);
    if (!status && object->bound)
        status = mwi_fail(MW_ERR_STATE, "%s: the object is bound", __func__);
    if (!status && mwi_set_has(&object->members, gpu))
        status = mwi_fail(MW_ERR_INVALID, "%s: GPU %u is a member", __func__, gpu);
    if (!status)
        mwi_set_add(&object->members, gpu);
    return mwi_unlock(d, status);
}

static int check_bind(const struct mw_multicast *m, const char *call, uint64_t address)
{
    const struct mw_device_info *info = &m->device->info;
    int status = mwi_check_open(m->device, call);
    if (status)
        return status;
    if (mwi_set_first(&m->members) == MW_MAX_PORTS)
        return mwi_fail(MW_ERR_STATE, "%s: the object has no member", call);
    if (address > info->mem_bytes || m->bytes > info->mem_bytes - address)
        return mwi_fail(MW_ERR_RANGE, "0x%llx + 0x%llx bytes: a GPU has 0x%llx",
                        (unsigned long long)address, (unsigned long long)m->bytes,
                        (unsigned long long)info->mem_bytes);
    return mwi_check_idle(m->device, call);
}

int mw_multicast_bind_addr(struct mw_multicast *object, uint64_t address)
{
    MWI_NEED(object);
    struct mw_device *d = object->device;
    mwi_lock(d);
    int status = check_bind(object, __func__, address);
    if (!status) {
        mwi_group_set(d, object->group, object->members);
        status = mwi_groups_load(d);
        object->bound = !status;
        if (status)
            mwi_group_set(d, object->group, (struct mw_gpu_set){{0}});
    }
    return mwi_unlock(d, status);
}

int mw_multicast_group(const struct mw_multicast *object)
{
    MWI_NEED(object);
    mwi_lock(object->device);
    int group = mwi_check_open(object->device, __func__);
    if (!group)
        group = object->bound ? (int)object->group
                              : mwi_fail(MW_ERR_STATE, "%s: the object is not bound", __func__);
    return mwi_unlock(object->device, group);
}

void mw_multicast_destroy(struct mw_multicast *object)
{
    if (!object)
        return;
    struct mw_device *d = object->device;
    mwi_lock(d);
    mwi_group_give(d, object->group);
    // else before the next layer; a failure shows in the device's state
    if (mwi_is_open(d) && (d->state.now == MW_STATE_IDLE || d->state.now == MW_STATE_CONFIGURED))
        mwi_groups_load(d);
    free(object);
    mwi_put(d);
}
