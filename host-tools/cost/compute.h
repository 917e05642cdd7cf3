// SPDX-License-Identifier: Apache-2.0
//
// Time of operators: from measured tables where these have the sizes, else by a roofline.
#ifndef MW_COST_COMPUTE_H
#define MW_COST_COMPUTE_H

#include "cost/operators.h"

struct mw_compute_row; ///< a measured time

/// Measured times of `--compute FILE`; all zero: none.
struct mw_compute {
    struct mw_compute_row *row;
    size_t count;
    const char *path;
};

/// Read a CSV with a line of names. The columns are those of AIConfigurator's tables:
/// - GEMMs: m, n and k
/// - experts: num_tokens, hidden_size, inter_size, topk, num_experts and moe_ep_size
/// - attention: batch_size, isl, step and num_heads, and num_key_value_heads and head_dim unless it
///   is latent attention
/// Time is the column `latency` in milliseconds, or `us`. The type is in gemm_dtype, moe_dtype or,
/// for attention in decode, kv_cache_dtype. Names that begin with "fp8" are FP8, those that begin
/// with "nvfp4" or "fp4" are FP4, and all others are BF16. Attention is that of one beam, in bf16,
/// without a window. Other columns are skipped. MW_EXIT_INPUT, with file and line: a column that is
/// missing, or a value that is no number of its column.
int mw_compute_read(struct mw_compute *c, const char *path, struct mw_error *err);
void mw_compute_free(struct mw_compute *c);

/// Seconds of the operator's forward. `measured` becomes true if the time is from the table: from
/// rows of the same type, n and k (and number of experts). It is interpolated linearly between the
/// next smaller and the next larger m, and never extrapolated. Attention has the same heads, type
/// of cache and number of sequences; their tokens are on the line.
double mw_compute_seconds(const struct mw_compute *c, const struct mw_task *t,
                          const struct mw_operator *op, bool *measured);

#endif
