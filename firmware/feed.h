// SPDX-License-Identifier: Apache-2.0
//
// The queue of layers (FEED and FED of docs/reference/host-protocol.md): each layer starts once the
// one before it is done, with the registers that locate its data. The host has put the data there
// while the layer before ran. None of it passes through here.
#ifndef MW_FW_FEED_H
#define MW_FW_FEED_H

#include "board.h"
#include "layer_queue.h"

struct feed {
    struct layer_queue queue;
    uint32_t resets; ///< of the fabric, as last read
    bool asked;      ///< a FED waits
    uint32_t since;  ///< when it came, cycles
};

void feed_begin(struct feed *f);
/// The layer in the mailbox, of `words` registers. `number` gets its own. Returns the
/// status of the reply.
unsigned feed_add(struct feed *f, const struct board *b, unsigned words, bool sweep,
                  uint32_t *number);
/// Get the result of layer `number`. Returns false while the layer is not done, fewer than
/// `patience` cycles have passed since the first such call, and no other command waits. Otherwise,
/// `status` is that of the reply, and `record` the record or NULL.
bool feed_ask(struct feed *f, uint32_t number, uint32_t patience, unsigned *status,
              const struct mw_frame_fed **record);
/// Look at the layer that runs, and start the next.
void feed_poll(struct feed *f, const struct board *b);
/// Whether a layer waits or runs.
bool feed_busy(const struct feed *f);

#endif
