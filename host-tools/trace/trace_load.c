// SPDX-License-Identifier: Apache-2.0
//
// Routing traces: loading, see trace.h. The order of the axes is never guessed: meta.json or an
// option declares it, or the lengths in meta.json fit one order only.
#include "formats/json.h"
#include "formats/npy.h"
#include "formats/npz.h"
#include "trace/meta.h"
#include "trace/trace.h"

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

enum { PATH_BYTES = sizeof(((struct mw_trace *)0)->ids_file), SHAPE_BYTES = 80 };

/// What is loaded, while it is.
struct load {
    struct mw_trace *trace;
    const struct mw_trace_said *said; ///< not NULL
    bool bare;                        ///< a file by itself, without a meta.json
    char archive[PATH_BYTES];         ///< .npz, or empty
    char meta_file[PATH_BYTES];       ///< empty if `bare`
    struct mw_meta meta;
    struct mw_npy ids, weights; ///< weights.data is NULL if there are none
};

// ---- files --------------------------------------------------------------------------------------

static void path_of(char path[PATH_BYTES], const char *folder, const char *file)
{
    size_t n = strlen(folder);
    snprintf(path, PATH_BYTES, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", file);
}

/// Sets the names of all files: of a folder, or of a file by itself.
static int find_files(struct load *l, const char *path, struct mw_error *err)
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
static int find_weights(struct load *l, struct mw_error *err)
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

static int read_arrays(struct load *l, struct mw_error *err)
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

static int compare_shapes(const struct load *l, struct mw_error *err)
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

// ---- what is declared ---------------------------------------------------------------------------

/// Two bytes are bf16 only where the file or meta.json says so.
static int check_weights_type(struct load *l, struct mw_error *err)
{
    struct mw_npy *w = &l->weights;
    const bool declared = *l->meta.weights_type,
               raw = w->type == MW_NPY_U2 || w->type == MW_NPY_RAW2;
    if (declared && strcmp(l->meta.weights_type, "bfloat16") != 0)
        return mw_fail(
            err, MW_EXIT_INPUT,
            "%s: \"weights_type\" is \"%s\", expected \"bfloat16\" (other types are said "
            "by the array itself)",
            l->meta_file, l->meta.weights_type);
    if (!w->data)
        return MW_EXIT_OK;
    if (raw && !declared)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: header: elements of type '%s' are no weights: if they are the bits of "
                       "bf16, write \"weights_type\": \"bfloat16\" in meta.json",
                       l->trace->weights_file, w->descr);
    if (declared && !raw && w->type != MW_NPY_BF16)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: \"weights_type\" is \"bfloat16\", but %s has elements of type '%s'",
                       l->meta_file, l->trace->weights_file, w->descr);
    w->type = raw ? MW_NPY_BF16 : w->type;
    return MW_EXIT_OK;
}

static int set_experts(struct load *l, struct mw_error *err)
{
    const unsigned said = l->said->experts, meta = l->meta.experts;
    const unsigned option = said ? said : l->said->model_experts;
    if (!option && !meta)
        return mw_fail(
            err, MW_EXIT_INPUT,
            "%s: a file without a meta.json does not say how many experts the model has: "
            "say --experts E",
            l->trace->name);
    if (said && meta && said != meta)
        return mw_fail(err, MW_EXIT_INPUT, "--experts %u: but %s says %u", said, l->meta_file,
                       meta);
    l->trace->experts = meta ? meta : option;
    return MW_EXIT_OK;
}

/// The lengths of the ids' array with these axes; without layers there is one.
static void lengths_of(const struct load *l, const struct mw_axes *axes, size_t length[MW_AXES])
{
    for (unsigned a = 0; a < MW_AXES; a++)
        length[a] = 1;
    for (unsigned i = 0; i < axes->count; i++)
        length[axes->axis[i]] = l->ids.dim[i];
}

/// Whether the lengths that meta.json says are those of the array with these axes;
/// the one that is not.
static bool fits(const struct load *l, const struct mw_axes *axes, const char **name,
                 size_t *stated, size_t *found)
{
    static const char *const names[MW_AXES] = {"layers", "tokens", "top_k"};
    const size_t lengths[MW_AXES] = {l->meta.layers, l->meta.tokens, l->meta.k};
    size_t dim[MW_AXES];
    lengths_of(l, axes, dim);
    for (unsigned a = 0; a < MW_AXES; a++)
        if (lengths[a] && lengths[a] != dim[a]) {
            *name = names[a];
            *stated = lengths[a];
            *found = dim[a];
            return false;
        }
    return true;
}

/// The orders that serving engines write: the lengths in meta.json may say which of them it is.
static int deduce_axes(const struct load *l, struct mw_axes *axes, struct mw_error *err)
{
    static const struct mw_axes orders[2] = {{3, {MW_AXIS_LAYERS, MW_AXIS_TOKENS, MW_AXIS_K}},
                                             {3, {MW_AXIS_TOKENS, MW_AXIS_LAYERS, MW_AXIS_K}}};
    const char *name, *file = l->trace->ids_file;
    char shape[SHAPE_BYTES];
    size_t stated, found;
    mw_npy_shape(&l->ids, shape, sizeof shape);
    if (l->ids.dims != 3)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: header: shape %s: what its axes are is not declared: %s--axes with "
                       "layers, tokens and k in the order of the file, as --axes tokens,k",
                       file, shape, l->bare ? "say " : "write \"axes\" in meta.json, or say ");
    const bool first = fits(l, &orders[0], &name, &stated, &found);
    const bool second = fits(l, &orders[1], &name, &stated, &found);
    if (first != second || (first && l->ids.dim[0] == 1 && l->ids.dim[1] == 1)) {
        *axes = orders[!first];
        return MW_EXIT_OK;
    }
    if (!first)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: \"%s\" is %zu, but %s has shape %s: the two do not belong together",
                       l->meta_file, name, stated, file, shape);
    return mw_fail(err, MW_EXIT_INPUT,
                   "%s: header: shape %s: the order of its axes is not declared: %s"
                   "--axes layers,tokens,k, or --axes tokens,layers,k as vLLM and SGLang write it",
                   file, shape,
                   l->bare ? "say "
                           : "write it in meta.json, as \"axes\": \"layers,tokens,k\", or say ");
}

static int check_axes(const struct load *l, const struct mw_axes *axes, struct mw_error *err)
{
    const char *name, *file = l->trace->ids_file;
    char text[MW_AXES_BYTES], shape[SHAPE_BYTES];
    size_t stated, found;
    mw_axes_text(axes, text);
    mw_npy_shape(&l->ids, shape, sizeof shape);
    if (axes->count != l->ids.dims)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: header: shape %s has %u dimensions, but the axes %s are %u", file,
                       shape, l->ids.dims, text, axes->count);
    if (!fits(l, axes, &name, &stated, &found))
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: \"%s\" is %zu, but %s of shape %s has %zu with the axes %s",
                       l->meta_file, name, stated, file, shape, found, text);
    return MW_EXIT_OK;
}

static int set_axes(struct load *l, struct mw_error *err)
{
    const struct mw_axes *said = &l->said->axes;
    struct mw_axes meta = {0}, *axes = &l->trace->axes;
    char text[MW_AXES_BYTES];
    if (*l->meta.axes && !mw_axes_parse(&meta, l->meta.axes))
        return mw_fail(
            err, MW_EXIT_INPUT,
            "%s: \"axes\" is \"%s\", expected tokens, k and perhaps layers, each once, as "
            "\"tokens,layers,k\"",
            l->meta_file, l->meta.axes);
    if (said->count && meta.count &&
        (said->count != meta.count || memcmp(said->axis, meta.axis, sizeof meta.axis) != 0))
        return mw_fail(err, MW_EXIT_INPUT, "--axes %s: but %s says \"%s\"",
                       mw_axes_text(said, text), l->meta_file, l->meta.axes);
    *axes = meta.count ? meta : *said;
    return axes->count ? check_axes(l, axes, err) : deduce_axes(l, axes, err);
}

// ---- the arrays ---------------------------------------------------------------------------------

static int check_sizes(const struct load *l, struct mw_error *err)
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
/// by losing bits. The largest number of an unsigned type stands for -1, where it is no expert's.
static bool take_id(const struct load *l, size_t from, uint16_t *id)
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

static int take_element(const struct load *l, const size_t at[MW_AXES], size_t to,
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
static int take_arrays(struct load *l, struct mw_error *err)
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

static void describe(struct load *l)
{
    struct mw_trace *t = l->trace;
    size_t dim[MW_AXES];
    lengths_of(l, &t->axes, dim);
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

static int load(struct load *l, const char *path, struct mw_error *err)
{
    int status = find_files(l, path, err);
    if (!status && !l->bare)
        status = mw_meta_read(&l->meta, l->meta_file, err);
    if (!status)
        status = read_arrays(l, err);
    if (!status)
        status = compare_shapes(l, err);
    if (!status)
        status = check_weights_type(l, err);
    if (!status)
        status = set_experts(l, err);
    if (!status)
        status = set_axes(l, err);
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
    struct load l = {.trace = trace, .said = said ? said : &nothing};
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
