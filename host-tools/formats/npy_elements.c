// SPDX-License-Identifier: Apache-2.0
//
// Types of elements of .npy files, and the values of single elements, see npy.h.
#include "formats/npy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

const char *mw_npy_shape(const struct mw_npy *npy, char *text, size_t size)
{
    size_t at = 0;
    for (unsigned i = 0; i < npy->dims && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%zu", i ? ", " : "(", npy->dim[i]);
    if (at < size)
        snprintf(text + at, size - at, npy->dims == 1 ? ",)" : ")");
    return text;
}
