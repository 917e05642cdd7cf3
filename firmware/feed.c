// SPDX-License-Identifier: Apache-2.0
//
// The host's RESET comes at any time and must not be followed by registers or a go of a layer from before it: while a layer is started, RESET is held, and
// the count of resets tells whether there was one before.
#include "feed.h"

#include "log.h"
#include "watch.h"

static uint32_t resets(void)
{
    return GET(MW_SOC__FABRIC_RESET__COUNT, hw_read(SOC(fabric_reset)));
}

void feed_begin(struct feed *f)
{
    f->oldest = f->first = f->next = 0;
    f->state = FEED_IDLE;
    f->stopped = f->asked = false;
    f->resets = resets();
}

bool feed_busy(const struct feed *f)
{
    return f->first != f->next;
}

/// True: there was no reset, and none begins before `release`.
static bool hold(struct feed *f)
{
    hw_write(SOC(fabric_reset), MW_SOC__FABRIC_RESET__HOLD_bm);
    uint32_t count = resets();
    if (count == f->resets)
        return true;
    f->resets = count;
    f->stopped = false;
    f->state = FEED_IDLE;
    f->oldest = f->first = f->next;
    return false;
}

static void release(void)
{
    hw_write(SOC(fabric_reset), 0);
}

/// A reset that has not been noticed yet empties the queue before a command.
static void notice(struct feed *f)
{
    hold(f);
    release();
}

// ---- commands -------------------------------------------------------------------------------------------

static bool allowed(uint32_t address)
{
    return address % 4 == 0 && address < MW_MAP_SOC;
}

unsigned feed_add(struct feed *f, unsigned words, bool sweep, uint32_t *number)
{
    struct feed_layer *l = &f->layer[f->next % MW_HOST_FEED_LAYERS];
    notice(f);
    if (words > MW_HOST_FEED_REGISTERS)
        return MW_STATUS_LENGTH;
    if (f->stopped || f->next - f->first == MW_HOST_FEED_LAYERS ||
        (!feed_busy(f) && hw_read(FABRIC(state)) & MW_FABRIC__STATE__BUSY_bm))
        return MW_STATUS_STATE;
    l->sweep = sweep;
    l->count = words;
    for (unsigned i = 0; i < words; i++) {
        l->list[i].address = hw_read(SOC(mbox_command) + 8 * i);
        l->list[i].value = hw_read(SOC(mbox_command) + 8 * i + 4);
        if (!allowed(l->list[i].address))
            return MW_STATUS_RANGE;
    }
    *number = f->next++;
    return MW_STATUS_OK;
}

bool feed_ask(struct feed *f, uint32_t number, uint32_t patience, unsigned *status,
              const struct mw_frame_fed **record)
{
    uint32_t now = hw_read(SOC(time_lo));
    if (!f->asked) {
        notice(f);
        f->since = now;
    }
    f->asked = true;
    *record = NULL;
    *status = MW_STATUS_OK;
    if (number - f->oldest >= f->next - f->oldest)
        *status = MW_STATUS_STATE;
    else if (number - f->oldest < f->first - f->oldest)
        *record = &f->record[number % MW_HOST_FEED_RECORDS];
    else if (now - f->since < patience && !(hw_read(SOC(link)) & MW_SOC__LINK__WAITING_bm))
        return false;
    f->asked = false;
    return true;
}

// ---- layers ---------------------------------------------------------------------------------------------

/// The first layer of the queue has ended like this.
static struct mw_frame_fed *end_layer(struct feed *f, unsigned outcome)
{
    struct mw_frame_fed *r = &f->record[f->first % MW_HOST_FEED_RECORDS];
    r->number = f->first++;
    r->outcome = outcome;
    if (f->first - f->oldest > MW_HOST_FEED_RECORDS)
        f->oldest = f->first - MW_HOST_FEED_RECORDS;
    f->state = FEED_IDLE;
    return r;
}

static void stop(struct feed *f)
{
    f->stopped = true;
    while (feed_busy(f)) {
        struct mw_frame_fed *r = end_layer(f, MW_FED_DROPPED);
        r->error = r->cycles = 0;
        r->start = 0;
    }
}

static void done(struct feed *f, const struct board *b)
{
    uint32_t error = watch_first_error(b);
    struct mw_frame_fed *r = end_layer(f, error ? MW_FED_FAILED : MW_FED_DONE);
    r->error = error;
    r->cycles = hw_read(FABRIC(cycles));
    if (error) {
        log_add(b, MW_LOG_FABRIC, error);
        stop(f);
    }
}

static void write_register(const struct board *b, const struct mw_frame_register *r)
{
    if (r->address < MW_MAP_NODES_ALL)
        hw_write(r->address, r->value);
    else
        for (unsigned g = 0; g < b->gpus; g++)
            hw_write(MW_MAP_NODES + MW_MAP_NODE_STRIDE * g + (r->address - MW_MAP_NODES_ALL),
                     r->value);
}

static bool fault(void)
{
    return hw_read(SOC(fault)) & MW_SOC__FAULT__VALID_bm;
}

/// The layer cannot be started: a register is not there, or another layer runs.
static bool refused(struct feed *f)
{
    if (!fault())
        return false;
    end_layer(f, MW_FED_REFUSED);
    stop(f);
    return true;
}

static void start(struct feed *f, const struct board *b)
{
    const struct feed_layer *l = &f->layer[f->first % MW_HOST_FEED_LAYERS];
    struct mw_frame_fed *r = &f->record[f->first % MW_HOST_FEED_RECORDS];
    for (unsigned i = 0; i < l->count; i++)
        write_register(b, &l->list[i]);
    r->error = r->cycles = 0;
    r->start = 0;
    if (refused(f))
        return;
    hw_write(FABRIC(control), MW_FABRIC__CONTROL__GO_bm);
    f->state = FEED_RUNS;
    r->start = hw_read(SOC(time_lo));
    r->start |= (uint64_t)hw_read(SOC(time_hi)) << 32;
    if (refused(f))
        r->start = 0;
}

static void sweep(struct feed *f)
{
    hw_write(FABRIC(control), MW_FABRIC__CONTROL__SWEEP_bm);
    f->state = FEED_SWEEPS;
}

void feed_poll(struct feed *f, const struct board *b)
{
    if (!feed_busy(f) && !f->stopped)
        return;
    if (hold(f) && feed_busy(f)) {
        uint32_t state = hw_read(FABRIC(state));
        if (f->state == FEED_RUNS && state & MW_FABRIC__STATE__DONE_bm)
            done(f, b);
        bool idle = f->state == FEED_IDLE && feed_busy(f) && !fault();
        if (idle && f->layer[f->first % MW_HOST_FEED_LAYERS].sweep)
            sweep(f);
        else if (idle || (f->state == FEED_SWEEPS && !(state & MW_FABRIC__STATE__SWEEP_BUSY_bm)))
            start(f, b);
    }
    release();
}
