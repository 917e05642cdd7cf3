// SPDX-License-Identifier: Apache-2.0
//
// Output files, see output.h.
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/// A name with room for what is appended.
struct path {
    char text[MW_PATH_BYTES + 32];
};

static int cannot_write(const char *path, struct mw_error *err)
{
    return mw_fail(err, MW_EXIT_INPUT, "%s: cannot write: %s", path, strerror(errno));
}

void mw_output_for(char name[MW_WAVES_BYTES], const char *path, const char *system)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    if (system)
        snprintf(name, MW_WAVES_BYTES, "%.*s-%s%s", (int)stem, path, system, dot ? dot : "");
    else
        snprintf(name, MW_WAVES_BYTES, "%s", path);
}

bool mw_output_is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int temporary_name(struct path *name, const char *path, struct mw_error *err)
{
    if (strlen(path) >= MW_PATH_BYTES)
        return mw_fail(err, MW_EXIT_INPUT, "%.40s...: the name is too long", path);
    snprintf(name->text, sizeof name->text, "%s.%ld.tmp", path, (long)getpid());
    return MW_EXIT_OK;
}

int mw_output_probe(const char *path, struct mw_error *err)
{
    struct path name;
    struct stat st;
    if (!path || mw_output_is_special(path))
        return MW_EXIT_OK;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return cannot_write(path, err);
    }
    int status = temporary_name(&name, path, err);
    if (status)
        return status;
    FILE *f = fopen(name.text, "wb");
    if (!f)
        return cannot_write(path, err);
    fclose(f);
    remove(name.text);
    return MW_EXIT_OK;
}

int mw_output_write(const char *path, const char *text, size_t size, struct mw_error *err)
{
    struct path name;
    bool special = mw_output_is_special(path);
    int status = temporary_name(&name, path, err);
    if (status)
        return status;
    FILE *f = fopen(special ? path : name.text, "wb");
    if (!f)
        return cannot_write(path, err);
    bool ok = fwrite(text, 1, size, f) == size;
    ok &= fclose(f) == 0;
    if (ok && !special)
        ok = rename(name.text, path) == 0;
    if (!ok) {
        status = mw_fail(err, MW_EXIT_FAILED, "%s: cannot write: %s", path, strerror(errno));
        if (!special)
            remove(name.text);
    }
    return status;
}
