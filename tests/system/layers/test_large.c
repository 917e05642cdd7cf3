// SPDX-License-Identifier: Apache-2.0
//
// The largest devices, 16, 32 and 40 GPUs. A test of its own, because their models take long to
// build: `make test-all` runs it.
#include "system/configuration.h"

#define N32 "--gpus 32 --flit-bytes 16 --hidden 64 --experts 256 --k 8 "

static void sixteen_gpus(void **state)
{
    (void)state;
    bench_all(
        "--gpus 16 --flit-bytes 16 --hidden 64 --experts 64 --k 6 --tokens-per-gpu 8 --tile 2",
        NULL, NULL);
    // a GPU reports its number of rows for each of 64 experts in two packets
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

/// GPUs whose numbers take more bits than those of 32, and copies that are counted in two packets
static void forty_gpus(void **state)
{
    (void)state;
    bench_all("--gpus 40 --flit-bytes 8 --hidden 64 --experts 40 --k 8 --tokens-per-gpu 4 --tile 2",
              NULL, NULL);
    bench_all("--gpus 40 --flit-bytes 8 --hidden 128 --experts 40 --k 16 --tokens-per-gpu 2 "
              "--tile 1 --link-latency 64",
              NULL, NULL);
}

/// Each drains, with the golden bits and the analytic flit counts.
static void random_configurations(void **state)
{
    (void)state;
    static const struct configuration_model models[] = {
        {16, 16, false, 8, 6, 24, 8, false},
        {32, 16, false, 8, 4, 16, 8, false},
    };
    uint64_t seed = test_seed();
    for (unsigned i = 0; i < 60; i++) {
        struct configuration c;
        configuration_make(&c, seed, i, models);
        bench_pass(&c.bench, c.system);
        bench_free(&c.bench);
    }
}

/// The longest rows, the largest tile, the most experts of a token.
static void long_rows(void **state)
{
    (void)state;
    static const char *const sizes[] = {
#define N16 "--gpus 16 --flit-bytes 16 --experts 64 --tokens-per-gpu 5 "
        N16 "--hidden 4096 --k 16 --tile 255 --link-cycles 3",
        N16 "--hidden 4096 --k 1 --tile 1",
        N16 "--hidden 32 --k 16 --tile 255",
    };
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        bench_all(sizes[i], NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_gpus), cmocka_unit_test(thirty_two_gpus),
        cmocka_unit_test(forty_gpus),   cmocka_unit_test(random_configurations),
        cmocka_unit_test(long_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
