// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch plan`: shapes of models, memory and operators worked out by hand, measured times, the
// search, and each way in which input is refused.
#include "host/support.h"
#include "host/words.h"

#include "cost/compute.h"
#include "cost/memory.h"
#include "cost/routing.h"
#include "formats/csv_read.h"
#include "plan/plan.h"
#include "systems/system_list.h"

#include <cjson/cJSON.h>
#include <math.h>

#define PLAN(...) run_words(mw_plan_command, "plan", (const char *const[]){__VA_ARGS__, NULL})
#define REFUSE(part, ...) \
    refuse_words(mw_plan_command, "plan", (const char *const[]){__VA_ARGS__, NULL}, part)
/// A model and a machine that plan in milliseconds.
#define SMALL "--model", "mixtral-8x7b", "--hardware", "hgx-h100", "--goal", "prefill"

static const char *file_of(const char *name, const char *text)
{
    const char *path = scratch(name);
    write_file(path, text, strlen(text));
    return path;
}

static bool near(double a, double b, double share)
{
    return fabs(a - b) <= share * fabs(b);
}

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
        assert_true(near(mw_all_weights(&m) / 1e9, models[i].all, 0.02));
        assert_true(near(mw_active_weights(&m) / 1e9, models[i].active, 0.08));
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

/// A config.json gives the shape of the preset that was taken from it.
static void config_is_the_preset(void **state)
{
    (void)state;
    struct mw_transformer preset, read;
    struct mw_error err = {0};
    const char *path = file_of("latent.json", latent_config);
    assert_int_equal(mw_set_transformer(&preset, "model", "deepseek-v3", &err), MW_EXIT_OK);
    assert_int_equal(mw_set_transformer(&read, "model", path, &err), MW_EXIT_OK);
    memcpy(read.name, preset.name, sizeof read.name);
    assert_memory_equal(&read, &preset, sizeof read);
}

/// Without sizes of its own a head has hidden / heads values, and an expert those of an FFN.
static void config_of_grouped_heads(void **state)
{
    (void)state;
    struct mw_transformer m;
    struct mw_error err = {0};
    const char *path =
        file_of("grouped.json",
                "{\"num_hidden_layers\": 2, \"hidden_size\": 64, \"num_attention_heads\": 4,"
                "\"num_key_value_heads\": 2, \"vocab_size\": 10, \"intermediate_size\": 32,"
                "\"num_local_experts\": 8, \"num_experts_per_tok\": 2, \"q_lora_rank\": null}");
    assert_int_equal(mw_set_transformer(&m, "model", path, &err), MW_EXIT_OK);
    assert_int_equal(m.head_size, 16);
    assert_int_equal(m.expert_size, 32);
    // query and output 64 x 64, key and value 64 x 32; router and experts of 3 x 64 x 32
    assert_true(mw_attention_weights(&m) == 2 * 64 * 64 + 2 * 64 * 32);
    assert_true(mw_all_weights(&m) == 2 * (12288 + 64 * 8 + 8 * 3 * 64 * 32) + 2 * 10 * 64);
    assert_true(mw_kept_values(&m) == 64);
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
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *path = file_of("bad.json", bad[i].text);
        REFUSE(bad[i].part, "--model", path, "--hardware", "hgx-h100");
    }
    REFUSE("did you mean mixtral-8x7b?", "--model", "mixtral-8x7", "--hardware", "hgx-h100");
    REFUSE("states no number of layers", "--model", "large", "--hardware", "hgx-h100");
}

// ---- memory and operators -----------------------------------------------------------------------

static struct mw_task small_task(enum mw_goal goal)
{
    const struct mw_transformer m = {.layers = 4,
                                     .hidden = 64,
                                     .heads = 4,
                                     .kv_heads = 2,
                                     .head_size = 16,
                                     .experts = 8,
                                     .k = 2,
                                     .expert_size = 32,
                                     .vocabulary = 10};
    return (struct mw_task){.model = m,
                            .hardware = mw_hardware_preset(0),
                            .goal = goal,
                            .gpus = 8,
                            .batch = 16,
                            .sequence = 32,
                            .gradient_bytes = 4,
                            .optimizer_bytes = 12,
                            .gemm_share = 0.5,
                            .attention_share = 0.5,
                            .memory_share = 1};
}

/// Two stages of two layers; four replicas, whose experts lie on two GPUs each.
static void memory_by_hand(void **state)
{
    (void)state;
    const struct mw_task t = small_task(MW_TRAIN);
    const struct mw_parallel p = {
        .tp = 1, .cp = 1, .ep = 2, .pp = 2, .dp = 4, .virtual_stages = 1, .micro_batch = 2};
    const double shared = 2 * (12288 + 512) + 640, experts = 2 * 4 * 6144;
    double bytes[MW_MEMORY_PARTS];
    mw_memory_parts(&t, &p, 128, bytes);
    assert_true(bytes[MW_WEIGHTS] == 2 * (shared + experts));
    assert_true(bytes[MW_GRADIENTS] == 4 * (shared + experts));
    assert_true(bytes[MW_OPTIMIZER] == 12 * (shared / 4 + experts / 2));
    assert_true(bytes[MW_CACHE] == 0);
    // 64 tokens of 2 x 64 inputs, 2 x 64 of norms and 12 heads of 16; 128 rows of 64 and 3 x 32
    assert_true(bytes[MW_ACTIVATIONS] == 2 * 2 * 2 * (64 * (256 + 192) + 128 * (64 + 96)));
    assert_true(bytes[MW_BUFFERS] == 2 * 128 * 64 * 2);
}

/// A decode step keeps 64 values of each token and layer.
static void memory_of_decode(void **state)
{
    (void)state;
    const struct mw_task t = small_task(MW_DECODE);
    const struct mw_parallel p = {
        .tp = 2, .cp = 1, .ep = 2, .pp = 1, .dp = 4, .virtual_stages = 1, .micro_batch = 4};
    double bytes[MW_MEMORY_PARTS];
    mw_memory_parts(&t, &p, 4, bytes);
    assert_true(bytes[MW_CACHE] == 4.0 * 32 * 4 * 64 * 2 / 2);
    assert_true(bytes[MW_GRADIENTS] == 0 && bytes[MW_OPTIMIZER] == 0);
}

static const struct mw_operator *find_operator(const struct mw_operator *op, unsigned count,
                                               const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(op[i].name, name) == 0)
            return &op[i];
    fail_msg("no operator %s", name);
    return NULL;
}

static void operators_by_hand(void **state)
{
    (void)state;
    const struct mw_task t = small_task(MW_PREFILL);
    const struct mw_parallel p = {
        .tp = 2, .cp = 1, .ep = 2, .pp = 1, .dp = 4, .virtual_stages = 1, .micro_batch = 1};
    const struct mw_layer_work w = {
        .tokens = 32, .sequences = 1, .context = 16, .expert_rows = 40, .local_experts = 4};
    struct mw_operator op[MW_OPERATORS];
    const unsigned count = mw_layer_operators(&t, &p, &w, op);
    const struct mw_operator *o = find_operator(op, count, "query, key, value");
    assert_true(o->flops == 2.0 * 32 * 64 * (2 + 2) * 16);
    assert_true(o->bytes == 2 * (32 * 64 + 64 * 64 + 32 * 64));
    o = find_operator(op, count, "attention");
    assert_true(o->flops == 2.0 * 32 * 16 * 2 * 32);
    o = find_operator(op, count, "experts");
    assert_true(o->flops == 6.0 * 40 * 64 * 32);
    // the longer of operations and bytes
    const double seconds = o->bytes / 3350e9, compute = o->flops / (989e12 * 0.5);
    const struct mw_compute none = {0};
    bool measured = true;
    assert_true(near(mw_compute_seconds(&none, &t, o, &measured), fmax(seconds, compute), 1e-9));
    assert_false(measured);
}

/// Times between two sizes lie on their line; other sizes, types and numbers of experts are not
/// taken.
static void measured_times_are_taken(void **state)
{
    (void)state;
    const struct mw_task t = small_task(MW_PREFILL);
    struct mw_error err = {0};
    struct mw_compute c;
    bool measured;
    const char *path = file_of("gemm.csv", "framework,gemm_dtype,m,n,k,latency\n"
                                           "x,bfloat16,16,64,32,1\nx,bfloat16,32,64,32,3\n"
                                           "x,fp8_block,16,64,32,9\n");
    assert_int_equal(mw_compute_read(&c, path, &err), MW_EXIT_OK);
    struct mw_operator op = {.kind = MW_OP_GEMM, .m = 24, .n = 64, .k = 32, .bytes = 1};
    assert_true(near(mw_compute_seconds(&c, &t, &op, &measured), 2e-3, 1e-9) && measured);
    op.m = 33;
    mw_compute_seconds(&c, &t, &op, &measured);
    assert_false(measured);
    op.m = 16;
    op.n = 65;
    mw_compute_seconds(&c, &t, &op, &measured);
    assert_false(measured);
    op.n = 64;
    op.type = MW_GEMM_FP8;
    assert_true(near(mw_compute_seconds(&c, &t, &op, &measured), 9e-3, 1e-9) && measured);
    mw_compute_free(&c);
    path = file_of("moe.csv", "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,"
                              "moe_ep_size,us\nbfloat16,40,64,32,2,8,2,5\n");
    assert_int_equal(mw_compute_read(&c, path, &err), MW_EXIT_OK);
    op = (struct mw_operator){
        .kind = MW_OP_EXPERTS, .m = 40, .n = 32, .k = 64, .local_experts = 4, .bytes = 1};
    assert_true(near(mw_compute_seconds(&c, &t, &op, &measured), 5e-6, 1e-9) && measured);
    op.local_experts = 8;
    mw_compute_seconds(&c, &t, &op, &measured);
    assert_false(measured);
    mw_compute_free(&c);
}

static void refuses_tables(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "line 1: no names of columns"},
        {"m,n,k\n1,1,1\n", "no column \"latency\""},
        {"m,n,latency\n1,1,1\n", "no column \"k\""},
        {"m,n,k,us\n1,1,1\n", "line 2: 3 values, expected 4"},
        {"m,n,k,us\n1,1,1,0\n", "line 2: \"0\" of column us is not a number"},
        {"m,n,k,us\n1,1,1,1\n\n1,x,1,1\n", "line 4: \"x\" of column n is not a number"},
        {"m,n,k,us\n1,1,1,nan\n", "\"nan\" of column us"},
        {"m,n,k,us\n1,1,1,\"1\n", "a quote without its end"},
        {"m,n,k,us\n1,1,1,\"1\"2\n", "line 2: text behind a quote"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        REFUSE(bad[i].part, SMALL, "--compute", file_of("bad.csv", bad[i].text));
}

static void csv_values(void **state)
{
    (void)state;
    struct mw_csv_table t;
    struct mw_error err = {0};
    const char *path = file_of("a.csv", "\xef\xbb\xbf"
                                        "a,\"b,c\"\r\n1,\"x \"\"y\"\"\"\n\n\"\",2");
    assert_int_equal(mw_csv_read(&t, path, 1000, "a table", &err), MW_EXIT_OK);
    assert_int_equal(t.rows, 2);
    assert_int_equal(t.columns, 2);
    assert_int_equal(mw_csv_column(&t, "b,c"), 1);
    assert_int_equal(mw_csv_column(&t, "b"), MW_CSV_NONE);
    assert_string_equal(mw_csv_cell(&t, 0, 1), "x \"y\"");
    assert_string_equal(mw_csv_cell(&t, 1, 0), "");
    mw_csv_table_free(&t);
    assert_int_equal(mw_csv_read(&t, path, 5, "a table", &err), MW_EXIT_INPUT);
    assert_line(err.text, "more than a table can have");
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
        assert_true(near(sum(s, "part_ms"), number(s, "ms"), 1e-9));
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
        assert_true(near(number(best->child, "ms"), fastest, 1e-12));
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
    assert_null(strstr(out_text, "nvls"));
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
    REFUSE("no sizes of parallelism divide", SMALL, "--batch", "1", "--dp", "1", "--tp", "1",
           "--pp", "1");
    REFUSE("--explain 3: --top shows 2", SMALL, "--top", "2", "--explain", "3");
    REFUSE("it runs no MoE layers", SMALL, "--system", "t3");
    REFUSE("states no TFLOPS of fp4", SMALL, "--gemm-type", "fp4");
    REFUSE("goal sleep", SMALL, "--goal", "sleep");
    REFUSE("none of", SMALL, "--memory", "5");
    assert_line(err_text, "fits 5.0 GB of a GPU", "GB too much; its weights alone take");
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
    path = write_trace("other", 1, 16, 4, 8, ids, weights);
    REFUSE("8 experts, k 4, but mixtral-8x7b has 8 and 2", SMALL, "--trace", path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_have_their_weights),
        cmocka_unit_test(config_is_the_preset),
        cmocka_unit_test(config_of_grouped_heads),
        cmocka_unit_test(refuses_configs),
        cmocka_unit_test(memory_by_hand),
        cmocka_unit_test(memory_of_decode),
        cmocka_unit_test(operators_by_hand),
        cmocka_unit_test(measured_times_are_taken),
        cmocka_unit_test(refuses_tables),
        cmocka_unit_test(csv_values),
        cmocka_unit_test(routing_by_hand),
        cmocka_unit_test(plans_are_whole),
        cmocka_unit_test(shows_tables),
        cmocka_unit_test(memory_leaves_out),
        cmocka_unit_test(refuses_sizes),
        cmocka_unit_test(takes_a_trace),
    };
    return cmocka_run_group_tests_name("plan", tests, scratch_make, finish_words);
}
