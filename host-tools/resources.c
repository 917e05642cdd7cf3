// SPDX-License-Identifier: Apache-2.0
//
// What a layer asks of the parts of each GPU, see resources.h. Rows alone count: routing entries,
// counts and instructions are a few percent of the reads.
#include "resources.h"

#include "places.h"

enum { MEM_BANKS = 4 }; ///< of a GPU's memory, each with a read and a write port

/// Rows that a GPU adds and reads, each of all flits of the hidden values. It writes no more than it reads: what comes
/// and is computed is read again, an output row is written for each that was sent.
struct load {
    uint64_t additions, reads;
};

/// Where the switch adds: home and members sum their own experts' rows, home with R if there is one.
static void add_reduced(struct load load[MW_MAX_GPUS], const struct mw_places *p, unsigned gpus)
{
    if (!p->remote_rows && !p->at[p->home])
        return;
    load[p->home].reads++; // sent, to others or to itself
    for (unsigned q = 0; q < gpus; q++) {
        if (!p->at[q])
            continue;
        load[q].reads += p->at[q]; // summed
        load[q].additions += p->at[q] - 1u + (q == p->home && p->remote_gpus > 0);
    }
}

/// Where homes add: a copy and a partial sum per member, which land at home; first the partial sums,
/// then own rows and what that gave.
static void add_at_home(struct load load[MW_MAX_GPUS], const struct mw_places *p, unsigned gpus)
{
    struct load *home = &load[p->home];
    for (unsigned q = 0; q < gpus; q++) {
        if (!p->at[q])
            continue;
        home->reads++; // a copy is sent, read for each
        if (q == p->home)
            continue;
        load[q].reads += p->at[q];
        load[q].additions += p->at[q] - 1u;
    }
    if (p->remote_gpus) {
        home->reads += p->remote_gpus;
        home->additions += p->remote_gpus - 1u;
    }
    if (p->at[p->home]) {
        home->reads += p->at[p->home] + (p->remote_gpus > 0);
        home->additions += p->at[p->home] - 1u + (p->remote_gpus > 0);
    }
}

static void take(struct mw_bound *b, enum mw_resource resource, unsigned gpu, uint64_t cycles)
{
    if (cycles > b->cycles)
        *b = (struct mw_bound){cycles, resource, gpu, MW_UP};
}

void mw_resources_compute(const struct mw_workload *w, unsigned layer,
                          const struct mw_system *system, const struct mw_link_parameters *link,
                          struct mw_resources *r)
{
    struct load load[MW_MAX_GPUS] = {0};
    struct mw_layer_facts facts;
    struct mw_bounds bounds;
    uint64_t flits = (2ull * w->shape.hidden + link->flit_bytes - 1) / link->flit_bytes;
    *r = (struct mw_resources){0};
    mw_layer_facts(w, layer, &facts);
    mw_bounds_compute(w, layer, system, link, &bounds);
    for (unsigned t = 0; t < w->tokens; t++) {
        struct mw_places p;
        mw_places_find(w, layer, t, &p);
        if (system->reduction)
            add_reduced(load, &p, w->shape.gpus);
        else
            add_at_home(load, &p, w->shape.gpus);
    }
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        uint64_t reads = load[q].reads + facts.rows[q]; // the engine's too
        take(&r->adder, MW_ADDER, q, load[q].additions * flits);
        take(&r->banks, MW_BANKS, q, (reads * flits + MEM_BANKS - 1) / MEM_BANKS);
    }
    r->engine = bounds.own_engine;
    r->limit = bounds.own;
    if (r->adder.cycles > r->limit.cycles)
        r->limit = r->adder;
    if (r->banks.cycles > r->limit.cycles)
        r->limit = r->banks;
}
