// SPDX-License-Identifier: Apache-2.0
//
// Runs of calibration: read, fitted, compared; see calibrate.h.
#include "calibrate/calibrate.h"

#include "formats/csv_read.h"
#include "systems/system_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct mw_fit_kind mw_fit_kinds[MW_FITS] = {
    {"MoE layers", MW_SYSTEMS, MW_FEATURES, MW_RANGES, mw_feature_names, mw_range_names, 0.03,
     0.10},
    {"tensor parallelism", MW_TP_SYSTEMS, MW_TENSOR_FEATURES, MW_TENSOR_RANGES,
     mw_tensor_feature_names, mw_tensor_range_names, 0.03, 0.10},
};
_Static_assert((int)MW_SYSTEMS <= MW_FIT_SYSTEMS && (int)MW_TP_SYSTEMS <= MW_FIT_SYSTEMS,
               "coefficients of each system");

const char *mw_fit_system(enum mw_fit fit, unsigned system)
{
    return fit == MW_FIT_MOE ? mw_systems[system].name : mw_tp_systems[system]->name;
}

/// MW_FIT_SYSTEMS: there is none.
static unsigned find_system(enum mw_fit fit, const char *name)
{
    for (unsigned i = 0; i < mw_fit_kinds[fit].systems; i++)
        if (strcmp(mw_fit_system(fit, i), name) == 0)
            return i;
    return MW_FIT_SYSTEMS;
}

// ---- reading ------------------------------------------------------------------------------------

struct column {
    const char *name;
    double least;
    bool optional; ///< where the cell is empty it is 0
};

enum layer_column { TOKENS, EXPERTS, K, EXPERT_CYCLES, SEED, SIGMA, LOCALITY, LAYER_COLUMNS };
enum tensor_column { ROWS, PART_CYCLES, TENSOR_COLUMNS = PART_CYCLES + MW_TP_PARTS };
enum { OWN_COLUMNS = LAYER_COLUMNS };
enum common_column { GPUS, HIDDEN, TILE, LATENCY, FLIT_BYTES, CYCLES, COMMON_COLUMNS };

static const struct column common_columns[COMMON_COLUMNS] = {
    {"gpus", 2, false},         {"hidden", 1, false},     {"tile", 1, false},
    {"link_latency", 1, false}, {"flit_bytes", 8, false}, {"cycles", 1, false}};
static const struct column layer_columns[LAYER_COLUMNS] = {
    {"tokens_per_gpu", 1, false}, {"experts", 1, false}, {"k", 1, false},
    {"expert_cycles", 0, false},  {"seed", 0, false},    {"sigma", 0, false},
    {"locality", 0, false},
};
static const struct column tensor_columns[TENSOR_COLUMNS] = {
    {"rows", 1, false},
    {"gemm_rs_cycles", 0, true},
    {"ln_cycles", 0, true},
    {"ag_gemm_cycles", 0, true},
};

/// What a table has of a run.
struct row {
    const struct mw_csv_table *t;
    size_t at;
    double common[COMMON_COLUMNS], own[OWN_COLUMNS];
};

static int take_layer(struct mw_calibration_run *run, const struct row *row, struct mw_error *err)
{
    const double *v = row->own, *c = row->common;
    const struct mw_synthetic how = {
        .layers = 1,
        .tokens = (size_t)(c[GPUS] * v[TOKENS]),
        .k = (unsigned)v[K],
        .experts = (unsigned)v[EXPERTS],
        .sigma = v[SIGMA],
        .locality = v[LOCALITY],
        .seed = (uint64_t)v[SEED],
    };
    const struct mw_moe_layer layer = {
        .tokens = v[TOKENS],
        .dispatch = (unsigned)c[HIDDEN],
        .combine = (unsigned)c[HIDDEN],
        .tile = (unsigned)c[TILE],
        .expert_cycles = v[EXPERT_CYCLES],
        .flit_bytes = (unsigned)c[FLIT_BYTES],
        .link_latency = (unsigned)c[LATENCY],
    };
    struct mw_trace trace;
    struct mw_routing r;
    struct mw_moe_counts counts;
    int status = mw_trace_make(&trace, &how, err);
    if (status)
        return status;
    status = mw_routing_make(&r, &trace, 0, (unsigned)c[GPUS], (unsigned)c[GPUS],
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

static void take_tensor(struct mw_calibration_run *run, const struct row *row, enum mw_tp_kind kind)
{
    const double *v = row->own, *c = row->common;
    struct mw_tensor_work work = {
        .kind = kind,
        .gpus = (unsigned)fmin(c[GPUS], MW_MAX_GPUS),
        .rows = v[ROWS],
        .hidden = (unsigned)c[HIDDEN],
        .tile = (unsigned)c[TILE],
        .flit_bytes = (unsigned)c[FLIT_BYTES],
        .link_latency = (unsigned)c[LATENCY],
    };
    memcpy(work.cycles, &v[PART_CYCLES], sizeof work.cycles);
    mw_tensor_features(&work, run->system, run->point.feature);
    mw_tensor_ranges(&work, run->range);
}

static int take_columns(const struct row *row, const struct column *column, unsigned count,
                        double *value, struct mw_error *err)
{
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < count && !status; i++) {
        unsigned at;
        status = mw_csv_need(row->t, column[i].name, &at, err);
        value[i] = 0;
        if (!status && !(column[i].optional && !*mw_csv_cell(row->t, row->at, at)))
            status = mw_csv_number(row->t, row->at, at, column[i].least, &value[i], err);
    }
    return status;
}

static int take_row(struct mw_calibration_run *run, struct row *row, enum mw_tp_kind kind,
                    const char *name, struct mw_error *err)
{
    run->fit = kind == MW_TP_NONE ? MW_FIT_MOE : MW_FIT_TENSOR;
    run->system = find_system(run->fit, name);
    if (run->system == MW_FIT_SYSTEMS)
        return mw_fail(err, MW_EXIT_INPUT, "%s: line %zu: %s is no system of %s", row->t->path,
                       row->t->line[row->at + 1], name, mw_fit_kinds[run->fit].title);
    int status = take_columns(row, common_columns, COMMON_COLUMNS, row->common, err);
    if (status)
        return status;
    run->point.cycles = row->common[CYCLES];
    if (run->fit == MW_FIT_MOE) {
        status = take_columns(row, layer_columns, LAYER_COLUMNS, row->own, err);
        return status ? status : take_layer(run, row, err);
    }
    status = take_columns(row, tensor_columns, TENSOR_COLUMNS, row->own, err);
    if (!status)
        take_tensor(run, row, kind);
    return status;
}

/// MoE layers where the table has no workload, or none in this row.
static int kind_of(enum mw_tp_kind *kind, const struct mw_csv_table *t, size_t row, unsigned column,
                   struct mw_error *err)
{
    const char *name = column == MW_CSV_NONE ? "" : mw_csv_cell(t, row, column);
    *kind = MW_TP_NONE;
    if (!*name)
        return MW_EXIT_OK;
    for (unsigned i = 0; i < MW_TP_KINDS; i++)
        if (strcmp(mw_tp_kind_names[i], name) == 0) {
            *kind = (enum mw_tp_kind)i;
            return MW_EXIT_OK;
        }
    return mw_fail(err, MW_EXIT_INPUT, "%s: line %zu: %s is no workload", t->path, t->line[row + 1],
                   name);
}

int mw_calibration_read(struct mw_calibration_run **run, size_t *count, const char *path, bool held,
                        struct mw_error *err)
{
    struct mw_csv_table t;
    unsigned system = 0;
    int status = mw_csv_read(&t, path, MW_CALIBRATION_BYTES, "a sweep's table", err);
    if (status)
        return status;
    const unsigned workload = mw_csv_column(&t, "workload");
    status = mw_csv_need(&t, "system", &system, err);
    struct mw_calibration_run *more =
        status ? NULL : realloc(*run, (*count + t.rows + 1) * sizeof **run);
    if (!status && !more)
        status = mw_fail_memory(err, path);
    if (more)
        *run = more;
    for (size_t i = 0; i < t.rows && !status; i++) {
        struct row row = {.t = &t, .at = i};
        enum mw_tp_kind kind;
        (*run)[*count] = (struct mw_calibration_run){.held = held};
        status = kind_of(&kind, &t, i, workload, err);
        if (!status)
            status = take_row(*run + *count, &row, kind, mw_csv_cell(&t, i, system), err);
        *count += !status;
    }
    mw_csv_table_free(&t);
    return status;
}

// ---- fitting ------------------------------------------------------------------------------------

size_t mw_calibration_runs(const struct mw_calibration_run *run, size_t count, enum mw_fit fit)
{
    size_t runs = 0;
    for (size_t i = 0; i < count; i++)
        runs += run[i].fit == fit;
    return runs;
}

static void take_ranges(struct mw_calibration *c, enum mw_fit fit,
                        const struct mw_calibration_run *run, size_t count)
{
    for (unsigned i = 0; i < MW_RANGES; i++) {
        c->low[i] = INFINITY;
        c->high[i] = -INFINITY;
    }
    for (size_t r = 0; r < count; r++)
        for (unsigned i = 0; i < MW_RANGES && run[r].fit == fit && !run[r].held; i++) {
            c->low[i] = fmin(c->low[i], run[r].range[i]);
            c->high[i] = fmax(c->high[i], run[r].range[i]);
        }
}

static int fit_system(struct mw_calibration *c, enum mw_fit fit, unsigned system,
                      const struct mw_calibration_run *run, size_t count, struct mw_error *err)
{
    struct mw_fit_point *point = malloc((count + 1) * sizeof *point);
    size_t points = 0;
    int status = MW_EXIT_OK;
    if (!point)
        return mw_fail_memory(err, "the fit");
    for (size_t i = 0; i < count; i++)
        if (run[i].fit == fit && run[i].system == system && !run[i].held)
            point[points++] = run[i].point;
    const unsigned features = mw_fit_kinds[fit].features;
    if (points <= features || !mw_fit_features(point, points, c->coefficient[system]))
        status = mw_fail(err, MW_EXIT_INPUT, "%s: %zu runs to fit %u coefficients are too few",
                         mw_fit_system(fit, system), points, features);
    free(point);
    return status;
}

int mw_calibration_fit(struct mw_calibration c[MW_FITS], const struct mw_calibration_run *run,
                       size_t count, struct mw_error *err)
{
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < MW_FITS && !status; i++) {
        const enum mw_fit fit = (enum mw_fit)i;
        c[i] = mw_calibrated[i];
        if (!mw_calibration_runs(run, count, fit))
            continue;
        c[i] = (struct mw_calibration){0};
        for (unsigned s = 0; s < mw_fit_kinds[i].systems && !status; s++)
            status = fit_system(&c[i], fit, s, run, count, err);
        take_ranges(&c[i], fit, run, count);
    }
    return status;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int mw_calibration_errors(struct mw_calibration_errors *e, const struct mw_calibration c[MW_FITS],
                          const struct mw_calibration_run *run, size_t count, enum mw_fit fit,
                          unsigned system, bool held, struct mw_error *err)
{
    double *error = malloc((count + 1) * sizeof *error);
    *e = (struct mw_calibration_errors){0};
    if (!error)
        return mw_fail_memory(err, "errors of the fit");
    for (size_t i = 0; i < count; i++) {
        if (run[i].fit != fit || run[i].held != held ||
            (system < MW_FIT_SYSTEMS && run[i].system != system))
            continue;
        const double value = mw_fit_value(c[fit].coefficient[run[i].system], run[i].point.feature);
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
