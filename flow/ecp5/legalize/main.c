// SPDX-License-Identifier: Apache-2.0
//
// Legalizes a placement of the ECP5's LUTs and flip-flops, then shortens its wires.
//
// usage: legalize PROBLEM RESULT MOVES SEED
//
// A tile has eight logic cells in four slices. A logic cell has a LUT and a flip-flop. nextpnr
// requires one clock and one reset per tile, and one enable per slice. control_sets.py, which calls
// this program, describes PROBLEM and RESULT.
//
// Legalization takes the flip-flops in the order of their control sets, rare ones first. Each takes
// the nearest legal place. A LUT that feeds its flip-flop directly moves with it. LUTs without a
// flip-flop come last: they may lie anywhere. A flip-flop of a carry chain or a RAM stays in its
// logic cell. If it is not legal there, it leaves the LUT that feeds it, and nextpnr routes the
// wire between them.
//
// Refinement then anneals the sum of the half perimeters of all nets, and again those wires of a
// net that lie on paths that take long (paths.c). It attempts MOVES moves of one logic cell,
// flip-flop or LUT each. The result depends on PROBLEM, MOVES and SEED only.
//
// Standard output: a line with the sum before legalization, after it, and after refinement, in
// tiles. Then a line for each limit of paths: the limit in ps, and by estimate what the longest of
// them takes after legalization and after refinement, in percent of the limit.
// Exit status 1: a cell has no legal place. 2: bad input, or a file cannot be read or written.
// Either way a line on standard error says what is wrong.
#include "placement.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long argument(const char *name, const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end || n < 0 || n == LONG_MAX)
        stop(BAD_INPUT, name, "not a number from 0", 0);
    return n;
}

static void print_paths(const struct longest *legal, const struct longest *refined, int limits)
{
    for (int i = 0; i < limits; i++)
        printf("%d %.0f %.0f\n", legal[i].allowed, 100 * legal[i].share, 100 * refined[i].share);
}

int main(int argc, char **argv)
{
    static struct placement p;
    if (argc != 5) {
        fputs("usage: legalize PROBLEM RESULT MOVES SEED\n", stderr);
        return BAD_INPUT;
    }
    long moves = argument("MOVES", argv[3]), seed = argument("SEED", argv[4]);
    read_problem(&p, argv[1]);
    double rough = measure(&p);
    legalize(&p, argv[1]);
    double legal = measure(&p);
    struct paths *t = find_paths(&p);
    weigh_paths(&p, t);
    int limits;
    const struct longest *now = longest_paths(t, &limits);
    struct longest *before = allocate((size_t)limits, sizeof *before);
    memcpy(before, now, (size_t)limits * sizeof *before);
    refine(&p, t, moves, (uint64_t)seed);
    double refined = measure(&p);
    weigh_paths(&p, t);
    printf("%.0f %.0f %.0f\n", rough, legal, refined);
    print_paths(before, now, limits);
    free(before);
    free_paths(t);
    write_result(&p, argv[2]);
    free_placement(&p);
    return 0;
}
