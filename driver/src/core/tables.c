// SPDX-License-Identifier: Apache-2.0
//
// Tables that every node and port has a copy of: which expert is where, and which GPUs are a static
// group. The requested contents are stored separately from what the device holds. Objects have maps
// of their own, which are loaded when their layer begins. After a reset, the contents of the device
// are arbitrary. Only what differs is written.
#include "core/tables.h"

#include "core/known_tables.h"
#include "core/registers.h"
#include "core/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// ---- groups -------------------------------------------------------------------------------------

int mwi_groups_load(struct mw_device *d)
{
    struct mwi_tables *t = d->tables;
    int status = 0;
    for (unsigned g = 0; g < d->info.groups && !status; g++) {
        if (t->group[g].known &&
            memcmp(&t->group[g].has, &t->group[g].wants, sizeof t->group[g].has) == 0)
            continue;
        status = mwi_set_write(d, MWI_FABRIC(groups) + MWI_MASK_STRIDE * g, &t->group[g].wants);
        t->group[g].known = !status;
        t->group[g].has = t->group[g].wants;
    }
    return status ? status : mwi_flush(d);
}

int mwi_group_take(struct mw_device *d)
{
    for (unsigned g = 0; g < d->info.groups; g++) {
        if (d->tables->group[g].taken)
            continue;
        d->tables->group[g].taken = true;
        return (int)g;
    }
    return mwi_fail(MW_ERR_CAPACITY, "the device has %u groups, all are in use", d->info.groups);
}

void mwi_group_set(struct mw_device *d, unsigned group, struct mw_gpu_set members)
{
    d->tables->group[group].wants = members;
}

void mwi_group_give(struct mw_device *d, unsigned group)
{
    d->tables->group[group].taken = false;
    d->tables->group[group].wants = (struct mw_gpu_set){{0}};
}

int mwi_restore(struct mw_device *d)
{
    int status = mwi_write(d, MWI_FABRIC(link), d->info.link_latency);
    return status ? status : mwi_groups_load(d); // also flushes
}

// ---- expert map ---------------------------------------------------------------------------------

/// One entry of the expert map, emap_t of rtl/common/node_pkg.sv.
static uint32_t place_word(const struct mw_expert_place *p)
{
    return 1u << 13 | p->gpu << 6 | p->local_expert;
}

static_assert(MWI_LOCAL_EXPERTS == 1 << 6, "as many as its lowest bits");

bool mwi_map_place(const struct mw_device *d, unsigned expert, struct mw_expert_place *place)
{
    const uint32_t word = expert < d->info.experts ? d->tables->has[expert] : MWI_UNKNOWN;
    if (word == MWI_UNKNOWN)
        return false;
    *place = (struct mw_expert_place){expert, word >> 6 & 127, word & 63};
    return true;
}

int mwi_check_places(const struct mw_device *d, const struct mw_expert_place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct mw_expert_place *p = &places[i];
        if (p->gpu >= d->info.gpus)
            return mwi_fail(MW_ERR_INVALID, "expert %u: GPU %u of %u", p->expert, p->gpu,
                            d->info.gpus);
        if (p->expert >= d->info.experts || p->local_expert >= d->info.local_experts)
            return mwi_fail(MW_ERR_CAPACITY,
                            "expert %u, index %u on its GPU: the device has %u experts, %u on a "
                            "GPU",
                            p->expert, p->local_expert, d->info.experts, d->info.local_experts);
    }
    return 0;
}

static int write_place(struct mw_device *d, unsigned expert, uint32_t word)
{
    if (d->tables->has[expert] == word)
        return 0;
    d->tables->has[expert] = MWI_UNKNOWN;
    int status = mwi_write(d, MWI_FABRIC(emap) + 4 * expert, word);
    if (!status)
        d->tables->has[expert] = word;
    return status;
}

int mwi_map_load(struct mw_device *d, const struct mw_expert_place *places, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count && places && !status; i++)
        status = write_place(d, places[i].expert, place_word(&places[i]));
    for (unsigned e = 0; e < d->info.experts && !places && !status; e++)
        if (d->tables->set[e] != MWI_UNKNOWN)
            status = write_place(d, e, d->tables->set[e]);
    return status ? status : mwi_flush(d);
}

int mw_expert_map_set(struct mw_device *device, const struct mw_expert_place *places, size_t count)
{
    MWI_NEED(device);
    if (count)
        MWI_NEED(places);
    mwi_lock(device);
    int status = mwi_check_idle(device, __func__);
    if (!status)
        status = mwi_check_places(device, places, count);
    if (!status && count)
        status = mwi_map_load(device, places, count);
    for (size_t i = 0; i < count && !status; i++)
        device->tables->set[places[i].expert] = place_word(&places[i]);
    return mwi_unlock(device, status);
}

void mwi_places_even(struct mw_expert_place *places, unsigned experts, unsigned gpus)
{
    for (unsigned e = 0; e < experts; e++)
        places[e] = (struct mw_expert_place){e, e / (experts / gpus), e % (experts / gpus)};
}

int mw_expert_map_even(struct mw_device *device, unsigned experts)
{
    MWI_NEED(device);
    const struct mw_device_info *info = &device->info;
    if (!experts || experts % info->gpus)
        return mwi_fail(MW_ERR_INVALID, "%u experts are not divisible over %u GPUs", experts,
                        info->gpus);
    if (experts > info->experts)
        return mwi_fail(MW_ERR_CAPACITY, "%u experts: the device has %u", experts, info->experts);
    struct mw_expert_place *places = calloc(experts, sizeof *places);
    if (!places)
        return mwi_fail(MW_ERR_NOMEM, "no memory for the expert map");
    mwi_places_even(places, experts, info->gpus);
    int status = mw_expert_map_set(device, places, experts);
    free(places);
    return status;
}

// ---- partitions ---------------------------------------------------------------------------------

int mwi_check_mask(const struct mw_device *d, const char *call)
{
    if (d->info.gpus <= 32)
        return 0;
    return mwi_fail(MW_ERR_CAPACITY, "%s: a mask of 32 bits, of a device with %u GPUs: see %s_wide",
                    call, d->info.gpus, call);
}

static int set_partition(struct mw_device *d, const char *call, unsigned gpu,
                         const struct mw_gpu_set *reachable)
{
    mwi_lock(d);
    int status = mwi_check_idle(d, call);
    if (!status)
        status = mwi_set_write(d, MWI_FABRIC(partitions) + MWI_MASK_STRIDE * gpu, reachable);
    return mwi_unlock(d, status);
}

int mw_partition_set_wide(struct mw_device *device, unsigned gpu,
                          const struct mw_gpu_set *reachable)
{
    MWI_NEED(device);
    MWI_NEED(reachable);
    const unsigned gpus = device->info.gpus;
    if (gpu >= gpus)
        return mwi_fail(MW_ERR_INVALID, "GPU %u of %u", gpu, gpus);
    for (unsigned g = gpus; g < 8 * sizeof *reachable; g++)
        if (mwi_set_has(reachable, g))
            return mwi_fail(MW_ERR_INVALID, "partition of GPU %u: GPU %u of %u", gpu, g, gpus);
    return set_partition(device, __func__, gpu, reachable);
}

int mw_partition_set(struct mw_device *device, unsigned gpu, uint32_t reachable)
{
    MWI_NEED(device);
    if (gpu >= device->info.gpus)
        return mwi_fail(MW_ERR_INVALID, "GPU %u of %u", gpu, device->info.gpus);
    int status = mwi_check_mask(device, __func__);
    if (status)
        return status;
    if (reachable & ~(UINT32_MAX >> (32 - device->info.gpus)))
        return mwi_fail(MW_ERR_INVALID, "partition 0x%x of GPU %u: GPUs are bits 0 to %u",
                        reachable, gpu, device->info.gpus - 1);
    return set_partition(device, __func__, gpu, &(struct mw_gpu_set){{reachable}});
}
