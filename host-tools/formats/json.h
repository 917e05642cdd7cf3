// SPDX-License-Identifier: Apache-2.0
//
// JSON. Writer: a text in memory whose bytes depend on the calls alone, so that two equal runs
// write equal files. Reader (json_read.c): cJSON does the parsing. This reader adds messages, and
// checks what cJSON accepts.
//
// Whole numbers above 2^53 - 1 are strings of their digits, as RFC 7493 (I-JSON) recommends.
// Readers that keep numbers as doubles, as JavaScript does, would round them. Python's int() and
// JavaScript's BigInt() take both. Our own reader takes such a number in either form, and loses no
// digit.
#ifndef MW_HOST_JSON_H
#define MW_HOST_JSON_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cJSON;

enum { MW_JSON_DEPTH = 16, MW_JSON_NUMBER_BYTES = 40 };
/// The largest whole number that is written as a number.
#define MW_JSON_EXACT ((UINT64_C(1) << 53) - 1)

struct mw_json;
/// Called before each value that is no object and no array is written. It gets the key, or NULL in
/// an array, and the text, empty for null.
typedef void mw_json_watch(void *context, const struct mw_json *j, const char *key,
                           const char *text);

/// The writer; all zero before mw_json_open, or with a watch. Keys are written in the order of the
/// calls. `key` is NULL inside an array.
struct mw_json {
    FILE *stream; ///< memory stream behind text and size
    char *text;
    size_t size;
    unsigned depth;
    mw_json_watch *watch; ///< or NULL
    void *watch_context;
    struct {
        const char *key; ///< of this level in the one around it, or NULL; the caller's
        unsigned items;  ///< values written at this level
        bool on_line;    ///< this level and those inside it stay on one line
        char close;
    } level[MW_JSON_DEPTH];
};

/// Start a text. Returns MW_EXIT_OK or MW_EXIT_FAILED. The text is complete after mw_json_close.
int mw_json_open(struct mw_json *j, struct mw_error *err);
/// Objects and arrays. With `on_line` they are written on one line.
void mw_json_object(struct mw_json *j, const char *key, bool on_line);
void mw_json_array(struct mw_json *j, const char *key, bool on_line);
/// Close the innermost object or array.
void mw_json_end(struct mw_json *j);
void mw_json_string(struct mw_json *j, const char *key, const char *value); ///< NULL gives null
void mw_json_uint(struct mw_json *j, const char *key, uint64_t value);
/// `value` as mw_json_double writes it. Returns `text`.
const char *mw_json_number(char text[MW_JSON_NUMBER_BYTES], double value);
/// Reads back as the same number; null if not finite.
void mw_json_double(struct mw_json *j, const char *key, double value);
void mw_json_bool(struct mw_json *j, const char *key, bool value);
void mw_json_null(struct mw_json *j, const char *key);
/// Everything must be closed. j->text then holds j->size bytes, ended by a newline and a NUL.
int mw_json_close(struct mw_json *j, struct mw_error *err);
void mw_json_free(struct mw_json *j);

/// A number for tables and command lines: a whole one without an exponent, others with the fewest
/// digits that give the same number when read.
void mw_number_text(char text[MW_JSON_NUMBER_BYTES], double value);

/// The whole of a regular file of at most `most` bytes, which `what` names, as JSON, to be deleted
/// with cJSON_Delete. A whole number that a double cannot hold exactly is a cJSON string of
/// its digits. An object that has a key twice is refused. MW_EXIT_INPUT, and a line that names
/// file, place and cause.
int mw_json_read(struct cJSON **root, const char *path, size_t most, const char *what,
                 struct mw_error *err);

#endif
