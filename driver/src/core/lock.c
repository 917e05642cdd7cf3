// SPDX-License-Identifier: Apache-2.0
#include "core/lock.h"

#include <time.h>

int mwi_lock_init(struct mwi_lock *l)
{
    *l = (struct mwi_lock){0};
    if (pthread_mutex_init(&l->mutex, NULL))
        return -1;
    if (pthread_cond_init(&l->turn, NULL)) {
        pthread_mutex_destroy(&l->mutex);
        return -1;
    }
    if (pthread_cond_init(&l->changed, NULL)) {
        pthread_cond_destroy(&l->turn);
        pthread_mutex_destroy(&l->mutex);
        return -1;
    }
    return 0;
}

void mwi_lock_free(struct mwi_lock *l)
{
    pthread_cond_destroy(&l->changed);
    pthread_cond_destroy(&l->turn);
    pthread_mutex_destroy(&l->mutex);
}

// Those below have `mutex`.

static void queue_up(struct mwi_lock *l, unsigned depth)
{
    uint64_t ticket = l->next++;
    while (ticket != l->serving)
        pthread_cond_wait(&l->turn, &l->mutex);
    l->owner = pthread_self();
    l->depth = depth;
}

/// Returns how often the lock was held.
static unsigned let_go(struct mwi_lock *l)
{
    unsigned depth = l->depth;
    l->depth = 0;
    l->serving++;
    pthread_cond_broadcast(&l->turn);
    return depth;
}

static void change(struct mwi_lock *l)
{
    l->changes++;
    pthread_cond_broadcast(&l->changed);
}

// ---- taking and giving --------------------------------------------------------------------------

unsigned mwi_lock_take(struct mwi_lock *l)
{
    pthread_mutex_lock(&l->mutex);
    if (l->depth && pthread_equal(l->owner, pthread_self())) {
        l->depth++;
    } else {
        l->users++;
        queue_up(l, 1);
    }
    unsigned depth = l->depth;
    pthread_mutex_unlock(&l->mutex);
    return depth;
}

void mwi_lock_give(struct mwi_lock *l)
{
    pthread_mutex_lock(&l->mutex);
    if (l->depth > 1) {
        l->depth--;
    } else {
        let_go(l);
        l->users--;
        if (l->draining)
            change(l);
    }
    pthread_mutex_unlock(&l->mutex);
}

void mwi_lock_yield(struct mwi_lock *l)
{
    pthread_mutex_lock(&l->mutex);
    queue_up(l, let_go(l));
    pthread_mutex_unlock(&l->mutex);
}

int mwi_lock_without(struct mwi_lock *l, int (*call)(void *context), void *context)
{
    pthread_mutex_lock(&l->mutex);
    unsigned depth = let_go(l);
    pthread_mutex_unlock(&l->mutex);
    int result = call(context);
    pthread_mutex_lock(&l->mutex);
    queue_up(l, depth);
    pthread_mutex_unlock(&l->mutex);
    return result;
}

void mwi_lock_sleep(struct mwi_lock *l)
{
    pthread_mutex_lock(&l->mutex);
    uint64_t seen = l->changes;
    unsigned depth = let_go(l);
    while (seen == l->changes)
        pthread_cond_wait(&l->changed, &l->mutex);
    queue_up(l, depth);
    pthread_mutex_unlock(&l->mutex);
}

void mwi_lock_nap(struct mwi_lock *l, unsigned ms)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    const uint64_t ns = (uint64_t)end.tv_nsec + ms * UINT64_C(1000000);
    end.tv_sec += (time_t)(ns / 1000000000);
    end.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&l->mutex);
    const uint64_t seen = l->changes;
    unsigned depth = let_go(l);
    while (seen == l->changes && pthread_cond_timedwait(&l->changed, &l->mutex, &end) == 0)
        ;
    queue_up(l, depth);
    pthread_mutex_unlock(&l->mutex);
}

void mwi_lock_wake(struct mwi_lock *l)
{
    pthread_mutex_lock(&l->mutex);
    change(l);
    pthread_mutex_unlock(&l->mutex);
}

void mwi_lock_drain(struct mwi_lock *l)
{
    pthread_mutex_lock(&l->mutex);
    let_go(l);
    l->draining = true;
    while (l->users > 1)
        pthread_cond_wait(&l->changed, &l->mutex);
    pthread_mutex_unlock(&l->mutex);
}
