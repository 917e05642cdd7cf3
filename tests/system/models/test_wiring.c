// SPDX-License-Identifier: Apache-2.0
//
// fabric.sv itself, compared with the parts that sim/lanes/fabric_lanes.cpp connects instead in
// every other test (pair.h). Runs have all primitives, and as many GPUs as lanes. MW_LONG: N = 3,
// so that a lane is left over, and 16-byte flits.
#include "system/pair.h"

enum { FEW = 4, MANY = 24 };

static const struct pair_models all_primitives = {
    .path = {"build/model/n2f8/libmwsim.so", "build/model/n2f8-plain/libmwsim.so"},
    .name = {"the parts", "fabric.sv"},
    .gpus = 2,
    .flit_bytes = 8,
    .area = 1 << 17,
};
static const struct pair_models small = {
    .path = {"build/model/n4f8-small/libmwsim.so", "build/model/n4f8-small-fst/libmwsim.so"},
    .name = {"the parts", "fabric.sv"},
    .gpus = 4,
    .flit_bytes = 8,
    .area = 1 << 14,
    .small = true,
};
static const struct pair_models lane_left_over = {
    .path = {"build/model/n3f16/libmwsim.so", "build/model/n3f16-fst/libmwsim.so"},
    .name = {"the parts", "fabric.sv"},
    .gpus = 3,
    .flit_bytes = 16,
    .area = 1 << 17,
};

static void on_each(void test(const struct pair_models *models, unsigned layers))
{
    test(&all_primitives, FEW);
    test(&small, FEW);
    if (test_cases(0, 1))
        test(&lane_left_over, MANY);
}

static void any_layers(void **state)
{
    (void)state;
    on_each(pair_any_layers);
}

static void what_goes_wrong(void **state)
{
    (void)state;
    on_each(pair_what_goes_wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_layers),
        cmocka_unit_test(what_goes_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
