// SPDX-License-Identifier: Apache-2.0
//
// Random configurations: sizes, routing, credits down to the minimum, latency, tiles, windows, stalls
// and skew, all set at run time so that a few models serve them all. Each must drain with the golden
// bits and the analytic flit counts. MW_SEED sets the seed, MW_CONFIG=i runs configuration i alone.
#include "configuration.h"

enum { CONFIGURATIONS = 300 };

static const struct configuration_model models[] = {
    {2, 8, false, 4, 16, 48, 8},  {4, 8, true, 4, 6, 8, 2},    {4, 8, false, 3, 12, 48, 8},
    {3, 16, false, 3, 12, 24, 6}, {8, 16, false, 2, 8, 24, 8},
};

static void run_configuration(uint64_t seed, unsigned i)
{
    struct configuration c;
    configuration_make(&c, seed, i, models);
    bench_pass(&c.bench, c.system);
    bench_free(&c.bench);
}

static void random_configurations(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    const char *only = getenv("MW_CONFIG");
    for (unsigned i = 0; i < CONFIGURATIONS; i++)
        if (!only || strtoul(only, NULL, 0) == i)
            run_configuration(seed, i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
