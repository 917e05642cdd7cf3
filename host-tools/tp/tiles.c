// SPDX-License-Identifier: Apache-2.0
//
// Systems whose rows go tile by tile. The switch opens the sum of each row when all GPUs have
// reported it (docs/design/tile-reductions.md), so a tile of GEMM-1 is on its way when it is done.
// GPUs compute the rows of all homes in turn. Behind the sums `tiles` goes on in ranges, as `chain`
// does. In `cais-ordered` each GPU loads the rows tile by tile, and the switch merges the loads
// (docs/design/merged-loads.md).
#include "tp/streams.h"

/// Own parts that are done, where rows are loaded: GEMM-1, and LN.
enum { DONE = MW_EV_SW0, BOTH = 2 };
/// Ranges that GEMM-1 may be ahead of the sums. The switch grants rows in the order in which all
/// have reported them, so loads wait for the sums of all rows that GEMM-1 has reported before.
enum { AHEAD = 4 };

/// The counter of the range, whose rows have arrived from so many GPUs. A GPU may be several ranges
/// ahead.
static unsigned gathered(unsigned r)
{
    return r < MW_SW_EVENTS ? MW_EV_SW0 + r : MW_EV_SW8 + (r - MW_SW_EVENTS);
}

/// Rows of range r at a home, and before them.
static unsigned begin(const struct mw_tp_at *at, unsigned r)
{
    return mw_tp_begin(at->p, at->ranges, r);
}

static unsigned rows(const struct mw_tp_at *at, unsigned r)
{
    return begin(at, r + 1) - begin(at, r);
}

static unsigned number(const struct mw_tp_at *at, enum mw_tp_part part, unsigned home, unsigned r)
{
    return mw_tp_number(at->p, at->layout->token_shift, part, home, begin(at, r));
}

static uint64_t in(const struct mw_tp_at *at, enum mw_tp_part part, unsigned r)
{
    return at->layout->xd_base + ((uint64_t)number(at, part, at->gpu, r) << at->layout->row_shift);
}

/// Where a home has the range that is gathered: sums, or LN of them.
static uint64_t source(const struct mw_tp_at *at, unsigned r)
{
    const uint64_t distance = at->layout->yd_base - at->layout->xd_base;
    return in(at, MW_TP_LN, r) + (mw_tp_has(at->p, MW_TP_LN) ? distance : 0);
}

/// GEMM-1 or GEMM-2 of the range's rows of every home.
static void add_gemm(const struct mw_tp_at *at, struct mw_stream *s, enum mw_tp_part part,
                     unsigned r)
{
    mw_tp_jitter(at, s, part, at->p->gpus * rows(at, r), r);
    mw_stream_expert_homes(s, number(at, part, 0, r), rows(at, r), part == MW_TP_GEMM_1);
    mw_tp_cycles(at, s, part);
}

/// LN of the range's own rows, when their sums are there.
static void add_norm(const struct mw_tp_at *at, struct mw_stream *s, unsigned r)
{
    mw_stream_wait(s, MW_EV_TOKENS, begin(at, r + 1));
    if (!mw_tp_has(at->p, MW_TP_LN))
        return;
    mw_tp_jitter(at, s, MW_TP_LN, rows(at, r), r);
    mw_stream_expert_gathered(s, number(at, MW_TP_LN, at->gpu, r), rows(at, r));
    mw_tp_cycles(at, s, MW_TP_LN);
}

// ---- tiles --------------------------------------------------------------------------------------

static void add_gather(const struct mw_tp_at *at, struct mw_stream *s, unsigned r)
{
    add_norm(at, s, r);
    mw_stream_multimem_st(s, at->all, source(at, r), rows(at, r) * mw_tp_row_bytes(at->p),
                          in(at, MW_TP_GEMM_2, r));
    if (mw_tp_has(at->p, MW_TP_GEMM_2)) {
        mw_stream_flag(s, gathered(r), false);
        mw_stream_flag(s, gathered(r), true);
    }
}

static void make_range(const struct mw_tp_at *at, struct mw_stream *s, unsigned r)
{
    struct mw_stream *second = &s[MW_TP_SECOND];
    add_gemm(at, &s[MW_TP_FIRST], MW_TP_GEMM_1, r);
    if (mw_tp_gathers(at->p))
        add_gather(at, &s[MW_TP_GATHER], r);
    if (mw_tp_has(at->p, MW_TP_GEMM_2)) {
        mw_stream_wait(second, gathered(r), at->p->gpus);
        add_gemm(at, second, MW_TP_GEMM_2, r);
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
    const unsigned most = (MW_STREAM_INSTRS - 2) / instrs;
    return most < mw_tp_own(p) ? most : mw_tp_own(p);
}

// ---- cais-ordered -------------------------------------------------------------------------------

/// Loads of the own rows of a range may come; all of them, where they are input.
static void add_offer(const struct mw_tp_at *at, struct mw_stream *s, unsigned r)
{
    if (mw_tp_reduces(at->p))
        add_norm(at, s, r);
    mw_stream_sync(s, number(at, MW_TP_GEMM_2, 0, r), rows(at, r));
}

/// All rows, in the order that all GPUs have. The stream goes on to compute them.
static void add_loads(const struct mw_tp_at *at, struct mw_stream *s)
{
    const struct mw_tp_problem *p = at->p;
    const unsigned flags =
        (p->o.no_merge ? MW_LOAD_ALONE : 0) | (mw_tp_has(p, MW_TP_GEMM_2) ? MW_LOAD_BESIDE : 0);
    mw_stream_ld_cais(s, number(at, MW_TP_GEMM_2, 0, 0), mw_tp_own(p), mw_tp_sync_rows(p), flags);
}

/// GEMM-2 of as many rows as the range has, in the order in which they come. The engine, once it
/// waits for rows, computes nothing else: up to the last range they are there before, and then no
/// other part is left.
static void add_landed(const struct mw_tp_at *at, struct mw_stream *s, unsigned r)
{
    const unsigned count = at->p->gpus * rows(at, r);
    if (mw_tp_reduces(at->p) && r + 1 < at->ranges)
        mw_stream_wait(s, MW_EV_ROWS, at->p->gpus * begin(at, r + 1));
    else if (mw_tp_reduces(at->p))
        mw_stream_wait(s, DONE, BOTH);
    mw_tp_jitter(at, s, MW_TP_GEMM_2, count, r);
    mw_stream_expert_landed(s, count);
    mw_tp_cycles(at, s, MW_TP_GEMM_2);
}

static void add_ahead(const struct mw_tp_at *at, struct mw_stream *s, unsigned r)
{
    if (mw_tp_gathers(at->p) && r >= AHEAD)
        mw_stream_wait(s, MW_EV_TOKENS, begin(at, r - AHEAD + 1));
    add_gemm(at, s, MW_TP_GEMM_1, r);
}

static void add_done(const struct mw_tp_at *at, struct mw_stream *s)
{
    if (mw_tp_reduces(at->p) && mw_tp_has(at->p, MW_TP_GEMM_2))
        mw_stream_flag(s, DONE, true);
}

static void make_cais_ordered(const struct mw_tp_at *at, struct mw_stream *s)
{
    for (unsigned i = 0; i < MW_STREAMS; i++)
        mw_tp_start(at, &s[i]);
    if (mw_tp_reduces(at->p))
        mw_stream_dymultimem_ld_reduce(&s[MW_TP_REDUCTION], 0, mw_tp_own(at->p), false);
    add_loads(at, &s[MW_TP_SECOND]);
    for (unsigned r = 0; r < at->ranges; r++) {
        if (mw_tp_reduces(at->p))
            add_ahead(at, &s[MW_TP_FIRST], r);
        add_offer(at, &s[MW_TP_GATHER], r);
        if (mw_tp_has(at->p, MW_TP_GEMM_2))
            add_landed(at, &s[MW_TP_SECOND], r);
    }
    add_done(at, &s[MW_TP_FIRST]);
    add_done(at, &s[MW_TP_GATHER]);
}

/// As many as the fullest stream allows, besides start, done and end: that of LN, or of GEMM-2.
/// GEMM-2 alone needs no ranges but for its delays.
static unsigned ranges_of_cais_ordered(const struct mw_tp_problem *p)
{
    const unsigned delay = p->o.jitter > 0;
    const unsigned instrs = mw_tp_has(p, MW_TP_LN) ? 3 + delay : 2;
    const unsigned most = mw_tp_reduces(p) || delay ? (MW_STREAM_INSTRS - 3) / instrs : 1;
    return most < mw_tp_own(p) ? most : mw_tp_own(p);
}

const struct mw_tp_system mw_tp_cais_ordered = {
    .name = "cais-ordered",
    .text = "tiles, with loads of rows that the switch merges",
    .reduce = MW_TP_TILES,
    .gather = MW_TP_MERGED,
    .ranges = ranges_of_cais_ordered,
    .make = make_cais_ordered,
};

const struct mw_tp_system mw_tp_tiles = {
    .name = "tiles",
    .text = "the switch opens the sum of each row when all have computed it",
    .reduce = MW_TP_TILES,
    .gather = MW_TP_MULTICAST,
    .ranges = ranges_of_tiles,
    .make = make_tiles,
};
