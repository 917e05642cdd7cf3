// SPDX-License-Identifier: Apache-2.0
//
// Tests of the trace reader, its checks, and the generator. On real traces, the published facts of
// each.
#include "host/support.h"

#include "trace/trace.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAYERS = 2, TOKENS = 4, K = 3, EXPERTS = 8 };

static uint16_t ids[LAYERS][TOKENS][K];
static float weights[LAYERS][TOKENS][K];

static void fill(void)
{
    for (unsigned l = 0; l < LAYERS; l++)
        for (unsigned t = 0; t < TOKENS; t++)
            for (unsigned j = 0; j < K; j++) {
                ids[l][t][j] = (uint16_t)((l + t + 3 * j) % EXPERTS);
                weights[l][t][j] = 0.25f * (float)(j + 1);
            }
}

static const char *write_good(void)
{
    return write_trace("trace", LAYERS, TOKENS, K, EXPERTS, &ids[0][0][0], &weights[0][0][0]);
}

static void loads_a_folder(void **state)
{
    (void)state;
    fill();
    char slash[300];
    snprintf(slash, sizeof slash, "%s/", write_good());
    struct mw_trace trace;
    struct mw_error err = {0};
    assert_int_equal(mw_trace_load(&trace, slash, NULL, &err), MW_EXIT_OK);
    assert_int_equal(trace.layers, LAYERS);
    assert_int_equal(trace.tokens, TOKENS);
    assert_int_equal(trace.k, K);
    assert_int_equal(trace.experts, EXPERTS);
    assert_int_equal(trace.hidden, 64);
    assert_string_equal(trace.model, "by hand");
    assert_int_equal(trace.ids[mw_trace_at(&trace, 1, 2) + 1], ids[1][2][1]);
    assert_true(trace.weights[mw_trace_at(&trace, 1, 2) + 2] == 0.75f);
    for (unsigned l = 0; l < LAYERS; l++)
        assert_int_equal(mw_trace_check(&trace, l, TOKENS, false, &err), MW_EXIT_OK);
    mw_trace_free(&trace);
}

/// The ids of the sample written as elements of `bytes` bytes, with `odd` in layer
/// 1, token 2, column 1.
static const char *write_wide(const char *descr, unsigned bytes, int64_t odd)
{
    static uint8_t data[sizeof ids / sizeof(uint16_t) * 8];
    char path[300], header[100];
    const char *folder = write_good();
    for (size_t i = 0; i < LAYERS * TOKENS * K; i++) {
        int64_t id = (&ids[0][0][0])[i] == MW_NO_EXPERT ? -1 : (&ids[0][0][0])[i];
        if (i == (TOKENS + 2) * K + 1)
            id = odd;
        memcpy(data + i * bytes, &id, bytes);
    }
    snprintf(path, sizeof path, "%s/topk_ids.npy", folder);
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2, 4, 3), }",
             descr);
    write_npy(path, header, data, LAYERS * TOKENS * K * bytes);
    return folder;
}

/// As torch.topk and others write them.
static void loads_wide_ids(void **state)
{
    (void)state;
    static const char *const descr[] = {"<i2", "<i4", "<i8"};
    fill();
    ids[0][1][2] = MW_NO_EXPERT;
    for (unsigned i = 0; i < 3; i++) {
        struct mw_trace trace;
        struct mw_error err = {0};
        const char *folder = write_wide(descr[i], 2u << i, 7);
        assert_int_equal(mw_trace_load(&trace, folder, NULL, &err), MW_EXIT_OK);
        assert_string_equal(trace.ids_type, descr[i]);
        for (size_t e = 0; e < LAYERS * TOKENS * K; e++)
            assert_int_equal(trace.ids[e], e == (TOKENS + 2) * K + 1 ? 7 : (&ids[0][0][0])[e]);
        mw_trace_free(&trace);
    }
}

static void refuse_load(const char *folder, const char *file, const char *cause)
{
    struct mw_trace trace;
    struct mw_error err = {0};
    assert_int_equal(mw_trace_load(&trace, folder, NULL, &err), MW_EXIT_INPUT);
    assert_line(err.text, folder, file, cause);
    assert_null(trace.ids);
}

/// A number beyond 16 bits must not become an expert, or an empty place.
static void refuses_ids_out_of_range(void **state)
{
    (void)state;
    static const struct {
        const char *descr;
        unsigned bytes;
        int64_t id;
        const char *text;
    } bad[] = {{"<i2", 2, -2, "expert -2"},
               {"<i4", 4, 65535, "expert 65535"},
               {"<i4", 4, 65536 + 3, "expert 65539"},
               {"<i8", 8, INT64_C(1) << 32, "expert 4294967296"},
               {"<i8", 8, INT64_MIN, "expert -9223372036854775808"}};
    fill();
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mw_trace trace;
        struct mw_error err = {0};
        const char *folder = write_wide(bad[i].descr, bad[i].bytes, bad[i].id);
        assert_int_equal(mw_trace_load(&trace, folder, NULL, &err), MW_EXIT_INPUT);
        assert_line(err.text, "topk_ids.npy", "layer 1, token 2, column 1", bad[i].text);
        assert_null(trace.ids);
    }
}

static void refuses_folders_that_do_not_agree(void **state)
{
    (void)state;
    fill();
    refuse_load(scratch("absent"), "meta.json", "cannot open");
    char path[300];
    const char *folder = write_good();
    snprintf(path, sizeof path, "%s/topk_weights.npy", folder);
    write_npy(path, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 6), }", weights,
              sizeof weights);
    refuse_load(folder, "topk_weights.npy", "shape (2, 2, 6), but topk_ids.npy has (2, 4, 3)");
    folder = write_good();
    snprintf(path, sizeof path, "%s/meta.json", folder);
    static const char wrong[] = "{\"experts\": 8, \"tokens\": 5}",
                      few[] = "{\"experts\": 2, \"layers\": 2}";
    write_file(path, wrong, sizeof wrong - 1);
    refuse_load(folder, "meta.json", "\"tokens\" is 5");
    write_file(path, few, sizeof few - 1);
    refuse_load(folder, "topk_ids.npy", "3 experts per token, but the model has 2");

    static uint16_t wide[17];
    static float wide_weights[17];
    folder = write_trace("wide", 1, 1, 17, 64, wide, wide_weights);
    refuse_load(folder, "topk_ids.npy", "17 experts per token with the axes layers,tokens,k");
}

/// The trace in `ids` and `weights` must fail the check of layer 1 with such a line.
static void refuse_check(size_t layer, size_t tokens, bool padding, const char *file,
                         const char *place, const char *cause)
{
    const char *folder = write_good();
    struct mw_trace trace;
    struct mw_error err = {0};
    assert_int_equal(mw_trace_load(&trace, folder, NULL, &err), MW_EXIT_OK);
    assert_int_equal(mw_trace_check(&trace, layer, tokens, padding, &err), MW_EXIT_INPUT);
    assert_line(err.text, folder, file, place, cause);
    mw_trace_free(&trace);
}

static void accept_check(size_t layer, size_t tokens, bool padding)
{
    struct mw_trace trace;
    struct mw_error err = {0};
    assert_int_equal(mw_trace_load(&trace, write_good(), NULL, &err), MW_EXIT_OK);
    assert_int_equal(mw_trace_check(&trace, layer, tokens, padding, &err), MW_EXIT_OK);
    mw_trace_free(&trace);
}

/// The tokens of a layer repeat, in each layer its own ones, with ids and weights.
static void repeats_tokens(void **state)
{
    (void)state;
    fill();
    struct mw_trace once, again;
    struct mw_error err = {0};
    assert_int_equal(mw_trace_load(&once, write_good(), NULL, &err), MW_EXIT_OK);
    assert_int_equal(mw_trace_load(&again, write_good(), NULL, &err), MW_EXIT_OK);
    assert_int_equal(mw_trace_repeat(&again, once.tokens, &err), MW_EXIT_OK);
    assert_int_equal(again.tokens, once.tokens);
    const size_t tokens = 2 * once.tokens + 3, bytes = once.k;
    assert_int_equal(mw_trace_repeat(&again, tokens, &err), MW_EXIT_OK);
    assert_int_equal(again.tokens, tokens);
    assert_int_equal(again.layers, once.layers);
    for (size_t l = 0; l < once.layers; l++) {
        for (size_t t = 0; t < tokens; t++) {
            size_t at = mw_trace_at(&again, l, t), from = mw_trace_at(&once, l, t % once.tokens);
            assert_memory_equal(again.ids + at, once.ids + from, bytes * sizeof *once.ids);
            assert_memory_equal(again.weights + at, once.weights + from,
                                bytes * sizeof *once.weights);
        }
        assert_int_equal(mw_trace_check(&again, l, tokens, false, &err), MW_EXIT_OK);
    }
    mw_trace_free(&once);
    mw_trace_free(&again);
}

static void refuses_bad_elements(void **state)
{
    (void)state;
    fill();
    refuse_check(2, 1, false, "topk_ids.npy", "layer 2", "layers 0 to 1");
    refuse_check(1, 5, false, "topk_ids.npy", "layer 1",
                 "5 tokens were requested, the trace has 4");

    ids[1][3][2] = EXPERTS;
    refuse_check(1, 4, true, "topk_ids.npy", "layer 1, token 3, column 2",
                 "expert 8 is out of range, the model has 8");
    accept_check(1, 3, false);
    accept_check(0, 4, false);

    fill();
    ids[1][0][2] = ids[1][0][0];
    refuse_check(1, 4, false, "topk_ids.npy", "layer 1, token 0, column 2",
                 "expert 1 twice in one row, also in column 0");

    fill();
    ids[1][0][2] = ids[1][0][1];
    refuse_check(1, 4, false, "topk_ids.npy", "layer 1, token 0, column 2", "also in column 1");

    fill();
    ids[1][1][0] = ids[1][1][1] = MW_NO_EXPERT;
    refuse_check(1, 4, false, "topk_ids.npy", "layer 1, token 1, column 0", "--allow-padding");
    weights[1][1][0] = NAN; // of no expert: no code reads it
    accept_check(1, 4, true);

    fill();
    weights[1][2][1] = NAN;
    refuse_check(1, 4, false, "topk_weights.npy", "layer 1, token 2, column 1", "NaN");
    weights[1][2][1] = -INFINITY;
    refuse_check(1, 4, false, "topk_weights.npy", "layer 1, token 2, column 1", "infinite");
    weights[1][2][1] = -0.0f;
    accept_check(1, 4, false);
}

/// Share of places whose expert is also in the list of the previous token.
static double shared_with_neighbour(const struct mw_trace *trace, size_t layer)
{
    size_t same = 0;
    for (size_t t = 1; t < trace->tokens; t++) {
        const uint16_t *now = trace->ids + mw_trace_at(trace, layer, t);
        const uint16_t *before = trace->ids + mw_trace_at(trace, layer, t - 1);
        for (unsigned i = 0; i < trace->k; i++)
            for (unsigned j = 0; j < trace->k; j++)
                same += now[i] == before[j];
    }
    return (double)same / (double)((trace->tokens - 1) * trace->k);
}

/// Most popular expert over the mean.
static double peak(const struct mw_trace *trace, size_t layer)
{
    unsigned *count = calloc(trace->experts, sizeof *count), best = 0;
    for (size_t i = 0; i < trace->tokens * trace->k; i++) {
        unsigned n = ++count[trace->ids[mw_trace_at(trace, layer, 0) + i]];
        best = n > best ? n : best;
    }
    free(count);
    return (double)best * trace->experts / (double)(trace->tokens * trace->k);
}

static void makes_traces(void **state)
{
    (void)state;
    struct mw_synthetic how = {.layers = 3,
                               .tokens = 2000,
                               .k = 6,
                               .experts = 64,
                               .sigma = 0.5,
                               .locality = 0.2,
                               .seed = test_seed()};
    struct mw_trace a, b, c;
    struct mw_error err = {0};
    assert_int_equal(mw_trace_make(&a, &how, &err), MW_EXIT_OK);
    size_t elements = 3 * 2000 * 6;
    for (size_t l = 0; l < 3; l++)
        assert_int_equal(mw_trace_check(&a, l, 2000, false, &err), MW_EXIT_OK);
    for (size_t i = 0; i < elements; i++)
        assert_true(a.weights[i] > 0 && a.weights[i] < 1);
    assert_memory_not_equal(a.ids, a.ids + 2000 * 6, 2000 * 6 * sizeof *a.ids);

    // Same seed, same bytes. Layer 0 does not depend on the number of layers and tokens.
    how.layers = 1;
    how.tokens = 100;
    assert_int_equal(mw_trace_make(&b, &how, &err), MW_EXIT_OK);
    assert_memory_equal(a.ids, b.ids, 100 * 6 * sizeof *a.ids);
    assert_memory_equal(a.weights, b.weights, 100 * 6 * sizeof *a.weights);
    how.seed++;
    assert_int_equal(mw_trace_make(&c, &how, &err), MW_EXIT_OK);
    assert_memory_not_equal(b.ids, c.ids, 100 * 6 * sizeof *b.ids);
    mw_trace_free(&a);
    mw_trace_free(&b);
    mw_trace_free(&c);
}

static void popularity_and_locality_do_what_they_say(void **state)
{
    (void)state;
    struct mw_synthetic how = {
        .layers = 1, .tokens = 4000, .k = 6, .experts = 64, .seed = test_seed()};
    struct mw_trace trace;
    assert_int_equal(mw_trace_make(&trace, &how, NULL), MW_EXIT_OK);
    double uniform = peak(&trace, 0), independent = shared_with_neighbour(&trace, 0);
    mw_trace_free(&trace);
    how.sigma = 1.0;
    assert_int_equal(mw_trace_make(&trace, &how, NULL), MW_EXIT_OK);
    double skewed = peak(&trace, 0);
    mw_trace_free(&trace);
    how.sigma = 0;
    how.locality = 0.5;
    assert_int_equal(mw_trace_make(&trace, &how, NULL), MW_EXIT_OK);
    double local = shared_with_neighbour(&trace, 0);
    mw_trace_free(&trace);
    assert_true(uniform > 1.0 && uniform < 1.3);
    assert_true(skewed > 2.0 && skewed < 11);
    assert_true(independent > 0.07 && independent < 0.12); // 6 / 64
    assert_true(local > 0.4 && local < 0.6);
}

static void makes_corner_sizes(void **state)
{
    (void)state;
    // All experts in every list, one expert, and the most possible experts.
    const struct mw_synthetic sizes[] = {
        {.layers = 1, .tokens = 50, .k = 16, .experts = 16, .sigma = 1, .locality = 1, .seed = 1},
        {.layers = 2, .tokens = 1, .k = 1, .experts = 1, .sigma = 0, .locality = 0.5, .seed = 2},
        {.layers = 1, .tokens = 8, .k = 16, .experts = 4096, .sigma = 4, .locality = 0, .seed = 3},
    };
    for (unsigned i = 0; i < 3; i++) {
        struct mw_trace trace;
        struct mw_error err = {0};
        assert_int_equal(mw_trace_make(&trace, &sizes[i], &err), MW_EXIT_OK);
        assert_int_equal(mw_trace_check(&trace, 0, sizes[i].tokens, false, &err), MW_EXIT_OK);
        mw_trace_free(&trace);
    }
    const struct mw_synthetic bad[] = {
        {.layers = 1, .tokens = 1, .k = 3, .experts = 2},
        {.layers = 1, .tokens = 1, .k = 17, .experts = 64},
        {.layers = 1, .tokens = 1, .k = 0, .experts = 64},
        {.layers = 1, .tokens = 1, .k = 1, .experts = 4097},
        {.layers = 0, .tokens = 1, .k = 1, .experts = 4},
        {.layers = 1, .tokens = 1, .k = 1, .experts = 4, .sigma = -1},
        {.layers = 1, .tokens = 1, .k = 1, .experts = 4, .locality = NAN},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct mw_trace trace;
        struct mw_error err = {0};
        assert_int_equal(mw_trace_make(&trace, &bad[i], &err), MW_EXIT_INPUT);
        assert_line(err.text, "synthetic trace", "expected");
    }
}

/// Distinct GPUs per token, and the busiest GPU over the mean of all, averaged over the layers.
static void spread_over(const struct mw_trace *trace, unsigned gpus, double *distinct,
                        double *busiest)
{
    *distinct = *busiest = 0;
    for (size_t l = 0; l < trace->layers; l++) {
        unsigned load[32] = {0}, most = 0, total = 0;
        for (size_t t = 0; t < trace->tokens; t++) {
            uint32_t seen = 0;
            for (unsigned j = 0; j < trace->k; j++)
                seen |= 1u << (trace->ids[mw_trace_at(trace, l, t) + j] / (trace->experts / gpus));
            for (unsigned q = 0; q < gpus; q++)
                load[q] += seen >> q & 1;
        }
        for (unsigned q = 0; q < gpus; q++) {
            total += load[q];
            most = load[q] > most ? load[q] : most;
        }
        *distinct += (double)total / (double)(trace->tokens * trace->layers);
        *busiest += (double)most * gpus / total / (double)trace->layers;
    }
}

/// The table of the traces' README.
static void real_traces_have_their_known_facts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned layers, experts, k;
        double facts[4][2];
    } known[] = {
        {"deepseek-v2-lite-intent",
         26,
         64,
         6,
         {{3.344, 1.10}, {4.549, 1.32}, {5.332, 1.72}, {5.784, 2.51}}},
        {"deepseek-v2-lite-summary",
         26,
         64,
         6,
         {{3.362, 1.08}, {4.566, 1.28}, {5.355, 1.72}, {5.763, 2.63}}},
        {"gpt-oss-20b-mmlu",
         24,
         32,
         4,
         {{3.010, 1.13}, {3.587, 1.39}, {3.856, 1.96}, {4.000, 2.72}}},
    };
    for (unsigned i = 0; i < 3; i++) {
        const char *folder = real_trace(known[i].name);
        if (!folder)
            skip();
        struct mw_trace trace;
        struct mw_error err = {0};
        assert_int_equal(mw_trace_load(&trace, folder, NULL, &err), MW_EXIT_OK);
        assert_int_equal(trace.layers, known[i].layers);
        assert_int_equal(trace.tokens, 4096);
        assert_int_equal(trace.experts, known[i].experts);
        assert_int_equal(trace.k, known[i].k);
        for (size_t l = 0; l < trace.layers; l++)
            assert_int_equal(mw_trace_check(&trace, l, trace.tokens, false, &err), MW_EXIT_OK);
        for (unsigned n = 0; n < 4; n++) {
            double distinct, busiest;
            spread_over(&trace, 4u << n, &distinct, &busiest);
            assert_true(fabs(distinct - known[i].facts[n][0]) < 0.00051);
            assert_true(fabs(busiest - known[i].facts[n][1]) < 0.0051);
        }
        mw_trace_free(&trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_a_folder),
        cmocka_unit_test(loads_wide_ids),
        cmocka_unit_test(refuses_ids_out_of_range),
        cmocka_unit_test(refuses_folders_that_do_not_agree),
        cmocka_unit_test(repeats_tokens),
        cmocka_unit_test(refuses_bad_elements),
        cmocka_unit_test(makes_traces),
        cmocka_unit_test(popularity_and_locality_do_what_they_say),
        cmocka_unit_test(makes_corner_sizes),
        cmocka_unit_test(real_traces_have_their_known_facts),
    };
    return cmocka_run_group_tests_name("trace", tests, scratch_make, scratch_remove);
}
