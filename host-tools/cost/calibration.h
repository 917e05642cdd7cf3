// SPDX-License-Identifier: Apache-2.0
//
// Cycles of RTL runs as sums of features, each with a coefficient that `moeswitch calibrate` fits.
// MoE layers (moe.h) and tensor parallelism (tensor.h) have features and ranges of their own.
#ifndef MW_COST_CALIBRATION_H
#define MW_COST_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

enum {
    MW_FEATURES = 9,     ///< of either kind, at most; others are 0
    MW_RANGES = 8,       ///< quantities that runs cover
    MW_FIT_SYSTEMS = 16, ///< of either kind, at most
};

/// What runs are of.
enum mw_fit { MW_FIT_MOE, MW_FIT_TENSOR, MW_FITS };

/// Coefficients of each system, and from where to where each quantity of the fitted runs is.
struct mw_calibration {
    double coefficient[MW_FIT_SYSTEMS][MW_FEATURES];
    double low[MW_RANGES], high[MW_RANGES];
};
/// That of the repository: cost/calibration.inc, which `moeswitch calibrate` writes.
extern const struct mw_calibration mw_calibrated[MW_FITS];

/// Whether runs of a system were fitted; those of a new system are fitted by `make calibration`.
bool mw_calibration_has(const struct mw_calibration *c, unsigned system);

/// Bit i: value[i] is outside its range, so that a time is an extrapolation.
unsigned mw_calibration_outside(const struct mw_calibration *c, const double value[MW_RANGES]);

#endif
