// SPDX-License-Identifier: Apache-2.0
//
// Reader and writer of NumPy .npy files, as far as routing traces need them. It supports format
// versions 1 and 2, one to three dimensions, both byte orders, and C and Fortran order.
#ifndef MW_HOST_NPY_H
#define MW_HOST_NPY_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/// Types of elements. NumPy itself has no bf16. The ml_dtypes package writes it as '<V2', which is
/// MW_NPY_BF16. '|V2' is MW_NPY_RAW2, two bytes of unknown meaning.
enum mw_npy_type {
    MW_NPY_U1,
    MW_NPY_U2,
    MW_NPY_U4,
    MW_NPY_U8,
    MW_NPY_I1,
    MW_NPY_I2,
    MW_NPY_I4,
    MW_NPY_I8,
    MW_NPY_F2,
    MW_NPY_F4,
    MW_NPY_F8,
    MW_NPY_BF16,
    MW_NPY_RAW2,
    MW_NPY_TYPES
};

enum {
    MW_NPY_DIMS = 3,
    MW_NPY_UNSIGNED = 1u << MW_NPY_U1 | 1u << MW_NPY_U2 | 1u << MW_NPY_U4 | 1u << MW_NPY_U8,
    MW_NPY_WHOLE =
        MW_NPY_UNSIGNED | 1u << MW_NPY_I1 | 1u << MW_NPY_I2 | 1u << MW_NPY_I4 | 1u << MW_NPY_I8,
    MW_NPY_FLOAT = 1u << MW_NPY_F2 | 1u << MW_NPY_F4 | 1u << MW_NPY_F8 | 1u << MW_NPY_BF16,
};

struct mw_npy {
    unsigned dims;              ///< 1 .. MW_NPY_DIMS
    size_t dim[MW_NPY_DIMS];    ///< each at least 1; 1 beyond `dims`
    size_t stride[MW_NPY_DIMS]; ///< from an element to the next one of a dimension, in elements
    size_t count;               ///< of elements: the product of `dim`
    enum mw_npy_type type;
    char descr[16]; ///< the type as the file names it: "<u2"
    void *data;     ///< elements in this machine's byte order, freed by mw_npy_free
};

/// Where the bytes of a .npy file come from.
struct mw_npy_source {
    const char *name; ///< for messages
    size_t size;      ///< of all bytes
    void *context;
    /// Up to `bytes` of the bytes that follow; `*got` is less only at the end. MW_EXIT_OK, or a
    /// status and a line.
    int (*read)(const struct mw_npy_source *source, void *buffer, size_t bytes, size_t *got,
                struct mw_error *err);
};

/// Read `path`, whose elements must be of one of the types of the mask. Returns MW_EXIT_OK, or
/// MW_EXIT_INPUT and a line that names the file, the place in it and the cause.
int mw_npy_read(struct mw_npy *npy, const char *path, unsigned types, struct mw_error *err);
/// The same from another source than a file.
int mw_npy_read_source(struct mw_npy *npy, const struct mw_npy_source *source, unsigned types,
                       struct mw_error *err);
/// Write three dimensions in C order to `path`, whole or not at all. `stride` and `descr` are not
/// used.
int mw_npy_write(const char *path, const struct mw_npy *npy, struct mw_error *err);
void mw_npy_free(struct mw_npy *npy);

const char *mw_npy_name(enum mw_npy_type type); ///< without the byte order: "u2"
size_t mw_npy_bytes(enum mw_npy_type type);     ///< of an element
/// Element `at` of whole numbers. What no int64_t holds is INT64_MAX.
int64_t mw_npy_whole(const struct mw_npy *npy, size_t at);
/// Whether element `at` of unsigned numbers is the largest that its type has.
bool mw_npy_is_largest(const struct mw_npy *npy, size_t at);
/// Element `at` of any type but MW_NPY_RAW2.
double mw_npy_real(const struct mw_npy *npy, size_t at);
/// "(26, 4096, 6)".
const char *mw_npy_shape(const struct mw_npy *npy, char *text, size_t size);

#endif
