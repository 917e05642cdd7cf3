// SPDX-License-Identifier: Apache-2.0
//
// Layers that are fed: while one runs, the host moves the data of others.
#include "api/wait.h"
#include "core/registers.h"
#include "core/state.h"
#include "core/struct_size.h"
#include "core/tables.h"
#include "host.h"

#include <assert.h>

static_assert(MW_FEED_BUFFERS <= (int)MW_HOST_FEED_LAYERS,
              "a buffer's layer has a place in the queue");

// ---- feeding ------------------------------------------------------------------------------------

#define NODES_ALL(reg) (MW_MAP_NODES_ALL + (uint32_t)offsetof(mw_node_t, reg))

static int feed(struct mw_device *d, const struct mw_layout *layout, unsigned buffer,
                uint32_t *given)
{
    const struct mw_feed_buffer *b = &layout->buffer[buffer];
    bool sweep;
    unsigned epoch = mwi_state_epoch(d, &sweep);
    const struct mw_register list[] = {{NODES_ALL(rt_base), MWI_BASE(b->rt_base)},
                                       {NODES_ALL(xs_base), MWI_BASE(b->xs_base)},
                                       {NODES_ALL(out_base), MWI_BASE(b->out_base)},
                                       {MWI_FABRIC(epoch), epoch}};
    mwi_say_nothing();
    int status = d->transport->feed(d->context, list, sizeof list / sizeof *list, sweep, given);
    if (!status) {
        mwi_state_fed(d, layout, buffer, *given);
        return 0;
    }
    mwi_fail_also(status, "the layer cannot be fed");
    // a device that has answered has not taken it
    bool answered = status == MW_ERR_STATE || status == MW_ERR_VERSION || status == MW_ERR_RANGE;
    return answered ? status : mwi_state_lost(d, status);
}

int mw_feed(struct mw_device *device, const struct mw_layout *layout, unsigned buffer,
            uint32_t *number)
{
    MWI_NEED(device);
    MWI_NEED(layout);
    struct mw_device *d = device;
    uint32_t given = 0;
    mwi_lock(d);
    int status = !d->transport->feed ? mwi_fail(MW_ERR_VERSION, "%s: transport %s cannot", __func__,
                                                d->transport->name)
                                     : mwi_check_feed(d, __func__, layout, buffer);
    if (!status && !d->state.fed.count) { // layers that run use the tables
        status = mwi_groups_load(d);
        if (!status)
            status = mwi_map_load(d, NULL, 0);
    }
    if (!status)
        status = mwi_flush(d);
    if (!status)
        status = feed(d, layout, buffer, &given);
    if (!status && number)
        *number = given;
    return mwi_unlock(d, status);
}

// ---- waiting ------------------------------------------------------------------------------------

struct waited {
    uint32_t number;
    uint64_t generation;
    struct mw_fed fed;
};

static int fed_step(struct mw_device *d, void *context, uint64_t cycles, bool *done)
{
    struct waited *w = context;
    int status = mwi_check_well(d, "mw_fed_wait");
    if (w->generation != d->state.fed.generation && !d->state.closed)
        return mwi_fail(MW_ERR_CANCELED, "fed layer %u was given up", w->number);
    if (status || !cycles)
        return status;
    if ((status = mwi_flush(d)))
        return status;
    mwi_say_nothing();
    status = d->transport->fed(d->context, w->number, cycles, &w->fed, done);
    return status ? mwi_fail_also(status, "the device cannot be run") : 0;
}

static int judge(const struct waited *w)
{
    switch (w->fed.outcome) {
    case MW_FED_DONE:
        return 0;
    case MW_FED_FAILED:
        return mwi_fail(MW_ERR_DEVICE, "fed layer %u: %s", w->number, mw_hw_strerror(w->fed.error));
    case MW_FED_REFUSED:
        return mwi_fail(MW_ERR_DEVICE, "fed layer %u: a register cannot be written", w->number);
    default:
        return mwi_fail(MW_ERR_DEVICE, "fed layer %u was not started: one before it failed",
                        w->number);
    }
}

int mw_fed_wait(struct mw_device *device, uint32_t number, const struct mw_wait_options *options,
                struct mw_fed *fed)
{
    MWI_NEED(device);
    struct mw_device *d = device;
    struct mw_wait_options o;
    int status = mwi_take_wait(&o, options);
    if (status)
        return status;
    mwi_lock(d);
    struct waited w = {.number = number, .generation = d->state.fed.generation};
    status = mwi_check_well(d, __func__);
    if (!status && !d->transport->fed)
        status = mwi_fail(MW_ERR_VERSION, "%s: transport %s cannot", __func__, d->transport->name);
    if (!status)
        status = mwi_run_to_done(d, &o, fed_step, &w);
    if (!status) {
        mwi_state_fed_done(d, number);
        status = judge(&w);
    }
    if (fed)
        *fed = w.fed;
    return mwi_unlock(d, status);
}
