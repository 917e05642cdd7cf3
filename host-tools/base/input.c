// SPDX-License-Identifier: Apache-2.0
//
// See input.h.
#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int mw_input_open(FILE **file, size_t *size, const char *path, struct mw_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return mw_fail(err, MW_EXIT_INPUT, "%s: cannot open: %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return mw_fail(err, MW_EXIT_INPUT, "%s: not a regular file", path);
    }
    if (!(*file = fdopen(fd, "rb"))) {
        close(fd);
        return mw_fail_memory(err, path);
    }
    *size = (size_t)st.st_size;
    return MW_EXIT_OK;
}

int mw_input_text(char **text, size_t *size, const char *path, size_t most, const char *what,
                  struct mw_error *err)
{
    FILE *f;
    *text = NULL;
    int status = mw_input_open(&f, size, path, err);
    if (status)
        return status;
    if (*size > most) {
        status =
            mw_fail(err, MW_EXIT_INPUT, "%s: %zu bytes, more than %s can have", path, *size, what);
    } else if (!(*text = calloc(1, *size + 1))) {
        status = mw_fail_memory(err, path);
    } else {
        *size = fread(*text, 1, *size, f); // fewer if the file was cut meanwhile
        if (ferror(f))
            status = mw_fail(err, MW_EXIT_FAILED, "%s: cannot read: %s", path, strerror(errno));
    }
    fclose(f);
    if (status) {
        free(*text);
        *text = NULL;
    }
    return status;
}
