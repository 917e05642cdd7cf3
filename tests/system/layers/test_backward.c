// SPDX-License-Identifier: Apache-2.0
//
// Cached handles of the library on the real model, N = 2 and 4. A forward layer runs as one program
// or two. Then layers of gradients follow its routes, in every way, with golden bits of dX and dw.
// The program can replace the experts. Every error has its name, and occurs before any data moves.
#include "system/layers.h"

enum { FLIT = 8, MOST_GPUS = 4, MOST_ROWS = 64, MOST_HIDDEN = 2 * MW_SCALE_BLOCK };

struct backward {
    struct mw_random r;
    struct mw_device *d;
    struct layer l;
    unsigned gpus;
    size_t values, places; ///< of all tokens
    struct mw_dymulticast *object;
    struct mw_handle *handle;
    uint16_t *dy, *golden, *rows[MOST_GPUS];
    const uint16_t *grads[MOST_GPUS];
    float *dw, *of_gpu[MOST_GPUS];
    uint32_t *want;
};

static struct backward t;

static void done(int status)
{
    if (status)
        fail_msg("%s: %s", mw_strerror(status), mw_message());
}

static void refused(int status, int code, const char *why)
{
    assert_int_equal(status, code);
    if (!strstr(mw_message(), why))
        fail_msg("'%s' does not say '%s'", mw_message(), why);
}

static void *of(size_t count, size_t size)
{
    void *p = calloc(count, size);
    assert_non_null(p);
    return p;
}

/// The golden rows of dX, and the golden gradients.
static void make_golden(void)
{
    struct mw_workload w = t.l.w;
    struct mw_layer layer = *w.layer;
    for (unsigned i = 0; t.l.gradients && i < w.tokens; i++)
        mw_golden_gradients(&w, 0, i, layer.x + (size_t)i * w.shape.hidden,
                            t.dy + (size_t)i * w.shape.hidden, t.want + (size_t)i * w.k);
    layer.x = t.dy;
    layer.scales = NULL;
    w.layer = &layer;
    w.shape.dispatch_type = MW_ROWTYPE_BF16;
    mw_golden_layer(&w, 0, t.golden);
}

static void set_up_typed(const struct layer_shape *shape, unsigned type, bool gradients)
{
    layer_make_typed(&t.l, shape, type, &t.r);
    t.l.cached = true;
    t.l.gradients = gradients;
    layer_load(&t.l, t.d, &t.object, &t.handle);
    const size_t own = (size_t)shape->tokens * shape->hidden,
                 lists = (size_t)shape->tokens * shape->k;
    t.values = shape->gpus * own;
    t.places = shape->gpus * lists;
    t.dy = of(t.values, sizeof *t.dy);
    t.golden = of(t.values, sizeof *t.golden);
    t.dw = of(t.places, sizeof *t.dw);
    t.want = of(t.places, sizeof *t.want);
    for (size_t i = 0; i < t.values; i++) // of eight binades, either sign
        t.dy[i] = (uint16_t)(mw_random_below(&t.r, 2) << 15 |
                             (120 + mw_random_below(&t.r, 8)) << 7 | mw_random_below(&t.r, 128));
    for (unsigned g = 0; g < shape->gpus; g++) {
        t.rows[g] = t.l.out + g * own;
        t.grads[g] = t.dy + g * own;
        t.of_gpu[g] = t.dw + g * lists;
    }
    make_golden();
}

static struct layer_shape shape_of(unsigned i)
{
    static const struct layer_shape shapes[] = {{0, 6, 32, 8, 3, false},
                                                {0, 9, 64, 8, 4, true},
                                                {0, 3, 48, 4, 2, false},
                                                {0, 1, 16, 4, 1, true}};
    struct layer_shape s = shapes[i % (sizeof shapes / sizeof *shapes)];
    s.gpus = t.gpus;
    return s;
}

static void set_up(unsigned shape, bool gradients)
{
    const struct layer_shape s = shape_of(shape);
    set_up_typed(&s, MW_ROWTYPE_BF16, gradients);
}

static void clean_up(void)
{
    mw_handle_destroy(t.handle);
    mw_dymulticast_destroy(t.object);
    layer_free(&t.l);
    free(t.dy);
    free(t.golden);
    free(t.dw);
    free(t.want);
}

static int open_gpus(unsigned gpus)
{
    t = (struct backward){.r = {test_seed()}, .gpus = gpus, .d = layer_device(gpus, FLIT)};
    return 0;
}

static int open_2(void **state)
{
    (void)state;
    return open_gpus(2);
}

static int open_4(void **state)
{
    (void)state;
    return open_gpus(4);
}

static int close_it(void **state)
{
    (void)state;
    mw_close(t.d);
    return 0;
}

/// Check the golden bits, then clear them.
static void is_right(const uint16_t *golden, const char *what)
{
    for (size_t i = 0; i < t.values; i++)
        if (t.l.out[i] != golden[i])
            fail_msg("%s: token %zu, element %zu: expected 0x%04x, got 0x%04x", what,
                     i / t.l.w.shape.hidden, i % t.l.w.shape.hidden, golden[i], t.l.out[i]);
    memset(t.l.out, 0, t.values * sizeof *t.l.out);
}

static void gradients_are_right(struct mw_handle *cached, const char *what)
{
    memset(t.dw, 0xee, t.places * sizeof *t.dw);
    done(mw_gate_gradients(cached, t.of_gpu));
    for (size_t i = 0; i < t.places; i++) {
        uint32_t bits;
        memcpy(&bits, &t.dw[i], sizeof bits);
        if (bits != t.want[i])
            fail_msg("%s: place %zu: expected 0x%08x, got 0x%08x", what, i, t.want[i], bits);
    }
}

/// Run a whole layer of a handle, in one program or two. Returns its cycles.
static uint64_t layer_of(struct mw_handle *h, bool fused)
{
    uint64_t cycles = 0;
    if (fused) {
        done(mw_layer_run(h, t.rows, NULL, &cycles));
        return cycles;
    }
    done(mw_dispatch_start(h, NULL));
    done(mw_dispatch_wait(h, NULL, NULL));
    done(mw_combine(h, t.rows, NULL, &cycles));
    return cycles;
}

static void forward(bool fused)
{
    layer_of(t.handle, fused);
    is_right(t.l.golden, "forward");
}

static struct mw_handle *cached(void)
{
    struct mw_handle *h = NULL;
    done(mw_handle_create_cached(t.handle, t.grads, NULL, &h));
    return h;
}

// ---- what they compute --------------------------------------------------------------------------

/// Forward in one program or two, backward in one or two: dX and dw of each, and one layer more.
static void both_passes(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 16; way++) {
        const bool gradients = way & 4;
        set_up(way / 8 + way % 4, gradients);
        if (way & 8)
            done(mw_handle_set(t.handle, "tile", 3));
        forward(way & 1);
        struct mw_handle *h = cached();
        mw_handle_set(h, "expert_cycles", 5);
        layer_of(h, way & 2);
        is_right(t.golden, "backward");
        if (gradients)
            gradients_are_right(h, "backward");
        mw_handle_destroy(h);
        forward(way & 2);
        done(mw_dispatch_cached(t.handle, t.grads, NULL, &h));
        done(mw_combine(h, t.rows, NULL, NULL)); // which waits
        is_right(t.golden, "backward of another layer");
        if (gradients)
            gradients_are_right(h, "backward of another layer");
        mw_handle_destroy(h);
        clean_up();
    }
}

/// The device's counters after a phase: flits of stores, and bytes of payload, of a GPU's uplink.
struct sent {
    unsigned stores[MOST_GPUS], payload[MOST_GPUS];
};

static struct sent sent(void)
{
    struct mw_counters *c = of(1, sizeof *c);
    struct sent s = {0};
    done(mw_counters_read(t.d, c));
    for (unsigned g = 0; g < t.gpus; g++) {
        s.stores[g] = c->port[g].up_flits[1];
        s.payload[g] = c->port[g].up_payload;
    }
    free(c);
    return s;
}

/// A cached layer sends what its forward layer does, without counts of rows. The second phase
/// stores nothing.
static void nothing_is_counted(void **state)
{
    (void)state;
    enum { HEADER = 2 };
    for (unsigned fused = 0; fused < 2; fused++) {
        struct sent of_pass[2];
        set_up(fused, false);
        for (unsigned pass = 0; pass < 2; pass++) {
            struct mw_handle *h = pass ? cached() : t.handle;
            if (fused)
                done(mw_layer_run(h, t.rows, NULL, NULL));
            else
                done(mw_dispatch_start(h, NULL));
            if (!fused)
                done(mw_dispatch_wait(h, NULL, NULL));
            of_pass[pass] = sent();
            if (!fused)
                done(mw_combine(h, t.rows, NULL, NULL));
            is_right(pass ? t.golden : t.l.golden, "backward or forward");
            for (unsigned g = 0; g < t.gpus && !fused; g++)
                assert_int_equal(sent().stores[g], 0);
            if (pass)
                mw_handle_destroy(h);
        }
        for (unsigned g = 0; g < t.gpus; g++) {
            const unsigned counts = of_pass[0].payload[g] - of_pass[1].payload[g];
            assert_true(counts > 0 && counts % ((t.gpus - 1) * FLIT) == 0);
            assert_int_equal(of_pass[0].stores[g] - of_pass[1].stores[g],
                             (t.gpus - 1) * HEADER + counts / FLIT);
        }
        clean_up();
    }
}

/// Other coefficients, and a cached handle of a cached one.
static void coefficients(void **state)
{
    (void)state;
    struct mw_handle *h, *more;
    set_up(0, true);
    uint16_t *own = t.l.w.coefficients, *other = of(t.l.w.experts, sizeof *other);
    for (unsigned e = 0; e < t.l.w.experts; e++)
        other[e] = own[t.l.w.experts - 1 - e];
    t.l.w.coefficients = other;
    make_golden();
    t.l.w.coefficients = own;
    done(mw_layer_run(t.handle, t.rows, NULL, NULL));
    is_right(t.l.golden, "forward");
    done(mw_handle_create_cached(t.handle, t.grads, other, &h));
    done(mw_handle_create_cached(h, t.grads, NULL, &more));
    mw_handle_destroy(h);
    done(mw_combine(more, t.rows, NULL, NULL));
    is_right(t.golden, "other coefficients");
    gradients_are_right(more, "other coefficients");
    mw_handle_destroy(more);
    free(other);
    clean_up();
}

static float value_of(uint16_t bf16)
{
    const uint32_t bits = (uint32_t)bf16 << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/// The program is the experts of both passes: rows of dY lie in the order of the rows of x, with
/// the same weights. It copies each, so that a token comes home as the sum of copies of itself.
static void own_experts(void **state)
{
    (void)state;
    static struct mw_received_row row[2][MOST_ROWS];
    static uint16_t x[MOST_ROWS * MOST_HIDDEN];
    for (unsigned shape = 0; shape < 4; shape++) {
        set_up(shape, true);
        const struct mw_workload *w = &t.l.w;
        const unsigned hidden = w->shape.hidden, tokens = w->shape.tokens_per_gpu;
        static struct mw_received_row first[16][MOST_ROWS];
        struct mw_handle *h = NULL;
        size_t count;
        done(mw_dispatch_start(t.handle, NULL));
        done(mw_dispatch_wait(t.handle, NULL, NULL));
        for (unsigned e = 0; e < w->experts; e++) {
            done(mw_received(t.handle, e, first[e], x, MOST_ROWS, &count, NULL));
            done(mw_expert_output(t.handle, e, x, NULL));
        }
        done(mw_combine(t.handle, t.rows, NULL, NULL));
        done(mw_dispatch_cached(t.handle, t.grads, NULL, &h));
        done(mw_dispatch_wait(h, NULL, NULL));
        for (unsigned e = 0; e < w->experts; e++) {
            done(mw_received(h, e, row[0], x, MOST_ROWS, &count, NULL));
            assert_memory_equal(row[0], first[e], count * sizeof **row);
            for (size_t i = 0; i < count; i++)
                assert_memory_equal(
                    x + i * hidden,
                    t.dy + ((size_t)row[0][i].gpu * tokens + row[0][i].token) * hidden, 2 * hidden);
            done(mw_expert_output(h, e, x, NULL));
        }
        done(mw_combine(h, t.rows, NULL, NULL));
        for (size_t token = 0; token < w->tokens; token++) {
            unsigned experts = 0;
            for (unsigned j = 0; j < w->k; j++)
                experts += w->layer->ids[token * w->k + j] != MW_NO_EXPERT;
            for (unsigned i = 0; i < hidden && experts < 3; i++) { // doubling is exact
                const size_t at = token * hidden + i;
                assert_true(value_of(t.l.out[at]) == (float)experts * value_of(t.dy[at]));
            }
        }
        refused(mw_gate_gradients(h, t.of_gpu), MW_ERR_STATE,
                "mw_expert_output has written results");
        // once more, by the device's experts
        done(mw_dispatch_start(h, NULL));
        done(mw_combine(h, t.rows, NULL, NULL));
        is_right(t.golden, "after own experts");
        gradients_are_right(h, "after own experts");
        mw_handle_destroy(h);
        clean_up();
    }
}

/// Rows of x in fewer bits, dY in bf16.
static void typed(void **state)
{
    (void)state;
    static const unsigned types[] = {MW_ROWTYPE_E4M3, MW_ROWTYPE_E4M3_BLOCKS, MW_ROWTYPE_NVFP4};
    const struct layer_shape shape = {t.gpus, 4, MW_SCALE_BLOCK, 8, 2, true};
    for (unsigned i = 0; i < 6; i++) {
        static uint16_t x[MOST_ROWS * MOST_HIDDEN];
        size_t count;
        set_up_typed(&shape, types[i % 3], false);
        forward(i & 1);
        struct mw_handle *h = cached();
        layer_of(h, i & 1);
        is_right(t.golden, "backward in bf16");
        mw_handle_destroy(h);
        forward(i & 1);
        done(mw_dispatch_cached(t.handle, t.grads, NULL, &h));
        done(mw_dispatch_wait(h, NULL, NULL));
        done(mw_received(h, 0, NULL, x, MOST_ROWS, &count, NULL));
        mw_handle_destroy(h);
        clean_up();
    }
}

// ---- errors -------------------------------------------------------------------------------------

/// The handle is refused in every way to start a cached layer. A forward layer makes it valid
/// again.
static void expect_stale(struct mw_handle *h, const char *why)
{
    struct mw_handle *none = h;
    struct mw_progress before, after;
    done(mw_query(t.d, &before));
    refused(mw_dispatch_start(h, NULL), MW_ERR_HANDLE, why);
    refused(mw_combine(h, t.rows, NULL, NULL), MW_ERR_HANDLE, why);
    refused(mw_layer_run(h, t.rows, NULL, NULL), MW_ERR_HANDLE, why);
    refused(mw_dispatch_cached(t.handle, t.grads, NULL, &none), MW_ERR_HANDLE, why);
    assert_null(none);
    refused(mw_gate_gradients(h, t.of_gpu), MW_ERR_STATE, "call mw_combine or mw_layer_run first");
    done(mw_query(t.d, &after));
    assert_int_equal(before.state, after.state);
    forward(true);
    done(mw_layer_run(h, t.rows, NULL, NULL));
    is_right(t.golden, "counted again");
    gradients_are_right(h, "counted again");
}

static void stale(void **state)
{
    (void)state;
    set_up(0, true);
    struct mw_handle *h = cached();
    expect_stale(h, "no layer has kept one yet");
    mw_handle_destroy(h);

    h = cached();
    forward(false);
    done(mw_reset(t.d));
    expect_stale(h, "the device was reset");
    mw_handle_destroy(h);

    h = cached();
    forward(false);
    done(mw_port_disable(t.d, 1));
    done(mw_port_enable(t.d, 1));
    expect_stale(h, "mw_port_enable");
    mw_handle_destroy(h);

    // a layer of another handle, of another object, and one of the same object
    struct backward first = t;
    const struct layer_shape other = shape_of(1);
    for (unsigned keeps = 0; keeps < 2; keeps++) {
        h = cached();
        forward(false);
        struct mw_dymulticast *object;
        struct mw_handle *between;
        layer_make(&t.l, &other, &t.r);
        t.l.cached = keeps;
        layer_load(&t.l, t.d, &object, &between);
        for (unsigned g = 0; g < t.gpus; g++)
            t.rows[g] = t.l.out + (size_t)g * other.tokens * other.hidden;
        done(mw_combine(between, t.rows, NULL, NULL));
        layer_is_right(&t.l, "in between");
        mw_handle_destroy(between);
        mw_dymulticast_destroy(object);
        layer_free(&t.l);
        t = first;
        expect_stale(h, keeps ? "the layer of another handle has counted" : "counted its own rows");
        mw_handle_destroy(h);
    }

    // other tables than those of the forward layer
    h = cached();
    forward(false);
    done(mw_handle_set(h, "cache_entries", 16));
    refused(mw_layer_run(h, t.rows, NULL, NULL), MW_ERR_HANDLE, "other sizes");
    mw_handle_destroy(h);
    h = cached(); // the forward handle's are still there
    done(mw_layer_run(h, t.rows, NULL, NULL));
    is_right(t.golden, "behind a refusal");
    mw_handle_destroy(h);
    clean_up();
}

/// As many cached layers as there are epochs after a sweep, for any programs.
static void epochs(void **state)
{
    (void)state;
    set_up(2, true);
    for (unsigned fused = 0; fused < 2; fused++) {
        struct mw_handle *h = cached();
        done(mw_reset(t.d));
        forward(fused);
        for (unsigned i = 0; i < 3; i++) {
            layer_of(h, fused != i % 2);
            is_right(t.golden, "one of three");
            gradients_are_right(h, "one of three");
        }
        refused(mw_dispatch_start(h, NULL), MW_ERR_HANDLE, "no epoch is left");
        refused(mw_layer_run(h, t.rows, NULL, NULL), MW_ERR_HANDLE, "no epoch is left");
        gradients_are_right(h, "still those of the last one");
        for (unsigned i = 0; i < 6; i++) { // one is always left for a forward layer
            forward(fused);
            layer_of(h, fused);
            is_right(t.golden, "in turn");
        }
        mw_handle_destroy(h);
    }
    clean_up();
}

/// Calls that a handle does not allow, or not yet.
static void not_allowed(void **state)
{
    (void)state;
    struct mw_handle *h = NULL, *none = NULL;
    set_up(0, true);
    refused(mw_gate_gradients(t.handle, t.of_gpu), MW_ERR_INVALID, "rows of x alone");
    forward(false);
    done(mw_dispatch_cached(t.handle, t.grads, NULL, &h));
    done(mw_dispatch_wait(h, NULL, NULL));
    refused(mw_dispatch_start(h, NULL), MW_ERR_STATE,
            "its rows are received: call mw_combine first");
    refused(mw_gate_gradients(h, t.of_gpu), MW_ERR_STATE, "call mw_combine or mw_layer_run first");
    size_t count;
    refused(mw_received(t.handle, 0, NULL, t.l.out, 1, &count, NULL), MW_ERR_STATE,
            "does not have the rows of this handle");
    done(mw_combine(h, t.rows, NULL, NULL));
    is_right(t.golden, "backward");
    const uint16_t *grads[MOST_GPUS] = {t.grads[0]};
    refused(mw_handle_create_cached(t.handle, grads, NULL, &none), MW_ERR_INVALID,
            "GPU 1: 6 tokens without x");
    float *dw[MOST_GPUS] = {t.of_gpu[0]};
    refused(mw_gate_gradients(h, dw), MW_ERR_INVALID, "GPU 1: dw is NULL");
    mw_dymulticast_destroy(t.object);
    t.object = NULL;
    refused(mw_handle_create_cached(t.handle, t.grads, NULL, &none), MW_ERR_STATE,
            "the object was destroyed");
    refused(mw_layer_run(h, t.rows, NULL, NULL), MW_ERR_STATE, "its object was destroyed");
    refused(mw_gate_gradients(h, t.of_gpu), MW_ERR_STATE, "its object was destroyed");
    mw_handle_destroy(h);
    clean_up();

    set_up(0, false);
    forward(true);
    h = cached();
    done(mw_layer_run(h, t.rows, NULL, NULL));
    refused(mw_gate_gradients(h, t.of_gpu), MW_ERR_INVALID, "set gate_gradients");
    mw_handle_destroy(h);
    clean_up();

    const struct layer_shape s = shape_of(0); // an object without
    layer_make(&t.l, &s, &t.r);
    layer_load(&t.l, t.d, &t.object, &t.handle);
    const uint16_t *x[MOST_GPUS] = {t.l.w.layer->x, t.l.w.layer->x, t.l.w.layer->x, t.l.w.layer->x};
    refused(mw_handle_create_cached(t.handle, x, NULL, &none), MW_ERR_INVALID,
            "set cached_handles");
    assert_null(none);
    mw_handle_destroy(t.handle);
    mw_dymulticast_destroy(t.object);
    layer_free(&t.l);
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, open_2, close_it), \
        cmocka_unit_test_setup_teardown(name, open_4, close_it)
    const struct CMUnitTest tests[] = {TEST(both_passes),  TEST(nothing_is_counted),
                                       TEST(coefficients), TEST(own_experts),
                                       TEST(typed),        TEST(stale),
                                       TEST(epochs),       TEST(not_allowed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
