// SPDX-License-Identifier: Apache-2.0
//
// The fabric with one node for all (docs/threads.md), N = 4 in the sizes of synth-check: beside the one that every other test has (pair.h), both with random
// contents at their start; and as a model that holds it beside fabric.sv and ends the program in the first cycle in which a node tells something else. In that
// one nodes can be made to misbehave. MW_LAYERS=n runs n layers of each.
#include "pair.h"

enum { LAYERS = 12 };

static unsigned layers(void)
{
    const char *text = getenv("MW_LAYERS");
    return text ? (unsigned)strtoul(text, NULL, 0) : LAYERS;
}

static void any_layers(void **state)
{
    (void)state;
    const struct pair_models models = {
        .path = {"build/model/n4f8-small/libmwsim.so",
                 "build/model/n4f8-small-threads/libmwsim.so"},
        .name = {"four nodes", "one node"},
        .gpus = 4,
        .flit_bytes = 8,
        .area = 1 << 14,
        .small = true,
    };
    pair_any_layers(&models, layers());
}

static const struct pair_models beside = {
    .path = {"build/model/n4f8-small-beside/libmwsim.so"},
    .name = {"both"},
    .gpus = 4,
    .flit_bytes = 8,
    .area = 1 << 14,
    .small = true,
};

static void every_output(void **state)
{
    (void)state;
    pair_any_layers(&beside, layers());
}

static void every_output_where_it_goes_wrong(void **state)
{
    (void)state;
    pair_what_goes_wrong(&beside, layers());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_layers),
        cmocka_unit_test(every_output),
        cmocka_unit_test(every_output_where_it_goes_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
