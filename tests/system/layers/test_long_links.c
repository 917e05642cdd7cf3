// SPDX-License-Identifier: Apache-2.0
//
// Random configurations on links of 65 to 2 047 cycles, with credits of a round trip or fewer. Each
// must drain with the golden bits and the analytic flit counts. MW_SEED sets the seed, MW_CONFIG=i
// runs configuration i alone.
#include "system/configuration.h"

enum { CONFIGURATIONS = 60 };

static const struct configuration_model models[] = {
    {2, 8, false, 8, 40, 96, 8, true},
    {4, 16, false, 8, 24, 96, 8, true},
};

static void random_configurations(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    const char *only = getenv("MW_CONFIG");
    for (unsigned i = 0; i < CONFIGURATIONS; i++) {
        struct configuration c;
        if (only && strtoul(only, NULL, 0) != i)
            continue;
        configuration_make(&c, seed, i, models);
        bench_pass(&c.bench, c.system);
        bench_free(&c.bench);
    }
}

/// Unicast streams over a link of 2 047 cycles are as fast as over one of 65, except for the round
/// trip.
static void latency_costs_no_bandwidth(void **state)
{
    (void)state;
    enum { NEAR = 65, FAR = 2047, TRIPS = 12 };
    uint64_t cycles[2];
    for (unsigned i = 0; i < 2; i++) {
        struct bench b;
        bench_options(
            &b,
            "--gpus 4 --flit-bytes 16 --tokens-per-gpu 512 --hidden 512 --experts 16 --k 3 "
            "--expert-cycles 0 --link-latency %u",
            i ? FAR : NEAR);
        bench_prepare(&b, NULL, NULL);
        cycles[i] = bench_pass(&b, "dysharp");
        bench_free(&b);
    }
    print_message("%llu cycles, %llu\n", (unsigned long long)cycles[0],
                  (unsigned long long)cycles[1]);
    assert_true(cycles[1] <= cycles[0] + TRIPS * (FAR - NEAR));
}

/// A device for long links has more open rows and credits than others, and options reach them.
static void reaches_sizes_of_far_devices(void **state)
{
    (void)state;
    struct bench b;
    bench_options(&b, "--gpus 2 --flit-bytes 8 --tokens-per-gpu 96 --hidden 64 --experts 8 --k 2 "
                      "--link-latency 65 --open-rows 64 --set store_credits=255 "
                      "--set part_credits=255 --set ctrl_credits=64 --set down_store_credits=255 "
                      "--set down_part_credits=255");
    bench_prepare(&b, NULL, NULL);
    bench_pass(&b, "dysharp");
    bench_free(&b);
}

/// Uplinks fill the buffers of the switch long before downlinks with one credit empty them. A layer
/// whose downlinks alone move is not stuck.
static void downlinks_are_progress(void **state)
{
    (void)state;
    struct bench b;
    bench_options(&b, "--gpus 2 --flit-bytes 8 --tokens-per-gpu 64 --hidden 128 --experts 8 --k 2 "
                      "--link-latency 390 --set down_store_credits=1 --set quiet_cycles=20000");
    bench_prepare(&b, NULL, NULL);
    bench_pass(&b, "nvls");
    bench_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        //        cmocka_unit_test(random_configurations),
        cmocka_unit_test(latency_costs_no_bandwidth),
        cmocka_unit_test(reaches_sizes_of_far_devices),
        cmocka_unit_test(downlinks_are_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
