// SPDX-License-Identifier: Apache-2.0
//
// The three bounds of a layer (docs/design/architecture.md section 3, docs/design/systems.md).
#ifndef MW_HOST_BOUNDS_H
#define MW_HOST_BOUNDS_H

#include "analysis/facts.h"
#include "analysis/traffic.h"

enum mw_resource {
    MW_LINK,   ///< one direction of a port's link
    MW_ENGINE, ///< a GPU's expert engine
    MW_ADDER,  ///< its hub's adder
    MW_BANKS,  ///< its memory
};

enum {
    MW_ENGINE_FLITS = 2
}; ///< per cycle: what an expert engine moves, whatever the expert's time

/// A time and what needs it.
struct mw_bound {
    uint64_t cycles;
    enum mw_resource resource;
    unsigned index;              ///< the GPU, or the port
    enum mw_direction direction; ///< of a link
};

struct mw_bounds {
    struct mw_bound strict;      ///< links and engines, the same for every system
    struct mw_bound strict_link; ///< links alone
    struct mw_bound own; ///< of a phased system: the sum, and where the longest phase is bound
    struct mw_bound own_link;
    struct mw_bound own_engine;
    struct mw_bound own_phase[MW_PHASES]; ///< of a phased system; 0 cycles otherwise
};

/// The bounds of one layer.
void mw_bounds_compute(const struct mw_workload *w, unsigned layer, const struct mw_system *system,
                       const struct mw_link_parameters *link, struct mw_bounds *bounds);
/// The busiest port and direction of the first `gpus`. The first of several equal ones.
struct mw_bound mw_busiest_link(const struct mw_traffic *t, unsigned gpus,
                                const struct mw_link_parameters *link);
/// The strict bound of the links alone, in cycles; the expert's default time comes from it.
struct mw_bound mw_strict_link(const struct mw_workload *w, unsigned layer,
                               const struct mw_link_parameters *link);
/// Default of expert_cycles (which `link` need not have). It is the strict link bound, summed over
/// the layers, divided by twice the rows of the busiest engine, rounded down. 0 where no token has
/// an expert.
uint64_t mw_default_expert_cycles(const struct mw_workload *w,
                                  const struct mw_link_parameters *link);

/// "port 3 down", or "engine 5" and the like. Returns `text`.
const char *mw_bound_text(const struct mw_bound *b, char *text, size_t size);

#endif
