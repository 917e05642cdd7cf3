// SPDX-License-Identifier: Apache-2.0
//
// What every way to run a job does: opening its device, moving its data, and saying how it failed.
#include "job.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct mw_generator *const generators[] = {
    &mw_generate_unicast, &mw_generate_dysharp_basic, &mw_generate_dysharp};

int mw_job_begin(struct job *j, const char *system)
{
    j->system = mw_system_find(system);
    j->generator = NULL;
    for (unsigned i = 0; i < sizeof generators / sizeof *generators; i++)
        if (strcmp(generators[i]->name, system) == 0)
            j->generator = generators[i];
    if (!j->system || !j->generator)
        return mw_fail(j->err, MW_EXIT_INPUT, "%s: there is no such system", system);
    return MW_EXIT_OK;
}

int mw_job_open(struct job *j)
{
    struct mw_open_options o;
    if (j->params->device.usb && j->small)
        return mw_fail(j->err, MW_EXIT_INPUT, "--set small: only with --device sim");
    mw_device_options(&j->params->device, &o);
    o.gpus = j->params->shape.gpus;
    o.flit_bytes = j->params->flit_bytes;
    o.link_latency = j->params->link_latency;
    o.small = j->small;
    o.fst = j->params->fst;
    // one at a time: a model that is missing is built once
    static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&opening);
    int code = mw_open(&o, &j->device);
    pthread_mutex_unlock(&opening);
    return code ? mw_job_failed(j, "device", code) : MW_EXIT_OK;
}

bool mw_job_goes_on(struct job *j, double done, uint64_t cycles)
{
    const struct mw_run_params *p = j->params;
    if (p->progress && !p->progress(p->progress_context, j->layer, done, cycles))
        j->stopped = true;
    return !j->stopped;
}

int mw_job_interrupted(struct job *j)
{
    return mw_fail(j->err, MW_EXIT_INTERRUPTED, "interrupted");
}

int mw_job_failed(struct job *j, const char *what, int code)
{
    return mw_device_failed(j->err, what, code);
}

int mw_job_stuck(struct job *j, const char *what, int code)
{
    if (code != MW_ERR_TIMEOUT)
        return mw_fail(j->err, MW_EXIT_FAILED, "%s: %s", what, mw_message());
    mw_fail(j->err, MW_EXIT_STUCK, "%s: %s", what, mw_message());
    j->result->state = mw_state_report(j->device);
    return MW_EXIT_STUCK;
}

int mw_job_move_areas(struct job *j, bool write, uint64_t address, uint8_t *data, size_t bytes,
                      const char *what)
{
    struct mw_transfer list[MW_MAX_GPUS];
    unsigned gpus = j->w->shape.gpus;
    for (unsigned g = 0; g < gpus; g++)
        list[g] = (struct mw_transfer){g, address, bytes, data + g * bytes};
    int code = write ? mw_mem_write(j->device, list, gpus) : mw_mem_read(j->device, list, gpus);
    return code ? mw_job_failed(j, what, code) : MW_EXIT_OK;
}

int mw_job_load_routing(struct job *j, unsigned index, uint64_t address)
{
    const struct mw_workload *w = j->w;
    const struct mw_layer *layer = &w->layer[index];
    uint8_t *data = malloc((size_t)w->tokens * MW_ROUTE_BYTES);
    if (!data)
        return mw_fail_memory(j->err, "routing tables");
    for (size_t t = 0; t < w->tokens; t++) {
        int16_t list[MW_MAX_K];
        for (unsigned i = 0; i < w->k; i++)
            list[i] = (int16_t)layer->ids[t * w->k + i]; // MW_NO_EXPERT becomes -1
        mw_route_pack(data + t * MW_ROUTE_BYTES, list, layer->weights + t * w->k, w->k);
    }
    int status = mw_job_move_areas(
        j, true, address, data, (size_t)w->shape.tokens_per_gpu * MW_ROUTE_BYTES, "routing tables");
    free(data);
    return status;
}

int mw_job_move_rows(struct job *j, bool write, uint64_t address, uint16_t *values,
                     const char *what)
{
    const struct mw_workload *w = j->w;
    size_t stride = (size_t)1 << j->layout.row_shift, row = 2 * (size_t)w->shape.hidden;
    uint8_t *data = calloc(w->tokens, stride);
    if (!data)
        return mw_fail_memory(j->err, what);
    for (size_t t = 0; write && t < w->tokens; t++)
        memcpy(data + t * stride, (const uint8_t *)values + t * row, row);
    int status = mw_job_move_areas(j, write, address, data, w->shape.tokens_per_gpu * stride, what);
    for (size_t t = 0; !write && !status && t < w->tokens; t++)
        memcpy((uint8_t *)values + t * row, data + t * stride, row);
    free(data);
    return status;
}
