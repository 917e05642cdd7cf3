// SPDX-License-Identifier: Apache-2.0
//
// Operators of a layer on one GPU: sizes, operations and bytes of memory.
#ifndef MW_COST_OPERATORS_H
#define MW_COST_OPERATORS_H

#include "cost/parallel.h"

enum mw_operator_kind {
    MW_OP_GEMM,      ///< m x k times k x n
    MW_OP_EXPERTS,   ///< the three GEMMs of all local experts, m rows of all together
    MW_OP_ATTENTION, ///< scores and their sum over values
    MW_OP_POINTWISE, ///< norms, activations, residuals, permutation: bytes alone
};

/// Where a GEMM's rows come from or go to in tensor parallelism.
enum mw_split {
    MW_SPLIT_NONE,     ///< of one GPU alone
    MW_SPLIT_GATHERED, ///< it reads those of all GPUs
    MW_SPLIT_REDUCED,  ///< all GPUs' results are added
};

struct mw_operator {
    const char *name;
    enum mw_operator_kind kind;
    enum mw_gemm_type type;
    double m, n, k;  ///< sizes of a GEMM; of experts: rows, inner size, hidden
    double flops;    ///< of forward; a multiply-add has two
    double bytes;    ///< that forward moves to and from memory
    double backward; ///< time of backward, in times of forward
    bool selective;  ///< selective recomputation runs it again
    bool same_input; ///< of a GEMM: that of the one before it
    enum mw_split split;
    unsigned local_experts; ///< of MW_OP_EXPERTS
    /// Of MW_OP_ATTENTION: whole sequences, and tokens of each that are new or, in decode, before
    /// the new one. sequences 0: context parallelism or windows split them.
    double sequences, span;
    unsigned heads, kv_heads, head_size; ///< of the GPU; the last two are 0 in latent attention
    enum mw_gemm_type cache;             ///< of kept keys and values
    bool decode;
};

enum { MW_OPERATORS = 16 };

/// What one layer of a stage works on, on one GPU.
struct mw_layer_work {
    double tokens;      ///< of a micro-batch, before tensor parallelism
    double sequences;   ///< whose keys and values it reads
    double context;     ///< mean tokens that a token attends to
    double expert_rows; ///< of the routed experts of the GPU, the busiest one
    unsigned local_experts;
    bool dense;
};

/// Operators of one layer in forward order. Returns how many of `op` are set.
unsigned mw_layer_operators(const struct mw_task *t, const struct mw_parallel *p,
                            const struct mw_layer_work *w, struct mw_operator op[MW_OPERATORS]);
/// The head (logits) of `tokens` tokens.
struct mw_operator mw_head_operator(const struct mw_task *t, const struct mw_parallel *p,
                                    double tokens);

#endif
