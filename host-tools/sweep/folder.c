// SPDX-License-Identifier: Apache-2.0
//
// The folder of a sweep, see sweep.h: where the results are, and which are there.
#include "base/output.h"
#include "sweep/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_folder(const char *path, struct mw_error *err)
{
    struct stat st;
    if (mkdir(path, 0777) == 0 || (stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT, "%s: cannot make the folder: %s", path, strerror(errno));
}

int mw_sweep_open(const char *folder, bool alone, int *lock, struct mw_error *err)
{
    char path[MW_RESULT_PATH];
    int status = make_folder(folder, err);
    snprintf(path, sizeof path, "%s/results", folder);
    if (!status)
        status = make_folder(path, err);
    if (status || !alone)
        return status;
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return mw_fail(err, MW_EXIT_INPUT, "%s: another sweep is writing there", folder);
    return MW_EXIT_OK;
}

void mw_sweep_result(const struct mw_sweep *s, size_t point, char path[MW_RESULT_PATH])
{
    char id[MW_POINT_ID];
    mw_grid_id(&s->grid, point, id);
    snprintf(path, MW_RESULT_PATH, "%s/results/%s.json", s->folder, id);
}

/// All results of a table are of one fabric.
static int compare_sources(const struct mw_sweep *s, size_t point, struct mw_error *err)
{
    char path[MW_RESULT_PATH], first[MW_RESULT_PATH];
    size_t i = 0;
    while (i < s->grid.points && (i == point || !s->row[i].cell || !s->row[i].sources))
        i++;
    if (i == s->grid.points || !s->row[point].sources ||
        strcmp(s->row[point].sources, s->row[i].sources) == 0)
        return MW_EXIT_OK;
    mw_sweep_result(s, point, path);
    mw_sweep_result(s, i, first);
    return mw_fail(
        err, MW_EXIT_INPUT,
        "%s: simulated from other RTL than %s: remove the older results, or name another "
        "folder (--out)",
        path, first);
}

int mw_sweep_take(struct mw_sweep *s, size_t point, struct mw_error *err)
{
    char path[MW_RESULT_PATH];
    mw_sweep_result(s, point, path);
    int status = mw_row_read(&s->grid, point, path, &s->row[point], err);
    return status ? MW_EXIT_FAILED : compare_sources(s, point, err);
}

int mw_sweep_look(struct mw_sweep *s, struct mw_error *err)
{
    char path[MW_RESULT_PATH];
    for (size_t i = 0; i < s->grid.points; i++) {
        struct mw_error why;
        mw_sweep_result(s, i, path);
        if (access(path, F_OK))
            continue;
        int status = mw_row_read(&s->grid, i, path, &s->row[i], &why);
        if (status == MW_EXIT_INPUT)
            fprintf(s->err, "moeswitch: %s; it counts as not run\n", why.text);
        else if (status)
            return mw_fail(err, status, "%s", why.text);
        else if ((status = compare_sources(s, i, err)))
            return status;
    }
    return MW_EXIT_OK;
}

size_t mw_sweep_missing(const struct mw_sweep *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->grid.points; i++)
        n += !s->row[i].cell;
    return n;
}
