// SPDX-License-Identifier: Apache-2.0
//
// The caches of the hubs' allocators in whole layers. For any number of entries that a layer uses,
// bits, flits and look-ups are the same, and only misses differ. Also a layer after one with other
// entries, and numbers that a device does not have.
#include "system/bench.h"

#define N4 "--gpus 4 --flit-bytes 8 --experts 32 --k 4 --tile 4 "
#define N2 "--gpus 2 --flit-bytes 8 --experts 8 --k 3 --tile 2 "

enum { LEAST = 16, MOST = 4096 };

static struct mw_result run(const char *options, const char *system, unsigned entries)
{
    struct bench b;
    struct mw_result r;
    bench_options(&b, "%s --set cache_entries=%u", options, entries);
    bench_prepare(&b, NULL, NULL);
    int status = bench_run(&b, system, &r);
    bench_check(&b, system, &r, status);
    bench_free(&b);
    return r;
}

static uint64_t lookups(const struct mw_result *r)
{
    return r->layer[0].alloc_hits + r->layer[0].alloc_misses;
}

/// More rows than the least entries hold at a time: these miss most often.
static void any_number_of_entries(void **state)
{
    (void)state;
    static const char *const systems[] = {"moe-hub", "flashdmoe", "dysharp", "moeswitch"};
    static const char *const options[] = {N4 "--tokens-per-gpu 64 --hidden 128",
                                          N2 "--tokens-per-gpu 90 --hidden 36"};
    for (unsigned o = 0; o < 2; o++)
        for (unsigned s = 0; s < sizeof systems / sizeof *systems; s++) {
            uint64_t all = 0, least = UINT64_MAX, most = 0;
            for (unsigned entries = LEAST; entries <= MOST; entries *= entries < 256 ? 2 : 4) {
                struct mw_result r = run(options[o], systems[s], entries);
                const uint64_t misses = r.layer[0].alloc_misses;
                print_message("%s, %u entries: %llu misses of %llu, %llu cycles\n", systems[s],
                              entries, (unsigned long long)misses, (unsigned long long)lookups(&r),
                              (unsigned long long)r.layer[0].cycles);
                all = all ? all : lookups(&r);
                assert_int_equal(lookups(&r), all);
                least = misses < least ? misses : least;
                most = misses > most ? misses : most;
                if (entries == LEAST)
                    assert_int_equal(misses, most);
                mw_result_free(&r);
            }
            assert_true(most > least);
        }
}

/// Without the setting it is 512 entries: the same cycles.
static void the_usual_number(void **state)
{
    (void)state;
    struct mw_result usual = run(N4 "--tokens-per-gpu 64 --hidden 64", "moe-hub", 0);
    struct mw_result same = run(N4 "--tokens-per-gpu 64 --hidden 64", "moe-hub", 512);
    assert_int_equal(usual.layer[0].cycles, same.layer[0].cycles);
    assert_int_equal(usual.layer[0].alloc_misses, same.layer[0].alloc_misses);
    mw_result_free(&usual);
    mw_result_free(&same);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *options, *why;
    } bad[] = {{N4 "--set cache_entries=24", "no power of two"},
               {N4 "--set cache_entries=8", "no power of two from 16 on"},
               {N4 "--experts 8 --set small=1 --set cache_entries=16", "use all 64: leave it out"}};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bench b;
        struct mw_result r;
        bench_options(&b, "%s --tokens-per-gpu 4 --hidden 32", bad[i].options);
        bench_prepare(&b, NULL, NULL);
        assert_int_equal(bench_run(&b, "dysharp", &r), MW_EXIT_INPUT);
        assert_line(r.error.text, "cache_entries", bad[i].why, "");
        mw_result_free(&r);
        bench_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_entries),
        cmocka_unit_test(the_usual_number),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
