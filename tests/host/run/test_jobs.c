// SPDX-License-Identifier: Apache-2.0
//
// Tests of what runs at the same time in `moeswitch run`: systems (--jobs), and planes in processes
// of their own (--planes all). Results do not depend on it, and a failure or a signal ends all.
#define _POSIX_C_SOURCE 200809L

#include "host/run/planned_device.h"

#include <sys/resource.h>

// ---- systems ------------------------------------------------------------------------------------

/// For any number of concurrent runs, the output is the same in the same order.
static void jobs_change_nothing_but_time(void **state)
{
    (void)state;
    static const unsigned jobs[] = {1, 2, MW_SYSTEMS}; // all at once, too
    char *json[3], path[256], words[8];
    for (unsigned i = 0; i < 3; i++) {
        reset(NULL);
        device.meet = jobs[i]; // fails, by a time limit, where they do not run side by side
        device.wrong_bit = true;
        device.faulty = "unicast";
        snprintf(path, sizeof path, "%s", scratch("jobs.json"));
        snprintf(words, sizeof words, "%u", jobs[i]);
        assert_int_equal(RUN(SMALL, "--layers", "2,0", "--jobs", words, "--json", path),
                         MW_EXIT_MISMATCH);
        assert_int_equal(device.most, jobs[i]);
        assert_int_equal(device.runs, MW_SYSTEMS);
        assert_non_null(strstr(err_text, "unicast, layer 0: 1 wrong elements"));
        json[i] = read_file(path);
        drop_wall(json[i]);
        assert_string_equal(json[i], json[0]);
        const char *u = strstr(out_text, "\nunicast "), *d = strstr(out_text, "\ndysharp ");
        const char *b = strstr(out_text, "\ndysharp-basic ");
        assert_true(u && b && d && u < b && b < d);
    }
    for (unsigned i = 0; i < 3; i++)
        free(json[i]);
    remove(path);
    assert_int_equal(RUN(SMALL, "--jobs", "0"), MW_EXIT_INPUT);
    assert_int_equal(RUN(SMALL, "--jobs", "2", "--device", "usb"), MW_EXIT_INPUT);
}

/// The failure of the run is that of the first system that fails, for any concurrent runs.
static void the_first_failure_counts(void **state)
{
    (void)state;
    unsigned before = scratch_entries();
    device.status = MW_EXIT_FAILED;
    device.meet = 3;
    assert_int_equal(RUN(SMALL, "--jobs", "3", "--trace-fst", scratch("f.fst")), MW_EXIT_FAILED);
    assert_string_equal(err_text, "moeswitch: unicast: as planned\n");
    assert_int_equal(scratch_entries(), before);
}

/// Ctrl-C: the run gets a request to stop, no other run begins, and no partial file remains.
static void ends_when_interrupted(void **state)
{
    (void)state;
    unsigned before = scratch_entries();
    device.signal = SIGINT;
    assert_int_equal(RUN(SMALL, "--json", scratch("i.json"), "--trace-fst", scratch("i.fst")),
                     MW_EXIT_INTERRUPTED);
    assert_string_equal(err_text, "moeswitch: interrupted\n");
    assert_int_equal(device.runs, 1);
    assert_int_equal(scratch_entries(), before);
    // the next run is not
    reset(NULL);
    assert_int_equal(RUN(SMALL), MW_EXIT_OK);
    struct sigaction now;
    assert_int_equal(sigaction(SIGINT, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
    // nor one in a shell's background, for which the shell has turned Ctrl-C off
    reset(NULL);
    signal(SIGINT, SIG_IGN);
    device.signal = SIGINT;
    device.deaf = true;
    assert_int_equal(RUN(SMALL), MW_EXIT_OK);
    assert_int_equal(sigaction(SIGINT, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_IGN);
    signal(SIGINT, SIG_DFL);
}

// ---- planes -------------------------------------------------------------------------------------

/// A layer on a machine of four planes.
#define PLANES \
    "--hardware", "hgx-h100", "--gpus", "4", "--tokens-per-gpu", "4", "--hidden", "256", \
        "--experts", "8", "--k", "3", "--link-latency", "3", "--planes", "all"

/// Each plane runs, the slowest counts, and how many run at once changes nothing.
static void the_slowest_plane_counts(void **state)
{
    (void)state;
    char *json[2];
    static const char *const jobs[] = {"1", "3"};
    device.planes = true;
    for (unsigned i = 0; i < 2; i++) {
        const char *path = scratch("planes.json");
        assert_int_equal(
            RUN(PLANES, "--system", "dysharp,unicast", "--jobs", jobs[i], "--json", path),
            MW_EXIT_OK);
        assert_string_equal(err_text, "");
        assert_int_equal(device.runs, 0); // none in this process
        assert_non_null(strstr(out_text, "hgx-h100: each plane of 4, with the largest share"));
        assert_non_null(strstr(out_text, "\ndysharp              2900    1.000 "));
        assert_non_null(strstr(out_text, "\nunicast              3900    0.744 "));
        assert_non_null(strstr(out_text,
                               "\nunicast                4         2         3900         "
                               "3000       3325.0     23.08\n"));
        json[i] = read_file(path);
        remove(path);
        drop_wall(json[i]);
        assert_non_null(strstr(json[i],
                               "\"planes\": {\"slowest\": 2, \"cycles\": [3000, 3100, 3900, "
                               "3300]}"));
    }
    assert_string_equal(json[0], json[1]);
    free(json[0]);
    free(json[1]);
}

/// The run reports a wrong element of any plane, for any slowest plane.
static void a_wrong_plane_is_told(void **state)
{
    (void)state;
    device.planes = true;
    for (int mask = 1; mask < 16; mask++) {
        char expected[100];
        device.wrong_planes = mask;
        assert_int_equal(RUN(PLANES, "--system", "dysharp"), MW_EXIT_MISMATCH);
        const unsigned first = (unsigned)__builtin_ctz((unsigned)mask);
        snprintf(expected, sizeof expected,
                 "plane %u:\nmoeswitch: dysharp, layer 0: 1 wrong elements", first);
        assert_ptr_equal(strstr(err_text, expected), err_text);
        snprintf(expected, sizeof expected, "dysharp, layer 0: %d wrong elements",
                 __builtin_popcount((unsigned)mask));
        assert_non_null(strstr(err_text, expected));
        snprintf(expected, sizeof expected, "token 2, element %u", first);
        assert_non_null(strstr(err_text, expected));
    }
}

static void a_stuck_plane_ends_the_run(void **state)
{
    (void)state;
    device.planes = true;
    device.status = MW_EXIT_STUCK;
    device.faulty = "dysharp";
    assert_int_equal(RUN(PLANES, "--jobs", "2", "--system", "unicast,dysharp"), MW_EXIT_STUCK);
    assert_non_null(strstr(err_text, "plane 0:\nGPU 0: stream 1 waits\n"));
    assert_non_null(strstr(err_text, "moeswitch: plane 0: dysharp: as planned\n"));
}

/// A plane whose result cannot be written reports the cause.
static void a_plane_without_room_ends_the_run(void **state)
{
    (void)state;
    struct rlimit before, little;
    device.planes = true;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = 64;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    const int status = RUN(PLANES, "--system", "unicast");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, MW_EXIT_FAILED);
    assert_non_null(strstr(err_text, "plane 0: its process failed: File too large"));
}

/// A plane that is killed ends those that still run.
static void a_lost_plane_ends_the_run(void **state)
{
    (void)state;
    device.planes = true;
    device.endless = 1;
    device.killed = 1 << 2;
    assert_int_equal(RUN(PLANES, "--jobs", "3", "--system", "unicast"), MW_EXIT_FAILED);
    assert_non_null(strstr(err_text, "plane 2: its process was ended by signal 9"));
}

/// Planes that do not get the signal themselves are ended, too.
static void an_interrupt_ends_the_planes(void **state)
{
    (void)state;
    device.planes = true;
    device.endless = 0xf;
    device.interrupts = true;
    assert_int_equal(RUN(PLANES, "--jobs", "4", "--system", "unicast"), MW_EXIT_INTERRUPTED);
    assert_string_equal(err_text, "moeswitch: interrupted\n");
}

static void refuses_outputs_of_one_plane(void **state)
{
    (void)state;
    static const struct {
        const char *words[3], *says;
    } bad[] = {
        {{"--batches", "2"}, "--planes all: not with --batches"},
        {{"--interval", "5"}, "--planes all: not with --interval"},
        {{"--plot", "-"}, "--planes all: not with --plot"},
        {{"--timeline", "-"}, "--planes all: not with --timeline"},
        {{"--trace-fst", "x.fst"}, "--planes all: not with --trace-fst"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const *w = bad[i].words;
        REFUSE(bad[i].says, PLANES, w[0], w[1]);
    }
    REFUSE("--planes all: only with --hardware", SMALL, "--planes", "all");
    REFUSE("--planes both: expected one or all", SMALL, "--planes", "both");
}

int main(void)
{
    signal(SIGINT, SIG_DFL); // not so where a shell has put the tests into its background
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(jobs_change_nothing_but_time, reset),
        cmocka_unit_test_setup(the_first_failure_counts, reset),
        cmocka_unit_test_setup(ends_when_interrupted, reset),
        cmocka_unit_test_setup(the_slowest_plane_counts, reset),
        cmocka_unit_test_setup(a_wrong_plane_is_told, reset),
        cmocka_unit_test_setup(a_stuck_plane_ends_the_run, reset),
        cmocka_unit_test_setup(a_plane_without_room_ends_the_run, reset),
        cmocka_unit_test_setup(a_lost_plane_ends_the_run, reset),
        cmocka_unit_test_setup(an_interrupt_ends_the_planes, reset),
        cmocka_unit_test_setup(refuses_outputs_of_one_plane, reset),
    };
    return cmocka_run_group_tests_name("jobs", tests, scratch_make, finish_words);
}
