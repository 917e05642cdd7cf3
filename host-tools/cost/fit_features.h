// SPDX-License-Identifier: Apache-2.0
//
// Least squares for coefficients of features.
#ifndef MW_COST_FIT_FEATURES_H
#define MW_COST_FIT_FEATURES_H

#include "cost/calibration.h"

#include <stdbool.h>
#include <stddef.h>

/// A run: what its layer has, and the cycles that it took.
struct mw_fit_point {
    double feature[MW_FEATURES];
    double cycles; ///< above 0
};

/// Coefficients of least squares of relative errors, none below 0. False: the points do not
/// determine any.
bool mw_fit_features(const struct mw_fit_point *point, size_t count,
                     double coefficient[MW_FEATURES]);
/// Predicted cycles.
double mw_fit_value(const double coefficient[MW_FEATURES], const double feature[MW_FEATURES]);

#endif
