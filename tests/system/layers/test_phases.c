// SPDX-License-Identifier: Apache-2.0
//
// Dispatch and combine as two phases on the real model: golden bits as in one program, received
// rows, and results that the program computes. Also a dispatch that is canceled, overwritten or
// destroyed between the phases.
#include "system/layers.h"

#include <poll.h>

enum { GPUS = 4, FLIT = 8, MOST_HIDDEN = 64 };

static const struct layer_shape shapes[] = {{GPUS, 6, 32, 8, 3, false},
                                            {GPUS, 9, 64, 16, 4, true},
                                            {GPUS, 3, 48, 4, 2, false},
                                            {GPUS, 1, 16, 4, 1, true}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

struct phases {
    struct mw_random r;
    struct mw_device *d;
    struct layer l;
    struct mw_dymulticast *object;
    struct mw_handle *handle;
    uint16_t *rows[GPUS];
};

static struct phases t;

static void set_up(unsigned shape)
{
    layer_make(&t.l, &shapes[shape], &t.r);
    layer_load(&t.l, t.d, &t.object, &t.handle);
    for (unsigned g = 0; g < GPUS; g++)
        t.rows[g] = t.l.out + (size_t)g * shapes[shape].tokens * shapes[shape].hidden;
}

static void clean_up(void)
{
    mw_handle_destroy(t.handle);
    mw_dymulticast_destroy(t.object);
    layer_free(&t.l);
}

static int open_it(void **state)
{
    (void)state;
    t = (struct phases){.r = {test_seed()}, .d = layer_device(GPUS, FLIT)};
    return 0;
}

static int close_it(void **state)
{
    (void)state;
    mw_close(t.d);
    return 0;
}

static void done(int status)
{
    if (status)
        fail_msg("%s: %s", mw_strerror(status), mw_message());
}

/// Check the golden bits, then clear them.
static void is_right(const char *what)
{
    layer_is_right(&t.l, what);
    memset(t.l.out, 0, (size_t)t.l.w.tokens * t.l.w.shape.hidden * sizeof *t.l.out);
}

/// In one program and in two, in any order, with every setting that couples them.
static void both_ways(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned value;
    } set[] = {{"partial_tiles", 1},     {"tile", 3},
               {"in_flight", 2},         {"target_list_cache", 1},
               {"switch_reductions", 1}, {"switch_reductions", 0},
               {"dispatch_throttle", 1}};
    for (unsigned i = 0; i < SHAPES; i++) {
        uint64_t cycles[2], dispatch, both;
        set_up(i);
        for (unsigned n = 0; n < 2; n++) {
            done(mw_layer_run(t.handle, t.rows, NULL, &cycles[n]));
            is_right("one program");
            done(mw_dispatch_start(t.handle, NULL));
            if (n)
                done(mw_dispatch_wait(t.handle, NULL, &dispatch));
            done(mw_combine(t.handle, t.rows, NULL, &both));
            is_right("two programs");
        }
        assert_int_equal(cycles[0], cycles[1]);
        assert_true(dispatch > 0 && dispatch < both);
        for (unsigned s = 0; s < sizeof set / sizeof *set; s++) {
            done(mw_handle_set(t.handle, set[s].name, set[s].value));
            done(mw_combine(t.handle, t.rows, NULL, NULL));
            is_right(set[s].name);
            done(mw_layer_run(t.handle, t.rows, NULL, NULL));
            is_right(set[s].name);
        }
        clean_up();
    }
}

static float value_of(uint16_t bf16)
{
    const uint32_t bits = (uint32_t)bf16 << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/// Every row is the one of its token, with its weight, and each comes once.
static void expect_rows(unsigned expert, const struct mw_received_row *row, const uint16_t *x,
                        size_t count)
{
    const struct mw_workload *w = &t.l.w;
    const unsigned tokens = w->shape.tokens_per_gpu, hidden = w->shape.hidden;
    size_t wanted = 0;
    for (size_t i = 0; i < (size_t)w->tokens * w->k; i++)
        wanted += w->layer->ids[i] == expert;
    assert_int_equal(count, wanted);
    for (size_t i = 0; i < count; i++) {
        const size_t token = (size_t)row[i].gpu * tokens + row[i].token;
        bool found = false;
        for (unsigned j = 0; j < w->k; j++)
            if (w->layer->ids[token * w->k + j] == expert) {
                found = true;
                assert_memory_equal(&row[i].weight, &w->layer->weights[token * w->k + j], 4);
            }
        assert_true(found);
        assert_memory_equal(x + i * hidden, &w->layer->x[token * hidden], 2 * hidden);
        for (size_t other = 0; other < i; other++)
            assert_true(row[other].gpu != row[i].gpu || row[other].token != row[i].token);
    }
}

/// The program is the experts: it copies each row, so that a token comes home as the sum
/// of copies of itself.
static void own_experts(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SHAPES; i++) {
        static struct mw_received_row row[64];
        static uint16_t x[64 * MOST_HIDDEN];
        size_t count, all = 0;
        set_up(i);
        const struct mw_workload *w = &t.l.w;
        done(mw_dispatch_start(t.handle, NULL));
        done(mw_dispatch_wait(t.handle, NULL, NULL));
        for (unsigned e = 0; e < w->experts; e++) {
            done(mw_received(t.handle, e, row, x, 64, &count, NULL));
            expect_rows(e, row, x, count);
            done(mw_expert_output(t.handle, e, x, NULL));
            all += count;
        }
        done(mw_combine(t.handle, t.rows, NULL, NULL));
        size_t copies = 0;
        for (size_t token = 0; token < w->tokens; token++) {
            unsigned experts = 0;
            for (unsigned j = 0; j < w->k; j++)
                experts += w->layer->ids[token * w->k + j] != MW_NO_EXPERT;
            copies += experts;
            for (unsigned h = 0; h < w->shape.hidden && experts < 3; h++) {
                const size_t at = token * w->shape.hidden + h; // doubling is exact
                assert_true(value_of(t.l.out[at]) == (float)experts * value_of(w->layer->x[at]));
            }
        }
        assert_int_equal(all, copies);
        assert_int_equal(mw_combine(t.handle, t.rows, NULL, NULL), MW_ERR_STATE);
        done(mw_dispatch_start(t.handle, NULL));
        done(mw_combine(t.handle, t.rows, NULL, NULL)); // the emulated experts again
        is_right("after own experts");
        clean_up();
    }
}

/// Rows of every type arrive unchanged on every path, with the golden bits.
static void typed(void **state)
{
    (void)state;
    static const struct layer_shape shape[] = {{GPUS, 5, 48, 8, 3, false},
                                               {GPUS, 4, MW_SCALE_BLOCK, 8, 2, true},
                                               {GPUS, 3, 3 * MW_SCALE_BLOCK, 4, 3, false},
                                               {GPUS, 4, MW_SCALE_BLOCK, 8, 2, true},
                                               {GPUS, 3, 3 * MW_SCALE_BLOCK, 4, 3, false}};
    static const unsigned types[] = {MW_ROWTYPE_E4M3, MW_ROWTYPE_E4M3_BLOCKS,
                                     MW_ROWTYPE_E4M3_BLOCKS, MW_ROWTYPE_NVFP4, MW_ROWTYPE_NVFP4};
    for (unsigned i = 0; i < sizeof shape / sizeof *shape; i++) {
        static struct mw_received_row row[64];
        static uint8_t x[64 * 3 * MW_SCALE_BLOCK], groups[64 * 3 * 8];
        static float scales[64 * 3];
        const struct mw_typed_rows to = {x, scales, groups};
        const unsigned hidden = shape[i].hidden;
        const struct layer_parts p = layer_parts(types[i], hidden);
        size_t count;
        layer_make_typed(&t.l, &shape[i], types[i], &t.r);
        layer_load(&t.l, t.d, &t.object, &t.handle);
        for (unsigned g = 0; g < GPUS; g++)
            t.rows[g] = t.l.out + (size_t)g * shape[i].tokens * hidden;
        done(mw_layer_run(t.handle, t.rows, NULL, NULL));
        is_right("one program");
        done(mw_dispatch_start(t.handle, NULL));
        done(mw_dispatch_wait(t.handle, NULL, NULL));
        const struct mw_typed_rows sent = layer_typed(&t.l.w);
        for (unsigned e = 0; e < shape[i].experts; e++) {
            done(mw_received_typed(t.handle, e, row, &to, 64, &count, NULL));
            for (size_t r = 0; r < count; r++) {
                const size_t token = (size_t)row[r].gpu * shape[i].tokens + row[r].token;
                assert_memory_equal(x + r * p.x, (uint8_t *)sent.x + token * p.x, p.x);
                assert_memory_equal(&scales[r * p.scales], &sent.scales[token * p.scales],
                                    p.scales * sizeof *scales);
                assert_memory_equal(&groups[r * p.groups], &sent.group_scales[token * p.groups],
                                    p.groups);
            }
        }
        layer_free_typed(&sent);
        done(mw_combine(t.handle, t.rows, NULL, NULL));
        is_right("two programs");
        clean_up();
    }
}

/// A descriptor reports that the rows are there, while nothing waits.
static void by_event(void **state)
{
    (void)state;
    struct mw_progress p;
    uint64_t events;
    size_t count;
    set_up(0);
    struct pollfd fd = {mw_event_fd(t.d), POLLIN, 0};
    assert_true(fd.fd >= 0);
    done(mw_dispatch_start(t.handle, NULL));
    assert_int_equal(poll(&fd, 1, 60000), 1);
    assert_int_equal(read(fd.fd, &events, sizeof events), sizeof events);
    done(mw_query(t.d, &p));
    assert_int_equal(p.state, MW_STATE_DONE);
    done(mw_received(t.handle, 0, NULL, t.l.out, 1, &count, NULL));
    done(mw_combine(t.handle, t.rows, NULL, NULL));
    is_right("after an event");
    clean_up();
}

static int at_once(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    (void)context, (void)tokens, (void)total;
    return cycles > 0; // not while data are moved
}

/// Canceled in either phase. After a reset the same handle has its golden bits, and its earlier
/// cycles.
static void given_up(void **state)
{
    (void)state;
    uint64_t cycles, again;
    size_t count;
    set_up(1);
    done(mw_layer_run(t.handle, t.rows, NULL, &cycles));
    for (unsigned at = 0; at < 6; at++) {
        const struct mw_wait_options o = {
            .size = sizeof o, .step_cycles = 40 + 60 * at, .progress = at_once};
        done(mw_dispatch_start(t.handle, NULL));
        if (at % 3 == 0)
            done(mw_cancel(t.d));
        else if (at % 3 == 1)
            assert_int_equal(mw_dispatch_wait(t.handle, &o, NULL), MW_ERR_CANCELED);
        else
            done(mw_dispatch_wait(t.handle, NULL, NULL));
        if (at % 3 == 2)
            assert_int_equal(mw_combine(t.handle, t.rows, &o, NULL), MW_ERR_CANCELED);
        assert_int_equal(mw_received(t.handle, 0, NULL, t.l.out, 1, &count, NULL), MW_ERR_STATE);
        assert_non_null(strstr(mw_message(), "call mw_reset"));
        done(mw_reset(t.d));
        done(mw_combine(t.handle, t.rows, NULL, NULL));
        is_right("after a reset");
        done(mw_layer_run(t.handle, t.rows, NULL, &again));
        is_right("after a reset, as one program");
        assert_int_equal(again, cycles);
    }
    clean_up();
}

/// Two handles in turn, the first of which is overwritten or destroyed while its
/// rows arrive or wait.
static void two(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 8; way++) {
        struct phases first;
        size_t count;
        set_up(way % SHAPES);
        first = t;
        set_up((way + 1) % SHAPES);
        done(mw_dispatch_start(first.handle, NULL));
        if (way & 1)
            done(mw_dispatch_wait(first.handle, NULL, NULL));
        if (way & 2) {
            mw_handle_destroy(first.handle);
            first.handle = NULL;
        }
        if (way & 4)
            done(mw_dispatch_start(t.handle, NULL));
        done(mw_combine(t.handle, t.rows, NULL, NULL));
        is_right("the second handle");
        clean_up();
        t = first;
        if (t.handle) {
            assert_int_equal(mw_received(t.handle, 0, NULL, t.l.out, 1, &count, NULL),
                             MW_ERR_STATE);
            done(mw_combine(t.handle, t.rows, NULL, NULL));
            is_right("the first handle");
        }
        clean_up();
    }
}

/// GPUs with different numbers of experts, and one without any. Coefficients are 1 and gate weights
/// 1/2, so output rows are the tokens' own.
static void uneven_places(void **state)
{
    (void)state;
    enum { TOKENS = 5, HIDDEN = 16, EXPERTS = 6, K = 2 };
    static const struct mw_expert_place places[EXPERTS] = {{0, 2, 0}, {1, 0, 0}, {2, 0, 1},
                                                           {3, 0, 2}, {4, 1, 0}, {5, 2, 1}};
    static const uint16_t one[EXPERTS] = {0x3f80, 0x3f80, 0x3f80, 0x3f80, 0x3f80, 0x3f80};
    static uint16_t x[GPUS][TOKENS][HIDDEN], out[GPUS][TOKENS][HIDDEN];
    int16_t idx[GPUS][TOKENS][K];
    float weights[GPUS][TOKENS][K];
    struct mw_tokens part[GPUS];
    uint16_t *rows[GPUS];
    const uint16_t *dy[GPUS];
    for (unsigned g = 0; g < GPUS; g++) {
        part[g] = (struct mw_tokens){TOKENS, x[g][0], idx[g][0], weights[g][0]};
        rows[g] = out[g][0];
        dy[g] = x[g][0];
        for (unsigned i = 0; i < TOKENS; i++) {
            for (unsigned j = 0; j < HIDDEN; j++)
                x[g][i][j] = (uint16_t)(0x3f00 + mw_random_below(&t.r, 0x100));
            idx[g][i][0] = (int16_t)mw_random_below(&t.r, EXPERTS);
            idx[g][i][1] = (int16_t)((idx[g][i][0] + 1 + mw_random_below(&t.r, 5)) % EXPERTS);
            weights[g][i][0] = weights[g][i][1] = 0.5f;
        }
    }
    for (unsigned cached = 0; cached < 2; cached++) {
        const struct mw_dymulticast_prop prop = {.size = sizeof prop,
                                                 .block_bytes = 2 * HIDDEN,
                                                 .region_sets = 2,
                                                 .k = K,
                                                 .experts = EXPERTS,
                                                 .places = places,
                                                 .cached_handles = cached};
        struct mw_dymulticast *object;
        struct mw_handle *handle, *back;
        done(mw_dymulticast_create(t.d, &prop, &object));
        done(mw_dymulticast_bind_addr(object, GPUS * TOKENS, GPUS * TOKENS));
        done(mw_handle_create(object, part, one, &handle));
        done(mw_layer_run(handle, rows, NULL, NULL));
        assert_memory_equal(out, x, sizeof x);
        memset(out, 0, sizeof out);
        done(mw_combine(handle, rows, NULL, NULL));
        assert_memory_equal(out, x, sizeof x);
        if (cached) {
            memset(out, 0, sizeof out);
            done(mw_dispatch_cached(handle, dy, NULL, &back));
            done(mw_combine(back, rows, NULL, NULL));
            assert_memory_equal(out, x, sizeof x);
            mw_handle_destroy(back);
        }
        mw_handle_destroy(handle);
        mw_dymulticast_destroy(object);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_it, close_it)
    const struct CMUnitTest tests[] = {TEST(both_ways),    TEST(own_experts), TEST(typed),
                                       TEST(by_event),     TEST(given_up),    TEST(two),
                                       TEST(uneven_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
