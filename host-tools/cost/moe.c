// SPDX-License-Identifier: Apache-2.0
//
// See moe.h.
#include "cost/moe.h"

#include "analysis/resources.h"
#include "systems/system_list.h"

#include <math.h>

const char *const mw_range_names[MW_RANGES] = {"GPUs",
                                               "remote GPUs of a token",
                                               "tokens of a GPU",
                                               "values of a row",
                                               "tile",
                                               "cycles of an expert's row",
                                               "link latency",
                                               "rows of the busiest GPU over the mean"};

// ---- engines ------------------------------------------------------------------------------------

/// Cycles of the busiest engine if each expert's rows of `rows` fill whole tiles. Rows of the
/// sample are scaled to those of the layer.
static double tiled_engine(const struct mw_routing *r, const struct mw_moe_layer *layer,
                           const unsigned *rows, unsigned ranges, double scale)
{
    const double flits = ceil(2.0 * layer->dispatch / layer->flit_bytes);
    const double row = fmax(layer->expert_cycles, flits / MW_ENGINE_FLITS);
    double most = 0;
    for (unsigned g = 0; g < r->ep; g++) {
        double tiles = 0;
        for (unsigned i = 0; i < ranges * r->experts_per_gpu; i++) {
            const unsigned e = g * r->experts_per_gpu + i % r->experts_per_gpu;
            const double all = rows[(size_t)(i / r->experts_per_gpu) * r->experts + e] * scale;
            tiles += ceil(all / layer->tile);
        }
        most = fmax(most, tiles * layer->tile * row);
    }
    return most;
}

static double engine_of(const struct mw_routing *r, const struct mw_system *system,
                        const struct mw_moe_layer *layer)
{
    const double scale = layer->tokens * r->ep / (double)r->tokens;
    if (system->source_lists)
        return tiled_engine(r, layer, r->source_rows, r->w.shape.gpus, scale);
    if (system->row_ranges)
        return tiled_engine(r, layer, r->range_rows, MW_OVERLAP_RANGES, scale);
    return tiled_engine(r, layer, r->rows, 1, scale);
}

// ---- links --------------------------------------------------------------------------------------

static double busiest(const struct mw_traffic *t, const struct mw_routing *r,
                      const struct mw_link_parameters *link)
{
    return (double)mw_busiest_link(t, r->w.shape.gpus, link).cycles;
}

/// How many times as much a link of the machine carries as one of the workload, which has at most
/// MW_MAX_GPUS GPUs: by the GPUs of a token.
static double growth(const struct mw_routing *r, const struct mw_system *system)
{
    const double all = r->switched, part = r->w.shape.gpus;
    if (all <= part)
        return 1;
    if (system->gathered)
        return all / part;
    if (system->row_sparse)
        return (1 - 1 / all) / (1 - 1 / part);
    const double own = system->reduction;
    return (own + r->remote) / (own + r->sampled_remote);
}

/// Rows of dispatch have one length, those of combine another: phases are taken from a count with
/// each.
void mw_moe_count(const struct mw_routing *r, const struct mw_system *system,
                  const struct mw_moe_layer *layer, struct mw_moe_counts *counts)
{
    const struct mw_link_parameters link = {
        .flit_bytes = layer->flit_bytes, .link_cycles = 1, .tile = layer->tile};
    const double links = growth(r, system);
    struct mw_traffic out[MW_PHASES], back[MW_PHASES];
    struct mw_workload w = r->w;
    struct mw_bounds bounds;
    struct mw_resources resources;
    w.shape.hidden = layer->dispatch;
    mw_traffic_count(&w, 0, system, &link, out);
    w.shape.hidden = layer->combine;
    mw_traffic_count(&w, 0, system, &link, back);
    mw_bounds_compute(&w, 0, system, &link, &bounds);
    mw_resources_compute(&w, 0, system, layer->flit_bytes, &bounds, &resources);
    *counts = (struct mw_moe_counts){
        .dispatch = busiest(&out[MW_EXCHANGE], r, &link) + busiest(&out[MW_DISPATCH], r, &link),
        .combine = busiest(&back[MW_EXPERT], r, &link) + busiest(&back[MW_COMBINE], r, &link),
        .adder = (double)resources.adder.cycles,
        .banks = (double)resources.banks.cycles,
    };
    mw_traffic_add(&out[MW_DISPATCH], &out[MW_EXCHANGE]);
    mw_traffic_add(&out[MW_DISPATCH], &back[MW_EXPERT]);
    mw_traffic_add(&out[MW_DISPATCH], &back[MW_COMBINE]);
    counts->link = busiest(&out[MW_DISPATCH], r, &link) * links;
    counts->dispatch *= links;
    counts->combine *= links;
}

void mw_moe_features(const struct mw_routing *r, const struct mw_system *system,
                     const struct mw_moe_counts *counts, const struct mw_moe_layer *layer,
                     double feature[MW_FEATURES])
{
    const double scale = layer->tokens * r->machines_per_token / r->w.shape.tokens_per_gpu;
    const double engine = engine_of(r, system, layer), adder = counts->adder * scale;
    feature[MW_F_LATENCY] = layer->link_latency;
    feature[MW_F_CONSTANT] = 1;
    if (system->phased) {
        feature[MW_F_DISPATCH] = counts->dispatch * scale;
        feature[MW_F_ENGINE] = engine;
        feature[MW_F_COMBINE] = fmax(counts->combine * scale, adder);
        return;
    }
    const double moved = fmax(counts->link * scale, fmax(adder, counts->banks * scale));
    const double flits = ceil(2.0 * layer->dispatch / layer->flit_bytes);
    feature[MW_F_DISPATCH] = fmax(moved, engine);
    feature[MW_F_COMBINE] = fmin(moved, engine);
    feature[MW_F_ENGINE] = layer->tile * fmax(layer->expert_cycles, flits / MW_ENGINE_FLITS);
}

// ---- times --------------------------------------------------------------------------------------

void mw_moe_ranges(const struct mw_routing *r, const struct mw_moe_layer *layer,
                   double value[MW_RANGES])
{
    value[MW_R_GPUS] = r->switched;
    value[MW_R_REMOTE] = r->remote;
    value[MW_R_TOKENS] = layer->tokens;
    value[MW_R_HIDDEN] = layer->combine;
    value[MW_R_TILE] = layer->tile;
    value[MW_R_EXPERT] = layer->expert_cycles;
    value[MW_R_LATENCY] = layer->link_latency;
    value[MW_R_BUSIEST] = r->busiest;
}

unsigned mw_moe_outside(const struct mw_calibration *c, const struct mw_routing *r,
                        const struct mw_moe_layer *layer)
{
    double value[MW_RANGES];
    unsigned outside = 0;
    mw_moe_ranges(r, layer, value);
    for (unsigned i = 0; i < MW_RANGES; i++)
        if (value[i] < c->low[i] || value[i] > c->high[i])
            outside |= 1u << i;
    return outside;
}

double mw_moe_cycles(const struct mw_calibration *c, unsigned system, const struct mw_routing *r,
                     const struct mw_moe_counts *counts, const struct mw_moe_layer *layer)
{
    double feature[MW_FEATURES], cycles = 0;
    mw_moe_features(r, &mw_systems[system], counts, layer, feature);
    for (unsigned i = 0; i < MW_FEATURES; i++)
        cycles += c->coefficient[system][i] * feature[i];
    return cycles;
}
