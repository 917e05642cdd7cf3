// SPDX-License-Identifier: Apache-2.0
//
// Everything that `moeswitch run` found out, as JSON, see report.h.
#include "analysis/bounds.h"
#include "analysis/resources.h"
#include "report/report.h"

/// Where experts are, if not each at the place of its number.
static void json_placing(struct mw_json *j, const struct mw_placing *how,
                         const struct mw_workload *w)
{
    if (mw_placing_plain(how))
        return;
    mw_json_string(j, "placement", how->by ? how->by : "contiguous");
    if (mw_placing_by_loads(how))
        mw_json_string(j, "expert_loads", how->loads ? how->loads : "layer");
    mw_json_uint(j, "replicas", w->replicas);
    mw_json_string(j, "replica_choice", mw_replica_choice_name(how->choice));
}

static void json_params(struct mw_json *j, const struct mw_run_params *params,
                        const struct mw_trace *trace, const struct mw_workload *w)
{
    mw_json_object(j, "params", false);
    mw_json_string(j, "trace", trace->name);
    mw_json_string(j, "model", trace->model);
    mw_json_string(j, "preset", params->model ? params->model->name : NULL);
    mw_json_bool(j, "synthetic", trace->synthetic);
    mw_json_string(j, "weights", mw_trace_weights(trace));
    if (trace->synthetic) {
        mw_json_double(j, "sigma", params->sigma);
        mw_json_double(j, "locality", params->locality);
        mw_json_uint(j, "groups", params->groups);
        mw_json_uint(j, "topk_groups", params->topk_groups);
    }
    mw_json_array(j, "layers", true);
    for (unsigned i = 0; i < params->layer_count; i++)
        mw_json_uint(j, NULL, params->layers[i]);
    mw_json_end(j);
    mw_json_uint(j, "gpus", w->shape.gpus);
    mw_json_uint(j, "tokens_per_gpu", w->shape.tokens_per_gpu);
    if (w->shape.batches)
        mw_json_uint(j, "batches", w->shape.batches);
    if (w->shape.passes != MW_RUN_FORWARD)
        mw_json_string(j, "pass", mw_run_names[w->shape.passes]);
    if (w->shape.passes != MW_RUN_FORWARD)
        mw_json_bool(j, "gate_gradients", w->shape.gate_gradients);
    mw_json_uint(j, "hidden", w->shape.hidden);
    if (w->shape.dispatch_type != MW_ROWTYPE_BF16)
        mw_json_string(j, "dispatch_type", mw_row_type_names[w->shape.dispatch_type]);
    mw_json_uint(j, "experts", w->experts - w->replicas);
    json_placing(j, &params->placing, w);
    mw_json_uint(j, "k", w->k);
    mw_json_uint(j, "tile", params->tile);
    mw_json_bool(j, "partial_tiles", params->partial_tiles);
    if (params->as_dysharp)
        mw_json_bool(j, "moeswitch_as_dysharp", true);
    mw_json_uint(j, "expert_cycles", params->expert_cycles);
    mw_json_uint(j, "flit_bytes", params->flit_bytes);
    mw_json_uint(j, "link_latency", params->link_latency);
    mw_json_uint(j, "link_cycles", params->link_cycles);
    mw_json_uint(j, "in_flight", params->in_flight);
    mw_json_uint(j, "open_rows", params->open_rows);
    mw_json_bool(j, "allow_padding", w->shape.allow_padding);
    mw_json_string(j, "spread", w->shape.spread == MW_SPREAD_FAR ? "far" : "near");
    mw_json_uint(j, "seed", w->shape.seed);
    mw_json_object(j, "settings", true);
    for (unsigned i = 0; i < params->settings.count; i++)
        mw_json_uint(j, params->settings.item[i].name, params->settings.item[i].value);
    mw_json_end(j);
    mw_report_json_machine(j, params);
    mw_json_end(j);
}

/// Which of its layers on the device it is, where there are several.
static void json_pass(struct mw_json *j, const struct mw_workload *w, unsigned layer)
{
    if (w->shape.passes != MW_RUN_FORWARD)
        mw_json_string(j, "pass", mw_pass_names[w->layer[layer].pass]);
}

static void json_workload(struct mw_json *j, const struct mw_workload *w)
{
    mw_json_array(j, "workload", false);
    for (unsigned l = 0; l < w->layers; l++) {
        struct mw_layer_facts facts;
        mw_layer_facts(w, l, &facts);
        mw_json_object(j, NULL, false);
        mw_json_uint(j, "layer", w->layer[l].number);
        json_pass(j, w, l);
        mw_json_double(j, "remote_gpus_per_token", facts.remote_gpus_per_token);
        mw_json_double(j, "home_share", facts.home_share);
        mw_json_array(j, "expert_rows", true);
        for (unsigned q = 0; q < w->shape.gpus; q++)
            mw_json_uint(j, NULL, facts.rows[q]);
        mw_json_end(j);
        mw_json_array(j, "hub_additions", true); // of rows
        for (unsigned q = 0; q < w->shape.gpus; q++)
            mw_json_uint(j, NULL, facts.additions[q]);
        mw_json_end(j);
        mw_json_end(j);
    }
    mw_json_end(j);
}

static void json_bound(struct mw_json *j, const char *key, const struct mw_bound *b)
{
    char text[48];
    mw_json_object(j, key, true);
    mw_json_uint(j, "cycles", b->cycles);
    mw_json_string(j, "at", mw_bound_text(b, text, sizeof text));
    mw_json_end(j);
}

static void json_allocator(struct mw_json *j, uint64_t hits, uint64_t misses)
{
    mw_json_object(j, "allocator", true);
    mw_json_uint(j, "hits", hits);
    mw_json_uint(j, "misses", misses);
    mw_json_end(j);
}

static void json_merging(struct mw_json *j, const struct mw_merging *m)
{
    mw_json_object(j, "packet_manager", true);
    mw_json_uint(j, "in", m->in);
    mw_json_uint(j, "out", m->out);
    mw_json_uint(j, "merged", m->merged);
    mw_json_uint(j, "left_full", m->full);
    mw_json_uint(j, "left_by_timer", m->timer);
    mw_json_end(j);
}

static void json_stalls(struct mw_json *j, const struct mw_stall *stall, unsigned count)
{
    mw_json_object(j, "stalls", true);
    for (unsigned i = 0; i < count; i++)
        mw_json_uint(j, stall[i].cause, stall[i].cycles);
    mw_json_end(j);
}

/// Of gate weights: how many a layer makes, and those that are wrong.
static void json_gradients(struct mw_json *j, const struct mw_layer_result *layer)
{
    const struct mw_wrong_gradient *first = &layer->first_gradient;
    mw_json_object(j, "gate_gradients", true);
    mw_json_uint(j, "made", layer->gradients);
    mw_json_uint(j, "wrong", layer->wrong_gradients);
    mw_json_end(j);
    if (!layer->wrong_gradients)
        return;
    mw_json_object(j, "first_wrong_gradient", true);
    mw_json_uint(j, "token", first->token);
    mw_json_uint(j, "place", first->place);
    mw_json_uint(j, "expected", first->expected);
    mw_json_uint(j, "got", first->got);
    mw_json_end(j);
}

static void json_layer(struct mw_json *j, const struct mw_layer_result *layer,
                       const struct mw_workload *w, unsigned l, const struct mw_system *system,
                       const struct mw_run_params *params)
{
    const struct mw_link_parameters link = mw_run_links(params);
    struct mw_bounds bounds;
    struct mw_resources resources;
    mw_bounds_compute(w, l, system, &link, &bounds);
    mw_resources_compute(w, l, system, params->flit_bytes, &bounds, &resources);
    mw_json_object(j, NULL, false);
    mw_json_uint(j, "layer", w->layer[l].number);
    json_pass(j, w, l);
    mw_json_uint(j, "first_token", w->layer[l].first);
    mw_json_uint(j, "cycles", layer->cycles);
    json_bound(j, "strict_bound", &bounds.strict);
    json_bound(j, "own_bound", &bounds.own);
    json_bound(j, "own_link_bound", &bounds.own_link);
    json_bound(j, "adder", &resources.adder);
    json_bound(j, "engine", &resources.engine);
    json_bound(j, "banks", &resources.banks);
    json_bound(j, "limit", &resources.limit);
    mw_json_array(j, "phases", true);
    for (unsigned p = 0; system->phased && p < MW_PHASES; p++) {
        mw_json_object(j, NULL, true);
        mw_json_string(j, "phase", mw_phase_names[p]);
        json_bound(j, "bound", &bounds.own_phase[p]);
        mw_json_end(j);
    }
    mw_json_end(j);
    mw_json_uint(j, "wrong", layer->wrong);
    if (layer->wrong) {
        mw_json_object(j, "first_wrong", true);
        mw_json_uint(j, "token", layer->first.token);
        mw_json_uint(j, "element", layer->first.element);
        mw_json_uint(j, "expected", layer->first.expected);
        mw_json_uint(j, "got", layer->first.got);
        mw_json_end(j);
    }
    if (mw_makes_gradients(w, l))
        json_gradients(j, layer);
    json_allocator(j, layer->alloc_hits, layer->alloc_misses);
    if (system->packet_manager)
        json_merging(j, &layer->merging);
    json_stalls(j, layer->stall, layer->stalls);
    if (layer->monitor)
        mw_monitor_json(j, layer->monitor);
    mw_json_end(j);
}

static void json_direction(struct mw_json *j, const struct mw_summary *s, unsigned d)
{
    mw_json_object(j, mw_direction_names[d], false);
    mw_json_double(j, "payload_bytes_mean", s->direction[d].payload_mean);
    mw_json_uint(j, "payload_bytes_max", (uint64_t)s->direction[d].payload_max);
    mw_json_double(j, "wire_bytes_mean", s->direction[d].wire_mean);
    mw_json_uint(j, "wire_bytes_max", (uint64_t)s->direction[d].wire_max);
    mw_json_double(j, "use_mean", s->direction[d].use_mean);
    mw_json_double(j, "use_max", s->direction[d].use_max);
    mw_json_end(j);
}

/// Flits by class and payload bytes of every port, summed over the layers.
static void json_ports(struct mw_json *j, const struct mw_traffic *t, unsigned gpus)
{
    mw_json_array(j, "ports", false);
    for (unsigned p = 0; p < gpus; p++) {
        mw_json_object(j, NULL, true);
        mw_json_uint(j, "port", p);
        for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
            mw_json_object(j, mw_direction_names[d], true);
            for (unsigned c = 0; c < MW_CLASSES; c++)
                mw_json_uint(j, mw_class_names[c], t->flits[p][d][c]);
            mw_json_uint(j, "payload_bytes", t->payload[p][d]);
            mw_json_end(j);
        }
        mw_json_end(j);
    }
    mw_json_end(j);
}

static void json_feeding_run(struct mw_json *j, const char *key, const struct mw_workload *w,
                             const struct mw_feeding *f, const struct mw_feeding_run *r)
{
    mw_json_object(j, key, true);
    mw_json_uint(j, "device_cycles", r->device_cycles);
    mw_json_uint(j, "layer_cycles", r->layer_cycles);
    mw_json_uint(j, "idle_cycles", r->idle_cycles);
    mw_json_double(j, "tokens_per_s", mw_tokens_per_second(w, f, r));
    mw_json_end(j);
}

static void json_feeding(struct mw_json *j, const struct mw_workload *w, const struct mw_feeding *f)
{
    mw_json_object(j, "feeding", false);
    mw_json_uint(j, "clock_hz", f->clock_hz);
    json_feeding_run(j, "apart", w, f, &f->apart);
    json_feeding_run(j, "fed", w, f, &f->fed);
    mw_json_uint(j, "wrong", f->wrong);
    mw_json_end(j);
}

static void json_stack(struct mw_json *j, const struct mw_stack *s)
{
    mw_json_object(j, "stack", true);
    mw_json_uint(j, "layers", s->layers);
    mw_json_uint(j, "cached", s->cached);
    mw_json_uint(j, "layer_cycles", s->layer_cycles);
    mw_json_uint(j, "idle_cycles", s->idle_cycles);
    mw_json_uint(j, "wrong", s->wrong);
    mw_json_uint(j, "other_cycles", s->other_cycles);
    mw_json_bool(j, "other_flits", s->other_flits);
    mw_json_end(j);
}

static void json_model(struct mw_json *j, const struct mw_simulation *m)
{
    if (!*m->backend) {
        mw_json_null(j, "simulated_by");
        return;
    }
    mw_json_object(j, "simulated_by", true);
    mw_json_string(j, "backend", m->backend);
    mw_json_string(j, "verilator", m->verilator);
    mw_json_string(j, "compiler", m->compiler);
    mw_json_string(j, "flags", m->flags);
    mw_json_string(j, "sources", m->sources);
    mw_json_end(j);
}

void mw_report_json_summary(struct mw_json *j, const struct mw_summary *s, unsigned gpus)
{
    mw_json_string(j, "system", s->system);
    json_model(j, &s->result->model);
    mw_json_uint(j, "cycles", s->cycles);
    if (s->speedup > 0)
        mw_json_double(j, "speedup", s->speedup);
    else
        mw_json_null(j, "speedup");
    mw_json_string(j, "speedup_over", s->over);
    mw_json_uint(j, "strict_bound_cycles", s->strict);
    mw_json_uint(j, "own_bound_cycles", s->own);
    mw_json_uint(j, "own_link_bound_cycles", s->own_link);
    mw_json_double(j, "strict_share", s->strict_share);
    mw_json_double(j, "own_share", s->own_share);
    mw_json_string(j, "strict_bound_at", s->strict_at);
    mw_json_string(j, "own_bound_at", s->own_at);
    mw_json_uint(j, "wrong", s->wrong);
    mw_json_uint(j, "flit_errors", s->flit_errors);
    mw_json_uint(j, "below_bound", s->below_bound);
    for (unsigned d = 0; d < MW_DIRECTIONS; d++)
        json_direction(j, s, d);
    json_allocator(j, s->alloc_hits, s->alloc_misses);
    json_stalls(j, s->stall, s->stalls);
    json_ports(j, &s->traffic, gpus);
}

void mw_report_json_wall(struct mw_json *j, const struct mw_summary *s)
{
    mw_json_uint(j, "simulated_cycles", s->result->simulated_cycles);
    mw_json_double(j, "seconds_wall", s->result->seconds);
    mw_json_double(j, "sim_cycles_per_s", s->cycles_per_second);
}

/// Over the first system; null where there is none to compare with.
static void json_pass_speedup(struct mw_json *j, const struct mw_summary *s,
                              const struct mw_summary *base, const char *key, enum mw_pass pass)
{
    const double speedup = mw_pass_speedup(s, base, pass);
    if (speedup > 0)
        mw_json_double(j, key, speedup);
    else
        mw_json_null(j, key);
}

static void json_passes(struct mw_json *j, const struct mw_summary *s,
                        const struct mw_summary *base, const struct mw_workload *w)
{
    const struct mw_summary_gradients *g = &s->gradients;
    if (w->shape.passes == MW_RUN_FORWARD)
        return;
    mw_json_object(j, "pass_cycles", true);
    mw_json_uint(j, "forward", s->pass[MW_PASS_FORWARD]);
    mw_json_uint(j, "backward", s->pass[MW_PASS_BACKWARD]);
    mw_json_uint(j, "counted_again", s->pass[MW_PASS_COUNTED]);
    mw_json_end(j);
    mw_json_object(j, "pass_speedup", true);
    json_pass_speedup(j, s, base, "forward", MW_PASS_FORWARD);
    json_pass_speedup(j, s, base, "backward", MW_PASS_BACKWARD);
    mw_json_end(j);
    if (!w->shape.gate_gradients)
        return;
    mw_json_object(j, "gate_gradients", true);
    mw_json_uint(j, "made", g->made);
    mw_json_uint(j, "wrong", g->wrong);
    mw_json_uint(j, "uplink_flits", g->flits);
    mw_json_double(j, "uplink_share", mw_ratio((double)g->flits, (double)g->all));
    mw_json_end(j);
}

static void json_system(struct mw_json *j, const struct mw_summary *s,
                        const struct mw_summary *base, const struct mw_workload *w,
                        const struct mw_run_params *params)
{
    mw_json_object(j, NULL, false);
    mw_report_json_summary(j, s, w->shape.gpus);
    json_passes(j, s, base, w);
    mw_json_array(j, "layers", false);
    for (unsigned l = 0; l < s->result->layers; l++)
        json_layer(j, &s->result->layer[l], w, l, s->result->system, params);
    mw_json_end(j);
    if (s->result->has_feeding)
        json_feeding(j, w, &s->result->feeding);
    if (s->result->stack.layers)
        json_stack(j, &s->result->stack);
    mw_report_json_times(j, params, w, s);
    mw_report_json_wall(j, s);
    mw_json_end(j);
}

int mw_report_json(struct mw_json *j, const struct mw_run_params *params,
                   const struct mw_trace *trace, const struct mw_workload *w,
                   const struct mw_summary *summaries, unsigned count, struct mw_error *err)
{
    int status = mw_json_open(j, err);
    if (status)
        return status;
    mw_json_object(j, NULL, false);
    mw_json_string(j, "tool", "moeswitch " MW_VERSION);
    json_params(j, params, trace, w);
    json_workload(j, w);
    mw_json_array(j, "systems", false);
    for (unsigned i = 0; i < count; i++)
        json_system(j, &summaries[i], &summaries[0], w, params);
    mw_json_end(j);
    mw_json_end(j);
    return mw_json_close(j, err);
}
