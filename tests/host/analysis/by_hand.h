// SPDX-License-Identifier: Apache-2.0
//
// A workload that is small enough to count its flits by hand. Each program of the analysis includes
// it once.
#ifndef MW_TEST_BY_HAND_H
#define MW_TEST_BY_HAND_H

#include "host/support.h"

#include "analysis/bounds.h"
#include "systems/system_list.h"

/// 4 GPUs with 2 experts each and one token each, k = 4, hidden 70 (140 bytes: packets of 128 and
/// 12). Token 0: experts 0 (home), 2, 3 (GPU 1) and 7 (GPU 3). Token 1: its own 2 and 3 only.
/// Tokens 2 and 3: none.
static struct {
    struct mw_workload w;
    struct mw_layer layer;
    uint16_t ids[4 * 4];
    float weights[4 * 4];
} b;

static int set_up(void **state)
{
    (void)state;
    static const uint16_t ids[16] = {0,      2,      3,      7,      2,      3,
                                     0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff,
                                     0xffff, 0xffff, 0xffff, 0xffff};
    memset(&b, 0, sizeof b);
    memcpy(b.ids, ids, sizeof ids);
    b.layer = (struct mw_layer){.ids = b.ids, .weights = b.weights};
    b.w = (struct mw_workload){
        .shape = {.gpus = 4, .tokens_per_gpu = 1, .hidden = 70, .allow_padding = true},
        .tokens = 4,
        .k = 4,
        .experts = 8,
        .experts_per_gpu = 2,
        .layers = 1,
        .layer = &b.layer,
    };
    return 0;
}

/// A system without counts, fences, flags and barriers.
static struct mw_system bare(const char *name)
{
    struct mw_system s = *mw_system_find(name);
    s.counts = MW_COUNTS_NONE;
    memset(s.fences, 0, sizeof s.fences);
    memset(s.barriers, 0, sizeof s.barriers);
    memset(s.flags, 0, sizeof s.flags);
    return s;
}

/// What all phases send, in flits of `f` bytes.
static struct mw_traffic total(const struct mw_workload *w, const struct mw_system *s, unsigned f)
{
    struct mw_traffic phases[MW_PHASES], sum;
    const struct mw_link_parameters link = {.flit_bytes = f, .tile = 2};
    mw_traffic_count(w, 0, s, &link, phases);
    memset(&sum, 0, sizeof sum);
    for (unsigned p = 0; p < MW_PHASES; p++)
        mw_traffic_add(&sum, &phases[p]);
    return sum;
}

/// A port has so many flits of each class in that direction.
static void expect(const struct mw_traffic *t, unsigned port, enum mw_direction d, unsigned ctrl,
                   unsigned store, unsigned request, unsigned partial)
{
    const unsigned want[MW_CLASSES] = {ctrl, store, request, partial};
    for (unsigned c = 0; c < MW_CLASSES; c++)
        if (t->flits[port][d][c] != want[c])
            fail_msg("port %u %s %s: %u, expected %u", port, mw_direction_names[d],
                     mw_class_names[c], (unsigned)t->flits[port][d][c], want[c]);
}

#endif
