// SPDX-License-Identifier: Apache-2.0
//
// Options of `moeswitch run`: their table, defaults, parsing.
#include "analysis/costs.h"
#include "base/output.h"
#include "cli/command_help.h"
#include "cli/option_table.h"
#include "device/device.h"
#include "device/setting_table.h"
#include "far_links.h"
#include "run/hardware_options.h"
#include "run/planes.h"
#include "run/run.h"
#include "run/tp_options.h"
#include "systems/system_list.h"
#include "tp/shapes.h"
#include "trace/trace_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void mw_run_defaults(struct mw_run_params *params)
{
    *params = (struct mw_run_params){
        .experts = 64,
        .k = 6,
        .sigma = 0.5,
        .locality = 0.2,
        .layer_count = 1,
        .shape = {.gpus = 8, .tokens_per_gpu = 64, .hidden = 512, .seed = 1},
        .tp = {.merge_entries = MW_BUILT_MERGES},
        .tile = 16,
        .flit_bytes = 16,
        .link_latency = 1,
        .link_cycles = 1,
        .jobs = 1,
    };
}

enum { MAX_LAYER = 9999 };

static int set_layers(void *p, const char *name, const char *text, struct mw_error *err)
{
    struct mw_run_params *params = p;
    const char *at = text;
    const bool one = strcmp(name, "layer") == 0;
    params->layer_count = 0;
    if (one && strchr(text, ','))
        return mw_fail(err, MW_EXIT_INPUT, "--layer %s: one layer; --layers takes several", text);
    for (;;) {
        uint64_t value;
        char *stop;
        if (!mw_parse_number(at, &stop, 0, MAX_LAYER, &value) || (*stop && *stop != ','))
            return mw_fail(err, MW_EXIT_INPUT, "--%s %s: expected %s from 0 to %d%s", name, text,
                           one ? "a layer number" : "layer numbers", MAX_LAYER,
                           one ? "" : ", with commas");
        if (params->layer_count == MW_MAX_LAYERS)
            return mw_fail(err, MW_EXIT_INPUT, "--%s %s: more than %d layers", name, text,
                           MW_MAX_LAYERS);
        params->layers[params->layer_count++] = (size_t)value;
        if (!*stop)
            return MW_EXIT_OK;
        at = stop + 1;
    }
}

static bool models(unsigned i, struct mw_term *term)
{
    if (!i) {
        *term = (struct mw_term){"list", NULL};
        return true;
    }
    return mw_model_names(i - 1, term);
}

static int set_model(void *p, const char *name, const char *text, struct mw_error *err)
{
    struct mw_run_params *params = p;
    params->list_models = strcmp(text, "list") == 0;
    return params->list_models ? MW_EXIT_OK : mw_set_model(&params->model, name, text, err);
}

static MW_TERMS(spreads, {"near", NULL}, {"far", NULL});

static int set_spread(void *spread, const char *name, const char *text, struct mw_error *err)
{
    if (!mw_terms_have(spreads, text))
        return mw_fail_choice(name, text, spreads, err);
    *(enum mw_spread *)spread = strcmp(text, "far") == 0 ? MW_SPREAD_FAR : MW_SPREAD_NEAR;
    return MW_EXIT_OK;
}

static bool row_types(unsigned i, struct mw_term *term)
{
    if (i >= MW_ROW_TYPES)
        return false;
    *term = (struct mw_term){mw_row_type_names[i], NULL};
    return true;
}

/// Which of the list it is.
static int set_index(unsigned *index, mw_terms *list, const char *name, const char *text,
                     struct mw_error *err)
{
    struct mw_term term;
    for (unsigned i = 0; list(i, &term); i++) {
        if (strcmp(text, term.name))
            continue;
        *index = i;
        return MW_EXIT_OK;
    }
    return mw_fail_choice(name, text, list, err);
}

static int set_row_type(void *type, const char *name, const char *text, struct mw_error *err)
{
    return set_index(type, row_types, name, text, err);
}

static bool pass_values(unsigned i, struct mw_term *term)
{
    if (i >= MW_RUN_PASSES)
        return false;
    *term = (struct mw_term){mw_run_names[i], NULL};
    return true;
}

static int set_passes(void *passes, const char *name, const char *text, struct mw_error *err)
{
    unsigned index = 0;
    const int status = set_index(&index, pass_values, name, text, err);
    if (!status)
        *(enum mw_passes *)passes = (enum mw_passes)index;
    return status;
}

// ---- the table ----------------------------------------------------------------------------------

#define AT(field) offsetof(struct mw_run_params, field)

static const struct mw_option options[] = {
    MW_GROUP("What to run"),
    MW_CHOICE("workload", AT(tp.kind), mw_tp_set_kind, mw_tp_kind_values, "NAME",
              "{}: MoE layers (default), or a tensor-parallel workload"),
    MW_PATH(
        "trace", AT(trace), "DIR",
        "routing trace: a folder with meta.json and topk_ids.npy, topk_weights.npy or topk.npz, "
        "or one .npy or .npz file (default: a synthetic one)"),
    MW_AXES_OPTION(AT(said.axes)),
    MW_CHOICE("model", 0, set_model, models, "NAME",
              "experts, k and hidden size of a public model or of a paper's workload; the trace is "
              "synthetic unless --trace names one; other options override these values; --model "
              "list shows all models"),
    MW_NUMBERS("layer", 0, 0, MAX_LAYER, set_layers, "L",
               "layer of the trace, {} (default 0); not with --layers"),
    MW_NUMBERS("layers", 0, 0, MAX_LAYER, set_layers, "L,L,...",
               "several layers, {} each, one after another without a reset"),
    MW_UNSIGNED("gpus", AT(shape.gpus), MW_MIN_GPUS, MW_MAX_GPUS, "N",
                "number of GPUs, {} (default {default}; on USB: that of the device)"),
    MW_UNSIGNED("tokens-per-gpu", AT(shape.tokens_per_gpu), 1, MW_BUILT_TOKENS, "T",
                "tokens of each GPU, {} (default {default}): the run takes the first N * T tokens "
                "of the layer"),
    MW_UNSIGNED("batches", AT(shape.batches), 2, MW_MAX_LAYERS, "B",
                "run B batches, {}, of N * T tokens of the layer, one after another. Then run all "
                "of them again through the device's queue, without and with feeding the next batch "
                "while one runs. Reports tokens per second, and what feeding costs"),
    MW_UNSIGNED(
        "hidden", AT(shape.hidden), 1, MW_BUILT_HIDDEN, "H",
        "bf16 values per token, {}, a multiple of half of --flit-bytes (default {default})"),
    MW_CHOICE("dispatch-type", AT(shape.dispatch_type), set_row_type, row_types, "TYPE",
              "type of the values that are sent to the experts, {}: bf16 (default), FP8 with a "
              "scale that the experts' coefficients include, FP8 with an fp32 scale per 128 "
              "values, or FP4 with scales; results are bf16"),
    MW_CHOICE(
        "pass", AT(shape.passes), set_passes, pass_values, "PASS",
        "layers to run, {} (default forward). All but forward also run the backward layer, once "
        "with the handle of the forward layer and once counted again. With backward, the figures "
        "are those of the backward layer with the handle. With step, stack and recompute, they "
        "include the forward layer. Backward layers take twice --expert-cycles, for two GEMMs (dX "
        "and dW), and send gradients of gate weights home. With stack, each layer gets the results "
        "of the previous one. All layers then run again through the device's queue, forward and "
        "back, without the host in between. With recompute, all forward layers of the stack but "
        "the last run again, each right before its backward layer. So every backward layer has "
        "the handle of its forward layer"),
    MW_FLAG("no-gate-gradients", AT(no_gate_gradients),
            "backward layers of --pass leave gradients of gate weights to the host; this is always "
            "so if --dispatch-type is not bf16"),
    MW_CHOICE("system", 0, mw_set_systems, mw_system_values, "NAME",
              "{} (default all); or NAME,NAME,... for several, which run in that order"),
    MW_UNSIGNED("jobs", AT(jobs), 1, MW_MAX_PLANES, "J",
                "systems that run in parallel, {}, each in its own thread (default {default}); "
                "with --planes all: planes, each in its own process; more than 1 on sim only"),
    MW_CHOICE("placement", AT(placing.by), mw_set_placement, mw_placement_values, "NAME|FILE",
              "places of the experts: {} (loads: every GPU gets about the same number of rows), or "
              "the path of a CSV file with the columns expert and gpu (default contiguous)"),
    MW_CHOICE("expert-loads", AT(placing.loads), mw_set_expert_loads, mw_expert_load_values,
              "NAME|FILE",
              "rows of each expert for --placement loads: {}, counted for the tokens of the run in "
              "their layer or in the one before it, or the path of a file of counts as EPLB reads "
              "(default layer)"),
    MW_UNSIGNED(
        "replicas", AT(placing.replicas), 0, MW_MAX_EXPERTS, "R",
        "extra places of experts on all GPUs together, {}, like SGLang's redundant experts. With "
        "--placement loads they go to the experts with most rows per place, otherwise to the first "
        "experts. Experts and extra places together are a multiple of the GPUs, with at most one "
        "of an expert on a GPU (default {default}, or as many as the file of --placement has)"),
    MW_CHOICE(
        "replica-choice", AT(placing.choice), mw_set_replica_choice, mw_replica_choice_values,
        "HOW",
        "how a token's home picks one of an expert's places, {}: by a hash of token and expert "
        "(default), the GPU to which it has sent fewest rows, a GPU that gets the token in any "
        "case, or the GPU to which all homes have sent fewest (a bound, not a mechanism)"),
    MW_FLAG("allow-padding", AT(shape.allow_padding), "accept -1 (no expert) in the trace"),
    MW_FLAG("repeat-tokens", AT(repeat_tokens),
            "repeat a trace that has too few tokens, from its first token"),
    MW_NUMBER(
        "seed", AT(shape.seed), 0, UINT64_MAX, "S",
        "seed of hidden values, expert coefficients and synthetic trace, {} (default {default})"),
    MW_CHOICE("spread", AT(shape.spread), set_spread, spreads, "near|far",
              "expert coefficients: near 1, so that each row changes the result (default), or far "
              "apart, so that each order of additions does"),

    MW_GROUP("Tensor-parallel workloads"),
    MW_UNSIGNED("rows", AT(tp.rows), MW_MIN_GPUS, MW_TP_MOST_ROWS, "M",
                "rows of all GPUs together, {}, a multiple of the GPUs (default 64 per GPU)"),
    MW_CHOICE("shape", AT(tp.shape), mw_tp_set_shape, mw_tp_shape_values, "NAME",
              "take the times per row, relative to the link's, from the GEMMs and LN of a model, "
              "and its number of GPUs: {}"),
    MW_NUMBER("gemm-rs-cycles", AT(tp.cycles[MW_TP_GEMM_1]), 0, MW_MAX_EXPERT_CYCLES, "C",
              "time per row of the GEMM whose rows are reduced, {}, not with --shape (default: "
              "--expert-cycles)"),
    MW_NUMBER("ln-cycles", AT(tp.cycles[MW_TP_LN]), 0, MW_MAX_EXPERT_CYCLES, "C",
              "time per row of the LN of sublayer, {} (default: the shape's or --expert-cycles)"),
    MW_NUMBER("ag-gemm-cycles", AT(tp.cycles[MW_TP_GEMM_2]), 0, MW_MAX_EXPERT_CYCLES, "C",
              "time per row of the GEMM of gathered rows, {}, not with --shape (default: "
              "--expert-cycles)"),
    MW_UNSIGNED("jitter", AT(tp.jitter), 0, MW_TP_MOST_JITTER, "P",
                "largest random delay of a part, in percent of its time, {} (default {default})"),
    MW_UNSIGNED(
        "start-spread", AT(tp.start), 0, MW_TP_MOST_START, "C",
        "cycles over which the starts of the GPUs are spread at random, {} (default {default})"),
    MW_UNSIGNED("merge-entries", AT(tp.merge_entries), 0, MW_BUILT_MERGES, "E",
                "entries of each port's table of loads, {}; 0: each load is fetched (default "
                "{default}, or as many as the device has)"),
    MW_FLAG("keep-answers", AT(tp.keep),
            "each port of the switch keeps loaded rows for later loads; only with 16-byte flits"),
    MW_UNSIGNED("load-bytes", AT(tp.load_bytes), MW_PAYLOAD_MAX_BYTES, 2 * MW_TP_MOST_HIDDEN, "B",
                "bytes of a load, a power of two, {}: a row is loaded in parts (default: whole "
                "rows)"),
    MW_FLAG("no-merge", AT(tp.no_merge), "the switch fetches a row for each load, and merges none"),
    MW_FLAG("no-sync", AT(tp.no_sync),
            "GPUs load tiles without waiting for each other; only for ag-gemm"),

    MW_GROUP("Synthetic trace"),
    MW_SYNTHETIC_OPTIONS(AT, , MW_BUILT_EXPERTS),

    MW_GROUP("Device"),
    MW_DEVICE_OPTION(AT(device), mw_set_device),
    MW_UNSIGNED("tile", AT(tile), 1, MW_MAX_TILE, "R",
                "rows of an expert that its engine starts together, {} (default {default})"),
    MW_FLAG("partial-tiles", AT(partial_tiles), "an idle engine starts its fullest open tile"),
    MW_NUMBER("expert-cycles", AT(expert_cycles), 0, MW_MAX_EXPERT_CYCLES, "C",
              "cycles of an expert per row, {} (default: strict link bound / (2 * rows of the "
              "busiest engine), rounded down)"),
    MW_CHOICE("flit-bytes", AT(flit_bytes), mw_set_flit_bytes, mw_flit_byte_values, "F",
              "bytes of a flit, {} (default {default}; on USB: those of the device)"),
    MW_UNSIGNED("link-latency", AT(link_latency), 1, MW_FAR_MAX_LATENCY, "C",
                "latency of each link in cycles, {} (default {default})"),
    MW_UNSIGNED("link-cycles", AT(link_cycles), 1, 4, "C",
                "cycles that a flit takes on a link, {} (default {default}); with 2 a GPU is twice "
                "as wide inside as its links"),
    MW_UNSIGNED("in-flight", AT(in_flight), 0, MW_MAX_IN_FLIGHT, "K",
                "tokens in flight per home, {} (default {default}: no limit)"),
    MW_UNSIGNED("open-rows", AT(open_rows), 0, MW_FAR_OPEN_ROWS, "K",
                "open reductions per home, {}; the device may have fewer (default {default}: all)"),
    MW_ADDS("set", AT(settings), mw_add_run_setting, mw_run_settings, "NAME=VALUE",
            "change a setting of the list below; may be given several times"),
    MW_CHOICE("costs", AT(costs), mw_set_costs, mw_cost_presets, "NAME",
              "cycles charged for software, such as kernel launches and barriers: {}; the settings "
              "*_cycles change single ones"),

    MW_GROUP("Machine"),
    MW_HARDWARE_OPTION(AT(hardware), mw_set_hardware,
                       "simulate one plane of a real machine, with its share of --hidden. The "
                       "machine sets GPUs, link latency and time of an expert's row where no "
                       "option does. Reports also have microseconds and GB/s"),
    MW_CHOICE("planes", AT(all_planes), mw_set_planes, mw_plane_values, "WHICH",
              "{} of the planes of --hardware (default one, which stands for all). all simulates "
              "each plane in its own process, --jobs at once, checks every bit of every row, and "
              "reports the slowest plane"),
    MW_CHOICE("gemm-type", AT(gemm), mw_set_gemm_type, mw_gemm_type_values, "TYPE",
              "number format of the experts' GEMMs: {} (default bf16). It selects the TFLOPS of "
              "--hardware, so it is only allowed with that"),

    MW_GROUP("Output"),
    MW_DATA_OPTIONS(AT(files), "everything"),
    MW_FLAG("details", AT(details),
            "print tables of the traffic, of the cycles of adders, engines and memories, and of "
            "stalls by cause"),
    MW_UNSIGNED("interval", AT(interval), 2, UINT16_MAX, "C",
                "ports of the switch record latencies, and the use of their links every C cycles "
                "({}): a table, and all samples in --json"),
    MW_PATH("plot", AT(plot), "FILE",
            "draw what --interval records as SVG (default interval: by the layer's length); - is "
            "standard output"),
    MW_PATH("html", AT(html), "FILE",
            "write everything as one HTML page, with charts of every system; - is standard output"),
    MW_PATH("timeline", AT(timeline), "FILE",
            "write a timeline for Perfetto: instructions of each stream and expert engine, and "
            "open rows at each port (a microsecond is a cycle); on sim only; - is standard output"),
    MW_PATH("trace-fst", AT(fst), "FILE", "write waveforms; on sim only"),
};

static MW_TERMS(exits, {"0", "every bit is right"},
                {"1", "a bit, a flit count or a bound is wrong"},
                {"2", "bad input, or a run that the device or this machine's memory cannot hold"},
                {"3", "the device stopped making progress"}, {"4", MW_EXIT_FAILED_TEXT},
                {"130", MW_EXIT_INTERRUPTED_TEXT});

static const struct mw_section sections[] = {
    {"Settings of --set", mw_run_settings}, {"Exit status", exits}, {0}};

static void defaults(void *params)
{
    mw_run_defaults(params);
}

const struct mw_option_table mw_run_table = {
    .command = "run",
    .option = options,
    .count = sizeof options / sizeof *options,
    .summary = "run MoE layers through the switch and check every bit",
    .synopsis = "[OPTION]...",
    .text = "Runs layers of a mixture-of-experts model, or a tensor-parallel workload, through the "
            "simulated switch, checks every output bit, and prints one line per system. For layers "
            "it first prints a forecast: cycles by the bounds, time of all systems without "
            "building a model, and memory. If the forecast exceeds ten minutes, it suggests a "
            "smaller layer with about the same shares.",
    .section = sections,
    .defaults = defaults,
    .params_bytes = sizeof(struct mw_run_params),
};

// ---- parsing ------------------------------------------------------------------------------------

/// Parameters that the model sets, and no option. Experts and k are those of the trace, where there
/// is one.
static void apply_model(struct mw_run_params *params, const struct mw_options_said *said)
{
    const struct mw_model *m = params->model;
    if (!mw_option_given(&mw_run_table, said, "hidden"))
        params->shape.hidden = m->hidden;
    if (!mw_option_given(&mw_run_table, said, "experts"))
        params->experts = m->experts;
    if (!mw_option_given(&mw_run_table, said, "k"))
        params->k = m->k;
    if (!mw_option_given(&mw_run_table, said, "groups") &&
        !mw_option_given(&mw_run_table, said, "topk-groups")) {
        params->groups = m->groups;
        params->topk_groups = m->topk_groups;
    }
}

/// An option of synthetic traces alone, or NULL.
static const char *synthetic_option(const struct mw_options_said *said)
{
    static const char *const names[] = {"k", "sigma", "locality", "groups", "topk-groups"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (mw_option_given(&mw_run_table, said, names[i]))
            return names[i];
    return NULL;
}

/// Waveforms of several systems are a file each, whose names derive from the given one.
static int check_outputs(const struct mw_run_params *params, struct mw_error *err)
{
    enum { NAMED = 6 };
    const char *option[NAMED + MW_SYSTEMS] = {"json", "csv",      "plot",
                                              "html", "timeline", "trace-fst"};
    const char *path[NAMED + MW_SYSTEMS] = {params->files.json, params->files.csv, params->plot,
                                            params->html,       params->timeline,  params->fst};
    char waves[MW_SYSTEMS][MW_WAVES_BYTES];
    unsigned count = NAMED;
    if (mw_is_standard(params->fst))
        return mw_fail(err, MW_EXIT_INPUT, "--trace-fst -: waveforms need a file");
    for (unsigned i = 0; params->fst && params->systems != 1 && i < MW_SYSTEMS; i++) {
        if (!mw_run_asks_for(params, i))
            continue;
        mw_output_for(waves[i], params->fst, mw_systems[i].name);
        option[count] = "trace-fst";
        path[count++] = waves[i];
    }
    int status = mw_outputs_differ(option, path, count, err);
    if (!status)
        status = mw_outputs_spare(option, path, count, mw_hardware_file(params->hardware), err);
    if (!status)
        status = mw_outputs_spare(option, path, count, mw_placing_file(&params->placing), err);
    if (!status)
        status =
            mw_outputs_spare(option, path, count, mw_placing_loads_file(&params->placing), err);
    return status ? status : mw_outputs_spare_trace(option, path, count, params->trace, err);
}

/// Options that do not support passes.
static int check_passes(const struct mw_run_params *params, struct mw_error *err)
{
    const struct {
        const char *option;
        bool given;
    } not_with[] = {{"--workload", params->tp.kind},
                    {"--batches", params->shape.batches},
                    {"--planes all", params->all_planes}};
    if (params->shape.passes == MW_RUN_FORWARD)
        return params->no_gate_gradients
                   ? mw_fail(err, MW_EXIT_INPUT, "--no-gate-gradients: not with --pass forward")
                   : MW_EXIT_OK;
    for (unsigned i = 0; i < sizeof not_with / sizeof *not_with; i++)
        if (not_with[i].given)
            return mw_fail(err, MW_EXIT_INPUT, "%s: only with --pass forward", not_with[i].option);
    if (params->expert_cycles > MW_MAX_EXPERT_CYCLES / 2)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--pass: an expert's row of %" PRIu64 " cycles takes twice as many in a "
                       "backward layer, more than %d",
                       params->expert_cycles, MW_MAX_EXPERT_CYCLES);
    if (mw_is_stack(&params->shape) && params->shape.dispatch_type != MW_ROWTYPE_BF16)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--pass: results are bf16, and hidden values of the next layer: only "
                       "with --dispatch-type bf16");
    if (mw_is_stack(&params->shape) && params->layer_count > 1 &&
        !mw_placing_same(&params->placing))
        return mw_fail(err, MW_EXIT_INPUT,
                       "--pass: of %u layers, each with a placement of its own: fed layers "
                       "have one expert map",
                       params->layer_count);
    if (params->layer_count * MW_PASSES > MW_MAX_LAYERS)
        return mw_fail(err, MW_EXIT_INPUT, "--pass: of %u layers, %d passes each, more than %d",
                       params->layer_count, MW_PASSES, MW_MAX_LAYERS);
    return MW_EXIT_OK;
}

static int check_combination(const struct mw_run_params *params, const struct mw_options_said *said,
                             struct mw_error *err)
{
    const char *synthetic = synthetic_option(said);
    if (mw_option_given(&mw_run_table, said, "layer") &&
        mw_option_given(&mw_run_table, said, "layers"))
        return mw_fail(err, MW_EXIT_INPUT, "--layer and --layers: both say which layers run");
    if (params->trace && synthetic)
        return mw_fail(err, MW_EXIT_INPUT, "--%s: not with --trace, which says it itself",
                       synthetic);
    if (!params->trace && params->said.axes.count)
        return mw_fail(err, MW_EXIT_INPUT, "--axes: only with --trace");
    int status = mw_planes_check(params, err);
    if (!status)
        status = check_passes(params, err);
    if (!status)
        status = check_outputs(params, err);
    if (!status)
        status = mw_tp_check_options(params, said, err);
    if (status)
        return status;
    if (params->device.usb && params->fst)
        return mw_fail(err, MW_EXIT_INPUT, "--trace-fst: only with --device sim");
    if (params->device.usb && params->timeline)
        return mw_fail(err, MW_EXIT_INPUT, "--timeline: only with --device sim");
    if (params->device.usb && params->jobs > 1)
        return mw_fail(err, MW_EXIT_INPUT, "--jobs %u: only with --device sim", params->jobs);
    if (params->shape.batches && params->layer_count > 1 && !mw_placing_same(&params->placing))
        return mw_fail(
            err, MW_EXIT_INPUT,
            "--batches %u: of %u layers, each with a placement of its own: fed layers have "
            "one expert map",
            params->shape.batches, params->layer_count);
    if (params->placing.loads && !mw_placing_by_loads(&params->placing))
        return mw_fail(err, MW_EXIT_INPUT, "--expert-loads %s: only with --placement loads",
                       params->placing.loads);
    if (params->shape.batches * params->layer_count > MW_MAX_LAYERS)
        return mw_fail(err, MW_EXIT_INPUT, "--batches %u: of %u layers, more than %d in all",
                       params->shape.batches, params->layer_count, MW_MAX_LAYERS);
    return MW_EXIT_OK;
}

int mw_run_parse(struct mw_run_params *params, int argc, char **argv, bool *help,
                 struct mw_error *err)
{
    mw_run_defaults(params);
    params->shape.gpus = params->flit_bytes = 0; // not given
    struct mw_options_said said;
    int status = mw_options_parse(&mw_run_table, argc, argv, params, &said, err);
    *help = said.help;
    if (status || said.help)
        return status;
    params->expert_cycles_given = mw_option_given(&mw_run_table, &said, "expert-cycles");
    for (unsigned i = 0; i < MW_TP_PARTS; i++)
        params->tp.given[i] = mw_option_given(&mw_run_table, &said, mw_tp_parts[i].option);
    params->tp.entries_given = mw_option_given(&mw_run_table, &said, "merge-entries");
    params->shape.gate_gradients = params->shape.passes != MW_RUN_FORWARD &&
                                   params->shape.dispatch_type == MW_ROWTYPE_BF16 &&
                                   !params->no_gate_gradients;
    params->monitor_must = params->interval || params->plot;
    params->monitor = params->monitor_must || params->html;
    if (params->model)
        apply_model(params, &said);
    status = mw_hardware_apply(params, &said, err);
    if (status)
        return status;
    if (params->tp.shape && !mw_option_given(&mw_run_table, &said, "gpus"))
        params->shape.gpus = params->tp.shape->gpus;
    if (mw_option_given(&mw_run_table, &said, "experts"))
        params->said.experts = params->experts;
    params->said.model_experts = params->model ? params->model->experts : 0;
    status = check_combination(params, &said, err);
    if (!status && !params->device.usb) // one on USB is read when it is needed
        status = mw_device_sizes(&params->device, &params->shape.gpus, &params->flit_bytes, err);
    return status;
}
