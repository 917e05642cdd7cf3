// SPDX-License-Identifier: Apache-2.0
//
// Reader of .npy files, see npy.h. A file is: 6 bytes of magic, 2 of version, the length of the
// header (2 bytes in version 1, 4 in version 2, little endian), the header, which is a Python
// dictionary with the keys descr, fortran_order and shape, and the elements. Before elements are
// allocated, their bytes are compared with the size of the file and the memory of this machine.
#define _POSIX_C_SOURCE 200809L

#include "formats/npy.h"

#include "base/host_memory.h"
#include "base/input.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files of this byte order are used as they are");

enum { PREFIX_BYTES = 8, MAX_HEADER = 65536 };

/// The header text with a cursor, and what was found in it.
struct header {
    const char *name; ///< of the file, for messages
    const char *text;
    size_t base;   ///< offset of text[0] in the file, for messages
    size_t length; ///< text is also terminated by NUL
    size_t at;
    char descr[32];
    bool fortran;
    size_t dim[MW_NPY_DIMS];
    unsigned dims;
    bool has_descr, has_order, has_shape;
};

static int bad_header(const struct header *h, struct mw_error *err, const char *cause)
{
    return mw_fail(err, MW_EXIT_INPUT, "%s: byte %zu: malformed .npy header: %s", h->name,
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

/// A Python string without escapes. Returns false where there is none, it has a NUL,
/// or it does not fit.
static bool parse_string(struct header *h, char *out, size_t size)
{
    skip_space(h);
    char quote = h->at < h->length ? h->text[h->at] : 0;
    if (quote != '\'' && quote != '"')
        return false;
    const char *start = h->text + h->at + 1;
    const char *end = memchr(start, quote, h->length - h->at - 1);
    if (!end || (size_t)(end - start) >= size || memchr(start, 0, (size_t)(end - start)))
        return false;
    memcpy(out, start, (size_t)(end - start));
    out[end - start] = 0;
    h->at += (size_t)(end - start) + 2;
    return true;
}

static int parse_shape(struct header *h, struct mw_error *err)
{
    if (h->has_shape)
        return bad_header(h, err, "shape is there twice");
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
        if (h->dims < MW_NPY_DIMS)
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
        if (h->has_descr)
            return bad_header(h, err, "descr is there twice");
        h->has_descr = parse_string(h, h->descr, sizeof h->descr);
        return h->has_descr ? MW_EXIT_OK : bad_header(h, err, "descr is not a simple type");
    }
    if (strcmp(key, "fortran_order") == 0) {
        if (h->has_order)
            return bad_header(h, err, "fortran_order is there twice");
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

// ---- elements -----------------------------------------------------------------------------------

static const struct {
    const char *name; ///< without the byte order
    size_t bytes;
} types[MW_NPY_TYPES] = {
    [MW_NPY_U1] = {"u1", 1},   [MW_NPY_U2] = {"u2", 2}, [MW_NPY_U4] = {"u4", 4},
    [MW_NPY_U8] = {"u8", 8},   [MW_NPY_I1] = {"i1", 1}, [MW_NPY_I2] = {"i2", 2},
    [MW_NPY_I4] = {"i4", 4},   [MW_NPY_I8] = {"i8", 8}, [MW_NPY_F2] = {"f2", 2},
    [MW_NPY_F4] = {"f4", 4},   [MW_NPY_F8] = {"f8", 8}, [MW_NPY_BF16] = {"bfloat16", 2},
    [MW_NPY_RAW2] = {"|V2", 2}};

const char *mw_npy_name(enum mw_npy_type type)
{
    return types[type].name;
}

size_t mw_npy_bytes(enum mw_npy_type type)
{
    return types[type].bytes;
}

static uint64_t word_of(const struct mw_npy *npy, size_t at)
{
    const size_t bytes = types[npy->type].bytes;
    uint64_t word = 0;
    memcpy(&word, (const char *)npy->data + at * bytes, bytes);
    return word;
}

int64_t mw_npy_whole(const struct mw_npy *npy, size_t at)
{
    const uint64_t word = word_of(npy, at);
    const unsigned unused = 64 - 8 * (unsigned)types[npy->type].bytes;
    if (MW_NPY_UNSIGNED >> npy->type & 1)
        return word > INT64_MAX ? INT64_MAX : (int64_t)word;
    // the type's sign goes to the top, and comes down as often as it is wide
    return (int64_t)(word << unused) >> unused;
}

bool mw_npy_is_largest(const struct mw_npy *npy, size_t at)
{
    return word_of(npy, at) == UINT64_MAX >> (64 - 8 * types[npy->type].bytes);
}

/// IEEE 754 binary16.
static double half(uint64_t bits)
{
    const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    double value = exponent == 0x1f ? (fraction ? NAN : INFINITY)
                   : exponent       ? ldexp(1024 + fraction, exponent - 25)
                                    : ldexp(fraction, -24);
    return bits >> 15 ? -value : value;
}

static double single(uint64_t bits)
{
    const uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

double mw_npy_real(const struct mw_npy *npy, size_t at)
{
    const uint64_t word = word_of(npy, at);
    double value;
    switch (npy->type) {
    case MW_NPY_F2:
        return half(word);
    case MW_NPY_F4:
        return single(word);
    case MW_NPY_BF16: // the upper half of a float32
        return single(word << 16);
    case MW_NPY_F8:
        memcpy(&value, &word, sizeof value);
        return value;
    case MW_NPY_U8:
        return (double)word;
    default:
        return (double)mw_npy_whole(npy, at);
    }
}

static void swap_bytes(unsigned char *data, size_t count, size_t bytes)
{
    for (size_t i = 0; i < count; i++, data += bytes)
        for (size_t a = 0, b = bytes - 1; a < b; a++, b--) {
            unsigned char byte = data[a];
            data[a] = data[b];
            data[b] = byte;
        }
}

// ---- the file -----------------------------------------------------------------------------------

const char *mw_npy_shape(const struct mw_npy *npy, char *text, size_t size)
{
    size_t at = 0;
    for (unsigned i = 0; i < npy->dims && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%zu", i ? ", " : "(", npy->dim[i]);
    if (at < size)
        snprintf(text + at, size - at, npy->dims == 1 ? ",)" : ")");
    return text;
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
        if (strcmp(descr + 1, types[i].name) == 0 &&
            (*swap || descr[0] == '<' || (descr[0] == '|' && types[i].bytes == 1)))
            return (enum mw_npy_type)i;
    return MW_NPY_TYPES;
}

static int check_type(const struct header *h, unsigned allowed, struct mw_npy *npy, bool *swap,
                      struct mw_error *err)
{
    char list[96] = "";
    npy->type = type_of(h->descr, swap);
    snprintf(npy->descr, sizeof npy->descr, "%.15s", h->descr);
    if (npy->type < MW_NPY_TYPES && allowed >> npy->type & 1)
        return MW_EXIT_OK;
    for (unsigned i = 0; i < MW_NPY_RAW2; i++)
        if (allowed >> i & 1) {
            size_t at = strlen(list);
            snprintf(list + at, sizeof list - at, "%s%s", at ? ", " : "", types[i].name);
        }
    return mw_fail(err, MW_EXIT_INPUT, "%s: header: element type is '%s', expected one of %s",
                   h->name, h->descr, list);
}

/// Sets dimensions and strides, and `bytes` to what the elements take.
static int check_shape(const struct header *h, struct mw_npy *npy, size_t *bytes,
                       struct mw_error *err)
{
    if (h->dims < 1 || h->dims > MW_NPY_DIMS)
        return mw_fail(err, MW_EXIT_INPUT, "%s: header: %u dimensions, expected 1 to %d", h->name,
                       h->dims, MW_NPY_DIMS);
    *bytes = types[npy->type].bytes;
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
static int read_prefix(const struct mw_npy_source *s, struct header *h, struct mw_error *err)
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

static int read_header(const struct mw_npy_source *s, struct header *h, struct mw_error *err)
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
                                 : parse_header(h, err);
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

static int check_size(const struct mw_npy_source *s, const struct header *h,
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

static int read_elements(const struct mw_npy_source *s, const struct header *h, size_t bytes,
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
    struct header h = {.name = source->name};
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
        swap_bytes(npy->data, npy->count, types[npy->type].bytes);
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
