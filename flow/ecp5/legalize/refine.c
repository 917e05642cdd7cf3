// SPDX-License-Identifier: Apache-2.0
//
// Refinement: anneals the length of all wires by legal moves (main.c).
#include "placement.h"

#include <math.h>
#include <stdlib.h>

static const double first_temperature = 0.5, last_temperature = 0.01; // in tiles
static const double frozen = 0.92;         // share of the moves, after which it is 0
enum { STEP = 4096 };                      // moves of one temperature
enum { ROUNDS = 40 };                      // in which the paths are measured
enum { FIRST_REACH = 14, LAST_REACH = 2 }; // of a move, in tiles
enum { LONG_NET = 400 };                   // pins: a net with more is not measured again
enum { TARGET_NET = 64, NEAR_TARGET = 2 }; // pins, tiles: a net with more attracts no move

// What refinement changes: the cells at one place, and those that come back from the other place.
enum { MOVED_LUT, MOVED_FLIP_FLOP, BACK_LUT, BACK_FLIP_FLOP, MOVED };

struct move {
    int cell[MOVED]; // or NONE
    int from, from_place, to, to_place;
};

// The boxes of nets before a move.
struct undo {
    int count;
    int *net;
    struct box *box;
    long *seen; // per net, the last move that has measured it, from 1
};

// Xorshift: 32 bits of a state that is not 0.
static uint32_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 16);
}

// Within 0 .. n - 1.
static int below(uint64_t *state, int n)
{
    return (int)(next_random(state) % (uint32_t)n);
}

// Within [0, 1).
static double fraction(uint64_t *state)
{
    return (next_random(state) & 0xffffff) / (double)(1 << 24);
}

static bool holds(const struct box *b, int x, int y)
{
    return x >= b->x0 && x <= b->x1 && y >= b->y0 && y <= b->y1;
}

static bool holds_inside(const struct box *b, int x, int y)
{
    return x > b->x0 && x < b->x1 && y > b->y0 && y < b->y1;
}

static size_t length_of_list(const struct lists *l, int i)
{
    return l->start[i + 1] - l->start[i];
}

static int within(int n, int reach)
{
    return n < -reach ? -reach : n > reach ? reach : n;
}

// Chooses the tile to which cell I is to move: one within REACH, or one near another pin of one of
// its nets. Sets NONE where there is no logic tile. False: no move.
static bool choose_tile(const struct placement *p, int i, int reach, uint64_t *random, int *to)
{
    const struct cell *c = &p->cell[i];
    int x = c->x + below(random, 2 * reach + 1) - reach;
    int y = c->y + below(random, 2 * reach + 1) - reach;
    int nets = (int)length_of_list(&p->nets_of, i);
    if (next_random(random) & 1 && nets) {
        int net = p->nets_of.item[p->nets_of.start[i] + (size_t)below(random, nets)];
        int pins = (int)length_of_list(&p->net, net);
        int other = p->net.item[p->net.start[net] + (size_t)below(random, pins)];
        if (pins > TARGET_NET || other == i)
            return false;
        x = p->cell[other].x + below(random, 2 * NEAR_TARGET + 1) - NEAR_TARGET;
        y = p->cell[other].y + below(random, 2 * NEAR_TARGET + 1) - NEAR_TARGET;
        if (larger(abs(x - c->x), abs(y - c->y)) > 3 * reach) {
            x = c->x + within(x - c->x, reach);
            y = c->y + within(y - c->y, reach);
        }
    }
    *to = tile_at(p, x, y);
    return true;
}

// Whether a cell may come back in exchange, if OTHER comes back with it. NONE may.
static bool may_come_back(const struct placement *p, int i, int other)
{
    if (i == NONE)
        return true;
    const struct cell *c = &p->cell[i];
    return c->kind != FIXED_LUT && c->kind != FIXED_FLIP_FLOP &&
           (c->partner == NONE || c->partner == other);
}

static void take_all(struct placement *p, const struct move *m)
{
    for (int k = 0; k < MOVED; k++)
        if (m->cell[k] != NONE)
            take(p, m->cell[k]);
}

static void put_all(struct placement *p, const struct move *m, bool exchanged)
{
    for (int k = 0; k < MOVED; k++) {
        bool at_target = (k < BACK_LUT) == exchanged;
        if (m->cell[k] != NONE)
            put(p, m->cell[k], at_target ? m->to : m->from,
                at_target ? m->to_place : m->from_place);
    }
}

// Moves cell I, with its partner, to a place of tile TO, and what is there to where I was. False:
// that is not legal, and nothing has moved.
static bool exchange(struct placement *p, int i, int to, int to_place, struct move *m)
{
    const struct cell *c = &p->cell[i];
    int lut = c->kind == LUT ? i : c->partner, flip_flop = c->kind == LUT ? NONE : i;
    int back_lut = lut == NONE ? NONE : p->tile[to].lut[to_place];
    int back_flip_flop = flip_flop == NONE ? NONE : p->tile[to].flip_flop[to_place];
    if (!may_come_back(p, back_lut, back_flip_flop) || !may_come_back(p, back_flip_flop, back_lut))
        return false;
    *m = (struct move){{lut, flip_flop, back_lut, back_flip_flop}, c->tile, c->place, to, to_place};
    take_all(p, m);
    bool legal = (flip_flop == NONE || is_legal(&p->tile[to], to_place, &p->cell[flip_flop])) &&
                 (back_flip_flop == NONE ||
                  is_legal(&p->tile[m->from], m->from_place, &p->cell[back_flip_flop]));
    put_all(p, m, legal);
    return legal;
}

// Measures the nets of the cells that have moved, and keeps their former boxes in U. Returns how
// much longer these nets are, in tiles times weight.
static int measure_move(struct placement *p, const struct move *m, long number_of_move,
                        struct undo *u)
{
    int more = 0;
    u->count = 0;
    for (int k = 0; k < MOVED; k++) {
        int i = m->cell[k];
        if (i == NONE)
            continue;
        const struct tile *before = &p->tile[k < BACK_LUT ? m->from : m->to];
        const struct tile *now = &p->tile[k < BACK_LUT ? m->to : m->from];
        for (size_t l = p->nets_of.start[i]; l < p->nets_of.start[i + 1]; l++) {
            int n = p->nets_of.item[l];
            if (u->seen[n] == number_of_move || length_of_list(&p->net, n) > LONG_NET)
                continue;
            u->seen[n] = number_of_move;
            if (holds_inside(&p->box[n], before->x, before->y) && holds(&p->box[n], now->x, now->y))
                continue;
            u->net[u->count] = n;
            u->box[u->count++] = p->box[n];
            p->box[n] = box_of(p, n);
            more += p->weight[n] * (length_of(&p->box[n]) - length_of(&u->box[u->count - 1]));
        }
    }
    return more;
}

static void take_back(struct placement *p, const struct move *m, const struct undo *u)
{
    for (int k = 0; k < u->count; k++)
        p->box[u->net[k]] = u->box[k];
    take_all(p, m);
    put_all(p, m, false);
}

void refine(struct placement *p, struct paths *t, long moves, uint64_t seed)
{
    uint64_t random = 88172645463325252u + seed; // not 0
    size_t nets = (size_t)p->net_count + p->pins;
    int *movable = allocate((size_t)p->cell_count, sizeof *movable), count = 0;
    struct undo u = {0, allocate(nets, sizeof *u.net), allocate(nets, sizeof *u.box),
                     allocate(nets, sizeof *u.seen)};
    for (int i = 0; i < p->cell_count; i++)
        if (p->cell[i].kind == FLIP_FLOP || (p->cell[i].kind == LUT && p->cell[i].partner == NONE))
            movable[count++] = i;
    double temperature = 0;
    int reach = 0;
    long round = moves / ROUNDS + 1;
    for (long n = 0; n < moves && count; n++) {
        if (n % round == 0)
            weigh_paths(p, t);
        if (n % STEP == 0) {
            double done = (double)n / (double)moves;
            temperature =
                done > frozen
                    ? 0
                    : first_temperature * pow(last_temperature / first_temperature, done / frozen);
            reach = larger(LAST_REACH, (int)(FIRST_REACH * (1 - done)));
        }
        int i = movable[below(&random, count)], to;
        struct move m;
        if (!choose_tile(p, i, reach, &random, &to))
            continue;
        int to_place = below(&random, LOGIC_CELLS);
        if (to == NONE || to == p->cell[i].tile || !exchange(p, i, to, to_place, &m))
            continue;
        int more = measure_move(p, &m, n + 1, &u);
        if (more > 0 && !(temperature > 0 && fraction(&random) < exp(-more / temperature)))
            take_back(p, &m, &u);
    }
    free(movable);
    free(u.net);
    free(u.box);
    free(u.seen);
}
