// SPDX-License-Identifier: Apache-2.0
//
// Expert counts from files, see counts.h.
#include "trace/counts.h"

#include "base/input.h"
#include "formats/npy.h"
#include "formats/npz.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { SHOWN = 40 }; ///< of a word that is no count, in bytes

/// What is wrong with a count, or NULL.
static const char *fault_of(double value)
{
    return isnan(value)       ? "is not a number"
           : !isfinite(value) ? "is infinite"
           : value < 0        ? "is negative"
                              : NULL;
}

static int check_sizes(const char *path, size_t layers, size_t experts, struct mw_error *err)
{
    if (experts > MW_MAX_EXPERTS)
        return mw_fail(err, MW_EXIT_INPUT, "%s: counts of %zu experts, at most %d", path, experts,
                       MW_MAX_EXPERTS);
    if (layers > MW_MAX_COUNT_LAYERS)
        return mw_fail(err, MW_EXIT_INPUT, "%s: counts of %zu layers, at most %d", path, layers,
                       MW_MAX_COUNT_LAYERS);
    return MW_EXIT_OK;
}

// ---- .npy ---------------------------------------------------------------------------------------

static int take_array(struct mw_counts *c, const char *path, const struct mw_npy *npy,
                      struct mw_error *err)
{
    char shape[80];
    if (npy->dims > 2)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: header: shape %s, expected [experts] or [layers, experts]: add up over "
                       "the other dimensions",
                       path, mw_npy_shape(npy, shape, sizeof shape));
    const bool flat = npy->dims == 1;
    const size_t layers = flat ? 1 : npy->dim[0], experts = flat ? npy->dim[0] : npy->dim[1];
    int status = check_sizes(path, layers, experts, err);
    if (status)
        return status;
    c->layers = layers;
    c->experts = (unsigned)experts;
    c->load = calloc(npy->count, sizeof *c->load);
    if (!c->load)
        return mw_fail_memory(err, path);
    for (size_t i = 0; i < npy->count; i++) {
        const size_t l = i / experts, e = i % experts;
        c->load[i] = mw_npy_real(npy, flat ? e : l * npy->stride[0] + e * npy->stride[1]);
        const char *fault = fault_of(c->load[i]);
        if (fault)
            return mw_fail(err, MW_EXIT_INPUT, "%s: layer %zu, expert %zu: the count %s", path, l,
                           e, fault);
    }
    return MW_EXIT_OK;
}

static int read_npy(struct mw_counts *c, const char *path, struct mw_error *err)
{
    struct mw_npy npy;
    int status = mw_npy_read(&npy, path, MW_NPY_WHOLE | MW_NPY_FLOAT, err);
    if (status)
        return status;
    status = take_array(c, path, &npy, err);
    mw_npy_free(&npy);
    return status;
}

// ---- CSV ----------------------------------------------------------------------------------------

/// The numbers of a line to `load`, which has room for MW_MAX_EXPERTS.
static int read_line(const char *path, unsigned number, const char *text, double *load,
                     unsigned *count, struct mw_error *err)
{
    *count = 0;
    for (const char *at = text;; at++) {
        char *end;
        double value = strtod(at, &end);
        const char *fault = end == at ? "is not a number" : fault_of(value);
        end += strspn(end, " \t\r\n");
        if (!fault && *end && *end != ',')
            fault = "is no number with a comma or the end of the line after it";
        if (!fault && *count == MW_MAX_EXPERTS)
            return check_sizes(path, 1, (size_t)*count + 1, err);
        if (fault) {
            const int length = (int)strcspn(at, ",\r\n");
            return mw_fail(
                err, MW_EXIT_INPUT,
                "%s: line %u, column %u: \"%.*s\" %s: a line has the counts of a layer's "
                "experts, a comment line begins with #",
                path, number, *count + 1, length < SHOWN ? length : SHOWN, at, fault);
        }
        load[(*count)++] = value;
        if (!*end)
            return MW_EXIT_OK;
        at = end;
    }
}

static int add_layer(struct mw_counts *c, const char *path, unsigned number, const double *load,
                     unsigned count, struct mw_error *err)
{
    if (c->layers && count != c->experts)
        return mw_fail(err, MW_EXIT_INPUT, "%s: line %u: %u counts, but %u in the lines before",
                       path, number, count, c->experts);
    int status = check_sizes(path, c->layers + 1, count, err);
    if (status)
        return status;
    double *more = realloc(c->load, (c->layers + 1) * count * sizeof *more);
    if (!more)
        return mw_fail_memory(err, path);
    memcpy(more + c->layers * count, load, count * sizeof *more);
    c->load = more;
    c->experts = count;
    c->layers++;
    return MW_EXIT_OK;
}

static bool is_blank(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return !*text || *text == '#';
}

static int read_lines(struct mw_counts *c, FILE *f, const char *path, double *load,
                      struct mw_error *err)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int status = MW_EXIT_OK;
    for (unsigned number = 1; !status && (length = getline(&line, &room, f)) >= 0; number++) {
        static const char mark[] = "\xef\xbb\xbf"; // of UTF-8, as spreadsheets write it
        const char *text = line + (number == 1 && strncmp(line, mark, 3) == 0 ? 3 : 0);
        unsigned count;
        if (strlen(line) != (size_t)length)
            status = mw_fail(err, MW_EXIT_INPUT, "%s: line %u: a NUL: neither CSV nor .npy", path,
                             number);
        else if (!is_blank(text) && !(status = read_line(path, number, text, load, &count, err)))
            status = add_layer(c, path, number, load, count, err);
    }
    if (!status && ferror(f))
        status = mw_fail(err, MW_EXIT_INPUT, "%s: cannot read: %s", path, strerror(errno));
    else if (!status && !feof(f)) // the room for a line
        status = mw_fail_memory(err, path);
    free(line);
    return status;
}

static int read_csv(struct mw_counts *c, FILE *f, const char *path, struct mw_error *err)
{
    double *load = calloc(MW_MAX_EXPERTS, sizeof *load);
    if (!load)
        return mw_fail_memory(err, path);
    int status = read_lines(c, f, path, load, err);
    free(load);
    if (!status && !c->layers)
        status = mw_fail(err, MW_EXIT_INPUT, "%s: no counts in it", path);
    return status;
}

// ---- all of it ----------------------------------------------------------------------------------

int mw_counts_read(struct mw_counts *counts, const char *path, struct mw_error *err)
{
    *counts = (struct mw_counts){0};
    FILE *f;
    size_t size;
    int status = mw_input_open(&f, &size, path, err);
    if (status)
        return status;
    const int first = getc(f);
    rewind(f);
    if (first == 0x93)
        status = read_npy(counts, path, err);
    else if (mw_npz_is(path))
        status = mw_fail(err, MW_EXIT_INPUT, "%s: an archive: expected .npy or CSV", path);
    else
        status = read_csv(counts, f, path, err);
    fclose(f);
    if (status)
        mw_counts_free(counts);
    return status;
}

void mw_counts_free(struct mw_counts *counts)
{
    free(counts->load);
    *counts = (struct mw_counts){0};
}
