// SPDX-License-Identifier: Apache-2.0
//
// Reader of .npy files, see npy.h. A file has four parts: 6 bytes of magic and 2 of version, the
// length of the header, the header (npy_header.h), and the elements. The length has 2 bytes in
// version 1 and 4 in version 2, little endian. Before elements are allocated, their bytes are
// compared with the size of the file and the memory of this machine.
#define _POSIX_C_SOURCE 200809L

#include "formats/npy_header.h"

#include "base/host_memory.h"
#include "base/input.h"
#include "base/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files of this byte order are used as they are");

enum { PREFIX_BYTES = 8, MAX_HEADER = 65536 };

static void swap_bytes(unsigned char *data, size_t count, size_t bytes)
{
    for (size_t i = 0; i < count; i++, data += bytes)
        for (size_t a = 0, b = bytes - 1; a < b; a++, b--) {
            unsigned char byte = data[a];
            data[a] = data[b];
            data[b] = byte;
        }
}

/// The type that `descr` names, and whether its bytes are to be swapped;
/// MW_NPY_TYPES: none of them.
static enum mw_npy_type type_of(const char *descr, bool *swap)
{
    *swap = descr[0] == '>';
    if (strcmp(descr, "<V2") == 0 || strcmp(descr, "bfloat16") == 0)
        return MW_NPY_BF16;
    if (strcmp(descr, "|V2") == 0)
        return MW_NPY_RAW2;
    for (unsigned i = 0; i < MW_NPY_BF16; i++)
        if (strcmp(descr + 1, mw_npy_name((enum mw_npy_type)i)) == 0 &&
            (*swap || descr[0] == '<' ||
             (descr[0] == '|' && mw_npy_bytes((enum mw_npy_type)i) == 1)))
            return (enum mw_npy_type)i;
    return MW_NPY_TYPES;
}

static int check_type(const struct mw_npy_header *h, unsigned allowed, struct mw_npy *npy,
                      bool *swap, struct mw_error *err)
{
    char list[96] = "";
    npy->type = type_of(h->descr, swap);
    snprintf(npy->descr, sizeof npy->descr, "%.15s", h->descr);
    if (npy->type < MW_NPY_TYPES && allowed >> npy->type & 1)
        return MW_EXIT_OK;
    for (unsigned i = 0; i < MW_NPY_RAW2; i++)
        if (allowed >> i & 1) {
            size_t at = strlen(list);
            snprintf(list + at, sizeof list - at, "%s%s", at ? ", " : "",
                     mw_npy_name((enum mw_npy_type)i));
        }
    return mw_fail(err, MW_EXIT_INPUT, "%s: header: element type is '%s', expected one of %s",
                   h->name, h->descr, list);
}

/// Sets dimensions and strides, and `bytes` to what the elements take.
static int check_shape(const struct mw_npy_header *h, struct mw_npy *npy, size_t *bytes,
                       struct mw_error *err)
{
    if (h->dims < 1 || h->dims > MW_NPY_DIMS)
        return mw_fail(err, MW_EXIT_INPUT, "%s: header: %u dimensions, expected 1 to %d", h->name,
                       h->dims, MW_NPY_DIMS);
    *bytes = mw_npy_bytes(npy->type);
    npy->count = 1;
    npy->dims = h->dims;
    for (unsigned i = 0; i < MW_NPY_DIMS; i++)
        npy->dim[i] = i < h->dims ? h->dim[i] : 1;
    for (unsigned n = 0; n < h->dims; n++) {
        unsigned i = h->fortran ? n : h->dims - 1 - n;
        if (npy->dim[i] == 0)
            return mw_fail(err, MW_EXIT_INPUT, "%s: header: dimension %u of the shape is 0",
                           h->name, i);
        if (__builtin_mul_overflow(*bytes, npy->dim[i], bytes))
            return mw_fail(err, MW_EXIT_INPUT, "%s: header: the shape is too large", h->name);
        npy->stride[i] = npy->count;
        npy->count *= npy->dim[i];
    }
    return MW_EXIT_OK;
}

static int truncated(const char *name, size_t at, const char *what, struct mw_error *err)
{
    return mw_fail(err, MW_EXIT_INPUT, "%s: byte %zu: truncated, the file ends inside %s", name, at,
                   what);
}

/// Magic, version and length of the header; sets h->base and h->length.
static int read_prefix(const struct mw_npy_source *s, struct mw_npy_header *h, struct mw_error *err)
{
    unsigned char b[PREFIX_BYTES + 4] = {0};
    size_t got;
    int status = s->read(s, b, PREFIX_BYTES, &got, err);
    if (status)
        return status;
    if (memcmp(b, "\x93NUMPY", got < 6 ? got : 6) != 0 || got == 0)
        return mw_fail(err, MW_EXIT_INPUT, "%s: byte 0: not a .npy file", h->name);
    if (got < PREFIX_BYTES)
        return truncated(h->name, got, "the prefix", err);
    if ((b[6] != 1 && b[6] != 2) || b[7] != 0)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: byte 6: .npy format version %u.%u, expected 1.0 or 2.0", h->name, b[6],
                       b[7]);
    size_t count = b[6] == 1 ? 2 : 4;
    status = s->read(s, b + PREFIX_BYTES, count, &got, err);
    if (status)
        return status;
    if (got < count)
        return truncated(h->name, PREFIX_BYTES + got, "the header's length", err);
    h->base = PREFIX_BYTES + count;
    h->length = b[8] | (size_t)b[9] << 8 | (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (h->length > MAX_HEADER)
        return mw_fail(err, MW_EXIT_INPUT, "%s: byte 8: a header of %zu bytes is not plausible",
                       h->name, h->length);
    return MW_EXIT_OK;
}

static int read_header(const struct mw_npy_source *s, struct mw_npy_header *h, struct mw_error *err)
{
    int status = read_prefix(s, h, err);
    if (status)
        return status;
    char *text = calloc(1, h->length + 1);
    if (!text)
        return mw_fail_memory(err, h->name);
    size_t got;
    status = s->read(s, text, h->length, &got, err);
    h->text = text;
    if (!status)
        status = got < h->length ? truncated(h->name, h->base + got, "the header", err)
                                 : mw_npy_parse_header(h, err);
    h->text = NULL;
    free(text);
    return status;
}

static int check_memory(const char *name, size_t bytes, struct mw_error *err)
{
    const uint64_t available = mw_memory_available("/proc/meminfo");
    char needs[32], has[32];
    if (!available || bytes <= available)
        return MW_EXIT_OK;
    return mw_fail(
        err, MW_EXIT_INPUT, "%s: the elements take %s of memory, this machine has %s available",
        name, mw_bytes_text(bytes, needs, sizeof needs), mw_bytes_text(available, has, sizeof has));
}

static int check_size(const struct mw_npy_source *s, const struct mw_npy_header *h,
                      const struct mw_npy *npy, size_t bytes, struct mw_error *err)
{
    const size_t start = h->base + h->length, have = s->size > start ? s->size - start : 0;
    char shape[80];
    mw_npy_shape(npy, shape, sizeof shape);
    if (have < bytes)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: byte %zu: truncated, shape %s needs %zu bytes of elements, the file "
                       "has %zu",
                       h->name, start + have, shape, bytes, have);
    if (have > bytes)
        return mw_fail(err, MW_EXIT_INPUT,
                       "%s: byte %zu: %zu bytes after the last element of shape %s", h->name,
                       start + bytes, have - bytes, shape);
    return check_memory(h->name, bytes, err);
}

static int read_elements(const struct mw_npy_source *s, const struct mw_npy_header *h, size_t bytes,
                         struct mw_npy *npy, struct mw_error *err)
{
    size_t got;
    npy->data = malloc(bytes);
    if (!npy->data)
        return mw_fail_memory(err, h->name);
    int status = s->read(s, npy->data, bytes, &got, err);
    if (!status && got < bytes)
        status = truncated(h->name, h->base + h->length + got, "the elements", err);
    return status;
}

int mw_npy_read_source(struct mw_npy *npy, const struct mw_npy_source *source, unsigned allowed,
                       struct mw_error *err)
{
    struct mw_npy_header h = {.name = source->name};
    size_t bytes = 0;
    bool swap = false;
    *npy = (struct mw_npy){0};
    int status = read_header(source, &h, err);
    if (!status)
        status = check_type(&h, allowed, npy, &swap, err);
    if (!status)
        status = check_shape(&h, npy, &bytes, err);
    if (!status)
        status = check_size(source, &h, npy, bytes, err);
    if (!status)
        status = read_elements(source, &h, bytes, npy, err);
    if (!status && swap)
        swap_bytes(npy->data, npy->count, mw_npy_bytes(npy->type));
    if (status)
        mw_npy_free(npy);
    return status;
}

static int read_file(const struct mw_npy_source *source, void *buffer, size_t bytes, size_t *got,
                     struct mw_error *err)
{
    FILE *f = source->context;
    *got = fread(buffer, 1, bytes, f);
    if (*got < bytes && ferror(f))
        return mw_fail(err, MW_EXIT_INPUT, "%s: cannot read: %s", source->name, strerror(errno));
    return MW_EXIT_OK;
}

int mw_npy_read(struct mw_npy *npy, const char *path, unsigned allowed, struct mw_error *err)
{
    *npy = (struct mw_npy){0};
    FILE *f;
    size_t size;
    int status = mw_input_open(&f, &size, path, err);
    if (status)
        return status;
    struct mw_npy_source source = {path, size, f, read_file};
    status = mw_npy_read_source(npy, &source, allowed, err);
    fclose(f);
    return status;
}

void mw_npy_free(struct mw_npy *npy)
{
    free(npy->data);
    *npy = (struct mw_npy){0};
}
