// SPDX-License-Identifier: Apache-2.0
//
// The streams of a GPU in the report of a device that makes no progress.
#ifndef MW_STREAM_REPORT_H
#define MW_STREAM_REPORT_H

#include "core/device.h"

#include <stdio.h>

/// What the registers of a GPU show of what its streams wait for, since go.
struct mwi_reached {
    unsigned rows;   ///< event counter ROWS
    unsigned tokens; ///< event counter TOKENS
    unsigned tiles;  ///< started by the expert engine
    bool rows_done;  ///< event counter ROWS_DONE
};

/// Write a line for each stream of a GPU. With `memory` the GPU's memory is accessible: a stream
/// that waits is described by its instruction there. Under the lock.
void mwi_report_streams(FILE *out, struct mw_device *device, unsigned gpu, bool memory,
                        const struct mwi_reached *reached);

#endif
