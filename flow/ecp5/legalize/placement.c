// SPDX-License-Identifier: Apache-2.0
//
// See placement.h.
#include "placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void stop(int status, const char *path, const char *what, long number)
{
    fprintf(stderr, "legalize: %s: ", path);
    fprintf(stderr, what, number);
    fputc('\n', stderr);
    exit(status);
}

void *allocate(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (!p) {
        fputs("legalize: no memory\n", stderr);
        exit(BAD_INPUT);
    }
    return p;
}

int length_of(const struct box *b)
{
    return b->x1 - b->x0 + b->y1 - b->y0;
}

struct box box_of(const struct placement *p, int net)
{
    struct box b = {WIDTH, 0, HEIGHT, 0};
    for (size_t k = p->net.start[net]; k < p->net.start[net + 1]; k++) {
        const struct cell *c = &p->cell[p->net.item[k]];
        b = (struct box){smaller(b.x0, c->x), larger(b.x1, c->x), smaller(b.y0, c->y),
                         larger(b.y1, c->y)};
    }
    return b;
}

double measure(struct placement *p)
{
    double sum = 0;
    for (int n = 0; n < p->net_count + p->arc_count; n++) {
        p->box[n] = box_of(p, n);
        sum += n < p->net_count ? length_of(&p->box[n]) : 0;
    }
    return sum;
}

void index_nets(struct placement *p)
{
    struct lists *of = &p->nets_of;
    int count = p->net_count + p->arc_count;
    memset(of->start, 0, ((size_t)p->cell_count + 2) * sizeof *of->start);
    for (size_t k = 0; k < p->net.start[count]; k++)
        of->start[p->net.item[k] + 2]++;
    // start[i + 1] is where the next net of cell i goes, and in the end where the list ends
    for (int i = 0; i < p->cell_count; i++)
        of->start[i + 2] += of->start[i + 1];
    for (int n = 0; n < count; n++)
        for (size_t k = p->net.start[n]; k < p->net.start[n + 1]; k++)
            of->item[of->start[p->net.item[k] + 1]++] = n;
}

void add_arc(struct placement *p, int from, int to, int weight)
{
    int n = p->net_count + p->arc_count++;
    size_t at = p->net.start[n];
    p->net.item[at] = from;
    p->net.item[at + 1] = to;
    p->net.start[n + 1] = at + 2;
    p->weight[n] = weight;
}

int tile_at(const struct placement *p, int x, int y)
{
    return x < 0 || y < 0 || x >= WIDTH || y >= HEIGHT ? NONE : p->tile_at[x][y];
}

bool is_flip_flop(const struct cell *c)
{
    return c->kind == FLIP_FLOP || c->kind == FIXED_FLIP_FLOP;
}

bool is_legal(const struct tile *t, int place, const struct cell *c)
{
    int slice = place / PER_SLICE;
    return (!t->flip_flops || t->clocking == c->clocking) &&
           (!t->in_slice[slice] || t->enable[slice] == c->enable);
}

void put(struct placement *p, int i, int tile, int place)
{
    struct tile *t = &p->tile[tile];
    struct cell *c = &p->cell[i];
    if (is_flip_flop(c)) {
        t->flip_flop[place] = i;
        t->clocking = c->clocking;
        t->enable[place / PER_SLICE] = c->enable;
        t->flip_flops++;
        t->in_slice[place / PER_SLICE]++;
    } else {
        t->lut[place] = i;
    }
    c->tile = tile;
    c->place = place;
    c->x = t->x;
    c->y = t->y;
}

void take(struct placement *p, int i)
{
    const struct cell *c = &p->cell[i];
    struct tile *t = &p->tile[c->tile];
    if (is_flip_flop(c)) {
        t->flip_flop[c->place] = NONE;
        t->flip_flops--;
        t->in_slice[c->place / PER_SLICE]--;
    } else {
        t->lut[c->place] = NONE;
    }
}
