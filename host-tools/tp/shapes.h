// SPDX-License-Identifier: Apache-2.0
//
// GEMMs of public models, as times of a row beside that of the link
// (docs/design/tensor-parallel.md).
#ifndef MW_TP_SHAPES_H
#define MW_TP_SHAPES_H

#include "tp/tp.h"

/// GB/s of a GPU's memory, in which LN reads and writes a row once. Assumed.
enum { MW_TP_MEMORY = 3350 };

/// Two GEMMs around a sub-layer of a model that is split over `gpus`. Their times are cycles per KB
/// of a row, which follow from 2 K N operations at 70 % of 989 Tflop/s. The link takes 64 cycles
/// per KB, and headers 8.
struct mw_tp_shape {
    const char *name, *text;
    unsigned gpus;
    unsigned row_bytes; ///< of the model
    unsigned link;      ///< GB/s
    unsigned reduced;   ///< the GEMM whose output is reduced
    unsigned gathered;  ///< the GEMM whose input is gathered
};

mw_terms mw_tp_shape_values;
/// `--shape`: a const struct mw_tp_shape *.
mw_option_set mw_tp_set_shape;
/// Cycles of a row of the part, beside links as fast as those of the problem.
unsigned mw_tp_shape_cycles(const struct mw_tp_shape *shape, const struct mw_tp_problem *p,
                            enum mw_tp_part part);

#endif
