// SPDX-License-Identifier: Apache-2.0
//
// See old_names.h.
#include "device/old_names.h"

#include <string.h>

static const struct {
    const char *old, *now;
} pairs[] = {
    {"copy_lane", "adder_bypass"},        {"list_once", "target_list_cache"},
    {"switch_asks", "switch_reductions"}, {"pace", "dispatch_throttle"},
    {"pace_lead", "throttle_lead"},       {"pace_ahead", "throttle_ahead"},
    {"pace_idle", "throttle_idle"},
};

bool mw_old_name(unsigned i, const char **old, const char **now)
{
    if (i >= sizeof pairs / sizeof *pairs)
        return false;
    *old = pairs[i].old;
    *now = pairs[i].now;
    return true;
}

const char *mw_current_name(const char *name)
{
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(pairs[i].old, name) == 0)
            return pairs[i].now;
    return name;
}
