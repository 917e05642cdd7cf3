// SPDX-License-Identifier: Apache-2.0
//
// balance_rows: hubs serve first the GPUs that have received the smallest part of their partial
// sums. Bits stay, no GPU waits too long, and a layer with a hot GPU and an unequal demand for it
// ends earlier.
#include "system/bench.h"

enum { GPUS = 8, HOT = 0 };

/// Whether a token of a GPU has an expert at GPU HOT.
typedef bool needs_hot(const struct bench *b, unsigned gpu, unsigned token);

/// GPU 1 alone needs it for all of its tokens.
static bool one_home(const struct bench *b, unsigned gpu, unsigned token)
{
    (void)b;
    return gpu == 1 || token % 3 == 0;
}

/// Of the last GPU two tokens need it, of the others all.
static bool rare_home(const struct bench *b, unsigned gpu, unsigned token)
{
    return gpu < GPUS - 1 || token == 0 || token + 1 == b->params.shape.tokens_per_gpu;
}

/// Experts of a token: one at GPU HOT if it needs that, and others at the following GPUs in turn.
static void choose_experts(struct bench *b, void *needs)
{
    needs_hot *const *hot = needs;
    const unsigned tokens = b->params.shape.tokens_per_gpu, of_gpu = b->trace.experts / GPUS;
    for (unsigned t = 0; t < GPUS * tokens; t++) {
        const unsigned gpu = t / tokens;
        for (unsigned j = 0; j < b->trace.k; j++) {
            unsigned at = 1 + (gpu + t + j) % (GPUS - 1);
            if (j == 0 && (*hot)(b, gpu, t % tokens))
                at = HOT;
            *bench_id(b, 0, t, j) = (uint16_t)(at * of_gpu + t % of_gpu);
        }
    }
}

static uint64_t cycles(const char *layer, unsigned balance, needs_hot *hot)
{
    struct bench b;
    bench_options(&b, "--gpus %d --flit-bytes 16 --spread near %s --set balance_rows=%u", GPUS,
                  layer, balance);
    bench_prepare(&b, choose_experts, &hot);
    const uint64_t n = bench_pass(&b, "moeswitch");
    print_message("%s, balance_rows=%u: %llu cycles\n", layer, balance, (unsigned long long)n);
    bench_free(&b);
    return n;
}

static void ends_earlier(void **state)
{
    (void)state;
    static const char layer[] = "--hidden 512 --tokens-per-gpu 96 --experts 32 --k 2 --tile 2 "
                                "--dispatch-type e4m3-tensor --set order_waits=1";
    assert_true(cycles(layer, 1, one_home) * 100 < cycles(layer, 0, one_home) * 98);
}

/// The switch marks a hub as down that sends no packet of a requested row within its limit, here
/// some 2^11 cycles. Without a bound on the wait it would mark GPU HOT: one row of the last GPU is
/// half of what it gets, and only later is it behind the others again.
static void answers_in_time(void **state)
{
    (void)state;
    cycles("--hidden 1024 --tokens-per-gpu 120 --experts 8 --k 1 --tile 2 --dispatch-type "
           "e4m3-tensor --set port_limit=11",
           1, rare_home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends_earlier),
                                       cmocka_unit_test(answers_in_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
