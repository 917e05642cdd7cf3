// SPDX-License-Identifier: Apache-2.0
//
// Reader of NumPy .npz files: zip archives of .npy files, as numpy.savez and numpy.savez_compressed
// write them.
#ifndef MW_HOST_NPZ_H
#define MW_HOST_NPZ_H

#include "formats/npy.h"

/// Whether the file begins like a zip archive. False where it cannot be read.
bool mw_npz_is(const char *path);
/// Whether the archive `path` has the member `name`. MW_EXIT_OK, or MW_EXIT_INPUT and a line.
int mw_npz_has(const char *path, const char *name, bool *has, struct mw_error *err);
/// Read the member `name`, as mw_npy_read does a file. What a member without that name is refused
/// with lists the members that there are.
int mw_npz_read(struct mw_npy *npy, const char *path, const char *name, unsigned types,
                struct mw_error *err);

#endif
