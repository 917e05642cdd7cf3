// SPDX-License-Identifier: Apache-2.0
//
// The system `unicast`, as DeepEP dispatches and combines: one copy with an explicit address per
// distinct GPU. Partial sums are made where the experts are, and added at home. Explicit addresses
// need the counts of every GPU first. Dispatch ends with a fence and a barrier of all GPUs. Combine
// sends the partial sums of a range of tokens, then a flag. When all other GPUs have flagged a
// range, a second stream adds the partial sums of its own tokens, independently of the own experts.
// A third stream adds the own experts' rows when these have finished.
#include "analysis/bounds.h"
#include "systems/generator.h"

#include <stdbool.h>

/// SW0 counts the barrier and then the own experts' end. SW1 counts ranges of own tokens whose
/// remote partial sums are added. The others are flags of ranges.
enum { RANGES = MW_UNICAST_RANGES, SIXTEENTHS = 16 };

/// Ranges of tokens in sixteenths: small at first, so that homes begin early.
static const unsigned range_end[RANGES] = {2, 4, 7, 10, 13, SIXTEENTHS};

void mw_charge(struct mw_stream *s, uint32_t cycles)
{
    if (cycles)
        mw_stream_delay(s, cycles);
}

void mw_make_gradients(struct mw_stream *s, const struct mw_place *at)
{
    if (at->gradients)
        mw_stream_expert_gradients(s);
}

void mw_make_bases(struct mw_stream *s, const struct mw_place *at)
{
    if (at->cached)
        return;
    mw_stream_count(s, 0, at->tokens, true);
    mw_stream_poll(s, MW_EV_COUNTS, at->gpus, at->system->costs.exchange);
    mw_stream_prefix(s);
}

uint32_t mw_range_end(unsigned parts, unsigned all, uint32_t tokens)
{
    return (uint32_t)((uint64_t)tokens * parts / all);
}

static void make(struct mw_stream *s, const struct mw_place *at)
{
    const struct mw_costs *c = &at->system->costs;
    const unsigned gpus = at->gpus;
    const uint32_t tokens = at->tokens;
    struct mw_stream *sending = &s[0], *remote = &s[1], *own = &s[2];
    mw_make_bases(sending, at);
    mw_charge(sending, c->address * tokens);
    mw_stream_st(sending, 0, tokens);
    mw_stream_fence(sending);
    mw_stream_signal(sending, MW_EV_SW0);
    mw_stream_poll(sending, MW_EV_SW0, gpus - 1, c->barrier + c->launch);
    mw_stream_expert_rows(sending);
    mw_make_gradients(sending, at);
    mw_charge(sending, c->launch);
    mw_stream_flag(sending, MW_EV_SW0, true);
    mw_stream_wait(own, MW_EV_SW0, gpus);
    for (unsigned r = 0, from = 0; r < RANGES; r++) {
        uint32_t count = mw_range_end(range_end[r], SIXTEENTHS, tokens) - from;
        mw_stream_sum_st(sending, from, count);
        mw_stream_flag(sending, MW_EV_SW2 + r, false);
        mw_stream_poll(remote, MW_EV_SW2 + r, gpus - 1, c->poll);
        mw_stream_sum(remote, from, count, false);
        mw_stream_flag(remote, MW_EV_SW1, true);
        mw_stream_wait(own, MW_EV_SW1, r + 1);
        mw_stream_sum(own, from, count, true);
        from += count;
    }
}

const struct mw_generator mw_generate_unicast = {"unicast", 3, 12 + 3 * RANGES, make};
