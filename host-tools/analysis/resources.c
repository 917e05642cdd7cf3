// SPDX-License-Identifier: Apache-2.0
//
// What a layer requires of the parts of each GPU, see resources.h. Only rows count: routing
// entries, counts and instructions are a few percent of the reads.
#include "analysis/resources.h"

#include "analysis/bounds.h"
#include "analysis/packet_size.h"
#include "golden/places.h"

/// Rows that a GPU adds, reads and writes, each of all flits of a result, without those of its
/// engine. `sent` and `got` are rows that it sends to experts or gets, which have a size of their
/// own. But if all rows are gathered, it writes no more than it reads. Rows that arrive or are
/// computed are read again, and an output row is written for each row sent.
struct load {
    uint64_t additions, reads, writes, sent, got;
};

/// Where the switch adds: homes send each row once, and all sum their own experts' rows.
static void add_reduced(struct load load[MW_MAX_GPUS], const struct mw_workload *w, unsigned layer,
                        const struct mw_layer_facts *facts)
{
    for (unsigned t = 0; t < w->tokens; t++) {
        struct mw_places p;
        mw_places_find(w, layer, t, &p);
        load[p.home].sent += p.remote_rows || p.at[p.home];
    }
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        load[q].reads += facts->rows[q];
        load[q].additions = facts->additions[q];
    }
}

/// Where homes add: a copy and a partial sum per member, which land at home. The home adds first
/// the partial sums, then its own rows and that result.
static void add_at_home(struct load load[MW_MAX_GPUS], const struct mw_places *p, unsigned gpus)
{
    struct load *home = &load[p->home];
    for (unsigned q = 0; q < gpus; q++) {
        if (!p->at[q])
            continue;
        home->sent++; // a copy, read for each
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

/// Where every row returns alone: it is sent and stored for each expert, and read once more to
/// return. Homes add the rows of each GPU first, then these sums, then their own rows and that
/// result.
static void add_rows_at_home(struct load load[MW_MAX_GPUS], const struct mw_places *p,
                             unsigned gpus)
{
    struct load *home = &load[p->home];
    unsigned own = p->at[p->home], rows = p->remote_rows + own, groups = 0;
    for (unsigned q = 0; q < gpus; q++) {
        if (q == p->home)
            continue;
        load[q].reads += p->at[q];
        groups += p->at[q] > 1;
    }
    if (p->remote_gpus == 1)
        groups = 0;
    home->sent += p->remote_rows + (own > 0);
    home->reads += rows + groups + (own && rows > own); // added
    home->additions += rows ? rows - 1u : 0;
}

static void add_unicast(struct load load[MW_MAX_GPUS], const struct mw_workload *w, unsigned layer,
                        bool row_sparse)
{
    for (unsigned t = 0; t < w->tokens; t++) {
        struct mw_places p;
        mw_places_find(w, layer, t, &p);
        if (row_sparse)
            add_rows_at_home(load, &p, w->shape.gpus);
        else
            add_at_home(load, &p, w->shape.gpus);
    }
}

/// Where every GPU gets every row, and has a dense row of each token, read for its home. A home
/// reduces its tokens' with its own, then adds its own experts' rows.
static void add_gathered(struct load load[MW_MAX_GPUS], const struct mw_workload *w, unsigned layer)
{
    for (unsigned t = 0; t < w->tokens; t++) {
        struct mw_places p;
        mw_places_find(w, layer, t, &p);
        for (unsigned q = 0; q < w->shape.gpus; q++) {
            const bool sums = p.at[q] && q != p.home;
            load[q].got++;
            load[q].writes++; // the dense row
            load[q].reads += (sums ? p.at[q] : 0) + 1;
            load[q].additions += sums ? p.at[q] - 1u : 0;
        }
        struct load *home = &load[p.home];
        home->sent++;
        home->writes++;
        home->additions++;
        if (p.at[p.home]) {
            home->reads += p.at[p.home] + (p.remote_gpus > 0);
            home->writes++;
            home->additions += p.at[p.home] - 1u + (p.remote_gpus > 0);
        }
    }
}

static void take(struct mw_bound *b, enum mw_resource resource, unsigned gpu, uint64_t cycles)
{
    if (cycles > b->cycles)
        *b = (struct mw_bound){cycles, resource, gpu, MW_UP};
}

void mw_resources_compute(const struct mw_workload *w, unsigned layer,
                          const struct mw_system *system, unsigned flit_bytes,
                          const struct mw_bounds *bounds, struct mw_resources *r)
{
    struct load load[MW_MAX_GPUS] = {0};
    struct mw_layer_facts facts;
    const uint64_t flits = mw_div_up(mw_row_bytes(w), flit_bytes),
                   sent = mw_div_up(mw_dispatch_bytes(w), flit_bytes);
    *r = (struct mw_resources){.engine = bounds->own_engine, .limit = bounds->own};
    mw_layer_facts(w, layer, &facts);
    if (system->gathered)
        add_gathered(load, w, layer);
    else if (system->reduction)
        add_reduced(load, w, layer, &facts);
    else
        add_unicast(load, w, layer, system->row_sparse);
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        // the engine's too, which reads rows of dY and of x for gradients of gate weights
        const uint64_t engine = facts.rows[q] * (mw_makes_gradients(w, layer) ? 2 : 1);
        const uint64_t reads = load[q].reads * flits + (load[q].sent + engine) * sent,
                       writes = (load[q].writes + facts.rows[q]) * flits + load[q].got * sent;
        take(&r->adder, MW_ADDER, q, load[q].additions * flits);
        take(&r->banks, MW_BANKS, q, mw_div_up(reads > writes ? reads : writes, MW_MEM_BANKS));
    }
    if (r->adder.cycles > r->limit.cycles)
        r->limit = r->adder;
    if (r->banks.cycles > r->limit.cycles)
        r->limit = r->banks;
}
