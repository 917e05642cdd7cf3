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

/// A column, and where a report has it: keys, with dots in between; "0" is the first of an array.
/// Those without are made here.
static const struct {
    const char *name, *path;
} columns[] = {
    {"system", "systems.0.system"},
    {"layers", "params.layers"},
    {"gpus", "params.gpus"},
    {"tokens_per_gpu", "params.tokens_per_gpu"},
    {"batches", "params.batches"},
    {"hidden", "params.hidden"},
    {"experts", "params.experts"},
    {"k", "params.k"},
    {"sigma", "params.sigma"},
    {"locality", "params.locality"},
    {"groups", "params.groups"},
    {"topk_groups", "params.topk_groups"},
    {"tile", "params.tile"},
    {"partial_tiles", "params.partial_tiles"},
    {"expert_cycles", "params.expert_cycles"},
    {"flit_bytes", "params.flit_bytes"},
    {"link_latency", "params.link_latency"},
    {"link_cycles", "params.link_cycles"},
    {"in_flight", "params.in_flight"},
    {"open_rows", "params.open_rows"},
    {"spread", "params.spread"},
    {"seed", "params.seed"},
    {"cycles", "systems.0.cycles"},
    {"speedup", NULL},
    {"strict_bound_cycles", "systems.0.strict_bound_cycles"},
    {"own_bound_cycles", "systems.0.own_bound_cycles"},
    {"strict_share", "systems.0.strict_share"},
    {"own_share", "systems.0.own_share"},
    {"own_bound_at", "systems.0.own_bound_at"},
    {"up_payload_bytes", "systems.0.up.payload_bytes_mean"},
    {"up_payload_bytes_max", "systems.0.up.payload_bytes_max"},
    {"up_wire_bytes", "systems.0.up.wire_bytes_mean"},
    {"up_use", "systems.0.up.use_mean"},
    {"down_payload_bytes", "systems.0.down.payload_bytes_mean"},
    {"down_payload_bytes_max", "systems.0.down.payload_bytes_max"},
    {"down_wire_bytes", "systems.0.down.wire_bytes_mean"},
    {"down_use", "systems.0.down.use_mean"},
    {"allocator_hits", "systems.0.allocator.hits"},
    {"allocator_misses", "systems.0.allocator.misses"},
    {"hit_rate", NULL},
    {"wrong", "systems.0.wrong"},
    {"flit_errors", "systems.0.flit_errors"},
    {"fed_wrong", "systems.0.feeding.wrong"},
    {"workload", "params.workload"},
    {"rows", "params.rows"},
    {"shape", "params.shape"},
    {"gemm_rs_cycles", "params.gemm_rs_cycles"},
    {"ln_cycles", "params.ln_cycles"},
    {"ag_gemm_cycles", "params.ag_gemm_cycles"},
    {"jitter", "params.jitter"},
    {"start_spread", "params.start_spread"},
    {"ranges", "systems.0.ranges"},
    {"limit_cycles", "systems.0.limit.cycles"},
    {"limit_at", "systems.0.limit.at"},
    {"model", "params.preset"},
    {"trace", "params.trace"}, // a name with commas, behind what is easily cut out
    {"result", NULL},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

/// Last columns of a grid of machines.
static const struct {
    const char *name, *path;
} machine_columns[] = {
    {"row_hidden", "params.hardware.row_hidden"},
    {"cycle_ns", "params.hardware.cycle_ns"},
    {"us", "systems.0.us"},
    {"dispatch_us", "systems.0.dispatch_us"},
    {"expert_us", "systems.0.expert_us"},
    {"combine_us", "systems.0.combine_us"},
    {"algorithm_gbytes_per_s", "systems.0.algorithm_gbytes_per_s"},
    {"bus_gbytes_per_s", "systems.0.bus_gbytes_per_s"},
    {"dispatch_gbytes_per_s", "systems.0.dispatch_gbytes_per_s"},
    {"combine_gbytes_per_s", "systems.0.combine_gbytes_per_s"},
};

enum { MACHINE_COLUMNS = sizeof machine_columns / sizeof *machine_columns };

// ---- columns ------------------------------------------------------------------------------------

/// COLUMNS where an axis has none of the fixed ones.
static unsigned fixed_column(const struct mw_axis *a)
{
    char name[64];
    unsigned c = 0;
    snprintf(name, sizeof name, "%s", strcmp(a->name, "layer") == 0 ? "layers" : a->name);
    for (char *at = name; *at; at++)
        *at = *at == '-' ? '_' : *at;
    while (c < COLUMNS && strcmp(columns[c].name, name) != 0)
        c++;
    return c;
}

/// Axes in front of `axis` that have a column of their own, behind the fixed ones.
static unsigned own_before(const struct mw_grid *g, unsigned axis)
{
    unsigned n = 0;
    for (unsigned i = 0; i < axis; i++)
        n += fixed_column(&g->axis[i]) == COLUMNS;
    return n;
}

/// The first column of machines.
static unsigned own_end(const struct mw_grid *g)
{
    return COLUMNS + own_before(g, g->axes);
}

unsigned mw_columns(const struct mw_grid *g)
{
    return own_end(g) + (mw_grid_axis(g, "hardware") < MW_MAX_AXES ? MACHINE_COLUMNS : 0);
}

unsigned mw_column_of_axis(const struct mw_grid *g, unsigned axis)
{
    unsigned c = fixed_column(&g->axis[axis]);
    return c < COLUMNS ? c : COLUMNS + own_before(g, axis);
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
    return column < COLUMNS   ? columns[column].name
           : column < machine ? g->axis[axis_of(g, column)].name
                              : machine_columns[column - machine].name;
}

unsigned mw_column_find(const char *name)
{
    unsigned c = 0;
    while (strcmp(columns[c].name, name) != 0)
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
    for (unsigned c = 0; c < COLUMNS && !status; c++) {
        char text[CELL_BYTES] = "";
        if (columns[c].path)
            append(text, look_up(root, columns[c].path));
        status = set_cell(row, c, text, err);
    }
    for (unsigned c = COLUMNS; c < own_end(g) && !status; c++)
        status = set_cell(row, c, mw_grid_value(g, point, axis_of(g, c)), err);
    for (unsigned c = own_end(g); c < mw_columns(g) && !status; c++) {
        char text[CELL_BYTES] = "";
        append(text, look_up(root, machine_columns[c - own_end(g)].path));
        status = set_cell(row, c, text, err);
    }
    double hits = number_at(root, "systems.0.allocator.hits");
    double all = hits + number_at(root, "systems.0.allocator.misses");
    if (!status && all > 0)
        status = set_number(row, mw_column_find("hit_rate"), hits / all, err);
    char id[MW_POINT_ID];
    mw_grid_id(g, point, id);
    return status ? status : set_cell(row, mw_column_find("result"), id, err);
}

/// One system's report, the one that was asked for.
static bool fits(const struct mw_grid *g, size_t point, const cJSON *root)
{
    const char *name = mw_grid_value(g, point, mw_grid_axis(g, "system"));
    const cJSON *system = look_up(root, "systems.0.system");
    return cJSON_IsString(system) && strcmp(system->valuestring, name) == 0 &&
           cJSON_GetArraySize(look_up(root, "systems")) == 1 &&
           number_at(root, "systems.0.cycles") > 0 && cJSON_IsObject(look_up(root, "params"));
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
    row->cycles = number_at(root, "systems.0.cycles");
    row->wrong = number_at(root, "systems.0.wrong") + number_at(root, "systems.0.flit_errors") +
                 number_at(root, "systems.0.below_bound") +
                 number_at(root, "systems.0.feeding.wrong");
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
    const unsigned axis = mw_grid_axis(g, "system"), column = mw_column_find("speedup");
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
            status = set_number(&rows[i], column, other->cycles / rows[i].cycles, err);
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
