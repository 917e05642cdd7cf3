// SPDX-License-Identifier: Apache-2.0
//
// See tables.h.
#include "cli/tables.h"

#include "base/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool mw_is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

int mw_data_probe(const struct mw_data_files *files, struct mw_error *err)
{
    int status = mw_is_standard(files->json) ? MW_EXIT_OK : mw_output_probe(files->json, err);
    if (!status && !mw_is_standard(files->csv))
        status = mw_output_probe(files->csv, err);
    return status;
}

bool mw_data_replaces_tables(const struct mw_data_files *files)
{
    return files->quiet || mw_is_standard(files->json) || mw_is_standard(files->csv);
}

FILE *mw_tables_open(FILE *out, bool nowhere, struct mw_error *err)
{
    static const char null[] = "/dev/null";
    FILE *tables = nowhere ? fopen(null, "w") : out;
    if (!tables)
        mw_fail(err, MW_EXIT_FAILED, "%s: cannot open: %s", null, strerror(errno));
    return tables;
}

int mw_tables_flush(FILE *tables, struct mw_error *err)
{
    errno = 0;
    if (fflush(tables) == 0 && !ferror(tables))
        return MW_EXIT_OK;
    if (errno == EPIPE)
        return MW_EXIT_PIPE;
    return mw_fail(err, MW_EXIT_FAILED, "standard output: cannot write: %s",
                   errno ? strerror(errno) : "some of it was lost");
}

void mw_tables_close(FILE *tables, FILE *out)
{
    if (tables && tables != out)
        fclose(tables);
}

int mw_data_send(FILE *out, const char *path, const char *text, size_t size, struct mw_error *err)
{
    if (!mw_is_standard(path))
        return mw_output_write(path, text, size, err);
    errno = 0;
    bool ok = fwrite(text, 1, size, out) == size;
    ok &= fflush(out) == 0;
    if (!ok && errno == EPIPE)
        return MW_EXIT_PIPE;
    return ok ? MW_EXIT_OK
              : mw_fail(err, MW_EXIT_FAILED, "standard output: cannot write: %s", strerror(errno));
}

static int write_csv(const char *path, FILE *out, const struct mw_csv *csv, struct mw_error *err)
{
    size_t size = 0;
    char *text = mw_csv_text(csv, &size);
    if (!text)
        return mw_fail_memory(err, "CSV");
    int status = mw_data_send(out, path, text, size, err);
    free(text);
    return status;
}

int mw_data_write(const struct mw_data_files *files, FILE *out, const struct mw_json *j,
                  const struct mw_csv *csv, struct mw_error *err)
{
    int status = MW_EXIT_OK;
    if (files->json)
        status = mw_data_send(out, files->json, j->text, j->size, err);
    if (!status && files->csv)
        status = write_csv(files->csv, out, csv, err);
    return status;
}

/// As a path that leads somewhere.
static const char *path_of(const char *path)
{
    return mw_is_standard(path) ? "/dev/stdout" : path;
}

int mw_outputs_differ(const char *const *option, const char *const *path, unsigned count,
                      struct mw_error *err)
{
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = i + 1; k < count; k++)
            if (path[i] && path[k] && mw_output_same(path_of(path[i]), path_of(path[k])))
                return mw_fail(err, MW_EXIT_INPUT, "--%s and --%s: both are %s", option[i],
                               option[k], mw_is_standard(path[i]) ? "standard output" : path[i]);
        if (path[i] && mw_output_replaces(path_of(path[i]), STDOUT_FILENO))
            return mw_fail(err, MW_EXIT_INPUT, "--%s %s: standard output is that file, too",
                           option[i], path[i]);
    }
    return MW_EXIT_OK;
}

int mw_outputs_spare(const char *const *option, const char *const *path, unsigned count,
                     const char *input, struct mw_error *err)
{
    for (unsigned i = 0; input && i < count; i++)
        if (path[i] && mw_output_same(path_of(path[i]), input))
            return mw_fail(err, MW_EXIT_INPUT, "--%s %s: would replace the input %s", option[i],
                           path[i], input);
    return MW_EXIT_OK;
}

static bool has_looks(FILE *out)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    int file = fileno(out);
    return file >= 0 && isatty(file) && !(no_color && *no_color) &&
           !(term && strcmp(term, "dumb") == 0);
}

const char *mw_look(FILE *out, enum mw_look look)
{
    static const char *const codes[] = {[MW_PLAIN] = "\033[0m",
                                        [MW_HEAD] = "\033[1m",
                                        [MW_GOOD] = "\033[32m",
                                        [MW_BAD] = "\033[1;31m"};
    return has_looks(out) ? codes[look] : "";
}
