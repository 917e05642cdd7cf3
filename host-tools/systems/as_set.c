// SPDX-License-Identifier: Apache-2.0
//
// Of the settings of a run, those that change what a system sends.
#include "systems/systems.h"

#include <string.h>

struct mw_system mw_system_as_set(const struct mw_system *system,
                                  const struct mw_settings *settings)
{
    struct mw_system s = *system;
    const bool allocates = s.row_sparse && !s.source_lists; // as MoE-Hub does
    bool asked = false; // for switch-initiated reductions, by name
    for (unsigned i = 0; i < settings->count; i++) {
        const struct mw_setting *set = &settings->item[i];
        unsigned *cost = mw_costs_place(&s.costs, set->name);
        if (cost)
            *cost = (unsigned)set->value;
        else if (strcmp(set->name, "target_list_cache") == 0)
            s.target_list_cache = set->value;
        else if (strcmp(set->name, "switch_reductions") == 0)
            asked = s.switch_reductions = s.signals && set->value;
        else if (strcmp(set->name, "token_order") == 0)
            s.token_order = set->value && s.signals;
        else if (strcmp(set->name, "order_waits") == 0)
            s.order_waits = set->value;
        else if (strcmp(set->name, "dispatch_throttle") == 0)
            s.dispatch_throttle = set->value && s.signals;
        else if (strcmp(set->name, "allocator") == 0 && allocates)
            s.counts_in = set->value ? MW_DISPATCH : MW_EXCHANGE;
        else if (strcmp(set->name, "tracker") == 0 && allocates)
            s.fences[MW_DISPATCH] = s.barriers[MW_DISPATCH] = s.barriers[MW_EXPERT] = !set->value;
        else if (strcmp(set->name, "scatter") == 0)
            s.scatter = set->value != 0;
        else if (strcmp(set->name, "packet_manager") == 0)
            s.packet_manager = set->value;
    }
    if (!s.target_list_cache && !asked) // which it needs
        s.switch_reductions = false;
    return s;
}
