// SPDX-License-Identifier: Apache-2.0
//
// The bench's share of the links, measured on a fake device with a constant rate of flits. Its
// answers take time, as those of a device do. Those of a node take longer the busier it is.
#include "driver/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench/bench.h"

enum { GPUS = 32, LAYER_CYCLES = 200000, MOST = 34 };

static struct fake fake;

/// A register of the fabric takes 4 to 11 cycles, one of a node up to MOST. It takes fewer as the
/// layer approaches its end.
static unsigned read_cycles(struct fake *f, bool node)
{
    static uint64_t rng = 1;
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    unsigned slow = node ? (unsigned)(f->left * (MOST - 11) / f->layer_cycles) : 0;
    return 4 + slow + (unsigned)(rng >> 61);
}

static int prepare(struct mw_bench *b)
{
    assert_int_equal(mw_bench_configure(b), 0);
    b->config.row_bytes = 128;
    b->config.k = b->config.experts_per_gpu = b->config.rows_per_expert = 1;
    b->config.tokens_per_gpu = 8;
    b->streams = 1;
    return mw_layout_make(b->device, &b->config, &b->layout);
}

static int load(struct mw_bench *b)
{
    (void)b;
    return 0;
}

static void make(const struct mw_bench *b, unsigned gpu, struct mw_stream *s)
{
    (void)b, (void)gpu, (void)s;
}

static int check(struct mw_bench *b, uint64_t *wrong)
{
    (void)b, (void)wrong;
    return 0;
}

/// A flit in every second cycle is a share of one half, for any time of the reads.
static void share(void **state)
{
    (void)state;
    static const struct mw_pattern pattern = {.name = "flow",
                                              .type = "uint8",
                                              .element = 1,
                                              .row = 128,
                                              .classes = 1 << MW_CLS_STORE,
                                              .prepare = prepare,
                                              .make = make,
                                              .load = load,
                                              .check = check};
    for (unsigned split = 0; split < 2; split++) {
        struct mw_error err = {0};
        struct mw_bench_params params = {.iterations = 2, .seed = 1, .split = split};
        struct mw_bench b = {.params = &params, .err = &err};
        struct mw_bench_row row;
        fake_init(&fake, GPUS, 16);
        fake.flowing = true;
        fake.layer_cycles = LAYER_CYCLES;
        fake.read_cycles = read_cycles;
        assert_int_equal(fake_open(&fake, &b.device), 0);
        assert_int_equal(mw_info(b.device, &b.info), 0);
        if (mw_bench_measure(&b, &pattern, 1024, &row))
            fail_msg("%s", err.text);
        printf("share %.4f, whole %.4f of %.0f cycles\n", row.share, row.busiest, row.cycles);
        assert_true(row.steady && row.cycles == LAYER_CYCLES);
        assert_true(row.busiest == 0.5);
        assert_true(row.share > 0.499 && row.share < 0.501);
        mw_close(b.device);
        fake_free(&fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(share)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
