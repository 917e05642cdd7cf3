// SPDX-License-Identifier: Apache-2.0
//
// Waiting: nobody is kept waiting by another's wait; every way to look without waiting, and to end one.
#include "fake.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fabric_regs.h"
#include "node_regs.h"

#define FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))
#define NODE(reg) ((uint32_t)offsetof(mw_node_t, reg))
#define assert_code(call, code) assert_int_equal(call, code)
#define assert_message(text) assert_non_null(strstr(mw_message(), text))

enum {
    GPUS = 4,
    PAUSE_US = 500,     ///< that a slice takes
    MOST_SLICES = 4000, ///< after which a layer ends by itself: two seconds
    POLL_MS = 5000,
};

static struct fake fake;
static struct mw_device *device;
static const unsigned SOME[GPUS] = {2, 2, 2, 2};
static atomic_uint slices;

/// A slice takes its time, and the layer gets on.
static void take_time(struct fake *f)
{
    usleep(PAUSE_US);
    f->stuck = ++slices < MOST_SLICES;
}

static int setup(void **state)
{
    (void)state;
    slices = 0;
    fake_init(&fake, GPUS, 8);
    return fake_open(&fake, &device);
}

static int teardown(void **state)
{
    (void)state;
    mw_close(device);
    fake_free(&fake);
    return 0;
}

static void configure(void)
{
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    c.buffers = 2;
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_code(mw_layer_configure(device, &c, &l, SOME, SOME, 1), 0);
}

static void start(void)
{
    configure();
    assert_code(mw_launch(device), 0);
}

/// A layer that goes on until it is stopped, or for MOST_SLICES.
static void start_long(void)
{
    fake.on_run = take_time;
    fake.stuck = fake.moving = true;
    start();
}

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

/// It waits when this returns: in steps of a slice, at the first of which it says so, or in one that has begun.
static void begin_wait(struct waiter *w)
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

// ---- turns ------------------------------------------------------------------------------------------

/// All that may be asked while a layer runs is answered between the slices of another's wait.
static void nobody_waits_for_a_wait(void **state)
{
    (void)state;
    static struct mw_counters c;
    struct mw_port_counters port;
    struct waiter w = {.options.step_cycles = UINT64_MAX};
    uint32_t mask;
    unsigned issued;
    start_long();
    begin_wait(&w);
    for (unsigned i = 0; i < 10; i++) {
        unsigned before = slices;
        assert_code(mw_counters_read(device, &c), 0);
        assert_code(mw_port_counters_read(device, 0, &port), 0);
        assert_code(mw_ports_down(device, &mask), 0);
        assert_code(mw_stream_position(device, 0, 0, &issued), 0);
        free(mw_state_report(device));
        assert_true(slices <=
                    before + 10); // each lets at most one go first, and that which runs end
    }
    assert_code(mw_launch(device), MW_ERR_STATE);
    assert_true(slices < MOST_SLICES);
    slices = MOST_SLICES;
    pthread_join(w.thread, NULL);
    assert_code(w.code, 0);
}

/// Several that wait for one layer get its result; a later wait has nothing to wait for.
static void several_wait(void **state)
{
    (void)state;
    struct waiter w[3] = {0};
    *fake_fabric(&fake, FABRIC(error)) = MW_HWERR_PARTITION | 2 << 8 | 1u << 16;
    start_long();
    for (unsigned i = 0; i < 3; i++)
        begin_wait(&w[i]);
    slices = MOST_SLICES;
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(w[i].thread, NULL);
        assert_code(w[i].code, MW_ERR_DEVICE);
        assert_non_null(strstr(w[i].message, "switch, input 2: target outside the partition"));
        assert_int_equal(w[i].cycles, w[0].cycles);
        assert_true(w[i].cycles > 0);
    }
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_STATE);
    assert_message("nothing runs");
}

/// The device goes while another waits.
static void closed(void **state)
{
    (void)state;
    struct waiter w = {0};
    start_long();
    begin_wait(&w);
    mw_close(device);
    device = NULL;
    pthread_join(w.thread, NULL);
    assert_code(w.code, MW_ERR_STATE);
    assert_non_null(strstr(w.message, "the device was closed"));
    assert_int_equal(fake.closed, 1);
}

// ---- canceling --------------------------------------------------------------------------------------

static void expect_canceled(void)
{
    struct mw_progress p;
    assert_true(slices < MOST_SLICES);
    assert_code(mw_query(device, &p), 0);
    assert_int_equal(p.state, MW_STATE_UNKNOWN);
    assert_code(mw_launch(device), MW_ERR_STATE);
    assert_message("canceled");
    assert_message("call mw_reset");
    assert_code(mw_reset(device), 0);
    fake.on_run = NULL;
    fake.stuck = false;
    start();
    assert_code(mw_wait(device, NULL, NULL), 0);
}

static void by_another(void **state)
{
    (void)state;
    struct waiter w[2] = {0};
    assert_code(mw_cancel(device), MW_ERR_STATE);
    start_long();
    begin_wait(&w[0]);
    begin_wait(&w[1]);
    assert_code(mw_cancel(device), 0);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(w[i].thread, NULL);
        assert_code(w[i].code, MW_ERR_CANCELED);
        assert_string_equal(w[i].message, "the layer was canceled");
    }
    assert_code(mw_cancel(device), MW_ERR_STATE);
    expect_canceled();
}

static int third(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    (void)tokens, (void)total, (void)cycles;
    return ++*(unsigned *)context == 3;
}

static void by_progress(void **state)
{
    (void)state;
    unsigned calls = 0;
    const struct mw_wait_options o = {
        .size = sizeof o, .step_cycles = 1000, .progress = third, .progress_context = &calls};
    start_long();
    assert_code(mw_wait(device, &o, NULL), MW_ERR_CANCELED);
    assert_int_equal(calls, 3);
    assert_int_equal(slices, 3);
    expect_canceled();
}

static volatile sig_atomic_t stop;

static void set_stop(struct fake *f)
{
    take_time(f);
    stop = slices == 5;
}

/// As from a signal handler: the slice that runs ends, and no step that takes hours.
static void by_signal(void **state)
{
    (void)state;
    const struct mw_wait_options o = {.size = sizeof o, .step_cycles = UINT64_MAX, .stop = &stop};
    start_long();
    fake.on_run = set_stop;
    assert_code(mw_wait(device, &o, NULL), MW_ERR_CANCELED);
    assert_int_equal(slices, 5);
    stop = 0;
    expect_canceled();
}

static void by_reset(void **state)
{
    (void)state;
    struct waiter w = {0};
    start_long();
    begin_wait(&w);
    assert_code(mw_reset(device), 0);
    pthread_join(w.thread, NULL);
    assert_code(w.code, MW_ERR_CANCELED);
}

static void fed(void **state)
{
    (void)state;
    struct waiter w = {.fed = true};
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    assert_code(mw_layout_make(device, &c, &l), 0);
    fake.on_run = take_time;
    fake.stuck = fake.moving = true;
    configure();
    assert_code(mw_feed(device, &l, 0, &w.number), 0);
    begin_wait(&w);
    assert_code(mw_cancel(device), 0);
    pthread_join(w.thread, NULL);
    assert_code(w.code, MW_ERR_CANCELED);
    expect_canceled();
}

// ---- looking ----------------------------------------------------------------------------------------

static void query(void **state)
{
    (void)state;
    struct mw_progress p;
    uint64_t cycles;
    assert_code(mw_query(device, &p), 0);
    assert_int_equal(p.state, MW_STATE_IDLE);
    configure();
    assert_code(mw_query(device, &p), 0);
    assert_int_equal(p.state, MW_STATE_CONFIGURED);
    fake.layer_cycles = 10000;
    *fake_node(&fake, 2, NODE(status.tokens_done)) = 1;
    assert_code(mw_launch(device), 0);
    unsigned looks = 0;
    uint64_t before = 0;
    do {
        assert_code(mw_query(device, &p), 0);
        assert_int_equal(p.tokens, 1);
        assert_int_equal(p.tokens_total, 8);
        assert_true(p.cycles > before);
        before = p.cycles;
    } while (p.state == MW_STATE_RUNNING && ++looks < 100);
    assert_int_equal(p.state, MW_STATE_DONE);
    assert_int_equal(p.cycles, 10000);
    assert_code(mw_query(device, &p), 0);
    assert_int_equal(p.state, MW_STATE_DONE);
    long calls = fake.calls;
    assert_code(mw_wait(device, NULL, &cycles), 0);
    assert_int_equal(cycles, 10000);
    assert_int_equal(fake.calls, calls); // the result was there
    assert_code(mw_query(device, &p), 0);
    assert_int_equal(p.state, MW_STATE_CONFIGURED);
}

static bool readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms) == 1 && p.revents & POLLIN;
}

static uint64_t ended(int fd)
{
    uint64_t count = 0;
    return read(fd, &count, sizeof count) == sizeof count ? count : 0;
}

static void descriptor(void **state)
{
    (void)state;
    struct mw_progress p;
    int fd = mw_event_fd(device);
    assert_true(fd >= 0);
    assert_int_equal(mw_event_fd(device), fd);
    assert_false(readable(fd, 0));
    for (unsigned i = 0; i < 3; i++) {
        start(); // and nobody calls the device
        assert_true(readable(fd, POLL_MS));
        assert_int_equal(ended(fd), 1);
        assert_false(readable(fd, 0));
        assert_code(mw_query(device, &p), 0);
        assert_int_equal(p.state, MW_STATE_DONE);
        assert_code(mw_wait(device, NULL, NULL), 0);
    }
    // however it ends: a device that fails, too
    fake.on_run = take_time;
    fake.stuck = true;
    start();
    assert_false(readable(fd, 1));
    assert_code(mw_cancel(device), 0);
    assert_true(readable(fd, POLL_MS));
    assert_int_equal(ended(fd), 1);
    assert_code(mw_reset(device), 0);
    fake.on_run = NULL;
    fake.stuck = false;
    // a result that nobody has taken makes room for the next
    for (unsigned i = 0; i < 2; i++) {
        start();
        assert_true(readable(fd, POLL_MS));
        assert_int_equal(ended(fd), 1);
    }
    assert_code(mw_wait(device, NULL, NULL), 0);
}

/// ... for each of those that were fed.
static void descriptor_of_fed(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    uint32_t number[2];
    uint64_t count = 0;
    c.buffers = 2;
    assert_code(mw_layout_make(device, &c, &l), 0);
    int fd = mw_event_fd(device);
    configure();
    for (unsigned i = 0; i < 2; i++)
        assert_code(mw_feed(device, &l, i, &number[i]), 0);
    for (unsigned i = 0; i < 2 && count < 2; i++) {
        assert_true(readable(fd, POLL_MS));
        count += ended(fd);
    }
    assert_int_equal(count, 2);
    for (unsigned i = 0; i < 2; i++)
        assert_code(mw_fed_wait(device, number[i], NULL, NULL), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(nobody_waits_for_a_wait),
        TEST(several_wait),
        TEST(closed),
        TEST(by_another),
        TEST(by_progress),
        TEST(by_signal),
        TEST(by_reset),
        TEST(fed),
        TEST(query),
        TEST(descriptor),
        TEST(descriptor_of_fed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
