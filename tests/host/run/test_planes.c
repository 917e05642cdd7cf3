// SPDX-License-Identifier: Apache-2.0
//
// Tests of `moeswitch run --planes all`: the result of each plane's process, and what ends them.
#define _POSIX_C_SOURCE 200809L

#include "host/run/planned_device.h"

#include <sys/resource.h>

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
        json[i] = read_text(path);
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

/// A wrong element of any plane is the run's, whichever plane is the slowest.
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

/// A plane whose result cannot be written says why.
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

/// Planes that do not see the signal themselves are ended, too.
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
        assert_int_equal(RUN(PLANES, w[0], w[1]), MW_EXIT_INPUT);
        refuse_text(bad[i].says);
    }
    assert_int_equal(RUN(SMALL, "--planes", "all"), MW_EXIT_INPUT);
    refuse_text("--planes all: only with --hardware");
    assert_int_equal(RUN(SMALL, "--planes", "both"), MW_EXIT_INPUT);
    refuse_text("--planes both: expected one or all");
}

int main(void)
{
    signal(SIGINT, SIG_DFL); // not so where a shell has put the tests into its background
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_slowest_plane_counts, reset),
        cmocka_unit_test_setup(a_wrong_plane_is_told, reset),
        cmocka_unit_test_setup(a_stuck_plane_ends_the_run, reset),
        cmocka_unit_test_setup(a_plane_without_room_ends_the_run, reset),
        cmocka_unit_test_setup(a_lost_plane_ends_the_run, reset),
        cmocka_unit_test_setup(an_interrupt_ends_the_planes, reset),
        cmocka_unit_test_setup(refuses_outputs_of_one_plane, reset),
    };
    return cmocka_run_group_tests_name("planes", tests, scratch_make, finish_words);
}
