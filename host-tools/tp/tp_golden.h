// SPDX-License-Identifier: Apache-2.0
//
// What tensor-parallel workloads compute on, and what must come out, bit for bit. A part's row is Y
// = RNE16(RNE32(x c) w), c by {GPU, part} and w by {part, row}. So a wrong, missing or doubled row
// changes bits. Sums of home p: rows of p + 1, p + 2, ... modulo N in fp32, rounded to bf16; then
// p's own.
#ifndef MW_TP_GOLDEN_H
#define MW_TP_GOLDEN_H

#include "tp/tp.h"

/// How the rows of all GPUs become a sum.
enum mw_tp_order {
    MW_TP_ORDER_HOME_LAST, ///< as above
    MW_TP_ORDER_STEPS,     ///< p + 1 first, rounded to bf16 after each, p last: rings
    MW_TP_ORDER_ANY,       ///< whole numbers, whose sums are exact in any order
};
enum mw_tp_order mw_tp_order_of(const struct mw_tp_system *system);

/// Input of GEMM-1 at a GPU, or of the gather (gpu: the home), by logical row.
uint16_t mw_tp_value(const struct mw_tp_problem *p, enum mw_tp_order order, unsigned gpu,
                     unsigned row, unsigned element);
/// Coefficient and weight of a part.
uint16_t mw_tp_coefficient(const struct mw_tp_problem *p, enum mw_tp_order order, unsigned gpu,
                           enum mw_tp_part part);
float mw_tp_weight(const struct mw_tp_problem *p, enum mw_tp_order order, enum mw_tp_part part,
                   unsigned row);

/// Whether every GPU has all output rows, or each its own ones alone.
bool mw_tp_output_everywhere(const struct mw_tp_problem *p);
/// What all GPUs share of the output: [rows][hidden] by logical row. It is the output itself,
/// except for workloads with GEMM-2, whose rows differ by GPU: mw_tp_golden_last makes theirs of an
/// element.
void mw_tp_golden(const struct mw_tp_problem *p, enum mw_tp_order order, uint16_t *out);
uint16_t mw_tp_golden_last(const struct mw_tp_problem *p, enum mw_tp_order order, unsigned gpu,
                           unsigned row, uint16_t shared);

#endif
