// SPDX-License-Identifier: Apache-2.0
//
// Stacks of layers through the device's queue, without the host between layers. Every system runs
// at N = 2 and 4, in random configurations, with and without forward layers that run again. Runs
// that end after each layer in turn give the counters of the flits that this layer sends. The
// values of a layer are the results of the one before it. A layer that uses other rows, or that is
// left out, is detected. MW_SEED sets the seed, MW_CONFIG=i runs configuration i alone.
#include "system/configuration.h"
#include "systems/system_list.h"

enum { FEW = 8, MANY = 150 };

static const struct configuration_model models[] = {
    {2, 8, false, 10, 12, 32, 8, false},
    {4, 8, false, 6, 8, 32, 8, false},
};

static const char *const passes[] = {"stack", "recompute"};

static void prepare(struct bench *b, unsigned gpus, unsigned layers, bool again)
{
    static const char *const numbers[] = {"", "0", "0,1", "0,1,2"};
    bench_options(b,
                  "--gpus %u --flit-bytes 8 --hidden 32 --tokens-per-gpu 8 --experts 8 --k 2 "
                  "--tile 4 --pass %s --layers %s",
                  gpus, passes[again], numbers[layers]);
    bench_prepare(b, NULL, NULL);
    assert_int_equal(b->w.layers, layers * MW_PASSES);
}

/// Each layer works on what the one before it gives, forward and back.
static void values(void **state)
{
    (void)state;
    enum { LAYERS = 3 };
    struct bench b;
    prepare(&b, 2, LAYERS, false);
    const size_t bytes = (size_t)b.w.tokens * b.w.shape.hidden * sizeof(uint16_t);
    const struct mw_layer *l = b.w.layer;
    for (unsigned i = 0; i + 1 < LAYERS; i++) {
        const unsigned own = i * MW_PASSES, next = own + MW_PASSES;
        assert_memory_equal(l[next].x, b.expected[own].out, bytes);
        for (unsigned pass = MW_PASS_BACKWARD; pass < MW_PASSES; pass++)
            assert_memory_equal(l[own + pass].x, b.expected[next + MW_PASS_BACKWARD].out, bytes);
    }
    const struct mw_layer *last = &l[(LAYERS - 1) * MW_PASSES];
    assert_memory_equal(last[MW_PASS_BACKWARD].x, last[MW_PASS_COUNTED].x, bytes);
    assert_memory_not_equal(last[MW_PASS_BACKWARD].x, b.expected[(LAYERS - 1) * MW_PASSES].out,
                            bytes);
    bench_free(&b);
}

/// Backward layers with a handle among the first `layers` of a stack of so many forward layers.
static unsigned cached(unsigned pairs, unsigned layers, bool again)
{
    const unsigned behind = layers > pairs ? layers - pairs : 0;
    return again ? (behind + 1) / 2 : behind > 0;
}

/// End the stack after each layer in turn. With few cases each system ends it after every second or
/// third layer, with another first one.
static void cut(unsigned gpus, unsigned pairs, bool again)
{
    const unsigned most = again ? 3 * pairs - 1 : 2 * pairs, step = test_cases(most < 3 ? 2 : 3, 1);
    struct bench b;
    prepare(&b, gpus, pairs, again);
    for (unsigned s = 0; s < MW_SYSTEMS; s++)
        for (unsigned layers = 1 + s % step; layers <= most; layers += step) {
            struct mw_result r;
            b.params.stack_layers = layers;
            const int status = bench_run(&b, mw_systems[s].name, &r);
            bench_check(&b, mw_systems[s].name, &r, status);
            assert_int_equal(r.stack.layers, layers);
            assert_int_equal(r.stack.cached, cached(pairs, layers, again));
            assert_true(r.stack.layer_cycles > 0);
            mw_result_free(&r);
        }
    bench_free(&b);
}

static void every_system(void **state)
{
    (void)state;
    cut(2, 3, false);
    cut(2, 2, true);
    cut(4, 1, false);
}

/// One layer has other routes in its own run than in the stack.
static void finds_a_difference(void **state)
{
    (void)state;
    struct bench b;
    struct mw_result r;
    prepare(&b, 2, 2, false);
    struct mw_layer *again = &b.w.layer[MW_PASS_COUNTED]; // of layer 0, the last one of the stack
    uint16_t *ids = again->ids;
    for (unsigned j = 0; j < 2; j++) {
        const uint16_t id = ids[j];
        ids[j] = ids[2 * b.w.shape.tokens_per_gpu + j];
        ids[2 * b.w.shape.tokens_per_gpu + j] = id;
    }
    bench_golden(&b);
    assert_int_equal(bench_run(&b, "dysharp", &r), 0);
    assert_true(r.stack.wrong > 0);
    for (unsigned l = 0; l < r.layers; l++)
        assert_int_equal(r.layer[l].wrong, 0);
    mw_result_free(&r);
    bench_free(&b);
}

/// A layer takes the same cycles after any other one: GO initialises every arbiter. The fourth
/// layer here ends with a row of push, and the next one begins with a row of push concurrent with a
/// sum.
static void turns_begin_anew(void **state)
{
    (void)state;
    static const unsigned latency[] = {16, 32, 40};
    for (unsigned i = 0; i < sizeof latency / sizeof *latency; i++) {
        struct bench b;
        bench_options(&b,
                      "--gpus 2 --flit-bytes 8 --hidden 28 --experts 6 --k 1 --sigma 0 "
                      "--locality 0.6 --spread near --tile 128 --pass stack --layers 0,1,0 "
                      "--tokens-per-gpu 2 --seed 2 --link-latency %u",
                      latency[i]);
        bench_prepare(&b, NULL, NULL);
        bench_pass(&b, "moe-hub");
        bench_free(&b);
    }
}

static bool run_configuration(struct configuration *c)
{
    bench_pass(&c->bench, c->system);
    return true;
}

static void random_configurations(void **state)
{
    (void)state;
    configurations_run(FEW, MANY, models, " --pass stack --layers 0,1,0 --dispatch-type bf16",
                       run_configuration, 4);
    configurations_run(FEW / 2, MANY / 2, models,
                       " --pass recompute --layers 1,0,1 --dispatch-type bf16", run_configuration,
                       0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(every_system),
        cmocka_unit_test(finds_a_difference),
        cmocka_unit_test(turns_begin_anew),
        cmocka_unit_test(random_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
