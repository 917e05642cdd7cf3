// SPDX-License-Identifier: Apache-2.0
//
// Time of an MoE layer under each system: dispatch, experts and combine on one machine's switches.
// A layer has few features, each in cycles of the fabric, which are counted as in the bounds of a
// run. Coefficients of them are fitted to RTL runs by `moeswitch calibrate`.
#ifndef MW_COST_MOE_H
#define MW_COST_MOE_H

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

/// Features of a layer. Of systems in phases the first three follow one another; of others the
/// longest decides, and the second longest adds a part.
enum mw_feature {
    MW_F_DISPATCH, ///< in phases: the busiest link; else the longest of links, engine, adder, banks
    MW_F_COMBINE,  ///< in phases: the longest of link and adder; else the second longest
    MW_F_ENGINE,   ///< in phases: whole tiles of the busiest engine; else one tile
    MW_F_LATENCY,  ///< of a link
    MW_F_CONSTANT,
};
enum { MW_FEATURES = 5 };

/// What the tokens of a routing's sample take of links, adders and banks, in cycles of the busiest
/// one: in each phase, and of both together.
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
enum { MW_RANGES = 8 };
extern const char *const mw_range_names[MW_RANGES];

struct mw_calibration {
    double coefficient[MW_SYSTEMS][MW_FEATURES]; ///< in the order of mw_systems
    double low[MW_RANGES], high[MW_RANGES];
};
/// That of the repository: cost/calibration.inc, which `moeswitch calibrate` writes.
extern const struct mw_calibration mw_calibrated;

/// Where a layer is in the ranges: value of each.
void mw_moe_ranges(const struct mw_routing *r, const struct mw_moe_layer *layer,
                   double value[MW_RANGES]);
/// Bit i: quantity i is outside its range, so that the time is an extrapolation.
unsigned mw_moe_outside(const struct mw_calibration *c, const struct mw_routing *r,
                        const struct mw_moe_layer *layer);

/// Cycles of the layer under mw_systems[system].
double mw_moe_cycles(const struct mw_calibration *c, unsigned system, const struct mw_routing *r,
                     const struct mw_moe_counts *counts, const struct mw_moe_layer *layer);

#endif
