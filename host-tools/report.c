// SPDX-License-Identifier: Apache-2.0
//
// Results, table and JSON, see report.h.
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int mw_result_make(struct mw_result *r, const struct mw_workload *w, const struct mw_system *system,
                   struct mw_error *err)
{
    *r = (struct mw_result){.system = system, .layers = w->layers};
    r->layer = calloc(w->layers, sizeof *r->layer);
    bool ok = r->layer != NULL;
    for (unsigned i = 0; ok && i < w->layers; i++) {
        r->layer[i].out = calloc((size_t)w->tokens * w->shape.hidden, sizeof *r->layer[i].out);
        ok = r->layer[i].out != NULL;
    }
    if (ok)
        return MW_EXIT_OK;
    mw_result_free(r);
    return mw_fail_memory(err, "the results");
}

void mw_result_free(struct mw_result *r)
{
    for (unsigned i = 0; r->layer && i < r->layers; i++) {
        free(r->layer[i].out);
        mw_monitor_free(r->layer[i].monitor);
    }
    free(r->layer);
    free(r->state);
    *r = (struct mw_result){0};
}

static void add_stall(struct mw_stall *list, unsigned *count, const char *cause, uint64_t cycles)
{
    for (unsigned i = 0; i < *count; i++) {
        if (strcmp(list[i].cause, cause) == 0) {
            list[i].cycles += cycles;
            return;
        }
    }
    if (*count == MW_MAX_STALLS)
        return;
    struct mw_stall *s = &list[(*count)++];
    snprintf(s->cause, sizeof s->cause, "%s", cause);
    s->cycles = cycles;
}

void mw_result_stall(struct mw_layer_result *layer, const char *cause, uint64_t cycles)
{
    add_stall(layer->stall, &layer->stalls, cause, cycles);
}

void mw_result_check(struct mw_result *r, const struct mw_workload *w, uint16_t *const *golden)
{
    size_t hidden = w->shape.hidden, elements = w->tokens * hidden;
    for (unsigned l = 0; l < r->layers; l++) {
        struct mw_layer_result *layer = &r->layer[l];
        layer->wrong = 0;
        if (memcmp(layer->out, golden[l], elements * sizeof *layer->out) == 0)
            continue;
        for (size_t i = 0; i < elements; i++) {
            if (layer->out[i] == golden[l][i])
                continue;
            if (!layer->wrong++)
                layer->first = (struct mw_mismatch){(unsigned)(i / hidden), (unsigned)(i % hidden),
                                                    golden[l][i], layer->out[i]};
        }
    }
}

/// The analytic list of one layer, all phases together.
static void expected_traffic(const struct mw_workload *w, unsigned layer,
                             const struct mw_system *system, unsigned flit_bytes,
                             struct mw_traffic *t)
{
    struct mw_traffic phases[MW_PHASES];
    mw_traffic_count(w, layer, system, flit_bytes, phases);
    *t = phases[0];
    for (unsigned p = 1; p < MW_PHASES; p++)
        mw_traffic_add(t, &phases[p]);
}

/// Compare one counter; returns 1 if it differs.
static unsigned compare(struct mw_flit_error *first, unsigned found, unsigned layer, unsigned port,
                        unsigned direction, const char *what, uint64_t counted, uint64_t expected)
{
    if (counted == expected)
        return 0;
    if (!found)
        *first = (struct mw_flit_error){layer, port,    mw_direction_names[direction],
                                        what,  counted, expected};
    return 1;
}

unsigned mw_result_flit_errors(const struct mw_result *r, const struct mw_workload *w,
                               unsigned flit_bytes, struct mw_flit_error *first)
{
    unsigned found = 0;
    for (unsigned l = 0; l < r->layers; l++) {
        struct mw_traffic want;
        const struct mw_traffic *got = &r->layer[l].traffic;
        expected_traffic(w, l, r->system, flit_bytes, &want);
        for (unsigned p = 0; p < w->shape.gpus; p++) {
            for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
                for (unsigned c = 0; c < MW_CLASSES; c++)
                    found += compare(first, found, l, p, d, mw_class_names[c], got->flits[p][d][c],
                                     want.flits[p][d][c]);
                found += compare(first, found, l, p, d, "payload", got->payload[p][d],
                                 want.payload[p][d]);
            }
        }
    }
    return found;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/// Keep the place of a bound as long as all layers have the same.
static void merge_place(char *place, size_t size, const struct mw_bound *b, unsigned layer)
{
    char text[48];
    mw_bound_text(b, text, sizeof text);
    if (layer == 0)
        snprintf(place, size, "%s", text);
    else if (strcmp(place, text) != 0)
        snprintf(place, size, "varies");
}

static void summarize_links(struct mw_summary *s, unsigned gpus, unsigned flit_bytes)
{
    for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
        for (unsigned p = 0; p < gpus; p++) {
            double flits = (double)mw_traffic_flits(&s->traffic, p, (enum mw_direction)d);
            double payload = (double)s->traffic.payload[p][d], wire = flits * flit_bytes;
            s->direction[d].payload_mean += payload / gpus;
            s->direction[d].wire_mean += wire / gpus;
            if (payload > s->direction[d].payload_max)
                s->direction[d].payload_max = payload;
            if (wire > s->direction[d].wire_max)
                s->direction[d].wire_max = wire;
        }
        double most = (double)s->cycles * flit_bytes;
        s->direction[d].use_mean = ratio(s->direction[d].wire_mean, most);
        s->direction[d].use_max = ratio(s->direction[d].wire_max, most);
    }
}

void mw_summarize(struct mw_summary *s, const struct mw_result *r, const struct mw_workload *w,
                  const struct mw_run_params *params, uint64_t unicast_cycles)
{
    *s = (struct mw_summary){.system = r->system->name, .result = r};
    const struct mw_link_parameters link = {params->flit_bytes, params->expert_cycles};
    for (unsigned l = 0; l < r->layers; l++) {
        const struct mw_layer_result *layer = &r->layer[l];
        struct mw_bounds bounds;
        mw_bounds_compute(w, l, r->system, &link, &bounds);
        s->cycles += layer->cycles;
        s->wrong += layer->wrong;
        s->strict += bounds.strict.cycles;
        s->own += bounds.own.cycles;
        s->own_link += bounds.own_link.cycles;
        merge_place(s->strict_at, sizeof s->strict_at, &bounds.strict, l);
        merge_place(s->own_at, sizeof s->own_at, &bounds.own, l);
        mw_traffic_add(&s->traffic, &layer->traffic);
        for (unsigned i = 0; i < layer->stalls; i++)
            add_stall(s->stall, &s->stalls, layer->stall[i].cause, layer->stall[i].cycles);
    }
    struct mw_flit_error first;
    s->flit_errors = mw_result_flit_errors(r, w, params->flit_bytes, &first);
    s->speedup = ratio((double)unicast_cycles, (double)s->cycles);
    s->strict_share = ratio((double)s->strict, (double)s->cycles);
    s->own_share = ratio((double)s->own, (double)s->cycles);
    s->cycles_per_second = ratio((double)r->simulated_cycles, r->seconds);
    summarize_links(s, w->shape.gpus, params->flit_bytes);
}

// ---- the table --------------------------------------------------------------------------------

static void print_layers(FILE *out, const struct mw_run_params *params)
{
    fprintf(out, "layer%s ", params->layer_count > 1 ? "s" : "");
    for (unsigned i = 0; i < params->layer_count; i++)
        fprintf(out, "%s%zu", i ? "," : "", params->layers[i]);
}

void mw_report_head(FILE *out, const struct mw_run_params *params, const struct mw_trace *trace,
                    const struct mw_workload *w)
{
    fprintf(out, "%s (%s), ", trace->name, trace->model);
    print_layers(out, params);
    fprintf(out,
            ": %u GPUs, %u tokens each, hidden %u, %u experts, k %u, tile %u%s, expert %" PRIu64
            " cycles per row, flits of %u bytes, link latency %u, seed %" PRIu64 "\n",
            w->shape.gpus, w->shape.tokens_per_gpu, w->shape.hidden, w->experts, w->k, params->tile,
            params->partial_tiles ? " or less" : "", params->expert_cycles, params->flit_bytes,
            params->link_latency, w->shape.seed);
    const struct mw_link_parameters link = {params->flit_bytes, params->expert_cycles};
    for (unsigned l = 0; l < w->layers; l++) {
        struct mw_layer_facts facts;
        struct mw_bounds bounds;
        char at[48];
        mw_layer_facts(w, l, &facts);
        mw_bounds_compute(w, l, &mw_systems[0], &link, &bounds);
        fprintf(out, "layer %zu", w->layer[l].number);
        if (w->shape.batches)
            fprintf(out, ", tokens from %zu on", w->layer[l].first);
        fprintf(out,
                ": strict bound %" PRIu64 " cycles (%s); %.3f remote GPUs per token, %.1f %% "
                "of tokens with an expert at home, busiest engine %u with %" PRIu64 " rows\n",
                bounds.strict.cycles, mw_bound_text(&bounds.strict, at, sizeof at),
                facts.remote_gpus_per_token, 100 * facts.home_share, facts.busiest,
                facts.rows[facts.busiest]);
    }
    fprintf(out,
            "\n%-14s %10s %7s %8s %7s %-13s %-25s %-25s %-23s %6s %8s  %s\n"
            "%-14s %10s %7s %8s %7s %-13s %-25s %-25s %-23s %6s %8s  %s\n",
            "", "", "over", "strict", "own", "own", "payload KiB, mean/busiest",
            "wire KiB, mean/busiest", "link use %, mean/busiest", "", "kcycles", "", "system",
            "cycles", "unicast", "bound %", "bound %", "bound at", "up          down",
            "up          down", "up          down", "#wrong", "/s", "stalls");
}

static void print_pair(FILE *out, double mean, double most)
{
    char text[32];
    snprintf(text, sizeof text, "%.0f/%.0f", mean, most);
    fprintf(out, " %-12s", text);
}

void mw_report_line(FILE *out, const struct mw_summary *s)
{
    char speedup[16] = "-";
    if (s->speedup > 0)
        snprintf(speedup, sizeof speedup, "%.3f", s->speedup);
    fprintf(out, "%-14s %10" PRIu64 " %7s %8.1f %7.1f %-12s", s->system, s->cycles, speedup,
            100 * s->strict_share, 100 * s->own_share, s->own_at);
    for (unsigned d = 0; d < MW_DIRECTIONS; d++)
        print_pair(out, s->direction[d].payload_mean / 1024, s->direction[d].payload_max / 1024);
    for (unsigned d = 0; d < MW_DIRECTIONS; d++)
        print_pair(out, s->direction[d].wire_mean / 1024, s->direction[d].wire_max / 1024);
    for (unsigned d = 0; d < MW_DIRECTIONS; d++)
        print_pair(out, 100 * s->direction[d].use_mean, 100 * s->direction[d].use_max);
    fprintf(out, "%6" PRIu64 " %8.1f ", s->wrong, s->cycles_per_second / 1000);
    for (unsigned i = 0; i < s->stalls; i++)
        fprintf(out, " %s=%" PRIu64, s->stall[i].cause, s->stall[i].cycles);
    fputc('\n', out);
}

static double tokens_per_second(const struct mw_workload *w, const struct mw_feeding *f,
                                const struct mw_feeding_run *r)
{
    return ratio((double)w->layers * w->tokens * f->clock_hz, (double)r->device_cycles);
}

void mw_report_feeding(FILE *out, const struct mw_workload *w, const struct mw_summary *summaries,
                       unsigned count)
{
    bool head = false;
    for (unsigned i = 0; i < count; i++) {
        const struct mw_feeding *f = &summaries[i].result->feeding;
        if (!summaries[i].result->has_feeding)
            continue;
        if (!head)
            fprintf(out,
                    "\n%u batches of %u tokens, written, run and read one after the other; and the "
                    "next written and the last read while one runs, which costs the fabric cycles; "
                    "clock %.3g MHz\n"
                    "%-14s %-32s %-32s %7s %17s\n%-14s %10s %9s %11s %10s %9s %11s %7s %8s %8s "
                    "%6s\n",
                    w->layers, w->tokens, f->clock_hz / 1e6, "", "one after the other", "fed",
                    "tokens", "cost to the fabric", "system", "cycles", "idle", "tokens/s",
                    "cycles", "idle", "tokens/s", "gain %", "cycles", "%", "#wrong");
        head = true;
        const struct mw_feeding_run *a = &f->apart, *b = &f->fed;
        double rate[] = {tokens_per_second(w, f, a), tokens_per_second(w, f, b)};
        int64_t cost = (int64_t)b->layer_cycles - (int64_t)a->layer_cycles;
        fprintf(out,
                "%-14s %10" PRIu64 " %9" PRIu64 " %11.0f %10" PRIu64 " %9" PRIu64
                " %11.0f %7.1f %8" PRId64 " %8.3f %6" PRIu64 "\n",
                summaries[i].system, a->device_cycles, a->idle_cycles, rate[0], b->device_cycles,
                b->idle_cycles, rate[1], 100 * (ratio(rate[1], rate[0]) - 1), cost,
                100 * ratio((double)cost, (double)a->layer_cycles), f->wrong);
    }
}

void mw_report_latency(FILE *out, const struct mw_workload *w, const struct mw_summary *summaries,
                       unsigned count)
{
    bool head = false;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned l = 0; l < summaries[i].result->layers; l++) {
            const struct mw_monitor *m = summaries[i].result->layer[l].monitor;
            if (!m)
                continue;
            if (!head)
                fprintf(
                    out,
                    "\nCycles from a packet's first flit at the switch to its first flit behind it "
                    "(upper ends of bins)\n%-14s %6s %10s %8s %8s %8s %8s\n",
                    "system", "layer", "packets", "50 %", "99 %", "99.9 %", "most");
            head = true;
            struct mw_latencies all = mw_monitor_all(m);
            fprintf(out, "%-14s %6zu %10" PRIu64 " %8u %8u %8u %8u\n", summaries[i].system,
                    w->layer[l].number, mw_latencies_packets(&all), mw_latencies_at(&all, 0.5),
                    mw_latencies_at(&all, 0.99), mw_latencies_at(&all, 0.999),
                    mw_latencies_at(&all, 1));
            if (m->lost)
                fprintf(out, "%-14s %6s %zu of %zu samples were lost: choose a longer --interval\n",
                        "", "", m->lost, m->samples);
        }
    }
}

// ---- JSON -------------------------------------------------------------------------------------

static void json_params(struct mw_json *j, const struct mw_run_params *params,
                        const struct mw_trace *trace, const struct mw_workload *w)
{
    mw_json_object(j, "params", false);
    mw_json_string(j, "trace", trace->name);
    mw_json_string(j, "model", trace->model);
    mw_json_bool(j, "synthetic", trace->synthetic);
    mw_json_array(j, "layers", true);
    for (unsigned i = 0; i < params->layer_count; i++)
        mw_json_uint(j, NULL, params->layers[i]);
    mw_json_end(j);
    mw_json_uint(j, "gpus", w->shape.gpus);
    mw_json_uint(j, "tokens_per_gpu", w->shape.tokens_per_gpu);
    if (w->shape.batches)
        mw_json_uint(j, "batches", w->shape.batches);
    mw_json_uint(j, "hidden", w->shape.hidden);
    mw_json_uint(j, "experts", w->experts);
    mw_json_uint(j, "k", w->k);
    mw_json_uint(j, "tile", params->tile);
    mw_json_bool(j, "partial_tiles", params->partial_tiles);
    mw_json_uint(j, "expert_cycles", params->expert_cycles);
    mw_json_uint(j, "flit_bytes", params->flit_bytes);
    mw_json_uint(j, "link_latency", params->link_latency);
    mw_json_uint(j, "in_flight", params->in_flight);
    mw_json_uint(j, "open_rows", params->open_rows);
    mw_json_bool(j, "allow_padding", w->shape.allow_padding);
    mw_json_string(j, "spread", w->shape.spread == MW_SPREAD_FAR ? "far" : "near");
    mw_json_uint(j, "seed", w->shape.seed);
    mw_json_object(j, "settings", true);
    for (unsigned i = 0; i < params->settings.count; i++)
        mw_json_uint(j, params->settings.item[i].name, params->settings.item[i].value);
    mw_json_end(j);
    mw_json_end(j);
}

static void json_workload(struct mw_json *j, const struct mw_workload *w)
{
    mw_json_array(j, "workload", false);
    for (unsigned l = 0; l < w->layers; l++) {
        struct mw_layer_facts facts;
        mw_layer_facts(w, l, &facts);
        mw_json_object(j, NULL, false);
        mw_json_uint(j, "layer", w->layer[l].number);
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

static void json_stalls(struct mw_json *j, const struct mw_stall *stall, unsigned count)
{
    mw_json_object(j, "stalls", true);
    for (unsigned i = 0; i < count; i++)
        mw_json_uint(j, stall[i].cause, stall[i].cycles);
    mw_json_end(j);
}

static void json_layer(struct mw_json *j, const struct mw_layer_result *layer,
                       const struct mw_workload *w, unsigned l, const struct mw_system *system,
                       const struct mw_run_params *params)
{
    const struct mw_link_parameters link = {params->flit_bytes, params->expert_cycles};
    struct mw_bounds bounds;
    mw_bounds_compute(w, l, system, &link, &bounds);
    mw_json_object(j, NULL, false);
    mw_json_uint(j, "layer", w->layer[l].number);
    mw_json_uint(j, "first_token", w->layer[l].first);
    mw_json_uint(j, "cycles", layer->cycles);
    json_bound(j, "strict_bound", &bounds.strict);
    json_bound(j, "own_bound", &bounds.own);
    json_bound(j, "own_link_bound", &bounds.own_link);
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
    mw_json_double(j, "tokens_per_s", tokens_per_second(w, f, r));
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

static void json_system(struct mw_json *j, const struct mw_summary *s, const struct mw_workload *w,
                        const struct mw_run_params *params)
{
    mw_json_object(j, NULL, false);
    mw_json_string(j, "system", s->system);
    mw_json_uint(j, "cycles", s->cycles);
    if (s->speedup > 0)
        mw_json_double(j, "speedup", s->speedup);
    else
        mw_json_null(j, "speedup");
    mw_json_uint(j, "strict_bound_cycles", s->strict);
    mw_json_uint(j, "own_bound_cycles", s->own);
    mw_json_uint(j, "own_link_bound_cycles", s->own_link);
    mw_json_double(j, "strict_share", s->strict_share);
    mw_json_double(j, "own_share", s->own_share);
    mw_json_string(j, "strict_bound_at", s->strict_at);
    mw_json_string(j, "own_bound_at", s->own_at);
    mw_json_uint(j, "wrong", s->wrong);
    mw_json_uint(j, "flit_errors", s->flit_errors);
    for (unsigned d = 0; d < MW_DIRECTIONS; d++)
        json_direction(j, s, d);
    json_stalls(j, s->stall, s->stalls);
    json_ports(j, &s->traffic, w->shape.gpus);
    mw_json_array(j, "layers", false);
    for (unsigned l = 0; l < s->result->layers; l++)
        json_layer(j, &s->result->layer[l], w, l, s->result->system, params);
    mw_json_end(j);
    if (s->result->has_feeding)
        json_feeding(j, w, &s->result->feeding);
    mw_json_uint(j, "simulated_cycles", s->result->simulated_cycles);
    mw_json_double(j, "seconds_wall", s->result->seconds);
    mw_json_double(j, "sim_cycles_per_s", s->cycles_per_second);
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
        json_system(j, &summaries[i], w, params);
    mw_json_end(j);
    mw_json_end(j);
    return mw_json_close(j, err);
}
