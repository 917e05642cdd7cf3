// SPDX-License-Identifier: Apache-2.0
//
// Costs of software: what a layer takes beside the fabric, in cycles that its instruction streams
// wait (docs/design/systems.md, costs of software). Each is a setting of `moeswitch run --set`;
// a preset fills in those that were not set.
#ifndef MW_HOST_COSTS_H
#define MW_HOST_COSTS_H

#include "cli/option_value.h"

struct mw_link_parameters;
struct mw_workload;

/// Cycles of the fabric. 0: not charged. Its generator determines which of them a system has.
struct mw_costs {
    unsigned launch;   ///< in front of every kernel of a layer
    unsigned exchange; ///< until counts that have come from all GPUs can be used
    unsigned barrier;  ///< until the end of a barrier of all GPUs is detected
    unsigned poll;     ///< until a flag of another GPU is detected
    unsigned address;  ///< per token that is sent to addresses which software makes
    unsigned order;    ///< per token of unit control's order
};

enum mw_cost_preset { MW_COSTS_NONE, MW_COSTS_PAPERS };

/// Where `costs` keeps the setting `name`. NULL: it is no cost.
unsigned *mw_costs_place(struct mw_costs *costs, const char *name);

/// `--costs`: an enum mw_cost_preset; and the names there are.
int mw_set_costs(void *preset, const char *name, const char *text, struct mw_error *err);
mw_terms mw_cost_presets;

/// Add what `preset` has, scaled to the layers of `w`, to `settings`, but nothing that is
/// among them. MW_EXIT_INPUT: a cost is more than its setting may be.
int mw_costs_fill(enum mw_cost_preset preset, struct mw_settings *settings,
                  const struct mw_link_parameters *link, const struct mw_workload *w,
                  struct mw_error *err);

/// The preset and its costs, "papers (launch_cycles 443, ...)". Returns `text`.
const char *mw_costs_text(enum mw_cost_preset preset, const struct mw_settings *settings,
                          char *text, size_t size);

#endif
