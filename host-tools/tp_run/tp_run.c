// SPDX-License-Identifier: Apache-2.0
//
// See tp_run.h. Runs the systems one after another, prints a line for each, and writes the files.
#include "tp_run/tp_run.h"

#include "analysis/fit.h"
#include "base/host_memory.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "report/pictures.h"
#include "report/report.h"
#include "tp/shapes.h"
#include "tp/tp_bounds.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_PER_GPU = 64 };

struct job {
    struct mw_run_params *params;
    struct mw_tp_problem p;
    const struct mw_tp_system *system[MW_TP_SYSTEMS];
    unsigned asked, done;
    struct mw_tp_result result[MW_TP_SYSTEMS];
    struct mw_summary summary[MW_TP_SYSTEMS]; ///< of those that are done
    FILE *out, *data, *errors;
    struct mw_error *err;
};

/// Set the time per row of each part: by its option, the shape or --expert-cycles. With the
/// default, the busiest engine works for half of the strict bound of the links.
static void set_cycles(const struct mw_run_params *params, struct mw_tp_problem *p)
{
    uint64_t all = params->expert_cycles;
    if (!params->expert_cycles_given)
        all = mw_tp_strict_link(p).cycles / (2 * mw_tp_engine_rows(p));
    for (unsigned i = 0; i < MW_TP_PARTS; i++)
        p->cycles[i] = p->o.given[i] ? p->o.cycles[i]
                       : p->o.shape  ? mw_tp_shape_cycles(p->o.shape, p, (enum mw_tp_part)i)
                                     : all;
}

int mw_tp_prepare(struct mw_run_params *params, struct mw_tp_problem *p, struct mw_error *err)
{
    int status = mw_device_sizes(&params->device, &params->shape.gpus, &params->flit_bytes, err);
    if (status)
        return status;
    *p = (struct mw_tp_problem){.o = params->tp,
                                .gpus = params->shape.gpus,
                                .hidden = params->shape.hidden,
                                .flit_bytes = params->flit_bytes,
                                .link_cycles = params->link_cycles,
                                .tile = params->tile,
                                .seed = params->shape.seed};
    if (!p->o.rows)
        p->o.rows = ROWS_PER_GPU * p->gpus;
    status = mw_tp_check(p, err);
    if (!status)
        set_cycles(params, p);
    for (unsigned i = 0; i < params->tp_systems && !status; i++) {
        const char *why = mw_tp_unfit(p, params->tp_system[i]);
        if (why)
            status = mw_fail(err, MW_EXIT_INPUT, "--system %s with --workload %s: %s",
                             params->tp_system[i]->name, mw_tp_kind_names[p->o.kind], why);
    }
    return status;
}

/// Check that this machine's memory holds the rows: input and output of each part at each
/// simulated GPU, and the tool's own copies.
static int check_memory(const struct job *j)
{
    enum { OWN = 2 };
    const struct mw_tp_problem *p = &j->p;
    const uint64_t copies = j->params->device.usb ? 0 : 2ull * MW_TP_PARTS * p->gpus;
    const uint64_t need = (copies + OWN) * p->o.rows * mw_tp_row_bytes(p);
    const uint64_t available = mw_memory_available("/proc/meminfo");
    char takes[32], has[32];
    if (!available || need <= available)
        return MW_EXIT_OK;
    return mw_fail(j->err, MW_EXIT_INPUT,
                   "the run takes %s of memory, this machine has %s available: lower --rows or "
                   "--hidden",
                   mw_bytes_text(need, takes, sizeof takes),
                   mw_bytes_text(available, has, sizeof has));
}

/// Check whether "all" leaves the system out: `why` receives the reason, or is empty.
static int look_for(struct job *j, const struct mw_tp_system *system, char *why, size_t bytes)
{
    const char *text = mw_tp_unfit(&j->p, system), *lack = NULL;
    snprintf(why, bytes, "%s", text ? text : "");
    if (text)
        return MW_EXIT_OK;
    int status = mw_tp_device_lack(j->params, &j->p, system, &lack, j->err);
    if (lack)
        snprintf(why, bytes, MW_DEVICE_LACKS, lack);
    return status;
}

/// Choose the systems that were named, or all that fit. Print why the others are left out.
static int choose(struct job *j)
{
    char why[200];
    for (unsigned i = 0; i < j->params->tp_systems; i++)
        j->system[j->asked++] = j->params->tp_system[i];
    for (unsigned i = 0; i < MW_TP_SYSTEMS && !j->params->tp_systems; i++) {
        int status = look_for(j, mw_tp_systems[i], why, sizeof why);
        if (status)
            return status;
        if (*why)
            mw_report_paragraph(j->out, "%s is left out: %s", mw_tp_systems[i]->name, why);
        else
            j->system[j->asked++] = mw_tp_systems[i];
    }
    if (!j->asked)
        return mw_fail(j->err, MW_EXIT_INPUT,
                       "--workload %s: no system is left that fits it and that the device has the "
                       "primitives of",
                       mw_tp_kind_names[j->p.o.kind]);
    return MW_EXIT_OK;
}

/// Run one system and print its line.
static int run_system(struct job *j, unsigned i)
{
    struct mw_tp_result *r = &j->result[i];
    const char *first = j->system[0]->name;
    r->system = j->system[i];
    int status = mw_tp_device_run(j->params, &j->p, r, j->err);
    if (r->run.state)
        fputs(r->run.state, j->errors);
    if (status)
        return status;
    mw_tp_summarize(r, &j->p, j->asked > 1 ? j->result[0].layer.cycles : 0,
                    j->asked > 1 ? first : NULL);
    j->summary[j->done++] = r->summary;
    mw_report_line(j->out, &r->summary);
    status = mw_tables_flush(j->out, j->err);
    return status ? status : mw_tp_report_differences(j->errors, r, &j->p);
}

static int run_systems(struct job *j)
{
    int worst = MW_EXIT_OK;
    mw_tp_report_head(j->out, &j->p);
    mw_report_columns(j->out, j->system[0]->name);
    for (unsigned i = 0; i < j->asked; i++) {
        int status = run_system(j, i);
        if (status > MW_EXIT_MISMATCH)
            return status;
        worst = status > worst ? status : worst;
    }
    mw_report_resources(j->out, j->summary, j->done);
    if (j->params->details) {
        mw_report_traffic(j->out, j->summary, j->done);
        mw_report_stalls(j->out, j->summary, j->done);
    }
    for (unsigned i = 0; i < j->done; i++)
        mw_tp_report_sums(j->out, &j->result[i], &j->p);
    for (unsigned i = 0; i < j->done; i++)
        mw_tp_report_loads(j->out, &j->result[i], &j->p);
    mw_report_latency(j->out, NULL, j->summary, j->done);
    mw_report_model(j->out, j->summary, j->done);
    return worst;
}

/// Write JSON, CSV derived from it, and pictures.
static int write_data(struct job *j)
{
    const struct mw_data_files *files = &j->params->files;
    const char *parts[MW_TP_PARTS];
    const struct mw_captions captions = {.gpus = j->p.gpus,
                                         .experts_per_gpu = MW_TP_PARTS,
                                         .workload = mw_tp_kind_names[j->p.o.kind],
                                         .parts = parts};
    struct mw_json json = {0};
    struct mw_csv csv = {0};
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < MW_TP_PARTS; i++)
        parts[i] = mw_tp_parts[i].name;
    if (files->csv)
        mw_csv_begin(&csv, "systems", &json);
    if (files->json || files->csv || j->params->html)
        status = mw_tp_report_json(&json, j->params, &j->p, j->result, j->done, j->err);
    if (!status)
        status = mw_data_write(files, j->data, &json, &csv, j->err);
    if (!status)
        status =
            mw_pictures_write(j->params, j->data, &json, &captions, j->summary, j->done, j->err);
    mw_json_free(&json);
    mw_csv_free(&csv);
    return status;
}

static int carry_out(struct job *j)
{
    const struct mw_data_files *files = &j->params->files;
    const bool nowhere = mw_data_replaces_tables(files) || mw_pictures_replace_tables(j->params);
    int status = mw_data_probe(files, j->err);
    if (!status)
        status = mw_pictures_probe(j->params, j->err);
    if (!status)
        status = mw_tp_prepare(j->params, &j->p, j->err);
    if (!status)
        status = check_memory(j);
    if (!status && !(j->out = mw_tables_open(j->data, nowhere, j->err)))
        status = MW_EXIT_FAILED;
    if (status)
        return status;
    mw_interrupt_begin();
    status = choose(j);
    if (!status)
        status = run_systems(j);
    mw_interrupt_end();
    if (status > MW_EXIT_MISMATCH)
        return status;
    int written = write_data(j);
    return written ? written : status;
}

int mw_tp_run(struct mw_run_params *params, FILE *out, FILE *errors, struct mw_error *err)
{
    struct job *j = calloc(1, sizeof *j);
    if (!j)
        return mw_fail_memory(err, "the run");
    j->params = params;
    j->out = j->data = out;
    j->errors = errors;
    j->err = err;
    int status = carry_out(j);
    mw_tables_close(j->out, out);
    for (unsigned i = 0; i < MW_TP_SYSTEMS; i++) {
        free(j->result[i].run.state);
        mw_monitor_free(j->result[i].layer.monitor);
        mw_timeline_free(j->result[i].layer.timeline);
    }
    free(j);
    return status;
}
