// SPDX-License-Identifier: Apache-2.0
//
// Sizes of the MoE layers of public models and of the papers' workloads, for
// `moeswitch run --model`.
#ifndef MW_HOST_MODELS_H
#define MW_HOST_MODELS_H

#include "cli/option_table.h"

#include <stdio.h>

struct mw_model {
    const char *name;  ///< for --model; upper and lower case are the same
    const char *title; ///< for reports
    unsigned experts;  ///< routed ones, of a layer
    unsigned k;        ///< of them per token
    unsigned hidden;
    /// of an expert's GEMMs (moe_intermediate_size), for --hardware. 0: not stated
    unsigned expert_size;
    unsigned groups, topk_groups; ///< of group-limited routing, see trace.h; 0: none
    const char *source;           ///< that the numbers are from
};

/// The value of --model for option_table.h: `place` is a const struct mw_model *.
int mw_set_model(void *place, const char *name, const char *text, struct mw_error *err);
/// The names that --model accepts.
mw_terms mw_model_names;
/// All of them, for people.
void mw_models_list(FILE *out);

#endif
