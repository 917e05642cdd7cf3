// SPDX-License-Identifier: Apache-2.0
//
// Reader of .npy files, see npy.h. A file is: 6 bytes of magic, 2 of version, the length of the
// header (2 bytes in version 1, 4 in version 2, little endian), the header, which is a Python
// dictionary with the keys descr, fortran_order and shape, and the elements. The size of the file
// is compared with the header before anything is allocated.
#define _POSIX_C_SOURCE 200809L

#include "npy.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "elements are used as they are in the file");

enum { PREFIX_BYTES = 8, MAX_HEADER = 65536, DIMS = 3 };

/// The header text with a cursor, and what was found in it.
struct header {
    const char *path;
    const char *text;
    size_t base;   ///< offset of text[0] in the file, for messages
    size_t length; ///< text is also terminated by NUL
    size_t at;
    char descr[32];
    bool fortran;
    size_t dim[DIMS];
    unsigned dims;
    bool has_descr, has_order, has_shape;
};

static int bad_header(const struct header *h, struct mw_error *err, const char *cause)
{
    return mw_fail(err, MW_EXIT_INPUT, "%s: byte %zu: malformed .npy header: %s", h->path,
                   h->base + h->at, cause);
}

static void skip_space(struct header *h)
{
    while (h->at < h->length && strchr(" \t\n\r", h->text[h->at]) && h->text[h->at])
        h->at++;
}

static bool accept(struct header *h, const char *token)
{
    skip_space(h);
    size_t n = strlen(token);
    if (h->length - h->at < n || memcmp(h->text + h->at, token, n) != 0)
        return false;
    h->at += n;
    return true;
}

/// A Python string without escapes. Returns false where there is none, or it does not fit.
static bool parse_string(struct header *h, char *out, size_t size)
{
    skip_space(h);
    char quote = h->at < h->length ? h->text[h->at] : 0;
    if (quote != '\'' && quote != '"')
        return false;
    const char *start = h->text + h->at + 1;
    const char *end = memchr(start, quote, h->length - h->at - 1);
    if (!end || (size_t)(end - start) >= size)
        return false;
    memcpy(out, start, (size_t)(end - start));
    out[end - start] = 0;
    h->at += (size_t)(end - start) + 2;
    return true;
}

static int parse_shape(struct header *h, struct mw_error *err)
{
    if (!accept(h, "("))
        return bad_header(h, err, "the shape is not a tuple");
    while (!accept(h, ")")) {
        skip_space(h);
        size_t value = 0, digits = 0;
        while (h->at < h->length && h->text[h->at] >= '0' && h->text[h->at] <= '9') {
            if (value > SIZE_MAX / 16)
                return bad_header(h, err, "a dimension is too large");
            value = value * 10 + (size_t)(h->text[h->at++] - '0');
            digits++;
        }
        if (!digits)
            return bad_header(h, err, "a dimension is not a number");
        if (h->dims < DIMS)
            h->dim[h->dims] = value;
        h->dims++;
        if (!accept(h, ",")) {
            if (!accept(h, ")"))
                return bad_header(h, err, "the shape does not end");
            break;
        }
    }
    h->has_shape = true;
    return MW_EXIT_OK;
}

static int parse_entry(struct header *h, struct mw_error *err)
{
    char key[32];
    if (!parse_string(h, key, sizeof key))
        return bad_header(h, err, "a key is not a short string");
    if (!accept(h, ":"))
        return bad_header(h, err, "no colon after a key");
    if (strcmp(key, "shape") == 0)
        return parse_shape(h, err);
    if (strcmp(key, "descr") == 0) {
        h->has_descr = parse_string(h, h->descr, sizeof h->descr);
        return h->has_descr ? MW_EXIT_OK : bad_header(h, err, "descr is not a simple type");
    }
    if (strcmp(key, "fortran_order") == 0) {
        h->fortran = accept(h, "True");
        h->has_order = h->fortran || accept(h, "False");
        return h->has_order ? MW_EXIT_OK : bad_header(h, err, "fortran_order is not True or False");
    }
    return bad_header(h, err, "an unknown key");
}

static int parse_header(struct header *h, struct mw_error *err)
{
    if (!accept(h, "{"))
        return bad_header(h, err, "it is not a dictionary");
    while (!accept(h, "}")) {
        int status = parse_entry(h, err);
        if (status)
            return status;
        if (!accept(h, ",")) {
            if (!accept(h, "}"))
                return bad_header(h, err, "the dictionary does not end");
            break;
        }
    }
    skip_space(h);
    if (h->at != h->length)
        return bad_header(h, err, "text after the dictionary");
    if (!h->has_descr || !h->has_order || !h->has_shape)
        return bad_header(h, err, "descr, fortran_order or shape is missing");
    return MW_EXIT_OK;
}

static const struct {
    const char *descr;
    size_t bytes;
} types[MW_NPY_TYPES] = {[MW_NPY_U2] = {"<u2", 2},
                         [MW_NPY_I2] = {"<i2", 2},
                         [MW_NPY_I4] = {"<i4", 4},
                         [MW_NPY_I8] = {"<i8", 8},
                         [MW_NPY_F4] = {"<f4", 4}};

const char *mw_npy_descr(enum mw_npy_type type)
{
    return types[type].descr;
}

size_t mw_npy_bytes(enum mw_npy_type type)
{
    return types[type].bytes;
}

int64_t mw_npy_whole(const struct mw_npy *npy, size_t at)
{
    size_t bytes = types[npy->type].bytes;
    unsigned unused = 64 - 8 * (unsigned)bytes;
    uint64_t word = 0;
    memcpy(&word, (const char *)npy->data + at * bytes, bytes);
    // the type's sign goes to the top, and comes down as often as it is wide
    return npy->type == MW_NPY_U2 ? (int64_t)word : (int64_t)(word << unused) >> unused;
}

static int check_type(const struct header *h, unsigned allowed, enum mw_npy_type *type,
                      struct mw_error *err)
{
    char list[64] = "";
    for (unsigned i = 0; i < MW_NPY_TYPES; i++) {
        if (!(allowed >> i & 1))
            continue;
        *type = (enum mw_npy_type)i;
        if (strcmp(h->descr, types[i].descr) == 0)
            return MW_EXIT_OK;
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s'%s'", at ? ", " : "", types[i].descr);
    }
    return mw_fail(err, MW_EXIT_INPUT, "%s: header: element type is '%s', expected %s", h->path,
                   h->descr, list);
}

/// Type, order and shape are what a trace needs; sets `bytes` to what the elements take.
static int check_header(const struct header *h, unsigned allowed, enum mw_npy_type *type,
                        size_t *bytes, struct mw_error *err)
{
    int status = check_type(h, allowed, type, err);
    if (status)
        return status;
    if (h->fortran)
        return mw_fail(err, MW_EXIT_INPUT, "%s: header: Fortran order, expected C order", h->path);
    if (h->dims != DIMS)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: header: %u dimensions, expected 3 (layers, tokens, k)", h->path,
                       h->dims);
    *bytes = types[*type].bytes;
    for (unsigned i = 0; i < DIMS; i++) {
        if (h->dim[i] == 0)
            return mw_fail(err, MW_EXIT_INPUT, "%s: header: dimension %u of the shape is 0",
                           h->path, i);
        if (__builtin_mul_overflow(*bytes, h->dim[i], bytes))
            return mw_fail(err, MW_EXIT_INPUT, "%s: header: the shape is too large", h->path);
    }
    return MW_EXIT_OK;
}

static int truncated(const char *path, size_t at, const char *what, struct mw_error *err)
{
    return mw_fail(err, MW_EXIT_INPUT, "%s: byte %zu: truncated, the file ends inside %s", path, at,
                   what);
}

/// Magic, version and length of the header; sets h->base and h->length.
static int read_prefix(FILE *f, struct header *h, struct mw_error *err)
{
    unsigned char b[PREFIX_BYTES + 4] = {0};
    size_t got = fread(b, 1, PREFIX_BYTES, f);
    if (memcmp(b, "\x93NUMPY", got < 6 ? got : 6) != 0 || got == 0)
        return mw_fail(err, MW_EXIT_INPUT, "%s: byte 0: not a .npy file", h->path);
    if (got < PREFIX_BYTES)
        return truncated(h->path, got, "the prefix", err);
    if ((b[6] != 1 && b[6] != 2) || b[7] != 0)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: byte 6: .npy format version %u.%u, expected 1.0 or 2.0", h->path, b[6],
                       b[7]);
    size_t count = b[6] == 1 ? 2 : 4;
    got = fread(b + PREFIX_BYTES, 1, count, f);
    if (got < count)
        return truncated(h->path, PREFIX_BYTES + got, "the header's length", err);
    h->base = PREFIX_BYTES + count;
    h->length = b[8] | (size_t)b[9] << 8 | (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (h->length > MAX_HEADER)
        return mw_fail(err, MW_EXIT_INPUT, "%s: byte 8: a header of %zu bytes is not plausible",
                       h->path, h->length);
    return MW_EXIT_OK;
}

static int read_header(FILE *f, struct header *h, struct mw_error *err)
{
    int status = read_prefix(f, h, err);
    if (status)
        return status;
    char *text = calloc(1, h->length + 1);
    if (!text)
        return mw_fail_memory(err, h->path);
    size_t got = fread(text, 1, h->length, f);
    h->text = text;
    status = got < h->length ? truncated(h->path, h->base + got, "the header", err)
                             : parse_header(h, err);
    h->text = NULL;
    free(text);
    return status;
}

static int read_elements(FILE *f, const struct header *h, size_t bytes, struct mw_npy *npy,
                         struct mw_error *err)
{
    struct stat st;
    if (fstat(fileno(f), &st) != 0)
        return mw_fail(err, MW_EXIT_INPUT, "%s: %s", h->path, strerror(errno));
    size_t start = h->base + h->length;
    size_t have = (size_t)st.st_size - start;
    if (have < bytes)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: byte %zu: truncated, shape (%zu, %zu, %zu) needs %zu bytes of elements,"
                       " the file has %zu",
                       h->path, start + have, h->dim[0], h->dim[1], h->dim[2], bytes, have);
    if (have > bytes)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: byte %zu: %zu bytes after the last element of shape (%zu, %zu, %zu)",
                       h->path, start + bytes, have - bytes, h->dim[0], h->dim[1], h->dim[2]);
    npy->data = malloc(bytes);
    if (!npy->data)
        return mw_fail_memory(err, h->path);
    size_t got = fread(npy->data, 1, bytes, f);
    if (got < bytes)
        return truncated(h->path, start + got, "the elements", err);
    memcpy(npy->dim, h->dim, sizeof npy->dim);
    return MW_EXIT_OK;
}

int mw_npy_read(struct mw_npy *npy, const char *path, unsigned allowed, struct mw_error *err)
{
    *npy = (struct mw_npy){0};
    FILE *f = fopen(path, "rb");
    if (!f)
        return mw_fail(err, MW_EXIT_INPUT, "%s: cannot open: %s", path, strerror(errno));
    struct stat st;
    int status = MW_EXIT_OK;
    if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode))
        status = mw_fail(err, MW_EXIT_INPUT, "%s: not a regular file", path);
    struct header h = {.path = path};
    size_t bytes = 0;
    if (!status)
        status = read_header(f, &h, err);
    if (!status)
        status = check_header(&h, allowed, &npy->type, &bytes, err);
    if (!status)
        status = read_elements(f, &h, bytes, npy, err);
    fclose(f);
    if (status)
        mw_npy_free(npy);
    return status;
}

void mw_npy_free(struct mw_npy *npy)
{
    free(npy->data);
    *npy = (struct mw_npy){0};
}
