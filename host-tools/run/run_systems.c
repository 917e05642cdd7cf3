// SPDX-License-Identifier: Apache-2.0
//
// See run_systems.h. Threads take one system after the other. The caller's thread passes on the
// results in the order of the systems, shows progress, and ends a run that is over.
#include "run/run_systems.h"

#include "base/interrupt.h"
#include "base/output.h"
#include "base/seconds.h"
#include "cli/progress_bar.h"
#include "golden/golden.h"
#include "report/report.h"
#include "run/forecast.h"
#include "run/waves.h"
#include "systems/system_list.h"
#include "systems/systems.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/// Seconds: between two looks of the caller's thread, and until it no longer waits
/// for systems to stop.
static const double LOOK = 0.1, PATIENCE = 0.5;

/// A system, and where it is.
struct part {
    struct group *group;
    const struct mw_system *system;
    struct mw_result *result;
    char waves[MW_WAVES_BYTES]; ///< its file
    bool begun, over;
    int status;
    struct mw_error err;
};

static_assert((int)MW_BAR_PARTS >= (int)MW_SYSTEMS, "a part of the bar for each system");

struct group {
    struct mw_run *run;
    pthread_mutex_t lock; ///< of all that follows, and of what parts report
    pthread_cond_t changed, golden_made;
    struct mw_bar bar;
    struct part part[MW_SYSTEMS];
    unsigned count, next;
    bool golden;                     ///< the golden results are there
    bool began;                      ///< a device is there, and time counts
    atomic_bool stop;                ///< nothing begins any more, what runs is to stop
    volatile sig_atomic_t stop_wait; ///< the same, for the library
    double stopped_at;
};

unsigned mw_run_asked(const struct mw_run_params *params, struct mw_system systems[MW_SYSTEMS])
{
    unsigned count = 0;
    for (unsigned i = 0; i < params->systems; i++)
        systems[count++] = mw_system_as_set(params->system[i], &params->settings);
    for (unsigned i = 0; !params->systems && i < MW_SYSTEMS; i++)
        if (mw_run_asks_for(params, i))
            systems[count++] = mw_system_as_set(&mw_systems[i], &params->settings);
    return count;
}

void mw_run_choose(struct mw_run *run)
{
    run->asked = mw_run_asked(&run->params, run->systems);
    for (unsigned i = 0; i < run->asked; i++)
        run->params.as_dysharp |=
            mw_system_fit_layer(&run->systems[i], &run->params, &run->workload);
}

unsigned mw_run_jobs(const struct mw_run_params *params)
{
    struct mw_system systems[MW_SYSTEMS];
    unsigned asked = mw_run_asked(params, systems);
    return params->jobs < asked ? params->jobs : asked;
}

void mw_run_share_cores(unsigned jobs)
{
    if (jobs > 1 && 2L * jobs > sysconf(_SC_NPROCESSORS_ONLN))
        setenv("MW_SIM_THREADS", "1", 0);
}

// ---- waveforms ----------------------------------------------------------------------------------

/// `all` (bad input): delete every waveform file. Otherwise, only those of systems that did not
/// end.
static void remove_waves(const struct group *g, bool all)
{
    for (unsigned i = 0; g->run->params.fst && i < g->count; i++) {
        const struct part *p = &g->part[i];
        if (p->begun && (all || !p->over || p->status > MW_EXIT_MISMATCH) &&
            !mw_output_is_special(p->waves))
            remove(p->waves);
    }
}

// ---- one system, in a thread of its own ---------------------------------------------------------

/// Called by the device's driver at intervals: false stops it.
static bool take_progress(void *context, unsigned layer, double done, uint64_t cycles)
{
    struct part *p = context;
    struct group *g = p->group;
    pthread_mutex_lock(&g->lock);
    struct mw_bar_part *shown = &g->bar.part[p - g->part];
    if (!g->began) // what comes before is a model that is built
        g->bar.begin = mw_seconds();
    g->began = true;
    shown->done = (layer + (done < 0 ? 0 : done > 1 ? 1 : done)) / g->run->workload.layers;
    shown->cycles = cycles;
    bool go_on = !g->stop;
    pthread_mutex_unlock(&g->lock);
    return go_on;
}

/// The golden results, while the device runs.
static void *make_golden(void *context)
{
    struct group *g = context;
    const struct mw_workload *w = &g->run->workload;
    for (unsigned l = 0; l < w->layers; l++)
        for (unsigned t = 0; t < w->tokens && !g->stop; t++)
            mw_expected_token(&g->run->expected[l], w, l, t);
    pthread_mutex_lock(&g->lock);
    g->golden = true;
    pthread_cond_broadcast(&g->golden_made);
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

static void check(struct part *p)
{
    struct group *g = p->group;
    pthread_mutex_lock(&g->lock);
    while (!g->golden)
        pthread_cond_wait(&g->golden_made, &g->lock);
    pthread_mutex_unlock(&g->lock);
    mw_result_check(p->result, &g->run->workload, g->run->expected);
}

/// The device, and the check of its output, which is of no use afterwards.
static int run_part(struct part *p)
{
    struct mw_run *run = p->group->run;
    struct mw_run_params params = run->params;
    struct mw_result *r = p->result;
    params.fst = params.fst ? p->waves : NULL;
    params.progress = take_progress;
    params.progress_context = p;
    params.stop = &p->group->stop_wait;
    int status = mw_result_make(r, &run->workload, p->system, &p->err);
    if (status)
        return status;
    double start = mw_seconds();
    mw_waves_written((unsigned)(p - p->group->part), params.fst);
    status = mw_system_run(&params, &run->workload, r);
    mw_waves_written((unsigned)(p - p->group->part), NULL);
    r->seconds = mw_seconds() - start;
    if (!status)
        check(p);
    mw_result_free_out(r);
    return status ? mw_fail(&p->err, status, "%s: %s", p->system->name, r->error.text) : MW_EXIT_OK;
}

static void *work(void *context)
{
    struct group *g = context;
    pthread_mutex_lock(&g->lock);
    while (!g->stop && g->next < g->count) {
        struct part *p = &g->part[g->next];
        struct mw_bar_part *shown = &g->bar.part[g->next++];
        p->begun = shown->runs = true;
        pthread_mutex_unlock(&g->lock);
        int status = run_part(p);
        pthread_mutex_lock(&g->lock);
        p->status = status;
        p->over = true;
        shown->runs = false;
        shown->done = 1;
        pthread_cond_signal(&g->changed);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

// ---- handing on ---------------------------------------------------------------------------------

/// The system that the others are compared with: the first. One that runs alone is compared with
/// nothing, but unicast, which is what all are compared with.
static const char *base_of(const struct group *g)
{
    const char *first = g->part[0].system->name;
    return g->count > 1 || strcmp(first, mw_systems[0].name) == 0 ? first : NULL;
}

/// The line of a system that is over, or why there is none.
static int hand_on(struct group *g, const struct part *p, struct mw_error *err)
{
    struct mw_run *run = g->run;
    mw_bar_clear(&g->bar);
    if (p->status) {
        if (p->result->state)
            fputs(p->result->state, run->err);
        return mw_fail(err, p->status, "%s", p->err.text);
    }
    uint64_t base = 0;
    const char *over = base_of(g);
    for (unsigned l = 0; over && l < run->workload.layers; l++)
        if (mw_pass_counts(&run->workload.shape, run->workload.layer[l].pass))
            base += run->results[0].layer[l].cycles;
    struct mw_summary *s = &run->summaries[run->count++];
    mw_summarize(s, p->result, &run->workload, &run->params, base, over);
    mw_report_line(run->out, s);
    int status = mw_tables_flush(run->out, err);
    if (status)
        return status;
    const struct mw_link_parameters link = mw_run_links(&run->params);
    return mw_report_differences(run->err, p->result, &run->workload, &link);
}

// ---- the caller's thread ------------------------------------------------------------------------

static void stop_all(struct group *g)
{
    if (!g->stop)
        g->stopped_at = mw_seconds();
    g->stop = true;
    g->stop_wait = 1;
}

static bool any_runs(const struct group *g)
{
    for (unsigned i = 0; i < g->count; i++)
        if (g->part[i].begun && !g->part[i].over)
            return true;
    return false;
}

static void wait_a_little(struct group *g)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += (long)(1e9 * LOOK);
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&g->changed, &g->lock, &t);
}

/// Run until all results were passed on or, after a request to stop, nothing runs any more. Returns
/// whether the threads have ended.
static bool supervise(struct group *g, int *status, struct mw_error *err)
{
    unsigned handed = 0;
    while (g->stop ? any_runs(g) : handed < g->count) {
        struct part *p = &g->part[handed];
        if (mw_interrupted && !g->stop) {
            *status = mw_fail(err, MW_EXIT_INTERRUPTED, "interrupted");
            stop_all(g);
        } else if (!g->stop && p->over) {
            int got = hand_on(g, p, err);
            handed++;
            *status = got > *status ? got : *status;
            if (got > MW_EXIT_MISMATCH)
                stop_all(g);
            continue;
        }
        if (g->stop && mw_seconds() - g->stopped_at > PATIENCE)
            return false;
        if (!g->run->params.files.quiet)
            mw_bar_show(&g->bar, mw_seconds());
        wait_a_little(g);
    }
    return true;
}

/// End the process, as threads cannot be ended from outside. Files and output are left in order.
static void leave(struct group *g, int status, const struct mw_error *err)
{
    mw_bar_clear(&g->bar);
    remove_waves(g, status == MW_EXIT_INPUT);
    if (err->text[0])
        fprintf(g->run->err, "moeswitch: %s\n", err->text);
    fflush(g->run->err);
    fflush(g->run->out);
    _exit(mw_interrupt_status(status));
}

static void make_parts(struct group *g)
{
    struct mw_run *run = g->run;
    const struct mw_system *systems = run->systems;
    mw_bar_begin(&g->bar, run->err, isatty(fileno(run->err)), mw_seconds());
    g->count = g->bar.count = run->asked;
    for (unsigned i = 0; i < g->count; i++) {
        g->part[i].group = g;
        g->part[i].system = &systems[i];
        g->part[i].result = &run->results[i];
        g->bar.part[i].name = systems[i].name;
        if (run->params.fst)
            mw_output_for(g->part[i].waves, run->params.fst,
                          run->params.systems == 1 ? NULL : systems[i].name);
        g->bar.part[i].weight =
            (double)mw_forecast_cycles(&run->workload, &run->params, &systems[i]);
    }
}

int mw_run_systems(struct mw_run *run, struct mw_error *err)
{
    pthread_t thread[MW_SYSTEMS], golden;
    unsigned jobs = mw_run_jobs(&run->params), threads = 0;
    int status = MW_EXIT_OK;
    struct group *g = calloc(1, sizeof *g);
    if (!g)
        return mw_fail_memory(err, "the systems");
    g->run = run;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    pthread_cond_init(&g->golden_made, NULL);
    make_parts(g);
    mw_run_share_cores(jobs);
    mw_interrupt_begin();
    mw_waves_begin();
    bool beside = pthread_create(&golden, NULL, make_golden, g) == 0;
    if (!beside)
        make_golden(g);
    while (threads < jobs && pthread_create(&thread[threads], NULL, work, g) == 0)
        threads++;
    pthread_mutex_lock(&g->lock);
    if (!threads)
        status = mw_fail(err, MW_EXIT_FAILED, "no thread can be made");
    else if (!supervise(g, &status, err))
        leave(g, status, err);
    pthread_mutex_unlock(&g->lock);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    if (beside)
        pthread_join(golden, NULL);
    mw_interrupt_end();
    mw_waves_end();
    mw_bar_clear(&g->bar);
    if (status > MW_EXIT_MISMATCH)
        remove_waves(g, status == MW_EXIT_INPUT);
    pthread_mutex_destroy(&g->lock);
    pthread_cond_destroy(&g->changed);
    pthread_cond_destroy(&g->golden_made);
    free(g);
    return status;
}
