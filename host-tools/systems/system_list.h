// SPDX-License-Identifier: Apache-2.0
//
// The systems that there are, and the choice of them for a run: `--system`.
#ifndef MW_HOST_SYSTEM_LIST_H
#define MW_HOST_SYSTEM_LIST_H

#include "experiment/params.h"

extern const struct mw_system mw_systems[MW_SYSTEMS];     ///< `unicast` comes first
const struct mw_system *mw_system_find(const char *name); ///< NULL if there is none

/// `--system`: a list of names, each once, or "all". `params` is a struct mw_run_params.
mw_option_set mw_set_systems;
/// The names that there are, and "all".
mw_terms mw_system_values;
/// The same of the systems that run MoE layers. Others are refused.
mw_option_set mw_set_moe_systems;
mw_terms mw_moe_system_values;
/// Whether mw_systems[i] is among the requested ones.
bool mw_run_asks_for(const struct mw_run_params *params, unsigned i);

#endif
