// SPDX-License-Identifier: Apache-2.0
//
// Reader of NumPy .npy files, as far as routing traces need it: format versions 1 and 2, little
// endian, C order, three dimensions, elements `<u2` or `<f4`.
#ifndef MW_HOST_NPY_H
#define MW_HOST_NPY_H

#include "error.h"

#include <stddef.h>

struct mw_npy {
    size_t dim[3]; ///< every one at least 1
    void *data;    ///< dim[0] * dim[1] * dim[2] elements, freed by mw_npy_free
};

/// Read `path`, whose element type must be `descr` ("<u2" or "<f4"). Returns MW_EXIT_OK, or
/// MW_EXIT_INPUT and a line that names the file, the place in it and the cause.
int mw_npy_read(struct mw_npy *npy, const char *path, const char *descr, struct mw_error *err);
void mw_npy_free(struct mw_npy *npy);

#endif
