// SPDX-License-Identifier: Apache-2.0
//
// Analytic flit counts and bounds, see bounds.h. Everything here follows from the packet format
// and the list of packets that a system sends; nothing is measured.
#include "analysis/bounds.h"

#include "golden/places.h"
#include "isa.h"

#include <stdio.h>
#include <string.h>

enum {
    PAYLOAD_BYTES = 128, ///< most that a packet carries
    SECTOR_BYTES = 32,   ///< what a scattered store does
    HEADER_BYTES = 16,
    TARGET_BYTES = 2,
    ENGINE_FLITS_PER_CYCLE = 2, ///< what an expert engine moves, whatever the expert's time
};

const char *const mw_direction_names[MW_DIRECTIONS] = {"up", "down"};
const char *const mw_class_names[MW_CLASSES] = {"ctrl", "store", "request", "partial"};
const char *const mw_phase_names[MW_PHASES] = {"exchange", "dispatch", "expert", "combine"};

const struct mw_system mw_systems[MW_SYSTEMS] = {
    {
        .name = "unicast",
        .phased = true,
        .counts = MW_COUNTS_PER_GPU,
        .counts_in = MW_EXCHANGE,
        .fences = {[MW_DISPATCH] = 1},
        .barriers = {[MW_DISPATCH] = 1},
        .flags = {[MW_COMBINE] = MW_UNICAST_RANGES},
    },
    {
        .name = "overlap",
        .row_ranges = true,
        .counts = MW_COUNTS_PER_GPU,
        .counts_in = MW_EXCHANGE,
        .flags = {[MW_DISPATCH] = MW_OVERLAP_RANGES, [MW_COMBINE] = MW_OVERLAP_RANGES},
    },
    {
        .name = "nvls",
        .gathered = true,
        .phased = true,
        .fences = {[MW_DISPATCH] = 1},
        .flags = {[MW_DISPATCH] = 1},
        .barriers = {[MW_DISPATCH] = 1, [MW_EXPERT] = 1},
    },
    {
        .name = "moe-hub",
        .row_sparse = true,
        .counts = MW_COUNTS_PER_EXPERT,
        .counts_in = MW_DISPATCH,
    },
    {
        .name = "flashdmoe",
        .row_sparse = true,
        .source_lists = true,
        .partial_tiles = true,
    },
    {
        .name = "dysharp-basic",
        .multicast = true,
        .reduction = true,
        .phased = true,
        .counts = MW_COUNTS_PER_EXPERT,
        .counts_in = MW_DISPATCH,
        .barriers = {[MW_EXPERT] = 1},
    },
    {
        .name = "dysharp",
        .multicast = true,
        .reduction = true,
        .signals = true,
        .counts = MW_COUNTS_PER_EXPERT,
        .counts_in = MW_DISPATCH,
    },
    {
        .name = "moeswitch",
        .multicast = true,
        .reduction = true,
        .signals = true,
        .list_once = true,
        .switch_asks = true,
        .token_order = true,
        .pace = true,
        .partial_tiles = true,
        .counts = MW_COUNTS_PER_EXPERT,
        .counts_in = MW_DISPATCH,
    },
};

const struct mw_system *mw_system_find(const char *name)
{
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        if (strcmp(mw_systems[i].name, name) == 0)
            return &mw_systems[i];
    return NULL;
}

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/// Flits of a list of `targets`, the first of which rides in the header.
static uint64_t list_flits(unsigned targets, unsigned f)
{
    return targets > 1 ? div_up((uint64_t)(targets - 1) * TARGET_BYTES, f) : 0;
}

/// Flits of the packets that carry `bytes` of payload, each with a header and a list of `targets`.
/// 0 bytes take no packet here.
static uint64_t packet_flits(uint64_t bytes, unsigned targets, unsigned f)
{
    uint64_t full = bytes / PAYLOAD_BYTES, rest = bytes % PAYLOAD_BYTES;
    uint64_t packets = full + (rest != 0);
    return packets * (HEADER_BYTES / f + list_flits(targets, f)) + full * (PAYLOAD_BYTES / f) +
           div_up(rest, f);
}

/// The same of stores of 32 bytes, the last of which may be shorter.
static uint64_t scattered_flits(uint64_t bytes, unsigned f)
{
    uint64_t full = bytes / SECTOR_BYTES, rest = bytes % SECTOR_BYTES;
    return full * packet_flits(SECTOR_BYTES, 0, f) + packet_flits(rest, 0, f);
}

/// What a packet manager makes of a row at best: packets of lines of small stores; what is no whole store of 32 bytes
/// stays alone. Short rows that fill a part of a line may share its packet with others, if their addresses say all.
static uint64_t merged_flits(uint64_t bytes, bool scatter, bool by_token, unsigned f)
{
    uint64_t rest = scatter ? bytes % SECTOR_BYTES : 0;
    if (!by_token && (bytes == SECTOR_BYTES || bytes == 2 * SECTOR_BYTES))
        return bytes / f;
    return packet_flits(bytes - rest, 0, f) + packet_flits(rest, 0, f);
}

/// A packet with nothing but a header and a target list.
static uint64_t bare_flits(unsigned targets, unsigned f)
{
    return HEADER_BYTES / f + list_flits(targets, f);
}

static uint64_t row_bytes(const struct mw_workload *w)
{
    return 2ull * w->shape.hidden;
}

static void put(struct mw_traffic *t, unsigned port, enum mw_direction direction,
                enum mw_class class, uint64_t flits, uint64_t payload)
{
    t->flits[port][direction][class] += flits;
    t->payload[port][direction] += payload;
}

/// A packet train that crosses one uplink and one downlink unchanged.
static void send(struct mw_traffic *t, unsigned from, unsigned to, enum mw_class class,
                 uint64_t flits, uint64_t payload)
{
    put(t, from, MW_UP, class, flits, payload);
    put(t, to, MW_DOWN, class, flits, payload);
}

/// Hidden values and gate weights of one row; every packet of it has the target list, or the first.
static uint64_t multicast_flits(const struct mw_workload *w, const struct mw_system *system,
                                unsigned targets, unsigned f)
{
    unsigned each = system->list_once ? 0 : targets;
    return packet_flits(row_bytes(w), each, f) + packet_flits(4ull * w->k, each, f) +
           (system->list_once ? list_flits(targets, f) : 0);
}

static void count_dispatch(const struct mw_workload *w, const struct mw_system *system,
                           const struct mw_places *p, unsigned f, struct mw_traffic *t)
{
    if (!p->remote_gpus)
        return;
    if (system->multicast)
        put(t, p->home, MW_UP, MW_STORE, multicast_flits(w, system, p->remote_rows, f),
            row_bytes(w) + 4ull * w->k);
    // By an address that says all, the last packet carries token index and expert IDs too.
    uint64_t last = (system->row_sparse ? 0 : 4 + 2ull * w->k) + 4ull * w->k;
    uint64_t row = packet_flits(row_bytes(w), 0, f), more = 0;
    if (system->scatter)
        row = scattered_flits(row_bytes(w), f);
    if (system->packet_manager) {
        more = row - merged_flits(row_bytes(w), system->scatter, system->row_sparse, f);
        row -= more;
    }
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        if (q == p->home || !p->at[q])
            continue;
        if (system->multicast) {
            put(t, q, MW_DOWN, MW_STORE, multicast_flits(w, system, p->at[q], f),
                row_bytes(w) + 4ull * w->k);
        } else {
            const uint64_t rows = system->row_sparse ? p->at[q] : 1;
            send(t, p->home, q, MW_STORE, rows * (row + packet_flits(last, 0, f)),
                 rows * (row_bytes(w) + last));
            t->gathered[p->home][MW_UP][MW_STORE] += rows * more;
            t->gathered[q][MW_DOWN][MW_STORE] += rows * more;
        }
    }
}

/// What is reported and granted in place of signals and requests, in rows: gather_flits counts packets.
static void count_asked(const struct mw_workload *w, const struct mw_places *p,
                        struct mw_traffic *t)
{
    uint64_t(*rows)[MW_DIRECTIONS][MW_CLASSES] = t->gathered;
    rows[p->home][MW_UP][MW_CTRL] += p->at[p->home] != 0;
    rows[p->home][MW_DOWN][MW_REQUEST]++;
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        if (q == p->home || !p->at[q])
            continue;
        rows[q][MW_UP][MW_CTRL] += p->at[q];
        rows[q][MW_DOWN][MW_REQUEST]++;
    }
}

/// Makes of the rows that are gathered on each link the packets that they take.
static void gather_flits(struct mw_traffic *t, unsigned gpus, unsigned f)
{
    for (unsigned q = 0; q < gpus; q++) {
        for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
            for (unsigned c = 0; c < MW_CLASSES; c++) {
                uint64_t *rows = &t->gathered[q][d][c];
                uint64_t least = div_up(*rows, MW_ROWS_GATHERED);
                t->flits[q][d][c] += least * bare_flits(0, f);
                *rows = (*rows - least) * bare_flits(0, f);
            }
        }
    }
}

static void count_combine(const struct mw_workload *w, const struct mw_system *system,
                          const struct mw_places *p, unsigned f, struct mw_traffic *t)
{
    if (!p->remote_gpus)
        return;
    uint64_t row = packet_flits(row_bytes(w), 0, f);
    const bool requests = system->reduction && !system->switch_asks;
    if (system->switch_asks)
        count_asked(w, p, t);
    if (requests)
        put(t, p->home, MW_UP, MW_REQUEST, bare_flits(p->remote_rows, f), 0);
    if (system->reduction)
        put(t, p->home, MW_DOWN, MW_PARTIAL, row, row_bytes(w));
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        if (q == p->home || !p->at[q])
            continue;
        const uint64_t rows = system->row_sparse ? p->at[q] : 1;
        if (requests)
            put(t, q, MW_DOWN, MW_REQUEST, bare_flits(p->at[q], f), 0);
        if (system->reduction)
            put(t, q, MW_UP, MW_PARTIAL, row, row_bytes(w));
        else
            send(t, q, p->home, MW_STORE, rows * row, rows * row_bytes(w));
        if (system->signals && !system->switch_asks)
            send(t, q, p->home, MW_CTRL, p->at[q] * bare_flits(0, f), 0);
    }
}

/// All-gather of a token's row and routing entry, and the reduction of its dense rows, experts or not.
static void count_gathered(const struct mw_workload *w, unsigned home, unsigned f,
                           struct mw_traffic phases[MW_PHASES])
{
    const uint64_t row = packet_flits(row_bytes(w), 0, f),
                   entry = packet_flits(MW_ROUTE_BYTES, 0, f);
    struct mw_traffic *dispatch = &phases[MW_DISPATCH], *combine = &phases[MW_COMBINE];
    put(dispatch, home, MW_UP, MW_STORE, row + entry, row_bytes(w) + MW_ROUTE_BYTES);
    put(combine, home, MW_UP, MW_REQUEST, bare_flits(0, f), 0);
    put(combine, home, MW_DOWN, MW_PARTIAL, row, row_bytes(w));
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        if (q == home)
            continue;
        put(dispatch, q, MW_DOWN, MW_STORE, row + entry, row_bytes(w) + MW_ROUTE_BYTES);
        put(combine, q, MW_DOWN, MW_REQUEST, bare_flits(0, f), 0);
        put(combine, q, MW_UP, MW_PARTIAL, row, row_bytes(w));
    }
}

/// Row counts, fences, flags and barriers: the same for every ordered pair of GPUs.
static void count_pairs(const struct mw_workload *w, const struct mw_system *system, unsigned f,
                        struct mw_traffic phases[MW_PHASES])
{
    uint64_t counts = 0;
    if (system->counts == MW_COUNTS_PER_EXPERT)
        counts = 4ull * w->experts_per_gpu;
    if (system->counts == MW_COUNTS_PER_GPU)
        counts = 4ull * w->shape.gpus;
    uint64_t copies = 4ull * w->shape.gpus, bare = bare_flits(0, f);
    for (unsigned i = 0; i < w->shape.gpus; i++) {
        for (unsigned j = 0; j < w->shape.gpus; j++) {
            if (i == j)
                continue;
            send(&phases[system->counts_in], i, j, MW_STORE, packet_flits(counts, 0, f), counts);
            if (system->token_order || system->pace)
                send(&phases[system->counts_in], i, j, MW_STORE, packet_flits(copies, 0, f),
                     copies);
            for (unsigned p = 0; p < MW_PHASES; p++) {
                send(&phases[p], i, j, MW_STORE, (system->fences[p] + system->flags[p]) * bare, 0);
                send(&phases[p], j, i, MW_CTRL, system->fences[p] * bare, 0);
                send(&phases[p], i, j, MW_CTRL, system->barriers[p] * bare, 0);
            }
        }
    }
}

static unsigned tile_of(const struct mw_link_parameters *link)
{
    return link->tile ? link->tile : 1;
}

/// Lists of rows: a flag from each GPU to each expert of another one, and one back for each tile. There are as few
/// tiles as rows fill, but an idle engine does not wait for that: up to one for each row.
static void count_lists(const struct mw_workload *w, unsigned layer,
                        const struct mw_link_parameters *link, struct mw_traffic phases[MW_PHASES])
{
    const uint64_t bare = bare_flits(0, link->flit_bytes);
    uint64_t tiles[MW_MAX_GPUS][MW_MAX_GPUS], rows[MW_MAX_GPUS][MW_MAX_GPUS];
    uint64_t(*more)[MW_DIRECTIONS][MW_CLASSES] = phases[MW_COMBINE].gathered;
    mw_places_tiles(w, layer, tile_of(link), tiles);
    mw_places_tiles(w, layer, 1, rows);
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        for (unsigned p = 0; p < w->shape.gpus; p++) {
            if (q == p)
                continue;
            send(&phases[MW_DISPATCH], p, q, MW_STORE, w->experts_per_gpu * bare, 0);
            send(&phases[MW_COMBINE], q, p, MW_STORE, tiles[q][p] * bare, 0);
            more[q][MW_UP][MW_STORE] += (rows[q][p] - tiles[q][p]) * bare;
            more[p][MW_DOWN][MW_STORE] += (rows[q][p] - tiles[q][p]) * bare;
        }
    }
}

void mw_traffic_count(const struct mw_workload *w, unsigned layer, const struct mw_system *system,
                      const struct mw_link_parameters *link, struct mw_traffic phases[MW_PHASES])
{
    const unsigned flit_bytes = link->flit_bytes;
    memset(phases, 0, MW_PHASES * sizeof *phases);
    count_pairs(w, system, flit_bytes, phases);
    for (unsigned t = 0; t < w->tokens; t++) {
        struct mw_places p;
        mw_places_find(w, layer, t, &p);
        if (system->gathered) {
            count_gathered(w, p.home, flit_bytes, phases);
            continue;
        }
        count_dispatch(w, system, &p, flit_bytes, &phases[MW_DISPATCH]);
        count_combine(w, system, &p, flit_bytes, &phases[MW_COMBINE]);
    }
    gather_flits(&phases[MW_COMBINE], w->shape.gpus, flit_bytes);
    if (system->source_lists)
        count_lists(w, layer, link, phases);
}

void mw_traffic_add(struct mw_traffic *to, const struct mw_traffic *from)
{
    for (unsigned p = 0; p < MW_MAX_GPUS; p++) {
        for (unsigned d = 0; d < MW_DIRECTIONS; d++) {
            for (unsigned c = 0; c < MW_CLASSES; c++) {
                to->flits[p][d][c] += from->flits[p][d][c];
                to->gathered[p][d][c] += from->gathered[p][d][c];
            }
            to->payload[p][d] += from->payload[p][d];
        }
    }
}

uint64_t mw_traffic_flits(const struct mw_traffic *t, unsigned port, enum mw_direction direction)
{
    uint64_t sum = 0;
    for (unsigned c = 0; c < MW_CLASSES; c++)
        sum += t->flits[port][direction][c];
    return sum;
}

void mw_layer_facts(const struct mw_workload *w, unsigned layer, struct mw_layer_facts *facts)
{
    *facts = (struct mw_layer_facts){0};
    uint64_t remote = 0, home = 0;
    for (unsigned t = 0; t < w->tokens; t++) {
        struct mw_places p;
        mw_places_find(w, layer, t, &p);
        remote += p.remote_gpus;
        home += p.at[p.home] != 0;
        for (unsigned q = 0; q < w->shape.gpus; q++) {
            facts->rows[q] += p.at[q];
            if (p.at[q])
                facts->additions[q] += p.at[q] - 1u + (q == p.home && p.remote_gpus > 0);
        }
    }
    for (unsigned q = 1; q < w->shape.gpus; q++)
        if (facts->rows[q] > facts->rows[facts->busiest])
            facts->busiest = q;
    facts->remote_gpus_per_token = (double)remote / w->tokens;
    facts->home_share = (double)home / w->tokens;
}

/// The busiest port and direction; the first of several equal ones.
static struct mw_bound busiest_link(const struct mw_traffic *t, unsigned gpus,
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
    memset(&t, 0, sizeof t);
    uint64_t combine = packet_flits(row_bytes(w), 0, link->flit_bytes);
    uint64_t dispatch = combine + packet_flits(4ull * w->k, 0, link->flit_bytes);
    for (unsigned i = 0; i < w->tokens; i++) {
        struct mw_places p;
        mw_places_find(w, layer, i, &p);
        if (!p.remote_gpus)
            continue;
        put(&t, p.home, MW_UP, MW_STORE, dispatch, 0);
        put(&t, p.home, MW_DOWN, MW_PARTIAL, combine, 0);
        for (unsigned q = 0; q < w->shape.gpus; q++) {
            if (q == p.home || !p.at[q])
                continue;
            put(&t, q, MW_DOWN, MW_STORE, dispatch, 0);
            put(&t, q, MW_UP, MW_PARTIAL, combine, 0);
        }
    }
    return busiest_link(&t, w->shape.gpus, link);
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

/// The busiest engine: the expert's time, or the time in which it can read or write its rows.
static struct mw_bound own_engine(const struct mw_workload *w, const struct mw_layer_facts *facts,
                                  const struct mw_link_parameters *link)
{
    uint64_t rows = facts->rows[facts->busiest];
    uint64_t row_flits = div_up(row_bytes(w), link->flit_bytes);
    uint64_t moved = div_up(rows * row_flits, ENGINE_FLITS_PER_CYCLE);
    uint64_t busy = rows * link->expert_cycles;
    return (struct mw_bound){busy > moved ? busy : moved, MW_ENGINE, facts->busiest, MW_UP};
}

/// The same where a tile has rows of one expert and one source, and takes its time full or not.
static struct mw_bound own_engine_of_lists(const struct mw_workload *w, unsigned layer,
                                           const struct mw_bound *full,
                                           const struct mw_link_parameters *link)
{
    struct mw_bound most = *full;
    uint64_t tiles[MW_MAX_GPUS][MW_MAX_GPUS];
    mw_places_tiles(w, layer, tile_of(link), tiles);
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        uint64_t all = 0;
        for (unsigned p = 0; p < w->shape.gpus; p++)
            all += tiles[q][p];
        uint64_t busy = all * tile_of(link) * link->expert_cycles;
        if (busy > most.cycles)
            most = (struct mw_bound){busy, MW_ENGINE, q, MW_UP};
    }
    return most;
}

/// Sum over the phases; its place is that of the longest one.
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
    struct mw_bound strict_engine = {facts.rows[facts.busiest] * link->expert_cycles, MW_ENGINE,
                                     facts.busiest, MW_UP};
    struct mw_bound engine = own_engine(w, &facts, link);
    if (system->source_lists)
        engine = own_engine_of_lists(w, layer, &engine, link);
    b->own_engine = engine;
    b->strict_link = mw_strict_link(w, layer, link);
    b->strict = later(b->strict_link, strict_engine);

    struct mw_traffic phases[MW_PHASES];
    mw_traffic_count(w, layer, system, link, phases);
    if (system->phased) {
        for (unsigned p = 0; p < MW_PHASES; p++)
            b->own_phase[p] = busiest_link(&phases[p], w->shape.gpus, link);
        b->own_link = phase_sum(b->own_phase);
        b->own_phase[MW_EXPERT] = later(b->own_phase[MW_EXPERT], engine);
        b->own = phase_sum(b->own_phase);
        return;
    }
    for (unsigned p = 1; p < MW_PHASES; p++)
        mw_traffic_add(&phases[0], &phases[p]);
    b->own_link = busiest_link(&phases[0], w->shape.gpus, link);
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
