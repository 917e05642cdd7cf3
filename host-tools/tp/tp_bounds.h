// SPDX-License-Identifier: Apache-2.0
//
// Flits of tensor-parallel systems and their bounds, counted from what a system must send and not
// from its streams (docs/design/tensor-parallel.md). GPUs are all alike, so any port is as busy as
// the others.
#ifndef MW_TP_BOUNDS_H
#define MW_TP_BOUNDS_H

#include "analysis/bounds.h"
#include "tp/tp.h"

#include <stdbool.h>

/// Groups of parts that a system with barriers runs one after the other.
enum mw_tp_phase { MW_TP_PHASE_FIRST, MW_TP_PHASE_REDUCE, MW_TP_PHASE_GATHER, MW_TP_PHASE_SECOND };
enum { MW_TP_PHASES = 4 };

struct mw_tp_bounds {
    struct mw_bound strict, strict_link; ///< the same for every system
    struct mw_bound own, own_link;
    struct mw_bound engine, adder, banks; ///< time of a GPU's parts
    struct mw_bound limit;                ///< the longest of own, adder and banks
};

/// Flits of every port, direction and class, by phase. Of merged loads fetches[g] is how often rows
/// of GPU g are fetched. NULL: as seldom as can be.
void mw_tp_traffic(const struct mw_tp_problem *p, const struct mw_tp_system *system,
                   const uint64_t *fetches, struct mw_traffic phases[MW_TP_PHASES]);
/// The fewest fetches of a home's rows, where loads are merged.
uint64_t mw_tp_least_fetches(const struct mw_tp_problem *p);
void mw_tp_bounds(const struct mw_tp_problem *p, const struct mw_tp_system *system,
                  struct mw_tp_bounds *b);
/// The strict bound of the links.
struct mw_bound mw_tp_strict_link(const struct mw_tp_problem *p);
/// Whether members' rows of sums take the adder bypass. Reductions of tiles read their terms beside
/// the engine's tables through the adder, and at the same port of memory through the bypass.
bool mw_tp_adder_bypass(const struct mw_tp_problem *p, const struct mw_tp_system *system);
/// Cycles in which the engine reads a row, whatever the time of its part.
uint64_t mw_tp_least_cycles(const struct mw_tp_problem *p);
/// Rows of a GPU's engine.
uint64_t mw_tp_engine_rows(const struct mw_tp_problem *p);

#endif
