// SPDX-License-Identifier: Apache-2.0
//
// Figures of each layer under each system, its bounds and stalls; and of batches that were fed.
#include "analysis/bounds.h"
#include "analysis/resources.h"
#include "report/html/page.h"

static void bounds(struct mw_page *p)
{
    const struct mw_link_parameters link = mw_run_links(p->params);
    mw_page_folded(p, "cycles and bounds of each layer",
                   MW_HEADS("layer, system", "first token", "cycles", "strict bound, cycles", "<of",
                            "own bound, cycles", "<of", "own of links, cycles", "<of",
                            "adder, cycles", "<of", "engine, cycles", "<of", "banks, cycles", "<of",
                            "limit, cycles", "<of", "elements wrong"));
    for (unsigned l = 0; l < p->w->layers; l++) {
        for (unsigned i = 0; i < p->count; i++) {
            const struct mw_result *r = p->summaries[i].result;
            struct mw_bounds b;
            struct mw_resources parts;
            mw_bounds_compute(p->w, l, r->system, &link, &b);
            mw_resources_compute(p->w, l, r->system, p->params->flit_bytes, &b, &parts);
            mw_page_row(p, "%zu, %s", p->w->layer[l].number, p->summaries[i].system);
            mw_page_uint(p, p->w->layer[l].first, "/systems/%u/layers/%u/first_token", i, l);
            mw_page_uint(p, r->layer[l].cycles, "/systems/%u/layers/%u/cycles", i, l);
            mw_page_bound(p, &b.strict, "/systems/%u/layers/%u/strict_bound", i, l);
            mw_page_bound(p, &b.own, "/systems/%u/layers/%u/own_bound", i, l);
            mw_page_bound(p, &b.own_link, "/systems/%u/layers/%u/own_link_bound", i, l);
            mw_page_bound(p, &parts.adder, "/systems/%u/layers/%u/adder", i, l);
            mw_page_bound(p, &parts.engine, "/systems/%u/layers/%u/engine", i, l);
            mw_page_bound(p, &parts.banks, "/systems/%u/layers/%u/banks", i, l);
            mw_page_bound(p, &parts.limit, "/systems/%u/layers/%u/limit", i, l);
            mw_page_uint(p, r->layer[l].wrong, "/systems/%u/layers/%u/wrong", i, l);
            mw_page_row_end(p);
        }
    }
    mw_page_table_end(p, true);
}

static void phases(struct mw_page *p)
{
    const struct mw_link_parameters link = mw_run_links(p->params);
    mw_page_folded(p, "own bound of each phase, of systems that run phase after phase",
                   MW_HEADS("layer, system, phase", "cycles", "<of"));
    for (unsigned l = 0; l < p->w->layers; l++) {
        for (unsigned i = 0; i < p->count; i++) {
            const struct mw_system *system = p->summaries[i].result->system;
            struct mw_bounds b;
            mw_bounds_compute(p->w, l, system, &link, &b);
            for (unsigned phase = 0; system->phased && phase < MW_PHASES; phase++) {
                mw_page_row(p, "%zu, %s, %s", p->w->layer[l].number, system->name,
                            mw_phase_names[phase]);
                mw_page_bound(p, &b.own_phase[phase], "/systems/%u/layers/%u/phases/%u/bound", i, l,
                              phase);
                mw_page_row_end(p);
            }
        }
    }
    mw_page_table_end(p, true);
}

static void stalls(struct mw_page *p)
{
    const struct mw_layer_result *first = &p->summaries[0].result->layer[0];
    const char *heads[MW_MAX_STALLS + 2] = {"layer, system"};
    for (unsigned k = 0; k < first->stalls; k++)
        heads[k + 1] = first->stall[k].cause;
    mw_page_folded(p, "stalls of each layer, cycles", heads);
    for (unsigned l = 0; l < p->w->layers; l++) {
        for (unsigned i = 0; i < p->count; i++) {
            const struct mw_layer_result *r = &p->summaries[i].result->layer[l];
            mw_page_row(p, "%zu, %s", p->w->layer[l].number, p->summaries[i].system);
            for (unsigned k = 0; k < r->stalls; k++)
                mw_page_uint(p, r->stall[k].cycles, "/systems/%u/layers/%u/stalls/%s", i, l,
                             r->stall[k].cause);
            mw_page_row_end(p);
        }
    }
    mw_page_table_end(p, true);
}

static void samples(struct mw_page *p)
{
    mw_page_folded(p, "samples of each layer",
                   MW_HEADS("layer, system", "interval, cycles", "samples", "of them lost"));
    for (unsigned l = 0; l < p->w->layers; l++) {
        for (unsigned i = 0; i < p->count; i++) {
            const struct mw_monitor *m = p->summaries[i].result->layer[l].monitor;
            if (!m)
                continue;
            mw_page_row(p, "%zu, %s", p->w->layer[l].number, p->summaries[i].system);
            mw_page_uint(p, m->interval, "/systems/%u/layers/%u/series/interval", i, l);
            mw_page_uint(p, m->samples, "/systems/%u/layers/%u/series/samples", i, l);
            mw_page_uint(p, m->lost, "/systems/%u/layers/%u/series/lost", i, l);
            mw_page_row_end(p);
        }
    }
    mw_page_table_end(p, true);
}

static void allocators(struct mw_page *p)
{
    mw_page_folded(p, "look-ups of the hubs&#8217; allocators",
                   MW_HEADS("layer, system", "found in the cache", "fetched from memory"));
    for (unsigned i = 0; i < p->count; i++) {
        mw_page_row(p, "all, %s", p->summaries[i].system);
        mw_page_uint(p, p->summaries[i].alloc_hits, "/systems/%u/allocator/hits", i);
        mw_page_uint(p, p->summaries[i].alloc_misses, "/systems/%u/allocator/misses", i);
        mw_page_row_end(p);
    }
    for (unsigned l = 0; l < p->w->layers; l++) {
        for (unsigned i = 0; i < p->count; i++) {
            const struct mw_layer_result *r = &p->summaries[i].result->layer[l];
            mw_page_row(p, "%zu, %s", p->w->layer[l].number, p->summaries[i].system);
            mw_page_uint(p, r->alloc_hits, "/systems/%u/layers/%u/allocator/hits", i, l);
            mw_page_uint(p, r->alloc_misses, "/systems/%u/layers/%u/allocator/misses", i, l);
            mw_page_row_end(p);
        }
    }
    mw_page_table_end(p, true);
}

/// The first element of a layer that differs, of those that have one.
static void wrong(struct mw_page *p)
{
    bool any = false;
    for (unsigned i = 0; i < p->count; i++)
        any |= p->summaries[i].wrong > 0;
    if (!any)
        return;
    mw_page_table(p, "First element that differs from the golden model (values as bits of bf16)",
                  MW_HEADS("layer, system", "token", "element", "expected", "got"));
    for (unsigned l = 0; l < p->w->layers; l++) {
        for (unsigned i = 0; i < p->count; i++) {
            const struct mw_layer_result *r = &p->summaries[i].result->layer[l];
            if (!r->wrong)
                continue;
            mw_page_row(p, "%zu, %s", p->w->layer[l].number, p->summaries[i].system);
            mw_page_uint(p, r->first.token, "/systems/%u/layers/%u/first_wrong/token", i, l);
            mw_page_uint(p, r->first.element, "/systems/%u/layers/%u/first_wrong/element", i, l);
            mw_page_uint(p, r->first.expected, "/systems/%u/layers/%u/first_wrong/expected", i, l);
            mw_page_uint(p, r->first.got, "/systems/%u/layers/%u/first_wrong/got", i, l);
            mw_page_row_end(p);
        }
    }
    mw_page_table_end(p, false);
}

void mw_page_layers(struct mw_page *p)
{
    fputs("<section aria-labelledby=\"layers\"><h2 id=\"layers\">Layer by layer</h2>\n", p->out);
    wrong(p);
    bounds(p);
    phases(p);
    stalls(p);
    allocators(p);
    samples(p);
    fputs("</section>\n", p->out);
}

static void feeding_row(struct mw_page *p, unsigned i, const char *way,
                        const struct mw_feeding_run *r)
{
    const struct mw_feeding *f = &p->summaries[i].result->feeding;
    mw_page_row(p, "%s, %s", p->summaries[i].system, *way == 'a' ? "one after the other" : "fed");
    mw_page_real(p, mw_tokens_per_second(p->w, f, r), 0, "/systems/%u/feeding/%s/tokens_per_s", i,
                 way);
    mw_page_uint(p, r->device_cycles, "/systems/%u/feeding/%s/device_cycles", i, way);
    mw_page_uint(p, r->layer_cycles, "/systems/%u/feeding/%s/layer_cycles", i, way);
    mw_page_uint(p, r->idle_cycles, "/systems/%u/feeding/%s/idle_cycles", i, way);
    mw_page_uint(p, f->clock_hz, "/systems/%u/feeding/clock_hz", i);
    mw_page_uint(p, f->wrong, "/systems/%u/feeding/wrong", i);
    mw_page_row_end(p);
}

void mw_page_feeding(struct mw_page *p)
{
    bool any = false;
    for (unsigned i = 0; i < p->count; i++)
        any |= p->summaries[i].result->has_feeding;
    if (!any)
        return;
    fputs("<section aria-labelledby=\"feeding\"><h2 id=\"feeding\">Batches through the queue of "
          "layers</h2>\n"
          "<p>All batches once more: each written, run and read one after the other; and "
          "<b>fed</b>, where the next is written and the last one read while one runs.</p>\n",
          p->out);
    mw_page_table(p, "Device time of all batches",
                  MW_HEADS("system, way", "tokens per second", "device, cycles",
                           "in layers, cycles", "between them, cycles", "clock, Hz",
                           "elements wrong"));
    for (unsigned i = 0; i < p->count; i++) {
        if (!p->summaries[i].result->has_feeding)
            continue;
        feeding_row(p, i, "apart", &p->summaries[i].result->feeding.apart);
        feeding_row(p, i, "fed", &p->summaries[i].result->feeding.fed);
    }
    mw_page_table_end(p, false);
    fputs("</section>\n", p->out);
}
