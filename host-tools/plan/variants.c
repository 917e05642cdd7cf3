// SPDX-License-Identifier: Apache-2.0
//
// See variants.h.
#include "plan/variants.h"

/// One variant under each system. The planner is one of its own: samples depend on the routing.
static int take(struct mw_variant *one, const struct mw_search *s, struct mw_planner *p,
                const struct mw_parallel *how, struct mw_error *err)
{
    int status = MW_EXIT_OK;
    for (unsigned i = 0; i < MW_SYSTEMS && !status; i++) {
        struct mw_step step;
        if (!s->system[i])
            continue;
        status = mw_step_make(p, how, i, &step, err);
        one->seconds[i] = step.seconds;
        one->extrapolated |= !status && step.outside;
    }
    return status;
}

/// As a machine's switches have them, or several machines'.
static bool allows(const struct mw_task *t, const struct mw_parallel *how, unsigned gpus)
{
    return t->model.experts % gpus == 0 && how->tp * how->cp * how->dp % gpus == 0 &&
           (gpus <= t->hardware->gpus || gpus % t->hardware->gpus == 0);
}

static int vary_gpus(struct mw_variants *v, const struct mw_search *s, const struct mw_planner *of,
                     struct mw_error *err)
{
    struct mw_planner p = *of;
    struct mw_parallel how = s->best[0].parallel;
    int status = MW_EXIT_OK;
    p.cache = NULL;
    p.cached = 0;
    for (unsigned n = 2; n <= p.task.model.experts && v->gpus < MW_VARIANTS && !status; n++) {
        if (!allows(&p.task, &how, n))
            continue;
        struct mw_variant *one = &v->by_gpus[v->gpus++];
        how.ep = one->value = n;
        status = take(one, s, &p, &how, err);
    }
    p.compute = (struct mw_compute){0}; // which belongs to the other one
    mw_planner_free(&p);
    return status;
}

static int vary_k(struct mw_variants *v, const struct mw_search *s, const struct mw_planner *of,
                  const struct mw_synthetic *synthetic, struct mw_error *err)
{
    int status = MW_EXIT_OK;
    for (unsigned k = 1; k <= MW_MAX_K && k <= of->task.model.experts && !status; k *= 2) {
        struct mw_planner p = *of;
        struct mw_synthetic how = *synthetic;
        struct mw_trace trace;
        how.k = p.task.model.k = k;
        status = mw_trace_make(&trace, &how, err);
        if (status)
            return status;
        p.trace = &trace;
        p.cache = NULL;
        p.cached = 0;
        v->by_k[v->ks].value = k;
        status = take(&v->by_k[v->ks++], s, &p, &s->best[0].parallel, err);
        p.compute = (struct mw_compute){0};
        mw_planner_free(&p);
        mw_trace_free(&trace);
    }
    return status;
}

int mw_variants_make(struct mw_variants *v, const struct mw_search *s, const struct mw_planner *p,
                     const struct mw_synthetic *synthetic, struct mw_error *err)
{
    *v = (struct mw_variants){0};
    int status = vary_gpus(v, s, p, err);
    return status || !synthetic ? status : vary_k(v, s, p, synthetic, err);
}
