// SPDX-License-Identifier: Apache-2.0
//
// What senders do if experts have several places, see place.h. A sender has the placement, its own
// tokens, and what it has sent. Only MW_CHOICE_SHARED uses what others send.
#include "base/random.h"
#include "placement/place.h"

#include <stdlib.h>
#include <string.h>

enum { SEED = 0x706c6163 };

/// Where each expert is: its places are place[first[e]] up to place[first[e + 1]].
struct index {
    const struct mw_place_sizes *sizes;
    unsigned *first; ///< [experts + 1]
    uint16_t *place; ///< [places]
};

/// A GPU that sends its tokens in their order.
struct sender {
    unsigned home;
    unsigned *given; ///< rows to each GPU that it counts, its own GPU's included
};

static unsigned gpu_of(const struct index *x, unsigned place)
{
    return place / (x->sizes->places / x->sizes->gpus);
}

static unsigned places_of(const struct index *x, unsigned expert)
{
    return x->first[expert + 1] - x->first[expert];
}

static void fill_index(struct index *x, const uint16_t *expert_at)
{
    for (unsigned e = 0, at = 0; e < x->sizes->experts; e++) {
        x->first[e] = at;
        for (unsigned p = 0; p < x->sizes->places; p++)
            if (expert_at[p] == e)
                x->place[at++] = (uint16_t)p;
        x->first[e + 1] = at;
    }
}

/// Smaller is better. GPUs after the home come first among equals, so that senders differ.
static uint64_t cost(const struct index *x, const struct sender *s, unsigned place,
                     const bool *near)
{
    const unsigned gpus = x->sizes->gpus, q = gpu_of(x, place);
    const unsigned behind = (q + gpus - s->home) % gpus;
    return (uint64_t) !(near && near[q]) << 48 | (uint64_t)s->given[q] << 8 | behind;
}

/// `near`: the GPUs to prefer, or NULL.
static unsigned cheapest(const struct index *x, const struct sender *s, unsigned expert,
                         const bool *near)
{
    const uint16_t *place = x->place + x->first[expert];
    unsigned best = place[0];
    for (unsigned i = 1; i < places_of(x, expert); i++)
        if (cost(x, s, place[i], near) < cost(x, s, best, near))
            best = place[i];
    return best;
}

/// The list of one token. Experts with one place come first: they are no choice, but what they cost
/// counts for those that are.
static void choose_list(const struct index *x, struct sender *s, enum mw_replica_choice choice,
                        uint64_t token, uint16_t *ids, unsigned k)
{
    bool reached[MW_MAX_GPUS] = {false};
    uint16_t expert[MW_MAX_K];
    reached[s->home] = true;
    memcpy(expert, ids, k * sizeof *ids);
    for (unsigned several = 0; several < 2; several++)
        for (unsigned j = 0; j < k; j++) {
            const unsigned e = expert[j];
            if (e == MW_NO_EXPERT || (places_of(x, e) > 1) != several)
                continue;
            if (choice == MW_CHOICE_HASH)
                ids[j] = x->place[x->first[e] + mw_hash3(SEED, token, e) % places_of(x, e)];
            else
                ids[j] = (uint16_t)cheapest(x, s, e, choice == MW_CHOICE_NEAR ? reached : NULL);
            s->given[gpu_of(x, ids[j])]++;
            reached[gpu_of(x, ids[j])] = true;
        }
}

/// Tokens of all GPUs, one of each in turn.
static void choose_lists(const struct index *x, enum mw_replica_choice choice, size_t first,
                         uint16_t *ids, unsigned per_gpu, unsigned k)
{
    unsigned given[MW_MAX_GPUS][MW_MAX_GPUS] = {{0}};
    for (unsigned i = 0; i < per_gpu; i++)
        for (unsigned home = 0; home < x->sizes->gpus; home++) {
            const size_t token = first + (size_t)home * per_gpu + i;
            struct sender s = {home, given[choice == MW_CHOICE_SHARED ? 0 : home]};
            choose_list(x, &s, choice, token, ids + token * k, k);
        }
}

int mw_choose_places(const struct mw_place_sizes *sizes, const uint16_t *expert_at,
                     enum mw_replica_choice choice, uint16_t *ids, size_t tokens, unsigned per_gpu,
                     unsigned k, struct mw_error *err)
{
    struct index x = {.sizes = sizes,
                      .first = calloc(sizes->experts + 1, sizeof *x.first),
                      .place = calloc(sizes->places, sizeof *x.place)};
    bool ok = x.first && x.place;
    if (ok)
        fill_index(&x, expert_at);
    for (size_t first = 0; ok && first < tokens; first += (size_t)sizes->gpus * per_gpu)
        choose_lists(&x, choice, first, ids, per_gpu, k);
    free(x.first);
    free(x.place);
    return ok ? MW_EXIT_OK : mw_fail_memory(err, "places of experts");
}
