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

/// What came out of one system.
struct mw_tp_result {
    const struct mw_tp_system *system;
    struct mw_result run; ///< of one layer
    struct mw_layer_result layer;
    struct mw_load_counters loads; ///< by home
    struct mw_tp_mismatch first;
    struct mw_summary summary;
};

/// The workload that `params` asks for. MW_EXIT_INPUT: sizes, settings or a system do not fit.
int mw_tp_prepare(struct mw_run_params *params, struct mw_tp_problem *p, struct mw_error *err);
/// The setting of a primitive that the system needs for a workload that reduces rows, or reduces
/// none, and the device lacks, or NULL.
const char *mw_tp_lack(const struct mw_tp_system *system, bool reduces,
                       const struct mw_device_info *info);
/// What a device that the system would be run on lacks for it, or NULL.
int mw_tp_device_lack(const struct mw_run_params *params, const struct mw_tp_problem *p,
                      const struct mw_tp_system *system, const char **lack, struct mw_error *err);
/// Run it under a system on a device of its own, and compare all output elements. MW_EXIT_OK also
/// where some are wrong.
int mw_tp_device_run(const struct mw_run_params *params, const struct mw_tp_problem *p,
                     struct mw_tp_result *r, struct mw_error *err);

/// What is run; figures; counters and bounds that are wrong (MW_EXIT_MISMATCH, and lines).
void mw_tp_report_head(FILE *out, const struct mw_tp_problem *p);
void mw_tp_summarize(struct mw_tp_result *r, const struct mw_tp_problem *p, uint64_t base_cycles,
                     const char *over);
/// How many loads the switch merged, of systems that have such loads.
void mw_tp_report_loads(FILE *out, const struct mw_tp_result *r, const struct mw_tp_problem *p);
int mw_tp_report_differences(FILE *err, const struct mw_tp_result *r,
                             const struct mw_tp_problem *p);
int mw_tp_report_json(struct mw_json *j, const struct mw_run_params *params,
                      const struct mw_tp_problem *p, const struct mw_tp_result *results,
                      unsigned count, struct mw_error *err);

/// Everything, for the systems that `params` asks for. Tables or data go to `out`.
int mw_tp_run(struct mw_run_params *params, FILE *out, FILE *errors, struct mw_error *err);

#endif
