// SPDX-License-Identifier: Apache-2.0
//
// Tests of the workload: placement, data from the seed, what it refuses.
#include "host/support.h"

#include "trace/row_type.h"
#include "trace/workload.h"

static void make_trace(struct mw_trace *trace, unsigned experts, unsigned k)
{
    struct mw_synthetic how = {.layers = 4,
                               .tokens = 64,
                               .k = k,
                               .experts = experts,
                               .sigma = 0.5,
                               .locality = 0.2,
                               .seed = 5};
    assert_int_equal(mw_trace_make(trace, &how, NULL), MW_EXIT_OK);
}

static const size_t layers[3] = {3, 0, 3};
static const struct mw_shape shape = {.gpus = 8, .tokens_per_gpu = 4, .hidden = 96, .seed = 9};

static void cuts_a_trace(void **state)
{
    (void)state;
    struct mw_trace trace;
    struct mw_workload w;
    struct mw_error err = {0};
    make_trace(&trace, 16, 3);
    assert_int_equal(mw_workload_make(&w, &trace, layers, 3, &shape, &err), MW_EXIT_OK);
    assert_int_equal(w.tokens, 32);
    assert_int_equal(w.k, 3);
    assert_int_equal(w.experts, 16);
    assert_int_equal(w.experts_per_gpu, 2);
    assert_int_equal(mw_gpu_of_expert(&w, 1), 0);
    assert_int_equal(mw_gpu_of_expert(&w, 2), 1);
    assert_int_equal(mw_gpu_of_expert(&w, 15), 7);
    assert_int_equal(mw_gpu_of_token(&w, 3), 0);
    assert_int_equal(mw_gpu_of_token(&w, 4), 1);
    assert_int_equal(mw_gpu_of_token(&w, 31), 7);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(w.layer[i].number, layers[i]);
        size_t from = mw_trace_at(&trace, layers[i], 0);
        assert_memory_equal(w.layer[i].ids, trace.ids + from, 32 * 3 * sizeof(uint16_t));
        assert_memory_equal(w.layer[i].weights, trace.weights + from, 32 * 3 * sizeof(float));
    }
    assert_memory_equal(w.layer[0].x, w.layer[2].x, 32 * 96 * 2);
    assert_memory_not_equal(w.layer[0].x, w.layer[1].x, 32 * 96 * 2);
    assert_int_equal(w.layer[0].x[31 * 96 + 5], mw_hidden_value(9, 3, 31, 5));
    mw_workload_free(&w);
    mw_trace_free(&trace);
}

/// Normal numbers of both signs in the whole range of exponents, and nothing outside it.
static void hidden_values_are_wide(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    unsigned exponent[256] = {0}, sign[2] = {0}, mantissa[128] = {0};
    for (unsigned t = 0; t < 64; t++)
        for (unsigned h = 0; h < 512; h++) {
            uint16_t v = mw_hidden_value(seed, 1, t, h);
            exponent[v >> 7 & 0xff]++;
            sign[v >> 15]++;
            mantissa[v & 0x7f]++;
        }
    unsigned all = 64 * 512;
    for (unsigned e = 0; e < 256; e++) {
        if (e < 127 - 20 || e > 127 + 20)
            assert_int_equal(exponent[e], 0);
        else
            assert_in_range(exponent[e], all / 41 * 3 / 4, all / 41 * 5 / 4);
    }
    for (unsigned m = 0; m < 128; m++)
        assert_in_range(mantissa[m], all / 128 / 2, all / 128 * 2);
    assert_in_range(sign[0], all * 4 / 10, all * 6 / 10);
    assert_int_equal(mw_hidden_value(seed, 1, 2, 3), mw_hidden_value(seed, 1, 2, 3));
}

/// Values of e4m3 are all but zeros and NaN, with equal frequency.
static void hidden_values_have_their_type(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    unsigned count[256] = {0};
    for (unsigned t = 0; t < 64; t++)
        for (unsigned h = 0; h < 512; h++)
            count[mw_e4m3_from_bf16(mw_typed_value(MW_ROWTYPE_E4M3, seed, 1, t, h))]++;
    for (unsigned code = 0; code < 256; code++) {
        const unsigned magnitude = code & 0x7f, each = 64 * 512 / 252;
        if (magnitude == 0 || magnitude == 0x7f)
            assert_int_equal(count[code], 0);
        else
            assert_in_range(count[code], each / 2, each * 3 / 2);
    }
    assert_int_equal(mw_typed_value(MW_ROWTYPE_BF16, seed, 1, 2, 3),
                     mw_hidden_value(seed, 1, 2, 3));
}

/// Rows of NVFP4, as they are sent, restore the values. They have no zero, every other code, and
/// many scales. Planes that share a row have its scale.
static void half_bytes_have_their_scales(void **state)
{
    (void)state;
    enum { HIDDEN = 256, GROUPS = HIDDEN / MW_SCALE_GROUP, TOKENS = 32 };
    static const float number[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    struct mw_shape half = shape;
    struct mw_trace trace;
    struct mw_workload w;
    struct mw_error err = {0};
    unsigned count[16] = {0}, scales[128] = {0}, different = 0;
    half.hidden = HIDDEN;
    half.dispatch_type = MW_ROWTYPE_NVFP4;
    half.seed = test_seed();
    make_trace(&trace, 16, 3);
    assert_int_equal(mw_workload_make(&w, &trace, layers, 1, &half, &err), MW_EXIT_OK);
    for (unsigned t = 0; t < TOKENS; t++) {
        uint8_t row[HIDDEN];
        const uint16_t *x = w.layer[0].x + (size_t)t * HIDDEN;
        const float *own = w.layer[0].scales + (size_t)t * (1 + GROUPS);
        mw_row_type_pack(MW_ROWTYPE_NVFP4, x, own, HIDDEN, row);
        assert_true(own[0] > 0 && own[0] < 1000);
        for (unsigned i = 0; i < HIDDEN; i++) {
            const unsigned code = row[i / 2] >> (i % 2 ? 4 : 0) & 15;
            const uint8_t scale = row[HIDDEN / 2 + 8 + i / MW_SCALE_GROUP];
            const uint32_t bits = (uint32_t)mw_e4m3_to_bf16(scale) << 16;
            float value;
            memcpy(&value, &bits, sizeof value);
            assert_true(value == own[1 + i / MW_SCALE_GROUP]);
            value *= code & 8 ? -number[code & 7] : number[code & 7];
            const uint32_t want = (uint32_t)x[i] << 16;
            assert_memory_equal(&value, &want, sizeof value);
            count[code]++;
            scales[scale]++;
        }
    }
    for (unsigned code = 0; code < 16; code++)
        assert_true((code & 7) == 0 ? count[code] == 0 : count[code] > 100);
    assert_int_equal(scales[0] + scales[127], 0);
    for (unsigned s = 1; s < 127; s++)
        different += scales[s] > 0;
    assert_true(different > 40);
    // the second half of a row, as its first in another place
    const float first = w.layer[0].scales[0];
    mw_workload_set(&w, &w.layer[0], 0, 0, HIDDEN / 2);
    assert_true(w.layer[0].scales[0] == first);
    mw_workload_free(&w);
    mw_trace_free(&trace);
}

static void coefficients_have_their_spread(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    unsigned negative = 0, large = 0;
    for (unsigned e = 0; e < 4096; e++) {
        uint16_t near = mw_expert_coefficient(seed, e, MW_SPREAD_NEAR);
        uint16_t far = mw_expert_coefficient(seed, e, MW_SPREAD_FAR);
        assert_in_range(near >> 7 & 0xff, 126, 128);
        assert_true((far >> 7 & 0xff) == 127 - 12 || (far >> 7 & 0xff) == 127 + 11);
        negative += near >> 15;
        large += (far >> 7 & 0xff) == 127 + 11;
    }
    assert_in_range(negative, 1800, 2300);
    assert_in_range(large, 900, 1150);
}

static void refuse(const struct mw_trace *trace, struct mw_shape bad, const size_t *numbers,
                   const char *cause)
{
    struct mw_workload w;
    struct mw_error err = {0};
    assert_int_equal(mw_workload_make(&w, trace, numbers, 1, &bad, &err), MW_EXIT_INPUT);
    assert_line(err.text, cause);
    assert_null(w.layer);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    struct mw_trace trace;
    make_trace(&trace, 16, 3);
    const size_t zero = 0, four = 4;
    struct mw_shape bad = shape;
    bad.gpus = 6;
    refuse(&trace, bad, &zero, "16 experts of synthetic(");
    bad.gpus = 32; // more GPUs than experts
    refuse(&trace, bad, &zero, "cannot be divided evenly over 32 GPUs; possible: 2, 4, 8, 16");
    bad.gpus = 1;
    refuse(&trace, bad, &zero, "--gpus 1: expected 2 to 72");
    bad.gpus = 73;
    refuse(&trace, bad, &zero, "--gpus 73");
    bad = shape;
    bad.tokens_per_gpu = 9;
    refuse(&trace, bad, &zero, "72 tokens were requested, the trace has 64");
    bad.tokens_per_gpu = 0;
    refuse(&trace, bad, &zero, "--tokens-per-gpu 0");
    bad = shape;
    bad.hidden = 0;
    refuse(&trace, bad, &zero, "--hidden 0");
    bad.hidden = MW_MAX_HIDDEN + 1;
    refuse(&trace, bad, &zero, "--hidden 16385");
    refuse(&trace, shape, &four, "layer 4 was requested, the trace has layers 0 to 3");
    trace.ids[mw_trace_at(&trace, 0, 31) + 1] = MW_NO_EXPERT;
    refuse(&trace, shape, &zero, "layer 0, token 31, column 1");
    mw_trace_free(&trace);
}

static void padding_has_weight_zero(void **state)
{
    (void)state;
    struct mw_trace trace;
    struct mw_workload w;
    make_trace(&trace, 16, 3);
    trace.ids[mw_trace_at(&trace, 0, 31) + 1] = MW_NO_EXPERT;
    struct mw_shape padded = shape;
    padded.allow_padding = true;
    const size_t zero = 0;
    assert_int_equal(mw_workload_make(&w, &trace, &zero, 1, &padded, NULL), MW_EXIT_OK);
    assert_int_equal(w.layer[0].ids[31 * 3 + 1], MW_NO_EXPERT);
    assert_true(w.layer[0].weights[31 * 3 + 1] == 0.0f);
    assert_true(w.layer[0].weights[31 * 3] == trace.weights[31 * 3]);
    mw_workload_free(&w);
    mw_trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_a_trace),
        cmocka_unit_test(hidden_values_are_wide),
        cmocka_unit_test(hidden_values_have_their_type),
        cmocka_unit_test(half_bytes_have_their_scales),
        cmocka_unit_test(coefficients_have_their_spread),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(padding_has_weight_zero),
    };
    return cmocka_run_group_tests_name("workload", tests, NULL, NULL);
}
