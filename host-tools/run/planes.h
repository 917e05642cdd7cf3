// SPDX-License-Identifier: Apache-2.0
//
// `run --planes all`: every plane of a machine, in a process each. A plane has the packets of each
// row that fall to it (hardware/derive.h), so that together they move and check every bit of every
// row.
#ifndef MW_HOST_PLANES_H
#define MW_HOST_PLANES_H

#include "cli/option_table.h"
#include "run/run_systems.h"

/// The value of --planes: `place` is a bool, true for all.
int mw_set_planes(void *place, const char *name, const char *text, struct mw_error *err);
mw_terms mw_plane_values;
/// MW_EXIT_INPUT: --planes all without a machine, or with an output of one plane alone.
int mw_planes_check(const struct mw_run_params *params, struct mw_error *err);

/// As mw_run_systems, with the slowest plane of each system as its result, and the wrong elements
/// of all. params.jobs processes run at once.
int mw_run_planes(struct mw_run *run, struct mw_error *err);

#endif
