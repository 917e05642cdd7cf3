// SPDX-License-Identifier: Apache-2.0
//
// Options of `moeswitch run`: defaults, parsing, help, and the workload that they describe.
#include "device.h"
#include "option_table.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

void mw_run_usage(FILE *out)
{
    fputs(
        "usage: moeswitch run [OPTION]...\n"
        "Runs layers of a mixture-of-experts model through the simulated switch, checks every\n"
        "output bit, and prints one line per system.\n"
        "\n"
        "What to run\n"
        "  --trace DIR           routing trace: topk_ids.npy, topk_weights.npy, meta.json\n"
        "                        (default: a made-up one)\n"
        "  --model NAME          experts, k and hidden size of a public model or a paper's "
        "workload,\n"
        "                        with a made-up trace where there is no other; options override\n"
        "                        what it says; --model list shows all\n"
        "  --layer L             layer of the trace (default 0)\n"
        "  --layers L,L,...      several, back to back without a reset\n"
        "  --gpus N              2 to 32 (default 8, on USB as many as there are)\n"
        "  --tokens-per-gpu T    the first N * T tokens of the layer (default 64)\n"
        "  --batches B           the tokens behind those, too, in B batches; then all batches "
        "once\n"
        "                        more through the device's queue, without and with feeding the\n"
        "                        next while one runs: tokens per second, and what that costs\n"
        "  --hidden H            bf16 values per token (default 512)\n"
        "  --system NAME         unicast, dysharp-basic, dysharp, moeswitch or all (default all)\n"
        "  --jobs J              systems that run side by side, each in a thread of its own "
        "(default\n"
        "                        1)\n"
        "  --allow-padding       accept -1 (no expert) in the trace\n"
        "  --repeat-tokens       a trace with fewer tokens begins anew behind its last\n"
        "  --seed S              of hidden values, expert coefficients, made-up trace (default 1)\n"
        "  --spread near|far     expert coefficients all near 1, so that every row shows in the\n"
        "                        result (default), or far apart, so that every order does\n"
        "\n"
        "Made-up trace\n"
        "  --experts E           (default 64)\n"
        "  --k K                 experts per token, 1 to 16 (default 6)\n"
        "  --sigma X             of log-normal expert popularity, 0 to 4 (default 0.5)\n"
        "  --locality X          chance to repeat an expert of the token before (default 0.2)\n"
        "  --groups G            the experts in G groups of as many, of which a token has experts\n"
        "                        in some alone, as DeepSeek-V3 routes\n"
        "  --topk-groups M       in at most so many\n"
        "\n"
        "Device\n" MW_DEVICE_HELP
        "  --tile R              rows of an expert that start together (default 16)\n"
        "  --partial-tiles       an idle engine starts its fullest open tile\n"
        "  --expert-cycles C     expert's time per row (default: strict link bound / (2 * rows of\n"
        "                        the busiest engine), rounded down)\n"
        "  --flit-bytes F        16 or 8 (default 16, on USB as it is)\n"
        "  --link-latency C      cycles (default 1)\n"
        "  --link-cycles C       cycles that a flit takes on a link, 1 to 4 (default 1): with 2 a\n"
        "                        GPU is twice as wide inside as its links\n"
        "  --in-flight K         tokens in flight per home (default 0: no limit)\n"
        "  --open-rows K         open reductions per home (default 0: as many as the device has)\n"
        "  --set NAME=VALUE      lower another limit of the device\n"
        "\n"
        "Output\n"
        "  --json FILE           everything, for programs\n"
        "  --interval C          the ports of the switch record latencies, and their links every "
        "C\n"
        "                        cycles (2 to 65535): a table, and all of it in --json\n"
        "  --plot FILE           a picture of that, as SVG (default interval: by the layer's "
        "length)\n"
        "  --html FILE           all of it as one page to look at, with charts of every system\n"
        "  --timeline FILE       what each stream and expert engine did when, and rows open at "
        "each\n"
        "                        port, for Perfetto (a microsecond is a cycle); on sim only\n"
        "  --trace-fst FILE      waves\n"
        "  --help                this text\n"
        "\n"
        "Exit status: 0 every bit is right, 1 a result or a flit count is wrong, 2 bad input, or a "
        "run\n"
        "that the device or this machine's memory cannot hold, 3 the device stopped making "
        "progress,\n"
        "4 the machine failed, 130 interrupted (Ctrl-C).\n",
        out);
}

void mw_run_defaults(struct mw_run_params *params)
{
    *params = (struct mw_run_params){
        .experts = 64,
        .k = 6,
        .sigma = 0.5,
        .locality = 0.2,
        .layer_count = 1,
        .shape = {.gpus = 8, .tokens_per_gpu = 64, .hidden = 512, .seed = 1},
        .tile = 16,
        .flit_bytes = 16,
        .link_latency = 1,
        .link_cycles = 1,
        .jobs = 1,
    };
}

static int set_layers(void *p, const char *name, const char *text, struct mw_error *err)
{
    struct mw_run_params *params = p;
    const uint64_t high = 9999;
    const char *at = text;
    params->layer_count = 0;
    for (;;) {
        uint64_t value;
        char *stop;
        if (!mw_parse_number(at, &stop, 0, high, &value) || (*stop && *stop != ','))
            return mw_fail(err, MW_EXIT_INPUT,
                           "--%s %s: expected layer numbers from 0 to %d, with commas", name, text,
                           (int)high);
        if (params->layer_count == MW_MAX_LAYERS)
            return mw_fail(err, MW_EXIT_INPUT, "--%s %s: more than %d layers", name, text,
                           MW_MAX_LAYERS);
        params->layers[params->layer_count++] = (size_t)value;
        if (!*stop)
            return MW_EXIT_OK;
        at = stop + 1;
    }
}

static int set_system(void *place, const char *name, const char *text, struct mw_error *err)
{
    const struct mw_system **system = place;
    *system = mw_system_find(text);
    if (*system || strcmp(text, "all") == 0)
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT,
                   "--%s %s: expected unicast, dysharp-basic, dysharp, moeswitch or all", name,
                   text);
}

static int set_model(void *p, const char *name, const char *text, struct mw_error *err)
{
    struct mw_run_params *params = p;
    params->list_models = strcmp(text, "list") == 0;
    return params->list_models ? MW_EXIT_OK : mw_set_model(&params->model, name, text, err);
}

static int set_spread(void *spread, const char *name, const char *text, struct mw_error *err)
{
    bool far = strcmp(text, "far") == 0;
    if (!far && strcmp(text, "near") != 0)
        return mw_fail(err, MW_EXIT_INPUT, "--%s %s: expected near or far", name, text);
    *(enum mw_spread *)spread = far ? MW_SPREAD_FAR : MW_SPREAD_NEAR;
    return MW_EXIT_OK;
}

#define AT(field) offsetof(struct mw_run_params, field)

static const struct mw_option options[] = {
    MW_PATH("trace", AT(trace)),
    MW_OWN("model", 0, set_model),
    MW_UNSIGNED("experts", AT(experts), 1, MW_MAX_EXPERTS),
    MW_UNSIGNED("k", AT(k), 1, MW_MAX_K),
    MW_REAL("sigma", AT(sigma), 4),
    MW_REAL("locality", AT(locality), 1),
    MW_UNSIGNED("groups", AT(groups), 1, MW_MAX_EXPERTS),
    MW_UNSIGNED("topk-groups", AT(topk_groups), 1, MW_MAX_EXPERTS),
    MW_OWN("layer", 0, set_layers),
    MW_OWN("layers", 0, set_layers),
    MW_OWN("device", AT(device), mw_set_device),
    MW_UNSIGNED("gpus", AT(shape.gpus), MW_MIN_GPUS, MW_MAX_GPUS),
    MW_UNSIGNED("tokens-per-gpu", AT(shape.tokens_per_gpu), 1, MW_MAX_TOKENS),
    MW_UNSIGNED("batches", AT(shape.batches), 2, MW_MAX_LAYERS),
    MW_UNSIGNED("hidden", AT(shape.hidden), 1, MW_MAX_HIDDEN),
    MW_FLAG("allow-padding", AT(shape.allow_padding)),
    MW_FLAG("repeat-tokens", AT(repeat_tokens)),
    MW_OWN("spread", AT(shape.spread), set_spread),
    MW_NUMBER("seed", AT(shape.seed), 0, UINT64_MAX),
    MW_OWN("system", AT(system), set_system),
    MW_UNSIGNED("tile", AT(tile), 1, 65535),
    MW_FLAG("partial-tiles", AT(partial_tiles)),
    MW_NUMBER("expert-cycles", AT(expert_cycles), 0, 1u << 24),
    MW_OWN("flit-bytes", AT(flit_bytes), mw_set_flit_bytes),
    MW_UNSIGNED("link-latency", AT(link_latency), 1, 1024),
    MW_UNSIGNED("link-cycles", AT(link_cycles), 1, 4),
    MW_UNSIGNED("in-flight", AT(in_flight), 0, 1u << 20),
    MW_UNSIGNED("open-rows", AT(open_rows), 0, 1u << 20),
    MW_UNSIGNED("jobs", AT(jobs), 1, MW_SYSTEMS),
    MW_OWN("set", AT(settings), mw_add_setting),
    MW_PATH("json", AT(json)),
    MW_UNSIGNED("interval", AT(interval), 2, UINT16_MAX),
    MW_PATH("plot", AT(plot)),
    MW_PATH("html", AT(html)),
    MW_PATH("timeline", AT(timeline)),
    MW_PATH("trace-fst", AT(fst)),
};

static const struct mw_option_table table = {"run", options, sizeof options / sizeof *options,
                                             NULL};

const struct mw_option_table *mw_run_option_table(void)
{
    return &table;
}

/// What the model says and no option. Experts and k are those of the trace, where there is one.
static void apply_model(struct mw_run_params *params, const struct mw_options_said *said)
{
    const struct mw_model *m = params->model;
    if (!mw_option_given(&table, said, "hidden"))
        params->shape.hidden = m->hidden;
    if (!mw_option_given(&table, said, "experts"))
        params->experts = m->experts;
    if (!mw_option_given(&table, said, "k"))
        params->k = m->k;
    if (!mw_option_given(&table, said, "groups") && !mw_option_given(&table, said, "topk-groups")) {
        params->groups = m->groups;
        params->topk_groups = m->topk_groups;
    }
}

/// An option of made-up traces, or NULL.
static const char *synthetic_option(const struct mw_options_said *said)
{
    static const char *const names[] = {"experts",  "k",      "sigma",
                                        "locality", "groups", "topk-groups"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (mw_option_given(&table, said, names[i]))
            return names[i];
    return NULL;
}

/// No two outputs may be the same file.
static int check_outputs(const struct mw_run_params *params, struct mw_error *err)
{
    const struct {
        const char *name, *path;
    } list[] = {{"json", params->json},
                {"plot", params->plot},
                {"html", params->html},
                {"timeline", params->timeline},
                {"trace-fst", params->fst}};
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++)
        for (unsigned k = 0; k < i; k++)
            if (list[i].path && list[k].path && strcmp(list[i].path, list[k].path) == 0)
                return mw_fail(err, MW_EXIT_INPUT, "--%s and --%s: both are %s", list[k].name,
                               list[i].name, list[i].path);
    return MW_EXIT_OK;
}

static int check_combination(const struct mw_run_params *params, const char *synthetic_option,
                             struct mw_error *err)
{
    if (params->trace && synthetic_option)
        return mw_fail(err, MW_EXIT_INPUT, "--%s: not with --trace, which says it itself",
                       synthetic_option);
    int status = check_outputs(params, err);
    if (status)
        return status;
    if (params->device.usb && params->fst)
        return mw_fail(err, MW_EXIT_INPUT, "--trace-fst: only with --device sim");
    if (params->device.usb && params->timeline)
        return mw_fail(err, MW_EXIT_INPUT, "--timeline: only with --device sim");
    if (params->device.usb && params->jobs > 1)
        return mw_fail(err, MW_EXIT_INPUT, "--jobs %u: only with --device sim", params->jobs);
    if (params->shape.batches * params->layer_count > MW_MAX_LAYERS)
        return mw_fail(err, MW_EXIT_INPUT, "--batches %u: of %u layers, more than %d in all",
                       params->shape.batches, params->layer_count, MW_MAX_LAYERS);
    return MW_EXIT_OK;
}

int mw_run_parse(struct mw_run_params *params, int argc, char **argv, bool *help,
                 struct mw_error *err)
{
    mw_run_defaults(params);
    params->shape.gpus = params->flit_bytes = 0; // not said
    struct mw_options_said said;
    int status = mw_options_parse(&table, argc, argv, params, &said, err);
    *help = said.help;
    if (status || said.help)
        return status;
    params->expert_cycles_given = mw_option_given(&table, &said, "expert-cycles");
    params->monitor_must = params->interval || params->plot;
    params->monitor = params->monitor_must || params->html;
    if (params->model)
        apply_model(params, &said);
    status = check_combination(params, synthetic_option(&said), err);
    if (!status && !params->device.usb) // one on USB is asked when it is needed
        status = mw_device_sizes(&params->device, &params->shape.gpus, &params->flit_bytes, err);
    return status;
}

/// A trace of another model than the one that was named must not pass for it.
static int load_trace(const struct mw_run_params *params, struct mw_trace *trace,
                      struct mw_error *err)
{
    const struct mw_model *m = params->model;
    int status = mw_trace_load(trace, params->trace, err);
    if (status || !m || (m->experts == trace->experts && m->k == trace->k))
        return status;
    status = mw_fail(err, MW_EXIT_INPUT, "--model %s: %u experts, k %u, but %s has %u and %u",
                     m->name, m->experts, m->k, trace->name, trace->experts, trace->k);
    mw_trace_free(trace);
    return status;
}

static int get_trace(const struct mw_run_params *params, struct mw_trace *trace,
                     struct mw_error *err)
{
    const size_t tokens = (size_t)params->shape.gpus * params->shape.tokens_per_gpu *
                          (params->shape.batches ? params->shape.batches : 1);
    if (params->trace) {
        int loaded = load_trace(params, trace, err);
        if (!loaded && params->repeat_tokens)
            loaded = mw_trace_repeat(trace, tokens, err);
        return loaded;
    }
    struct mw_synthetic how = {
        .tokens = tokens,
        .k = params->k,
        .experts = params->experts,
        .sigma = params->sigma,
        .locality = params->locality,
        .groups = params->groups,
        .topk_groups = params->topk_groups,
        .seed = params->shape.seed,
    };
    for (unsigned i = 0; i < params->layer_count; i++)
        if (params->layers[i] >= how.layers)
            how.layers = params->layers[i] + 1;
    int status = mw_trace_make(trace, &how, err);
    if (!status && params->model)
        snprintf(trace->model, sizeof trace->model, "%s", params->model->title);
    return status;
}

int mw_run_route(struct mw_run_params *params, struct mw_trace *trace, struct mw_error *err)
{
    int status = mw_device_sizes(&params->device, &params->shape.gpus, &params->flit_bytes, err);
    if (!status)
        status = get_trace(params, trace, err);
    if (status)
        return status;
    status = mw_workload_check(trace, params->layers, params->layer_count, &params->shape, err);
    if (status)
        mw_trace_free(trace);
    return status;
}

struct mw_link_parameters mw_run_links(const struct mw_run_params *params)
{
    return (struct mw_link_parameters){.flit_bytes = params->flit_bytes,
                                       .link_cycles = params->link_cycles,
                                       .expert_cycles = params->expert_cycles};
}

int mw_run_fill(struct mw_run_params *params, const struct mw_trace *trace,
                struct mw_workload *workload, struct mw_error *err)
{
    int status =
        mw_workload_make(workload, trace, params->layers, params->layer_count, &params->shape, err);
    const struct mw_link_parameters link = mw_run_links(params);
    if (!status && !params->expert_cycles_given)
        params->expert_cycles = mw_default_expert_cycles(workload, &link);
    return status;
}

int mw_run_prepare(struct mw_run_params *params, struct mw_trace *trace,
                   struct mw_workload *workload, struct mw_error *err)
{
    *workload = (struct mw_workload){0};
    int status = mw_run_route(params, trace, err);
    if (status)
        return status;
    status = mw_run_fill(params, trace, workload, err);
    if (status)
        mw_trace_free(trace);
    return status;
}
