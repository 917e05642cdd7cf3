// SPDX-License-Identifier: Apache-2.0
//
// What the runs of a sweep found out: their JSON files as rows of one table.
#ifndef MW_SWEEP_RESULTS_H
#define MW_SWEEP_RESULTS_H

#include "sweep/grid.h"

#include <stdio.h>

/// The table's columns of one run, as text; "" where there is no value.
struct mw_row {
    char **cell;   ///< NULL: there is no result
    double time;   ///< of the unit of its column
    double wrong;  ///< elements and counters that are wrong
    char *sources; ///< hash of what simulated it, or NULL
};

/// Columns of a grid's table: fixed ones, and one for each axis that is not among them.
unsigned mw_columns(const struct mw_grid *grid);
const char *mw_column_name(const struct mw_grid *grid, unsigned column);
/// The column that an axis is in.
unsigned mw_column_of_axis(const struct mw_grid *grid, unsigned axis);
/// The column of that name, or mw_columns() where there is none.
unsigned mw_column_find(const struct mw_grid *grid, const char *name);

/// Read the result of a point, which is whole or malformed (MW_EXIT_INPUT, and a line).
int mw_row_read(const struct mw_grid *grid, size_t point, const char *path, struct mw_row *row,
                struct mw_error *err);
void mw_row_free(const struct mw_grid *grid, struct mw_row *row);
/// Fill in what compares rows: how much faster each is than `unicast`, or `nvls` in grids of
/// workloads, at the same point.
int mw_rows_compare(const struct mw_grid *grid, struct mw_row *rows, struct mw_error *err);
/// Write the rows that are there, in the grid's order, with a line of names (RFC 4180).
void mw_rows_csv(FILE *out, const struct mw_grid *grid, const struct mw_row *rows);

#endif
