// SPDX-License-Identifier: Apache-2.0
//
// Gradients of gate weights, which the experts of a cached layer have sent to the tokens' homes. A
// home has a table with a place for each own token and position of its list. Experts write no place
// of a position without expert.
#include "moe/gradients.h"

#include "core/registers.h"
#include "core/state.h"

#include <string.h>

enum { NO_EXPERT = 0xffff };

/// Whether list position `j` of a token, whose routing entry this is, has an expert.
static bool has_expert(const uint8_t *entry, unsigned j)
{
    return (entry[2 * j] | (unsigned)entry[2 * j + 1] << 8) != NO_EXPERT;
}

static void take_table(const struct mw_handle *h, unsigned gpu, const float *table, float *dw)
{
    const uint8_t *routes = h->data.list[gpu].data;
    const unsigned k = h->object->k;
    for (size_t t = 0; t < h->tokens[gpu]; t++)
        for (unsigned j = 0; j < k; j++)
            dw[t * k + j] = has_expert(routes + t * MW_ROUTE_BYTES, j)
                                ? table[(t << h->layout.k_shift) + j]
                                : 0;
}

int mwi_gradients_read(struct mw_handle *h, const struct mwi_pause *pause)
{
    struct mw_device *d = h->object->device;
    struct mwi_image im = {0};
    uint8_t *data;
    int status = 0;
    if (!h->dw || h->outputs)
        return 0;
    for (unsigned g = 0; g < d->info.gpus && !status; g++)
        status = mwi_image_area(&im, g, h->layout.dw_base,
                                sizeof *h->dw * h->tokens[g] << h->layout.k_shift, &data);
    if (!status)
        status = mwi_move(d, false, im.list, im.count, pause);
    float *dw = h->dw;
    for (unsigned g = 0; g < d->info.gpus && !status; g++) {
        take_table(h, g, im.list[g].data, dw);
        dw += (size_t)h->tokens[g] * h->object->k;
    }
    h->dw_there = !status;
    mwi_image_free(&im);
    return status;
}

/// ... or why it has none.
static int check_gradients(const struct mw_handle *h, const char *call)
{
    int status = mwi_check_handle(h, call);
    if (status)
        return status;
    if (h->config.handle != MW_HANDLE_CACHED)
        return mwi_fail(MW_ERR_INVALID,
                        "%s: this handle has rows of x alone: call it for one of "
                        "mw_handle_create_cached",
                        call);
    if (!h->dw)
        return mwi_fail(MW_ERR_INVALID,
                        "%s: the experts of this handle's object make none: set gate_gradients in "
                        "mw_dymulticast_prop",
                        call);
    if (!h->dw_there && h->outputs)
        return mwi_fail(MW_ERR_STATE,
                        "%s: mw_expert_output has written results, and the device's experts made "
                        "no gradients",
                        call);
    if (!h->dw_there)
        return mwi_fail(MW_ERR_STATE, "%s: call mw_combine or mw_layer_run first", call);
    return 0;
}

int mw_gate_gradients(struct mw_handle *handle, float *const *dw)
{
    MWI_NEED(handle);
    MWI_NEED(dw);
    struct mw_device *d = handle->object->device;
    const float *own = handle->dw;
    mwi_lock(d);
    int status = check_gradients(handle, __func__);
    for (unsigned g = 0; g < d->info.gpus && !status; g++)
        if (handle->tokens[g] && !dw[g])
            status = mwi_fail(MW_ERR_INVALID, "GPU %u: dw is NULL, it has %u tokens", g,
                              handle->tokens[g]);
    for (unsigned g = 0; g < d->info.gpus && !status; g++) {
        const size_t count = (size_t)handle->tokens[g] * handle->object->k;
        if (count)
            memcpy(dw[g], own, count * sizeof *own);
        own += count;
    }
    return mwi_unlock(d, status);
}
