// SPDX-License-Identifier: Apache-2.0
//
// The golden model: what a layer's output must be, bit for bit (docs/design/architecture.md,
// "Numbers"). Plain C arithmetic, without packets, queues or time.
#ifndef MW_HOST_GOLDEN_H
#define MW_HOST_GOLDEN_H

#include "trace/row_type.h"
#include "trace/workload.h"

/// Order in which a token's terms are added. Only the first one is right. The others exist to show
/// that a run with the wrong order does not pass.
enum mw_order {
    MW_ORDER_SPEC,             ///< experts of a GPU in list order, GPUs from home + 1 on, home last
    MW_ORDER_REVERSED,         ///< the remote GPUs from home - 1 down
    MW_ORDER_FROM_0,           ///< the remote GPUs from GPU 0 on
    MW_ORDER_EXPERTS_REVERSED, ///< experts of a GPU from the end of the list
    MW_ORDER_HOME_FIRST,       ///< home's sum in front of the remote ones, rounded once
};

/// fp32 value of a bf16, exact.
float mw_bf16_to_float(uint16_t v);
/// Round to nearest even; every NaN becomes MW_BF16_NAN.
uint16_t mw_bf16_from_float(float v);
/// Product of the expert engine: subnormal operands, and products below 2^-126 before rounding,
/// count as zeros of their sign.
float mw_expert_multiply(float a, float b);
/// Y_e of one element: expert coefficient c, gate weight w.
uint16_t mw_expert_value(uint16_t x, uint16_t c, float w);

/// Output row of one token: `out` has H bf16 values.
void mw_golden_row(const struct mw_workload *w, unsigned layer, unsigned token, enum mw_order order,
                   uint16_t *out);
/// The same row where a reduction of that type and operator (reduce.h) takes the bits of the
/// experts' rows for its elements.
void mw_golden_reduced_row(const struct mw_workload *w, unsigned layer, unsigned token,
                           unsigned dtype, unsigned redop, uint16_t *out);
/// Output of one layer (an index into w->layer): `out` is [N * T][H].
void mw_golden_layer(const struct mw_workload *w, unsigned layer, uint16_t *out);

/// Bits of the fp32 dot product of two rows of `count` bf16, in the order of
/// docs/design/backward.md.
uint32_t mw_golden_dot(const uint16_t *a, const uint16_t *b, unsigned count);
/// Gradients of a token's gate weights. `dw` has an element for each place of the token's list in
/// the layer ([k]). It gets the bits of the dot product of `dy` and the expert's value of `x`
/// without the weight. Places without an expert stay as they are.
void mw_golden_gradients(const struct mw_workload *w, unsigned layer, unsigned token,
                         const uint16_t *x, const uint16_t *dy, uint32_t *dw);

#endif
