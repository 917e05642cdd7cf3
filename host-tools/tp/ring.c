// SPDX-License-Identifier: Apache-2.0
//
// The system `ring`: N - 1 steps to the next GPU, without the switch's help. Reduce-scatter: the
// rows of home h start at GPU h + 1 and grow by each GPU's own on their way (multimem.red).
// All-gather: rows are forwarded (st.linear). After each step, a flag to all reports that its
// stores have landed. For sums it also reports that the rows to which the sender adds in the step
// after the next are computed. GEMMs take the homes' rows in the order in which the steps need or
// bring them.
#include "tp/streams.h"

/// Counters: steps of sums and of forwarding, two in turn each, as of barriers; and own progress.
enum { SUMS = MW_EV_SW0, ROWS = SUMS + 2, COMPUTED = ROWS + 2, SUMMED, COPIED };

static unsigned ranges(const struct mw_tp_problem *p)
{
    (void)p;
    return 1;
}

/// The GPU, or its rows, `steps` in front of this one.
static unsigned before(const struct mw_tp_at *at, unsigned steps)
{
    return (at->gpu + at->p->gpus - steps % at->p->gpus) % at->p->gpus;
}

static struct mw_tp_span rows_before(const struct mw_tp_at *at, unsigned steps)
{
    return mw_tp_share(at, 0, before(at, steps));
}

static void flag_step(struct mw_stream *s, unsigned counter, unsigned step)
{
    mw_stream_flag(s, counter + step % 2, false);
}

static void wait_step(const struct mw_tp_at *at, struct mw_stream *s, unsigned counter,
                      unsigned step)
{
    mw_stream_wait(s, counter + step % 2, (step / 2 + 1) * (at->p->gpus - 1));
}

static void make_first(const struct mw_tp_at *at, struct mw_stream *s)
{
    mw_tp_start(at, s);
    for (unsigned i = 1; i <= at->p->gpus; i++) {
        mw_tp_expert(at, s, MW_TP_GEMM_1, rows_before(at, i), i);
        mw_stream_flag(s, COMPUTED, true);
    }
}

static void make_sums(const struct mw_tp_at *at, struct mw_stream *s)
{
    const unsigned gpus = at->p->gpus, next = (at->gpu + 1) % gpus;
    const struct mw_tp_span own = mw_tp_share(at, 0, at->gpu);
    mw_tp_start(at, s);
    mw_stream_wait(s, COMPUTED, 2);
    flag_step(s, SUMS, 0);
    for (unsigned step = 1; step < gpus; step++) {
        const struct mw_tp_span span = rows_before(at, step);
        const uint64_t place = mw_tp_out(at, MW_TP_GEMM_1, span.first);
        wait_step(at, s, SUMS, step - 1);
        mw_stream_multimem_red(s, at->one[next], place, mw_tp_bytes(at, span), place);
        mw_stream_wait(s, COMPUTED, step + 2 < gpus ? step + 2 : gpus);
        flag_step(s, SUMS, step);
    }
    wait_step(at, s, SUMS, gpus - 1);
    mw_stream_st_linear(s, at->gpu, mw_tp_out(at, MW_TP_GEMM_1, own.first), mw_tp_bytes(at, own),
                        mw_tp_in(at, MW_TP_LN, own.first));
    mw_stream_flag(s, SUMMED, true);
}

static void make_gather(const struct mw_tp_at *at, struct mw_stream *s)
{
    const unsigned gpus = at->p->gpus, next = (at->gpu + 1) % gpus;
    const struct mw_tp_span own = mw_tp_share(at, 0, at->gpu);
    const uint64_t from = mw_tp_source(at, own.first);
    mw_tp_start(at, s);
    if (mw_tp_reduces(at->p))
        mw_stream_wait(s, SUMMED, 1);
    mw_tp_norm(at, s, 0);
    mw_stream_st_linear(s, at->gpu, from, mw_tp_bytes(at, own),
                        mw_tp_in(at, MW_TP_GEMM_2, own.first));
    mw_stream_flag(s, COPIED, true);
    for (unsigned step = 0; step + 1 < gpus; step++) {
        const struct mw_tp_span span = rows_before(at, step);
        const uint64_t place = mw_tp_in(at, MW_TP_GEMM_2, span.first);
        if (step)
            wait_step(at, s, ROWS, step - 1);
        mw_stream_st_linear(s, next, step ? place : from, mw_tp_bytes(at, span), place);
        flag_step(s, ROWS, step);
    }
}

static void make_second(const struct mw_tp_at *at, struct mw_stream *s)
{
    mw_tp_start(at, s);
    for (unsigned i = 0; i < at->p->gpus; i++) {
        if (i)
            wait_step(at, s, ROWS, i - 1);
        else
            mw_stream_wait(s, COPIED, 1);
        mw_tp_expert(at, s, MW_TP_GEMM_2, rows_before(at, i), i);
    }
}

static void make(const struct mw_tp_at *at, struct mw_stream *s)
{
    if (mw_tp_reduces(at->p)) {
        make_first(at, &s[MW_TP_FIRST]);
        make_sums(at, &s[MW_TP_REDUCTION]);
    }
    if (mw_tp_gathers(at->p))
        make_gather(at, &s[MW_TP_GATHER]);
    if (mw_tp_has(at->p, MW_TP_GEMM_2))
        make_second(at, &s[MW_TP_SECOND]);
}

const struct mw_tp_system mw_tp_ring = {
    .name = "ring",
    .text = "N - 1 steps to the next GPU, sums in the order of the steps",
    .reduce = MW_TP_STEPS,
    .gather = MW_TP_FORWARD,
    .most_gpus = 15, // sums: four instructions a step
    .beyond = "a stream of 64 instructions has room for the steps of at most 15 GPUs",
    .ranges = ranges,
    .make = make,
};
