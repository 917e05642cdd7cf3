// SPDX-License-Identifier: Apache-2.0
//
// The device's results, compared and summed, see result.h.
#include "experiment/result.h"

#include "analysis/bounds.h"
#include "analysis/resources.h"

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
        if (!ok || !mw_makes_gradients(w, i))
            continue;
        r->layer[i].dw = calloc(mw_expected_places(w), sizeof *r->layer[i].dw);
        ok = r->layer[i].dw != NULL;
    }
    if (ok)
        return MW_EXIT_OK;
    mw_result_free(r);
    return mw_fail_memory(err, "the results");
}

void mw_result_free_out(struct mw_result *r)
{
    for (unsigned i = 0; r->layer && i < r->layers; i++) {
        free(r->layer[i].out);
        free(r->layer[i].dw);
        r->layer[i].out = NULL;
        r->layer[i].dw = NULL;
    }
}

void mw_result_free(struct mw_result *r)
{
    mw_result_free_out(r);
    for (unsigned i = 0; r->layer && i < r->layers; i++) {
        mw_monitor_free(r->layer[i].monitor);
        mw_timeline_free(r->layer[i].timeline);
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

static void check_rows(struct mw_layer_result *layer, const struct mw_workload *w,
                       const uint16_t *golden)
{
    size_t hidden = w->shape.hidden, elements = w->tokens * hidden;
    layer->wrong = 0;
    if (memcmp(layer->out, golden, elements * sizeof *layer->out) == 0)
        return;
    for (size_t i = 0; i < elements; i++) {
        if (layer->out[i] == golden[i])
            continue;
        if (!layer->wrong++)
            layer->first = (struct mw_mismatch){(unsigned)(i / hidden), (unsigned)(i % hidden),
                                                golden[i], layer->out[i]};
    }
}

/// Places that no expert writes included.
static void check_gradients(struct mw_layer_result *layer, const struct mw_workload *w,
                            const uint16_t *ids, const uint32_t *golden)
{
    const unsigned places = mw_gradient_places(w->k);
    layer->gradients = layer->wrong_gradients = 0;
    for (size_t i = 0; i < (size_t)w->tokens * w->k; i++)
        layer->gradients += ids[i] != MW_NO_EXPERT;
    for (size_t i = 0; i < mw_expected_places(w); i++)
        if (layer->dw[i] != golden[i] && !layer->wrong_gradients++)
            layer->first_gradient = (struct mw_wrong_gradient){
                (unsigned)(i / places), (unsigned)(i % places), golden[i], layer->dw[i]};
}

void mw_result_check(struct mw_result *r, const struct mw_workload *w,
                     const struct mw_expected expected[MW_MAX_LAYERS])
{
    for (unsigned l = 0; l < r->layers; l++) {
        check_rows(&r->layer[l], w, expected[l].out);
        if (r->layer[l].dw)
            check_gradients(&r->layer[l], w, w->layer[l].ids, expected[l].dw);
    }
}

/// The analytic list of one layer, all phases together.
static void expected_traffic(const struct mw_workload *w, unsigned layer,
                             const struct mw_system *system, const struct mw_link_parameters *link,
                             struct mw_traffic *t)
{
    struct mw_traffic phases[MW_PHASES];
    mw_traffic_count(w, layer, system, link, phases);
    *t = phases[0];
    for (unsigned p = 1; p < MW_PHASES; p++)
        mw_traffic_add(t, &phases[p]);
}

/// Compare one counter, which may be more by some flits. Returns 1 if it differs.
static unsigned compare(struct mw_flit_error *first, unsigned found, unsigned layer, unsigned port,
                        unsigned direction, const char *what, uint64_t counted, uint64_t expected,
                        uint64_t more)
{
    if (counted >= expected && counted <= expected + more)
        return 0;
    if (!found)
        *first = (struct mw_flit_error){layer, port,    mw_direction_names[direction],
                                        what,  counted, expected};
    return 1;
}

unsigned mw_result_flit_errors(const struct mw_result *r, const struct mw_workload *w,
                               const struct mw_link_parameters *link, struct mw_flit_error *first)
{
    unsigned found = 0;
    for (unsigned l = 0; l < r->layers; l++) {
        struct mw_traffic want;
        const struct mw_traffic *got = &r->layer[l].traffic;
        expected_traffic(w, l, r->system, link, &want);
        for (unsigned p = 0; p < w->shape.gpus; p++) {
            for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
                for (unsigned c = 0; c < MW_CLASSES; c++)
                    found += compare(first, found, l, p, d, mw_class_names[c], got->flits[p][d][c],
                                     want.flits[p][d][c], want.gathered[p][d][c]);
                found += compare(first, found, l, p, d, "payload", got->payload[p][d],
                                 want.payload[p][d], 0);
            }
        }
    }
    return found;
}

unsigned mw_result_below_bound(const struct mw_result *r, const struct mw_workload *w,
                               const struct mw_link_parameters *link, struct mw_below_bound *first)
{
    unsigned found = 0;
    for (unsigned l = 0; l < r->layers; l++) {
        struct mw_bounds bounds;
        mw_bounds_compute(w, l, r->system, link, &bounds);
        if (r->layer[l].cycles >= bounds.own.cycles)
            continue;
        if (!found++)
            *first = (struct mw_below_bound){l, r->layer[l].cycles, bounds.own.cycles};
    }
    return found;
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

static void add_part(struct mw_summary_part *part, const struct mw_bound *b, unsigned layer)
{
    part->cycles += b->cycles;
    merge_place(part->at, sizeof part->at, b, layer);
}

void mw_summarize_links(struct mw_summary *s, unsigned gpus, const struct mw_link_parameters *link)
{
    for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
        for (unsigned p = 0; p < gpus; p++) {
            double flits = (double)mw_traffic_flits(&s->traffic, p, (enum mw_direction)d);
            double payload = (double)s->traffic.payload[p][d], wire = flits * link->flit_bytes;
            s->direction[d].payload_mean += payload / gpus;
            s->direction[d].wire_mean += wire / gpus;
            if (payload > s->direction[d].payload_max)
                s->direction[d].payload_max = payload;
            if (wire > s->direction[d].wire_max)
                s->direction[d].wire_max = wire;
        }
        double most = (double)s->cycles * link->flit_bytes / link->link_cycles;
        s->direction[d].use_mean = mw_ratio(s->direction[d].wire_mean, most);
        s->direction[d].use_max = mw_ratio(s->direction[d].wire_max, most);
    }
}

/// Of a backward layer, on all uplinks.
static void add_gradients(struct mw_summary_gradients *g, const struct mw_workload *w,
                          unsigned layer, const struct mw_result *r, unsigned flit_bytes)
{
    struct mw_traffic t = {0};
    if (mw_makes_gradients(w, layer))
        mw_traffic_gradients(w, layer, flit_bytes, &t);
    for (unsigned p = 0; p < w->shape.gpus; p++) {
        g->flits += mw_traffic_flits(&t, p, MW_UP);
        g->all += mw_traffic_flits(&r->layer[layer].traffic, p, MW_UP);
    }
}

void mw_summarize(struct mw_summary *s, const struct mw_result *r, const struct mw_workload *w,
                  const struct mw_run_params *params, uint64_t base_cycles, const char *over)
{
    *s = (struct mw_summary){.system = r->system->name, .over = over, .result = r};
    const struct mw_link_parameters link = mw_run_links(params);
    s->phases.known = true;
    unsigned of = 0; // layers of which the figures are
    for (unsigned l = 0; l < r->layers; l++) {
        const struct mw_layer_result *layer = &r->layer[l];
        struct mw_bounds bounds;
        struct mw_resources resources;
        s->pass[w->layer[l].pass] += layer->cycles;
        s->wrong += layer->wrong + layer->wrong_gradients;
        s->gradients.made += layer->gradients;
        s->gradients.wrong += layer->wrong_gradients;
        if (w->layer[l].pass == MW_PASS_BACKWARD)
            add_gradients(&s->gradients, w, l, r, link.flit_bytes);
        if (!mw_pass_counts(&w->shape, w->layer[l].pass))
            continue;
        mw_bounds_compute(w, l, r->system, &link, &bounds);
        mw_resources_compute(w, l, r->system, params->flit_bytes, &bounds, &resources);
        add_part(&s->adder, &resources.adder, of);
        add_part(&s->engine, &resources.engine, of);
        add_part(&s->banks, &resources.banks, of);
        add_part(&s->limit, &resources.limit, of);
        s->cycles += layer->cycles;
        s->phases.known &= layer->phases.known;
        s->phases.dispatch += layer->phases.dispatch;
        s->phases.expert += layer->phases.expert;
        s->phases.combine += layer->phases.combine;
        s->strict += bounds.strict.cycles;
        s->own += bounds.own.cycles;
        s->own_link += bounds.own_link.cycles;
        merge_place(s->strict_at, sizeof s->strict_at, &bounds.strict, of);
        merge_place(s->own_at, sizeof s->own_at, &bounds.own, of);
        of++;
        mw_traffic_add(&s->traffic, &layer->traffic);
        s->alloc_hits += layer->alloc_hits;
        s->alloc_misses += layer->alloc_misses;
        for (unsigned i = 0; i < layer->stalls; i++)
            add_stall(s->stall, &s->stalls, layer->stall[i].cause, layer->stall[i].cycles);
    }
    struct mw_flit_error first;
    s->flit_errors = mw_result_flit_errors(r, w, &link, &first);
    struct mw_below_bound below;
    s->below_bound = mw_result_below_bound(r, w, &link, &below);
    s->speedup = mw_ratio((double)base_cycles, (double)s->cycles);
    s->strict_share = mw_ratio((double)s->strict, (double)s->cycles);
    s->own_share = mw_ratio((double)s->own, (double)s->cycles);
    s->cycles_per_second = mw_ratio((double)r->simulated_cycles, r->seconds);
    mw_summarize_links(s, w->shape.gpus, &link);
}

double mw_pass_speedup(const struct mw_summary *s, const struct mw_summary *base, enum mw_pass pass)
{
    return s->over ? mw_ratio((double)base->pass[pass], (double)s->pass[pass]) : 0;
}

double mw_tokens_per_second(const struct mw_workload *w, const struct mw_feeding *f,
                            const struct mw_feeding_run *r)
{
    return mw_ratio((double)w->layers * w->tokens * f->clock_hz, (double)r->device_cycles);
}
