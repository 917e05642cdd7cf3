// SPDX-License-Identifier: Apache-2.0
//
// See meta.h.
#include "trace/meta.h"

#include "formats/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { META_MAX_BYTES = 1 << 20, MAX_EXPERTS = 4096 };

/// A whole number from 0 (or 1) to `max`. A missing key leaves 0, which is an error if `required`.
static int get_count(const cJSON *root, const char *path, const char *key, bool required,
                     size_t max, size_t *value, struct mw_error *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    *value = 0;
    if (!item && !required)
        return MW_EXIT_OK;
    if (!item)
        return mw_fail(err, MW_EXIT_INPUT, "%s: key \"%s\" is missing", path, key);
    if (!cJSON_IsNumber(item) || item->valuedouble < 1 || item->valuedouble > (double)max ||
        item->valuedouble != floor(item->valuedouble))
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\" is not a whole number from 1 to %zu", path,
                       key, max);
    *value = (size_t)item->valuedouble;
    return MW_EXIT_OK;
}

/// A string, which is cut to `size`, or refused if it is longer and must be whole.
static int get_text(const cJSON *root, const char *path, const char *key, char *text, size_t size,
                    bool whole, struct mw_error *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    if (item && !cJSON_IsString(item))
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\" is not a string", path, key);
    if (item && whole && strlen(item->valuestring) >= size)
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\" is longer than %zu bytes", path, key,
                       size - 1);
    if (item)
        snprintf(text, size, "%s", item->valuestring);
    return MW_EXIT_OK;
}

static int get_texts(struct mw_meta *meta, const cJSON *root, const char *path,
                     struct mw_error *err)
{
    int status = get_text(root, path, "model", meta->model, sizeof meta->model, false, err);
    if (!status)
        status = get_text(root, path, "axes", meta->axes, sizeof meta->axes, true, err);
    if (!status)
        status = get_text(root, path, "weights_type", meta->weights_type, sizeof meta->weights_type,
                          true, err);
    return status;
}

static int get_fields(struct mw_meta *meta, const cJSON *root, const char *path,
                      struct mw_error *err)
{
    if (!cJSON_IsObject(root))
        return mw_fail(err, MW_EXIT_INPUT, "%s: line 1: not a JSON object", path);
    size_t experts, hidden;
    int status = get_texts(meta, root, path, err);
    if (!status)
        status = get_count(root, path, "experts", true, MAX_EXPERTS, &experts, err);
    if (!status)
        status = get_count(root, path, "hidden", false, 1u << 24, &hidden, err);
    if (!status)
        status = get_count(root, path, "layers", false, 1u << 30, &meta->layers, err);
    if (!status)
        status = get_count(root, path, "tokens", false, 1u << 30, &meta->tokens, err);
    if (!status)
        status = get_count(root, path, "top_k", false, 1u << 30, &meta->k, err);
    if (!status) {
        meta->experts = (unsigned)experts;
        meta->hidden = (unsigned)hidden;
    }
    return status;
}

int mw_meta_read(struct mw_meta *meta, const char *path, struct mw_error *err)
{
    cJSON *root;
    *meta = (struct mw_meta){0};
    int status = mw_json_read(&root, path, META_MAX_BYTES, "a meta.json", err);
    if (!status)
        status = get_fields(meta, root, path, err);
    cJSON_Delete(root);
    return status;
}
