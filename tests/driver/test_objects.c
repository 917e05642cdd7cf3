// SPDX-License-Identifier: Apache-2.0
//
// Several objects, handles and threads on one device: each gets its own rows, or a failure with its
// reason. The fake's layers return the hidden values that the device holds when they begin.
#include "fake_device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACE(gpu, local) (1u << 13 | (gpu) << 6 | (local))

enum { GPUS = 4, K = 2, TOKENS = 3, HIDDEN = 12, EXPERTS = 8, ROWS = GPUS * TOKENS };

static int setup(void **state)
{
    (void)state;
    fake_init(&fake, GPUS, 8);
    fake.echo = true;
    return fake_open(&fake, &device);
}

/// The data of one layer, which differ from those of another number in every row.
struct layer {
    uint16_t x[GPUS][TOKENS][HIDDEN], out[GPUS][TOKENS][HIDDEN];
    int16_t idx[GPUS][TOKENS][K];
    float weights[GPUS][TOKENS][K];
    uint16_t coefficient[EXPERTS];
    uint16_t *rows[GPUS];
    struct mw_tokens part[GPUS];
};

static void make_layer(struct layer *l, unsigned number)
{
    memset(l, 0, sizeof *l);
    for (unsigned g = 0; g < GPUS; g++) {
        for (unsigned t = 0; t < TOKENS; t++) {
            for (unsigned i = 0; i < HIDDEN; i++)
                l->x[g][t][i] = (uint16_t)(1 + number * 5000 + g * 1000 + t * 100 + i);
            for (unsigned j = 0; j < K; j++)
                l->idx[g][t][j] = (int16_t)((g + t + 3 * j) % EXPERTS);
        }
        l->rows[g] = l->out[g][0];
        l->part[g] = (struct mw_tokens){TOKENS, l->x[g][0], l->idx[g][0], l->weights[g][0]};
    }
}

static struct mw_dymulticast *make_object(unsigned experts)
{
    const struct mw_dymulticast_prop prop = {.size = sizeof prop,
                                             .block_bytes = 2 * HIDDEN,
                                             .region_sets = 2,
                                             .k = K,
                                             .experts = experts};
    struct mw_dymulticast *m;
    assert_code(mw_dymulticast_create(device, &prop, &m), 0);
    assert_code(mw_dymulticast_bind_addr(m, GPUS * TOKENS, ROWS), 0);
    return m;
}

static void assert_own_rows(struct layer *l)
{
    assert_memory_equal(l->out, l->x, sizeof l->x);
    memset(l->out, 0, sizeof l->out);
}

// ---- handles ------------------------------------------------------------------------------------

/// Each handle gives its own rows, after any other dispatches, and in each of several combines.
static void handles(void **state)
{
    (void)state;
    static struct layer l[3];
    struct mw_dymulticast *m[2] = {make_object(EXPERTS), make_object(EXPERTS)};
    struct mw_handle *h[3];
    for (unsigned i = 0; i < 3; i++) {
        make_layer(&l[i], i);
        assert_code(mw_dispatch(m[i % 2], l[i].part, l[i].coefficient, &h[i]), 0);
        memset(l[i].part, 0xff, sizeof l[i].part); // it was copied
    }
    static const unsigned order[] = {0, 1, 0, 0, 2, 1, 2, 0};
    for (unsigned n = 0; n < sizeof order / sizeof *order; n++) {
        struct layer *own = &l[order[n]];
        assert_code(mw_combine(h[order[n]], own->rows, NULL, NULL), 0);
        assert_own_rows(own);
    }
    for (unsigned i = 0; i < 3; i++)
        mw_handle_destroy(h[i]);
    mw_dymulticast_destroy(m[0]);
    mw_dymulticast_destroy(m[1]);
}

/// If a program overwrites the object's memory, its layers are still right.
static void written_over(void **state)
{
    (void)state;
    static struct layer l;
    struct mw_dymulticast *m = make_object(EXPERTS);
    struct mw_layout layout;
    struct mw_handle *h;
    uint8_t junk[256];
    memset(junk, 0xee, sizeof junk);
    make_layer(&l, 1);
    assert_code(mw_dymulticast_layout(m, &layout), 0);
    const struct mw_transfer t = {2, layout.xs_base, 64, junk};
    assert_code(mw_handle_create(m, l.part, l.coefficient, &h), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_code(mw_mem_write(device, &t, 1), 0);
        assert_code(i ? mw_layer_run(h, l.rows, NULL, NULL) : mw_combine(h, l.rows, NULL, NULL), 0);
        assert_own_rows(&l);
    }
    assert_code(mw_dispatch_start(h, NULL), 0);
    assert_code(mw_mem_write(device, &t, 1), MW_ERR_STATE);
    assert_message("a dispatch runs: call mw_dispatch_wait");
    mw_handle_destroy(h);
    mw_dymulticast_destroy(m);
}

/// A handle uses the binding at the time of its dispatch.
static void bound_anew(void **state)
{
    (void)state;
    static struct layer l;
    struct mw_dymulticast *m = make_object(EXPERTS);
    struct mw_handle *h;
    make_layer(&l, 1);
    assert_code(mw_dispatch(m, l.part, l.coefficient, &h), 0);
    assert_code(mw_dymulticast_bind_addr(m, 64 * GPUS, ROWS), 0);
    assert_code(mw_combine(h, l.rows, NULL, NULL), 0);
    assert_own_rows(&l);
    mw_handle_destroy(h);
    mw_dymulticast_destroy(m);
}

enum { THREADS = 3, ROUNDS = 40 };

struct user {
    struct layer l;
    unsigned number, right;
    int code;
};

static void *use(void *context)
{
    struct user *u = context;
    const struct mw_dymulticast_prop prop = {.size = sizeof prop,
                                             .block_bytes = 2 * HIDDEN,
                                             .region_sets = 2,
                                             .k = K,
                                             .experts = EXPERTS};
    struct mw_dymulticast *m;
    u->code = mw_dymulticast_create(device, &prop, &m);
    if (!u->code)
        u->code = mw_dymulticast_bind_addr(m, GPUS * TOKENS, ROWS);
    for (unsigned i = 0; i < ROUNDS && !u->code; i++) {
        struct mw_handle *h = NULL;
        make_layer(&u->l, THREADS * i + u->number);
        const bool phases = i % 2;
        u->code = (phases ? mw_dispatch : mw_handle_create)(m, u->l.part, u->l.coefficient, &h);
        usleep(100); // the others' turn
        if (!u->code)
            u->code = (phases ? mw_combine : mw_layer_run)(h, u->l.rows, NULL, NULL);
        mw_handle_destroy(h);
        u->right += memcmp(u->l.out, u->l.x, sizeof u->l.x) == 0;
    }
    mw_dymulticast_destroy(m);
    return NULL;
}

static void threads(void **state)
{
    (void)state;
    static struct user u[THREADS];
    pthread_t thread[THREADS];
    fake.layer_cycles = 5000; // some slices
    for (unsigned i = 0; i < THREADS; i++) {
        u[i] = (struct user){.number = i};
        assert_int_equal(pthread_create(&thread[i], NULL, use, &u[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_code(u[i].code, 0);
        assert_int_equal(u[i].right, ROUNDS);
    }
    assert_true(fake.go >= 3 * THREADS * ROUNDS / 2); // half of the layers have two phases
}

struct second {
    struct layer l;
    struct mw_handle *handle;
    int code;
};

static void *run_layer(void *context)
{
    struct second *s = context;
    s->code = mw_layer_run(s->handle, s->l.rows, NULL, NULL);
    return NULL;
}

/// At the first poll of a combine, run another handle's layer from begin to end.
static int overtake(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    (void)tokens;
    (void)total;
    (void)cycles;
    struct second *s = context;
    pthread_t thread;
    if (s->code == 1) {
        assert_int_equal(pthread_create(&thread, NULL, run_layer, s), 0);
        pthread_join(thread, NULL);
    }
    return 0;
}

/// A combine waits for its own dispatch. When that ends, another layer begins first and overwrites
/// the rows.
static void overtaken(void **state)
{
    (void)state;
    static struct layer l;
    static struct second s;
    const struct mw_wait_options o = {
        .size = sizeof o, .step_cycles = 1000, .progress = overtake, .progress_context = &s};
    struct mw_dymulticast *m = make_object(EXPERTS);
    struct mw_handle *h;
    fake.layer_cycles = 5000;
    make_layer(&l, 1);
    make_layer(&s.l, 2);
    s.code = 1; // not run yet
    assert_code(mw_handle_create(m, s.l.part, s.l.coefficient, &s.handle), 0);
    assert_code(mw_dispatch(m, l.part, l.coefficient, &h), 0);
    assert_code(mw_combine(h, l.rows, &o, NULL), 0);
    assert_code(s.code, 0);
    assert_own_rows(&l);
    assert_own_rows(&s.l);
    mw_handle_destroy(h);
    mw_handle_destroy(s.handle);
    mw_dymulticast_destroy(m);
}

// ---- maps ---------------------------------------------------------------------------------------

/// Each layer begins with the map of its object. A layer of mw_launch uses the map of
/// mw_expert_map_set.
static void maps(void **state)
{
    (void)state;
    static struct layer l[2];
    struct mw_dymulticast *m[2] = {make_object(EXPERTS), make_object(2 * EXPERTS)};
    struct mw_handle *h[2];
    const struct mw_expert_place set = {5, 3, 7};
    assert_code(mw_expert_map_set(device, &set, 1), 0);
    for (unsigned i = 0; i < 2; i++) {
        make_layer(&l[i], i);
        assert_code(mw_dispatch(m[i], l[i].part, l[i].coefficient, &h[i]), 0);
    }
    for (unsigned n = 0; n < 4; n++) {
        unsigned own = n % 2, per_gpu = 2 + 2 * own;
        assert_code(mw_combine(h[own], l[own].rows, NULL, NULL), 0);
        for (unsigned e = 0; e < EXPERTS * (1 + own); e++)
            assert_int_equal(fake.emap_at_go[e], PLACE(e / per_gpu, e % per_gpu));
    }
    struct mw_layer_config c = small_config();
    struct mw_layout layout;
    const unsigned some[GPUS] = {0};
    assert_code(mw_layout_make(device, &c, &layout), 0);
    assert_code(mw_layer_configure(device, &c, &layout, some, some, 1), 0);
    assert_code(mw_launch(device), 0);
    assert_int_equal(fake.emap_at_go[5], PLACE(3, 7));
    assert_code(mw_wait(device, NULL, NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        mw_handle_destroy(h[i]);
        mw_dymulticast_destroy(m[i]);
    }
}

/// The calls for all GPUs write the expected bytes, and read them back.
static void data(void **state)
{
    (void)state;
    static struct layer l;
    struct mw_layer_config c = small_config();
    struct mw_layout layout;
    const unsigned tokens[GPUS] = {TOKENS, 1, 0, TOKENS};
    uint16_t coefficient[EXPERTS];
    uint8_t entry[MW_ROUTE_BYTES];
    make_layer(&l, 2);
    for (unsigned e = 0; e < EXPERTS; e++)
        coefficient[e] = (uint16_t)(0x3f80 + e);
    assert_code(mw_layout_make(device, &c, &layout), 0);
    for (unsigned g = 0; g < GPUS; g++)
        l.part[g].tokens = tokens[g];
    const unsigned shift = layout.row_shift;
    assert_code(mw_rows_load(device, layout.xs_base, 2 * HIDDEN, shift, l.part), 0);
    assert_code(mw_rows_read(device, layout.xs_base, 2 * HIDDEN, shift, tokens, l.rows), 0);
    assert_code(mw_routing_load(device, layout.rt_base, K, l.part), 0);
    assert_code(mw_coefficients_load(device, &layout, EXPERTS / GPUS, coefficient), 0);
    assert_code(mw_expert_map_even(device, EXPERTS), 0);
    for (unsigned g = 0; g < GPUS; g++) {
        for (unsigned t = 0; t < TOKENS; t++) {
            static const uint16_t none[HIDDEN];
            assert_memory_equal(l.out[g][t], t < tokens[g] ? l.x[g][t] : none, 2 * HIDDEN);
            mw_route_pack(entry, l.idx[g][t], l.weights[g][t], K);
            if (t < tokens[g])
                assert_memory_equal(fake.mem[g] + layout.rt_base + t * MW_ROUTE_BYTES, entry,
                                    sizeof entry);
        }
        assert_memory_equal(fake.mem[g] + layout.ce_base, &coefficient[2 * g], 4);
    }
    for (unsigned e = 0; e < EXPERTS; e++)
        assert_int_equal(*fake_fabric(&fake, FABRIC(emap) + 4 * e), PLACE(e / 2, e % 2));
}

/// A configuration that a combine has overwritten is not launched.
static void configurations(void **state)
{
    (void)state;
    static struct layer l;
    struct mw_dymulticast *m = make_object(EXPERTS);
    struct mw_handle *h;
    struct mw_layer_config c = small_config();
    struct mw_layout layout;
    const unsigned some[GPUS] = {0};
    make_layer(&l, 0);
    assert_code(mw_layout_make(device, &c, &layout), 0);
    assert_code(mw_layer_configure(device, &c, &layout, some, some, 1), 0);
    assert_code(mw_dispatch(m, l.part, l.coefficient, &h), 0);
    assert_code(mw_combine(h, l.rows, NULL, NULL), 0);
    assert_code(mw_launch(device), MW_ERR_STATE);
    assert_message("no layer was configured");
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_STATE); // the result was the combine's
    mw_handle_destroy(h);
    mw_dymulticast_destroy(m);
}

// ---- lifetimes ----------------------------------------------------------------------------------

static void destroyed_object(void **state)
{
    (void)state;
    static struct layer l;
    struct mw_dymulticast *m = make_object(EXPERTS);
    struct mw_handle *h;
    make_layer(&l, 0);
    assert_code(mw_dispatch(m, l.part, l.coefficient, &h), 0);
    mw_dymulticast_destroy(m);
    assert_code(mw_combine(h, l.rows, NULL, NULL), MW_ERR_STATE);
    assert_message("its object was destroyed");
    assert_code(mw_dispatch_wait(h, NULL, NULL), MW_ERR_STATE);
    assert_code(mw_layer_run(h, l.rows, NULL, NULL), MW_ERR_STATE);
    assert_int_equal(fake.go, 1);
    mw_handle_destroy(h);
}

static void closed_device(void **state)
{
    (void)state;
    static struct layer l;
    struct mw_dymulticast *m = make_object(EXPERTS);
    struct mw_multicast *group;
    struct mw_handle *h, *none;
    make_layer(&l, 0);
    assert_code(mw_multicast_create(device, 64, &group), 0);
    assert_code(mw_multicast_add_device(group, 0), 0);
    assert_code(mw_dispatch(m, l.part, l.coefficient, &h), 0);
    mw_close(device);
    device = NULL;
    assert_int_equal(fake.closed, 1);
    assert_code(mw_combine(h, l.rows, NULL, NULL), MW_ERR_STATE);
    assert_message("the device was closed");
    assert_code(mw_dispatch(m, l.part, l.coefficient, &none), MW_ERR_STATE);
    assert_code(mw_multicast_bind_addr(group, 0), MW_ERR_STATE);
    mw_dymulticast_destroy(m);
    mw_multicast_destroy(group);
    mw_handle_destroy(h);
}

// ---- limits -------------------------------------------------------------------------------------

static void limits(void **state)
{
    (void)state;
    static struct layer l;
    struct mw_dymulticast *m = make_object(EXPERTS);
    struct mw_handle *h;
    make_layer(&l, 0);
    for (unsigned g = 0; g < GPUS; g++)
        for (unsigned t = 0; t < TOKENS; t++)
            l.idx[g][t][0] = (int16_t)(g ? 1 + (g + t) % 5 : 0); // expert 0 gets GPU 0's tokens
    for (unsigned g = 0; g < GPUS; g++)
        for (unsigned t = 0; t < TOKENS; t++)
            l.idx[g][t][1] = -1;
    l.idx[1][0][1] = 0; // and one more: 4
    assert_code(mw_dymulticast_bind_addr(m, GPUS * TOKENS, 3), 0);
    assert_code(mw_dispatch(m, l.part, l.coefficient, &h), MW_ERR_CAPACITY);
    assert_message("expert 0 of GPU 0 gets 4 rows, its region holds 3: bind with "
                   "rows_per_expert 4 or more");
    l.idx[1][0][1] = -1;
    assert_code(mw_dispatch(m, l.part, l.coefficient, &h), 0);
    assert_code(mw_handle_set(h, "window", 16), 0);
    assert_code(mw_handle_set(h, "window", 17), MW_ERR_CAPACITY);
    assert_message("window: 17, the device holds 16");
    assert_code(mw_handle_set(h, "open_rows", 9), MW_ERR_CAPACITY);
    static const char *const of_own_streams[] = {"tile_reductions", "merge_loads", "row_returns",
                                                 "source_lists"};
    for (unsigned i = 0; i < sizeof of_own_streams / sizeof *of_own_streams; i++) {
        assert_code(mw_handle_set(h, of_own_streams[i], 1), MW_ERR_INVALID);
        assert_message("the programs of a handle do not use it");
        assert_code(mw_handle_set(h, of_own_streams[i], 0), 0);
    }
    assert_code(mw_combine(h, l.rows, NULL, NULL), 0); // with what it had
    assert_own_rows(&l);
    mw_handle_destroy(h);
    mw_dymulticast_destroy(m);
    // the same setting through a configuration
    struct mw_layer_config c = small_config();
    struct mw_layout layout;
    const unsigned some[GPUS] = {0};
    assert_code(mw_layout_make(device, &c, &layout), 0);
    c.window = 17;
    assert_code(mw_layer_configure(device, &c, &layout, some, some, 1), MW_ERR_CAPACITY);
    c.window = 0;
    c.tokens_per_gpu = 70000; // more than the register has bits for
    assert_code(mw_layer_configure(device, &c, &layout, some, some, 1), MW_ERR_CAPACITY);
}

// ---- groups -------------------------------------------------------------------------------------

static struct mw_multicast *make_group(unsigned a, unsigned b)
{
    struct mw_multicast *m;
    assert_code(mw_multicast_create(device, 64, &m), 0);
    assert_code(mw_multicast_add_device(m, a), 0);
    assert_code(mw_multicast_add_device(m, b), 0);
    return m;
}

/// A group that is not bound has no members, for any contents of the table at first and after a
/// reset. Neither has a destroyed one.
static void groups(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 16; i++)
        *fake_fabric(&fake, FABRIC(groups) + 16 * i) = 0xf;
    fake_reopen();
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(*fake_fabric(&fake, FABRIC(groups) + 16 * i), 0);
    struct mw_multicast *a = make_group(0, 1), *b = make_group(2, 3);
    assert_code(mw_multicast_bind_addr(a, 0), 0);
    assert_code(mw_multicast_bind_addr(b, 0), 0);
    mw_multicast_destroy(a);
    assert_int_equal(*fake_fabric(&fake, FABRIC(groups)), 0);
    assert_int_equal(*fake_fabric(&fake, FABRIC(groups) + 16), 12);
    // after a reset, in which the tables become anything, all of them are as before
    assert_code(mw_reset(device), 0);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(*fake_fabric(&fake, FABRIC(groups) + 16 * i), i == 1 ? 12 : 0);
    // while a layer runs, its table stays unchanged. The next layer begins without the group
    struct mw_layer_config c = small_config();
    struct mw_layout layout;
    const unsigned some[GPUS] = {0};
    assert_code(mw_layout_make(device, &c, &layout), 0);
    assert_code(mw_layer_configure(device, &c, &layout, some, some, 1), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_code(mw_launch(device), 0);
        assert_int_equal(fake.groups_at_go[4], i ? 0 : 12);
        mw_multicast_destroy(i ? NULL : b);
        assert_code(mw_wait(device, NULL, NULL), 0);
    }
}

/// The same if the transport gathers writes.
static void bind_fails(void **state)
{
    (void)state;
    fake.lists = true;
    fake_reopen();
    struct mw_multicast *m = make_group(0, 1);
    fake_fail_at(&fake, 0);
    assert_code(mw_multicast_bind_addr(m, 0), MW_ERR_IO);
    fake_fail_at(&fake, FAKE_NEVER);
    assert_code(mw_multicast_group(m), MW_ERR_STATE);
    mw_multicast_destroy(m);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_teardown)
    const struct CMUnitTest tests[] = {
        TEST(handles),          TEST(written_over),  TEST(bound_anew), TEST(threads),
        TEST(overtaken),        TEST(maps),          TEST(data),       TEST(configurations),
        TEST(destroyed_object), TEST(closed_device), TEST(limits),     TEST(groups),
        TEST(bind_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
