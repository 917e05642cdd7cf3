// SPDX-License-Identifier: Apache-2.0
//
// The header of a .npy file: a Python dictionary with the keys descr, fortran_order and shape.
#ifndef MW_HOST_NPY_HEADER_H
#define MW_HOST_NPY_HEADER_H

#include "formats/npy.h"

#include <stdbool.h>

/// The header text with a cursor, and what was found in it.
struct mw_npy_header {
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

/// Read all of the text. Returns MW_EXIT_OK, or MW_EXIT_INPUT and a line that names the byte.
int mw_npy_parse_header(struct mw_npy_header *header, struct mw_error *err);

#endif
