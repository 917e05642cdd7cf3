// SPDX-License-Identifier: Apache-2.0
//
// Dynamic multicast objects: their experts, and where they are bound.
#include "moe/dymulticast.h"

#include "api/layout.h"
#include "core/registers.h"
#include "core/state.h"
#include "core/struct_size.h"
#include "core/tables.h"

#include <stdlib.h>
#include <string.h>

static int check_prop(const struct mw_device_info *info, const struct mw_dymulticast_prop *p)
{
    if (p->region_sets != 2)
        return mwi_fail(MW_ERR_INVALID, "%u region sets: dispatch and combine are 2",
                        p->region_sets);
    if (p->k < 1 || p->k > MW_MAX_TARGETS)
        return mwi_fail(MW_ERR_INVALID, "k = %u: 1 to %d", p->k, MW_MAX_TARGETS);
    if (p->k > p->experts)
        return mwi_fail(MW_ERR_INVALID, "k = %u: there are %u experts", p->k, p->experts);
    if (!p->places && (p->experts < info->gpus || p->experts % info->gpus))
        return mwi_fail(MW_ERR_INVALID, "%u experts are not divisible over %u GPUs", p->experts,
                        info->gpus);
    if (p->experts > info->experts)
        return mwi_fail(MW_ERR_CAPACITY, "%u experts: the device has %u", p->experts,
                        info->experts);
    if (p->gate_gradients && !p->cached_handles)
        return mwi_fail(MW_ERR_INVALID, "gate_gradients: only with cached_handles");
    int status = mwi_check_row_bytes(info, "block_bytes", p->block_bytes);
    if (!status)
        status = mwi_check_row_type(info, p->dispatch_type, "block_bytes", p->block_bytes);
    if (!status && p->cached_handles)
        status = mwi_check_cached(info, "cached_handles");
    if (!status && p->gate_gradients)
        status = mwi_check_gradients(info, p->dispatch_type);
    return status;
}

/// Every expert once, and no two at one place.
static int take_places(struct mw_dymulticast *m, const struct mw_expert_place *places)
{
    int status = mwi_check_places(m->device, places, m->experts);
    if (status)
        return status;
    for (unsigned e = 0; e < m->experts; e++)
        m->places[e].gpu = MW_MAX_PORTS; // none yet
    for (unsigned i = 0; i < m->experts; i++) {
        const struct mw_expert_place *p = &places[i];
        if (p->expert >= m->experts || m->places[p->expert].gpu != MW_MAX_PORTS)
            return mwi_fail(MW_ERR_INVALID, "place %u is of expert %u: each of 0 to %u has one", i,
                            p->expert, m->experts - 1);
        for (unsigned j = 0; j < i; j++)
            if (places[j].gpu == p->gpu && places[j].local_expert == p->local_expert)
                return mwi_fail(MW_ERR_INVALID, "experts %u and %u: both are number %u of GPU %u",
                                places[j].expert, p->expert, p->local_expert, p->gpu);
        m->places[p->expert] = *p;
    }
    return 0;
}

static unsigned most_experts(const struct mw_dymulticast *m)
{
    unsigned most = 0;
    for (unsigned e = 0; e < m->experts; e++)
        most = m->places[e].local_expert >= most ? m->places[e].local_expert + 1 : most;
    return most;
}

int mw_dymulticast_create(struct mw_device *device, const struct mw_dymulticast_prop *prop,
                          struct mw_dymulticast **object)
{
    MWI_NEED(object);
    *object = NULL;
    MWI_NEED(device);
    MWI_NEED(prop);
    struct mw_dymulticast_prop p;
    int status = mwi_take_prop(&p, prop);
    if (!status)
        status = check_prop(&device->info, &p);
    if (status)
        return status;
    struct mw_dymulticast *m = calloc(1, sizeof *m);
    if (m)
        m->places = calloc(p.experts, sizeof *m->places);
    if (!m || !m->places) {
        free(m);
        return mwi_fail(MW_ERR_NOMEM, "no memory for a dynamic multicast object");
    }
    m->device = device;
    m->block_bytes = p.block_bytes;
    m->k = p.k;
    m->experts = p.experts;
    m->dispatch_type = p.dispatch_type;
    m->cached_handles = p.cached_handles;
    m->gate_gradients = p.gate_gradients;
    m->holders = 1;
    if (p.places)
        status = take_places(m, p.places);
    else
        mwi_places_even(m->places, m->experts, device->info.gpus);
    if (!status)
        status = mwi_check_places(device, m->places, m->experts);
    mwi_lock(device);
    if (!status)
        status = mwi_check_well(device, __func__);
    if (status) {
        free(m->places);
        free(m);
        return mwi_unlock(device, status);
    }
    m->experts_per_gpu = most_experts(m);
    mwi_hold(device);
    *object = m;
    return mwi_unlock(device, 0);
}

int mw_dymulticast_bind_addr(struct mw_dymulticast *object, unsigned tokens,
                             unsigned rows_per_expert)
{
    MWI_NEED(object);
    struct mw_dymulticast *m = object;
    unsigned gpus = m->device->info.gpus;
    if (!tokens || !rows_per_expert)
        return mwi_fail(MW_ERR_INVALID, "%s: %u tokens and %u rows per expert: at least 1 of each",
                        __func__, tokens, rows_per_expert);
    struct mw_layer_config c;
    struct mw_layout l;
    mw_layer_defaults(&c);
    c.k = m->k;
    c.tokens_per_gpu = tokens / gpus + (tokens % gpus > 0);
    c.row_bytes = m->block_bytes;
    c.dispatch_type = m->dispatch_type;
    c.experts_per_gpu = m->experts_per_gpu;
    c.rows_per_expert = rows_per_expert;
    c.handle = m->cached_handles ? MW_HANDLE_KEEP : MW_HANDLE_NONE;
    c.gate_gradients = m->gate_gradients;
    c.stream_instrs = 4; // of each of the streams of a layer
    int status = mw_layout_make(m->device, &c, &l);
    mwi_lock(m->device);
    if (!status)
        status = mwi_check_open(m->device, __func__);
    if (!status) {
        m->bound = true;
        m->config = c;
        m->layout = l;
    }
    return mwi_unlock(m->device, status);
}

int mw_dymulticast_layout(const struct mw_dymulticast *object, struct mw_layout *layout)
{
    MWI_NEED(object);
    MWI_NEED(layout);
    mwi_lock(object->device);
    int status = mwi_check_open(object->device, __func__);
    if (!status && !object->bound)
        status = mwi_fail(MW_ERR_STATE, "%s: the object is not bound", __func__);
    if (!status)
        *layout = object->layout;
    return mwi_unlock(object->device, status);
}

void mwi_dymulticast_put(struct mw_dymulticast *m)
{
    struct mw_device *d = m->device;
    if (--m->holders) {
        mwi_unlock(d, 0);
        return;
    }
    free(m->places);
    free(m);
    mwi_put(d);
}

void mw_dymulticast_destroy(struct mw_dymulticast *object)
{
    if (!object)
        return;
    mwi_lock(object->device);
    object->destroyed = true;
    mwi_dymulticast_put(object);
}
