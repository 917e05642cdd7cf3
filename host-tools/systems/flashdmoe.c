// SPDX-License-Identifier: Apache-2.0
//
// The system `flashdmoe`, as FlashDMoE's symmetric layout and signals work. A row goes once to each
// of its experts, to a place {expert, source, index} that the source counts. A flag after each list
// has the number of its rows, so counts need no exchange first. Tiles have rows of one expert and
// one source. Finished rows return to slots at their homes, with a flag after each tile.
#include "analysis/bounds.h"
#include "systems/generator.h"

enum { ROWS_RETURN = 2 }; ///< flag of `expert`

static void make(struct mw_stream *s, const struct mw_place *at)
{
    mw_stream_st_rowsp(&s[0], 0, at->tokens);
    if (!at->cached)
        mw_stream_flag_lists(&s[0]);
    mw_stream_expert(&s[1], ROWS_RETURN);
    mw_make_gradients(&s[1], at);
    mw_stream_sum(&s[2], 0, at->tokens, true);
}

const struct mw_generator mw_generate_flashdmoe = {"flashdmoe", 3, 3, make};
