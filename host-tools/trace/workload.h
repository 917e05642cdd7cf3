// SPDX-License-Identifier: Apache-2.0
//
// A workload: what one run computes. Layers of a trace cut to N GPUs with T tokens each, with
// hidden values and expert coefficients made from a seed. Tokens are placed contiguously: token t
// is on GPU t / T. So are the numbers in the lists: number e is on GPU e / (E / N). These are
// numbers of experts or, if a placement was requested, of their places (placement/placement.h).
#ifndef MW_HOST_WORKLOAD_H
#define MW_HOST_WORKLOAD_H

#include "trace/trace.h"

enum {
    MW_MIN_GPUS = 2,
    MW_MAX_GPUS = 72,
    MW_MAX_HIDDEN = 16384,
    // of every device that `make` builds but the small one, see rtl/common/cfg_pkg.sv and
    // sim/model.mk: the ends of options' ranges. A device of another size reports its own. With
    // FAR=1 those of far_links.h take their places, which also has what ports keep of answers.
    MW_BUILT_TOKENS = 8192,     ///< of a GPU
    MW_BUILT_FAR_TOKENS = 2048, ///< ... of more than 32
    MW_BUILT_GROUPS = 16,       ///< static ones
    MW_BUILT_FAR_GROUPS = 128,  ///< ... of 16 GPUs and more
    MW_BUILT_HIDDEN = 16376,
    MW_BUILT_EXPERTS = 1024,
    MW_BUILT_LATENCY = 64,      ///< cycles of a link
    MW_BUILT_OPEN_ROWS = 8,     ///< of a GPU
    MW_BUILT_RED_TYPES = 0x3ff, ///< mask of types of reductions
    MW_BUILT_WINDOW = 16,       ///< store packets of a switch input
    MW_BUILT_STORES = 32,       ///< credits of a link
    MW_BUILT_PARTS = 4,
    MW_BUILT_CTRLS = 16,
    MW_BUILT_RESULTS = 4,  ///< credits of a downlink
    MW_BUILT_CACHE = 4096, ///< entries of an allocator's cache
    MW_BUILT_MERGES = 320, ///< entries of a port's table of loads
    MW_BUILT_SUMS = 64,    ///< of its table of sums
    MW_BUILT_LOADS = 32,   ///< rows that a GPU may load at a time
    MW_BUILT_SYNCS = 8,    ///< tiles that it may have reported and not been granted
    // of a layer's registers, see mw_layer_set
    MW_MAX_TILE = 255,
    MW_MAX_EXPERT_CYCLES = 65535,
    MW_MAX_IN_FLIGHT = 65535,
    MW_MAX_TOKENS = 32768, ///< of a GPU: token indices of instructions have 15 bits
};

/// How far the coefficients of the experts are apart. The terms of one output element differ by its
/// coefficients and gate weights only, so this decides which faults the output bits can show.
enum mw_spread {
    MW_SPREAD_NEAR, ///< magnitudes 2^-1 to 2^1: every term shows in the sum, so a lost, doubled or
                    ///< wrong row does; the fp32 sums are exact, so their order does not
    MW_SPREAD_FAR,  ///< about a quarter are 2^23 times larger: small terms may vanish, but a sum in
                    ///< another order rounds otherwise, in some of every 1000 elements
};

/// What runs of each layer.
enum mw_passes {
    MW_RUN_FORWARD,
    MW_RUN_BACKWARD,  ///< three passes; figures are those of the second
    MW_RUN_STEP,      ///< the same; figures are those of the first two
    MW_RUN_STACK,     ///< the same, of values that mw_run_chain makes; then all as a stack
    MW_RUN_RECOMPUTE, ///< ... whose forward layers run again, each before its backward layer
    MW_RUN_PASSES
};

/// What a layer on the device is.
enum mw_pass {
    MW_PASS_FORWARD,
    MW_PASS_BACKWARD, ///< gradients dY in place of hidden values, with the handle of the one before
    MW_PASS_COUNTED, ///< the same gradients, with counts of its own: what the handle saves. Rows of
                     ///< x are not where it allocates: those of dY take their place for dw
    MW_PASSES
};

extern const char *const mw_run_names[MW_RUN_PASSES]; ///< as --pass has them
extern const char *const mw_pass_names[MW_PASSES];

struct mw_shape {
    unsigned gpus;           ///< N, MW_MIN_GPUS .. MW_MAX_GPUS, divides the number of experts
    unsigned tokens_per_gpu; ///< T, at least 1
    unsigned batches;        ///< of N * T tokens of each layer, one after the other; 0: 1
    unsigned hidden;         ///< H, bf16 values per token, 1 .. MW_MAX_HIDDEN
    unsigned dispatch_type;  ///< MW_ROWTYPE_ in which they are sent to the experts
    enum mw_passes passes;   ///< not with batches
    bool gate_gradients;     ///< backward layers make those of gate weights, dw
    bool allow_padding;      ///< lists may have empty places
    enum mw_spread spread;
    uint64_t seed;
};

/// One layer, in the layout in which the GPUs hold it.
struct mw_layer {
    size_t number;     ///< in the trace
    size_t first;      ///< token of the trace that its tokens begin with
    enum mw_pass pass; ///< what its values are
    uint16_t *ids;     ///< [N * T][k], expert or its place, or MW_NO_EXPERT
    float *weights;    ///< [N * T][k], 0 where there is no expert
    /// [N * T][H], bf16 hidden values, or gradients: normal numbers that dispatch_type has
    uint16_t *x;
    float *scales;       ///< [N * T][mw_row_type_scales]; NULL: dispatch_type has none
    uint16_t *expert_at; ///< [experts], the expert of each place; NULL: the place of its number
};

struct mw_workload {
    struct mw_shape shape;
    unsigned tokens; ///< N * T
    unsigned k, experts, experts_per_gpu;
    unsigned replicas;      ///< of `experts` places, those beyond one for each expert
    uint16_t *coefficients; ///< of each expert, bf16, see mw_expert_coefficient
    unsigned layers;        ///< those requested, each as often as there are batches, or passes
    struct mw_layer *layer;
};

/// What mw_workload_make takes from the trace, and the shape: check it, and nothing else.
int mw_workload_check(const struct mw_trace *trace, const size_t *numbers, unsigned layers,
                      const struct mw_shape *shape, struct mw_error *err);
/// Cut `layers` layers of `trace` to a workload. `numbers` has their numbers, which may be
/// repeated. Checks everything that it takes from the trace.
int mw_workload_make(struct mw_workload *w, const struct mw_trace *trace, const size_t *numbers,
                     unsigned layers, const struct mw_shape *shape, struct mw_error *err);
void mw_workload_free(struct mw_workload *w);

/// Hidden value of an element: a bf16 of either sign with an exponent from 2^-20 to 2^20.
uint16_t mw_hidden_value(uint64_t seed, size_t layer, size_t token, unsigned element);
/// The same of a type without scales: of one with fewer values any of those but zeros and NaN.
uint16_t mw_typed_value(unsigned type, uint64_t seed, size_t layer, size_t token, unsigned element);

/// Element `h` of a token becomes that of number `element`. Where blocks or groups have
/// scales, one becomes that which `element` begins, with its scale, when `h` is its first.
void mw_workload_set(const struct mw_workload *w, const struct mw_layer *layer, unsigned token,
                     unsigned h, unsigned element);

/// c_e of the emulated expert: a bf16 of either sign.
uint16_t mw_expert_coefficient(uint64_t seed, unsigned expert, enum mw_spread spread);

/// Layers on the device for each requested one, not counting batches.
static inline unsigned mw_passes_of(const struct mw_shape *shape)
{
    return shape->passes == MW_RUN_FORWARD ? 1 : MW_PASSES;
}

static inline bool mw_is_stack(const struct mw_shape *shape)
{
    return shape->passes >= MW_RUN_STACK;
}

/// Whether the run's figures are those of this layer.
static inline bool mw_pass_counts(const struct mw_shape *shape, enum mw_pass pass)
{
    return shape->passes == MW_RUN_BACKWARD ? pass == MW_PASS_BACKWARD : pass != MW_PASS_COUNTED;
}

/// Whether the layer's experts make gradients of gate weights.
static inline bool mw_makes_gradients(const struct mw_workload *w, unsigned layer)
{
    return w->shape.gate_gradients && w->layer[layer].pass != MW_PASS_FORWARD;
}

/// The layer whose rows are those of x for these gradients.
static inline unsigned mw_layer_of_x(const struct mw_workload *w, unsigned layer)
{
    return w->layer[layer].pass == MW_PASS_BACKWARD ? layer - 1 : layer;
}

/// Places of a token in its home's table of gradients: a power of two.
static inline unsigned mw_gradient_places(unsigned k)
{
    unsigned places = 1;
    while (places < k)
        places *= 2;
    return places;
}

/// Time of an expert's row that takes `cycles` in a forward layer. A backward layer has two GEMMs
/// for each of it: gradients of the row (dX), and of the expert's parameters (dW).
static inline uint64_t mw_pass_cycles(enum mw_pass pass, uint64_t cycles)
{
    return pass == MW_PASS_FORWARD ? cycles : 2 * cycles;
}

static inline unsigned mw_gpu_of_expert(const struct mw_workload *w, unsigned expert)
{
    return expert / w->experts_per_gpu;
}

/// The expert of a place, `layer` as an index.
static inline unsigned mw_expert_at(const struct mw_workload *w, unsigned layer, unsigned place)
{
    return w->layer[layer].expert_at ? w->layer[layer].expert_at[place] : place;
}

static inline unsigned mw_gpu_of_token(const struct mw_workload *w, unsigned token)
{
    return token / w->shape.tokens_per_gpu;
}

#endif
