// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch run` of tensor-parallel workloads.
#ifndef MW_TP_RUN_H
#define MW_TP_RUN_H

#include "experiment/result.h"
#include "formats/json.h"
#include "tp/tp.h"

/// An element that differs from the golden model.
struct mw_tp_mismatch {
    unsigned gpu, row, element; ///< row: logical
    uint16_t expected, got;
};

/// The result of one system.
struct mw_tp_result {
    const struct mw_tp_system *system;
    struct mw_result run; ///< of one layer
    struct mw_layer_result layer;
    struct mw_load_counters loads; ///< by home
    struct mw_sum_counters sums;
    struct mw_tp_mismatch first;
    struct mw_summary summary;
};

/// Make the workload of `params`. MW_EXIT_INPUT: sizes, settings or a system do not fit.
int mw_tp_prepare(struct mw_run_params *params, struct mw_tp_problem *p, struct mw_error *err);
/// The first primitive that the device lacks and the system needs, or NULL. `reduces`: the
/// workload reduces rows.
const char *mw_tp_lack(const struct mw_tp_system *system, bool reduces,
                       const struct mw_device_info *info);
/// Find the primitive that the device of `params` lacks for the system. `lack` receives it, or
/// NULL.
int mw_tp_device_lack(const struct mw_run_params *params, const struct mw_tp_problem *p,
                      const struct mw_tp_system *system, const char **lack, struct mw_error *err);
/// Run the workload under a system on a new device, and compare all output elements. MW_EXIT_OK
/// even if some are wrong.
int mw_tp_device_run(const struct mw_run_params *params, const struct mw_tp_problem *p,
                     struct mw_tp_result *r, struct mw_error *err);

/// Print the workload; compute figures; print wrong counters and bounds (MW_EXIT_MISMATCH).
void mw_tp_report_head(FILE *out, const struct mw_tp_problem *p);
void mw_tp_summarize(struct mw_tp_result *r, const struct mw_tp_problem *p, uint64_t base_cycles,
                     const char *over);
/// Print how many loads the switch merged, or how many reds, for systems that have them.
void mw_tp_report_loads(FILE *out, const struct mw_tp_result *r, const struct mw_tp_problem *p);
void mw_tp_report_sums(FILE *out, const struct mw_tp_result *r, const struct mw_tp_problem *p);
int mw_tp_report_differences(FILE *err, const struct mw_tp_result *r,
                             const struct mw_tp_problem *p);
int mw_tp_report_json(struct mw_json *j, const struct mw_run_params *params,
                      const struct mw_tp_problem *p, const struct mw_tp_result *results,
                      unsigned count, struct mw_error *err);

/// Run all systems of `params`. Tables or data go to `out`.
int mw_tp_run(struct mw_run_params *params, FILE *out, FILE *errors, struct mw_error *err);

#endif
