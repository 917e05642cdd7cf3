// SPDX-License-Identifier: Apache-2.0
//
// Tests of the bounds that flits and resources set. One case is small enough to count by hand, in
// both flit widths. Invariants are tested on random workloads, and the worked example on the real
// trace.
#include "host/analysis/by_hand.h"

#include "analysis/resources.h"

static void bounds_by_hand(void **state)
{
    (void)state;
    struct mw_layer_facts facts;
    mw_layer_facts(&b.w, 0, &facts);
    assert_int_equal(facts.rows[0], 1);
    assert_int_equal(facts.rows[1], 4);
    assert_int_equal(facts.rows[2], 0);
    assert_int_equal(facts.rows[3], 1);
    assert_int_equal(facts.busiest, 1);
    // GPU 0: the token's sum on top of its own row. GPU 1: two rows of either token
    const unsigned additions[4] = {1, 2, 0, 0};
    for (unsigned q = 0; q < 4; q++)
        assert_int_equal(facts.additions[q], additions[q]);
    assert_true(facts.remote_gpus_per_token == 0.5);
    assert_true(facts.home_share == 0.5);

    // Without lists: 9 + 2 + 2 = 13 down to GPU 1, 11 back.
    struct mw_system s = bare("dysharp");
    struct mw_bounds bounds;
    struct mw_link_parameters link = {16, 1, 1, 0};
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.strict.cycles, 13);
    char text[32];
    assert_string_equal(mw_bound_text(&bounds.strict, text, sizeof text), "port 0 up");
    // Own bound: 16 + 2 up at GPU 0. The engine moves 4 rows of 9 flits, two a cycle.
    assert_int_equal(bounds.own_link.cycles, 18);
    assert_int_equal(bounds.own.cycles, 18);
    assert_int_equal(bounds.own.resource, MW_LINK);
    link.expert_cycles = 10;
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.strict.cycles, 40);
    assert_int_equal(bounds.strict_link.cycles, 13);
    assert_string_equal(mw_bound_text(&bounds.strict, text, sizeof text), "engine 1");
    assert_int_equal(bounds.own.cycles, 40);
    assert_int_equal(bounds.own_link.cycles, 18);
    // In sequence: 16 of dispatch, 18 of the expert (movement), 11 of combine. Combine has partials
    // and a request at GPU 1 (11 up, 2 down), and 11 down at GPU 0.
    link.expert_cycles = 0;
    s = bare("dysharp-basic");
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.own_phase[MW_DISPATCH].cycles, 16);
    assert_int_equal(bounds.own_phase[MW_EXPERT].cycles, 18);
    assert_int_equal(bounds.own_phase[MW_COMBINE].cycles, 11);
    assert_int_equal(bounds.own.cycles, 45);
    assert_int_equal(bounds.own_link.cycles, 27);
    assert_string_equal(mw_bound_text(&bounds.own, text, sizeof text), "engine 1");
    assert_string_equal(mw_bound_text(&bounds.own_link, text, sizeof text), "port 0 up");
    // floor(13 / (2 * 4)), and nothing to do gives no bound.
    const struct mw_link_parameters half = {16, 2, 0, 0};
    assert_int_equal(mw_default_expert_cycles(&b.w, &link), 1);
    assert_int_equal(mw_default_expert_cycles(&b.w, &half), 3);
    // On links of half the rate all but the expert takes twice as long.
    mw_bounds_compute(&b.w, 0, &s, &half, &bounds);
    assert_int_equal(bounds.strict.cycles, 26);
    assert_int_equal(bounds.own.cycles, 32 + 18 + 22);
    assert_int_equal(bounds.own_link.cycles, 54);
    memset(b.ids, 0xff, sizeof b.ids);
    assert_int_equal(mw_default_expert_cycles(&b.w, &link), 0);
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.strict.cycles, 0);
    assert_string_equal(mw_bound_text(&bounds.strict, text, sizeof text), "none");
    // Events at the end of the expert's phase take their time even if no engine works.
    mw_bounds_compute(&b.w, 0, mw_system_find("dysharp-basic"), &link, &bounds);
    assert_int_equal(bounds.own_phase[MW_EXPERT].cycles, 3);
    assert_int_equal(bounds.own.cycles, bounds.own_link.cycles);
}

/// A backward layer. Experts take twice their time, and read two rows for gradients of gate
/// weights. Each remote (token, expert) sends 4 bytes home: two of GPU 1, one of GPU 3.
static void gradients_by_hand(void **state)
{
    (void)state;
    struct mw_bounds bounds;
    struct mw_resources r;
    struct mw_link_parameters link = {16, 1, 10, 0};
    struct mw_system s = bare("dysharp-basic");
    b.layer.pass = MW_PASS_COUNTED;
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.strict.cycles, 80);
    assert_int_equal(bounds.own_phase[MW_EXPERT].cycles, 80);
    link.expert_cycles = 0;
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.own_phase[MW_EXPERT].cycles, 18);
    b.w.shape.gate_gradients = true;
    mw_bounds_compute(&b.w, 0, &s, &link, &bounds);
    assert_int_equal(bounds.own_phase[MW_EXPERT].cycles, 36);
    assert_int_equal(bounds.own_link.cycles, 27 + 6); // all gradients go to GPU 0
    assert_int_equal(bounds.strict.cycles, 13);
    mw_resources_compute(&b.w, 0, &s, 16, &bounds, &r);
    assert_int_equal(r.engine.cycles, 36);
    // GPU 1 reads 8 rows to compute, 1 to send to itself and 4 to sum: 13 of 9 flits in 4 banks
    assert_int_equal(r.banks.cycles, 30);
    struct mw_traffic t = total(&b.w, &s, 16);
    expect(&t, 1, MW_UP, 0, 4, 0, 11);
    expect(&t, 3, MW_UP, 0, 2, 0, 11);
    expect(&t, 0, MW_DOWN, 0, 6, 0, 11);
    expect(&t, 2, MW_DOWN, 0, 0, 0, 0);
    assert_int_equal(t.payload[0][MW_DOWN], 140 + 12);
    t = total(&b.w, &s, 8);
    expect(&t, 1, MW_UP, 0, 6, 0, 22);
    expect(&t, 0, MW_DOWN, 0, 9, 0, 22);
    b.layer.pass = MW_PASS_FORWARD;
    t = total(&b.w, &s, 16);
    expect(&t, 1, MW_UP, 0, 0, 0, 11);
}

static void expect_part(const struct mw_bound *part, uint64_t cycles, const char *at)
{
    char text[32];
    assert_int_equal(part->cycles, cycles);
    assert_string_equal(mw_bound_text(part, text, sizeof text), at);
}

static void compute_parts(const struct mw_workload *w, const struct mw_system *s,
                          const struct mw_link_parameters *link, struct mw_resources *r)
{
    struct mw_bounds bounds;
    mw_bounds_compute(w, 0, s, link, &bounds);
    mw_resources_compute(w, 0, s, link->flit_bytes, &bounds, r);
}

/// One byte for each of the 70 values on their way to the experts: 5 flits of 16 bytes, 9 of 8.
static void typed_rows_by_hand(void **state)
{
    (void)state;
    b.w.shape.dispatch_type = MW_ROWTYPE_E4M3;
    struct mw_system s = bare("dysharp");
    // 1+1+5, 1+1+1, partial rows as before
    struct mw_traffic t = total(&b.w, &s, 16);
    expect(&t, 0, MW_UP, 0, 10, 2, 0);
    expect(&t, 1, MW_DOWN, 0, 10, 2, 0);
    expect(&t, 3, MW_DOWN, 0, 8, 1, 0);
    expect(&t, 1, MW_UP, 2, 0, 0, 11);
    expect(&t, 0, MW_DOWN, 3, 0, 0, 11);
    assert_int_equal(t.payload[0][MW_UP], 86);
    assert_int_equal(t.payload[0][MW_DOWN], 140);
    // 2+1+9, 2+1+2
    t = total(&b.w, &s, 8);
    expect(&t, 0, MW_UP, 0, 17, 3, 0);
    // two copies of 1+5 and 1+2, of 28 bytes, and rows back of 1+8 and 1+1
    s = bare("unicast");
    t = total(&b.w, &s, 16);
    expect(&t, 0, MW_UP, 0, 18, 0, 0);
    expect(&t, 0, MW_DOWN, 0, 22, 0, 0);
    // a copy to all, and a routing entry of 1+8. The second token's goes to home 0, too
    s = bare("nvls");
    t = total(&b.w, &s, 16);
    expect(&t, 0, MW_UP, 0, 15, 1, 33);
    mw_traffic_strict(&b.w, 0, 16, &t);
    assert_int_equal(mw_traffic_flits(&t, 0, MW_UP), 8);
    assert_int_equal(mw_traffic_flits(&t, 0, MW_DOWN), 11);
    // GPU 1 reads 4 rows to compute and 1 to send to itself, of 5 flits, and 4 to sum, of 9
    const struct mw_link_parameters link = {16, 1, 1, 0};
    struct mw_resources r;
    s = bare("dysharp");
    compute_parts(&b.w, &s, &link, &r);
    expect_part(&r.engine, 4 * 9 / 2, "engine 1");
    expect_part(&r.banks, (5 * 5 + 4 * 9 + 3) / 4, "banks 1");
}

/// Rows of 9 flits. GPU 1 computes four rows, sums two of token 0 and two of its own.
static void resources_by_hand(void **state)
{
    (void)state;
    struct mw_link_parameters link = {16, 1, 1, 0};
    struct mw_resources r;
    // GPU 1 reads 4 rows to compute, 4 to sum, 1 to send to itself.
    struct mw_system s = bare("dysharp");
    compute_parts(&b.w, &s, &link, &r);
    expect_part(&r.adder, 2 * 9, "adder 1");
    expect_part(&r.engine, 4 * 9 / 2, "engine 1");
    expect_part(&r.banks, (9 * 9 + 3) / 4, "banks 1");
    expect_part(&r.limit, (9 * 9 + 3) / 4, "banks 1");
    // GPU 0 adds two partial sums to its own row. GPU 1 reads as before.
    s = bare("unicast");
    compute_parts(&b.w, &s, &link, &r);
    expect_part(&r.adder, 2 * 9, "adder 0");
    expect_part(&r.banks, (9 * 9 + 3) / 4, "banks 1");
    assert_int_equal(r.limit.resource, MW_LINK);
    // Slower experts: the engine is the limit.
    link.expert_cycles = 100;
    s = bare("dysharp");
    compute_parts(&b.w, &s, &link, &r);
    expect_part(&r.limit, 400, "engine 1");
    // Without token 0 nothing crosses a link, and GPU 1 adds once.
    memset(b.ids, 0xff, 4 * sizeof *b.ids);
    compute_parts(&b.w, &s, &link, &r);
    expect_part(&r.adder, 9, "adder 1");
    memset(b.ids, 0xff, sizeof b.ids);
    compute_parts(&b.w, &s, &link, &r);
    expect_part(&r.adder, 0, "none");
    expect_part(&r.banks, 0, "none");
}

/// Of several GPUs with equal load the first is reported. An odd number of flits takes the whole
/// last cycle. A tile of a list takes its time, full or not.
static void engines_by_hand(void **state)
{
    (void)state;
    struct mw_layer_facts facts;
    struct mw_bounds bounds;
    b.ids[0] = b.ids[4] = 7; // three rows each for GPUs 1 and 3
    mw_layer_facts(&b.w, 0, &facts);
    assert_int_equal(facts.rows[1], 3);
    b.ids[5] = 6;
    b.ids[1] = MW_NO_EXPERT;
    mw_layer_facts(&b.w, 0, &facts);
    assert_int_equal(facts.rows[3], 4);
    b.ids[3] = b.ids[0] = 2;
    b.ids[2] = MW_NO_EXPERT;
    mw_layer_facts(&b.w, 0, &facts);
    assert_int_equal(facts.rows[1], 2);
    assert_int_equal(facts.rows[3], 2);
    assert_int_equal(facts.busiest, 1);
    struct mw_link_parameters link = {16, 1, 1, 0};
    memset(b.ids, 0xff, sizeof b.ids);
    b.ids[0] = 2; // a row of 9 flits of 16 bytes
    mw_bounds_compute(&b.w, 0, mw_system_find("dysharp"), &link, &bounds);
    assert_int_equal(bounds.own_engine.cycles, 5);
    link.tile = 4;
    link.expert_cycles = 100;
    mw_bounds_compute(&b.w, 0, mw_system_find("flashdmoe"), &link, &bounds);
    assert_int_equal(bounds.own_engine.cycles, 400);
    mw_bounds_compute(&b.w, 0, mw_system_find("dysharp"), &link, &bounds);
    assert_int_equal(bounds.own_engine.cycles, 100);
}

static void make(struct mw_workload *w, struct mw_trace *trace, unsigned gpus, unsigned hidden,
                 unsigned k, uint64_t seed)
{
    struct mw_synthetic how = {.layers = 1,
                               .tokens = gpus * 8u,
                               .k = k,
                               .experts = 64,
                               .sigma = 0.7,
                               .locality = 0.3,
                               .seed = seed};
    struct mw_shape shape = {.gpus = gpus, .tokens_per_gpu = 8, .hidden = hidden, .seed = seed};
    const size_t layer = 0;
    assert_int_equal(mw_trace_make(trace, &how, NULL), MW_EXIT_OK);
    assert_int_equal(mw_workload_make(w, trace, &layer, 1, &shape, NULL), MW_EXIT_OK);
}

/// What must hold for any routing. Every system's own bound of links is at least the strict one.
/// Unicast conserves flits between up and down. No system sends fewer flits than the strict bound
/// counts.
static void invariants_on_random_workloads(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (unsigned i = 0; i < 40; i++) {
        struct mw_workload w;
        struct mw_trace trace;
        unsigned f = i & 1 ? 8 : 16;
        make(&w, &trace, 2u << i % 5, 64 + 24 * i, 1 + i % 16, seed + i);
        for (unsigned s = 0; s < MW_SYSTEMS; s++) {
            struct mw_bounds bounds;
            struct mw_link_parameters link = {f, 1, i, 0};
            mw_bounds_compute(&w, 0, &mw_systems[s], &link, &bounds);
            assert_true(bounds.own_link.cycles >= bounds.strict_link.cycles);
            assert_true(bounds.own.cycles >= bounds.strict.cycles);
            assert_true(bounds.own.cycles >= bounds.own_link.cycles);
            struct mw_traffic t = total(&w, &mw_systems[s], f);
            uint64_t sum[MW_DIRECTIONS] = {0}, bytes[MW_DIRECTIONS] = {0};
            for (unsigned p = 0; p < w.shape.gpus; p++)
                for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
                    sum[d] += mw_traffic_flits(&t, p, (enum mw_direction)d);
                    bytes[d] += t.payload[p][d];
                    assert_true(t.payload[p][d] <=
                                f * mw_traffic_flits(&t, p, (enum mw_direction)d));
                }
            if (!mw_systems[s].multicast && !mw_systems[s].gathered) {
                assert_int_equal(sum[MW_UP], sum[MW_DOWN]);
                assert_int_equal(bytes[MW_UP], bytes[MW_DOWN]);
            }
        }
        mw_workload_free(&w);
        mw_trace_free(&trace);
    }
}

/// The worked example of the design notes.
static void worked_example_on_the_real_trace(void **state)
{
    (void)state;
    static const struct {
        unsigned gpus;
        unsigned strict, unicast;
        double remote, home;
    } known[] = {{4, 75057, 111740, 2.472, 0.839},
                 {8, 135207, 230436, 4.135, 0.557},
                 {16, 253557, 463980, 5.052, 0.337}};
    const char *folder = real_trace("deepseek-v2-lite-intent");
    if (!folder)
        skip();
    struct mw_trace trace;
    struct mw_error err = {0};
    assert_int_equal(mw_trace_load(&trace, folder, NULL, &err), MW_EXIT_OK);
    for (unsigned i = 0; i < 3; i++) {
        struct mw_workload w;
        const size_t layer = 7;
        struct mw_shape shape = {
            .gpus = known[i].gpus, .tokens_per_gpu = 256, .hidden = 512, .seed = 1};
        assert_int_equal(mw_workload_make(&w, &trace, &layer, 1, &shape, &err), MW_EXIT_OK);
        struct mw_system s = bare("unicast");
        struct mw_link_parameters link = {16, 1, 0, 0};
        link.expert_cycles = mw_default_expert_cycles(&w, &link);
        struct mw_bounds bounds;
        mw_bounds_compute(&w, 0, &s, &link, &bounds);
        assert_int_equal(bounds.strict.cycles, known[i].strict);
        assert_int_equal(bounds.strict.resource, MW_LINK);
        assert_int_equal(bounds.own_link.cycles, known[i].unicast);
        struct mw_layer_facts facts;
        mw_layer_facts(&w, 0, &facts);
        assert_true(facts.remote_gpus_per_token > known[i].remote - 0.00051 &&
                    facts.remote_gpus_per_token < known[i].remote + 0.00051);
        assert_true(facts.home_share > known[i].home - 0.00051 &&
                    facts.home_share < known[i].home + 0.00051);
        mw_workload_free(&w);
    }
    mw_trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bounds_by_hand, set_up),
        cmocka_unit_test_setup(gradients_by_hand, set_up),
        cmocka_unit_test_setup(resources_by_hand, set_up),
        cmocka_unit_test_setup(typed_rows_by_hand, set_up),
        cmocka_unit_test_setup(engines_by_hand, set_up),
        cmocka_unit_test(invariants_on_random_workloads),
        cmocka_unit_test(worked_example_on_the_real_trace),
    };
    return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
