// SPDX-License-Identifier: Apache-2.0
//
// Devices that stop making progress: the run ends with exit status 3 and the state of every stream
// and queue, soon.
#include "system/bench.h"

#include "moeswitch.h"

#define WINDOW "--gpus 2 --flit-bytes 8 --hidden 32 --experts 8 --k 2 --tokens-per-gpu 6 --tile 16 "

/// One token in flight never fills a tile of 16; without the guard, nothing starts it.
static void window_below_the_tiles(void **state)
{
    (void)state;
    struct bench b;
    struct mw_result r;
    bench_options(&b, WINDOW "--in-flight 1 --set tile_guard=0 --set quiet_cycles=30000");
    bench_prepare(&b, NULL, NULL);
    assert_int_equal(bench_run(&b, "dysharp", &r), MW_EXIT_STUCK);
    assert_line(r.error.text, "layer 0: no progress for", " of 12 tokens are finished");
    static const char *const parts[] = {"dymultimem.st, waiting",
                                        "GPU 1 stream 2: instruction",
                                        "expert, waiting",
                                        "dymultimem.ld_reduce, waiting",
                                        "end, ended",
                                        "busy: send expert combine",
                                        "port 1: flits up",
                                        "switch idle, links idle"};
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(r.state, parts[i]))
            fail_msg("\"%s\" does not say \"%s\"", r.state, parts[i]);
    assert_true(r.simulated_cycles < 1000000);
    mw_result_free(&r);
    bench_free(&b);
    bench_all(WINDOW "--in-flight 1 --set quiet_cycles=30000", NULL, NULL);
}

/// A slow layer is not a stuck one: its tiles take longer than the device may be quiet.
static void slow_is_not_stuck(void **state)
{
    (void)state;
    bench_all("--gpus 2 --flit-bytes 8 --hidden 32 --experts 2 --k 1 --tokens-per-gpu 1 --tile 16 "
              "--expert-cycles 16000",
              NULL, NULL);
}

/// An event that nobody signals, which a long stream waits for.
static void event_that_never_comes(void **state)
{
    (void)state;
    struct mw_open_options o;
    struct mw_device *d;
    struct mw_layer_config c;
    struct mw_layout layout;
    struct mw_stream s[2];
    const unsigned tokens[2] = {1, 1}, experts[2] = {1, 1};
    enum { BEFORE = 200 }; // instructions
    unsigned issued;
    mw_open_defaults(&o);
    o.gpus = 2;
    o.flit_bytes = 8;
    assert_int_equal(mw_open(&o, &d), 0);
    mw_layer_defaults(&c);
    c.k = c.tokens_per_gpu = c.experts_per_gpu = c.rows_per_expert = 1;
    c.row_bytes = 64;
    assert_int_equal(mw_layout_make(d, &c, &layout), 0);
    for (unsigned g = 0; g < 2; g++) {
        mw_stream_init(&s[g]);
        for (unsigned i = 0; g == 0 && i < BEFORE; i++)
            mw_stream_fence(&s[g]);
        if (g == 0)
            mw_stream_wait(&s[g], MW_EV_SW3, 1);
        assert_int_equal(mw_stream_end(&s[g]), 0);
    }
    assert_int_equal(mw_stream_load(d, &layout, s, 1), 0);
    assert_int_equal(mw_layer_configure(d, &c, &layout, tokens, experts, 1), 0);
    assert_int_equal(mw_launch(d), 0);
    const struct mw_wait_options w = {.size = sizeof w, .quiet_cycles = 2000, .step_cycles = 500};
    assert_int_equal(mw_wait(d, &w, NULL), MW_ERR_TIMEOUT);
    assert_line(mw_message(), "no progress for 2");
    char *report = mw_state_report(d);
    assert_non_null(report);
    assert_non_null(strstr(report, "wait, waiting"));
    assert_non_null(strstr(report, "end, ended"));
    free(report);
    assert_int_equal(mw_stream_position(d, 0, 0, &issued), 0);
    assert_int_equal(issued, BEFORE + 1);
    mw_close(d);
}

/// A home that does not say that its rows are in memory: GPUs that load them wait, in unit load
/// alone where the stream goes on beside it.
static void loads_of_rows_not_offered(void **state)
{
    (void)state;
    struct mw_open_options o;
    struct mw_device *d;
    struct mw_layer_config c;
    struct mw_layout layout;
    struct mw_stream s[2];
    const unsigned tokens[2] = {4, 4}, experts[2] = {1, 1};
    mw_open_defaults(&o);
    o.gpus = 2;
    o.flit_bytes = 8;
    assert_int_equal(mw_open(&o, &d), 0);
    mw_layer_defaults(&c);
    c.k = c.experts_per_gpu = 1;
    c.tokens_per_gpu = 4;
    c.received_rows = c.rows_per_expert = 8;
    c.row_bytes = 64;
    c.target_list_cache = c.switch_reductions = c.tile_reductions = c.merge_loads = true;
    assert_int_equal(mw_layout_make(d, &c, &layout), 0);
    for (unsigned g = 0; g < 2; g++) {
        mw_stream_init(&s[g]);
        if (g == 0)
            mw_stream_sync(&s[g], 0, 4);
        mw_stream_ld_cais(&s[g], 0, 4, 2, g ? MW_LOAD_BESIDE : 0);
        assert_int_equal(mw_stream_end(&s[g]), 0);
    }
    assert_int_equal(mw_stream_load(d, &layout, s, 1), 0);
    assert_int_equal(mw_layer_configure(d, &c, &layout, tokens, experts, 1), 0);
    assert_int_equal(mw_launch(d), 0);
    const struct mw_wait_options w = {.size = sizeof w, .quiet_cycles = 2000, .step_cycles = 500};
    assert_int_equal(mw_wait(d, &w, NULL), MW_ERR_TIMEOUT);
    char *report = mw_state_report(d);
    assert_non_null(report);
    assert_null(strstr(report, " errors"));
    static const char *const streams[] = {"GPU 0 stream 0: instruction 2 ld.cais, waiting\n",
                                          "GPU 1 stream 0: instruction 2 end, ended\n"};
    for (unsigned g = 0; g < 2; g++) {
        char name[20];
        snprintf(name, sizeof name, "GPU %u: not idle", g);
        const char *gpu = strstr(report, name), *busy = gpu ? strstr(gpu, "busy: load\n") : NULL;
        if (!busy || busy > strchr(gpu, '\n') || !strstr(report, streams[g]))
            fail_msg("\"%s\" does not say that GPU %u waits in unit load", report, g);
    }
    free(report);
    mw_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window_below_the_tiles),
        cmocka_unit_test(slow_is_not_stuck),
        cmocka_unit_test(event_that_never_comes),
        cmocka_unit_test(loads_of_rows_not_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
