// SPDX-License-Identifier: Apache-2.0
//
// Standard output of a command: tables for people, in columns and, on terminals, in colour. With
// `--json -` and the like, data for programs replaces them.
#ifndef MW_HOST_TABLES_H
#define MW_HOST_TABLES_H

#include "cli/option_table.h"
#include "formats/csv.h"

#include <stdio.h>

enum { MW_TABLE_WIDTH = 100 }; ///< columns of a table, at most

/// Where a command writes its results besides its tables; "-" is standard output.
struct mw_data_files {
    const char *json, *csv; ///< or NULL
    bool quiet;             ///< no tables, and no progress
};

/// Rows of a command's options. `place` is the offset of a struct mw_data_files.
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
/// The printed text must arrive before the computation continues: MW_EXIT_FAILED, or MW_EXIT_PIPE
/// if it has no reader.
int mw_tables_flush(FILE *tables, struct mw_error *err);
/// Close what mw_tables_open returned.
void mw_tables_close(FILE *tables, FILE *out);
/// Whether that is standard output.
bool mw_is_standard(const char *path);
/// Write a whole file, or to `out` if that is its name; MW_EXIT_PIPE as above.
int mw_data_send(FILE *out, const char *path, const char *text, size_t size, struct mw_error *err);
/// Write the requested files: `j` is closed, and `csv` has received what was written to it.
int mw_data_write(const struct mw_data_files *files, FILE *out, const struct mw_json *j,
                  const struct mw_csv *csv, struct mw_error *err);
/// Refuse two outputs that are one file, and one that would replace the file of standard output.
/// `option` and `path` are lists of `count`; paths may be NULL or "-". MW_EXIT_INPUT, and a line
/// that names the option.
int mw_outputs_differ(const char *const *option, const char *const *path, unsigned count,
                      struct mw_error *err);
/// Refuse an output of these that would replace the file `input` (may be NULL), whatever names and
/// links lead to it.
int mw_outputs_spare(const char *const *option, const char *const *path, unsigned count,
                     const char *input, struct mw_error *err);
/// How text looks on a terminal; elsewhere, and where NO_COLOR is set, there is none of it.
enum mw_look { MW_PLAIN, MW_HEAD, MW_GOOD, MW_BAD };
/// What turns it on for `out`, or an empty text; MW_PLAIN turns all off.
const char *mw_look(FILE *out, enum mw_look look);

#endif
