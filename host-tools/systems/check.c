// SPDX-License-Identifier: Apache-2.0
//
// Whether a device holds a run: before it, for all of its systems, and again when each begins.
#include "analysis/fit.h"
#include "device/setting_table.h"
#include "systems/job.h"
#include "systems/system_list.h"

#include <string.h>

enum { FEED_BUFFERS = 2 };

/// The routing's demand under this system. If it gathers, every GPU gets every token. Lists of
/// sources have no more rows than a source sends.
static struct mw_demand demand_of(const struct mw_system *system, const struct mw_demand *demand)
{
    struct mw_demand d = *demand;
    if (system->gathered) {
        d.received_rows = d.shape.gpus * d.shape.tokens_per_gpu;
        d.received = (uint64_t)d.shape.gpus * d.received_rows;
    }
    if (system->source_lists)
        d.rows_per_expert = d.rows_per_list;
    return d;
}

/// Sizes for the largest of the layers, so that nothing moves between them.
static void set_sizes(struct job *j, const struct mw_demand *d)
{
    mw_fit_config(&j->config, d, j->system->multicast || j->system->row_sparse);
    if (j->rows_per_expert)
        j->config.rows_per_expert = (unsigned)j->rows_per_expert;
    j->config.stream_instrs = j->generator->instrs;
    j->config.buffers = d->shape.batches ? FEED_BUFFERS : 1;
    j->config.gate_gradients = d->shape.gate_gradients;
    j->config.handle = d->shape.passes == MW_RUN_FORWARD ? MW_HANDLE_NONE : MW_HANDLE_KEEP;
}

int mw_job_layout(struct job *j, const struct mw_demand *demand, struct mw_fit *fit)
{
    static const char no[] = "the device cannot hold this run";
    struct mw_device_info info;
    struct mw_error cause;
    const struct mw_demand d = demand_of(j->system, demand);
    set_sizes(j, &d);
    int status = mw_job_info(j, &info);
    if (status)
        return status;
    // a setting that asks for a primitive is refused by its own name
    const char *lack = mw_system_lack(j->system, &info);
    if (lack && !mw_setting_value(&j->params->settings, lack, 0))
        return mw_device_lacks(j->err, &j->params->device, lack);
    // unlike other primitives it is left out where there is none, as the same packets leave
    if (!info.balance_rows && !mw_setting_value(&j->params->settings, "balance_rows", 0))
        j->config.balance_rows = false;
    mw_fit_make(fit, &j->config, &info, &d);
    status = mw_fit_check(fit, &info, &d, &cause);
    if (status)
        return mw_fail(j->err, status, "%s: %s", no, cause.text);
    // the library has the last word
    int code = mw_layout_of(&info, &j->config, &j->layout);
    return code ? mw_job_failed(j, no, code) : MW_EXIT_OK;
}

static int check_system(struct job *j, const struct mw_demand *demand,
                        const struct mw_system *system, uint64_t *touched)
{
    struct mw_error cause = {0}, *err = j->err;
    struct mw_fit fit = {.touched = 0};
    int status = mw_job_begin(j, system);
    j->err = &cause;
    if (!status)
        status = mw_job_settings(j);
    if (!status)
        status = mw_job_layout(j, demand, &fit);
    j->err = err;
    *touched = fit.touched;
    return status ? mw_fail(err, status, "%s: %s", system->name, cause.text) : MW_EXIT_OK;
}

int mw_system_settings_check(const struct mw_run_params *params, struct mw_error *err)
{
    struct job j = {.params = params, .err = err};
    const struct mw_system *system = params->systems ? params->system[0] : &mw_systems[0];
    int status = mw_job_begin(&j, system);
    return status ? status : mw_job_settings(&j);
}

/// Lists of rows of a GPU where there is one for each expert and source.
static unsigned lists_of(const struct mw_device_info *info, unsigned experts)
{
    unsigned lists = experts / info->gpus;
    for (unsigned sources = 1; sources < info->gpus; sources *= 2)
        lists *= 2;
    return lists;
}

const char *mw_system_lack(const struct mw_system *s, const struct mw_device_info *info)
{
    const struct {
        const char *name;
        bool needed, there;
    } all[] = {{"target_list_cache", s->target_list_cache, info->target_list_cache},
               {"switch_reductions", s->switch_reductions, info->switch_reductions},
               {"token_order", s->token_order, info->token_order},
               {"row_ranges", s->row_ranges, info->row_ranges},
               {"gathered", s->gathered, info->gathered},
               {"row_sparse", s->row_sparse, info->row_sparse},
               {"source_lists", s->source_lists, info->source_lists}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].needed && !all[i].there)
            return all[i].name;
    return NULL;
}

/// Whether the system cannot run there whatever its sizes, and why.
static void look_for(struct job *j, const struct mw_system *system, struct mw_left_out *left)
{
    struct mw_device_info info;
    if (mw_job_info(j, &info))
        return;
    const char *primitive = mw_system_lack(system, &info);
    unsigned lists = system->source_lists ? lists_of(&info, j->experts) : 0;
    left->out = primitive || lists > info.local_experts;
    if (primitive)
        snprintf(left->why, sizeof left->why, MW_DEVICE_LACKS, primitive);
    else if (left->out)
        snprintf(left->why, sizeof left->why,
                 "lists {expert, source} per GPU: %u, the device has %u: lower --experts", lists,
                 info.local_experts);
}

/// What the library would report of them as it opens the device.
static int check_links(struct job *j)
{
    struct mw_device_info info;
    int status = mw_job_info(j, &info);
    if (!status && j->params->link_latency > info.max_latency)
        status =
            mw_fail(j->err, MW_EXIT_INPUT, "--link-latency %u: the device has at most %u cycles",
                    j->params->link_latency, info.max_latency);
    return status;
}

int mw_systems_check(const struct mw_run_params *params, const struct mw_demand *demand, bool built,
                     uint64_t touched[MW_SYSTEMS], struct mw_left_out left_out[MW_SYSTEMS],
                     struct mw_error *err)
{
    struct job j = {.params = params,
                    .experts = demand->experts,
                    .k = demand->k,
                    .every = true,
                    .built = built,
                    .err = err};
    memset(touched, 0, MW_SYSTEMS * sizeof *touched);
    memset(left_out, 0, MW_SYSTEMS * sizeof *left_out);
    if (params->fst && !built) // which begins with the device, and takes a model of its own
        return MW_EXIT_OK;
    int status = mw_job_begin(&j, &mw_systems[0]);
    if (!status)
        status = mw_job_settings(&j); // which device it is
    if (!status)
        status = built ? check_links(&j) : mw_job_open(&j);
    for (unsigned i = 0; i < MW_SYSTEMS && !status; i++) {
        const struct mw_system system = mw_system_as_set(&mw_systems[i], &params->settings);
        if (!params->systems)
            look_for(&j, &system, &left_out[i]);
        if (params->systems ? mw_run_asks_for(params, i) : !left_out[i].out)
            status = check_system(&j, demand, &system, &touched[i]);
    }
    mw_close(j.device);
    return status;
}
