// SPDX-License-Identifier: Apache-2.0
//
// The models that a sweep's runs need, see sweep.h.
#include "analysis/demand.h"
#include "device/device.h"
#include "device/device_build.h"
#include "device/setting_table.h"
#include "run/run.h"
#include "sweep/sweep.h"
#include "systems/systems.h"

#include <stdlib.h>
#include <string.h>

enum { KNOWN = 64 }; ///< of more, some are opened again

/// A point as a run; `words` keeps its texts. NULL: it is none, which mw_grid_check reports before.
static struct mw_run_params *run_of(const struct mw_grid *grid, size_t point,
                                    struct mw_point *words, struct mw_error *err)
{
    bool help;
    struct mw_run_params *p = calloc(1, sizeof *p);
    if (!p) {
        mw_fail_memory(err, "a run");
        return NULL;
    }
    unsigned count = mw_grid_point(grid, point, words);
    if (!mw_run_parse(p, (int)count, words->word, &help, err) &&
        !mw_device_sizes(&p->device, &p->shape.gpus, &p->flit_bytes, err))
        return p;
    free(p);
    return NULL;
}

/// The options that select a run's model.
static int model_of(const struct mw_grid *grid, size_t point, struct mw_open_options *o,
                    struct mw_error *err)
{
    struct mw_point words;
    struct mw_run_params *p = run_of(grid, point, &words, err);
    if (!p)
        return MW_EXIT_FAILED;
    mw_device_options(&p->device, o);
    o->gpus = p->shape.gpus;
    o->flit_bytes = p->flit_bytes;
    o->link_latency = p->link_latency;
    o->small = mw_setting_value(&p->settings, "small", 0);
    free(p);
    return MW_EXIT_OK;
}

/// Whether such a device holds the run. One that it does not hold is reported by the run,
/// and needs no model.
static bool fits(const struct mw_grid *grid, size_t point)
{
    struct mw_point words;
    struct mw_error err;
    struct mw_trace trace;
    struct mw_demand demand;
    uint64_t touched[MW_SYSTEMS];
    struct mw_run_params *p = run_of(grid, point, &words, &err);
    if (!p)
        return false;
    int status = mw_run_route(p, &trace, &err);
    if (!status) {
        status = mw_demand_of_trace(&demand, &trace, p->layers, p->layer_count, &p->shape, &err);
        mw_trace_free(&trace);
    }
    if (!status)
        status = mw_systems_check(p, &demand, true, touched, p->left_out, &err);
    free(p);
    return !status;
}

static bool same_model(const struct mw_open_options *a, const struct mw_open_options *b)
{
    const bool a_far = a->link_latency > MW_BUILT_LATENCY,
               b_far = b->link_latency > MW_BUILT_LATENCY;
    return a_far == b_far && a->gpus == b->gpus && a->flit_bytes == b->flit_bytes &&
           a->small == b->small &&
           (a->backend == b->backend ||
            (a->backend && b->backend && strcmp(a->backend, b->backend) == 0));
}

int mw_sweep_models(const struct mw_sweep *s, struct mw_error *err)
{
    struct mw_open_options known[KNOWN], o;
    unsigned count = 0;
    for (size_t i = 0; s->grid.swept->simulates && i < s->grid.points; i++) {
        struct mw_device *device;
        unsigned k = 0;
        if (s->row[i].cell)
            continue;
        int status = model_of(&s->grid, i, &o, err);
        if (status)
            return status;
        while (k < count && !same_model(&known[k], &o))
            k++;
        if (k < count || !fits(&s->grid, i))
            continue;
        status = mw_device_open_built(&o, &device, err);
        if (status)
            return status;
        mw_close(device);
        if (count < KNOWN)
            known[count++] = o;
    }
    return MW_EXIT_OK;
}
