// SPDX-License-Identifier: Apache-2.0
//
// mw_system_run: all layers of a workload under one system on one device, through libmoeswitch. The
// memories are laid out once, for the largest layer; routing tables and hidden values are loaded
// between layers, while the device is idle.
#include "job.h"

#include <stdlib.h>
#include <string.h>

enum {
    PARTIAL_WAIT = 8, ///< cycles without work before --partial-tiles starts an open tile
    GUARD_WAIT = 256, ///< the same where only the limit on tokens in flight asks for it
    FEED_BUFFERS = 2,
};

static const struct mw_generator *const generators[] = {
    &mw_generate_unicast, &mw_generate_dysharp_basic, &mw_generate_dysharp};

// ---- settings -----------------------------------------------------------------------------------

/// One field of the layer's configuration, from the option that `what` names.
static int set_field(struct job *j, const char *what, const char *field, uint64_t value)
{
    if (mw_layer_set(&j->config, field, value))
        return mw_fail(j->err, MW_EXIT_INPUT, "%s: %s", what, mw_message());
    return MW_EXIT_OK;
}

/// --set: limits of the links that the library knows by the same name, and those of this file.
static int set_setting(struct job *j, const struct mw_setting *s)
{
    static const char *const fields[] = {
        "store_credits", "part_credits",  "ctrl_credits", "down_store_credits", "down_part_credits",
        "throttle",      "down_throttle", "window",       "start_delay",        "partial_wait"};
    const struct {
        const char *name;
        uint64_t *place, high;
    } own[] = {{"small", &j->small, 1},
               {"quiet_cycles", &j->quiet_cycles, UINT32_MAX},
               {"tile_guard", &j->tile_guard, 1},
               {"latency_classes", &j->latency_classes, 15},
               {"port_limit", &j->port_limit, 22},
               {"fault", &j->fault, MW_FAULT_ALL},
               {"fault_gpu", &j->fault_gpu, MW_MAX_PORTS - 1},
               {"fault_after", &j->fault_after, 64 * UINT16_MAX}};
    char what[64];
    snprintf(what, sizeof what, "--set %s=%llu", s->name, (unsigned long long)s->value);
    for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(s->name, fields[i]) == 0)
            return set_field(j, what, fields[i], s->value);
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++) {
        if (strcmp(s->name, own[i].name) != 0)
            continue;
        *own[i].place = s->value;
        if (s->value > own[i].high)
            return mw_fail(j->err, MW_EXIT_INPUT, "%s: expected 0 to %llu", what,
                           (unsigned long long)own[i].high);
        return MW_EXIT_OK;
    }
    return mw_fail(j->err, MW_EXIT_INPUT, "%s: there is no setting of that name", what);
}

/// A limit on tokens in flight can fill the window with rows of tiles that never become full (order
/// rule 8 of docs/architecture.md); then idle engines must start them all the same.
static void guard_tiles(struct job *j)
{
    struct mw_layer_config *c = &j->config;
    uint64_t safe = (uint64_t)j->w->experts * (c->tile - 1);
    if (!j->tile_guard || c->partial_tiles || !c->in_flight || c->in_flight > safe)
        return;
    c->partial_tiles = true;
    if (c->partial_wait < GUARD_WAIT)
        c->partial_wait = GUARD_WAIT;
}

/// What the layer's engines and links do. A system in phases dispatches everything before it combines
/// anything, so that a limit on tokens in flight does not apply to it.
static int set_behaviour(struct job *j)
{
    const struct mw_run_params *p = j->params;
    int status;
    mw_layer_defaults(&j->config);
    j->config.partial_wait = PARTIAL_WAIT;
    j->config.partial_tiles = p->partial_tiles;
    j->tile_guard = 1;
    j->latency_classes = 1u << MW_CLS_STORE;
    j->port_limit = UINT64_MAX;
    if ((status = set_field(j, "--tile", "tile", p->tile)) ||
        (status = set_field(j, "--expert-cycles", "expert_cycles", p->expert_cycles)) ||
        (status = set_field(j, "--open-rows", "open_rows", p->open_rows)) ||
        (status = set_field(j, "--in-flight", "in_flight", p->in_flight)))
        return status;
    for (unsigned i = 0; i < p->settings.count && !status; i++)
        status = set_setting(j, &p->settings.item[i]);
    if (j->system->phased)
        j->config.in_flight = 0;
    if (!status)
        guard_tiles(j);
    return status;
}

// ---- sizes --------------------------------------------------------------------------------------

static unsigned most(const unsigned *count, unsigned n)
{
    unsigned max = 0;
    for (unsigned i = 0; i < n; i++)
        max = count[i] > max ? count[i] : max;
    return max;
}

/// Rows of each expert in one layer, and tokens with an expert on each GPU.
static void count_rows(const struct mw_workload *w, unsigned layer, unsigned *rows,
                       unsigned *received)
{
    for (unsigned t = 0; t < w->tokens; t++) {
        uint32_t gpus = 0;
        for (unsigned i = 0; i < w->k; i++) {
            uint16_t e = w->layer[layer].ids[(size_t)t * w->k + i];
            if (e == MW_NO_EXPERT)
                continue;
            rows[e]++;
            gpus |= 1u << mw_gpu_of_expert(w, e);
        }
        for (unsigned q = 0; q < w->shape.gpus; q++)
            received[q] += gpus >> q & 1;
    }
}

/// Sizes for the largest of the layers, so that nothing moves between them.
static int set_sizes(struct job *j)
{
    const struct mw_workload *w = j->w;
    struct mw_layer_config *c = &j->config;
    unsigned *rows = malloc(w->experts * sizeof *rows);
    if (!rows)
        return mw_fail_memory(j->err, "row counts");
    c->k = w->k;
    c->tokens_per_gpu = w->shape.tokens_per_gpu;
    c->row_bytes = 2 * w->shape.hidden;
    c->experts_per_gpu = w->experts_per_gpu;
    c->stream_instrs = j->generator->instrs;
    c->buffers = w->shape.batches ? FEED_BUFFERS : 1;
    // a unicast layout is one with received rows: at least one, where no token has any expert
    unsigned most_received = 1;
    for (unsigned l = 0; l < w->layers; l++) {
        unsigned received[MW_MAX_GPUS] = {0};
        memset(rows, 0, w->experts * sizeof *rows);
        count_rows(w, l, rows, received);
        unsigned r = most(rows, w->experts), m = most(received, w->shape.gpus);
        c->rows_per_expert = r > c->rows_per_expert ? r : c->rows_per_expert;
        most_received = m > most_received ? m : most_received;
    }
    if (!j->system->multicast)
        c->received_rows = most_received;
    free(rows);
    return MW_EXIT_OK;
}

// ---- device -------------------------------------------------------------------------------------

static int open_device(struct job *j)
{
    struct mw_open_options o;
    if (j->params->device.usb && j->small)
        return mw_fail(j->err, MW_EXIT_INPUT, "--set small: only with --device sim");
    mw_device_options(&j->params->device, &o);
    o.gpus = j->params->shape.gpus;
    o.flit_bytes = j->params->flit_bytes;
    o.link_latency = j->params->link_latency;
    o.small = j->small;
    o.fst = j->params->fst;
    int code = mw_open(&o, &j->device);
    return code ? mw_job_failed(j, "device", code) : MW_EXIT_OK;
}

static int map_experts(struct job *j)
{
    int code = mw_expert_map_even(j->device, j->w->experts);
    return code ? mw_job_failed(j, "expert map", code) : MW_EXIT_OK;
}

static void make_streams(void *context, unsigned gpu, struct mw_stream *s)
{
    const struct job *j = context;
    (void)gpu;
    j->generator->make(s, j->w->shape.gpus, j->w->shape.tokens_per_gpu);
}

static int load_streams(struct job *j)
{
    int code = mw_streams_load(j->device, &j->layout, j->generator->streams, make_streams, j);
    return code ? mw_job_failed(j, "instruction streams", code) : MW_EXIT_OK;
}

static int configure(struct job *j)
{
    unsigned tokens[MW_MAX_GPUS], experts[MW_MAX_GPUS];
    for (unsigned g = 0; g < j->w->shape.gpus; g++) {
        tokens[g] = j->w->shape.tokens_per_gpu;
        experts[g] = j->w->experts_per_gpu;
    }
    int code = mw_layer_configure(j->device, &j->config, &j->layout, tokens, experts,
                                  (1u << j->generator->streams) - 1);
    return code ? mw_job_failed(j, "layer", code) : MW_EXIT_OK;
}

// ---- data of a layer ----------------------------------------------------------------------------

static int load_coefficients(struct job *j)
{
    int code =
        mw_coefficients_load(j->device, &j->layout, j->w->experts_per_gpu, j->w->coefficients);
    return code ? mw_job_failed(j, "expert coefficients", code) : MW_EXIT_OK;
}

/// Output rows get a pattern first, so that one that the device never writes does not pass with the
/// bits of the layer before.
static int load_layer(struct job *j)
{
    const struct mw_workload *w = j->w;
    size_t values = (size_t)w->tokens * w->shape.hidden;
    uint16_t *out = j->result->layer[j->layer].out;
    int status = mw_job_load_routing(j, j->layer, j->layout.rt_base);
    if (!status)
        status = mw_job_load_rows(j, j->layout.xs_base, w->layer[j->layer].x, "hidden values");
    for (size_t i = 0; i < values; i++)
        out[i] = 0xdead;
    return status ? status : mw_job_load_rows(j, j->layout.out_base, out, "output rows");
}

// ---- running ------------------------------------------------------------------------------------

/// Tokens finish early where everything overlaps; where phases follow each other, only at the end, so
/// that time against the bound tells more.
static int show_progress(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    const struct job *j = context;
    double done = total ? (double)tokens / (double)total : 0;
    if (j->system->phased && j->own_bound)
        done = (double)cycles / (double)j->own_bound;
    if (j->params->progress)
        j->params->progress(j->params->progress_context, j->layer, done < 0.99 ? done : 0.99,
                            cycles);
    struct mw_monitor *monitor = j->result->layer[j->layer].monitor;
    if (monitor)
        mw_monitor_fetch(monitor, j->device); // a failure shows in the samples that are missing
    return 0;
}

/// The ports shall record this layer.
static int set_monitor(struct job *j)
{
    struct mw_layer_result *r = &j->result->layer[j->layer];
    struct mw_monitor *m = r->monitor = calloc(1, sizeof *m);
    if (!m)
        return mw_fail_memory(j->err, "the monitors");
    m->ports = j->w->shape.gpus;
    m->interval = j->params->interval;
    if (!m->interval)
        m->interval = mw_monitor_interval(j->own_bound, m->ports);
    int code = mw_monitor_set(j->device, (unsigned)j->latency_classes, m->interval);
    return code ? mw_job_failed(j, "monitors", code) : MW_EXIT_OK;
}

static int run_layer(struct job *j)
{
    struct mw_layer_result *r = &j->result->layer[j->layer];
    struct mw_wait_options o = {.size = sizeof o, .quiet_cycles = j->quiet_cycles};
    if (j->params->progress || j->params->monitor) {
        const struct mw_link_parameters link = {j->params->flit_bytes, j->params->expert_cycles};
        struct mw_bounds bounds;
        mw_bounds_compute(j->w, j->layer, j->system, &link, &bounds);
        j->own_bound = bounds.own.cycles;
        o.progress = show_progress;
        o.progress_context = j;
    }
    if (j->params->monitor) {
        int status = set_monitor(j);
        if (status)
            return status;
        o.step_cycles = mw_monitor_step(r->monitor);
    }
    char what[48];
    snprintf(what, sizeof what, "layer %zu", j->w->layer[j->layer].number);
    int code = 0;
    if (j->port_limit != UINT64_MAX)
        code = mw_port_limit(j->device, (unsigned)j->port_limit);
    if (!code && j->fault)
        code = mw_fault_set(j->device, (unsigned)j->fault_gpu, (unsigned)j->fault,
                            (unsigned)j->fault_after);
    if (!code)
        code = mw_launch(j->device);
    if (!code)
        code = mw_wait(j->device, &o, &r->cycles);
    if (!code && r->monitor)
        code = mw_monitor_finish(r->monitor, j->device);
    return code ? mw_job_stuck(j, what, code) : MW_EXIT_OK;
}

static void take_traffic(struct mw_traffic *t, const struct mw_counters *c, unsigned gpus)
{
    for (unsigned p = 0; p < gpus; p++) {
        const struct mw_port_counters *port = &c->port[p];
        for (unsigned i = 0; i < MW_CLASSES; i++) {
            t->flits[p][MW_UP][i] = port->up_flits[i];
            t->flits[p][MW_DOWN][i] = port->down_flits[i];
        }
        t->payload[p][MW_UP] = port->up_payload;
        t->payload[p][MW_DOWN] = port->down_payload;
    }
}

static void take_stalls(struct mw_layer_result *r, const struct mw_counters *c, unsigned gpus)
{
    for (unsigned g = 0; g < gpus; g++) {
        const struct mw_gpu_counters *n = &c->gpu[g];
        mw_result_stall(r, "uplink_idle", n->link_idle);
        mw_result_stall(r, "store_credit", n->stall_store);
        mw_result_stall(r, "no_partial", n->part_empty);
        mw_result_stall(r, "ctrl_credit", n->stall_ctrl);
        mw_result_stall(r, "switch_output", c->port[g].stall_output);
        mw_result_stall(r, "switch_credit", c->port[g].stall_credit);
        mw_result_stall(r, "memory_bank", n->mem_conflict);
        mw_result_stall(r, "engine_idle", n->expert_idle);
        mw_result_stall(r, "engine_memory", n->expert_wait);
    }
}

static int take_results(struct job *j)
{
    struct mw_layer_result *r = &j->result->layer[j->layer];
    struct mw_counters *c = malloc(sizeof *c);
    if (!c)
        return mw_fail_memory(j->err, "counters");
    int code = mw_counters_read(j->device, c);
    if (!code) {
        take_traffic(&r->traffic, c, j->w->shape.gpus);
        take_stalls(r, c, j->w->shape.gpus);
    }
    free(c);
    if (code)
        return mw_job_failed(j, "counters", code);
    return mw_job_read_rows(j, j->layout.out_base, r->out, "output rows");
}

static int run_layers(struct job *j)
{
    int code = mw_layout_make(j->device, &j->config, &j->layout);
    if (code)
        return mw_job_failed(j, "the device cannot hold this run", code);
    int status;
    if ((status = map_experts(j)) || (status = load_streams(j)) ||
        (status = load_coefficients(j)) || (status = configure(j)))
        return status;
    for (j->layer = 0; j->layer < j->w->layers && !status; j->layer++) {
        if ((status = load_layer(j)) || (status = run_layer(j)) || (status = take_results(j)))
            break;
    }
    return status;
}

int mw_system_run(const struct mw_run_params *params, const struct mw_workload *workload,
                  const char *system, struct mw_result *result)
{
    struct job j = {.params = params,
                    .w = workload,
                    .system = mw_system_find(system),
                    .result = result,
                    .err = &result->error};
    for (unsigned i = 0; i < sizeof generators / sizeof *generators; i++)
        if (strcmp(generators[i]->name, system) == 0)
            j.generator = generators[i];
    if (!j.system || !j.generator)
        return mw_fail(j.err, MW_EXIT_INPUT, "%s: there is no such system", system);
    int status;
    if ((status = set_behaviour(&j)) || (status = set_sizes(&j)) || (status = open_device(&j)))
        return status;
    status = run_layers(&j);
    if (!status && workload->shape.batches)
        status = mw_job_feed(&j);
    result->simulated_cycles = mw_total_cycles(j.device);
    mw_close(j.device);
    return status;
}
