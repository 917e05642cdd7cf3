// SPDX-License-Identifier: Apache-2.0
//
// What a run works on, from its options: the trace, loaded or made, and the workload of it.
#include "analysis/bounds.h"
#include "experiment/params.h"

/// A trace of another model than the one that was named must not pass for it.
static int load_trace(const struct mw_run_params *params, struct mw_trace *trace,
                      struct mw_error *err)
{
    const struct mw_model *m = params->model;
    int status = mw_trace_load(trace, params->trace, &params->said, err);
    if (status || !m || (m->experts == trace->experts && m->k == trace->k))
        return status;
    status = mw_fail(err, MW_EXIT_INPUT, "--model %s: %u experts, k %u, but %s has %u and %u",
                     m->name, m->experts, m->k, trace->name, trace->experts, trace->k);
    mw_trace_free(trace);
    return status;
}

static int get_trace(const struct mw_run_params *params, struct mw_trace *trace,
                     struct mw_error *err)
{
    const size_t tokens = (size_t)params->shape.gpus * params->shape.tokens_per_gpu *
                          (params->shape.batches ? params->shape.batches : 1);
    if (params->trace) {
        int loaded = load_trace(params, trace, err);
        if (!loaded && params->repeat_tokens)
            loaded = mw_trace_repeat(trace, tokens, err);
        return loaded;
    }
    struct mw_synthetic how = {
        .tokens = tokens,
        .k = params->k,
        .experts = params->experts,
        .sigma = params->sigma,
        .locality = params->locality,
        .groups = params->groups,
        .topk_groups = params->topk_groups,
        .seed = params->shape.seed,
    };
    for (unsigned i = 0; i < params->layer_count; i++)
        if (params->layers[i] >= how.layers)
            how.layers = params->layers[i] + 1;
    int status = mw_trace_make(trace, &how, err);
    if (!status && params->model)
        snprintf(trace->model, sizeof trace->model, "%s", params->model->title);
    return status;
}

int mw_run_route(struct mw_run_params *params, struct mw_trace *trace, struct mw_error *err)
{
    int status = mw_device_sizes(&params->device, &params->shape.gpus, &params->flit_bytes, err);
    if (!status)
        status = get_trace(params, trace, err);
    if (status)
        return status;
    status = mw_placement_apply(trace, params->layers, params->layer_count, &params->shape,
                                &params->placing, err);
    if (!status)
        status = mw_workload_check(trace, params->layers, params->layer_count, &params->shape, err);
    if (status)
        mw_trace_free(trace);
    return status;
}

struct mw_link_parameters mw_run_links(const struct mw_run_params *params)
{
    return (struct mw_link_parameters){.flit_bytes = params->flit_bytes,
                                       .link_cycles = params->link_cycles,
                                       .expert_cycles = params->expert_cycles,
                                       .tile = params->tile};
}

int mw_run_fill(struct mw_run_params *params, const struct mw_trace *trace,
                struct mw_workload *workload, struct mw_error *err)
{
    int status =
        mw_workload_make(workload, trace, params->layers, params->layer_count, &params->shape, err);
    struct mw_link_parameters link = mw_run_links(params);
    if (!status && !params->expert_cycles_given) {
        params->expert_cycles = mw_default_expert_cycles(workload, &link);
        link = mw_run_links(params);
    }
    return status ? status : mw_costs_fill(params->costs, &params->settings, &link, workload, err);
}

int mw_run_prepare(struct mw_run_params *params, struct mw_trace *trace,
                   struct mw_workload *workload, struct mw_error *err)
{
    *workload = (struct mw_workload){0};
    int status = mw_run_route(params, trace, err);
    if (status)
        return status;
    status = mw_run_fill(params, trace, workload, err);
    if (status)
        mw_trace_free(trace);
    return status;
}
