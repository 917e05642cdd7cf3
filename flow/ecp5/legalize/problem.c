// SPDX-License-Identifier: Apache-2.0
//
// Reads PROBLEM and writes RESULT (control_sets.py).
#include "placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 10000000 };    // cells, nets, or pins of all nets
enum { LONGEST = 10000000 }; // ps

// PROBLEM, and how many numbers of it are read.
struct reader {
    FILE *file;
    const char *path;
    long numbers;
};

// The next number of PROBLEM, which lies within LOW .. HIGH.
static int number(struct reader *r, int low, int high)
{
    int n;
    r->numbers++;
    if (fscanf(r->file, "%d", &n) != 1)
        stop(BAD_INPUT, r->path, "number %ld is missing", r->numbers);
    if (n < low || n > high)
        stop(BAD_INPUT, r->path, "number %ld is out of range", r->numbers);
    return n;
}

static void read_tiles(struct placement *p, struct reader *r)
{
    memset(p->tile_at, 0xff, sizeof p->tile_at); // NONE
    p->tile = allocate((size_t)p->tile_count, sizeof *p->tile);
    for (int i = 0; i < p->tile_count; i++) {
        struct tile *t = &p->tile[i];
        t->x = number(r, 0, WIDTH - 1);
        t->y = number(r, 0, HEIGHT - 1);
        memset(t->lut, 0xff, sizeof t->lut);
        memset(t->flip_flop, 0xff, sizeof t->flip_flop);
        if (p->tile_at[t->x][t->y] != NONE)
            stop(BAD_INPUT, r->path, "tile %ld is there twice", i);
        p->tile_at[t->x][t->y] = i;
    }
}

// Whether a cell has no partner, or one of the other kind whose partner it is.
static bool is_paired(const struct placement *p, int i)
{
    const struct cell *c = &p->cell[i];
    if (c->partner == NONE)
        return true;
    const struct cell *other = &p->cell[c->partner];
    return other->partner == i && ((c->kind == LUT && other->kind == FLIP_FLOP) ||
                                   (c->kind == FLIP_FLOP && other->kind == LUT));
}

static void read_cells(struct placement *p, struct reader *r)
{
    p->cell = allocate((size_t)p->cell_count, sizeof *p->cell);
    for (int i = 0; i < p->cell_count; i++) {
        struct cell *c = &p->cell[i];
        c->kind = (enum kind)number(r, LUT, FIXED_FLIP_FLOP);
        c->x = number(r, 0, WIDTH - 1);
        c->y = number(r, 0, HEIGHT - 1);
        c->place = number(r, 0, LOGIC_CELLS - 1);
        c->clocking = number(r, 0, p->cell_count - 1);
        c->enable = number(r, 0, p->cell_count - 1);
        c->partner = number(r, NONE, p->cell_count - 1);
        c->delay = number(r, 0, LONGEST);
        c->required = number(r, 1, LONGEST);
    }
    for (int i = 0; i < p->cell_count; i++)
        if (!is_paired(p, i))
            stop(BAD_INPUT, r->path, "cell %ld is not the partner of its partner", i);
}

// Nets, and room for an arc per pin.
static void read_nets(struct placement *p, struct reader *r)
{
    struct lists *net = &p->net, *of = &p->nets_of;
    size_t most = (size_t)p->net_count + p->pins, at = 0;
    net->start = allocate(most + 1, sizeof *net->start);
    net->item = allocate(3 * p->pins, sizeof *net->item);
    of->start = allocate((size_t)p->cell_count + 2, sizeof *of->start);
    of->item = allocate(3 * p->pins, sizeof *of->item);
    p->ends = allocate(p->pins, sizeof *p->ends);
    p->carry = allocate((size_t)p->net_count, sizeof *p->carry);
    p->box = allocate(most, sizeof *p->box);
    p->weight = allocate(most, sizeof *p->weight);
    for (int n = 0; n < p->net_count; n++) {
        p->carry[n] = number(r, 0, 1);
        p->weight[n] = 1;
        for (int pins = number(r, 1, (int)(p->pins - at)); pins > 0; pins--) {
            int pin = number(r, 0, 2 * p->cell_count - 1);
            net->item[at] = pin / 2;
            p->ends[at++] = pin % 2;
        }
        net->start[n + 1] = at;
    }
    if (at != p->pins)
        stop(BAD_INPUT, r->path, "%ld pins are missing", (long)(p->pins - at));
    index_nets(p);
}

static int by_distance(const void *left, const void *right)
{
    const struct offset *a = left, *b = right;
    int more = abs(a->x) + abs(a->y) - abs(b->x) - abs(b->y);
    return more ? more : a->x != b->x ? a->x - b->x : a->y - b->y;
}

void read_problem(struct placement *p, const char *path)
{
    struct reader r = {fopen(path, "r"), path, 0};
    if (!r.file)
        stop(BAD_INPUT, path, "cannot be read", 0);
    p->tile_count = number(&r, 0, WIDTH * HEIGHT);
    p->cell_count = number(&r, 0, MOST);
    p->net_count = number(&r, 0, MOST);
    p->pins = (size_t)number(&r, 0, MOST);
    read_tiles(p, &r);
    read_cells(p, &r);
    read_nets(p, &r);
    fclose(r.file);
    struct offset *o = p->around;
    for (int x = -WIDTH; x <= WIDTH; x++)
        for (int y = -HEIGHT; y <= HEIGHT; y++)
            *o++ = (struct offset){x, y};
    qsort(p->around, OFFSETS, sizeof *p->around, by_distance);
}

void write_result(const struct placement *p, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f)
        stop(BAD_INPUT, path, "cannot be written", 0);
    for (int i = 0; i < p->cell_count; i++) {
        const struct cell *c = &p->cell[i];
        if (c->kind == LUT || c->kind == FLIP_FLOP)
            fprintf(f, "%d %d %d %d %d\n", i, c->x, c->y, c->place, c->loose);
    }
    bool failed = ferror(f);
    if (fclose(f) || failed)
        stop(BAD_INPUT, path, "cannot be written", 0);
}

void free_placement(struct placement *p)
{
    free(p->cell);
    free(p->tile);
    free(p->net.start);
    free(p->net.item);
    free(p->nets_of.start);
    free(p->nets_of.item);
    free(p->ends);
    free(p->carry);
    free(p->box);
    free(p->weight);
}
