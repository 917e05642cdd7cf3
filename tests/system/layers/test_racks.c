// SPDX-License-Identifier: Apache-2.0
//
// Random configurations of 40 and 72 GPUs, on links of 1 to 2 047 cycles: the numbers of ports take
// more than five bits, and sets of them more than two words. Each must drain with the golden bits
// and the analytic flit counts. MW_SEED sets the seed, MW_CASES how many, MW_CONFIG=i runs
// configuration i alone.
#include "system/configuration.h"

#include <unistd.h>

enum { FEW = 4, MANY = 24 };

static const struct configuration_model models[] = {
    {40, 8, false, 6, 3, 12, 2, true},
    {72, 16, false, 10, 3, 12, 4, true},
};

/// A folder of models in which those of long links stand in for those of short ones.
static void link_models(void)
{
    char from[200], here[150];
    assert_non_null(getcwd(here, sizeof here));
    for (unsigned i = 0; i < sizeof models / sizeof *models; i++) {
        snprintf(from, sizeof from, "%s/build/model/n%uf%u-far", here, models[i].gpus,
                 models[i].flit_bytes);
        for (unsigned far = 0; far < 2; far++) {
            char name[24];
            snprintf(name, sizeof name, "n%uf%u%s", models[i].gpus, models[i].flit_bytes,
                     far ? "-far" : "");
            assert_int_equal(symlink(from, scratch(name)), 0);
        }
    }
    assert_int_equal(setenv("MOESWITCH_MODEL", scratch(""), 1), 0);
}

static bool run_configuration(struct configuration *c)
{
    bench_pass(&c->bench, c->system);
    return true;
}

static void random_configurations(void **state)
{
    (void)state;
    const char *cases = getenv("MW_CASES");
    const unsigned count = cases ? (unsigned)strtoul(cases, NULL, 0) : test_cases(FEW, MANY);
    link_models();
    configurations_run(count, count, models, "", run_configuration, 0);
    unsetenv("MOESWITCH_MODEL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_configurations),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
