// SPDX-License-Identifier: Apache-2.0
//
// A layer on the device: registers, go, waiting for done, and what to say when it does not come.
//
// Epochs: every go opens the next of four. An allocation entry of another epoch counts as empty, so
// the tables are cleared (swept) only when an epoch comes again, and when the tables move.
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    STEP_CYCLES = 50000,
    QUIET_CYCLES = 200000,  ///< beside what the layer's own times explain
    SWEEP_POLLS = 10000000, ///< each is some cycles
    SWEEP_LOOKS = 64,       ///< of them in one request
};

// ---- registers ------------------------------------------------------------------------------------------

struct reg_value {
    uint32_t offset; ///< in a node
    uint32_t value;
};

#define REG(name) (uint32_t) offsetof(mw_node_t, name)
enum { MAX_REGS = 32 };

/// The registers of one GPU; returns how many.
static unsigned node_registers(struct reg_value *r, const struct mw_device_info *info,
                               const struct mw_layer_config *c, const struct mw_layout *l,
                               unsigned gpu, unsigned tokens, unsigned experts, unsigned streams)
{
    const struct reg_value all[] = {
        {REG(shape), MWI_PUT(MW_NODE__SHAPE__K, c->k) | MWI_PUT(MW_NODE__SHAPE__TOKENS, tokens)},
        {REG(shifts), MWI_PUT(MW_NODE__SHIFTS__TOKEN_SHIFT, l->token_shift) |
                          MWI_PUT(MW_NODE__SHIFTS__N_SHIFT, l->n_shift) |
                          MWI_PUT(MW_NODE__SHIFTS__K_SHIFT, l->k_shift) |
                          MWI_PUT(MW_NODE__SHIFTS__ROW_SHIFT, l->row_shift) |
                          MWI_PUT(MW_NODE__SHIFTS__GATE_SHIFT, l->gate_shift) |
                          MWI_PUT(MW_NODE__SHIFTS__CAP_SHIFT, l->cap_shift)},
        {REG(row), MWI_PUT(MW_NODE__ROW__ROW_BYTES, c->row_bytes) |
                       MWI_PUT(MW_NODE__ROW__LOCAL_EXPERTS, experts)},
        {REG(xs_base), BASE(l->xs_base)},
        {REG(rt_base), BASE(l->rt_base)},
        {REG(xd_base), BASE(l->xd_base)},
        {REG(yd_base), BASE(l->yd_base)},
        {REG(gt_base), BASE(l->gt_base)},
        {REG(al_base), BASE(l->al_base)},
        {REG(out_base), BASE(l->out_base)},
        {REG(cb_base), BASE(l->cb_base)},
        {REG(ce_base), BASE(l->ce_base)},
        {REG(st_lo), BASE(l->st_lo)},
        {REG(st_hi), BASE(l->st_hi)},
        {REG(stream_base0), BASE(l->stream[0])},
        {REG(stream_base1), BASE(l->stream[1])},
        {REG(stream_base2), BASE(l->stream[2])},
        {REG(stream_base3), BASE(l->stream[3])},
        {REG(streams), MWI_PUT(MW_NODE__STREAMS__ENABLE, streams) |
                           MWI_PUT(MW_NODE__STREAMS__START_DELAY, c->start_delay * gpu)},
        {REG(expert), MWI_PUT(MW_NODE__EXPERT__TILE, c->tile) |
                          MWI_PUT(MW_NODE__EXPERT__EXPERT_CYCLES, c->expert_cycles)},
        {REG(partial), MWI_PUT(MW_NODE__PARTIAL__ENABLE, c->partial_tiles) |
                           MWI_PUT(MW_NODE__PARTIAL__WAIT_CYCLES, c->partial_wait)},
        {REG(window),
         MWI_PUT(MW_NODE__WINDOW__IN_FLIGHT, c->in_flight) |
             MWI_PUT(MW_NODE__WINDOW__OPEN_ROWS, c->open_rows ? c->open_rows : info->open_rows)},
        {REG(credits), MWI_PUT(MW_NODE__CREDITS__STORE, c->store_credits) |
                           MWI_PUT(MW_NODE__CREDITS__PART, c->part_credits) |
                           MWI_PUT(MW_NODE__CREDITS__CTRL, c->ctrl_credits) |
                           MWI_PUT(MW_NODE__CREDITS__THROTTLE, c->throttle)},
    };
    unsigned count = sizeof all / sizeof *all;
    static_assert(sizeof all / sizeof *all <= MAX_REGS, "room for all registers");
    for (unsigned i = 0; i < count; i++)
        r[i] = all[i];
    return count;
}

static int check_config(const struct mw_device *d, const struct mw_layer_config *c,
                        const unsigned *tokens, const unsigned *experts, unsigned streams)
{
    if (c->tile < 1 || c->tile > 255 || c->expert_cycles > 65535 || c->partial_wait > 65535 ||
        c->in_flight > 65535 || c->open_rows > 255 || c->store_credits > 255 ||
        c->part_credits > 255 || c->ctrl_credits > 255 || c->throttle > 255 ||
        c->down_store_credits > 255 || c->down_part_credits > 255 || c->down_throttle > 255)
        return mwi_fail(MW_ERR_INVALID, "a setting of the layer does not fit its register");
    if (c->open_rows > d->info.open_rows)
        return mwi_fail(MW_ERR_CAPACITY, "open_rows: %u, the device has %u", c->open_rows,
                        d->info.open_rows);
    if (c->start_delay * (uint64_t)(d->info.gpus - 1) > 65535)
        return mwi_fail(MW_ERR_INVALID, "start_delay: the last GPU may start 65535 cycles late");
    if (streams >= 1u << MW_STREAMS)
        return mwi_fail(MW_ERR_INVALID, "streams 0x%x: there are %d", streams, MW_STREAMS);
    for (unsigned g = 0; g < d->info.gpus; g++)
        if (tokens[g] > c->tokens_per_gpu || experts[g] > c->experts_per_gpu)
            return mwi_fail(MW_ERR_INVALID,
                            "GPU %u: %u tokens and %u experts, the layout has %u and %u", g,
                            tokens[g], experts[g], c->tokens_per_gpu, c->experts_per_gpu);
    return 0;
}

/// Only what a layer uses is cleared: again when the tables moved, and when their sizes are others.
static void note_tables(struct mw_device *d, const struct mw_layer_config *c,
                        const struct mw_layout *l)
{
    uint64_t base = l->al_base;
    uint64_t entries = (uint64_t)c->experts_per_gpu << (l->n_shift + l->token_shift);
    uint64_t rows = (uint64_t)c->experts_per_gpu << l->cap_shift;
    if (d->tables[0] != base || d->tables[1] != entries || d->tables[2] != rows)
        d->sweep = true;
    d->tables[0] = base;
    d->tables[1] = entries;
    d->tables[2] = rows;
}

int mw_layer_configure(struct mw_device *device, const struct mw_layer_config *config,
                       const struct mw_layout *layout, const unsigned *tokens,
                       const unsigned *experts, unsigned streams)
{
    mwi_lock(device);
    struct mw_device *d = device;
    int status = mwi_check_idle(d, "mw_layer_configure");
    if (!status)
        status = check_config(d, config, tokens, experts, streams);
    if (!status)
        status = mwi_write(d, MWI_FABRIC(credits),
                           MWI_PUT(MW_FABRIC__CREDITS__STORE, config->down_store_credits) |
                               MWI_PUT(MW_FABRIC__CREDITS__PART, config->down_part_credits) |
                               MWI_PUT(MW_FABRIC__CREDITS__THROTTLE, config->down_throttle));
    if (!status)
        status = mwi_write(d, MWI_FABRIC(lookahead),
                           MWI_PUT(MW_FABRIC__LOOKAHEAD__PACKETS, config->window));
    d->tokens_total = 0;
    for (unsigned g = 0; g < d->info.gpus && !status; g++) {
        struct reg_value r[MAX_REGS];
        unsigned count =
            node_registers(r, &d->info, config, layout, g, tokens[g], experts[g], streams);
        for (unsigned i = 0; i < count && !status; i++)
            status = mwi_write(d, MWI_NODE(g, shape) + r[i].offset, r[i].value);
        d->tokens_total += tokens[g];
    }
    if (!status) {
        note_tables(d, config, layout);
        d->configured = true;
        d->fed.used = false;
        d->quiet_cycles = QUIET_CYCLES + 2ull * config->tile * config->expert_cycles +
                          config->partial_wait + config->start_delay * (uint64_t)d->info.gpus;
    }
    return mwi_unlock(d, status);
}

// ---- go -----------------------------------------------------------------------------------------------------

int mwi_sweep(struct mw_device *d)
{
    int status = mwi_write(d, MWI_FABRIC(control), MW_FABRIC__CONTROL__SWEEP_bm);
    // A simulated device gets on only while it is looked at, so that many looks at once save round trips.
    struct mw_register looks[SWEEP_LOOKS];
    unsigned count = d->transport->cfg_list ? SWEEP_LOOKS : 1;
    for (unsigned i = 0; i < SWEEP_POLLS && !status; i += count) {
        for (unsigned k = 0; k < count; k++)
            looks[k].address = MWI_FABRIC(state);
        status = mwi_read_list(d, looks, count);
        if (!status && !(looks[count - 1].value & MW_FABRIC__STATE__SWEEP_BUSY_bm)) {
            d->sweep = false;
            d->epoch = 0;
            return 0;
        }
    }
    return status ? status : mwi_fail(MW_ERR_TIMEOUT, "the allocation tables are not cleared");
}

int mw_launch(struct mw_device *device)
{
    mwi_lock(device);
    struct mw_device *d = device;
    int status = mwi_check_idle(d, "mw_launch");
    if (!status && (!d->configured || d->fed.used))
        status = mwi_fail(MW_ERR_STATE, "mw_launch: no layer was configured%s",
                          d->configured ? " since mw_feed" : "");
    if (!status && (d->sweep || d->epoch == MWI_EPOCHS))
        status = mwi_sweep(d);
    if (!status)
        status = mwi_write(d, MWI_FABRIC(epoch), d->epoch);
    if (!status)
        status = mwi_write(d, MWI_FABRIC(control), MW_FABRIC__CONTROL__GO_bm);
    if (!status)
        status = mwi_flush(d);
    if (!status) {
        d->running = true;
        d->epoch++;
    }
    return mwi_unlock(d, status);
}

// ---- waiting ---------------------------------------------------------------------------------------------------

/// A number that changes whenever the layer gets on: flits, tiles, tokens and instructions.
static int read_activity(struct mw_device *d, uint64_t *activity, uint64_t *tokens)
{
    enum { WORDS = MW_NUM_CLASSES + 3 };
    int status = 0;
    *activity = *tokens = 0;
    for (unsigned g = 0; g < d->info.gpus && !status; g++) {
        struct mw_register list[WORDS] = {{.address = MWI_NODE(g, status.tokens_done)},
                                          {.address = MWI_NODE(g, status.expert_tiles)},
                                          {.address = MWI_NODE(g, status.retired)}};
        for (unsigned c = 0; c < MW_NUM_CLASSES; c++)
            list[3 + c].address = MWI_FABRIC(counters) + 4 * (16 * g + c);
        status = mwi_read_list(d, list, WORDS);
        for (unsigned i = 0; i < WORDS && !status; i++)
            *activity += list[i].value;
        *tokens += status ? 0 : list[0].value;
    }
    return status;
}

static int read_cycles(struct mw_device *d, uint64_t *cycles)
{
    uint32_t value = 0;
    int status = mwi_read(d, MWI_FABRIC(cycles), &value);
    *cycles = value;
    return status;
}

/// MW_ERR_DEVICE with a message about the first error that the hardware recorded, or 0.
static int check_errors(struct mw_device *d)
{
    uint32_t word, mask;
    int status;
    if ((status = mwi_read(d, MWI_FABRIC(error), &word)) ||
        (status = mwi_read(d, MWI_FABRIC(node_error), &mask)))
        return status;
    unsigned count = MWI_GET(MW_FABRIC__ERROR__COUNT, word);
    if (count)
        return mwi_fail(MW_ERR_DEVICE, "switch, input %u: %s (%u errors)",
                        MWI_GET(MW_FABRIC__ERROR__PORT, word),
                        mw_hw_strerror(MWI_GET(MW_FABRIC__ERROR__FIRST, word)), count);
    for (unsigned g = 0; g < d->info.gpus; g++) {
        if (!(mask >> g & 1))
            continue;
        if ((status = mwi_read(d, MWI_NODE(g, status.error), &word)))
            return status;
        return mwi_fail(MW_ERR_DEVICE, "GPU %u: %s (%u errors)", g,
                        mw_hw_strerror(MWI_GET(MW_NODE__STATUS__ERROR__FIRST, word)),
                        MWI_GET(MW_NODE__STATUS__ERROR__COUNT, word));
    }
    return 0;
}

/// MW_ERR_TIMEOUT with a message that names the first port that is down.
static int give_up(struct mw_device *d, uint64_t quiet, uint64_t tokens)
{
    char port[40] = "";
    uint32_t down;
    int status = mwi_read(d, MWI_FABRIC(down), &down);
    if (status)
        return status;
    if (down)
        snprintf(port, sizeof port, ", port %d is down", __builtin_ctz(down));
    return mwi_fail(MW_ERR_TIMEOUT,
                    "no progress for %llu cycles, %llu of %llu tokens are finished%s",
                    (unsigned long long)quiet, (unsigned long long)tokens,
                    (unsigned long long)d->tokens_total, port);
}

int mwi_run_to_done(struct mw_device *d, const struct mw_wait_options *o, mwi_step_fn step,
                    void *context)
{
    static const struct mw_wait_options DEFAULTS;
    o = o ? o : &DEFAULTS;
    uint64_t step_cycles = o->step_cycles ? o->step_cycles : STEP_CYCLES;
    uint64_t limit = o->quiet_cycles ? o->quiet_cycles : d->quiet_cycles;
    uint64_t last = UINT64_MAX, quiet_since = 0;
    for (;;) {
        bool done = false;
        uint64_t activity, tokens, cycles;
        int status = mwi_flush(d);
        if (status)
            return status;
        mwi_say_nothing();
        status = step(d, context, step_cycles, &done);
        if (status)
            return mwi_fail_also(status, "the device cannot be run");
        if (done)
            return 0;
        if ((status = read_activity(d, &activity, &tokens)) || (status = read_cycles(d, &cycles)))
            return status;
        if (o->progress)
            o->progress(o->progress_context, tokens, d->tokens_total, cycles);
        if (activity != last || cycles < quiet_since) { // another layer has begun
            last = activity;
            quiet_since = cycles;
        } else if (cycles - quiet_since >= limit) {
            return give_up(d, cycles - quiet_since, tokens);
        }
    }
}

static int run_step(struct mw_device *d, void *context, uint64_t cycles, bool *done)
{
    (void)context;
    return d->transport->run_until(d->context, cycles, done);
}

int mw_wait(struct mw_device *device, const struct mw_wait_options *options, uint64_t *cycles)
{
    mwi_lock(device);
    struct mw_device *d = device;
    int status = d->running ? 0 : mwi_fail(MW_ERR_STATE, "mw_wait: nothing runs");
    if (!status)
        status = mwi_run_to_done(d, options, run_step, NULL);
    if (!status) {
        uint64_t value;
        d->running = false;
        if (!(status = read_cycles(d, &value)) && cycles)
            *cycles = value;
    }
    if (!status)
        status = check_errors(d);
    return mwi_unlock(d, status);
}
