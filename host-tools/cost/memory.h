// SPDX-License-Identifier: Apache-2.0
//
// Memory of the GPU that holds most, by part.
#ifndef MW_COST_MEMORY_H
#define MW_COST_MEMORY_H

#include "cost/parallel.h"

enum mw_memory_part {
    MW_WEIGHTS,
    MW_GRADIENTS,
    MW_OPTIMIZER,
    MW_ACTIVATIONS, ///< kept for backward; in inference those of a layer
    MW_CACHE,       ///< keys and values of inference
    MW_BUFFERS,     ///< rows of experts on their way, and logits
};
enum { MW_MEMORY_PARTS = 6 };
extern const char *const mw_memory_names[MW_MEMORY_PARTS]; ///< "weights", "gradients", ...

/// Weights of one GPU, in numbers of them.
struct mw_stage_weights {
    double shared;  ///< attention, dense FFNs, shared experts, embedding: in every replica
    double experts; ///< of the GPU's own experts
};
struct mw_stage_weights mw_stage_weights(const struct mw_task *t, const struct mw_parallel *p);

/// Bytes of each part. `expert_rows`: rows of a micro-batch at the busiest GPU's experts.
void mw_memory_parts(const struct mw_task *t, const struct mw_parallel *p, double expert_rows,
                     double bytes[MW_MEMORY_PARTS]);
double mw_memory_sum(const double bytes[MW_MEMORY_PARTS]);

#endif
