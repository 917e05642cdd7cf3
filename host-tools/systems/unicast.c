// SPDX-License-Identifier: Apache-2.0
//
// The system `unicast`, as DeepEP dispatches and combines: one copy with an explicit address per
// distinct GPU, partial sums made where the experts are and added at home. Explicit addresses need
// the counts of every GPU first; dispatch ends with a fence and a barrier of all GPUs. Combine sends
// the partial sums of a range of tokens, then a flag behind them; a second stream adds up the own
// tokens of a range when all other GPUs have flagged it, while the next range is on its way.
#include "bounds.h"
#include "generator.h"

#include <stdbool.h>

/// SW0 is the barrier, SW1 says that the own experts have finished, the rest are flags of ranges.
enum { RANGES = MW_UNICAST_RANGES, SIXTEENTHS = 16 };

/// Ranges of tokens in sixteenths: small at first, so that homes begin early, and at last, because
/// the sums of the last range are all that is left when the last partial sum has come.
static const unsigned range_end[RANGES] = {2, 6, 10, 13, 15, SIXTEENTHS};

static uint32_t end_of(unsigned range, uint32_t tokens)
{
    return (uint32_t)((uint64_t)tokens * range_end[range] / SIXTEENTHS);
}

static void make(struct mw_stream *s, unsigned gpus, uint32_t tokens)
{
    struct mw_stream *sending = &s[0], *adding = &s[1];
    mw_stream_count(sending, 0, tokens, true);
    mw_stream_wait(sending, MW_EV_COUNTS, gpus);
    mw_stream_prefix(sending);
    mw_stream_st(sending, 0, tokens);
    mw_stream_fence(sending);
    mw_stream_signal(sending, MW_EV_SW0);
    mw_stream_wait(sending, MW_EV_SW0, gpus - 1);
    mw_stream_expert_rows(sending);
    mw_stream_flag(sending, MW_EV_SW1, true);
    mw_stream_wait(adding, MW_EV_SW1, 1);
    for (unsigned r = 0, from = 0; r < RANGES; r++) {
        uint32_t count = end_of(r, tokens) - from;
        mw_stream_sum_st(sending, from, count);
        mw_stream_flag(sending, MW_EV_SW2 + r, false);
        mw_stream_wait(adding, MW_EV_SW2 + r, gpus - 1);
        mw_stream_sum(adding, from, count);
        from += count;
    }
}

const struct mw_generator mw_generate_unicast = {"unicast", 2, 10 + 2 * RANGES, make};
