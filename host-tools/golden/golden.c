// SPDX-License-Identifier: Apache-2.0
//
// The golden model, see golden.h. Must be compiled with -ffp-contract=off and without -ffast-math:
// every rounding in it is part of the specification.
#include "golden/golden.h"

#include "golden/reduce.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "float expressions must be evaluated in float"
#endif
#ifdef __FAST_MATH__
#error "the golden model needs IEEE arithmetic"
#endif

float mw_bf16_to_float(uint16_t v)
{
    uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

uint16_t mw_bf16_from_float(float v)
{
    if (isnan(v))
        return MW_BF16_NAN;
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    // Half of the last kept place, less one unless that place is odd: ties go to even. A carry out
    // of the mantissa raises the exponent, up to infinity, as it must.
    bits += 0x7fff + (bits >> 16 & 1);
    return (uint16_t)(bits >> 16);
}

static float flush_subnormal(float v)
{
    return fpclassify(v) == FP_SUBNORMAL ? copysignf(0.0f, v) : v;
}

float mw_expert_multiply(float a, float b)
{
    // 24 by 24 bits and twice the exponent range: the product of two floats is exact in double.
    double exact = (double)flush_subnormal(a) * (double)flush_subnormal(b);
    if (fabs(exact) < (double)FLT_MIN)
        return copysignf(0.0f, (float)exact);
    return (float)exact;
}

uint16_t mw_expert_value(uint16_t x, uint16_t c, float w)
{
    float scaled = mw_expert_multiply(mw_bf16_to_float(x), mw_bf16_to_float(c));
    return mw_bf16_from_float(mw_expert_multiply(scaled, w));
}

/// A sum whose first term is loaded, not added to 0: -0 alone stays -0.
struct sum {
    bool any;
    float value;
};

static void add(struct sum *s, float term)
{
    s->value = s->any ? s->value + term : term;
    s->any = true;
}

/// Data of one token, looked up once per row: its list as GPUs, coefficients and weights.
struct row {
    unsigned count; ///< places of the list that have an expert, in list order
    unsigned gpu[MW_MAX_K];
    uint16_t coefficient[MW_MAX_K];
    float weight[MW_MAX_K];
};

static void load_row(const struct mw_workload *w, unsigned layer, unsigned token, struct row *row)
{
    const uint16_t *ids = w->layer[layer].ids + (size_t)token * w->k;
    const float *weights = w->layer[layer].weights + (size_t)token * w->k;
    row->count = 0;
    for (unsigned j = 0; j < w->k; j++) {
        if (ids[j] == MW_NO_EXPERT)
            continue;
        row->gpu[row->count] = mw_gpu_of_expert(w, ids[j]);
        row->coefficient[row->count] = w->coefficients[mw_expert_at(w, layer, ids[j])];
        row->weight[row->count] = weights[j];
        row->count++;
    }
}

/// Gate weights of the block of element `h`, in which its scale, or its row's, is a factor. Scales
/// of smaller groups are part of the values.
static void scale_row(const struct mw_workload *w, unsigned layer, unsigned token, unsigned h,
                      const struct row *row, struct row *scaled)
{
    const float *scales = w->layer[layer].scales;
    *scaled = *row;
    if (!scales)
        return;
    const unsigned type = w->shape.dispatch_type;
    const size_t of_row = (size_t)token * mw_row_type_scales(type, w->shape.hidden);
    const float scale = scales[of_row + (type == MW_ROWTYPE_NVFP4 ? 0 : h / MW_SCALE_BLOCK)];
    for (unsigned i = 0; i < row->count; i++)
        scaled->weight[i] = mw_expert_multiply(row->weight[i], scale);
}

/// S_q of one element for every GPU q.
static void sum_per_gpu(const struct row *row, uint16_t x, enum mw_order order, struct sum *s)
{
    for (unsigned i = 0; i < row->count; i++) {
        unsigned j = order == MW_ORDER_EXPERTS_REVERSED ? row->count - 1 - i : i;
        add(&s[row->gpu[j]],
            mw_bf16_to_float(mw_expert_value(x, row->coefficient[j], row->weight[j])));
    }
}

/// R before its rounding: the partial sums P_q of the remote GPUs, onto what `r` holds.
static void sum_remote(const struct sum *s, unsigned gpus, unsigned home, enum mw_order order,
                       struct sum *r)
{
    for (unsigned i = 1; i <= gpus; i++) {
        unsigned q = (home + i) % gpus;
        if (order == MW_ORDER_REVERSED)
            q = (home + gpus - i) % gpus;
        if (order == MW_ORDER_FROM_0)
            q = i - 1;
        if (q != home && s[q].any)
            add(r, mw_bf16_to_float(mw_bf16_from_float(s[q].value)));
    }
}

static uint16_t combine(const struct sum *s, unsigned gpus, unsigned home, enum mw_order order)
{
    struct sum r = {0};
    if (order == MW_ORDER_HOME_FIRST) {
        r = s[home];
        sum_remote(s, gpus, home, order, &r);
        return r.any ? mw_bf16_from_float(r.value) : 0;
    }
    sum_remote(s, gpus, home, order, &r);
    if (!r.any)
        return s[home].any ? mw_bf16_from_float(s[home].value) : 0;
    uint16_t reduced = mw_bf16_from_float(r.value);
    if (!s[home].any)
        return reduced;
    return mw_bf16_from_float(mw_bf16_to_float(reduced) + s[home].value);
}

void mw_golden_row(const struct mw_workload *w, unsigned layer, unsigned token, enum mw_order order,
                   uint16_t *out)
{
    struct row row, scaled;
    load_row(w, layer, token, &row);
    const uint16_t *x = w->layer[layer].x + (size_t)token * w->shape.hidden;
    unsigned home = mw_gpu_of_token(w, token);
    for (unsigned h = 0; h < w->shape.hidden; h++) {
        struct sum s[MW_MAX_GPUS] = {0};
        if (h % MW_SCALE_BLOCK == 0)
            scale_row(w, layer, token, h, &row, &scaled);
        sum_per_gpu(&scaled, x[h], order, s);
        out[h] = combine(s, w->shape.gpus, home, order);
    }
}

/// One element of it: `y` has an element of every expert of the list, in list order.
static uint64_t reduce_element(const struct row *row, const uint64_t *y, unsigned gpus,
                               unsigned home, unsigned dtype, unsigned redop)
{
    bool any[MW_MAX_GPUS] = {false}, remote = false;
    uint64_t s[MW_MAX_GPUS], r = 0;
    for (unsigned i = 0; i < row->count; i++) {
        unsigned q = row->gpu[i];
        s[q] = any[q] ? mw_reduce_next(dtype, redop, s[q], y[i]) : mw_reduce_first(dtype, y[i]);
        any[q] = true;
    }
    for (unsigned i = 1; i < gpus; i++) {
        unsigned q = (home + i) % gpus;
        if (!any[q])
            continue;
        uint64_t p = mw_reduce_last(dtype, s[q]);
        r = remote ? mw_reduce_next(dtype, redop, r, p) : mw_reduce_first(dtype, p);
        remote = true;
    }
    if (!remote)
        return any[home] ? mw_reduce_last(dtype, s[home]) : 0;
    r = mw_reduce_last(dtype, r);
    return any[home] ? mw_reduce_last(dtype, mw_reduce_next(dtype, redop, s[home], r)) : r;
}

void mw_golden_reduced_row(const struct mw_workload *w, unsigned layer, unsigned token,
                           unsigned dtype, unsigned redop, uint16_t *out)
{
    struct row row, scaled;
    load_row(w, layer, token, &row);
    const uint16_t *x = w->layer[layer].x + (size_t)token * w->shape.hidden;
    // elements of 8 bits are taken two at a time, as there are values of 16
    const unsigned bits = 8 * mw_reduce_bytes(dtype), step = bits < 32 ? 1 : bits / 16;
    const uint64_t mask = ~UINT64_C(0) >> (64 - bits);
    for (unsigned h = 0; h < w->shape.hidden; h += step) {
        uint64_t y[MW_MAX_K] = {0}, v = 0;
        if (h % MW_SCALE_BLOCK == 0)
            scale_row(w, layer, token, h, &row, &scaled);
        for (unsigned i = 0; i < row.count; i++)
            for (unsigned part = 0; part < step; part++)
                y[i] |= (uint64_t)mw_expert_value(x[h + part], row.coefficient[i], scaled.weight[i])
                        << 16 * part;
        for (unsigned at = 0; at < 16 * step; at += bits) {
            uint64_t element[MW_MAX_K];
            for (unsigned i = 0; i < row.count; i++)
                element[i] = y[i] >> at & mask;
            v |= reduce_element(&row, element, w->shape.gpus, mw_gpu_of_token(w, token), dtype,
                                redop)
                 << at;
        }
        memcpy(out + h, &v, 2 * (size_t)step);
    }
}

void mw_golden_layer(const struct mw_workload *w, unsigned layer, uint16_t *out)
{
    for (unsigned t = 0; t < w->tokens; t++)
        mw_golden_row(w, layer, t, MW_ORDER_SPEC, out + (size_t)t * w->shape.hidden);
}

uint32_t mw_golden_dot(const uint16_t *a, const uint16_t *b, unsigned count)
{
    enum { SUMS = 32, NAN_BITS = 0x7fffffff };
    float sum[SUMS] = {0};
    uint32_t bits;
    for (unsigned i = 0; i < count; i++)
        sum[i % SUMS] += mw_expert_multiply(mw_bf16_to_float(a[i]), mw_bf16_to_float(b[i]));
    for (unsigned half = SUMS / 2; half; half /= 2)
        for (unsigned j = 0; j < half; j++)
            sum[j] += sum[j + half];
    memcpy(&bits, &sum[0], sizeof bits);
    return isnan(sum[0]) ? NAN_BITS : bits;
}

void mw_golden_gradients(const struct mw_workload *w, unsigned layer, unsigned token,
                         const uint16_t *x, const uint16_t *dy, uint32_t *dw)
{
    const uint16_t *ids = w->layer[layer].ids + (size_t)token * w->k;
    uint16_t u[MW_MAX_HIDDEN];
    for (unsigned j = 0; j < w->k; j++) {
        if (ids[j] == MW_NO_EXPERT)
            continue;
        for (unsigned h = 0; h < w->shape.hidden; h++)
            u[h] = mw_expert_value(x[h], w->coefficients[mw_expert_at(w, layer, ids[j])], 1.0f);
        dw[j] = mw_golden_dot(dy, u, w->shape.hidden);
    }
}
