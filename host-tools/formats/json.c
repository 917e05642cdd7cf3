// SPDX-License-Identifier: Apache-2.0
//
// JSON writer, see json.h.
#define _POSIX_C_SOURCE 200809L

#include "formats/json.h"

#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Control characters are escaped, and no reader loses any.
static void write_string(FILE *f, const char *s)
{
    fputc('"', f);
    while (*s) {
        uint32_t c;
        unsigned n = mw_text_char(s, &c);
        if (!n)
            fputs(MW_TEXT_REPLACEMENT, f);
        else if (c == '"' || c == '\\')
            fprintf(f, "\\%c", (int)c);
        else if (c <= 0xffff && !mw_text_is_plain(c))
            fprintf(f, "\\u%04x", (unsigned)c);
        else
            fwrite(s, 1, n, f);
        s += n ? n : 1;
    }
    fputc('"', f);
}

static void new_line(struct mw_json *j)
{
    fputc('\n', j->stream);
    for (unsigned i = 0; i < j->depth; i++)
        fputs("  ", j->stream);
}

/// Comma, line break and key: what comes before every value.
static void before_value(struct mw_json *j, const char *key)
{
    if (j->depth) {
        bool on_line = j->level[j->depth - 1].on_line;
        if (j->level[j->depth - 1].items++)
            fputs(on_line ? ", " : ",", j->stream);
        if (!on_line)
            new_line(j);
    }
    assert(!key == (!j->depth || j->level[j->depth - 1].close == ']'));
    if (key) {
        write_string(j->stream, key);
        fputs(": ", j->stream);
    }
}

static void begin(struct mw_json *j, const char *key, bool on_line, char open, char close)
{
    before_value(j, key);
    assert(j->depth < MW_JSON_DEPTH);
    fputc(open, j->stream);
    bool outer = j->depth && j->level[j->depth - 1].on_line;
    j->level[j->depth].key = key;
    j->level[j->depth].items = 0;
    j->level[j->depth].on_line = on_line || outer;
    j->level[j->depth].close = close;
    j->depth++;
}

int mw_json_open(struct mw_json *j, struct mw_error *err)
{
    *j = (struct mw_json){.watch = j->watch, .watch_context = j->watch_context};
    j->stream = open_memstream(&j->text, &j->size);
    return j->stream ? MW_EXIT_OK : mw_fail_memory(err, "JSON");
}

void mw_json_object(struct mw_json *j, const char *key, bool on_line)
{
    begin(j, key, on_line, '{', '}');
}

void mw_json_array(struct mw_json *j, const char *key, bool on_line)
{
    begin(j, key, on_line, '[', ']');
}

void mw_json_end(struct mw_json *j)
{
    assert(j->depth);
    j->depth--;
    if (j->level[j->depth].items && !j->level[j->depth].on_line)
        new_line(j);
    fputc(j->level[j->depth].close, j->stream);
}

/// A value that is written as `text` is.
static void plain(struct mw_json *j, const char *key, const char *text)
{
    if (j->watch)
        j->watch(j->watch_context, j, key, text);
    before_value(j, key);
    fputs(text, j->stream);
}

void mw_json_string(struct mw_json *j, const char *key, const char *value)
{
    if (!value) {
        mw_json_null(j, key);
        return;
    }
    if (j->watch)
        j->watch(j->watch_context, j, key, value);
    before_value(j, key);
    write_string(j->stream, value);
}

void mw_json_uint(struct mw_json *j, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    if (value <= MW_JSON_EXACT)
        plain(j, key, text);
    else
        mw_json_string(j, key, text);
}

const char *mw_json_number(char text[MW_JSON_NUMBER_BYTES], double value)
{
    snprintf(text, MW_JSON_NUMBER_BYTES, "null");
    // as few digits as give the same number when they are read
    for (int digits = 6; isfinite(value) && digits <= 17; digits++) {
        snprintf(text, MW_JSON_NUMBER_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

void mw_number_text(char text[MW_JSON_NUMBER_BYTES], double value)
{
    if (fabs(value) < 0x1p53 && value == floor(value))
        snprintf(text, MW_JSON_NUMBER_BYTES, "%.0f", value);
    else
        mw_json_number(text, value);
}

void mw_json_double(struct mw_json *j, const char *key, double value)
{
    char text[MW_JSON_NUMBER_BYTES];
    if (isfinite(value))
        plain(j, key, mw_json_number(text, value));
    else
        mw_json_null(j, key);
}

void mw_json_bool(struct mw_json *j, const char *key, bool value)
{
    plain(j, key, value ? "true" : "false");
}

void mw_json_null(struct mw_json *j, const char *key)
{
    if (j->watch)
        j->watch(j->watch_context, j, key, "");
    before_value(j, key);
    fputs("null", j->stream);
}

int mw_json_close(struct mw_json *j, struct mw_error *err)
{
    assert(!j->depth);
    fputc('\n', j->stream);
    bool failed = ferror(j->stream);
    failed |= fclose(j->stream) != 0;
    j->stream = NULL;
    return failed ? mw_fail_memory(err, "JSON") : MW_EXIT_OK;
}

void mw_json_free(struct mw_json *j)
{
    if (j->stream)
        fclose(j->stream);
    free(j->text);
    memset(j, 0, sizeof *j);
}
