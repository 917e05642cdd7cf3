// SPDX-License-Identifier: Apache-2.0
//
// A placement of LUTs and flip-flops in tiles, as all parts of legalize use it (main.c).
#ifndef LEGALIZE_PLACEMENT_H
#define LEGALIZE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NO_PLACE = 1, BAD_INPUT = 2 }; // exit status
enum { NONE = -1 };
enum { LOGIC_CELLS = 8, PER_SLICE = 2, SLICES = LOGIC_CELLS / PER_SLICE };
enum { WIDTH = 128, HEIGHT = 100 }; // of the device in tiles, at most

// What PROBLEM says of a cell. The last three stay where they are: outside the logic cells, in the
// LUT of a logic cell, in its flip-flop.
enum kind { LUT, FLIP_FLOP, ELSEWHERE, FIXED_LUT, FIXED_FLIP_FLOP };

struct cell {
    enum kind kind;
    int x, y, place;      // place: logic cell in the tile
    int clocking, enable; // control set of a flip-flop: clock and reset, enable
    int partner; // the LUT that feeds this flip-flop directly, or the flip-flop that this LUT feeds
    int delay, required; // ps: to its outputs, from a clock or from its inputs; for paths to it
    int tile;
    bool loose; // a fixed flip-flop that had to leave the LUT that feeds it
};

struct tile {
    int x, y;
    int lut[LOGIC_CELLS], flip_flop[LOGIC_CELLS]; // cells, or NONE
    int clocking, flip_flops;
    int enable[SLICES], in_slice[SLICES]; // in_slice: flip-flops
};

struct box {
    int x0, x1, y0, y1;
};

// Lists of numbers: list i is item[start[i]] .. item[start[i + 1] - 1].
struct lists {
    size_t *start;
    int *item;
};

struct paths;

// The largest share that a path takes of the ps that it is allowed.
struct longest {
    int allowed;
    double share;
};

// A distance between tiles.
struct offset {
    int x, y;
};

enum { OFFSETS = (2 * WIDTH + 1) * (2 * HEIGHT + 1) };

// The nets of PROBLEM are 0 .. net_count - 1. Behind them are arcs: nets of a driver and one of its
// pins, with which paths that take long weigh more.
struct placement {
    int cell_count, tile_count, net_count, arc_count;
    struct cell *cell;
    struct tile *tile;
    struct lists net, nets_of; // the cells of a net, its driver first; the nets of a cell
    size_t pins;               // of all nets of PROBLEM
    bool *ends;                // per pin: no path goes on from here to an output of the cell
    bool *carry;               // per net: within a carry chain
    struct box *box;           // of a net or an arc
    int *weight;
    int tile_at[WIDTH][HEIGHT];
    struct offset around[OFFSETS]; // short ones first
};

/// Ends the program with this status, after a line on standard error. WHAT is a format for NUMBER.
_Noreturn void stop(int status, const char *path, const char *what, long number);

/// COUNT elements of SIZE bytes, all 0. Ends the program where memory is short.
void *allocate(size_t count, size_t size);

/// Reads the file PROBLEM. Bad input ends the program.
void read_problem(struct placement *p, const char *path);

/// Writes the file RESULT, or ends the program.
void write_result(const struct placement *p, const char *path);

/// Frees what read_problem has allocated.
void free_placement(struct placement *p);

/// Gives every LUT and flip-flop a legal place, or ends the program. PATH: PROBLEM, for messages.
void legalize(struct placement *p, const char *path);

/// Lists the nets and arcs of each cell.
void index_nets(struct placement *p);

/// Adds an arc. At most `pins` of them have room.
void add_arc(struct placement *p, int from, int to, int weight);

/// The order in which paths run through the nets. The caller frees it.
struct paths *find_paths(const struct placement *p);
void free_paths(struct paths *t);

/// Replaces all arcs by those of the paths that take long as the cells lie now, and measures all
/// boxes.
void weigh_paths(struct placement *p, struct paths *t);

/// The longest path of each limit as weigh_paths has found them, short limits first.
const struct longest *longest_paths(const struct paths *t, int *limits);

/// Shortens the wires of a legal placement by annealing, those of long paths first. SEED: 0 to
/// LONG_MAX. T may be changed by it.
void refine(struct placement *p, struct paths *t, long moves, uint64_t seed);

/// Half the perimeter, in tiles.
int length_of(const struct box *b);

/// The smallest box that holds all cells of a net.
struct box box_of(const struct placement *p, int net);

/// Sets the boxes of all nets and arcs. Returns the sum of the nets' half perimeters, in tiles.
double measure(struct placement *p);

/// The tile at these coordinates, or NONE.
int tile_at(const struct placement *p, int x, int y);

bool is_flip_flop(const struct cell *c);

/// Whether this flip-flop may lie in this free place.
bool is_legal(const struct tile *t, int place, const struct cell *c);

/// Puts a cell into a free place of a tile.
void put(struct placement *p, int i, int tile, int place);

/// Makes the place of a cell free. The cell keeps its coordinates.
void take(struct placement *p, int i);

static inline int larger(int a, int b)
{
    return a > b ? a : b;
}

static inline int smaller(int a, int b)
{
    return a < b ? a : b;
}

#endif
