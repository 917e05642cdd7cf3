// SPDX-License-Identifier: Apache-2.0
//
// Which of its mechanisms `moeswitch` leaves out of a layer that is too small for them, and how far
// ahead others go. The layer's shape decides, which every GPU has before the layer begins. Its
// routing never does.
#include "systems/systems.h"

#include <math.h>
#include <string.h>

/// Ratio of the tiles' time to the links' above which mechanisms are left out. Above it, an engine
/// that begins a tile early has one more tile, for which no saved flit compensates
/// (bench/never_slower.py).
static const double MUCH = 4 / 3.0;

static bool any_said(const struct mw_settings *settings)
{
    static const char *const names[] = {"target_list_cache", "switch_reductions", "token_order",
                                        "dispatch_throttle", "throttle_lead",     "throttle_ahead",
                                        "throttle_idle",     "partial_wait"};
    for (unsigned i = 0; i < settings->count; i++)
        for (unsigned n = 0; n < sizeof names / sizeof *names; n++)
            if (strcmp(settings->item[i].name, names[n]) == 0)
                return true;
    return false;
}

/// Link cycles of a token, with both directions in parallel, if experts are chosen evenly: one row,
/// and a partial sum for each remote GPU.
static double token_time(const struct mw_run_params *params, unsigned k)
{
    const double n = params->shape.gpus, flits = 2.0 * params->shape.hidden / params->flit_bytes;
    const double row = flits * 9 / 8; // a header in front of eight flits
    const double remote = (n - 1) * (1 - pow(1 - 1 / n, k));
    return (1 + remote) * row * params->link_cycles;
}

unsigned mw_throttle_trip(const struct mw_run_params *params, unsigned k)
{
    enum { LINKS = 4 };
    return (unsigned)(LINKS * (params->link_latency - 1) / token_time(params, k));
}

unsigned mw_early_tokens(const struct mw_system *system, const struct mw_run_params *params,
                         const struct mw_workload *w, bool cached)
{
    enum {
        COUNTS = 2, // walks of the routing table: rows, and copies
        HOT = 5,    // searches for the GPU with most copies (copy_loads)
    };
    const double walk = (double)w->shape.tokens_per_gpu * w->k;
    const double charged = (double)w->shape.tokens_per_gpu * (double)system->costs.order;
    const double order = (charged > walk ? charged : walk) + HOT * w->shape.gpus;
    const double cycles = (cached ? 0 : COUNTS * walk) + order;
    const unsigned trip = mw_throttle_trip(params, w->k);
    const unsigned meanwhile = (unsigned)ceil(cycles / token_time(params, w->k)) + trip;
    const unsigned ahead = mw_throttle_ahead(params->tile, w->experts_per_gpu, w->k, trip);
    return meanwhile > ahead ? meanwhile : ahead;
}

/// Whether most experts have less than half a tile, so that one tile for each determines a GPU's
/// time.
static bool too_small(const struct mw_workload *w, const struct mw_run_params *params)
{
    const double rows = (double)w->tokens * w->k / w->experts;
    const double tiles = (double)w->experts_per_gpu * params->tile * (double)params->expert_cycles;
    return rows < params->tile / 2.0 &&
           tiles > MUCH * w->shape.tokens_per_gpu * token_time(params, w->k);
}

/// Whether dispatch may be ahead by nearly all tokens of a GPU, so that the throttle has
/// hardly anything to hold.
static bool throttles_little(const struct mw_workload *w, const struct mw_run_params *params)
{
    return 4 * w->shape.tokens_per_gpu <=
           5 * (uint64_t)mw_throttle_ahead(params->tile, w->experts_per_gpu, w->k,
                                           mw_throttle_trip(params, w->k));
}

bool mw_system_fit_layer(struct mw_system *s, const struct mw_run_params *params,
                         const struct mw_workload *w)
{
    if (!s->dispatch_throttle || any_said(&params->settings))
        return false;
    const bool small = too_small(w, params);
    if (small)
        s->target_list_cache = s->switch_reductions = s->partial_tiles = false;
    if (small || throttles_little(w, params))
        s->token_order = s->dispatch_throttle = false;
    return small;
}
