// SPDX-License-Identifier: Apache-2.0
//
// Parser of the header of .npy files, see npy_header.h.
#include "formats/npy_header.h"

#include <string.h>

static int bad(const struct mw_npy_header *h, struct mw_error *err, const char *cause)
{
    return mw_fail(err, MW_EXIT_INPUT, "%s: byte %zu: malformed .npy header: %s", h->name,
                   h->base + h->at, cause);
}

static void skip_space(struct mw_npy_header *h)
{
    while (h->at < h->length && strchr(" \t\n\r", h->text[h->at]) && h->text[h->at])
        h->at++;
}

static bool accept(struct mw_npy_header *h, const char *token)
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
static bool parse_string(struct mw_npy_header *h, char *out, size_t size)
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

static int parse_shape(struct mw_npy_header *h, struct mw_error *err)
{
    if (h->has_shape)
        return bad(h, err, "shape is there twice");
    if (!accept(h, "("))
        return bad(h, err, "the shape is not a tuple");
    while (!accept(h, ")")) {
        skip_space(h);
        size_t value = 0, digits = 0;
        while (h->at < h->length && h->text[h->at] >= '0' && h->text[h->at] <= '9') {
            if (value > SIZE_MAX / 16)
                return bad(h, err, "a dimension is too large");
            value = value * 10 + (size_t)(h->text[h->at++] - '0');
            digits++;
        }
        if (!digits)
            return bad(h, err, "a dimension is not a number");
        if (h->dims < MW_NPY_DIMS)
            h->dim[h->dims] = value;
        h->dims++;
        if (!accept(h, ",")) {
            if (!accept(h, ")"))
                return bad(h, err, "the shape does not end");
            break;
        }
    }
    h->has_shape = true;
    return MW_EXIT_OK;
}

static int parse_entry(struct mw_npy_header *h, struct mw_error *err)
{
    char key[32];
    if (!parse_string(h, key, sizeof key))
        return bad(h, err, "a key is not a short string");
    if (!accept(h, ":"))
        return bad(h, err, "no colon after a key");
    if (strcmp(key, "shape") == 0)
        return parse_shape(h, err);
    if (strcmp(key, "descr") == 0) {
        if (h->has_descr)
            return bad(h, err, "descr is there twice");
        h->has_descr = parse_string(h, h->descr, sizeof h->descr);
        return h->has_descr ? MW_EXIT_OK : bad(h, err, "descr is not a simple type");
    }
    if (strcmp(key, "fortran_order") == 0) {
        if (h->has_order)
            return bad(h, err, "fortran_order is there twice");
        h->fortran = accept(h, "True");
        h->has_order = h->fortran || accept(h, "False");
        return h->has_order ? MW_EXIT_OK : bad(h, err, "fortran_order is not True or False");
    }
    return bad(h, err, "an unknown key");
}

int mw_npy_parse_header(struct mw_npy_header *h, struct mw_error *err)
{
    if (!accept(h, "{"))
        return bad(h, err, "it is not a dictionary");
    while (!accept(h, "}")) {
        int status = parse_entry(h, err);
        if (status)
            return status;
        if (!accept(h, ",")) {
            if (!accept(h, "}"))
                return bad(h, err, "the dictionary does not end");
            break;
        }
    }
    skip_space(h);
    if (h->at != h->length)
        return bad(h, err, "text after the dictionary");
    if (!h->has_descr || !h->has_order || !h->has_shape)
        return bad(h, err, "descr, fortran_order or shape is missing");
    return MW_EXIT_OK;
}
