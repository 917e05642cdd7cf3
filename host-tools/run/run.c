// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch run`: prepare a workload, run it under each system, compare, report.
#include "run/run.h"

#include "analysis/demand.h"
#include "analysis/fit.h"
#include "base/host_memory.h"
#include "base/output.h"
#include "cli/command_help.h"
#include "device/device_build.h"
#include "device/setting_table.h"
#include "experiment/round_trip.h"
#include "report/pictures.h"
#include "report/report.h"
#include "run/forecast.h"
#include "run/planes.h"
#include "run/chain.h"
#include "run/run_systems.h"
#include "systems/system_list.h"
#include "systems/systems.h"
#include "tp_run/tp_run.h"

#include <stdlib.h>

/// Room for the golden results.
static int make_room(struct mw_run *run, struct mw_error *err)
{
    int status = MW_EXIT_OK;
    for (unsigned l = 0; l < run->workload.layers && !status; l++)
        status = mw_expected_make(&run->expected[l], &run->workload, l, err);
    return status;
}

/// What the run will take, and whether its layers are large enough for a conclusion.
static void tell(struct mw_run *run)
{
    struct mw_forecast f;
    mw_forecast_make(&f, &run->params, &run->workload, run->systems, run->asked, run->memory);
    mw_forecast_print(run->out, &f, &run->params);
    mw_forecast_print_tile(run->out, &run->workload, run->params.tile);
    if (run->params.shape.passes != MW_RUN_FORWARD && !run->params.shape.gate_gradients &&
        !run->params.no_gate_gradients)
        fprintf(run->out,
                "note: gradients of gate weights are left to the host: experts make them of bf16 "
                "rows, not of %s\n",
                mw_row_type_names[run->params.shape.dispatch_type]);
    if (run->params.as_dysharp)
        fputs("note: moeswitch sends what dysharp does in a layer this small "
              "(docs/design/systems.md)\n",
              run->out);
}

static void open_options(const struct mw_run_params *p, struct mw_open_options *o)
{
    mw_device_options(&p->device, o);
    o->gpus = p->shape.gpus;
    o->flit_bytes = p->flit_bytes;
    o->link_latency = p->link_latency;
    o->small = mw_setting_value(&p->settings, "small", 0);
    o->fst = p->fst;
}

static bool lacks_model(const struct mw_run_params *p)
{
    struct mw_open_options o;
    open_options(p, &o);
    return mw_device_lacks_model(&o);
}

/// A rate that the credits of a simulated device limit, by the sizes that such a device has.
static void warn_of_credits(const struct mw_run *run)
{
    const struct mw_run_params *p = &run->params;
    struct mw_open_options o;
    struct mw_device_info info;
    struct mw_round_trip trip;
    unsigned classes = 1u << MW_CLS_STORE;
    if (p->device.usb)
        return;
    open_options(p, &o);
    mw_device_built(&info, &o);
    for (unsigned i = 0; i < run->asked; i++)
        if (run->systems[i].reduction)
            classes |= 1u << MW_CLS_PART;
    mw_round_trip_make(&trip, &info, &p->settings, p->link_latency, classes);
    mw_round_trip_warn(run->err, &trip);
}

/// Every requested system, and the tables after their lines.
static int run_systems(struct mw_run *run, struct mw_error *err)
{
    mw_run_choose(run);
    warn_of_credits(run);
    mw_report_head(run->out, &run->params, &run->trace, &run->workload);
    mw_report_machine_head(run->out, &run->params);
    tell(run);
    mw_report_columns(run->out,
                      (run->params.systems ? run->params.system[0] : &mw_systems[0])->name);
    fflush(run->out);
    int status = run->params.all_planes ? mw_run_planes(run, err) : mw_run_systems(run, err);
    if (status > MW_EXIT_MISMATCH)
        return status;
    if (run->params.details) {
        mw_report_traffic(run->out, run->summaries, run->count);
        mw_report_resources(run->out, run->summaries, run->count);
        mw_report_stalls(run->out, run->summaries, run->count);
    }
    mw_report_machine(run->out, &run->params, &run->workload, run->summaries, run->count);
    mw_report_latency(run->out, &run->workload, run->summaries, run->count);
    mw_report_passes(run->out, &run->workload, run->summaries, run->count);
    mw_report_stack(run->out, &run->workload, run->summaries, run->count);
    mw_report_feeding(run->out, &run->workload, run->summaries, run->count);
    mw_report_model(run->out, run->summaries, run->count);
    return status;
}

/// JSON, what is made of it, and pictures.
static int write_data(struct mw_run *run, struct mw_error *err)
{
    const struct mw_data_files *files = &run->params.files;
    const struct mw_captions captions = {.gpus = run->workload.shape.gpus,
                                         .experts_per_gpu = run->workload.experts_per_gpu,
                                         .layers = &run->workload};
    struct mw_json j = {0};
    struct mw_csv csv = {0};
    int status = MW_EXIT_OK;
    if (files->csv)
        mw_csv_begin(&csv, "systems", &j);
    if (files->json || files->csv || run->params.html)
        status = mw_report_json(&j, &run->params, &run->trace, &run->workload, run->summaries,
                                run->count, err);
    if (!status)
        status = mw_data_write(files, run->data, &j, &csv, err);
    if (!status)
        status = mw_pictures_write(&run->params, run->data, &j, &captions, run->summaries,
                                   run->count, err);
    mw_json_free(&j);
    mw_csv_free(&csv);
    return status;
}

static uint64_t take_largest(uint64_t touched[MW_SYSTEMS])
{
    unsigned most = 0;
    for (unsigned i = 1; i < MW_SYSTEMS; i++)
        most = touched[i] > touched[most] ? i : most;
    uint64_t bytes = touched[most];
    touched[most] = 0;
    return bytes;
}

/// Whether the device holds the run, and this machine a simulated one.
static int check_device(struct mw_run *run, const struct mw_demand *demand, bool built,
                        struct mw_error *err)
{
    const struct mw_run_params *p = &run->params;
    uint64_t touched[MW_SYSTEMS] = {0};
    int status = mw_systems_check(p, demand, built, touched, run->params.left_out, err);
    if (status)
        return status;
    unsigned jobs = mw_run_jobs(p);
    if (!jobs)
        return mw_fail(
            err, MW_EXIT_INPUT,
            "no system is left that the device has the primitives of, with what --set requires");
    const unsigned planes =
        p->jobs < mw_run_planes_of(p) ? p->jobs : mw_run_planes_of(p); // at once
    if (p->all_planes)
        jobs = 1;
    struct mw_memory memory = {.host = mw_memory_host(demand, jobs), .several = jobs * planes > 1};
    for (unsigned i = 0; i < jobs && !p->device.usb; i++)
        memory.gpus += take_largest(touched);
    memory.host *= planes;
    memory.gpus *= planes;
    run->memory = memory.host + memory.gpus;
    return mw_memory_check(&memory, mw_memory_available("/proc/meminfo"), err);
}

/// Before anything large is made. A model that is missing is built in minutes, so what it will not
/// hold is refused before. A model that exists has sizes of its own, which may be larger.
static int check_sizes(struct mw_run *run, struct mw_error *err)
{
    const struct mw_run_params *p = &run->params;
    struct mw_demand demand;
    int status =
        mw_demand_of_trace(&demand, &run->trace, p->layers, p->layer_count, &p->shape, err);
    if (!status && lacks_model(p))
        status = check_device(run, &demand, true, err);
    if (!status)
        status = check_device(run, &demand, false, err);
    for (unsigned i = 0; i < MW_SYSTEMS && !status; i++)
        if (p->left_out[i].out)
            fprintf(run->out, "%s is left out: %s\n", mw_systems[i].name, p->left_out[i].why);
    return status;
}

static int prepare(struct mw_run *run, struct mw_error *err)
{
    int status = mw_data_probe(&run->params.files, err);
    if (!status)
        status = mw_output_probe(run->params.fst, err);
    if (!status)
        status = mw_pictures_probe(&run->params, err);
    if (!status)
        status = mw_run_route(&run->params, &run->trace, err);
    if (!status)
        status = check_sizes(run, err);
    if (!status)
        status = mw_run_fill(&run->params, &run->trace, &run->workload, err);
    if (!status)
        status = make_room(run, err);
    return status ? status : mw_run_chain(&run->workload, err);
}

static void clean_up(struct mw_run *run)
{
    mw_tables_close(run->out, run->data);
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        mw_result_free(&run->results[i]);
    for (unsigned l = 0; l < MW_MAX_LAYERS; l++)
        mw_expected_free(&run->expected[l]);
    mw_workload_free(&run->workload);
    mw_trace_free(&run->trace);
    free(run);
}

static int carry_out(struct mw_run *run, struct mw_error *err)
{
    bool nowhere =
        mw_data_replaces_tables(&run->params.files) || mw_pictures_replace_tables(&run->params);
    run->out = mw_tables_open(run->data, nowhere, err);
    int status = run->out ? prepare(run, err) : MW_EXIT_FAILED;
    if (status)
        return status;
    status = run_systems(run, err);
    if (status > MW_EXIT_MISMATCH)
        return status;
    int written = write_data(run, err);
    return written ? written : status;
}

int mw_run_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    bool help = false;
    struct mw_run *run = calloc(1, sizeof *run);
    if (!run) {
        fprintf(errors, "moeswitch: out of memory\n");
        return MW_EXIT_FAILED;
    }
    run->out = run->data = out;
    run->err = errors;
    int status = mw_run_parse(&run->params, argc, argv, &help, &err);
    bool only_text = help || run->params.list_models;
    if (help)
        mw_command_help(&mw_run_table, out);
    else if (!status && only_text)
        mw_models_list(out);
    else if (!status && run->params.tp.kind)
        status = mw_tp_run(&run->params, out, errors, &err);
    else if (!status)
        status = carry_out(run, &err);
    if (err.text[0])
        fprintf(errors, "moeswitch: %s\n", err.text);
    clean_up(run);
    return status;
}
