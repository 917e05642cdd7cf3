// SPDX-License-Identifier: Apache-2.0
#include "waiting.h"

#include "core/device.h"

static const unsigned SOME[WAITING_GPUS] = {2, 2, 2, 2};
atomic_uint slices;

/// A slice takes its time, and the layer advances.
void take_time(struct fake *f)
{
    usleep(PAUSE_US);
    f->stuck = ++slices < MOST_SLICES;
}

int waiting_setup(void **state)
{
    slices = 0;
    return fake_setup(state);
}

void configure(void)
{
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    c.buffers = 2;
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_code(mw_layer_configure(device, &c, &l, SOME, SOME, 1), 0);
}

void start(void)
{
    configure();
    assert_code(mw_launch(device), 0);
}

void start_long(void)
{
    fake.on_run = take_time;
    fake.stuck = fake.moving = true;
    start();
}

static void *wait_for_it(void *context)
{
    struct waiter *w = context;
    w->code = w->fed ? mw_fed_wait(device, w->number, &w->options, NULL)
                     : mw_wait(device, &w->options, &w->cycles);
    strncpy(w->message, mw_message(), sizeof w->message - 1);
    return NULL;
}

static int looked(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    (void)tokens, (void)total, (void)cycles;
    ((struct waiter *)context)->waits = true;
    return 0;
}

void begin_wait(struct waiter *w)
{
    unsigned had = slices;
    bool steps = !w->options.step_cycles;
    w->options.size = sizeof w->options;
    if (steps) {
        w->options.step_cycles = 1000;
        w->options.progress = looked;
        w->options.progress_context = w;
    }
    assert_int_equal(pthread_create(&w->thread, NULL, wait_for_it, w), 0);
    for (unsigned i = 0; !(steps ? w->waits : slices >= had + 2) && i < MOST_SLICES; i++)
        usleep(PAUSE_US);
    assert_true(steps ? w->waits : slices >= had + 2);
}

static void *ask(void *context)
{
    struct asker *a = context;
    a->code = a->call(device);
    return NULL;
}

void begin_asking(struct asker *a)
{
    const uint64_t before = device->lock.next;
    assert_int_equal(pthread_create(&a->thread, NULL, ask, a), 0);
    for (unsigned i = 0; i < MOST_SLICES; i++) {
        pthread_mutex_lock(&device->lock.mutex);
        const bool asks = device->lock.next != before;
        pthread_mutex_unlock(&device->lock.mutex);
        if (asks)
            return;
        usleep(PAUSE_US);
    }
}
