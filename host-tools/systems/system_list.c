// SPDX-License-Identifier: Apache-2.0
//
// `--system`: which systems a run has, and in which order, see run.h.
#include "cli/option_table.h"
#include "cli/option_value.h"
#include "run/run.h"

#include <string.h>

enum { NAME_BYTES = 64 };

static const char all[] = "all";

bool mw_system_values(unsigned i, struct mw_term *term)
{
    *term = (struct mw_term){i < MW_SYSTEMS ? mw_systems[i].name : NULL, NULL};
    for (unsigned t = 0, at = MW_SYSTEMS; t < MW_TP_SYSTEMS && !term->name; t++)
        if (!mw_system_find(mw_tp_systems[t]->name) && at++ == i)
            term->name = mw_tp_systems[t]->name;
    if (term->name)
        return true;
    struct mw_term before = {0};
    term->name = all;
    return i == 0 || (mw_system_values(i - 1, &before) && before.name != all);
}

static bool has(const struct mw_run_params *params, const struct mw_system *system)
{
    for (unsigned i = 0; i < params->systems; i++)
        if (params->system[i] == system)
            return true;
    return false;
}

bool mw_run_asks_for(const struct mw_run_params *params, unsigned i)
{
    return params->systems ? has(params, &mw_systems[i]) : !params->left_out[i].out;
}

static bool has_tp(const struct mw_run_params *params, const struct mw_tp_system *system)
{
    for (unsigned i = 0; i < params->tp_systems; i++)
        if (params->tp_system[i] == system)
            return true;
    return false;
}

/// One of the list `text`: a system of MoE layers, of tensor-parallel workloads, or of both.
static int add(struct mw_run_params *params, const char *option, const char *text, const char *at,
               size_t length, struct mw_error *err)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    const struct mw_system *moe = length < sizeof name ? mw_system_find(name) : NULL;
    const struct mw_tp_system *tp = length < sizeof name ? mw_tp_system_find(name) : NULL;
    if (!moe && !tp)
        return mw_fail_choice(option, text, mw_system_values, err);
    if (moe ? has(params, moe) : has_tp(params, tp))
        return mw_fail(err, MW_EXIT_INPUT, "--%s %s: %s is there twice", option, text, name);
    if (moe)
        params->system[params->systems++] = moe;
    if (tp)
        params->tp_system[params->tp_systems++] = tp;
    if (!tp)
        params->moe_only = moe->name;
    if (!moe)
        params->tp_only = tp->name;
    return MW_EXIT_OK;
}

int mw_set_systems(void *place, const char *name, const char *text, struct mw_error *err)
{
    struct mw_run_params *params = place;
    params->systems = params->tp_systems = 0;
    params->moe_only = params->tp_only = NULL;
    if (strcmp(text, all) == 0)
        return MW_EXIT_OK;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        int status = add(params, name, text, at, length, err);
        at += length;
        if (status || !*at)
            return status;
    }
}
