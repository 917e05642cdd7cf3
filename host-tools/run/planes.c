// SPDX-License-Identifier: Apache-2.0
//
// See planes.h. The processes are forks of the prepared run, made before it has threads. Each
// changes the hidden values to those of its plane and runs the systems one after the other. It
// writes the results into a file that both have open. Results hold no pointers then: outputs are
// checked in the plane's process.
#include "run/planes.h"

#include "base/interrupt.h"
#include "cli/command_help.h"
#include "report/report.h"
#include "systems/system_list.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

MW_TERMS(mw_plane_values, {"one", NULL}, {"all", NULL});

int mw_set_planes(void *place, const char *name, const char *text, struct mw_error *err)
{
    if (!mw_terms_have(mw_plane_values, text))
        return mw_fail_choice(name, text, mw_plane_values, err);
    *(bool *)place = strcmp(text, "all") == 0;
    return MW_EXIT_OK;
}

int mw_planes_check(const struct mw_run_params *p, struct mw_error *err)
{
    const struct {
        const char *option;
        bool given;
    } others[] = {{"batches", p->shape.batches},
                  {"interval", p->interval},
                  {"plot", p->plot},
                  {"timeline", p->timeline},
                  {"trace-fst", p->fst}};
    if (!p->all_planes)
        return MW_EXIT_OK;
    if (!p->hardware)
        return mw_fail(err, MW_EXIT_INPUT, "--planes all: only with --hardware");
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            return mw_fail(err, MW_EXIT_INPUT, "--planes all: not with --%s, which is of one plane",
                           others[i].option);
    return MW_EXIT_OK;
}

// ---- a plane's process --------------------------------------------------------------------------

/// What a process leaves, and after it the layers of each system.
struct left {
    int status;
    unsigned count; ///< systems with a result
    struct mw_error err;
    char said[2000]; ///< on standard error: the first lines
};

/// Hidden values of a plane's packets; the routing is that of every plane.
static void take_share(const struct mw_run *run, unsigned plane)
{
    const struct mw_workload *w = &run->workload;
    for (unsigned l = 0; l < w->layers; l++) {
        const struct mw_layer *layer = &w->layer[l];
        for (unsigned t = 0; t < w->tokens; t++)
            for (unsigned h = 0; h < w->shape.hidden; h++)
                mw_workload_set(
                    w, layer, t, h,
                    mw_plane_element(run->params.hardware, &run->params.plane, plane, t, h));
    }
}

/// False, and errno: it is not written.
static bool leave(const struct mw_run *run, const struct left *left, FILE *file)
{
    bool good = fwrite(left, sizeof *left, 1, file) == 1;
    for (unsigned i = 0; good && i < left->count; i++) {
        const struct mw_result *r = &run->results[i];
        good = fwrite(r, sizeof *r, 1, file) == 1 &&
               fwrite(r->layer, sizeof *r->layer, r->layers, file) == r->layers;
    }
    return good && fflush(file) == 0;
}

/// Of a plane's text, the longest part with whole lines is kept.
static void cut_lines(char *said)
{
    char *end = strrchr(said, '\n');
    if (end)
        end[1] = '\0';
}

static void simulate(struct mw_run *run, unsigned plane, FILE *file, pid_t parent)
{
    struct left left = {.count = 0};
    // a plane must not run on without its parent
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
        _exit(errno);
    FILE *nowhere = fopen("/dev/null", "w"), *said = fmemopen(left.said, sizeof left.said, "w");
    if (!nowhere || !said)
        _exit(errno);
    run->out = nowhere;
    run->err = said;
    run->params.jobs = 1;
    run->params.files.quiet = true;
    take_share(run, plane);
    left.status = mw_run_systems(run, &left.err);
    left.count = left.status > MW_EXIT_MISMATCH ? 0 : run->count;
    fflush(said);
    cut_lines(left.said);
    _exit(leave(run, &left, file) ? 0 : errno);
}

// ---- all of them --------------------------------------------------------------------------------

struct process {
    pid_t pid;
    FILE *file;
};

static int start(struct mw_run *run, unsigned plane, struct process *p, struct mw_error *err)
{
    pid_t parent = getpid();
    *p = (struct process){.file = tmpfile()};
    if (!p->file)
        return mw_fail(err, MW_EXIT_FAILED, "no temporary file: %s", strerror(errno));
    fflush(NULL); // what a fork has in its buffers would be written twice
    p->pid = fork();
    if (p->pid == 0)
        simulate(run, plane, p->file, parent);
    return p->pid > 0 ? MW_EXIT_OK
                      : mw_fail(err, MW_EXIT_FAILED, "plane %u: %s", plane, strerror(errno));
}

/// A system's result on a plane joins those of the planes before: the slowest counts.
static int join(struct mw_run *run, unsigned system, unsigned plane, FILE *file,
                struct mw_error *err)
{
    struct mw_result *kept = &run->results[system], read;
    if (fread(&read, sizeof read, 1, file) != 1)
        return mw_fail(err, MW_EXIT_FAILED, "plane %u: its result ends too early", plane);
    read.layer = calloc(read.layers, sizeof *read.layer);
    read.state = NULL;
    if (!read.layer)
        return mw_fail_memory(err, "the results");
    uint64_t cycles = 0;
    if (fread(read.layer, sizeof *read.layer, read.layers, file) != read.layers) {
        free(read.layer);
        return mw_fail(err, MW_EXIT_FAILED, "plane %u: its result ends too early", plane);
    }
    for (unsigned l = 0; l < read.layers; l++) {
        struct mw_layer_result *layer = &read.layer[l];
        layer->out = NULL;
        layer->dw = NULL;
        layer->monitor = NULL;
        layer->timeline = NULL;
        cycles += layer->cycles;
        if (!kept->layer)
            continue;
        // wrong elements of every plane, and the first of the first plane that has some
        if (kept->layer[l].wrong)
            layer->first = kept->layer[l].first;
        kept->layer[l].first = layer->first;
        kept->layer[l].wrong = layer->wrong += kept->layer[l].wrong;
    }
    read.planes = kept->planes;
    read.planes.cycles[read.planes.count] = cycles;
    const bool slowest = !kept->layer || cycles > kept->planes.cycles[kept->planes.slowest];
    if (slowest)
        read.planes.slowest = read.planes.count;
    read.planes.count++;
    read.seconds += kept->seconds;
    read.simulated_cycles += kept->simulated_cycles;
    kept->planes = read.planes;
    kept->seconds = read.seconds;
    kept->simulated_cycles = read.simulated_cycles;
    if (slowest) {
        free(kept->layer);
        *kept = read;
        kept->system = &run->systems[system];
    } else {
        free(read.layer);
    }
    return MW_EXIT_OK;
}

/// What an ended plane left. MW_EXIT_MISMATCH: something of it is wrong.
static int take(struct mw_run *run, unsigned plane, struct process *p, struct mw_error *err)
{
    struct left left;
    int status = MW_EXIT_OK;
    rewind(p->file);
    if (fread(&left, sizeof left, 1, p->file) != 1)
        return mw_fail(err, MW_EXIT_FAILED, "plane %u: its process ended without a result", plane);
    if (*left.said)
        fprintf(run->err, "plane %u:\n%s", plane, left.said);
    if (left.status > MW_EXIT_MISMATCH)
        return mw_fail(err, left.status, "plane %u: %s", plane, left.err.text);
    for (unsigned i = 0; i < left.count && !status; i++)
        status = join(run, i, plane, p->file, err);
    return status ? status : left.status;
}

/// Whether a plane's process is over. If it failed, `err` has the cause, and the status is not 0.
static int look(struct process *p, unsigned plane, struct mw_error *err)
{
    int ended = 0;
    if (p->pid <= 0 || waitpid(p->pid, &ended, WNOHANG) <= 0)
        return MW_EXIT_OK;
    p->pid = 0;
    if (WIFSIGNALED(ended))
        return mw_fail(err, MW_EXIT_FAILED, "plane %u: its process was ended by signal %d", plane,
                       WTERMSIG(ended));
    return WEXITSTATUS(ended) ? mw_fail(err, MW_EXIT_FAILED, "plane %u: its process failed: %s",
                                        plane, strerror(WEXITSTATUS(ended)))
                              : MW_EXIT_OK;
}

/// Planes start in their order, `jobs` at once. What they leave is taken in that order, too; one
/// that fails ends all as soon as it is seen.
static int supervise(struct mw_run *run, struct process *process, unsigned planes,
                     struct mw_error *err)
{
    const struct timespec little = {.tv_nsec = 20000000};
    unsigned started = 0, taken = 0;
    int worst = MW_EXIT_OK;
    while (taken < planes) {
        unsigned running = 0;
        if (mw_interrupted)
            return mw_fail(err, MW_EXIT_INTERRUPTED, "interrupted");
        for (unsigned i = taken; i < started; i++) {
            int status = look(&process[i], i, err);
            if (status)
                return status;
            running += process[i].pid > 0;
        }
        if (started < planes && running < run->params.jobs) {
            int status = start(run, started, &process[started], err);
            if (status)
                return status;
            started++;
        } else if (process[taken].pid == 0) {
            int status = take(run, taken, &process[taken], err);
            if (status > MW_EXIT_MISMATCH)
                return status;
            taken++;
            worst = status > worst ? status : worst;
        } else {
            nanosleep(&little, NULL);
        }
    }
    return worst;
}

static int run_processes(struct mw_run *run, struct process *process, struct mw_error *err)
{
    const unsigned planes = mw_run_planes_of(&run->params);
    mw_interrupt_begin();
    int worst = supervise(run, process, planes, err);
    mw_interrupt_end();
    for (unsigned i = 0; i < planes; i++) {
        if (process[i].pid > 0) {
            kill(process[i].pid, SIGKILL);
            waitpid(process[i].pid, NULL, 0);
        }
        if (process[i].file)
            fclose(process[i].file);
    }
    return worst;
}

/// The line of each system, as if it had run here. `worst` is the status of the planes.
static int hand_on(struct mw_run *run, int worst, struct mw_error *err)
{
    const struct mw_link_parameters link = mw_run_links(&run->params);
    const char *first = run->systems[0].name;
    const char *over = run->asked > 1 || strcmp(first, mw_systems[0].name) == 0 ? first : NULL;
    uint64_t base = 0;
    for (unsigned l = 0; over && l < run->workload.layers; l++)
        base += run->results[0].layer[l].cycles;
    for (unsigned i = 0; i < run->asked; i++) {
        struct mw_summary *s = &run->summaries[run->count++];
        mw_summarize(s, &run->results[i], &run->workload, &run->params, base, over);
        mw_report_line(run->out, s);
        int status = mw_tables_flush(run->out, err);
        if (status)
            return status;
        status = mw_report_differences(run->err, &run->results[i], &run->workload, &link);
        worst = status > worst ? status : worst;
    }
    return worst;
}

int mw_run_planes(struct mw_run *run, struct mw_error *err)
{
    struct process *process = calloc(mw_run_planes_of(&run->params), sizeof *process);
    if (!process)
        return mw_fail_memory(err, "the planes");
    mw_run_share_cores(run->params.jobs);
    int status = run_processes(run, process, err);
    free(process);
    return status > MW_EXIT_MISMATCH ? status : hand_on(run, status, err);
}
