// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch calibrate`: runs layers on the RTL as sweeps, and fits the coefficients with which
// `moeswitch plan` predicts dispatch, experts and combine.
#ifndef MW_CALIBRATE_H
#define MW_CALIBRATE_H

#include "cli/option_table.h"
#include "cost/fit_features.h"
#include "cost/moe.h"
#include "cost/tensor.h"

#include <stdio.h>

extern const struct mw_option_table mw_calibrate_table;
/// The command: argv[0] is "calibrate". Returns the exit status.
int mw_calibrate_command(int argc, char **argv, FILE *out, FILE *errors);

/// What is fitted alike: its systems, its features and ranges, and its limits.
struct mw_fit_kind {
    const char *title;
    unsigned systems, features, ranges;
    const char *const *feature_names, *const *range_names;
    double median, largest; ///< errors that runs which are not fitted may have
};
extern const struct mw_fit_kind mw_fit_kinds[MW_FITS];
const char *mw_fit_system(enum mw_fit fit, unsigned system);

enum { MW_CALIBRATION_BYTES = 1 << 26 }; ///< of a sweep's table, at most

/// A run of a sweep.
struct mw_calibration_run {
    struct mw_fit_point point;
    enum mw_fit fit;
    unsigned system; ///< an index of mw_systems, or of mw_tp_systems
    bool held;       ///< not fitted
    double range[MW_RANGES];
};

/// Add the runs of a sweep's results.csv to `run`, which has `count` and is grown. MW_EXIT_INPUT: a
/// column is missing, or a run is of another kind (a trace). The line names file and line.
int mw_calibration_read(struct mw_calibration_run **run, size_t *count, const char *path, bool held,
                        struct mw_error *err);
/// Fit every system, and set the ranges of the fitted runs. What has no runs keeps mw_calibrated.
/// MW_EXIT_INPUT: a system has too few runs.
int mw_calibration_fit(struct mw_calibration c[MW_FITS], const struct mw_calibration_run *run,
                       size_t count, struct mw_error *err);
size_t mw_calibration_runs(const struct mw_calibration_run *run, size_t count, enum mw_fit fit);

/// Relative errors of some runs.
struct mw_calibration_errors {
    size_t runs;
    double median, largest; ///< of absolute values
};
/// Of one system, or of all with MW_FIT_SYSTEMS; of those that are held or those that are not.
/// MW_EXIT_FAILED: no memory.
int mw_calibration_errors(struct mw_calibration_errors *e, const struct mw_calibration c[MW_FITS],
                          const struct mw_calibration_run *run, size_t count, enum mw_fit fit,
                          unsigned system, bool held, struct mw_error *err);

#endif
