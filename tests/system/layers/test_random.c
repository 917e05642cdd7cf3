// SPDX-License-Identifier: Apache-2.0
//
// Random configurations: sizes, routing, credits down to the minimum, latency, tiles, windows,
// stalls and skew. All are set at run time, so a few models serve them all. Each must drain with
// the golden bits and the analytic flit counts. MW_SEED sets the seed, MW_CONFIG=i runs
// configuration i alone.
#include "system/configuration.h"
#include "systems/system_list.h"

enum { FEW = 100, MANY = 300 };

static const struct configuration_model models[] = {
    {2, 8, false, 4, 16, 48, 8, false}, {4, 8, true, 4, 6, 8, 2, false},
    {4, 8, false, 3, 12, 48, 8, false}, {3, 16, false, 3, 12, 24, 6, false},
    {8, 16, false, 2, 8, 24, 8, false},
};

static bool run_configuration(struct configuration *c)
{
    bench_pass(&c->bench, c->system);
    return true;
}

static void random_configurations(void **state)
{
    (void)state;
    configurations_run(FEW, MANY, models, "", run_configuration, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
