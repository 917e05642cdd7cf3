// SPDX-License-Identifier: Apache-2.0
//
// Timing: which wires lie on paths that take long, and a net of two pins with a weight for each of
// them, which refinement shortens as it does any other.
//
// A path begins at a cell's output, DELAY after the clock, and ends at a pin that `ends`. It may
// take as long as the cell there requires. What a wire takes is estimated from its length, as
// nextpnr does before it routes (predictDelay of its ECP5 architecture, speed grade 8 of the 5G).
#include "placement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIRE_PS = 54, WIRE_BASE = 3, NEAR = 5 }; // per step; a tile is two steps within NEAR tiles
enum { CARRY_PS = 43 };                         // from carry to carry
enum { NEVER = 1 << 28 };                       // ps
// A wire on a path that takes more than this share of what it may has a weight, and at_limit where
// the path takes all of it.
static const double noticed = 0.65, at_limit = 20, most = 80;
// The share of a weight that stays when the path has become shorter, so that the wire does not grow
// again at once.
static const double kept = 0.9;

struct paths {
    int *order, count;       // nets, each behind those that its driver reads
    int *arrival;            // per net: ps from a clock to the output of its driver
    int *left;               // per net: the latest arrival with which no path takes too long
    int *allowed;            // per net: what the path may take of which `left` is
    double *weight;          // per pin
    struct longest *longest; // per limit
    int limits;
};

static int driver(const struct placement *p, int net)
{
    return p->net.item[p->net.start[net]];
}

// The wire of a net from its driver to a cell.
static int wire_ps(const struct placement *p, int net, int to)
{
    const struct cell *a = &p->cell[driver(p, net)], *b = &p->cell[to];
    int x = abs(a->x - b->x), y = abs(a->y - b->y);
    return p->carry[net] ? 0 : WIRE_PS * (WIRE_BASE + x + smaller(x, NEAR) + y + smaller(y, NEAR));
}

static int through_ps(const struct placement *p, int from, int cell, int to)
{
    return p->carry[from] && p->carry[to] ? CARRY_PS : p->cell[cell].delay;
}

// The next net with which paths go on behind a pin, or NONE. *STEP is 0 before the first one.
static int next_output(const struct placement *p, size_t pin, size_t *step)
{
    int cell = p->net.item[pin];
    while (!p->ends[pin] && p->nets_of.start[cell] + *step < p->nets_of.start[cell + 1]) {
        int net = p->nets_of.item[p->nets_of.start[cell] + (*step)++];
        if (net < p->net_count && driver(p, net) == cell)
            return net;
    }
    return NONE;
}

struct paths *find_paths(const struct placement *p)
{
    size_t nets = (size_t)p->net_count;
    struct paths *t = allocate(1, sizeof *t);
    *t = (struct paths){.order = allocate(nets, sizeof *t->order),
                        .arrival = allocate(nets, sizeof *t->arrival),
                        .left = allocate(nets, sizeof *t->left),
                        .allowed = allocate(nets, sizeof *t->allowed),
                        .weight = allocate(p->pins, sizeof *t->weight),
                        .longest = allocate((size_t)p->cell_count, sizeof *t->longest)};
    int *inputs = allocate(nets, sizeof *inputs); // that are not in the order yet
    for (int n = 0; n < p->net_count; n++)
        for (size_t k = p->net.start[n] + 1; k < p->net.start[n + 1]; k++) {
            int to;
            size_t step = 0;
            while ((to = next_output(p, k, &step)) != NONE)
                inputs[to]++;
        }
    for (int n = 0; n < p->net_count; n++)
        if (inputs[n] == 0)
            t->order[t->count++] = n;
    for (int i = 0; i < t->count; i++) {
        int n = t->order[i];
        for (size_t k = p->net.start[n] + 1; k < p->net.start[n + 1]; k++) {
            int to;
            size_t step = 0;
            while ((to = next_output(p, k, &step)) != NONE)
                if (--inputs[to] == 0)
                    t->order[t->count++] = to;
        }
    }
    free(inputs);
    return t;
}

void free_paths(struct paths *t)
{
    free(t->order);
    free(t->arrival);
    free(t->left);
    free(t->allowed);
    free(t->weight);
    free(t->longest);
    free(t);
}

static void measure_arrivals(const struct placement *p, struct paths *t)
{
    for (int n = 0; n < p->net_count; n++)
        t->arrival[n] = p->cell[driver(p, n)].delay;
    for (int i = 0; i < t->count; i++) {
        int n = t->order[i];
        for (size_t k = p->net.start[n] + 1; k < p->net.start[n + 1]; k++) {
            int s = p->net.item[k], to;
            int here = t->arrival[n] + wire_ps(p, n, s);
            size_t step = 0;
            while ((to = next_output(p, k, &step)) != NONE)
                t->arrival[to] = larger(t->arrival[to], here + through_ps(p, n, s, to));
        }
    }
}

// The latest arrival at pin K of net N, and what the path behind it may take.
static int left_at(const struct placement *p, const struct paths *t, int n, size_t k, int *allowed)
{
    int s = p->net.item[k], best = NEVER, to;
    size_t step = 0;
    *allowed = NEVER;
    if (p->ends[k]) {
        *allowed = p->cell[s].required;
        return *allowed;
    }
    while ((to = next_output(p, k, &step)) != NONE) {
        int left = t->left[to] - through_ps(p, n, s, to);
        if (left < best) {
            best = left;
            *allowed = t->allowed[to];
        }
    }
    return best;
}

static void note_share(struct paths *t, int allowed, double share)
{
    int i = 0;
    while (i < t->limits && t->longest[i].allowed != allowed)
        i++;
    if (i == t->limits)
        t->longest[t->limits++] = (struct longest){allowed, 0};
    t->longest[i].share = fmax(t->longest[i].share, share);
}

static int by_limit(const void *a, const void *b)
{
    return ((const struct longest *)a)->allowed - ((const struct longest *)b)->allowed;
}

const struct longest *longest_paths(const struct paths *t, int *limits)
{
    *limits = t->limits;
    return t->longest;
}

void weigh_paths(struct placement *p, struct paths *t)
{
    t->limits = 0;
    p->arc_count = 0;
    index_nets(p);
    measure_arrivals(p, t);
    for (int n = 0; n < p->net_count; n++)
        t->left[n] = t->allowed[n] = NEVER;
    for (int i = t->count - 1; i >= 0; i--) {
        int n = t->order[i];
        for (size_t k = p->net.start[n] + 1; k < p->net.start[n + 1]; k++) {
            int allowed, left = left_at(p, t, n, k, &allowed) - wire_ps(p, n, p->net.item[k]);
            if (left < t->left[n]) {
                t->left[n] = left;
                t->allowed[n] = allowed;
            }
            if (p->cell[driver(p, n)].kind >= ELSEWHERE &&
                p->cell[p->net.item[k]].kind >= ELSEWHERE)
                continue; // both stay
            double share = 1 + (t->arrival[n] - left) / (double)allowed;
            if (allowed != NEVER)
                note_share(t, allowed, share);
            double above = fmax(0, (share - noticed) / (1 - noticed));
            t->weight[k] = fmax(kept * t->weight[k], fmin(most, at_limit * above * above));
        }
    }
    for (int n = 0; n < p->net_count; n++)
        for (size_t k = p->net.start[n] + 1; k < p->net.start[n + 1]; k++)
            if (t->weight[k] >= 1)
                add_arc(p, driver(p, n), p->net.item[k], (int)t->weight[k]);
    qsort(t->longest, (size_t)t->limits, sizeof *t->longest, by_limit);
    index_nets(p);
    measure(p);
}
