// SPDX-License-Identifier: Apache-2.0
//
// See state.h. Epochs: every layer opens the next of four. An allocation entry of another epoch
// counts as empty. So the tables are cleared (swept) only when an epoch recurs, when the tables
// move, and after a reset.
#include "core/state.h"

#include "core/known_tables.h"
#include "core/layer_sizes.h"
#include "core/notify.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MWI_EPOCHS = 4 };

void mwi_state_init(struct mwi_state *s)
{
    *s = (struct mwi_state){
        .now = MW_STATE_IDLE, .sweep = true, .kept.why = "no layer has kept one yet"};
}

enum mw_state mwi_state_outside(const struct mw_device *d)
{
    const struct mwi_state *s = &d->state;
    bool result = s->layer.number && !s->layer.runs && !s->layer.waited && !s->layer.gone;
    return result && (s->now == MW_STATE_CONFIGURED || s->now == MW_STATE_IDLE) ? MW_STATE_DONE
                                                                                : s->now;
}

// ---- what is allowed ----------------------------------------------------------------------------

bool mwi_inherited(const struct mw_device *device)
{
    return device->process != getpid();
}

bool mwi_is_open(const struct mw_device *d)
{
    return !d->state.closed && !mwi_inherited(d);
}

int mwi_check_open(const struct mw_device *d, const char *call)
{
    if (mwi_is_open(d))
        return 0;
    if (d->state.closed)
        return mwi_fail(MW_ERR_STATE, "%s: the device was closed", call);
    return mwi_fail(MW_ERR_STATE,
                    "%s: process %ld opened the device, and this is another, forked from it: open "
                    "a device here",
                    call, (long)d->process);
}

int mwi_check_well(const struct mw_device *d, const char *call)
{
    const struct mwi_state *s = &d->state;
    int status = mwi_check_open(d, call);
    if (status || s->now != MW_STATE_UNKNOWN)
        return status;
    if (s->lost == MW_ERR_NODEV)
        return mwi_fail(MW_ERR_NODEV, "%s: %.300s: close the device, and open it again", call,
                        s->why);
    return mwi_fail(MW_ERR_STATE, "%s: the state of the device is unknown (%.300s): call mw_reset",
                    call, s->why);
}

static int fail_running(const struct mw_device *d, const char *call)
{
    return mwi_fail(MW_ERR_STATE, "%s: %s", call,
                    mwi_state_dispatch_runs(d)         ? "a dispatch runs: call mw_dispatch_wait"
                    : d->state.now == MW_STATE_RUNNING ? "a layer runs"
                                                       : "a call of a handle uses the device");
}

int mwi_check_idle(const struct mw_device *d, const char *call)
{
    int status = mwi_check_well(d, call);
    return status || (d->state.now != MW_STATE_RUNNING && !d->combining) ? status
                                                                         : fail_running(d, call);
}

enum { TABLES = sizeof((struct mwi_state *)NULL)->swept / sizeof(uint64_t) };

/// Where a layer's tables are, and how large.
static void tables_of(const struct mw_layer_config *c, const struct mw_layout *l,
                      uint64_t table[TABLES])
{
    const uint64_t all[] = {
        l->al_base,
        (uint64_t)c->experts_per_gpu << (l->n_shift + l->token_shift),
        mwi_lists_of(c, l->n_shift) << l->cap_shift,
        c->cache_entries,
        l->token_shift, // of the numbers of rows that are loaded
    };
    static_assert(sizeof all == TABLES * sizeof *all, "all of them are kept");
    memcpy(table, all, sizeof all);
}

int mwi_check_kept(const struct mw_device *d, const char *call, const struct mw_layer_config *c,
                   const struct mw_layout *l)
{
    const struct mwi_state *s = &d->state;
    uint64_t tables[TABLES];
    tables_of(c, l, tables);
    if (!s->kept.there)
        return mwi_fail(MW_ERR_HANDLE, "%s: there is no handle that a cached layer could use: %s",
                        call, s->kept.why);
    if (s->sweep || memcmp(tables, s->swept, sizeof tables) != 0)
        return mwi_fail(MW_ERR_HANDLE,
                        "%s: the handle is that of a layer of other sizes than the last one that "
                        "was configured",
                        call);
    if (s->epoch == MWI_EPOCHS)
        return mwi_fail(MW_ERR_HANDLE,
                        "%s: no epoch is left for one more layer that uses the handle: let a layer "
                        "count again",
                        call);
    return 0;
}

int mwi_check_kept_for(const struct mw_device *d, const char *call, uint64_t owner,
                       const struct mw_layer_config *c, const struct mw_layout *l)
{
    if (d->state.kept.there && d->state.kept.owner != owner)
        return mwi_fail(MW_ERR_HANDLE,
                        "%s: the layer of another handle has counted since: dispatch the forward "
                        "handle again",
                        call);
    return mwi_check_kept(d, call, c, l);
}

/// ... of the layer that is configured, with `handle`.
static int check_cached(const struct mw_device *d, const char *call, unsigned handle)
{
    return handle == MW_HANDLE_CACHED
               ? mwi_check_kept(d, call, &d->configured.config, &d->configured.layout)
               : 0;
}

int mwi_check_launch(const struct mw_device *d, const char *call)
{
    int status = mwi_check_idle(d, call);
    if (!status && d->state.now != MW_STATE_CONFIGURED)
        return mwi_fail(MW_ERR_STATE, "%s: no layer was configured", call);
    if (!status && d->state.fed.used)
        return mwi_fail(MW_ERR_STATE, "%s: no layer was configured since mw_feed", call);
    return status ? status : check_cached(d, call, d->state.handle);
}

static bool in_use(const struct mwi_state *s, unsigned buffer)
{
    for (unsigned i = 0; i < s->fed.count; i++)
        if (s->fed.buffer[i] == buffer)
            return true;
    return false;
}

int mwi_check_feed(const struct mw_device *d, const char *call, const struct mw_layout *layout,
                   unsigned buffer, unsigned handle)
{
    const bool whole = buffer == MW_FEED_BUFFERS;
    const struct mwi_state *s = &d->state;
    int status = mwi_check_well(d, call);
    if (status)
        return status;
    if (s->layer.runs || d->combining)
        return fail_running(d, call);
    if ((s->now == MW_STATE_RUNNING ? s->after : s->now) != MW_STATE_CONFIGURED)
        return mwi_fail(MW_ERR_STATE, "%s: no layer was configured", call);
    if (layout->buffers > MW_FEED_BUFFERS)
        return mwi_fail(MW_ERR_INVALID, "%s: the layout has %u buffers: at most %d", call,
                        layout->buffers, MW_FEED_BUFFERS);
    if (buffer >= layout->buffers && !whole)
        return mwi_fail(MW_ERR_INVALID, "%s: buffer %u, the layout has %u", call, buffer,
                        layout->buffers);
    if (!whole && in_use(s, buffer))
        return mwi_fail(MW_ERR_STATE, "%s: a layer uses buffer %u", call, buffer);
    if (s->fed.count == MW_FEED_BUFFERS)
        return mwi_fail(MW_ERR_STATE, "%s: %d layers are not done yet", call, MW_FEED_BUFFERS);
    return check_cached(d, call, handle);
}

static bool inside(const struct mw_transfer *t, uint64_t base, uint64_t bytes)
{
    return t->address >= base && t->address - base <= bytes &&
           t->bytes <= bytes - (t->address - base);
}

static bool is_free(const struct mwi_state *s, const struct mw_transfer *t)
{
    const struct mw_layout *l = &s->fed.layout;
    if (in_use(s, MW_FEED_BUFFERS)) // a layer without buffer may use any
        return false;
    for (unsigned i = 0; i < l->buffers; i++) {
        const struct mw_feed_buffer *b = &l->buffer[i];
        if (!in_use(s, i) &&
            (inside(t, b->rt_base, l->rt_bytes) || inside(t, b->xs_base, l->row_bytes) ||
             inside(t, b->out_base, l->row_bytes)))
            return true;
    }
    return false;
}

int mwi_check_free(const struct mw_device *d, const char *call, const struct mw_transfer *list,
                   size_t count)
{
    const struct mwi_state *s = &d->state;
    int status = mwi_check_well(d, call);
    if (status || s->layer.runs || d->combining)
        return status ? status : fail_running(d, call);
    for (size_t i = 0; i < count && s->fed.count; i++)
        if (!is_free(s, &list[i]))
            return mwi_fail(MW_ERR_STATE,
                            "%s: a layer runs, and transfer %zu (0x%llx + %zu bytes) is not inside "
                            "a part of a buffer that none uses",
                            call, i, (unsigned long long)list[i].address, list[i].bytes);
    return 0;
}

// ---- what has happened --------------------------------------------------------------------------

/// Only what a layer uses is cleared: again when the tables moved, and when their sizes are others.
static void note_tables(struct mwi_state *s, const struct mw_layer_config *c,
                        const struct mw_layout *l)
{
    uint64_t tables[TABLES];
    tables_of(c, l, tables);
    s->sweep |= memcmp(s->swept, tables, sizeof tables) != 0;
    memcpy(s->swept, tables, sizeof tables);
}

void mwi_state_configured(struct mw_device *d, const struct mw_layer_config *config,
                          const struct mw_layout *layout, const unsigned *tokens,
                          uint64_t quiet_cycles)
{
    struct mwi_state *s = &d->state;
    s->now = MW_STATE_CONFIGURED;
    s->fed.used = false;
    s->quiet_cycles = quiet_cycles;
    s->tokens_total = 0;
    for (unsigned g = 0; g < d->info.gpus; g++)
        s->tokens_total += tokens[g];
    s->handle = config->handle;
    note_tables(s, config, layout);
}

void mwi_state_streams(struct mw_device *d, uint64_t delays)
{
    d->state.delays = delays;
}

void mwi_state_unconfigured(struct mw_device *d)
{
    if (d->state.now == MW_STATE_CONFIGURED)
        d->state.now = MW_STATE_IDLE;
    d->state.after = MW_STATE_IDLE;
}

unsigned mwi_state_epoch(const struct mw_device *d, unsigned handle, bool *sweep)
{
    const struct mwi_state *s = &d->state;
    // a handle is for another epoch, at least
    *sweep = s->sweep || s->epoch + (handle == MW_HANDLE_KEEP) >= MWI_EPOCHS;
    return *sweep ? 0 : s->epoch;
}

unsigned mwi_state_kept_epoch(const struct mw_device *d)
{
    return d->state.kept.there ? d->state.kept.epoch : 0;
}

void mwi_state_keeps(struct mw_device *d, uint64_t owner)
{
    d->state.kept.owner = owner;
}

static void lose_handle(struct mwi_state *s, const char *why)
{
    if (s->kept.there)
        snprintf(s->kept.why, sizeof s->kept.why, "%s", why);
    s->kept.there = false;
}

/// A layer has begun in the epoch of mwi_state_epoch.
static void begin(struct mw_device *d, unsigned handle)
{
    struct mwi_state *s = &d->state;
    bool sweep;
    const unsigned epoch = mwi_state_epoch(d, handle, &sweep);
    s->epoch = epoch + 1;
    s->sweep = false;
    s->begun++;
    if (handle == MW_HANDLE_KEEP) {
        s->kept.there = true;
        s->kept.epoch = epoch;
        s->kept.owner = 0;
    } else if (handle == MW_HANDLE_NONE) {
        lose_handle(s, "a layer behind it has counted its own rows, and kept none");
    }
    if (s->now != MW_STATE_RUNNING)
        s->after = MW_STATE_CONFIGURED;
    s->now = MW_STATE_RUNNING;
}

static void launched(struct mw_device *d)
{
    struct mwi_state *s = &d->state;
    s->layer.number++;
    s->layer.runs = true;
    s->layer.waited = s->layer.gone = s->layer.dispatch = false;
    mwi_lock_wake(&d->lock);
}

void mwi_state_started(struct mw_device *d)
{
    begin(d, d->state.handle);
    launched(d);
}

void mwi_state_continued(struct mw_device *d)
{
    struct mwi_state *s = &d->state;
    s->begun++;
    s->after = MW_STATE_CONFIGURED;
    s->now = MW_STATE_RUNNING;
    if (s->handle == MW_HANDLE_NONE)
        lose_handle(s, "the second phase of a layer has cleared its counts");
    launched(d);
}

unsigned mwi_state_last_epoch(const struct mw_device *d)
{
    return d->state.epoch - 1;
}

void mwi_state_dispatches(struct mw_device *d)
{
    d->state.layer.dispatch = true;
}

bool mwi_state_dispatch_runs(const struct mw_device *d)
{
    return d->state.layer.runs && d->state.layer.dispatch;
}

void mwi_state_rows_lost(struct mw_device *d, const char *why)
{
    d->state.begun++;
    d->state.sweep = true;
    lose_handle(&d->state, why);
}

void mwi_state_fed(struct mw_device *d, const struct mw_layout *layout, unsigned buffer,
                   unsigned handle, uint32_t number)
{
    struct mwi_state *s = &d->state;
    begin(d, handle);
    s->layer.gone = s->layer.waited;
    s->fed.used = true;
    s->fed.layout = *layout;
    s->fed.number[s->fed.count] = number;
    s->fed.buffer[s->fed.count++] = buffer;
    mwi_lock_wake(&d->lock);
}

static void end_layer(struct mw_device *d, int code, uint64_t cycles)
{
    struct mwi_state *s = &d->state;
    s->layer.runs = false;
    s->layer.code = code;
    s->layer.cycles = cycles;
    snprintf(s->layer.message, sizeof s->layer.message, "%s", code ? mw_message() : "");
    mwi_notify(d);
    mwi_lock_wake(&d->lock);
}

void mwi_state_ended(struct mw_device *d, int code, uint64_t cycles)
{
    d->state.now = d->state.after;
    if (code)
        lose_handle(&d->state, "a layer has ended with an error");
    end_layer(d, code, cycles);
}

void mwi_state_taken(struct mw_device *d)
{
    d->state.layer.gone = !d->state.layer.runs;
}

void mwi_state_fed_done(struct mw_device *d, uint32_t number)
{
    struct mwi_state *s = &d->state;
    unsigned left = 0;
    for (unsigned i = 0; i < s->fed.count; i++) {
        if ((int32_t)(s->fed.number[i] - number) <= 0)
            continue;
        s->fed.number[left] = s->fed.number[i];
        s->fed.buffer[left++] = s->fed.buffer[i];
    }
    if (left == s->fed.count)
        return;
    s->fed.count = left;
    if (!left && s->now == MW_STATE_RUNNING)
        s->now = s->after;
    mwi_notify(d);
    mwi_lock_wake(&d->lock);
}

/// Everything that runs is abandoned; mw_message has the cause.
static void give_up(struct mw_device *d, int code)
{
    struct mwi_state *s = &d->state;
    if (s->fed.count)
        mwi_notify(d);
    s->fed.count = 0;
    s->fed.generation++;
    if (s->layer.runs)
        end_layer(d, code, 0);
    mwi_lock_wake(&d->lock);
}

int mwi_state_lost(struct mw_device *d, int code)
{
    struct mwi_state *s = &d->state;
    if (s->now == MW_STATE_UNKNOWN && (s->lost == MW_ERR_NODEV || code != MW_ERR_NODEV))
        return code; // the first failure is the cause, but a device that is gone is gone
    give_up(d, code);
    s->now = MW_STATE_UNKNOWN;
    s->lost = code;
    snprintf(s->why, sizeof s->why, "%s", mw_message());
    return code;
}

void mwi_state_canceled(struct mw_device *d)
{
    mwi_state_lost(d, mwi_fail(MW_ERR_CANCELED, "the layer was canceled"));
}

void mwi_state_moves_canceled(struct mw_device *d)
{
    d->state.canceled++;
}

void mwi_state_reset(struct mw_device *d)
{
    struct mwi_state *s = &d->state;
    mwi_state_moves_canceled(d);
    s->resets++;
    s->begun++;
    s->layer.gone = !s->layer.runs;
    mwi_fail(MW_ERR_CANCELED, "the device was reset");
    give_up(d, MW_ERR_CANCELED);
    s->now = MW_STATE_IDLE;
    s->sweep = true;
    s->epoch = 0;
    lose_handle(s, "the device was reset");
    s->fed.used = false;
    s->lost = 0;
    d->write_count = 0;
    d->loaded = d->program = 0;
    mwi_tables_forget(d);
}
