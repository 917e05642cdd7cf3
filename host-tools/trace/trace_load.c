// SPDX-License-Identifier: Apache-2.0
//
// Routing traces: loading, see trace.h.
#include "formats/npz.h"
#include "trace/trace_declared.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char ids_name[] = "topk_ids.npy";
static const char weights_name[] = "topk_weights.npy";
static const char meta_name[] = "meta.json";
const char *const mw_trace_files[3] = {ids_name, weights_name, meta_name};
const char mw_trace_archive[] = "topk.npz";

enum { SHAPE_BYTES = 80 };

// ---- files --------------------------------------------------------------------------------------

static void path_of(char path[MW_TRACE_PATH], const char *folder, const char *file)
{
    size_t n = strlen(folder);
    snprintf(path, MW_TRACE_PATH, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", file);
}

/// Sets the names of all files: of a folder, or of a file by itself.
static int find_files(struct mw_trace_loading *l, const char *path, struct mw_error *err)
{
    struct mw_trace *t = l->trace;
    struct stat st;
    l->bare = stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
    if (l->bare && !S_ISREG(st.st_mode)) // a pipe: nothing of it may be read twice
        return mw_fail(err, MW_EXIT_INPUT, "%s: not a regular file and no folder", path);
    if (l->bare && mw_npz_is(path)) {
        snprintf(l->archive, sizeof l->archive, "%s", path);
    } else if (l->bare) {
        snprintf(t->ids_file, sizeof t->ids_file, "%s", path);
        return MW_EXIT_OK;
    } else {
        path_of(l->meta_file, path, meta_name);
        path_of(l->archive, path, mw_trace_archive);
        path_of(t->ids_file, path, ids_name);
        path_of(t->weights_file, path, weights_name);
        if (access(l->archive, F_OK) != 0)
            *l->archive = 0;
        else if (access(t->ids_file, F_OK) == 0 || access(t->weights_file, F_OK) == 0)
            return mw_fail(err, MW_EXIT_INPUT,
                           "%s: the folder has %s and arrays of its own: remove one of them", path,
                           mw_trace_archive);
    }
    if (*l->archive) {
        snprintf(t->ids_file, sizeof t->ids_file, "%.500s: %s", l->archive, ids_name);
        snprintf(t->weights_file, sizeof t->weights_file, "%.500s: %s", l->archive, weights_name);
    }
    return MW_EXIT_OK;
}

/// Weights that are not there are no error: `weights_file` is empty then.
static int find_weights(struct mw_trace_loading *l, struct mw_error *err)
{
    bool has = false;
    int status = MW_EXIT_OK;
    if (*l->archive)
        status = mw_npz_has(l->archive, weights_name, &has, err);
    else
        has = *l->trace->weights_file && access(l->trace->weights_file, F_OK) == 0;
    if (!has)
        *l->trace->weights_file = 0;
    return status;
}

static int read_arrays(struct mw_trace_loading *l, struct mw_error *err)
{
    const unsigned floats = MW_NPY_FLOAT | 1u << MW_NPY_U2 | 1u << MW_NPY_RAW2;
    struct mw_trace *t = l->trace;
    int status = *l->archive ? mw_npz_read(&l->ids, l->archive, ids_name, MW_NPY_WHOLE, err)
                             : mw_npy_read(&l->ids, t->ids_file, MW_NPY_WHOLE, err);
    if (!status)
        status = find_weights(l, err);
    if (status || !*t->weights_file)
        return status;
    return *l->archive ? mw_npz_read(&l->weights, l->archive, weights_name, floats, err)
                       : mw_npy_read(&l->weights, t->weights_file, floats, err);
}

static int compare_shapes(const struct mw_trace_loading *l, struct mw_error *err)
{
    const struct mw_npy *ids = &l->ids, *weights = &l->weights;
    char a[SHAPE_BYTES], b[SHAPE_BYTES];
    if (!weights->data ||
        (ids->dims == weights->dims && memcmp(ids->dim, weights->dim, sizeof ids->dim) == 0))
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT, "%s: header: shape %s, but %s has %s",
                   l->trace->weights_file, mw_npy_shape(weights, a, sizeof a), ids_name,
                   mw_npy_shape(ids, b, sizeof b));
}

// ---- the arrays ---------------------------------------------------------------------------------

static int check_sizes(const struct mw_trace_loading *l, struct mw_error *err)
{
    const struct mw_trace *t = l->trace;
    char axes[MW_AXES_BYTES];
    if (t->k > MW_MAX_K)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: header: %u experts per token with the axes %s, at most %d", t->ids_file,
                       t->k, mw_axes_text(&t->axes, axes), MW_MAX_K);
    if (t->k > t->experts)
        return mw_fail(err, MW_EXIT_INPUT, "%s: header: %u experts per token, but the model has %u",
                       t->ids_file, t->k, t->experts);
    return MW_EXIT_OK;
}

/// The element of a place of a trace.
static size_t element(const struct mw_npy *npy, const struct mw_axes *axes,
                      const size_t at[MW_AXES])
{
    size_t index = 0;
    for (unsigned i = 0; i < axes->count; i++)
        index += at[axes->axis[i]] * npy->stride[i];
    return index;
}

/// An expert as 16 bits. What does not fit there is no expert of any model, and must not become one
/// by losing bits. The largest number of an unsigned type means -1, unless it is an expert's.
static bool take_id(const struct mw_trace_loading *l, size_t from, uint16_t *id)
{
    const struct mw_npy *ids = &l->ids;
    const int64_t value = mw_npy_whole(ids, from);
    const bool is_unsigned = MW_NPY_UNSIGNED >> ids->type & 1;
    if (value == -1 ||
        (is_unsigned && mw_npy_is_largest(ids, from) && value >= (int64_t)l->trace->experts))
        *id = MW_NO_EXPERT;
    else if (value < 0 || value >= MW_NO_EXPERT)
        return false;
    else
        *id = (uint16_t)value;
    return true;
}

static int take_element(const struct mw_trace_loading *l, const size_t at[MW_AXES], size_t to,
                        struct mw_error *err)
{
    struct mw_trace *t = l->trace;
    const size_t from = element(&l->ids, &t->axes, at);
    double weight = 1.0 / t->k;
    if (!take_id(l, from, &t->ids[to]))
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: layer %zu, token %zu, column %zu: expert %lld: expected -1 (none) or "
                       "an expert's number",
                       t->ids_file, at[MW_AXIS_LAYERS], at[MW_AXIS_TOKENS], at[MW_AXIS_K],
                       (long long)mw_npy_whole(&l->ids, from));
    if (l->weights.data)
        weight = mw_npy_real(&l->weights, element(&l->weights, &t->axes, at));
    t->weights[to] = (float)weight;
    if (isfinite(weight) && !isfinite(t->weights[to]) && t->ids[to] != MW_NO_EXPERT)
        return mw_fail(
            err, MW_EXIT_INPUT, "%s: layer %zu, token %zu, column %zu: the weight %g is no float32",
            t->weights_file, at[MW_AXIS_LAYERS], at[MW_AXIS_TOKENS], at[MW_AXIS_K], weight);
    return MW_EXIT_OK;
}

/// Both arrays as the trace has them: [layers][tokens][k].
static int take_arrays(struct mw_trace_loading *l, struct mw_error *err)
{
    struct mw_trace *t = l->trace;
    t->ids = calloc(l->ids.count, sizeof *t->ids);
    t->weights = calloc(l->ids.count, sizeof *t->weights);
    if (!t->ids || !t->weights)
        return mw_fail_memory(err, t->name);
    size_t to = 0, at[MW_AXES];
    for (at[0] = 0; at[0] < t->layers; at[0]++)
        for (at[1] = 0; at[1] < t->tokens; at[1]++)
            for (at[2] = 0; at[2] < t->k; at[2]++) {
                int status = take_element(l, at, to++, err);
                if (status)
                    return status;
            }
    return MW_EXIT_OK;
}

// ---- all of it ----------------------------------------------------------------------------------

static void describe(struct mw_trace_loading *l)
{
    struct mw_trace *t = l->trace;
    size_t dim[MW_AXES];
    mw_trace_lengths(l, &t->axes, dim);
    t->layers = dim[MW_AXIS_LAYERS];
    t->tokens = dim[MW_AXIS_TOKENS];
    t->k = dim[MW_AXIS_K] > UINT32_MAX ? UINT32_MAX : (unsigned)dim[MW_AXIS_K];
    t->hidden = l->meta.hidden;
    t->uniform = !l->weights.data;
    memcpy(t->ids_type, l->ids.descr, sizeof t->ids_type);
    snprintf(t->weights_type, sizeof t->weights_type, "%s",
             l->weights.type == MW_NPY_BF16 ? mw_npy_name(MW_NPY_BF16) : l->weights.descr);
    snprintf(t->model, sizeof t->model, "%s", l->meta.model);
}

static int load(struct mw_trace_loading *l, const char *path, struct mw_error *err)
{
    int status = find_files(l, path, err);
    if (!status && !l->bare)
        status = mw_meta_read(&l->meta, l->meta_file, err);
    if (!status)
        status = read_arrays(l, err);
    if (!status)
        status = compare_shapes(l, err);
    if (!status)
        status = mw_trace_declared(l, err);
    if (status)
        return status;
    describe(l);
    status = check_sizes(l, err);
    return status ? status : take_arrays(l, err);
}

int mw_trace_load(struct mw_trace *trace, const char *path, const struct mw_trace_said *said,
                  struct mw_error *err)
{
    static const struct mw_trace_said nothing;
    struct mw_trace_loading l = {.trace = trace, .said = said ? said : &nothing};
    *trace = (struct mw_trace){0};
    if (strlen(path) >= sizeof trace->name)
        return mw_fail(err, MW_EXIT_INPUT, "%.40s...: the name of the trace is too long", path);
    snprintf(trace->name, sizeof trace->name, "%s", path);
    int status = load(&l, path, err);
    mw_npy_free(&l.ids);
    mw_npy_free(&l.weights);
    if (status)
        mw_trace_free(trace);
    return status;
}
