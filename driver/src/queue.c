// SPDX-License-Identifier: Apache-2.0
#include "queue.h"

#include "fabric_regs.h"
#include "map.h"
#include "node_regs.h"

#define FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))
#define NODE(gpu, reg) \
    (MW_MAP_NODES + MW_MAP_NODE_STRIDE * (gpu) + (uint32_t)offsetof(mw_node_t, reg))

void mwi_queue_reset(struct mwi_queue *q)
{
    q->oldest = q->first = q->next;
    q->state = MWI_QUEUE_IDLE;
    q->stopped = false;
}

bool mwi_queue_busy(const struct mwi_queue *q)
{
    return q->first != q->next;
}

static uint32_t read_register(struct mwi_queue *q, uint32_t address)
{
    uint32_t value = 0;
    return q->ops->cfg(q->context, false, address, &value) ? 0 : value;
}

/// False: the device refused it.
static bool write_register(struct mwi_queue *q, uint32_t address, uint32_t value)
{
    return q->ops->cfg(q->context, true, address, &value) == 0;
}

// ---- requests ---------------------------------------------------------------------------------------

unsigned mwi_queue_add(struct mwi_queue *q, const struct mw_frame_register *list, size_t count,
                       bool sweep, uint32_t *number)
{
    if (count > MW_HOST_FEED_REGISTERS)
        return MW_STATUS_LENGTH;
    if (q->stopped || q->next - q->first == MW_HOST_FEED_LAYERS ||
        (!mwi_queue_busy(q) && read_register(q, FABRIC(state)) & MW_FABRIC__STATE__BUSY_bm))
        return MW_STATUS_STATE;
    unsigned place = q->next % MW_HOST_FEED_LAYERS;
    for (size_t i = 0; i < count; i++) {
        if (list[i].address % 4 || list[i].address >= MW_MAP_SOC)
            return MW_STATUS_RANGE;
        q->layer[place].list[i] = list[i];
    }
    q->layer[place].count = (unsigned)count;
    q->layer[place].sweep = sweep;
    *number = q->next++;
    return MW_STATUS_OK;
}

unsigned mwi_queue_ask(const struct mwi_queue *q, uint32_t number,
                       const struct mw_frame_fed **record)
{
    *record = NULL;
    if (number - q->oldest >= q->next - q->oldest)
        return MW_STATUS_STATE;
    if (number - q->oldest < q->first - q->oldest)
        *record = &q->record[number % MW_HOST_FEED_RECORDS];
    return MW_STATUS_OK;
}

// ---- layers -----------------------------------------------------------------------------------------

/// The first layer of the queue has ended like this.
static struct mw_frame_fed *end_layer(struct mwi_queue *q, unsigned outcome)
{
    struct mw_frame_fed *r = &q->record[q->first % MW_HOST_FEED_RECORDS];
    r->number = q->first++;
    r->outcome = outcome;
    if (q->first - q->oldest > MW_HOST_FEED_RECORDS)
        q->oldest = q->first - MW_HOST_FEED_RECORDS;
    q->state = MWI_QUEUE_IDLE;
    return r;
}

static void stop(struct mwi_queue *q)
{
    q->stopped = true;
    while (mwi_queue_busy(q)) {
        struct mw_frame_fed *r = end_layer(q, MW_FED_DROPPED);
        r->error = r->cycles = 0;
        r->start = 0;
    }
}

static uint32_t first_error(struct mwi_queue *q)
{
    uint32_t nodes = read_register(q, FABRIC(node_error));
    uint32_t first = read_register(q, FABRIC(error)) & MW_FABRIC__ERROR__FIRST_bm;
    for (unsigned g = 0; g < q->gpus && !first; g++)
        if (nodes >> g & 1)
            first = read_register(q, NODE(g, status.error)) & MW_NODE__STATUS__ERROR__FIRST_bm;
    return first;
}

static void done(struct mwi_queue *q)
{
    uint32_t error = first_error(q);
    struct mw_frame_fed *r = end_layer(q, error ? MW_FED_FAILED : MW_FED_DONE);
    r->error = error;
    r->cycles = read_register(q, FABRIC(cycles));
    if (error)
        stop(q);
}

static bool write_all(struct mwi_queue *q, const struct mw_frame_register *r)
{
    bool good = true;
    if (r->address < MW_MAP_NODES_ALL)
        return write_register(q, r->address, r->value);
    for (unsigned g = 0; g < q->gpus; g++)
        good &= write_register(q, NODE(g, shape) + (r->address - MW_MAP_NODES_ALL), r->value);
    return good;
}

static void start(struct mwi_queue *q)
{
    unsigned place = q->first % MW_HOST_FEED_LAYERS;
    struct mw_frame_fed *r = &q->record[q->first % MW_HOST_FEED_RECORDS];
    bool good = true;
    for (unsigned i = 0; i < q->layer[place].count; i++)
        good &= write_all(q, &q->layer[place].list[i]);
    r->error = r->cycles = 0;
    r->start = 0;
    if (!good || !write_register(q, FABRIC(control), MW_FABRIC__CONTROL__GO_bm)) {
        end_layer(q, MW_FED_REFUSED);
        stop(q);
        return;
    }
    q->state = MWI_QUEUE_RUNS;
    r->start = q->ops->cycles(q->context);
}

bool mwi_queue_poll(struct mwi_queue *q)
{
    if (!mwi_queue_busy(q))
        return false;
    uint32_t state = read_register(q, FABRIC(state));
    if (q->state == MWI_QUEUE_RUNS && state & MW_FABRIC__STATE__DONE_bm)
        done(q);
    bool idle = q->state == MWI_QUEUE_IDLE && mwi_queue_busy(q);
    if (idle && q->layer[q->first % MW_HOST_FEED_LAYERS].sweep) {
        write_register(q, FABRIC(control), MW_FABRIC__CONTROL__SWEEP_bm);
        q->state = MWI_QUEUE_SWEEPS;
    } else if (idle ||
               (q->state == MWI_QUEUE_SWEEPS && !(state & MW_FABRIC__STATE__SWEEP_BUSY_bm))) {
        start(q);
    }
    return mwi_queue_busy(q);
}
