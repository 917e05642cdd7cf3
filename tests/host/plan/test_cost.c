// SPDX-License-Identifier: Apache-2.0
//
// Costs of `moeswitch plan`: memory and operators worked out by hand, and tables of measured times.
#include "host/support.h"
#include "host/words.h"

#include "cost/compute.h"
#include "cost/memory.h"
#include "formats/csv_read.h"
#include "plan/plan.h"

#include <math.h>

#define REFUSE(part, ...) \
    refuse_words(mw_plan_command, "plan", (const char *const[]){__VA_ARGS__, NULL}, part)

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

/// Two stages of two layers, and four replicas, whose experts lie on two GPUs each.
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
    // 64 tokens of 2 x 64 inputs, 2 x 64 of norms and 12 heads of 16. Then 128 rows of 64 and 3 x
    // 32
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
    assert_true(is_near(mw_compute_seconds(&none, &t, o, &measured), fmax(seconds, compute), 1e-9));
    assert_false(measured);
}

/// Conversions that FP8 and FP4 add: inputs once in inference and twice in training, and gradients
/// of outputs.
static void quantization_by_hand(void **state)
{
    (void)state;
    struct mw_task t = small_task(MW_PREFILL);
    const struct mw_parallel p = {
        .tp = 1, .cp = 1, .ep = 2, .pp = 1, .dp = 4, .virtual_stages = 1, .micro_batch = 1};
    const struct mw_layer_work w = {
        .tokens = 32, .sequences = 1, .context = 16, .expert_rows = 40, .local_experts = 4};
    // query, key and value, and output. Experts: 64 and 32 values of a row
    const double inputs = 32 * (64 + 64) + 40 * (64 + 32);
    const double outputs = 32 * (128 + 64) + 40 * (64 + 2 * 32);
    struct mw_operator op[MW_OPERATORS];
    unsigned count = mw_layer_operators(&t, &p, &w, op);
    for (unsigned i = 0; i < count; i++)
        assert_string_not_equal(op[i].name, "quantization");
    t.gemm = MW_GEMM_FP8;
    count = mw_layer_operators(&t, &p, &w, op);
    assert_true(is_near(find_operator(op, count, "quantization")->bytes, inputs * 3, 1e-9));
    t.goal = MW_TRAIN;
    count = mw_layer_operators(&t, &p, &w, op);
    const struct mw_operator *o = find_operator(op, count, "quantization");
    assert_true(is_near(o->bytes, inputs * 4, 1e-9));
    assert_true(is_near(o->bytes * o->backward, outputs * 4, 1e-9));
}

/// Communication uses SMs only if batches overlap, and only operations lose them.
static void communication_takes_sms(void **state)
{
    (void)state;
    struct mw_task t = small_task(MW_PREFILL);
    const struct mw_compute none = {0};
    const struct mw_operator busy = {.kind = MW_OP_GEMM, .flops = 1e15};
    const struct mw_operator moved = {.kind = MW_OP_POINTWISE, .bytes = 1e9};
    bool measured;
    const double alone = mw_compute_seconds(&none, &t, &busy, &measured);
    const double bytes = mw_compute_seconds(&none, &t, &moved, &measured);
    t.communication_share = 0.2;
    assert_true(mw_compute_seconds(&none, &t, &busy, &measured) == alone);
    t.overlap_batches = true;
    assert_true(is_near(mw_compute_seconds(&none, &t, &busy, &measured), alone / 0.8, 1e-9));
    assert_true(mw_compute_seconds(&none, &t, &moved, &measured) == bytes);
}

/// Times between two sizes lie on their line. The table is not used for other sizes, types and
/// numbers of experts.
static void measured_times_are_taken(void **state)
{
    (void)state;
    const struct mw_task t = small_task(MW_PREFILL);
    struct mw_error err = {0};
    struct mw_compute c;
    bool measured;
    const char *path = scratch_text("gemm.csv", "framework,gemm_dtype,m,n,k,latency\n"
                                                "x,bfloat16,16,64,32,1\nx,bfloat16,32,64,32,3\n"
                                                "x,fp8_block,16,64,32,9\n");
    assert_int_equal(mw_compute_read(&c, path, &err), MW_EXIT_OK);
    struct mw_operator op = {.kind = MW_OP_GEMM, .m = 24, .n = 64, .k = 32, .bytes = 1};
    assert_true(is_near(mw_compute_seconds(&c, &t, &op, &measured), 2e-3, 1e-9) && measured);
    op.m = 33;
    mw_compute_seconds(&c, &t, &op, &measured);
    assert_false(measured);
    op.m = 16;
    op.n = 65;
    mw_compute_seconds(&c, &t, &op, &measured);
    assert_false(measured);
    op.n = 64;
    op.type = MW_GEMM_FP8;
    assert_true(is_near(mw_compute_seconds(&c, &t, &op, &measured), 9e-3, 1e-9) && measured);
    mw_compute_free(&c);
    path = scratch_text("moe.csv", "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,"
                                   "moe_ep_size,us\nbfloat16,40,64,32,2,8,2,5\n");
    assert_int_equal(mw_compute_read(&c, path, &err), MW_EXIT_OK);
    op = (struct mw_operator){
        .kind = MW_OP_EXPERTS, .m = 40, .n = 32, .k = 64, .local_experts = 4, .bytes = 1};
    assert_true(is_near(mw_compute_seconds(&c, &t, &op, &measured), 5e-6, 1e-9) && measured);
    op.local_experts = 8;
    mw_compute_seconds(&c, &t, &op, &measured);
    assert_false(measured);
    mw_compute_free(&c);
}

/// AIConfigurator's tables of attention: prompts have isl tokens and step 0, decode has one token
/// after `step` others. The type of the cache counts in decode alone. Windows, more beams and fp8
/// attention are other operators.
static void measured_attention_is_taken(void **state)
{
    (void)state;
    struct mw_task t = small_task(MW_DECODE);
    struct mw_error err = {0};
    struct mw_compute c;
    bool measured;
    const char *path = scratch_text(
        "attention.csv",
        "attn_dtype,kv_cache_dtype,batch_size,isl,step,num_heads,num_key_value_heads,head_dim,"
        "window_size,beam_width,latency\n"
        "bfloat16,fp8,8,1,16,4,2,16,0,1,1\nbfloat16,fp8,8,1,48,4,2,16,0,1,3\n"
        "bfloat16,fp8,8,1,32,4,2,16,128,1,9\nfp8,fp8,8,1,32,4,2,16,0,1,9\n"
        "bfloat16,fp8,8,1,32,4,2,16,0,4,9\nbfloat16,fp8,2,32,0,4,2,16,0,1,5\n");
    assert_int_equal(mw_compute_read(&c, path, &err), MW_EXIT_OK);
    struct mw_operator op[MW_OPERATORS];
    struct mw_parallel p = {
        .tp = 1, .cp = 1, .ep = 1, .pp = 1, .dp = 1, .virtual_stages = 1, .micro_batch = 8};
    struct mw_layer_work w = {.tokens = 8, .sequences = 8, .context = 32, .expert_rows = 16};
    t.cache = MW_GEMM_FP8;
    unsigned count = mw_layer_operators(&t, &p, &w, op);
    const struct mw_operator *o = find_operator(op, count, "attention");
    assert_true(is_near(mw_compute_seconds(&c, &t, o, &measured), 2e-3, 1e-9) && measured);
    t.cache = MW_GEMM_BF16;
    count = mw_layer_operators(&t, &p, &w, op);
    mw_compute_seconds(&c, &t, find_operator(op, count, "attention"), &measured);
    assert_false(measured);
    t.goal = MW_PREFILL;
    w = (struct mw_layer_work){.tokens = 64, .sequences = 2, .context = 16, .expert_rows = 16};
    count = mw_layer_operators(&t, &p, &w, op);
    o = find_operator(op, count, "attention");
    assert_true(is_near(mw_compute_seconds(&c, &t, o, &measured), 5e-3, 1e-9) && measured);
    p.cp = 2;
    count = mw_layer_operators(&t, &p, &w, op);
    mw_compute_seconds(&c, &t, find_operator(op, count, "attention"), &measured);
    assert_false(measured);
    mw_compute_free(&c);
    path = scratch_text("mla.csv", "mla_dtype,kv_cache_dtype,num_heads,batch_size,isl,tp_size,step,"
                                   "latency\nbfloat16,bfloat16,4,2,32,1,0,7\n");
    assert_int_equal(mw_compute_read(&c, path, &err), MW_EXIT_OK);
    p.cp = 1;
    t.model.kv_rank = 32;
    t.model.rope_size = t.model.value_size = 8;
    count = mw_layer_operators(&t, &p, &w, op);
    o = find_operator(op, count, "attention");
    assert_true(is_near(mw_compute_seconds(&c, &t, o, &measured), 7e-3, 1e-9) && measured);
    mw_compute_free(&c);
}

static void refuses_tables(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "line 1: no names of columns"},
        {"m,n,k\n1,1,1\n", "line 1: no column \"us\" and none \"latency\""},
        {"m,n,k,us\n", "no rows after the names of columns"},
        {"m,n,latency\n1,1,1\n", "no column \"k\""},
        {"m,n,m,k,us\n1,1,2,1,1\n", "line 1: the column \"m\" is there twice"},
        {"m,n,k,us\n1,1,1\n", "line 2: 3 values, expected 4"},
        {"m,n,k,us\n1,1,1,0\n", "line 2: \"0\" of column us is not a number"},
        {"m,n,k,us\n1,1,1,1\n\n1,x,1,1\n", "line 4: \"x\" of column n is not a number"},
        {"m,n,k,us\n1,1,1,nan\n", "\"nan\" of column us"},
        {"batch_size,isl,num_heads,us\n", "no column \"step\""},
        {"m,n,k,us\n1,1,1,\"1\n", "a quote without its end"},
        {"m,n,k,us\n1,1,1,\"1\"2\n", "line 2: text after a quote"},
        {"PAR1\x15\x04PAR1", "a Parquet table, and a CSV is needed"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        REFUSE(bad[i].part, "--model", "mixtral-8x7b", "--hardware", "hgx-h100", "--compute",
               scratch_text("bad.csv", bad[i].text));
}

static void csv_values(void **state)
{
    (void)state;
    struct mw_csv_table t;
    struct mw_error err = {0};
    const char *path = scratch_text("a.csv", "\xef\xbb\xbf"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_by_hand),
        cmocka_unit_test(memory_of_decode),
        cmocka_unit_test(operators_by_hand),
        cmocka_unit_test(quantization_by_hand),
        cmocka_unit_test(communication_takes_sms),
        cmocka_unit_test(measured_times_are_taken),
        cmocka_unit_test(measured_attention_is_taken),
        cmocka_unit_test(refuses_tables),
        cmocka_unit_test(csv_values),
    };
    return cmocka_run_group_tests_name("cost", tests, scratch_make, finish_words);
}
