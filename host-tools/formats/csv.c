// SPDX-License-Identifier: Apache-2.0
//
// See csv.h.
#define _POSIX_C_SOURCE 200809L

#include "formats/csv.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMN_BYTES = 256 };

// ---- taking -------------------------------------------------------------------------------------

/// Whether the writer is inside the array of lines, and in no array deeper but one of numbers.
static bool is_in_line(const struct mw_csv *c, const struct mw_json *j)
{
    return j->depth >= 3 && j->level[1].close == ']' && j->level[1].key &&
           strcmp(j->level[1].key, c->rows) == 0;
}

/// The name of a value's column: keys of all levels from `from` on, and its own. False: it is
/// inside an array of objects, and has none.
static bool column_of(const struct mw_json *j, unsigned from, const char *key,
                      char name[COLUMN_BYTES])
{
    size_t at = 0;
    name[0] = 0;
    for (unsigned l = from; l <= j->depth && at < COLUMN_BYTES; l++) {
        const char *part = l < j->depth ? j->level[l].key : key;
        if (l < j->depth && j->level[l].close == ']' && l + 1 < j->depth)
            return false;
        if (part)
            at += (size_t)snprintf(name + at, COLUMN_BYTES - at, "%s%s", at ? "." : "", part);
    }
    return true;
}

static void append(struct mw_csv *c, unsigned line, const char *column, const char *text)
{
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 256;
        struct mw_csv_value *more = realloc(c->value, room * sizeof *more);
        c->failed |= !more;
        if (!more)
            return;
        c->value = more;
        c->room = room;
    }
    struct mw_csv_value v = {line, strdup(column), strdup(text)};
    c->failed |= !v.column || !v.text;
    c->value[c->count++] = v;
}

/// One more of an array of numbers.
static void extend(struct mw_csv *c, const char *text)
{
    struct mw_csv_value *last = &c->value[c->count - 1];
    size_t length = last->text ? strlen(last->text) : 0;
    char *longer = realloc(last->text, length + strlen(text) + 2);
    c->failed |= !longer;
    if (!longer)
        return;
    longer[length] = ' ';
    strcpy(longer + length + 1, text);
    last->text = longer;
}

static void take(void *context, const struct mw_json *j, const char *key, const char *text)
{
    struct mw_csv *c = context;
    char column[COLUMN_BYTES];
    bool in_line = is_in_line(c, j);
    unsigned line = in_line ? j->level[1].items : 0;
    if (c->failed || !j->depth || !column_of(j, in_line ? 3 : 1, key, column))
        return;
    c->lines = line > c->lines ? line : c->lines;
    const struct mw_csv_value *last = c->count ? &c->value[c->count - 1] : NULL;
    if (!key && last && last->line == line && strcmp(last->column, column) == 0)
        extend(c, text);
    else
        append(c, line, column, text);
}

void mw_csv_begin(struct mw_csv *c, const char *rows, struct mw_json *j)
{
    *c = (struct mw_csv){.rows = rows};
    j->watch = take;
    j->watch_context = c;
}

// ---- the text -----------------------------------------------------------------------------------

void mw_csv_write(FILE *f, const char *text)
{
    const char *quote = strpbrk(text, ",\"") ? "\"" : "";
    fputs(quote, f);
    while (*text) {
        if (*text == '"')
            fputc('"', f);
        text = mw_text_put(f, text);
    }
    fputs(quote, f);
}

static const char *find(const struct mw_csv *c, unsigned line, const char *column)
{
    for (size_t i = 0; i < c->count; i++)
        if ((c->value[i].line == line || !c->value[i].line) &&
            strcmp(c->value[i].column, column) == 0)
            return c->value[i].text;
    return "";
}

/// Every column once, in the order in which they came.
static size_t list_columns(const struct mw_csv *c, const char **column)
{
    size_t columns = 0;
    for (size_t i = 0; i < c->count; i++) {
        size_t k = 0;
        while (k < columns && strcmp(column[k], c->value[i].column) != 0)
            k++;
        if (k == columns)
            column[columns++] = c->value[i].column;
    }
    return columns;
}

char *mw_csv_text(const struct mw_csv *c, size_t *size)
{
    char *text = NULL;
    const char **column = malloc((c->count + 1) * sizeof *column);
    FILE *f = c->failed || !column ? NULL : open_memstream(&text, size);
    if (!f) {
        free(column);
        return NULL;
    }
    size_t columns = list_columns(c, column);
    for (unsigned line = 0; line <= c->lines; line++)
        for (size_t k = 0; k < columns; k++) {
            mw_csv_write(f, line ? find(c, line, column[k]) : column[k]);
            fputc(k + 1 < columns ? ',' : '\n', f);
        }
    free(column);
    bool failed = ferror(f);
    failed |= fclose(f) != 0;
    if (!failed)
        return text;
    free(text);
    return NULL;
}

void mw_csv_free(struct mw_csv *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->value[i].column);
        free(c->value[i].text);
    }
    free(c->value);
    *c = (struct mw_csv){0};
}
