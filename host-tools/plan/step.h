// SPDX-License-Identifier: Apache-2.0
//
// Time of a step of a model for one way to share it, under one system.
#ifndef MW_PLAN_STEP_H
#define MW_PLAN_STEP_H

#include "cost/compute.h"
#include "cost/memory.h"
#include "cost/moe.h"
#include "hardware/derive.h"

/// Where the time of a step goes, on the stage that takes longest.
enum mw_step_part {
    MW_P_ATTENTION, ///< projections, scores
    MW_P_FFN,       ///< dense layers, shared experts, routers
    MW_P_EXPERTS,   ///< routed experts of the busiest GPU
    MW_P_POINTWISE, ///< norms, activations, permutation
    MW_P_HEAD,      ///< logits
    MW_P_RECOMPUTE, ///< forward once more
    MW_P_MOE,       ///< dispatch and combine, as far as nothing hides them
    MW_P_TENSOR,    ///< collectives of tensor parallelism
    MW_P_CONTEXT,   ///< keys and values of context parallelism, as far as attention hides them not
    MW_P_SEND,      ///< activations between stages
    MW_P_BUBBLE,    ///< stages without work
    MW_P_GRADIENTS, ///< reduction of gradients and gathering of weights, as far as exposed
    MW_P_OPTIMIZER, ///< update of the weights
};
enum { MW_STEP_PARTS = 13 };
extern const char *const mw_step_names[MW_STEP_PARTS]; ///< for tables
extern const char *const mw_step_keys[MW_STEP_PARTS];  ///< for JSON

struct mw_step {
    struct mw_parallel parallel;
    unsigned system;                ///< an index of mw_systems
    double seconds;                 ///< of the step
    double part[MW_STEP_PARTS];     ///< seconds; their sum is `seconds`
    double memory[MW_MEMORY_PARTS]; ///< bytes of the GPU that holds most
    double forward, backward;       ///< seconds of a micro-batch on the slowest stage
    double moe_forward;             ///< seconds of dispatch, experts and combine of one layer
    double moe_experts;             ///< of these, experts alone
    double expert_rows;             ///< of a micro-batch at the busiest GPU
    double remote;                  ///< GPUs of a machine that a token goes to
    unsigned outside;               ///< quantities outside the calibrated ranges, as bits: those of
                                    ///< experts, then from MW_RANGES on of tensor parallelism
    unsigned measured, operators;   ///< operators of a layer whose time is measured, and all
};

struct mw_moe_cache; ///< counts of a routing, by the GPUs of expert parallelism

/// What steps of one task share.
struct mw_planner {
    struct mw_task task;
    struct mw_compute compute;
    const struct mw_calibration *calibration; ///< [MW_FITS]
    unsigned tensor_system;                   ///< an index of mw_tp_systems
    const struct mw_trace *trace;
    size_t layer;                      ///< of the trace
    unsigned tile;                     ///< rows that an engine starts together, at most
    struct mw_plane combine, dispatch; ///< rows of each on one plane
    struct mw_moe_cache *cache;
    unsigned cached;
};

/// Rows of both kinds on a plane of the task's machine. MW_EXIT_INPUT: a row is no whole number of
/// flits, or the machine lacks a needed rate of a type, capacity or network.
int mw_planner_make(struct mw_planner *p, struct mw_error *err);
void mw_planner_free(struct mw_planner *p);

/// Memory of `parallel` alone, in s->memory.
int mw_step_memory(struct mw_planner *p, const struct mw_parallel *parallel, struct mw_step *s,
                   struct mw_error *err);
/// The whole, under mw_systems[system]. MW_EXIT_FAILED: no memory.
int mw_step_make(struct mw_planner *p, const struct mw_parallel *parallel, unsigned system,
                 struct mw_step *s, struct mw_error *err);

/// Tokens of a step: in decode one of each sequence.
double mw_task_tokens(const struct mw_task *t);
/// Share of the GPUs' bf16 peak rate that the model's operations of a step have.
double mw_step_mfu(const struct mw_task *t, const struct mw_step *s);

#endif
