// SPDX-License-Identifier: Apache-2.0
//
// The lock of a device. Calls get it in the order of their requests. So a call that releases it
// between its slices cannot take it again before those that wait. A thread that has the lock may
// take it again.
#ifndef MW_LOCK_H
#define MW_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct mwi_lock {
    pthread_mutex_t mutex;  ///< of all below, held for moments
    pthread_cond_t turn;    ///< `serving` has changed
    pthread_cond_t changed; ///< `changes` has
    uint64_t next, serving; ///< tickets: the next one, and that of the owner
    uint64_t changes;
    pthread_t owner;
    unsigned depth; ///< 0: no thread has it
    unsigned users; ///< threads that have it, wait for it, or sleep
    bool draining;
};

/// 0, or -1.
int mwi_lock_init(struct mwi_lock *lock);
void mwi_lock_free(struct mwi_lock *lock);
/// Take it. Returns how often this thread has it now.
unsigned mwi_lock_take(struct mwi_lock *lock);
/// Release it once.
void mwi_lock_give(struct mwi_lock *lock);
/// Let others have it, however often this thread has it, and take it again.
void mwi_lock_yield(struct mwi_lock *lock);
/// ... call this meanwhile
int mwi_lock_without(struct mwi_lock *lock, int (*call)(void *context), void *context);
/// ... wait until a thread calls mwi_lock_wake.
void mwi_lock_sleep(struct mwi_lock *lock);
/// ... or until so many ms have passed.
void mwi_lock_nap(struct mwi_lock *lock, unsigned ms);
void mwi_lock_wake(struct mwi_lock *lock);
/// Release it permanently when no other thread uses it. No thread may request it any more.
void mwi_lock_drain(struct mwi_lock *lock);

#endif
