// SPDX-License-Identifier: Apache-2.0
//
// Random configurations: sizes, routing, credits down to the minimum, latency, tiles, windows, stalls
// and skew, all set at run time so that a few models serve them all. Each must drain with the golden
// bits and the analytic flit counts. MW_SEED sets the seed, MW_CONFIG=i runs configuration i alone.
#include "bench.h"

enum { CONFIGURATIONS = 300 };

/// The models, and the largest sizes for them.
static const struct model {
    unsigned gpus, flit_bytes;
    bool small;
    unsigned weight; ///< how often, of 16
    unsigned tokens, rows_flits, experts_per_gpu;
} models[] = {
    {2, 8, false, 4, 16, 48, 8},  {4, 8, true, 4, 6, 8, 2},    {4, 8, false, 3, 12, 48, 8},
    {3, 16, false, 3, 12, 24, 6}, {8, 16, false, 2, 8, 24, 8},
};

static unsigned pick(struct mw_random *r, unsigned low, unsigned high)
{
    return low + (unsigned)mw_random_below(r, high - low + 1);
}

static unsigned one_of(struct mw_random *r, const unsigned *list, unsigned n)
{
    return list[mw_random_below(r, n)];
}
#define ONE_OF(r, ...) \
    one_of(r, (const unsigned[]){__VA_ARGS__}, \
           sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

static const struct model *pick_model(struct mw_random *r)
{
    unsigned at = pick(r, 0, 15);
    const struct model *m = models;
    while (at >= m->weight)
        at -= m++->weight;
    return m;
}

/// Options as a text; grows at its end.
struct text {
    char bytes[900];
    size_t length;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->length += (size_t)vsnprintf(t->bytes + t->length, sizeof t->bytes - t->length, format, args);
    va_end(args);
    assert_true(t->length < sizeof t->bytes);
}

static void add_sizes(struct text *t, struct mw_random *r, const struct model *m)
{
    unsigned experts = m->gpus * pick(r, 1, m->experts_per_gpu);
    unsigned k = pick(r, 1, experts < 16 ? experts : 16);
    if (m->small && k > 2)
        k = 2;
    add(t, "--gpus %u --flit-bytes %u --tokens-per-gpu %u --hidden %u --experts %u --k %u", m->gpus,
        m->flit_bytes, pick(r, 1, m->tokens), pick(r, 1, m->rows_flits) * m->flit_bytes / 2,
        experts, k);
    add(t, " --sigma %u --locality 0.%u --spread %s --seed %u", pick(r, 0, 2), pick(r, 0, 9),
        pick(r, 0, 1) ? "near" : "far", pick(r, 0, 1000000));
    if (m->small)
        add(t, " --set small=1");
}

static void add_limits(struct text *t, struct mw_random *r, const struct model *m)
{
    static const char *const credits[] = {"store_credits", "part_credits", "ctrl_credits",
                                          "down_store_credits", "down_part_credits"};
    for (unsigned i = 0; i < sizeof credits / sizeof *credits; i++)
        if (pick(r, 0, 2) == 0)
            add(t, " --set %s=%u", credits[i], ONE_OF(r, 1, 1, 2, 3));
    if (pick(r, 0, 2) == 0)
        add(t, " --set throttle=%u", pick(r, 1, 220));
    if (pick(r, 0, 2) == 0)
        add(t, " --set down_throttle=%u", pick(r, 1, 220));
    unsigned window = ONE_OF(r, 1, 2, 4, 16);
    if (pick(r, 0, 2) == 0 && !m->small) // which has none
        add(t, " --set window=%u", window);
    if (pick(r, 0, 2) == 0)
        add(t, " --set start_delay=%u", ONE_OF(r, 1, 7, 50, 400));
}

static void add_behaviour(struct text *t, struct mw_random *r, const struct model *m)
{
    add(t, " --tile %u --link-latency %u --in-flight %u --open-rows %u",
        ONE_OF(r, 1, 1, 2, 4, 7, 16, 128),
        m->small ? ONE_OF(r, 1, 1, 2, 5, 7, 8) : ONE_OF(r, 1, 1, 2, 5, 17, 64),
        ONE_OF(r, 0, 0, 0, 1, 2, 6), ONE_OF(r, 0, 0, 1, 2, 3));
    if (pick(r, 0, 1))
        add(t, " --expert-cycles %u", ONE_OF(r, 0, 1, 3, 20, 90));
    if (pick(r, 0, 1))
        add(t, " --partial-tiles --set partial_wait=%u", ONE_OF(r, 0, 1, 8, 60));
    if (pick(r, 0, 3) == 0)
        add(t, " --layers 0,1,0");
}

/// Empty places in lists; sometimes a whole GPU without tokens.
static void edit_padding(struct bench *b, void *context)
{
    struct mw_random *r = context;
    unsigned idle = pick(r, 0, 2 * b->params.shape.gpus), share = pick(r, 0, 6);
    for (size_t l = 0; l < b->trace.layers; l++)
        for (size_t t = 0; t < b->trace.tokens; t++)
            for (unsigned j = 0; j < b->trace.k; j++)
                if (t / b->params.shape.tokens_per_gpu == idle || pick(r, 0, 9) < share)
                    *bench_id(b, l, t, j) = MW_NO_EXPERT;
}

static void run_configuration(uint64_t seed, unsigned i)
{
    struct mw_random r = {mw_hash3(seed, 0x636f6e66, i)};
    struct text t = {.length = 0};
    struct bench b;
    const struct model *m = pick_model(&r);
    add_sizes(&t, &r, m);
    add_behaviour(&t, &r, m);
    add_limits(&t, &r, m);
    bool padding = pick(&r, 0, 3) == 0;
    if (padding)
        add(&t, " --allow-padding");
    unsigned system = ONE_OF(&r, 0, 1, 2, 2);
    print_message("%u: --system %s %s%s\n", i, mw_systems[system].name, t.bytes,
                  padding ? " (with empty places made here)" : "");
    bench_options(&b, "%s", t.bytes);
    bench_prepare(&b, padding ? edit_padding : NULL, &r);
    bench_pass(&b, mw_systems[system].name);
    bench_free(&b);
}

static void random_configurations(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    const char *only = getenv("MW_CONFIG");
    for (unsigned i = 0; i < CONFIGURATIONS; i++)
        if (!only || strtoul(only, NULL, 0) == i)
            run_configuration(seed, i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
