// SPDX-License-Identifier: Apache-2.0
//
// Streams of instructions.
#ifndef MW_STREAM_H
#define MW_STREAM_H

#include "moeswitch.h"

/// Flags and bits of imm.
enum {
    MWI_COPY_ROWS = 1,       ///< multimem.st: rows that lie apart
    MWI_REDUCE_ROWS = 1,     ///< multimem.ld_reduce: rows that lie apart, to output rows
    MWI_RED_HOMES = 1,       ///< multimem.red: rows of every other home
    MWI_RED_MERGED = 0x8000, ///< in its imm: own of its packets, merged reds
    MWI_ST_FLAT = 3,         ///< dymultimem.st, st.rowsp: without an allocator
};

/// What the first instruction needs that the device was built without, and which that
/// is. NULL: it has all.
const char *mwi_stream_lacks(const struct mw_device_info *info, const struct mw_stream *s,
                             unsigned *instr);

#endif
