// SPDX-License-Identifier: Apache-2.0
//
// The grid that the tests of `moeswitch sweep` run, and its table: each program includes it once.
#ifndef MW_TEST_SWEEP_H
#define MW_TEST_SWEEP_H

#include "system/command.h"

/// Runs of a moment: 2 x 2 x 3 points.
static const char GRID[] =
    "{\"system\": [\"unicast\", \"moeswitch\"], \"gpus\": [2, 4], \"k\": [1, 2, 3], "
    "\"experts\": 8, \"flit-bytes\": 8, \"hidden\": 64, \"tokens-per-gpu\": 48, "
    "\"tile\": 2, \"sigma\": 1}";
enum { POINTS = 12 };

static char grid[200], reference[200];

/// The same table without faults. It is made once.
static const char *reference_csv(void)
{
    static char path[300];
    if (!*reference) {
        snprintf(reference, sizeof reference, "%s", scratch("reference"));
        if (run_command("sweep %s --out %s --jobs 1", grid, reference))
            fail_msg("%s", err_text);
    }
    snprintf(path, sizeof path, "%s/results.csv", reference);
    return path;
}

static int set_up(void **state)
{
    int failed = scratch_make(state);
    snprintf(grid, sizeof grid, "%s", scratch("grid.json"));
    write_file(grid, GRID, sizeof GRID - 1);
    return failed;
}

static int finish(void **state)
{
    free(out_text);
    free(err_text);
    return scratch_remove(state);
}

#endif
