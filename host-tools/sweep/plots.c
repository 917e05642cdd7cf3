// SPDX-License-Identifier: Apache-2.0
//
// Pictures of a sweep's table by gnuplot, see sweep.h. The script reads results.csv. For another
// picture, change the script and run gnuplot.
#include "base/output.h"
#include "base/text.h"
#include "sweep/child.h"
#include "sweep/sweep.h"

#include <stdlib.h>
#include <string.h>

static bool has_number(const struct mw_row *row, unsigned column)
{
    char *end;
    if (!row->cell || !*row->cell[column])
        return false;
    strtod(row->cell[column], &end);
    return !*end;
}

/// An axis that can be drawn on: several values, all of them numbers in the table.
static bool is_drawn_on(const struct mw_sweep *s, unsigned axis)
{
    const unsigned column = mw_column_of_axis(&s->grid, axis);
    if (s->grid.axis[axis].count < 2)
        return false;
    for (size_t i = 0; i < s->grid.points; i++)
        if (s->row[i].cell && !has_number(&s->row[i], column))
            return false;
    return true;
}

/// Whether a system has anything in a column.
static bool is_drawn(const struct mw_sweep *s, const char *system, unsigned column)
{
    for (size_t i = 0; i < s->grid.points; i++)
        if (has_number(&s->row[i], column) &&
            strcmp(s->row[i].cell[mw_column_find(&s->grid, "system")], system) == 0)
            return true;
    return false;
}

/// A text in gnuplot's quotes.
static void write_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++)
        fputs(*text == '\'' ? "''" : (char[2]){*text, 0}, out);
    fputc('\'', out);
}

/// Axes by which lines are apart: all that have several values, but the systems
/// and the one drawn on.
static bool is_apart(const struct mw_sweep *s, unsigned axis, const char *x)
{
    const struct mw_grid *g = &s->grid;
    return g->axis[axis].count > 1 && axis != mw_grid_axis(g, "system") &&
           strcmp(mw_column_name(g, mw_column_of_axis(g, axis)), x) != 0;
}

/// Whether a point is the first with a result on the line that it is on.
static bool begins_line(const struct mw_sweep *s, size_t point, const char *x)
{
    const struct mw_grid *g = &s->grid;
    for (unsigned a = 0; a < g->axes; a++) {
        if (strcmp(mw_column_name(g, mw_column_of_axis(g, a)), x) != 0)
            continue;
        for (unsigned i = 0; i < mw_grid_choice(g, point, a); i++)
            if (s->row[mw_grid_other(g, point, a, i)].cell)
                return false;
    }
    return s->row[point].cell;
}

/// The rows of a system, or, with the row of a point, those on one line with it.
static void write_using(FILE *out, const struct mw_sweep *s, const char *x,
                        const struct mw_panel *panel, const char *system, const struct mw_row *row)
{
    fprintf(out, "using (strcol('system') eq '%s'", system);
    for (unsigned a = 0; row && a < s->grid.axes; a++)
        if (is_apart(s, a, x)) {
            unsigned column = mw_column_of_axis(&s->grid, a);
            fprintf(out, " && strcol('%s') eq ", mw_column_name(&s->grid, column));
            write_quoted(out, row->cell[column]);
        }
    fprintf(out, " ? column('%s') : NaN):(%g * column('%s'))", x, panel->factor, panel->column);
}

/// The line of a point: its system's colour, and dashes of its own.
static void write_line(FILE *out, const struct mw_sweep *s, const char *x,
                       const struct mw_panel *panel, size_t point, unsigned dashes)
{
    const unsigned axis = mw_grid_axis(&s->grid, "system");
    const char *system = mw_grid_value(&s->grid, point, axis);
    char title[300];
    size_t at = (size_t)snprintf(title, sizeof title, "%s", system);
    for (unsigned a = 0; a < s->grid.axes && at < sizeof title; a++)
        if (is_apart(s, a, x))
            at += (size_t)snprintf(title + at, sizeof title - at, ", %s %s", s->grid.axis[a].name,
                                   mw_grid_value(&s->grid, point, a));
    fputs("'results.csv' ", out);
    write_using(out, s, x, panel, system, &s->row[point]);
    fprintf(out, " smooth unique with lines linetype %u dashtype %u title ",
            mw_grid_choice(&s->grid, point, axis) + 1, dashes);
    write_quoted(out, MW_SHOWN(title));
}

/// A line for each system and each value of other options, and a point for each run.
static void write_panel(FILE *out, const struct mw_sweep *s, const char *x,
                        const struct mw_panel *panel)
{
    const unsigned axis = mw_grid_axis(&s->grid, "system");
    const struct mw_axis *systems = &s->grid.axis[axis];
    const char *between = "plot ";
    fprintf(out, "set title '%s' noenhanced\n", panel->title);
    for (unsigned i = 0; i < systems->count; i++) {
        unsigned dashes = 0;
        if (!is_drawn(s, systems->value[i], mw_column_find(&s->grid, panel->column)))
            continue;
        for (size_t p = 0; p < s->grid.points; p++) {
            if (mw_grid_choice(&s->grid, p, axis) != i || !begins_line(s, p, x))
                continue;
            fputs(between, out);
            write_line(out, s, x, panel, p, ++dashes);
            between = ", \\\n    ";
        }
        fprintf(out, "%s'results.csv' ", between);
        write_using(out, s, x, panel, systems->value[i], NULL);
        fprintf(out, " with points linetype %u pointtype 7 pointsize 0.5 notitle", i + 1);
    }
    fputs(strcmp(between, "plot ") == 0 ? "set multiplot next\n" : "\n", out);
}

static void write_picture(FILE *out, const struct mw_sweep *s, const char *x)
{
    fprintf(out, "\nset output 'by-%s.svg'\n", x);
    fprintf(out, "set multiplot layout %s title 'against %s' noenhanced\n",
            s->panels > 1 ? "2, 3" : "1, 1", x);
    for (unsigned p = 0; p < s->panels; p++)
        write_panel(out, s, x, &s->panel[p]);
    fputs("unset multiplot\nunset output\n", out);
}

static void write_script(FILE *out, const struct mw_sweep *s)
{
    bool any = false;
    fprintf(
        out,
        "# gnuplot plots.gp draws results.csv: a line has the runs that differ in its axis alone\n"
        "set datafile separator comma\n"
        "set datafile columnheaders\n"
        "set datafile missing NaN\n"
        "set terminal svg size %s background 'white'\n"
        "set key outside bottom center horizontal noenhanced font ',8'\n"
        "set grid\n"
        "set yrange [0:*]\n"
        "set offsets graph 0.05, graph 0.05, graph 0.1, 0\n",
        s->panels > 1 ? "1200, 700" : "700, 420");
    for (unsigned a = 0; a < s->grid.axes; a++) {
        if (!is_drawn_on(s, a))
            continue;
        any = true;
        write_picture(out, s, mw_column_name(&s->grid, mw_column_of_axis(&s->grid, a)));
    }
    if (!any)
        write_picture(out, s, "gpus");
}

static int call_gnuplot(char *const *words, const char *folder, char *said, size_t size,
                        struct mw_error *err)
{
    struct mw_child child;
    int status = mw_child_start(&child, words, folder, err);
    if (status)
        return -1;
    status = mw_child_wait(&child);
    mw_child_last_words(&child, said, size);
    return status;
}

int mw_sweep_can_plot(struct mw_error *err)
{
    char *const words[] = {(char *)"gnuplot", (char *)"--version", NULL};
    char said[256];
    if (call_gnuplot(words, NULL, said, sizeof said, err) == 0)
        return MW_EXIT_OK;
    return mw_fail(
        err, MW_EXIT_INPUT,
        "--plot: gnuplot does not run (%s): install Debian's gnuplot-nox, or leave --plot out",
        said);
}

int mw_sweep_plot(const struct mw_sweep *s, struct mw_error *err)
{
    char *const words[] = {(char *)"gnuplot", (char *)"plots.gp", NULL};
    char path[MW_RESULT_PATH], said[512], *text = NULL;
    size_t size = 0;
    if (mw_sweep_missing(s) == s->grid.points)
        return mw_fail(err, MW_EXIT_INPUT, "--plot: there is no result to draw");
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return mw_fail_memory(err, "the pictures");
    write_script(f, s);
    fclose(f);
    snprintf(path, sizeof path, "%s/plots.gp", s->folder);
    int status =
        text ? mw_output_write(path, text, size, err) : mw_fail_memory(err, "the pictures");
    free(text);
    if (status || call_gnuplot(words, s->folder, said, sizeof said, err) == 0)
        return status;
    return mw_fail(err, MW_EXIT_FAILED, "%s: gnuplot: %s", path, said);
}
