// SPDX-License-Identifier: Apache-2.0
//
// Options of `moeswitch bench`: defaults, parsing, help.
#include "bench.h"

#include "option_table.h"
#include "option_value.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

void mw_bench_usage(FILE *out)
{
    fputs(
        "usage: moeswitch bench PATTERN[,PATTERN]... | all | latency [OPTION]...\n"
        "       moeswitch bench link [OPTION]...\n"
        "Drives the fabric without an MoE layer and checks every byte of every result.\n"
        "\n"
        "Patterns (docs/bench.md has their instruction streams)\n"
        "  unicast         every GPU sends packets to random other GPUs\n"
        "  alltoall        every GPU sends a block to every other GPU\n"
        "  multicast       every GPU sends rows to the GPUs of k random experts\n"
        "  all_gather      every GPU stores its block in every GPU (multimem.st)\n"
        "  reduce_scatter  every GPU gets the sum of its block (multimem.ld_reduce)\n"
        "  all_reduce      both: sums by multimem.ld_reduce, stored by multimem.st\n"
        "  red             every GPU reduces its buffer into every GPU's (multimem.red)\n"
        "  dispatch        rows of tokens with gate weights to k experts (dymultimem.st)\n"
        "  combine         reduced rows of these tokens (dymultimem.ld_reduce)\n"
        "  all             all of these\n"
        "  latency         a store and a flag back and forth between GPU 0 and GPU 1\n"
        "  link            the way from this program to the device, with options of its own\n"
        "\n"
        "Sizes: bytes that a GPU sends, or of a collective's whole buffer\n"
        "  --minbytes B, --maxbytes B  from, to (default 4096, 65536; latency 16, 1024); K and M\n"
        "                        behind a number count\n"
        "  --stepfactor X        from line to line (default 4)\n"
        "  --iters I             per line, each with other data (default 1; latency 1000)\n"
        "\n"
        "Traffic\n"
        "  --row B               bytes of a row: 128 is one packet (default 128 for unicast,\n"
        "                        1024 for the others)\n"
        "  --type T              of reductions: bf16, fp16, fp32, u32, s32, all (default bf16)\n"
        "  --redop O             sum, min, max, and, or, xor, all (default sum); of all types and\n"
        "                        operators those run that exist: and, or, xor are for integers\n"
        "  --experts E, --k K    of multicast, dispatch and combine (default 64 and 6)\n"
        "  --trace DIR           lists of dispatch and combine from a routing trace\n"
        "  --layer L             of it (default 0)\n"
        "  --split               unicast, multicast: GPUs 0 to N/2 - 1 send to the others\n"
        "  --load                latency: all other GPUs send to random GPUs all the time\n"
        "  --seed S              of lists, bytes and values (default 1)\n"
        "\n"
        "Device\n" MW_DEVICE_HELP
        "  --gpus N              2 to 32 (default 8, on USB as many as there are)\n"
        "  --flit-bytes F        16 or 8 (default 16, on USB as it is)\n"
        "  --link-latency C      cycles (default 1)\n"
        "  --window W            look-ahead window of the switch: store packets of an input, from "
        "its\n"
        "                        oldest unsent one on, that outputs may take (default 0: all)\n"
        "  --set NAME=VALUE      lower another limit of the device, as of moeswitch run\n"
        "\n"
        "Output\n"
        "  --distribution        how long packets stay in the switch: of each line's stores (of "
        "reductions:\n"
        "                        results, from the request on) the cycles that half, 99 and 99.9 % "
        "of them do\n"
        "                        not exceed, and the longest; in --json the whole histogram\n"
        "  --json FILE           everything, for programs\n"
        "  --help                this text\n"
        "\n"
        "Columns\n"
        "  cycles  from go to done, mean of the iterations; of combine those of its own phase\n"
        "  algbw   size / cycles, in bytes per cycle\n"
        "  busbw   algbw * (N - 1) / N for alltoall, all_gather and reduce_scatter,\n"
        "          algbw * 2 (N - 1) / N for all_reduce; for the others payload bytes per link\n"
        "          / cycles, in the direction that carries more\n"
        "  share   flits (headers and target lists included) per link and cycle in the direction\n"
        "          that carries more, from when every sender has sent an eighth until the first\n"
        "          has sent all; behind ~: over all cycles, because the line is too short\n"
        "  whole   flits of the busiest link and direction / cycles\n"
        "  #wrong  elements of the results that differ from the golden ones\n"
        "\n"
        "Exit status: 0 every result is right, 1 one is wrong, 2 bad input, 3 the device stopped\n"
        "making progress, 4 the machine failed, 130 interrupted (Ctrl-C).\n",
        out);
}

static int set_bytes(void *place, const char *name, const char *text, struct mw_error *err)
{
    uint64_t *value = place;
    const uint64_t high = UINT64_C(1) << 30;
    char *end;
    if (mw_parse_number(text, &end, 1, high, value)) {
        unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
        end += shift != 0;
        *value <<= shift;
        if (!*end && *value <= high)
            return MW_EXIT_OK;
    }
    return mw_fail(err, MW_EXIT_INPUT, "--%s %s: expected bytes from 1 to %llu", name, text,
                   (unsigned long long)high);
}

/// A name, or all of them.
static int set_choice(const char *option, const char *text, const char *(*name)(unsigned),
                      unsigned count, unsigned *mask, struct mw_error *err)
{
    *mask = 0;
    for (unsigned i = 0; i < count; i++)
        if (strcmp(text, name(i)) == 0 || strcmp(text, "all") == 0)
            *mask |= 1u << i;
    return *mask ? MW_EXIT_OK
                 : mw_fail(err, MW_EXIT_INPUT, "--%s %s: unknown, see moeswitch bench --help",
                           option, text);
}

static int set_types(void *mask, const char *name, const char *text, struct mw_error *err)
{
    return set_choice(name, text, mw_reduce_type_name, MW_DTYPES, mask, err);
}

static int set_operators(void *mask, const char *name, const char *text, struct mw_error *err)
{
    return set_choice(name, text, mw_reduce_op_name, MW_REDOPS, mask, err);
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
        size_t length = strcspn(at, ","), found = 0;
        for (unsigned i = 0; i < MW_BENCH_PATTERNS; i++) {
            const char *name = mw_bench_patterns[i].name;
            if ((strlen(name) == length && memcmp(name, at, length) == 0) ||
                strcmp(text, "all") == 0) {
                p->run[i] = true;
                found++;
            }
        }
        if (!found)
            return no_pattern(text, at, length, err);
        if (!at[length])
            return MW_EXIT_OK;
        at += length + 1;
    }
}

#define AT(field) offsetof(struct mw_bench_params, field)

static const struct mw_option options[] = {
    MW_OWN("device", AT(device), mw_set_device),
    MW_UNSIGNED("gpus", AT(gpus), MW_MIN_GPUS, MW_MAX_GPUS),
    MW_OWN("flit-bytes", AT(flit_bytes), mw_set_flit_bytes),
    MW_UNSIGNED("link-latency", AT(link_latency), 1, 1024),
    MW_UNSIGNED("window", AT(window), 0, 31),
    MW_OWN("minbytes", AT(min_bytes), set_bytes),
    MW_OWN("maxbytes", AT(max_bytes), set_bytes),
    MW_UNSIGNED("stepfactor", AT(factor), 2, 1024),
    MW_UNSIGNED("iters", AT(iterations), 1, 1000000),
    MW_UNSIGNED("row", AT(row), 2, 2 * MW_MAX_HIDDEN),
    MW_OWN("type", AT(dtypes), set_types),
    MW_OWN("redop", AT(redops), set_operators),
    MW_UNSIGNED("experts", AT(experts), 1, MW_MAX_EXPERTS),
    MW_UNSIGNED("k", AT(k), 1, MW_MAX_K),
    MW_PATH("trace", AT(trace)),
    MW_UNSIGNED("layer", AT(layer), 0, 9999),
    MW_FLAG("distribution", AT(distribution)),
    MW_FLAG("split", AT(split)),
    MW_FLAG("load", AT(load)),
    MW_NUMBER("seed", AT(seed), 0, UINT64_MAX),
    MW_OWN("set", AT(settings), mw_add_setting),
    MW_PATH("json", AT(json)),
};

static const struct mw_option_table table = {"bench", options, sizeof options / sizeof *options,
                                             set_patterns};

static int check_lists(const struct mw_bench_params *p, struct mw_error *err)
{
    unsigned choice = p->split ? p->experts / 2 : p->experts;
    if (!p->trace && p->k > choice)
        return mw_fail(err, MW_EXIT_INPUT, "--k %u: %u experts can be chosen", p->k, choice);
    if (p->trace && (p->k_given || p->experts_given))
        return mw_fail(err, MW_EXIT_INPUT, "--%s: not with --trace, which says it itself",
                       p->k_given ? "k" : "experts");
    return MW_EXIT_OK;
}

static int check_split(const struct mw_bench_params *p, struct mw_error *err)
{
    for (unsigned i = 0; p->split && i < MW_BENCH_PATTERNS; i++) {
        const char *name = mw_bench_patterns[i].name;
        if (p->run[i] && strcmp(name, "unicast") != 0 && strcmp(name, "multicast") != 0)
            return mw_fail(err, MW_EXIT_INPUT, "--split: not with %s", name);
    }
    if (p->split && p->gpus % 2)
        return mw_fail(err, MW_EXIT_INPUT, "--split: --gpus %u is odd", p->gpus);
    return MW_EXIT_OK;
}

static int check_reductions(const struct mw_bench_params *p, struct mw_error *err)
{
    bool reduces = false;
    for (unsigned i = 0; i < MW_BENCH_PATTERNS; i++)
        reduces |= p->run[i] && mw_bench_patterns[i].reduces;
    if (!reduces && (p->dtypes || p->redops))
        return mw_fail(err, MW_EXIT_INPUT,
                       "--%s: only with reduce_scatter, all_reduce, red or combine",
                       p->dtypes ? "type" : "redop");
    unsigned dtypes = p->dtypes ? p->dtypes : 1u << MW_DTYPE_BF16;
    unsigned redops = p->redops ? p->redops : 1u << MW_REDOP_ADD;
    for (unsigned d = 0; d < MW_DTYPES; d++)
        for (unsigned o = 0; o < MW_REDOPS; o++)
            if (dtypes >> d & redops >> o & 1 && mw_reduce_exists(d, o))
                return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT, "--redop: and, or, xor are for u32 and s32");
}

static int check(struct mw_bench_params *p, struct mw_error *err)
{
    bool patterns = false, lists = false, gates = false;
    for (unsigned i = 0; i < MW_BENCH_PATTERNS; i++) {
        patterns |= p->run[i];
        lists |= p->run[i] && mw_bench_patterns[i].lists;
        gates |= p->run[i] && mw_bench_patterns[i].gates;
    }
    if (!patterns && !p->latency)
        return mw_fail(err, MW_EXIT_INPUT, "no pattern, see moeswitch bench --help");
    if (p->row && p->row % p->flit_bytes)
        return mw_fail(err, MW_EXIT_INPUT, "--row %u: not a multiple of the %u-byte flit", p->row,
                       p->flit_bytes);
    if (p->latency && (p->split || p->row || p->trace || p->window || p->distribution))
        return mw_fail(err, MW_EXIT_INPUT, "--%s: not with latency",
                       p->split    ? "split"
                       : p->row    ? "row"
                       : p->trace  ? "trace"
                       : p->window ? "window"
                                   : "distribution");
    if (p->load && (!p->latency || p->gpus < 4))
        return mw_fail(err, MW_EXIT_INPUT, "--load: only with latency and 4 GPUs or more");
    if ((p->k_given || p->experts_given) && !lists)
        return mw_fail(err, MW_EXIT_INPUT, "--%s: only with multicast, dispatch or combine",
                       p->k_given ? "k" : "experts");
    if (p->trace && !gates)
        return mw_fail(err, MW_EXIT_INPUT, "--trace: only with dispatch or combine");
    int status = check_split(p, err);
    if (!status)
        status = check_reductions(p, err);
    if (!p->dtypes)
        p->dtypes = 1u << MW_DTYPE_BF16;
    if (!p->redops)
        p->redops = 1u << MW_REDOP_ADD;
    if (!status && lists)
        status = check_lists(p, err);
    if (!p->min_bytes)
        p->min_bytes = p->latency ? 16 : 4096;
    if (!p->max_bytes)
        p->max_bytes = p->latency ? 1024 : 65536;
    if (!p->iterations)
        p->iterations = p->latency ? 1000 : 1;
    if (!status && p->min_bytes > p->max_bytes)
        return mw_fail(err, MW_EXIT_INPUT, "--minbytes %llu: more than --maxbytes %llu",
                       (unsigned long long)p->min_bytes, (unsigned long long)p->max_bytes);
    return status;
}

int mw_bench_parse(struct mw_bench_params *params, int argc, char **argv, bool *help,
                   struct mw_error *err)
{
    *params =
        (struct mw_bench_params){.link_latency = 1, .factor = 4, .experts = 64, .k = 6, .seed = 1};
    struct mw_options_said said;
    int status = mw_options_parse(&table, argc, argv, params, &said, err);
    *help = said.help;
    if (status || said.help)
        return status;
    params->k_given = mw_option_given(&table, &said, "k");
    params->experts_given = mw_option_given(&table, &said, "experts");
    status = mw_device_sizes(&params->device, &params->gpus, &params->flit_bytes, err);
    return status ? status : check(params, err);
}
