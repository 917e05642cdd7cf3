// SPDX-License-Identifier: Apache-2.0
//
// Threads of the library. They take no signals: those are for the program's own threads.
#ifndef MW_THREAD_H
#define MW_THREAD_H

#include <pthread.h>

/// As pthread_create, with the usual attributes.
int mwi_thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

#endif
