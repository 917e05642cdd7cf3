// SPDX-License-Identifier: Apache-2.0
//
// The system `nvls`: phases with barriers of all GPUs, as kernels that run one after the other.
// GEMM-1; reduce-scatter by multimem.ld_reduce, and LN; all-gather by multimem.st; GEMM-2.
#include "tp/streams.h"

static unsigned ranges(const struct mw_tp_problem *p)
{
    (void)p;
    return 1;
}

static void make(const struct mw_tp_at *at, struct mw_stream *streams)
{
    struct mw_stream *s = &streams[MW_TP_REDUCTION];
    const struct mw_tp_span all = mw_tp_range(at, 0), own = mw_tp_share(at, 0, at->gpu);
    unsigned barriers = 0;
    mw_tp_start(at, s);
    if (mw_tp_reduces(at->p)) {
        mw_tp_expert(at, s, MW_TP_GEMM_1, all, 0);
        mw_tp_barrier(at, s, barriers++);
        mw_stream_multimem_ld_reduce(s, at->all, mw_tp_out(at, MW_TP_GEMM_1, own.first),
                                     mw_tp_bytes(at, own), mw_tp_in(at, MW_TP_LN, own.first));
        mw_tp_norm(at, s, 0);
        if (mw_tp_gathers(at->p))
            mw_tp_barrier(at, s, barriers++);
    }
    if (mw_tp_gathers(at->p))
        mw_stream_multimem_st(s, at->all, mw_tp_source(at, own.first), mw_tp_bytes(at, own),
                              mw_tp_in(at, MW_TP_GEMM_2, own.first));
    if (mw_tp_has(at->p, MW_TP_GEMM_2)) {
        mw_stream_fence(s);
        mw_tp_barrier(at, s, barriers);
        mw_tp_expert(at, s, MW_TP_GEMM_2, all, 0);
    }
}

const struct mw_tp_system mw_tp_nvls = {
    .name = "nvls",
    .text = "phases with barriers",
    .reduce = MW_TP_SWITCH,
    .gather = MW_TP_MULTICAST,
    .barriers = true,
    .ranges = ranges,
    .make = make,
};
