// SPDX-License-Identifier: Apache-2.0
//
// Static multicast objects: groups of the switch (NVLS).
#include "internal.h"

#include <stdlib.h>

struct mw_multicast {
    struct mw_device *device;
    unsigned group;
    uint32_t members;
    uint64_t bytes;
    bool bound;
};

int mw_multicast_create(struct mw_device *device, uint64_t bytes, struct mw_multicast **object)
{
    *object = NULL;
    struct mw_multicast *m = calloc(1, sizeof *m);
    if (!m)
        return mwi_fail(MW_ERR_NOMEM, "no memory for a multicast object");
    mwi_lock(device);
    unsigned group = 0;
    while (group < device->info.groups && device->groups_used >> group & 1)
        group++;
    int status = 0;
    if (group == device->info.groups)
        status = mwi_fail(MW_ERR_CAPACITY, "the device has %u groups, all are in use", group);
    else
        device->groups_used |= 1u << group;
    mwi_unlock(device, status);
    if (status) {
        free(m);
        return status;
    }
    *m = (struct mw_multicast){.device = device, .group = group, .bytes = bytes};
    *object = m;
    return 0;
}

int mw_multicast_add_device(struct mw_multicast *object, unsigned gpu)
{
    if (gpu >= object->device->info.gpus)
        return mwi_fail(MW_ERR_INVALID, "GPU %u of %u", gpu, object->device->info.gpus);
    if (object->bound)
        return mwi_fail(MW_ERR_STATE, "mw_multicast_add_device: the object is bound");
    object->members |= 1u << gpu;
    return 0;
}

int mw_multicast_bind_addr(struct mw_multicast *object, uint64_t address)
{
    struct mw_device *d = object->device;
    if (!object->members)
        return mwi_fail(MW_ERR_STATE, "mw_multicast_bind_addr: the object has no member");
    if (address > d->info.mem_bytes || object->bytes > d->info.mem_bytes - address)
        return mwi_fail(MW_ERR_RANGE, "0x%llx + 0x%llx bytes: a GPU has 0x%llx",
                        (unsigned long long)address, (unsigned long long)object->bytes,
                        (unsigned long long)d->info.mem_bytes);
    mwi_lock(d);
    int status = mwi_check_idle(d, "mw_multicast_bind_addr");
    if (!status)
        status = mwi_write(d, MWI_FABRIC(groups) + 4 * object->group, object->members);
    object->bound = !status;
    return mwi_unlock(d, status);
}

int mw_multicast_group(const struct mw_multicast *object)
{
    return object->bound ? (int)object->group
                         : mwi_fail(MW_ERR_STATE, "mw_multicast_group: the object is not bound");
}

void mw_multicast_destroy(struct mw_multicast *object)
{
    if (!object)
        return;
    mwi_lock(object->device);
    object->device->groups_used &= ~(1u << object->group);
    mwi_unlock(object->device, 0);
    free(object);
}
