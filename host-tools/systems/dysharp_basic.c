// SPDX-License-Identifier: Apache-2.0
//
// The system `dysharp-basic`: dispatch and combine by dynamic multimem, but phase after phase. A
// GPU starts its experts when all its rows are there. It requests reduced rows when all GPUs'
// experts are done, which a barrier reports instead of a signal per row.
#include "analysis/bounds.h"
#include "systems/generator.h"

enum { NO_SIGNALS = 1 }; ///< flag of `expert`

static void make(struct mw_stream *s, const struct mw_place *at)
{
    const struct mw_costs *c = &at->system->costs;
    const uint32_t tokens = at->tokens;
    if (!at->cached)
        mw_stream_count(s, 0, tokens, false);
    mw_stream_dymultimem_st(s, 0, tokens);
    mw_stream_poll(s, MW_EV_ROWS_DONE, 1, c->launch);
    mw_stream_expert(s, NO_SIGNALS);
    mw_make_gradients(s, at);
    mw_stream_signal(s, MW_EV_SW0);
    mw_stream_poll(s, MW_EV_SW0, at->gpus - 1, c->barrier + c->launch);
    mw_stream_dymultimem_ld_reduce(s, 0, tokens, false);
}

const struct mw_generator mw_generate_dysharp_basic = {"dysharp-basic", 1, 8, make};
