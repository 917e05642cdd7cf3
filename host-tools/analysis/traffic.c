// SPDX-License-Identifier: Apache-2.0
//
// See traffic.h. Everything here follows from the packet format and the list of packets that a
// system sends. Nothing is measured.
#include "analysis/traffic.h"

#include "analysis/packet_size.h"
#include "golden/places.h"
#include "isa.h"

#include <string.h>

const char *const mw_direction_names[MW_DIRECTIONS] = {"up", "down"};
const char *const mw_class_names[MW_CLASSES] = {"ctrl", "store", "request", "partial"};
const char *const mw_phase_names[MW_PHASES] = {"exchange", "dispatch", "expert", "combine"};

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
    unsigned each = system->target_list_cache ? 0 : targets;
    return mw_packet_flits(mw_dispatch_bytes(w), each, f) + mw_packet_flits(4ull * w->k, each, f) +
           (system->target_list_cache ? mw_list_flits(targets, f) : 0);
}

static void count_dispatch(const struct mw_workload *w, const struct mw_system *system,
                           const struct mw_places *p, unsigned f, struct mw_traffic *t)
{
    if (!p->remote_gpus)
        return;
    if (system->multicast)
        put(t, p->home, MW_UP, MW_STORE, multicast_flits(w, system, p->remote_rows, f),
            mw_dispatch_bytes(w) + 4ull * w->k);
    // With complete addresses, the last packet carries token index and expert IDs too.
    uint64_t last = (system->row_sparse ? 0 : 4 + 2ull * w->k) + 4ull * w->k;
    uint64_t row = mw_packet_flits(mw_dispatch_bytes(w), 0, f), more = 0;
    if (system->scatter)
        row = mw_scattered_flits(mw_dispatch_bytes(w), f);
    if (system->packet_manager) {
        more = row - mw_merged_flits(mw_dispatch_bytes(w), system->scatter, system->row_sparse, f);
        row -= more;
    }
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        if (q == p->home || !p->at[q])
            continue;
        if (system->multicast) {
            put(t, q, MW_DOWN, MW_STORE, multicast_flits(w, system, p->at[q], f),
                mw_dispatch_bytes(w) + 4ull * w->k);
        } else {
            const uint64_t rows = system->row_sparse ? p->at[q] : 1;
            send(t, p->home, q, MW_STORE, rows * (row + mw_packet_flits(last, 0, f)),
                 rows * (mw_dispatch_bytes(w) + last));
            t->gathered[p->home][MW_UP][MW_STORE] += rows * more;
            t->gathered[q][MW_DOWN][MW_STORE] += rows * more;
        }
    }
}

/// What is reported and granted in place of signals and requests, in rows: gather_flits
/// counts packets.
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
                uint64_t least = mw_div_up(*rows, MW_ROWS_GATHERED);
                t->flits[q][d][c] += least * mw_bare_flits(0, f);
                *rows = (*rows - least) * mw_bare_flits(0, f);
            }
        }
    }
}

static void count_combine(const struct mw_workload *w, const struct mw_system *system,
                          const struct mw_places *p, unsigned f, struct mw_traffic *t)
{
    if (!p->remote_gpus)
        return;
    uint64_t row = mw_packet_flits(mw_row_bytes(w), 0, f);
    const bool requests = system->reduction && !system->switch_reductions;
    if (system->switch_reductions)
        count_asked(w, p, t);
    if (requests)
        put(t, p->home, MW_UP, MW_REQUEST, mw_bare_flits(p->remote_rows, f), 0);
    if (system->reduction)
        put(t, p->home, MW_DOWN, MW_PARTIAL, row, mw_row_bytes(w));
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        if (q == p->home || !p->at[q])
            continue;
        const uint64_t rows = system->row_sparse ? p->at[q] : 1;
        if (requests)
            put(t, q, MW_DOWN, MW_REQUEST, mw_bare_flits(p->at[q], f), 0);
        if (system->reduction)
            put(t, q, MW_UP, MW_PARTIAL, row, mw_row_bytes(w));
        else
            send(t, q, p->home, MW_STORE, rows * row, rows * mw_row_bytes(w));
        if (system->signals && !system->switch_reductions)
            send(t, q, p->home, MW_CTRL, p->at[q] * mw_bare_flits(0, f), 0);
    }
}

/// All-gather of a token's row and, without a handle, routing entry, and the reduction of its
/// dense rows, experts or not.
static void count_gathered(const struct mw_workload *w, unsigned home, bool cached, unsigned f,
                           struct mw_traffic phases[MW_PHASES])
{
    const uint64_t sent = mw_packet_flits(mw_dispatch_bytes(w), 0, f),
                   row = mw_packet_flits(mw_row_bytes(w), 0, f),
                   listed = cached ? 0 : MW_ROUTE_BYTES, entry = mw_packet_flits(listed, 0, f);
    struct mw_traffic *dispatch = &phases[MW_DISPATCH], *combine = &phases[MW_COMBINE];
    put(dispatch, home, MW_UP, MW_STORE, sent + entry, mw_dispatch_bytes(w) + listed);
    put(combine, home, MW_UP, MW_REQUEST, mw_bare_flits(0, f), 0);
    put(combine, home, MW_DOWN, MW_PARTIAL, row, mw_row_bytes(w));
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        if (q == home)
            continue;
        put(dispatch, q, MW_DOWN, MW_STORE, sent + entry, mw_dispatch_bytes(w) + listed);
        put(combine, q, MW_DOWN, MW_REQUEST, mw_bare_flits(0, f), 0);
        put(combine, q, MW_UP, MW_PARTIAL, row, mw_row_bytes(w));
    }
}

/// Row counts, fences, flags and barriers: the same for every ordered pair of GPUs. With a handle,
/// nothing is counted, and no flag reports that routing entries are there.
static void count_pairs(const struct mw_workload *w, const struct mw_system *system, bool cached,
                        unsigned f, struct mw_traffic phases[MW_PHASES])
{
    uint64_t counts = 0;
    if (!cached && system->counts == MW_COUNTS_PER_EXPERT)
        counts = 4ull * w->experts_per_gpu;
    if (!cached && system->counts == MW_COUNTS_PER_GPU)
        counts = 4ull * w->shape.gpus;
    uint64_t copies = 4ull * w->shape.gpus, bare = mw_bare_flits(0, f);
    for (unsigned i = 0; i < w->shape.gpus; i++) {
        for (unsigned j = 0; j < w->shape.gpus; j++) {
            if (i == j)
                continue;
            send(&phases[system->counts_in], i, j, MW_STORE, mw_packet_flits(counts, 0, f), counts);
            if (!cached && (system->token_order || system->dispatch_throttle))
                send(&phases[system->counts_in], i, j, MW_STORE, mw_packet_flits(copies, 0, f),
                     copies);
            for (unsigned p = 0; p < MW_PHASES; p++) {
                const bool entries = cached && system->gathered && p == MW_DISPATCH;
                send(&phases[p], i, j, MW_STORE,
                     (system->fences[p] + (entries ? 0 : system->flags[p])) * bare, 0);
                send(&phases[p], j, i, MW_CTRL, system->fences[p] * bare, 0);
                send(&phases[p], i, j, MW_CTRL, system->barriers[p] * bare, 0);
            }
        }
    }
}

/// Lists of rows: a flag from each GPU to each expert of another one, and one back for each
/// tile. There are as few tiles as rows fill, but an idle engine does not wait for that:
/// up to one for each row.
static void count_lists(const struct mw_workload *w, unsigned layer,
                        const struct mw_link_parameters *link, struct mw_traffic phases[MW_PHASES])
{
    const uint64_t bare = mw_bare_flits(0, link->flit_bytes);
    const bool cached = w->layer[layer].pass == MW_PASS_BACKWARD;
    uint64_t tiles[MW_MAX_GPUS][MW_MAX_GPUS], rows[MW_MAX_GPUS][MW_MAX_GPUS];
    uint64_t(*more)[MW_DIRECTIONS][MW_CLASSES] = phases[MW_COMBINE].gathered;
    mw_places_tiles(w, layer, mw_link_tile(link), tiles);
    mw_places_tiles(w, layer, 1, rows);
    for (unsigned q = 0; q < w->shape.gpus; q++) {
        for (unsigned p = 0; p < w->shape.gpus; p++) {
            if (q == p)
                continue;
            send(&phases[MW_DISPATCH], p, q, MW_STORE, cached ? 0 : w->experts_per_gpu * bare, 0);
            send(&phases[MW_COMBINE], q, p, MW_STORE, tiles[q][p] * bare, 0);
            more[q][MW_UP][MW_STORE] += (rows[q][p] - tiles[q][p]) * bare;
            more[p][MW_DOWN][MW_STORE] += (rows[q][p] - tiles[q][p]) * bare;
        }
    }
}

void mw_traffic_gradients(const struct mw_workload *w, unsigned layer, unsigned flit_bytes,
                          struct mw_traffic *t)
{
    const uint64_t each = mw_packet_flits(4, 0, flit_bytes);
    for (unsigned i = 0; i < w->tokens; i++) {
        const unsigned home = mw_gpu_of_token(w, i);
        for (unsigned j = 0; j < w->k; j++) {
            const uint16_t id = w->layer[layer].ids[(size_t)i * w->k + j];
            if (id != MW_NO_EXPERT && mw_gpu_of_expert(w, id) != home)
                send(t, mw_gpu_of_expert(w, id), home, MW_STORE, each, 4);
        }
    }
}

void mw_traffic_count(const struct mw_workload *w, unsigned layer, const struct mw_system *system,
                      const struct mw_link_parameters *link, struct mw_traffic phases[MW_PHASES])
{
    const unsigned flit_bytes = link->flit_bytes;
    const bool cached = w->layer[layer].pass == MW_PASS_BACKWARD;
    memset(phases, 0, MW_PHASES * sizeof *phases);
    count_pairs(w, system, cached, flit_bytes, phases);
    for (unsigned t = 0; t < w->tokens; t++) {
        struct mw_places p;
        mw_places_find(w, layer, t, &p);
        if (system->gathered) {
            count_gathered(w, p.home, cached, flit_bytes, phases);
            continue;
        }
        count_dispatch(w, system, &p, flit_bytes, &phases[MW_DISPATCH]);
        count_combine(w, system, &p, flit_bytes, &phases[MW_COMBINE]);
    }
    gather_flits(&phases[MW_COMBINE], w->shape.gpus, flit_bytes);
    if (system->source_lists)
        count_lists(w, layer, link, phases);
    if (mw_makes_gradients(w, layer))
        mw_traffic_gradients(w, layer, flit_bytes, &phases[MW_EXPERT]);
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

void mw_traffic_strict(const struct mw_workload *w, unsigned layer, unsigned flit_bytes,
                       struct mw_traffic *t)
{
    memset(t, 0, sizeof *t);
    uint64_t combine = mw_packet_flits(mw_row_bytes(w), 0, flit_bytes);
    uint64_t dispatch = mw_packet_flits(mw_dispatch_bytes(w), 0, flit_bytes) +
                        mw_packet_flits(4ull * w->k, 0, flit_bytes);
    for (unsigned i = 0; i < w->tokens; i++) {
        struct mw_places p;
        mw_places_find(w, layer, i, &p);
        if (!p.remote_gpus)
            continue;
        put(t, p.home, MW_UP, MW_STORE, dispatch, 0);
        put(t, p.home, MW_DOWN, MW_PARTIAL, combine, 0);
        for (unsigned q = 0; q < w->shape.gpus; q++) {
            if (q == p.home || !p.at[q])
                continue;
            put(t, q, MW_DOWN, MW_STORE, dispatch, 0);
            put(t, q, MW_UP, MW_PARTIAL, combine, 0);
        }
    }
}
