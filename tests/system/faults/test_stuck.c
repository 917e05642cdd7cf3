// SPDX-License-Identifier: Apache-2.0
//
// Devices that stop making progress. The run soon ends with exit status 3, and prints the state of
// every stream and queue.
#include "system/bench.h"

#include "moeswitch.h"

#define WINDOW "--gpus 2 --flit-bytes 8 --hidden 32 --experts 8 --k 2 --tokens-per-gpu 6 --tile 16 "

/// One token in flight never fills a tile of 16. Without the guard, no unit starts it.
static void window_below_the_tiles(void **state)
{
    (void)state;
    struct bench b;
    struct mw_result r;
    bench_options(&b, WINDOW "--in-flight 1 --set tile_guard=0 --set quiet_cycles=30000");
    bench_prepare(&b, NULL, NULL);
    assert_int_equal(bench_run(&b, "dysharp", &r), MW_EXIT_STUCK);
    assert_line(r.error.text, "layer 0: no progress for", " of 12 tokens are finished");
    static const char *const parts[] = {"dymultimem.st, waiting: tokens 0 to 5; at most 1 in "
                                        "flight, 0 finished\n",
                                        "GPU 1 stream 2: instruction",
                                        "expert, waiting: rows as they arrive; tiles of 16 rows, "
                                        "0 started; ",
                                        "dymultimem.ld_reduce, waiting: tokens 0 to 5; 0 finished",
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

/// A device of two GPUs with 8-byte flits, and a layer without experts for it.
static struct mw_device *open_device(struct mw_layer_config *c)
{
    struct mw_open_options o;
    struct mw_device *d;
    mw_open_defaults(&o);
    o.gpus = 2;
    o.flit_bytes = 8;
    assert_int_equal(mw_open(&o, &d), 0);
    mw_layer_defaults(c);
    c->k = c->tokens_per_gpu = c->experts_per_gpu = c->rows_per_expert = 1;
    c->row_bytes = 64;
    return d;
}

/// Run streams that no event ends, and get the report. Free it by free().
static char *report_of(struct mw_device *d, const struct mw_layer_config *c,
                       const struct mw_stream *s, unsigned streams, const unsigned tokens[2])
{
    struct mw_layout layout;
    const unsigned experts[2] = {1, 1};
    assert_int_equal(mw_layout_make(d, c, &layout), 0);
    assert_int_equal(mw_stream_load(d, &layout, s, streams), 0);
    assert_int_equal(mw_layer_configure(d, c, &layout, tokens, experts, (1u << streams) - 1), 0);
    assert_int_equal(mw_launch(d), 0);
    const struct mw_wait_options w = {.size = sizeof w, .quiet_cycles = 2000, .step_cycles = 500};
    assert_int_equal(mw_wait(d, &w, NULL), MW_ERR_TIMEOUT);
    char *report = mw_state_report(d);
    assert_non_null(report);
    return report;
}

static void assert_says(const char *report, const char *line)
{
    if (!strstr(report, line))
        fail_msg("\"%s\" does not say \"%s\"", report, line);
}

/// The report has the counter that a stream waits for, its threshold, and its value where a
/// register shows it.
static void counters_that_are_too_low(void **state)
{
    (void)state;
    struct mw_layer_config c;
    struct mw_device *d = open_device(&c);
    struct mw_stream s[2 * MW_STREAMS];
    const unsigned tokens[2] = {1, 1};
    static const unsigned events[MW_STREAMS] = {MW_EV_ROWS, MW_EV_ROWS_DONE, MW_EV_TOKENS,
                                                MW_EV_ACKS};
    for (unsigned i = 0; i < 2 * MW_STREAMS; i++) {
        mw_stream_init(&s[i]);
        mw_stream_fence(&s[i]);
        mw_stream_poll(&s[i], events[i % MW_STREAMS], i + 100, i < MW_STREAMS ? 0 : 7);
        assert_int_equal(mw_stream_end(&s[i]), 0);
    }
    char *report = report_of(d, &c, s, MW_STREAMS, tokens);
    assert_says(report, "GPU 0 stream 0: instruction 1 wait, waiting: event counter ROWS >= 100, "
                        "which is 0\n");
    assert_says(report, "GPU 0 stream 1: instruction 1 wait, waiting: event counter ROWS_DONE >= "
                        "101, which is 0\n");
    assert_says(report, "GPU 1 stream 2: instruction 1 wait, waiting: event counter TOKENS >= 106, "
                        "which is 0; then 7 cycles\n");
    assert_says(report, "GPU 0 stream 3: instruction 1 wait, waiting: event counter ACKS >= 103, "
                        "which no register shows\n");
    free(report);
    mw_close(d);
}

/// A long stream waits for an event that no GPU signals.
static void event_that_never_comes(void **state)
{
    (void)state;
    struct mw_layer_config c;
    struct mw_device *d = open_device(&c);
    struct mw_stream s[2];
    const unsigned tokens[2] = {1, 1};
    enum { BEFORE = 200 }; // instructions
    unsigned issued;
    for (unsigned g = 0; g < 2; g++) {
        mw_stream_init(&s[g]);
        for (unsigned i = 0; g == 0 && i < BEFORE; i++)
            mw_stream_fence(&s[g]);
        if (g == 0)
            mw_stream_wait(&s[g], MW_EV_SW3, 1);
        assert_int_equal(mw_stream_end(&s[g]), 0);
    }
    char *report = report_of(d, &c, s, 1, tokens);
    assert_line(mw_message(), "no progress for 2");
    assert_says(report, "GPU 0 stream 0: instruction 200 wait, waiting: event counter SW3 >= 1, "
                        "which no register shows\n");
    assert_says(report, "end, ended");
    free(report);
    assert_int_equal(mw_stream_position(d, 0, 0, &issued), 0);
    assert_int_equal(issued, BEFORE + 1);
    mw_close(d);
}

/// A home that does not report its rows in memory. GPUs that load them wait: in the stream, or only
/// in unit load if the stream continues meanwhile.
static void loads_of_rows_not_offered(void **state)
{
    (void)state;
    struct mw_layer_config c;
    struct mw_device *d = open_device(&c);
    struct mw_stream s[4];
    const unsigned tokens[2] = {4, 4};
    c.tokens_per_gpu = 4;
    c.received_rows = c.rows_per_expert = 8;
    c.target_list_cache = c.switch_reductions = c.tile_reductions = c.merge_loads = true;
    for (unsigned g = 0; g < 2; g++) {
        struct mw_stream *loads = &s[2 * g], *waits = &s[2 * g + 1];
        mw_stream_init(loads);
        if (g == 0)
            mw_stream_sync(loads, 0, 4);
        mw_stream_ld_cais(loads, 0, 4, 2, g ? MW_LOAD_BESIDE : 0);
        if (g == 0) // by its opcode the stream may be at this one, too
            mw_stream_ld_cais(loads, 0, 4, 2, 0);
        assert_int_equal(mw_stream_end(loads), 0);
        mw_stream_init(waits);
        if (g == 1)
            mw_stream_wait(waits, MW_EV_ROWS, 8);
        assert_int_equal(mw_stream_end(waits), 0);
    }
    char *report = report_of(d, &c, s, 2, tokens);
    assert_null(strstr(report, " errors"));
    static const char *const streams[] = {
        "GPU 0 stream 0: instruction 1 (or 2) ld.cais, waiting: rows 0 to 3 of each home, SYNC "
        "tiles of 2 rows\n",
        "GPU 1 stream 0: instruction 2 end, ended\n"};
    for (unsigned g = 0; g < 2; g++) {
        char name[20];
        snprintf(name, sizeof name, "GPU %u: not idle", g);
        const char *gpu = strstr(report, name), *busy = gpu ? strstr(gpu, "busy: load\n") : NULL;
        if (!busy || busy > strchr(gpu, '\n'))
            fail_msg("\"%s\" does not say that GPU %u waits in unit load", report, g);
        assert_says(report, streams[g]);
    }
    assert_says(report, "GPU 1 stream 1: instruction 0 wait, waiting: event counter ROWS >= 8, "
                        "which is 2\n");
    free(report);
    mw_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window_below_the_tiles),    cmocka_unit_test(slow_is_not_stuck),
        cmocka_unit_test(counters_that_are_too_low), cmocka_unit_test(event_that_never_comes),
        cmocka_unit_test(loads_of_rows_not_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
