// SPDX-License-Identifier: Apache-2.0
//
// Writes into the error log what the hardware reports: layers that ended with an error, accesses
// that failed, errors of the host link.
#ifndef MW_FW_WATCH_H
#define MW_FW_WATCH_H

#include "board.h"

struct watch {
    bool layer;           ///< one ran at the last poll
    uint32_t link_errors; ///< counted by the link at the last poll
};

/// The first error of a layer: the switch's, or that of the first node that has one. 0: none.
uint32_t watch_first_error(const struct board *b);
void watch_begin(struct watch *w);
/// `fed`: layers are being fed, whose errors the queue logs.
void watch_poll(struct watch *w, const struct board *b, bool fed);

#endif
