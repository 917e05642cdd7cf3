// SPDX-License-Identifier: Apache-2.0
//
// The system `dysharp`: dispatch, experts and combine by dynamic multimem, side by side, token by
// token. The row tracker starts tiles, signals tell the home GPU which of its tokens are finished,
// and combine takes them in that order, so that both directions of every link are busy throughout.
#include "generator.h"

static void make(struct mw_stream *s, unsigned gpus, uint32_t tokens)
{
    (void)gpus;
    mw_stream_count(&s[0], 0, tokens, false);
    mw_stream_dymultimem_st(&s[1], 0, tokens);
    mw_stream_expert(&s[2], 0);
    mw_stream_dymultimem_ld_reduce(&s[3], 0, tokens, true);
}

const struct mw_generator mw_generate_dysharp = {"dysharp", MW_STREAMS, 2, make};
