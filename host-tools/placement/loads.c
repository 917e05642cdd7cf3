// SPDX-License-Identifier: Apache-2.0
//
// Placements that follow from numbers alone, see place.h.
#include "placement/place.h"

#include <stdlib.h>

struct copy {
    double share; ///< of its expert's load
    uint16_t expert;
};

struct gpu {
    double sum;
    unsigned count;
    uint16_t *expert; ///< of its places, the GPU's part of the placement
};

void mw_place_contiguously(const struct mw_place_sizes *s, uint16_t *expert_at)
{
    for (unsigned p = 0; p < s->places; p++)
        expert_at[p] = (uint16_t)(p % s->experts);
}

/// How many places each expert gets.
static void count_copies(const struct mw_place_sizes *s, const double *load, unsigned *copies)
{
    for (unsigned e = 0; e < s->experts; e++)
        copies[e] = 1;
    for (unsigned extra = s->experts; extra < s->places; extra++) {
        unsigned most = s->experts;
        for (unsigned e = 0; e < s->experts; e++)
            if (copies[e] < s->gpus &&
                (most == s->experts || load[e] / copies[e] > load[most] / copies[most]))
                most = e;
        copies[most]++;
    }
}

/// The largest share first, and of equal ones the expert with the lower number.
static int by_share(const void *left, const void *right)
{
    const struct copy *a = left, *b = right;
    if (a->share != b->share)
        return a->share < b->share ? 1 : -1;
    return (a->expert > b->expert) - (a->expert < b->expert);
}

static bool has(const struct gpu *g, unsigned expert)
{
    for (unsigned i = 0; i < g->count; i++)
        if (g->expert[i] == expert)
            return true;
    return false;
}

/// The GPU with the smallest sum without the expert, of those with room or of those that are full;
/// NULL: there is none.
static struct gpu *find_gpu(struct gpu *gpu, const struct mw_place_sizes *s, unsigned expert,
                            bool full)
{
    struct gpu *best = NULL;
    for (struct gpu *g = gpu; g < gpu + s->gpus; g++)
        if ((g->count == s->places / s->gpus) == full && !has(g, expert) &&
            (!best || g->sum < best->sum))
            best = g;
    return best;
}

static void put(struct gpu *g, const struct copy *c)
{
    g->expert[g->count++] = c->expert;
    g->sum += c->share;
}

/// Every GPU with room has the expert. A full GPU without it moves one of its own experts to a GPU
/// with room. That GPU has fewer, so at least one of them is not there yet.
static void make_way(struct gpu *gpu, const struct mw_place_sizes *s, const struct copy *c,
                     const double *share)
{
    struct gpu *from = find_gpu(gpu, s, c->expert, true), *to = gpu;
    while (to->count == s->places / s->gpus)
        to++;
    for (unsigned i = from->count; i-- > 0;) {
        const struct copy moved = {share[from->expert[i]], from->expert[i]};
        if (has(to, moved.expert))
            continue;
        put(to, &moved);
        from->sum -= moved.share;
        from->expert[i] = from->expert[--from->count];
        put(from, c);
        return;
    }
}

int mw_place_by_loads(const struct mw_place_sizes *s, const double *load, uint16_t *expert_at,
                      struct mw_error *err)
{
    struct gpu gpu[MW_MAX_GPUS];
    unsigned *copies = calloc(s->experts, sizeof *copies), count = 0;
    double *share = calloc(s->experts, sizeof *share);
    struct copy *copy = calloc(s->places, sizeof *copy);
    bool ok = copies && share && copy;
    if (ok) {
        count_copies(s, load, copies);
        for (unsigned e = 0; e < s->experts; e++) {
            share[e] = load[e] / copies[e];
            for (unsigned i = 0; i < copies[e]; i++)
                copy[count++] = (struct copy){share[e], (uint16_t)e};
        }
        qsort(copy, count, sizeof *copy, by_share);
    }
    for (unsigned q = 0; q < s->gpus; q++)
        gpu[q] = (struct gpu){.expert = expert_at + (size_t)q * (s->places / s->gpus)};
    for (unsigned i = 0; i < count; i++) {
        struct gpu *g = find_gpu(gpu, s, copy[i].expert, false);
        if (g)
            put(g, &copy[i]);
        else
            make_way(gpu, s, &copy[i], share);
    }
    free(copies);
    free(share);
    free(copy);
    return ok ? MW_EXIT_OK : mw_fail_memory(err, "a placement");
}
