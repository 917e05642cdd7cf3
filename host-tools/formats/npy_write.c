// SPDX-License-Identifier: Apache-2.0
//
// Writer of .npy files, see npy.h: version 1, padded to 64 bytes as NumPy does.
#include "base/output.h"
#include "formats/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX = 10, ALIGN = 64, HEADER = 2 * ALIGN };

int mw_npy_write(const char *path, const struct mw_npy *npy, struct mw_error *err)
{
    const size_t *d = npy->dim, bytes = d[0] * d[1] * d[2] * mw_npy_bytes(npy->type);
    char *file = malloc(HEADER + bytes);
    if (!file)
        return mw_fail_memory(err, path);
    memset(file, ' ', HEADER);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    int end =
        PREFIX + snprintf(file + PREFIX, HEADER - PREFIX,
                          "{'descr': '<%s', 'fortran_order': False, 'shape': (%zu, %zu, %zu), }",
                          mw_npy_name(npy->type), d[0], d[1], d[2]);
    file[end] = ' '; // in place of the NUL
    const size_t header = ((size_t)end + ALIGN) / ALIGN * ALIGN;
    file[8] = (char)(header - PREFIX);
    file[9] = 0;
    file[header - 1] = '\n';
    memcpy(file + header, npy->data, bytes);
    int status = mw_output_write(path, file, header + bytes, err);
    free(file);
    return status;
}
