// SPDX-License-Identifier: Apache-2.0
//
// See results.h.
#include "sweep/results.h"

#include "analysis/bounds.h"
#include "formats/csv.h"
#include "formats/json.h"
#include "systems/system_list.h"
#include "tp/tp.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT_BYTES = 64 << 20, CELL_BYTES = 1024 };

// ---- columns ------------------------------------------------------------------------------------

/// As many as fixed ones where an axis has none of them.
static unsigned fixed_column(const struct mw_grid *g, const struct mw_axis *a)
{
    char name[64];
    unsigned c = 0;
    snprintf(name, sizeof name, "%s", strcmp(a->name, "layer") == 0 ? "layers" : a->name);
    for (char *at = name; *at; at++)
        *at = *at == '-' ? '_' : *at;
    while (c < g->swept->columns && strcmp(g->swept->column[c].name, name) != 0)
        c++;
    return c;
}

/// Axes in front of `axis` that have a column of their own, after the fixed ones.
static unsigned own_before(const struct mw_grid *g, unsigned axis)
{
    unsigned n = 0;
    for (unsigned i = 0; i < axis; i++)
        n += fixed_column(g, &g->axis[i]) == g->swept->columns;
    return n;
}

/// The first column of machines.
static unsigned own_end(const struct mw_grid *g)
{
    return g->swept->columns + own_before(g, g->axes);
}

unsigned mw_columns(const struct mw_grid *g)
{
    return own_end(g) + (mw_grid_axis(g, "hardware") < MW_MAX_AXES ? g->swept->machines : 0);
}

unsigned mw_column_of_axis(const struct mw_grid *g, unsigned axis)
{
    unsigned c = fixed_column(g, &g->axis[axis]);
    return c < g->swept->columns ? c : g->swept->columns + own_before(g, axis);
}

/// The axis whose own column it is.
static unsigned axis_of(const struct mw_grid *g, unsigned column)
{
    unsigned i = 0;
    while (mw_column_of_axis(g, i) != column)
        i++;
    return i;
}

const char *mw_column_name(const struct mw_grid *g, unsigned column)
{
    const unsigned machine = own_end(g);
    return column < g->swept->columns ? g->swept->column[column].name
           : column < machine         ? g->axis[axis_of(g, column)].name
                                      : g->swept->machine[column - machine].name;
}

unsigned mw_column_find(const struct mw_grid *g, const char *name)
{
    const unsigned columns = mw_columns(g);
    unsigned c = 0;
    while (c < columns && strcmp(mw_column_name(g, c), name) != 0)
        c++;
    return c;
}

// ---- one result ---------------------------------------------------------------------------------

static const cJSON *look_up(const cJSON *at, const char *path)
{
    char key[64];
    while (at && *path) {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(key))
                               : cJSON_GetObjectItemCaseSensitive(at, key);
        path += n + (path[n] == '.');
    }
    return at;
}

/// A value as a cell: an array's are apart by spaces.
static void append(char text[CELL_BYTES], const cJSON *item)
{
    const cJSON *each;
    char number[40];
    size_t at = strlen(text);
    if (cJSON_IsArray(item)) {
        cJSON_ArrayForEach(each, item)
        {
            at = strlen(text);
            if (at && at < CELL_BYTES - 1)
                strcpy(text + at, " ");
            append(text, each);
        }
    } else if (cJSON_IsString(item)) {
        snprintf(text + at, CELL_BYTES - at, "%s", item->valuestring);
    } else if (cJSON_IsBool(item)) {
        snprintf(text + at, CELL_BYTES - at, "%d", cJSON_IsTrue(item));
    } else if (cJSON_IsNumber(item)) {
        mw_number_text(number, item->valuedouble);
        snprintf(text + at, CELL_BYTES - at, "%s", number);
    }
}

static double number_at(const cJSON *root, const char *path)
{
    const cJSON *item = look_up(root, path);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static int set_cell(struct mw_row *row, unsigned column, const char *text, struct mw_error *err)
{
    free(row->cell[column]);
    row->cell[column] = strdup(text);
    return row->cell[column] ? MW_EXIT_OK : mw_fail_memory(err, "the table");
}

static int set_number(struct mw_row *row, unsigned column, double value, struct mw_error *err)
{
    char text[40];
    mw_number_text(text, value);
    return set_cell(row, column, text, err);
}

static int fill_cells(const struct mw_grid *g, size_t point, const cJSON *root, struct mw_row *row,
                      struct mw_error *err)
{
    int status = MW_EXIT_OK;
    const struct mw_swept *swept = g->swept;
    for (unsigned c = 0; c < swept->columns && !status; c++) {
        char text[CELL_BYTES] = "";
        if (swept->column[c].path)
            append(text, look_up(root, swept->column[c].path));
        status = set_cell(row, c, text, err);
    }
    for (unsigned c = swept->columns; c < own_end(g) && !status; c++)
        status = set_cell(row, c, mw_grid_value(g, point, axis_of(g, c)), err);
    for (unsigned c = own_end(g); c < mw_columns(g) && !status; c++) {
        char text[CELL_BYTES] = "";
        append(text, look_up(root, swept->machine[c - own_end(g)].path));
        status = set_cell(row, c, text, err);
    }
    double hits = number_at(root, "systems.0.allocator.hits");
    double all = hits + number_at(root, "systems.0.allocator.misses");
    if (!status && all > 0)
        status = set_number(row, mw_column_find(g, "hit_rate"), hits / all, err);
    if (!status && look_up(root, "systems.0.pass_cycles"))
        status = set_number(row, mw_column_find(g, "handle_saved_cycles"),
                            number_at(root, "systems.0.pass_cycles.counted_again") -
                                number_at(root, "systems.0.pass_cycles.backward"),
                            err);
    char id[MW_POINT_ID];
    mw_grid_id(g, point, id);
    return status ? status : set_cell(row, mw_column_find(g, "result"), id, err);
}

/// One system's report, the requested one.
static bool fits(const struct mw_grid *g, size_t point, const cJSON *root)
{
    const char *name = mw_grid_value(g, point, mw_grid_axis(g, "system"));
    const cJSON *system = look_up(root, "systems.0.system");
    return cJSON_IsString(system) && strcmp(system->valuestring, name) == 0 &&
           cJSON_GetArraySize(look_up(root, "systems")) == 1 &&
           number_at(root, g->swept->time) > 0 && cJSON_IsObject(look_up(root, "params"));
}

int mw_row_read(const struct mw_grid *g, size_t point, const char *path, struct mw_row *row,
                struct mw_error *err)
{
    cJSON *root;
    *row = (struct mw_row){0};
    int status = mw_json_read(&root, path, RESULT_BYTES, "a result", err);
    if (status)
        return status;
    const cJSON *sources = look_up(root, "systems.0.simulated_by.sources");
    row->cell = calloc(mw_columns(g), sizeof *row->cell);
    row->sources = cJSON_IsString(sources) ? strdup(sources->valuestring) : NULL;
    row->time = number_at(root, g->swept->time);
    row->wrong =
        number_at(root, "systems.0.wrong") + number_at(root, "systems.0.flit_errors") +
        number_at(root, "systems.0.below_bound") + number_at(root, "systems.0.feeding.wrong") +
        number_at(root, "systems.0.stack.wrong") + number_at(root, "systems.0.stack.other_cycles");
    if (!row->cell || (cJSON_IsString(sources) && !row->sources))
        status = mw_fail_memory(err, "the table");
    else if (!fits(g, point, root))
        status = mw_fail(err, MW_EXIT_INPUT, "%s: not the report of this run", path);
    else
        status = fill_cells(g, point, root, row, err);
    cJSON_Delete(root);
    if (status)
        mw_row_free(g, row);
    return status;
}

void mw_row_free(const struct mw_grid *g, struct mw_row *row)
{
    for (unsigned c = 0; row->cell && c < mw_columns(g); c++)
        free(row->cell[c]);
    free(row->cell);
    free(row->sources);
    *row = (struct mw_row){0};
}

// ---- all of them --------------------------------------------------------------------------------

int mw_rows_compare(const struct mw_grid *g, struct mw_row *rows, struct mw_error *err)
{
    const unsigned axis = mw_grid_axis(g, "system"), column = mw_column_find(g, "speedup");
    const bool moe = mw_grid_axis(g, "workload") == MW_MAX_AXES;
    const char *first = moe ? mw_systems[0].name : mw_tp_systems[0]->name;
    unsigned base = 0;
    int status = MW_EXIT_OK;
    while (base < g->axis[axis].count && strcmp(g->axis[axis].value[base], first) != 0)
        base++;
    if (base == g->axis[axis].count)
        return MW_EXIT_OK;
    for (size_t i = 0; i < g->points && !status; i++) {
        const struct mw_row *other = &rows[mw_grid_other(g, i, axis, base)];
        if (rows[i].cell && other->cell)
            status = set_number(&rows[i], column, other->time / rows[i].time, err);
    }
    return status;
}

void mw_rows_csv(FILE *out, const struct mw_grid *g, const struct mw_row *rows)
{
    const unsigned n = mw_columns(g);
    for (unsigned c = 0; c < n; c++) {
        mw_csv_write(out, mw_column_name(g, c));
        fputc(c + 1 < n ? ',' : '\n', out);
    }
    for (size_t i = 0; i < g->points; i++) {
        for (unsigned c = 0; rows[i].cell && c < n; c++) {
            mw_csv_write(out, rows[i].cell[c]);
            fputc(c + 1 < n ? ',' : '\n', out);
        }
    }
}
