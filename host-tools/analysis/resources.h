// SPDX-License-Identifier: Apache-2.0
//
// What a layer requires of a GPU's own parts, besides the links: its hub's adder, its expert
// engine, the banks of its memory (docs/design/systems.md, Bounds).
#ifndef MW_HOST_RESOURCES_H
#define MW_HOST_RESOURCES_H

#include "analysis/bounds.h"

enum { MW_MEM_BANKS = 4 }; ///< of a GPU's memory, each with a read and a write port

struct mw_resources {
    struct mw_bound adder;  ///< additions of flits, one a cycle
    struct mw_bound engine; ///< as in the own bound
    struct mw_bound banks;  ///< flits of rows read, one a cycle and bank
    struct mw_bound limit;  ///< the longest of these and the own bound
};

/// The busiest GPU's, for each part. `bounds` are those of the same layer and system.
void mw_resources_compute(const struct mw_workload *w, unsigned layer,
                          const struct mw_system *system, unsigned flit_bytes,
                          const struct mw_bounds *bounds, struct mw_resources *r);

#endif
