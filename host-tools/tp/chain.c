// SPDX-License-Identifier: Apache-2.0
//
// The systems that pipeline ranges of rows: `chain`, `nvls-tile`, `pull` and `t3`. Each range
// passes GEMM-1, reduction, LN, gather and GEMM-2, and ranges follow each other, so that both
// directions of the links work at once. The systems differ in how rows are reduced and gathered.
// `nvls-tile` has a barrier of all GPUs after LN, which separates the two halves.
#include "tp/streams.h"

/// Counters that only the own GPU counts, or that all count once. Every range has two more that all
/// GPUs count: a GPU may be several ranges ahead.
enum {
    DONE = MW_EV_SW0,    ///< ranges whose sums and LN are done; of `t3`, whose GEMM-1 is
    LOADED = MW_EV_SW1,  ///< ranges whose rows are loaded
    BARRIER = MW_EV_SW1, ///< of `nvls-tile`, which loads nothing
    EACH
};

static unsigned counter(unsigned i)
{
    const unsigned low = MW_SW_EVENTS - EACH;
    return i < low ? EACH + i : MW_EV_SW8 + (i - low);
}

/// GEMM-1 of the range is done at so many GPUs; of `t3`, its sums have arrived from so many.
static unsigned summable(unsigned r)
{
    return counter(2 * r);
}

/// Counter of the GPUs from which the rows of the range have arrived or, if rows are loaded, may be
/// loaded.
static unsigned gathered(unsigned r)
{
    return counter(2 * r + 1);
}

static bool loads(const struct mw_tp_system *system)
{
    return system->gather == MW_TP_LOADS;
}

// ---- the streams, range by range ----------------------------------------------------------------

static void add_first(const struct mw_tp_at *at, struct mw_stream *s, unsigned r, bool push)
{
    mw_tp_expert(at, s, MW_TP_GEMM_1, mw_tp_range(at, r), r);
    if (push) {
        mw_stream_flag(s, DONE, true);
        return;
    }
    mw_stream_signal(s, summable(r));
    mw_stream_flag(s, summable(r), true);
}

static void add_sums(const struct mw_tp_at *at, struct mw_stream *s, unsigned r)
{
    const struct mw_tp_span own = mw_tp_share(at, r, at->gpu);
    mw_stream_wait(s, summable(r), at->p->gpus);
    mw_stream_multimem_ld_reduce(s, at->all, mw_tp_out(at, MW_TP_GEMM_1, own.first),
                                 mw_tp_bytes(at, own), mw_tp_in(at, MW_TP_LN, own.first));
}

static void add_pushes(const struct mw_tp_at *at, struct mw_stream *s, unsigned r)
{
    mw_stream_wait(s, DONE, r + 1);
    for (unsigned q = 0; q < at->p->gpus; q++) {
        const unsigned home = (at->gpu + q) % at->p->gpus;
        const struct mw_tp_span span = mw_tp_share(at, r, home);
        mw_stream_multimem_red(s, at->one[home], mw_tp_out(at, MW_TP_GEMM_1, span.first),
                               mw_tp_bytes(at, span), mw_tp_in(at, MW_TP_LN, span.first));
    }
    mw_stream_flag(s, summable(r), false);
    mw_stream_flag(s, summable(r), true);
}

static void add_gather(const struct mw_tp_at *at, struct mw_stream *s, unsigned r)
{
    const struct mw_tp_span own = mw_tp_share(at, r, at->gpu);
    mw_stream_multimem_st(s, at->all, mw_tp_source(at, own.first), mw_tp_bytes(at, own),
                          mw_tp_in(at, MW_TP_GEMM_2, own.first));
    if (mw_tp_has(at->p, MW_TP_GEMM_2)) {
        mw_stream_flag(s, gathered(r), false);
        mw_stream_flag(s, gathered(r), true);
    }
}

static void add_loads(const struct mw_tp_at *at, struct mw_stream *s, unsigned r)
{
    if (mw_tp_reduces(at->p)) {
        mw_stream_signal(s, gathered(r));
        mw_stream_wait(s, gathered(r), at->p->gpus - 1);
    }
    mw_tp_load(at, s, r);
    if (mw_tp_has(at->p, MW_TP_GEMM_2))
        mw_stream_flag(s, LOADED, true);
}

static void add_second(const struct mw_tp_at *at, struct mw_stream *s, unsigned r, bool load)
{
    if (load)
        mw_stream_wait(s, LOADED, r + 1);
    else
        mw_stream_wait(s, gathered(r), at->p->gpus);
    mw_tp_expert(at, s, MW_TP_GEMM_2, mw_tp_range(at, r), r);
}

static void make_range(const struct mw_tp_at *at, const struct mw_tp_system *system,
                       struct mw_stream *s, unsigned r)
{
    struct mw_stream *sums = &s[MW_TP_REDUCTION], *gather = &s[MW_TP_GATHER];
    const bool push = system->reduce == MW_TP_PUSH;
    if (mw_tp_reduces(at->p)) {
        add_first(at, &s[MW_TP_FIRST], r, push);
        if (push)
            add_pushes(at, sums, r);
        else
            add_sums(at, sums, r);
    }
    if (!system->overlapped && !push && mw_tp_reduces(at->p)) {
        mw_tp_norm(at, sums, r);
        mw_stream_flag(sums, DONE, true);
    }
    if (!mw_tp_gathers(at->p))
        return;
    if (push) {
        mw_stream_wait(gather, summable(r), at->p->gpus);
        mw_tp_norm(at, gather, r);
    } else if (!system->overlapped && mw_tp_reduces(at->p)) {
        mw_stream_wait(gather, DONE, r + 1);
    }
    if (loads(system))
        add_loads(at, gather, r);
    else
        add_gather(at, gather, r);
    if (mw_tp_has(at->p, MW_TP_GEMM_2))
        add_second(at, &s[MW_TP_SECOND], r, loads(system));
}

/// Start the streams that have something to do.
static void start(const struct mw_tp_at *at, struct mw_stream *s)
{
    if (mw_tp_reduces(at->p)) {
        mw_tp_start(at, &s[MW_TP_REDUCTION]);
        mw_tp_start(at, &s[MW_TP_FIRST]);
    }
    if (mw_tp_gathers(at->p))
        mw_tp_start(at, &s[MW_TP_GATHER]);
    if (mw_tp_has(at->p, MW_TP_GEMM_2))
        mw_tp_start(at, &s[MW_TP_SECOND]);
}

static void make_system(const struct mw_tp_at *at, const struct mw_tp_system *system,
                        struct mw_stream *s)
{
    start(at, s);
    for (unsigned r = 0; r < at->ranges; r++)
        make_range(at, system, s, r);
}

// ---- the systems --------------------------------------------------------------------------------

/// As many as the instructions of the fullest stream allow, and no more than a home has rows.
static unsigned at_most(const struct mw_tp_problem *p, unsigned instrs_of_a_range)
{
    unsigned n = (MW_STREAM_INSTRS_LEAST - 2) / instrs_of_a_range; // start and end
    n = n < MW_TP_RANGES ? n : MW_TP_RANGES;
    return n < mw_tp_own(p) ? n : mw_tp_own(p);
}

static unsigned ranges_of_chain(const struct mw_tp_problem *p)
{
    return at_most(p, 5);
}

static unsigned ranges_of_pull(const struct mw_tp_problem *p)
{
    return at_most(p, p->gpus + 4);
}

static unsigned ranges_of_t3(const struct mw_tp_problem *p)
{
    return at_most(p, p->gpus + 6);
}

static void make_chain(const struct mw_tp_at *at, struct mw_stream *s)
{
    make_system(at, &mw_tp_chain, s);
}

/// LN of all ranges, then the barrier, in front of the first gather.
static void make_nvls_tile(const struct mw_tp_at *at, struct mw_stream *s)
{
    struct mw_stream *gather = &s[MW_TP_GATHER];
    struct mw_stream *sums = &s[MW_TP_REDUCTION];
    mw_stream_wait(gather, BARRIER, at->p->gpus);
    make_system(at, &mw_tp_nvls_tile, s);
    for (unsigned r = 0; r < at->ranges; r++)
        mw_tp_norm(at, sums, r);
    mw_stream_signal(sums, BARRIER);
    mw_stream_flag(sums, BARRIER, true);
}

static void make_pull(const struct mw_tp_at *at, struct mw_stream *s)
{
    make_system(at, &mw_tp_pull, s);
}

static void make_t3(const struct mw_tp_at *at, struct mw_stream *s)
{
    make_system(at, &mw_tp_t3, s);
}

const struct mw_tp_system mw_tp_nvls_tile = {
    .name = "nvls-tile",
    .text = "each GEMM beside its collective, a barrier after LN",
    .reduce = MW_TP_SWITCH,
    .gather = MW_TP_MULTICAST,
    .barriers = true,
    .overlapped = true,
    .ranges = ranges_of_chain,
    .make = make_nvls_tile,
};

const struct mw_tp_system mw_tp_chain = {
    .name = "chain",
    .text = "all parts side by side, range by range",
    .reduce = MW_TP_SWITCH,
    .gather = MW_TP_MULTICAST,
    .ranges = ranges_of_chain,
    .make = make_chain,
};

const struct mw_tp_system mw_tp_pull = {
    .name = "pull",
    .text = "chain with loads that nothing merges",
    .reduce = MW_TP_SWITCH,
    .gather = MW_TP_LOADS,
    .most_gpus = 58, // ranges_of_pull
    .beyond = "a stream of 64 instructions has room for the loads from at most 58 GPUs",
    .ranges = ranges_of_pull,
    .make = make_pull,
};

const struct mw_tp_system mw_tp_t3 = {
    .name = "t3",
    .text = "pull with sums at the homes, in the order of arrival",
    .reduce = MW_TP_PUSH,
    .gather = MW_TP_LOADS,
    .most_gpus = 56, // ranges_of_t3
    .beyond = "a stream of 64 instructions has room for the loads from at most 56 GPUs",
    .ranges = ranges_of_t3,
    .make = make_t3,
};
