// SPDX-License-Identifier: Apache-2.0
//
// Random configurations: sizes, routing, credits down to the minimum, latency, tiles, windows,
// stalls and skew, all set at run time so that a few models serve them all. Each must drain
// with the golden bits and the analytic flit counts. MW_SEED sets the seed, MW_CONFIG=i runs
// configuration i alone.
#include "system/configuration.h"
#include "systems/system_list.h"

enum { FEW = 100, MANY = 300 };

static const struct configuration_model models[] = {
    {2, 8, false, 4, 16, 48, 8, false}, {4, 8, true, 4, 6, 8, 2, false},
    {4, 8, false, 3, 12, 48, 8, false}, {3, 16, false, 3, 12, 24, 6, false},
    {8, 16, false, 2, 8, 24, 8, false},
};

/// Returns its system's place in mw_systems.
static size_t run_configuration(uint64_t seed, unsigned i)
{
    struct configuration c;
    configuration_make(&c, seed, i, models);
    bench_pass(&c.bench, c.system);
    bench_free(&c.bench);
    return (size_t)(mw_system_find(c.system) - mw_systems);
}

static void random_configurations(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    const char *only = getenv("MW_CONFIG");
    const unsigned configurations = test_cases(FEW, MANY);
    unsigned drawn[MW_SYSTEMS] = {0};
    for (unsigned i = 0; i < configurations; i++)
        if (!only || strtoul(only, NULL, 0) == i)
            drawn[run_configuration(seed, i)]++;
    for (unsigned s = 0; s < MW_SYSTEMS && !only; s++) {
        print_message("%s: %u configurations\n", mw_systems[s].name, drawn[s]);
        assert_true(drawn[s] >= configurations / (4 * MW_SYSTEMS));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
