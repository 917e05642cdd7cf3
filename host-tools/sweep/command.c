// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch sweep`, see sweep.h: its options, and what it does in which order.
#include "base/output.h"
#include "base/text.h"
#include "cli/command_help.h"
#include "cli/tables.h"
#include "hardware/hardware.h"
#include "sweep/sweep.h"
#include "trace/trace_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct asked {
    const char *grid, *out, *hardware, *column;
    unsigned jobs;
    bool list, collect, plot;
};

// ---- options ------------------------------------------------------------------------------------

#define AT(field) offsetof(struct asked, field)

/// Its text goes into the grid, and each run reads it again.
static int set_hardware(void *params, const char *name, const char *text, struct mw_error *err)
{
    const struct mw_hardware *hardware;
    ((struct asked *)params)->hardware = text;
    return mw_set_hardware(&hardware, name, text, err);
}

static int set_column(void *params, const char *name, const char *text, struct mw_error *err)
{
    struct asked *a = params;
    if (!*text)
        return mw_fail(err, MW_EXIT_INPUT, "--%s: expected the name of a column", name);
    a->column = text;
    a->plot = true;
    return MW_EXIT_OK;
}

static const struct mw_option options[] = {
    MW_HARDWARE_OPTION(0, set_hardware,
                       "simulate one plane of a real machine in every run, as moeswitch run does; "
                       "the table also has microseconds and GB/s"),
    MW_PATH("out", AT(out), "DIR",
            "folder for results/ID.json of each run and results.csv (default: FILE with .sweep "
            "instead of its extension)"),
    MW_UNSIGNED("jobs", AT(jobs), 1, 256, "J",
                "runs in parallel, {} (default: the number of processors)"),
    MW_FLAG("list", AT(list),
            "print the commands that are left to run, a line each, and run none: for GNU parallel "
            "or a Slurm array"),
    MW_FLAG("collect", AT(collect), "run none, and write the table of the existing results"),
    MW_FLAG("plot", AT(plot),
            "draw the table with gnuplot: by-OPTION.svg, and the script plots.gp"),
    MW_OWN("plot-column", 0, set_column, "NAME",
           "draw only this column of the table (--plot draws six)"),
};

static int take_word(void *params, const char *text, struct mw_error *err)
{
    struct asked *a = params;
    if (a->grid || !*text)
        return mw_fail(err, MW_EXIT_INPUT, "%s: unexpected word, see moeswitch sweep --help", text);
    a->grid = text;
    return MW_EXIT_OK;
}

static MW_TERMS(words, {"FILE",
                        "a JSON object: option names of moeswitch run, with a value or a list "
                        "of values each: {\"gpus\": [4, 8], \"set\": {\"window\": [4, 16]}}; or of "
                        "moeswitch plan, with \"command\": \"plan\""});
static MW_TERMS(exits, {"0", "every bit of every run is right"},
                {"1", "a bit, a flit count or a bound of one is wrong"},
                {"2", "bad input, or a run that is not possible"},
                {"3", "a run's device stopped making progress"}, {"4", MW_EXIT_FAILED_TEXT},
                {"130", MW_EXIT_INTERRUPTED_TEXT});
static const struct mw_section sections[] = {{"The grid", words}, {"Exit status", exits}, {0}};

const struct mw_option_table mw_sweep_table = {
    .command = "sweep",
    .option = options,
    .count = sizeof options / sizeof *options,
    .word = take_word,
    .file = "FILE",
    .summary = "run a grid of options, here or on a cluster, into one table",
    .synopsis = "FILE [OPTION]...",
    .text = "Runs every point of a grid of options of moeswitch run or plan, each as a separate "
            "command, and writes one table of all. Points that have a result are not run again, so "
            "an interrupted sweep continues where it stopped.",
    .section = sections,
    .params_bytes = sizeof(struct asked),
};

static int parse(struct asked *a, int argc, char **argv, bool *help, struct mw_error *err)
{
    struct mw_options_said said;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    *a = (struct asked){.jobs = processors > 1 ? (unsigned)processors : 1};
    int status = mw_options_parse(&mw_sweep_table, argc, argv, a, &said, err);
    *help = said.help;
    if (status || said.help)
        return status;
    if (!a->grid)
        return mw_fail(err, MW_EXIT_INPUT,
                       "the grid's file is missing, see moeswitch sweep --help");
    if (a->list && (a->collect || a->plot))
        return mw_fail(err, MW_EXIT_INPUT, "--list and --%s: the first writes no table",
                       a->collect  ? "collect"
                       : a->column ? "plot-column"
                                   : "plot");
    return MW_EXIT_OK;
}

/// FILE with .sweep in place of its extension.
static int default_folder(char folder[MW_PATH_BYTES], const char *grid, struct mw_error *err)
{
    const char *slash = strrchr(grid, '/');
    const char *name = slash ? slash + 1 : grid;
    const char *dot = strrchr(name, '.');
    size_t stem = dot && dot != name ? (size_t)(dot - grid) : strlen(grid);
    if ((size_t)snprintf(folder, MW_PATH_BYTES, "%.*s.sweep", (int)stem, grid) < MW_PATH_BYTES - 40)
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT, "%.40s...: the name is too long", grid);
}

// ---- the table ----------------------------------------------------------------------------------

static int write_table(struct mw_sweep *s, struct mw_error *err)
{
    char path[MW_RESULT_PATH], *text = NULL;
    size_t size = 0;
    int status = mw_rows_compare(&s->grid, s->row, err);
    FILE *f = status ? NULL : open_memstream(&text, &size);
    if (status || !f)
        return status ? status : mw_fail_memory(err, "the table");
    mw_rows_csv(f, &s->grid, s->row);
    fclose(f);
    snprintf(path, sizeof path, "%s/results.csv", s->folder);
    status = text ? mw_output_write(path, text, size, err) : mw_fail_memory(err, "the table");
    free(text);
    return status;
}

/// What became of it, in a line; the exit status.
static int sum_up(const struct mw_sweep *s, size_t before, struct mw_error *err)
{
    const size_t missing = mw_sweep_missing(s), all = s->grid.points;
    size_t wrong = 0, first = 0;
    char path[MW_RESULT_PATH];
    for (size_t i = all; i-- > 0;)
        if (s->row[i].cell && s->row[i].wrong > 0) {
            wrong++;
            first = i;
        }
    fprintf(s->out, "%s/results.csv: %zu of %zu runs, %zu of them new\n", MW_SHOWN(s->folder),
            all - missing, all, before - missing);
    if (s->failed)
        return mw_fail(err, s->worst,
                       "runs without a result: %zu; the same command runs them again", s->failed);
    if (!wrong)
        return MW_EXIT_OK;
    mw_sweep_result(s, first, path);
    return mw_fail(err, MW_EXIT_MISMATCH, "%zu runs have wrong results, the first is %s", wrong,
                   path);
}

/// Refuse a file that this sweep writes where it is the grid, or one that a point reads.
static int spare(const struct mw_grid *g, const char *path, struct mw_error *err)
{
    static const char *const option[] = {"out"}, *const inputs[] = {"hardware", "model", "compute",
                                                                    "placement", "expert-loads"};
    const unsigned trace = mw_grid_axis(g, "trace");
    int status = mw_outputs_spare(option, &path, 1, g->path, err);
    for (unsigned v = 0; trace < MW_MAX_AXES && v < g->axis[trace].count && !status; v++)
        status = mw_outputs_spare_trace(option, &path, 1, g->axis[trace].value[v], err);
    for (unsigned i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        const unsigned axis = mw_grid_axis(g, inputs[i]);
        for (unsigned v = 0; axis < MW_MAX_AXES && v < g->axis[axis].count && !status; v++)
            status = mw_outputs_spare(option, &path, 1, g->axis[axis].value[v], err);
    }
    return status;
}

static int spare_inputs(const struct mw_sweep *s, bool plot, struct mw_error *err)
{
    const struct mw_grid *g = &s->grid;
    const unsigned files = plot ? 2 + g->axes : 1;
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < files && !status; i++) {
        char name[MW_RESULT_PATH];
        if (i < 2)
            snprintf(name, sizeof name, "%s/%s", s->folder, i ? "plots.gp" : "results.csv");
        else
            snprintf(name, sizeof name, "%s/by-%s.svg", s->folder,
                     mw_column_name(g, mw_column_of_axis(g, i - 2)));
        status = spare(g, name, err);
    }
    return status;
}

// ---- the command --------------------------------------------------------------------------------

/// What is drawn: the panels of the command that is swept, or `own`, one column.
static int choose_panels(struct mw_sweep *s, const struct asked *a, struct mw_panel *own,
                         struct mw_error *err)
{
    s->panel = s->grid.swept->panel;
    s->panels = s->grid.swept->panels;
    if (!a->column)
        return MW_EXIT_OK;
    if (mw_column_find(&s->grid, a->column) == mw_columns(&s->grid))
        return mw_fail(err, MW_EXIT_INPUT, "--plot-column %s: the table has no such column",
                       a->column);
    *own = (struct mw_panel){a->column, a->column, 1};
    s->panel = own;
    s->panels = 1;
    return MW_EXIT_OK;
}

static int work(struct mw_sweep *s, const struct asked *a, struct mw_error *err)
{
    int status = mw_sweep_look(s, err);
    size_t before = mw_sweep_missing(s);
    if (status || a->list)
        return status ? status : mw_sweep_list(s, err);
    if (!a->collect)
        status = mw_sweep_models(s, err);
    if (!a->collect && !status)
        status = mw_sweep_run(s, err);
    if (!status)
        status = write_table(s, err);
    if (!status && a->plot)
        status = mw_sweep_plot(s, err);
    return status ? status : sum_up(s, before, err);
}

static int sweep(struct mw_sweep *s, const struct asked *a, struct mw_error *err)
{
    char folder[MW_PATH_BYTES];
    struct mw_panel own;
    int lock = -1;
    int status = a->plot ? mw_sweep_can_plot(err) : MW_EXIT_OK;
    if (!status && !a->out)
        status = default_folder(folder, a->grid, err);
    s->folder = a->out ? a->out : folder;
    s->jobs = a->jobs;
    if (!status && strlen(s->folder) > MW_PATH_BYTES - 40)
        status = mw_fail(err, MW_EXIT_INPUT, "%.40s...: the name is too long", s->folder);
    if (!status)
        status = mw_grid_read(&s->grid, a->grid, err);
    if (!status && a->hardware)
        status = mw_grid_set(&s->grid, "hardware", a->hardware, err);
    if (status)
        return status;
    if (*s->grid.left_out && !a->list)
        fprintf(s->out, "left out, as they do not run all workloads: %s\n", s->grid.left_out);
    s->weight = calloc(s->grid.points, sizeof *s->weight);
    s->row = calloc(s->grid.points, sizeof *s->row);
    if (!s->weight || !s->row)
        status = mw_fail_memory(err, "the runs");
    if (!status)
        status = choose_panels(s, a, &own, err);
    if (!status)
        status = mw_grid_check(&s->grid, s->weight, err);
    if (!status)
        status = spare_inputs(s, a->plot, err);
    if (!status)
        status = mw_sweep_open(s->folder, !a->list, &lock, err);
    if (!status)
        status = work(s, a, err);
    if (lock >= 0)
        close(lock);
    for (size_t i = 0; s->row && i < s->grid.points; i++)
        mw_row_free(&s->grid, &s->row[i]);
    free(s->row);
    free(s->weight);
    mw_grid_free(&s->grid);
    return status;
}

int mw_sweep_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    struct asked a;
    bool help;
    struct mw_sweep *s = calloc(1, sizeof *s);
    int status = s ? parse(&a, argc, argv, &help, &err) : mw_fail_memory(&err, "the sweep");
    if (!status && help) {
        mw_command_help(&mw_sweep_table, out);
    } else if (!status) {
        s->out = out;
        s->err = errors;
        status = sweep(s, &a, &err);
    }
    if (err.text[0])
        fprintf(errors, "moeswitch: %s\n", err.text);
    free(s);
    return status;
}
