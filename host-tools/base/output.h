// SPDX-License-Identifier: Apache-2.0
//
// Output files. A path is followed to where it leads. If possible, a file is written under another
// name first, so that a run that fails or is ended leaves no partial file. The new file keeps the
// owner and the mode of the old one.
#ifndef MW_HOST_OUTPUT_H
#define MW_HOST_OUTPUT_H

#include "base/error.h"

#include <stddef.h>

enum {
    MW_PATH_BYTES = 1024,                ///< of a name, at most
    MW_WAVES_BYTES = MW_PATH_BYTES + 32, ///< with a system's
};

/// A file of one system of several: `path` with "-system" in front of its extension, or as it is
/// where `system` is NULL.
void mw_output_for(char name[MW_WAVES_BYTES], const char *path, const char *system);
/// True if `path` is there and is a device or a pipe: written in place, not replaced.
bool mw_output_is_special(const char *path);
/// Whether two paths lead to one file or pipe, by whichever names, links and descriptors;
/// a device is no file.
bool mw_output_same(const char *a, const char *b);
/// Whether writing `path` replaces the file that descriptor `fd` writes to. A name of a
/// descriptor replaces none.
bool mw_output_replaces(const char *path, int fd);
/// Find out before a long run whether `path` (may be NULL) can be written at its end.
int mw_output_probe(const char *path, struct mw_error *err);
int mw_output_write(const char *path, const char *text, size_t size, struct mw_error *err);

#endif
