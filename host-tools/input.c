// SPDX-License-Identifier: Apache-2.0
//
// See input.h.
#include "input.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int mw_input_open(FILE **file, size_t *size, const char *path, struct mw_error *err)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (!f)
        return mw_fail(err, MW_EXIT_INPUT, "%s: cannot open: %s", path, strerror(errno));
    if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode)) {
        fclose(f);
        return mw_fail(err, MW_EXIT_INPUT, "%s: not a regular file", path);
    }
    *file = f;
    *size = (size_t)st.st_size;
    return MW_EXIT_OK;
}
