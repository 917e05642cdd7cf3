// SPDX-License-Identifier: Apache-2.0
//
// See calibration.h.
#include "cost/calibration.h"

const struct mw_calibration mw_calibrated[MW_FITS] = {
#include "cost/calibration.inc"
};

bool mw_calibration_has(const struct mw_calibration *c, unsigned system)
{
    for (unsigned i = 0; i < MW_FEATURES; i++)
        if (c->coefficient[system][i] > 0)
            return true;
    return false;
}

unsigned mw_calibration_outside(const struct mw_calibration *c, const double value[MW_RANGES])
{
    unsigned outside = 0;
    for (unsigned i = 0; i < MW_RANGES; i++)
        if (value[i] < c->low[i] || value[i] > c->high[i])
            outside |= 1u << i;
    return outside;
}
