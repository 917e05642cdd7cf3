// SPDX-License-Identifier: Apache-2.0
//
// See streams.h.
#include "tp/streams.h"

#include "base/random.h"

struct mw_tp_span mw_tp_range(const struct mw_tp_at *at, unsigned r)
{
    const unsigned begin = mw_tp_begin(at->p, at->ranges, r);
    const unsigned end = mw_tp_begin(at->p, at->ranges, r + 1);
    return (struct mw_tp_span){at->p->gpus * begin, at->p->gpus * (end - begin)};
}

struct mw_tp_span mw_tp_share(const struct mw_tp_at *at, unsigned r, unsigned home)
{
    const struct mw_tp_span all = mw_tp_range(at, r);
    const unsigned rows = all.rows / at->p->gpus;
    return (struct mw_tp_span){all.first + home * rows, rows};
}

uint32_t mw_tp_bytes(const struct mw_tp_at *at, struct mw_tp_span span)
{
    return span.rows * mw_tp_row_bytes(at->p);
}

static uint64_t offset(const struct mw_tp_at *at, enum mw_tp_part part, unsigned row)
{
    return ((uint64_t)part * at->p->o.rows + row) << at->layout->row_shift;
}

uint64_t mw_tp_in(const struct mw_tp_at *at, enum mw_tp_part part, unsigned row)
{
    return at->layout->xd_base + offset(at, part, row);
}

uint64_t mw_tp_out(const struct mw_tp_at *at, enum mw_tp_part part, unsigned row)
{
    return at->layout->yd_base + offset(at, part, row);
}

uint64_t mw_tp_source(const struct mw_tp_at *at, unsigned row)
{
    return at->p->o.kind == MW_TP_GEMM_AR ? mw_tp_in(at, MW_TP_LN, row)
                                          : mw_tp_out(at, MW_TP_LN, row);
}

/// Uniform in 0 .. most.
static uint32_t delay_of(const struct mw_tp_at *at, uint64_t what, uint64_t most)
{
    struct mw_random r = {mw_hash3(at->p->seed, 0x6a697474, what * MW_MAX_PORTS + at->gpu)};
    return (uint32_t)mw_random_below(&r, most + 1);
}

void mw_tp_start(const struct mw_tp_at *at, struct mw_stream *s)
{
    const uint32_t cycles = at->p->o.start ? delay_of(at, 0, at->p->o.start) : 0;
    if (cycles)
        mw_stream_delay(s, cycles);
}

void mw_tp_jitter(const struct mw_tp_at *at, struct mw_stream *s, enum mw_tp_part part,
                  unsigned rows, unsigned turn)
{
    const uint64_t most = rows * at->p->cycles[part] * at->p->o.jitter / 100;
    const uint32_t cycles = delay_of(at, 1 + (uint64_t)turn * MW_TP_PARTS + part, most);
    if (cycles)
        mw_stream_delay(s, cycles);
}

void mw_tp_cycles(const struct mw_tp_at *at, struct mw_stream *s, enum mw_tp_part part)
{
    if (at->p->cycles[part] != mw_tp_layer_cycles(at->p))
        mw_stream_expert_cycles(s, (unsigned)at->p->cycles[part]);
}

void mw_tp_expert(const struct mw_tp_at *at, struct mw_stream *s, enum mw_tp_part part,
                  struct mw_tp_span span, unsigned turn)
{
    mw_tp_jitter(at, s, part, span.rows, turn);
    mw_stream_expert_gathered(s, (unsigned)part * at->p->o.rows + span.first, span.rows);
    mw_tp_cycles(at, s, part);
}

void mw_tp_barrier(const struct mw_tp_at *at, struct mw_stream *s, unsigned i)
{
    mw_stream_signal(s, MW_EV_SW0 + i % 2);
    mw_stream_wait(s, MW_EV_SW0 + i % 2, (i / 2 + 1) * (at->p->gpus - 1));
}

void mw_tp_norm(const struct mw_tp_at *at, struct mw_stream *s, unsigned r)
{
    if (mw_tp_has(at->p, MW_TP_LN))
        mw_tp_expert(at, s, MW_TP_LN, mw_tp_share(at, r, at->gpu), r);
}

void mw_tp_load(const struct mw_tp_at *at, struct mw_stream *s, unsigned r)
{
    for (unsigned q = 0; q < at->p->gpus; q++) {
        const unsigned home = (at->gpu + q) % at->p->gpus;
        const struct mw_tp_span span = mw_tp_share(at, r, home);
        const uint64_t from = mw_tp_source(at, span.first);
        const uint64_t to = mw_tp_in(at, MW_TP_GEMM_2, span.first);
        if (q == 0)
            mw_stream_multimem_st(s, at->one[home], from, mw_tp_bytes(at, span), to);
        else
            mw_stream_multimem_ld_reduce(s, at->one[home], from, mw_tp_bytes(at, span), to);
    }
}
