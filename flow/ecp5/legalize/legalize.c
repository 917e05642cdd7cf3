// SPDX-License-Identifier: Apache-2.0
//
// Legalization: each flip-flop takes the nearest legal place, rare control sets first (main.c).
#include "placement.h"

#include <stdlib.h>

// How much further a flip-flop may move to avoid an empty tile, an empty slice, or a LUT's logic
// cell, in tiles. A control set of more than one in OFTEN_OF cells may take any empty tile.
static const double open_tile = 2.5, open_slice = 0.3, open_cell = 0.1;
enum { OFTEN_OF = 20 };

// Puts a flip-flop, with its LUT, at the best legal place. OFTEN: its control set may take any
// empty tile. False: there is no legal place.
static bool put_nearest(struct placement *p, int i, bool often)
{
    const struct cell *c = &p->cell[i];
    bool with_lut = c->partner != NONE;
    double best = 1e9;
    int best_tile = NONE, best_place = NONE;
    for (const struct offset *o = p->around; o < p->around + OFFSETS; o++) {
        double distance = abs(o->x) + abs(o->y);
        if (distance >= best)
            break;
        int tile = tile_at(p, c->x + o->x, c->y + o->y);
        if (tile == NONE)
            continue;
        const struct tile *t = &p->tile[tile];
        for (int place = 0; place < LOGIC_CELLS; place++) {
            bool lut_free = t->lut[place] == NONE;
            if (t->flip_flop[place] != NONE || (with_lut && !lut_free) || !is_legal(t, place, c))
                continue;
            double cost = distance + (t->flip_flops || often ? 0 : open_tile) +
                          (t->in_slice[place / PER_SLICE] ? 0 : open_slice) +
                          (!with_lut && lut_free ? open_cell : 0);
            if (cost < best) {
                best = cost;
                best_tile = tile;
                best_place = place;
            }
        }
    }
    if (best_tile == NONE)
        return false;
    put(p, i, best_tile, best_place);
    if (with_lut)
        put(p, c->partner, best_tile, best_place);
    return true;
}

// Puts a LUT at the nearest free place. False: there is none.
static bool put_lut(struct placement *p, int i)
{
    const struct cell *c = &p->cell[i];
    for (const struct offset *o = p->around; o < p->around + OFFSETS; o++) {
        int tile = tile_at(p, c->x + o->x, c->y + o->y);
        if (tile == NONE)
            continue;
        for (int place = 0; place < LOGIC_CELLS; place++)
            if (p->tile[tile].lut[place] == NONE) {
                put(p, i, tile, place);
                return true;
            }
    }
    return false;
}

// Puts the fixed cells. A flip-flop that is not legal with those before it becomes a loose one.
static void put_fixed(struct placement *p, const char *path)
{
    for (int i = 0; i < p->cell_count; i++) {
        struct cell *c = &p->cell[i];
        if (c->kind != FIXED_LUT && c->kind != FIXED_FLIP_FLOP)
            continue;
        int tile = tile_at(p, c->x, c->y);
        if (tile == NONE)
            stop(BAD_INPUT, path, "cell %ld is fixed where there is no logic tile", i);
        const struct tile *t = &p->tile[tile];
        if ((is_flip_flop(c) ? t->flip_flop : t->lut)[c->place] != NONE)
            stop(BAD_INPUT, path, "cell %ld is fixed at the place of another", i);
        if (c->kind == FIXED_FLIP_FLOP && !is_legal(t, c->place, c)) {
            c->kind = FLIP_FLOP;
            c->loose = true;
        } else {
            put(p, i, tile, c->place);
        }
    }
}

// A flip-flop and its place in the order of legalization: key by key, the number of the cell last.
enum { KEYS = 8 };

struct rank {
    int key[KEYS];
};

static int by_keys(const void *left, const void *right)
{
    const struct rank *a = left, *b = right;
    int k = 0;
    while (k < KEYS - 1 && a->key[k] == b->key[k])
        k++;
    return a->key[k] < b->key[k] ? -1 : a->key[k] > b->key[k];
}

void legalize(struct placement *p, const char *path)
{
    put_fixed(p, path);
    size_t cells = (size_t)p->cell_count, count = 0;
    int *of_clocking = allocate(cells, sizeof *of_clocking); // flip-flops of a control set
    int *of_enable = allocate(cells, sizeof *of_enable);
    struct rank *order = allocate(cells, sizeof *order);
    for (int i = 0; i < p->cell_count; i++)
        if (is_flip_flop(&p->cell[i])) {
            of_clocking[p->cell[i].clocking]++;
            of_enable[p->cell[i].enable]++;
        }
    for (int i = 0; i < p->cell_count; i++) {
        const struct cell *c = &p->cell[i];
        if (c->kind == FLIP_FLOP)
            order[count++] =
                (struct rank){{of_clocking[c->clocking], c->clocking, of_enable[c->enable],
                               c->enable, c->partner == NONE, c->y, c->x, i}};
    }
    qsort(order, count, sizeof *order, by_keys);
    for (size_t k = 0; k < count; k++) {
        int i = order[k].key[KEYS - 1];
        if (!put_nearest(p, i, order[k].key[0] > p->cell_count / OFTEN_OF))
            stop(NO_PLACE, path, "flip-flop %ld has no legal place", i);
    }
    for (int i = 0; i < p->cell_count; i++)
        if (p->cell[i].kind == LUT && p->cell[i].partner == NONE && !put_lut(p, i))
            stop(NO_PLACE, path, "LUT %ld has no legal place", i);
    free(of_clocking);
    free(of_enable);
    free(order);
}
