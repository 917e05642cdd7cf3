// SPDX-License-Identifier: Apache-2.0
//
// Time of an MoE layer under each system: dispatch, experts and combine on one machine's switches.
// A layer has few features, each in cycles of the fabric, which are counted as in the bounds of a
// run. Coefficients of them are fitted to RTL runs by `moeswitch calibrate`.
#ifndef MW_COST_MOE_H
#define MW_COST_MOE_H

#include "cost/calibration.h"
#include "cost/routing.h"

/// What a layer's time depends on besides its routing.
struct mw_moe_layer {
    double tokens;              ///< of a GPU
    unsigned dispatch, combine; ///< bf16 values of a row of each on one plane, 1 or more
    unsigned tile;              ///< rows that an engine starts together
    double expert_cycles;       ///< of a row
    unsigned flit_bytes;        ///< 8 or 16
    unsigned link_latency;      ///< cycles
};

/// Features of a layer, in cycles. Systems in phases have three parts of time that follow one
/// another: dispatch, experts, combine. Of others the longer of links and engine decides, and the
/// rest adds a share. First rows are the share of rows in the first tile of their expert.
enum mw_feature {
    MW_F_FIRST,    ///< in phases: links in dispatch, then the longer of links and adder in combine;
                   ///< else the longer of links and engine
    MW_F_SECOND,   ///< in phases: whole tiles of the busiest engine; else the shorter one
    MW_F_THIRD,    ///< in phases: the shorter of links and adder; else links, for first rows
    MW_F_FOURTH,   ///< in phases: the adder, for first rows; else the engine, for first rows
    MW_F_ADDER,    ///< not in phases
    MW_F_BANKS,    ///< of memory, not in phases
    MW_F_TILE,     ///< one tile
    MW_F_LATENCY,  ///< of a link
    MW_F_CONSTANT, ///< 1
};
extern const char *const mw_feature_names[MW_FEATURES];

/// Cycles of the busiest link, adder and bank for the tokens of a routing's sample: links in each
/// phase, and all for both together.
struct mw_moe_counts {
    double dispatch, combine, link, adder, banks;
};

/// Count them for rows of `layer`'s lengths.
void mw_moe_count(const struct mw_routing *r, const struct mw_system *system,
                  const struct mw_moe_layer *layer, struct mw_moe_counts *counts);
/// Features of `layer` under `system`, in cycles.
void mw_moe_features(const struct mw_routing *r, const struct mw_system *system,
                     const struct mw_moe_counts *counts, const struct mw_moe_layer *layer,
                     double feature[MW_FEATURES]);

/// Quantities that calibration runs cover, each from a least to a largest value.
enum mw_range {
    MW_R_GPUS,
    MW_R_REMOTE, ///< GPUs of a token, its own excluded
    MW_R_TOKENS, ///< of a GPU
    MW_R_HIDDEN, ///< values of a row on a plane
    MW_R_TILE,
    MW_R_EXPERT,  ///< cycles of a row
    MW_R_LATENCY, ///< cycles of a link
    MW_R_BUSIEST, ///< rows of the busiest GPU over the mean
};
extern const char *const mw_range_names[MW_RANGES];

/// Where a layer is in the ranges: value of each.
void mw_moe_ranges(const struct mw_routing *r, const struct mw_moe_layer *layer,
                   double value[MW_RANGES]);
/// As mw_calibration_outside.
unsigned mw_moe_outside(const struct mw_calibration *c, const struct mw_routing *r,
                        const struct mw_moe_layer *layer);

/// Cycles of the layer under mw_systems[system].
double mw_moe_cycles(const struct mw_calibration *c, unsigned system, const struct mw_routing *r,
                     const struct mw_moe_counts *counts, const struct mw_moe_layer *layer);

#endif
