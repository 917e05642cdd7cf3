// SPDX-License-Identifier: Apache-2.0
//
// See grid.h: reading.
#include "sweep/grid.h"

#include "analysis/bounds.h"
#include "formats/json.h"
#include "systems/system_list.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { GRID_BYTES = 1 << 20, VALUE_BYTES = 100 };

#define SET "set"
#define COMMAND "command"

// ---- one axis -----------------------------------------------------------------------------------

/// Options that name files are a run's outputs, which are the sweep's, but for these.
static bool is_input(const struct mw_option *o)
{
    return strcmp(o->name, "trace") == 0 || strcmp(o->name, "compute") == 0;
}

static bool is_for_sweeps(const struct mw_option *o)
{
    static const char *const own[] = {"jobs", "quiet", "details", "explain", SET};
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(o->name, own[i]) == 0)
            return false;
    return o->kind != MW_OPTION_PATH || is_input(o);
}

static const struct mw_option *find_option(const struct mw_grid *g, const char *name)
{
    const struct mw_option_table *t = g->swept->table;
    for (unsigned i = 0; i < t->count; i++)
        if (t->option[i].name && strcmp(t->option[i].name, name) == 0)
            return &t->option[i];
    return NULL;
}

static int unknown(const struct mw_grid *g, const char *name, struct mw_error *err)
{
    const struct mw_option_table *t = g->swept->table;
    const char *names[MW_MAX_OPTIONS];
    unsigned count = 0;
    for (unsigned i = 0; i < t->count; i++)
        if (t->option[i].name)
            names[count++] = t->option[i].name;
    const char *near = mw_closest(name, names, count);
    return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\" is no option of moeswitch %s%s%s%s", g->path,
                   name, g->swept->name, near ? " (\"" : "", near ? near : "", near ? "\"?)" : "");
}

/// An axis without values; `setting` of "set", or NULL.
static int add_axis(struct mw_grid *g, const char *name, const char *setting, struct mw_axis **axis,
                    struct mw_error *err)
{
    char whole[VALUE_BYTES];
    snprintf(whole, sizeof whole, "%s%s%s", name, setting ? "." : "", setting ? setting : "");
    const struct mw_option *o = find_option(g, name);
    if (!o)
        return unknown(g, name, err);
    if (!setting && !is_for_sweeps(o))
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\": the sweep itself says that of each run",
                       g->path, name);
    if (mw_grid_axis(g, whole) < MW_MAX_AXES)
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\" is there twice", g->path, whole);
    if (g->axes == MW_MAX_AXES)
        return mw_fail(err, MW_EXIT_INPUT, "%s: more than %d options", g->path, MW_MAX_AXES);
    struct mw_axis *a = &g->axis[g->axes];
    *a = (struct mw_axis){.name = strdup(whole), .option = o};
    if (!a->name)
        return mw_fail_memory(err, g->path);
    a->setting = setting ? strchr(a->name, '.') + 1 : NULL;
    g->axes++;
    *axis = a;
    return MW_EXIT_OK;
}

static int add_value(const struct mw_grid *g, struct mw_axis *a, const char *text,
                     struct mw_error *err)
{
    for (unsigned i = 0; i < a->count; i++)
        if (strcmp(a->value[i], text) == 0)
            return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\": the value %s is there twice", g->path,
                           a->name, text);
    char **more = realloc(a->value, (a->count + 1) * sizeof *more);
    if (!more)
        return mw_fail_memory(err, g->path);
    a->value = more;
    a->value[a->count] = strdup(text);
    return a->value[a->count++] ? MW_EXIT_OK : mw_fail_memory(err, g->path);
}

/// Names of systems with commas between them, or "all", which add_all_systems replaces: a run
/// of the sweep has one.
static int add_systems(const struct mw_grid *g, struct mw_axis *a, const char *text,
                       struct mw_error *err)
{
    char name[VALUE_BYTES];
    int status = MW_EXIT_OK;
    while (!status) {
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, text);
        status = add_value(g, a, name, err);
        text += length;
        if (!*text++)
            break;
    }
    return status;
}

/// Whether a text is a number that JSON has as one (MW_JSON_EXACT).
static bool is_large_number(const char *text)
{
    enum { DIGITS = 16 };
    return strlen(text) >= DIGITS && !text[strspn(text, "0123456789")];
}

/// A value as on the command line.
static int add_json(const struct mw_grid *g, struct mw_axis *a, const cJSON *item,
                    struct mw_error *err)
{
    char text[40];
    bool flag = a->option->kind == MW_OPTION_FLAG;
    bool text_too =
        !flag && cJSON_IsString(item) && (!a->setting || is_large_number(item->valuestring));
    if (flag ? !cJSON_IsBool(item) : !cJSON_IsNumber(item) && !text_too)
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\": expected %s, or a list of them", g->path,
                       a->name,
                       flag         ? "true or false"
                       : a->setting ? "a number"
                                    : "a number or a text");
    if (cJSON_IsString(item) && strcmp(a->name, "system") == 0)
        return add_systems(g, a, item->valuestring, err);
    if (cJSON_IsString(item))
        return add_value(g, a, item->valuestring, err);
    if (flag)
        return add_value(g, a, cJSON_IsTrue(item) ? "true" : "false", err);
    mw_number_text(text, item->valuedouble);
    return add_value(g, a, text, err);
}

static int add_values(struct mw_grid *g, const char *name, const char *setting, const cJSON *item,
                      struct mw_error *err)
{
    struct mw_axis *a;
    const cJSON *each;
    int status = add_axis(g, name, setting, &a, err);
    if (status)
        return status;
    if (!cJSON_IsArray(item))
        return add_json(g, a, item, err);
    cJSON_ArrayForEach(each, item) if (!status) status = add_json(g, a, each, err);
    if (!status && !a->count)
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\": the list is empty", g->path, a->name);
    return status;
}

static int add_settings(struct mw_grid *g, const cJSON *object, struct mw_error *err)
{
    const cJSON *each;
    int status = MW_EXIT_OK;
    if (!cJSON_IsObject(object))
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\": expected an object of settings", g->path,
                       SET);
    cJSON_ArrayForEach(each, object) if (!status) status =
        add_values(g, SET, each->string, each, err);
    return status;
}

// ---- the whole ----------------------------------------------------------------------------------

/// The most GPUs of the grid's points, as far as it has them.
static unsigned most_gpus(const struct mw_grid *g)
{
    const unsigned axis = mw_grid_axis(g, "gpus");
    unsigned most = MW_MIN_GPUS;
    for (unsigned i = 0; axis < MW_MAX_AXES && i < g->axis[axis].count; i++) {
        const unsigned long gpus = strtoul(g->axis[axis].value[i], NULL, 10);
        most = gpus > most && gpus <= MW_MAX_GPUS ? (unsigned)gpus : most;
    }
    return most;
}

/// Whether the system runs every workload of the grid, on all its numbers of GPUs.
static bool runs_all(const struct mw_grid *g, const char *system)
{
    const unsigned axis = mw_grid_axis(g, "workload"), gpus = most_gpus(g);
    const unsigned count = axis < MW_MAX_AXES ? g->axis[axis].count : 0;
    const struct mw_tp_system *tp = mw_tp_system_find(system);
    for (unsigned i = 0; i < count; i++) {
        struct mw_tp_problem p = {.gpus = gpus};
        struct mw_error err;
        if (mw_tp_set_kind(&p.o.kind, "workload", g->axis[axis].value[i], &err))
            continue; // which the check of the points reports
        if (p.o.kind ? !tp || mw_tp_unfit(&p, tp) : !mw_system_find(system))
            return false;
    }
    return count || mw_system_find(system);
}

/// Every system that runs the workloads. Others that run such workloads are noted.
static int add_each_system(struct mw_grid *g, struct mw_axis *a, struct mw_error *err)
{
    struct mw_term term;
    int status = MW_EXIT_OK;
    const bool workloads = mw_grid_axis(g, "workload") < MW_MAX_AXES;
    for (unsigned i = 0; mw_system_values(i, &term) && !status; i++) {
        const size_t used = strlen(g->left_out);
        if (strcmp(term.name, "all") == 0)
            continue;
        if (runs_all(g, term.name))
            status = add_value(g, a, term.name, err);
        else if (workloads && mw_tp_system_find(term.name))
            snprintf(g->left_out + used, sizeof g->left_out - used, "%s%s", used ? ", " : "",
                     term.name);
    }
    return status;
}

/// Put these systems in place of the value "all".
static int add_all_systems(struct mw_grid *g, struct mw_axis *a, struct mw_error *err)
{
    char **said = a->value;
    const unsigned count = a->count;
    int status = MW_EXIT_OK;
    a->value = NULL;
    a->count = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!status)
            status = strcmp(said[i], "all") == 0 ? add_each_system(g, a, err)
                                                 : add_value(g, a, said[i], err);
        free(said[i]);
    }
    free(said);
    if (!status && !a->count)
        return mw_fail(err, MW_EXIT_INPUT, "%s: no system runs all the workloads", g->path);
    return status;
}

/// Which command's options the keys are.
static int take_command(struct mw_grid *g, const cJSON *root, struct mw_error *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, COMMAND);
    const char *name = item ? cJSON_GetStringValue(item) : mw_swept_run.name;
    if (name && strcmp(name, mw_swept_run.name) == 0)
        g->swept = &mw_swept_run;
    else if (name && strcmp(name, mw_swept_plan.name) == 0)
        g->swept = &mw_swept_plan;
    else
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"%s\": expected \"%s\" or \"%s\"", g->path,
                       COMMAND, mw_swept_run.name, mw_swept_plan.name);
    return MW_EXIT_OK;
}

static int take_object(struct mw_grid *g, const cJSON *root, struct mw_error *err)
{
    const cJSON *each;
    struct mw_axis *a;
    int status = MW_EXIT_OK;
    if (!cJSON_IsObject(root))
        return mw_fail(err, MW_EXIT_INPUT, "%s: line 1: not a JSON object", g->path);
    status = take_command(g, root, err);
    if (status)
        return status;
    cJSON_ArrayForEach(each, root)
    {
        if (strcmp(each->string, COMMAND) == 0)
            continue;
        if (strcmp(each->string, SET) == 0)
            status = add_settings(g, each, err);
        else
            status = add_values(g, each->string, NULL, each, err);
        if (status)
            return status;
    }
    if (mw_grid_axis(g, "layer") < MW_MAX_AXES && mw_grid_axis(g, "layers") < MW_MAX_AXES)
        return mw_fail(err, MW_EXIT_INPUT, "%s: \"layer\" and \"layers\" say the same", g->path);
    if (mw_grid_axis(g, "system") == MW_MAX_AXES) {
        status = add_axis(g, "system", NULL, &a, err);
        if (!status)
            status = add_value(g, a, "all", err);
    }
    return status ? status : add_all_systems(g, &g->axis[mw_grid_axis(g, "system")], err);
}

int mw_grid_read(struct mw_grid *g, const char *path, struct mw_error *err)
{
    cJSON *root;
    *g = (struct mw_grid){.path = path, .points = 1};
    int status = mw_json_read(&root, path, GRID_BYTES, "a grid", err);
    if (!status)
        status = take_object(g, root, err);
    cJSON_Delete(root);
    for (unsigned i = 0; i < g->axes && !status; i++) {
        g->points *= g->axis[i].count;
        if (g->points > MW_MAX_POINTS)
            status = mw_fail(err, MW_EXIT_INPUT, "%s: more than %d runs", path, MW_MAX_POINTS);
    }
    if (status)
        mw_grid_free(g);
    return status;
}

int mw_grid_set(struct mw_grid *g, const char *name, const char *value, struct mw_error *err)
{
    struct mw_axis *a;
    int status = add_axis(g, name, NULL, &a, err);
    if (!status)
        status = add_value(g, a, value, err);
    if (status)
        mw_grid_free(g);
    return status;
}

void mw_grid_free(struct mw_grid *g)
{
    for (unsigned i = 0; i < g->axes; i++) {
        for (unsigned v = 0; v < g->axis[i].count; v++)
            free(g->axis[i].value[v]);
        free(g->axis[i].value);
        free(g->axis[i].name);
    }
    *g = (struct mw_grid){0};
}

unsigned mw_grid_axis(const struct mw_grid *g, const char *name)
{
    for (unsigned i = 0; i < g->axes; i++)
        if (strcmp(g->axis[i].name, name) == 0)
            return i;
    return MW_MAX_AXES;
}
