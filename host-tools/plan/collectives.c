// SPDX-License-Identifier: Apache-2.0
//
// See collectives.h. Tensor parallelism gathers rows before a split projection, and adds rows after
// the next one. Each runs beside the GEMM that uses or makes the rows: the workloads of
// docs/design/tensor-parallel.md. Where attention and FFN are both split, one's sums with LN and
// the other's gather are a sublayer.
#include "plan/collectives.h"

#include "cost/collective.h"
#include "cost/tensor.h"

#include <math.h>

enum {
    ACTIVATION = 2, ///< bytes
    WAYS = 2,       ///< LN reads a row and writes it
    TILE_SHARE = 4, ///< of a home's rows, a tile has at most one part of so many
};

static double norm_seconds(const struct mw_task *t)
{
    return WAYS * ACTIVATION * (double)t->model.hidden /
           (t->hardware->memory_gbytes * 1e9 * t->memory_share);
}

/// Seconds of a workload beyond its GEMMs of `first` and `second` seconds and LN, which count as
/// parts of their own.
static double exposed(const struct mw_planner *p, const struct mw_parallel *how,
                      enum mw_tp_kind kind, double first, double second, struct mw_step *s)
{
    const struct mw_calibration *c = &p->calibration[MW_FIT_TENSOR];
    const double cycle = p->combine.cycle_ns * 1e-9, norm = norm_seconds(&p->task);
    const double rows = fmax(how->tp, mw_part_tokens(&p->task, how));
    const struct mw_tensor_work work = {
        .kind = kind,
        .gpus = how->tp,
        .rows = rows,
        .hidden = p->combine.hidden,
        .cycles = {first / rows / cycle, norm / cycle, second / rows / cycle},
        .tile = (unsigned)fmax(1, fmin(p->tile, floor(rows / how->tp / TILE_SHARE))),
        .flit_bytes = MW_PLAN_FLIT,
        .link_latency = p->combine.link_latency,
    };
    double range[MW_RANGES];
    mw_tensor_ranges(&work, range);
    s->outside |= mw_calibration_outside(c, range) << MW_RANGES;
    const double own = kind == MW_TP_SUBLAYER ? norm * rows / how->tp : 0;
    return fmax(0, mw_tensor_cycles(c, &work, p->tensor_system) * cycle - first - second - own);
}

/// From one split projection to the next. Few rows may be added at every GPU, which then has all
/// rows in front of the next projection, and computes LN of them all.
static double between(const struct mw_planner *p, const struct mw_parallel *how, double reduced,
                      double gathered, struct mw_step *s)
{
    const double sublayer = exposed(p, how, MW_TP_SUBLAYER, reduced, gathered, s);
    if (p->task.goal != MW_DECODE)
        return sublayer;
    const double more = mw_part_tokens(&p->task, how) * (1 - 1.0 / how->tp);
    return fmin(sublayer,
                exposed(p, how, MW_TP_GEMM_AR, reduced, 0, s) + norm_seconds(&p->task) * more);
}

/// Between machines, by latency and rate.
static double far_seconds(const struct mw_task *t, const struct mw_parallel *how, bool ffn_split)
{
    const double bytes = mw_part_tokens(t, how) * t->model.hidden * ACTIVATION;
    return (ffn_split ? 4 : 2) *
           mw_gather_seconds(t->hardware, (struct mw_group){how->tp, 1}, bytes);
}

static double tensor_seconds(const struct mw_planner *p, const struct mw_parallel *how,
                             bool ffn_split, struct mw_step *s, const struct mw_layer_time *time)
{
    const double *in = time->gathered, *out = time->reduced;
    if (!mw_group_is_local(p->task.hardware, (struct mw_group){how->tp, 1}))
        return far_seconds(&p->task, how, ffn_split);
    if (ffn_split)
        return between(p, how, out[MW_SIDE_ATTENTION], in[MW_SIDE_FFN], s) +
               between(p, how, out[MW_SIDE_FFN], in[MW_SIDE_ATTENTION], s);
    return exposed(p, how, MW_TP_AG_GEMM, 0, in[MW_SIDE_ATTENTION], s) +
           exposed(p, how, MW_TP_GEMM_RS, out[MW_SIDE_ATTENTION], 0, s);
}

/// Keys and values, beside attention.
static double context_seconds(const struct mw_task *t, const struct mw_parallel *how,
                              const struct mw_layer_time *time)
{
    const struct mw_group group = {how->cp, how->tp};
    const double kept = mw_kept_values(&t->model) / (t->model.kv_rank ? 1 : how->tp);
    const double bytes = mw_part_tokens(t, how) * how->cp * kept * ACTIVATION;
    const double hidden = time->part[MW_P_ATTENTION] / (t->goal == MW_TRAIN ? 3 : 1);
    return fmax(0, mw_gather_seconds(t->hardware, group, bytes) - hidden);
}

void mw_collectives_add(const struct mw_planner *p, const struct mw_parallel *how, bool ffn_split,
                        struct mw_step *s, struct mw_layer_time *time)
{
    const bool train = p->task.goal == MW_TRAIN;
    if (how->tp > 1) {
        const double tensor = tensor_seconds(p, how, ffn_split, s, time);
        const double again = train ? 1 + (how->recompute == MW_RECOMPUTE_FULL) : 0;
        time->part[MW_P_TENSOR] += tensor * (1 + again);
        time->forward += tensor;
        time->backward += tensor * again;
    }
    if (how->cp > 1 && p->task.goal != MW_DECODE) {
        const double context = context_seconds(&p->task, how, time);
        time->part[MW_P_CONTEXT] += context * (train ? 3 : 1);
        time->forward += context;
        time->backward += train ? 2 * context : 0;
    }
}
