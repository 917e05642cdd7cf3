// SPDX-License-Identifier: Apache-2.0
//
// See bounds.h.
#include "analysis/bounds.h"

#include "analysis/packet_size.h"
#include "golden/places.h"

#include <stdio.h>
#include <string.h>

struct mw_bound mw_busiest_link(const struct mw_traffic *t, unsigned gpus,
                                const struct mw_link_parameters *link)
{
    struct mw_bound best = {0};
    for (unsigned p = 0; p < gpus; p++) {
        for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
            uint64_t cycles = mw_traffic_flits(t, p, (enum mw_direction)d) * link->link_cycles;
            if (cycles > best.cycles)
                best = (struct mw_bound){cycles, MW_LINK, p, (enum mw_direction)d};
        }
    }
    return best;
}

static struct mw_bound later(struct mw_bound a, struct mw_bound b)
{
    return b.cycles > a.cycles ? b : a;
}

struct mw_bound mw_strict_link(const struct mw_workload *w, unsigned layer,
                               const struct mw_link_parameters *link)
{
    struct mw_traffic t;
    mw_traffic_strict(w, layer, link->flit_bytes, &t);
    return mw_busiest_link(&t, w->shape.gpus, link);
}

uint64_t mw_default_expert_cycles(const struct mw_workload *w,
                                  const struct mw_link_parameters *link)
{
    uint64_t cycles = 0, rows = 0;
    for (unsigned i = 0; i < w->layers; i++) {
        struct mw_layer_facts facts;
        mw_layer_facts(w, i, &facts);
        rows += facts.rows[facts.busiest];
        cycles += mw_strict_link(w, i, link).cycles;
    }
    return rows ? cycles / (2 * rows) : 0;
}

static uint64_t expert_cycles(const struct mw_workload *w, unsigned layer,
                              const struct mw_link_parameters *link)
{
    return mw_pass_cycles(w->layer[layer].pass, link->expert_cycles);
}

/// The busiest engine: the expert's time, or the time in which it can read or write its rows. For
/// gradients of gate weights it reads two rows, one after the other.
static struct mw_bound own_engine(const struct mw_workload *w, unsigned layer,
                                  const struct mw_layer_facts *facts,
                                  const struct mw_link_parameters *link)
{
    uint64_t rows = facts->rows[facts->busiest];
    uint64_t row_flits = mw_div_up(mw_row_bytes(w), link->flit_bytes);
    uint64_t moved = mw_div_up(rows * row_flits, MW_ENGINE_FLITS);
    uint64_t busy = rows * expert_cycles(w, layer, link);
    if (mw_makes_gradients(w, layer))
        moved *= 2;
    return (struct mw_bound){busy > moved ? busy : moved, MW_ENGINE, facts->busiest, MW_UP};
}

/// The same where a tile has rows of one expert and one source, and takes its time full or not.
static struct mw_bound own_engine_of_lists(const struct mw_workload *w, unsigned layer,
                                           const struct mw_bound *full,
                                           const struct mw_link_parameters *link)
{
    struct mw_bound most = *full;
    uint64_t tiles[MW_MAX_GPUS][MW_MAX_GPUS];
    mw_places_tiles(w, layer, mw_link_tile(link), tiles);
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        uint64_t all = 0;
        for (unsigned p = 0; p < w->shape.gpus; p++)
            all += tiles[q][p];
        uint64_t busy = all * mw_link_tile(link) * expert_cycles(w, layer, link);
        if (busy > most.cycles)
            most = (struct mw_bound){busy, MW_ENGINE, q, MW_UP};
    }
    return most;
}

/// Sum over the phases. Its place is that of the longest one.
static struct mw_bound phase_sum(const struct mw_bound phases[MW_PHASES])
{
    struct mw_bound longest = {0};
    uint64_t sum = 0;
    for (unsigned p = 0; p < MW_PHASES; p++) {
        longest = later(longest, phases[p]);
        sum += phases[p].cycles;
    }
    longest.cycles = sum;
    return longest;
}

void mw_bounds_compute(const struct mw_workload *w, unsigned layer, const struct mw_system *system,
                       const struct mw_link_parameters *link, struct mw_bounds *b)
{
    *b = (struct mw_bounds){0};
    struct mw_layer_facts facts;
    mw_layer_facts(w, layer, &facts);
    struct mw_bound strict_engine = {facts.rows[facts.busiest] * expert_cycles(w, layer, link),
                                     MW_ENGINE, facts.busiest, MW_UP};
    struct mw_bound engine = own_engine(w, layer, &facts, link);
    if (system->source_lists)
        engine = own_engine_of_lists(w, layer, &engine, link);
    b->own_engine = engine;
    b->strict_link = mw_strict_link(w, layer, link);
    b->strict = later(b->strict_link, strict_engine);

    struct mw_traffic phases[MW_PHASES];
    mw_traffic_count(w, layer, system, link, phases);
    if (system->phased) {
        for (unsigned p = 0; p < MW_PHASES; p++)
            b->own_phase[p] = mw_busiest_link(&phases[p], w->shape.gpus, link);
        b->own_link = phase_sum(b->own_phase);
        b->own_phase[MW_EXPERT] = later(b->own_phase[MW_EXPERT], engine);
        b->own = phase_sum(b->own_phase);
        return;
    }
    for (unsigned p = 1; p < MW_PHASES; p++)
        mw_traffic_add(&phases[0], &phases[p]);
    b->own_link = mw_busiest_link(&phases[0], w->shape.gpus, link);
    b->own = later(b->own_link, engine);
}

const char *mw_bound_text(const struct mw_bound *b, char *text, size_t size)
{
    static const char *const parts[] = {
        [MW_ENGINE] = "engine", [MW_ADDER] = "adder", [MW_BANKS] = "banks"};
    if (!b->cycles)
        snprintf(text, size, "none");
    else if (b->resource == MW_LINK)
        snprintf(text, size, "port %u %s", b->index, mw_direction_names[b->direction]);
    else
        snprintf(text, size, "%s %u", parts[b->resource], b->index);
    return text;
}
