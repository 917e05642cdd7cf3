// SPDX-License-Identifier: Apache-2.0
//
// Waiting for layers: in steps, after each of which the device is polled. Steps consist of slices,
// between which other calls get the lock. Slices are numbers of cycles, so that a simulated device
// is polled in the same cycles, independent of other calls.
#include "api/wait.h"

#include "core/registers.h"
#include "core/state.h"
#include "core/struct_size.h"
#include "observe/sample_publish.h"
#include "observe/short_region.h"

#include <stdio.h>

enum {
    STEP_CYCLES = 50000,
    SLICE_CYCLES = 2048, ///< some ten milliseconds of a simulation
};

static uint64_t slice_of(const struct mw_device *d)
{
    uint64_t slice = d->transport->slice ? d->transport->slice(d->context) : 0;
    return slice ? slice : SLICE_CYCLES;
}

// ---- looking ------------------------------------------------------------------------------------

/// Own tokens that are done, of all GPUs, and cycles since go; and a number that changes whenever
/// the layer advances. Pointers may be NULL.
static int read_progress(struct mw_device *d, uint64_t *activity, uint64_t *tokens,
                         uint64_t *cycles)
{
    enum { FLITS = 2 * MW_NUM_CLASSES, WORDS = FLITS + 3 }; // of the uplink, and of the downlink
    int status = 0;
    uint64_t sum = 0, finished = 0;
    for (unsigned g = 0; g < d->info.gpus && !status; g++) {
        struct mw_register list[WORDS] = {{.address = MWI_NODE(g, status.tokens_done)},
                                          {.address = MWI_NODE(g, status.expert_tiles)},
                                          {.address = MWI_NODE(g, status.retired)}};
        for (unsigned c = 0; c < FLITS; c++)
            list[3 + c].address = MWI_FABRIC(counters) + 4 * (MWI_PORT_WORDS * g + c);
        status = mwi_read_list(d, list, WORDS);
        for (unsigned i = 0; i < WORDS && !status; i++)
            sum += list[i].value;
        finished += status ? 0 : list[0].value;
    }
    uint32_t now = 0;
    if (!status && cycles)
        status = mwi_read(d, MWI_FABRIC(cycles), &now);
    if (status)
        return status;
    if (activity)
        *activity = sum;
    if (tokens)
        *tokens = finished;
    if (cycles)
        *cycles = now;
    return 0;
}

/// The first error that the hardware recorded, as a line. Empty: none.
static int first_error(struct mw_device *d, char *text, size_t size)
{
    struct mw_gpu_set errors;
    uint32_t word;
    int status;
    *text = 0;
    if ((status = mwi_read(d, MWI_FABRIC(error), &word)) ||
        (status = mwi_set_read(d, MWI_FABRIC(node_error), &errors)))
        return status;
    unsigned count = MWI_GET(MW_FABRIC__ERROR__COUNT, word);
    if (count) {
        snprintf(text, size, "switch, input %u: %s (%u errors)",
                 MWI_GET(MW_FABRIC__ERROR__PORT, word),
                 mw_hw_strerror(MWI_GET(MW_FABRIC__ERROR__FIRST, word)), count);
        return 0;
    }
    for (unsigned g = 0; g < d->info.gpus && !*text; g++) {
        char region[240] = "";
        if (!mwi_set_has(&errors, g))
            continue;
        if ((status = mwi_read(d, MWI_NODE(g, status.error), &word)))
            return status;
        const unsigned code = MWI_GET(MW_NODE__STATUS__ERROR__FIRST, word);
        if (code == MW_HWERR_BOUNDS)
            mwi_short_region(d, g, region, sizeof region);
        snprintf(text, size, "GPU %u: %s (%u errors)%s", g, mw_hw_strerror(code),
                 MWI_GET(MW_NODE__STATUS__ERROR__COUNT, word), region);
    }
    return 0;
}

/// `error`: MW_ERR_DEVICE, with a message about the first error that the hardware recorded, or 0.
/// Returns another failure.
static int read_errors(struct mw_device *d, int *error)
{
    char text[MWI_MESSAGE];
    int status = first_error(d, text, sizeof text);
    *error = *text ? mwi_fail(MW_ERR_DEVICE, "%s", text) : 0;
    return status;
}

/// Let the launched layer run. When it is done, its result is taken down.
static int run_slice(struct mw_device *d, uint64_t cycles)
{
    bool done = false;
    uint32_t value = 0;
    int error = 0, status = mwi_flush(d);
    if (status)
        return status;
    mwi_say_nothing();
    status = d->transport->run_until(d->context, cycles, &done);
    if (status)
        mwi_fail_also(status, "the device cannot be run");
    if (!status && done && !(status = mwi_read(d, MWI_FABRIC(cycles), &value)) &&
        !(status = read_errors(d, &error)))
        mwi_state_ended(d, error, value);
    if (status == MW_ERR_NODEV)
        mwi_state_lost(d, status);
    return status;
}

int mwi_look(struct mw_device *d)
{
    struct mwi_state *s = &d->state;
    if (s->layer.runs)
        return run_slice(d, slice_of(d));
    if (!s->fed.count)
        return 0;
    struct mw_fed fed;
    bool done = false;
    int status = mwi_flush(d);
    if (status)
        return status;
    mwi_say_nothing();
    uint32_t number = s->fed.number[0];
    status = d->transport->fed(d->context, number, slice_of(d), &fed, &done);
    if (!status && done)
        mwi_state_fed_done(d, number);
    return status ? mwi_fail_also(status, "the device cannot be run") : 0;
}

// ---- waiting ------------------------------------------------------------------------------------

/// MW_ERR_TIMEOUT with a message that names the first port that is down, and the first error.
static int give_up(struct mw_device *d, uint64_t quiet, uint64_t tokens)
{
    char port[40] = "", error[MWI_MESSAGE - 140];
    struct mw_gpu_set down;
    int status = mwi_set_read(d, MWI_FABRIC(down), &down);
    if (!status)
        status = first_error(d, error, sizeof error);
    if (status)
        return status;
    if (mwi_set_first(&down) < MW_MAX_PORTS)
        snprintf(port, sizeof port, ", port %u is down", mwi_set_first(&down));
    return mwi_fail(MW_ERR_TIMEOUT,
                    "no progress for %llu cycles, %llu of %llu tokens are finished%s%s%s",
                    (unsigned long long)quiet, (unsigned long long)tokens,
                    (unsigned long long)d->state.tokens_total, port, *error ? "; " : "", error);
}

/// Arguments of `progress`.
struct reported {
    const struct mw_wait_options *options;
    uint64_t tokens, total, cycles;
};

static int tell(void *context)
{
    const struct reported *t = context;
    return t->options->progress(t->options->progress_context, t->tokens, t->total, t->cycles);
}

/// The program ends the wait.
static int cancel(struct mw_device *d)
{
    mwi_state_canceled(d);
    return mwi_fail(MW_ERR_CANCELED, "the layer was canceled");
}

/// One step, or until it is done: others have their turn between its slices.
static int run_step(struct mw_device *d, const struct mw_wait_options *o, mwi_step_fn step,
                    void *context, uint64_t cycles, bool *done)
{
    for (;;) {
        if (o->stop && *o->stop)
            return cancel(d);
        uint64_t most = slice_of(d), slice = cycles < most ? cycles : most;
        int status = step(d, context, slice, done);
        cycles -= slice;
        if (!status)
            mwi_share_look(d);
        mwi_lock_yield(&d->lock);
        if (status || *done || !cycles)
            return status;
    }
}

int mwi_run_to_done(struct mw_device *d, const struct mw_wait_options *o, mwi_step_fn step,
                    void *context)
{
    uint64_t step_cycles = o->step_cycles ? o->step_cycles : STEP_CYCLES;
    uint64_t last = UINT64_MAX, quiet_since = 0;
    for (;;) {
        bool done = false;
        uint64_t activity;
        struct reported reported = {.options = o};
        int status = run_step(d, o, step, context, step_cycles, &done);
        // by another meanwhile
        if (!status && !done)
            status = step(d, context, 0, &done);
        if (status || done)
            return status;
        reported.total = d->state.tokens_total;
        if ((status = read_progress(d, &activity, &reported.tokens, &reported.cycles)))
            return status;
        if (o->progress && mwi_lock_without(&d->lock, tell, &reported)) {
            status = step(d, context, 0, &done);
            return status || done ? status : cancel(d);
        }
        uint64_t limit =
            o->quiet_cycles ? o->quiet_cycles : d->state.quiet_cycles + d->state.delays;
        if (activity != last || reported.cycles < quiet_since) { // another layer has begun
            last = activity;
            quiet_since = reported.cycles;
        } else if (reported.cycles - quiet_since >= limit) {
            return give_up(d, reported.cycles - quiet_since, reported.tokens);
        }
    }
}

// ---- launched layers ----------------------------------------------------------------------------

static int launched_step(struct mw_device *d, void *context, uint64_t cycles, bool *done)
{
    const struct mwi_state *s = &d->state;
    uint64_t number = *(const uint64_t *)context;
    if (s->closed)
        return mwi_check_well(d, "mw_wait");
    *done = s->layer.number != number || !s->layer.runs;
    if (*done || !cycles)
        return 0;
    int status = run_slice(d, cycles);
    *done = !s->layer.runs;
    return status;
}

int mwi_wait(struct mw_device *d, const struct mw_wait_options *options, uint64_t number,
             uint64_t *cycles)
{
    struct mwi_state *s = &d->state;
    int status = mwi_run_to_done(d, options, launched_step, &number);
    if (status && s->layer.number == number && s->layer.runs)
        return status; // it continues
    if (s->layer.number != number)
        return mwi_fail(MW_ERR_STATE, "the layer has ended, and another has begun since");
    if (s->closed)
        return mwi_check_well(d, "mw_wait");
    s->layer.waited = true;
    if (cycles && (!s->layer.code || s->layer.code == MW_ERR_DEVICE))
        *cycles = s->layer.cycles;
    return s->layer.code ? mwi_fail(s->layer.code, "%s", s->layer.message) : 0;
}

int mw_wait(struct mw_device *device, const struct mw_wait_options *options, uint64_t *cycles)
{
    MWI_NEED(device);
    struct mw_wait_options o;
    int status = mwi_take_wait(&o, options);
    if (status)
        return status;
    mwi_lock(device);
    const struct mwi_state *s = &device->state;
    status = mwi_check_well(device, __func__);
    if (!status && !s->layer.runs && (!s->layer.number || s->layer.gone))
        status = mwi_fail(MW_ERR_STATE, "%s: nothing runs", __func__);
    if (!status)
        status = mwi_wait(device, &o, s->layer.number, cycles);
    return mwi_unlock(device, status);
}

// ---- without waiting ----------------------------------------------------------------------------

int mw_query(struct mw_device *device, struct mw_progress *progress)
{
    MWI_NEED(device);
    MWI_NEED(progress);
    mwi_lock(device);
    const struct mwi_state *s = &device->state;
    *progress = (struct mw_progress){.state = s->now};
    int status = mwi_check_open(device, __func__);
    if (!status && s->now == MW_STATE_RUNNING)
        status = mwi_look(device);
    if (!status)
        mwi_share_look(device);
    if (!status && (s->now == MW_STATE_RUNNING || s->layer.number) && s->now != MW_STATE_UNKNOWN)
        status = read_progress(device, NULL, &progress->tokens, &progress->cycles);
    progress->tokens_total = s->tokens_total;
    progress->state = mwi_state_outside(device);
    return mwi_unlock(device, status);
}

int mw_cancel(struct mw_device *device)
{
    MWI_NEED(device);
    mwi_lock(device);
    int status = mwi_check_well(device, __func__);
    if (!status && device->state.now == MW_STATE_RUNNING)
        mwi_state_canceled(device);
    else if (!status && device->combining)
        mwi_state_moves_canceled(device);
    else if (!status)
        status = mwi_fail(MW_ERR_STATE, "%s: nothing runs", __func__);
    return mwi_unlock(device, status);
}
