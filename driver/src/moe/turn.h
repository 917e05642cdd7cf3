// SPDX-License-Identifier: Apache-2.0
//
// Whose turn it is: one call of a handle at a time uses the device, and a dispatch that runs ends
// before another call begins.
#ifndef MW_TURN_H
#define MW_TURN_H

#include "moe/handle.h"

/// Wait until no other call of a handle and no dispatch uses the device, and take it until
/// mwi_handle_end. The options of `pause` end the wait, and cancel no other handle's dispatch. On a
/// failure the device is not the call's.
int mwi_handle_begin(struct mw_handle *handle, struct mwi_pause *pause);
void mwi_handle_end(struct mw_handle *handle);

#endif
