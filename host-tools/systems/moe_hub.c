// SPDX-License-Identifier: Apache-2.0
//
// The system `moe-hub`, as MoE-Hub's destination-agnostic stores work: each row goes once to each of its
// experts, and the hub there allocates where it lands; a finished row returns by plain stores to a place
// at its home that its list position names. Trackers count bytes on both ways: nobody waits for a flag,
// and a home adds the rows of a token up when all of them are in memory.
#include "bounds.h"
#include "generator.h"

enum { ROWS_RETURN = 2 }; ///< flag of `expert`

static void make(struct mw_stream *s, const struct mw_place *at)
{
    const uint32_t tokens = at->tokens;
    mw_stream_count(&s[0], 0, tokens, false);
    mw_stream_st_rowsp(&s[1], 0, tokens);
    mw_stream_expert(&s[2], ROWS_RETURN);
    mw_stream_sum(&s[3], 0, tokens, true);
}

const struct mw_generator mw_generate_moe_hub = {"moe-hub", MW_STREAMS, 2, make};
