// SPDX-License-Identifier: Apache-2.0
//
// Systems whose rows go tile by tile. When all GPUs have reported a row, the switch opens its sum
// (docs/design/tile-reductions.md). So a tile of GEMM-1 is on its way when it is done. GPUs compute
// the rows of all homes in turn. After the sums, `tiles` continues in ranges, as `chain` does. In
// `cais-ordered` each GPU loads the rows tile by tile, and the switch merges the loads
// (docs/design/merged-loads.md).
#include "analysis/packet_size.h"
#include "tp/streams.h"
#include "tp/tp_bounds.h"
#include "trace/workload.h"
#include <assert.h>

/// The counter of the range, whose rows have arrived from so many GPUs. A GPU may be several ranges
/// ahead.
static unsigned gathered(unsigned r)
{
    return r < MW_SW_EVENTS ? MW_EV_SW0 + r : MW_EV_SW8 + (r - MW_SW_EVENTS);
}

static unsigned number(const struct mw_tp_at *at, enum mw_tp_part part, unsigned home,
                       unsigned place)
{
    return mw_tp_number(at->p, at->layout->token_shift, part, home, place);
}

static uint64_t in(const struct mw_tp_at *at, enum mw_tp_part part, unsigned place)
{
    return at->layout->xd_base +
           ((uint64_t)number(at, part, at->gpu, place) << at->layout->row_shift);
}

/// Where a home has the row that is gathered: a sum, or LN of it.
static uint64_t source(const struct mw_tp_at *at, unsigned place)
{
    const uint64_t distance = at->layout->yd_base - at->layout->xd_base;
    return in(at, MW_TP_LN, place) + (mw_tp_has(at->p, MW_TP_LN) ? distance : 0);
}

/// GEMM-1 or GEMM-2 of these rows of every home, range r. `report`: each row to the switch, which
/// opens its sum.
static void add_gemm(const struct mw_tp_at *at, struct mw_stream *s, enum mw_tp_part part,
                     struct mw_tp_span span, unsigned r, bool report)
{
    mw_tp_jitter(at, s, part, at->p->gpus * span.rows, r);
    mw_stream_expert_homes(s, number(at, part, 0, span.first), span.rows, report);
    mw_tp_cycles(at, s, part);
}

/// LN of these own rows, range r, whose sums are there.
static void add_norm(const struct mw_tp_at *at, struct mw_stream *s, struct mw_tp_span span,
                     unsigned r)
{
    if (!mw_tp_has(at->p, MW_TP_LN))
        return;
    mw_tp_jitter(at, s, MW_TP_LN, span.rows, r);
    mw_stream_expert_gathered(s, number(at, MW_TP_LN, at->gpu, span.first), span.rows);
    mw_tp_cycles(at, s, MW_TP_LN);
}

// ---- tiles --------------------------------------------------------------------------------------

static void add_gather(const struct mw_tp_at *at, struct mw_stream *s, struct mw_tp_span span,
                       unsigned r)
{
    mw_stream_wait(s, MW_EV_TOKENS, span.first + span.rows);
    add_norm(at, s, span, r);
    mw_stream_multimem_st(s, at->all, source(at, span.first), mw_tp_bytes(at, span),
                          in(at, MW_TP_GEMM_2, span.first));
    if (mw_tp_has(at->p, MW_TP_GEMM_2)) {
        mw_stream_flag(s, gathered(r), false);
        mw_stream_flag(s, gathered(r), true);
    }
}

static void make_range(const struct mw_tp_at *at, struct mw_stream *s, unsigned r)
{
    const unsigned first = mw_tp_begin(at->p, at->ranges, r);
    const struct mw_tp_span span = {first, mw_tp_begin(at->p, at->ranges, r + 1) - first};
    struct mw_stream *second = &s[MW_TP_SECOND];
    add_gemm(at, &s[MW_TP_FIRST], MW_TP_GEMM_1, span, r, true);
    if (mw_tp_gathers(at->p))
        add_gather(at, &s[MW_TP_GATHER], span, r);
    if (mw_tp_has(at->p, MW_TP_GEMM_2)) {
        mw_stream_wait(second, gathered(r), at->p->gpus);
        add_gemm(at, second, MW_TP_GEMM_2, span, r, false);
    }
}

static void make_tiles(const struct mw_tp_at *at, struct mw_stream *s)
{
    for (unsigned i = 0; i < MW_STREAMS; i++)
        mw_tp_start(at, &s[i]);
    mw_stream_dymultimem_ld_reduce(&s[MW_TP_REDUCTION], 0, mw_tp_own(at->p), false);
    for (unsigned r = 0; r < at->ranges; r++)
        make_range(at, s, r);
}

/// As many as the instructions of the fullest stream allow, besides start and end: the gather's.
static unsigned ranges_of_tiles(const struct mw_tp_problem *p)
{
    const unsigned delay = p->o.jitter > 0;
    const unsigned instrs = mw_tp_has(p, MW_TP_LN) ? 5 + delay : 2;
    const unsigned most = (MW_STREAM_INSTRS_LEAST - 2) / instrs;
    return most < mw_tp_own(p) ? most : mw_tp_own(p);
}

// ---- cais-ordered -------------------------------------------------------------------------------

enum {
    /// Own parts that are done, where rows are loaded: LN, and GEMM-1.
    DONE = MW_EV_SW0 + 2,
    BOTH = 2,
    /// Ranges of LN, which are no shorter than GEMM-1's, that GEMM-1 may be ahead of the sums, and
    /// the fewest rows of each home. There are more where GEMM-2 holds up the engine. The switch
    /// grants rows in the order in which all have reported them. So loads wait for the sums of all
    /// rows that GEMM-1 has reported before. Too far ahead, sums and loads alternate, and uplinks
    /// or downlinks are idle in turn.
    AHEAD = 2,
    ROWS_AHEAD = 8,
    ROWS_AHEAD_BESIDE = 12,
    LEAD_GPUS = 8, ///< with more GPUs the lead in rows of all homes stays that of so many
    /// Cycles in which the engine changes from one instruction to the next.
    CHANGE = 50,
    /// Of how many instructions start, loads, done and end of a stream leave room.
    INSTRS = MW_STREAM_INSTRS - 3,
};

/// Rows of each home in a range of a GEMM, and own rows in one of LN: multiples of SYNC's tiles.
struct sizes {
    unsigned gemm, norm;
};

static unsigned ranges_with(const struct mw_tp_problem *p, unsigned rows)
{
    return (unsigned)mw_div_up(mw_tp_own(p), rows);
}

static struct mw_tp_span range(const struct mw_tp_at *at, unsigned rows, unsigned r)
{
    const unsigned first = r * rows, rest = mw_tp_own(at->p) - first;
    return (struct mw_tp_span){first, rest < rows ? rest : rows};
}

/// Instructions of a range's LN and offer: wait, delay, LN, sync.
static unsigned norm_instrs(const struct mw_tp_problem *p)
{
    return mw_tp_has(p, MW_TP_LN) ? 3 + (p->o.jitter > 0) : 2;
}

/// Ranges whose LN has room in its own stream.
static unsigned norm_ranges(const struct mw_tp_problem *p)
{
    return INSTRS / norm_instrs(p);
}

/// The most ranges whose instructions have room. GEMM-1's stream also has a wait for each range
/// except the first ones. It has LN, after a wait, of the ranges for which LN's own stream has no
/// room. GEMM-2 alone needs no ranges but for its delays.
static unsigned most_ranges(const struct mw_tp_problem *p)
{
    const unsigned delay = p->o.jitter > 0, norms = norm_ranges(p);
    const unsigned first = (INSTRS + AHEAD) / (2 + delay);
    if (!mw_tp_reduces(p))
        return delay ? norms : 1;
    if (!mw_tp_has(p, MW_TP_LN) || first < norms)
        return first < norms ? first : norms;
    const unsigned more = (INSTRS + AHEAD - 1 - norms * (2 + delay)) / (2 + delay + norm_instrs(p));
    return norms + more;
}

/// Cycles of the engine for its rows. Besides: for places of tiles that LN does not use, for those
/// that GEMMs do not use, and for changes of instructions.
struct engine_time {
    uint64_t rows, norm_unused, gemm_unused, changes;
};

/// Places that ranges of so many rows of each home leave unused in tiles.
static uint64_t unused(const struct mw_tp_problem *p, unsigned homes, unsigned rows)
{
    const uint64_t own = mw_tp_own(p), rest = own % rows * homes;
    const uint64_t tiles =
        own / rows * mw_div_up((uint64_t)rows * homes, p->tile) + mw_div_up(rest, p->tile);
    return tiles * p->tile - own * homes;
}

static struct engine_time engine_time(const struct mw_tp_problem *p, struct sizes sizes)
{
    struct engine_time t = {0};
    for (unsigned part = 0; part < MW_TP_PARTS; part++) {
        const bool norm = part == MW_TP_LN;
        const unsigned homes = norm ? 1 : p->gpus, rows = norm ? sizes.norm : sizes.gemm;
        if (!mw_tp_has(p, (enum mw_tp_part)part))
            continue;
        t.rows += (uint64_t)mw_tp_own(p) * homes * p->cycles[part];
        *(norm ? &t.norm_unused : &t.gemm_unused) += unused(p, homes, rows) * p->cycles[part];
        t.changes += CHANGE * ranges_with(p, rows);
    }
    return t;
}

/// As few rows as the streams have room for: sums are loaded the earlier. More, where the engine
/// would take a fifteenth longer than the strict bound: of LN alone where places that it does not
/// use take longest.
static struct sizes sizes_of(const struct mw_tp_problem *p)
{
    const unsigned own = mw_tp_own(p);
    const uint64_t link = mw_tp_strict_link(p).cycles;
    const uint64_t least = mw_div_up(mw_div_up(own, most_ranges(p)), MW_TP_SYNC_ROWS);
    struct sizes s = {(unsigned)least * MW_TP_SYNC_ROWS, (unsigned)least * MW_TP_SYNC_ROWS};
    while (mw_tp_reduces(p) && s.norm < own) {
        const struct engine_time t = engine_time(p, s);
        const uint64_t others = t.gemm_unused + t.changes, bound = t.rows > link ? t.rows : link;
        if (15 * (t.rows + t.norm_unused + others) <= 16 * bound)
            break;
        s.norm += MW_TP_SYNC_ROWS;
        if (t.norm_unused < others)
            s.gemm += MW_TP_SYNC_ROWS;
    }
    return s;
}

/// Loads of the own rows of range r may come; all of them, where they are input. Ranges for which
/// the stream has no room follow GEMM-1, when those before are done.
static void add_offer(const struct mw_tp_at *at, struct mw_stream *streams, unsigned rows,
                      unsigned r)
{
    const struct mw_tp_span span = range(at, rows, r);
    const unsigned room = norm_ranges(at->p);
    struct mw_stream *s = &streams[r < room ? MW_TP_GATHER : MW_TP_FIRST];
    if (r == room)
        mw_stream_wait(s, DONE, 1);
    if (mw_tp_reduces(at->p)) {
        mw_stream_wait(s, MW_EV_TOKENS, span.first + span.rows);
        add_norm(at, s, span, r);
    }
    mw_stream_sync(s, number(at, MW_TP_GEMM_2, 0, span.first), span.rows);
}

/// All rows, in the order that all GPUs have. The stream then computes them.
static void add_loads(const struct mw_tp_at *at, struct mw_stream *s, unsigned sync_rows)
{
    const struct mw_tp_problem *p = at->p;
    const unsigned flags =
        (p->o.no_merge ? MW_LOAD_ALONE : 0) | (mw_tp_has(p, MW_TP_GEMM_2) ? MW_LOAD_BESIDE : 0);
    mw_stream_ld_cais(s, number(at, MW_TP_GEMM_2, 0, 0), mw_tp_own(p), sync_rows, flags);
}

/// GEMM-2 of as many rows as the range has, in the order in which they come. Once the engine waits
/// for rows, it computes nothing else. This costs no time: except for the last rows, they are there
/// before, and at the last ones no other part is left.
static void add_landed(const struct mw_tp_at *at, struct mw_stream *s, struct mw_tp_span span,
                       unsigned r)
{
    const unsigned count = at->p->gpus * span.rows, behind = span.first + span.rows;
    if (mw_tp_reduces(at->p) && behind < mw_tp_own(at->p))
        mw_stream_wait(s, MW_EV_ROWS, at->p->gpus * behind);
    else if (mw_tp_reduces(at->p))
        mw_stream_wait(s, DONE, BOTH);
    mw_tp_jitter(at, s, MW_TP_GEMM_2, count, r);
    mw_stream_expert_landed(s, count);
    mw_tp_cycles(at, s, MW_TP_GEMM_2);
}

/// Number of ranges whose GEMM-2 runs row by row: a third of them at most, as far as the stream has
/// room. LN, for which others wait, then waits less for the engine. None, where the engine has no
/// time for more instructions, or for tiles that are not full.
static unsigned split_ranges(const struct mw_tp_problem *p, unsigned rows)
{
    enum { EACH = 2 }; // a wait, and rows
    const unsigned ranges = ranges_with(p, rows), room = INSTRS / EACH - ranges;
    if (!mw_tp_reduces(p) || p->o.jitter || rows > MW_TP_SYNC_ROWS || p->gpus % p->tile)
        return 0;
    return room < ranges / 3 ? room : ranges / 3;
}

static void add_second(const struct mw_tp_at *at, struct mw_stream *s, unsigned rows)
{
    const unsigned ranges = ranges_with(at->p, rows), split = split_ranges(at->p, rows);
    for (unsigned r = 0; r < ranges; r++) {
        const struct mw_tp_span span = range(at, rows, r);
        if (r + split < ranges)
            add_landed(at, s, span, r);
        else
            for (unsigned i = 0; i < span.rows; i++)
                add_landed(at, s, (struct mw_tp_span){span.first + i, 1}, r);
    }
}

static void add_first(const struct mw_tp_at *at, struct mw_stream *s, struct sizes sizes)
{
    const bool beside = mw_tp_has(at->p, MW_TP_GEMM_2);
    const unsigned ranges = AHEAD * sizes.norm, each = beside ? ROWS_AHEAD_BESIDE : ROWS_AHEAD;
    const unsigned gpus = at->p->gpus > LEAD_GPUS ? at->p->gpus : LEAD_GPUS;
    const unsigned rows = each * LEAD_GPUS / gpus;
    const unsigned ahead = ranges > rows ? ranges : rows;
    for (unsigned r = 0; r < ranges_with(at->p, sizes.gemm); r++) {
        const struct mw_tp_span span = range(at, sizes.gemm, r);
        if (mw_tp_gathers(at->p) && span.first + sizes.gemm > ahead)
            mw_stream_wait(s, MW_EV_TOKENS, span.first + sizes.gemm - ahead);
        add_gemm(at, s, MW_TP_GEMM_1, span, r, true);
    }
}

static void add_done(const struct mw_tp_at *at, struct mw_stream *s)
{
    if (mw_tp_reduces(at->p) && mw_tp_has(at->p, MW_TP_GEMM_2))
        mw_stream_flag(s, DONE, true);
}

static void make_cais_ordered(const struct mw_tp_at *at, struct mw_stream *s)
{
    const struct sizes sizes = sizes_of(at->p);
    for (unsigned i = 0; i < MW_STREAMS; i++)
        mw_tp_start(at, &s[i]);
    if (mw_tp_reduces(at->p)) {
        mw_stream_dymultimem_ld_reduce(&s[MW_TP_REDUCTION], 0, mw_tp_own(at->p), false);
        add_first(at, &s[MW_TP_FIRST], sizes);
    }
    for (unsigned r = 0; r < ranges_with(at->p, sizes.norm); r++)
        add_offer(at, s, sizes.norm, r);
    add_done(at, &s[MW_TP_GATHER]);
    add_done(at, &s[MW_TP_FIRST]);
    add_loads(at, &s[MW_TP_SECOND], mw_tp_sync_rows(at->p));
    if (mw_tp_has(at->p, MW_TP_GEMM_2))
        add_second(at, &s[MW_TP_SECOND], sizes.gemm);
}

static unsigned ranges_of_cais_ordered(const struct mw_tp_problem *p)
{
    return ranges_with(p, sizes_of(p).gemm);
}

const struct mw_tp_system mw_tp_cais_ordered = {
    .name = "cais-ordered",
    .text = "tiles, with loads of rows that the switch merges",
    .reduce = MW_TP_TILES,
    .gather = MW_TP_MERGED,
    .ranges = ranges_of_cais_ordered,
    .make = make_cais_ordered,
};

// ---- cais ---------------------------------------------------------------------------------------

enum {
    COMPUTED = DONE + 1, ///< event counter: GEMM-1 is done here; barriers use those below DONE
    LEAD = 6,            ///< ranges that GEMM-1 may be ahead of the sums
};
// a range is a tile, and few tiles may be reported and not granted
static_assert((int)LEAD < (int)MW_BUILT_SYNCS, "more tiles than a GPU may report");

/// Rows of each home in a range: as few as the fullest stream has room for. For each range the
/// stream of GEMM-1 has a wait, expert.rows, a copy, a sync, and with jitter a delay.
static unsigned cais_rows(const struct mw_tp_problem *p)
{
    const unsigned each = 4 + (p->o.jitter > 0);
    const uint64_t least = mw_div_up(ranges_with(p, INSTRS / each), MW_TP_SYNC_ROWS);
    return (unsigned)least * MW_TP_SYNC_ROWS;
}

/// GEMM-1 of these rows of every home. Own terms are copied to where others add theirs.
static void add_terms(const struct mw_tp_at *at, struct mw_stream *s, struct mw_tp_span span,
                      unsigned r)
{
    add_gemm(at, s, MW_TP_GEMM_1, span, r, false);
    mw_stream_sum_gathered(s, span.first, span.rows, number(at, MW_TP_GEMM_1, at->gpu, span.first));
}

/// Reds of these terms: of every other home in turn, as a home's downlink is as fast as the own
/// uplink.
static void add_reds(const struct mw_tp_at *at, struct mw_stream *s, struct mw_tp_span span)
{
    const unsigned from = number(at, MW_TP_GEMM_1, 0, span.first);
    mw_stream_red_cais_homes(s, at->one[0],
                             at->layout->yd_base + ((uint64_t)from << at->layout->row_shift),
                             mw_tp_bytes(at, span), in(at, MW_TP_LN, span.first));
}

/// SYNC of range r: all GPUs have copied their own terms, and reds of a row meet in the switch. One
/// tile represents the rows of all homes, and each home counts the reports of some ranges.
static void add_push_sync(const struct mw_tp_at *at, struct mw_stream *first,
                          struct mw_stream *reds, struct mw_tp_span span, unsigned r)
{
    mw_stream_sync_pushes(first, r % at->p->gpus, number(at, MW_TP_LN, 0, span.first), span.rows);
    mw_stream_wait(reds, MW_EV_SYNCS, r + 1);
}

static void make_cais(const struct mw_tp_at *at, struct mw_stream *s)
{
    const unsigned rows = cais_rows(at->p);
    for (unsigned i = 0; i < MW_STREAMS; i++)
        mw_tp_start(at, &s[i]);
    for (unsigned r = 0; r < at->ranges; r++) {
        const struct mw_tp_span span = range(at, rows, r);
        if (r >= LEAD)
            mw_stream_wait(&s[MW_TP_FIRST], MW_EV_TOKENS, (r - LEAD + 1) * rows);
        add_terms(at, &s[MW_TP_FIRST], span, r);
        add_push_sync(at, &s[MW_TP_FIRST], &s[MW_TP_REDUCTION], span, r);
        add_reds(at, &s[MW_TP_REDUCTION], span);
        mw_stream_wait(&s[MW_TP_GATHER], MW_EV_TOKENS, span.first + span.rows);
        add_norm(at, &s[MW_TP_GATHER], span, r);
        if (mw_tp_gathers(at->p))
            mw_stream_sync(&s[MW_TP_GATHER], number(at, MW_TP_GEMM_2, 0, span.first), span.rows);
    }
    if (!mw_tp_gathers(at->p))
        return;
    add_done(at, &s[MW_TP_GATHER]);
    add_done(at, &s[MW_TP_FIRST]);
    add_loads(at, &s[MW_TP_SECOND], mw_tp_sync_rows(at->p));
    if (mw_tp_has(at->p, MW_TP_GEMM_2))
        add_second(at, &s[MW_TP_SECOND], rows);
}

static unsigned ranges_of_cais(const struct mw_tp_problem *p)
{
    return ranges_with(p, cais_rows(p));
}

/// Each part begins when the one before is complete. GPUs wait for each other before reds, and
/// before loads.
static void make_cais_base(const struct mw_tp_at *at, struct mw_stream *s)
{
    const struct mw_tp_span all = {0, mw_tp_own(at->p)};
    struct mw_stream *reds = &s[MW_TP_REDUCTION], *gather = &s[MW_TP_GATHER];
    struct mw_stream *second = &s[MW_TP_SECOND];
    for (unsigned i = 0; i < MW_STREAMS; i++)
        mw_tp_start(at, &s[i]);
    add_terms(at, &s[MW_TP_FIRST], all, 0);
    mw_stream_flag(&s[MW_TP_FIRST], COMPUTED, true);
    mw_stream_wait(reds, COMPUTED, 1);
    mw_tp_barrier(at, reds, 0);
    add_reds(at, reds, all);
    mw_stream_wait(gather, MW_EV_TOKENS, all.rows);
    add_norm(at, gather, all, 0);
    if (!mw_tp_gathers(at->p))
        return;
    mw_stream_sync(gather, number(at, MW_TP_GEMM_2, 0, 0), all.rows);
    mw_tp_barrier(at, gather, 1);
    mw_stream_flag(gather, DONE, true);
    mw_stream_wait(second, DONE, 1);
    add_loads(at, second, 0);
    if (mw_tp_has(at->p, MW_TP_GEMM_2)) {
        mw_stream_wait(second, MW_EV_ROWS, at->p->o.rows);
        mw_tp_jitter(at, second, MW_TP_GEMM_2, at->p->o.rows, 0);
        mw_stream_expert_landed(second, at->p->o.rows);
        mw_tp_cycles(at, second, MW_TP_GEMM_2);
    }
}

static unsigned one_range(const struct mw_tp_problem *p)
{
    (void)p;
    return 1;
}

const struct mw_tp_system mw_tp_cais = {
    .name = "cais",
    .text = "reds that the switch adds up as they come, and loads that it merges",
    .reduce = MW_TP_SUMS,
    .gather = MW_TP_MERGED,
    .ranges = ranges_of_cais,
    .make = make_cais,
};

const struct mw_tp_system mw_tp_cais_base = {
    .name = "cais-base",
    .text = "phases of the same reds and loads, without SYNC of loads",
    .reduce = MW_TP_SUMS,
    .gather = MW_TP_MERGED,
    .barriers = true,
    .unsynced = true,
    .ranges = one_range,
    .make = make_cais_base,
};

const struct mw_tp_system mw_tp_tiles = {
    .name = "tiles",
    .text = "the switch opens the sum of each row when all have computed it",
    .reduce = MW_TP_TILES,
    .gather = MW_TP_MULTICAST,
    .ranges = ranges_of_tiles,
    .make = make_tiles,
};
