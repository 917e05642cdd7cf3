// SPDX-License-Identifier: Apache-2.0
//
// Runs of calibration: read, fitted, compared; see calibrate.h.
#include "plan/calibrate.h"

#include "formats/csv_read.h"
#include "systems/system_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 26 };

// ---- reading ------------------------------------------------------------------------------------

enum column {
    GPUS,
    TOKENS,
    HIDDEN,
    EXPERTS,
    K,
    TILE,
    EXPERT_CYCLES,
    LATENCY,
    FLIT_BYTES,
    SEED,
    SIGMA,
    LOCALITY,
    CYCLES,
    COLUMNS
};

static const struct {
    const char *name;
    double least;
} columns[COLUMNS] = {
    {"gpus", 2},  {"tokens_per_gpu", 1}, {"hidden", 1},       {"experts", 1},    {"k", 1},
    {"tile", 1},  {"expert_cycles", 0},  {"link_latency", 1}, {"flit_bytes", 8}, {"seed", 0},
    {"sigma", 0}, {"locality", 0},       {"cycles", 1},
};

/// The routing of a run, and its layer.
static int take_run(struct mw_calibration_run *run, const double v[COLUMNS], struct mw_error *err)
{
    const struct mw_synthetic how = {
        .layers = 1,
        .tokens = (size_t)(v[GPUS] * v[TOKENS]),
        .k = (unsigned)v[K],
        .experts = (unsigned)v[EXPERTS],
        .sigma = v[SIGMA],
        .locality = v[LOCALITY],
        .seed = (uint64_t)v[SEED],
    };
    const struct mw_moe_layer layer = {
        .tokens = v[TOKENS],
        .dispatch = (unsigned)v[HIDDEN],
        .combine = (unsigned)v[HIDDEN],
        .tile = (unsigned)v[TILE],
        .expert_cycles = v[EXPERT_CYCLES],
        .flit_bytes = (unsigned)v[FLIT_BYTES],
        .link_latency = (unsigned)v[LATENCY],
    };
    struct mw_trace trace;
    struct mw_routing r;
    struct mw_moe_counts counts;
    int status = mw_trace_make(&trace, &how, err);
    if (status)
        return status;
    status = mw_routing_make(&r, &trace, 0, (unsigned)v[GPUS], (unsigned)v[GPUS],
                             (unsigned)v[TOKENS], err);
    if (!status) {
        mw_moe_count(&r, &mw_systems[run->system], &layer, &counts);
        mw_moe_features(&r, &mw_systems[run->system], &counts, &layer, run->point.feature);
        mw_moe_ranges(&r, &layer, run->range);
        mw_routing_free(&r);
    }
    mw_trace_free(&trace);
    return status;
}

static int take_row(struct mw_calibration_run *run, const struct mw_csv_table *t, size_t row,
                    const unsigned at[COLUMNS], unsigned system_at, struct mw_error *err)
{
    double value[COLUMNS];
    const char *name = mw_csv_cell(t, row, system_at);
    const struct mw_system *system = mw_system_find(name);
    if (!system)
        return mw_fail(err, MW_EXIT_INPUT, "%s: line %zu: %s is no system of MoE layers", t->path,
                       t->line[row + 1], name);
    run->system = (unsigned)(system - mw_systems);
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < COLUMNS && !status; i++)
        status = mw_csv_number(t, row, at[i], columns[i].least, &value[i], err);
    run->point.cycles = value[CYCLES];
    return status ? status : take_run(run, value, err);
}

int mw_calibration_read(struct mw_calibration_run **run, size_t *count, const char *path, bool held,
                        struct mw_error *err)
{
    struct mw_csv_table t;
    unsigned at[COLUMNS], system_at = 0;
    int status = mw_csv_read(&t, path, MOST_BYTES, "a sweep's table", err);
    if (status)
        return status;
    for (unsigned i = 0; i < COLUMNS && !status; i++)
        status = mw_csv_need(&t, columns[i].name, &at[i], err);
    if (!status)
        status = mw_csv_need(&t, "system", &system_at, err);
    struct mw_calibration_run *more =
        status ? NULL : realloc(*run, (*count + t.rows + 1) * sizeof **run);
    if (!status && !more)
        status = mw_fail_memory(err, path);
    if (more)
        *run = more;
    for (size_t i = 0; i < t.rows && !status; i++) {
        struct mw_calibration_run *one = *run + *count;
        *one = (struct mw_calibration_run){.held = held};
        status = take_row(one, &t, i, at, system_at, err);
        *count += !status;
    }
    mw_csv_table_free(&t);
    return status;
}

// ---- fitting ------------------------------------------------------------------------------------

static void take_ranges(struct mw_calibration *c, const struct mw_calibration_run *run,
                        size_t count)
{
    for (unsigned i = 0; i < MW_RANGES; i++) {
        c->low[i] = INFINITY;
        c->high[i] = -INFINITY;
    }
    for (size_t r = 0; r < count; r++)
        for (unsigned i = 0; i < MW_RANGES && !run[r].held; i++) {
            c->low[i] = fmin(c->low[i], run[r].range[i]);
            c->high[i] = fmax(c->high[i], run[r].range[i]);
        }
}

int mw_calibration_fit(struct mw_calibration *c, const struct mw_calibration_run *run, size_t count,
                       struct mw_error *err)
{
    struct mw_fit_point *point = malloc((count + 1) * sizeof *point);
    if (!point)
        return mw_fail_memory(err, "the fit");
    int status = MW_EXIT_OK;
    *c = (struct mw_calibration){0};
    for (unsigned s = 0; s < MW_SYSTEMS && !status; s++) {
        size_t points = 0;
        for (size_t i = 0; i < count; i++)
            if (run[i].system == s && !run[i].held)
                point[points++] = run[i].point;
        if (points < 2 * MW_FEATURES || !mw_fit_features(point, points, c->coefficient[s]))
            status = mw_fail(err, MW_EXIT_INPUT, "%s: %zu runs to fit %d coefficients are too few",
                             mw_systems[s].name, points, MW_FEATURES);
    }
    free(point);
    take_ranges(c, run, count);
    return status;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int mw_calibration_errors(struct mw_calibration_errors *e, const struct mw_calibration *c,
                          const struct mw_calibration_run *run, size_t count, unsigned system,
                          bool held, struct mw_error *err)
{
    double *error = malloc((count + 1) * sizeof *error);
    *e = (struct mw_calibration_errors){0};
    if (!error)
        return mw_fail_memory(err, "errors of the fit");
    for (size_t i = 0; i < count; i++) {
        if (run[i].held != held || (system < MW_SYSTEMS && run[i].system != system))
            continue;
        const double value = mw_fit_value(c->coefficient[run[i].system], run[i].point.feature);
        error[e->runs++] = fabs(value / run[i].point.cycles - 1);
    }
    qsort(error, e->runs, sizeof *error, compare);
    if (e->runs) {
        e->median = (error[e->runs / 2] + error[(e->runs - 1) / 2]) / 2;
        e->largest = error[e->runs - 1];
    }
    free(error);
    return MW_EXIT_OK;
}
