// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch sweep`: the runs of a grid, each a command of its own that writes one file. The files
// that exist are a sweep's only record of what was done, also by other sweeps.
#ifndef MW_SWEEP_H
#define MW_SWEEP_H

#include "cli/option_table.h"
#include "sweep/grid.h"
#include "sweep/results.h"

#include <stdio.h>

struct mw_sweep {
    struct mw_grid grid;
    const char *folder;           ///< of what it writes
    double *weight;               ///< [points], how long each takes, in any unit
    struct mw_row *row;           ///< [points], what has come out
    unsigned jobs;                ///< runs side by side
    const struct mw_panel *panel; ///< [panels], what is drawn
    unsigned panels;
    size_t failed; ///< runs that ended without a result
    int worst;     ///< exit status of these
    FILE *out, *err;
};

enum { MW_RESULT_PATH = 1200 };

/// The options of the command.
extern const struct mw_option_table mw_sweep_table;
/// The command: argv[0] is "sweep". Returns the exit status.
int mw_sweep_command(int argc, char **argv, FILE *out, FILE *errors);

/// Make the folder, and the one for results in it. `alone`: one sweep at a time, as it is going to
/// write there. `lock` is to be closed.
int mw_sweep_open(const char *folder, bool alone, int *lock, struct mw_error *err);
/// Where the result of a point is, or will be.
void mw_sweep_result(const struct mw_sweep *s, size_t point, char path[MW_RESULT_PATH]);
/// Read the results that are there; those that are malformed are reported, and count as not there.
int mw_sweep_look(struct mw_sweep *s, struct mw_error *err);
/// The same for one, after its run.
int mw_sweep_take(struct mw_sweep *s, size_t point, struct mw_error *err);
size_t mw_sweep_missing(const struct mw_sweep *s);

/// The commands whose results are not there, a line each, for a shell; each may run on any host
/// that has the same folders.
int mw_sweep_list(const struct mw_sweep *s, struct mw_error *err);
/// Have the models built that these runs need and that are missing, each once: that is reported,
/// and no run's time.
int mw_sweep_models(const struct mw_sweep *s, struct mw_error *err);
/// Run them here. A run that fails is reported, and the others continue, unless the machine failed.
/// MW_EXIT_INTERRUPTED after Ctrl-C.
int mw_sweep_run(struct mw_sweep *s, struct mw_error *err);

/// Find out before hours of runs that pictures can be drawn.
int mw_sweep_can_plot(struct mw_error *err);
/// Write the gnuplot script of the table, plots.gp, and run gnuplot. It draws by-AXIS.svg for every
/// axis of numbers, with a line for each system and each value of the other options. In it is each
/// panel, whose columns the table has.
int mw_sweep_plot(const struct mw_sweep *s, struct mw_error *err);

#endif
