// SPDX-License-Identifier: Apache-2.0
//
// The queue of layers (FEED and FED of docs/reference/host-protocol.md), for the firmware and for
// simulated fabrics that are driven without one. Each layer is started as soon as the one before it
// is done, with the registers that locate its data. What starts them is in layer_queue_poll.h.
#ifndef MW_LAYER_QUEUE_H
#define MW_LAYER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric_regs.h"
#include "host.h"
#include "map.h"

struct layer_queue {
    struct {
        bool sweep; ///< the allocation tables are cleared first
        unsigned count;
        struct mw_frame_register list[MW_HOST_FEED_REGISTERS];
    } layer[MW_HOST_FEED_LAYERS];                     ///< number n at n modulo FEED_LAYERS
    struct mw_frame_fed record[MW_HOST_FEED_RECORDS]; ///< likewise
    uint32_t oldest, first, next; ///< numbers: with a record, not done, not given yet
    enum { LAYER_QUEUE_IDLE, LAYER_QUEUE_SWEEPS, LAYER_QUEUE_RUNS } state;
    bool stopped; ///< by a failure, until the fabric is reset
};

/// Whether a layer waits or runs.
static inline bool layer_queue_busy(const struct layer_queue *q)
{
    return q->first != q->next;
}

/// Empty it. Numbers continue.
static inline void layer_queue_reset(struct layer_queue *q)
{
    q->oldest = q->first = q->next;
    q->state = LAYER_QUEUE_IDLE;
    q->stopped = false;
}

/// Get the result of a layer: MW_STATUS_STATE if it is not known. `record` is NULL if it is not
/// done.
static inline unsigned layer_queue_ask(const struct layer_queue *q, uint32_t number,
                                       const struct mw_frame_fed **record)
{
    *record = NULL;
    if (number - q->oldest >= q->next - q->oldest)
        return MW_STATUS_STATE;
    if (number - q->oldest < q->first - q->oldest)
        *record = &q->record[number % MW_HOST_FEED_RECORDS];
    return MW_STATUS_OK;
}

#endif
