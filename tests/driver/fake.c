// SPDX-License-Identifier: Apache-2.0
#include "fake.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODE(reg) ((uint32_t)offsetof(mw_node_t, reg))
#define FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))

uint32_t *fake_fabric(struct fake *f, uint32_t offset)
{
    return mwd_register(&f->registers, offset);
}

uint32_t *fake_node(struct fake *f, unsigned gpu, uint32_t offset)
{
    return mwd_register(&f->registers, MW_MAP_NODES + MW_MAP_NODE_STRIDE * gpu + offset);
}

void fake_free(struct fake *f)
{
    for (unsigned g = 0; g < f->gpus; g++)
        free(f->mem[g]);
}

int fake_open_by(struct fake *f, const struct mw_transport *transport, struct mw_device **device)
{
    struct mw_open_options o;
    mw_open_defaults(&o);
    o.gpus = f->gpus;
    o.flit_bytes = f->flit_bytes;
    o.custom = transport;
    o.custom_context = f;
    return mw_open(&o, device);
}

int fake_open(struct fake *f, struct mw_device **device)
{
    return fake_open_by(f, f->lists ? &fake_list_transport : &fake_transport, device);
}

void fake_fail_at(struct fake *f, long call)
{
    f->fail_at = call;
    f->calls = 0;
}

void fake_lose_at(struct fake *f, long call)
{
    f->lose_at = call;
    f->calls = 0;
}

static bool failing(struct fake *f)
{
    return f->calls++ == f->fail_at;
}

/// The status of a call that failing() has counted, after it was executed.
static int reply(const struct fake *f, long call)
{
    return call == f->lose_at ? MW_ERR_TIMEOUT : 0;
}

static int open_fake(const struct mw_open_options *o, void **context, char *message, size_t size)
{
    struct fake *f = o->custom_context;
    if (f->open_status) {
        snprintf(message, size, "the fake refuses");
        return f->open_status;
    }
    *context = f;
    *fake_fabric(f, FABRIC(state)) = 0;
    return 0;
}

static void close_fake(void *context)
{
    struct fake *f = context;
    f->closed++;
}

/// The running layer advances.
static void pass(struct fake *f, uint64_t cycles)
{
    uint64_t ran = cycles < f->left || f->stuck ? cycles : f->left;
    uint32_t now = *fake_fabric(f, FABRIC(cycles)) += (uint32_t)ran;
    if (!f->stuck)
        f->left -= ran;
    for (unsigned p = 0; p < f->gpus && f->flowing; p++)
        for (unsigned down = 0; down < 2; down++)
            *fake_fabric(f, FABRIC(counters) + 4 * (16 * p + 4 * down + MW_CLS_STORE)) = now / 2;
}

static int cfg_read(void *context, uint32_t address, uint32_t *value)
{
    struct fake *f = context;
    if (failing(f))
        return f->fail_with;
    if (f->read_cycles && *fake_fabric(f, FABRIC(state)) & MW_FABRIC__STATE__BUSY_bm)
        pass(f, f->read_cycles(f, address >= MW_MAP_NODES));
    if (address == f->port_word && f->port_polls && !--f->port_polls)
        *fake_fabric(f, f->port_word) = f->ports;
    if (mwd_access(&f->registers, false, address, value))
        fail_msg("0x%x cannot be read", address);
    if (address == FABRIC(state) && f->polls) {
        f->polls -= f->sweep_polls != FAKE_MEM;
        *value |= MW_FABRIC__STATE__SWEEP_BUSY_bm;
    }
    return 0;
}

/// Record the tables when a layer begins. A fake with `echo` finishes its rows at once.
static void begin(struct fake *f)
{
    memcpy(f->emap_at_go, fake_fabric(f, FABRIC(emap)), sizeof f->emap_at_go);
    memcpy(f->groups_at_go, fake_fabric(f, FABRIC(groups)), sizeof f->groups_at_go);
    for (unsigned g = 0; g < f->gpus && f->echo; g++) {
        const size_t xs = *fake_node(f, g, NODE(xs_base)), out = *fake_node(f, g, NODE(out_base));
        const unsigned tokens = *fake_node(f, g, NODE(shape)) >> 16,
                       shift = *fake_node(f, g, NODE(shifts)) >> MW_NODE__SHIFTS__ROW_SHIFT_bp & 15;
        memcpy(f->mem[g] + out * MW_BASE_UNIT, f->mem[g] + xs * MW_BASE_UNIT,
               (size_t)tokens << shift);
    }
}

static void write_register(struct fake *f, uint32_t address, uint32_t value)
{
    if (mwd_access(&f->registers, true, address, &value))
        fail_msg("0x%x cannot be written", address);
    if (address == FABRIC(control) && value & MW_FABRIC__CONTROL__GO_bm) {
        begin(f);
        f->go++;
        f->left = f->layer_cycles;
        *fake_fabric(f, FABRIC(cycles)) = 0;
        *fake_fabric(f, FABRIC(state)) = MW_FABRIC__STATE__BUSY_bm;
    }
    if (address == FABRIC(ports)) {
        const unsigned number = value & MW_FABRIC__PORTS__PORT_bm;
        const uint32_t port = 1u << number % 32;
        f->port_word = FABRIC(down) + number / 32 * 4;
        f->ports = *fake_fabric(f, f->port_word) & ~port;
        f->ports |= value & MW_FABRIC__PORTS__DOWN_bm ? port : 0;
        f->port_polls = 4;
    }
    if (address == FABRIC(control) && value & MW_FABRIC__CONTROL__SWEEP_bm) {
        f->sweeps++;
        f->polls = f->sweep_polls;
        if (f->on_sweep)
            f->on_sweep();
    }
}

static int cfg_write(void *context, uint32_t address, uint32_t value)
{
    struct fake *f = context;
    const long call = f->calls;
    if (failing(f))
        return f->fail_with;
    write_register(f, address, value);
    return reply(f, call);
}

/// One request for many registers, up to the first that fails.
static int cfg_list(void *context, struct mw_register *list, size_t count, bool write)
{
    struct fake *f = context;
    const long call = f->calls;
    int status = 0;
    if (write && failing(f))
        return f->fail_with;
    for (size_t i = 0; i < count && !status; i++) {
        if (write)
            write_register(f, list[i].address, list[i].value);
        else
            status = cfg_read(f, list[i].address, &list[i].value);
    }
    return status ? status : write ? reply(f, call) : 0;
}

static int mem_write(void *context, const struct mw_transfer *list, size_t count)
{
    struct fake *f = context;
    if (failing(f))
        return f->fail_with;
    if (f->on_move)
        f->on_move(f, true);
    for (size_t i = 0; i < count; i++)
        if (list[i].bytes)
            memcpy(f->mem[list[i].gpu] + list[i].address, list[i].data, list[i].bytes);
    return 0;
}

static int mem_read(void *context, const struct mw_transfer *list, size_t count)
{
    struct fake *f = context;
    if (failing(f))
        return f->fail_with;
    if (f->on_move)
        f->on_move(f, false);
    for (size_t i = 0; i < count; i++)
        if (list[i].bytes)
            memcpy(list[i].data, f->mem[list[i].gpu] + list[i].address, list[i].bytes);
    return 0;
}

static int run_until(void *context, uint64_t max_cycles, bool *done)
{
    struct fake *f = context;
    if (failing(f))
        return f->fail_with;
    if (f->on_run)
        f->on_run(f);
    pass(f, max_cycles);
    if (f->moving)
        ++*fake_fabric(f, FABRIC(counters) + 4 * 1);
    *done = f->left == 0;
    if (*done)
        *fake_fabric(f, FABRIC(state)) = MW_FABRIC__STATE__DONE_bm;
    return 0;
}

static int queue_cfg(void *context, bool write, uint32_t address, uint32_t *value)
{
    struct fake *f = context;
    if (!mwd_register(&f->registers, address))
        return -1;
    return write ? cfg_write(context, address, *value) : cfg_read(context, address, value);
}

static uint64_t queue_cycles(void *context)
{
    struct fake *f = context;
    return 100u * ++f->looks;
}

static int feed(void *context, const struct mw_register *list, size_t count, bool sweep,
                uint32_t *number)
{
    struct fake *f = context;
    const long call = f->calls;
    struct mw_frame_register own[MW_HOST_FEED_REGISTERS];
    if (failing(f))
        return f->fail_with;
    assert(count <= MW_HOST_FEED_REGISTERS);
    for (size_t i = 0; i < count; i++)
        own[i] = (struct mw_frame_register){list[i].address, list[i].value};
    unsigned status = mwi_queue_add(&f->queue, own, count, sweep, number);
    int code = reply(f, call);
    mwi_queue_poll(&f->queue);
    return status ? MW_ERR_STATE : code;
}

static int fed(void *context, uint32_t number, uint64_t max_cycles, struct mw_fed *r, bool *done)
{
    struct fake *f = context;
    const struct mw_frame_fed *record;
    bool ended;
    if (failing(f))
        return f->fail_with;
    mwi_queue_poll(&f->queue);
    if (mwi_queue_ask(&f->queue, number, &record))
        return MW_ERR_STATE;
    *done = record;
    if (!record)
        return run_until(f, max_cycles, &ended);
    *r = (struct mw_fed){record->cycles, record->start, record->outcome, record->error};
    return 0;
}

/// State after power-up: tables have any contents.
static int reset(void *context)
{
    struct fake *f = context;
    const long call = f->calls;
    if (failing(f))
        return f->fail_with;
    f->resets++;
    mwi_queue_reset(&f->queue);
    memset(fake_fabric(f, FABRIC(emap)), 0xa5, sizeof f->emap_at_go);
    memset(fake_fabric(f, FABRIC(groups)), 0xa5, sizeof f->groups_at_go);
    memset(f->registers.node, 0, sizeof f->registers.node);
    *fake_fabric(f, FABRIC(state)) = 0;
    *fake_fabric(f, FABRIC(link)) = 0;
    f->left = f->polls = 0;
    return reply(f, call);
}

void fake_init(struct fake *f, unsigned gpus, unsigned flit_bytes)
{
    memset(f, 0, sizeof *f);
    f->gpus = gpus;
    f->flit_bytes = flit_bytes;
    f->fail_at = f->lose_at = FAKE_NEVER;
    f->fail_with = MW_ERR_IO;
    f->layer_cycles = 1000;
    f->sweep_polls = 3;
    mwd_registers_reset(&f->registers, gpus, flit_bytes, FAKE_MEM_LOG2);
    *fake_fabric(f, FABRIC(lookahead)) = 16u << 8;
    *fake_fabric(f, FABRIC(primitives)) =
        MW_FABRIC__PRIMITIVES__ADDER_BYPASS_bm | MW_FABRIC__PRIMITIVES__TARGET_LIST_CACHE_bm |
        MW_FABRIC__PRIMITIVES__LINK_RATE_bm | MW_FABRIC__PRIMITIVES__MULTIMEM_RED_bm |
        MW_FABRIC__PRIMITIVES__RED_TYPES_bm;
    static const struct mwi_queue_ops ops = {queue_cfg, queue_cycles};
    f->queue = (struct mwi_queue){.ops = &ops, .context = f, .gpus = gpus};
    for (unsigned g = 0; g < gpus; g++)
        f->mem[g] = calloc(1, FAKE_MEM);
}

#define CALLS \
    .size = sizeof(struct mw_transport), .open = open_fake, .close = close_fake, \
    .cfg_read = cfg_read, .cfg_write = cfg_write, .mem_write = mem_write, .mem_read = mem_read, \
    .run_until = run_until, .feed = feed, .fed = fed, .reset = reset

const struct mw_transport fake_transport = {.name = "fake", CALLS};
const struct mw_transport fake_list_transport = {.name = "fake", CALLS, .cfg_list = cfg_list};

struct mw_layer_config small_config(void)
{
    struct mw_layer_config c;
    mw_layer_defaults(&c);
    c.k = 3;
    c.tokens_per_gpu = 5;
    c.row_bytes = 40;
    c.experts_per_gpu = 3;
    c.rows_per_expert = 6;
    return c;
}
