// SPDX-License-Identifier: Apache-2.0
//
// See tensor.h.
#include "cost/tensor.h"

#include "cost/fit_features.h"
#include "cost/routing.h"
#include "cost/tensor_schedule.h"
#include "tp/tp_bounds.h"

#include <math.h>

const char *const mw_tensor_feature_names[MW_FEATURES] = {"schedule"};
const char *const mw_tensor_range_names[MW_TENSOR_RANGES] = {
    "GPUs of tensor parallelism", "rows of tensor parallelism", "values of a tensor-parallel row",
    "cycles of a tensor-parallel row", "link latency of tensor parallelism"};

enum { COUNTED_ROWS = MW_TP_MOST_ROWS }; ///< more rows are counted as parts of so many

/// The problem that bounds are counted of: at most MW_COUNTED_GPUS GPUs, a multiple of them as
/// rows, and whole cycles.
static struct mw_tp_problem problem_of(const struct mw_tensor_work *w)
{
    const unsigned gpus = w->gpus < MW_COUNTED_GPUS ? w->gpus : MW_COUNTED_GPUS;
    const double own = ceil(fmin(w->rows, COUNTED_ROWS) / gpus);
    struct mw_tp_problem p = {
        .o = {.kind = w->kind, .rows = (unsigned)own * gpus, .merge_entries = MW_BUILT_MERGES},
        .gpus = gpus,
        .hidden = w->hidden,
        .flit_bytes = w->flit_bytes,
        .link_cycles = 1,
        .tile = w->tile,
    };
    for (unsigned i = 0; i < MW_TP_PARTS; i++)
        p.cycles[i] = (uint64_t)ceil(w->cycles[i]);
    return p;
}

static double longest_part(const struct mw_tp_problem *p)
{
    double most = (double)mw_tp_least_cycles(p);
    for (unsigned i = 0; i < MW_TP_PARTS; i++)
        if (mw_tp_has(p, (enum mw_tp_part)i))
            most = fmax(most, (double)p->cycles[i]);
    return most;
}

/// Some systems run on few GPUs. With more, time grows as the bound does.
static double schedule(struct mw_tp_problem p, const struct mw_tp_system *s, unsigned link_latency)
{
    struct mw_tp_bounds asked, run;
    mw_tp_bounds(&p, s, &asked);
    if (s->most_gpus && p.gpus > s->most_gpus) {
        p.o.rows = mw_tp_own(&p) * s->most_gpus;
        p.gpus = s->most_gpus;
    }
    mw_tp_bounds(&p, s, &run);
    return mw_tensor_schedule(&p, s, link_latency) * (double)asked.own.cycles /
           (double)run.own.cycles;
}

void mw_tensor_features(const struct mw_tensor_work *w, unsigned system,
                        double feature[MW_FEATURES])
{
    const struct mw_tp_system *s = mw_tp_systems[system];
    const struct mw_tp_problem p = problem_of(w);
    const double scale = fmax(1, w->rows / p.o.rows);
    for (unsigned i = 0; i < MW_FEATURES; i++)
        feature[i] = 0;
    feature[MW_T_SCHEDULE] = schedule(p, s, w->link_latency) * scale;
}

void mw_tensor_ranges(const struct mw_tensor_work *w, double value[MW_RANGES])
{
    const struct mw_tp_problem p = problem_of(w);
    for (unsigned i = 0; i < MW_RANGES; i++)
        value[i] = 0;
    value[MW_TR_GPUS] = w->gpus;
    value[MW_TR_ROWS] = w->rows;
    value[MW_TR_HIDDEN] = w->hidden;
    value[MW_TR_CYCLES] = longest_part(&p);
    value[MW_TR_LATENCY] = w->link_latency;
}

static unsigned index_of(const char *name)
{
    unsigned i = 0;
    while (i < MW_TP_SYSTEMS && mw_tp_systems[i] != mw_tp_system_find(name))
        i++;
    return i;
}

unsigned mw_tensor_system(enum mw_tp_kind kind, unsigned system)
{
    const struct mw_tp_problem p = {.o.kind = kind, .gpus = 2};
    const struct mw_tp_system *s = mw_tp_systems[system];
    if (!mw_tp_unfit(&p, s))
        return system;
    if (s->reduce == MW_TP_SUMS)
        return index_of("cais-ordered");
    if (s->reduce == MW_TP_PUSH)
        return index_of("pull");
    return index_of(s->gather == MW_TP_MERGED ? "tiles" : "chain");
}

double mw_tensor_cycles(const struct mw_calibration *c, const struct mw_tensor_work *w,
                        unsigned system)
{
    const unsigned as = mw_tensor_system(w->kind, system);
    double feature[MW_FEATURES];
    mw_tensor_features(w, as, feature);
    return mw_fit_value(c->coefficient[as], feature);
}
