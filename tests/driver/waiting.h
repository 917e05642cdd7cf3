// SPDX-License-Identifier: Apache-2.0
//
// A fake device whose layers last a number of slices, and threads that wait for them.
#ifndef MW_TEST_WAITING_H
#define MW_TEST_WAITING_H

#include "fake_device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WAITING_GPUS = 4,
    PAUSE_US = 500,     ///< that a slice takes
    MOST_SLICES = 4000, ///< after which a layer ends by itself: two seconds
};

extern atomic_uint slices; ///< of layers that take their time

struct waiter {
    pthread_t thread;
    struct mw_wait_options options;
    int code;
    uint64_t cycles;
    char message[200];
    bool fed;
    uint32_t number;
    atomic_bool waits;
};

/// A thread that acquires the device with a call.
struct asker {
    pthread_t thread;
    int (*call)(struct mw_device *d);
    int code;
};

int waiting_setup(void **state);
/// Configure a layer, start it, and start one that runs until it is stopped, or for MOST_SLICES.
void configure(void);
void start(void);
void start_long(void);
/// A slice of such a layer.
void take_time(struct fake *f);
/// Start a thread that waits, and return when it does. Without options.step_cycles it waits in
/// steps, and has reported the first one. With them, two slices have passed.
void begin_wait(struct waiter *w);
/// Start a thread that queues for the device, and return when it is in the queue. It gets the
/// device when the present holder, a callback of the fake, releases it.
void begin_asking(struct asker *a);

#endif
