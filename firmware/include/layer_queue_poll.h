// SPDX-License-Identifier: Apache-2.0
//
// Starts the layers of a queue. Before its user includes this file, it defines the type
// LAYER_QUEUE_CONTEXT and static functions of a value `c` of it. Nothing is called through a
// pointer, so that the depth of the firmware's stack can be computed from its calls.
//
//     uint32_t queue_read(c, uint32_t address)       0 where it cannot be read
//     void     queue_write(c, uint32_t address, value)
//     bool     queue_fault(c)                        an access has failed, not reported yet
//     uint64_t queue_cycles(c)                       since power-up
//     uint32_t queue_error(c)                        the first error of the fabric, 0: none
//     void     queue_failed(c, uint32_t error)       a layer has failed with it
//     unsigned queue_gpus(c)
#ifndef MW_LAYER_QUEUE_POLL_H
#define MW_LAYER_QUEUE_POLL_H

#include "layer_queue.h"

#define QUEUE_FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))

/// Whether a layer of `count` registers may be queued: a MW_STATUS_. Its registers go to
/// layer_queue_place then.
static unsigned layer_queue_check(const struct layer_queue *q, LAYER_QUEUE_CONTEXT c, size_t count)
{
    if (count > MW_HOST_FEED_REGISTERS)
        return MW_STATUS_LENGTH;
    if (q->stopped || q->next - q->first == MW_HOST_FEED_LAYERS ||
        (!layer_queue_busy(q) && queue_read(c, QUEUE_FABRIC(state)) & MW_FABRIC__STATE__BUSY_bm))
        return MW_STATUS_STATE;
    return MW_STATUS_OK;
}

static struct mw_frame_register *layer_queue_place(struct layer_queue *q)
{
    return q->layer[q->next % MW_HOST_FEED_LAYERS].list;
}

/// Queue the layer whose registers are there. Returns a MW_STATUS_.
static unsigned layer_queue_add(struct layer_queue *q, size_t count, bool sweep, uint32_t *number)
{
    const unsigned place = q->next % MW_HOST_FEED_LAYERS;
    for (size_t i = 0; i < count; i++) {
        const uint32_t address = q->layer[place].list[i].address;
        const bool fabric = address < MW_MAP_SOC,
                   node =
                       address >= MW_MAP_NODES && address < MW_MAP_NODES_ALL + MW_MAP_NODE_STRIDE;
        if (address % 4 || !(fabric || node))
            return MW_STATUS_RANGE;
    }
    q->layer[place].count = (unsigned)count;
    q->layer[place].sweep = sweep;
    *number = q->next++;
    return MW_STATUS_OK;
}

// ---- layers -------------------------------------------------------------------------------------

/// The first layer of the queue has ended like this.
static struct mw_frame_fed *layer_queue_end(struct layer_queue *q, unsigned outcome)
{
    struct mw_frame_fed *r = &q->record[q->first % MW_HOST_FEED_RECORDS];
    r->number = q->first++;
    r->outcome = outcome;
    if (q->first - q->oldest > MW_HOST_FEED_RECORDS)
        q->oldest = q->first - MW_HOST_FEED_RECORDS;
    q->state = LAYER_QUEUE_IDLE;
    return r;
}

static void layer_queue_stop(struct layer_queue *q)
{
    q->stopped = true;
    while (layer_queue_busy(q)) {
        struct mw_frame_fed *r = layer_queue_end(q, MW_FED_DROPPED);
        r->error = r->cycles = 0;
        r->start = 0;
    }
}

static void layer_queue_done(struct layer_queue *q, LAYER_QUEUE_CONTEXT c)
{
    const uint32_t error = queue_error(c);
    struct mw_frame_fed *r = layer_queue_end(q, error ? MW_FED_FAILED : MW_FED_DONE);
    r->error = error;
    r->cycles = queue_read(c, QUEUE_FABRIC(cycles));
    if (error) {
        queue_failed(c, error);
        layer_queue_stop(q);
    }
}

static void layer_queue_write(LAYER_QUEUE_CONTEXT c, const struct mw_frame_register *r)
{
    if (r->address < MW_MAP_NODES_ALL)
        queue_write(c, r->address, r->value);
    else
        for (unsigned g = 0; g < queue_gpus(c); g++)
            queue_write(c, MW_MAP_NODES + MW_MAP_NODE_STRIDE * g + (r->address - MW_MAP_NODES_ALL),
                        r->value);
}

/// The layer cannot be started: a register is not there, or another layer runs.
static bool layer_queue_refused(struct layer_queue *q, LAYER_QUEUE_CONTEXT c)
{
    if (!queue_fault(c))
        return false;
    layer_queue_end(q, MW_FED_REFUSED);
    layer_queue_stop(q);
    return true;
}

static void layer_queue_start(struct layer_queue *q, LAYER_QUEUE_CONTEXT c)
{
    const unsigned place = q->first % MW_HOST_FEED_LAYERS;
    struct mw_frame_fed *r = &q->record[q->first % MW_HOST_FEED_RECORDS];
    for (unsigned i = 0; i < q->layer[place].count; i++)
        layer_queue_write(c, &q->layer[place].list[i]);
    r->error = r->cycles = 0;
    r->start = 0;
    if (layer_queue_refused(q, c))
        return;
    queue_write(c, QUEUE_FABRIC(control), MW_FABRIC__CONTROL__GO_bm);
    q->state = LAYER_QUEUE_RUNS;
    r->start = queue_cycles(c);
    if (layer_queue_refused(q, c))
        r->start = 0;
}

/// Look at the layer that runs and start the next; to be called whenever time has passed.
static void layer_queue_poll(struct layer_queue *q, LAYER_QUEUE_CONTEXT c)
{
    if (!layer_queue_busy(q))
        return;
    const uint32_t state = queue_read(c, QUEUE_FABRIC(state));
    if (q->state == LAYER_QUEUE_RUNS && state & MW_FABRIC__STATE__DONE_bm)
        layer_queue_done(q, c);
    bool idle = q->state == LAYER_QUEUE_IDLE && layer_queue_busy(q) && !queue_fault(c);
    if (idle && q->layer[q->first % MW_HOST_FEED_LAYERS].sweep) {
        queue_write(c, QUEUE_FABRIC(control), MW_FABRIC__CONTROL__SWEEP_bm);
        q->state = LAYER_QUEUE_SWEEPS;
    } else if (idle ||
               (q->state == LAYER_QUEUE_SWEEPS && !(state & MW_FABRIC__STATE__SWEEP_BUSY_bm))) {
        layer_queue_start(q, c);
    }
}

#endif
