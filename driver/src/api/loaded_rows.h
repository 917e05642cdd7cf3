// SPDX-License-Identifier: Apache-2.0
//
// Stores to rows that the same layer loads (ld.cais), which a program must not have.
#ifndef MW_LOADED_ROWS_H
#define MW_LOADED_ROWS_H

#include "moeswitch.h"

/// Check `streams` streams of each GPU, s[g * streams + i], in a layer with this layout.
/// MW_ERR_INVALID: an instruction stores to bytes of a loaded row, at its home or where it lands.
/// MW_ERR_NOMEM.
int mwi_check_loaded_rows(const struct mw_layout *layout, const struct mw_stream *s,
                          const struct mw_device_info *info, unsigned streams);

#endif
