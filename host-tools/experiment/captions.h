// SPDX-License-Identifier: Apache-2.0
//
// How pictures and timelines name what was run: MoE layers, or a tensor-parallel
// workload as one layer.
#ifndef MW_HOST_CAPTIONS_H
#define MW_HOST_CAPTIONS_H

#include "trace/workload.h"

struct mw_captions {
    unsigned gpus, experts_per_gpu;
    const struct mw_workload *layers; ///< their numbers and first tokens; NULL: one layer without
    const char *workload;             ///< its name
    const char *const *parts;         ///< names of a GPU's experts; NULL: "expert" and a number
};

enum { MW_CAPTION_BYTES = 64 };

/// "layer 7", with its pass where there are several, or the workload's name, in `text`, which it
/// returns. `layer` is an index.
const char *mw_caption_layer(const struct mw_captions *c, unsigned layer,
                             char text[MW_CAPTION_BYTES]);
/// The expert, or the part, that GPU `gpu` has at place `local` of its own.
unsigned mw_captions_expert(const struct mw_captions *c, unsigned layer, unsigned gpu,
                            unsigned local);
/// "expert 12", or the part's name.
const char *mw_caption_expert(const struct mw_captions *c, unsigned layer, unsigned gpu,
                              unsigned local, char text[MW_CAPTION_BYTES]);

#endif
