// SPDX-License-Identifier: Apache-2.0
//
// The commands that a sweep runs, and what its table has of their reports.
#ifndef MW_SWEEP_SWEPT_H
#define MW_SWEEP_SWEPT_H

#include "cli/option_table.h"

/// A column, and where a report has it: keys, with dots in between; "0" is the first of an array.
/// Those without are made here.
struct mw_column {
    const char *name, *path;
};

/// What is drawn: a column, times a factor.
struct mw_panel {
    const char *column, *title;
    double factor;
};

struct mw_swept {
    const char *name; ///< of the command
    const struct mw_option_table *table;
    const char *time; ///< path of the time by which reports are compared
    const struct mw_column *column;
    unsigned columns;
    const struct mw_column *machine; ///< last columns of a grid of machines
    unsigned machines;
    const struct mw_panel *panel;
    unsigned panels;
    bool simulates; ///< it needs a model of the RTL
    /// Find out that the words are a run that can be; `weight`: how long it takes, in any unit.
    int (*check)(int count, char **words, double *weight, struct mw_error *err);
};

extern const struct mw_swept mw_swept_run, mw_swept_plan;

#endif
