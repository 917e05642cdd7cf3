// SPDX-License-Identifier: Apache-2.0
//
// The system `nvls`: MoE by NVLS' static multicast and reduction alone, which have one set of
// targets and the same addresses everywhere. So every GPU gets the routing entries and rows of all
// tokens (all-gather by multimem.st). Every GPU has a dense row of partial sums for each token, -0
// where it has no expert of the token. Each home reduces the dense rows of its tokens over all GPUs
// (multimem.ld_reduce). It adds its own experts' rows last, whose sums are not rounded, so its own
// dense rows are -0, too.
//
// Gathered tokens are numbered home by home. Phases, each after a barrier of all GPUs: gather;
// experts and partial sums; reduction. Rows of -0 are written while rows are gathered, once the
// routing entries are here. Partial sums of a range of tokens are written while the engine has the
// next range or, at last, the own tokens.
#include "analysis/bounds.h"
#include "systems/generator.h"

enum { RANGES = MW_GATHERED_RANGES, PARTS = MW_RANGE_PARTS, TURNS = 8 };

/// Ends of the ranges of others' tokens, in parts of them: small at first, as nothing
/// is summed before.
const unsigned mw_gathered_ends[RANGES] = {1, 3, 6, 10, 15, 20, 25, 30, 35, 40, 46, 52, 58, PARTS};

/// Counters of events: barriers after gather and sums, flags of routing entries, ranges that the
/// own experts have done.
enum { GATHERED = MW_EV_SW0, SUMMED, ENTRIES, EXPERTS };

/// Add instructions for the tokens [first, end) of all others', in the order of GPUs p + 1, p + 2
/// and so on modulo N. They are one or two ranges of gathered tokens, as the numbers start again at
/// 0 after the last GPU's.
static void add_others(struct mw_stream *s, const struct mw_place *at, uint32_t first, uint32_t end,
                       void (*add)(struct mw_stream *s, const struct mw_place *at, uint32_t first,
                                   uint32_t tokens))
{
    const uint32_t begin = (at->gpu + 1) * at->tokens, all = at->gpus * at->tokens;
    const uint32_t last = all - begin; // of them, those in front of token 0
    if (first < last)
        add(s, at, begin + first, (end < last ? end : last) - first);
    if (end > last)
        add(s, at, first > last ? first - last : 0, end - (first > last ? first : last));
}

static void add_experts(struct mw_stream *s, const struct mw_place *at, uint32_t first,
                        uint32_t tokens)
{
    mw_stream_expert_gathered(s, first, tokens);
    mw_make_gradients(s, at);
}

static void add_empty(struct mw_stream *s, const struct mw_place *at, uint32_t first,
                      uint32_t tokens)
{
    (void)at;
    mw_stream_sum_dense(s, first, tokens, MW_DENSE_EMPTY);
}

static void add_sums(struct mw_stream *s, const struct mw_place *at, uint32_t first,
                     uint32_t tokens)
{
    (void)at;
    mw_stream_sum_dense(s, first, tokens, MW_DENSE_SUMS);
}

static void make_gather(struct mw_stream *s, const struct mw_place *at)
{
    const uint64_t own = (uint64_t)at->gpu * at->tokens;
    const struct mw_layout *l = at->layout;
    const struct mw_costs *c = &at->system->costs;
    if (!at->cached) {
        const uint64_t entries = l->gt_base + own * MW_ROUTE_BYTES;
        mw_stream_multimem_st_routes(s, at->group, 0, at->tokens, entries);
        mw_stream_flag(s, ENTRIES, false);
        mw_stream_flag(s, ENTRIES, true);
    }
    mw_stream_multimem_st_rows(s, at->group, 0, at->tokens, l->row_shift,
                               (at->cached ? l->xd_cached : l->xd_base) + (own << l->row_shift));
    mw_stream_fence(s);
    mw_stream_signal(s, GATHERED);
    mw_stream_poll(s, GATHERED, at->gpus - 1, c->barrier + c->launch);
}

/// The own tokens, some at a time: while a GPU adds its own experts' rows, others continue to
/// reduce.
static void make_reduction(struct mw_stream *s, const struct mw_place *at)
{
    const uint32_t own = at->gpu * at->tokens;
    const struct mw_layout *l = at->layout;
    for (unsigned r = 0, from = 0; r < TURNS; r++) {
        uint32_t end = mw_range_end(r + 1, TURNS, at->tokens);
        mw_stream_multimem_ld_reduce_rows(s, at->group,
                                          l->cb_base + ((uint64_t)(own + from) << l->row_shift),
                                          from, end - from, l->row_shift);
        mw_stream_sum_gathered(s, from, end - from, own + from);
        from = end;
    }
}

static void make(struct mw_stream *s, const struct mw_place *at)
{
    const uint32_t own = at->gpu * at->tokens, others = (at->gpus - 1) * at->tokens;
    struct mw_stream *experts = &s[0], *sums = &s[1];
    const struct mw_costs *c = &at->system->costs;
    make_gather(experts, at);
    if (!at->cached)
        mw_stream_poll(sums, ENTRIES, at->gpus, c->poll);
    add_others(sums, at, 0, others, add_empty);
    mw_stream_sum_dense(sums, own, at->tokens, MW_DENSE_ALL);
    for (unsigned r = 0, from = 0; r < RANGES; r++) {
        uint32_t end = mw_range_end(mw_gathered_ends[r], PARTS, others);
        add_others(experts, at, from, end, add_experts);
        mw_stream_flag(experts, EXPERTS, true);
        mw_stream_wait(sums, EXPERTS, r + 1);
        add_others(sums, at, from, end, add_sums);
        from = end;
    }
    add_experts(experts, at, own, at->tokens);
    mw_stream_flag(experts, EXPERTS, true);
    mw_stream_wait(sums, EXPERTS, RANGES + 1);
    mw_stream_signal(sums, SUMMED);
    mw_stream_poll(sums, SUMMED, at->gpus - 1, c->barrier + c->launch);
    make_reduction(sums, at);
}

/// Ranges of others' tokens come in two where they pass the last GPU's.
const struct mw_generator mw_generate_nvls = {"nvls", 2, 9 + 2 * RANGES + 2 * TURNS, make};
