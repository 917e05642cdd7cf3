// SPDX-License-Identifier: Apache-2.0
//
// The system `moe-hub`, as MoE-Hub's destination-agnostic stores work: each row goes once to each
// of its experts, and the hub there allocates its place. A finished row returns by plain stores to
// the place at its home that its list position determines. Trackers count bytes both ways, so no
// stream waits for a flag. A home adds the rows of a token up when all of them are in memory.
//
// Without allocators (counts_in: exchange), a GPU computes the places of its rows from the counts
// of all others before it sends the first. Without trackers (barriers), experts and sums begin
// after a barrier of all GPUs.
#include "analysis/bounds.h"
#include "systems/generator.h"

enum { ROWS_RETURN = 2 }; ///< flag of `expert`

static void make(struct mw_stream *s, const struct mw_place *at)
{
    const struct mw_costs *c = &at->system->costs;
    const uint32_t tokens = at->tokens, others = at->gpus - 1;
    const bool barriers = at->system->barriers[MW_DISPATCH];
    if (!at->cached)
        mw_stream_count(&s[0], 0, tokens, false);
    if (at->system->counts_in == MW_EXCHANGE) {
        if (!at->cached)
            mw_stream_poll(&s[1], MW_EV_COUNTS, at->gpus, c->exchange);
        mw_charge(&s[1], c->address * tokens);
    }
    mw_stream_st_rowsp(&s[1], 0, tokens);
    if (barriers) {
        mw_stream_fence(&s[1]);
        mw_stream_signal(&s[1], MW_EV_SW0);
        mw_stream_poll(&s[2], MW_EV_SW0, others, c->barrier + c->launch);
    }
    mw_stream_expert(&s[2], ROWS_RETURN);
    mw_make_gradients(&s[2], at);
    if (barriers) {
        mw_stream_signal(&s[2], MW_EV_SW1);
        mw_stream_poll(&s[3], MW_EV_SW1, others, c->barrier + c->launch);
    }
    mw_stream_sum(&s[3], 0, tokens, true);
}

const struct mw_generator mw_generate_moe_hub = {"moe-hub", MW_STREAMS, 6, make};
