// SPDX-License-Identifier: Apache-2.0
//
// Waiting: no thread is delayed by another's wait, and every way to poll without waiting.
#include "waiting.h"

#include <poll.h>
#include <signal.h>

enum { POLL_MS = 5000 };

// ---- turns --------------------------------------------------------------------------------------

/// Every request that is allowed while a layer runs is answered between the slices of another's
/// wait.
static void a_wait_delays_no_other(void **state)
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

/// Each thread that waits for a layer gets its result, also after others, until another layer
/// begins.
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
    for (unsigned i = 0; i < 2; i++) {
        uint64_t cycles = 0;
        assert_code(mw_wait(device, NULL, &cycles), MW_ERR_DEVICE);
        assert_message("switch, input 2: target outside the partition");
        assert_int_equal(cycles, w[0].cycles);
    }
    *fake_fabric(&fake, FABRIC(error)) = 0;
    fake.on_run = NULL;
    fake.stuck = false;
    start();
    assert_code(mw_wait(device, NULL, NULL), 0);
    assert_code(mw_wait(device, NULL, NULL), 0);
}

/// Results that no call can read any more: of a device that was reset, and of a layer after which
/// others were fed.
static void nothing_to_wait_for(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    uint32_t number;
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_STATE);
    assert_message("nothing runs");
    start();
    assert_code(mw_wait(device, NULL, NULL), 0);
    assert_code(mw_reset(device), 0);
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_STATE);
    start();
    assert_code(mw_wait(device, NULL, NULL), 0);
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_code(mw_feed(device, &l, 0, &number), 0);
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_STATE);
    assert_code(mw_fed_wait(device, number, NULL, NULL), 0);
    assert_code(mw_fed_wait(device, number, NULL, NULL), 0);
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_STATE);
}

static atomic_bool asked, answered;

/// The progress callback of a wait. It returns when `answered` is set.
static int keep_waiting(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    (void)context, (void)tokens, (void)total, (void)cycles;
    asked = true;
    while (!answered)
        usleep(PAUSE_US);
    return 0;
}

static void *wait_beside(void *context)
{
    struct waiter *w = context;
    w->code = mw_wait(device, &w->options, &w->cycles);
    strncpy(w->message, mw_message(), sizeof w->message - 1);
    return NULL;
}

/// A thread that waits for a layer does not get the end of the next one.
static void another_has_begun(void **state)
{
    (void)state;
    struct waiter w = {
        .options = {.size = sizeof w.options, .step_cycles = 1000, .progress = keep_waiting}};
    start_long();
    assert_int_equal(pthread_create(&w.thread, NULL, wait_beside, &w), 0);
    while (!asked)
        usleep(PAUSE_US);
    assert_code(mw_cancel(device), 0);
    assert_code(mw_reset(device), 0);
    fake.on_run = NULL;
    fake.stuck = fake.moving = false;
    start();
    answered = true;
    pthread_join(w.thread, NULL);
    assert_code(w.code, MW_ERR_STATE);
    assert_non_null(strstr(w.message, "another has begun since"));
    assert_code(mw_wait(device, NULL, NULL), 0);
}

/// The device is closed while another thread waits.
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

// ---- looking ------------------------------------------------------------------------------------

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
        start(); // and no thread calls the device
        assert_true(readable(fd, POLL_MS));
        assert_int_equal(ended(fd), 1);
        assert_false(readable(fd, 0));
        assert_code(mw_query(device, &p), 0);
        assert_int_equal(p.state, MW_STATE_DONE);
        assert_code(mw_wait(device, NULL, NULL), 0);
    }
    // for any end, also that of a device that fails
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
    // a result that no call has read makes room for the next
    for (unsigned i = 0; i < 2; i++) {
        start();
        assert_true(readable(fd, POLL_MS));
        assert_int_equal(ended(fd), 1);
    }
    assert_code(mw_wait(device, NULL, NULL), 0);
}

static void break_down(struct fake *f)
{
    fake_fail_at(f, 0);
}

/// It is readable, too, when the device does not answer any more. Otherwise a thread that polls
/// would wait for ever.
static void descriptor_of_a_device_that_fails(void **state)
{
    (void)state;
    struct mw_progress p;
    int fd = mw_event_fd(device);
    fake.on_run = break_down;
    fake.stuck = true;
    start();
    assert_true(readable(fd, POLL_MS));
    assert_int_equal(ended(fd), 1);
    fake_fail_at(&fake, 0);
    assert_code(mw_query(device, &p), MW_ERR_IO);
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

/// A signal that the program's threads have blocked stays pending: no thread of the
/// library's takes it.
static void signals_are_the_programs(void **state)
{
    (void)state;
    sigset_t one, before, pending;
    assert_true(mw_event_fd(device) >= 0);
    start_long(); // the thread runs
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    assert_int_equal(kill(getpid(), SIGUSR1), 0); // each thread that takes it ends the program
    for (unsigned had = slices; slices < had + 5;)
        usleep(PAUSE_US);
    assert_int_equal(sigpending(&pending), 0);
    assert_true(sigismember(&pending, SIGUSR1));
    signal(SIGUSR1, SIG_IGN); // drops it
    signal(SIGUSR1, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    slices = MOST_SLICES;
    assert_code(mw_wait(device, NULL, NULL), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, waiting_setup, fake_teardown)
    const struct CMUnitTest tests[] = {TEST(a_wait_delays_no_other),
                                       TEST(several_wait),
                                       TEST(nothing_to_wait_for),
                                       TEST(another_has_begun),
                                       TEST(closed),
                                       TEST(query),
                                       TEST(descriptor),
                                       TEST(descriptor_of_a_device_that_fails),
                                       TEST(descriptor_of_fed),
                                       TEST(signals_are_the_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
