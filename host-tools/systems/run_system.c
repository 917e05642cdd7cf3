// SPDX-License-Identifier: Apache-2.0
//
// mw_system_run: all layers of a workload under one system on one device, through libmoeswitch. The
// memories are laid out once, for the largest layer; routing tables and hidden values are loaded
// between layers, while the device is idle.
#include "analysis/bounds.h"
#include "systems/job.h"
#include "systems/layer_counters.h"

#include <stdlib.h>
#include <string.h>

// ---- device -------------------------------------------------------------------------------------

/// A static group of all GPUs, over all that they have laid out.
static int make_group(struct job *j)
{
    if (!j->system->gathered)
        return MW_EXIT_OK;
    int code = mw_multicast_create(j->device, j->layout.end, &j->all);
    for (unsigned g = 0; g < j->w->shape.gpus && !code; g++)
        code = mw_multicast_add_device(j->all, g);
    if (!code)
        code = mw_multicast_bind_addr(j->all, 0);
    return code ? mw_job_failed(j, "static group", code) : MW_EXIT_OK;
}

int mw_job_load_streams(struct job *j)
{
    int code = mw_streams_load(j->device, &j->layout, j->generator->streams, mw_job_streams, j);
    return code ? mw_job_failed(j, "instruction streams", code) : MW_EXIT_OK;
}

int mw_job_configure(struct job *j)
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

/// The share of a layer's time that moving its rows once takes: they go in twice and come out once.
static double begin_layer(struct job *j)
{
    const struct mw_link_parameters link = mw_run_links(j->params);
    struct mw_bounds bounds;
    mw_bounds_compute(j->w, j->layer, j->system, &link, &bounds);
    j->own_bound = bounds.own.cycles;
    j->cycles = 0;
    j->from = j->to = 0;
    double rows = (double)((uint64_t)j->w->shape.tokens_per_gpu << j->layout.row_shift);
    double pass = rows / j->params->flit_bytes;
    return pass / (3 * pass + (double)j->own_bound);
}

/// Output rows get a pattern first, so that one that the device never writes does not pass with the
/// bits of the layer before.
static int load_layer(struct job *j, double moving)
{
    const struct mw_workload *w = j->w;
    size_t values = (size_t)w->tokens * w->shape.hidden;
    uint16_t *out = j->result->layer[j->layer].out;
    int status = mw_job_load_experts(j, j->layer);
    if (!status)
        status = mw_job_load_routing(j, j->layer, j->layout.rt_base);
    mw_job_step(j, moving);
    if (!status)
        status = mw_job_load_hidden(j, j->layer, j->layout.xs_base);
    for (size_t i = 0; i < values; i++)
        out[i] = 0xdead;
    mw_job_step(j, 2 * moving);
    if (!status)
        status = mw_job_load_rows(j, j->layout.out_base, out, "output rows");
    return status || !mw_makes_gradients(w, j->layer)
               ? status
               : mw_job_clear_gradients(j, j->layout.dw_base);
}

// ---- running ------------------------------------------------------------------------------------

/// If everything overlaps, tokens finish early. If phases follow each other, they finish only at
/// the end, and time against the bound is the better estimate.
static int show_progress(void *context, uint64_t tokens, uint64_t total, uint64_t cycles)
{
    struct job *j = context;
    double done = total ? (double)tokens / (double)total : 0;
    if (j->system->phased && j->own_bound)
        done = (double)cycles / (double)j->own_bound;
    j->cycles = cycles;
    mw_job_goes_on(j, done < 0.99 ? done : 0.99);
    struct mw_monitor *monitor = j->result->layer[j->layer].monitor;
    if (monitor)
        mw_monitor_fetch(monitor, j->device); // a failure shows in the samples that are missing
    return j->stopped;
}

/// The ports shall record this layer. A device without monitors leaves none.
static int set_monitor(struct job *j)
{
    return mw_monitor_start(&j->result->layer[j->layer].monitor, j->device, j->params,
                            j->w->shape.gpus, j->own_bound, (unsigned)j->latency_classes, j->err);
}

static int run_layer(struct job *j)
{
    struct mw_layer_result *r = &j->result->layer[j->layer];
    struct mw_wait_options o = {
        .size = sizeof o, .quiet_cycles = j->quiet_cycles, .stop = j->params->stop};
    if (j->params->progress || j->params->monitor) {
        o.progress = show_progress;
        o.progress_context = j;
    }
    if (j->params->monitor) {
        int status = set_monitor(j);
        if (status)
            return status;
        if (r->monitor)
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
    if (j->stopped || code == MW_ERR_CANCELED)
        return mw_job_interrupted(j);
    return code ? mw_job_stuck(j, what, code) : MW_EXIT_OK;
}

/// The layer, and when its phases end: on a machine, of a system that has phases.
static int time_layer(struct job *j)
{
    struct mw_layer_result *r = &j->result->layer[j->layer];
    struct mw_phases phases;
    if (!j->params->hardware || !j->system->phased)
        return run_layer(j);
    int status = mw_phases_start(&phases, j->device, j->w->shape.gpus, r->timeline, j->err);
    if (!status)
        status = run_layer(j);
    return status ? status : mw_phases_stop(&phases, j->device, r->cycles, &r->phases, j->err);
}

/// The layer, and what its GPUs do for --timeline.
static int record_layer(struct job *j)
{
    struct mw_timeline **timeline = &j->result->layer[j->layer].timeline;
    if (!j->params->timeline)
        return time_layer(j);
    int status = mw_timeline_start(timeline, j->device, j->err);
    if (!status)
        status = time_layer(j);
    return status ? status : mw_timeline_stop(*timeline, j->device, j->err);
}

static int take_results(struct job *j)
{
    struct mw_layer_result *r = &j->result->layer[j->layer];
    struct mw_counters *c = malloc(sizeof *c);
    if (!c)
        return mw_fail_memory(j->err, "counters");
    int code = mw_counters_read(j->device, c);
    if (!code)
        mw_layer_counters(r, c, j->w->shape.gpus);
    free(c);
    if (code)
        return mw_job_failed(j, "counters", code);
    int status = mw_job_read_rows(j, j->layout.out_base, r->out, "output rows");
    return status || !r->dw ? status : mw_job_read_gradients(j, j->layout.dw_base, r->dw);
}

/// The streams and registers of the next layer, where those of the layer before do not serve it.
/// xf_base is the dispatch region of layers without a handle: that of the forward layer, and the
/// own one of a layer that counts again.
static int next_pass(struct job *j)
{
    static const unsigned handle[MW_PASSES] = {[MW_PASS_FORWARD] = MW_HANDLE_KEEP,
                                               [MW_PASS_BACKWARD] = MW_HANDLE_CACHED,
                                               [MW_PASS_COUNTED] = MW_HANDLE_NONE};
    if (j->w->shape.passes == MW_RUN_FORWARD)
        return MW_EXIT_OK;
    const enum mw_pass pass = j->w->layer[j->layer].pass;
    j->config.handle = handle[pass];
    j->config.expert_cycles = (unsigned)mw_pass_cycles(pass, j->params->expert_cycles);
    int status = mw_job_load_streams(j);
    return status ? status : mw_job_configure(j);
}

static int run_layers(struct job *j)
{
    struct mw_demand demand;
    struct mw_fit fit;
    int status = mw_demand_of_workload(&demand, j->w, j->err);
    if (status || (status = mw_job_layout(j, &demand, &fit)) || (status = make_group(j)) ||
        (status = mw_job_load_streams(j)) || (status = mw_job_configure(j)))
        return status;
    if (mw_is_stack(&j->w->shape) && (status = mw_job_check_stack(j)))
        return status;
    for (j->layer = 0; j->layer < j->w->layers && !status; j->layer++) {
        double moving = begin_layer(j);
        status = next_pass(j);
        if (!status)
            status = mw_job_goes_on(j, 0) ? load_layer(j, moving) : mw_job_interrupted(j);
        mw_job_step(j, 1 - moving);
        if (!status)
            status = record_layer(j);
        mw_job_step(j, 1);
        if (!status)
            status = take_results(j);
    }
    return status;
}

int mw_system_run(const struct mw_run_params *params, const struct mw_workload *workload,
                  struct mw_result *result)
{
    struct job j = {.params = params,
                    .w = workload,
                    .experts = workload->experts,
                    .k = workload->k,
                    .result = result,
                    .err = &result->error};
    int status = mw_job_begin(&j, result->system);
    if (status || (status = mw_job_settings(&j)) || (status = mw_job_open(&j)))
        return status;
    mw_simulation_info(j.device, &result->model); // or there is none
    status = run_layers(&j);
    if (!status && workload->shape.batches)
        status = mw_job_feed(&j);
    if (!status && mw_is_stack(&workload->shape))
        status = mw_job_stack(&j);
    result->simulated_cycles = mw_total_cycles(j.device);
    mw_multicast_destroy(j.all);
    mw_close(j.device);
    return status;
}
