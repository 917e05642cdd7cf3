// SPDX-License-Identifier: Apache-2.0
//
// Options of `moeswitch bench`: their table, defaults, parsing.
#include "bench/bench.h"
#include "cli/command_help.h"
#include "device/setting_table.h"
#include "experiment/machine.h"
#include "far_links.h"
#include "trace/trace_options.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 30 };

static int set_bytes(void *place, const char *name, const char *text, struct mw_error *err)
{
    uint64_t *value = place;
    char *end;
    if (mw_parse_number(text, &end, 1, MAX_BYTES, value)) {
        unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
        end += shift != 0;
        *value <<= shift;
        if (!*end && *value <= MAX_BYTES)
            return MW_EXIT_OK;
    }
    return mw_fail(err, MW_EXIT_INPUT, "--%s %s: expected bytes from 1 to %llu", name, text,
                   (unsigned long long)MAX_BYTES);
}

/// A name of a list, whose last is all of them.
static int set_choice(const char *option, const char *text, mw_terms *terms, unsigned *mask,
                      struct mw_error *err)
{
    struct mw_term term;
    *mask = 0;
    for (unsigned i = 0; terms(i, &term); i++)
        if (strcmp(text, term.name) == 0 || strcmp(text, "all") == 0)
            *mask |= 1u << i;
    return *mask ? MW_EXIT_OK : mw_fail_choice(option, text, terms, err);
}

static bool types(unsigned i, struct mw_term *term)
{
    *term = (struct mw_term){i < MW_DTYPES ? mw_reduce_type_name(i) : "all", NULL};
    return i <= MW_DTYPES;
}

static bool operators(unsigned i, struct mw_term *term)
{
    *term = (struct mw_term){i < MW_REDOPS ? mw_reduce_op_name(i) : "all", NULL};
    return i <= MW_REDOPS;
}

static int set_types(void *mask, const char *name, const char *text, struct mw_error *err)
{
    if (strstr(text, ".acc::f16")) // a form of PTX, see docs/reference/multimem.md
        return mw_fail(err, MW_EXIT_INPUT,
                       "--%s %s: no device adds in fp16 (.acc::f16); without a qualifier sums of "
                       "e4m3 and e5m2 are fp32 inside",
                       name, text);
    return set_choice(name, text, types, mask, err);
}

static int set_operators(void *mask, const char *name, const char *text, struct mw_error *err)
{
    return set_choice(name, text, operators, mask, err);
}

/// The word at `at` of the list `text` is none.
static int no_pattern(const char *text, const char *at, size_t length, struct mw_error *err)
{
    const char *names[MW_BENCH_PATTERNS];
    char name[64];
    for (unsigned i = 0; i < MW_BENCH_PATTERNS; i++)
        names[i] = mw_bench_patterns[i].name;
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    const char *near = mw_closest(name, names, MW_BENCH_PATTERNS);
    return mw_fail(err, MW_EXIT_INPUT, "%s: no such pattern, see moeswitch bench --help%s%s%s",
                   text, near ? " (" : "", near ? near : "", near ? "?)" : "");
}

/// A comma-separated list of patterns.
static int set_patterns(void *params, const char *text, struct mw_error *err)
{
    struct mw_bench_params *p = params;
    if (p->named)
        return mw_fail(err, MW_EXIT_INPUT, "%s: unexpected word, see moeswitch bench --help", text);
    p->named = true;
    if (strcmp(text, "latency") == 0) {
        p->latency = true;
        return MW_EXIT_OK;
    }
    for (const char *at = text;;) {
        const size_t length = strcspn(at, ",");
        bool found = false;
        for (unsigned i = 0; i < MW_BENCH_PATTERNS; i++) {
            const char *name = mw_bench_patterns[i].name;
            if ((strlen(name) == length && memcmp(name, at, length) == 0) ||
                strcmp(text, "all") == 0) {
                if (p->run[i])
                    return mw_fail(err, MW_EXIT_INPUT, "%s: %s is there twice", text, name);
                p->run[i] = found = true;
            }
        }
        if (!found && length == 3 && memcmp(at, "all", length) == 0)
            return mw_fail(err, MW_EXIT_INPUT, "%s: all stands alone, not in a list", text);
        if (!found)
            return no_pattern(text, at, length, err);
        if (!at[length])
            return MW_EXIT_OK;
        at += length + 1;
    }
}

// ---- the table ----------------------------------------------------------------------------------

#define AT(field) offsetof(struct mw_bench_params, field)

static const struct mw_option options[] = {
    MW_GROUP("Device"),
    MW_DEVICE_OPTION(AT(device), mw_set_device),
    MW_UNSIGNED("gpus", AT(gpus), MW_MIN_GPUS, MW_MAX_GPUS, "N",
                "number of GPUs, {} (default 8; on USB: that of the device)"),
    MW_CHOICE("flit-bytes", AT(flit_bytes), mw_set_flit_bytes, mw_flit_byte_values, "F",
              "bytes of a flit, {} (default 16; on USB: those of the device)"),
    MW_UNSIGNED("link-latency", AT(link_latency), 1, MW_FAR_MAX_LATENCY, "C",
                "latency of each link in cycles, {} (default {default})"),
    MW_HARDWARE_OPTION(AT(hardware), mw_set_hardware,
                       "simulate one plane of a real machine, which sets GPUs and link latency "
                       "where no option does; lines also have microseconds and GB/s"),
    MW_UNSIGNED("window", AT(window), 0, MW_BUILT_WINDOW, "W",
                "look-ahead window of the switch, {}: outputs choose from this many store packets "
                "of an input, from its oldest unsent one on (default {default}: all)"),

    MW_GROUP("Sizes: bytes that a GPU sends, or of a collective's whole buffer"),
    MW_NUMBERS("minbytes", AT(min_bytes), 1, MAX_BYTES, set_bytes, "B",
               "smallest size, {} (default 4096; latency 16); a number may end in K or M"),
    MW_NUMBERS("maxbytes", AT(max_bytes), 1, MAX_BYTES, set_bytes, "B",
               "largest size, {} (default 65536; latency 1024)"),
    MW_UNSIGNED("stepfactor", AT(factor), 2, 1024, "X",
                "factor from one size to the next, {} (default {default})"),
    MW_UNSIGNED("iters", AT(iterations), 1, 1000000, "I",
                "iterations per size, {}, each with other data (default 1; latency 1000)"),

    MW_GROUP("Traffic"),
    MW_UNSIGNED("row", AT(row), 2, 2 * MW_BUILT_HIDDEN, "B",
                "bytes of a row, {}, a multiple of --flit-bytes: 128 is one packet (default: as in "
                "docs/user/bench.md, 128 or 1024)"),
    MW_CHOICE("type", AT(dtypes), set_types, types, "T", "type of reductions: {} (default bf16)"),
    MW_CHOICE("redop", AT(redops), set_operators, operators, "O",
              "operator of reductions: {} (default sum); all runs only what exists: and, or, xor "
              "are for integers"),
    MW_UNSIGNED("experts", AT(experts), 1, MW_BUILT_EXPERTS, "E",
                "experts for multicast, dispatch and combine, {}, a multiple of the GPUs (default "
                "{default})"),
    MW_UNSIGNED(
        "k", AT(k), 1, MW_MAX_K, "K",
        "experts of a token, for the same patterns, {}, at most --experts (default {default})"),
    MW_PATH("trace", AT(trace), "DIR",
            "routing trace whose lists dispatch and combine use: a folder, or a file of arrays"),
    MW_AXES_OPTION(AT(said.axes)),
    MW_UNSIGNED("layer", AT(layer), 0, 9999, "L", "layer of the trace, {} (default {default})"),
    MW_FLAG("split", AT(split), "for unicast and multicast: GPUs 0 to N/2 - 1 send to the others"),
    MW_FLAG("load", AT(load),
            "for latency, with 4 GPUs or more: all other GPUs send to random GPUs all the time"),
    MW_NUMBER("seed", AT(seed), 0, UINT64_MAX, "S",
              "seed of lists, bytes and values, {} (default {default})"),
    MW_ADDS("set", AT(settings), mw_add_bench_setting, mw_bench_settings, "NAME=VALUE",
            "change a setting of the list below; may be given several times"),

    MW_GROUP("Output"),
    MW_FLAG("distribution", AT(distribution),
            "print how long the stores of each line stay in the switch (reductions: the results, "
            "from the request on): median, 99 and 99.9 % percentiles, and maximum in cycles; "
            "--json has the whole histogram"),
    MW_DATA_OPTIONS(AT(files), "everything"),
};

/// What may be named: the patterns, and what is none.
static bool names(unsigned i, struct mw_term *term)
{
    static const struct mw_term others[] = {
        {"all", "all of these"},
        {"latency", "GPU 0 and GPU 1 send a store and a flag back and forth"},
        {"link", "the connection from this program to the device, with its own options"}};
    if (i < MW_BENCH_PATTERNS)
        *term = (struct mw_term){mw_bench_patterns[i].name, mw_bench_patterns[i].text};
    else if (i - MW_BENCH_PATTERNS < sizeof others / sizeof *others)
        *term = others[i - MW_BENCH_PATTERNS];
    else
        return false;
    return true;
}

static MW_TERMS(
    columns,
    {"cycles", "from go to done, mean of the iterations; for combine only those of its own phase"},
    {"algbw", "size / cycles, in bytes per cycle"},
    {"busbw",
     "algbw * (N - 1) / N for alltoall, all_gather and reduce_scatter, algbw * 2 (N - 1) / N "
     "for all_reduce; for the others payload bytes per link / cycles, in the direction that "
     "carries more"},
    {"share", "flits (headers and target lists included) per link and cycle, in the direction that "
              "carries more. It is measured from when every sender has sent an eighth until the "
              "first has sent all. ~ marks a share over all cycles, because the line is too short"},
    {"whole", "flits of the busiest link and direction / cycles"},
    {"us, algGB/s, busGB/s",
     "with --hardware: cycles in microseconds, algbw and busbw of all planes"},
    {"#wrong", "elements of the results that differ from the golden model"});

static MW_TERMS(exits, {"0", "every result is right"}, {"1", "one is wrong"}, {"2", "bad input"},
                {"3", "the device stopped making progress"}, {"4", MW_EXIT_FAILED_TEXT},
                {"130", MW_EXIT_INTERRUPTED_TEXT});

static const struct mw_section sections[] = {{"Patterns", names},
                                             {"Columns", columns},
                                             {"Settings of --set", mw_bench_settings},
                                             {"Exit status", exits},
                                             {0}};

static void defaults(void *params)
{
    *(struct mw_bench_params *)params =
        (struct mw_bench_params){.link_latency = 1, .factor = 4, .experts = 64, .k = 6, .seed = 1};
}

const struct mw_option_table mw_bench_table = {
    .command = "bench",
    .option = options,
    .count = sizeof options / sizeof *options,
    .word = set_patterns,
    .words = names,
    .summary = "measure the fabric with traffic patterns, as nccl-tests does",
    .synopsis = "PATTERN[,PATTERN]... [OPTION]...",
    .text = "Drives the fabric without an MoE layer and checks every byte of every result. "
            "docs/user/bench.md has the patterns' instruction streams.",
    .section = sections,
    .defaults = defaults,
    .params_bytes = sizeof(struct mw_bench_params),
};

// ---- parsing ------------------------------------------------------------------------------------

/// Parameters that the machine sets, and no option.
static int apply_hardware(struct mw_bench_params *p, bool latency_given, struct mw_error *err)
{
    if (!p->hardware)
        return MW_EXIT_OK;
    int status = mw_machine_sizes(p->hardware, &p->device, &p->gpus, &p->flit_bytes, err);
    if (status)
        return status;
    mw_plane_link(&p->plane, p->hardware, p->flit_bytes, 1);
    if (!latency_given)
        p->link_latency = p->plane.link_latency;
    return mw_machine_latency(p->hardware, &p->plane, p->link_latency, err);
}

int mw_bench_parse(struct mw_bench_params *params, int argc, char **argv, bool *help,
                   struct mw_error *err)
{
    defaults(params);
    struct mw_options_said said;
    int status = mw_options_parse(&mw_bench_table, argc, argv, params, &said, err);
    *help = said.help;
    if (status || said.help)
        return status;
    params->k_given = mw_option_given(&mw_bench_table, &said, "k");
    params->experts_given = mw_option_given(&mw_bench_table, &said, "experts");
    if (params->experts_given)
        params->said.experts = params->experts;
    status = apply_hardware(params, mw_option_given(&mw_bench_table, &said, "link-latency"), err);
    if (!status)
        status = mw_device_sizes(&params->device, &params->gpus, &params->flit_bytes, err);
    if (!status)
        status = mw_outputs_spare((const char *const[]){"json", "csv"},
                                  (const char *const[]){params->files.json, params->files.csv}, 2,
                                  mw_hardware_file(params->hardware), err);
    return status ? status : mw_bench_check(params, err);
}
