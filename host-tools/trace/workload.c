// SPDX-License-Identifier: Apache-2.0
//
// Workloads, see workload.h.
#include "trace/workload.h"

#include "base/random.h"
#include "trace/row_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

const char *const mw_run_names[MW_RUN_PASSES] = {"forward", "backward", "step", "stack",
                                                 "recompute"};
const char *const mw_pass_names[MW_PASSES] = {"forward", "backward", "counted again"};

/// A layer's gradients are as independent of its hidden values as those of another layer.
enum { GRADIENTS = 1 << 20 };

/// A bf16 from random bits: sign, 7 bits of mantissa, and a binary exponent in low .. high.
static uint16_t random_bf16(uint64_t bits, int low, int high)
{
    unsigned sign = (unsigned)(bits >> 63);
    unsigned mantissa = (unsigned)(bits >> 56) & 0x7f;
    unsigned span = (unsigned)(high - low + 1);
    unsigned exponent = (unsigned)(127 + low) + (unsigned)(((bits & 0xffffffffu) * span) >> 32);
    return (uint16_t)(sign << 15 | exponent << 7 | mantissa);
}

static uint64_t element_bits(uint64_t seed, size_t layer, size_t token, unsigned element)
{
    uint64_t place = (uint64_t)token * MW_MAX_HIDDEN + element;
    return mw_hash3(seed ^ 0x68696464656e, layer, place);
}

uint16_t mw_hidden_value(uint64_t seed, size_t layer, size_t token, unsigned element)
{
    return random_bf16(element_bits(seed, layer, token, element), -20, 20);
}

uint16_t mw_typed_value(unsigned type, uint64_t seed, size_t layer, size_t token, unsigned element)
{
    if (type != MW_ROWTYPE_E4M3)
        return mw_hidden_value(seed, layer, token, element);
    const uint64_t bits = element_bits(seed, layer, token, element);
    const unsigned sign = (unsigned)(bits >> 63) << 7;
    return mw_e4m3_to_bf16((uint8_t)(sign | (1 + (bits & 0xffffffffu) * 126 / 0x100000000u)));
}

/// Numbers over 15 binades, below a power of two that differs from block to block.
static float make_block(uint64_t seed, size_t layer, size_t token, unsigned block, uint16_t *values)
{
    const unsigned first = block * MW_SCALE_BLOCK;
    const int top =
        (int)(mw_hash3(seed ^ 0x7363616c65, layer, (uint64_t)token * MW_MAX_HIDDEN + first) % 32) -
        12;
    float x[MW_SCALE_BLOCK];
    for (unsigned i = 0; i < MW_SCALE_BLOCK; i++) {
        const uint64_t bits = element_bits(seed, layer, token, first + i);
        const uint32_t word = (uint32_t)random_bf16(bits, top - 14, top) << 16;
        memcpy(&x[i], &word, sizeof word);
    }
    return mw_e4m3_scale(x, values);
}

/// Powers of two below which a row's numbers are, and a group's, up to 12 below the row's.
static int row_top(uint64_t seed, size_t layer, size_t token)
{
    return (int)(mw_hash3(seed ^ 0x726f77746f70, layer, token) % 32) - 12;
}

/// The scale that makes 448 of the scale of a group whose largest is 2^top.
static float row_scale(int top)
{
    return ldexpf(1.0f, top) / (6 * 448);
}

/// Numbers over four binades, none of which becomes a zero.
static float make_group(uint64_t seed, size_t layer, size_t token, unsigned first, uint16_t *values)
{
    const int row = row_top(seed, layer, token);
    const uint64_t place = (uint64_t)token * MW_MAX_HIDDEN + first;
    const int top = row - (int)(mw_hash3(seed ^ 0x67726f7570, layer, place) % 13);
    float x[MW_SCALE_GROUP];
    for (unsigned i = 0; i < MW_SCALE_GROUP; i++) {
        const uint64_t bits = element_bits(seed, layer, token, first + i);
        const uint32_t word = (uint32_t)random_bf16(bits, top - 4, top - 1) << 16;
        memcpy(&x[i], &word, sizeof word);
    }
    return mw_nvfp4_scale(x, row_scale(row), values);
}

void mw_workload_set(const struct mw_workload *w, const struct mw_layer *layer, unsigned token,
                     unsigned h, unsigned element)
{
    const struct mw_shape *s = &w->shape;
    uint16_t *x = layer->x + (size_t)token * s->hidden + h;
    const size_t number = layer->first + token,
                 of = layer->number + (layer->pass == MW_PASS_FORWARD ? 0 : GRADIENTS);
    if (!layer->scales) {
        *x = mw_typed_value(s->dispatch_type, s->seed, of, number, element);
        return;
    }
    float *scales = layer->scales + (size_t)token * mw_row_type_scales(s->dispatch_type, s->hidden);
    if (s->dispatch_type == MW_ROWTYPE_E4M3_BLOCKS && h % MW_SCALE_BLOCK == 0)
        scales[h / MW_SCALE_BLOCK] = make_block(s->seed, of, number, element / MW_SCALE_BLOCK, x);
    if (s->dispatch_type != MW_ROWTYPE_NVFP4 || h % MW_SCALE_GROUP)
        return;
    scales[0] = row_scale(row_top(s->seed, of, number));
    scales[1 + h / MW_SCALE_GROUP] = make_group(s->seed, of, number, element, x);
}

uint16_t mw_expert_coefficient(uint64_t seed, unsigned expert, enum mw_spread spread)
{
    uint64_t bits = mw_hash3(seed ^ 0x657870657274, 0, expert);
    if (spread == MW_SPREAD_NEAR)
        return random_bf16(bits, -1, 1);
    // 23 places apart, sums of small terms lie around the last place of the fp32 sum of large ones.
    int exponent = (bits >> 40 & 3) == 0 ? 11 : -12;
    return random_bf16(bits, exponent, exponent);
}

/// Every GPU has as many experts; the numbers of GPUs that can have are reported.
static int refuse_division(const struct mw_trace *trace, unsigned gpus, struct mw_error *err)
{
    char list[128] = "";
    for (unsigned n = MW_MIN_GPUS; n <= MW_MAX_GPUS; n++) {
        size_t at = strlen(list);
        if (trace->experts % n == 0)
            snprintf(list + at, sizeof list - at, "%s%u", at ? ", " : "", n);
    }
    return mw_fail(
        err, MW_EXIT_INPUT,
        "--gpus %u: the %u experts of %s cannot be divided evenly over %u GPUs; possible: %s", gpus,
        trace->experts, trace->name, gpus, *list ? list : "none");
}

static int check_shape(const struct mw_trace *trace, const struct mw_shape *shape, unsigned layers,
                       struct mw_error *err)
{
    if (shape->gpus < MW_MIN_GPUS || shape->gpus > MW_MAX_GPUS)
        return mw_fail(err, MW_EXIT_INPUT, "--gpus %u: expected %d to %d", shape->gpus, MW_MIN_GPUS,
                       MW_MAX_GPUS);
    if (trace->experts % shape->gpus)
        return refuse_division(trace, shape->gpus, err);
    if (!shape->tokens_per_gpu || shape->tokens_per_gpu > MW_MAX_TOKENS)
        return mw_fail(err, MW_EXIT_INPUT, "--tokens-per-gpu %u: expected 1 to %d",
                       shape->tokens_per_gpu, MW_MAX_TOKENS);
    if (!shape->hidden || shape->hidden > MW_MAX_HIDDEN)
        return mw_fail(err, MW_EXIT_INPUT, "--hidden %u: expected 1 to %d", shape->hidden,
                       MW_MAX_HIDDEN);
    if (mw_row_type_scaled(shape->dispatch_type) && shape->hidden % MW_SCALE_BLOCK)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--dispatch-type %s: experts read blocks of %d values: --hidden must be a "
                       "multiple of %d",
                       mw_row_type_names[shape->dispatch_type], MW_SCALE_BLOCK, MW_SCALE_BLOCK);
    if (!layers)
        return mw_fail(err, MW_EXIT_INPUT, "--layers: no layer to run");
    return MW_EXIT_OK;
}

static int make_layer(struct mw_workload *w, struct mw_layer *layer, const struct mw_trace *trace,
                      struct mw_error *err)
{
    size_t list = (size_t)w->tokens * w->k, values = (size_t)w->tokens * w->shape.hidden;
    layer->ids = malloc(list * sizeof *layer->ids);
    layer->weights = malloc(list * sizeof *layer->weights);
    layer->x = malloc(values * sizeof *layer->x);
    if (trace->expert_at)
        layer->expert_at = malloc(w->experts * sizeof *layer->expert_at);
    const size_t scales =
        (size_t)w->tokens * mw_row_type_scales(w->shape.dispatch_type, w->shape.hidden);
    if (scales)
        layer->scales = malloc(scales * sizeof *layer->scales);
    if (!layer->ids || !layer->weights || !layer->x || (scales && !layer->scales) ||
        (trace->expert_at && !layer->expert_at))
        return mw_fail_memory(err, "a layer");
    if (trace->expert_at)
        memcpy(layer->expert_at, trace->expert_at + layer->number * w->experts,
               w->experts * sizeof *layer->expert_at);
    size_t from = mw_trace_at(trace, layer->number, layer->first);
    memcpy(layer->ids, trace->ids + from, list * sizeof *layer->ids);
    for (size_t i = 0; i < list; i++)
        layer->weights[i] = layer->ids[i] == MW_NO_EXPERT ? 0.0f : trace->weights[from + i];
    for (unsigned t = 0; t < w->tokens; t++)
        for (unsigned h = 0; h < w->shape.hidden; h++)
            mw_workload_set(w, layer, t, h, h);
    return MW_EXIT_OK;
}

int mw_workload_check(const struct mw_trace *trace, const size_t *numbers, unsigned layers,
                      const struct mw_shape *shape, struct mw_error *err)
{
    int status = check_shape(trace, shape, layers, err);
    size_t tokens = (size_t)shape->gpus * shape->tokens_per_gpu;
    unsigned batches = shape->batches ? shape->batches : 1;
    for (unsigned i = 0; !status && i < layers; i++)
        status = mw_trace_check(trace, numbers[i], batches * tokens, shape->allow_padding, err);
    return status;
}

int mw_workload_make(struct mw_workload *w, const struct mw_trace *trace, const size_t *numbers,
                     unsigned layers, const struct mw_shape *shape, struct mw_error *err)
{
    *w = (struct mw_workload){0};
    int status = mw_workload_check(trace, numbers, layers, shape, err);
    size_t tokens = (size_t)shape->gpus * shape->tokens_per_gpu;
    unsigned batches = shape->batches ? shape->batches : 1;
    if (status)
        return status;
    w->shape = *shape;
    w->tokens = (unsigned)tokens;
    w->k = trace->k;
    w->experts = trace->experts;
    w->replicas = trace->replicas;
    w->experts_per_gpu = trace->experts / shape->gpus;
    const unsigned passes = mw_passes_of(shape);
    w->layers = layers * batches * passes;
    w->coefficients = malloc(w->experts * sizeof *w->coefficients);
    w->layer = calloc(w->layers, sizeof *w->layer);
    if (!w->coefficients || !w->layer)
        status = mw_fail_memory(err, "a workload");
    for (unsigned e = 0; !status && e < w->experts; e++)
        w->coefficients[e] = mw_expert_coefficient(shape->seed, e, shape->spread);
    for (unsigned i = 0; !status && i < w->layers; i++) {
        w->layer[i].number = numbers[i / batches / passes];
        w->layer[i].first = i / passes % batches * tokens;
        w->layer[i].pass = (enum mw_pass)(i % passes);
        status = make_layer(w, &w->layer[i], trace, err);
    }
    if (status)
        mw_workload_free(w);
    return status;
}

void mw_workload_free(struct mw_workload *w)
{
    for (unsigned i = 0; w->layer && i < w->layers; i++) {
        free(w->layer[i].ids);
        free(w->layer[i].weights);
        free(w->layer[i].x);
        free(w->layer[i].scales);
        free(w->layer[i].expert_at);
    }
    free(w->layer);
    free(w->coefficients);
    *w = (struct mw_workload){0};
}
