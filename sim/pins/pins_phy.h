// SPDX-License-Identifier: Apache-2.0
#ifndef MW_SIM_PINS_PHY_H
#define MW_SIM_PINS_PHY_H

#include "ulpi/ulpi_phy.h"

enum { PINS_DP = 1, PINS_DN = 2 };

#endif
