// SPDX-License-Identifier: Apache-2.0
//
// Experts at random places, some of them at several, under every system: golden bits, flit counts
// and bounds. If every sum is exact, the bits are those of the layer without a placement.
#include "system/bench.h"
#include "systems/system_list.h"

enum { TOKENS = 6 };

/// Draw places of `experts` experts and as many replicas until no GPU has an expert twice.
static void draw_places(struct mw_random *r, unsigned gpus, unsigned experts, unsigned replicas,
                        uint16_t *expert_at)
{
    const unsigned places = experts + replicas, room = places / gpus;
    bool twice;
    for (unsigned p = 0; p < places; p++)
        expert_at[p] = (uint16_t)(p % experts);
    do {
        twice = false;
        for (unsigned p = places; p-- > 1;) {
            const unsigned other = (unsigned)mw_random_below(r, p + 1);
            const uint16_t moved = expert_at[p];
            expert_at[p] = expert_at[other];
            expert_at[other] = moved;
        }
        for (unsigned p = 0; p < places; p++)
            for (unsigned other = p / room * room; other < p; other++)
                twice |= expert_at[other] == expert_at[p];
    } while (twice);
}

static const char *write_places(struct mw_random *r, unsigned gpus, unsigned experts,
                                unsigned replicas)
{
    const char *path = scratch("places.csv");
    uint16_t expert_at[256];
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("layer,expert,gpu\n", f);
    for (unsigned layer = 0; layer < 2; layer++) {
        draw_places(r, gpus, experts, replicas, expert_at);
        for (unsigned p = 0; p < experts + replicas; p++)
            fprintf(f, "%u,%u,%u\n", layer, expert_at[p], p / ((experts + replicas) / gpus));
    }
    assert_int_equal(fclose(f), 0);
    return path;
}

/// Values whose sums are never rounded.
static void make_exact(struct bench *b)
{
    const unsigned experts = b->w.experts - b->w.replicas;
    for (unsigned e = 0; e < experts; e++)
        b->w.coefficients[e] &= 0xff80;
    for (unsigned l = 0; l < b->w.layers; l++) {
        for (size_t i = 0; i < (size_t)b->w.tokens * b->w.k; i++)
            b->w.layer[l].weights[i] = i % 2 ? 0.5f : 2.0f;
        for (size_t i = 0; i < (size_t)b->w.tokens * b->w.shape.hidden; i++)
            b->w.layer[l].x[i] &= 0xff80;
    }
    bench_golden(b);
}

static void all_systems(const struct bench *b)
{
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        if (bench_has(b, &mw_systems[i]))
            bench_pass(b, mw_systems[i].name);
}

/// A random placement of both layers, and the golden result without one where N divides `experts`.
static void random_places(unsigned gpus, unsigned flit_bytes, unsigned experts, unsigned replicas,
                          struct mw_random *r)
{
    static const char *const choices[] = {"hash", "least", "near"};
    const char *choice = choices[mw_random_below(r, 3)];
    struct bench plain, placed;
    char layer[200];
    snprintf(
        layer, sizeof layer,
        "--gpus %u --flit-bytes %u --hidden 40 --tokens-per-gpu %d --experts %u --k 4 --tile 4 "
        "--layers 1,0 --seed %u",
        gpus, flit_bytes, TOKENS, experts, gpus);
    bench_options(&placed, "%s --replica-choice %s", layer, choice);
    placed.params.placing.by = write_places(r, gpus, experts, replicas);
    print_message("%s, %u replicas, %s\n", layer, replicas, choice);
    bench_prepare(&placed, NULL, NULL);
    assert_int_equal(placed.w.replicas, replicas);
    if (experts % gpus == 0) {
        bench_options(&plain, "%s", layer);
        bench_prepare(&plain, NULL, NULL);
        make_exact(&plain);
        make_exact(&placed);
        for (unsigned l = 0; l < 2; l++)
            assert_memory_equal(placed.expected[l].out, plain.expected[l].out,
                                (size_t)plain.w.tokens * 40 * sizeof(uint16_t));
        bench_free(&plain);
    }
    all_systems(&placed);
    bench_free(&placed);
}

/// N = 5 to 7 have their own models, which are built if they are missing.
static void every_number_of_gpus(void **state)
{
    (void)state;
    struct mw_random r = {test_seed()};
    for (unsigned gpus = 2; gpus <= 8; gpus++) {
        if (gpus >= 5 && gpus <= 7 && !test_cases(0, 1))
            continue;
        random_places(gpus, gpus == 2 || gpus == 4 ? 8 : 16, 4 * gpus,
                      gpus * (unsigned)mw_random_below(&r, 3), &r);
    }
    random_places(3, 16, 10, 5, &r);
}

/// Loads and choices that reach the device only as lists: bits, flits and bounds of all systems.
static void by_loads(void **state)
{
    (void)state;
    bench_all(
        "--gpus 8 --flit-bytes 16 --hidden 64 --tokens-per-gpu 12 --experts 32 --k 4 --tile 4 "
        "--placement loads --replicas 8 --replica-choice near",
        NULL, NULL);
    bench_all("--gpus 4 --flit-bytes 8 --hidden 64 --tokens-per-gpu 12 --experts 16 --k 4 --tile 4 "
              "--layer 1 --placement loads --expert-loads earlier --replicas 48",
              NULL, NULL);
}

/// Layers that the device's queue feeds have the placement of those before.
static void fed_batches(void **state)
{
    (void)state;
    struct bench b;
    struct mw_result r;
    bench_options(&b, "--gpus 4 --flit-bytes 8 --hidden 64 --tokens-per-gpu 8 --experts 16 --k 4 "
                      "--tile 4 --batches 3 --placement loads --replicas 4");
    bench_prepare(&b, NULL, NULL);
    const int status = bench_run(&b, "dysharp", &r);
    bench_check(&b, "dysharp", &r, status);
    assert_true(r.has_feeding && !r.feeding.wrong);
    mw_result_free(&r);
    bench_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_number_of_gpus),
                                       cmocka_unit_test(by_loads), cmocka_unit_test(fed_batches)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
