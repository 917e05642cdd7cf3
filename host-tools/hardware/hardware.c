// SPDX-License-Identifier: Apache-2.0
//
// Files of machines, see hardware.h.
#include "hardware/hardware.h"

#include "formats/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 16, MOST_FILES = 16 };

const char *const mw_gemm_names[MW_GEMM_TYPES] = {"bf16", "fp8", "fp4"};

MW_TERMS(mw_gemm_type_values, {"bf16", NULL}, {"fp8", NULL}, {"fp4", NULL});

int mw_set_gemm_type(void *place, const char *name, const char *text, struct mw_error *err)
{
    for (unsigned i = 0; i < MW_GEMM_TYPES; i++)
        if (strcmp(text, mw_gemm_names[i]) == 0) {
            *(enum mw_gemm_type *)place = (enum mw_gemm_type)i;
            return MW_EXIT_OK;
        }
    return mw_fail_choice(name, text, mw_gemm_type_values, err);
}

/// A number of the file. Ranges are those of machines that can exist: a rate in bytes, for example,
/// is above the maximum.
struct field {
    const char *key;
    size_t offset;
    double least, most;
    bool whole; ///< an unsigned, else a double
    const char *unit;
    bool optional; ///< 0 where the file does not have it
};

static const struct field fields[] = {
    {"gpus", offsetof(struct mw_hardware, gpus), 2, 128, true, "", false},
    {"planes", offsetof(struct mw_hardware, planes), 1, MW_MAX_PLANES, true, "", false},
    {"link_gbytes_per_s", offsetof(struct mw_hardware, link_gbytes), 0.001, 1e5, false, " GB/s",
     false},
    {"link_latency_ns", offsetof(struct mw_hardware, link_ns), 0.1, 1e6, false, " ns", false},
    {"memory_gbytes_per_s", offsetof(struct mw_hardware, memory_gbytes), 0.001, 1e6, false, " GB/s",
     false},
    {"memory_gbytes", offsetof(struct mw_hardware, capacity_gbytes), 0.001, 1e6, false, " GB",
     true},
    {"network_gbytes_per_s", offsetof(struct mw_hardware, network_gbytes), 0.001, 1e5, false,
     " GB/s", true},
    {"network_latency_ns", offsetof(struct mw_hardware, network_ns), 0.1, 1e9, false, " ns", true},
};

enum { FIELDS = sizeof fields / sizeof *fields };

// ---- reading ------------------------------------------------------------------------------------

static int get_number(const cJSON *item, const char *path, const char *key, double least,
                      double most, const char *unit, double *value, struct mw_error *err)
{
    char from[MW_JSON_NUMBER_BYTES], to[MW_JSON_NUMBER_BYTES];
    mw_number_text(from, least);
    mw_number_text(to, most);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= least && item->valuedouble <= most))
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\" is not a number from %s to %s%s", path, key,
                       from, to, unit);
    *value = item->valuedouble;
    return MW_EXIT_OK;
}

static int get_field(struct mw_hardware *h, const cJSON *root, const char *path,
                     const struct field *f, struct mw_error *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, f->key);
    double value;
    if (!item && f->optional)
        return MW_EXIT_OK;
    if (!item)
        return mw_fail(err, MW_EXIT_INPUT, "%s: key \"%s\" is missing", path, f->key);
    int status = get_number(item, path, f->key, f->least, f->most, f->unit, &value, err);
    if (status)
        return status;
    if (f->whole && value != floor(value))
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\" is not a whole number", path, f->key);
    if (f->whole)
        *(unsigned *)((char *)h + f->offset) = (unsigned)value;
    else
        memcpy((char *)h + f->offset, &value, sizeof value);
    return MW_EXIT_OK;
}

static int get_tflops(struct mw_hardware *h, const cJSON *root, const char *path,
                      struct mw_error *err)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, "tflops");
    if (!object)
        return mw_fail(err, MW_EXIT_INPUT, "%s: key \"tflops\" is missing", path);
    if (!cJSON_IsObject(object) || !object->child)
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"tflops\" is not an object with bf16, fp8 or fp4",
                       path);
    for (const cJSON *item = object->child; item; item = item->next) {
        unsigned type = 0;
        while (type < MW_GEMM_TYPES && strcmp(item->string, mw_gemm_names[type]) != 0)
            type++;
        if (type == MW_GEMM_TYPES)
            return mw_fail(err, MW_EXIT_INPUT,
                           "%s: \"tflops\" has no type \"%s\": bf16, fp8 and fp4 are known", path,
                           item->string);
        int status = get_number(item, path, mw_gemm_names[type], 0.001, 1e7, " TFLOPS",
                                &h->tflops[type], err);
        if (status)
            return status;
    }
    return MW_EXIT_OK;
}

static int get_text(const cJSON *root, const char *path, const char *key, char *text, size_t size,
                    struct mw_error *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    if (!cJSON_IsString(item) || !*item->valuestring || strlen(item->valuestring) >= size)
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\" is not a string of 1 to %zu bytes", path,
                       key, size - 1);
    snprintf(text, size, "%s", item->valuestring);
    return MW_EXIT_OK;
}

/// A misspelt key is an error: it is neither a missing key nor ignored.
static int check_keys(const cJSON *root, const char *path, struct mw_error *err)
{
    static const char *const others[] = {"name", "tflops", "source"};
    for (const cJSON *item = root->child; item; item = item->next) {
        bool known = false;
        for (unsigned i = 0; i < FIELDS; i++)
            known |= strcmp(item->string, fields[i].key) == 0;
        for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
            known |= strcmp(item->string, others[i]) == 0;
        if (!known)
            return mw_fail(err, MW_EXIT_INPUT, "%s: key \"%s\" is unknown", path, item->string);
    }
    return MW_EXIT_OK;
}

/// What each number may be and all together may not.
static int check_whole(const struct mw_hardware *h, const char *path, struct mw_error *err)
{
    if (h->link_gbytes > h->memory_gbytes)
        return mw_fail(
            err, MW_EXIT_INPUT,
            "%s: contradiction: links of %g GB/s and a memory of %g GB/s, which cannot fill them",
            path, h->link_gbytes, h->memory_gbytes);
    for (unsigned i = 1; i < MW_GEMM_TYPES; i++)
        for (unsigned larger = 0; larger < i; larger++) // types between may be missing
            if (h->tflops[i] > 0 && h->tflops[larger] > h->tflops[i])
                return mw_fail(err, MW_EXIT_INPUT,
                               "%s: contradiction: %g TFLOPS of %s, but %g of %s, which is smaller",
                               path, h->tflops[larger], mw_gemm_names[larger], h->tflops[i],
                               mw_gemm_names[i]);
    return MW_EXIT_OK;
}

static int get_all(struct mw_hardware *h, const cJSON *root, const char *path, struct mw_error *err)
{
    if (!cJSON_IsObject(root))
        return mw_fail(err, MW_EXIT_INPUT, "%s: line 1: not a JSON object", path);
    int status = check_keys(root, path, err);
    for (unsigned i = 0; i < FIELDS && !status; i++)
        status = get_field(h, root, path, &fields[i], err);
    if (!status)
        status = get_tflops(h, root, path, err);
    if (!status)
        status = get_text(root, path, "name", h->name, sizeof h->name, err);
    if (!status)
        status = get_text(root, path, "source", h->source, sizeof h->source, err);
    return status ? status : check_whole(h, path, err);
}

/// No preset, and no file of that name.
static int unknown(const char *name, const char *text, struct mw_error *err)
{
    char all[256] = "";
    const char *names[MOST_FILES];
    unsigned count = 0;
    for (const struct mw_hardware *h; (h = mw_hardware_preset(count)); count++) {
        size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%s%s", count ? ", " : "", h->name);
        names[count] = h->name;
    }
    const char *near = mw_closest(text, names, count);
    return mw_fail(err, MW_EXIT_INPUT, "--%s %s: %s%s%sno such file; presets are %s", name, text,
                   near ? "did you mean " : "", near ? near : "", near ? "? " : "", all);
}

/// One command line has few of them.
static struct {
    struct mw_hardware hardware;
    const char *path;
} files[MOST_FILES];

const char *mw_hardware_file(const struct mw_hardware *hardware)
{
    for (unsigned i = 0; hardware && i < MOST_FILES; i++)
        if (hardware == &files[i].hardware)
            return files[i].path;
    return NULL;
}

int mw_set_hardware(void *place, const char *name, const char *text, struct mw_error *err)
{
    static unsigned count;
    const struct mw_hardware *preset;
    for (unsigned i = 0; (preset = mw_hardware_preset(i)); i++)
        if (strcmp(text, preset->name) == 0) {
            *(const struct mw_hardware **)place = preset;
            return MW_EXIT_OK;
        }
    if (!strpbrk(text, "/."))
        return unknown(name, text, err);
    struct mw_hardware *h = &files[count % MOST_FILES].hardware;
    cJSON *root;
    *h = (struct mw_hardware){0};
    int status = mw_json_read(&root, text, MOST_BYTES, "a machine", err);
    if (!status)
        status = get_all(h, root, text, err);
    cJSON_Delete(root);
    if (status)
        return status;
    files[count++ % MOST_FILES].path = text;
    *(const struct mw_hardware **)place = h;
    return MW_EXIT_OK;
}

// ---- writing ------------------------------------------------------------------------------------

int mw_hardware_write(FILE *out, const struct mw_hardware *h, struct mw_error *err)
{
    struct mw_json j = {0};
    int status = mw_json_open(&j, err);
    if (status)
        return status;
    mw_json_object(&j, NULL, false);
    mw_json_string(&j, "name", h->name);
    for (unsigned i = 0; i < FIELDS; i++) {
        const char *at = (const char *)h + fields[i].offset;
        double value;
        if (fields[i].whole) {
            mw_json_uint(&j, fields[i].key, *(const unsigned *)at);
            continue;
        }
        memcpy(&value, at, sizeof value);
        if (value > 0)
            mw_json_double(&j, fields[i].key, value);
    }
    mw_json_object(&j, "tflops", true);
    for (unsigned i = 0; i < MW_GEMM_TYPES; i++)
        if (h->tflops[i] > 0)
            mw_json_double(&j, mw_gemm_names[i], h->tflops[i]);
    mw_json_end(&j);
    mw_json_string(&j, "source", h->source);
    mw_json_end(&j);
    status = mw_json_close(&j, err);
    if (!status)
        fwrite(j.text, 1, j.size, out);
    mw_json_free(&j);
    return status;
}
