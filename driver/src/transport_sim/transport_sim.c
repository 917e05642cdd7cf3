// SPDX-License-Identifier: Apache-2.0
//
// The transport "sim": a Verilated model in this process, a shared object of its own
// (sim/mw_sim.h). model_find.h finds it. Before any of its code runs, its note is checked
// (model_note.h).
#include "transport_sim/transport_sim.h"

#include "core/error.h"
#include "transport_sim/model_find.h"
#include "transport_sim/queue.h"
#include "mw_sim.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    // between two looks at the queue of layers, where there is one
    SLICE_CYCLES = 256,
    SLICE_FLITS = 64,
    NO_MEMORY = -3, ///< of transfer
};

struct sim {
    void *library;
    const struct mw_sim_ops *ops;
    struct mw_sim *model;
    struct mw_simulation made;
    struct mwi_queue queue;
    mw_watch_fn watcher; ///< or NULL
    void *watcher_context;
};

static bool asks_for(const struct mw_open_options *o, const char *backend)
{
    return o->backend && strcmp(o->backend, backend) == 0;
}

static int check_backend(const struct mw_open_options *o, char *message, size_t size)
{
    if (!o->backend || asks_for(o, "plain") || (asks_for(o, "lanes") && !o->fst))
        return 0;
    if (asks_for(o, "lanes"))
        snprintf(message, size, "backend lanes writes no waveforms: plain does");
    else
        snprintf(message, size, "backend %s: lanes and plain are possible", o->backend);
    return MW_ERR_INVALID;
}

/// After a message of memory that is missing: a limit of this process, or nothing.
static void add_limit(char *message, size_t size)
{
    const size_t at = strlen(message);
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(message + at, size - at, " (ulimit -v allows this process %llu KB)",
                 (unsigned long long)limit.rlim_cur / 1024);
}

// ---- opening ------------------------------------------------------------------------------------

static int load(struct sim *s, const char *path, char *message, size_t size)
{
    errno = 0;
    char *full = realpath(path, NULL); // not one of that name in a folder of libraries
    s->library = full ? dlopen(full, RTLD_NOW | RTLD_LOCAL) : NULL;
    const int error = errno;
    if (!s->library) {
        const char *cause = full ? dlerror() : NULL;
        const bool memory = error == ENOMEM;
        free(full);
        if (cause)
            snprintf(message, size, "%s", cause);
        else
            snprintf(message, size, "%s: %s", path, strerror(error));
        if (memory)
            add_limit(message, size);
        return memory ? MW_ERR_NOMEM : MW_ERR_NODEV;
    }
    free(full);
    void *symbol = dlsym(s->library, "mw_sim_get_ops");
    if (!symbol) {
        snprintf(message, size, "%s is not a model", path);
        return MW_ERR_NODEV;
    }
    mw_sim_get_ops_fn get_ops;
    memcpy(&get_ops, &symbol, sizeof get_ops); // C has no cast from an object to a function
    s->ops = get_ops();
    if (s->ops->abi != MW_SIM_ABI) {
        snprintf(message, size, "%s has interface %u, the library %d", path, s->ops->abi,
                 MW_SIM_ABI);
        return MW_ERR_VERSION;
    }
    return 0;
}

static void sim_close(void *context)
{
    struct sim *s = context;
    if (s->model)
        s->ops->destroy(s->model);
    if (s->library)
        dlclose(s->library);
    free(s);
}

static int queue_cfg(void *context, bool write, uint32_t address, uint32_t *value)
{
    struct sim *s = context;
    return s->ops->cfg(s->model, write, address, value);
}

static uint64_t queue_cycles(void *context)
{
    struct sim *s = context;
    return s->ops->cycles(s->model);
}

static const struct mwi_queue_ops QUEUE_OPS = {queue_cfg, queue_cycles};

/// Why there is no model, which `create` does not report.
static int not_made(const struct sim *s, const struct mw_open_options *o, const char *path,
                    char *message, size_t size)
{
    FILE *waves = o->fst && s->ops->trace ? fopen(o->fst, "ab") : NULL;
    const bool memory = !o->fst || waves;
    if (o->fst && !s->ops->trace)
        snprintf(message, size, "%s writes no waveforms", path);
    else if (!memory)
        snprintf(message, size, "%s: %s", o->fst, strerror(errno));
    else
        snprintf(message, size, "no memory for the model %s", path);
    if (memory)
        add_limit(message, size);
    if (waves)
        fclose(waves);
    return memory ? MW_ERR_NOMEM : MW_ERR_IO;
}

static int sim_open(const struct mw_open_options *o, void **context, char *message, size_t size)
{
    char path[MWI_PATH];
    struct mw_simulation made;
    int status = check_backend(o, message, size);
    if (!status)
        status = mwi_model_find(o, path, &made, message, size);
    if (!status && o->backend && strcmp(o->backend, made.backend) != 0) {
        snprintf(message, size, "%s is %s, not %s", path, made.backend, o->backend);
        status = MW_ERR_NODEV;
    }
    if (status)
        return status;
    struct sim *s = calloc(1, sizeof *s);
    if (!s)
        return MW_ERR_NOMEM;
    s->made = made;
    status = load(s, path, message, size);
    if (!status) {
        s->model = s->ops->create(o->fst);
        if (!s->model)
            status = not_made(s, o, path, message, size);
    }
    if (status) {
        sim_close(s);
        return status;
    }
    s->queue = (struct mwi_queue){.ops = &QUEUE_OPS, .context = s, .gpus = s->ops->gpus};
    *context = s;
    return 0;
}

// ---- work ---------------------------------------------------------------------------------------

static int sim_cfg_read(void *context, uint32_t address, uint32_t *value)
{
    struct sim *s = context;
    return s->ops->cfg(s->model, false, address, value) ? MW_ERR_IO : 0;
}

static int sim_cfg_write(void *context, uint32_t address, uint32_t value)
{
    struct sim *s = context;
    return s->ops->cfg(s->model, true, address, &value) ? MW_ERR_IO : 0;
}

/// The pieces of every GPU in their order, a few flits at a time, so that the queue of layers
/// advances.
static int transfer_slices(struct sim *s, struct mw_sim_transfer *own, size_t count)
{
    struct mw_sim_transfer slice[MW_MAX_PORTS] = {0};
    int status = 0;
    for (unsigned n = 1; n && !status;) {
        bool seen[MW_MAX_PORTS] = {false};
        n = 0;
        for (size_t i = 0; i < count; i++) {
            struct mw_sim_transfer *t = &own[i];
            if (!t->flits || seen[t->gpu])
                continue;
            seen[t->gpu] = true;
            slice[n] = *t;
            slice[n].flits = t->flits < SLICE_FLITS ? t->flits : SLICE_FLITS;
            t->flit += slice[n].flits;
            t->data += slice[n].flits * s->ops->flit_bytes;
            t->flits -= slice[n++].flits;
        }
        status = s->ops->transfer(s->model, slice, n);
        mwi_queue_poll(&s->queue);
    }
    return status;
}

static int transfer(struct sim *s, bool write, const struct mw_transfer *list, size_t count)
{
    struct mw_sim_transfer *own = calloc(count ? count : 1, sizeof *own);
    if (!own)
        return MW_ERR_NOMEM;
    unsigned flit = s->ops->flit_bytes;
    for (size_t i = 0; i < count; i++)
        own[i] = (struct mw_sim_transfer){.gpu = list[i].gpu,
                                          .write = write,
                                          .flit = list[i].address / flit,
                                          .flits = list[i].bytes / flit,
                                          .data = list[i].data};
    int status = mwi_queue_busy(&s->queue) ? transfer_slices(s, own, count)
                                           : s->ops->transfer(s->model, own, count);
    free(own);
    return status == NO_MEMORY ? MW_ERR_NOMEM : status ? MW_ERR_IO : 0;
}

static int sim_mem_write(void *context, const struct mw_transfer *list, size_t count)
{
    return transfer(context, true, list, count);
}

static int sim_mem_read(void *context, const struct mw_transfer *list, size_t count)
{
    return transfer(context, false, list, count);
}

static int sim_run_until(void *context, uint64_t max_cycles, bool *done)
{
    struct sim *s = context;
    *done = s->ops->run(s->model, max_cycles);
    return 0;
}

static uint64_t sim_total_cycles(void *context)
{
    struct sim *s = context;
    return s->ops->cycles(s->model);
}

// ---- feeding ------------------------------------------------------------------------------------

static int sim_feed(void *context, const struct mw_register *list, size_t count, bool sweep,
                    uint32_t *number)
{
    struct sim *s = context;
    struct mw_frame_register own[MW_HOST_FEED_REGISTERS];
    for (size_t i = 0; i < count && i < MW_HOST_FEED_REGISTERS; i++)
        own[i] = (struct mw_frame_register){list[i].address, list[i].value};
    unsigned status = mwi_queue_add(&s->queue, own, count, sweep, number);
    mwi_queue_poll(&s->queue);
    if (!status)
        return 0;
    return mwi_fail(status == MW_STATUS_STATE ? MW_ERR_STATE : MW_ERR_IO,
                    "an earlier layer failed, or one runs that was not fed");
}

static int sim_fed(void *context, uint32_t number, uint64_t max_cycles, struct mw_fed *fed,
                   bool *done)
{
    struct sim *s = context;
    const struct mw_frame_fed *record;
    uint64_t end = s->ops->cycles(s->model) + max_cycles;
    for (;;) {
        mwi_queue_poll(&s->queue);
        unsigned status = mwi_queue_ask(&s->queue, number, &record);
        if (status)
            return mwi_fail(MW_ERR_STATE, "layer %u was not fed, or too long ago", number);
        *done = record != NULL;
        if (record)
            *fed = (struct mw_fed){record->cycles, record->start, record->outcome, record->error};
        if (record || s->ops->cycles(s->model) >= end)
            return 0;
        s->ops->run(s->model, SLICE_CYCLES);
    }
}

// ---- watching -----------------------------------------------------------------------------------

static void sim_event(void *context, const struct mw_sim_event *e)
{
    struct sim *s = context;
    struct mw_watch_event event = {.cycle = e->cycle, .place = e->place};
    switch (e->kind) {
    case MW_SIM_STREAM:
        event.kind = MW_WATCH_STREAM;
        event.stream.number = e->value[0];
        event.stream.state = (enum mw_stream_state)e->value[1];
        event.stream.op = e->value[2];
        event.stream.next = e->value[3];
        break;
    case MW_SIM_TILE:
        event.kind = MW_WATCH_TILE;
        event.tile.there = e->value[0];
        event.tile.local_expert = e->value[1];
        event.tile.first_row = e->value[2];
        event.tile.last_row = e->value[3];
        break;
    default:
        event.kind = MW_WATCH_ROWS;
        event.open_rows = e->value[0];
        break;
    }
    s->watcher(s->watcher_context, &event);
}

static int sim_watch(void *context, mw_watch_fn event, void *event_context)
{
    struct sim *s = context;
    if (!s->ops->watch)
        return mwi_fail(MW_ERR_CAPACITY, "this model does not show its internal state");
    s->watcher = event;
    s->watcher_context = event_context;
    s->ops->watch(s->model, event ? sim_event : NULL, s);
    return 0;
}

// ---- reset --------------------------------------------------------------------------------------

static int sim_reset(void *context)
{
    struct sim *s = context;
    mwi_queue_reset(&s->queue);
    s->ops->reset(s->model);
    return 0;
}

static int sim_model(void *context, struct mw_simulation *model)
{
    struct sim *s = context;
    *model = s->made;
    return 0;
}

const struct mw_transport mwi_transport_sim = {
    .size = sizeof(struct mw_transport),
    .name = "sim",
    .open = sim_open,
    .close = sim_close,
    .cfg_read = sim_cfg_read,
    .cfg_write = sim_cfg_write,
    .mem_write = sim_mem_write,
    .mem_read = sim_mem_read,
    .run_until = sim_run_until,
    .total_cycles = sim_total_cycles,
    .feed = sim_feed,
    .fed = sim_fed,
    .reset = sim_reset,
    .model = sim_model,
    .watch = sim_watch,
};
