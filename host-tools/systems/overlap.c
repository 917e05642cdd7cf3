// SPDX-License-Identifier: Apache-2.0
//
// The system `overlap`, as COMET overlaps communication and experts inside a layer. The packets are
// those of `unicast`, but dispatch, experts and combine run side by side, range of tokens by range
// of tokens. A flag after each range of rows reports that they were sent. Experts start on a range
// when all GPUs have flagged it. Its partial sums leave when the experts are done, and a flag after
// these lets the homes add.
//
// A GPU sends a range only when all others have flagged the partial sums of the range WINDOW before
// it. So no GPU runs ahead and occupies a busy link that the others wait for. WINDOW counters of
// each kind are therefore enough: when a GPU flags a range, all flags of the range that used the
// counter before have arrived. The reason is that a range's partial sums leave after its experts,
// which waited for all flags of its rows. A GPU's flag of partial sums follows its flag of the same
// range's rows.
#include "systems/generator.h"

enum { RANGES = MW_OVERLAP_RANGES, PARTS = MW_RANGE_PARTS, WINDOW = 3 };

/// Ends of the ranges in parts of the tokens. The last ranges are small, as no other range overlaps
/// the work on the last one.
const unsigned mw_overlap_ends[RANGES] = {5,  10, 15, 20, 25, 30, 35,   40,
                                          45, 49, 53, 57, 60, 62, PARTS};

/// Counters of events: SW0 counts ranges that the own experts have done, the others
/// flags of ranges.
enum { EXPERTS = MW_EV_SW0, ROWS, SUMS = ROWS + WINDOW };

/// Wait until `gpus` have flagged the range on its counter of those from `first` on, and the poll
/// has detected it.
static void wait_flags(struct mw_stream *s, unsigned first, unsigned range, unsigned gpus,
                       uint32_t cycles)
{
    mw_stream_poll(s, first + range % WINDOW, gpus * (range / WINDOW + 1), cycles);
}

static void make(struct mw_stream *s, const struct mw_place *at)
{
    const struct mw_costs *c = &at->system->costs;
    const unsigned gpus = at->gpus;
    const uint32_t tokens = at->tokens;
    struct mw_stream *dispatch = &s[0], *expert = &s[1], *push = &s[2], *home = &s[3];
    mw_make_bases(dispatch, at);
    for (unsigned r = 0, from = 0; r < RANGES; r++) {
        uint32_t count = mw_range_end(mw_overlap_ends[r], PARTS, tokens) - from;
        uint32_t addresses = c->address * count;
        if (r >= WINDOW)
            wait_flags(dispatch, SUMS, r - WINDOW, gpus - 1, c->poll + addresses);
        else
            mw_charge(dispatch, addresses);
        mw_stream_st(dispatch, from, count);
        mw_stream_flag_rows(dispatch, ROWS + r % WINDOW, false);
        mw_stream_flag_rows(dispatch, ROWS + r % WINDOW, true);
        wait_flags(expert, ROWS, r, gpus, c->poll);
        mw_stream_expert_range(expert, from, count);
        mw_make_gradients(expert, at);
        mw_stream_flag(expert, EXPERTS, true);
        mw_stream_wait(push, EXPERTS, r + 1);
        mw_stream_sum_st(push, from, count);
        mw_stream_flag(push, SUMS + r % WINDOW, false);
        wait_flags(home, SUMS, r, gpus - 1, c->poll);
        mw_stream_sum(home, from, count, false);
        mw_stream_wait(home, EXPERTS, r + 1);
        mw_stream_sum(home, from, count, true);
        from += count;
    }
}

const struct mw_generator mw_generate_overlap = {"overlap", MW_STREAMS, 4 + 4 * RANGES - WINDOW,
                                                 make};
