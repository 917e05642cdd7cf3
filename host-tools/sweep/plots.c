// SPDX-License-Identifier: Apache-2.0
//
// Pictures of a sweep's table by gnuplot, see sweep.h. The script reads results.csv, so that whoever wants
// another picture changes the script and calls gnuplot.
#include "sweep.h"

#include "child.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

/// What is drawn: a column, times a factor.
static const struct {
    const char *column, *title;
    double factor;
} panels[] = {
    {"speedup", "speed-up over unicast", 1},
    {"up_payload_bytes", "payload up, KiB per GPU", 1.0 / 1024},
    {"down_payload_bytes", "payload down, KiB per GPU", 1.0 / 1024},
    {"strict_share", "share of the strict bound, %", 100},
    {"own_share", "share of own bound, %", 100},
    {"hit_rate", "allocator hit rate, %", 100},
};

enum { PANELS = sizeof panels / sizeof *panels };

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
            strcmp(s->row[i].cell[mw_column_find("system")], system) == 0)
            return true;
    return false;
}

/// Lines of the means, and a point for each run.
static void write_panel(FILE *out, const struct mw_sweep *s, const char *x, unsigned panel)
{
    const struct mw_axis *systems = &s->grid.axis[mw_grid_axis(&s->grid, "system")];
    const char *between = "plot ";
    fprintf(out, "set title '%s'\n", panels[panel].title);
    for (unsigned i = 0; i < systems->count; i++) {
        if (!is_drawn(s, systems->value[i], mw_column_find(panels[panel].column)))
            continue;
        char using[200];
        snprintf(using, sizeof using,
                 "using (strcol('system') eq '%s' ? column('%s') : NaN):(%g * column('%s'))",
                 systems->value[i], x, panels[panel].factor, panels[panel].column);
        fprintf(out, "%s'results.csv' %s smooth unique with lines linetype %u title '%s', \\\n",
                between, using, i + 1, systems->value[i]);
        fprintf(out,
                "    'results.csv' %s with points linetype %u pointtype 7 pointsize 0.5 notitle",
                using, i + 1);
        between = ", \\\n    ";
    }
    fputs(strcmp(between, "plot ") == 0 ? "set multiplot next\n" : "\n", out);
}

static void write_picture(FILE *out, const struct mw_sweep *s, const char *x)
{
    fprintf(out, "\nset output 'by-%s.svg'\n", x);
    fprintf(out, "set multiplot layout 2, 3 title 'against %s' noenhanced\n", x);
    for (unsigned p = 0; p < PANELS; p++)
        write_panel(out, s, x, p);
    fputs("unset multiplot\nunset output\n", out);
}

static void write_script(FILE *out, const struct mw_sweep *s)
{
    bool any = false;
    fputs("# gnuplot plots.gp draws results.csv: lines are means of all runs at the same place\n"
          "set datafile separator comma\n"
          "set datafile columnheaders\n"
          "set datafile missing NaN\n"
          "set terminal svg size 1200, 700 background 'white'\n"
          "set key outside bottom center horizontal noenhanced\n"
          "set grid\n"
          "set yrange [0:*]\n"
          "set offsets graph 0.05, graph 0.05, graph 0.1, 0\n",
          out);
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
