// SPDX-License-Identifier: Apache-2.0
//
// A grid: the options of `moeswitch run` or `moeswitch plan` that a sweep varies, and the runs that
// they make together.
#ifndef MW_SWEEP_GRID_H
#define MW_SWEEP_GRID_H

#include "sweep/swept.h"

enum {
    MW_MAX_AXES = 48,
    MW_MAX_POINTS = 100000,
    MW_POINT_WORDS = 2 * MW_MAX_AXES + 1, ///< of a command line, the command in front
    MW_POINT_ID = 17,                     ///< bytes of a point's name
    MW_LEFT_OUT = 100,
};

/// An option, and what it is set to. Of a flag the values are "true" and "false".
struct mw_axis {
    char *name;          ///< as on the command line: "gpus"; of a setting "set.window"
    const char *setting; ///< after the dot of such a name, or NULL
    const struct mw_option *option;
    unsigned count; ///< of values, at least 1, all different
    char **value;
};

/// Points are numbered with the last axis as the fastest. One axis is "system", with
/// one system a value.
struct mw_grid {
    const char *path;
    const struct mw_swept *swept;
    unsigned axes;
    struct mw_axis axis[MW_MAX_AXES];
    size_t points;
    char left_out[MW_LEFT_OUT]; ///< systems that "all" is without, as they do not run all workloads
};

/// Read a grid: a JSON object. Its keys are options of the command that "command" names, with a
/// value or a list of values each. The value of --set is an object of such. MW_EXIT_INPUT, and a
/// line, for keys and values that cannot be.
int mw_grid_read(struct mw_grid *grid, const char *path, struct mw_error *err);
/// Add an option with one value, which the file must not have. MW_EXIT_INPUT: it does, and the grid
/// is freed.
int mw_grid_set(struct mw_grid *grid, const char *name, const char *value, struct mw_error *err);
/// Find out that each point is a run that can be. The line names the first that cannot. `weight`
/// gets how long each takes, in a unit of its own.
int mw_grid_check(const struct mw_grid *grid, double *weight, struct mw_error *err);
void mw_grid_free(struct mw_grid *grid);

/// Which of its values axis `axis` has at a point.
unsigned mw_grid_choice(const struct mw_grid *grid, size_t point, unsigned axis);
const char *mw_grid_value(const struct mw_grid *grid, size_t point, unsigned axis);
/// The point with another value of one axis.
size_t mw_grid_other(const struct mw_grid *grid, size_t point, unsigned axis, unsigned choice);
/// The axis of that name, or MW_MAX_AXES.
unsigned mw_grid_axis(const struct mw_grid *grid, const char *name);

/// The words of a point's command line, the command first and NULL last; texts that are not the
/// grid's are in `store`. Returns how many there are.
struct mw_point {
    char *word[MW_POINT_WORDS + 1];
    char store[MW_MAX_AXES][160];
};
unsigned mw_grid_point(const struct mw_grid *grid, size_t point, struct mw_point *words);
/// What differs between points, for people: "gpus 4, k 2".
void mw_grid_text(const struct mw_grid *grid, size_t point, char *text, size_t size);
/// A point's name, of its options and values alone: 16 hexadecimal digits. It does not change when
/// the grid gets other points or another order.
void mw_grid_id(const struct mw_grid *grid, size_t point, char id[MW_POINT_ID]);

#endif
