// SPDX-License-Identifier: Apache-2.0
//
// Fed layers: while one runs, the host moves the data of others, or queues layers that use the data
// of this one.
#include "api/layer.h"
#include "api/wait.h"
#include "core/registers.h"
#include "core/state.h"
#include "core/struct_size.h"
#include "core/tables.h"
#include "host.h"

#include <assert.h>
#include <string.h>

static_assert(MW_FEED_BUFFERS <= (int)MW_HOST_FEED_LAYERS,
              "a buffer's layer has a place in the queue");

// ---- feeding ------------------------------------------------------------------------------------

static_assert(MWI_MOVED + 1 <= (int)MW_HOST_FEED_REGISTERS, "a layer's registers in one FEED");

/// A layer, its data in a buffer (MW_FEED_BUFFERS: in none).
struct fed_layer {
    const struct mw_layout *layout; ///< with its buffers
    struct mw_layout at;            ///< its addresses
    struct mw_layer_config config;
    unsigned buffer;
};

/// The registers that the layer before it leaves with other values, and its epoch.
static unsigned registers_of(const struct mw_device *d, const struct mw_register *own,
                             unsigned moved, unsigned epoch, struct mw_register *list)
{
    enum { ALWAYS = 3 }; // of every layer's data
    unsigned count = 0;
    for (unsigned i = 0; i < moved; i++)
        if (i < ALWAYS || own[i].value != d->configured.moved[i].value)
            list[count++] = own[i];
    list[count++] = (struct mw_register){MWI_FABRIC(epoch), epoch};
    return count;
}

static int feed(struct mw_device *d, const struct fed_layer *l, uint32_t *given)
{
    struct mw_register own[MWI_MOVED], list[MWI_MOVED + 1];
    bool sweep;
    const unsigned epoch = mwi_state_epoch(d, l->config.handle, &sweep),
                   moved = mwi_moved_registers(d, &l->config, &l->at, own),
                   count = registers_of(d, own, moved, epoch, list);
    mwi_say_nothing();
    int status = d->transport->feed(d->context, list, count, sweep, given);
    if (!status) {
        memcpy(d->configured.moved, own, moved * sizeof *own);
        mwi_state_fed(d, l->layout, l->buffer, l->config.handle, *given);
        return 0;
    }
    mwi_fail_also(status, "the layer cannot be fed");
    // a device that has answered has not taken it
    bool answered = status == MW_ERR_STATE || status == MW_ERR_VERSION || status == MW_ERR_RANGE;
    return answered ? status : mwi_state_lost(d, status);
}

static int check(const struct mw_device *d, const char *call, const struct fed_layer *l)
{
    return !d->transport->feed
               ? mwi_fail(MW_ERR_VERSION, "%s: transport %s cannot", call, d->transport->name)
               : mwi_check_feed(d, call, l->layout, l->buffer, l->config.handle);
}

static int feed_checked(struct mw_device *d, const struct fed_layer *l, uint32_t *number)
{
    uint32_t given = 0;
    int status = 0;
    if (!d->state.fed.count) { // layers that run use the tables
        status = mwi_groups_load(d);
        if (!status)
            status = mwi_map_load(d, NULL, 0);
    }
    if (!status)
        status = mwi_flush(d);
    if (!status)
        status = feed(d, l, &given);
    if (!status && number)
        *number = given;
    return status;
}

int mw_feed(struct mw_device *device, const struct mw_layout *layout, unsigned buffer,
            uint32_t *number)
{
    MWI_NEED(device);
    MWI_NEED(layout);
    struct mw_device *d = device;
    mwi_lock(d);
    struct fed_layer l = {layout, d->configured.layout, d->configured.config, buffer};
    int status = check(d, __func__, &l);
    if (!status) {
        const struct mw_feed_buffer *b = &layout->buffer[buffer];
        l.at.rt_base = b->rt_base;
        l.at.xs_base = b->xs_base;
        l.at.out_base = b->out_base;
        status = feed_checked(d, &l, number);
    }
    return mwi_unlock(d, status);
}

/// What all layers of a stack share: the sizes of their rows, and the tables of the hubs.
static int check_shared(const struct mw_device *d, const char *call, const struct mw_layout *l)
{
    const struct mw_layout *own = &d->configured.layout;
    const struct {
        const char *name;
        uint64_t own, given;
    } all[] = {
        {"token_shift", own->token_shift, l->token_shift},
        {"n_shift", own->n_shift, l->n_shift},
        {"k_shift", own->k_shift, l->k_shift},
        {"row_shift", own->row_shift, l->row_shift},
        {"gate_shift", own->gate_shift, l->gate_shift},
        {"cap_shift", own->cap_shift, l->cap_shift},
        {"al_base", own->al_base, l->al_base},
        {"gt_base", own->gt_base, l->gt_base},
        {"cb_base", own->cb_base, l->cb_base},
        {"rl_base", own->rl_base, l->rl_base},
        {"st_lo", own->st_lo, l->st_lo},
        {"st_hi", own->st_hi, l->st_hi},
        {"load_base", own->load_base, l->load_base},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].own != all[i].given)
            return mwi_fail(MW_ERR_INVALID,
                            "%s: %s is 0x%llx, of the configured layer 0x%llx: all layers share it",
                            call, all[i].name, (unsigned long long)all[i].given,
                            (unsigned long long)all[i].own);
    return mwi_check_layout(d, l);
}

/// Whether the layer may be one with `handle`, after those that were fed.
static int check_handle(const struct mw_device *d, const char *call, unsigned handle)
{
    const struct mwi_configured *own = &d->configured;
    if (handle > MW_HANDLE_CACHED)
        return mwi_fail(MW_ERR_INVALID, "%s: handle: there is no value %u", call, handle);
    if (handle != MW_HANDLE_NONE && own->config.handle == MW_HANDLE_NONE)
        return mwi_fail(MW_ERR_INVALID,
                        "%s: handle: the configured layer has MW_HANDLE_NONE, and its layout no "
                        "second dispatch region: configure it with MW_HANDLE_KEEP",
                        call);
    return handle == MW_HANDLE_CACHED ? mwi_check_kept(d, call, &own->config, &own->layout) : 0;
}

int mw_feed_layer(struct mw_device *device, const struct mw_layout *layout, unsigned handle,
                  unsigned expert_cycles, uint32_t *number)
{
    MWI_NEED(device);
    MWI_NEED(layout);
    struct mw_device *d = device;
    mwi_lock(d);
    struct fed_layer l = {layout, *layout, d->configured.config, MW_FEED_BUFFERS};
    l.config.handle = MW_HANDLE_NONE;
    int status = check(d, __func__, &l);
    if (!status)
        status = mw_layer_set(&l.config, "expert_cycles", expert_cycles);
    if (!status)
        status = check_shared(d, __func__, layout);
    if (!status)
        status = check_handle(d, __func__, handle);
    l.config.handle = handle;
    if (!status)
        status = feed_checked(d, &l, number);
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
