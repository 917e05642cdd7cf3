// SPDX-License-Identifier: Apache-2.0
//
// A plan as JSON, see plan.h.
#include "plan/plan.h"

#include "formats/json.h"
#include "systems/system_list.h"
#include "tp/tp.h"

#include "moeswitch.h"

static void json_model(struct mw_json *j, const struct mw_transformer *m)
{
    mw_json_object(j, "model", true);
    mw_json_string(j, "name", m->name);
    mw_json_uint(j, "layers", m->layers);
    mw_json_uint(j, "predicted_layers", m->predicted);
    mw_json_uint(j, "hidden", m->hidden);
    mw_json_uint(j, "experts", m->experts);
    mw_json_uint(j, "k", m->k);
    mw_json_double(j, "weights", mw_all_weights(m));
    mw_json_double(j, "weights_per_token", mw_active_weights(m));
    mw_json_end(j);
}

static void json_params(struct mw_json *j, const struct mw_plan *plan)
{
    const struct mw_plan_params *p = plan->params;
    const struct mw_task *t = &p->task;
    mw_json_object(j, "params", false);
    json_model(j, &t->model);
    mw_json_string(j, "hardware", t->hardware->name);
    mw_json_string(j, "goal", mw_goal_names[t->goal]);
    mw_json_uint(j, "gpus", t->gpus);
    mw_json_uint(j, "batch", t->batch);
    mw_json_uint(j, "sequence", t->sequence);
    mw_json_string(j, "gemm_type", mw_gemm_names[t->gemm]);
    mw_json_string(j, "dispatch_type", mw_gemm_names[t->dispatch]);
    mw_json_string(j, "cache_type", mw_gemm_names[t->cache]);
    mw_json_double(j, "memory_gbytes", t->capacity / 1e9);
    mw_json_double(j, "gradient_bytes", t->gradient_bytes);
    mw_json_double(j, "optimizer_bytes", t->optimizer_bytes);
    mw_json_string(j, "schedule", mw_schedule_names[t->schedule]);
    mw_json_bool(j, "overlap_batches", t->overlap_batches);
    mw_json_string(j, "tp_system", mw_tp_systems[p->tensor_system]->name);
    mw_json_string(j, "routing", plan->trace.name);
    mw_json_uint(j, "tile", p->tile);
    mw_json_end(j);
}

static void json_assumptions(struct mw_json *j, const struct mw_plan_params *p)
{
    mw_json_object(j, "assumptions", false);
    mw_json_string(j, "moe_communication", "calibrated on the RTL");
    mw_json_string(j, "tensor_parallelism", "calibrated on the RTL");
    mw_json_string(j, "compute", p->compute ? "measured, else roofline" : "roofline");
    mw_json_double(j, "gemm_efficiency", p->task.gemm_share);
    mw_json_double(j, "attention_efficiency", p->task.attention_share);
    mw_json_double(j, "memory_efficiency", p->task.memory_share);
    mw_json_double(j, "communication_share", p->task.communication_share);
    mw_json_string(j, "networks", "latency and rate");
    mw_json_end(j);
}

static void json_parallel(struct mw_json *j, const struct mw_parallel *p)
{
    mw_json_uint(j, "tp", p->tp);
    mw_json_uint(j, "cp", p->cp);
    mw_json_uint(j, "ep", p->ep);
    mw_json_uint(j, "pp", p->pp);
    mw_json_uint(j, "dp", p->dp);
    mw_json_uint(j, "virtual_stages", p->virtual_stages);
    mw_json_uint(j, "micro_batch", p->micro_batch);
    mw_json_string(j, "recompute", mw_recompute_names[p->recompute]);
}

static void json_step(struct mw_json *j, const struct mw_task *t, const struct mw_step *s)
{
    char outside[MW_OUTSIDE_BYTES];
    mw_json_object(j, NULL, false);
    mw_json_string(j, "system", mw_systems[s->system].name);
    mw_json_double(j, "ms", 1e3 * s->seconds);
    mw_json_double(j, "tokens_per_s_per_gpu", mw_task_tokens(t) / s->seconds / t->gpus);
    mw_json_double(j, "mfu", mw_step_mfu(t, s));
    mw_json_string(j, "limit", mw_step_keys[mw_plan_limit(s)]);
    json_parallel(j, &s->parallel);
    mw_json_object(j, "part_ms", true);
    for (unsigned i = 0; i < MW_STEP_PARTS; i++)
        mw_json_double(j, mw_step_keys[i], 1e3 * s->part[i]);
    mw_json_end(j);
    mw_json_object(j, "memory_gb", true);
    for (unsigned i = 0; i < MW_MEMORY_PARTS; i++)
        mw_json_double(j, mw_memory_names[i], s->memory[i] / 1e9);
    mw_json_end(j);
    mw_json_double(j, "forward_ms", 1e3 * s->forward);
    mw_json_double(j, "backward_ms", 1e3 * s->backward);
    mw_json_double(j, "moe_layer_ms", 1e3 * s->moe_forward);
    mw_json_double(j, "moe_experts_ms", 1e3 * s->moe_experts);
    mw_json_double(j, "remote_gpus_per_token", s->remote);
    mw_json_uint(j, "operators_measured", s->measured);
    mw_json_uint(j, "operators", s->operators);
    mw_json_bool(j, "extrapolated", s->outside != 0);
    mw_json_string(j, "extrapolated_by", mw_plan_outside(s->outside, outside, sizeof outside));
    mw_json_end(j);
}

static void json_variants(struct mw_json *j, const char *key, const struct mw_variant *list,
                          unsigned count)
{
    mw_json_array(j, key, false);
    for (unsigned i = 0; i < count; i++) {
        mw_json_object(j, NULL, true);
        mw_json_uint(j, "value", list[i].value);
        mw_json_bool(j, "extrapolated", list[i].extrapolated);
        mw_json_object(j, "ms", true);
        for (unsigned s = 0; s < MW_SYSTEMS; s++)
            if (list[i].seconds[s] > 0)
                mw_json_double(j, mw_systems[s].name, 1e3 * list[i].seconds[s]);
        mw_json_end(j);
        mw_json_end(j);
    }
    mw_json_end(j);
}

int mw_plan_json(struct mw_json *j, const struct mw_plan *plan, struct mw_error *err)
{
    const struct mw_search *s = &plan->search;
    const struct mw_task *t = &plan->params->task;
    int status = mw_json_open(j, err);
    if (status)
        return status;
    mw_json_object(j, NULL, false);
    mw_json_string(j, "tool", "moeswitch " MW_VERSION);
    json_params(j, plan);
    json_assumptions(j, plan->params);
    mw_json_uint(j, "configurations_tried", s->tried);
    mw_json_uint(j, "configurations_too_large", s->too_large);
    mw_json_array(j, "systems", false);
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        if (s->of[i].seconds > 0)
            json_step(j, t, &s->of[i]);
    mw_json_end(j);
    mw_json_array(j, "configurations", false);
    for (unsigned i = 0; i < s->found; i++)
        json_step(j, t, &s->best[i]);
    mw_json_end(j);
    json_variants(j, "by_gpus", plan->variants.by_gpus, plan->variants.gpus);
    json_variants(j, "by_k", plan->variants.by_k, plan->variants.ks);
    mw_json_end(j);
    return mw_json_close(j, err);
}
