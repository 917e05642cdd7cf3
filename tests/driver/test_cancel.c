// SPDX-License-Identifier: Apache-2.0
//
// Every way to end a wait, and which calls are allowed after it.
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

/// Canceled as by a signal handler. The wait ends after the current slice, even if a step takes
/// hours.
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

// ---- what a call of a handle does besides its layer ---------------------------------------------

enum {
    TOKENS = 128,
    ROW = 256,
    EXPERTS = 4,
    PIECES = 4,
    LAST = 1000
}; // PIECES at least, to write and to read

static uint16_t x[WAITING_GPUS][TOKENS][ROW], out[WAITING_GPUS][TOKENS][ROW];
static int16_t idx[WAITING_GPUS][TOKENS];
static float weights[WAITING_GPUS][TOKENS];
static struct mw_dymulticast *object;
static struct mw_handle *handle;
static unsigned writes, reads, act_at_write, act_at_read;
static void (*act)(void);

static void on_move(struct fake *f, bool write)
{
    (void)f;
    unsigned *count = write ? &writes : &reads;
    if (++*count == (write ? act_at_write : act_at_read))
        act();
}

static void dispatch_much(void)
{
    static const uint16_t coefficient[EXPERTS];
    const struct mw_dymulticast_prop prop = {
        .size = sizeof prop, .block_bytes = 2 * ROW, .region_sets = 2, .k = 1, .experts = EXPERTS};
    struct mw_tokens part[WAITING_GPUS];
    for (unsigned g = 0; g < WAITING_GPUS; g++) {
        for (unsigned t = 0; t < TOKENS; t++) {
            for (unsigned i = 0; i < ROW; i++)
                x[g][t][i] = (uint16_t)(g * 20011 + t * 257 + i);
            idx[g][t] = (int16_t)((g + t) % EXPERTS);
        }
        part[g] = (struct mw_tokens){TOKENS, x[g][0], idx[g], weights[g]};
    }
    fake.echo = true;
    assert_code(mw_dymulticast_create(device, &prop, &object), 0);
    assert_code(mw_dymulticast_bind_addr(object, WAITING_GPUS * TOKENS, TOKENS), 0);
    assert_code(mw_handle_create(object, part, coefficient, &handle), 0);
}

static int combine(const struct mw_wait_options *o)
{
    uint16_t *rows[WAITING_GPUS];
    for (unsigned g = 0; g < WAITING_GPUS; g++)
        rows[g] = out[g][0];
    memset(out, 0, sizeof out);
    writes = reads = 0;
    fake.on_move = on_move;
    return mw_layer_run(handle, rows, o, NULL);
}

static void destroy_much(void)
{
    mw_handle_destroy(handle);
    mw_dymulticast_destroy(object);
}

/// The call is canceled at the second write, or at the second read. After that nothing is moved,
/// and nothing needs a reset.
static void ends_at_once(const struct mw_wait_options *o)
{
    struct mw_progress p;
    for (unsigned reading = 0; reading < 2; reading++) {
        dispatch_much();
        act_at_write = reading ? LAST : 2;
        act_at_read = reading ? 2 : LAST;
        assert_code(combine(o), MW_ERR_CANCELED);
        assert_string_equal(mw_message(), "the layer was canceled");
        stop = 0;
        if (reading)
            assert_int_equal(reads, 2);
        else
            assert_int_equal(writes, 2);
        assert_code(mw_query(device, &p), 0);
        assert_int_not_equal(p.state, MW_STATE_UNKNOWN);
        act_at_write = act_at_read = LAST;
        assert_code(combine(o), 0);
        assert_memory_equal(out, x, sizeof x);
        assert_true(reading ? writes == 0 : writes >= PIECES); // what is there is not written again
        assert_true(reads >= PIECES);
        destroy_much();
    }
}

static void act_by_signal(void)
{
    stop = 1;
}

static void moves_by_signal(void **state)
{
    (void)state;
    const struct mw_wait_options o = {.size = sizeof o, .stop = &stop};
    act = act_by_signal;
    ends_at_once(&o);
}

static uint64_t total_reported;

static int no_more(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    (void)context, (void)tokens, (void)cycles;
    total_reported = total;
    return stop;
}

static void moves_by_progress(void **state)
{
    (void)state;
    const struct mw_wait_options o = {.size = sizeof o, .progress = no_more};
    act = act_by_signal; // which only `progress` looks at
    ends_at_once(&o);
    assert_int_equal(total_reported, WAITING_GPUS * TOKENS);
}

static struct asker other;

/// A thread requests the device, and gets it when this piece is done.
static void act_by_another(void)
{
    begin_asking(&other);
}

static void moves_by_cancel(void **state)
{
    (void)state;
    act = act_by_another;
    other.call = mw_cancel;
    for (unsigned reading = 0; reading < 2; reading++) {
        dispatch_much();
        act_at_write = reading ? LAST : 2;
        act_at_read = reading ? 2 : LAST;
        assert_code(combine(NULL), MW_ERR_CANCELED);
        pthread_join(other.thread, NULL);
        assert_code(other.code, 0);
        act_at_write = act_at_read = LAST;
        assert_code(combine(NULL), 0);
        assert_memory_equal(out, x, sizeof x);
        assert_code(mw_cancel(device), MW_ERR_STATE);
        destroy_much();
    }
}

static void moves_by_reset(void **state)
{
    (void)state;
    struct mw_progress p;
    act = act_by_another;
    other.call = mw_reset;
    dispatch_much();
    act_at_write = 2;
    assert_code(combine(NULL), MW_ERR_CANCELED);
    pthread_join(other.thread, NULL);
    assert_code(other.code, 0);
    assert_code(mw_query(device, &p), 0);
    assert_int_equal(p.state, MW_STATE_IDLE);
    act_at_write = LAST;
    assert_code(combine(NULL), 0);
    assert_memory_equal(out, x, sizeof x);
    destroy_much();
}

static int close_it(struct mw_device *d)
{
    mw_close(d);
    return 0;
}

static void moves_by_close(void **state)
{
    (void)state;
    act = act_by_another;
    other.call = close_it;
    dispatch_much();
    act_at_write = 2;
    assert_code(combine(NULL), MW_ERR_STATE);
    assert_message("the device was closed");
    pthread_join(other.thread, NULL);
    assert_int_equal(writes, 2);
    assert_int_equal(fake.closed, 1);
    device = NULL;
    destroy_much();
}

/// Canceled while the tables are cleared. The device may continue to clear them, so only a reset
/// helps.
static void sweep_canceled(void **state)
{
    (void)state;
    const struct mw_wait_options o = {.size = sizeof o, .stop = &stop};
    struct mw_progress p;
    dispatch_much();
    act_at_write = act_at_read = LAST;
    fake.sweep_polls = FAKE_MEM; // for ever
    fake.on_sweep = act_by_signal;
    assert_code(combine(&o), MW_ERR_CANCELED);
    assert_int_equal(fake.go, 0);
    stop = 0;
    assert_code(mw_query(device, &p), 0);
    assert_int_equal(p.state, MW_STATE_UNKNOWN);
    fake.sweep_polls = 3;
    fake.on_sweep = NULL;
    assert_code(mw_reset(device), 0);
    assert_code(combine(&o), 0);
    assert_memory_equal(out, x, sizeof x);
    destroy_much();
}

static int inner_code;
static bool inner_text;

static int combine_inside(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    (void)context, (void)tokens, (void)total;
    inner_code = mw_launch(device);
    inner_text = cycles || strstr(mw_message(), "a call of a handle uses the device");
    if (inner_code != MW_ERR_STATE)
        return 0;
    inner_code = mw_layer_run(
        handle, (uint16_t *[WAITING_GPUS]){out[0][0], out[1][0], out[2][0], out[3][0]}, NULL, NULL);
    return 0;
}

static void inside_another(void **state)
{
    (void)state;
    const struct mw_wait_options o = {.size = sizeof o, .progress = combine_inside};
    act_at_write = act_at_read = LAST;
    dispatch_much();
    assert_code(combine(&o), 0);
    assert_code(inner_code, MW_ERR_STATE);
    assert_true(inner_text);
    assert_memory_equal(out, x, sizeof x);
    destroy_much();
}

static void *combine_long(void *context)
{
    (void)context;
    other.code = combine(NULL);
    return NULL;
}

/// A thread that waits for another's mw_combine may be canceled, and the mw_combine continues.
static void before_its_turn(void **state)
{
    (void)state;
    const struct mw_wait_options by_stop = {.size = sizeof by_stop, .stop = &stop},
                                 by_progress = {.size = sizeof by_progress, .progress = no_more};
    uint16_t *none[WAITING_GPUS] = {out[0][0], out[1][0], out[2][0], out[3][0]};
    struct mw_progress p;
    act_at_write = act_at_read = LAST;
    dispatch_much();
    fake.on_run = take_time;
    fake.stuck = fake.moving = true;
    assert_int_equal(pthread_create(&other.thread, NULL, combine_long, NULL), 0);
    while (!slices)
        usleep(PAUSE_US);
    stop = 1;
    assert_code(mw_combine(handle, none, &by_stop, NULL), MW_ERR_CANCELED);
    assert_message("canceled before it began");
    assert_code(mw_combine(handle, none, &by_progress, NULL), MW_ERR_CANCELED);
    stop = 0;
    assert_code(mw_query(device, &p), 0);
    assert_int_equal(p.state, MW_STATE_RUNNING);
    assert_true(slices < MOST_SLICES);
    slices = MOST_SLICES;
    pthread_join(other.thread, NULL);
    assert_code(other.code, 0);
    assert_memory_equal(out, x, sizeof x);
    destroy_much();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, waiting_setup, fake_teardown)
    const struct CMUnitTest tests[] = {TEST(by_another),
                                       TEST(by_progress),
                                       TEST(by_signal),
                                       TEST(by_reset),
                                       TEST(fed),
                                       TEST(moves_by_signal),
                                       TEST(moves_by_progress),
                                       TEST(moves_by_cancel),
                                       TEST(moves_by_reset),
                                       TEST(moves_by_close),
                                       TEST(sweep_canceled),
                                       TEST(before_its_turn),
                                       TEST(inside_another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
