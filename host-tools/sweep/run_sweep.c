// SPDX-License-Identifier: Apache-2.0
//
// Runs of a sweep: as lines for others, and side by side here, see sweep.h.
#include "base/interrupt.h"
#include "base/output.h"
#include "base/seconds.h"
#include "base/text.h"
#include "cli/progress_bar.h"
#include "run/run_systems.h"
#include "sweep/child.h"
#include "sweep/sweep.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SIDE_BY_SIDE = 256, PROGRAM_BYTES = 4096 };

/// Seconds that a run has to end in order after a signal.
static const double PATIENCE = 5;

// ---- commands -----------------------------------------------------------------------------------

struct command {
    struct mw_point point;
    char program[PROGRAM_BYTES];
    char result[MW_RESULT_PATH];
    char *word[MW_POINT_WORDS + 4]; ///< program, run, options, --json, result, NULL
};

static int make_command(const struct mw_sweep *s, size_t point, struct command *c,
                        struct mw_error *err)
{
    ssize_t n = readlink("/proc/self/exe", c->program, sizeof c->program - 1);
    if (n < 0)
        return mw_fail(err, MW_EXIT_FAILED, "/proc/self/exe: %s", strerror(errno));
    c->program[n] = 0;
    mw_sweep_result(s, point, c->result);
    unsigned words = mw_grid_point(&s->grid, point, &c->point);
    c->word[0] = c->program;
    memcpy(c->word + 1, c->point.word, words * sizeof *c->word);
    c->word[words + 1] = (char *)"--json";
    c->word[words + 2] = c->result;
    c->word[words + 3] = NULL;
    return MW_EXIT_OK;
}

static void print_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./,:=+-@%";
    if (*word && !word[strspn(word, plain)]) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    fputc('\'', out);
}

int mw_sweep_list(const struct mw_sweep *s, struct mw_error *err)
{
    char here[PROGRAM_BYTES];
    struct command *c = malloc(sizeof *c);
    int status = c ? MW_EXIT_OK : mw_fail_memory(err, "a command");
    if (!status && !getcwd(here, sizeof here))
        status = mw_fail(err, MW_EXIT_FAILED, "the folder here has no name: %s", strerror(errno));
    for (size_t i = 0; i < s->grid.points && !status; i++) {
        if (s->row[i].cell)
            continue;
        status = make_command(s, i, c, err);
        fputs("cd ", s->out);
        print_word(s->out, here);
        // beside others it has no second core for its simulation
        fputs(" && MW_SIM_THREADS=1", s->out);
        for (unsigned w = 0; !status && c->word[w]; w++) {
            fputc(' ', s->out);
            print_word(s->out, c->word[w]);
        }
        fputc('\n', s->out);
    }
    free(c);
    return status;
}

// ---- side by side -------------------------------------------------------------------------------

struct slot {
    struct mw_child child;
    size_t point;
};

struct runner {
    struct mw_sweep *s;
    struct slot slot[MAX_SIDE_BY_SIDE];
    unsigned running;
    size_t next;          ///< point to look at
    size_t pending, over; ///< runs
    double weight, weight_over;
    struct mw_bar bar;
    bool stop; ///< nothing begins any more
};

static int start_some(struct runner *r, struct mw_error *err)
{
    struct mw_sweep *s = r->s;
    int status = MW_EXIT_OK;
    struct command *c = malloc(sizeof *c);
    if (!c)
        return mw_fail_memory(err, "a command");
    for (unsigned i = 0; i < s->jobs && !status && !r->stop; i++) {
        struct slot *slot = &r->slot[i];
        while (r->next < s->grid.points && s->row[r->next].cell)
            r->next++;
        if (slot->child.pid || r->next == s->grid.points)
            continue;
        status = make_command(s, r->next, c, err);
        if (!status)
            status = mw_child_start(&slot->child, c->word, NULL, err);
        slot->point = r->next++;
        r->running += !status;
    }
    free(c);
    return status;
}

static void tell_failure(struct runner *r, size_t point, int status, const char *words)
{
    static const char own[] = "moeswitch: ";
    char text[300], id[MW_POINT_ID];
    mw_grid_text(&r->s->grid, point, text, sizeof text);
    mw_grid_id(&r->s->grid, point, id);
    mw_bar_clear(&r->bar);
    if (strncmp(words, own, sizeof own - 1) == 0)
        words += sizeof own - 1;
    if (*words)
        fprintf(r->s->err, "moeswitch: run %s (%s): %s\n", id, MW_SHOWN(text), MW_SHOWN(words));
    else
        fprintf(r->s->err, "moeswitch: run %s (%s): ended with status %d\n", id, MW_SHOWN(text),
                status);
}

/// A run that is over: its result, or why there is none.
static int take_over(struct runner *r, struct slot *slot, int status, struct mw_error *err)
{
    struct mw_sweep *s = r->s;
    char words[1024];
    mw_child_last_words(&slot->child, words, sizeof words);
    r->running--;
    r->over++;
    r->weight_over += s->weight[slot->point];
    if (status <= MW_EXIT_MISMATCH)
        return mw_sweep_take(s, slot->point, err);
    if (r->stop || (status > 128 && mw_interrupted))
        return MW_EXIT_OK;
    s->failed++;
    tell_failure(r, slot->point, status, words);
    if (status == MW_EXIT_INPUT || status == MW_EXIT_STUCK) {
        s->worst = status > s->worst ? status : s->worst;
        return MW_EXIT_OK;
    }
    return mw_fail(err, status == MW_EXIT_INTERRUPTED ? status : MW_EXIT_FAILED,
                   "the sweep ends here; the same command continues it");
}

static void show(struct runner *r)
{
    char text[80];
    const size_t all = r->s->grid.points;
    snprintf(text, sizeof text, "%zu of %zu runs", all - r->pending + r->over, all);
    mw_bar_show_share(&r->bar, mw_seconds(), r->weight > 0 ? r->weight_over / r->weight : 1,
                      "sweep", text);
}

/// Send signal `number` to every run.
static void end_all(struct runner *r, int number)
{
    for (unsigned i = 0; i < r->s->jobs; i++)
        if (r->slot[i].child.pid)
            kill(r->slot[i].child.pid, number);
}

/// Look at every run once, and wait until there may be something to see.
static int look(struct runner *r, const sigset_t *ends, struct mw_error *err)
{
    const struct timespec frame = {0, 100000000};
    int status = MW_EXIT_OK, how;
    bool any = false;
    for (unsigned i = 0; i < r->s->jobs && !status; i++) {
        struct slot *slot = &r->slot[i];
        if (!slot->child.pid || !mw_child_ended(&slot->child, &how))
            continue;
        any = true;
        status = take_over(r, slot, how, err);
    }
    show(r);
    if (!any)
        sigtimedwait(ends, NULL, &frame);
    return status;
}

/// Until nothing runs any more. The first failure, or Ctrl-C, stops what has not begun,
/// and ends the rest.
static int supervise(struct runner *r, const sigset_t *ends, struct mw_error *err)
{
    int status = MW_EXIT_OK;
    double stopped = 0;
    do {
        struct mw_error cause;
        int got = r->stop ? MW_EXIT_OK : start_some(r, &cause);
        if (!got && r->running)
            got = look(r, ends, &cause);
        if (!got && !r->stop && mw_interrupted)
            got =
                mw_fail(&cause, MW_EXIT_INTERRUPTED, "interrupted; the same command continues it");
        if (got && !r->stop) {
            status = mw_fail(err, got, "%s", cause.text);
            r->stop = true;
            stopped = mw_seconds();
            end_all(r, SIGINT);
        } else if (r->stop && mw_seconds() - stopped > PATIENCE) {
            end_all(r, SIGKILL);
        }
    } while (r->running || (!r->stop && r->next < r->s->grid.points));
    return status;
}

int mw_sweep_run(struct mw_sweep *s, struct mw_error *err)
{
    sigset_t ends, before;
    struct runner *r = calloc(1, sizeof *r);
    if (!r)
        return mw_fail_memory(err, "the runs");
    r->s = s;
    s->jobs = s->jobs < MAX_SIDE_BY_SIDE ? s->jobs : MAX_SIDE_BY_SIDE;
    for (size_t i = 0; i < s->grid.points; i++) {
        r->pending += !s->row[i].cell;
        r->weight += s->row[i].cell ? 0 : s->weight[i];
    }
    mw_bar_begin(&r->bar, s->err, isatty(fileno(s->err)), mw_seconds());
    mw_run_share_cores(s->jobs < r->pending ? s->jobs : (unsigned)r->pending);
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ends, &before);
    mw_interrupt_begin();
    int status = supervise(r, &ends, err);
    mw_interrupt_end();
    sigprocmask(SIG_SETMASK, &before, NULL);
    mw_bar_clear(&r->bar);
    free(r);
    return status;
}
