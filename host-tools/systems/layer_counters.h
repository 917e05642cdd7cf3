// SPDX-License-Identifier: Apache-2.0
//
// The device's counters as a layer's results.
#ifndef MW_HOST_LAYER_COUNTERS_H
#define MW_HOST_LAYER_COUNTERS_H

#include "experiment/result.h"
#include "moeswitch.h"

/// Flits and payload of every port, stalls by cause, what allocators and packet managers did.
void mw_layer_counters(struct mw_layer_result *r, const struct mw_counters *c, unsigned gpus);

#endif
