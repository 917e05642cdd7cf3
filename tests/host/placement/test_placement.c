// SPDX-License-Identifier: Apache-2.0
//
// Tests of placements: what each kind gives, which place a sender picks, the golden result, and
// what is refused. Sizes are random.
#include "host/support.h"

#include "base/random.h"
#include "golden/golden.h"
#include "placement/place.h"

#include <math.h>

enum { MOST_PLACES = 512 };

static struct mw_error err;

static struct mw_place_sizes draw_sizes(struct mw_random *r)
{
    struct mw_place_sizes s = {.gpus = 2 + (unsigned)mw_random_below(r, 7)};
    s.experts = 1 + (unsigned)mw_random_below(r, 40);
    const unsigned most = s.experts * (s.gpus - 1);
    s.places = s.experts + (unsigned)mw_random_below(r, most + 1);
    s.places -= s.places % s.gpus;
    while (s.places < s.experts)
        s.places += s.gpus;
    return s;
}

/// Copies of each expert. No GPU has two of one.
static void count_copies(const struct mw_place_sizes *s, const uint16_t *expert_at,
                         unsigned *copies)
{
    const unsigned room = s->places / s->gpus;
    memset(copies, 0, s->experts * sizeof *copies);
    for (unsigned p = 0; p < s->places; p++) {
        assert_true(expert_at[p] < s->experts);
        copies[expert_at[p]]++;
        for (unsigned other = p / room * room; other < p; other++)
            assert_int_not_equal(expert_at[other], expert_at[p]);
    }
    for (unsigned e = 0; e < s->experts; e++)
        assert_in_range(copies[e], 1, s->gpus);
}

// ---- placements ---------------------------------------------------------------------------------

static void loads_give_every_expert_places(void **state)
{
    (void)state;
    struct mw_random r = {test_seed()};
    uint16_t at[MOST_PLACES];
    double load[40];
    unsigned copies[40];
    for (unsigned i = 0; i < 2000; i++) {
        const struct mw_place_sizes s = draw_sizes(&r);
        for (unsigned e = 0; e < s.experts; e++)
            load[e] = (double)(mw_random_below(&r, 4) ? mw_random_below(&r, 1000) : 0);
        assert_int_equal(mw_place_by_loads(&s, load, at, &err), MW_EXIT_OK);
        count_copies(&s, at, copies);
        // with one copy less, an expert would have at least the load per copy of any other that can
        // get one
        for (unsigned e = 0; e < s.experts; e++)
            for (unsigned f = 0; f < s.experts; f++)
                if (copies[e] > 1 && copies[f] < s.gpus)
                    assert_true(load[e] / (copies[e] - 1) >= load[f] / copies[f]);
        mw_place_contiguously(&s, at);
        count_copies(&s, at, copies);
    }
}

/// Shares of 60, 60, 50, 40, 20 and 10 on two GPUs.
static void loads_are_even(void **state)
{
    (void)state;
    static const double load[5] = {10, 40, 120, 50, 20};
    static const uint16_t expected[6] = {2, 1, 0, 2, 3, 4};
    const struct mw_place_sizes s = {.gpus = 2, .experts = 5, .places = 6};
    uint16_t at[6];
    assert_int_equal(mw_place_by_loads(&s, load, at, &err), MW_EXIT_OK);
    assert_int_equal(at[0], expected[0]);
    double sum[2] = {0, 0};
    for (unsigned p = 0; p < 6; p++)
        sum[p / 3] += load[at[p]] / (at[p] == 2 ? 2 : 1);
    assert_true(fabs(sum[0] - sum[1]) <= 10);
}

/// The last copy finds its expert on the only GPU with room: an expert of a full one moves.
static void full_gpus_make_way(void **state)
{
    (void)state;
    static const double load[3] = {30, 100, 30}; // shares 50, 50, 30, 15, 15
    const struct mw_place_sizes s = {.gpus = 2, .experts = 3, .places = 6};
    const struct mw_place_sizes odd = {.gpus = 3, .experts = 4, .places = 9};
    static const double steep[4] = {1000, 1, 1, 1};
    uint16_t at[9];
    unsigned copies[4];
    assert_int_equal(mw_place_by_loads(&s, load, at, &err), MW_EXIT_OK);
    count_copies(&s, at, copies);
    assert_int_equal(mw_place_by_loads(&odd, steep, at, &err), MW_EXIT_OK);
    count_copies(&odd, at, copies);
    assert_int_equal(copies[0], 3);
}

// ---- whole traces -------------------------------------------------------------------------------

enum { LAYERS = 3, K = 3 };

static const size_t layers[LAYERS] = {2, 1, 2};

static void make_trace(struct mw_trace *t, const struct mw_shape *shape, unsigned experts,
                       uint64_t seed)
{
    const struct mw_synthetic how = {.layers = 3,
                                     .tokens = (size_t)shape->gpus * shape->tokens_per_gpu,
                                     .k = K,
                                     .experts = experts,
                                     .sigma = 1,
                                     .seed = seed};
    assert_int_equal(mw_trace_make(t, &how, &err), MW_EXIT_OK);
}

static void apply(struct mw_trace *t, const struct mw_shape *shape, const struct mw_placing *how)
{
    if (mw_placement_apply(t, layers, LAYERS, shape, how, &err))
        fail_msg("%s", err.text);
}

/// The lists have places of the experts that they had.
static void same_experts(const struct mw_trace *placed, const struct mw_trace *plain)
{
    for (size_t layer = 1; layer < 3; layer++) {
        const size_t from = mw_trace_at(plain, layer, 0), to = mw_trace_at(plain, layer + 1, 0);
        for (size_t i = from; i < to; i++)
            assert_int_equal(placed->expert_at[layer * placed->experts + placed->ids[i]],
                             plain->ids[i]);
    }
    // the layer that does not run
    assert_memory_equal(placed->ids, plain->ids, plain->tokens * K * sizeof *plain->ids);
}

static void lists_name_places(void **state)
{
    (void)state;
    static const char *const by[] = {NULL, "loads", "loads"};
    for (unsigned kind = 0; kind < 3; kind++)
        for (unsigned choice = MW_CHOICE_HASH; choice <= MW_CHOICE_SHARED; choice++)
            for (unsigned gpus = 2; gpus <= 8; gpus++) {
                const struct mw_shape shape = {.gpus = gpus, .tokens_per_gpu = 20, .hidden = 8};
                const struct mw_placing how = {.by = by[kind],
                                               .loads = kind == 2 ? "earlier" : NULL,
                                               .replicas = 2 * gpus + gpus - 1,
                                               .choice = (enum mw_replica_choice)choice};
                struct mw_trace plain, placed;
                make_trace(&plain, &shape, 3 * gpus + 1, gpus);
                make_trace(&placed, &shape, 3 * gpus + 1, gpus);
                apply(&placed, &shape, &how);
                assert_int_equal(placed.experts, 6 * gpus);
                assert_int_equal(placed.replicas, how.replicas);
                same_experts(&placed, &plain);
                mw_trace_free(&plain);
                mw_trace_free(&placed);
            }
}

/// Loads are those of all batches. If no layer is earlier, they are those of the layer itself. The
/// expert with the most rows gets the only replica.
static void loads_are_of_what_runs(void **state)
{
    (void)state;
    enum { GPUS = 2, TOKENS = 10, EXPERTS = 5 };
    static const size_t first[1] = {0};
    for (unsigned earlier = 0; earlier < 2; earlier++)
        for (unsigned batches = 1; batches <= 2; batches++) {
            const struct mw_shape shape = {
                .gpus = GPUS, .tokens_per_gpu = TOKENS, .hidden = 8, .batches = batches};
            const struct mw_shape all = {.gpus = GPUS, .tokens_per_gpu = 2 * TOKENS, .hidden = 8};
            const struct mw_placing how = {
                .by = "loads", .loads = earlier ? "earlier" : NULL, .replicas = 1};
            struct mw_trace t;
            make_trace(&t, &all, EXPERTS, 1);
            const size_t ids = (size_t)GPUS * TOKENS * K;
            for (size_t i = 0; i < 2 * ids; i++) { // expert 0 has most of the first batch
                const bool second = i >= ids;
                const size_t other = 1 + (i / K + i % K) % (second ? EXPERTS - 2 : EXPERTS - 1);
                t.ids[i] = (uint16_t)(i % K ? other : second ? EXPERTS - 1 : 0);
            }
            if (mw_placement_apply(&t, first, 1, &shape, &how, &err))
                fail_msg("%s", err.text);
            unsigned copies[EXPERTS];
            const struct mw_place_sizes s = {GPUS, EXPERTS, EXPERTS + 1};
            count_copies(&s, t.expert_at, copies);
            assert_int_equal(copies[batches == 1 ? 0 : EXPERTS - 1], 2);
            mw_trace_free(&t);
        }
}

/// Rows that each GPU of a layer gets, and tokens that reach one that is not their home.
static unsigned count_rows(const struct mw_trace *t, const struct mw_shape *shape, size_t layer,
                           unsigned *most)
{
    unsigned rows[MW_MAX_GPUS] = {0}, copies = 0;
    for (size_t token = 0; token < t->tokens; token++) {
        const unsigned home = (unsigned)(token / shape->tokens_per_gpu);
        uint32_t reached = 1u << home;
        for (unsigned j = 0; j < K; j++) {
            const unsigned q =
                t->ids[mw_trace_at(t, layer, token) + j] / (t->experts / shape->gpus);
            rows[q]++;
            copies += !(reached >> q & 1);
            reached |= 1u << q;
        }
    }
    *most = 0;
    for (unsigned q = 0; q < shape->gpus; q++)
        *most = rows[q] > *most ? rows[q] : *most;
    return copies;
}

/// By loads the busiest GPU gets fewer rows. By `least` it gets about the mean. By `near` tokens go
/// to fewer GPUs.
static void choices_do_what_they_are_for(void **state)
{
    (void)state;
    const struct mw_shape shape = {.gpus = 8, .tokens_per_gpu = 256, .hidden = 8};
    const unsigned mean = 256 * K;
    unsigned most[6], copies[6];
    const struct mw_placing hows[6] = {{.replicas = 8},
                                       {.by = "loads"},
                                       {.by = "loads", .replicas = 16},
                                       {.by = "loads", .replicas = 16, .choice = MW_CHOICE_LEAST},
                                       {.by = "loads", .replicas = 16, .choice = MW_CHOICE_NEAR},
                                       {.by = "loads", .replicas = 16, .choice = MW_CHOICE_SHARED}};
    for (unsigned i = 0; i < 6; i++) {
        struct mw_trace t;
        make_trace(&t, &shape, 32, 3);
        apply(&t, &shape, &hows[i]);
        copies[i] = count_rows(&t, &shape, 2, &most[i]);
        mw_trace_free(&t);
    }
    for (unsigned i = 0; i < 6; i++)
        print_message("busiest %u, mean %u; copies %u\n", most[i], mean, copies[i]);
    assert_true(most[0] > mean + mean / 4);
    assert_true(most[1] < most[0] - most[0] / 5);
    assert_true(most[2] < mean + mean / 10);
    assert_true(most[3] < mean + mean / 50);
    assert_true(most[5] < most[3]);
    assert_true(copies[4] < copies[2] - copies[2] / 10);
}

/// The choice of a sender depends only on its own tokens.
static void choices_depend_on_own_tokens(void **state)
{
    (void)state;
    enum { GPUS = 4, TOKENS = 30, EXPERTS = 6, PLACES = 12 };
    const struct mw_place_sizes s = {.gpus = GPUS, .experts = EXPERTS, .places = PLACES};
    struct mw_random r = {test_seed()};
    uint16_t at[PLACES], ids[GPUS * TOKENS], other[GPUS * TOKENS];
    mw_place_contiguously(&s, at);
    for (unsigned choice = MW_CHOICE_HASH; choice <= MW_CHOICE_NEAR; choice++) {
        for (unsigned i = 0; i < GPUS * TOKENS; i++) {
            ids[i] = (uint16_t)mw_random_below(&r, EXPERTS);
            const bool own = i / TOKENS == 2 || i % TOKENS == 0;
            other[i] = own ? ids[i] : (uint16_t)mw_random_below(&r, EXPERTS);
        }
        ids[2 * TOKENS + 1] = other[2 * TOKENS + 1] = MW_NO_EXPERT;
        uint16_t *const both[2] = {ids, other};
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(mw_choose_places(&s, at, (enum mw_replica_choice)choice, both[i],
                                              GPUS * TOKENS, TOKENS, 1, &err),
                             MW_EXIT_OK);
        assert_memory_equal(ids + 2 * TOKENS, other + 2 * TOKENS, TOKENS * sizeof *ids);
        assert_int_equal(ids[2 * TOKENS + 1], MW_NO_EXPERT);
    }
}

/// `least` up to 32 GPUs picks, of the places of an expert, the GPU that got the fewest rows from
/// this one. Of several such GPUs it picks the first, counting up from this one. Each batch begins
/// anew.
static void least_picks_the_least(void **state)
{
    (void)state;
    enum { TOKENS = 12, BATCHES = 2, EXPERTS = 7, ROOM = 3 };
    struct mw_random r = {test_seed()};
    for (unsigned gpus = 2; gpus <= MW_MAX_GPUS; gpus += 5) {
        const struct mw_place_sizes s = {gpus, EXPERTS, ROOM * gpus};
        uint16_t at[ROOM * MW_MAX_GPUS], ids[BATCHES * TOKENS * MW_MAX_GPUS];
        uint16_t expert[BATCHES * TOKENS * MW_MAX_GPUS];
        const unsigned tokens = BATCHES * TOKENS * gpus;
        for (unsigned p = 0; p < s.places; p++)
            at[p] = (uint16_t)(p % EXPERTS);
        for (unsigned i = 0; i < tokens; i++) // one of those that have a place
            ids[i] = expert[i] =
                (uint16_t)mw_random_below(&r, s.places < EXPERTS ? s.places : EXPERTS);
        assert_int_equal(mw_choose_places(&s, at, MW_CHOICE_LEAST, ids, tokens, TOKENS, 1, &err),
                         MW_EXIT_OK);
        for (unsigned from = 0; from < tokens; from += TOKENS) {
            const unsigned home = from / TOKENS % gpus;
            unsigned given[MW_MAX_GPUS] = {0};
            for (unsigned i = from; i < from + TOKENS; i++) {
                unsigned best = gpus;
                for (unsigned step = 0; step < gpus; step++) {
                    const unsigned q = (home + step) % gpus;
                    bool here = false;
                    for (unsigned p = q * ROOM; p < (q + 1) * ROOM; p++)
                        here |= at[p] == expert[i];
                    if (here && (best == gpus || given[q] < given[best]))
                        best = q;
                }
                assert_int_equal(ids[i] / ROOM, best);
                assert_int_equal(at[ids[i]], expert[i]);
                given[best]++;
            }
        }
    }
}

/// If every sum is exact, the golden result does not depend on the places of experts.
static void exact_sums_keep_their_bits(void **state)
{
    (void)state;
    struct mw_random r = {test_seed()};
    for (unsigned gpus = 2; gpus <= 8; gpus++) {
        const struct mw_shape shape = {
            .gpus = gpus, .tokens_per_gpu = 6, .hidden = 40, .seed = mw_random_next(&r)};
        const struct mw_placing hows[2] = {
            {0}, {.by = "loads", .replicas = 2 * gpus, .choice = MW_CHOICE_LEAST}};
        uint16_t *out[2];
        for (unsigned i = 0; i < 2; i++) {
            struct mw_trace t;
            struct mw_workload w;
            make_trace(&t, &shape, 4 * gpus, gpus);
            apply(&t, &shape, &hows[i]);
            assert_int_equal(mw_workload_make(&w, &t, layers, LAYERS, &shape, &err), MW_EXIT_OK);
            assert_int_equal(w.experts, 4 * gpus + hows[i].replicas);
            for (unsigned e = 0; e < 4 * gpus; e++) // a power of two and its sign
                w.coefficients[e] &= 0xff80;
            for (size_t l = 0; l < w.tokens * (size_t)w.k; l++)
                w.layer[0].weights[l] = l % 2 ? 0.5f : 2.0f;
            for (size_t x = 0; x < w.tokens * (size_t)shape.hidden; x++)
                w.layer[0].x[x] &= 0xff80;
            out[i] = malloc(w.tokens * (size_t)shape.hidden * sizeof *out[i]);
            assert_non_null(out[i]);
            mw_golden_layer(&w, 0, out[i]);
            mw_workload_free(&w);
            mw_trace_free(&t);
        }
        assert_memory_equal(out[0], out[1], 6 * gpus * shape.hidden * sizeof *out[0]);
        free(out[0]);
        free(out[1]);
    }
}

// ---- files --------------------------------------------------------------------------------------

static const struct mw_shape small = {.gpus = 2, .tokens_per_gpu = 5, .hidden = 8};

/// Of four experts and two GPUs.
static int apply_text(const char *name, const char *text, struct mw_placing how, struct mw_trace *t)
{
    const char *path = scratch_text(name, text);
    if (strcmp(name, "places.csv") == 0)
        how.by = path;
    else
        how.loads = path;
    make_trace(t, &small, 4, 1);
    err = (struct mw_error){0};
    return mw_placement_apply(t, layers, LAYERS, &small, &how, &err);
}

static void files_say_where_experts_are(void **state)
{
    (void)state;
    struct mw_trace t;
    static const uint16_t first[6] = {3, 0, 1, 2, 3, 0}, second[6] = {0, 1, 2, 1, 2, 3};
    assert_int_equal(apply_text("places.csv", "gpu,expert\n0,3\n1,2\n0,0\n0,1\n1,3\n1,0\n",
                                (struct mw_placing){.replicas = 2}, &t),
                     0);
    assert_memory_equal(t.expert_at + 6, first, sizeof first);
    assert_memory_equal(t.expert_at + 12, first, sizeof first);
    mw_trace_free(&t);
    assert_int_equal(apply_text("places.csv",
                                "layer,gpu,expert\n1,0,3\n1,1,2\n1,0,0\n1,0,1\n1,1,3\n1,1,0\n"
                                "2,0,0\n2,0,1\n2,0,2\n2,1,1\n2,1,2\n2,1,3\n",
                                (struct mw_placing){0}, &t),
                     0);
    assert_int_equal(t.replicas, 2);
    assert_memory_equal(t.expert_at + 6, first, sizeof first);
    assert_memory_equal(t.expert_at + 12, second, sizeof second);
    mw_trace_free(&t);
    // loads of one layer hold for all
    assert_int_equal(apply_text("loads.csv", "1,2,3,100\n",
                                (struct mw_placing){.by = "loads", .replicas = 2}, &t),
                     0);
    assert_int_equal(t.expert_at[6] + t.expert_at[9], 2 * 3);
    mw_trace_free(&t);
}

#define EVEN "expert,gpu\n0,0\n1,0\n"

static void files_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *cause;
        unsigned replicas;
    } bad[] = {
        {"places.csv", EVEN "2,1\n2,1\n", "line 5: expert 2 is twice on GPU 1", 0},
        {"places.csv", EVEN "2,1\n3,2\n", "line 5: GPU 2: expected 0 to 1", 0},
        {"places.csv", EVEN "2,1\n4,1\n", "line 5: expert 4: expected 0 to 3", 0},
        {"places.csv", EVEN "2,1\n2.5,1\n", "line 5: expert 2.5: expected 0 to 3", 0},
        {"places.csv", EVEN "2,1\n-1,1\n", "line 5: \"-1\" of column expert is not a number", 0},
        {"places.csv", EVEN "2,1\n0,1\n", "layer 2: expert 3 has no place", 0},
        {"places.csv", EVEN "2,1\n3,0\n", "line 5: GPU 0 has more than 2 experts", 0},
        {"places.csv", EVEN "2,1\n", "3 places of layer 2, but synthetic", 0},
        {"places.csv", EVEN "2,1\n3,1\n", "--replicas 2: ", 2},
        {"places.csv", EVEN "2,1\n3,1\n0,1\n",
         "5 places of layer 2, which cannot be divided evenly over 2", 0},
        {"places.csv", "expert,GPU\n0,0\n1,0\n2,1\n3,1\n", "line 1: no column \"gpu\"", 0},
        {"places.csv", "0,2\n1,0\n2,1\n", "line 1: no column \"expert\"", 0}, // and too few
        {"places.csv", "layer,expert,gpu\n2,0,0\n2,1,0\n2,2,1\n2,3,1\n", "0 places of layer 1", 0},
        {"places.csv",
         "layer,expert,gpu\n2,0,0\n2,1,0\n2,2,1\n2,3,1\n"
         "1,0,0\n1,1,0\n1,2,1\n1,3,1\n1,0,1\n1,2,0\n",
         "6 places of layer 1, but 4 of layer 2", 0},
        {"places.csv", "layer,expert,gpu\nx,0,0\n", "\"x\" of column layer", 0},
        {"loads.csv", "1,2,3\n", "loads of 3 experts, but synthetic", 0},
        {"loads.csv", "1,2,3,4\n1,2,3,4\n", "loads of 2 layers, but layer 2 runs", 0},
        {"loads.csv", "1,2,x,4\n", "line 1, column 3", 0},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mw_trace t;
        const struct mw_placing how = {.by = "loads", .replicas = bad[i].replicas};
        const int status = apply_text(bad[i].name, bad[i].text, how, &t);
        print_message("%s\n", err.text);
        assert_int_equal(status, MW_EXIT_INPUT);
        assert_line(err.text, bad[i].name, bad[i].cause);
        mw_trace_free(&t);
    }
}

static void sizes_are_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned replicas;
        const char *cause;
    } bad[] = {{6, "--replicas 6: at most 4, as the 4 experts of "},
               {3, "are 7 places, which cannot be divided evenly over 2 GPUs; 4 can"},
               {4096, "--replicas 4096: at most 4"}};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mw_trace t;
        const struct mw_placing how = {.replicas = bad[i].replicas};
        make_trace(&t, &small, 4, 1);
        assert_int_equal(mw_placement_apply(&t, layers, LAYERS, &small, &how, &err), MW_EXIT_INPUT);
        assert_line(err.text, bad[i].cause);
        mw_trace_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_give_every_expert_places),
        cmocka_unit_test(loads_are_even),
        cmocka_unit_test(full_gpus_make_way),
        cmocka_unit_test(lists_name_places),
        cmocka_unit_test(choices_do_what_they_are_for),
        cmocka_unit_test(choices_depend_on_own_tokens),
        cmocka_unit_test(least_picks_the_least),
        cmocka_unit_test(loads_are_of_what_runs),
        cmocka_unit_test(exact_sums_keep_their_bits),
        cmocka_unit_test(files_say_where_experts_are),
        cmocka_unit_test(files_are_refused_by_name),
        cmocka_unit_test(sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
