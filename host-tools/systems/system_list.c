// SPDX-License-Identifier: Apache-2.0
//
// See system_list.h.
#include "systems/system_list.h"

#include <string.h>

const struct mw_system mw_systems[MW_SYSTEMS] = {
    {
        .name = "unicast",
        .phased = true,
        .counts = MW_COUNTS_PER_GPU,
        .counts_in = MW_EXCHANGE,
        .fences = {[MW_DISPATCH] = 1},
        .barriers = {[MW_DISPATCH] = 1},
        .flags = {[MW_COMBINE] = MW_UNICAST_RANGES},
    },
    {
        .name = "overlap",
        .row_ranges = true,
        .counts = MW_COUNTS_PER_GPU,
        .counts_in = MW_EXCHANGE,
        .flags = {[MW_DISPATCH] = MW_OVERLAP_RANGES, [MW_COMBINE] = MW_OVERLAP_RANGES},
    },
    {
        .name = "nvls",
        .gathered = true,
        .phased = true,
        .fences = {[MW_DISPATCH] = 1},
        .flags = {[MW_DISPATCH] = 1},
        .barriers = {[MW_DISPATCH] = 1, [MW_EXPERT] = 1},
    },
    {
        .name = "moe-hub",
        .row_sparse = true,
        .counts = MW_COUNTS_PER_EXPERT,
        .counts_in = MW_DISPATCH,
    },
    {
        .name = "flashdmoe",
        .row_sparse = true,
        .source_lists = true,
        .partial_tiles = true,
    },
    {
        .name = "dysharp-basic",
        .multicast = true,
        .reduction = true,
        .phased = true,
        .counts = MW_COUNTS_PER_EXPERT,
        .counts_in = MW_DISPATCH,
        .barriers = {[MW_EXPERT] = 1},
    },
    {
        .name = "dysharp",
        .multicast = true,
        .reduction = true,
        .signals = true,
        .counts = MW_COUNTS_PER_EXPERT,
        .counts_in = MW_DISPATCH,
    },
    {
        .name = "moeswitch",
        .multicast = true,
        .reduction = true,
        .signals = true,
        .target_list_cache = true,
        .switch_reductions = true,
        .token_order = true,
        .order_waits = true,
        .dispatch_throttle = true,
        .balance_rows = true,
        .partial_tiles = true,
        .counts = MW_COUNTS_PER_EXPERT,
        .counts_in = MW_DISPATCH,
    },
};

const struct mw_system *mw_system_find(const char *name)
{
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        if (strcmp(mw_systems[i].name, name) == 0)
            return &mw_systems[i];
    return NULL;
}

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

bool mw_moe_system_values(unsigned i, struct mw_term *term)
{
    if (i <= MW_SYSTEMS)
        *term = (struct mw_term){i < MW_SYSTEMS ? mw_systems[i].name : all, NULL};
    return i <= MW_SYSTEMS;
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
/// `known` has the names for the message about an unknown one.
static int add(struct mw_run_params *params, const char *option, const char *text, const char *at,
               size_t length, mw_terms *known, struct mw_error *err)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    const struct mw_system *moe = length < sizeof name ? mw_system_find(name) : NULL;
    const struct mw_tp_system *tp = length < sizeof name ? mw_tp_system_find(name) : NULL;
    if (!moe && !tp && (!length || strcmp(name, all) == 0))
        return mw_fail(err, MW_EXIT_INPUT, "--%s %s: %s", option, text,
                       !*text    ? "the name is empty"
                       : !length ? "a name between commas is empty"
                                 : "all stands alone, not in a list");
    if (!moe && !tp)
        return mw_fail_choice(option, text, known, err);
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

static int set_systems(struct mw_run_params *params, const char *name, const char *text,
                       mw_terms *known, struct mw_error *err)
{
    params->systems = params->tp_systems = 0;
    params->moe_only = params->tp_only = NULL;
    if (strcmp(text, all) == 0)
        return MW_EXIT_OK;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        int status = add(params, name, text, at, length, known, err);
        at += length;
        if (status || !*at)
            return status;
    }
}

int mw_set_systems(void *place, const char *name, const char *text, struct mw_error *err)
{
    return set_systems(place, name, text, mw_system_values, err);
}

int mw_set_moe_systems(void *place, const char *name, const char *text, struct mw_error *err)
{
    const struct mw_run_params *params = place;
    int status = set_systems(place, name, text, mw_moe_system_values, err);
    if (!status && params->tp_only)
        return mw_fail(err, MW_EXIT_INPUT, "--%s %s: it runs no MoE layers", name, params->tp_only);
    return status;
}
