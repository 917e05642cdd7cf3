// SPDX-License-Identifier: Apache-2.0
//
// See sample_publish.h: the owner's side.
#include "observe/sample_publish.h"

#include "core/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    ASKED_MS = 5000,  ///< a request for samples is valid for so long
    INTERVAL_MS = 50, ///< between two samples, at least
    NAME = MWI_SHARE_FOLDER + 48,
};

struct mwi_share {
    int fd;
    struct mwi_share_page *page;
    char name[NAME];
};

uint64_t mwi_share_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

bool mwi_share_folder(char path[MWI_SHARE_FOLDER], bool make)
{
    const char *run = getenv("XDG_RUNTIME_DIR");
    struct stat st;
    int n = run && *run == '/'
                ? snprintf(path, MWI_SHARE_FOLDER, "%s/moeswitch", run)
                : snprintf(path, MWI_SHARE_FOLDER, "/tmp/moeswitch-%lu", (unsigned long)geteuid());
    if (n >= MWI_SHARE_FOLDER || (make && mkdir(path, 0700) && errno != EEXIST))
        return false;
    // in /tmp anybody may have made it first
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IRWXG | S_IRWXO));
}

/// The file under a name that no reader looks for, locked.
static int make_file(struct mwi_share *s, const char *hidden)
{
    s->fd = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (s->fd < 0)
        return -1;
    // with all of its blocks: a store into a hole of a full file system ends the program
    if (flock(s->fd, LOCK_EX | LOCK_NB) == 0 && posix_fallocate(s->fd, 0, sizeof *s->page) == 0)
        s->page = mmap(NULL, sizeof *s->page, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (s->page && s->page != MAP_FAILED)
        return 0;
    unlink(hidden);
    close(s->fd);
    return -1;
}

void mwi_share_begin(struct mw_device *d)
{
    static atomic_uint made;
    char folder[MWI_SHARE_FOLDER], hidden[NAME];
    struct mwi_share *s = calloc(1, sizeof *s);
    if (!s || !mwi_share_folder(folder, true)) {
        free(s);
        return;
    }
    unsigned pid = (unsigned)getpid(), number = atomic_fetch_add(&made, 1);
    snprintf(s->name, sizeof s->name, "%s/%u.%u", folder, pid, number);
    snprintf(hidden, sizeof hidden, "%s/.%u.%u", folder, pid, number);
    unlink(hidden); // of a process of that number that died here
    if (make_file(s, hidden)) {
        free(s);
        return;
    }
    struct mw_shared *shared = &s->page->shared;
    *shared = (struct mw_shared){
        .id = {pid, number}, .gpus = d->info.gpus, .flit_bytes = d->info.flit_bytes};
    snprintf(shared->program, sizeof shared->program, "%s", program_invocation_short_name);
    snprintf(shared->transport, sizeof shared->transport, "%s", d->transport->name);
    s->page->bytes = sizeof *s->page;
    s->page->magic = MWI_SHARE_MAGIC;
    if (rename(hidden, s->name)) {
        unlink(hidden);
        munmap(s->page, sizeof *s->page);
        close(s->fd);
        free(s);
        return;
    }
    d->share = s;
}

void mwi_share_end(struct mw_device *d)
{
    struct mwi_share *s = d->share;
    if (!s)
        return;
    d->share = NULL;
    if (!mwi_inherited(d))
        unlink(s->name);
    munmap(s->page, sizeof *s->page);
    close(s->fd);
    free(s);
}

/// The state of the device. If it cannot be read, the counters are the previous ones.
static void sample(struct mw_device *d, struct mw_shared *shared)
{
    struct mw_counters counters;
    shared->state = mwi_state_outside(d);
    shared->layer = d->state.layer.number;
    shared->tokens_total = d->state.tokens_total;
    if (d->state.now == MW_STATE_UNKNOWN || mw_counters_read(d, &counters))
        return;
    shared->counters = counters;
    shared->total_cycles = mw_total_cycles(d);
}

void mwi_share_look(struct mw_device *d)
{
    if (!d->share)
        return;
    struct mwi_share_page *page = d->share->page;
    uint64_t asked = atomic_load_explicit(&page->asked, memory_order_relaxed);
    if (!asked)
        return;
    uint64_t now = mwi_share_now();
    unsigned interval = atomic_load_explicit(&page->interval, memory_order_relaxed);
    interval = interval < INTERVAL_MS ? INTERVAL_MS : interval;
    if (now - asked > ASKED_MS + interval || now - page->sampled < interval)
        return;
    struct mw_shared shared = page->shared;
    sample(d, &shared);
    atomic_fetch_add(&page->turn, 1);
    atomic_thread_fence(memory_order_release);
    page->shared = shared;
    page->sampled = now;
    atomic_fetch_add_explicit(&page->turn, 1, memory_order_release);
}
