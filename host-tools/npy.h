// SPDX-License-Identifier: Apache-2.0
//
// Reader and writer of NumPy .npy files, as far as routing traces need it: format versions 1 and 2,
// little endian, C order, three dimensions.
#ifndef MW_HOST_NPY_H
#define MW_HOST_NPY_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

/// Types of elements.
enum mw_npy_type { MW_NPY_U2, MW_NPY_I2, MW_NPY_I4, MW_NPY_I8, MW_NPY_F4, MW_NPY_TYPES };

enum {
    MW_NPY_WHOLE = 1u << MW_NPY_U2 | 1u << MW_NPY_I2 | 1u << MW_NPY_I4 | 1u << MW_NPY_I8,
    MW_NPY_FLOAT = 1u << MW_NPY_F4,
};

struct mw_npy {
    size_t dim[3]; ///< every one at least 1
    enum mw_npy_type type;
    void *data; ///< dim[0] * dim[1] * dim[2] elements, freed by mw_npy_free
};

/// Read `path`, whose elements must be of one of the types of the mask. Returns MW_EXIT_OK, or
/// MW_EXIT_INPUT and a line that names the file, the place in it and the cause.
int mw_npy_read(struct mw_npy *npy, const char *path, unsigned types, struct mw_error *err);
/// Write it to `path`, whole or not at all.
int mw_npy_write(const char *path, const struct mw_npy *npy, struct mw_error *err);
void mw_npy_free(struct mw_npy *npy);

/// A type as NumPy writes it: "<u2".
const char *mw_npy_descr(enum mw_npy_type type);
size_t mw_npy_bytes(enum mw_npy_type type); ///< of an element
/// Element `at` of whole numbers.
int64_t mw_npy_whole(const struct mw_npy *npy, size_t at);

#endif
