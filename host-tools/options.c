// SPDX-License-Identifier: Apache-2.0
//
// Options of `moeswitch run`: defaults, parsing, help, and the workload that they describe.
#include "option_value.h"
#include "device.h"
#include "run.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum option_id {
    OPT_TRACE = 256,
    OPT_EXPERTS,
    OPT_K,
    OPT_SIGMA,
    OPT_LOCALITY,
    OPT_LAYERS,
    OPT_DEVICE,
    OPT_GPUS,
    OPT_TOKENS,
    OPT_BATCHES,
    OPT_HIDDEN,
    OPT_PADDING,
    OPT_SPREAD,
    OPT_SEED,
    OPT_SYSTEM,
    OPT_TILE,
    OPT_PARTIAL,
    OPT_EXPERT_CYCLES,
    OPT_FLIT,
    OPT_LATENCY,
    OPT_IN_FLIGHT,
    OPT_OPEN_ROWS,
    OPT_SET,
    OPT_JSON,
    OPT_INTERVAL,
    OPT_PLOT,
    OPT_FST,
    OPT_HELP,
};

static const struct option options[] = {
    {"trace", required_argument, NULL, OPT_TRACE},
    {"experts", required_argument, NULL, OPT_EXPERTS},
    {"k", required_argument, NULL, OPT_K},
    {"sigma", required_argument, NULL, OPT_SIGMA},
    {"locality", required_argument, NULL, OPT_LOCALITY},
    {"layer", required_argument, NULL, OPT_LAYERS},
    {"layers", required_argument, NULL, OPT_LAYERS},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"gpus", required_argument, NULL, OPT_GPUS},
    {"tokens-per-gpu", required_argument, NULL, OPT_TOKENS},
    {"batches", required_argument, NULL, OPT_BATCHES},
    {"hidden", required_argument, NULL, OPT_HIDDEN},
    {"allow-padding", no_argument, NULL, OPT_PADDING},
    {"spread", required_argument, NULL, OPT_SPREAD},
    {"seed", required_argument, NULL, OPT_SEED},
    {"system", required_argument, NULL, OPT_SYSTEM},
    {"tile", required_argument, NULL, OPT_TILE},
    {"partial-tiles", no_argument, NULL, OPT_PARTIAL},
    {"expert-cycles", required_argument, NULL, OPT_EXPERT_CYCLES},
    {"flit-bytes", required_argument, NULL, OPT_FLIT},
    {"link-latency", required_argument, NULL, OPT_LATENCY},
    {"in-flight", required_argument, NULL, OPT_IN_FLIGHT},
    {"open-rows", required_argument, NULL, OPT_OPEN_ROWS},
    {"set", required_argument, NULL, OPT_SET},
    {"json", required_argument, NULL, OPT_JSON},
    {"interval", required_argument, NULL, OPT_INTERVAL},
    {"plot", required_argument, NULL, OPT_PLOT},
    {"trace-fst", required_argument, NULL, OPT_FST},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

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
        "  --layer L             layer of the trace (default 0)\n"
        "  --layers L,L,...      several, back to back without a reset\n"
        "  --gpus N              2 to 32 (default 8, on USB as many as there are)\n"
        "  --tokens-per-gpu T    the first N * T tokens of the layer (default 64)\n"
        "  --batches B           the tokens behind those, too, in B batches; then all batches "
        "once\n"
        "                        more through the device's queue, without and with feeding the\n"
        "                        next while one runs: tokens per second, and what that costs\n"
        "  --hidden H            bf16 values per token (default 512)\n"
        "  --system NAME         unicast, dysharp-basic, dysharp or all (default all)\n"
        "  --allow-padding       accept -1 (no expert) in the trace\n"
        "  --seed S              of hidden values, expert coefficients, made-up trace (default 1)\n"
        "  --spread near|far     expert coefficients all near 1, so that every row shows in the\n"
        "                        result (default), or far apart, so that every order does\n"
        "\n"
        "Made-up trace\n"
        "  --experts E           (default 64)\n"
        "  --k K                 experts per token, 1 to 16 (default 6)\n"
        "  --sigma X             of log-normal expert popularity, 0 to 4 (default 0.5)\n"
        "  --locality X          chance to repeat an expert of the token before (default 0.2)\n"
        "\n"
        "Device\n" MW_DEVICE_HELP
        "  --tile R              rows of an expert that start together (default 16)\n"
        "  --partial-tiles       an idle engine starts its fullest open tile\n"
        "  --expert-cycles C     expert's time per row (default: strict link bound / (2 * rows of\n"
        "                        the busiest engine), rounded down)\n"
        "  --flit-bytes F        16 or 8 (default 16, on USB as it is)\n"
        "  --link-latency C      cycles (default 1)\n"
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
        "  --trace-fst FILE      waves\n"
        "  --help                this text\n"
        "\n"
        "Exit status: 0 every bit is right, 1 a result or a flit count is wrong, 2 bad input,\n"
        "3 the device stopped making progress, 4 the machine failed.\n",
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
    };
}

static int set_double(const char *name, const char *text, double high, double *value,
                      struct mw_error *err)
{
    char *stop;
    *value = strtod(text, &stop);
    if (stop != text && !*stop && *value >= 0 && *value <= high)
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT, "--%s %s: expected a number from 0 to %g", name, text, high);
}

static int set_layers(struct mw_run_params *params, const char *name, const char *text,
                      struct mw_error *err)
{
    const uint64_t high = 9999;
    const char *at = text;
    params->layer_count = 0;
    for (;;) {
        uint64_t value;
        char *stop;
        if (!mw_parse_number(at, &stop, 0, high, &value) || (*stop && *stop != ','))
            return mw_fail(err, MW_EXIT_INPUT, "--%s %s: expected layer numbers from 0 to %d", name,
                           text, (int)high);
        if (params->layer_count == MW_MAX_LAYERS)
            return mw_fail(err, MW_EXIT_INPUT, "--%s %s: more than %d layers", name, text,
                           MW_MAX_LAYERS);
        params->layers[params->layer_count++] = (size_t)value;
        if (!*stop)
            return MW_EXIT_OK;
        at = stop + 1;
    }
}

static int set_system(struct mw_run_params *params, const char *text, struct mw_error *err)
{
    params->system = mw_system_find(text);
    if (params->system || strcmp(text, "all") == 0)
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT,
                   "--system %s: expected unicast, dysharp-basic, dysharp or all", text);
}

static int set_spread(struct mw_run_params *params, const char *text, struct mw_error *err)
{
    bool far = strcmp(text, "far") == 0;
    if (!far && strcmp(text, "near") != 0)
        return mw_fail(err, MW_EXIT_INPUT, "--spread %s: expected near or far", text);
    params->shape.spread = far ? MW_SPREAD_FAR : MW_SPREAD_NEAR;
    return MW_EXIT_OK;
}

/// One option. `name` is its name for messages, `text` its argument.
static int set_option(struct mw_run_params *p, int id, const char *name, const char *text,
                      struct mw_error *err)
{
    switch ((enum option_id)id) {
    case OPT_TRACE:
        return mw_set_path(name, text, &p->trace, err);
    case OPT_EXPERTS:
        return mw_set_unsigned(name, text, 1, MW_MAX_EXPERTS, &p->experts, err);
    case OPT_K:
        return mw_set_unsigned(name, text, 1, MW_MAX_K, &p->k, err);
    case OPT_SIGMA:
        return set_double(name, text, 4, &p->sigma, err);
    case OPT_LOCALITY:
        return set_double(name, text, 1, &p->locality, err);
    case OPT_LAYERS:
        return set_layers(p, name, text, err);
    case OPT_DEVICE:
        return mw_set_device(text, &p->device, err);
    case OPT_GPUS:
        return mw_set_unsigned(name, text, MW_MIN_GPUS, MW_MAX_GPUS, &p->shape.gpus, err);
    case OPT_TOKENS:
        return mw_set_unsigned(name, text, 1, 1u << 20, &p->shape.tokens_per_gpu, err);
    case OPT_BATCHES:
        return mw_set_unsigned(name, text, 2, MW_MAX_LAYERS, &p->shape.batches, err);
    case OPT_HIDDEN:
        return mw_set_unsigned(name, text, 1, MW_MAX_HIDDEN, &p->shape.hidden, err);
    case OPT_PADDING:
        p->shape.allow_padding = true;
        return MW_EXIT_OK;
    case OPT_SPREAD:
        return set_spread(p, text, err);
    case OPT_SEED:
        return mw_set_number(name, text, 0, UINT64_MAX, &p->shape.seed, err);
    case OPT_SYSTEM:
        return set_system(p, text, err);
    case OPT_TILE:
        return mw_set_unsigned(name, text, 1, 65535, &p->tile, err);
    case OPT_PARTIAL:
        p->partial_tiles = true;
        return MW_EXIT_OK;
    case OPT_EXPERT_CYCLES:
        p->expert_cycles_given = true;
        return mw_set_number(name, text, 0, 1u << 24, &p->expert_cycles, err);
    case OPT_FLIT:
        return mw_set_flit_bytes(text, &p->flit_bytes, err);
    case OPT_LATENCY:
        return mw_set_unsigned(name, text, 1, 1024, &p->link_latency, err);
    case OPT_IN_FLIGHT:
        return mw_set_unsigned(name, text, 0, 1u << 20, &p->in_flight, err);
    case OPT_OPEN_ROWS:
        return mw_set_unsigned(name, text, 0, 1u << 20, &p->open_rows, err);
    case OPT_SET:
        return mw_add_setting(text, &p->settings, err);
    case OPT_JSON:
        return mw_set_path(name, text, &p->json, err);
    case OPT_INTERVAL:
        p->monitor = true;
        return mw_set_unsigned(name, text, 2, UINT16_MAX, &p->interval, err);
    case OPT_PLOT:
        p->monitor = true;
        return mw_set_path(name, text, &p->plot, err);
    case OPT_FST:
        return mw_set_path(name, text, &p->fst, err);
    case OPT_HELP:
        break;
    }
    return MW_EXIT_OK;
}

static int check_combination(const struct mw_run_params *params, const char *synthetic_option,
                             struct mw_error *err)
{
    if (params->trace && synthetic_option)
        return mw_fail(err, MW_EXIT_INPUT, "--%s: not with --trace, which says it itself",
                       synthetic_option);
    if (params->json && params->fst && strcmp(params->json, params->fst) == 0)
        return mw_fail(err, MW_EXIT_INPUT, "--json and --trace-fst: both are %s", params->json);
    if (params->plot && ((params->json && strcmp(params->json, params->plot) == 0) ||
                         (params->fst && strcmp(params->fst, params->plot) == 0)))
        return mw_fail(err, MW_EXIT_INPUT, "--plot and another output: both are %s", params->plot);
    if (params->device.usb && params->fst)
        return mw_fail(err, MW_EXIT_INPUT, "--trace-fst: only with --device sim");
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
    *help = false;
    const char *synthetic_option = NULL;
    optind = 0; // starts anew, in glibc
    for (;;) {
        int index = -1, at = optind ? optind : 1;
        // The colon: errors are told here, in one line; the plus: no word may be left over.
        int id = getopt_long(argc, argv, "+:", options, &index);
        if (id == -1)
            break;
        if (id == OPT_HELP) {
            *help = true;
            return MW_EXIT_OK;
        }
        if (id == ':')
            return mw_fail(err, MW_EXIT_INPUT, "%s: the value is missing", argv[at]);
        if (id == '?')
            return mw_fail(err, MW_EXIT_INPUT, "%s: unknown option, see moeswitch run --help",
                           argv[at]);
        if (id == OPT_EXPERTS || id == OPT_K || id == OPT_SIGMA || id == OPT_LOCALITY)
            synthetic_option = options[index].name;
        int status = set_option(params, id, options[index].name, optarg ? optarg : "", err);
        if (status)
            return status;
    }
    if (optind < argc)
        return mw_fail(err, MW_EXIT_INPUT, "%s: unexpected word, see moeswitch run --help",
                       argv[optind]);
    int status = check_combination(params, synthetic_option, err);
    if (!status && !params->device.usb) // one on USB is asked when it is needed
        status = mw_device_sizes(&params->device, &params->shape.gpus, &params->flit_bytes, err);
    return status;
}

static int get_trace(const struct mw_run_params *params, struct mw_trace *trace,
                     struct mw_error *err)
{
    if (params->trace)
        return mw_trace_load(trace, params->trace, err);
    struct mw_synthetic how = {
        .tokens = (size_t)params->shape.gpus * params->shape.tokens_per_gpu *
                  (params->shape.batches ? params->shape.batches : 1),
        .k = params->k,
        .experts = params->experts,
        .sigma = params->sigma,
        .locality = params->locality,
        .seed = params->shape.seed,
    };
    for (unsigned i = 0; i < params->layer_count; i++)
        if (params->layers[i] >= how.layers)
            how.layers = params->layers[i] + 1;
    return mw_trace_make(trace, &how, err);
}

int mw_run_prepare(struct mw_run_params *params, struct mw_trace *trace,
                   struct mw_workload *workload, struct mw_error *err)
{
    *workload = (struct mw_workload){0};
    int status = mw_device_sizes(&params->device, &params->shape.gpus, &params->flit_bytes, err);
    if (!status)
        status = get_trace(params, trace, err);
    if (status)
        return status;
    status =
        mw_workload_make(workload, trace, params->layers, params->layer_count, &params->shape, err);
    if (status) {
        mw_trace_free(trace);
        return status;
    }
    if (!params->expert_cycles_given)
        params->expert_cycles = mw_default_expert_cycles(workload, params->flit_bytes);
    return MW_EXIT_OK;
}
