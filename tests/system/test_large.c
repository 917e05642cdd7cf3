// SPDX-License-Identifier: Apache-2.0
//
// The largest device, 32 GPUs. A test of its own, because its model takes long to build: `make
// test-all` runs it.
#include "bench.h"

#define N32 "--gpus 32 --flit-bytes 16 --hidden 64 --experts 256 --k 8 "

static void thirty_two_gpus(void **state)
{
    (void)state;
    bench_all(N32 "--tokens-per-gpu 4 --tile 2", NULL, NULL);
    bench_all(N32 "--tokens-per-gpu 4 --tile 4 --k 16 --link-latency 64", NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thirty_two_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
