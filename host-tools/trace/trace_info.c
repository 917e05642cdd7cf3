// SPDX-License-Identifier: Apache-2.0
//
// See trace_info.h.
#include "trace/trace_info.h"

#include "base/text.h"
#include "cli/command_help.h"
#include "cli/tables.h"
#include "formats/json.h"
#include "trace/trace_options.h"

#include "moeswitch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct asked {
    const char *action, *folder;
    struct mw_trace_said said;
    struct mw_data_files files;
};

// ---- figures ------------------------------------------------------------------------------------

static bool has(const uint16_t *ids, unsigned k, uint16_t expert)
{
    for (unsigned i = 0; i < k; i++)
        if (ids[i] == expert)
            return true;
    return false;
}

/// Tokens of every expert; also what only neighbours show.
static void count(const struct mw_trace *trace, size_t layer, size_t *tokens,
                  struct mw_trace_spread *s)
{
    size_t repeated = 0;
    for (size_t t = 0; t < trace->tokens; t++) {
        const uint16_t *ids = trace->ids + mw_trace_at(trace, layer, t);
        for (unsigned j = 0; j < trace->k; j++) {
            if (ids[j] == MW_NO_EXPERT) {
                s->empty++;
                continue;
            }
            tokens[ids[j]]++;
            repeated += t && has(ids - trace->k, trace->k, ids[j]);
        }
    }
    if (trace->tokens > 1)
        s->repeated = (double)repeated / (double)((trace->tokens - 1) * trace->k);
}

static double deviation(double sum, double squares, double n)
{
    double variance = n > 0 ? squares / n - sum / n * (sum / n) : 0;
    return variance > 0 ? sqrt(variance) : 0;
}

int mw_trace_spread(const struct mw_trace *trace, size_t layer, struct mw_trace_spread *s,
                    struct mw_error *err)
{
    size_t *tokens = calloc(trace->experts, sizeof *tokens), all = 0;
    double sum = 0, squares = 0;
    if (!tokens)
        return mw_fail_memory(err, "tokens per expert");
    *s = (struct mw_trace_spread){.min = SIZE_MAX};
    count(trace, layer, tokens, s);
    for (unsigned e = 0; e < trace->experts; e++) {
        double ln = tokens[e] ? log((double)tokens[e]) : 0;
        sum += ln;
        squares += ln * ln;
        all += tokens[e];
        s->idle += !tokens[e];
        s->min = tokens[e] < s->min ? tokens[e] : s->min;
        s->max = tokens[e] > s->max ? tokens[e] : s->max;
    }
    s->mean = (double)all / trace->experts;
    s->imbalance = all ? (double)s->max / s->mean : 0;
    s->sigma = deviation(sum, squares, trace->experts - s->idle);
    free(tokens);
    return MW_EXIT_OK;
}

// ---- text and JSON ------------------------------------------------------------------------------

static void print_head(FILE *out, const struct mw_trace *t)
{
    char axes[MW_AXES_BYTES];
    fprintf(out, "%s\n", MW_SHOWN(t->name));
    fprintf(out, "model    %s\n", *t->model ? MW_SHOWN(t->model) : "not said");
    fprintf(out, "sizes    %u experts, k %u, hidden ", t->experts, t->k);
    fprintf(out, t->hidden ? "%u\n" : "not said\n", t->hidden);
    fprintf(out, "tokens   %zu in each of %zu layers\n", t->tokens, t->layers);
    fprintf(out, "files    axes %s, ids %s, weights %s\n", mw_axes_text(&t->axes, axes),
            t->ids_type, t->uniform ? "none (1/k each)" : t->weights_type);
    fprintf(out, "\n%6s %26s %7s %6s %6s %9s %7s\n%6s %8s %8s %8s %7s %6s %6s %9s %7s\n", "",
            "tokens per expert", "max /", "", "", "repeated", "", "layer", "min", "mean", "max",
            "mean", "idle", "sigma", "%", "empty");
}

static void print_layer(FILE *out, size_t layer, const struct mw_trace_spread *s)
{
    fprintf(out, "%6zu %8zu %8.1f %8zu %7.2f %6u %6.2f %9.1f %7zu\n", layer, s->min, s->mean,
            s->max, s->imbalance, s->idle, s->sigma, 100 * s->repeated, s->empty);
}

static void json_head(struct mw_json *j, const struct mw_trace *t)
{
    char axes[MW_AXES_BYTES];
    mw_json_object(j, NULL, false);
    mw_json_string(j, "tool", "moeswitch " MW_VERSION);
    mw_json_string(j, "trace", t->name);
    mw_json_string(j, "model", *t->model ? t->model : NULL);
    mw_json_uint(j, "experts", t->experts);
    mw_json_uint(j, "k", t->k);
    if (t->hidden)
        mw_json_uint(j, "hidden", t->hidden);
    else
        mw_json_null(j, "hidden");
    mw_json_uint(j, "layers", t->layers);
    mw_json_uint(j, "tokens", t->tokens);
    mw_json_string(j, "axes", mw_axes_text(&t->axes, axes));
    mw_json_string(j, "ids_type", t->ids_type);
    mw_json_string(j, "weights", mw_trace_weights(t));
    mw_json_string(j, "weights_type", t->uniform ? NULL : t->weights_type);
    mw_json_array(j, "spread", false);
}

static void json_layer(struct mw_json *j, size_t layer, const struct mw_trace_spread *s)
{
    mw_json_object(j, NULL, true);
    mw_json_uint(j, "layer", layer);
    mw_json_uint(j, "tokens_per_expert_min", s->min);
    mw_json_double(j, "tokens_per_expert_mean", s->mean);
    mw_json_uint(j, "tokens_per_expert_max", s->max);
    mw_json_double(j, "imbalance", s->imbalance);
    mw_json_uint(j, "idle_experts", s->idle);
    mw_json_double(j, "sigma", s->sigma);
    mw_json_double(j, "repeated", s->repeated);
    mw_json_uint(j, "empty", s->empty);
    mw_json_end(j);
}

static int write_all(const struct mw_trace *trace, FILE *tables, struct mw_json *j,
                     struct mw_error *err)
{
    int status = mw_json_open(j, err);
    for (size_t l = 0; l < trace->layers && !status; l++)
        status = mw_trace_check(trace, l, trace->tokens, true, err);
    if (status)
        return status;
    print_head(tables, trace);
    json_head(j, trace);
    for (size_t l = 0; l < trace->layers; l++) {
        struct mw_trace_spread s;
        status = mw_trace_spread(trace, l, &s, err);
        if (status)
            return status;
        print_layer(tables, l, &s);
        json_layer(j, l, &s);
    }
    mw_json_end(j);
    mw_json_end(j);
    return mw_json_close(j, err);
}

// ---- the command --------------------------------------------------------------------------------

static int take_word(void *params, const char *text, struct mw_error *err)
{
    struct asked *a = params;
    if (!a->action && strcmp(text, "info") != 0)
        return mw_fail(err, MW_EXIT_INPUT, "%s: unknown, see moeswitch trace --help", text);
    if (a->folder)
        return mw_fail(err, MW_EXIT_INPUT, "%s: unexpected word, see moeswitch trace --help", text);
    *(a->action ? &a->folder : &a->action) = text;
    return MW_EXIT_OK;
}

static int tell(const struct asked *a, FILE *out, struct mw_error *err)
{
    const struct mw_data_files *files = &a->files;
    struct mw_trace trace;
    struct mw_json j = {0};
    struct mw_csv csv = {0};
    FILE *tables = NULL;
    int status = mw_data_check(files, a->folder, err);
    if (!status)
        status = mw_data_probe(files, err);
    if (!status)
        status = mw_trace_load(&trace, a->folder, &a->said, err);
    if (status)
        return status;
    if (!(tables = mw_tables_open(out, mw_data_replaces_tables(files), err)))
        status = MW_EXIT_FAILED;
    mw_csv_begin(&csv, "spread", &j);
    if (!status)
        status = write_all(&trace, tables, &j, err);
    if (!status)
        status = mw_data_write(files, out, &j, &csv, err);
    mw_tables_close(tables, out);
    mw_json_free(&j);
    mw_csv_free(&csv);
    mw_trace_free(&trace);
    return status;
}

static const struct mw_option options[] = {
    MW_AXES_OPTION(offsetof(struct asked, said.axes)),
    MW_UNSIGNED("experts", offsetof(struct asked, said.experts), 1, MW_MAX_EXPERTS, "E",
                "experts of the model, for a file without a meta.json ({})"),
    MW_DATA_OPTIONS(offsetof(struct asked, files), "the same"),
};

static MW_TERMS(actions, {"info", "check a trace, and show its contents"});
static MW_TERMS(
    columns, {"tokens per expert", "fewest, mean and most; max / mean of 1 is an even load"},
    {"idle", "experts without any token"},
    {"sigma",
     "of the logarithm of tokens per expert: moeswitch run --sigma generates a similar trace"},
    {"repeated", "places of the lists whose expert is also in the list of the previous token"},
    {"empty", "places without an expert (-1)"});
static MW_TERMS(exits, {"0", "the trace is well-formed"}, {"2", "bad input, or a malformed trace"},
                {"4", MW_EXIT_FAILED_TEXT});
static const struct mw_section sections[] = {
    {"Columns, of each layer", columns}, {"Exit status", exits}, {0}};

const struct mw_option_table mw_trace_table = {
    .command = "trace",
    .option = options,
    .count = sizeof options / sizeof *options,
    .word = take_word,
    .words = actions,
    .file = "DIR",
    .summary = "check a routing trace, and show its contents",
    .synopsis = "info DIR [OPTION]...",
    .text =
        "Checks all of a routing trace, and shows its contents. DIR is a folder with meta.json and "
        "topk_ids.npy, topk_weights.npy or both in topk.npz; or it is one .npy or .npz file.",
    .section = sections,
};

int mw_trace_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    struct mw_options_said said;
    struct asked a = {0};
    int status = mw_options_parse(&mw_trace_table, argc, argv, &a, &said, &err);
    if (said.help && !status)
        mw_command_help(&mw_trace_table, out);
    else if (!status && !a.folder)
        status = mw_fail(&err, MW_EXIT_INPUT, "%s is missing, see moeswitch trace --help",
                         a.action ? "the trace's folder" : "what to do");
    else if (!status)
        status = tell(&a, out, &err);
    if (err.text[0])
        fprintf(errors, "moeswitch: %s\n", err.text);
    return status;
}
