// SPDX-License-Identifier: Apache-2.0
//
// See moe.h.
#include "cost/moe.h"

#include "analysis/resources.h"
#include "cost/fit_features.h"
#include "systems/system_list.h"

#include <math.h>
#include <string.h>

const char *const mw_feature_names[MW_FEATURES] = {"first", "second", "third",   "fourth",  "adder",
                                                   "banks", "tile",   "latency", "constant"};
const char *const mw_range_names[MW_RANGES] = {"GPUs",
                                               "remote GPUs of a token",
                                               "tokens of a GPU",
                                               "values of a row",
                                               "tile",
                                               "cycles of an expert's row",
                                               "link latency",
                                               "rows of the busiest GPU over the mean"};

// ---- engines ------------------------------------------------------------------------------------

/// Rows of the layer for each of the sample.
static double row_scale(const struct mw_routing *r, const struct mw_moe_layer *layer)
{
    return layer->tokens * r->ep / (double)r->tokens;
}

/// Cycles in which an engine moves a row.
static double moved_cycles(const struct mw_moe_layer *layer)
{
    return ceil(2.0 * layer->dispatch / layer->flit_bytes) / MW_ENGINE_FLITS;
}

/// Cycles of the busiest engine. A tile has rows of one expert and one of `ranges`, and takes the
/// time of its experts full or not. Rows of the sample are scaled to those of the layer.
static double tiled_engine(const struct mw_routing *r, const struct mw_moe_layer *layer,
                           const unsigned *rows, unsigned ranges, double scale)
{
    double most = 0;
    for (unsigned g = 0; g < r->ep; g++) {
        double tiles = 0, all = 0;
        for (unsigned i = 0; i < ranges * r->experts_per_gpu; i++) {
            const unsigned e = g * r->experts_per_gpu + i % r->experts_per_gpu;
            const double own = rows[(size_t)(i / r->experts_per_gpu) * r->experts + e] * scale;
            tiles += ceil(own / layer->tile);
            all += own;
        }
        most =
            fmax(most, fmax(tiles * layer->tile * layer->expert_cycles, all * moved_cycles(layer)));
    }
    return most;
}

/// Share of the rows that are in the first tile of their expert. About this share of the layer's
/// time passes before experts start, and again after the last row's arrival.
static double first_share(const struct mw_routing *r, const struct mw_moe_layer *layer)
{
    const double scale = row_scale(r, layer);
    double first = 0, all = 0;
    for (unsigned e = 0; e < r->experts; e++) {
        const double own = r->rows[e] * scale;
        first += fmin(own, layer->tile);
        all += own;
    }
    return all > 0 ? first / all : 0;
}

static double engine_of(const struct mw_routing *r, const struct mw_system *system,
                        const struct mw_moe_layer *layer)
{
    const double scale = row_scale(r, layer);
    if (system->source_lists)
        return tiled_engine(r, layer, r->source_rows, r->w.shape.gpus, scale);
    if (system->row_ranges)
        return tiled_engine(r, layer, r->range_rows, MW_OVERLAP_RANGES, scale);
    if (system->gathered)
        return tiled_engine(r, layer, r->gathered_rows, MW_ALL_GATHERED, scale);
    return tiled_engine(r, layer, r->rows, 1, scale);
}

// ---- links --------------------------------------------------------------------------------------

static double busiest(const struct mw_traffic *t, const struct mw_routing *r,
                      const struct mw_link_parameters *link)
{
    return (double)mw_busiest_link(t, r->w.shape.gpus, link).cycles;
}

/// Ratio of the load of a machine's link to that of a workload's link, from the GPUs of a token. A
/// workload has at most MW_COUNTED_GPUS GPUs.
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
    const double engine = engine_of(r, system, layer), first = first_share(r, layer);
    const double adder = counts->adder * scale;
    memset(feature, 0, MW_FEATURES * sizeof *feature);
    feature[MW_F_TILE] = layer->tile * fmax(layer->expert_cycles, moved_cycles(layer));
    feature[MW_F_LATENCY] = layer->link_latency;
    feature[MW_F_CONSTANT] = 1;
    feature[MW_F_SECOND] = engine;
    if (system->phased) {
        const double link = counts->combine * scale;
        feature[MW_F_FIRST] = counts->dispatch * scale + fmax(link, adder);
        feature[MW_F_THIRD] = fmin(link, adder);
        feature[MW_F_FOURTH] = first * adder;
        return;
    }
    const double link = counts->link * scale;
    feature[MW_F_FIRST] = fmax(link, engine);
    feature[MW_F_SECOND] = fmin(link, engine);
    feature[MW_F_THIRD] = first * link;
    feature[MW_F_FOURTH] = first * engine;
    feature[MW_F_ADDER] = adder;
    feature[MW_F_BANKS] = counts->banks * scale;
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
    mw_moe_ranges(r, layer, value);
    return mw_calibration_outside(c, value);
}

double mw_moe_cycles(const struct mw_calibration *c, unsigned system, const struct mw_routing *r,
                     const struct mw_moe_counts *counts, const struct mw_moe_layer *layer)
{
    double feature[MW_FEATURES];
    mw_moe_features(r, &mw_systems[system], counts, layer, feature);
    return mw_fit_value(c->coefficient[system], feature);
}
