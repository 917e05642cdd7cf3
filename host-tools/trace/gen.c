// SPDX-License-Identifier: Apache-2.0
//
// See gen.h. trace_make.c makes the trace. This file reads the options, and writes the folder.
#include "trace/gen.h"

#include "base/host_memory.h"
#include "base/output.h"
#include "base/text.h"
#include "cli/command_help.h"
#include "cli/option_table.h"
#include "cli/option_value.h"
#include "formats/json.h"
#include "formats/npy.h"
#include "trace/counts.h"
#include "trace/models.h"
#include "trace/trace.h"
#include "trace/trace_options.h"

#include "moeswitch.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct asked {
    const char *folder;
    const struct mw_model *model; ///< or NULL
    const char *counts;           ///< file, or NULL
    unsigned layers, tokens, hidden;
    struct mw_synthetic how;
};

enum { IDS, WEIGHTS, META, FILES };

// ---- the folder ---------------------------------------------------------------------------------

/// Its files, meta.json last: without it a folder is no trace.
struct folder {
    char path[FILES][MW_PATH_BYTES + 32];
    bool made;
};

/// No existing file is overwritten: it may be a trace that cannot be made again.
static int open_folder(struct folder *f, const char *name, struct mw_error *err)
{
    *f = (struct folder){0};
    if (strlen(name) >= MW_PATH_BYTES)
        return mw_fail(err, MW_EXIT_INPUT, "%.40s...: the name of the folder is too long", name);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(f->path[i], sizeof f->path[i], "%s/%s", name, mw_trace_files[i]);
        if (access(f->path[i], F_OK) == 0)
            return mw_fail(err, MW_EXIT_INPUT,
                           "%s: exists, and is not overwritten: remove it, or name "
                           "another folder",
                           f->path[i]);
    }
    f->made = mkdir(name, 0777) == 0;
    if (!f->made && errno != EEXIST)
        return mw_fail(err, MW_EXIT_INPUT, "%s: cannot make the folder: %s", name, strerror(errno));
    return MW_EXIT_OK;
}

static void drop_folder(const struct folder *f, const char *name)
{
    for (unsigned i = 0; i < FILES; i++)
        unlink(f->path[i]);
    if (f->made)
        rmdir(name);
}

static int write_meta(const char *path, const struct mw_trace *t, const struct asked *a,
                      struct mw_error *err)
{
    struct mw_json j = {0};
    int status = mw_json_open(&j, err);
    if (status)
        return status;
    mw_json_object(&j, NULL, false);
    mw_json_string(&j, "model", t->model);
    mw_json_uint(&j, "experts", t->experts);
    if (a->hidden)
        mw_json_uint(&j, "hidden", a->hidden);
    mw_json_uint(&j, "layers", t->layers);
    mw_json_uint(&j, "tokens", t->tokens);
    mw_json_uint(&j, "top_k", t->k);
    mw_json_string(&j, "axes", "layers,tokens,k");
    mw_json_object(&j, "made_by", true);
    mw_json_string(&j, "tool", "moeswitch " MW_VERSION " gen");
    if (a->counts) {
        mw_json_string(&j, "counts", a->counts);
    } else {
        mw_json_double(&j, "sigma", a->how.sigma);
        mw_json_double(&j, "locality", a->how.locality);
        mw_json_uint(&j, "groups", a->how.groups);
        mw_json_uint(&j, "topk_groups", a->how.topk_groups);
    }
    mw_json_uint(&j, "seed", a->how.seed);
    mw_json_end(&j);
    mw_json_end(&j);
    status = mw_json_close(&j, err);
    if (!status)
        status = mw_output_write(path, j.text, j.size, err);
    mw_json_free(&j);
    return status;
}

static int write_folder(const struct asked *a, const struct mw_trace *t, struct mw_error *err)
{
    struct folder f;
    const struct mw_npy ids = {
        .dims = 3, .dim = {t->layers, t->tokens, t->k}, .type = MW_NPY_U2, .data = t->ids};
    const struct mw_npy weights = {
        .dims = 3, .dim = {t->layers, t->tokens, t->k}, .type = MW_NPY_F4, .data = t->weights};
    int status = open_folder(&f, a->folder, err);
    if (status)
        return status;
    if ((status = mw_npy_write(f.path[IDS], &ids, err)) ||
        (status = mw_npy_write(f.path[WEIGHTS], &weights, err)) ||
        (status = write_meta(f.path[META], t, a, err)))
        drop_folder(&f, a->folder);
    return status;
}

// ---- the command --------------------------------------------------------------------------------

#define AT(field) offsetof(struct asked, field)

static const struct mw_option options[] = {
    MW_CHOICE("model", AT(model), mw_set_model, mw_model_names, "NAME",
              "experts, k, hidden size and groups of a public model; other options override these "
              "values; moeswitch run --model list shows all models"),
    MW_PATH(
        "counts", AT(counts), "FILE",
        "tokens of each expert, [layers, experts] or [experts], as .npy or as CSV with a line for "
        "each layer: the trace has the same shares, and the same counts if they sum to --tokens "
        "times --k; with --k or --model"),
    MW_UNSIGNED("layers", AT(layers), 1, 10000, "L", "number of layers, {} (default {default})"),
    MW_UNSIGNED("tokens", AT(tokens), 1, 1u << 30, "T",
                "tokens of each layer, {} (default {default})"),
    MW_UNSIGNED("hidden", AT(hidden), 1, 1u << 24, "H",
                "hidden size of the model, {}, for meta.json (default: none)"),
    MW_SYNTHETIC_OPTIONS(AT, how., MW_MAX_EXPERTS),
    MW_NUMBER("seed", AT(how.seed), 0, UINT64_MAX, "S", "seed, {} (default {default})"),
};

static int take_word(void *params, const char *text, struct mw_error *err)
{
    struct asked *a = params;
    if (a->folder)
        return mw_fail(err, MW_EXIT_INPUT, "%s: unexpected word, see moeswitch gen --help", text);
    a->folder = text;
    return MW_EXIT_OK;
}

static MW_TERMS(exits, {"0", "the trace is written"},
                {"2", "bad input: no such trace is possible, or its files already exist"},
                {"4", MW_EXIT_FAILED_TEXT});
static const struct mw_section sections[] = {{"Exit status", exits}, {0}};

static void defaults(void *params)
{
    *(struct asked *)params = (struct asked){
        .layers = 1,
        .tokens = 4096,
        .how = {.k = 6, .experts = 64, .sigma = 0.5, .locality = 0.2, .seed = 1},
    };
}

const struct mw_option_table mw_gen_table = {
    .command = "gen",
    .option = options,
    .count = sizeof options / sizeof *options,
    .word = take_word,
    .file = "DIR",
    .summary = "generate a routing trace",
    .synopsis = "DIR [OPTION]...",
    .text = "Generates a synthetic routing trace, or one with given counts of tokens per expert. "
            "Writes it as a folder (topk_ids.npy, topk_weights.npy, meta.json) for --trace of "
            "moeswitch run. The same options give the same bytes on every machine.",
    .section = sections,
    .defaults = defaults,
    .params_bytes = sizeof(struct asked),
};

static void apply_model(struct asked *a, const struct mw_options_said *said)
{
    const struct mw_model *m = a->model;
    if (!mw_option_given(&mw_gen_table, said, "experts"))
        a->how.experts = m->experts;
    if (!mw_option_given(&mw_gen_table, said, "k"))
        a->how.k = m->k;
    if (!mw_option_given(&mw_gen_table, said, "hidden"))
        a->hidden = m->hidden;
    if (!mw_option_given(&mw_gen_table, said, "groups") &&
        !mw_option_given(&mw_gen_table, said, "topk-groups")) {
        a->how.groups = m->groups;
        a->how.topk_groups = m->topk_groups;
    }
}

/// The trace, and beside it a file as it is written.
static int check_memory(const struct mw_synthetic *how, struct mw_error *err)
{
    const uint64_t element = sizeof(uint16_t) + 2 * sizeof(float);
    const uint64_t need = (uint64_t)how->layers * how->tokens * how->k * element;
    const uint64_t available = mw_memory_available("/proc/meminfo");
    char needs[32], has[32];
    if (!available || need <= available)
        return MW_EXIT_OK;
    return mw_fail(err, MW_EXIT_INPUT,
                   "the trace takes %s of memory, this machine has %s available: lower --tokens or "
                   "--layers",
                   mw_bytes_text(need, needs, sizeof needs),
                   mw_bytes_text(available, has, sizeof has));
}

/// A file of counts sets layers, experts and the popularity of these.
static int check_counts(const struct asked *a, const struct mw_options_said *said,
                        struct mw_error *err)
{
    static const char *const names[] = {"layers",   "experts", "sigma",
                                        "locality", "groups",  "topk-groups"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (mw_option_given(&mw_gen_table, said, names[i]))
            return mw_fail(err, MW_EXIT_INPUT, "--%s: not with --counts", names[i]);
    if (!a->model && !mw_option_given(&mw_gen_table, said, "k"))
        return mw_fail(err, MW_EXIT_INPUT,
                       "--counts %s: counts do not say how many experts a token has: say --k, or "
                       "--model",
                       a->counts);
    return MW_EXIT_OK;
}

static int make_of_counts(struct asked *a, struct mw_trace *t, struct mw_error *err)
{
    struct mw_counts counts;
    int status = mw_counts_read(&counts, a->counts, err);
    if (status)
        return status;
    a->how.layers = counts.layers;
    if (a->model && a->model->experts != counts.experts)
        status = mw_fail(err, MW_EXIT_INPUT, "--model %s: %u experts, but %s has counts of %u",
                         a->model->name, a->model->experts, a->counts, counts.experts);
    if (!status)
        status = check_memory(&a->how, err);
    if (!status)
        status = mw_trace_of_counts(t, &counts, a->tokens, a->how.k, a->how.seed, a->counts, err);
    mw_counts_free(&counts);
    return status;
}

static int make_trace(struct asked *a, struct mw_trace *t, struct mw_error *err)
{
    a->how.layers = a->layers;
    a->how.tokens = a->tokens;
    if (a->counts)
        return make_of_counts(a, t, err);
    int status = check_memory(&a->how, err);
    return status ? status : mw_trace_make(t, &a->how, err);
}

static int make(struct asked *a, FILE *out, struct mw_error *err)
{
    struct mw_trace t;
    int status = make_trace(a, &t, err);
    if (status)
        return status;
    if (a->model)
        snprintf(t.model, sizeof t.model, "%s, synthetic", a->model->title);
    status = write_folder(a, &t, err);
    if (!status)
        fprintf(out, "%s: %s, %zu tokens in each of %zu layers\n", a->folder, t.name, t.tokens,
                t.layers);
    mw_trace_free(&t);
    return status;
}

int mw_gen_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    struct mw_options_said said;
    struct asked a;
    defaults(&a);
    int status = mw_options_parse(&mw_gen_table, argc, argv, &a, &said, &err);
    if (said.help && !status) {
        mw_command_help(&mw_gen_table, out);
        return status;
    }
    if (!status && !a.folder)
        status =
            mw_fail(&err, MW_EXIT_INPUT, "the trace's folder is missing, see moeswitch gen --help");
    if (!status && a.model)
        apply_model(&a, &said);
    if (!status && a.counts)
        status = check_counts(&a, &said, &err);
    if (!status)
        status = make(&a, out, &err);
    if (err.text[0])
        fprintf(errors, "moeswitch: %s\n", err.text);
    return status;
}
