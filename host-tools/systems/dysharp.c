// SPDX-License-Identifier: Apache-2.0
//
// The system `dysharp`: dispatch, experts and combine by dynamic multimem, side by side, token by
// token. The row tracker starts tiles, and signals report to the home GPU which of its tokens are
// finished. Combine takes the tokens in that order, so that both directions of every link are busy
// throughout.
#include "analysis/bounds.h"
#include "systems/generator.h"

enum { EARLY = 4 }; ///< one token in so many may leave before the others wait

void mw_make_side_by_side(struct mw_stream *s, const struct mw_place *at)
{
    const struct mw_system *system = at->system;
    const uint32_t tokens = at->tokens;
    if (!at->cached)
        mw_stream_count(&s[0], 0, tokens, false);
    if (!at->cached && (system->token_order || system->dispatch_throttle))
        mw_stream_count(&s[0], 0, tokens, true);
    if (system->token_order) {
        if (!at->cached)
            mw_stream_wait(&s[0], MW_EV_COUNTS, 2 * at->gpus);
        // a wait for the order of few tokens costs more than their order gains
        const uint32_t first = system->order_waits && EARLY * at->early <= tokens ? at->early : 0;
        mw_stream_order(&s[0], first, tokens - first, system->costs.order);
        if (first) {
            mw_stream_dymultimem_st(&s[1], 0, first);
            mw_stream_dymultimem_st_ordered(&s[0], first, tokens - first);
        } else {
            mw_stream_dymultimem_st_ordered(&s[1], 0, tokens);
        }
    } else {
        mw_stream_dymultimem_st(&s[1], 0, tokens);
    }
    mw_stream_expert(&s[2], 0);
    mw_make_gradients(&s[2], at);
    mw_stream_dymultimem_ld_reduce(&s[3], 0, tokens, true);
}

const struct mw_generator mw_generate_dysharp = {"dysharp", MW_STREAMS, 6, mw_make_side_by_side};
