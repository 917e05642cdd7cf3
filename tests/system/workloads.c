// SPDX-License-Identifier: Apache-2.0
//
// See workloads.h.
#include "workloads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/run.h"

enum { WORDS = 100, TEXT = 1100 };

int workload_prepare(struct workload *w, const char *words, struct mw_error *err)
{
    static char text[TEXT];
    char *argv[WORDS], *rest = text;
    int argc = 0;
    bool help;
    snprintf(text, sizeof text, "run %s", words);
    while ((argv[argc] = strsep(&rest, " ")))
        argc++;
    int status = mw_run_parse(&w->params, argc, argv, &help, err);
    return status ? status : mw_tp_prepare(&w->params, &w->problem, err);
}

void workload_make(struct workload *w, const char *words)
{
    struct mw_error err = {0};
    if (workload_prepare(w, words, &err))
        fail_msg("%s: %s", words, err.text);
}

struct mw_tp_result workload_pass(struct workload *w, const struct mw_tp_system *system,
                                  struct mw_device_choice device)
{
    const char *workload = mw_tp_kind_names[w->problem.o.kind];
    struct mw_tp_result r = {.system = system};
    struct mw_error err = {0};
    w->params.device = device;
    if (mw_tp_device_run(&w->params, &w->problem, &r, &err))
        fail_msg("%s, %s: %s", workload, system->name, err.text);
    mw_tp_summarize(&r, &w->problem, 0, NULL);
    if (mw_tp_report_differences(stderr, &r, &w->problem))
        fail_msg("%s, %s", workload, system->name);
    free(r.run.state);
    r.run.state = NULL;
    return r;
}

void workload_compare(struct workload *w, const struct mw_tp_system *system,
                      struct mw_device_choice device)
{
    for (unsigned i = 0; i < MW_TP_SYSTEMS && !system; i++)
        if (!mw_tp_unfit(&w->problem, mw_tp_systems[i]))
            workload_compare(w, mw_tp_systems[i], device);
    if (!system)
        return;
    const struct mw_tp_result sim = workload_pass(w, system, (struct mw_device_choice){0});
    const struct mw_tp_result there = workload_pass(w, system, device);
    assert_int_equal(sim.layer.cycles, there.layer.cycles);
    assert_memory_equal(&sim.layer.traffic, &there.layer.traffic, sizeof sim.layer.traffic);
    assert_memory_equal(sim.layer.stall, there.layer.stall, sizeof sim.layer.stall);
    print_message("%s, %s: %llu cycles, as sim\n", mw_tp_kind_names[w->problem.o.kind],
                  system->name, (unsigned long long)sim.layer.cycles);
}
