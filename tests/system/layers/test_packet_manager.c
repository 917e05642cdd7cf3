// SPDX-License-Identifier: Apache-2.0
//
// Packet managers in whole layers. Every system has its bits and its flits with them, for any rows,
// window and timer. Scattered stores of 32 bytes become the packets that whole stores would be. The
// saving is measured in flits and cycles.
#include "system/bench.h"

#include <inttypes.h>

#define N8 "--gpus 8 --flit-bytes 16 "
#define N4 "--gpus 4 --flit-bytes 8 --experts 16 --k 4 "
#define N2 "--gpus 2 --flit-bytes 8 --experts 8 --k 3 "
#define ON "--set packet_manager=1 "

/// Flits of class STORE on all uplinks, and the other results of one layer.
struct measured {
    uint64_t cycles, stores;
    struct mw_merging merging;
};

static struct measured measure(const char *system, const char *options, const char *more)
{
    struct bench b;
    struct mw_result r;
    bench_options(&b, "%s %s", options, more);
    bench_prepare(&b, NULL, NULL);
    int status = bench_run(&b, system, &r);
    bench_check(&b, system, &r, status);
    struct measured m = {.cycles = r.layer[0].cycles, .merging = r.layer[0].merging};
    for (unsigned p = 0; p < b.w.shape.gpus; p++)
        m.stores += r.layer[0].traffic.flits[p][MW_UP][MW_STORE];
    mw_result_free(&r);
    bench_free(&b);
    print_message("%s %s %s: %" PRIu64 " cycles, %" PRIu64 " flits of stores up\n", system, options,
                  more, m.cycles, m.stores);
    return m;
}

/// Systems that send rows with one target.
static const char *const makers[] = {"unicast", "moe-hub", "flashdmoe"};
enum { MAKERS = sizeof makers / sizeof *makers };

/// All systems, of which those with multicasts have little that could be merged.
static void every_system(void **state)
{
    (void)state;
    static const char *const options[] = {
        N2 "--tokens-per-gpu 8 --hidden 64 --tile 2 " ON,
        N4 "--tokens-per-gpu 8 --hidden 264 --tile 4 " ON "--set scatter=4",
        N4 "--tokens-per-gpu 9 --hidden 128 --tile 1 " ON "--set scatter=2 --set rpm_timer=0",
        N4 "--tokens-per-gpu 6 --hidden 128 --tile 2 --set scatter=5",
        N8 "--tokens-per-gpu 8 --hidden 512 --tile 4 " ON
           "--set scatter=3 --set target_list_cache=0",
    };
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++)
        bench_all(options[i], NULL, NULL);
}

/// Rows of less than a sector, of a part of a line (which several rows may share), and of lines and
/// a part. They go to explicit addresses, to a row of one expert, and to a row whose packets might
/// have had other targets.
static void rows(void **state)
{
    (void)state;
    static const unsigned hidden[] = {4, 16, 20, 32, 36, 48, 64, 80, 264, 520, 1024};
    for (unsigned i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        for (unsigned scatter = i % 2; scatter < 6; scatter += test_cases(2, 1) + i % 2) {
            char more[160];
            snprintf(more, sizeof more, ON "--hidden %u --set scatter=%u --set rpm_timer=%u",
                     hidden[i], scatter, i % 3 * 100);
            for (unsigned s = 0; s < MAKERS; s++)
                measure(makers[s], N2 "--tokens-per-gpu 5 --tile 2", more);
            measure("dysharp", N2 "--tokens-per-gpu 5 --tile 2", more);
        }
    }
}

/// Credits of one packet and slow links. Kept lines wait, and arrive.
static void slow_uplinks(void **state)
{
    (void)state;
    static const char *const more[] = {"--set store_credits=1",
                                       "--set store_credits=1 --set rpm_timer=0",
                                       "--set throttle=220 --set rpm_timer=30", "--link-cycles 3",
                                       "--link-latency 64 --set down_store_credits=1"};
    for (unsigned i = 0; i < sizeof more / sizeof *more; i++)
        for (unsigned s = 0; s < MAKERS; s++)
            measure(makers[s], N4 "--tokens-per-gpu 6 --hidden 256 --tile 2 " ON "--set scatter=4",
                    more[i]);
}

static const char *const sizes[] = {N4 "--tokens-per-gpu 12 --hidden 512 --tile 2",
                                    N8 "--tokens-per-gpu 12 --hidden 512 --tile 2"};
enum { SIZES = sizeof sizes / sizeof *sizes };

/// With a window that it can hold, every line leaves full: the flits are those of whole packets.
static void scattered_stores_become_lines(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SIZES; i++) {
        const struct measured whole = measure("unicast", sizes[i], "");
        const struct measured cut = measure("unicast", sizes[i], "--set scatter=3");
        const struct measured merged =
            measure("unicast", sizes[i], ON "--set scatter=3 --set rpm_timer=20000");
        const struct measured passed = measure("unicast", sizes[i], ON);
        // where links are slower than hubs, which make a flit of a small store per cycle at most
        const struct measured slow_cut =
            measure("unicast", sizes[i], "--set scatter=3 --link-cycles 2");
        const struct measured slow_merged = measure(
            "unicast", sizes[i], ON "--set scatter=3 --set rpm_timer=20000 --link-cycles 2");
        assert_true(cut.stores > whole.stores && cut.cycles > whole.cycles);
        assert_int_equal(cut.merging.in, 0);
        assert_int_equal(merged.stores, whole.stores);
        assert_int_equal(merged.merging.in, merged.merging.out + merged.merging.merged);
        assert_int_equal(merged.merging.merged, 3 * merged.merging.full);
        assert_true(merged.merging.full > 0 && merged.merging.timer == 0);
        assert_true(merged.cycles < cut.cycles + cut.cycles / 50);
        assert_int_equal(slow_merged.stores, whole.stores);
        assert_true(slow_merged.cycles < slow_cut.cycles - slow_cut.cycles / 25);
        // whole lines pass it by, a few cycles later
        assert_int_equal(passed.stores, whole.stores);
        assert_int_equal(passed.merging.in, passed.merging.out);
        assert_int_equal(passed.merging.merged + passed.merging.full + passed.merging.timer, 0);
        assert_true(passed.cycles < whole.cycles + whole.cycles / 50);
    }
}

/// Rows of moe-hub share the uplink with those that return: merging takes most of what small stores
/// cost off again. After the earlier stores, each GPU sends row counts to each other one. They
/// split a window of 4 lines into at most two parts.
static void row_sparse_stores_become_lines(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2 * SIZES; i++) {
        const unsigned gpus = i / 2 ? 8 : 4, head = i / 2 ? 1 : 2;
        const char *links = i % 2 ? "--link-cycles 2" : "";
        char more[100];
        const struct measured whole = measure("moe-hub", sizes[i / 2], links);
        snprintf(more, sizeof more, "%s --set scatter=3", links);
        const struct measured cut = measure("moe-hub", sizes[i / 2], more);
        snprintf(more, sizeof more, "%s " ON "--set scatter=3", links);
        const struct measured merged = measure("moe-hub", sizes[i / 2], more);
        assert_true(cut.stores > whole.stores + whole.stores / 10);
        assert_true(cut.cycles > whole.cycles + whole.cycles / 10);
        assert_in_range(merged.stores, whole.stores, whole.stores + 4ul * gpus * (gpus - 1) * head);
        assert_true(merged.cycles < cut.cycles - (cut.cycles - whole.cycles) / 2);
        assert_true(merged.merging.full > 0);
        assert_int_equal(merged.merging.in, merged.merging.out + merged.merging.merged);
    }
}

/// A timer shorter than the time in which a line comes together.
static void timer(void **state)
{
    (void)state;
    const struct measured m = measure("unicast", N4 "--tokens-per-gpu 6 --hidden 512 --tile 2",
                                      ON "--set scatter=3 --set rpm_timer=1");
    assert_true(m.merging.timer > 0);
    assert_true(m.merging.out + m.merging.merged >= m.merging.in);
}

static void a_device_without(void **state)
{
    (void)state;
    static const char *const settings[] = {"packet_manager", "scatter"};
    for (unsigned i = 0; i < 2; i++) {
        struct bench b;
        struct mw_result r;
        bench_options(&b,
                      "--gpus 4 --flit-bytes 8 --hidden 32 --experts 8 --k 2 --tokens-per-gpu 4 "
                      "--set small=1 --set %s=1",
                      settings[i]);
        bench_prepare(&b, NULL, NULL);
        assert_int_equal(bench_run(&b, "unicast", &r), MW_EXIT_INPUT);
        assert_line(r.error.text, settings[i], "merge no stores", "leave it out");
        mw_result_free(&r);
        bench_free(&b);
    }
}

static void runs_repeat(void **state)
{
    (void)state;
    const char *options = N4 "--tokens-per-gpu 7 --hidden 264 --tile 2 " ON "--set scatter=4";
    for (unsigned s = 0; s < MAKERS; s++) {
        const struct measured a = measure(makers[s], options, ""),
                              b = measure(makers[s], options, "");
        assert_int_equal(a.cycles, b.cycles);
        assert_memory_equal(&a.merging, &b.merging, sizeof a.merging);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_system),
        cmocka_unit_test(rows),
        cmocka_unit_test(slow_uplinks),
        cmocka_unit_test(scattered_stores_become_lines),
        cmocka_unit_test(row_sparse_stores_become_lines),
        cmocka_unit_test(timer),
        cmocka_unit_test(a_device_without),
        cmocka_unit_test(runs_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
