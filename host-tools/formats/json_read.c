// SPDX-License-Identifier: Apache-2.0
//
// JSON reader, see json.h. cJSON parses. It keeps no places, accepts a key twice, and makes doubles
// of numbers. So its tree is then compared with the text, which it found well-formed.
#include "base/input.h"
#include "formats/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// The text, and where in it the walk is.
struct walk {
    const char *path, *text, *at;
    struct mw_error *err;
};

static unsigned line_of(const char *text, const char *place)
{
    unsigned line = 1;
    for (const char *c = text; c < place; c++)
        line += *c == '\n';
    return line;
}

// ---- keys ---------------------------------------------------------------------------------------

/// A member of an object, and where its key is.
struct key {
    const char *name, *place;
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *k = a, *l = b;
    int order = strcmp(k->name, l->name);
    return order ? order : (k->place > l->place) - (k->place < l->place);
}

static int refuse_twice(struct walk *w, struct key *keys, size_t count)
{
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 1; i < count; i++)
        if (strcmp(keys[i - 1].name, keys[i].name) == 0)
            return mw_fail(w->err, MW_EXIT_INPUT,
                           "%s: line %u: the key \"%s\" is there twice, first in line %u", w->path,
                           line_of(w->text, keys[i].place), keys[i].name,
                           line_of(w->text, keys[i - 1].place));
    return MW_EXIT_OK;
}

// ---- side by side -------------------------------------------------------------------------------

/// All that cJSON takes for space.
static void skip_space(struct walk *w)
{
    while (*w->at && (unsigned char)*w->at <= ' ')
        w->at++;
}

/// A text with a NUL inside would be shorter for its reader.
static int skip_string(struct walk *w)
{
    static const char nul[] = "\\u0000";
    for (w->at++; *w->at != '"'; w->at++) {
        if (strncmp(w->at, nul, sizeof nul - 1) == 0)
            return mw_fail(w->err, MW_EXIT_INPUT, "%s: line %u: %s in a string", w->path,
                           line_of(w->text, w->at), nul);
        w->at += *w->at == '\\';
    }
    w->at++;
    return MW_EXIT_OK;
}

/// After a number as RFC 8259 (section 6) writes it. NULL: `at` has none. cJSON takes what strtod
/// takes, such as 02048 and 1.
static const char *number_end(const char *at)
{
    static const char digits[] = "0123456789";
    at += *at == '-';
    size_t whole = strspn(at, digits);
    if (!whole || (whole > 1 && *at == '0'))
        return NULL;
    at += whole;
    if (*at == '.') {
        size_t part = strspn(at + 1, digits);
        if (!part)
            return NULL;
        at += 1 + part;
    }
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '+' || at[1] == '-');
        size_t power = strspn(at, digits);
        if (!power)
            return NULL;
        at += power;
    }
    return at;
}

/// A number of digits alone that no double holds exactly becomes the string of them.
static int take_number(struct walk *w, cJSON *item)
{
    size_t sign = *w->at == '-', digits = strspn(w->at + sign, "0123456789");
    size_t length = strspn(w->at, "+-.0123456789eE");
    const char *text = w->at;
    if (number_end(text) != text + length)
        return mw_fail(w->err, MW_EXIT_INPUT, "%s: line %u: malformed JSON, %.*s is no number",
                       w->path, line_of(w->text, text), (int)(length < 40 ? length : 40), text);
    if (isinf(item->valuedouble) && sign + digits != length)
        return mw_fail(w->err, MW_EXIT_INPUT, "%s: line %u: %.*s is beyond all numbers", w->path,
                       line_of(w->text, text), (int)(length < 40 ? length : 40), text);
    w->at += length;
    double size = item->valuedouble < 0 ? -item->valuedouble : item->valuedouble;
    if (sign + digits != length || size <= (double)MW_JSON_EXACT)
        return MW_EXIT_OK;
    item->valuestring = cJSON_malloc(length + 1);
    if (!item->valuestring)
        return mw_fail_memory(w->err, w->path);
    memcpy(item->valuestring, text, length);
    item->valuestring[length] = 0;
    item->type = cJSON_String;
    return MW_EXIT_OK;
}

static int walk(struct walk *w, cJSON *item);

static int walk_members(struct walk *w, cJSON *item, struct key *keys)
{
    const bool object = cJSON_IsObject(item);
    size_t count = 0;
    int status = MW_EXIT_OK;
    w->at++; // the bracket
    for (cJSON *each = item->child; each && !status; each = each->next) {
        skip_space(w);
        if (object) {
            keys[count++] = (struct key){each->string, w->at};
            if ((status = skip_string(w)))
                break;
            skip_space(w);
            w->at++; // the colon
            skip_space(w);
        }
        status = walk(w, each);
        skip_space(w);
        w->at += each->next != NULL; // the comma
    }
    skip_space(w);
    w->at += !status;
    return status || !object ? status : refuse_twice(w, keys, count);
}

/// As deep as cJSON goes (CJSON_NESTING_LIMIT), at most.
static int walk(struct walk *w, cJSON *item)
{
    if (cJSON_IsNumber(item))
        return take_number(w, item);
    if (cJSON_IsString(item))
        return skip_string(w);
    if (!cJSON_IsObject(item) && !cJSON_IsArray(item)) {
        w->at += strspn(w->at, "aeflnrstu"); // true, false, null
        return MW_EXIT_OK;
    }
    size_t members = cJSON_IsObject(item) ? (size_t)cJSON_GetArraySize(item) : 0;
    struct key *keys = malloc((members + 1) * sizeof *keys);
    int status = keys ? walk_members(w, item, keys) : mw_fail_memory(w->err, w->path);
    free(keys);
    return status;
}

// ---- the whole ----------------------------------------------------------------------------------

static int malformed(const struct walk *w, const char *end, size_t size)
{
    bool inside = end && end < w->text + size;
    return mw_fail(w->err, MW_EXIT_INPUT, "%s: line %u: malformed JSON%s", w->path,
                   line_of(w->text, end), inside ? "" : ", the file ends too early");
}

int mw_json_read(cJSON **root, const char *path, size_t most, const char *what,
                 struct mw_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; // of UTF-8, which cJSON skips
    char *text = NULL;
    size_t size = 0;
    *root = NULL;
    int status = mw_input_text(&text, &size, path, most, what, err);
    if (status)
        return status;
    const char *end = NULL;
    struct walk w = {.path = path, .text = text, .at = text, .err = err};
    // With the NUL counted and required, text after the object is an error, and `end` is its place.
    if (strlen(text) == size)
        *root = cJSON_ParseWithLengthOpts(text, size + 1, &end, true);
    else
        end = text + strlen(text); // a NUL, which cJSON takes for space
    if (!*root) {
        status = malformed(&w, end, size);
    } else {
        w.at += strncmp(w.at, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0;
        skip_space(&w);
        status = walk(&w, *root);
    }
    if (status) {
        cJSON_Delete(*root);
        *root = NULL;
    }
    free(text);
    return status;
}
