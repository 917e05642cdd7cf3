// SPDX-License-Identifier: Apache-2.0
//
// How the device gets the places of a layer's experts. If lists have places, its expert map has the
// placement, and each GPU's lists have the numbers of that map. At its first place, an expert keeps
// its number. Its other places have numbers above those of all experts.
#include "systems/job.h"

#include <assert.h>
#include <stdlib.h>

/// The number of each place. False: no memory.
static bool number_places(const struct mw_workload *w, const struct mw_layer *layer,
                          uint16_t *number)
{
    const unsigned experts = w->experts - w->replicas;
    bool *named = calloc(experts, sizeof *named);
    const bool ok = named;
    for (unsigned p = 0, next = experts; ok && p < w->experts; p++) {
        const unsigned e = layer->expert_at[p];
        number[p] = (uint16_t)(named[e] ? next++ : e);
        named[e] = true;
    }
    free(named);
    return ok;
}

static int map_places(struct job *j, const struct mw_layer *layer)
{
    const struct mw_workload *w = j->w;
    uint16_t number[MW_MAX_EXPERTS];
    struct mw_expert_place *place = calloc(w->experts, sizeof *place);
    if (!place || !number_places(w, layer, number)) {
        free(place);
        return mw_fail_memory(j->err, "the expert map");
    }
    for (unsigned p = 0; p < w->experts; p++)
        place[p] =
            (struct mw_expert_place){number[p], mw_gpu_of_expert(w, p), p % w->experts_per_gpu};
    int code = mw_expert_map_set(j->device, place, w->experts);
    free(place);
    return code ? mw_job_failed(j, "expert map", code) : MW_EXIT_OK;
}

static int map_even(struct job *j)
{
    int code = mw_expert_map_even(j->device, j->w->experts);
    return code ? mw_job_failed(j, "expert map", code) : MW_EXIT_OK;
}

int mw_job_load_experts(struct job *j, unsigned index)
{
    const struct mw_workload *w = j->w;
    const struct mw_layer *layer = &w->layer[index];
    uint16_t coefficients[MW_MAX_EXPERTS];
    int status = layer->expert_at ? map_places(j, layer) : map_even(j);
    if (status)
        return status;
    for (unsigned p = 0; p < w->experts; p++)
        coefficients[p] = w->coefficients[mw_expert_at(w, index, p)];
    int code = mw_coefficients_load(j->device, &j->layout, w->experts_per_gpu, coefficients);
    return code ? mw_job_failed(j, "expert coefficients", code) : MW_EXIT_OK;
}

static int load_lists(struct job *j, const struct mw_layer *layer, const uint16_t *ids,
                      uint64_t address)
{
    const struct mw_workload *w = j->w;
    const size_t own = w->shape.tokens_per_gpu;
    struct mw_tokens part[MW_MAX_GPUS];
    static_assert((int16_t)MW_NO_EXPERT == -1, "lists are as the library takes them");
    for (size_t g = 0; g < w->shape.gpus; g++)
        part[g] = (struct mw_tokens){.tokens = (unsigned)own,
                                     .topk_idx = (const int16_t *)ids + g * own * w->k,
                                     .topk_weights = layer->weights + g * own * w->k};
    int code = mw_routing_load(j->device, address, w->k, part);
    return code ? mw_job_failed(j, "routing tables", code) : MW_EXIT_OK;
}

int mw_job_load_routing(struct job *j, unsigned index, uint64_t address)
{
    const struct mw_workload *w = j->w;
    const struct mw_layer *layer = &w->layer[index];
    const size_t count = (size_t)w->tokens * w->k;
    uint16_t number[MW_MAX_EXPERTS];
    if (!layer->expert_at)
        return load_lists(j, layer, layer->ids, address);
    uint16_t *ids = malloc(count * sizeof *ids);
    if (!ids || !number_places(w, layer, number)) {
        free(ids);
        return mw_fail_memory(j->err, "routing tables");
    }
    for (size_t i = 0; i < count; i++)
        ids[i] = layer->ids[i] == MW_NO_EXPERT ? MW_NO_EXPERT : number[layer->ids[i]];
    int status = load_lists(j, layer, ids, address);
    free(ids);
    return status;
}
