// SPDX-License-Identifier: Apache-2.0
//
// The values of a stack of layers.
#ifndef MW_HOST_CHAIN_H
#define MW_HOST_CHAIN_H

#include "trace/workload.h"

/// Chain the layers of a workload of a stack. The hidden values of each layer become the golden
/// results of the one before it. The gradients of its backward layers become those of the one after
/// it. Others stay as they are.
int mw_run_chain(struct mw_workload *w, struct mw_error *err);

#endif
