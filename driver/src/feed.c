// SPDX-License-Identifier: Apache-2.0
//
// Layers that are fed: while one runs, the host moves the data of others.
#include "internal.h"

#include "host.h"

static_assert(MW_FEED_BUFFERS <= (int)MW_HOST_FEED_LAYERS,
              "a buffer's layer has a place in the queue");

// ---- feeding ------------------------------------------------------------------------------------------

static int check_feed(const struct mw_device *d, const struct mw_layout *layout, unsigned buffer)
{
    if (!d->transport->feed)
        return mwi_fail(MW_ERR_VERSION, "mw_feed: transport %s cannot", d->transport->name);
    if (d->running)
        return mwi_check_idle(d, "mw_feed");
    if (!d->configured)
        return mwi_fail(MW_ERR_STATE, "mw_feed: no layer was configured");
    if (buffer >= layout->buffers)
        return mwi_fail(MW_ERR_INVALID, "mw_feed: buffer %u, the layout has %u", buffer,
                        layout->buffers);
    if (mwi_in_use(d, buffer))
        return mwi_fail(MW_ERR_STATE, "mw_feed: a layer uses buffer %u", buffer);
    return 0;
}

#define NODES_ALL(reg) (MW_MAP_NODES_ALL + (uint32_t)offsetof(mw_node_t, reg))

int mw_feed(struct mw_device *device, const struct mw_layout *layout, unsigned buffer,
            uint32_t *number)
{
    mwi_lock(device);
    struct mw_device *d = device;
    uint32_t given = 0;
    int status = check_feed(d, layout, buffer);
    if (!status)
        status = mwi_flush(d);
    if (!status) {
        const struct mw_feed_buffer *b = &layout->buffer[buffer];
        bool sweep = d->sweep || d->epoch == MWI_EPOCHS;
        unsigned epoch = sweep ? 0 : d->epoch;
        const struct mw_register list[] = {{NODES_ALL(rt_base), BASE(b->rt_base)},
                                           {NODES_ALL(xs_base), BASE(b->xs_base)},
                                           {NODES_ALL(out_base), BASE(b->out_base)},
                                           {MWI_FABRIC(epoch), epoch}};
        mwi_say_nothing();
        status = d->transport->feed(d->context, list, sizeof list / sizeof *list, sweep, &given);
        if (status) {
            mwi_fail_also(status, "the layer cannot be fed");
        } else {
            d->sweep = false;
            d->epoch = epoch + 1;
            d->fed.used = true;
            d->fed.layout = *layout;
            d->fed.number[d->fed.count] = given;
            d->fed.buffer[d->fed.count++] = buffer;
        }
    }
    if (!status && number)
        *number = given;
    return mwi_unlock(d, status);
}

// ---- waiting --------------------------------------------------------------------------------------------

struct waited {
    uint32_t number;
    struct mw_fed fed;
};

static int fed_step(struct mw_device *d, void *context, uint64_t cycles, bool *done)
{
    struct waited *w = context;
    return d->transport->fed(d->context, w->number, cycles, &w->fed, done);
}

/// The layer, and those before it, are done.
static void forget(struct mw_device *d, uint32_t number)
{
    unsigned left = 0;
    for (unsigned i = 0; i < d->fed.count; i++) {
        if ((int32_t)(d->fed.number[i] - number) <= 0)
            continue;
        d->fed.number[left] = d->fed.number[i];
        d->fed.buffer[left++] = d->fed.buffer[i];
    }
    d->fed.count = left;
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
    mwi_lock(device);
    struct mw_device *d = device;
    struct waited w = {.number = number};
    int status = !d->transport->fed ? mwi_fail(MW_ERR_VERSION, "mw_fed_wait: transport %s cannot",
                                               d->transport->name)
                                    : mwi_run_to_done(d, options, fed_step, &w);
    if (!status) {
        forget(d, number);
        status = judge(&w);
    }
    if (fed)
        *fed = w.fed;
    return mwi_unlock(d, status);
}
