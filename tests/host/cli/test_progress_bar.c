// SPDX-License-Identifier: Apache-2.0
//
// Tests of the progress bar: shares, time left, how often, on a terminal and in a log.
#include "host/support.h"

#include "cli/progress_bar.h"

static char *text;
static size_t size;
static struct mw_bar p;

static void begin(bool terminal)
{
    free(text);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    mw_bar_begin(&p, out, terminal, 100);
    p.count = 2;
    p.part[0] = (struct mw_bar_part){.name = "unicast", .weight = 300, .runs = true};
    p.part[1] = (struct mw_bar_part){.name = "dysharp", .weight = 100};
}

static int finish(void **state)
{
    (void)state;
    fclose(p.out);
    free(text);
    text = NULL;
    return 0;
}

static void weighs_parts(void **state)
{
    (void)state;
    begin(true);
    assert_true(mw_bar_done(&p) == 0);
    p.part[0].done = 0.5;
    assert_true(mw_bar_done(&p) == 0.375);
    p.part[0].done = 7; // no more than all
    p.part[1].done = 1;
    assert_true(mw_bar_done(&p) == 1);
    p.count = 0;
    assert_true(mw_bar_done(&p) == 0);
}

static void draws_one_line_on_a_terminal(void **state)
{
    (void)state;
    begin(true);
    p.part[0].done = 0.5;
    p.part[0].cycles = 1234567;
    mw_bar_show(&p, 100.05);
    assert_int_equal(ftell(p.out), 0); // not yet
    mw_bar_show(&p, 136.5);
    assert_string_equal(text, "\runicast       [#######.............]  38 %  1234567 cycles  "
                              "1 min 01 s for all ");
    size_t once = size;
    mw_bar_show(&p, 136.55);
    assert_int_equal(size, once);
    assert_null(strchr(text, '\n'));
    mw_bar_clear(&p);
    assert_int_equal(text[size - 1], '\r');
    once = size;
    mw_bar_clear(&p); // nothing is there
    assert_int_equal(size, once);
}

static void writes_a_line_now_and_then_to_a_log(void **state)
{
    (void)state;
    begin(false);
    p.part[0].done = 0.5;
    for (unsigned i = 0; i < 299; i++)
        mw_bar_show(&p, 100 + 0.1 * i);
    fflush(p.out);
    assert_int_equal(size, 0); // a short run prints nothing
    mw_bar_show(&p, 130);
    assert_string_equal(text, "moeswitch: unicast: 38 %, loading, 50 s for all\n");
    size_t once = size;
    mw_bar_show(&p, 159);
    assert_int_equal(size, once);
    p.part[1].runs = true;
    mw_bar_show(&p, 160);
    assert_non_null(strstr(text, "moeswitch: 2 systems: 38 %, loading, 1 min 40 s for all\n"));
}

/// At the start there is no estimate, and long times are in hours.
static void tells_time_only_when_it_knows(void **state)
{
    (void)state;
    begin(true);
    mw_bar_show(&p, 160);
    assert_null(strstr(text, "for all"));
    p.part[0].done = 0.02;
    mw_bar_show(&p, 200);
    assert_non_null(strstr(text, "1 h 49 min for all"));
    p.count = 1;
    p.part[0].done = 0.5;
    mw_bar_show(&p, 300);
    assert_non_null(strstr(text, "3 min 20 s left"));
}

/// Work without parts gives its own text for the progress.
static void shows_a_share(void **state)
{
    (void)state;
    begin(true);
    p.count = 0;
    mw_bar_show_share(&p, 100.05, 0.5, "sweep", "6 of 12 runs"); // too soon
    fflush(p.out);
    assert_int_equal(size, 0);
    mw_bar_show_share(&p, 110, 0.25, "sweep", "3 of 12 runs");
    fflush(p.out);
    assert_non_null(
        strstr(text, "\rsweep         [#####...............]  25 %  3 of 12 runs  30 s left"));
    finish(NULL);
    begin(false);
    p.count = 0;
    mw_bar_show_share(&p, 129, 0.2, "sweep", "2 of 12 runs"); // too soon
    mw_bar_show_share(&p, 130, 0.25, "sweep", "3 of 12 runs");
    fflush(p.out);
    assert_string_equal(text, "moeswitch: sweep: 25 %, 3 of 12 runs, 1 min 30 s left\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(weighs_parts, finish),
        cmocka_unit_test_teardown(draws_one_line_on_a_terminal, finish),
        cmocka_unit_test_teardown(writes_a_line_now_and_then_to_a_log, finish),
        cmocka_unit_test_teardown(tells_time_only_when_it_knows, finish),
        cmocka_unit_test_teardown(shows_a_share, finish),
    };
    return cmocka_run_group_tests_name("progress_bar", tests, NULL, NULL);
}
