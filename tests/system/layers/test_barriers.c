// SPDX-License-Identifier: Apache-2.0
//
// Barriers of all GPUs by flags, as in docs/user/own-system.md. In each round a GPU stores a block
// to another one. That GPU copies the block after the barrier. A second barrier permits the next
// block. The block crosses a busy link, so the flags of the others arrive before it. With two
// alternating counters every byte of every round is right. With one counter, the second barrier
// waits for twice as many flags. Then a flag of a GPU that is ahead counts for one that is late.
#include "system/bench.h"

#include "system/layers.h"

enum {
    GPUS = 4,
    ROUNDS = 6,
    PARTS = 4, ///< that a block is copied in
    PART = 1024,
    BLOCK = PARTS * PART,
    IN = ROUNDS * BLOCK, ///< after the blocks that a GPU sends: where one lands, then what was
                         ///< copied of each
    OUT = IN + BLOCK,
    SPACE = OUT + ROUNDS * BLOCK,
};

struct device {
    struct mw_device *d;
    struct mw_layer_config config;
    struct mw_layout layout;
    unsigned counters; ///< that the barriers take in turn
    unsigned from[ROUNDS], to[ROUNDS];
};

static void barrier(struct mw_stream *s, const struct device *t, unsigned number)
{
    const unsigned counter = MW_EV_SW0 + number % t->counters;
    mw_stream_flag(s, counter, false);
    mw_stream_wait(s, counter, (number / t->counters + 1) * (GPUS - 1));
}

static void make_stream(void *context, unsigned gpu, struct mw_stream *s)
{
    const struct device *t = context;
    const uint64_t scratch = t->layout.scratch;
    for (unsigned r = 0; r < ROUNDS; r++) {
        if (gpu == t->from[r])
            mw_stream_st_linear(s, t->to[r], scratch + r * BLOCK, BLOCK, scratch + IN);
        barrier(s, t, 2 * r);
        for (unsigned p = PARTS; gpu == t->to[r] && p-- > 0;) // what comes last is copied first
            mw_stream_st_linear(s, gpu, scratch + IN + p * PART, PART,
                                scratch + OUT + r * BLOCK + p * PART);
        if (gpu == t->to[r])
            mw_stream_fence(s);
        barrier(s, t, 2 * r + 1);
    }
}

static void open_device(struct device *t)
{
    *t = (struct device){.d = layer_device(GPUS, 8)};
    mw_layer_defaults(&t->config);
    t->config.k = t->config.tokens_per_gpu = t->config.experts_per_gpu = 1;
    t->config.rows_per_expert = 1;
    t->config.row_bytes = 64;
    t->config.scratch_bytes = SPACE;
}

/// One layer of all rounds. Returns the bytes that were copied before they were there.
static unsigned stale_bytes(struct device *t, unsigned counters, struct mw_random *r)
{
    static uint8_t memory[GPUS][SPACE], got[GPUS][SPACE];
    const unsigned tokens[GPUS] = {0}, experts[GPUS] = {1, 1, 1, 1};
    struct mw_transfer list[GPUS];
    unsigned stale = 0;
    t->counters = counters;
    t->config.down_throttle = 200 + (unsigned)mw_random_below(r, 40);
    for (unsigned i = 0; i < ROUNDS; i++) {
        t->from[i] = (unsigned)mw_random_below(r, GPUS);
        t->to[i] = (t->from[i] + 1 + (unsigned)mw_random_below(r, GPUS - 1)) % GPUS;
    }
    assert_int_equal(mw_layout_make(t->d, &t->config, &t->layout), 0);
    for (unsigned g = 0; g < GPUS; g++) {
        memset(memory[g], 0, SPACE);
        for (unsigned i = 0; i < IN; i++) // no byte of two rounds at the same place is the same
            memory[g][i] = (uint8_t)(1 + g * ROUNDS + i / BLOCK + (i % BLOCK) * 31);
        list[g] = (struct mw_transfer){g, t->layout.scratch, SPACE, memory[g]};
    }
    assert_int_equal(mw_mem_write(t->d, list, GPUS), 0);
    assert_int_equal(mw_streams_load(t->d, &t->layout, 1, make_stream, t), 0);
    assert_int_equal(mw_layer_configure(t->d, &t->config, &t->layout, tokens, experts, 1), 0);
    assert_int_equal(mw_launch(t->d), 0);
    if (mw_wait(t->d, NULL, NULL))
        fail_msg("%s", mw_message());
    for (unsigned g = 0; g < GPUS; g++)
        list[g].data = got[g];
    assert_int_equal(mw_mem_read(t->d, list, GPUS), 0);
    for (unsigned i = 0; i < ROUNDS; i++)
        for (unsigned b = 0; b < BLOCK; b++)
            stale += got[t->to[i]][OUT + i * BLOCK + b] != memory[t->from[i]][i * BLOCK + b];
    return stale;
}

static void one_counter_is_a_race(void **state)
{
    (void)state;
    enum { LAYERS = 8 };
    struct mw_random r = {test_seed()};
    struct device t;
    unsigned raced = 0;
    open_device(&t);
    for (unsigned i = 0; i < LAYERS; i++) {
        struct mw_random same = r; // the same layer by both
        unsigned one = stale_bytes(&t, 1, &same), two = stale_bytes(&t, 2, &r);
        print_message("layer %u: of %u bytes %u are stale with one counter, %u with two\n", i,
                      ROUNDS * BLOCK, one, two);
        raced += one != 0;
        assert_int_equal(two, 0);
    }
    assert_true(raced > LAYERS / 2);
    mw_close(t.d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_counter_is_a_race)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
