// SPDX-License-Identifier: Apache-2.0
//
// Standard output of a command: tables for people, in columns and, on terminals, in colour; or in
// their place, with `--json -` and the like, data for programs.
#ifndef MW_HOST_TABLES_H
#define MW_HOST_TABLES_H

#include "cli/option_table.h"
#include "formats/csv.h"

#include <stdio.h>

enum { MW_TABLE_WIDTH = 100 }; ///< columns of a table, at most

/// Where a command writes what it found out besides its tables; "-" is standard output.
struct mw_data_files {
    const char *json, *csv; ///< or NULL
    bool quiet;             ///< no tables, and no progress
};

/// Rows of a command's options; `place` is the offset of a struct mw_data_files.
#define MW_DATA_OPTIONS(place, what) \
    MW_PATH("json", (place) + offsetof(struct mw_data_files, json), "FILE", \
            what " as JSON, for programs; - is standard output, instead of the tables"), \
        MW_PATH("csv", (place) + offsetof(struct mw_data_files, csv), "FILE", \
                "the same as CSV, without lists inside it"), \
        MW_FLAG("quiet", (place) + offsetof(struct mw_data_files, quiet), \
                "print no tables and no progress, only error messages")

/// Find out before a long run whether the files can be written.
int mw_data_probe(const struct mw_data_files *files, struct mw_error *err);
/// Whether there are no tables: `quiet` is set, or standard output has one of the files.
bool mw_data_replaces_tables(const struct mw_data_files *files);
/// Where tables go: `out`, or nowhere. NULL: the machine failed.
FILE *mw_tables_open(FILE *out, bool nowhere, struct mw_error *err);
/// What was printed must arrive before more is worked out: MW_EXIT_FAILED, or MW_EXIT_PIPE
/// where nobody reads it.
int mw_tables_flush(FILE *tables, struct mw_error *err);
/// Close what mw_tables_open gave.
void mw_tables_close(FILE *tables, FILE *out);
/// Whether that is standard output.
bool mw_is_standard(const char *path);
/// Write a whole file, or to `out` if that is its name; MW_EXIT_PIPE as above.
int mw_data_send(FILE *out, const char *path, const char *text, size_t size, struct mw_error *err);
/// Write the files that are asked for: `j` is closed, `csv` took what was written to it.
int mw_data_write(const struct mw_data_files *files, FILE *out, const struct mw_json *j,
                  const struct mw_csv *csv, struct mw_error *err);
/// Refuse two outputs that are one file, and one that replaces what standard output writes to:
/// `option` and `path` are lists of `count`, paths may be NULL or "-". MW_EXIT_INPUT, and a line
/// that names the option.
int mw_outputs_differ(const char *const *option, const char *const *path, unsigned count,
                      struct mw_error *err);
/// Refuse an output of these that would replace the file `input` (may be NULL), by
/// whichever names and links.
int mw_outputs_spare(const char *const *option, const char *const *path, unsigned count,
                     const char *input, struct mw_error *err);
/// How text looks on a terminal; elsewhere, and where NO_COLOR is set, there is none of it.
enum mw_look { MW_PLAIN, MW_HEAD, MW_GOOD, MW_BAD };
/// What turns it on for `out`, or an empty text; MW_PLAIN turns all off.
const char *mw_look(FILE *out, enum mw_look look);

#endif
