// SPDX-License-Identifier: Apache-2.0
//
// The system `unicast`, as DeepEP dispatches and combines: one copy with an explicit address per
// distinct GPU, partial sums made where the experts are and added at home. Explicit addresses need
// the counts of every GPU first, and each phase ends with a fence and a barrier of all GPUs.
#include "generator.h"

/// Own stores are in memory everywhere, and every GPU says so.
static void fence_and_barrier(struct mw_stream *s, unsigned event, unsigned gpus)
{
    mw_stream_fence(s);
    mw_stream_signal(s, event);
    mw_stream_wait(s, event, gpus - 1);
}

static void make(struct mw_stream *s, unsigned gpus, uint32_t tokens)
{
    mw_stream_count(s, 0, tokens, true);
    mw_stream_wait(s, MW_EV_COUNTS, gpus);
    mw_stream_prefix(s);
    mw_stream_st(s, 0, tokens);
    fence_and_barrier(s, MW_EV_SW0, gpus);
    mw_stream_expert_rows(s);
    mw_stream_sum_st(s);
    fence_and_barrier(s, MW_EV_SW1, gpus);
    mw_stream_sum(s, 0, tokens);
}

const struct mw_generator mw_generate_unicast = {"unicast", 1, 14, make};
