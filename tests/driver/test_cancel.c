// SPDX-License-Identifier: Apache-2.0
//
// Every way to end a wait, and what may be done behind it.
#include "waiting.h"

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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, waiting_setup, waiting_teardown)
    const struct CMUnitTest tests[] = {TEST(by_another), TEST(by_progress), TEST(by_signal),
                                       TEST(by_reset), TEST(fed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
