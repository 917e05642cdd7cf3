// SPDX-License-Identifier: Apache-2.0
//
// See swept.h: runs, and plans.
#include "sweep/swept.h"

#include "plan/plan.h"
#include "run/run.h"
#include "systems/systems.h"
#include "tp_run/tp_run.h"

#include <stdlib.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

// ---- runs ---------------------------------------------------------------------------------------

static const struct mw_column run_columns[] = {
    {"system", "systems.0.system"},
    {"layers", "params.layers"},
    {"gpus", "params.gpus"},
    {"tokens_per_gpu", "params.tokens_per_gpu"},
    {"batches", "params.batches"},
    {"hidden", "params.hidden"},
    {"experts", "params.experts"},
    {"k", "params.k"},
    {"sigma", "params.sigma"},
    {"locality", "params.locality"},
    {"groups", "params.groups"},
    {"topk_groups", "params.topk_groups"},
    {"tile", "params.tile"},
    {"partial_tiles", "params.partial_tiles"},
    {"expert_cycles", "params.expert_cycles"},
    {"flit_bytes", "params.flit_bytes"},
    {"link_latency", "params.link_latency"},
    {"link_cycles", "params.link_cycles"},
    {"in_flight", "params.in_flight"},
    {"open_rows", "params.open_rows"},
    {"spread", "params.spread"},
    {"seed", "params.seed"},
    {"cycles", "systems.0.cycles"},
    {"speedup", NULL},
    {"strict_bound_cycles", "systems.0.strict_bound_cycles"},
    {"own_bound_cycles", "systems.0.own_bound_cycles"},
    {"strict_share", "systems.0.strict_share"},
    {"own_share", "systems.0.own_share"},
    {"own_bound_at", "systems.0.own_bound_at"},
    {"up_payload_bytes", "systems.0.up.payload_bytes_mean"},
    {"up_payload_bytes_max", "systems.0.up.payload_bytes_max"},
    {"up_wire_bytes", "systems.0.up.wire_bytes_mean"},
    {"up_use", "systems.0.up.use_mean"},
    {"down_payload_bytes", "systems.0.down.payload_bytes_mean"},
    {"down_payload_bytes_max", "systems.0.down.payload_bytes_max"},
    {"down_wire_bytes", "systems.0.down.wire_bytes_mean"},
    {"down_use", "systems.0.down.use_mean"},
    {"allocator_hits", "systems.0.allocator.hits"},
    {"allocator_misses", "systems.0.allocator.misses"},
    {"hit_rate", NULL},
    {"forward_cycles", "systems.0.pass_cycles.forward"},
    {"backward_cycles", "systems.0.pass_cycles.backward"},
    {"counted_again_cycles", "systems.0.pass_cycles.counted_again"},
    {"handle_saved_cycles", NULL},
    {"wrong", "systems.0.wrong"},
    {"flit_errors", "systems.0.flit_errors"},
    {"fed_wrong", "systems.0.feeding.wrong"},
    {"workload", "params.workload"},
    {"rows", "params.rows"},
    {"shape", "params.shape"},
    {"gemm_rs_cycles", "params.gemm_rs_cycles"},
    {"ln_cycles", "params.ln_cycles"},
    {"ag_gemm_cycles", "params.ag_gemm_cycles"},
    {"jitter", "params.jitter"},
    {"start_spread", "params.start_spread"},
    {"ranges", "systems.0.ranges"},
    {"limit_cycles", "systems.0.limit.cycles"},
    {"limit_at", "systems.0.limit.at"},
    {"load_merge_rate", "systems.0.loads.merge_rate"},
    {"load_entries", "systems.0.loads.most_entries"},
    {"load_spread", "systems.0.loads.spread_mean"},
    {"sum_merge_rate", "systems.0.sums.merge_rate"},
    {"sum_entries", "systems.0.sums.most_entries"},
    {"model", "params.preset"},
    {"trace", "params.trace"}, // a name with commas, after what is easily cut out
    {"result", NULL},
};

static const struct mw_column machine_columns[] = {
    {"row_hidden", "params.hardware.row_hidden"},
    {"cycle_ns", "params.hardware.cycle_ns"},
    {"us", "systems.0.us"},
    {"dispatch_us", "systems.0.dispatch_us"},
    {"expert_us", "systems.0.expert_us"},
    {"combine_us", "systems.0.combine_us"},
    {"algorithm_gbytes_per_s", "systems.0.algorithm_gbytes_per_s"},
    {"bus_gbytes_per_s", "systems.0.bus_gbytes_per_s"},
    {"dispatch_gbytes_per_s", "systems.0.dispatch_gbytes_per_s"},
    {"combine_gbytes_per_s", "systems.0.combine_gbytes_per_s"},
};

static const struct mw_panel run_panels[] = {
    {"speedup", "speed-up over unicast", 1},
    {"up_payload_bytes", "payload up, KiB per GPU", 1.0 / 1024},
    {"down_payload_bytes", "payload down, KiB per GPU", 1.0 / 1024},
    {"strict_share", "share of the strict bound, %", 100},
    {"own_share", "share of own bound, %", 100},
    {"hit_rate", "allocator hit rate, %", 100},
};

static int check_run(int count, char **words, double *weight, struct mw_error *err)
{
    struct mw_trace trace;
    struct mw_tp_problem problem = {0};
    struct mw_run_params *p = calloc(1, sizeof *p);
    bool help;
    if (!p)
        return mw_fail_memory(err, "a run");
    int status = mw_run_parse(p, count, words, &help, err);
    if (!status && p->list_models)
        status = mw_fail(err, MW_EXIT_INPUT, "--model list: expected the name of one");
    if (!status && p->device.usb)
        status = mw_fail(err, MW_EXIT_INPUT, "--device usb: a sweep runs on simulated devices");
    if (!status && p->tp.kind) {
        status = mw_tp_prepare(p, &problem, err);
        *weight = (double)problem.gpus * problem.o.rows * problem.hidden;
        free(p);
        return status;
    }
    if (!status)
        status = mw_system_settings_check(p, err);
    if (!status && !(status = mw_run_route(p, &trace, err)))
        mw_trace_free(&trace);
    if (!status)
        *weight = (double)p->shape.gpus * p->shape.tokens_per_gpu * p->shape.hidden *
                  p->layer_count * (p->shape.batches ? p->shape.batches : 1);
    free(p);
    return status;
}

const struct mw_swept mw_swept_run = {
    .name = "run",
    .table = &mw_run_table,
    .time = "systems.0.cycles",
    .column = run_columns,
    .columns = COUNT(run_columns),
    .machine = machine_columns,
    .machines = COUNT(machine_columns),
    .panel = run_panels,
    .panels = COUNT(run_panels),
    .simulates = true,
    .check = check_run,
};

// ---- plans --------------------------------------------------------------------------------------

static const struct mw_column plan_columns[] = {
    {"system", "systems.0.system"},
    {"model", "params.model.name"},
    {"hardware", "params.hardware"},
    {"goal", "params.goal"},
    {"gpus", "params.gpus"},
    {"batch", "params.batch"},
    {"sequence", "params.sequence"},
    {"gemm_type", "params.gemm_type"},
    {"dispatch_type", "params.dispatch_type"},
    {"cache_type", "params.cache_type"},
    {"schedule", "params.schedule"},
    {"overlap_batches", "params.overlap_batches"},
    {"tp_system", "params.tp_system"},
    {"ms", "systems.0.ms"},
    {"speedup", NULL},
    {"tokens_per_s_per_gpu", "systems.0.tokens_per_s_per_gpu"},
    {"mfu", "systems.0.mfu"},
    {"limit", "systems.0.limit"},
    {"tp", "systems.0.tp"},
    {"cp", "systems.0.cp"},
    {"ep", "systems.0.ep"},
    {"pp", "systems.0.pp"},
    {"dp", "systems.0.dp"},
    {"virtual_stages", "systems.0.virtual_stages"},
    {"micro_batch", "systems.0.micro_batch"},
    {"recompute", "systems.0.recompute"},
    {"moe_ms", "systems.0.part_ms.moe"},
    {"tensor_ms", "systems.0.part_ms.tensor"},
    {"bubble_ms", "systems.0.part_ms.bubble"},
    {"configurations_tried", "configurations_tried"},
    {"configurations_too_large", "configurations_too_large"},
    {"extrapolated", "systems.0.extrapolated"},
    {"extrapolated_by", "systems.0.extrapolated_by"},
    {"routing", "params.routing"}, // a name with commas, after what is easily cut out
    {"result", NULL},
};

static const struct mw_panel plan_panels[] = {
    {"speedup", "speed-up over unicast", 1},
    {"tokens_per_s_per_gpu", "tokens/s of a GPU", 1},
    {"mfu", "MFU, %", 100},
    {"moe_ms", "MoE communication, ms", 1},
    {"tensor_ms", "tensor parallelism, ms", 1},
    {"bubble_ms", "bubble, ms", 1},
};

static int check_plan(int count, char **words, double *weight, struct mw_error *err)
{
    bool help;
    struct mw_plan_params *p = calloc(1, sizeof *p);
    *weight = 1;
    int status = p ? mw_plan_parse(p, count, words, &help, err) : mw_fail_memory(err, "a plan");
    free(p);
    return status;
}

const struct mw_swept mw_swept_plan = {
    .name = "plan",
    .table = &mw_plan_table,
    .time = "systems.0.ms",
    .column = plan_columns,
    .columns = COUNT(plan_columns),
    .panel = plan_panels,
    .panels = COUNT(plan_panels),
    .check = check_plan,
};
