// SPDX-License-Identifier: Apache-2.0
//
// Several objects, handles and threads use one device at once, on the real model. Every layer has
// its golden bits. What is canceled or reset leaves no trace. Groups that are not bound reach no
// GPU.
#include "system/layers.h"

#include <pthread.h>

enum { GPUS = 4, FLIT = 8, LAYERS = 3, THREADS = 2, ROUNDS = 3, BLOCK = 256 };

static const struct layer_shape shapes[LAYERS] = {
    {GPUS, 6, 32, 8, 3, false}, {GPUS, 9, 64, 16, 4, true}, {GPUS, 3, 48, 4, 2, false}};

static void combine(struct layer *l, struct mw_handle *h, bool fused, const char *what)
{
    uint16_t *rows[GPUS];
    for (unsigned g = 0; g < GPUS; g++)
        rows[g] = l->out + (size_t)g * l->w.shape.tokens_per_gpu * l->w.shape.hidden;
    int status = (fused ? mw_layer_run : mw_combine)(h, rows, NULL, NULL);
    if (status)
        fail_msg("%s: %s: %s", what, mw_strerror(status), mw_message());
    layer_is_right(l, what);
    memset(l->out, 0, (size_t)l->w.tokens * l->w.shape.hidden * sizeof *l->out);
}

/// Objects of different shapes, all dispatched before any is combined, in every order.
static void handles(void **state)
{
    (void)state;
    struct mw_random r = {test_seed()};
    struct mw_device *d = layer_device(GPUS, FLIT);
    struct mw_dymulticast *object[LAYERS];
    struct mw_handle *handle[LAYERS];
    struct layer l[LAYERS];
    for (unsigned i = 0; i < LAYERS; i++) {
        layer_make(&l[i], &shapes[i], &r);
        layer_load(&l[i], d, &object[i], &handle[i]);
    }
    static const unsigned order[] = {0, 1, 2, 2, 0, 2, 1, 0};
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
        combine(&l[order[i]], handle[order[i]], i % 3 == 0, "one of several handles");
    for (unsigned i = 0; i < LAYERS; i++) {
        mw_handle_destroy(handle[i]);
        mw_dymulticast_destroy(object[i]);
        layer_free(&l[i]);
    }
    mw_close(d);
}

struct user {
    pthread_t thread;
    struct mw_device *device;
    struct layer l;
    struct mw_dymulticast *object;
    struct mw_handle *handle;
    unsigned right;
};

static void *use(void *context)
{
    struct user *u = context;
    const size_t values = (size_t)u->l.w.tokens * u->l.w.shape.hidden;
    uint16_t *rows[GPUS];
    for (unsigned g = 0; g < GPUS; g++)
        rows[g] = u->l.out + g * values / GPUS;
    for (unsigned i = 0; i < ROUNDS; i++)
        u->right += !mw_combine(u->handle, rows, NULL, NULL) &&
                    !memcmp(u->l.out, u->l.golden, values * sizeof *u->l.out);
    return NULL;
}

/// A thread for each object.
static void threads(void **state)
{
    (void)state;
    struct mw_random r = {test_seed()};
    struct mw_device *d = layer_device(GPUS, FLIT);
    struct user u[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        u[i] = (struct user){.device = d};
        layer_make(&u[i].l, &shapes[i], &r);
        layer_load(&u[i].l, d, &u[i].object, &u[i].handle);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&u[i].thread, NULL, use, &u[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(u[i].thread, NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(u[i].right, ROUNDS);
        mw_handle_destroy(u[i].handle);
        mw_dymulticast_destroy(u[i].object);
        layer_free(&u[i].l);
    }
    mw_close(d);
}

static int at_once(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    (void)context, (void)tokens, (void)total, (void)cycles;
    return 1;
}

/// A layer that is canceled in its middle. After a reset the same handle gives the golden bits, in
/// its usual cycles.
static void reset(void **state)
{
    (void)state;
    struct mw_random r = {test_seed()};
    struct mw_device *d = layer_device(GPUS, FLIT);
    struct layer l;
    layer_make(&l, &shapes[1], &r);
    uint64_t cycles = layer_pass(&l, d, "alone");
    for (uint64_t at = 50; at < cycles; at += cycles / 4) {
        const struct mw_wait_options o = {.size = sizeof o, .step_cycles = at, .progress = at_once};
        assert_int_equal(layer_run(&l, d, &o), MW_ERR_CANCELED);
        uint8_t data[16];
        const struct mw_transfer t = {0, 0, sizeof data, data};
        assert_int_equal(mw_mem_read(d, &t, 1), MW_ERR_STATE);
        assert_int_equal(mw_reset(d), 0);
        assert_int_equal(layer_pass(&l, d, "behind a reset"), cycles);
    }
    layer_free(&l);
    mw_close(d);
}

// ---- groups -------------------------------------------------------------------------------------

struct copies {
    struct mw_device *d;
    struct mw_layer_config config;
    struct mw_layout layout;
};

typedef int (*instruction)(struct mw_stream *s, unsigned group, uint64_t from, uint32_t bytes,
                           uint64_t to);

/// GPU 1 runs `op` with a block and that group. Returns the status of the layer, and the scratch
/// areas after it.
static int copy(const struct copies *t, instruction op, unsigned group, uint8_t (*got)[2 * BLOCK])
{
    const unsigned none[GPUS] = {0};
    struct mw_stream s[GPUS];
    struct mw_transfer list[GPUS];
    for (unsigned g = 0; g < GPUS; g++) {
        mw_stream_init(&s[g]);
        if (g == 1)
            op(&s[g], group, t->layout.scratch, BLOCK, t->layout.scratch + BLOCK);
        assert_int_equal(mw_stream_end(&s[g]), 0);
        memset(got[g], (int)(16 * g + 1), BLOCK);
        memset(got[g] + BLOCK, 0xee, BLOCK);
        list[g] = (struct mw_transfer){g, t->layout.scratch, 2 * BLOCK, got[g]};
    }
    assert_int_equal(mw_mem_write(t->d, list, GPUS), 0);
    assert_int_equal(mw_stream_load(t->d, &t->layout, s, 1), 0);
    assert_int_equal(mw_layer_configure(t->d, &t->config, &t->layout, none, none, 1), 0);
    assert_int_equal(mw_launch(t->d), 0);
    int status = mw_wait(t->d, NULL, NULL);
    assert_int_equal(mw_mem_read(t->d, list, GPUS), 0);
    return status;
}

static void expect_nothing(const struct copies *t, unsigned group)
{
    static const instruction ops[] = {mw_stream_multimem_st, mw_stream_multimem_red,
                                      mw_stream_multimem_ld_reduce};
    static uint8_t got[GPUS][2 * BLOCK];
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(copy(t, ops[i], group, got), MW_ERR_DEVICE);
        if (!strstr(mw_message(), mw_hw_strerror(MW_HWERR_UNMAPPED)))
            fail_msg("instruction %u: %s", i, mw_message());
        for (unsigned g = 0; g < GPUS; g++)
            for (unsigned b = BLOCK; b < 2 * BLOCK && (i == 0 || g != 1); b++)
                assert_int_equal(got[g][b], 0xee);
    }
}

/// A group that was never bound, one that was and is destroyed, and one that a reset has not
/// removed.
static void groups(void **state)
{
    (void)state;
    static uint8_t got[GPUS][2 * BLOCK];
    struct copies t = {.d = layer_device(GPUS, FLIT)};
    struct mw_multicast *m;
    mw_layer_defaults(&t.config);
    t.config.k = 1;
    t.config.row_bytes = 64;
    t.config.scratch_bytes = 2 * BLOCK;
    assert_int_equal(mw_layout_make(t.d, &t.config, &t.layout), 0);
    expect_nothing(&t, 0);
    expect_nothing(&t, 15);
    assert_int_equal(mw_multicast_create(t.d, 2 * BLOCK, &m), 0);
    for (unsigned g = 0; g < GPUS; g++)
        assert_int_equal(mw_multicast_add_device(m, g), 0);
    assert_int_equal(mw_multicast_bind_addr(m, t.layout.scratch), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(copy(&t, mw_stream_multimem_st, 0, got), 0);
        for (unsigned g = 0; g < GPUS; g++)
            for (unsigned b = BLOCK; b < 2 * BLOCK; b++)
                assert_int_equal(got[g][b], 17);
        assert_int_equal(mw_reset(t.d), 0);
    }
    mw_multicast_destroy(m);
    expect_nothing(&t, 0);
    mw_close(t.d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(handles), cmocka_unit_test(threads),
                                       cmocka_unit_test(reset), cmocka_unit_test(groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
