// SPDX-License-Identifier: Apache-2.0
//
// See npz.h. The archive is minizip's: its directory, zip64, inflating, the CRC. Here is
// what it does not look at: members of one name, methods that NumPy never writes, sizes
// that no data can have.
#include "formats/npz.h"

#include "base/input.h"

#include <minizip/unzip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    NAME_BYTES = 256,
    LIST_BYTES = 300,
    DEFLATE_RATIO = 1032, ///< bytes that one deflated byte gives, at most
    MEMBERS = 65536,      ///< numpy.savez of more arrays is no trace
};
static const uint64_t ZIP64 = 0xffffffff; ///< the size is in the zip64 extra field

struct member {
    const char *path, *name;
    unzFile zip;
};

bool mw_npz_is(const char *path)
{
    char magic[4] = "";
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    size_t got = fread(magic, 1, sizeof magic, f);
    fclose(f);
    // of an archive, and of an empty one
    return got == sizeof magic &&
           (memcmp(magic, "PK\3\4", 4) == 0 || memcmp(magic, "PK\5\6", 4) == 0);
}

static int fail(const struct member *m, const char *cause, struct mw_error *err)
{
    return mw_fail(err, MW_EXIT_INPUT, "%s: %s: %s", m->path, m->name, cause);
}

/// Whether the record at the end of the archive is complete, which minizip assumes. It begins with
/// a signature, and ends with a comment whose length is before it.
static bool has_whole_end(FILE *f, off_t size)
{
    enum { RECORD = 22, MOST = RECORD + 0xffff };
    const off_t part = size < MOST ? size : MOST;
    bool whole = false;
    unsigned char *tail = malloc(MOST);
    if (tail && fseeko(f, size - part, SEEK_SET) == 0 &&
        fread(tail, 1, (size_t)part, f) == (size_t)part)
        for (off_t at = part - RECORD; at >= 0 && !whole; at--)
            whole = memcmp(tail + at, "PK\5\6", 4) == 0 &&
                    at + RECORD + (tail[at + 20] | tail[at + 21] << 8) == part;
    free(tail);
    return whole;
}

static int open_archive(struct member *m, struct mw_error *err)
{
    FILE *f;
    size_t size;
    int status = mw_input_open(&f, &size, m->path, err);
    if (status)
        return status;
    const bool whole = has_whole_end(f, (off_t)size);
    fclose(f);
    m->zip = whole ? unzOpen64(m->path) : NULL;
    if (m->zip)
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT,
                   whole ? "%s: the zip archive has no members"
                   : mw_npz_is(m->path)
                       ? "%s: truncated, the zip archive has no directory at its end"
                       : "%s: not a .npz file",
                   m->path);
}

static void list_member(char list[LIST_BYTES], const char *name)
{
    size_t at = strlen(list), need = strlen(name) + 3;
    if (at + need < LIST_BYTES - 4)
        snprintf(list + at, LIST_BYTES - at, "%s%s", at ? ", " : "", name);
    else if (at && list[at - 1] != '.')
        strcpy(list + at, ", ...");
}

/// Counts the members of that name, and goes to the first of them; lists all.
static int find(const struct member *m, unsigned *found, char list[LIST_BYTES],
                struct mw_error *err)
{
    char name[NAME_BYTES];
    unz64_file_pos at = {0};
    unsigned members = 0;
    *found = 0;
    *list = 0;
    int code = unzGoToFirstFile(m->zip);
    for (; code == UNZ_OK && members < MEMBERS; members++) {
        code = unzGetCurrentFileInfo64(m->zip, NULL, name, sizeof name, NULL, 0, NULL, 0);
        name[sizeof name - 1] = 0;
        if (code == UNZ_OK && strcmp(name, m->name) == 0 && !(*found)++)
            code = unzGetFilePos64(m->zip, &at);
        list_member(list, name);
        if (code == UNZ_OK)
            code = unzGoToNextFile(m->zip);
    }
    if (code == UNZ_END_OF_LIST_OF_FILE && *found)
        code = unzGoToFilePos64(m->zip, &at);
    else if (code == UNZ_END_OF_LIST_OF_FILE)
        code = UNZ_OK;
    if (code != UNZ_OK)
        return mw_fail(err, MW_EXIT_INPUT, "%s: the directory of the zip archive is malformed",
                       m->path);
    if (*found > 1)
        return fail(m, "the archive has several members of this name", err);
    return MW_EXIT_OK;
}

/// What can be notified of the member before it is read.
static int check_member(const struct member *m, const unz_file_info64 *info, struct mw_error *err)
{
    char cause[160];
    if (info->flag & 1)
        return fail(m, "encrypted, expected a file that numpy.savez wrote", err);
    if (info->compression_method != 0 && info->compression_method != Z_DEFLATED) {
        snprintf(cause, sizeof cause, "compression method %lu, expected 0 (stored) or 8 (deflated)",
                 (unsigned long)info->compression_method);
        return fail(m, cause, err);
    }
    const uint64_t packed = info->compressed_size, size = info->uncompressed_size;
    if (packed == ZIP64 || size == ZIP64) // whose sizes are elsewhere, where minizip does not look
        return fail(m, "4 GB or more in an archive: save it as a .npy file of its own", err);
    if (info->compression_method == 0 ? size != packed : size / DEFLATE_RATIO > packed) {
        snprintf(cause, sizeof cause, "%llu bytes cannot come from %llu bytes of the archive",
                 (unsigned long long)size, (unsigned long long)packed);
        return fail(m, cause, err);
    }
    return MW_EXIT_OK;
}

static int read_member(const struct mw_npy_source *source, void *buffer, size_t bytes, size_t *got,
                       struct mw_error *err)
{
    const struct member *m = source->context;
    const size_t most = 1u << 20; // unzReadCurrentFile returns an int
    *got = 0;
    while (*got < bytes) {
        unsigned part = (unsigned)(bytes - *got < most ? bytes - *got : most);
        int n = unzReadCurrentFile(m->zip, (char *)buffer + *got, part);
        if (n < 0)
            return fail(m, "the archive is damaged: its data cannot be inflated", err);
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return MW_EXIT_OK;
}

/// The current member, to its end: only then is its CRC known to be right.
static int read_all(struct mw_npy *npy, const struct member *m, unsigned types,
                    struct mw_error *err)
{
    char name[NAME_BYTES + 600];
    unz_file_info64 info;
    if (unzGetCurrentFileInfo64(m->zip, &info, NULL, 0, NULL, 0, NULL, 0) != UNZ_OK)
        return fail(m, "the directory of the zip archive is malformed", err);
    int status = check_member(m, &info, err);
    if (status)
        return status;
    if (unzOpenCurrentFile(m->zip) != UNZ_OK)
        return fail(m, "the archive is damaged: directory and member do not agree", err);
    snprintf(name, sizeof name, "%s: %s", m->path, m->name);
    const struct mw_npy_source source = {name, (size_t)info.uncompressed_size, (void *)m,
                                         read_member};
    status = mw_npy_read_source(npy, &source, types, err);
    int code = unzCloseCurrentFile(m->zip);
    if (!status && code != UNZ_OK) {
        mw_npy_free(npy);
        status = fail(m, "the CRC is wrong: the archive is damaged", err);
    }
    return status;
}

int mw_npz_has(const char *path, const char *name, bool *has, struct mw_error *err)
{
    struct member m = {path, name, NULL};
    char list[LIST_BYTES];
    unsigned found = 0;
    int status = open_archive(&m, err);
    if (status)
        return status;
    status = find(&m, &found, list, err);
    *has = found;
    unzClose(m.zip);
    return status;
}

int mw_npz_read(struct mw_npy *npy, const char *path, const char *name, unsigned types,
                struct mw_error *err)
{
    struct member m = {path, name, NULL};
    char list[LIST_BYTES];
    unsigned found;
    *npy = (struct mw_npy){0};
    int status = open_archive(&m, err);
    if (status)
        return status;
    status = find(&m, &found, list, err);
    if (!status && !found)
        status = mw_fail(err, MW_EXIT_INPUT, "%s: no member %s: there are %s", path, name,
                         *list ? list : "none");
    if (!status)
        status = read_all(npy, &m, types, err);
    unzClose(m.zip);
    return status;
}
