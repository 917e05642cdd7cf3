// SPDX-License-Identifier: Apache-2.0
//
// See tp_bounds.h.
#include "tp/tp_bounds.h"

#include "analysis/bounds.h"
#include "analysis/packet_size.h"
#include "analysis/resources.h"

#include <string.h>

// ---- packets ------------------------------------------------------------------------------------

static uint64_t payload_flits(const struct mw_tp_problem *p)
{
    return mw_tp_row_bytes(p) / p->flit_bytes;
}

/// A row in full packets.
static uint64_t row_flits(const struct mw_tp_problem *p)
{
    return mw_packet_flits(mw_tp_row_bytes(p), 1, p->flit_bytes);
}

/// `rows` rows, and headers without payload, on a direction of each port.
struct load {
    uint64_t rows, headers;
};

static uint64_t load_flits(const struct mw_tp_problem *p, struct load load)
{
    return load.rows * row_flits(p) + load.headers * mw_bare_flits(1, p->flit_bytes);
}

static void put(const struct mw_tp_problem *p, struct mw_traffic *t, enum mw_direction direction,
                enum mw_class class, struct load load)
{
    const uint64_t flits = load_flits(p, load);
    const uint64_t payload = load.rows * mw_tp_row_bytes(p);
    for (unsigned g = 0; g < p->gpus; g++)
        t->flits[g][direction][class] += flits;
    for (unsigned g = 0; g < p->gpus; g++) // apart: of one loop GCC 12 makes no flits at all
        t->payload[g][direction] += payload;
}

/// The same in both directions: from each GPU to one other.
static void put_both(const struct mw_tp_problem *p, struct mw_traffic *t, enum mw_class class,
                     struct load load)
{
    put(p, t, MW_UP, class, load);
    put(p, t, MW_DOWN, class, load);
}

/// `rounds` packets without payload from each GPU to each other.
static void put_rounds(const struct mw_tp_problem *p, struct mw_traffic *t, enum mw_class class,
                       uint64_t rounds)
{
    put_both(p, t, class, (struct load){0, rounds * (p->gpus - 1)});
}

/// Rows that are named several to a packet: how many depends on when they come. `before` others of
/// the same packets are put already.
static void put_gathered(const struct mw_tp_problem *p, struct mw_traffic *t,
                         enum mw_direction direction, enum mw_class class, uint64_t rows,
                         uint64_t before)
{
    const uint64_t least =
        mw_div_up(before + rows, MW_ROWS_GATHERED) - mw_div_up(before, MW_ROWS_GATHERED);
    put(p, t, direction, class, (struct load){0, least});
    for (unsigned g = 0; g < p->gpus; g++)
        t->gathered[g][direction][class] += (rows - least) * mw_bare_flits(1, p->flit_bytes);
}

// ---- what systems send --------------------------------------------------------------------------

static void count_reduction(const struct mw_tp_problem *p, const struct mw_tp_system *s,
                            struct mw_traffic *t)
{
    const uint64_t own = mw_tp_own(p), others = own * (p->gpus - 1), ranges = s->ranges(p);
    switch (s->reduce) {
    case MW_TP_SWITCH: // requests and sums of the home, rows of the members
        put(p, t, MW_UP, MW_REQUEST, (struct load){0, own});
        put(p, t, MW_DOWN, MW_REQUEST, (struct load){0, others});
        put(p, t, MW_UP, MW_PARTIAL, (struct load){others, 0});
        put(p, t, MW_DOWN, MW_PARTIAL, (struct load){own, 0});
        put_rounds(p, t, MW_CTRL, ranges);
        break;
    case MW_TP_TILES: // each row is reported by all, and granted to all
        put(p, t, MW_UP, MW_PARTIAL, (struct load){others, 0});
        put(p, t, MW_DOWN, MW_PARTIAL, (struct load){own, 0});
        put_gathered(p, t, MW_UP, MW_CTRL, p->o.rows, 0);
        put_gathered(p, t, MW_DOWN, MW_REQUEST, p->o.rows, 0);
        break;
    case MW_TP_PUSH:
        put_both(p, t, MW_STORE, (struct load){others, 0});
        put_rounds(p, t, MW_STORE, ranges);
        break;
    case MW_TP_SUMS: // every sum is complete
        put(p, t, MW_UP, MW_STORE, (struct load){others, 0});
        put(p, t, MW_DOWN, MW_STORE, (struct load){own, 0});
        if (s->barriers) {
            put_rounds(p, t, MW_CTRL, ranges);
        } else { // each range is reported by all, and granted to all
            put_gathered(p, t, MW_UP, MW_CTRL, ranges, 0);
            put_gathered(p, t, MW_DOWN, MW_REQUEST, ranges, 0);
        }
        break;
    case MW_TP_STEPS: // a flag in front of the first step, and one after each
        put_both(p, t, MW_STORE, (struct load){others, 0});
        put_rounds(p, t, MW_STORE, p->gpus);
        break;
    }
    if (s->barriers && mw_tp_gathers(p))
        put_rounds(p, t, MW_CTRL, 1);
}

uint64_t mw_tp_least_fetches(const struct mw_tp_problem *p)
{
    const bool merges = p->o.merge_entries && !p->o.no_merge;
    return (uint64_t)mw_tp_own(p) * mw_tp_row_loads(p) * (merges ? 1 : p->gpus - 1);
}

/// Rows or ranges that each GPU has reported to the switch for their reduction.
static uint64_t reports(const struct mw_tp_problem *p, const struct mw_tp_system *s)
{
    if (!mw_tp_reduces(p))
        return 0;
    return s->reduce == MW_TP_TILES                  ? p->o.rows
           : s->reduce == MW_TP_SUMS && !s->barriers ? s->ranges(p)
                                                     : 0;
}

/// Each row is loaded by all others and arrives there. Its home sends the row, or each part of it,
/// as often as it is fetched. Each tile is reported by all, and granted to all.
static void count_loads(const struct mw_tp_problem *p, const struct mw_tp_system *s,
                        const uint64_t *fetches, struct mw_traffic *t)
{
    const uint64_t own = mw_tp_own(p), others = own * (p->gpus - 1);
    const unsigned sync = s->unsynced ? 0 : mw_tp_sync_rows(p);
    const uint64_t tiles = sync ? p->gpus * mw_div_up(own, sync) : 0;
    const uint64_t before = reports(p, s); // in the same packets
    put(p, t, MW_DOWN, MW_STORE, (struct load){others, 0});
    put_gathered(p, t, MW_UP, MW_CTRL, others * mw_tp_row_loads(p), 0);
    put_gathered(p, t, MW_UP, MW_CTRL, tiles, before);
    put_gathered(p, t, MW_DOWN, MW_REQUEST, tiles, before);
    for (unsigned g = 0; g < p->gpus; g++) {
        const uint64_t fetched = fetches ? fetches[g] : mw_tp_least_fetches(p);
        const uint64_t bytes = fetched * mw_tp_row_bytes(p) / mw_tp_row_loads(p);
        // parts are whole packets
        t->flits[g][MW_UP][MW_STORE] += fetched * row_flits(p) / mw_tp_row_loads(p);
        t->flits[g][MW_DOWN][MW_REQUEST] += load_flits(p, (struct load){0, fetched});
        t->payload[g][MW_UP] += bytes;
    }
}

static void count_gather(const struct mw_tp_problem *p, const struct mw_tp_system *s,
                         const uint64_t *fetches, struct mw_traffic *t)
{
    const uint64_t own = mw_tp_own(p), others = own * (p->gpus - 1), ranges = s->ranges(p);
    const bool second = mw_tp_has(p, MW_TP_GEMM_2);
    switch (s->gather) {
    case MW_TP_MULTICAST:
        put(p, t, MW_UP, MW_STORE, (struct load){own, 0});
        put(p, t, MW_DOWN, MW_STORE, (struct load){others, 0});
        if (s->barriers && !s->overlapped && second) { // a fence, its acknowledgement, a barrier
            put_rounds(p, t, MW_STORE, 1);
            put_rounds(p, t, MW_CTRL, 2);
        } else if (second) {
            put_rounds(p, t, MW_STORE, ranges);
        }
        break;
    case MW_TP_LOADS: // a request for each row, and the row
        put_both(p, t, MW_REQUEST, (struct load){0, others});
        put_both(p, t, MW_PARTIAL, (struct load){others, 0});
        if (mw_tp_reduces(p))
            put_rounds(p, t, MW_CTRL, ranges);
        break;
    case MW_TP_MERGED:
        count_loads(p, s, fetches, t);
        break;
    case MW_TP_FORWARD:
        put_both(p, t, MW_STORE, (struct load){others, 0});
        put_rounds(p, t, MW_STORE, p->gpus - 1);
        break;
    }
}

void mw_tp_traffic(const struct mw_tp_problem *p, const struct mw_tp_system *system,
                   const uint64_t *fetches, struct mw_traffic phases[MW_TP_PHASES])
{
    memset(phases, 0, MW_TP_PHASES * sizeof *phases);
    if (mw_tp_reduces(p))
        count_reduction(p, system, &phases[MW_TP_PHASE_REDUCE]);
    if (mw_tp_gathers(p))
        count_gather(p, system, fetches, &phases[MW_TP_PHASE_GATHER]);
}

// ---- times --------------------------------------------------------------------------------------

static struct mw_bound later(struct mw_bound a, struct mw_bound b)
{
    return b.cycles > a.cycles ? b : a;
}

static struct mw_bound link_time(const struct mw_tp_problem *p, const struct mw_traffic *t)
{
    struct mw_bound up = {mw_traffic_flits(t, 0, MW_UP) * p->link_cycles, MW_LINK, 0, MW_UP};
    struct mw_bound down = {mw_traffic_flits(t, 0, MW_DOWN) * p->link_cycles, MW_LINK, 0, MW_DOWN};
    return later(up, down);
}

struct mw_bound mw_tp_strict_link(const struct mw_tp_problem *p)
{
    const uint64_t own = mw_tp_own(p), others = own * (p->gpus - 1);
    struct mw_traffic t;
    memset(&t, 0, sizeof t);
    if (mw_tp_reduces(p)) {
        put(p, &t, MW_UP, MW_PARTIAL, (struct load){others, 0});
        put(p, &t, MW_DOWN, MW_PARTIAL, (struct load){own, 0});
    }
    if (mw_tp_gathers(p)) {
        put(p, &t, MW_UP, MW_STORE, (struct load){own, 0});
        put(p, &t, MW_DOWN, MW_STORE, (struct load){others, 0});
    }
    return link_time(p, &t);
}

static uint64_t part_rows(const struct mw_tp_problem *p, enum mw_tp_part part)
{
    return !mw_tp_has(p, part) ? 0 : part == MW_TP_LN ? mw_tp_own(p) : p->o.rows;
}

uint64_t mw_tp_engine_rows(const struct mw_tp_problem *p)
{
    uint64_t rows = 0;
    for (unsigned part = 0; part < MW_TP_PARTS; part++)
        rows += part_rows(p, (enum mw_tp_part)part);
    return rows;
}

uint64_t mw_tp_least_cycles(const struct mw_tp_problem *p)
{
    return payload_flits(p) / MW_ENGINE_FLITS;
}

/// The time of a part's rows as given, or that in which the engine moves them, if it is longer.
static uint64_t part_time(const struct mw_tp_problem *p, enum mw_tp_part part)
{
    const uint64_t busy = part_rows(p, part) * p->cycles[part];
    const uint64_t moved = part_rows(p, part) * mw_tp_least_cycles(p);
    return busy > moved ? busy : moved;
}

static struct mw_bound engine_bound(uint64_t cycles)
{
    return (struct mw_bound){cycles, MW_ENGINE, 0, MW_UP};
}

/// Without the bypass the adder passes the rows of all homes. It is worth its conflicts in memory
/// where this takes an eighth longer than the links and GEMM-1 do: up to 4 GPUs.
bool mw_tp_adder_bypass(const struct mw_tp_problem *p, const struct mw_tp_system *s)
{
    if (s->reduce != MW_TP_TILES || !mw_tp_reduces(p))
        return true;
    struct mw_traffic t;
    memset(&t, 0, sizeof t);
    count_reduction(p, s, &t);
    const struct mw_bound others =
        later(link_time(p, &t), engine_bound(part_time(p, MW_TP_GEMM_1)));
    return 8 * p->o.rows * payload_flits(p) > 9 * others.cycles;
}

/// Rows that pass the hub's adder. A row of sums at the home takes one addition, or one of each row
/// that comes.
static uint64_t additions(const struct mw_tp_problem *p, const struct mw_tp_system *s)
{
    const uint64_t own = mw_tp_own(p);
    if (!mw_tp_reduces(p))
        return 0;
    switch (s->reduce) {
    case MW_TP_SWITCH:
        return own;
    case MW_TP_TILES:
        return mw_tp_adder_bypass(p, s) ? own : p->o.rows;
    case MW_TP_PUSH:
        return own * p->gpus;
    case MW_TP_SUMS:
        return 2 * own; // a copy of the own term, and the sum of the others
    case MW_TP_STEPS:
        return own * (p->gpus - 1);
    }
    return 0;
}

/// Rows that a GPU's memory reads and writes.
static struct mw_bound bank_time(const struct mw_tp_problem *p, const struct mw_tp_system *s)
{
    const uint64_t all = p->o.rows, own = mw_tp_own(p), others = all - own;
    uint64_t reads = mw_tp_engine_rows(p), writes = reads;
    if (mw_tp_reduces(p)) {
        const bool by_switch = s->reduce == MW_TP_SWITCH || s->reduce == MW_TP_TILES;
        reads += by_switch                 ? all
                 : s->reduce == MW_TP_PUSH ? 2 * all
                 : s->reduce == MW_TP_SUMS ? all + 2 * own
                                           : 2 * others + own;
        writes += by_switch ? own : s->reduce == MW_TP_SUMS ? 2 * own : all;
    }
    if (mw_tp_gathers(p)) {
        reads += s->gather == MW_TP_MULTICAST ? own
                 : s->gather == MW_TP_MERGED  ? own + mw_tp_least_fetches(p) / mw_tp_row_loads(p)
                                              : all;
        writes += all;
    }
    const uint64_t rows = reads > writes ? reads : writes;
    return (struct mw_bound){mw_div_up(rows * payload_flits(p), MW_MEM_BANKS), MW_BANKS, 0, MW_UP};
}

/// Bound of systems with barriers: GEMM-1, sums with LN, gather and GEMM-2, one after the other. If
/// the system overlaps them, GEMM-1 runs beside the sums, and GEMM-2 beside the gather. Its place
/// is that of the longest.
static struct mw_bound barrier_time(const struct mw_tp_problem *p, const struct mw_tp_system *s,
                                    const struct mw_traffic phases[MW_TP_PHASES], bool engines)
{
    const uint64_t time[MW_TP_PHASES] = {part_time(p, MW_TP_GEMM_1), part_time(p, MW_TP_LN), 0,
                                         part_time(p, MW_TP_GEMM_2)};
    struct mw_bound sum = {0};
    uint64_t cycles = 0;
    for (unsigned i = 0; i < MW_TP_PHASES; i += s->overlapped ? 2 : 1) {
        struct mw_traffic t = phases[i];
        uint64_t engine = time[i];
        if (s->overlapped) {
            mw_traffic_add(&t, &phases[i + 1]);
            engine += time[i + 1];
        }
        struct mw_bound b = link_time(p, &t);
        if (engines)
            b = later(b, engine_bound(engine));
        sum = later(sum, b);
        cycles += b.cycles;
    }
    sum.cycles = cycles;
    return sum;
}

void mw_tp_bounds(const struct mw_tp_problem *p, const struct mw_tp_system *s,
                  struct mw_tp_bounds *b)
{
    struct mw_traffic phases[MW_TP_PHASES], all;
    mw_tp_traffic(p, s, NULL, phases);
    all = phases[0];
    for (unsigned i = 1; i < MW_TP_PHASES; i++)
        mw_traffic_add(&all, &phases[i]);
    uint64_t given = 0, engine = 0;
    for (unsigned i = 0; i < MW_TP_PARTS; i++) {
        given += part_rows(p, (enum mw_tp_part)i) * p->cycles[i];
        engine += part_time(p, (enum mw_tp_part)i);
    }
    *b = (struct mw_tp_bounds){
        .strict_link = mw_tp_strict_link(p),
        .engine = engine_bound(engine),
        .adder = {additions(p, s) * payload_flits(p), MW_ADDER, 0, MW_UP},
        .banks = bank_time(p, s),
    };
    b->strict = later(b->strict_link, engine_bound(given));
    b->own_link = s->barriers ? barrier_time(p, s, phases, false) : link_time(p, &all);
    b->own = s->barriers ? barrier_time(p, s, phases, true) : later(b->own_link, b->engine);
    b->limit = later(later(b->own, b->adder), b->banks);
}
