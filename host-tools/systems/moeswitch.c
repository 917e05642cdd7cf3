// SPDX-License-Identifier: Apache-2.0
//
// The system `moeswitch`: as dysharp, dispatch, experts and combine side by side; but the first packet
// of a row alone carries its targets, members report finished rows to the switch, and the switch opens
// the reductions, so that neither signals nor requests cross the links.
#include "generator.h"

static void make(struct mw_stream *s, unsigned gpus, uint32_t tokens)
{
    (void)gpus;
    mw_stream_count(&s[0], 0, tokens, false);
    mw_stream_dymultimem_st(&s[1], 0, tokens);
    mw_stream_expert(&s[2], 0);
    mw_stream_dymultimem_ld_reduce(&s[3], 0, tokens, true);
}

const struct mw_generator mw_generate_moeswitch = {"moeswitch", MW_STREAMS, 2, make};
