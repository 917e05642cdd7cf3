// SPDX-License-Identifier: Apache-2.0
//
// Which region is too small for its rows.
#ifndef MW_SHORT_REGION_H
#define MW_SHORT_REGION_H

#include "core/device.h"

/// Explain an error of bounds of a GPU. `text` gets ": ", which expert's region is too small for
/// the rows that the routing tables send there, and how large it is. It is empty if there is none.
void mwi_short_region(struct mw_device *device, unsigned gpu, char *text, size_t size);

#endif
