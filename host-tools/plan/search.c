// SPDX-License-Identifier: Apache-2.0
//
// See search.h. Loops over each size in turn; a way is left as soon as a size does not divide.
#include "plan/search.h"

#include "plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VIRTUAL = 8, MOST_MICRO = 16, MOST_CONTEXT = 16 };

struct walk {
    struct mw_search *s;
    struct mw_planner *p;
    const struct mw_parallel *fixed;
    bool recompute_fixed;
    struct mw_parallel at;
    struct mw_error *err;
};

static const struct mw_task *task_of(const struct walk *w)
{
    return &w->p->task;
}

// ---- results ------------------------------------------------------------------------------------

static void keep_of_system(struct mw_search *s, const struct mw_step *step)
{
    struct mw_step *of = &s->of[step->system];
    if (!(of->seconds > 0) || step->seconds < of->seconds)
        *of = *step;
}

static void keep(struct mw_search *s, const struct mw_step *step)
{
    if (s->found == s->top && step->seconds >= s->best[s->found - 1].seconds)
        return;
    unsigned at = s->found < s->top ? s->found++ : s->found - 1;
    for (; at > 0 && s->best[at - 1].seconds > step->seconds; at--)
        s->best[at] = s->best[at - 1];
    s->best[at] = *step;
}

static int take(struct walk *w)
{
    struct mw_step step;
    int status = mw_step_memory(w->p, &w->at, &step, w->err);
    if (status)
        return status;
    const double bytes = mw_memory_sum(step.memory);
    struct mw_search *s = w->s;
    s->tried++;
    if (s->tried == 1 || bytes < mw_memory_sum(s->smallest.memory))
        s->smallest = step;
    if (bytes > task_of(w)->capacity) {
        s->too_large++;
        return MW_EXIT_OK;
    }
    struct mw_step fastest = {0};
    for (unsigned i = 0; i < MW_SYSTEMS; i++) {
        if (!s->system[i])
            continue;
        status = mw_step_make(w->p, &w->at, i, &step, w->err);
        if (status)
            return status;
        keep_of_system(s, &step);
        if (!(fastest.seconds > 0) || step.seconds < fastest.seconds)
            fastest = step;
    }
    keep(s, &fastest);
    return MW_EXIT_OK;
}

// ---- sizes, the innermost first -----------------------------------------------------------------

static int each_recompute(struct walk *w)
{
    int status = MW_EXIT_OK;
    if (task_of(w)->goal != MW_TRAIN || w->recompute_fixed) {
        w->at.recompute = task_of(w)->goal == MW_TRAIN ? w->fixed->recompute : MW_KEEP_ALL;
        return take(w);
    }
    for (unsigned i = 0; i < MW_RECOMPUTES && !status; i++) {
        w->at.recompute = (enum mw_recompute)i;
        status = take(w);
    }
    return status;
}

/// Whether the schedule runs so many micro-batches and virtual stages.
static bool schedule_allows(const struct walk *w)
{
    const struct mw_parallel *at = &w->at;
    const unsigned batches = mw_micro_batches(task_of(w), at);
    if (task_of(w)->goal == MW_TRAIN && task_of(w)->schedule == MW_DUALPIPE)
        return at->virtual_stages == 1 && at->pp % 2 == 0 && batches >= 2 * at->pp;
    return at->virtual_stages == 1 || (at->pp > 1 && batches % at->pp == 0 &&
                                       at->pp * at->virtual_stages <= mw_task_layers(task_of(w)));
}

static int each_virtual(struct walk *w)
{
    const unsigned fixed = w->fixed->virtual_stages;
    const unsigned most = fixed ? fixed : task_of(w)->goal == MW_TRAIN ? MOST_VIRTUAL : 1;
    int status = MW_EXIT_OK;
    for (unsigned v = fixed ? fixed : 1; v <= most && !status; v = fixed ? v + 1 : 2 * v) {
        w->at.virtual_stages = v;
        if (schedule_allows(w))
            status = each_recompute(w);
    }
    return status;
}

static int each_micro(struct walk *w)
{
    const unsigned own = task_of(w)->batch / w->at.dp, fixed = w->fixed->micro_batch;
    // decode has as many micro-batches as stages, so that all stages work
    const unsigned decode = own % w->at.pp == 0 ? own / w->at.pp : 0;
    const unsigned only = fixed ? fixed : task_of(w)->goal == MW_DECODE ? decode : 0;
    int status = MW_EXIT_OK;
    for (unsigned b = only ? only : 1; b <= (only ? only : MOST_MICRO) && b <= own && !status;
         b = only ? b + 1 : 2 * b) {
        if (own % b || (task_of(w)->goal == MW_DECODE && !only))
            continue;
        w->at.micro_batch = b;
        status = each_virtual(w);
    }
    return status;
}

static int each_experts(struct walk *w)
{
    const unsigned all = w->at.tp * w->at.cp * w->at.dp, experts = task_of(w)->model.experts;
    const unsigned machine = task_of(w)->hardware->gpus;
    int status = MW_EXIT_OK;
    for (unsigned e = 1; e <= experts && e <= all && !status; e++) {
        if (experts % e || all % e || (w->fixed->ep && e != w->fixed->ep) ||
            (e > machine && e % machine))
            continue;
        w->at.ep = e;
        status = each_micro(w);
    }
    return status;
}

static int each_stage(struct walk *w)
{
    const struct mw_task *t = task_of(w);
    const unsigned here = w->at.tp * w->at.cp;
    int status = MW_EXIT_OK;
    for (unsigned p = 1; p <= mw_task_layers(t) && p <= t->gpus / here && !status; p++) {
        if ((w->fixed->pp && p != w->fixed->pp) || t->gpus % (here * p))
            continue;
        w->at.pp = p;
        w->at.dp = t->gpus / (here * p);
        if (t->batch % w->at.dp == 0 && (!w->fixed->dp || w->at.dp == w->fixed->dp))
            status = each_experts(w);
    }
    return status;
}

static int each_context(struct walk *w)
{
    const struct mw_task *t = task_of(w);
    const unsigned fixed = w->fixed->cp;
    const bool split = t->goal != MW_DECODE && t->sequence >= MW_LONG_CONTEXT;
    const unsigned most = fixed ? fixed : split ? MOST_CONTEXT : 1;
    int status = MW_EXIT_OK;
    for (unsigned c = fixed ? fixed : 1; c <= most && !status; c = fixed ? c + 1 : 2 * c) {
        w->at.cp = c;
        if (t->gpus % (w->at.tp * c) == 0 && t->sequence % (w->at.tp * c) == 0)
            status = each_stage(w);
    }
    return status;
}

static int each_tensor(struct walk *w)
{
    const struct mw_task *t = task_of(w);
    const unsigned fixed = w->fixed->tp;
    int status = MW_EXIT_OK;
    for (unsigned n = fixed ? fixed : 1; n <= (fixed ? fixed : t->hardware->gpus) && !status;
         n = fixed ? n + 1 : 2 * n) {
        w->at.tp = n;
        if (t->model.heads % n == 0 && t->gpus % n == 0)
            status = each_context(w);
    }
    return status;
}

// ---- the whole ----------------------------------------------------------------------------------

static int none_fits(const struct mw_search *s, const struct mw_planner *p, struct mw_error *err)
{
    const double *bytes = s->smallest.memory, all = mw_memory_sum(bytes);
    unsigned largest = 0;
    char sizes[160];
    for (unsigned i = 1; i < MW_MEMORY_PARTS; i++)
        largest = bytes[i] > bytes[largest] ? i : largest;
    return mw_fail(err, MW_EXIT_INPUT,
                   "none of %zu configurations fits %.1f GB of a GPU: the smallest (%s) takes "
                   "%.1f GB, %.1f GB too much; %s alone: %.1f GB",
                   s->tried, p->task.capacity / 1e9,
                   mw_plan_sizes(&s->smallest.parallel, sizes, sizeof sizes), all / 1e9,
                   (all - p->task.capacity) / 1e9, mw_memory_names[largest], bytes[largest] / 1e9);
}

int mw_search_run(struct mw_search *s, struct mw_planner *p, const struct mw_parallel *fixed,
                  bool recompute_fixed, struct mw_error *err)
{
    struct walk w = {
        .s = s, .p = p, .fixed = fixed, .recompute_fixed = recompute_fixed, .err = err};
    s->best = calloc(s->top, sizeof *s->best);
    int status = s->best ? each_tensor(&w) : mw_fail_memory(err, "the configurations");
    if (status)
        return status;
    if (!s->tried)
        return mw_fail(err, MW_EXIT_INPUT,
                       "no sizes of parallelism divide %u GPUs, a batch of %u, %u heads and %u "
                       "experts as the options require",
                       p->task.gpus, p->task.batch, p->task.model.heads, p->task.model.experts);
    return s->too_large == s->tried ? none_fits(s, p, err) : MW_EXIT_OK;
}

void mw_search_free(struct mw_search *s)
{
    free(s->best);
    s->best = NULL;
}
