// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch run`: prepare a workload, run it under each system, compare, report.
#define _POSIX_C_SOURCE 200809L

#include "run.h"

#include "demand.h"
#include "fit.h"
#include "golden.h"
#include "output.h"
#include "plot.h"
#include "report.h"
#include "systems.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 40 };

/// A name with room for the system's.
struct path {
    char text[MW_PATH_BYTES + 32];
};

// ---- waves -------------------------------------------------------------------------------------

/// The wave file of one system: the name as given, or with the system's name before its extension.
static void wave_name(struct path *name, const struct mw_run_params *params, const char *system)
{
    const char *slash = strrchr(params->fst, '/');
    const char *dot = strrchr(slash ? slash : params->fst, '.');
    size_t stem = dot ? (size_t)(dot - params->fst) : strlen(params->fst);
    if (params->system)
        snprintf(name->text, sizeof name->text, "%s", params->fst);
    else
        snprintf(name->text, sizeof name->text, "%.*s-%s%s", (int)stem, params->fst, system,
                 dot ? dot : "");
}

// ---- progress ---------------------------------------------------------------------------------

/// The bar: one line on a terminal, drawn anew at most ten times a second.
struct bar {
    FILE *out;
    const char *system;
    unsigned layers;
    double last;
    bool drawn;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void draw_bar(void *context, unsigned layer, double done, uint64_t cycles)
{
    struct bar *bar = context;
    double t = now();
    if (bar->drawn && t - bar->last < 0.1)
        return;
    bar->last = t;
    bar->drawn = true;
    done = done < 0 ? 0 : done > 1 ? 1 : done;
    double all = (layer + done) / bar->layers;
    int filled = (int)(all * BAR);
    char text[BAR + 1];
    memset(text, '.', BAR);
    memset(text, '#', (size_t)(filled > BAR ? BAR : filled));
    text[BAR] = 0;
    fprintf(bar->out, "\r%-14s [%s] %3.0f %%  %" PRIu64 " cycles ", bar->system, text, 100 * all,
            cycles);
    fflush(bar->out);
}

static void clear_bar(struct bar *bar)
{
    if (bar->drawn)
        fprintf(bar->out, "\r%*s\r", BAR + 50, "");
    bar->drawn = false;
}

// ---- the run ----------------------------------------------------------------------------------

struct run {
    struct mw_run_params params;
    struct mw_trace trace;
    struct mw_workload workload;
    uint16_t *golden[MW_MAX_LAYERS];
    struct mw_result results[MW_SYSTEMS];
    struct mw_summary summaries[MW_SYSTEMS];
    unsigned count; ///< of results and summaries
    FILE *out, *err;
};

static int make_golden(struct run *run, struct mw_error *err)
{
    const struct mw_workload *w = &run->workload;
    size_t elements = (size_t)w->tokens * w->shape.hidden;
    for (unsigned l = 0; l < w->layers; l++) {
        run->golden[l] = malloc(elements * sizeof *run->golden[l]);
        if (!run->golden[l])
            return mw_fail_memory(err, "the golden result");
        mw_golden_layer(w, l, run->golden[l]);
    }
    return MW_EXIT_OK;
}

/// Where the result differs from the golden model, and the counters from the analytic list.
static int tell_differences(const struct run *run, const struct mw_result *r)
{
    int status = MW_EXIT_OK;
    for (unsigned l = 0; l < r->layers; l++) {
        const struct mw_layer_result *layer = &r->layer[l];
        if (!layer->wrong)
            continue;
        status = MW_EXIT_MISMATCH;
        fprintf(run->err,
                "moeswitch: %s, layer %zu: %" PRIu64
                " wrong elements, first: token %u, element %u: "
                "expected 0x%04x (%g), got 0x%04x (%g)\n",
                r->system->name, run->workload.layer[l].number, layer->wrong, layer->first.token,
                layer->first.element, layer->first.expected,
                (double)mw_bf16_to_float(layer->first.expected), layer->first.got,
                (double)mw_bf16_to_float(layer->first.got));
    }
    if (r->has_feeding && r->feeding.wrong) {
        status = MW_EXIT_MISMATCH;
        fprintf(run->err, "moeswitch: %s: %" PRIu64 " elements of fed layers differ\n",
                r->system->name, r->feeding.wrong);
    }
    struct mw_flit_error e;
    unsigned errors = mw_result_flit_errors(r, &run->workload, run->params.flit_bytes, &e);
    if (!errors)
        return status;
    fprintf(
        run->err,
        "moeswitch: %s, layer %zu: %u counters differ from the analytic list, first: port %u %s, "
        "%s: expected %" PRIu64 ", counted %" PRIu64 "\n",
        r->system->name, run->workload.layer[e.layer].number, errors, e.port, e.direction, e.what,
        e.expected, e.counted);
    return MW_EXIT_MISMATCH;
}

/// The device, timed together with the check of its output.
static int run_device(struct run *run, const struct mw_system *system, struct mw_result *r,
                      const char *waves)
{
    struct bar bar = {.out = run->err, .system = system->name, .layers = run->workload.layers};
    struct mw_run_params params = run->params;
    params.fst = waves;
    if (isatty(fileno(run->err))) {
        params.progress = draw_bar;
        params.progress_context = &bar;
    }
    double start = now();
    int status = mw_system_run(&params, &run->workload, system->name, r);
    if (!status)
        mw_result_check(r, &run->workload, run->golden);
    r->seconds = now() - start;
    clear_bar(&bar);
    return status;
}

static int run_system(struct run *run, const struct mw_system *system, struct mw_error *err)
{
    struct path waves;
    struct mw_result *r = &run->results[run->count];
    int status = mw_result_make(r, &run->workload, system, err);
    if (status)
        return status;
    run->count++;
    if (run->params.fst)
        wave_name(&waves, &run->params, system->name);
    status = run_device(run, system, r, run->params.fst ? waves.text : NULL);
    if (status) {
        if (r->state)
            fputs(r->state, run->err);
        return mw_fail(err, status, "%s: %s", system->name, r->error.text);
    }
    uint64_t unicast = 0;
    for (unsigned i = 0; i < run->count; i++)
        if (run->results[i].system == &mw_systems[0])
            for (unsigned l = 0; l < run->workload.layers; l++)
                unicast += run->results[i].layer[l].cycles;
    mw_summarize(&run->summaries[run->count - 1], r, &run->workload, &run->params, unicast);
    mw_report_line(run->out, &run->summaries[run->count - 1]);
    fflush(run->out);
    return tell_differences(run, r);
}

/// Bad input leaves no waves behind, not those of the systems before either.
static void remove_waves(const struct run *run)
{
    for (unsigned i = 0; run->params.fst && i < run->count; i++) {
        struct path name;
        wave_name(&name, &run->params, run->results[i].system->name);
        if (!mw_output_is_special(name.text))
            remove(name.text);
    }
}

/// Every system that was asked for. A mismatch does not stop the others.
static int run_systems(struct run *run, struct mw_error *err)
{
    int mismatch = MW_EXIT_OK;
    mw_report_head(run->out, &run->params, &run->trace, &run->workload);
    for (unsigned i = 0; i < MW_SYSTEMS; i++) {
        if (run->params.system && run->params.system != &mw_systems[i])
            continue;
        int status = run_system(run, &mw_systems[i], err);
        if (status == MW_EXIT_INPUT)
            remove_waves(run);
        if (status > MW_EXIT_MISMATCH)
            return status;
        mismatch |= status;
    }
    mw_report_latency(run->out, &run->workload, run->summaries, run->count);
    mw_report_feeding(run->out, &run->workload, run->summaries, run->count);
    return mismatch;
}

static int write_json(struct run *run, struct mw_error *err)
{
    if (!run->params.json)
        return MW_EXIT_OK;
    struct mw_json j = {0};
    int status = mw_report_json(&j, &run->params, &run->trace, &run->workload, run->summaries,
                                run->count, err);
    if (!status)
        status = mw_output_write(run->params.json, j.text, j.size, err);
    mw_json_free(&j);
    return status;
}

static int write_plot(struct run *run, struct mw_error *err)
{
    if (!run->params.plot)
        return MW_EXIT_OK;
    size_t size = 0;
    char *text = mw_plot_svg(&run->workload, run->summaries, run->count, &size);
    if (!text)
        return mw_fail_memory(err, "the picture");
    int status = mw_output_write(run->params.plot, text, size, err);
    free(text);
    return status;
}

static unsigned run_side_by_side(const struct mw_run_params *p)
{
    (void)p;
    return 1;
}

static uint64_t take_largest(uint64_t touched[MW_SYSTEMS])
{
    unsigned most = 0;
    for (unsigned i = 1; i < MW_SYSTEMS; i++)
        most = touched[i] > touched[most] ? i : most;
    uint64_t bytes = touched[most];
    touched[most] = 0;
    return bytes;
}

/// Before anything large is made: whether the device holds the run, and this machine a simulated one.
static int check_sizes(struct run *run, struct mw_error *err)
{
    const struct mw_run_params *p = &run->params;
    uint64_t touched[MW_SYSTEMS] = {0};
    struct mw_demand demand;
    int status =
        mw_demand_of_trace(&demand, &run->trace, p->layers, p->layer_count, &p->shape, err);
    if (!status)
        status = mw_systems_check(p, &demand, touched, err);
    if (status)
        return status;
    unsigned jobs = run_side_by_side(p);
    struct mw_memory memory = {.host = mw_memory_host(&demand, jobs), .several = jobs > 1};
    for (unsigned i = 0; i < jobs && !p->device.usb; i++)
        memory.gpus += take_largest(touched);
    return mw_memory_check(&memory, mw_memory_available("/proc/meminfo"), err);
}

static int prepare(struct run *run, struct mw_error *err)
{
    int status = mw_output_probe(run->params.json, err);
    if (!status)
        status = mw_output_probe(run->params.fst, err);
    if (!status)
        status = mw_output_probe(run->params.plot, err);
    if (!status)
        status = mw_run_route(&run->params, &run->trace, err);
    if (!status)
        status = check_sizes(run, err);
    if (!status)
        status = mw_run_fill(&run->params, &run->trace, &run->workload, err);
    return status ? status : make_golden(run, err);
}

static void clean_up(struct run *run)
{
    for (unsigned i = 0; i < run->count; i++)
        mw_result_free(&run->results[i]);
    for (unsigned l = 0; l < MW_MAX_LAYERS; l++)
        free(run->golden[l]);
    mw_workload_free(&run->workload);
    mw_trace_free(&run->trace);
    free(run);
}

int mw_run_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    bool help = false;
    struct run *run = calloc(1, sizeof *run);
    if (!run) {
        fprintf(errors, "moeswitch: out of memory\n");
        return MW_EXIT_FAILED;
    }
    run->out = out;
    run->err = errors;
    int status = mw_run_parse(&run->params, argc, argv, &help, &err);
    bool only_text = help || run->params.list_models;
    if (help)
        mw_run_usage(out);
    else if (!status && only_text)
        mw_models_list(out);
    else if (!status)
        status = prepare(run, &err);
    if (!only_text && !status) {
        status = run_systems(run, &err);
        if (status <= MW_EXIT_MISMATCH) {
            int written = write_json(run, &err);
            if (!written)
                written = write_plot(run, &err);
            status = written ? written : status;
        }
    }
    if (err.text[0])
        fprintf(errors, "moeswitch: %s\n", err.text);
    clean_up(run);
    return status;
}
