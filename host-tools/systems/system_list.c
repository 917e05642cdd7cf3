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

/// One of the list `text`.
static int add(struct mw_run_params *params, const char *option, const char *text, const char *at,
               size_t length, struct mw_error *err)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    const struct mw_system *system = length < sizeof name ? mw_system_find(name) : NULL;
    if (!system)
        return mw_fail_choice(option, text, mw_system_values, err);
    if (has(params, system))
        return mw_fail(err, MW_EXIT_INPUT, "--%s %s: %s is there twice", option, text, name);
    params->system[params->systems++] = system;
    return MW_EXIT_OK;
}

int mw_set_systems(void *place, const char *name, const char *text, struct mw_error *err)
{
    struct mw_run_params *params = place;
    params->systems = 0;
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
