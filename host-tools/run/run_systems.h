// SPDX-License-Identifier: Apache-2.0
//
// The systems of a run, one after the other or side by side: threads, progress, Ctrl-C. What comes
// out and its order do not depend on how many run at once.
#ifndef MW_HOST_RUN_SYSTEMS_H
#define MW_HOST_RUN_SYSTEMS_H

#include "experiment/result.h"

/// A run under way. What one system changes is its result; all else is made before.
struct mw_run {
    struct mw_run_params params;
    struct mw_trace trace;
    struct mw_workload workload;
    struct mw_expected expected[MW_MAX_LAYERS]; ///< room alone; mw_run_systems makes them
    struct mw_system systems[MW_SYSTEMS]; ///< the requested ones, as settings and layer have them
    unsigned asked;                       ///< how many these are
    struct mw_result results[MW_SYSTEMS]; ///< of them, in the order of mw_systems
    struct mw_summary summaries[MW_SYSTEMS];
    unsigned count;  ///< of results that are there, and of summaries
    uint64_t memory; ///< bytes of this machine that the run takes, 0: not known
    FILE *out;       ///< tables
    FILE *data;      ///< standard output
    FILE *err;
};

/// The requested systems, as the settings have them. Returns how many.
unsigned mw_run_asked(const struct mw_run_params *params, struct mw_system systems[MW_SYSTEMS]);
/// Fill in those of a run, for its workload.
void mw_run_choose(struct mw_run *run);
/// As many of them as may run at once.
unsigned mw_run_jobs(const struct mw_run_params *params);
/// Call it before so many run side by side, in this process or in others, and occupy the cores. A
/// simulation alone takes a second core (sim/lanes/beside.h).
void mw_run_share_cores(unsigned jobs);
/// Run them, and print a line for each. A mismatch does not stop the others, any other failure
/// does. MW_EXIT_INTERRUPTED after SIGINT: what runs is stopped. What does not stop within a second
/// ends with the process.
int mw_run_systems(struct mw_run *run, struct mw_error *err);

#endif
