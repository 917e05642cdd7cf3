// SPDX-License-Identifier: Apache-2.0
//
// Tests of the golden model. Roundings and products are compared with integer arithmetic, and rows
// with those worked out by hand. Another order of addition gives other bits.
#include "host/support.h"

#include "base/random.h"
#include "golden/golden.h"

#include <math.h>

static float from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t to_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static void rounds_to_bf16(void **state)
{
    (void)state;
    static const struct {
        uint32_t from;
        uint16_t to;
    } known[] = {
        {0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81},
        {0x3f807fff, 0x3f80}, {0xbf818000, 0xbf82}, {0x3fffffff, 0x4000}, {0x7f7fffff, 0x7f80},
        {0x7f7f7fff, 0x7f7f}, {0x7f800000, 0x7f80}, {0xff800000, 0xff80}, {0x7f800001, 0x7fff},
        {0xffc00000, 0x7fff}, {0x80000000, 0x8000}, {0x00008000, 0x0000}, {0x00008001, 0x0001},
        {0x00018000, 0x0002}, {0x807fffff, 0x8080},
    };
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_int_equal(mw_bf16_from_float(from_bits(known[i].from)), known[i].to);
    for (unsigned v = 0; v < 0x10000; v++) {
        bool nan = (v & 0x7f80) == 0x7f80 && (v & 0x7f);
        assert_int_equal(mw_bf16_from_float(mw_bf16_to_float((uint16_t)v)), nan ? MW_BF16_NAN : v);
    }
}

/// Product of two finite floats in integers: flush, multiply, round to nearest even.
static uint32_t multiply_in_integers(uint32_t a, uint32_t b)
{
    uint32_t sign = (a ^ b) & 0x80000000u;
    int ea = a >> 23 & 0xff, eb = b >> 23 & 0xff;
    if (!ea || !eb)
        return sign;
    uint64_t m = (uint64_t)((a & 0x7fffff) | 0x800000) * ((b & 0x7fffff) | 0x800000);
    int e = ea + eb - 127; // of a product in 1 .. 2, whose leading bit is 46
    int drop = 23;
    if (m >> 47) {
        drop = 24;
        e++;
    }
    if (e < 1) // before rounding
        return sign;
    uint64_t kept = m >> drop, rest = m & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    if (kept >> 24) {
        kept >>= 1;
        e++;
    }
    return e >= 255 ? sign | 0x7f800000 : sign | (uint32_t)e << 23 | (uint32_t)(kept & 0x7fffff);
}

static void multiplies_like_integers(void **state)
{
    (void)state;
    struct mw_random r = {test_seed()};
    for (unsigned i = 0; i < 1000000; i++) {
        uint64_t bits = mw_random_next(&r);
        uint32_t a = (uint32_t)bits, b = (uint32_t)(bits >> 32);
        if (i % 4 == 1) // the product's exponent near the least
            b = (b & 0x807fffff) | ((127 - (a >> 23 & 0xff)) & 0xff) << 23;
        if (i % 4 == 2) // few bits: ties
            a &= 0xfff80000, b &= 0xffff8000;
        if ((a >> 23 & 0xff) == 255 || (b >> 23 & 0xff) == 255)
            continue;
        uint32_t got = to_bits(mw_expert_multiply(from_bits(a), from_bits(b)));
        if (got != multiply_in_integers(a, b))
            fail_msg("%08x * %08x gives %08x", a, b, got);
    }
}

static void flushes_subnormals(void **state)
{
    (void)state;
    const float least = from_bits(0x00800000), below = from_bits(0x007fffff);
    assert_int_equal(to_bits(mw_expert_multiply(below, 1.0f)), 0);
    assert_int_equal(to_bits(mw_expert_multiply(below, -0x1p100f)), 0x80000000);
    assert_int_equal(to_bits(mw_expert_multiply(least, 1.0f)), 0x00800000);
    assert_int_equal(to_bits(mw_expert_multiply(least, -0.5f)), 0x80000000);
    // (2 - 2^-23) * 2^-127 would round up to 2^-126, but is below it before rounding.
    assert_int_equal(to_bits(mw_expert_multiply(from_bits(0x00ffffff), 0.5f)), 0);
    // A bf16 subnormal times anything is zero too, and NaN is not flushed.
    assert_int_equal(mw_expert_value(0x0001, 0x7f00, 1.0f), 0);
    assert_int_equal(mw_expert_value(0x7f80, 0x0001, 1.0f), MW_BF16_NAN); // infinity times zero
    assert_int_equal(mw_expert_value(0xffc1, 0x3f80, 1.0f), MW_BF16_NAN);
}

static void expert_rounds_three_times(void **state)
{
    (void)state;
    // 1.5 * 1.5 = 2.25, times 0.1f = 0.225000003...; bf16 0x3e66 is 0.224609375.
    assert_int_equal(mw_expert_value(0x3fc0, 0x3fc0, 0.1f), 0x3e66);
    assert_int_equal(mw_expert_value(0xbfc0, 0x3fc0, 0.1f), 0xbe66);
    // (1 + 2^-7)^2 = 1 + 2^-6 + 2^-14, a sticky bit that must not be lost before the last rounding.
    assert_int_equal(mw_expert_value(0x3f81, 0x3f81, 1.0f), 0x3f82);
    // Halfway between bf16s after the weight: 1.5 * (1 + 2^-7) = 1.51171875, between c1 and c2.
    assert_int_equal(mw_expert_value(0x3fc0, 0x3f81, 1.0f), 0x3fc2);
    assert_int_equal(mw_expert_value(0x3fc0, 0x3f81, from_bits(0x3f7fffff)), 0x3fc1);
}

/// A workload of one layer with every coefficient 1, to be filled by hand.
struct by_hand {
    struct mw_workload w;
    struct mw_layer layer;
    uint16_t ids[8 * 6], x[8], coefficients[16];
    float weights[8 * 6];
};

static void set_up(struct by_hand *b, unsigned gpus, unsigned k)
{
    memset(b, 0, sizeof *b);
    memset(b->ids, 0xff, sizeof b->ids);
    for (unsigned e = 0; e < 16; e++)
        b->coefficients[e] = 0x3f80;
    for (unsigned t = 0; t < 8; t++)
        b->x[t] = 0x3f80;
    b->layer = (struct mw_layer){.ids = b->ids, .weights = b->weights, .x = b->x};
    b->w = (struct mw_workload){
        .shape = {.gpus = gpus, .tokens_per_gpu = 1, .hidden = 1, .allow_padding = true},
        .tokens = gpus,
        .k = k,
        .experts = 16,
        .experts_per_gpu = 16 / gpus,
        .coefficients = b->coefficients,
        .layers = 1,
        .layer = &b->layer,
    };
}

static void route(struct by_hand *b, unsigned token, unsigned place, unsigned expert, float weight)
{
    b->ids[token * b->w.k + place] = (uint16_t)expert;
    b->weights[token * b->w.k + place] = weight;
}

static uint16_t result(const struct by_hand *b, unsigned token, enum mw_order order)
{
    uint16_t out = 0xdead;
    mw_golden_row(&b->w, 0, token, order, &out);
    return out;
}

static void single_terms_pass_through(void **state)
{
    (void)state;
    struct by_hand b;
    set_up(&b, 4, 2);
    assert_int_equal(result(&b, 0, MW_ORDER_SPEC), 0); // no expert at all
    route(&b, 1, 1, 4, 3.0f);                          // one, at home
    assert_int_equal(result(&b, 1, MW_ORDER_SPEC), 0x4040);
    route(&b, 2, 0, 0, -0.0f); // one, remote: the first term is not added to 0
    assert_int_equal(result(&b, 2, MW_ORDER_SPEC), 0x8000);
    b.x[3] = 0xffff;
    route(&b, 3, 0, 0, 1.0f); // NaN, canonical though nothing was added
    assert_int_equal(result(&b, 3, MW_ORDER_SPEC), 0x7fff);
}

/// Partial sums are rounded, the home's sum is not: 4 GPUs, token 0, experts 0-3 at home.
static void rounds_partials_but_not_home(void **state)
{
    (void)state;
    struct by_hand b;
    // Two remote terms on one GPU: 1 + 2^-8 is a tie and rounds to 1. With 2^-8 on another GPU it
    // is 1 again.
    set_up(&b, 4, 3);
    route(&b, 0, 0, 4, 1.0f);
    route(&b, 0, 1, 5, 0x1p-8f);
    route(&b, 0, 2, 8, 0x1p-8f);
    assert_int_equal(result(&b, 0, MW_ORDER_SPEC), 0x3f80);
    // The same at home: 1 + 2^-8 stays in fp32, and the remote 2^-8 makes it 1 + 2^-7.
    set_up(&b, 4, 3);
    route(&b, 0, 0, 0, 1.0f);
    route(&b, 0, 1, 1, 0x1p-8f);
    route(&b, 0, 2, 8, 0x1p-8f);
    assert_int_equal(result(&b, 0, MW_ORDER_SPEC), 0x3f81);
    // R is rounded before home is added: remote 1 and 2^-8 on two GPUs give 1, + 2^-8 gives 1.
    set_up(&b, 4, 3);
    route(&b, 0, 0, 4, 1.0f);
    route(&b, 0, 1, 8, 0x1p-8f);
    route(&b, 0, 2, 0, 0x1p-8f);
    assert_int_equal(result(&b, 0, MW_ORDER_SPEC), 0x3f80);
    assert_int_equal(result(&b, 0, MW_ORDER_HOME_FIRST), 0x3f81);
}

/// 2^25 + 1 - 2^25 is 0 or 1 in fp32, depending on the order.
static void adds_members_from_home_on(void **state)
{
    (void)state;
    struct by_hand b;
    set_up(&b, 4, 3);
    // Token of GPU 2: members 3, 0, 1 in this order, for any order of the list.
    route(&b, 2, 0, 4, -0x1p25f);                      // GPU 1
    route(&b, 2, 1, 12, 0x1p25f);                      // GPU 3
    route(&b, 2, 2, 0, 1.0f);                          // GPU 0
    assert_int_equal(result(&b, 2, MW_ORDER_SPEC), 0); // (2^25 + 1) - 2^25
    route(&b, 2, 2, 4, -0x1p25f);
    route(&b, 2, 0, 0, 1.0f);
    assert_int_equal(result(&b, 2, MW_ORDER_SPEC), 0);
    // With 1 on GPU 1, last: 2^25 - 2^25 + 1.
    route(&b, 2, 0, 0, -0x1p25f);
    route(&b, 2, 2, 4, 1.0f);
    assert_int_equal(result(&b, 2, MW_ORDER_SPEC), 0x3f80);
    assert_int_equal(result(&b, 2, MW_ORDER_REVERSED), 0);
    assert_int_equal(result(&b, 2, MW_ORDER_FROM_0), 0); // -2^25 + 1 + 2^25
    // Inside a GPU the list determines the order.
    set_up(&b, 4, 3);
    route(&b, 0, 0, 5, 0x1p25f);
    route(&b, 0, 1, 4, 1.0f);
    route(&b, 0, 2, 6, -0x1p25f);
    assert_int_equal(result(&b, 0, MW_ORDER_SPEC), 0);
    b.weights[1] = -0x1p25f, b.weights[2] = 1.0f;
    assert_int_equal(result(&b, 0, MW_ORDER_SPEC), 0x3f80);
    assert_int_equal(result(&b, 0, MW_ORDER_EXPERTS_REVERSED), 0);
}

/// Two tokens of ones with scales, the second one for expert 0 with weight 1.5.
static void set_up_ones(struct by_hand *b, uint16_t *x, unsigned hidden, unsigned type,
                        float *scales)
{
    set_up(b, 2, 1);
    for (unsigned i = 0; i < 2 * hidden; i++)
        x[i] = 0x3f80;
    b->layer.x = x;
    b->layer.scales = scales;
    b->w.shape.hidden = hidden;
    b->w.shape.dispatch_type = type;
    route(b, 1, 0, 0, 1.5f);
}

/// A block's scale is a factor of the gate weight, before x is.
static void scales_multiply_weights(void **state)
{
    (void)state;
    enum { HIDDEN = 2 * MW_SCALE_BLOCK };
    static uint16_t x[2 * HIDDEN], out[HIDDEN];
    float scales[4] = {0, 0, 2, 8}; // of token 1 the last two
    struct by_hand b;
    set_up_ones(&b, x, HIDDEN, MW_ROWTYPE_E4M3_BLOCKS, scales);
    mw_golden_row(&b.w, 0, 1, MW_ORDER_SPEC, out);
    for (unsigned i = 0; i < HIDDEN; i++)
        assert_int_equal(out[i], i < MW_SCALE_BLOCK ? 0x4040 : 0x4140); // 3, 12
    // 2^-100 * 2^-30 is flushed before the product with x, 2^-100 * 2^-20 is not
    scales[2] = 0x1p-30f, scales[3] = 0x1p-20f;
    b.weights[1] = 0x1p-100f;
    x[HIDDEN] = x[HIDDEN + MW_SCALE_BLOCK] = 0x4480; // 2^10
    mw_golden_row(&b.w, 0, 1, MW_ORDER_SPEC, out);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[MW_SCALE_BLOCK], (127 - 110) << 7);
    // The product with the scale is 1 + 2^-8 + 2^-31 and less. In fp32 it is a tie of bf16.
    scales[2] = from_bits(0x3f800001), scales[3] = 1;
    b.weights[1] = from_bits(0x3f807fff);
    x[HIDDEN] = x[HIDDEN + MW_SCALE_BLOCK] = 0x3f80;
    mw_golden_row(&b.w, 0, 1, MW_ORDER_SPEC, out);
    assert_int_equal(out[0], 0x3f80);
    b.weights[1] = from_bits(0x3f808000); // a last place more
    mw_golden_row(&b.w, 0, 1, MW_ORDER_SPEC, out);
    assert_int_equal(out[0], 0x3f81);
    assert_int_equal(out[MW_SCALE_BLOCK], 0x3f80);
}

/// A row of NVFP4 has one scale. The scales of its groups are part of x.
static void rows_have_a_scale(void **state)
{
    (void)state;
    enum { HIDDEN = 2 * MW_SCALE_GROUP };
    static uint16_t x[2 * HIDDEN], out[HIDDEN];
    float scales[6] = {NAN, NAN, NAN, 4, 448, 0x1p-9f};
    struct by_hand b;
    set_up_ones(&b, x, HIDDEN, MW_ROWTYPE_NVFP4, scales);
    mw_golden_row(&b.w, 0, 1, MW_ORDER_SPEC, out);
    for (unsigned i = 0; i < HIDDEN; i++)
        assert_int_equal(out[i], 0x40c0); // 6
}

/// Dot products with ones, of rows that are 0 but for a few elements.
struct element {
    unsigned at;
    uint16_t value;
};

static uint32_t dot_of(const struct element *list, unsigned count, uint16_t with)
{
    uint16_t a[96] = {0}, b[96];
    for (unsigned i = 0; i < 96; i++)
        b[i] = with;
    for (unsigned i = 0; i < count; i++)
        a[list[i].at] = list[i].value;
    return mw_golden_dot(a, b, 96);
}
#define DOT(with, ...) \
    dot_of((const struct element[]){__VA_ARGS__}, \
           sizeof((const struct element[]){__VA_ARGS__}) / sizeof(struct element), with)

/// 2^24 + 1 is 2^24, so that every other order of these additions gives 2^24 + 2.
static void dot_products_add_in_order(void **state)
{
    (void)state;
    enum { ONE = 0x3f80, LARGE = 0x4b80, NOT = 0x4b800000, BOTH = 0x4b800001 };
    const uint16_t a[3] = {0x3f80, 0x4000, 0x4040}, b[3] = {0x4080, 0x40a0, 0x40c0};
    assert_int_equal(mw_golden_dot(a, b, 3), 0x42000000); // 4 + 10 + 18
    // the same sum, element by element
    assert_int_equal(DOT(ONE, {0, LARGE}, {32, ONE}, {64, ONE}), NOT);
    assert_int_equal(DOT(ONE, {0, ONE}, {32, ONE}, {64, LARGE}), BOTH);
    // j and j + 16 before j and j + 8, and so on
    assert_int_equal(DOT(ONE, {0, LARGE}, {16, ONE}, {8, ONE}), NOT);
    assert_int_equal(DOT(ONE, {0, LARGE}, {8, ONE}, {24, ONE}), BOTH);
    assert_int_equal(DOT(ONE, {0, LARGE}, {8, ONE}, {4, ONE}), NOT);
    assert_int_equal(DOT(ONE, {0, LARGE}, {4, ONE}, {12, ONE}), BOTH);
    assert_int_equal(DOT(ONE, {0, LARGE}, {2, ONE}, {6, ONE}), BOTH);
    assert_int_equal(DOT(ONE, {0, LARGE}, {1, ONE}, {3, ONE}), BOTH);
    assert_int_equal(DOT(ONE, {0, LARGE}, {1, ONE}, {2, ONE}), NOT);
    // 15 and 31 are one pair, 15 and 16 are none
    assert_int_equal(DOT(ONE, {0, LARGE}, {15, ONE}, {31, ONE}), BOTH);
    assert_int_equal(DOT(ONE, {15, LARGE}, {16, ONE}, {31, ONE}), NOT);
}

static void dot_products_at_the_limits(void **state)
{
    (void)state;
    assert_int_equal(mw_golden_dot(NULL, NULL, 0), 0);
    assert_int_equal(DOT(0x8000, {0, 0x3f80}), 0);          // sums begin with +0
    assert_int_equal(DOT(0x3f00, {5, 0x0080}), 0);          // 2^-127 is flushed
    assert_int_equal(DOT(0x7e80, {5, 0x007f}), 0);          // so is a subnormal operand
    assert_int_equal(DOT(0x3f80, {5, 0x0080}), 0x00800000); // 2^-126 is not
    assert_int_equal(DOT(0x3f80, {5, 0x00c0}, {37, 0x8080}), 0x00400000); // nor is a sum
    assert_int_equal(DOT(0x7f00, {5, 0x4000}), 0x7f800000);
    assert_int_equal(DOT(0x3f80, {5, 0x7f7f}, {37, 0x7f7f}), 0x7f800000);
    assert_int_equal(DOT(0x3f80, {5, 0xff80}), 0xff800000);
    assert_int_equal(DOT(0x3f80, {5, 0xff80}, {6, 0x7f80}), 0x7fffffff);
    assert_int_equal(DOT(0x7f80, {5, 0x3f80}), 0x7fffffff); // 0 times infinity
    assert_int_equal(DOT(0x3f80, {5, 0xff81}), 0x7fffffff);
}

/// One element a row: dY times x c, rounded once, for any gate weight.
static void gradients_leave_the_weight_out(void **state)
{
    (void)state;
    struct by_hand b;
    const uint16_t dy[4] = {0x4040, 0x3f81, 0x3f80, 0x3f80};
    uint32_t dw[8];
    set_up(&b, 4, 2);
    b.coefficients[9] = 0x4000;
    b.coefficients[1] = 0x3f81;
    b.x[1] = 0x3f81;
    route(&b, 0, 0, 9, 0.0f);
    route(&b, 1, 1, 1, 123.0f);
    route(&b, 1, 0, 2, -1.0f);
    memset(dw, 0xa5, sizeof dw);
    for (unsigned t = 0; t < 4; t++)
        mw_golden_gradients(&b.w, 0, t, b.x + t, dy + t, dw + 2 * t);
    assert_int_equal(dw[0], 0x40c00000); // 3 * (1 * 2)
    assert_int_equal(dw[1], 0xa5a5a5a5); // no expert
    assert_int_equal(dw[2], 0x3f820200); // (1 + 2^-7)^2
    // (1 + 2^-7)^2 is 1 + 2^-6 in bf16, then times 1 + 2^-7
    assert_int_equal(dw[3], 0x3f830400);
    for (unsigned i = 4; i < 8; i++)
        assert_int_equal(dw[i], 0xa5a5a5a5);
}

static void make(struct mw_workload *w, struct mw_trace *trace, unsigned gpus,
                 enum mw_spread spread)
{
    struct mw_synthetic how = {.layers = 1,
                               .tokens = 64,
                               .k = 12,
                               .experts = 64,
                               .sigma = 0.5,
                               .locality = 0.2,
                               .seed = 3};
    struct mw_shape shape = {
        .gpus = gpus, .tokens_per_gpu = 64 / gpus, .hidden = 256, .spread = spread, .seed = 4};
    const size_t layer = 0;
    assert_int_equal(mw_trace_make(trace, &how, NULL), MW_EXIT_OK);
    assert_int_equal(mw_workload_make(w, trace, &layer, 1, &shape, NULL), MW_EXIT_OK);
}

static size_t differences(const struct mw_workload *w, enum mw_order order)
{
    uint16_t right[256], other[256];
    size_t n = 0;
    for (unsigned t = 0; t < w->tokens; t++) {
        mw_golden_row(w, 0, t, MW_ORDER_SPEC, right);
        mw_golden_row(w, 0, t, order, other);
        for (unsigned h = 0; h < 256; h++)
            n += right[h] != other[h];
    }
    return n;
}

/// With far coefficients a run in any wrong order has wrong bits.
static void another_order_changes_bits(void **state)
{
    (void)state;
    for (unsigned gpus = 4; gpus <= 16; gpus *= 2) {
        struct mw_workload w;
        struct mw_trace trace;
        make(&w, &trace, gpus, MW_SPREAD_FAR);
        assert_true(differences(&w, MW_ORDER_REVERSED) > 0);
        assert_true(differences(&w, MW_ORDER_FROM_0) > 0);
        if (gpus <= 8) // with more, hardly a GPU has three experts of a token, and two commute
            assert_true(differences(&w, MW_ORDER_EXPERTS_REVERSED) > 0);
        assert_true(differences(&w, MW_ORDER_HOME_FIRST) > 0);
        print_message(
            "%u GPUs, of %u: reversed %zu, from 0 %zu, experts reversed %zu, home first %zu\n",
            gpus, w.tokens * 256, differences(&w, MW_ORDER_REVERSED),
            differences(&w, MW_ORDER_FROM_0), differences(&w, MW_ORDER_EXPERTS_REVERSED),
            differences(&w, MW_ORDER_HOME_FIRST));
        mw_workload_free(&w);
        mw_trace_free(&trace);
    }
}

/// With near coefficients no term can be lost, doubled or sent to a neighbour without a trace.
static void near_terms_all_show(void **state)
{
    (void)state;
    struct mw_workload w;
    struct mw_trace trace;
    make(&w, &trace, 8, MW_SPREAD_NEAR);
    uint16_t right[256], other[256];
    for (unsigned t = 0; t < w.tokens; t++) {
        mw_golden_row(&w, 0, t, MW_ORDER_SPEC, right);
        for (unsigned j = 0; j < w.k; j++) {
            uint16_t *id = &w.layer[0].ids[t * w.k + j], was = *id;
            *id = MW_NO_EXPERT;
            mw_golden_row(&w, 0, t, MW_ORDER_SPEC, other);
            assert_memory_not_equal(right, other, sizeof right);
            *id = was ^ 1;
            mw_golden_row(&w, 0, t, MW_ORDER_SPEC, other);
            assert_memory_not_equal(right, other, sizeof right);
            *id = was;
        }
    }
    mw_workload_free(&w);
    mw_trace_free(&trace);
}

static void layer_is_its_rows(void **state)
{
    (void)state;
    struct mw_workload w;
    struct mw_trace trace;
    make(&w, &trace, 4, MW_SPREAD_NEAR);
    uint16_t *out = malloc(64 * 256 * sizeof *out), row[256];
    assert_non_null(out);
    mw_golden_layer(&w, 0, out);
    for (unsigned t = 0; t < 64; t++) {
        mw_golden_row(&w, 0, t, MW_ORDER_SPEC, row);
        assert_memory_equal(row, out + t * 256, sizeof row);
    }
    free(out);
    mw_workload_free(&w);
    mw_trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_to_bf16),
        cmocka_unit_test(multiplies_like_integers),
        cmocka_unit_test(flushes_subnormals),
        cmocka_unit_test(expert_rounds_three_times),
        cmocka_unit_test(single_terms_pass_through),
        cmocka_unit_test(rounds_partials_but_not_home),
        cmocka_unit_test(adds_members_from_home_on),
        cmocka_unit_test(scales_multiply_weights),
        cmocka_unit_test(rows_have_a_scale),
        cmocka_unit_test(another_order_changes_bits),
        cmocka_unit_test(dot_products_add_in_order),
        cmocka_unit_test(dot_products_at_the_limits),
        cmocka_unit_test(gradients_leave_the_weight_out),
        cmocka_unit_test(near_terms_all_show),
        cmocka_unit_test(layer_is_its_rows),
    };
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
