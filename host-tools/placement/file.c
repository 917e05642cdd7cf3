// SPDX-License-Identifier: Apache-2.0
//
// Placements from files, see place.h: CSV with the columns expert and gpu, a line for each place,
// and perhaps layer.
#include "formats/csv_read.h"
#include "placement/place.h"

#include <math.h>
#include <stdlib.h>

/// Whether a line is of the layer: no column names one, or its does.
static int is_of_layer(const struct mw_csv_table *t, size_t row, size_t layer, bool *is,
                       struct mw_error *err)
{
    const unsigned column = mw_csv_column(t, "layer");
    double number = (double)layer;
    int status =
        column == MW_CSV_NONE ? MW_EXIT_OK : mw_csv_number(t, row, column, 0, &number, err);
    *is = number == (double)layer;
    return status;
}

int mw_places_of_file(const struct mw_csv_table *t, size_t layer, unsigned *places,
                      struct mw_error *err)
{
    unsigned column;
    int status = mw_csv_need(t, "expert", &column, err);
    if (!status)
        status = mw_csv_need(t, "gpu", &column, err);
    *places = 0;
    for (size_t row = 0; row < t->rows && !status; row++) {
        bool is;
        status = is_of_layer(t, row, layer, &is, err);
        *places += is;
    }
    return status;
}

/// A number below `end`: of an expert, or of a GPU.
static int get_number(const struct mw_csv_table *t, size_t row, const char *name, const char *what,
                      unsigned end, unsigned *value, struct mw_error *err)
{
    unsigned column;
    double number;
    int status = mw_csv_need(t, name, &column, err);
    if (!status)
        status = mw_csv_number(t, row, column, 0, &number, err);
    if (status)
        return status;
    if (number >= end || number != floor(number))
        return mw_fail(err, MW_EXIT_INPUT, "%s: line %zu: %s %s: expected 0 to %u", t->path,
                       t->line[row + 1], what, mw_csv_cell(t, row, column), end - 1);
    *value = (unsigned)number;
    return MW_EXIT_OK;
}

static int take_place(const struct mw_csv_table *t, size_t row, const struct mw_place_sizes *s,
                      unsigned *count, uint16_t *expert_at, struct mw_error *err)
{
    const unsigned room = s->places / s->gpus;
    unsigned expert, gpu;
    int status = get_number(t, row, "expert", "expert", s->experts, &expert, err);
    if (!status)
        status = get_number(t, row, "gpu", "GPU", s->gpus, &gpu, err);
    if (status)
        return status;
    uint16_t *at = expert_at + (size_t)gpu * room;
    for (unsigned i = 0; i < count[gpu]; i++)
        if (at[i] == expert)
            return mw_fail(err, MW_EXIT_INPUT, "%s: line %zu: expert %u is twice on GPU %u",
                           t->path, t->line[row + 1], expert, gpu);
    if (count[gpu] == room)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: line %zu: GPU %u has more than %u experts, an equal part of %u places",
                       t->path, t->line[row + 1], gpu, room, s->places);
    at[count[gpu]++] = (uint16_t)expert;
    return MW_EXIT_OK;
}

int mw_place_by_file(const struct mw_csv_table *t, size_t layer, const struct mw_place_sizes *s,
                     uint16_t *expert_at, struct mw_error *err)
{
    unsigned count[MW_MAX_GPUS] = {0};
    bool *there = calloc(s->experts, sizeof *there);
    int status = there ? MW_EXIT_OK : mw_fail_memory(err, t->path);
    for (size_t row = 0; row < t->rows && !status; row++) {
        bool is;
        status = is_of_layer(t, row, layer, &is, err);
        if (!status && is)
            status = take_place(t, row, s, count, expert_at, err);
    }
    for (unsigned p = 0; p < s->places && !status; p++)
        there[expert_at[p]] = true;
    for (unsigned e = 0; e < s->experts && !status; e++)
        if (!there[e])
            status = mw_fail(err, MW_EXIT_INPUT, "%s: layer %zu: expert %u has no place", t->path,
                             layer, e);
    free(there);
    return status;
}
