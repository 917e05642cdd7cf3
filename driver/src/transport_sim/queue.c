// SPDX-License-Identifier: Apache-2.0
#include "transport_sim/queue.h"

#include <string.h>

#include "node_regs.h"

static uint32_t queue_read(struct mwi_queue *q, uint32_t address)
{
    uint32_t value = 0;
    return q->ops->cfg(q->context, false, address, &value) ? 0 : value;
}

static void queue_write(struct mwi_queue *q, uint32_t address, uint32_t value)
{
    q->fault |= q->ops->cfg(q->context, true, address, &value) != 0;
}

static bool queue_fault(struct mwi_queue *q)
{
    bool fault = q->fault;
    q->fault = false;
    return fault;
}

static uint64_t queue_cycles(struct mwi_queue *q)
{
    return q->ops->cycles(q->context);
}

static uint32_t queue_error(struct mwi_queue *q)
{
    uint32_t nodes = 0, first = queue_read(q, (uint32_t)offsetof(mw_fabric_t, error)) &
                                MW_FABRIC__ERROR__FIRST_bm;
    for (unsigned g = 0; g < q->gpus && !first; g++) {
        if (g % 32 == 0)
            nodes = queue_read(q, (uint32_t)offsetof(mw_fabric_t, node_error) + g / 8);
        if (nodes >> g % 32 & 1)
            first = queue_read(q, MW_MAP_NODES + MW_MAP_NODE_STRIDE * g +
                                      (uint32_t)offsetof(mw_node_t, status.error)) &
                    MW_NODE__STATUS__ERROR__FIRST_bm;
    }
    return first;
}

static void queue_failed(struct mwi_queue *q, uint32_t error)
{
    (void)q, (void)error; // its record has it
}

static unsigned queue_gpus(struct mwi_queue *q)
{
    return q->gpus;
}

#define LAYER_QUEUE_CONTEXT struct mwi_queue *
#include "layer_queue_poll.h"

void mwi_queue_reset(struct mwi_queue *q)
{
    layer_queue_reset(&q->layers);
    q->fault = false;
}

bool mwi_queue_busy(const struct mwi_queue *q)
{
    return layer_queue_busy(&q->layers);
}

unsigned mwi_queue_add(struct mwi_queue *q, const struct mw_frame_register *list, size_t count,
                       bool sweep, uint32_t *number)
{
    unsigned status = layer_queue_check(&q->layers, q, count);
    if (status)
        return status;
    if (count)
        memcpy(layer_queue_place(&q->layers), list, count * sizeof *list);
    return layer_queue_add(&q->layers, count, sweep, number);
}

unsigned mwi_queue_ask(const struct mwi_queue *q, uint32_t number,
                       const struct mw_frame_fed **record)
{
    return layer_queue_ask(&q->layers, number, record);
}

bool mwi_queue_poll(struct mwi_queue *q)
{
    layer_queue_poll(&q->layers, q);
    return mwi_queue_busy(q);
}
