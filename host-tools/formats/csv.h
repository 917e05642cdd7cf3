// SPDX-License-Identifier: Apache-2.0
//
// CSV of what is written as JSON, so that a figure has one name and one place where it is made.
// Each object of one array of the text's outermost object becomes a line. Names of columns are the
// keys that lead to a value, with dots between them ("up.wire_bytes_mean"). The values beside the
// array come first and are the same in every line. An array of numbers is one value, with spaces
// between them. Arrays of objects are left out.
#ifndef MW_HOST_CSV_H
#define MW_HOST_CSV_H

#include "formats/json.h"

struct mw_csv {
    const char *rows; ///< key of the array
    unsigned lines;
    bool failed; ///< no memory
    size_t count, room;
    struct mw_csv_value {
        unsigned line; ///< from 1 on; 0: of every line
        char *column, *text;
    } * value;
};

/// Take what is written to `j`, from its mw_json_open on. `rows` is the key of the array.
void mw_csv_begin(struct mw_csv *csv, const char *rows, struct mw_json *j);
/// The text, of `size` bytes, to free(): a line of names, then the lines. NULL: no memory.
char *mw_csv_text(const struct mw_csv *csv, size_t *size);
void mw_csv_free(struct mw_csv *csv);
/// Write one value, in quotes where it needs them (RFC 4180).
void mw_csv_write(FILE *out, const char *text);

#endif
