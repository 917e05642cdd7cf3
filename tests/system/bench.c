// SPDX-License-Identifier: Apache-2.0
//
// See bench.h.
#include "bench.h"

#include "run/chain.h"
#include "run/run.h"
#include "run/run_systems.h"
#include "systems/system_list.h"

#include <inttypes.h>

enum { MAX_WORDS = 80 };

/// Whether two words set the same thing: the same option, and of --set the same setting.
static bool says_the_same(char **word, char **other)
{
    if (strcmp(word[0], other[0]) != 0 || strcmp(word[0], "--set") != 0)
        return strcmp(word[0], other[0]) == 0;
    size_t name = strcspn(word[1], "=");
    return strncmp(word[1], other[1], name + 1) == 0;
}

/// Take words away that a later one replaces, each with its value.
static int without_replaced(char **argv, int argc)
{
    int kept = 1;
    for (int i = 1, words; i < argc; i += words) {
        bool replaced = false;
        words = i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0 ? 2 : 1;
        for (int later = i + 1; later < argc; later++)
            replaced |= says_the_same(&argv[i], &argv[later]);
        for (int w = 0; w < words && !replaced; w++)
            argv[kept++] = argv[i + w];
    }
    return kept;
}

void bench_options(struct bench *b, const char *format, ...)
{
    char text[1024], *argv[MAX_WORDS] = {(char *)"run"};
    int argc = 1;
    va_list args;
    va_start(args, format);
    assert_true(vsnprintf(text, sizeof text, format, args) < (int)sizeof text);
    va_end(args);
    for (char *save, *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        assert_true(argc < MAX_WORDS);
        argv[argc++] = word;
    }
    struct mw_error err = {0};
    bool help;
    *b = (struct bench){0};
    if (mw_run_parse(&b->params, without_replaced(argv, argc), argv, &help, &err))
        fail_msg("%s: %s", format, err.text);
}

void bench_prepare(struct bench *b, bench_edit *edit, void *context)
{
    struct mw_error err = {0};
    if (mw_run_prepare(&b->params, &b->trace, &b->w, &err))
        fail_msg("%s", err.text);
    if (edit) {
        mw_workload_free(&b->w);
        edit(b, context);
        if (mw_workload_make(&b->w, &b->trace, b->params.layers, b->params.layer_count,
                             &b->params.shape, &err))
            fail_msg("%s", err.text);
    }
    if (mw_run_chain(&b->w, &err))
        fail_msg("%s", err.text);
    for (unsigned l = 0; l < b->w.layers; l++)
        if (mw_expected_make(&b->expected[l], &b->w, l, &err))
            fail_msg("%s", err.text);
    bench_golden(b);
}

void bench_golden(struct bench *b)
{
    for (unsigned l = 0; l < b->w.layers; l++)
        for (unsigned t = 0; t < b->w.tokens; t++)
            mw_expected_token(&b->expected[l], &b->w, l, t);
}

void bench_free(struct bench *b)
{
    for (unsigned l = 0; l < MW_MAX_LAYERS; l++)
        mw_expected_free(&b->expected[l]);
    mw_workload_free(&b->w);
    mw_trace_free(&b->trace);
    *b = (struct bench){0};
}

/// The system as the settings have it.
static const struct mw_system *as_set(const struct bench *b, const char *name)
{
    static struct mw_system systems[MW_SYSTEMS];
    struct mw_run_params params = b->params;
    params.system[0] = mw_system_find(name);
    params.systems = 1;
    assert_non_null(params.system[0]);
    struct mw_system *s = &systems[params.system[0] - mw_systems];
    assert_int_equal(mw_run_asked(&params, s), 1);
    return s;
}

int bench_run(const struct bench *b, const char *system, struct mw_result *r)
{
    assert_int_equal(mw_result_make(r, &b->w, as_set(b, system), NULL), 0);
    int status = mw_system_run(&b->params, &b->w, r);
    if (!status)
        mw_result_check(r, &b->w, b->expected);
    return status;
}

void bench_check(const struct bench *b, const char *system, const struct mw_result *r, int status)
{
    if (r->state)
        print_message("%s", r->state);
    if (status)
        fail_msg("%s: exit status %d: %s", system, status, r->error.text);
    for (unsigned l = 0; l < r->layers; l++) {
        const struct mw_mismatch *m = &r->layer[l].first;
        if (r->layer[l].wrong)
            fail_msg("%s, layer %u: %" PRIu64 " wrong elements, first: token %u, element %u: "
                     "expected 0x%04x, got 0x%04x",
                     system, l, r->layer[l].wrong, m->token, m->element, m->expected, m->got);
        const struct mw_wrong_gradient *g = &r->layer[l].first_gradient;
        if (r->layer[l].wrong_gradients)
            fail_msg("%s, layer %u: %" PRIu64 " wrong gradients of gate weights, first: token %u, "
                     "place %u: expected 0x%08x, got 0x%08x",
                     system, l, r->layer[l].wrong_gradients, g->token, g->place, g->expected,
                     g->got);
        assert_true(r->layer[l].cycles > 0);
    }
    struct mw_flit_error e;
    struct mw_below_bound below;
    const struct mw_link_parameters link = mw_run_links(&b->params);
    if (mw_result_below_bound(r, &b->w, &link, &below))
        fail_msg("%s, layer %u: %" PRIu64 " cycles, less than its bound of %" PRIu64, system,
                 below.layer, below.cycles, below.bound);
    if (r->stack.wrong || r->stack.other_cycles || r->stack.other_flits)
        fail_msg("%s, stack of %u layers: %" PRIu64 " wrong elements, %u layers with other cycles, "
                 "counters of the last one %s",
                 system, r->stack.layers, r->stack.wrong, r->stack.other_cycles,
                 r->stack.other_flits ? "differ" : "are the same");
    unsigned errors = mw_result_flit_errors(r, &b->w, &link, &e);
    if (errors)
        fail_msg("%s, layer %u: %u counters differ, first: port %u %s, %s: expected %" PRIu64
                 ", counted %" PRIu64,
                 system, e.layer, errors, e.port, e.direction, e.what, e.expected, e.counted);
}

uint64_t bench_pass(const struct bench *b, const char *system)
{
    struct mw_result r;
    int status = bench_run(b, system, &r);
    bench_check(b, system, &r, status);
    uint64_t cycles = 0;
    for (unsigned l = 0; l < r.layers; l++)
        cycles += r.layer[l].cycles;
    mw_result_free(&r);
    return cycles;
}

bool bench_has(const struct bench *b, const struct mw_system *system)
{
    enum { LISTS = 64 }; // of large models
    bool small = false;
    unsigned lists = b->w.experts_per_gpu;
    for (unsigned sources = 1; sources < b->w.shape.gpus; sources *= 2)
        lists *= 2;
    if (system->source_lists && lists > LISTS)
        return false;
    for (unsigned i = 0; i < b->params.settings.count; i++)
        if (strcmp(b->params.settings.item[i].name, "small") == 0)
            small = b->params.settings.item[i].value;
    return !small || !(system->target_list_cache || system->row_ranges || system->gathered ||
                       system->row_sparse);
}

void bench_all(const char *options, bench_edit *edit, void *context)
{
    static unsigned turn;
    const unsigned step = test_cases(3, 1);
    struct bench b;
    print_message("moeswitch run %s\n", options);
    bench_options(&b, "%s", options);
    bench_prepare(&b, edit, context);
    for (unsigned i = turn++ % step; i < MW_SYSTEMS; i += step)
        if (bench_has(&b, &mw_systems[i]))
            bench_pass(&b, mw_systems[i].name);
    bench_free(&b);
}
