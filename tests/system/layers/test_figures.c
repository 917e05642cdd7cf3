// SPDX-License-Identifier: Apache-2.0
//
// The figures that the project promises, on real routing traces: hidden size 512, 16-byte flits.
// SKIPPED where they are not there.
#include "analysis/bounds.h"
#include "golden/places.h"
#include "system/bench.h"
#include "systems/system_list.h"

#define SIZES "--hidden 512 --flit-bytes 16 "
#define LAYER "--layer 7 --gpus 8 --tokens-per-gpu 256 "

/// One run, checked, as figures.
static struct mw_summary measure(const char *trace, const char *options, const char *system)
{
    struct bench b;
    struct mw_result r;
    struct mw_summary s;
    bench_options(&b, "--trace %s " SIZES "%s", trace, options);
    bench_prepare(&b, NULL, NULL);
    int status = bench_run(&b, system, &r);
    bench_check(&b, system, &r, status);
    mw_summarize(&s, &r, &b.w, &b.params, 0, NULL);
    s.result = NULL;
    print_message("%-14s %-80s %7llu cycles, %5.1f %% of strict bound %llu, %5.1f %% of own %llu\n",
                  system, options, (unsigned long long)s.cycles, 100 * s.strict_share,
                  (unsigned long long)s.strict, 100 * s.own_share, (unsigned long long)s.own);
    mw_result_free(&r);
    bench_free(&b);
    return s;
}

static void real_layer(void **state)
{
    (void)state;
    const char *trace = real_trace("deepseek-v2-lite-intent");
    if (!trace)
        skip();
    struct mw_summary unicast = measure(trace, LAYER, "unicast");
    struct mw_summary basic = measure(trace, LAYER, "dysharp-basic");
    struct mw_summary tile1 = measure(trace, LAYER "--tile 1", "dysharp");
    struct mw_summary tile16 = measure(trace, LAYER "--tile 16", "dysharp");
    struct mw_summary part16 = measure(trace, LAYER "--tile 16 --partial-tiles", "dysharp");
    measure(trace, LAYER "--tile 128", "dysharp");
    measure(trace, LAYER "--tile 128 --partial-tiles", "dysharp");

    double basic_speed = (double)unicast.cycles / (double)basic.cycles;
    double link_speed = (double)unicast.own_link / (double)tile1.cycles;
    print_message("unicast / dysharp-basic %.3f, link bound of unicast / dysharp %.3f\n",
                  basic_speed, link_speed);
    assert_int_equal(unicast.strict, 135207);
    assert_true(unicast.own_link >= 230436);
    assert_true(unicast.own_share >= 0.93);
    assert_true(link_speed >= 1.40);
    assert_true(basic_speed >= 0.95 && basic_speed <= 1.10);
    assert_true(tile1.strict_share >= 0.85);
    assert_true(tile16.strict_share >= 0.78);
    assert_true(part16.strict_share >= 0.78);
}

/// The shares of the strict bound that `moeswitch` must reach, with 512 tokens per GPU.
static void moeswitch(void **state)
{
    (void)state;
    static const struct {
        const char *trace;
        unsigned layers[3], tile;
        double share, least; ///< of all, and where layer, GPUs and tile have less
    } asked[] = {
        {"deepseek-v2-lite-intent", {3, 7, 20}, 1, 0.97, 0.96},
        {"deepseek-v2-lite-intent", {3, 7, 20}, 16, 0.96, 0.96},
        {"deepseek-v2-lite-intent", {3, 7, 20}, 128, 0.84, 0.84},
        {"gpt-oss-20b-mmlu", {3, 7, 12}, 1, 0.96, 0.96},
        {"gpt-oss-20b-mmlu", {3, 7, 12}, 16, 0.95, 0.95},
        {"gpt-oss-20b-mmlu", {3, 7, 12}, 128, 0.83, 0.83},
    };
    for (unsigned i = 0; i < sizeof asked / sizeof *asked; i++) {
        const char *trace = real_trace(asked[i].trace);
        if (!trace)
            skip();
        for (unsigned gpus = 8; gpus <= 16; gpus += 8) {
            for (unsigned l = 0; l < 3; l++) {
                unsigned layer = asked[i].layers[l];
                char options[128];
                snprintf(options, sizeof options,
                         "--layer %u --gpus %u --tokens-per-gpu 512 --repeat-tokens --tile %u",
                         layer, gpus, asked[i].tile);
                double share = measure(trace, options, "moeswitch").strict_share;
                assert_true(share >= (layer == 20 && gpus == 16 ? asked[i].least : asked[i].share));
            }
        }
    }
}

/// A layer of a trace, and the share of its own bound that a system must reach there.
struct asked {
    const char *trace;
    unsigned layer;
    double share;
};

enum { ASKED = 6 };

/// 512 tokens for each of 8 GPUs. `slower` ends with NULL, and each of its systems is slower than
/// the one before. `system` reaches its required share.
static void on_layers(const struct asked asked[ASKED], const char *const *slower,
                      const char *system)
{
    for (unsigned i = 0; i < ASKED; i++) {
        const char *trace = real_trace(asked[i].trace);
        if (!trace)
            skip();
        char options[128];
        snprintf(options, sizeof options,
                 "--layer %u --gpus 8 --tokens-per-gpu 512 --repeat-tokens", asked[i].layer);
        uint64_t before = 0;
        for (unsigned k = 0; slower[k]; k++) {
            struct mw_summary s = measure(trace, options, slower[k]);
            assert_true(s.cycles > before);
            before = s.cycles;
            if (strcmp(slower[k], system) == 0)
                assert_true(s.own_share >= asked[i].share);
        }
    }
}

/// `overlap` lies between the systems of the switch and `unicast`. On the last layer another
/// downlink is the busiest in every few ranges (docs/design/systems.md).
static void overlap(void **state)
{
    (void)state;
    static const struct asked asked[ASKED] = {
        {"deepseek-v2-lite-intent", 3, 0.90},  {"deepseek-v2-lite-intent", 7, 0.90},
        {"deepseek-v2-lite-intent", 20, 0.90}, {"gpt-oss-20b-mmlu", 3, 0.90},
        {"gpt-oss-20b-mmlu", 7, 0.90},         {"gpt-oss-20b-mmlu", 12, 0.885},
    };
    static const char *const slower[] = {"moeswitch", "dysharp", "overlap", "unicast", NULL};
    on_layers(asked, slower, "overlap");
}

/// A layer of a trace, and the share of its own bound that a system must reach there on 8 and on 16
/// GPUs.
struct asked_of_both {
    const char *trace;
    unsigned layer;
    double share[2];
};

/// 512 tokens for each GPU, tiles of 16.
static void on_both_sizes(const struct asked_of_both asked[ASKED], const char *system)
{
    for (unsigned i = 0; i < 2 * ASKED; i++) {
        const unsigned at = i / 2, gpus = i % 2 ? 16 : 8;
        const char *trace = real_trace(asked[at].trace);
        if (!trace)
            skip();
        char options[128];
        snprintf(options, sizeof options,
                 "--layer %u --gpus %u --tokens-per-gpu 512 --repeat-tokens --tile 16",
                 asked[at].layer, gpus);
        assert_true(measure(trace, options, system).own_share >= asked[at].share[i % 2]);
    }
}

/// Stores for the busiest GPU wait in front of others (docs/design/systems.md).
static void moe_hub(void **state)
{
    (void)state;
    static const struct asked_of_both asked[ASKED] = {
        {"deepseek-v2-lite-intent", 3, {0.89, 0.95}},  {"deepseek-v2-lite-intent", 7, {0.90, 0.92}},
        {"deepseek-v2-lite-intent", 20, {0.93, 0.87}}, {"gpt-oss-20b-mmlu", 3, {0.89, 0.92}},
        {"gpt-oss-20b-mmlu", 7, {0.90, 0.88}},         {"gpt-oss-20b-mmlu", 12, {0.90, 0.95}},
    };
    on_both_sizes(asked, "moe-hub");
}

/// The effect of its mechanisms: merging of small stores, the allocator, and the trackers.
static void moe_hub_without(void **state)
{
    (void)state;
    const char *trace = real_trace("gpt-oss-20b-mmlu");
    if (!trace)
        skip();
    static const char layer[] = "--layer 3 --gpus 8 --tokens-per-gpu 512 --repeat-tokens";
    static const struct {
        const char *set;
        double least, most; ///< cycles, of those as it is
    } asked[] = {{"--set scatter=3", 1.15, 1.30},
                 {"--set scatter=3 --set packet_manager=1", 0.95, 1.05},
                 {"--set allocator=0", 0.95, 1.05},
                 {"--set tracker=0", 1.35, 1.60}};
    const double as_it_is = (double)measure(trace, layer, "moe-hub").cycles;
    for (unsigned i = 0; i < sizeof asked / sizeof *asked; i++) {
        char options[160];
        snprintf(options, sizeof options, "%s %s", layer, asked[i].set);
        const double share = (double)measure(trace, options, "moe-hub").cycles / as_it_is;
        assert_true(share >= asked[i].least && share <= asked[i].most);
    }
}

/// As `moe_hub`.
static void flashdmoe(void **state)
{
    (void)state;
    static const struct asked_of_both asked[ASKED] = {
        {"deepseek-v2-lite-intent", 3, {0.92, 0.91}},  {"deepseek-v2-lite-intent", 7, {0.90, 0.93}},
        {"deepseek-v2-lite-intent", 20, {0.95, 0.88}}, {"gpt-oss-20b-mmlu", 3, {0.92, 0.89}},
        {"gpt-oss-20b-mmlu", 7, {0.89, 0.89}},         {"gpt-oss-20b-mmlu", 12, {0.92, 0.96}},
    };
    on_both_sizes(asked, "flashdmoe");
}

/// Cycles of a hub for consecutive rows: one for each flit, or one for each addition.
static uint64_t row_time(unsigned terms, uint64_t flits)
{
    return terms ? flits * (terms > 1 ? terms - 1 : 1) : 0;
}

/// Cycles of `nvls` in addition to those of the links: the busiest hub's dense rows, and the most
/// own rows of any hub.
static void print_sums(const struct mw_workload *w, const struct mw_bounds *bounds)
{
    uint64_t dense[MW_MAX_GPUS] = {0}, own[MW_MAX_GPUS] = {0}, most[2] = {0};
    for (unsigned t = 0; t < w->tokens; t++) {
        struct mw_places p;
        mw_places_find(w, 0, t, &p);
        for (unsigned q = 0; q < w->shape.gpus; q++) {
            unsigned r = q == p.home && p.at[q] && p.remote_gpus;
            (q == p.home ? own : dense)[q] += row_time(p.at[q] + r, w->shape.hidden / 8);
        }
    }
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        most[0] = dense[q] > most[0] ? dense[q] : most[0];
        most[1] = own[q] > most[1] ? own[q] : most[1];
    }
    print_message("sums %llu, with gather, reduction and own sums %llu cycles\n",
                  (unsigned long long)most[0],
                  (unsigned long long)(bounds->own_phase[MW_DISPATCH].cycles + most[0] +
                                       bounds->own_phase[MW_COMBINE].cycles + most[1]));
}

/// `nvls` sends every row 2 N times, `unicast` 4 d times. With routing entries and packet headers
/// of these sizes, `nvls` sends more flits in total if N is above 1.92 d.
static void compare_flits(const char *trace, unsigned layer, unsigned gpus)
{
    struct bench b;
    uint64_t flits[2] = {0};
    const char *const systems[] = {"unicast", "nvls"};
    struct mw_layer_facts facts;
    bench_options(&b,
                  "--trace %s " SIZES
                  "--layer %u --gpus %u --tokens-per-gpu 512 --repeat-tokens --tile 16",
                  trace, layer, gpus);
    bench_prepare(&b, NULL, NULL);
    mw_layer_facts(&b.w, 0, &facts);
    const struct mw_link_parameters link = {.flit_bytes = 16, .link_cycles = 1};
    for (unsigned s = 0; s < 2; s++) {
        struct mw_traffic phases[MW_PHASES];
        mw_traffic_count(&b.w, 0, mw_system_find(systems[s]), &link, phases);
        for (unsigned p = 0; p < MW_PHASES; p++)
            for (unsigned q = 0; q < gpus; q++)
                for (unsigned d = 0; d < MW_DIRECTIONS; d++)
                    flits[s] += mw_traffic_flits(&phases[p], q, (enum mw_direction)d);
    }
    struct mw_bounds bounds;
    mw_bounds_compute(&b.w, 0, mw_system_find("nvls"), &link, &bounds);
    print_sums(&b.w, &bounds);
    print_message("layer %2u, %2u GPUs: 2 d = %.2f, nvls sends %.3f times unicast's flits\n", layer,
                  gpus, 2 * facts.remote_gpus_per_token, (double)flits[1] / (double)flits[0]);
    assert_int_equal(flits[1] > flits[0], gpus > 1.92 * facts.remote_gpus_per_token);
    bench_free(&b);
}

/// The share of its own bound that `nvls` must reach, and what it sends.
static void nvls(void **state)
{
    (void)state;
    static const struct {
        const char *trace;
        unsigned layers[3];
    } asked[] = {{"deepseek-v2-lite-intent", {3, 7, 20}}, {"gpt-oss-20b-mmlu", {3, 7, 12}}};
    for (unsigned i = 0; i < sizeof asked / sizeof *asked; i++) {
        const char *trace = real_trace(asked[i].trace);
        if (!trace)
            skip();
        for (unsigned l = 0; l < 3; l++) {
            compare_flits(trace, asked[i].layers[l], 4);
            for (unsigned gpus = 8; gpus <= 16; gpus += 8) {
                char options[128];
                snprintf(options, sizeof options,
                         "--layer %u --gpus %u --tokens-per-gpu 512 --repeat-tokens --tile 16",
                         asked[i].layers[l], gpus);
                compare_flits(trace, asked[i].layers[l], gpus);
                assert_true(measure(trace, options, "nvls").own_share >= 0.85);
            }
        }
    }
}

/// Four GPUs: links of a flit per cycle are faster than their GPU, those of half the rate are full.
static void wide_gpu(void **state)
{
    (void)state;
    const char *trace = real_trace("deepseek-v2-lite-intent");
    if (!trace)
        skip();
    for (unsigned tile = 1; tile <= 16; tile += 15) {
        char options[128];
        snprintf(options, sizeof options,
                 "--layer 7 --gpus 4 --tokens-per-gpu 512 --link-cycles 2 --tile %u", tile);
        assert_true(measure(trace, options, "moeswitch").strict_share >= 0.95);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_layer), cmocka_unit_test(moeswitch),
        cmocka_unit_test(overlap),    cmocka_unit_test(nvls),
        cmocka_unit_test(moe_hub),    cmocka_unit_test(moe_hub_without),
        cmocka_unit_test(flashdmoe),  cmocka_unit_test(wide_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
