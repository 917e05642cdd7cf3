// SPDX-License-Identifier: Apache-2.0
//
// The queue of layers where a simulated fabric is driven without a firmware, over calls that let
// the fabric's time pass.
#ifndef MW_QUEUE_H
#define MW_QUEUE_H

#include "layer_queue.h"

struct mwi_queue_ops {
    /// One access of the configuration bus: 0, or the device refused it.
    int (*cfg)(void *context, bool write, uint32_t address, uint32_t *value);
    uint64_t (*cycles)(void *context); ///< since power-up
};

struct mwi_queue {
    const struct mwi_queue_ops *ops;
    void *context;
    unsigned gpus;
    bool fault; ///< a write was refused
    struct layer_queue layers;
};

/// Empty it. Numbers continue.
void mwi_queue_reset(struct mwi_queue *q);
/// Queue a layer. Returns a MW_STATUS_.
unsigned mwi_queue_add(struct mwi_queue *q, const struct mw_frame_register *list, size_t count,
                       bool sweep, uint32_t *number);
/// As layer_queue_ask.
unsigned mwi_queue_ask(const struct mwi_queue *q, uint32_t number,
                       const struct mw_frame_fed **record);
/// Look at the layer that runs and start the next; to be called whenever time has passed. Returns
/// whether one waits or runs.
bool mwi_queue_poll(struct mwi_queue *q);
bool mwi_queue_busy(const struct mwi_queue *q);

#endif
