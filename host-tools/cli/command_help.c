// SPDX-License-Identifier: Apache-2.0
//
// See command_help.h.
#include "cli/command_help.h"

#include "base/text_wrap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 80,
    OPTION_COLUMN = 24, ///< where the texts of options begin
    TERM_COLUMN = 24,   ///< and those of terms, at most
};

// ---- parts of a table as text -------------------------------------------------------------------

void mw_terms_names(mw_terms *terms, char *text, size_t size)
{
    struct mw_term term, next;
    size_t at = 0;
    *text = 0;
    for (unsigned i = 0; at < size && terms(i, &term); i++) {
        bool last = !terms(i + 1, &next);
        at += (size_t)snprintf(text + at, size - at, "%s%s",
                               !i     ? ""
                               : last ? " or "
                                      : ", ",
                               term.name);
    }
}

bool mw_terms_have(mw_terms *terms, const char *name)
{
    struct mw_term term;
    for (unsigned i = 0; terms(i, &term); i++)
        if (strcmp(term.name, name) == 0)
            return true;
    return false;
}

void *mw_option_defaults(const struct mw_option_table *t)
{
    void *params = calloc(1, t->params_bytes ? t->params_bytes : 1);
    if (params && t->defaults)
        t->defaults(params);
    return params;
}

void mw_option_head(const struct mw_option *o, char head[MW_OPTION_HEAD_BYTES])
{
    snprintf(head, MW_OPTION_HEAD_BYTES, "--%s%s%s", o->name, o->value ? " " : "",
             o->value ? o->value : "");
}

static void range_text(const struct mw_option *o, char *text, size_t size)
{
    char low[MW_END_BYTES], high[MW_END_BYTES];
    if (o->terms)
        mw_terms_names(o->terms, text, size);
    else
        snprintf(text, size, "%s to %s", mw_option_end(o, o->low, low),
                 mw_option_end(o, o->high, high));
}

static void default_text(const struct mw_option *o, const void *defaults, char *text, size_t size)
{
    const char *place = (const char *)defaults + o->offset;
    unsigned narrow = 0;
    uint64_t wide = 0;
    double real = 0;
    *text = 0;
    if (o->kind == MW_OPTION_REAL)
        snprintf(text, size, "%g", *(double *)memcpy(&real, place, sizeof real));
    else if (o->kind == MW_OPTION_NUMBER)
        snprintf(text, size, "%" PRIu64, *(uint64_t *)memcpy(&wide, place, sizeof wide));
    else
        snprintf(text, size, "%u", *(unsigned *)memcpy(&narrow, place, sizeof narrow));
}

void mw_option_text(const struct mw_option *o, const void *defaults,
                    char text[MW_OPTION_TEXT_BYTES])
{
    static const char range[] = "{}", given[] = "{default}";
    size_t at = 0;
    text[0] = 0;
    for (const char *from = o->text; *from && at < MW_OPTION_TEXT_BYTES - 1;) {
        size_t room = MW_OPTION_TEXT_BYTES - at, length = strcspn(from + 1, "{") + 1;
        if (strncmp(from, range, sizeof range - 1) == 0) {
            range_text(o, text + at, room);
            length = sizeof range - 1;
        } else if (strncmp(from, given, sizeof given - 1) == 0) {
            default_text(o, defaults, text + at, room);
            length = sizeof given - 1;
        } else {
            snprintf(text + at, room, "%.*s", (int)length, from);
        }
        at += strlen(text + at);
        from += length;
    }
}

// ---- help ---------------------------------------------------------------------------------------

/// A name, and a text beside it from `column` on, or below it where it is too long.
static void entry(FILE *out, const char *head, const char *text, unsigned column)
{
    unsigned at = (unsigned)fprintf(out, "  %s", head);
    if (!text || !*text) {
        fputc('\n', out);
        return;
    }
    if (at + 1 > column) {
        fputc('\n', out);
        at = 0;
    }
    fprintf(out, "%*s", (int)(column - at), "");
    mw_wrap(out, text, column, column, WIDTH);
}

static void synopsis(const struct mw_option_table *t, FILE *out)
{
    const char *line = t->synopsis;
    for (const char *before = "usage:"; *line; before = "      ") {
        size_t length = strcspn(line, "\n");
        fprintf(out, "%s moeswitch %s%s%.*s\n", before, t->command, length ? " " : "", (int)length,
                line);
        line += length + (line[length] == '\n');
    }
}

static void options(const struct mw_option_table *t, FILE *out)
{
    char head[MW_OPTION_HEAD_BYTES], text[MW_OPTION_TEXT_BYTES];
    void *defaults = mw_option_defaults(t);
    if (!t->count || t->option[0].kind != MW_OPTION_GROUP)
        fputs("\nOptions\n", out);
    for (unsigned i = 0; defaults && i < t->count; i++) {
        const struct mw_option *o = &t->option[i];
        if (o->kind == MW_OPTION_GROUP) {
            fprintf(out, "\n%s\n", o->text);
            continue;
        }
        mw_option_head(o, head);
        mw_option_text(o, defaults, text);
        entry(out, head, text, OPTION_COLUMN);
    }
    entry(out, MW_HELP_HEAD, MW_HELP_TEXT, OPTION_COLUMN);
    free(defaults);
}

static void terms(const struct mw_section *s, FILE *out)
{
    struct mw_term term;
    unsigned column = 0;
    for (unsigned i = 0; s->terms(i, &term); i++)
        if (strlen(term.name) + 4 > column && strlen(term.name) + 4 <= TERM_COLUMN)
            column = (unsigned)strlen(term.name) + 4;
    fprintf(out, "\n%s\n", s->title);
    for (unsigned i = 0; s->terms(i, &term); i++)
        entry(out, term.name, term.text, column);
}

void mw_command_help(const struct mw_option_table *t, FILE *out)
{
    synopsis(t, out);
    mw_wrap(out, t->text, 0, 0, WIDTH);
    options(t, out);
    for (const struct mw_section *s = t->section; s && s->title; s++)
        terms(s, out);
}
