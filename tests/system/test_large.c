// SPDX-License-Identifier: Apache-2.0
//
// The largest devices, 16 and 32 GPUs. A test of its own, because their models take long to build:
// `make test-all` runs it.
#include "bench.h"

#define N32 "--gpus 32 --flit-bytes 16 --hidden 64 --experts 256 --k 8 "

static void sixteen_gpus(void **state)
{
    (void)state;
    bench_all(
        "--gpus 16 --flit-bytes 16 --hidden 64 --experts 64 --k 6 --tokens-per-gpu 8 --tile 2",
        NULL, NULL);
    // a GPU tells how many rows it has for each of 64 experts: in two packets
    bench_all("--gpus 16 --flit-bytes 16 --hidden 64 --experts 1024 --k 16 --tokens-per-gpu 16 "
              "--tile 1",
              NULL, NULL);
}

static void thirty_two_gpus(void **state)
{
    (void)state;
    bench_all(N32 "--tokens-per-gpu 4 --tile 2", NULL, NULL);
    bench_all(N32 "--tokens-per-gpu 4 --tile 4 --k 16 --link-latency 64", NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_gpus),
        cmocka_unit_test(thirty_two_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
