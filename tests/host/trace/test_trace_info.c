// SPDX-License-Identifier: Apache-2.0
//
// Tests of `moeswitch trace info`: its figures on traces made by hand, what it prints and writes,
// and what it refuses.
#include "host/support.h"
#include "host/words.h"

#include "trace/trace_info.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <unistd.h>

#define RUN(...) run_words(mw_trace_command, "trace", (const char *const[]){__VA_ARGS__, NULL})

enum { TOKENS = 5, K = 2, EXPERTS = 4 };

/// Two layers of 5 tokens. Of layer 1, expert 0 has 4 tokens, 1 has two, 2 has one and 3 has none.
/// Three places are empty. Tokens 1 and 2 repeat expert 0 of their neighbours.
static uint16_t ids[2][TOKENS][K] = {
    {{0, 1}, {2, 3}, {0, 1}, {2, 3}, {0, 1}},
    {{0, 1}, {0, 2}, {0, MW_NO_EXPERT}, {MW_NO_EXPERT, 1}, {0, MW_NO_EXPERT}},
};

static const char *write_sample(void)
{
    float weights[2 * TOKENS * K];
    for (unsigned i = 0; i < 2 * TOKENS * K; i++)
        weights[i] = 0.5f;
    return write_trace("info", 2, TOKENS, K, EXPERTS, &ids[0][0][0], weights);
}

static void measures_the_spread(void **state)
{
    (void)state;
    struct mw_trace trace;
    struct mw_trace_spread s;
    struct mw_error err = {0};
    assert_int_equal(mw_trace_load(&trace, write_sample(), NULL, &err), MW_EXIT_OK);
    assert_int_equal(mw_trace_spread(&trace, 0, &s, &err), MW_EXIT_OK);
    assert_true(s.min == 2 && s.max == 3 && s.mean == 2.5 && s.idle == 0 && s.empty == 0);
    assert_true(s.imbalance == 1.2 && s.repeated == 0);
    assert_int_equal(mw_trace_spread(&trace, 1, &s, &err), MW_EXIT_OK);
    assert_true(s.min == 0 && s.max == 4 && s.mean == 1.75 && s.idle == 1 && s.empty == 3);
    assert_true(fabs(s.repeated - 2.0 / 8) < 1e-12);
    // ln 4, ln 2, ln 1
    assert_true(fabs(s.sigma - log(2) * sqrt(2.0 / 3)) < 1e-12);
    mw_trace_free(&trace);
}

/// The generator's sigma comes back.
static void sigma_is_that_of_synthetic_traces(void **state)
{
    (void)state;
    const struct mw_synthetic how = {
        .layers = 1, .tokens = 20000, .k = 4, .experts = 256, .sigma = 0.5, .seed = 1};
    struct mw_trace trace;
    struct mw_trace_spread s;
    assert_int_equal(mw_trace_make(&trace, &how, NULL), MW_EXIT_OK);
    assert_int_equal(mw_trace_spread(&trace, 0, &s, NULL), MW_EXIT_OK);
    assert_true(s.sigma > 0.4 && s.sigma < 0.6);
    mw_trace_free(&trace);
}

static void prints_text_and_json(void **state)
{
    (void)state;
    const char *json = scratch("info.json");
    assert_int_equal(RUN("info", write_sample(), "--json", json), MW_EXIT_OK);
    assert_string_equal(err_text, "");
    static const char *const parts[] = {"by hand", "4 experts, k 2, hidden 64", "5 in each of 2",
                                        "ids <u2"};
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_non_null(strstr(out_text, parts[i]));
    char text[4096] = "";
    FILE *f = fopen(json, "rb");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    remove(json);
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    assert_string_equal(cJSON_GetObjectItem(root, "model")->valuestring, "by hand");
    assert_int_equal(cJSON_GetObjectItem(root, "experts")->valueint, 4);
    cJSON *layers = cJSON_GetObjectItem(root, "spread");
    assert_int_equal(cJSON_GetArraySize(layers), 2);
    cJSON *second = cJSON_GetArrayItem(layers, 1);
    assert_int_equal(cJSON_GetObjectItem(second, "tokens_per_expert_max")->valueint, 4);
    assert_int_equal(cJSON_GetObjectItem(second, "idle_experts")->valueint, 1);
    cJSON_Delete(root);
    assert_int_equal(RUN("info", write_sample(), "--csv", "-"), MW_EXIT_OK);
    assert_int_equal(strncmp(out_text, "tool,trace,model,experts,k,hidden,layers,", 41), 0);
    assert_non_null(strstr(out_text, ",layer,tokens_per_expert_min,"));
    assert_int_equal(count_of("\n", out_text), 3);
    assert_int_equal(RUN("info", write_sample(), "--quiet"), MW_EXIT_OK);
    assert_string_equal(out_text, "");
    assert_int_equal(RUN("--help"), MW_EXIT_OK);
    assert_non_null(strstr(out_text, "trace info DIR"));
}

#define REFUSES(part, ...) \
    refuse_words(mw_trace_command, "trace", (const char *const[]){__VA_ARGS__, NULL}, part)

static void refuses_bad_words_and_traces(void **state)
{
    (void)state;
    REFUSES("what to do is missing", NULL);
    REFUSES("the trace's folder is missing", "info");
    REFUSES("show: unknown", "show", "x");
    REFUSES("x: unexpected word", "info", "d", "x");
    REFUSES("/nowhere/meta.json: cannot open", "info", "/nowhere");
    ids[1][4][1] = EXPERTS; // the last element of all
    REFUSES("topk_ids.npy: layer 1, token 4, column 1: expert 4 is out of range", "info",
            write_sample());
    ids[1][4][1] = MW_NO_EXPERT;
    const char *empty = write_sample();
    char path[300];
    snprintf(path, sizeof path, "%s/topk_ids.npy", empty);
    write_npy(path, "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 0, 2), }", "", 0);
    REFUSES("topk_ids.npy: header: dimension 1 of the shape is 0", "info", empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_the_spread),
        cmocka_unit_test(sigma_is_that_of_synthetic_traces),
        cmocka_unit_test(prints_text_and_json),
        cmocka_unit_test(refuses_bad_words_and_traces),
    };
    return cmocka_run_group_tests_name("trace_info", tests, scratch_make, finish_words);
}
