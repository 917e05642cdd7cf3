// SPDX-License-Identifier: Apache-2.0
//
// A model in one thread and in two: the same bits, cycles and counters.
#include "system/layers.h"

static void one_thread_or_two(void **state)
{
    (void)state;
    struct mw_random r = {test_seed()};
    const struct layer_shape shape = {
        .gpus = 3, .tokens = 24, .hidden = 192, .experts = 12, .k = 4};
    struct layer l;
    layer_make(&l, &shape, &r);
    uint64_t cycles[2];
    struct mw_counters counters[2];
    for (unsigned two = 0; two < 2; two++) {
        setenv("MW_SIM_THREADS", two ? "2" : "1", 1);
        struct mw_device *d = layer_device(shape.gpus, 16);
        for (unsigned k = 0; k < 3; k++)
            cycles[two] = layer_pass(&l, d, two ? "two threads" : "one thread");
        counters[two] = l.counters;
        mw_close(d);
    }
    assert_int_equal(cycles[0], cycles[1]);
    assert_memory_equal(&counters[0], &counters[1], sizeof counters[0]);
    layer_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_or_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
