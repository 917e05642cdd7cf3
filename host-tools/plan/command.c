// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch plan`, see plan.h: what it does in which order.
#include "plan/chakra.h"
#include "plan/moe_csv.h"
#include "plan/plan.h"

#include "base/output.h"
#include "base/text.h"
#include "cli/command_help.h"
#include "report/page.h"
#include "systems/system_list.h"
#include "trace/trace_options.h"

#include <stdlib.h>

enum { SYNTHETIC_TOKENS = 1 << 14, MOE_TOKENS = 4096 };

/// Of a synthetic trace with the model's sizes.
static struct mw_synthetic synthetic_of(const struct mw_plan_params *p)
{
    const struct mw_transformer *m = &p->task.model;
    return (struct mw_synthetic){
        .layers = p->layer + 1,
        .tokens = SYNTHETIC_TOKENS,
        .k = m->k,
        .experts = m->experts,
        .sigma = p->sigma,
        .locality = p->locality,
        .groups = m->groups,
        .topk_groups = m->topk_groups,
        .seed = 1,
    };
}

/// The routing: a trace of the model, or a synthetic one.
static int get_trace(struct mw_plan *plan, struct mw_error *err)
{
    const struct mw_plan_params *p = plan->params;
    const struct mw_transformer *m = &p->task.model;
    if (!p->trace) {
        const struct mw_synthetic how = synthetic_of(p);
        int status = mw_synthetic_check(&how, err);
        return status ? status : mw_trace_make(&plan->trace, &how, err);
    }
    struct mw_trace_said said = p->said;
    said.model_experts = m->experts;
    int status = mw_trace_load(&plan->trace, p->trace, &said, err);
    if (status)
        return status;
    const struct mw_trace *t = &plan->trace;
    if (t->experts != m->experts || t->k != m->k)
        status = mw_fail(err, MW_EXIT_INPUT, "%s: %u experts, k %u, but %s has %u and %u", t->name,
                         t->experts, t->k, m->name, m->experts, m->k);
    else if (p->layer >= t->layers || !t->tokens)
        status = mw_fail(err, MW_EXIT_INPUT, "--layer %u: %s has %zu layers of %zu tokens",
                         p->layer, t->name, t->layers, t->tokens);
    else
        status = mw_trace_check(t, p->layer, t->tokens, true, err);
    if (status)
        mw_trace_free(&plan->trace);
    return status;
}

/// The requested ones. Of all systems, one without coefficients is left out.
static int choose_systems(struct mw_plan *plan, struct mw_error *err)
{
    const struct mw_run_params *run = &plan->params->run;
    for (unsigned i = 0; i < MW_SYSTEMS; i++) {
        const bool asked = mw_run_asks_for(run, i);
        const bool fitted = mw_calibration_has(&mw_calibrated[MW_FIT_MOE], i);
        if (asked && !fitted && run->systems)
            return mw_fail(err, MW_EXIT_INPUT,
                           "--system %s: it has no coefficients: `make calibration` fits them",
                           mw_systems[i].name);
        plan->search.system[i] = asked && fitted;
    }
    return MW_EXIT_OK;
}

static int search(struct mw_plan *plan, struct mw_error *err)
{
    const struct mw_plan_params *p = plan->params;
    plan->planner = (struct mw_planner){.task = p->task,
                                        .calibration = mw_calibrated,
                                        .tensor_system = p->tensor_system,
                                        .trace = &plan->trace,
                                        .layer = p->layer,
                                        .tile = p->tile};
    int status = p->compute ? mw_compute_read(&plan->planner.compute, p->compute, err) : MW_EXIT_OK;
    if (!status)
        status = mw_planner_make(&plan->planner, err);
    plan->search.top = p->top;
    if (!status)
        status = choose_systems(plan, err);
    if (!status)
        status = mw_search_run(&plan->search, &plan->planner, &p->fixed, p->recompute_fixed, err);
    if (!status && p->explain > plan->search.found)
        status = mw_fail(err, MW_EXIT_INPUT, "--explain %u: there are %u configurations",
                         p->explain, plan->search.found);
    return status;
}

/// Details of the best configuration, besides the tables.
static int vary(struct mw_plan *plan, struct mw_error *err)
{
    const struct mw_plan_params *p = plan->params;
    const struct mw_synthetic how = synthetic_of(p);
    if (!p->files.json && !p->html)
        return MW_EXIT_OK;
    return mw_variants_make(&plan->variants, &plan->search, &plan->planner, p->trace ? NULL : &how,
                            err);
}

static int write_page(const struct mw_plan *plan, const struct mw_json *j, FILE *out,
                      struct mw_error *err)
{
    size_t size;
    if (!plan->params->html)
        return MW_EXIT_OK;
    char *text = mw_page_html(MW_PAGE_PLAN, j, &size);
    if (!text)
        return mw_fail_memory(err, "the page");
    int status = mw_data_send(out, plan->params->html, text, size, err);
    free(text);
    return status;
}

static int write_moe_csv(const struct mw_plan *plan, FILE *out, struct mw_error *err)
{
    char *text = NULL;
    size_t size = 0;
    if (!plan->params->moe_csv)
        return MW_EXIT_OK;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return mw_fail_memory(err, "moe.csv");
    mw_moe_csv(f, &plan->planner, &plan->search.best[0], MOE_TOKENS);
    fclose(f);
    int status = text ? mw_data_send(out, plan->params->moe_csv, text, size, err)
                      : mw_fail_memory(err, "moe.csv");
    free(text);
    return status;
}

static int write_chakra(struct mw_plan *plan, FILE *tables, struct mw_error *err)
{
    const struct mw_plan_params *p = plan->params;
    struct mw_chakra_times times;
    struct mw_chakra_counts counts;
    if (!p->chakra)
        return MW_EXIT_OK;
    int status =
        mw_chakra_times_of(&times, &plan->planner, &plan->search.best[0], p->chakra_ranks, err);
    if (!status)
        status = mw_chakra_file(p->chakra, p->chakra_out, &times, &counts, err);
    if (!status)
        fprintf(tables, "%s: %zu nodes, %zu with times (%zu all-to-all%s), %.0f us together\n",
                MW_SHOWN(p->chakra_out), counts.nodes, counts.timed, counts.all_to_all,
                plan->search.best[0].outside ? ", extrapolated *" : "", counts.micros);
    return status;
}

static int write_all(struct mw_plan *plan, FILE *out, struct mw_error *err)
{
    const struct mw_data_files *files = &plan->params->files;
    struct mw_json j = {0};
    struct mw_csv csv = {0};
    FILE *tables = mw_tables_open(out, mw_data_replaces_tables(files), err);
    if (!tables)
        return MW_EXIT_FAILED;
    mw_plan_report(tables, plan);
    mw_csv_begin(&csv, "configurations", &j);
    int status = mw_plan_json(&j, plan, err);
    if (!status)
        status = mw_data_write(files, out, &j, &csv, err);
    if (!status)
        status = write_page(plan, &j, out, err);
    if (!status)
        status = write_moe_csv(plan, out, err);
    if (!status)
        status = write_chakra(plan, tables, err);
    mw_tables_close(tables, out);
    mw_json_free(&j);
    mw_csv_free(&csv);
    return status;
}

static int check_files(const struct mw_plan_params *p, struct mw_error *err)
{
    enum { FILES = 5 };
    static const char *const option[FILES] = {"json", "csv", "html", "chakra-out", "moe-csv"};
    const char *const path[FILES] = {p->files.json, p->files.csv, p->html, p->chakra_out,
                                     p->moe_csv};
    int status = mw_outputs_differ(option, path, FILES, err);
    if (!status && p->trace)
        status = mw_outputs_spare_trace(option, path, FILES, p->trace, err);
    const char *const input[] = {p->task.model.file, p->machine_file, p->compute, p->chakra};
    for (unsigned i = 0; i < sizeof input / sizeof *input && !status; i++)
        status = mw_outputs_spare(option, path, FILES, input[i], err);
    for (unsigned i = 2; i < FILES && !status; i++)
        status = mw_output_probe(mw_is_standard(path[i]) ? NULL : path[i], err);
    return status ? status : mw_data_probe(&p->files, err);
}

static int plan_step(const struct mw_plan_params *params, FILE *out, struct mw_error *err)
{
    struct mw_plan plan = {.params = params};
    int status = check_files(params, err);
    if (!status)
        status = get_trace(&plan, err);
    if (status)
        return status;
    status = search(&plan, err);
    if (!status)
        status = vary(&plan, err);
    if (!status)
        status = write_all(&plan, out, err);
    mw_planner_free(&plan.planner);
    mw_search_free(&plan.search);
    mw_trace_free(&plan.trace);
    return status;
}

int mw_plan_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    bool help = false;
    struct mw_plan_params *p = calloc(1, sizeof *p);
    int status = p ? mw_plan_parse(p, argc, argv, &help, &err) : mw_fail_memory(&err, "the plan");
    if (!status && help)
        mw_command_help(&mw_plan_table, out);
    else if (!status)
        status = plan_step(p, out, &err);
    if (err.text[0])
        fprintf(errors, "moeswitch: %s\n", err.text);
    free(p);
    return status;
}
