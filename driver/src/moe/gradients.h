// SPDX-License-Identifier: Apache-2.0
//
// Gradients of gate weights that the experts of a handle's layer have made.
#ifndef MW_GRADIENTS_H
#define MW_GRADIENTS_H

#include "moe/handle.h"

/// Read them from the device, which is the call's, if the handle's experts make any.
int mwi_gradients_read(struct mw_handle *handle, const struct mwi_pause *pause);

#endif
