// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch plan`: shapes of models, routing worked out by hand, the search, and each way in which
// input is refused.
#include "host/support.h"
#include "host/words.h"

#include "cost/routing.h"
#include "plan/plan.h"
#include "systems/system_list.h"

#include <cjson/cJSON.h>
#include <math.h>

#define PLAN(...) run_words(mw_plan_command, "plan", (const char *const[]){__VA_ARGS__, NULL})
#define REFUSE(part, ...) \
    refuse_words(mw_plan_command, "plan", (const char *const[]){__VA_ARGS__, NULL}, part)
/// A model and a machine that plan in milliseconds.
#define SMALL "--model", "mixtral-8x7b", "--hardware", "hgx-h100", "--goal", "prefill"
#define TRAIN "--model", "mixtral-8x7b", "--hardware", "hgx-h100", "--schedule", "dualpipe"

// ---- shapes -------------------------------------------------------------------------------------

/// Weights that the models' own pages state, in 10^9: all, and of a token.
static void presets_have_their_weights(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double all, active;
    } models[] = {
        {"deepseek-v3", 671, 37},   {"deepseek-v2-lite", 15.7, 2.66}, {"qwen3-235b", 235, 22},
        {"gpt-oss-120b", 117, 5.7}, {"gpt-oss-20b", 21, 4.2},         {"mixtral-8x7b", 46.7, 12.9},
        {"phi-3.5-moe", 42, 6.6},   {"pangu-ultra-moe", 718, 39},
    };
    for (unsigned i = 0; i < sizeof models / sizeof *models; i++) {
        struct mw_transformer m;
        struct mw_error err = {0};
        assert_int_equal(mw_set_transformer(&m, "model", models[i].name, &err), MW_EXIT_OK);
        assert_true(is_near(mw_all_weights(&m) / 1e9, models[i].all, 0.02));
        assert_true(is_near(mw_active_weights(&m) / 1e9, models[i].active, 0.08));
    }
}

static const char latent_config[] =
    "{\"num_hidden_layers\": 61, \"first_k_dense_replace\": 3, \"hidden_size\": 7168,"
    "\"num_attention_heads\": 128, \"num_key_value_heads\": 128, \"q_lora_rank\": 1536,"
    "\"kv_lora_rank\": 512, \"qk_rope_head_dim\": 64, \"qk_nope_head_dim\": 128,"
    "\"v_head_dim\": 128, \"vocab_size\": 129280, \"intermediate_size\": 18432,"
    "\"moe_intermediate_size\": 2048, \"n_routed_experts\": 256, \"num_experts_per_tok\": 8,"
    "\"n_shared_experts\": 1, \"num_nextn_predict_layers\": 1, \"n_group\": 8,"
    "\"topk_group\": 4, \"torch_dtype\": \"bfloat16\"}";

/// Defaults of OpenPanguMoEConfig.
static const char pangu_config[] =
    "{\"vocab_size\": 153600, \"hidden_size\": 7680, \"intermediate_size\": 18432,"
    "\"moe_intermediate_size\": 2048, \"num_hidden_layers\": 61, \"num_mtp_layers\": 1,"
    "\"num_attention_heads\": 128, \"num_key_value_heads\": 128, \"num_shared_experts\": 1,"
    "\"num_routed_experts\": 256, \"attention_kv_lora_dim\": 512,"
    "\"attention_q_lora_dim\": 1536, \"attention_qk_rope_dim\": 64, \"attention_v_dim\": 128,"
    "\"attention_qk_dim\": 128, \"num_experts_per_tok\": 8, \"num_dense_layers\": 3}";

#define FULL_AND_SLIDING "\"sliding_attention\", \"full_attention\""
#define SIX_LAYERS FULL_AND_SLIDING ", " FULL_AND_SLIDING ", " FULL_AND_SLIDING
static const char window_config[] =
    "{\"num_hidden_layers\": 24, \"hidden_size\": 2880, \"num_attention_heads\": 64,"
    "\"num_key_value_heads\": 8, \"head_dim\": 64, \"vocab_size\": 201088,"
    "\"moe_intermediate_size\": 2880, \"num_local_experts\": 32, \"num_experts_per_tok\": 4,"
    "\"sliding_window\": 128, \"layer_types\": [" SIX_LAYERS ", " SIX_LAYERS ", " SIX_LAYERS
    ", " SIX_LAYERS "]}";

/// A config.json gives the shape of the preset that was taken from it.
static void config_is_the_preset(void **state)
{
    (void)state;
    static const struct {
        const char *name, *config;
    } models[] = {{"deepseek-v3", latent_config},
                  {"pangu-ultra-moe", pangu_config},
                  {"gpt-oss-20b", window_config}};
    for (unsigned i = 0; i < sizeof models / sizeof *models; i++) {
        struct mw_transformer preset, read;
        struct mw_error err = {0};
        const char *path = scratch_text("config.json", models[i].config);
        assert_int_equal(mw_set_transformer(&preset, "model", models[i].name, &err), MW_EXIT_OK);
        assert_int_equal(mw_set_transformer(&read, "model", path, &err), MW_EXIT_OK);
        assert_ptr_equal(read.file, path);
        read.file = NULL;
        memcpy(read.name, preset.name, sizeof read.name);
        assert_memory_equal(&read, &preset, sizeof read);
    }
}

/// Layers with a window of 4 tokens attend to about 1, 2, 3, 4, 4, ... tokens, other layers to all.
static void windows_by_hand(void **state)
{
    (void)state;
    struct mw_transformer m = {.layers = 4, .window = 4, .windowed = 1};
    assert_true(mw_attended_behind(&m, 100) == (4 + 3 * 100) / 4.0);
    assert_true(mw_attended_behind(&m, 3) == 3);
    assert_true(mw_attended_within(&m, 8) == (4 - 4 * 4 / 16.0 + 3 * 4) / 4);
    assert_true(mw_attended_within(&m, 2) == 1);
    m.window = m.windowed = 0;
    assert_true(mw_attended_behind(&m, 100) == 100 && mw_attended_within(&m, 100) == 50);
}

#define TWO_LAYERS \
    "\"n_routed_experts\": 4, \"num_hidden_layers\": 2, \"hidden_size\": 64," \
    "\"num_attention_heads\": 4, \"vocab_size\": 9, \"intermediate_size\": 8," \
    "\"num_experts_per_tok\": 2, "

/// Without sizes of its own a head has hidden / heads values, and an expert those of an FFN.
static void config_of_grouped_heads(void **state)
{
    (void)state;
    struct mw_transformer m;
    struct mw_error err = {0};
    const char *path = scratch_text(
        "grouped.json",
        "{\"num_hidden_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 4,"
        "\"num_key_value_heads\": 2, \"vocab_size\": 10, \"intermediate_size\": 32,"
        "\"num_local_experts\": 8, \"num_experts_per_tok\": 2, \"q_lora_rank\": null}");
    assert_int_equal(mw_set_transformer(&m, "model", path, &err), MW_EXIT_OK);
    assert_int_equal(m.head_size, 16);
    assert_int_equal(m.expert_size, 32);
    // query and output 64 x 64, key and value 64 x 32, router and experts of 3 x 64 x 32
    assert_true(mw_attention_weights(&m) == 2 * 64 * 64 + 2 * 64 * 32);
    assert_true(mw_all_weights(&m) == 2 * (12288 + 64 * 8 + 8 * 3 * 64 * 32) + 2 * 10 * 64);
    assert_true(mw_kept_values(&m) == 64);
}

/// One table is embedding and head, and the text's sizes may be in an object of their own.
static void config_of_tied_tables(void **state)
{
    (void)state;
    struct mw_transformer m, tied;
    struct mw_error err = {0};
    const char *path =
        scratch_text("untied.json", "{" TWO_LAYERS "\"tie_word_embeddings\": false}");
    assert_int_equal(mw_set_transformer(&m, "model", path, &err), MW_EXIT_OK);
    path = scratch_text("tied.json",
                        "{\"text_config\": {" TWO_LAYERS "\"tie_word_embeddings\": true}}");
    assert_int_equal(mw_set_transformer(&tied, "model", path, &err), MW_EXIT_OK);
    assert_true(mw_all_weights(&m) - mw_all_weights(&tied) == 9 * 64);
    assert_true(mw_model_flops(&m, 5) == mw_model_flops(&tied, 5));
}

/// Without layer_types all layers from max_window_layers on have the window, unless
/// use_sliding_window is false.
static void config_of_windows(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned window, windowed;
    } texts[] = {{"\"sliding_window\": 8}", 8, 2},
                 {"\"sliding_window\": 8, \"use_sliding_window\": false}", 0, 0},
                 {"\"sliding_window\": null}", 0, 0},
                 {"\"sliding_window\": 8, \"max_window_layers\": 1}", 8, 1},
                 {"\"sliding_window\": 8, \"max_window_layers\": 3}", 0, 0},
                 {"\"decoder_sparse_step\": 1, \"mlp_only_layers\": []}", 0, 0}};
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[400];
        struct mw_transformer m;
        struct mw_error err = {0};
        snprintf(text, sizeof text, "{%s%s", TWO_LAYERS, texts[i].text);
        const char *path = scratch_text("window.json", text);
        assert_int_equal(mw_set_transformer(&m, "model", path, &err), MW_EXIT_OK);
        assert_int_equal(m.window, texts[i].window);
        assert_int_equal(m.windowed, texts[i].windowed);
    }
}

static void refuses_configs(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"[]", "not a JSON object"},
        {"{\"num_hidden_layers\": 2, \"hidden_size\": 64}", "a model without experts"},
        {"{\"n_routed_experts\": 8}", "\"num_hidden_layers\" is missing"},
        {"{\"n_routed_experts\": 1}", "\"n_routed_experts\" is not a whole number from 2"},
        {"{\"n_routed_experts\": 8, \"num_hidden_layers\": 1.5}",
         "\"num_hidden_layers\" is not a whole number from 1 to 1024"},
        {"{\"n_routed_experts\": 4, \"num_hidden_layers\": 2, \"hidden_size\": 64,"
         "\"num_attention_heads\": 4, \"vocab_size\": 9, \"intermediate_size\": 8,"
         "\"num_experts_per_tok\": 5}",
         "5 experts per token, but 4 experts"},
        {"{\"n_routed_experts\": 4, \"num_hidden_layers\": 2, \"hidden_size\": 64,"
         "\"num_attention_heads\": 4, \"vocab_size\": 9, \"intermediate_size\": 8,"
         "\"num_experts_per_tok\": 2, \"first_k_dense_replace\": 2}",
         "all 2 layers are dense"},
        {"{\"n_routed_experts\": 4, \"num_hidden_layers\": 2, \"hidden_size\": 64,"
         "\"num_attention_heads\": 4, \"vocab_size\": 9, \"intermediate_size\": 8,"
         "\"num_experts_per_tok\": 2, \"kv_lora_rank\": 8}",
         "\"qk_rope_head_dim\" is missing"},
        {"{\"n_routed_experts\": 4, \"num_hidden_layers\": 2, \"hidden_size\": 64,"
         "\"num_attention_heads\": 4, \"vocab_size\": 9, \"moe_intermediate_size\": 8,"
         "\"num_experts_per_tok\": 2, \"first_k_dense_replace\": 1}",
         "key \"intermediate_size\" is missing, the inner size of 1 dense layers in front"},
        {"{" TWO_LAYERS "\"num_key_value_heads\": 3}",
         "\"num_key_value_heads\" 3 does not divide 4 heads"},
        {"{" TWO_LAYERS "\"num_key_value_heads\": 8}",
         "\"num_key_value_heads\" 8 does not divide 4 heads"},
        {"{" TWO_LAYERS "\"head_dim\": 016}", "line 1: malformed JSON, 016 is no number"},
        {"{" TWO_LAYERS "\"use_sliding_window\": \"false\"}",
         "\"use_sliding_window\" is not true or false"},
        {"{" TWO_LAYERS "\"tie_word_embeddings\": 1}",
         "\"tie_word_embeddings\" is not true or false"},
        {"{" TWO_LAYERS "\"n_group\": 2}", "key \"topk_group\" is missing, with 2 groups"},
        {"{" TWO_LAYERS "\"layer_types\": [\"full_attention\", \"sliding_attention\"]}",
         "\"layer_types\" has sliding_attention, but no \"sliding_window\" is used"},
        {"{" TWO_LAYERS "\"decoder_sparse_step\": 2}",
         "\"decoder_sparse_step\" is not 1: behind dense layers in front all must be alike"},
        {"{" TWO_LAYERS "\"mlp_only_layers\": [1]}",
         "\"mlp_only_layers\" is not []: behind dense layers in front all must be alike"},
        {"{" TWO_LAYERS "\"sliding_window\": 8, \"layer_types\": [\"full_attention\"]}",
         "\"layer_types\" has no text for each of 2 layers"},
        {"{" TWO_LAYERS "\"layer_types\": [\"full_attention\", \"linear_attention\"]}",
         "\"layer_types\" has linear_attention, expected full_attention or sliding_attention"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *path = scratch_text("bad.json", bad[i].text);
        REFUSE(bad[i].part, "--model", path, "--hardware", "hgx-h100");
    }
    REFUSE("did you mean mixtral-8x7b?", "--model", "mixtral-8x7", "--hardware", "hgx-h100");
    // names of single layers, which other commands accept
    REFUSE("--model large: expected deepseek-v3, deepseek-v2-lite, qwen3-235b, gpt-oss-20b, "
           "gpt-oss-120b, mixtral-8x7b, phi-3.5-moe or pangu-ultra-moe, or the path of a",
           "--model", "large", "--hardware", "hgx-h100");
}

// ---- routing ------------------------------------------------------------------------------------

/// Four tokens of two experts, on four GPUs with one expert each.
static void routing_by_hand(void **state)
{
    (void)state;
    uint16_t ids[] = {0, 1, 1, 2, 2, 3, 3, 0};
    const struct mw_trace trace = {.layers = 1, .tokens = 4, .k = 2, .experts = 4, .ids = ids};
    struct mw_routing r;
    struct mw_error err = {0};
    assert_int_equal(mw_routing_make(&r, &trace, 0, 4, 8, 1, &err), MW_EXIT_OK);
    assert_int_equal(r.machines, 1);
    assert_int_equal(r.w.shape.gpus, 4);
    assert_true(r.remote == 1 && r.sampled_remote == 1 && r.far_machines == 0);
    assert_true(r.busiest == 1);
    mw_routing_free(&r);
    // two machines of two GPUs: tokens 1 and 3 have experts on both
    assert_int_equal(mw_routing_make(&r, &trace, 0, 4, 2, 1, &err), MW_EXIT_OK);
    assert_int_equal(r.machines, 2);
    assert_int_equal(r.w.shape.gpus, 2);
    assert_true(r.machines_per_token == 1.5); // of two tokens: 0, 1 and 1, 2
    assert_true(r.far_machines == 0.5 && r.far_rows == 0.5);
    mw_routing_free(&r);
}

// ---- the command --------------------------------------------------------------------------------

static double number(const cJSON *o, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static double sum(const cJSON *o, const char *key)
{
    double all = 0;
    for (const cJSON *i = cJSON_GetObjectItemCaseSensitive(o, key)->child; i; i = i->next)
        all += i->valuedouble;
    return all;
}

static void check_steps(const cJSON *list, const cJSON *params, bool sorted)
{
    double before = 0;
    for (const cJSON *s = list->child; s; s = s->next) {
        const double gpus = number(s, "tp") * number(s, "cp") * number(s, "pp") * number(s, "dp");
        assert_true(is_near(sum(s, "part_ms"), number(s, "ms"), 1e-9));
        assert_true(sum(s, "memory_gb") <= number(params, "memory_gbytes"));
        assert_true(gpus == number(params, "gpus"));
        assert_true(fmod(number(params, "batch"), number(s, "dp")) == 0);
        assert_true(!sorted || number(s, "ms") >= before);
        before = number(s, "ms");
    }
}

/// Every step's parts are its time, all fit, and the fastest is first.
static void plans_are_whole(void **state)
{
    (void)state;
    static const char *const goals[] = {"train", "prefill", "decode"};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(PLAN("--model", "mixtral-8x7b", "--hardware", "hgx-h100", "--gpus", "32",
                              "--goal", goals[i], "--json", "-", "--top", "50"),
                         0);
        cJSON *j = cJSON_Parse(out_text);
        assert_non_null(j);
        const cJSON *params = cJSON_GetObjectItemCaseSensitive(j, "params");
        const cJSON *best = cJSON_GetObjectItemCaseSensitive(j, "configurations");
        const cJSON *systems = cJSON_GetObjectItemCaseSensitive(j, "systems");
        assert_int_equal(cJSON_GetArraySize(systems), MW_SYSTEMS);
        check_steps(best, params, true);
        check_steps(systems, params, false);
        double fastest = INFINITY;
        for (const cJSON *s = systems->child; s; s = s->next)
            fastest = fmin(fastest, number(s, "ms"));
        assert_true(is_near(number(best->child, "ms"), fastest, 1e-12));
        cJSON_Delete(j);
    }
}

static void shows_tables(void **state)
{
    (void)state;
    assert_int_equal(PLAN(SMALL, "--top", "2", "--explain", "2", "--system", "unicast,dysharp"), 0);
    assert_non_null(strstr(out_text, "calibrated on the RTL; all else: roofline"));
    assert_non_null(strstr(out_text, "Line 2: "));
    assert_non_null(strstr(out_text, "weights"));
    assert_null(strstr(out_text, " nvls "));
    assert_int_equal(PLAN(SMALL, "--top", "2", "--csv", "-"), 0);
    assert_int_equal(strncmp(out_text, "tool,", 5), 0);
    assert_non_null(strstr(out_text, "configurations_too_large"));
}

/// With less memory fewer ways fit, and those left are no faster.
static void memory_leaves_out(void **state)
{
    (void)state;
    static const char *const memory[] = {"80", "40"};
    double left_out[2], ms[2];
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(PLAN(SMALL, "--memory", memory[i], "--json", "-"), 0);
        cJSON *j = cJSON_Parse(out_text);
        left_out[i] = number(j, "configurations_too_large");
        ms[i] = number(cJSON_GetObjectItemCaseSensitive(j, "configurations")->child, "ms");
        cJSON_Delete(j);
    }
    assert_true(left_out[1] > left_out[0]);
    assert_true(ms[1] >= ms[0]);
}

static void refuses_sizes(void **state)
{
    (void)state;
    REFUSE("--model is missing", "--hardware", "hgx-h100");
    REFUSE("--hardware is missing", "--model", "mixtral-8x7b");
    REFUSE("--tp 3: does not divide 32 heads", SMALL, "--tp", "3");
    REFUSE("--ep 3: does not divide 8 experts", SMALL, "--ep", "3");
    REFUSE("--dp 4: does not divide 6 sequences", SMALL, "--dp", "4", "--batch", "6");
    REFUSE("--gpus 8: not a multiple of the product", SMALL, "--tp", "4", "--dp", "4");
    REFUSE("--pp 64: more stages than 32 layers", SMALL, "--gpus", "64", "--pp", "64");
    REFUSE("--micro-batch 8: does not divide 4 sequences of a replica", SMALL, "--batch", "8",
           "--dp", "2", "--micro-batch", "8");
    REFUSE("--virtual-stages 17: more parts than 32 layers", SMALL, "--virtual-stages", "17");
    REFUSE("--virtual-stages 2: needs more than one stage", SMALL, "--pp", "1", "--virtual-stages",
           "2");
    REFUSE("--virtual-stages 2: not with --schedule dualpipe", TRAIN, "--virtual-stages", "2");
    REFUSE("--pp 1: --schedule dualpipe needs an even number", TRAIN, "--pp", "1");
    REFUSE("no sizes of parallelism divide", SMALL, "--batch", "1", "--dp", "1", "--tp", "1",
           "--pp", "1");
    REFUSE("--explain 3: --top shows 2", SMALL, "--top", "2", "--explain", "3");
    REFUSE("it runs no MoE layers", SMALL, "--system", "t3");
    REFUSE("dysharp, moeswitch or all", SMALL, "--system", "t4");
    REFUSE("--recompute: only with --goal train", SMALL, "--recompute", "full");
    REFUSE("--schedule: only with --goal train", SMALL, "--schedule", "dualpipe");
    REFUSE("--gradient-bytes: only with --goal train", SMALL, "--gradient-bytes", "2");
    REFUSE("--optimizer-bytes: only with --goal train", SMALL, "--optimizer-bytes", "8");
    REFUSE("--communication-share: only with --overlap-batches", SMALL, "--communication-share",
           "0.2");
    REFUSE("--tp-system: not with --tp 1", SMALL, "--tp", "1", "--tp-system", "ring");
    REFUSE("--redundant-experts 3: 259 experts do not divide into 8 groups", "--model",
           "deepseek-v3", "--hardware", "hgx-h100", "--redundant-experts", "3");
    REFUSE("--cache-type: only with --goal prefill or decode", TRAIN, "--cache-type", "fp8");
    REFUSE("states no TFLOPS of fp4", SMALL, "--gemm-type", "fp4");
    REFUSE("goal sleep", SMALL, "--goal", "sleep");
    REFUSE("none of", SMALL, "--memory", "5");
    assert_line(err_text, "fits 5.0 GB of a GPU", "GB too much; weights alone: ");
}

static void takes_a_trace(void **state)
{
    (void)state;
    uint16_t ids[64];
    float weights[64];
    for (unsigned i = 0; i < 64; i++) {
        ids[i] = (uint16_t)(i % 8);
        weights[i] = 0.5f;
    }
    const char *path = write_trace("routed", 1, 32, 2, 8, ids, weights);
    assert_int_equal(PLAN(SMALL, "--trace", path, "--top", "1"), 0);
    assert_non_null(strstr(out_text, "routed"));
    REFUSE("--layer 1: ", SMALL, "--trace", path, "--layer", "1");
    REFUSE("--redundant-experts: not with --trace", SMALL, "--trace", path, "--redundant-experts",
           "8");
    REFUSE("--sigma: not with --trace", SMALL, "--trace", path, "--sigma", "0.5");
    REFUSE("--locality: not with --trace", SMALL, "--trace", path, "--locality", "0");
    REFUSE("--axes: only with --trace", SMALL, "--axes", "tokens,k");
    REFUSE("--layer: only with --trace", SMALL, "--layer", "0");
    path = write_trace("other", 1, 16, 4, 8, ids, weights);
    REFUSE("8 experts, k 4, but mixtral-8x7b has 8 and 2", SMALL, "--trace", path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_have_their_weights),
        cmocka_unit_test(config_is_the_preset),
        cmocka_unit_test(config_of_grouped_heads),
        cmocka_unit_test(config_of_tied_tables),
        cmocka_unit_test(windows_by_hand),
        cmocka_unit_test(config_of_windows),
        cmocka_unit_test(refuses_configs),
        cmocka_unit_test(routing_by_hand),
        cmocka_unit_test(plans_are_whole),
        cmocka_unit_test(shows_tables),
        cmocka_unit_test(memory_leaves_out),
        cmocka_unit_test(refuses_sizes),
        cmocka_unit_test(takes_a_trace),
    };
    return cmocka_run_group_tests_name("plan", tests, scratch_make, finish_words);
}
