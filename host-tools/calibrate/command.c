// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch calibrate`, see calibrate.h: sweeps, fit, comparison, and the table for the source.
#include "calibrate/calibrate.h"

#include "base/input.h"
#include "base/output.h"
#include "base/text.h"
#include "cli/command_help.h"
#include "cli/tables.h"
#include "sweep/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_GRIDS = 64, NAME_BYTES = 256, MOST_PATH = MW_PATH_BYTES + 2 * NAME_BYTES };

struct asked {
    const char *grids, *out, *write;
    unsigned jobs;
    bool list, collect, again;
};

// ---- options ------------------------------------------------------------------------------------

#define AT(field) offsetof(struct asked, field)

static const struct mw_option options[] = {
    MW_PATH("out", AT(out), "DIR", "folder of the sweeps (default: build/calibrate)"),
    MW_UNSIGNED("jobs", AT(jobs), 1, 256, "J", "runs in parallel, {} (default {default})"),
    MW_FLAG("list", AT(list),
            "print the commands that are left to run, a line each: for GNU parallel or a Slurm "
            "array"),
    MW_FLAG("collect", AT(collect), "run none, and fit the existing results"),
    MW_FLAG("again", AT(again), "also run grids that have a table, and replace the table"),
    MW_PATH("write", AT(write), "FILE",
            "write the coefficients in the format of cost/calibration.inc"),
};

static int take_word(void *params, const char *text, struct mw_error *err)
{
    struct asked *a = params;
    if (a->grids || !*text)
        return mw_fail(err, MW_EXIT_INPUT, "%s: unexpected word, see moeswitch calibrate --help",
                       text);
    a->grids = text;
    return MW_EXIT_OK;
}

static MW_TERMS(words,
                {"DIR",
                 "a folder with grids of moeswitch sweep: fit-*.json are fitted, held-*.json are "
                 "compared. A table *.csv of the same name has the runs of the grid"});
static MW_TERMS(exits,
                {"0", "the errors of runs that are not fitted are within 3 % in the median "
                      "and 10 % at most"},
                {"1", "the errors are larger, or a run has a wrong result"},
                {"2", "bad input, or too few runs"},
                {"3", "a run's device stopped making progress"}, {"4", MW_EXIT_FAILED_TEXT},
                {"130", MW_EXIT_INTERRUPTED_TEXT});
static const struct mw_section sections[] = {{"The grids", words}, {"Exit status", exits}, {0}};

static void defaults(void *params)
{
    *(struct asked *)params = (struct asked){.out = "build/calibrate", .jobs = 1};
}

const struct mw_option_table mw_calibrate_table = {
    .command = "calibrate",
    .option = options,
    .count = sizeof options / sizeof *options,
    .word = take_word,
    .file = "DIR",
    .summary = "fit the communication of moeswitch plan to RTL runs",
    .synopsis = "DIR [OPTION]...",
    .text = "Runs MoE layers and tensor-parallel workloads under every system as sweeps, and fits "
            "coefficients with which moeswitch plan predicts them. Points that have a result are "
            "not run again. Coefficients without a grid stay.",
    .section = sections,
    .defaults = defaults,
    .params_bytes = sizeof(struct asked),
};

// ---- grids --------------------------------------------------------------------------------------

/// Names of the grids in the folder, in alphabetical order, without ".json".
struct grids {
    unsigned count;
    char name[MOST_GRIDS][NAME_BYTES];
};

/// The grid, and the table of its runs.
static const char grid_file[] = ".json", table_file[] = ".csv";

static void path_of(char path[MOST_PATH], const struct asked *a, const char *name,
                    const char *extension)
{
    snprintf(path, MOST_PATH, "%s/%.*s%s", a->grids, NAME_BYTES - 1, name, extension);
}

static void results_of(char path[MOST_PATH], const struct asked *a, const char *name)
{
    snprintf(path, MOST_PATH, "%s/%.*s/results.csv", a->out, NAME_BYTES - 1, name);
}

static bool has_table(const struct asked *a, const char *name)
{
    char path[MOST_PATH];
    path_of(path, a, name, table_file);
    return !a->again && access(path, F_OK) == 0;
}

static bool is_held(const char *name)
{
    return strncmp(name, "held-", 5) == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int find_grids(struct grids *g, const char *folder, struct mw_error *err)
{
    DIR *dir = opendir(folder);
    *g = (struct grids){0};
    if (!dir)
        return mw_fail(err, MW_EXIT_INPUT, "%s: no such folder", folder);
    for (const struct dirent *e; (e = readdir(dir)) && g->count < MOST_GRIDS;) {
        const size_t length = strlen(e->d_name);
        if (length < 6 || length - 5 >= NAME_BYTES || strcmp(e->d_name + length - 5, grid_file))
            continue;
        if (strncmp(e->d_name, "fit-", 4) == 0 || is_held(e->d_name))
            snprintf(g->name[g->count++], NAME_BYTES, "%.*s", (int)length - 5, e->d_name);
    }
    closedir(dir);
    qsort(g->name, g->count, sizeof *g->name, compare_names);
    return g->count ? MW_EXIT_OK
                    : mw_fail(err, MW_EXIT_INPUT, "%s: no fit-*.json and no held-*.json", folder);
}

/// A command of the tool with up to 8 words.
static int sweep(const struct asked *a, const char *name, FILE *out, FILE *errors)
{
    char grid[MOST_PATH], folder[MOST_PATH], jobs[16];
    char *word[9] = {"sweep", grid, "--out", folder};
    int count = 4;
    path_of(grid, a, name, grid_file);
    snprintf(folder, sizeof folder, "%s/%s", a->out, name);
    snprintf(jobs, sizeof jobs, "%u", a->jobs);
    if (a->list || a->collect) {
        word[count++] = a->list ? "--list" : "--collect";
    } else {
        word[count++] = "--jobs";
        word[count++] = jobs;
    }
    return mw_sweep_command(count, word, out, errors);
}

static int make_folder(const char *path, struct mw_error *err)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT, "%s: cannot make the folder: %s", path, strerror(errno));
}

static int run_sweeps(const struct asked *a, const struct grids *g, FILE *out, FILE *errors)
{
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < g->count && !status; i++)
        if (!has_table(a, g->name[i]))
            status = sweep(a, g->name[i], out, errors);
    return status;
}

// ---- results ------------------------------------------------------------------------------------

static int report_line(FILE *out, const struct mw_calibration c[MW_FITS],
                       const struct mw_calibration_run *run, size_t count, enum mw_fit fit,
                       unsigned system, struct mw_error *err)
{
    struct mw_calibration_errors fitted, held;
    int status = mw_calibration_errors(&fitted, c, run, count, fit, system, false, err);
    if (!status)
        status = mw_calibration_errors(&held, c, run, count, fit, system, true, err);
    if (status)
        return status;
    fprintf(out, "%-13s %6zu %8.1f %8.1f %6zu %8.1f %8.1f ",
            system < MW_FIT_SYSTEMS ? mw_fit_system(fit, system) : "all", fitted.runs,
            100 * fitted.median, 100 * fitted.largest, held.runs, 100 * held.median,
            100 * held.largest);
    for (unsigned i = 0; system < MW_FIT_SYSTEMS && i < mw_fit_kinds[fit].features; i++)
        fprintf(out, " %8.3f", c[fit].coefficient[system][i]);
    fputc('\n', out);
    return MW_EXIT_OK;
}

static int report_kind(FILE *out, const struct mw_calibration c[MW_FITS],
                       const struct mw_calibration_run *run, size_t count, enum mw_fit fit,
                       struct mw_error *err)
{
    const struct mw_fit_kind *kind = &mw_fit_kinds[fit];
    int status = MW_EXIT_OK;
    fprintf(out, "%s\n%-13s %24s %24s  coefficients of\n%-13s %6s %8s %8s %6s %8s %8s ",
            kind->title, "", "fitted: runs, errors, %", "not fitted: errors, %", "system", "runs",
            "median", "largest", "runs", "median", "largest");
    for (unsigned i = 0; i < kind->features; i++)
        fprintf(out, " %8s", kind->feature_names[i]);
    fputc('\n', out);
    for (unsigned i = 0; i < kind->systems && !status; i++)
        status = report_line(out, c, run, count, fit, i, err);
    if (!status)
        status = report_line(out, c, run, count, fit, MW_FIT_SYSTEMS, err);
    for (unsigned i = 0; i < kind->ranges && !status; i++)
        fprintf(out, "%s: %g to %g\n", kind->range_names[i], c[fit].low[i], c[fit].high[i]);
    return status;
}

static int report(FILE *out, const struct mw_calibration c[MW_FITS],
                  const struct mw_calibration_run *run, size_t count, struct mw_error *err)
{
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < MW_FITS && !status; i++)
        if (mw_calibration_runs(run, count, (enum mw_fit)i))
            status = report_kind(out, c, run, count, (enum mw_fit)i, err);
    return status;
}

/// Of one kind, in the text of cost/calibration.inc.
static void write_kind(FILE *f, const struct mw_calibration *c, enum mw_fit fit)
{
    const struct mw_fit_kind *kind = &mw_fit_kinds[fit];
    fprintf(f, "{ // %s\n.coefficient = {\n", kind->title);
    for (unsigned s = 0; s < kind->systems; s++) {
        fputs("    {", f);
        for (unsigned i = 0; i < MW_FEATURES; i++)
            fprintf(f, "%s%.6g", i ? ", " : "", c->coefficient[s][i]);
        fprintf(f, "}, // %s\n", mw_fit_system(fit, s));
    }
    for (unsigned high = 0; high < 2; high++) {
        fprintf(f, high ? ".high = {" : "},\n.low = {");
        for (unsigned i = 0; i < MW_RANGES; i++)
            fprintf(f, "%s%.6g", i ? ", " : "", high ? c->high[i] : c->low[i]);
        fputs("},\n", f);
    }
    fputs("},\n", f);
}

static void write_source(FILE *f, const struct mw_calibration c[MW_FITS])
{
    fputs("// Written by `make calibration` (moeswitch calibrate bench/calibrate).\n"
          "// clang-format off\n",
          f);
    for (unsigned i = 0; i < MW_FITS; i++)
        write_kind(f, &c[i], (enum mw_fit)i);
    fputs("// clang-format on\n", f);
}

static int write_file(const char *path, const struct mw_calibration c[MW_FITS],
                      struct mw_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return mw_fail_memory(err, path);
    write_source(f, c);
    fclose(f);
    int status = text ? mw_output_write(path, text, size, err) : mw_fail_memory(err, path);
    free(text);
    return status;
}

/// Write the results of the sweeps beside their grids. A grid without results keeps its table.
static int write_tables(const struct asked *a, const struct grids *g, const bool ran[MOST_GRIDS],
                        struct mw_error *err)
{
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < g->count && !status; i++) {
        char from[MOST_PATH], to[MOST_PATH];
        char *text = NULL;
        size_t size;
        if (!ran[i])
            continue;
        results_of(from, a, g->name[i]);
        path_of(to, a, g->name[i], table_file);
        status = mw_input_text(&text, &size, from, MW_CALIBRATION_BYTES, "a sweep's table", err);
        if (!status)
            status = mw_output_write(to, text, size, err);
        free(text);
    }
    return status;
}

static int judge(const struct mw_calibration c[MW_FITS], const struct mw_calibration_run *run,
                 size_t count, struct mw_error *err)
{
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < MW_FITS && !status; i++) {
        struct mw_calibration_errors held;
        status =
            mw_calibration_errors(&held, c, run, count, (enum mw_fit)i, MW_FIT_SYSTEMS, true, err);
        if (!status &&
            (held.median > mw_fit_kinds[i].median || held.largest > mw_fit_kinds[i].largest))
            status = mw_fail(err, MW_EXIT_MISMATCH,
                             "%s: runs that are not fitted have errors of %.1f %% in the median "
                             "and %.1f %% at most, allowed are %.0f %% and %.0f %%",
                             mw_fit_kinds[i].title, 100 * held.median, 100 * held.largest,
                             100 * mw_fit_kinds[i].median, 100 * mw_fit_kinds[i].largest);
    }
    return status;
}

static int fit(const struct asked *a, const struct grids *g, FILE *out, struct mw_error *err)
{
    struct mw_calibration_run *run = NULL;
    struct mw_calibration c[MW_FITS];
    size_t count = 0;
    bool ran[MOST_GRIDS] = {false};
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < g->count && !status; i++) {
        char path[MOST_PATH];
        const size_t before = count;
        if (has_table(a, g->name[i]))
            path_of(path, a, g->name[i], table_file);
        else
            results_of(path, a, g->name[i]);
        status = mw_calibration_read(&run, &count, path, is_held(g->name[i]), err);
        ran[i] = count > before;
    }
    if (!status && !count)
        status = mw_fail(err, MW_EXIT_INPUT, "%s: no run of its grids has a result", a->grids);
    if (!status)
        status = mw_calibration_fit(c, run, count, err);
    if (!status)
        status = report(out, c, run, count, err);
    if (!status && a->write)
        status = write_file(a->write, c, err);
    if (!status && a->again)
        status = write_tables(a, g, ran, err);
    if (!status)
        status = judge(c, run, count, err);
    free(run);
    return status;
}

// ---- the command --------------------------------------------------------------------------------

static int check(const struct asked *a, struct mw_error *err)
{
    if (!a->grids)
        return mw_fail(err, MW_EXIT_INPUT,
                       "the folder of grids is missing, see moeswitch calibrate --help");
    if (a->list && (a->collect || a->write))
        return mw_fail(err, MW_EXIT_INPUT, "--list and --%s: the first fits nothing",
                       a->collect ? "collect" : "write");
    if (strlen(a->grids) >= MW_PATH_BYTES || strlen(a->out) >= MW_PATH_BYTES)
        return mw_fail(err, MW_EXIT_INPUT, "%.40s...: the name is too long",
                       strlen(a->out) >= MW_PATH_BYTES ? a->out : a->grids);
    return mw_output_probe(a->write, err);
}

int mw_calibrate_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    struct mw_options_said said;
    struct asked a;
    struct grids *g = calloc(1, sizeof *g);
    defaults(&a);
    int status = g ? mw_options_parse(&mw_calibrate_table, argc, argv, &a, &said, &err)
                   : mw_fail_memory(&err, "the grids");
    if (!status && said.help) {
        mw_command_help(&mw_calibrate_table, out);
        free(g);
        return status;
    }
    if (!status)
        status = check(&a, &err);
    if (!status)
        status = find_grids(g, a.grids, &err);
    if (!status)
        status = make_folder(a.out, &err);
    if (!status)
        status = run_sweeps(&a, g, out, errors);
    if (!status && !a.list)
        status = fit(&a, g, out, &err);
    if (err.text[0])
        fprintf(errors, "moeswitch: %s\n", err.text);
    free(g);
    return status;
}
