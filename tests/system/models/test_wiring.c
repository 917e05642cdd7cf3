// SPDX-License-Identifier: Apache-2.0
//
// fabric.sv itself beside the parts that sim/lanes/fabric_lanes.cpp joins in its place in every
// other test (pair.h). N = 3, so that a lane is left over, and 16-byte flits.
#include "system/pair.h"

enum { FEW = 4, MANY = 24 };

static const struct pair_models models = {
    .path = {"build/model/n3f16/libmwsim.so", "build/model/n3f16-fst/libmwsim.so"},
    .name = {"the parts", "fabric.sv"},
    .gpus = 3,
    .flit_bytes = 16,
    .area = 1 << 17,
};

static void any_layers(void **state)
{
    (void)state;
    pair_any_layers(&models, test_cases(FEW, MANY));
}

static void what_goes_wrong(void **state)
{
    (void)state;
    pair_what_goes_wrong(&models, test_cases(FEW, MANY));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_layers),
        cmocka_unit_test(what_goes_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
