// SPDX-License-Identifier: Apache-2.0
//
// See configuration.h.
#include "configuration.h"
#include "system/draw.h"
#include "systems/system_list.h"

static const struct configuration_model *pick_model(struct mw_random *r,
                                                    const struct configuration_model *models)
{
    unsigned at = pick(r, 0, 15);
    const struct configuration_model *m = models;
    while (at >= m->weight)
        at -= m++->weight;
    return m;
}

static void add_sizes(struct text *t, struct mw_random *r, const struct configuration_model *m)
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

/// Of the hub and the switch. The switch opens reductions only if the target-list cache is used.
static void add_primitives(struct text *t, struct mw_random *r, const struct configuration_model *m)
{
    unsigned asks = pick(r, 0, 1);
    add(t, " --set adder_bypass=%u --set target_list_cache=%u --set switch_reductions=%u",
        pick(r, 0, 1), asks ? 1 : pick(r, 0, 1), asks);
    if (pick(r, 0, 1))
        add(t, " --set token_order=1 --set order_cycles=%u", ONE_OF(r, 0, 0, 3, 40));
    if (pick(r, 0, 1))
        add(t,
            " --set dispatch_throttle=1 --set throttle_lead=%u --set throttle_ahead=%u --set "
            "throttle_idle=%u",
            ONE_OF(r, 0, 1, 4, 1000), ONE_OF(r, 0, 1, 2, 20), ONE_OF(r, 0, 1, 30, 256));
    add(t, " --set order_waits=%u", pick(r, 0, 1));
    if (!m->small) // which has none
        add(t, " --set balance_rows=%u", pick(r, 0, 1));
}

static void add_limits(struct text *t, struct mw_random *r, const struct configuration_model *m)
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
    if (!m->small) // which has none of these
        add_primitives(t, r, m);
}

/// More than 32 GPUs have any latency.
static unsigned far_latency(struct mw_random *r, const struct configuration_model *m)
{
    return m->gpus > 32 ? pick(r, 1, 2047) : ONE_OF(r, 65, 130, 390, 781, 1562, 2047);
}

static void add_behaviour(struct text *t, struct mw_random *r, const struct configuration_model *m)
{
    add(t, " --tile %u --link-latency %u --in-flight %u --open-rows %u",
        ONE_OF(r, 1, 1, 2, 4, 7, 16, 128),
        m->small ? ONE_OF(r, 1, 1, 2, 5, 7, 8)
        : m->far ? far_latency(r, m)
                 : ONE_OF(r, 1, 1, 2, 5, 17, 64),
        ONE_OF(r, 0, 0, 0, 1, 2, 6), ONE_OF(r, 0, 0, 1, 2, 3));
    if (!m->small)
        add(t, " --link-cycles %u", ONE_OF(r, 1, 1, 2, 4));
    if (pick(r, 0, 1))
        add(t, " --expert-cycles %u", ONE_OF(r, 0, 1, 3, 20, 90));
    if (pick(r, 0, 1))
        add(t, " --partial-tiles --set partial_wait=%u", ONE_OF(r, 0, 1, 8, 60));
    if (pick(r, 0, 3) == 0)
        add(t, " --layers 0,1,0");
}

/// Empty places in lists, and sometimes a whole GPU without tokens.
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

/// One of the systems that it has: each in its turn, then those with signals once more, which have
/// the most settings.
static const char *turn_of(const struct bench *b, unsigned i)
{
    const struct mw_system *list[2 * MW_SYSTEMS] = {NULL};
    unsigned count = 0;
    for (unsigned times = 0; times < 2; times++)
        for (unsigned s = 0; s < MW_SYSTEMS; s++)
            if (bench_has(b, &mw_systems[s]) && times <= mw_systems[s].signals)
                list[count++] = &mw_systems[s];
    assert_true(count > 0);
    return list[i % count]->name;
}

void configuration_make(struct configuration *c, uint64_t seed, unsigned i,
                        const struct configuration_model *models)
{
    configuration_make_with(c, seed, i, models, "");
}

void configuration_make_with(struct configuration *c, uint64_t seed, unsigned i,
                             const struct configuration_model *models, const char *more)
{
    struct mw_random r = {mw_hash3(seed, 0x636f6e66, i)};
    struct text t = {.length = 0};
    const struct configuration_model *m = pick_model(&r, models);
    add_sizes(&t, &r, m);
    add_behaviour(&t, &r, m);
    add_limits(&t, &r, m);
    add(&t, "%s", more);
    bool padding = pick(&r, 0, 3) == 0;
    if (padding)
        add(&t, " --allow-padding");
    print_message("%u:%s%s", i, t.bytes, padding ? " (with empty places made here)" : "");
    bench_options(&c->bench, "%s", t.bytes);
    bench_prepare(&c->bench, padding ? edit_padding : NULL, &r);
    c->system = turn_of(&c->bench, i);
    print_message(" --system %s\n", c->system);
}

void configurations_run(unsigned few, unsigned many, const struct configuration_model *models,
                        const char *more, bool (*run)(struct configuration *c), unsigned share)
{
    const uint64_t seed = test_seed();
    const char *only = getenv("MW_CONFIG");
    const unsigned configurations = test_cases(few, many);
    unsigned drawn[MW_SYSTEMS] = {0};
    for (unsigned i = 0; i < configurations; i++) {
        struct configuration c;
        if (only && strtoul(only, NULL, 0) != i)
            continue;
        configuration_make_with(&c, seed, i, models, more);
        drawn[mw_system_find(c.system) - mw_systems] += run(&c);
        bench_free(&c.bench);
    }
    for (unsigned s = 0; s < MW_SYSTEMS && !only; s++) {
        print_message("%s: %u configurations\n", mw_systems[s].name, drawn[s]);
        assert_true(!share || drawn[s] * share * MW_SYSTEMS >= configurations);
    }
}
