// SPDX-License-Identifier: Apache-2.0
//
// Output files, see output.h. Where a path leads is found out first, link by link. What is there
// decides how it is written:
//
// - nothing, or a file that a new one can take the place of: under another name beside it, which is
//   then renamed. The new file has the owner and the mode of the one before.
// - a file that must stay the same file (several names, an access control list, another owner, a
//   folder that takes no new file): its contents alone are replaced.
// - a device or a pipe: in place.
// - a descriptor of this process (/dev/stdout, /proc/self/fd/N): there, after what
//   it was given before.
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { LINKS = 40 }; ///< that a path may lead through, as in the kernel

/// Where a path leads.
struct target {
    char path[PATH_MAX]; ///< after all links
    int fd;              ///< of this process, or -1
    bool magic;          ///< a link of /proc that is not followed by its text
    bool there;
    struct stat st; ///< if it is there
};

static int cannot_write(const char *path, struct mw_error *err)
{
    if (errno == ENAMETOOLONG)
        return mw_fail(err, MW_EXIT_INPUT, "%.40s...: the name is too long", path);
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

// ---- where a path leads -------------------------------------------------------------------------

/// Bytes of the folder in front of a path's last name, with its slash.
static size_t folder_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/// Whether a path is a link that the kernel follows to a file whatever its text: one of /proc.
static bool is_magic(const char *path, char folder[PATH_MAX])
{
    struct statfs fs;
    char name[PATH_MAX];
    size_t bytes = folder_bytes(path);
    snprintf(name, sizeof name, "%.*s", (int)bytes, path);
    return bytes && statfs(name, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC &&
           realpath(name, folder);
}

/// The descriptor of the link `name` of such a folder, if it is one of this process. Else -1.
static int own_descriptor(const char *folder, const char *name)
{
    char self[32], own[48], *end;
    ssize_t n = readlink("/proc/self", self, sizeof self - 1);
    if (n < 0)
        return -1;
    self[n] = 0;
    snprintf(own, sizeof own, "/proc/%s/", self);
    const char *last = strrchr(folder, '/');
    if (strncmp(folder, own, strlen(own)) != 0 || strcmp(last, "/fd") != 0)
        return -1;
    long number = strtol(name, &end, 10);
    return *name && !*end && number >= 0 && number <= INT_MAX ? (int)number : -1;
}

/// Put what a link leads to in its place. False, and errno: it is too long.
static bool follow(char path[PATH_MAX], const char *link)
{
    size_t kept = link[0] == '/' ? 0 : folder_bytes(path);
    errno = ENAMETOOLONG;
    if (kept + strlen(link) >= PATH_MAX)
        return false;
    strcpy(path + kept, link);
    return true;
}

/// 0, or errno is set. A link that leads to nothing is fine: what it names can be made.
static int find(struct target *t, const char *path)
{
    char link[PATH_MAX], folder[PATH_MAX];
    *t = (struct target){.fd = -1};
    errno = ENAMETOOLONG;
    if (strlen(path) >= MW_PATH_BYTES)
        return -1;
    strcpy(t->path, path);
    for (unsigned i = 0;; i++) {
        ssize_t n = readlink(t->path, link, sizeof link - 1);
        if (n < 0)
            break;
        link[n] = 0;
        t->magic = is_magic(t->path, folder);
        if (t->magic)
            t->fd = own_descriptor(folder, t->path + folder_bytes(t->path));
        if (t->fd >= 0) {
            t->there = fstat(t->fd, &t->st) == 0;
            return t->there ? 0 : -1;
        }
        if (t->magic)
            break;
        errno = ELOOP;
        if (i == LINKS || !follow(t->path, link))
            return -1;
    }
    t->there = stat(t->path, &t->st) == 0;
    if (t->there && S_ISDIR(t->st.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    return t->there || errno == ENOENT ? 0 : -1;
}

/// A device takes the output of many. Anything else keeps the last one alone, or mixes them.
static bool same_inode(const struct stat *a, const struct stat *b)
{
    return !S_ISCHR(a->st_mode) && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool mw_output_same(const char *a, const char *b)
{
    struct target s, t;
    struct stat in, other;
    if (strcmp(a, b) == 0)
        return true;
    if (find(&s, a) || find(&t, b) || s.there != t.there)
        return false;
    if (s.there)
        return same_inode(&s.st, &t.st);
    // none is there yet: the same name in the same folder
    size_t m = folder_bytes(s.path), n = folder_bytes(t.path);
    if (strcmp(s.path + m, t.path + n) != 0)
        return false;
    s.path[m] = t.path[n] = 0;
    return stat(m ? s.path : ".", &in) == 0 && stat(n ? t.path : ".", &other) == 0 &&
           in.st_dev == other.st_dev && in.st_ino == other.st_ino;
}

bool mw_output_replaces(const char *path, int fd)
{
    struct target t;
    struct stat st;
    return find(&t, path) == 0 && t.there && t.fd < 0 && fstat(fd, &st) == 0 &&
           S_ISREG(st.st_mode) && same_inode(&t.st, &st);
}

// ---- writing ------------------------------------------------------------------------------------

static bool write_all(int fd, const char *text, size_t size)
{
    while (size) {
        ssize_t n = write(fd, text, size);
        if (n < 0 && errno != EINTR)
            return false;
        text += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/// Close, whatever came before; errno is the first cause.
static bool closed(int fd, bool ok)
{
    int cause = errno;
    bool good = close(fd) == 0;
    if (!ok)
        errno = cause;
    return ok && good;
}

/// Replace the contents of what is there.
static bool write_in_place(const struct target *t, const char *text, size_t size)
{
    bool file = S_ISREG(t->st.st_mode);
    int fd = open(t->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, text, size) && (!file || ftruncate(fd, (off_t)size) == 0);
    return closed(fd, ok);
}

/// Appended to what was written to the descriptor before, also by this program's tables.
static bool write_descriptor(int fd, const char *text, size_t size)
{
    fflush(NULL);
    return write_all(fd, text, size);
}

/// A new file beside the target, open; -1, and errno.
static int open_beside(const struct target *t, char name[PATH_MAX])
{
    size_t folder = folder_bytes(t->path);
    errno = ENAMETOOLONG;
    if (folder + 40 > PATH_MAX)
        return -1;
    snprintf(name, PATH_MAX, "%.*s.moeswitch-%ld.tmp", (int)folder, t->path, (long)getpid());
    unlink(name); // of a process that had this number before
    return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/// Whether a file that is there must stay the same file: it has other names, or
/// rights beside its mode.
static bool must_stay(const struct target *t)
{
    return t->st.st_nlink > 1 || getxattr(t->path, "system.posix_acl_access", NULL, 0) > 0;
}

/// The owner first: a change of it takes set-user-id bits away.
static bool take_rights(int fd, const struct stat *before)
{
    struct stat now;
    if (fstat(fd, &now))
        return false;
    bool same = now.st_uid == before->st_uid && now.st_gid == before->st_gid;
    return (same || fchown(fd, before->st_uid, before->st_gid) == 0) &&
           fchmod(fd, before->st_mode & 07777) == 0;
}

/// Write under another name, then rename. False with errno 0: a new file cannot take that place.
static bool write_beside(const struct target *t, const char *text, size_t size)
{
    char name[PATH_MAX];
    int fd = t->there && must_stay(t) ? -1 : open_beside(t, name);
    if (fd < 0) {
        errno = t->there ? 0 : errno;
        return false;
    }
    bool fits = !t->there || take_rights(fd, &t->st);
    bool ok = closed(fd, fits && write_all(fd, text, size));
    bool placed = ok && rename(name, t->path) == 0;
    int cause = !fits || (ok && t->there) ? 0 : errno;
    if (!placed)
        unlink(name);
    errno = cause;
    return placed;
}

static bool write_target(const struct target *t, const char *text, size_t size)
{
    if (t->fd >= 0)
        return write_descriptor(t->fd, text, size);
    if (t->magic || (t->there && !S_ISREG(t->st.st_mode)))
        return write_in_place(t, text, size);
    // its owner may have taken the right to write away, which a rename would not see
    if (t->there && access(t->path, W_OK))
        return false;
    if (write_beside(t, text, size))
        return true;
    return !errno && write_in_place(t, text, size);
}

int mw_output_write(const char *path, const char *text, size_t size, struct mw_error *err)
{
    struct target t;
    if (find(&t, path))
        return cannot_write(path, err);
    if (write_target(&t, text, size))
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_FAILED, "%s: cannot write: %s", path, strerror(errno));
}

/// Whether it can be opened for writing, without a change.
static bool can_write(const struct target *t)
{
    char name[PATH_MAX];
    int fd;
    if (t->fd >= 0) {
        int flags = fcntl(t->fd, F_GETFL);
        errno = flags < 0 ? errno : EBADF;
        return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
    }
    if (t->magic || (t->there && !S_ISREG(t->st.st_mode)))
        return access(t->path, W_OK) == 0; // open() waits for the other end of a pipe
    fd = t->there ? open(t->path, O_WRONLY | O_CLOEXEC) : open_beside(t, name);
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !t->there)
        unlink(name);
    return fd >= 0;
}

int mw_output_probe(const char *path, struct mw_error *err)
{
    struct target t;
    if (!path || (find(&t, path) == 0 && can_write(&t)))
        return MW_EXIT_OK;
    return cannot_write(path, err);
}
