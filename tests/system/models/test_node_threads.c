// SPDX-License-Identifier: Apache-2.0
//
// The fabric with one node for all (docs/design/threads.md), N = 4 in the sizes of synth-check. It
// is compared with the fabric that every other test uses (pair.h). Both start with random contents.
// MW_LAYERS=n runs n layers.
#include "system/pair.h"

enum { LAYERS = 6 };

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
