// SPDX-License-Identifier: Apache-2.0
//
// See csv_read.h. Values are ended inside the text that was read, which becomes a list of strings.
#include "formats/csv_read.h"

#include "base/input.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// The text, and how far it is read.
struct reader {
    struct mw_csv_table *t;
    char *at;
    size_t line, cells, room; ///< line of `at`; values so far, and room for them
    struct mw_error *err;
};

static int read_text(struct mw_csv_table *t, const char *path, size_t most, const char *what,
                     struct mw_error *err)
{
    size_t size;
    int status = mw_input_text(&t->text, &size, path, most, what, err);
    if (!status && size >= 4 && memcmp(t->text, "PAR1", 4) == 0)
        status = mw_fail(
            err, MW_EXIT_INPUT,
            "%s: a Parquet table, and a CSV is needed (docs/user/plan.md converts one)", path);
    if (!status && memchr(t->text, 0, size))
        status = mw_fail(err, MW_EXIT_INPUT, "%s: a NUL, which no CSV has", path);
    return status;
}

/// A value in quotes, with each two quotes inside as one. `at` is after the end.
static int take_quoted(struct reader *r, char **value)
{
    char *to = ++r->at;
    *value = to;
    for (; *r->at && (*r->at != '"' || r->at[1] == '"'); r->at++) {
        r->at += *r->at == '"';
        r->line += *r->at == '\n';
        *to++ = *r->at;
    }
    if (!*r->at)
        return mw_fail(r->err, MW_EXIT_INPUT, "%s: line %zu: a quote without its end", r->t->path,
                       r->line);
    r->at++;
    *to = 0;
    return MW_EXIT_OK;
}

static int add_cell(struct reader *r, char *value)
{
    if (r->cells == r->room) {
        r->room = r->room ? 2 * r->room : 256;
        char **cell = realloc(r->t->cell, r->room * sizeof *cell);
        if (!cell)
            return mw_fail_memory(r->err, r->t->path);
        r->t->cell = cell;
    }
    r->t->cell[r->cells++] = value;
    return MW_EXIT_OK;
}

/// One value. `end` is the character that ended it.
static int take_cell(struct reader *r, char *end)
{
    char *value = r->at;
    const bool quoted = *r->at == '"';
    int status = quoted ? take_quoted(r, &value) : MW_EXIT_OK;
    if (status)
        return status;
    char *stop = r->at + strcspn(r->at, ",\r\n");
    if (quoted && stop != r->at)
        return mw_fail(r->err, MW_EXIT_INPUT, "%s: line %zu: text after a quote", r->t->path,
                       r->line);
    *end = *stop;
    r->at = stop + (*stop != 0);
    *stop = 0;
    if (*end == '\r' && *r->at == '\n')
        r->at++;
    return add_cell(r, value);
}

static int add_line(struct reader *r, size_t line)
{
    struct mw_csv_table *t = r->t;
    const size_t rows = t->columns ? t->rows + 1 : 0; // lines so far
    size_t *lines = realloc(t->line, (rows + 1) * sizeof *lines);
    if (!lines)
        return mw_fail_memory(r->err, t->path);
    t->line = lines;
    t->line[rows] = line;
    return MW_EXIT_OK;
}

/// Refuse two columns with the same name. Columns without a name may repeat.
static int check_names(const struct reader *r)
{
    const struct mw_csv_table *t = r->t;
    for (unsigned i = 0; i < t->columns; i++)
        if (*t->cell[i] && mw_csv_column(t, t->cell[i]) != i)
            return mw_fail(r->err, MW_EXIT_INPUT, "%s: line %zu: the column \"%s\" is there twice",
                           t->path, t->line[0], MW_SHOWN(t->cell[i]));
    return MW_EXIT_OK;
}

static int take_line(struct reader *r)
{
    struct mw_csv_table *t = r->t;
    const size_t before = r->cells, line = r->line;
    char end = ',';
    int status = MW_EXIT_OK;
    while (end == ',' && !status)
        status = take_cell(r, &end);
    r->line++;
    const size_t count = r->cells - before;
    if (status)
        return status;
    if (count == 1 && !*t->cell[before]) { // an empty line
        r->cells = before;
        return MW_EXIT_OK;
    }
    if (t->columns ? count != t->columns : count > MW_CSV_COLUMNS)
        return mw_fail(r->err, MW_EXIT_INPUT, "%s: line %zu: %zu values, expected %s%u", t->path,
                       line, count, t->columns ? "" : "at most ",
                       t->columns ? t->columns : MW_CSV_COLUMNS);
    status = add_line(r, line);
    const bool names = !t->columns;
    t->rows += !names;
    t->columns = (unsigned)count;
    return status || !names ? status : check_names(r);
}

int mw_csv_read(struct mw_csv_table *t, const char *path, size_t most, const char *what,
                struct mw_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; // of UTF-8
    *t = (struct mw_csv_table){.path = path};
    int status = read_text(t, path, most, what, err);
    if (status) {
        mw_csv_table_free(t);
        return status;
    }
    struct reader r = {.t = t, .at = t->text, .line = 1, .err = err};
    r.at += strncmp(r.at, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0;
    while (*r.at && !status)
        status = take_line(&r);
    if (!status && !t->columns)
        status = mw_fail(err, MW_EXIT_INPUT, "%s: line 1: no names of columns", path);
    if (status)
        mw_csv_table_free(t);
    return status;
}

void mw_csv_table_free(struct mw_csv_table *t)
{
    free(t->text);
    free(t->cell);
    free(t->line);
    *t = (struct mw_csv_table){0};
}

unsigned mw_csv_column(const struct mw_csv_table *t, const char *name)
{
    for (unsigned i = 0; i < t->columns; i++)
        if (strcmp(t->cell[i], name) == 0)
            return i;
    return MW_CSV_NONE;
}

int mw_csv_need(const struct mw_csv_table *t, const char *name, unsigned *column,
                struct mw_error *err)
{
    *column = mw_csv_column(t, name);
    return *column != MW_CSV_NONE ? MW_EXIT_OK
                                  : mw_fail(err, MW_EXIT_INPUT, "%s: line %zu: no column \"%s\"",
                                            t->path, t->line[0], name);
}

const char *mw_csv_cell(const struct mw_csv_table *t, size_t row, unsigned column)
{
    return t->cell[(row + 1) * t->columns + column];
}

int mw_csv_number(const struct mw_csv_table *t, size_t row, unsigned column, double least,
                  double *value, struct mw_error *err)
{
    char *end;
    const char *text = mw_csv_cell(t, row, column);
    *value = strtod(text, &end);
    if (end != text && !*end && isfinite(*value) && *value >= least)
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT,
                   "%s: line %zu: \"%s\" of column %s is not a number of at least %g", t->path,
                   t->line[row + 1], text, t->cell[column], least);
}
