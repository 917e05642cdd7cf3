// SPDX-License-Identifier: Apache-2.0
//
// Streams of instructions.
#ifndef MW_STREAM_H
#define MW_STREAM_H

#include "moeswitch.h"

/// What the first instruction needs that the device was built without, and which that
/// is; NULL: it has all.
const char *mwi_stream_lacks(const struct mw_device_info *info, const struct mw_stream *s,
                             unsigned *instr);

#endif
