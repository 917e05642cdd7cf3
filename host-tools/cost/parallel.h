// SPDX-License-Identifier: Apache-2.0
//
// What one step does, and how GPUs share it.
#ifndef MW_COST_PARALLEL_H
#define MW_COST_PARALLEL_H

#include "cost/transformer.h"
#include "hardware/hardware.h"

enum mw_goal {
    MW_TRAIN,   ///< forward and backward of all sequences, reduction of gradients, optimizer
    MW_PREFILL, ///< forward of all sequences
    MW_DECODE,  ///< one token of each sequence, with the keys and values of `sequence` before it
};
enum { MW_GOALS = 3 };
extern const char *const mw_goal_names[MW_GOALS]; ///< "train", "prefill", "decode"

/// What backward recomputes instead of storing it.
enum mw_recompute {
    MW_KEEP_ALL,
    MW_RECOMPUTE_SELECTIVE, ///< norms, activations and MLA's projections from latents
    MW_RECOMPUTE_FULL,      ///< all of a layer but its input
};
enum { MW_RECOMPUTES = 3 };
extern const char *const mw_recompute_names[MW_RECOMPUTES]; ///< "none", "selective", "full"

enum mw_schedule {
    MW_1F1B,     ///< one forward, one backward; with virtual stages interleaved
    MW_DUALPIPE, ///< from both ends at once; every GPU holds two stages' weights
};
enum { MW_SCHEDULES = 2 };
extern const char *const mw_schedule_names[MW_SCHEDULES]; ///< "1f1b", "dualpipe"

/// A step of a model on a machine.
struct mw_task {
    struct mw_transformer model;
    const struct mw_hardware *hardware;
    enum mw_goal goal;
    unsigned gpus;              ///< of all machines together
    unsigned batch;             ///< sequences of a step
    unsigned sequence;          ///< tokens of each
    enum mw_gemm_type gemm;     ///< of projections and experts, and in inference of weights
    enum mw_gemm_type dispatch; ///< of rows to experts; partial sums are bf16
    enum mw_gemm_type cache;    ///< of kept keys and values in inference
    enum mw_schedule schedule;
    bool overlap_batches; ///< communication of a layer beside the compute of another micro-batch
    double gradient_bytes, optimizer_bytes; ///< of a weight; the second is shared by replicas
    double capacity;                        ///< bytes of a GPU's memory
    double gemm_share, attention_share, memory_share; ///< of peak rates that are reached, 0 .. 1
    double communication_share; ///< of the SMs, for communication while batches overlap, 0 .. 1
};

/// How GPUs share a step: tp * cp * dp * pp GPUs. Experts lie on ep of the tp * cp * dp.
struct mw_parallel {
    unsigned tp;             ///< GPUs that split every projection; divides the heads
    unsigned cp;             ///< GPUs that split a sequence
    unsigned ep;             ///< GPUs that split the experts of a layer; divides them
    unsigned pp;             ///< stages of the pipeline
    unsigned dp;             ///< replicas; divides the batch
    unsigned virtual_stages; ///< parts of a stage in interleaved 1F1B, 1 elsewhere
    unsigned micro_batch;    ///< sequences that pass a stage together
    enum mw_recompute recompute;
};

/// Bytes of a value of each type, without scales.
extern const double mw_type_bytes[MW_GEMM_TYPES];

/// Micro-batches of a replica in a step.
static inline unsigned mw_micro_batches(const struct mw_task *t, const struct mw_parallel *p)
{
    return t->batch / p->dp / p->micro_batch;
}

/// Layers that a step passes: in training with those of multi-token prediction.
static inline unsigned mw_task_layers(const struct mw_task *t)
{
    return t->model.layers + (t->goal == MW_TRAIN ? t->model.predicted : 0);
}

/// Layers of one part of a stage, where they are most.
static inline unsigned mw_part_layers(const struct mw_task *t, const struct mw_parallel *p)
{
    const unsigned parts = p->pp * p->virtual_stages;
    return (mw_task_layers(t) + parts - 1) / parts;
}

/// Tokens of a micro-batch on a GPU before tensor parallelism.
static inline double mw_part_tokens(const struct mw_task *t, const struct mw_parallel *p)
{
    return (double)p->micro_batch * (t->goal == MW_DECODE ? 1 : t->sequence) / p->cp;
}

#endif
