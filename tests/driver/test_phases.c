// SPDX-License-Identifier: Apache-2.0
//
// Dispatch and combine as two calls: which calls each state of a handle allows, the order of waits,
// and every way to end a phase.
#include "waiting.h"

enum { TOKENS = 3, ROW = 16, EXPERTS = 4, K = 2, ROWS = WAITING_GPUS * TOKENS };

/// A layer and its handle.
struct part_of {
    struct mw_handle *handle;
    uint16_t x[WAITING_GPUS][TOKENS][ROW], out[WAITING_GPUS][TOKENS][ROW], *rows[WAITING_GPUS];
};

static struct part_of a, b;
static struct mw_dymulticast *object;
static struct mw_layout layout;

static void make(struct part_of *l, unsigned number)
{
    static const uint16_t coefficient[EXPERTS];
    static int16_t idx[WAITING_GPUS][TOKENS][K];
    static float weights[WAITING_GPUS][TOKENS][K];
    struct mw_tokens part[WAITING_GPUS];
    for (unsigned g = 0; g < WAITING_GPUS; g++) {
        for (unsigned t = 0; t < TOKENS; t++) {
            for (unsigned i = 0; i < ROW; i++)
                l->x[g][t][i] = (uint16_t)(number * 5000 + g * 1000 + t * 100 + i);
            idx[g][t][0] = (int16_t)((g + t) % (EXPERTS - 1)); // the last one has no rows
            idx[g][t][1] = -1;
            weights[g][t][0] = (float)(1 + g * TOKENS + t);
        }
        l->rows[g] = l->out[g][0];
        part[g] = (struct mw_tokens){TOKENS, l->x[g][0], idx[g][0], weights[g][0]};
    }
    assert_code(mw_handle_create(object, part, coefficient, &l->handle), 0);
}

static int setup(void **state)
{
    const struct mw_dymulticast_prop prop = {
        .size = sizeof prop, .block_bytes = 2 * ROW, .region_sets = 2, .k = K, .experts = EXPERTS};
    if (waiting_setup(state))
        return -1;
    fake.echo = true;
    assert_code(mw_dymulticast_create(device, &prop, &object), 0);
    assert_code(mw_dymulticast_bind_addr(object, ROWS, ROWS), 0);
    assert_code(mw_dymulticast_layout(object, &layout), 0);
    make(&a, 1);
    make(&b, 2);
    return 0;
}

static int teardown(void **state)
{
    mw_handle_destroy(a.handle);
    mw_handle_destroy(b.handle);
    mw_dymulticast_destroy(object);
    return fake_teardown(state);
}

/// Returns its cycles.
static uint64_t combines(struct part_of *l)
{
    uint64_t cycles = 0;
    memset(l->out, 0, sizeof l->out);
    assert_code(mw_combine(l->handle, l->rows, NULL, &cycles), 0);
    assert_memory_equal(l->out, l->x, sizeof l->x);
    return cycles;
}

/// What the library does with a handle that has no rows on the device.
static void expect_prepared(const struct part_of *l)
{
    size_t count = 0;
    uint16_t x[ROW];
    assert_code(mw_received(l->handle, 0, NULL, NULL, 0, &count, NULL), 0);
    assert_int_equal(count, 4);
    for (unsigned i = 0; i < 3; i++) {
        assert_code(i == 0   ? mw_dispatch_wait(l->handle, NULL, NULL)
                    : i == 1 ? mw_received(l->handle, 0, NULL, x, 1, &count, NULL)
                             : mw_expert_output(l->handle, 0, x, NULL),
                    MW_ERR_STATE);
        assert_message("call mw_dispatch_start");
    }
}

/// Memory as a dispatch leaves it: row r of expert 0 is its r-th token from the last one on.
static void receive(const struct part_of *l)
{
    const unsigned epoch = *fake_fabric(&fake, FABRIC(epoch));
    unsigned r = 0;
    for (unsigned t = ROWS; t-- > 0;) {
        const unsigned gpu = t / TOKENS, token = t % TOKENS;
        const uint32_t entry = UINT32_C(1) << 31 | epoch << 29 | r;
        const float weight = (float)(1 + t);
        if ((gpu + token) % (EXPERTS - 1))
            continue;
        memcpy(fake.mem[0] + layout.al_base + 4 * (gpu << layout.token_shift | token), &entry, 4);
        memcpy(fake.mem[0] + layout.gt_base + (r << layout.gate_shift), &weight, 4);
        memcpy(fake.mem[0] + layout.xd_base + (r++ << layout.row_shift), l->x[gpu][token], 2 * ROW);
    }
}

/// Prepared, arriving, received, and prepared again.
static void states(void **state)
{
    (void)state;
    struct mw_progress p;
    uint64_t cycles;
    size_t count;
    uint16_t x[ROW];
    fake.layer_cycles = 5000; // some slices
    expect_prepared(&a);
    assert_code(mw_dispatch_start(a.handle, NULL), 0);
    assert_int_equal(fake.go, 1);
    assert_code(mw_query(device, &p), 0);
    assert_int_equal(p.state, MW_STATE_RUNNING);
    assert_int_equal(p.tokens_total, ROWS);
    for (unsigned i = 0; i < 2; i++) {
        assert_code(i ? mw_received(a.handle, 0, NULL, x, 1, &count, NULL)
                      : mw_expert_output(a.handle, 0, x, NULL),
                    MW_ERR_STATE);
        assert_message("the rows are arriving: call mw_dispatch_wait");
    }
    assert_code(mw_dispatch_start(a.handle, NULL), MW_ERR_STATE);
    assert_message("mw_dispatch_start: its rows are arriving: call mw_combine first");
    assert_code(mw_launch(device), MW_ERR_STATE);
    assert_message("a dispatch runs");
    assert_code(mw_dispatch_wait(a.handle, NULL, &cycles), 0);
    assert_int_equal(cycles, fake.layer_cycles);
    assert_code(mw_dispatch_wait(a.handle, NULL, &cycles), 0); // at once
    assert_code(mw_dispatch_start(a.handle, NULL), MW_ERR_STATE);
    assert_message("its rows are received");
    assert_code(mw_launch(device), MW_ERR_STATE);
    assert_message("no layer was configured");
    assert_int_equal(combines(&a), 2 * fake.layer_cycles);
    assert_int_equal(fake.go, 2);
    expect_prepared(&a);
    assert_int_equal(combines(&a), 2 * fake.layer_cycles); // both phases
    assert_int_equal(fake.go, 4);
    assert_code(mw_dispatch_start(a.handle, NULL), 0);
    assert_int_equal(combines(&a), 2 * fake.layer_cycles); // which waits for it
    assert_int_equal(fake.go, 6);
}

/// What the device runs in each phase: streams, and the epoch, which is that of the
/// dispatch in the second.
static void programs(void **state)
{
    (void)state;
    static const uint8_t ops[2][5] = {
        {MW_I_COUNT, MW_I_WAIT, MW_I_END},
        {MW_I_COUNT, MW_I_EXPERT, MW_I_SIGNAL, MW_I_WAIT, MW_I_DYMULTIMEM_LD_REDUCE}};
    for (unsigned n = 0; n < 6; n++) {
        if (n % 2 == 0)
            assert_code(mw_dispatch_start(a.handle, NULL), 0);
        else
            combines(&a);
        for (unsigned i = 0; i < (n % 2 ? 5 : 3); i++)
            assert_int_equal(fake.mem[1][layout.stream[0] + MW_INSTR_BYTES * i], ops[n % 2][i]);
        assert_int_equal(*fake_node(&fake, 1, NODE(streams)) & 15, n % 2 ? 1 : 3);
        assert_int_equal(*fake_node(&fake, 1, NODE(shape)) >> 16, n % 2 ? 0 : TOKENS);
        assert_int_equal(*fake_fabric(&fake, FABRIC(epoch)), n / 2);
    }
    assert_int_equal(fake.sweeps, 1);
    assert_code(mw_layer_run(a.handle, a.rows, NULL, NULL), 0);
    assert_int_equal(*fake_fabric(&fake, FABRIC(epoch)), 3);
    combines(&a); // the epochs come again
    assert_int_equal(fake.sweeps, 2);
}

static void received(void **state)
{
    (void)state;
    struct mw_received_row row[ROWS];
    uint16_t x[ROWS][ROW];
    size_t count;
    assert_code(mw_dispatch_start(a.handle, NULL), 0);
    assert_code(mw_dispatch_wait(a.handle, NULL, NULL), 0);
    receive(&a);
    for (unsigned max = 1; max <= ROWS; max += 4) {
        memset(row, 0xee, sizeof row);
        memset(x, 0xee, sizeof x);
        assert_code(mw_received(a.handle, 0, row, x[0], max, &count, NULL), 0);
        assert_int_equal(count, 4);
        for (unsigned i = 0; i < (max < 4 ? max : 4); i++) {
            assert_int_equal((row[i].gpu + row[i].token) % (EXPERTS - 1), 0);
            assert_true(row[i].weight == (float)(1 + row[i].gpu * TOKENS + row[i].token));
            assert_memory_equal(x[i], a.x[row[i].gpu][row[i].token], 2 * ROW);
        }
        assert_int_equal(x[max < 4 ? max : 4][0], 0xeeee);
    }
    assert_int_equal(row[0].gpu, 3); // from the last one on
    assert_code(mw_received(a.handle, EXPERTS - 1, row, x[0], ROWS, &count, NULL), 0);
    assert_int_equal(count, 0);
    // a table with other contents: a row twice, one too many, one beyond, one of another epoch
    uint32_t *entry = (uint32_t *)(void *)(fake.mem[0] + layout.al_base);
    const uint32_t was = entry[0];
    assert_true(was >> 31);
    for (unsigned i = 0; i < 3; i++) {
        entry[0] = i == 0 ? 0 : i == 1 ? was + 100 : was ^ UINT32_C(1) << 29;
        assert_code(mw_received(a.handle, 0, row, NULL, ROWS, &count, NULL), MW_ERR_DEVICE);
        assert_message("the allocation table of expert 0 does not describe its rows");
    }
    entry[0] = was;
    entry[1] = was; // GPU 0's token 1 is not this expert's
    assert_code(mw_received(a.handle, 0, row, NULL, ROWS, &count, NULL), MW_ERR_DEVICE);
    entry[1] = 0;
    entry[3 << layout.token_shift] = was; // row 3 twice, row 0 of GPU 3's token 0 not at all
    assert_code(mw_received(a.handle, 0, row, NULL, ROWS, &count, NULL), MW_ERR_DEVICE);
    fake_fail_at(&fake, 0);
    assert_code(mw_received(a.handle, 0, row, NULL, ROWS, &count, NULL), MW_ERR_IO);
    fake_fail_at(&fake, FAKE_NEVER);
}

/// Results of the program: all of them, or none.
static void results(void **state)
{
    (void)state;
    uint16_t y[4][ROW];
    for (unsigned i = 0; i < 4 * ROW; i++)
        y[i / ROW][i % ROW] = (uint16_t)(0x4000 + i);
    assert_code(mw_dispatch_start(a.handle, NULL), 0);
    assert_code(mw_dispatch_wait(a.handle, NULL, NULL), 0);
    assert_code(mw_expert_output(a.handle, EXPERTS - 1, NULL, NULL), 0); // it has none
    for (unsigned e = 0; e < EXPERTS - 1; e++) {
        assert_code(mw_combine(a.handle, a.rows, NULL, NULL), MW_ERR_STATE);
        assert_message("results are missing: call mw_expert_output for it");
        assert_code(mw_expert_output(a.handle, e, y[0], NULL), 0);
        for (unsigned i = 0; i < 4; i++)
            assert_memory_equal(fake.mem[e] + layout.yd_base + (i << layout.row_shift), y[i],
                                2 * ROW);
    }
    assert_code(mw_handle_set(a.handle, "tile", 2), MW_ERR_STATE);
    assert_code(mw_layer_run(a.handle, a.rows, NULL, NULL), MW_ERR_STATE);
    assert_message("mw_expert_output has written results");
    combines(&a);
    assert_int_equal(fake.mem[1][layout.stream[0]], MW_I_DYMULTIMEM_LD_REDUCE);
    // they are not replaced by other results
    assert_code(mw_combine(a.handle, a.rows, NULL, NULL), MW_ERR_STATE);
    assert_message("call mw_dispatch_start");
    assert_code(mw_dispatch_start(a.handle, NULL), 0);
    combines(&a);
    assert_int_equal(fake.mem[1][layout.stream[0]], MW_I_COUNT);
}

/// Anything else that begins on the device overwrites only the rows.
static void overwritten(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 9; way++) {
        uint16_t y[4][ROW] = {{0}};
        assert_code(mw_dispatch_start(a.handle, NULL), 0);
        if (way != 1) // which waits for it
            assert_code(mw_dispatch_wait(a.handle, NULL, NULL), 0);
        if (way == 8)
            assert_code(mw_expert_output(a.handle, 0, y[0], NULL), 0);
        switch (way) {
        case 0:
        case 1:
            assert_code(mw_dispatch_start(b.handle, NULL), 0);
            break;
        case 2:
            combines(&b);
            break;
        case 3:
            assert_code(mw_layer_run(b.handle, b.rows, NULL, NULL), 0);
            break;
        case 4:
            assert_code(mw_reset(device), 0);
            break;
        case 5:
            *fake_fabric(&fake, FABRIC(down)) = 2;
            assert_code(mw_port_enable(device, 1), 0);
            break;
        case 6:
            assert_code(mw_handle_set(a.handle, "tile", 3), 0);
            break;
        default:
            start();
            assert_code(mw_wait(device, NULL, NULL), 0);
        }
        expect_prepared(&a);
        if (way == 8) {
            assert_code(mw_combine(a.handle, a.rows, NULL, NULL), MW_ERR_STATE);
            assert_code(mw_dispatch_start(a.handle, NULL), 0);
        }
        combines(&a);
    }
}

/// Calls that only read, or move other data, do not overwrite the rows.
static void kept(void **state)
{
    (void)state;
    struct mw_counters counters;
    uint8_t data[16];
    struct mw_transfer t = {2, layout.xs_base, sizeof data, data};
    assert_code(mw_dispatch_start(a.handle, NULL), 0);
    assert_code(mw_dispatch_wait(a.handle, NULL, NULL), 0);
    assert_code(mw_counters_read(device, &counters), 0);
    assert_code(mw_mem_read(device, &t, 1), 0);
    assert_code(mw_mem_write(device, &t, 1), 0);
    configure();
    assert_code(mw_dispatch_wait(a.handle, NULL, NULL), 0);
    combines(&a);
    assert_int_equal(fake.go, 2);
}

// ---- ends ---------------------------------------------------------------------------------------

static volatile sig_atomic_t stop;

static void stop_it(struct fake *f)
{
    take_time(f);
    stop = slices % 5 == 0;
}

static int when_stopped(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    (void)context, (void)tokens, (void)total, (void)cycles;
    return stop;
}

static const struct mw_wait_options BY_STOP = {.size = sizeof BY_STOP, .stop = &stop},
                                    BY_PROGRESS = {.size = sizeof BY_PROGRESS,
                                                   .step_cycles = 1000,
                                                   .progress = when_stopped};

static void runs_for_long(void)
{
    slices = 0;
    stop = 0;
    fake.on_run = stop_it;
    fake.stuck = fake.moving = true;
}

static void runs_on(void)
{
    fake.on_run = NULL;
    fake.stuck = fake.moving = false;
    fake.left = 0;
    stop = 0;
}

/// After a canceled phase only a reset helps. Then the same handle starts anew.
static void given_up(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 6; way++) {
        const struct mw_wait_options *o = way % 2 ? &BY_STOP : &BY_PROGRESS;
        const bool second = way >= 4;
        if (!second)
            runs_for_long();
        assert_code(mw_dispatch_start(a.handle, NULL), 0);
        if (second) {
            assert_code(mw_dispatch_wait(a.handle, NULL, NULL), 0);
            runs_for_long();
        }
        assert_code(way < 2 ? mw_dispatch_wait(a.handle, o, NULL)
                            : mw_combine(a.handle, a.rows, o, NULL),
                    MW_ERR_CANCELED);
        assert_true(slices < MOST_SLICES);
        runs_on();
        for (unsigned i = 0; i < 3; i++) {
            assert_code(i == 0   ? mw_dispatch_wait(a.handle, NULL, NULL)
                        : i == 1 ? mw_combine(a.handle, a.rows, NULL, NULL)
                                 : mw_dispatch_start(a.handle, NULL),
                        MW_ERR_STATE);
            assert_message("call mw_reset");
        }
        assert_code(mw_reset(device), 0);
        expect_prepared(&a);
        combines(&a);
    }
}

/// The options of a call that waits for another handle's dispatch end this call, and
/// not that dispatch.
static void others_turn(void **state)
{
    (void)state;
    runs_for_long();
    assert_code(mw_dispatch_start(a.handle, NULL), 0);
    for (unsigned way = 0; way < 6; way++) {
        const struct mw_wait_options *o = way % 2 ? &BY_STOP : &BY_PROGRESS;
        runs_for_long();
        assert_code(way < 2   ? mw_dispatch_start(b.handle, o)
                    : way < 4 ? mw_combine(b.handle, b.rows, o, NULL)
                              : mw_layer_run(b.handle, b.rows, o, NULL),
                    MW_ERR_CANCELED);
        assert_message("canceled before it began");
        assert_true(slices > 0 && slices < MOST_SLICES);
    }
    fake.on_run = NULL;
    fake.stuck = false;
    assert_code(mw_dispatch_wait(a.handle, NULL, NULL), 0);
    combines(&a);
}

/// A dispatch without progress ends a wait only by a time limit, and continues.
static void stuck(void **state)
{
    (void)state;
    const struct mw_wait_options o = {.size = sizeof o, .quiet_cycles = 3000, .step_cycles = 1000};
    fake.stuck = true;
    assert_code(mw_dispatch_start(a.handle, NULL), 0);
    assert_code(mw_dispatch_wait(a.handle, &o, NULL), MW_ERR_TIMEOUT);
    assert_code(mw_combine(a.handle, a.rows, &o, NULL), MW_ERR_TIMEOUT);
    assert_code(mw_combine(b.handle, b.rows, &o, NULL), MW_ERR_TIMEOUT);
    fake.stuck = false;
    combines(&a);
}

/// Errors that the hardware records in the first phase are returned by the first call that reads
/// them.
static void failed(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        size_t count;
        uint16_t x[ROW];
        assert_code(mw_dispatch_start(a.handle, NULL), 0);
        *fake_fabric(&fake, FABRIC(error)) = 1u << 16 | MW_HWERR_BOUNDS;
        if (way == 2) {
            assert_code(mw_wait(device, NULL, NULL), MW_ERR_DEVICE);
            assert_code(mw_received(a.handle, 0, NULL, x, 1, &count, NULL), MW_ERR_DEVICE);
        }
        assert_code(way ? mw_combine(a.handle, a.rows, NULL, NULL)
                        : mw_dispatch_wait(a.handle, NULL, NULL),
                    MW_ERR_DEVICE);
        *fake_fabric(&fake, FABRIC(error)) = 0;
        expect_prepared(&a);
        combines(&a);
    }
}

/// Any call of the transport fails. There is a message of the failure, and the handle works after a
/// reset.
static void any_call_fails(void **state)
{
    (void)state;
    for (long call = 0;; call++) {
        fake_fail_at(&fake, call);
        int status = mw_dispatch_start(a.handle, NULL);
        if (!status)
            status = mw_dispatch_wait(a.handle, NULL, NULL);
        if (!status)
            status = mw_combine(a.handle, a.rows, NULL, NULL);
        fake_fail_at(&fake, FAKE_NEVER);
        if (!status)
            break;
        assert_code(status, MW_ERR_IO);
        assert_true(call < 1000);
        assert_code(mw_reset(device), 0);
        combines(&a);
        assert_code(mw_reset(device), 0);
    }
}

/// A handle that is destroyed while its rows arrive leaves a layer like any other.
static void destroyed(void **state)
{
    (void)state;
    assert_code(mw_dispatch_start(a.handle, NULL), 0);
    mw_handle_destroy(a.handle);
    a.handle = NULL;
    assert_code(mw_launch(device), MW_ERR_STATE);
    assert_message("a dispatch runs");
    assert_code(mw_wait(device, NULL, NULL), 0);
    combines(&b);
}

static int inner[3];

static int call_inside(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    (void)context, (void)tokens, (void)total, (void)cycles;
    inner[0] = mw_dispatch_start(b.handle, NULL);
    inner[1] = mw_combine(b.handle, b.rows, NULL, NULL);
    inner[2] = mw_layer_run(b.handle, b.rows, NULL, NULL);
    return 0;
}

static void inside(void **state)
{
    (void)state;
    const struct mw_wait_options o = {
        .size = sizeof o, .step_cycles = 100, .progress = call_inside};
    assert_code(mw_combine(a.handle, a.rows, &o, NULL), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_code(inner[i], MW_ERR_STATE);
    assert_memory_equal(a.out, a.x, sizeof a.x);
}

static void *cancel_it(void *context)
{
    (void)context;
    while (slices < 3)
        usleep(PAUSE_US);
    mw_cancel(device);
    return NULL;
}

static void by_another(void **state)
{
    (void)state;
    for (unsigned second = 0; second < 2; second++) {
        pthread_t thread;
        runs_for_long();
        fake.on_run = take_time;
        assert_code(mw_dispatch_start(a.handle, NULL), 0);
        assert_int_equal(pthread_create(&thread, NULL, cancel_it, NULL), 0);
        assert_code(second ? mw_combine(a.handle, a.rows, NULL, NULL)
                           : mw_dispatch_wait(a.handle, NULL, NULL),
                    MW_ERR_CANCELED);
        pthread_join(thread, NULL);
        runs_on();
        assert_code(mw_reset(device), 0);
        combines(&a);
    }
}

static struct asker other;
static unsigned runs, asks_at;

static void ask_at_a_phases_end(struct fake *f)
{
    (void)f;
    if (++runs == asks_at)
        begin_asking(&other);
}

static int close_it(struct mw_device *d)
{
    mw_close(d);
    return 0;
}

/// A call that gets the device between two phases, or after the last one, before mw_combine
/// continues.
static void between_phases(void **state)
{
    static int (*const calls[])(struct mw_device *) = {mw_reset, mw_cancel, close_it};
    static const int codes[] = {MW_ERR_CANCELED, MW_ERR_CANCELED, MW_ERR_STATE};
    for (unsigned way = 0; way < 9; way++) {
        const bool fused = way % 3 == 2;
        runs = 0;
        asks_at = fused ? 1 : 1 + way % 3;
        other.call = calls[way / 3];
        fake.on_run = ask_at_a_phases_end;
        const int code = (fused ? mw_layer_run : mw_combine)(a.handle, a.rows, NULL, NULL);
        pthread_join(other.thread, NULL);
        if (code != codes[way / 3])
            fail_msg("way %u: %d", way, code);
        assert_code(other.code, 0);
        assert_int_equal(runs, asks_at);
        fake.on_run = NULL;
        if (other.call != close_it) {
            combines(&a);
            continue;
        }
        device = NULL;
        assert_int_equal(teardown(state), 0);
        assert_int_equal(setup(state), 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(states),         TEST(programs),   TEST(received),       TEST(results),
        TEST(overwritten),    TEST(kept),       TEST(given_up),       TEST(stuck),
        TEST(any_call_fails), TEST(failed),     TEST(others_turn),    TEST(inside),
        TEST(destroyed),      TEST(by_another), TEST(between_phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
