// SPDX-License-Identifier: Apache-2.0
//
// See trace_declared.h. The order of the axes is never guessed: meta.json or an option declares it,
// or the lengths in meta.json fit one order only.
#include "trace/trace_declared.h"

#include <string.h>

enum { SHAPE_BYTES = 80 };

/// Two bytes are bf16 only if the file or meta.json states it.
static int check_weights_type(struct mw_trace_loading *l, struct mw_error *err)
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

static int set_experts(struct mw_trace_loading *l, struct mw_error *err)
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

void mw_trace_lengths(const struct mw_trace_loading *l, const struct mw_axes *axes,
                      size_t length[MW_AXES])
{
    for (unsigned a = 0; a < MW_AXES; a++)
        length[a] = 1;
    for (unsigned i = 0; i < axes->count; i++)
        length[axes->axis[i]] = l->ids.dim[i];
}

/// Whether the lengths in meta.json are those of the array with these axes; the one that is not.
static bool fits(const struct mw_trace_loading *l, const struct mw_axes *axes, const char **name,
                 size_t *stated, size_t *found)
{
    static const char *const names[MW_AXES] = {"layers", "tokens", "top_k"};
    const size_t lengths[MW_AXES] = {l->meta.layers, l->meta.tokens, l->meta.k};
    size_t dim[MW_AXES];
    mw_trace_lengths(l, axes, dim);
    for (unsigned a = 0; a < MW_AXES; a++)
        if (lengths[a] && lengths[a] != dim[a]) {
            *name = names[a];
            *stated = lengths[a];
            *found = dim[a];
            return false;
        }
    return true;
}

/// The orders that serving engines write: the lengths in meta.json may show which of them it is.
static int deduce_axes(const struct mw_trace_loading *l, struct mw_axes *axes, struct mw_error *err)
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

static int check_axes(const struct mw_trace_loading *l, const struct mw_axes *axes,
                      struct mw_error *err)
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

static int set_axes(struct mw_trace_loading *l, struct mw_error *err)
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

int mw_trace_declared(struct mw_trace_loading *l, struct mw_error *err)
{
    int status = check_weights_type(l, err);
    if (!status)
        status = set_experts(l, err);
    return status ? status : set_axes(l, err);
}
