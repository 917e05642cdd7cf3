// SPDX-License-Identifier: Apache-2.0
//
// CSV reader (RFC 4180): a line of column names, then lines of as many values.
#ifndef MW_HOST_CSV_READ_H
#define MW_HOST_CSV_READ_H

#include "base/error.h"

#include <stddef.h>

enum { MW_CSV_COLUMNS = 256, MW_CSV_NONE = MW_CSV_COLUMNS };

struct mw_csv_table {
    const char *path; ///< the caller's, for messages
    size_t rows;      ///< without the names
    unsigned columns; ///< 1 .. MW_CSV_COLUMNS
    char **cell;      ///< [1 + rows][columns], the names first; inside `text`
    size_t *line;     ///< [1 + rows], from 1 on
    char *text;
};

/// Read the whole of a regular file of at most `most` bytes, which `what` names. Empty lines are
/// skipped. The message of MW_EXIT_INPUT has file and line. Its causes: values and names differ in
/// number, a quote has no end, a NUL, no names, or a repeated name.
int mw_csv_read(struct mw_csv_table *t, const char *path, size_t most, const char *what,
                struct mw_error *err);
void mw_csv_table_free(struct mw_csv_table *t);
/// The column of that name, or MW_CSV_NONE.
unsigned mw_csv_column(const struct mw_csv_table *t, const char *name);
/// The same; MW_EXIT_INPUT, and a line, where it is missing.
int mw_csv_need(const struct mw_csv_table *t, const char *name, unsigned *column,
                struct mw_error *err);
/// Value of a row, from 0 on.
const char *mw_csv_cell(const struct mw_csv_table *t, size_t row, unsigned column);
/// The same as a finite number of at least `least`; MW_EXIT_INPUT: it is none.
int mw_csv_number(const struct mw_csv_table *t, size_t row, unsigned column, double least,
                  double *value, struct mw_error *err);

#endif
