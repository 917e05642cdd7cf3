// SPDX-License-Identifier: Apache-2.0
//
// Routing traces: loading and checking, see trace.h.
#include "trace.h"

#include "json.h"
#include "npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ids_file[] = "topk_ids.npy";
static const char weights_file[] = "topk_weights.npy";
static const char meta_file[] = "meta.json";
const char *const mw_trace_files[3] = {ids_file, weights_file, meta_file};

enum { PATH_BYTES = 640 };

static void path_of(char path[PATH_BYTES], const char *folder, const char *file)
{
    size_t n = strlen(folder);
    snprintf(path, PATH_BYTES, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", file);
}

/// The arrays and meta.json must describe the same thing.
static int compare_shapes(const char *folder, const struct mw_npy *ids,
                          const struct mw_npy *weights, const struct mw_meta *meta,
                          struct mw_error *err)
{
    char path[PATH_BYTES];
    path_of(path, folder, weights_file);
    if (memcmp(ids->dim, weights->dim, sizeof ids->dim) != 0)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: header: shape (%zu, %zu, %zu), but %s has (%zu, %zu, %zu)", path,
                       weights->dim[0], weights->dim[1], weights->dim[2], ids_file, ids->dim[0],
                       ids->dim[1], ids->dim[2]);
    const size_t told[3] = {meta->layers, meta->tokens, meta->k};
    static const char *const names[3] = {"layers", "tokens", "top_k"};
    path_of(path, folder, meta_file);
    for (unsigned i = 0; i < 3; i++)
        if (told[i] && told[i] != ids->dim[i])
            return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\" is %zu, but %s has %zu", path, names[i],
                           told[i], ids_file, ids->dim[i]);
    path_of(path, folder, ids_file);
    if (ids->dim[2] > MW_MAX_K)
        return mw_fail(err, MW_EXIT_INPUT, "%s: header: %zu experts per token, at most %d", path,
                       ids->dim[2], MW_MAX_K);
    if (ids->dim[2] > meta->experts)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: header: %zu experts per token, but the model has %u", path, ids->dim[2],
                       meta->experts);
    return MW_EXIT_OK;
}

/// Experts as 16 bits, in the same memory; what does not fit there is no expert of any model, and
/// must not become one by losing bits.
static int narrow_ids(const char *folder, struct mw_npy *ids, struct mw_error *err)
{
    size_t row = ids->dim[2], count = ids->dim[0] * ids->dim[1] * row;
    char *out = ids->data;
    char path[PATH_BYTES];
    if (ids->type == MW_NPY_U2) // 65535 stands for -1 in these
        return MW_EXIT_OK;
    path_of(path, folder, ids_file);
    for (size_t i = 0; i < count; i++) {
        int64_t id = mw_npy_whole(ids, i);
        if (id < -1 || id >= MW_NO_EXPERT)
            return mw_fail(
                err, MW_EXIT_INPUT,
                "%s: layer %zu, token %zu, column %zu: expert %lld: expected -1 (none) or "
                "an expert's number",
                path, i / row / ids->dim[1], i / row % ids->dim[1], i % row, (long long)id);
        uint16_t narrow = id < 0 ? MW_NO_EXPERT : (uint16_t)id;
        memcpy(out + i * sizeof narrow, &narrow, sizeof narrow);
    }
    void *less = realloc(ids->data, count * sizeof(uint16_t));
    ids->data = less ? less : ids->data;
    return MW_EXIT_OK;
}

int mw_trace_load(struct mw_trace *trace, const char *folder, struct mw_error *err)
{
    *trace = (struct mw_trace){0};
    if (strlen(folder) >= sizeof trace->name)
        return mw_fail(err, MW_EXIT_INPUT, "%.40s...: the name of the folder is too long", folder);
    struct mw_npy ids = {0}, weights = {0};
    struct mw_meta meta;
    char path[PATH_BYTES];
    path_of(path, folder, meta_file);
    int status = mw_meta_read(&meta, path, err);
    path_of(path, folder, ids_file);
    if (!status)
        status = mw_npy_read(&ids, path, MW_NPY_WHOLE, err);
    path_of(path, folder, weights_file);
    if (!status)
        status = mw_npy_read(&weights, path, MW_NPY_FLOAT, err);
    if (!status)
        status = compare_shapes(folder, &ids, &weights, &meta, err);
    if (!status)
        status = narrow_ids(folder, &ids, err);
    if (status) {
        mw_npy_free(&ids);
        mw_npy_free(&weights);
        return status;
    }
    trace->layers = ids.dim[0];
    trace->tokens = ids.dim[1];
    trace->k = (unsigned)ids.dim[2];
    trace->experts = meta.experts;
    trace->hidden = meta.hidden;
    trace->ids_type = mw_npy_descr(ids.type);
    snprintf(trace->model, sizeof trace->model, "%s", meta.model);
    snprintf(trace->name, sizeof trace->name, "%s", folder);
    trace->ids = ids.data;
    trace->weights = weights.data;
    return MW_EXIT_OK;
}

static int bad_token(const struct mw_trace *trace, const char *file, size_t layer, size_t token,
                     unsigned column, const char *cause, struct mw_error *err)
{
    char path[PATH_BYTES];
    if (trace->synthetic)
        snprintf(path, sizeof path, "%s", trace->name);
    else
        path_of(path, trace->name, file);
    return mw_fail(err, MW_EXIT_INPUT, "%s: layer %zu, token %zu, column %u: %s", path, layer,
                   token, column, cause);
}

static int check_token(const struct mw_trace *trace, size_t layer, size_t token, bool allow_padding,
                       struct mw_error *err)
{
    const uint16_t *ids = trace->ids + mw_trace_at(trace, layer, token);
    const float *weights = trace->weights + mw_trace_at(trace, layer, token);
    char cause[128];
    for (unsigned j = 0; j < trace->k; j++) {
        if (ids[j] == MW_NO_EXPERT && allow_padding)
            continue;
        if (ids[j] == MW_NO_EXPERT)
            return bad_token(trace, ids_file, layer, token, j,
                             "-1 (no expert), which needs --allow-padding", err);
        if (ids[j] >= trace->experts) {
            snprintf(cause, sizeof cause, "expert %u is out of range, the model has %u", ids[j],
                     trace->experts);
            return bad_token(trace, ids_file, layer, token, j, cause, err);
        }
        for (unsigned i = 0; i < j; i++) {
            if (ids[i] != ids[j])
                continue;
            snprintf(cause, sizeof cause, "expert %u twice in one row, also in column %u", ids[j],
                     i);
            return bad_token(trace, ids_file, layer, token, j, cause, err);
        }
        if (!isfinite(weights[j]))
            return bad_token(trace, weights_file, layer, token, j,
                             isnan(weights[j]) ? "the weight is NaN" : "the weight is infinite",
                             err);
    }
    return MW_EXIT_OK;
}

int mw_trace_check(const struct mw_trace *trace, size_t layer, size_t tokens, bool allow_padding,
                   struct mw_error *err)
{
    char path[PATH_BYTES];
    if (trace->synthetic)
        snprintf(path, sizeof path, "%s", trace->name);
    else
        path_of(path, trace->name, ids_file);
    if (layer >= trace->layers)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: layer %zu was asked for, the trace has layers 0 to %zu", path, layer,
                       trace->layers - 1);
    if (tokens > trace->tokens)
        return mw_fail(
            err, MW_EXIT_INPUT,
            "%s: layer %zu: %zu tokens were asked for, the trace has %zu (--repeat-tokens "
            "takes them over again)",
            path, layer, tokens, trace->tokens);
    for (size_t t = 0; t < tokens; t++) {
        int status = check_token(trace, layer, t, allow_padding, err);
        if (status)
            return status;
    }
    return MW_EXIT_OK;
}

int mw_trace_repeat(struct mw_trace *trace, size_t tokens, struct mw_error *err)
{
    const size_t k = trace->k, have = trace->tokens;
    if (!have || tokens <= have)
        return MW_EXIT_OK;
    uint16_t *ids = calloc(trace->layers * tokens * k, sizeof *ids);
    float *weights = calloc(trace->layers * tokens * k, sizeof *weights);
    if (!ids || !weights) {
        free(ids);
        free(weights);
        return mw_fail_memory(err, "the trace");
    }
    for (size_t i = 0; i < trace->layers * tokens; i++) {
        size_t from = mw_trace_at(trace, i / tokens, i % tokens % have);
        memcpy(ids + i * k, trace->ids + from, k * sizeof *ids);
        memcpy(weights + i * k, trace->weights + from, k * sizeof *weights);
    }
    free(trace->ids);
    free(trace->weights);
    trace->ids = ids;
    trace->weights = weights;
    trace->tokens = tokens;
    return MW_EXIT_OK;
}

void mw_trace_free(struct mw_trace *trace)
{
    free(trace->ids);
    free(trace->weights);
    *trace = (struct mw_trace){0};
}
