// SPDX-License-Identifier: Apache-2.0
//
// fabric.sv and the fabric with one node for all (docs/design/threads.md) in one model. It ends the
// program in the first cycle in which outputs of a node differ. N = 4 in the sizes of synth-check,
// except that nodes can be made to misbehave. MW_LAYERS=n runs n layers of each kind.
#include "system/pair.h"

enum { LAYERS = 6 };

static unsigned layers(void)
{
    const char *text = getenv("MW_LAYERS");
    return text ? (unsigned)strtoul(text, NULL, 0) : LAYERS;
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

static void every_output_where_a_port_comes_up_again(void **state)
{
    (void)state;
    pair_ports_again(&beside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_output),
        cmocka_unit_test(every_output_where_it_goes_wrong),
        cmocka_unit_test(every_output_where_a_port_comes_up_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
