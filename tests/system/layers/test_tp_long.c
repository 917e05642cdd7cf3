// SPDX-License-Identifier: Apache-2.0
//
// Random configurations of tensor-parallel workloads. They vary sizes, times, jitter, late starts,
// credits down to the minimum, throttles, and link rates and latencies. They also vary tables of 0
// to 320 entries, kept answers, and loads of parts. All are set at run time, so a few models serve
// them all. Each must drain under every system that fits, with the bits of the golden model and the
// listed flits. The golden model has one order of sums for all systems of fixed order, so these
// give the same bits. MW_SEED sets the seed, MW_CASES how many, MW_CONFIG=i runs configuration i
// alone.
#include "run/run.h"
#include "system/bench.h"
#include "system/draw.h"
#include "system/workloads.h"

enum { FEW = 30, MANY = 300, ENTRIES = 320 };

/// Each model with its share of 16 configurations (`weight`) and the most rows of a home. One of
/// `step` systems runs in turn, because runs of large models take long.
static const struct model {
    unsigned gpus, flit_bytes, weight, rows, step;
} models[] = {{2, 8, 4, 13, 1}, {3, 16, 3, 9, 1},  {4, 8, 4, 9, 1},
              {8, 16, 3, 5, 1}, {16, 16, 1, 4, 1}, {32, 16, 1, 2, 2}};

enum { MODELS = sizeof models / sizeof *models };

/// Configurations and runs of each model.
static unsigned drawn[MODELS], runs[MODELS];

static unsigned pick_model(struct mw_random *r)
{
    unsigned at = pick(r, 0, 15), m = 0;
    while (at >= models[m].weight)
        at -= models[m++].weight;
    return m;
}

static void add_sizes(struct text *w, struct mw_random *r, const struct model *m,
                      const struct mw_tp_problem *p)
{
    add(w, "--workload %s --gpus %u --flit-bytes %u --rows %u --hidden %u --tile %u --seed %u",
        mw_tp_kind_names[p->o.kind], m->gpus, m->flit_bytes, m->gpus * pick(r, 1, m->rows),
        64u << pick(r, 0, m->gpus > 8 ? 1 : 3), ONE_OF(r, 1, 1, 2, 3, 4, 5), pick(r, 0, 1000000));
    add(w, " --expert-cycles %u --jitter %u --start-spread %u", pick(r, 0, 60),
        ONE_OF(r, 0, 0, 30, 200), ONE_OF(r, 0, 0, 50, 500, 5000));
    for (unsigned i = 0; i < MW_TP_PARTS; i++)
        if (mw_tp_has(p, (enum mw_tp_part)i) && pick(r, 0, 2) == 0)
            add(w, " --%s %u", mw_tp_parts[i].option, pick(r, 0, 100));
}

static void add_limits(struct text *w, struct mw_random *r)
{
    static const struct {
        const char *name;
        unsigned low, high;
    } settings[] = {
        {"store_credits", 1, 4},      {"part_credits", 1, 3},      {"ctrl_credits", 1, 3},
        {"down_store_credits", 2, 5}, {"down_part_credits", 1, 3}, {"throttle", 1, 220},
        {"down_throttle", 1, 220},    {"window", 1, 16},           {"start_delay", 1, 400},
        {"launch_cycles", 1, 400},    {"adder_bypass", 0, 1},      {"own_by_adder", 0, 1},
        {"sum_entries", 0, 64},       {"sum_cycles", 1, 2000}};
    for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++) {
        const unsigned value = pick(r, settings[i].low, settings[i].high);
        if (pick(r, 0, 2) == 0)
            add(w, " --set %s=%u", settings[i].name, value);
    }
    add(w, " --open-rows %u --link-latency %u --link-cycles %u", ONE_OF(r, 0, 0, 1, 2, 3),
        ONE_OF(r, 1, 1, 2, 5, 17, 64), ONE_OF(r, 1, 1, 1, 2, 4));
}

/// Options of loads. A table holds the loads of a SYNC tile, or it is refused.
static void add_loads(struct text *w, struct mw_random *r, struct workload *workload)
{
    const bool merges = pick(r, 0, 7);
    const unsigned table = ONE_OF(r, 0, 1, 2, 2, 3);
    workload_make(workload, w->bytes);
    if (!mw_tp_reduces(&workload->problem) && pick(r, 0, 2) == 0)
        add(w, " --no-sync");
    if (workload->problem.hidden > 64 && pick(r, 0, 1))
        add(w, " --load-bytes %u", 128u << pick(r, 0, workload->problem.hidden > 128));
    if (pick(r, 0, 1))
        add(w, " --set fetch_cycles=%u", pick(r, 1, 600));
    workload_make(workload, w->bytes);
    const unsigned sync = mw_tp_sync_loads(&workload->problem), least = sync ? sync : 1;
    const unsigned entries[] = {0, least, pick(r, least, 64), pick(r, least, ENTRIES)};
    if (!merges)
        add(w, " --no-merge");
    else if (table < 3 || pick(r, 0, 1))
        add(w, " --merge-entries %u", entries[table]);
    if (merges && entries[table] && workload->problem.flit_bytes == 16 && pick(r, 0, 1))
        add(w, " --keep-answers");
}

/// Run the systems of a configuration. One of every third configuration runs twice, in the same
/// cycles.
static void run_systems(struct workload *workload, unsigned i, unsigned m)
{
    unsigned passes = i % 3 ? 1 : 2;
    for (unsigned s = 0; s < MW_TP_SYSTEMS; s++) {
        const struct mw_tp_system *system = mw_tp_systems[(s + i) % MW_TP_SYSTEMS];
        if (s % models[m].step || mw_tp_unfit(&workload->problem, system))
            continue;
        uint64_t first = 0;
        for (unsigned pass = 0; pass < passes; pass++) {
            const uint64_t cycles =
                workload_pass(workload, system, (struct mw_device_choice){0}).layer.cycles;
            if (pass && cycles != first)
                fail_msg("%s: %llu cycles, then %llu", system->name, (unsigned long long)first,
                         (unsigned long long)cycles);
            first = cycles;
            runs[m]++;
        }
        passes = 1;
    }
}

static void run_configuration(uint64_t seed, unsigned i)
{
    static struct workload workload;
    struct mw_random r = {mw_hash3(seed, 0x74656e73, i)};
    struct text w = {.length = 0};
    const unsigned m = pick_model(&r);
    const struct mw_tp_problem p = {
        .o = {.kind = (enum mw_tp_kind)pick(&r, MW_TP_AG_GEMM, MW_TP_KINDS - 1)}};
    add_sizes(&w, &r, &models[m], &p);
    add_limits(&w, &r);
    if (mw_tp_gathers(&p))
        add_loads(&w, &r, &workload);
    print_message("%u: %s\n", i, w.bytes);
    workload_make(&workload, w.bytes);
    run_systems(&workload, i, m);
    drawn[m]++;
}

static void random_configurations(void **state)
{
    (void)state;
    const char *cases = getenv("MW_CASES"), *only = getenv("MW_CONFIG");
    const unsigned count = cases ? (unsigned)strtoul(cases, NULL, 0) : test_cases(FEW, MANY);
    const uint64_t seed = test_seed();
    for (unsigned i = 0; i < count; i++)
        if (!only || strtoul(only, NULL, 0) == i)
            run_configuration(seed, i);
    for (unsigned m = 0; m < MODELS; m++) {
        print_message("%u GPUs: %u configurations, %u runs\n", models[m].gpus, drawn[m], runs[m]);
        assert_true(only || count < MANY || drawn[m] > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
