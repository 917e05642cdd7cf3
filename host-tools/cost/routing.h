// SPDX-License-Identifier: Apache-2.0
//
// The GPUs and experts of a sample's tokens, if the experts of a layer are on several GPUs of one
// or more machines.
#ifndef MW_COST_ROUTING_H
#define MW_COST_ROUTING_H

#include "systems/generator.h"
#include "trace/trace.h"
#include "trace/workload.h"

/// GPUs of a machine whose flits are counted, as many as those of the runs that times are fitted to
enum { MW_COUNTED_GPUS = 32 };

/// A sample of tokens on `ep` GPUs, `switched` of each machine.
struct mw_routing {
    unsigned ep;       ///< GPUs with experts of a layer
    unsigned machines; ///< they lie in
    unsigned switched; ///< of one machine: ep / machines
    unsigned experts_per_gpu;
    /// Tokens of one machine's switches, as a workload of at most MW_COUNTED_GPUS GPUs without
    /// hidden values. With several machines its tokens are those that come to a machine, and its
    /// lists have the places of that machine's experts alone.
    struct mw_workload w;
    double machines_per_token; ///< that have an expert of it, mean
    double far_machines;       ///< of these, not the token's own
    double far_rows;           ///< experts of a token on other machines, mean
    double remote;             ///< GPUs of a machine with an expert of a token, its own excluded
    double sampled_remote;     ///< the same in the workload, which may have fewer GPUs
    size_t tokens;             ///< of the whole sample
    /// Rows of each expert: `rows` of the sample, `range_rows` of each range on which experts run
    /// under `overlap`. `gathered_rows` has those of each range under `nvls`, whose last one is the
    /// own tokens. `source_rows` has those of the tokens of each GPU of the workload. The first
    /// dimension is the range or the GPU.
    unsigned *rows, *range_rows, *gathered_rows, *source_rows;
    unsigned experts;
    double busiest; ///< rows of the busiest GPU over the mean
};

enum { MW_ALL_GATHERED = MW_GATHERED_RANGES + 1 };

/// Make it of layer `layer` of a trace, with up to `tokens_per_gpu` tokens of each switched GPU. If
/// the trace has too few tokens, they repeat. `ep` divides the experts; if it is larger than `gpus`
/// (of a machine), it is a multiple of it. MW_EXIT_FAILED: no memory.
int mw_routing_make(struct mw_routing *r, const struct mw_trace *trace, size_t layer, unsigned ep,
                    unsigned gpus, unsigned tokens_per_gpu, struct mw_error *err);
void mw_routing_free(struct mw_routing *r);

#endif
