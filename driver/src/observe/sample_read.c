// SPDX-License-Identifier: Apache-2.0
//
// See sample_publish.h: the reader's side.
#include "core/error.h"
#include "observe/sample_publish.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = MWI_SHARE_FOLDER + 48, TRIES = 1000 };

static bool name_of(char name[NAME], const struct mw_shared_id *id)
{
    char folder[MWI_SHARE_FOLDER];
    if (!mwi_share_folder(folder, false))
        return false;
    snprintf(name, NAME, "%s/%u.%u", folder, id->pid, id->number);
    return true;
}

/// The page of a device that its owner still has. NULL: there is none. What was
/// left over is removed.
static struct mwi_share_page *map(const struct mw_shared_id *id)
{
    char name[NAME];
    struct stat st;
    struct mwi_share_page *page = NULL;
    int fd = name_of(name, id) ? open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd < 0)
        return NULL;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        unlink(name);
    } else if (fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof *page) {
        page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (page == MAP_FAILED)
            page = NULL;
    }
    close(fd);
    if (page && (page->magic != MWI_SHARE_MAGIC || page->bytes != sizeof *page)) {
        munmap(page, sizeof *page);
        page = NULL;
    }
    return page;
}

static int by_number(const void *a, const void *b)
{
    const struct mw_shared_id *p = a, *q = b;
    if (p->pid != q->pid)
        return p->pid < q->pid ? -1 : 1;
    return p->number < q->number ? -1 : p->number > q->number;
}

int mw_shared_list(struct mw_shared_id *list, size_t max, size_t *count)
{
    char folder[MWI_SHARE_FOLDER];
    if (max)
        MWI_NEED(list);
    MWI_NEED(count);
    *count = 0;
    DIR *d = mwi_share_folder(folder, false) ? opendir(folder) : NULL;
    for (const struct dirent *e; d && *count < max && (e = readdir(d));) {
        struct mw_shared_id id;
        int end = 0;
        if (sscanf(e->d_name, "%u.%u%n", &id.pid, &id.number, &end) != 2 || e->d_name[end])
            continue;
        struct mwi_share_page *page = map(&id);
        if (!page)
            continue;
        munmap(page, sizeof *page);
        list[(*count)++] = id;
    }
    if (d)
        closedir(d);
    qsort(list, *count, sizeof *list, by_number);
    return 0;
}

/// A copy that the owner did not write to meanwhile. False: it writes all the time, or ended while
/// it wrote.
static bool copy(struct mwi_share_page *page, struct mw_shared *shared, uint64_t *sampled)
{
    for (unsigned i = 0; i < TRIES; i++) {
        unsigned turn = atomic_load_explicit(&page->turn, memory_order_acquire);
        *shared = page->shared;
        *sampled = page->sampled;
        atomic_thread_fence(memory_order_acquire);
        if (turn % 2 == 0 && turn == atomic_load(&page->turn))
            return true;
    }
    return false;
}

int mw_shared_look(const struct mw_shared_id *id, unsigned interval_ms, struct mw_shared *shared)
{
    MWI_NEED(id);
    MWI_NEED(shared);
    uint64_t now = mwi_share_now(), sampled;
    struct mwi_share_page *page = map(id);
    if (!page)
        return mwi_fail(MW_ERR_NODEV, "process %u shares no device with number %u", id->pid,
                        id->number);
    atomic_store(&page->interval, interval_ms);
    atomic_store(&page->asked, now);
    bool good = copy(page, shared, &sampled);
    munmap(page, sizeof *page);
    if (!good)
        return mwi_fail(MW_ERR_BUSY, "process %u writes what it shares", id->pid);
    shared->sampled = sampled != 0;
    shared->age_ms = now > sampled ? now - sampled : 0;
    return 0;
}
