// SPDX-License-Identifier: Apache-2.0
//
// Options of `moeswitch plan`: their table, defaults, and what sizes must divide.
#include "plan/plan.h"

#include "hardware/hardware.h"
#include "systems/system_list.h"
#include "tp/tp.h"
#include "trace/trace_options.h"

#include <string.h>

#define AT(field) offsetof(struct mw_plan_params, field)

enum {
    MOST_GPUS = 1 << 20,
    TRAIN_BATCH = 16,   ///< default sequences of a GPU
    DECODE_BATCH = 128, ///< the same of decode
    MOST_TOP = 10000,
};

// ---- values -------------------------------------------------------------------------------------

static bool goal_values(unsigned i, struct mw_term *term)
{
    static const char *const texts[] = {"a training step", "prompts", "one token of each sequence"};
    if (i < MW_GOALS)
        *term = (struct mw_term){mw_goal_names[i], texts[i]};
    return i < MW_GOALS;
}

static bool schedule_values(unsigned i, struct mw_term *term)
{
    if (i < MW_SCHEDULES)
        *term = (struct mw_term){mw_schedule_names[i], NULL};
    return i < MW_SCHEDULES;
}

static bool recompute_values(unsigned i, struct mw_term *term)
{
    if (i < MW_RECOMPUTES)
        *term = (struct mw_term){mw_recompute_names[i], NULL};
    return i < MW_RECOMPUTES;
}

/// The number of the name in a list, for enums.
static int set_term(unsigned *place, const char *name, const char *text, mw_terms *terms,
                    struct mw_error *err)
{
    struct mw_term term;
    for (unsigned i = 0; terms(i, &term); i++)
        if (strcmp(text, term.name) == 0) {
            *place = i;
            return MW_EXIT_OK;
        }
    return mw_fail_choice(name, text, terms, err);
}

static int set_goal(void *place, const char *name, const char *text, struct mw_error *err)
{
    unsigned goal = 0;
    int status = set_term(&goal, name, text, goal_values, err);
    *(enum mw_goal *)place = (enum mw_goal)goal;
    return status;
}

static int set_schedule(void *place, const char *name, const char *text, struct mw_error *err)
{
    unsigned schedule = 0;
    int status = set_term(&schedule, name, text, schedule_values, err);
    *(enum mw_schedule *)place = (enum mw_schedule)schedule;
    return status;
}

static int set_recompute(void *place, const char *name, const char *text, struct mw_error *err)
{
    struct mw_plan_params *p = place;
    unsigned recompute = 0;
    int status = set_term(&recompute, name, text, recompute_values, err);
    p->fixed.recompute = (enum mw_recompute)recompute;
    p->recompute_fixed = true;
    return status;
}

static bool tensor_system_values(unsigned i, struct mw_term *term)
{
    if (i < MW_TP_SYSTEMS)
        *term = (struct mw_term){mw_tp_systems[i]->name, NULL};
    return i < MW_TP_SYSTEMS;
}

static int set_tensor_system(void *place, const char *name, const char *text, struct mw_error *err)
{
    return set_term(place, name, text, tensor_system_values, err);
}

// ---- the table ----------------------------------------------------------------------------------

#define SIZE(name, field, text) MW_UNSIGNED(name, AT(fixed.field), 1, MOST_GPUS, "N", text)

static const struct mw_option options[] = {
    MW_GROUP("Step"),
    MW_CHOICE("model", AT(task.model), mw_set_transformer, mw_transformer_names, "NAME|FILE",
              "{}, or the path of a config.json of Hugging Face"),
    MW_HARDWARE_OPTION(AT(task.hardware), mw_set_hardware,
                       "the machine, of which the step uses one or more"),
    MW_CHOICE("goal", AT(task.goal), set_goal, goal_values, "GOAL", "{} (default train)"),
    MW_UNSIGNED("gpus", AT(task.gpus), 1, MOST_GPUS, "N",
                "number of GPUs, {} (default: one machine). Each machine has the same number of "
                "them, the largest that divides N"),
    MW_UNSIGNED("batch", AT(task.batch), 1, 1 << 24, "B",
                "sequences of a step, {} (default for each GPU: train 16, prefill 1, decode 128)"),
    MW_UNSIGNED("sequence", AT(task.sequence), 1, 1 << 24, "S",
                "tokens of a sequence, in decode those before the new one, {} (default {default})"),
    MW_CHOICE("system", AT(run), mw_set_moe_systems, mw_moe_system_values, "NAME",
              "{} (default all); or NAME,NAME,... for several"),

    MW_GROUP("Types and memory"),
    MW_CHOICE("gemm-type", AT(task.gemm), mw_set_gemm_type, mw_gemm_type_values, "TYPE",
              "type of projections and experts, in inference also of weights: {} (default bf16)"),
    MW_CHOICE("dispatch-type", AT(task.dispatch), mw_set_gemm_type, mw_gemm_type_values, "TYPE",
              "type of rows to experts, with scales; results are bf16: {} (default bf16)"),
    MW_CHOICE("cache-type", AT(task.cache), mw_set_gemm_type, mw_gemm_type_values, "TYPE",
              "type of keys and values in inference: {} (default bf16)"),
    MW_REAL(
        "memory", AT(memory), 0.001, 1e6, "GB",
        "memory of a GPU that is free for the model, {} (default: the machine's memory_gbytes)"),
    MW_REAL("gradient-bytes", AT(task.gradient_bytes), 0, 16, "B",
            "bytes of a weight's gradient, {} (default {default})"),
    MW_REAL("optimizer-bytes", AT(task.optimizer_bytes), 0, 64, "B",
            "bytes of a weight's optimizer state, {}, split over replicas (default {default}: fp32 "
            "weight and two moments)"),

    MW_GROUP("Parallelism: sizes to keep; all others are tried"),
    SIZE("tp", tp, "GPUs that split every projection, {}, a divisor of the heads"),
    MW_CHOICE("tp-system", AT(tensor_system), set_tensor_system, tensor_system_values, "NAME",
              "system of the collectives of tp, as in run --workload: {} (default nvls)"),
    SIZE("cp", cp, "GPUs that split a sequence, {}"),
    SIZE("ep", ep, "GPUs that split the experts, {}, a divisor of them; within tp * cp * dp GPUs"),
    SIZE("pp", pp, "stages of the pipeline, {}"),
    SIZE("dp", dp, "replicas, {}, a divisor of the batch"),
    SIZE("virtual-stages", virtual_stages, "parts of a stage in interleaved 1F1B, {}"),
    SIZE("micro-batch", micro_batch, "sequences that pass a stage together, {}"),
    MW_CHOICE("recompute", 0, set_recompute, recompute_values, "WHAT",
              "what backward computes again: {}"),
    MW_CHOICE("schedule", AT(task.schedule), set_schedule, schedule_values, "NAME",
              "schedule of the pipeline: {} (default 1f1b)"),
    MW_FLAG("overlap-batches", AT(task.overlap_batches),
            "dispatch and combine overlap with the compute of another micro-batch, as in DualPipe "
            "and two-batch overlap"),
    MW_REAL("communication-share", AT(task.communication_share), 0, 0.9, "X",
            "share of a GPU's SMs that the overlapped communication uses, {} (default {default})"),

    MW_GROUP("Routing"),
    MW_PATH("trace", AT(trace), "DIR", "routing trace of the model (default: synthetic)"),
    MW_AXES_OPTION(AT(said.axes)),
    MW_UNSIGNED("layer", AT(layer), 0, 1 << 20, "L", "layer of the trace, {} (default {default})"),
    MW_UNSIGNED("redundant-experts", AT(redundant), 0, MW_MAX_EXPERTS, "R",
                "copies of experts of each layer, {}, each with an even share of the rows of a "
                "synthetic trace (default {default})"),
    MW_REAL(
        "sigma", AT(sigma), 0, 4, "X",
        "sigma of the log-normal expert popularity in a synthetic trace, {} (default {default})"),
    MW_REAL("locality", AT(locality), 0, 1, "X",
            "chance that a place of a list repeats an expert of the previous token, {} (default "
            "{default})"),
    MW_UNSIGNED("tile", AT(tile), 1, MW_MAX_TILE, "R",
                "rows of an expert that its engine starts together, {}, at most a quarter of an "
                "expert's rows (default {default})"),

    MW_GROUP("Compute"),
    MW_PATH("compute", AT(compute), "FILE",
            "CSV of measured times: m, n, k of GEMMs or AIConfigurator's columns; other sizes use "
            "the roofline"),
    MW_REAL("gemm-efficiency", AT(task.gemm_share), 0.001, 1, "X",
            "share of the FLOPS that GEMMs reach, {} (default {default})"),
    MW_REAL("attention-efficiency", AT(task.attention_share), 0.001, 1, "X",
            "share of the bf16 FLOPS that attention reaches, {} (default {default})"),
    MW_REAL("memory-efficiency", AT(task.memory_share), 0.001, 1, "X",
            "share of the memory's GB/s that is reached, {} (default {default})"),

    MW_GROUP("Output"),
    MW_UNSIGNED("top", AT(top), 1, MOST_TOP, "N",
                "lines of the table of configurations, {} (default {default})"),
    MW_UNSIGNED("explain", AT(explain), 1, MOST_TOP, "N",
                "show where the time and the memory of line N go, {}"),
    MW_PATH("chakra", AT(chakra), "FILE",
            "a Chakra execution trace, whose communication gets the times of the best "
            "configuration"),
    MW_PATH("chakra-out", AT(chakra_out), "FILE",
            "file for the trace of --chakra with these times"),
    MW_UNSIGNED("chakra-ranks", AT(chakra_ranks), 2, MOST_GPUS, "N",
                "GPUs of the collectives of --chakra, {} (default: as many as share the experts)"),
    MW_PATH("moe-csv", AT(moe_csv), "FILE",
            "write times of experts for LLMServingSim (moe.csv): tokens, activated experts, "
            "microseconds"),
    MW_PATH("html", AT(html), "FILE",
            "write an HTML page: parts of the step, a timeline, configurations, speed-up over GPUs "
            "and k"),
    MW_DATA_OPTIONS(AT(files), "everything"),
};

static MW_TERMS(exits, {"0", "a configuration fits"},
                {"2", "bad input, sizes that do not divide, or no configuration fits"},
                {"4", MW_EXIT_FAILED_TEXT});
static MW_TERMS(columns, {"ms", "time of a step"}, {"tokens/s", "of one GPU"},
                {"MFU",
                 "operations of the model in a step, divided by those at the bf16 peak rate"},
                {"GB", "memory of the GPU that holds most"},
                {"limit", "the part of the step that takes longest"},
                {"*", "an extrapolation: the layer is outside the ranges of the RTL runs"});
static const struct mw_section sections[] = {{"Columns", columns}, {"Exit status", exits}, {0}};

/// The efficiencies are those of published kernels on H800: docs/user/plan.md.
static void defaults(void *params)
{
    struct mw_plan_params *p = params;
    *p = (struct mw_plan_params){
        .task = {.sequence = 4096,
                 .gradient_bytes = 4,
                 .optimizer_bytes = 12,
                 .gemm_share = 0.68,
                 .attention_share = 0.59,
                 .memory_share = 0.9},
        .sigma = 0.5,
        .locality = 0.2,
        .tile = 128,
        .top = 10,
    };
}

const struct mw_option_table mw_plan_table = {
    .command = "plan",
    .option = options,
    .count = sizeof options / sizeof *options,
    .summary =
        "predict the time of a model's step under each system, and how to split it over GPUs",
    .synopsis = "--model NAME|FILE --hardware NAME|FILE [OPTION]...",
    .text = "Predicts the time of a training step, of prefill or of a decode step under each "
            "system, for every way to split it over the GPUs that fits their memory. Dispatch and "
            "combine of experts are calibrated on RTL runs (moeswitch calibrate). All other times "
            "come from a roofline or from measurements. Networks have a latency and a rate.",
    .section = sections,
    .defaults = defaults,
    .params_bytes = sizeof(struct mw_plan_params),
};

// ---- checks -------------------------------------------------------------------------------------

static int does_not_divide(const char *name, unsigned size, const char *what, unsigned of,
                           struct mw_error *err)
{
    return mw_fail(err, MW_EXIT_INPUT, "--%s %u: does not divide %u %s", name, size, of, what);
}

/// Stages that the schedule can run, as far as they are given.
static int check_stages(const struct mw_task *t, const struct mw_parallel *f, struct mw_error *err)
{
    const bool dualpipe = t->goal == MW_TRAIN && t->schedule == MW_DUALPIPE;
    const unsigned layers = mw_task_layers(t);
    if (f->pp > layers)
        return mw_fail(err, MW_EXIT_INPUT, "--pp %u: more stages than %u layers", f->pp, layers);
    if (dualpipe && f->pp % 2)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--pp %u: --schedule dualpipe needs an even number of stages", f->pp);
    if (f->virtual_stages <= 1)
        return MW_EXIT_OK;
    if (dualpipe)
        return mw_fail(err, MW_EXIT_INPUT, "--virtual-stages %u: not with --schedule dualpipe",
                       f->virtual_stages);
    if (f->pp == 1)
        return mw_fail(err, MW_EXIT_INPUT, "--virtual-stages %u: needs more than one stage (--pp)",
                       f->virtual_stages);
    const unsigned least = f->pp ? f->pp : 2;
    if ((uint64_t)least * f->virtual_stages > layers)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--virtual-stages %u: more parts than %u layers, with %u stages",
                       f->virtual_stages, layers, least);
    return MW_EXIT_OK;
}

/// Sizes that are given, each alone and all together.
static int check_sizes(const struct mw_plan_params *p, struct mw_error *err)
{
    const struct mw_task *t = &p->task;
    const struct mw_parallel *f = &p->fixed;
    const struct {
        const char *name;
        unsigned size, of;
        const char *what;
    } rule[] = {
        {"tp", f->tp, t->model.heads, "heads"},
        {"tp", f->tp, t->gpus, "GPUs"},
        {"cp", f->cp, t->sequence, "tokens of a sequence"},
        {"cp", f->cp, t->gpus, "GPUs"},
        {"ep", f->ep, t->model.experts, "experts"},
        {"ep", f->ep, t->gpus, "GPUs"},
        {"pp", f->pp, t->gpus, "GPUs"},
        {"dp", f->dp, t->batch, "sequences"},
        {"dp", f->dp, t->gpus, "GPUs"},
        {"micro-batch", f->micro_batch, t->batch, "sequences"},
        {"micro-batch", f->micro_batch, t->batch / (f->dp ? f->dp : 1), "sequences of a replica"},
    };
    for (unsigned i = 0; i < sizeof rule / sizeof *rule; i++)
        if (rule[i].size && rule[i].of % rule[i].size)
            return does_not_divide(rule[i].name, rule[i].size, rule[i].what, rule[i].of, err);
    const uint64_t all = (uint64_t)(f->tp ? f->tp : 1) * (f->cp ? f->cp : 1) * (f->pp ? f->pp : 1) *
                         (f->dp ? f->dp : 1);
    if (t->gpus % all || (f->tp && f->cp && f->pp && f->dp && all != t->gpus))
        return mw_fail(err, MW_EXIT_INPUT,
                       "--gpus %u: not %s the product of the sizes of tp, cp, pp and dp, %llu",
                       t->gpus, t->gpus % all ? "a multiple of" : "", (unsigned long long)all);
    return check_stages(t, f, err);
}

/// All machines have as many GPUs of the step: the most that divide it.
static void take_machine(struct mw_plan_params *p)
{
    struct mw_task *t = &p->task;
    const struct mw_hardware *h = t->hardware;
    if (!t->gpus)
        t->gpus = h->gpus;
    p->machine = *h;
    p->machine_file = mw_hardware_file(h);
    while (t->gpus % p->machine.gpus)
        p->machine.gpus--;
    t->hardware = &p->machine;
    if (!t->batch)
        t->batch = t->gpus * (t->goal == MW_TRAIN    ? TRAIN_BATCH
                              : t->goal == MW_DECODE ? DECODE_BATCH
                                                     : 1);
    t->capacity = 1e9 * (p->memory > 0 ? p->memory : h->capacity_gbytes);
}

/// Options that a goal does not use.
static int check_goal(enum mw_goal goal, const struct mw_options_said *said, struct mw_error *err)
{
    static const char *const training[] = {"gradient-bytes", "optimizer-bytes", "recompute",
                                           "schedule"};
    for (unsigned i = 0; i < sizeof training / sizeof *training && goal != MW_TRAIN; i++)
        if (mw_option_given(&mw_plan_table, said, training[i]))
            return mw_fail(err, MW_EXIT_INPUT, "--%s: only with --goal train", training[i]);
    if (goal == MW_TRAIN && mw_option_given(&mw_plan_table, said, "cache-type"))
        return mw_fail(err, MW_EXIT_INPUT, "--cache-type: only with --goal prefill or decode");
    return MW_EXIT_OK;
}

/// Options that change nothing without another one.
static int check_alone(const struct mw_plan_params *p, const struct mw_options_said *said,
                       struct mw_error *err)
{
    const struct mw_transformer *m = &p->task.model;
    if (!p->task.overlap_batches && mw_option_given(&mw_plan_table, said, "communication-share"))
        return mw_fail(err, MW_EXIT_INPUT, "--communication-share: only with --overlap-batches");
    if (p->fixed.tp == 1 && mw_option_given(&mw_plan_table, said, "tp-system"))
        return mw_fail(err, MW_EXIT_INPUT, "--tp-system: not with --tp 1");
    if (p->redundant && m->groups > 1 && m->experts % m->groups)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--redundant-experts %u: %u experts do not divide into %u groups",
                       p->redundant, m->experts, m->groups);
    return MW_EXIT_OK;
}

/// Options of a synthetic trace beside a trace, and those of a trace without one.
static int check_routing(const struct mw_plan_params *p, const struct mw_options_said *said,
                         struct mw_error *err)
{
    static const char *const synthetic[] = {"redundant-experts", "sigma", "locality"},
                             *const of_trace[] = {"axes", "layer"};
    for (unsigned i = 0; i < 3 && p->trace; i++)
        if (mw_option_given(&mw_plan_table, said, synthetic[i]))
            return mw_fail(err, MW_EXIT_INPUT, "--%s: not with --trace", synthetic[i]);
    for (unsigned i = 0; i < 2 && !p->trace; i++)
        if (mw_option_given(&mw_plan_table, said, of_trace[i]))
            return mw_fail(err, MW_EXIT_INPUT, "--%s: only with --trace", of_trace[i]);
    return MW_EXIT_OK;
}

int mw_plan_parse(struct mw_plan_params *p, int argc, char **argv, bool *help, struct mw_error *err)
{
    struct mw_options_said said;
    defaults(p);
    int status = mw_options_parse(&mw_plan_table, argc, argv, p, &said, err);
    *help = said.help;
    if (status || said.help)
        return status;
    if (!p->task.model.layers || !p->task.hardware)
        return mw_fail(err, MW_EXIT_INPUT, "--%s is missing, see moeswitch plan --help",
                       p->task.model.layers ? "hardware" : "model");
    if (p->explain > p->top)
        return mw_fail(err, MW_EXIT_INPUT, "--explain %u: --top shows %u lines", p->explain,
                       p->top);
    if (!p->chakra != !p->chakra_out || (p->chakra_ranks && !p->chakra))
        return mw_fail(err, MW_EXIT_INPUT, "--%s is missing", p->chakra ? "chakra-out" : "chakra");
    p->task.model.experts += p->redundant;
    status = check_goal(p->task.goal, &said, err);
    if (!status)
        status = check_alone(p, &said, err);
    if (!status)
        status = check_routing(p, &said, err);
    take_machine(p);
    return status ? status : check_sizes(p, err);
}
