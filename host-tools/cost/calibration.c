// SPDX-License-Identifier: Apache-2.0
//
// The calibration of the repository, which `moeswitch calibrate` writes, see moe.h.
#include "cost/moe.h"

const struct mw_calibration mw_calibrated = {
#include "cost/calibration.inc"
};
