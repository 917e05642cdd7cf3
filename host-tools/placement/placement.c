// SPDX-License-Identifier: Apache-2.0
//
// Placement of a trace's layers, see placement.h.
#include "placement/placement.h"

#include "cli/command_help.h"
#include "cli/option_value.h"
#include "formats/csv_read.h"
#include "placement/place.h"
#include "trace/counts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 4 << 20 };

static const char by_loads[] = "loads", earlier[] = "earlier";

// ---- options ------------------------------------------------------------------------------------

MW_TERMS(mw_placement_values, {"contiguous", NULL}, {by_loads, NULL});
MW_TERMS(mw_expert_load_values, {"layer", NULL}, {earlier, NULL});
MW_TERMS(mw_replica_choice_values, {"hash", NULL}, {"least", NULL}, {"near", NULL},
         {"shared", NULL});

/// A name of `terms`, the first of which gives NULL, or a path: it has a dot or a slash.
static int set_name_or_file(const char **place, mw_terms *terms, const char *name, const char *text,
                            struct mw_error *err)
{
    char names[80];
    struct mw_term term;
    for (unsigned i = 0; terms(i, &term); i++)
        if (strcmp(text, term.name) == 0) {
            *place = i ? term.name : NULL;
            return MW_EXIT_OK;
        }
    mw_terms_names(terms, names, sizeof names);
    if (!strpbrk(text, "/."))
        return mw_fail(err, MW_EXIT_INPUT, "--%s %s: expected %s, or a path with a dot or a slash",
                       name, text, names);
    *place = text;
    return MW_EXIT_OK;
}

int mw_set_placement(void *by, const char *name, const char *text, struct mw_error *err)
{
    return set_name_or_file(by, mw_placement_values, name, text, err);
}

int mw_set_expert_loads(void *loads, const char *name, const char *text, struct mw_error *err)
{
    return set_name_or_file(loads, mw_expert_load_values, name, text, err);
}

int mw_set_replica_choice(void *choice, const char *name, const char *text, struct mw_error *err)
{
    struct mw_term term;
    for (unsigned i = 0; mw_replica_choice_values(i, &term); i++)
        if (strcmp(text, term.name) == 0) {
            *(enum mw_replica_choice *)choice = (enum mw_replica_choice)i;
            return MW_EXIT_OK;
        }
    return mw_fail_choice(name, text, mw_replica_choice_values, err);
}

const char *mw_replica_choice_name(enum mw_replica_choice choice)
{
    struct mw_term term;
    mw_replica_choice_values((unsigned)choice, &term);
    return term.name;
}

bool mw_placing_by_loads(const struct mw_placing *how)
{
    return how->by && strcmp(how->by, by_loads) == 0;
}

static bool is_earlier(const struct mw_placing *how)
{
    return how->loads && strcmp(how->loads, earlier) == 0;
}

bool mw_placing_same(const struct mw_placing *how)
{
    return !how->by;
}

const char *mw_placing_file(const struct mw_placing *how)
{
    return mw_placing_by_loads(how) ? NULL : how->by;
}

const char *mw_placing_loads_file(const struct mw_placing *how)
{
    return is_earlier(how) ? NULL : how->loads;
}

// ---- loads of experts ---------------------------------------------------------------------------

/// Tokens of the trace that a layer of the run takes.
static size_t tokens_of(const struct mw_shape *shape)
{
    return (size_t)shape->gpus * shape->tokens_per_gpu * (shape->batches ? shape->batches : 1);
}

/// Rows of each expert among those tokens of layer `number`.
static int count_rows(const struct mw_trace *trace, size_t number, const struct mw_shape *shape,
                      double *load, struct mw_error *err)
{
    const size_t count = tokens_of(shape) * trace->k;
    int status = mw_trace_check(trace, number, tokens_of(shape), shape->allow_padding, err);
    if (status)
        return status;
    const uint16_t *ids = trace->ids + mw_trace_at(trace, number, 0);
    for (size_t i = 0; i < count; i++)
        if (ids[i] != MW_NO_EXPERT)
            load[ids[i]]++;
    return MW_EXIT_OK;
}

static int take_counts(const struct mw_counts *c, const char *path, const struct mw_trace *trace,
                       size_t number, double *load, struct mw_error *err)
{
    const size_t layer = c->layers == 1 ? 0 : number;
    if (c->experts != trace->experts)
        return mw_fail(err, MW_EXIT_INPUT, "%s: loads of %u experts, but %s has %u", path,
                       c->experts, trace->name, trace->experts);
    if (layer >= c->layers)
        return mw_fail(err, MW_EXIT_INPUT, "%s: loads of %zu layers, but layer %zu runs", path,
                       c->layers, number);
    memcpy(load, c->load + layer * c->experts, c->experts * sizeof *load);
    return MW_EXIT_OK;
}

static int place_by_loads(const struct mw_trace *trace, size_t number, const struct mw_shape *shape,
                          const struct mw_placing *how, const struct mw_place_sizes *sizes,
                          uint16_t *expert_at, struct mw_error *err)
{
    const char *path = mw_placing_loads_file(how);
    double *load = calloc(trace->experts, sizeof *load);
    struct mw_counts counts = {0};
    int status = load ? MW_EXIT_OK : mw_fail_memory(err, "loads of experts");
    if (!status && path) {
        status = mw_counts_read(&counts, path, err);
        if (!status)
            status = take_counts(&counts, path, trace, number, load, err);
    } else if (!status)
        status =
            count_rows(trace, is_earlier(how) && number ? number - 1 : number, shape, load, err);
    if (!status)
        status = mw_place_by_loads(sizes, load, expert_at, err);
    mw_counts_free(&counts);
    free(load);
    return status;
}

// ---- sizes --------------------------------------------------------------------------------------

static int check_sizes(const struct mw_place_sizes *s, const struct mw_trace *trace,
                       struct mw_error *err)
{
    const unsigned replicas = s->places - s->experts, most = s->experts * (s->gpus - 1);
    if (replicas > most)
        return mw_fail(
            err, MW_EXIT_INPUT,
            "--replicas %u: at most %u, as the %u experts of %s have one place on each of "
            "%u GPUs",
            replicas, most, s->experts, trace->name, s->gpus);
    if (s->places > MW_MAX_EXPERTS)
        return mw_fail(err, MW_EXIT_INPUT,
                       "--replicas %u: %u places with the experts of %s, at most %d", replicas,
                       s->places, trace->name, MW_MAX_EXPERTS);
    if (s->places % s->gpus)
        return mw_fail(
            err, MW_EXIT_INPUT,
            "--replicas %u: the %u experts of %s and these are %u places, which cannot be "
            "divided evenly over %u GPUs; %u can",
            replicas, s->experts, trace->name, s->places, s->gpus,
            replicas + s->gpus - s->places % s->gpus);
    return MW_EXIT_OK;
}

/// The number of places that a file has of every layer.
static int find_places(struct mw_place_sizes *s, const struct mw_trace *trace,
                       const size_t *numbers, unsigned layers, const struct mw_placing *how,
                       const struct mw_csv_table *file, struct mw_error *err)
{
    for (unsigned i = 0; i < layers; i++) {
        unsigned places;
        int status = mw_places_of_file(file, numbers[i], &places, err);
        if (status)
            return status;
        if (places < s->experts)
            return mw_fail(err, MW_EXIT_INPUT, "%s: %u places of layer %zu, but %s has %u experts",
                           file->path, places, numbers[i], trace->name, s->experts);
        if (places % s->gpus)
            return mw_fail(err, MW_EXIT_INPUT,
                           "%s: %u places of layer %zu, which cannot be divided evenly over %u "
                           "GPUs",
                           file->path, places, numbers[i], s->gpus);
        if (how->replicas && places != s->experts + how->replicas)
            return mw_fail(err, MW_EXIT_INPUT, "--replicas %u: %s has %u of layer %zu",
                           how->replicas, file->path, places - s->experts, numbers[i]);
        if (i && places != s->places)
            return mw_fail(err, MW_EXIT_INPUT, "%s: %u places of layer %zu, but %u of layer %zu",
                           file->path, places, numbers[i], s->places, numbers[0]);
        s->places = places;
    }
    return MW_EXIT_OK;
}

// ---- all of it ----------------------------------------------------------------------------------

static bool is_among(const size_t *numbers, unsigned count, size_t number)
{
    for (unsigned i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

static int place_layer(const struct mw_trace *trace, size_t number, const struct mw_shape *shape,
                       const struct mw_placing *how, const struct mw_csv_table *file,
                       const struct mw_place_sizes *sizes, uint16_t *expert_at,
                       struct mw_error *err)
{
    if (file)
        return mw_place_by_file(file, number, sizes, expert_at, err);
    if (mw_placing_by_loads(how))
        return place_by_loads(trace, number, shape, how, sizes, expert_at, err);
    mw_place_contiguously(sizes, expert_at);
    return MW_EXIT_OK;
}

/// Places of all layers first: lists of one layer may be the loads of another.
static int place_layers(struct mw_trace *trace, const size_t *numbers, unsigned layers,
                        const struct mw_shape *shape, const struct mw_placing *how,
                        const struct mw_csv_table *file, const struct mw_place_sizes *sizes,
                        struct mw_error *err)
{
    const size_t tokens = tokens_of(shape);
    int status = MW_EXIT_OK;
    trace->expert_at = calloc(trace->layers * sizes->places, sizeof *trace->expert_at);
    if (!trace->expert_at)
        return mw_fail_memory(err, "a placement");
    for (unsigned i = 0; i < layers && !status; i++) {
        status = mw_trace_check(trace, numbers[i], tokens, shape->allow_padding, err);
        if (!status)
            status = place_layer(trace, numbers[i], shape, how, file, sizes,
                                 trace->expert_at + numbers[i] * sizes->places, err);
    }
    for (unsigned i = 0; i < layers && !status; i++)
        if (!is_among(numbers, i, numbers[i]))
            status = mw_choose_places(sizes, trace->expert_at + numbers[i] * sizes->places,
                                      how->choice, trace->ids + mw_trace_at(trace, numbers[i], 0),
                                      tokens, shape->tokens_per_gpu, trace->k, err);
    trace->replicas = sizes->places - sizes->experts;
    trace->experts = sizes->places;
    return status;
}

int mw_placement_apply(struct mw_trace *trace, const size_t *numbers, unsigned layers,
                       const struct mw_shape *shape, const struct mw_placing *how,
                       struct mw_error *err)
{
    const char *path = mw_placing_file(how);
    struct mw_csv_table file = {0};
    struct mw_place_sizes sizes = {shape->gpus, trace->experts, trace->experts + how->replicas};
    if (mw_placing_plain(how))
        return MW_EXIT_OK;
    int status = path ? mw_csv_read(&file, path, MOST_BYTES, "a placement", err) : MW_EXIT_OK;
    const struct mw_csv_table *table = path ? &file : NULL;
    if (!status && table)
        status = find_places(&sizes, trace, numbers, layers, how, table, err);
    if (!status)
        status = check_sizes(&sizes, trace, err);
    if (!status)
        status = place_layers(trace, numbers, layers, shape, how, table, &sizes, err);
    if (path)
        mw_csv_table_free(&file);
    return status;
}
