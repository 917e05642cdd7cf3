// SPDX-License-Identifier: Apache-2.0
//
// What the options of a run require of the layer's engines and links.
#include "device/setting_table.h"
#include "systems/job.h"

#include <string.h>

enum {
    PARTIAL_WAIT = 8, ///< cycles without work before --partial-tiles starts an open tile
    GUARD_WAIT = 256, ///< the same if only the limit on tokens in flight requires it
    THROTTLE_LEAD =
        4, ///< rows, or a quarter of a tile, that dispatch is kept ahead of partial sums
    THROTTLE_ROWS = 2,    ///< that it may be ahead, besides parts of a tile
    THROTTLE_LEAST = 6,   ///< of such rows
    SIXTEENTHS = 16,      ///< of a tile
    THROTTLE_EXPERT = 3,  ///< ... for each expert of a GPU
    THROTTLE_ENGINE = 24, ///< ... of rows for its engine
};

/// One field of the layer's configuration, from the option that `what` names.
static int set_field(struct job *j, const char *what, const char *field, uint64_t value)
{
    if (mw_layer_set(&j->config, field, value))
        return mw_fail(j->err, MW_EXIT_INPUT, "%s: %s", what, mw_message());
    return MW_EXIT_OK;
}

/// --set, of what is no field of the layer: settings of this folder, and costs.
static int set_setting(struct job *j, const struct mw_setting *s)
{
    const struct {
        const char *name;
        uint64_t *place;
    } own[] = {{"small", &j->small},
               {"token_order", &j->token_order},
               {"order_waits", &j->order_waits},
               {"dispatch_throttle", &j->dispatch_throttle},
               {"allocator", &j->allocator},
               {"tracker", &j->tracker},
               {"rows_per_expert", &j->rows_per_expert},
               {"quiet_cycles", &j->quiet_cycles},
               {"tile_guard", &j->tile_guard},
               {"switch_reductions", &j->switch_reductions},
               {"latency_classes", &j->latency_classes},
               {"port_limit", &j->port_limit},
               {"fault", &j->fault},
               {"fault_gpu", &j->fault_gpu},
               {"fault_after", &j->fault_after}};
    const struct mw_setting_kind *kind = mw_setting_find(s->name);
    if ((kind && kind->layer) || mw_costs_place(&(struct mw_costs){0}, s->name))
        return MW_EXIT_OK; // costs are of the system, see bounds.h
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(s->name, own[i].name) == 0) {
            *own[i].place = s->value;
            return MW_EXIT_OK;
        }
    return mw_fail(j->err, MW_EXIT_INPUT, "--set %s: there is no setting of that name", s->name);
}

/// A limit on tokens in flight can fill the window with rows of tiles that never become full (order
/// rule 8 of docs/design/architecture.md). Then idle engines must start such tiles.
static void guard_tiles(struct job *j)
{
    struct mw_layer_config *c = &j->config;
    uint64_t safe = (uint64_t)j->experts * (c->tile - 1);
    if (!j->tile_guard || c->partial_tiles || !c->in_flight || c->in_flight > safe)
        return;
    c->partial_tiles = true;
    if (c->partial_wait < GUARD_WAIT)
        c->partial_wait = GUARD_WAIT;
}

/// Rows wait in open tiles, of which each expert has one, and in the engine. The engine has a tile
/// and needs the next one in time: a tile and a half, independent of the number of experts. A row
/// of dispatch brings k rows to engines, so the smaller k is, the further ahead dispatch must be.
unsigned mw_throttle_ahead(unsigned tile, unsigned experts_per_gpu, unsigned k, unsigned trip)
{
    unsigned open = THROTTLE_EXPERT * experts_per_gpu, engine = THROTTLE_ENGINE / (k ? k : 1);
    unsigned ahead = THROTTLE_ROWS + (open > engine ? open : engine) * tile / SIXTEENTHS;
    return (ahead > THROTTLE_LEAST ? ahead : THROTTLE_LEAST) + trip;
}

/// How far dispatch goes ahead of partial sums, and may be.
static void throttle_rows(struct job *j)
{
    unsigned tile = j->params->tile;
    j->config.throttle_lead = tile / 4 > THROTTLE_LEAD ? tile / 4 : THROTTLE_LEAD;
    j->config.throttle_ahead = mw_throttle_ahead(tile, j->experts / j->params->shape.gpus, j->k,
                                                 mw_throttle_trip(j->params, j->k));
}

/// What the layer's engines and links do. A limit on tokens in flight applies if signals report
/// that one is finished. Without signals, dispatch is independent of what has come back.
int mw_job_settings(struct job *j)
{
    const struct mw_run_params *p = j->params;
    int status;
    mw_layer_defaults(&j->config);
    j->config.partial_wait = PARTIAL_WAIT;
    j->config.partial_tiles = p->partial_tiles || j->system->partial_tiles;
    j->config.target_list_cache = j->system->target_list_cache;
    j->config.switch_reductions = j->system->switch_reductions;
    j->config.dispatch_throttle = j->system->dispatch_throttle;
    j->config.balance_rows = j->system->balance_rows && // by copy counts
                             (j->system->token_order || j->system->dispatch_throttle);
    j->config.row_returns = j->system->row_sparse;
    j->config.source_lists = j->system->source_lists;
    if (j->system->dispatch_throttle)
        throttle_rows(j);
    j->tile_guard = 1;
    j->latency_classes = 1u << MW_CLS_STORE;
    j->port_limit = UINT64_MAX;
    if ((status = set_field(j, "--tile", "tile", p->tile)) ||
        (status = set_field(j, "--expert-cycles", "expert_cycles", p->expert_cycles)) ||
        (status = set_field(j, "--open-rows", "open_rows", p->open_rows)) ||
        (status = set_field(j, "--link-cycles", "link_cycles", p->link_cycles)) ||
        (status = set_field(j, "--in-flight", "in_flight", p->in_flight)))
        return status;
    status = mw_settings_apply(&p->settings, &j->config, j->err);
    for (unsigned i = 0; i < p->settings.count && !status; i++)
        status = set_setting(j, &p->settings.item[i]);
    if (!status && j->fault_gpu >= p->shape.gpus)
        status = mw_fail(j->err, MW_EXIT_INPUT, "--set fault_gpu=%llu: expected 0 to %u",
                         (unsigned long long)j->fault_gpu, p->shape.gpus - 1);
    if (!j->system->signals)
        j->config.in_flight = 0;
    if (!status)
        guard_tiles(j);
    return status;
}
