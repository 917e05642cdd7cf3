// SPDX-License-Identifier: Apache-2.0
//
// Tables of `moeswitch plan` for people, see plan.h.
#include "plan/plan.h"

#include "cost/tensor.h"
#include "report/report.h"
#include "systems/system_list.h"

#include <string.h>

enum { SIZES = 160 };

const char *mw_plan_sizes(const struct mw_parallel *p, char *text, size_t size)
{
    const struct {
        const char *name;
        unsigned value;
        bool always;
    } part[] = {{"tp", p->tp, false},
                {"cp", p->cp, false},
                {"ep", p->ep, true},
                {"pp", p->pp, true},
                {"vp", p->virtual_stages, false},
                {"dp", p->dp, true},
                {"mb", p->micro_batch, true}};
    size_t at = 0;
    for (unsigned i = 0; i < sizeof part / sizeof *part && at < size; i++)
        if (part[i].always || part[i].value > 1)
            at += (size_t)snprintf(text + at, size - at, "%s%s %u", at ? ", " : "", part[i].name,
                                   part[i].value);
    if (p->recompute != MW_KEEP_ALL && at < size)
        snprintf(text + at, size - at, ", rc %s", mw_recompute_names[p->recompute]);
    return text;
}

const char *mw_plan_outside(unsigned outside, char *text, size_t size)
{
    size_t at = 0;
    *text = 0;
    for (unsigned i = 0; i < MW_RANGES + MW_TENSOR_RANGES && at < size; i++)
        if (outside >> i & 1)
            at += (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "",
                                   i < MW_RANGES ? mw_range_names[i]
                                                 : mw_tensor_range_names[i - MW_RANGES]);
    return text;
}

enum mw_step_part mw_plan_limit(const struct mw_step *s)
{
    unsigned most = 0;
    for (unsigned i = 1; i < MW_STEP_PARTS; i++)
        most = s->part[i] > s->part[most] ? i : most;
    return (enum mw_step_part)most;
}

static void report_head(FILE *out, const struct mw_plan *plan)
{
    const struct mw_task *t = &plan->params->task;
    const struct mw_transformer *m = &t->model;
    mw_report_paragraph(out,
                        "%s: %.1f B weights, %.1f B of them per token; %s: %u GPUs, %u of each %s",
                        m->name, mw_all_weights(m) / 1e9, mw_active_weights(m) / 1e9,
                        mw_goal_names[t->goal], t->gpus, t->hardware->gpus, t->hardware->name);
    mw_report_paragraph(out,
                        "batch %u, sequence %u, %s GEMMs, %s dispatch, schedule %s%s; routing: %s",
                        t->batch, t->sequence, mw_gemm_names[t->gemm], mw_gemm_names[t->dispatch],
                        mw_schedule_names[t->schedule],
                        t->overlap_batches ? ", batches overlap" : "", plan->trace.name);
    mw_report_paragraph(
        out,
        "communication of experts and tensor parallelism (%s): calibrated on the RTL; "
        "all else: %sroofline at %g %% of FLOPS, %g %% in attention, %g %% of "
        "memory GB/s; networks: latency and rate",
        mw_tp_systems[plan->params->tensor_system]->name,
        plan->params->compute ? "measured times, where there are none " : "", 100 * t->gemm_share,
        100 * t->attention_share, 100 * t->memory_share);
    mw_report_paragraph(out, "%zu configurations; left out, because they do not fit %.1f GB: %zu",
                        plan->search.tried, t->capacity / 1e9, plan->search.too_large);
}

/// A line of either table. `name` is the number or nothing.
static void report_line(FILE *out, const struct mw_plan *plan, const char *name,
                        const struct mw_step *s, double over)
{
    const struct mw_task *t = &plan->params->task;
    char sizes[SIZES];
    fprintf(out, "%-3s %-13s %10.3f%s %10.1f %5.1f %6.1f %6.3f %-21s %s\n", name,
            mw_systems[s->system].name, 1e3 * s->seconds, s->outside ? "*" : " ",
            mw_task_tokens(t) / s->seconds / t->gpus, 100 * mw_step_mfu(t, s),
            mw_memory_sum(s->memory) / 1e9, over / s->seconds, mw_step_names[mw_plan_limit(s)],
            mw_plan_sizes(&s->parallel, sizes, sizeof sizes));
}

static void report_columns(FILE *out, const char *title, const char *base)
{
    fprintf(out, "\n%s\n%s%-3s %-13s %10s  %10s %5s %6s %6s %-21s %s%s\n", title,
            mw_look(out, MW_HEAD), "", "system", "ms", "tokens/s", "MFU %", "GB", base, "limit",
            "configuration", mw_look(out, MW_PLAIN));
}

/// The time that the others are compared with: of the first system that has one.
static double base_of(const struct mw_search *s, const char **name)
{
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        if (s->of[i].seconds > 0) {
            *name = mw_systems[i].name;
            return s->of[i].seconds;
        }
    *name = "";
    return 0;
}

static void report_explained(FILE *out, const struct mw_step *s, unsigned number)
{
    char sizes[SIZES];
    fprintf(out, "\nLine %u: %s, %s\n", number, mw_systems[s->system].name,
            mw_plan_sizes(&s->parallel, sizes, sizeof sizes));
    fprintf(out, "%s%-24s %12s %7s%s\n", mw_look(out, MW_HEAD), "time of", "ms", "%",
            mw_look(out, MW_PLAIN));
    for (unsigned i = 0; i < MW_STEP_PARTS; i++)
        if (s->part[i] > 0)
            fprintf(out, "%-24s %12.3f %7.1f\n", mw_step_names[i], 1e3 * s->part[i],
                    100 * s->part[i] / s->seconds);
    fprintf(out, "%s%-24s %12s%s\n", mw_look(out, MW_HEAD), "memory of", "GB",
            mw_look(out, MW_PLAIN));
    for (unsigned i = 0; i < MW_MEMORY_PARTS; i++)
        if (s->memory[i] > 0)
            fprintf(out, "%-24s %12.3f\n", mw_memory_names[i], s->memory[i] / 1e9);
    mw_report_paragraph(out,
                        "a micro-batch on the slowest stage: forward %.3f ms, backward %.3f ms; "
                        "forward of one layer's dispatch, experts and combine %.3f ms, experts "
                        "alone %.3f ms; %.0f rows of the busiest GPU, %.2f remote GPUs of a token; "
                        "%u of %u operators of a layer measured",
                        1e3 * s->forward, 1e3 * s->backward, 1e3 * s->moe_forward,
                        1e3 * s->moe_experts, s->expert_rows, s->remote, s->measured, s->operators);
}

void mw_plan_report(FILE *out, const struct mw_plan *plan)
{
    const struct mw_search *s = &plan->search;
    const char *base;
    const double over = base_of(s, &base);
    unsigned outside = 0;
    char text[MW_OUTSIDE_BYTES], number[16];
    report_head(out, plan);
    report_columns(out, "The fastest of each system", "over");
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        if (s->of[i].seconds > 0) {
            report_line(out, plan, "", &s->of[i], over);
            outside |= s->of[i].outside;
        }
    report_columns(out, "The fastest configurations, each under its fastest system", "over");
    for (unsigned i = 0; i < s->found; i++) {
        snprintf(number, sizeof number, "%u", i + 1);
        report_line(out, plan, number, &s->best[i], over);
        outside |= s->best[i].outside;
    }
    fprintf(out, "over: %s's time, over that of the line\n", base);
    if (outside)
        mw_report_paragraph(out, "* extrapolated beyond the calibrated ranges: %s",
                            mw_plan_outside(outside, text, sizeof text));
    if (plan->params->explain)
        report_explained(out, &s->best[plan->params->explain - 1], plan->params->explain);
}
