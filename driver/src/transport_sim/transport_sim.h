// SPDX-License-Identifier: Apache-2.0
//
// The transport "sim": a Verilated model in this process.
#ifndef MW_TRANSPORT_SIM_H
#define MW_TRANSPORT_SIM_H

#include "moeswitch.h"

extern const struct mw_transport mwi_transport_sim;

#endif
