// SPDX-License-Identifier: Apache-2.0
//
// See tp_options.h.
#include "run/tp_options.h"

#include "run/run.h"

#include <string.h>

/// Options that only MoE layers have, or only tensor-parallel workloads.
static const char *const moe_options[] = {
    "trace",          "axes",           "model",         "layer",     "layers",
    "tokens-per-gpu", "batches",        "allow-padding", "experts",   "k",
    "sigma",          "groups",         "repeat-tokens", "jobs",      "partial-tiles",
    "locality",       "spread",         "topk-groups",   "costs",     "in-flight",
    "trace-fst",      "hardware",       "gemm-type",     "placement", "expert-loads",
    "replicas",       "replica-choice", "dispatch-type"};
static const char *const tp_options[] = {
    "rows",         "shape",         "gemm-rs-cycles", "ln-cycles", "ag-gemm-cycles", "jitter",
    "start-spread", "merge-entries", "no-merge",       "no-sync",   "keep-answers",   "load-bytes"};

static const char *const load_options[] = {"merge-entries", "no-merge", "no-sync", "keep-answers",
                                           "load-bytes"};

/// Settings that leave packets as they are, or whose effect the counters show.
static const char *const tp_settings[] = {
    "store_credits", "part_credits", "ctrl_credits", "down_store_credits", "down_part_credits",
    "throttle",      "window",       "adder_bypass", "down_throttle",      "launch_cycles",
    "start_delay",   "small",        "quiet_cycles", "own_by_adder",       "sum_entries",
    "sum_cycles",    "fetch_cycles"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool has(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

/// The first option of a list that was given, or NULL.
static const char *given(const char *const *list, size_t count, const struct mw_options_said *said)
{
    for (size_t i = 0; i < count; i++)
        if (mw_option_given(&mw_run_table, said, list[i]))
            return list[i];
    return NULL;
}

/// Times per row of parts that the workload lacks, or that two options set.
static int check_cycles(const struct mw_run_params *params, const struct mw_options_said *said,
                        struct mw_error *err)
{
    const struct mw_tp_options *o = &params->tp;
    const struct mw_tp_problem p = {.o = *o};
    if (o->shape && mw_option_given(&mw_run_table, said, "expert-cycles"))
        return mw_fail(err, MW_EXIT_INPUT, "--expert-cycles: not with --shape, which says it");
    for (unsigned i = 0; i < MW_TP_PARTS; i++) {
        if (o->given[i] && !mw_tp_has(&p, (enum mw_tp_part)i))
            return mw_fail(err, MW_EXIT_INPUT, "--%s: not with --workload %s, which has no %s",
                           mw_tp_parts[i].option, mw_tp_kind_names[o->kind], mw_tp_parts[i].name);
        if (o->given[i] && o->shape && i != MW_TP_LN)
            return mw_fail(err, MW_EXIT_INPUT, "--%s: not with --shape, which says it",
                           mw_tp_parts[i].option);
    }
    return MW_EXIT_OK;
}

/// Options of loads, where the workload has none or the switch shall merge none.
static int check_loads(const struct mw_run_params *params, const struct mw_options_said *said,
                       struct mw_error *err)
{
    const struct mw_tp_problem p = {.o = params->tp};
    const char *option = given(load_options, COUNT(load_options), said);
    if (option && !mw_tp_gathers(&p))
        return mw_fail(err, MW_EXIT_INPUT, "--%s: not with --workload %s, which loads nothing",
                       option, mw_tp_kind_names[p.o.kind]);
    if (p.o.no_merge && mw_option_given(&mw_run_table, said, "merge-entries"))
        return mw_fail(err, MW_EXIT_INPUT, "--merge-entries: not with --no-merge");
    if (p.o.keep && (p.o.no_merge || !p.o.merge_entries))
        return mw_fail(err, MW_EXIT_INPUT,
                       "--keep-answers: not with %s: only answers of merged loads are kept",
                       p.o.no_merge ? "--no-merge" : "--merge-entries 0");
    return MW_EXIT_OK;
}

int mw_tp_check_options(const struct mw_run_params *params, const struct mw_options_said *said,
                        struct mw_error *err)
{
    const bool moe = params->tp.kind == MW_TP_NONE;
    const char *workload = mw_tp_kind_names[params->tp.kind];
    const char *option = moe ? given(tp_options, COUNT(tp_options), said)
                             : given(moe_options, COUNT(moe_options), said);
    const char *system = moe ? params->tp_only : params->moe_only;
    int status;
    if (option)
        return mw_fail(err, MW_EXIT_INPUT, "--%s: not with --workload %s", option, workload);
    if (system)
        return mw_fail(err, MW_EXIT_INPUT, "--system %s: not with --workload %s", system, workload);
    for (unsigned i = 0; i < params->settings.count && !moe; i++)
        if (!has(tp_settings, COUNT(tp_settings), params->settings.item[i].name))
            return mw_fail(err, MW_EXIT_INPUT, "--set %s: not with --workload %s",
                           params->settings.item[i].name, workload);
    status = check_loads(params, said, err);
    return status ? status : check_cycles(params, said, err);
}
