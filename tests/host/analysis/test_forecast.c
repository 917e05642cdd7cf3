// SPDX-License-Identifier: Apache-2.0
//
// The expected time and memory of a run, and the smaller one that is suggested instead. Also the
// note on layers that are too small for their tile, and the mechanisms that `moeswitch` leaves out
// of small layers.
#include "host/support.h"

#include "run/forecast.h"
#include "run/run.h"
#include "systems/system_list.h"
#include "systems/systems.h"

/// A run of synthetic routing, prepared from its words.
struct run {
    struct mw_run_params params;
    struct mw_trace trace;
    struct mw_workload w;
    struct mw_system system[MW_SYSTEMS];
};

static void prepare(struct run *r, const char *options)
{
    char text[256], *words[32] = {"run"};
    int count = 1;
    bool help;
    struct mw_error err = {0};
    memset(r, 0, sizeof *r);
    snprintf(text, sizeof text, "%s", options);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        words[count++] = word;
    int status = mw_run_parse(&r->params, count, words, &help, &err);
    if (!status)
        status = mw_run_prepare(&r->params, &r->trace, &r->w, &err);
    if (status)
        fail_msg("%s: %s", options, err.text);
    memcpy(r->system, mw_systems, sizeof r->system);
}

static void end(struct run *r)
{
    mw_workload_free(&r->w);
    mw_trace_free(&r->trace);
}

/// What is printed by one of the two functions, in lines without their indents.
static char *printed(const struct run *r, const struct mw_forecast *f)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (f)
        mw_forecast_print(out, f, &r->params);
    else
        mw_forecast_print_tile(out, &r->w, r->params.tile);
    fclose(out);
    for (char *c = text; (c = strstr(c, "\n  "));)
        memmove(c, c + 2, strlen(c + 2) + 1), *c = ' ';
    return text;
}

static void adds_up_all_systems(void **state)
{
    (void)state;
    struct run r;
    struct mw_forecast all, one, batches;
    uint64_t sum = 0;
    prepare(&r, "--gpus 8 --tokens-per-gpu 16 --hidden 64");
    mw_forecast_make(&all, &r.params, &r.w, r.system, MW_SYSTEMS, 3 << 20);
    for (unsigned i = 0; i < MW_SYSTEMS; i++) {
        mw_forecast_make(&one, &r.params, &r.w, &r.system[i], 1, 0);
        sum += one.cycles;
        assert_true(one.seconds < all.seconds);
    }
    assert_int_equal(all.cycles, sum);
    assert_true(all.seconds < MW_FORECAST_LONG);
    assert_int_equal(all.hidden, 64); // no smaller one is suggested
    char *text = printed(&r, &all);
    assert_non_null(strstr(text, "8 systems, some"));
    assert_non_null(strstr(text, "3.0 MiB of memory"));
    assert_null(strstr(text, "--hidden"));
    free(text);
    r.w.shape.batches = 2; // every layer three times
    mw_forecast_make(&batches, &r.params, &r.w, r.system, MW_SYSTEMS, 0);
    assert_int_equal(batches.cycles, 3 * all.cycles);
    end(&r);
    // every plane, two at once
    prepare(&r, "--hardware hgx-h100 --tokens-per-gpu 16 --hidden 512");
    mw_forecast_make(&one, &r.params, &r.w, r.system, 2, 0);
    end(&r);
    prepare(&r, "--hardware hgx-h100 --tokens-per-gpu 16 --hidden 512 --planes all --jobs 2");
    mw_forecast_make(&all, &r.params, &r.w, r.system, 2, 0);
    assert_int_equal(all.cycles, 4 * one.cycles);
    assert_true(all.seconds > one.seconds);
    end(&r);
}

/// A layer takes at least its limit, and rows go in twice and come out once.
static void has_limit_and_rows(void **state)
{
    (void)state;
    struct run r;
    struct mw_forecast f;
    prepare(&r, "--gpus 8 --tokens-per-gpu 8 --hidden 64 --expert-cycles 5000");
    uint64_t rows = 0, busiest = 0;
    for (unsigned g = 0; g < 8; g++, rows = 0) {
        for (size_t i = 0; i < (size_t)r.w.tokens * r.w.k; i++)
            rows += mw_gpu_of_expert(&r.w, r.w.layer[0].ids[i]) == g;
        busiest = rows > busiest ? rows : busiest;
    }
    mw_forecast_make(&f, &r.params, &r.w, mw_system_find("dysharp"), 1, 0);
    assert_int_equal(f.cycles, 5000 * busiest + 3 * 8 * 128 / 16);
    end(&r);
}

/// More GPUs take longer, and below 8 GPUs the time of a model does not decrease in proportion.
static void rates_of_models(void **state)
{
    (void)state;
    double before = 1e9;
    for (unsigned gpus = 2; gpus <= 64; gpus *= 2) {
        char words[80];
        struct run r;
        struct mw_forecast f;
        snprintf(words, sizeof words, "--gpus %u --tokens-per-gpu 8 --hidden 64", gpus);
        prepare(&r, words);
        mw_forecast_make(&f, &r.params, &r.w, r.system, 1, 0);
        assert_true(f.rate <= before && f.rate > 5e3 && f.rate < 400e3);
        before = f.rate;
        end(&r);
    }
}

static void suggests_a_smaller_run(void **state)
{
    (void)state;
    static const struct {
        const char *options, *line;
        unsigned hidden, tokens;
    } runs[] = {
        {"--gpus 8 --tokens-per-gpu 36 --hidden 2048 --expert-cycles 60000",
         "--hidden 1024 --expert-cycles 30000 takes about", 1024, 36},
        {"--gpus 8 --tokens-per-gpu 256 --hidden 2048 --expert-cycles 60000",
         "--hidden 512 --expert-cycles 15000 --tokens-per-gpu", 512, 0},
        {"--gpus 8 --tokens-per-gpu 128 --hidden 300 --expert-cycles 60000",
         "--hidden 300 --expert-cycles 60000 --tokens-per-gpu", 300, 0},
        // a share of 1792 on each of four planes, as the option gives the whole row
        {"--hardware hgx-h100 --tokens-per-gpu 36 --hidden 7168 --expert-cycles 60000",
         "--hidden 3584 --expert-cycles 30000 takes about", 896, 36},
    };
    for (unsigned i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct run r;
        struct mw_forecast f;
        prepare(&r, runs[i].options);
        mw_forecast_make(&f, &r.params, &r.w, r.system, MW_SYSTEMS, 0);
        assert_true(f.seconds > MW_FORECAST_LONG);
        assert_true(f.smaller_seconds <= MW_FORECAST_LONG);
        assert_int_equal(f.hidden, runs[i].hidden);
        if (runs[i].tokens)
            assert_int_equal(f.tokens_per_gpu, runs[i].tokens);
        else
            assert_true(f.tokens_per_gpu < r.params.shape.tokens_per_gpu);
        char *text = printed(&r, &f);
        if (!strstr(text, runs[i].line))
            fail_msg("%s: no '%s' in: %s", runs[i].options, runs[i].line, text);
        free(text);
        end(&r);
    }
}

static void notes_small_layers(void **state)
{
    (void)state;
    static const struct {
        const char *options, *note; ///< or NULL
    } runs[] = {
        {"--gpus 8 --tokens-per-gpu 64", NULL}, // 48 rows of an expert
        {"--gpus 8 --tokens-per-gpu 64 --tile 1", NULL},
        {"--gpus 8 --tokens-per-gpu 16 --experts 256 --k 8",
         "experts get 4.0 rows on average, a tile has 16"},
        {"--gpus 8 --tokens-per-gpu 64 --tile 128", "--tokens-per-gpu 1024, or --tile 8"},
    };
    for (unsigned i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct run r;
        prepare(&r, runs[i].options);
        char *text = printed(&r, NULL);
        assert_int_equal(*text != 0, runs[i].note != NULL);
        if (runs[i].note && !strstr(text, runs[i].note))
            fail_msg("%s: no '%s' in: %s", runs[i].options, runs[i].note, text);
        free(text);
        end(&r);
    }
}

static void counts_rows_in_last_tiles(void **state)
{
    (void)state;
    uint16_t ids[] = {0, 1, 0, 1, 0, MW_NO_EXPERT, 0, 1};
    struct mw_layer layer = {.ids = ids};
    const struct mw_workload w = {.tokens = 4, .k = 2, .experts = 4, .layers = 1, .layer = &layer};
    struct mw_tile_fill fill;
    mw_tile_fill(&w, 2, &fill);
    assert_true(fill.rows_per_expert == 7 / 4.0);
    assert_true(fill.partial == 1 / 7.0);
    mw_tile_fill(&w, 3, &fill);
    assert_true(fill.partial == 1 / 7.0); // 4 rows in two tiles, 3 in one
    mw_tile_fill(&w, 5, &fill);
    assert_true(fill.partial == 1);
}

/// Flags that determine what is sent, and when.
static bool sends_as(const struct mw_system *a, const struct mw_system *b)
{
    return a->target_list_cache == b->target_list_cache &&
           a->switch_reductions == b->switch_reductions && a->token_order == b->token_order &&
           a->dispatch_throttle == b->dispatch_throttle && a->partial_tiles == b->partial_tiles;
}

static void leaves_out_what_cannot_help(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        bool small, throttled;
    } layers[] = {
        {"--gpus 8 --tokens-per-gpu 64", false, true},
        {"--gpus 8 --tokens-per-gpu 16 --experts 256 --k 2", true, false},
        {"--gpus 8 --tokens-per-gpu 16 --experts 256 --k 2 --seed 7 --sigma 1", true, false},
        {"--gpus 8 --tokens-per-gpu 64 --experts 128 --k 1", true, false}, // 1.48 of a link's time
        {"--gpus 8 --tokens-per-gpu 16 --experts 256 --k 2 --set dispatch_throttle=1", false, true},
        {"--gpus 8 --tokens-per-gpu 16 --experts 256 --k 2 --expert-cycles 1", false, false},
        {"--gpus 8 --tokens-per-gpu 32 --experts 64 --k 6", false, false}, // limit 26
        {"--gpus 8 --tokens-per-gpu 33 --experts 64 --k 6", false, true},
        {"--gpus 8 --tokens-per-gpu 64 --experts 8 --k 2", false, true},
    };
    for (unsigned i = 0; i < sizeof layers / sizeof *layers; i++) {
        struct run r;
        prepare(&r, layers[i].options);
        const struct mw_system *whole = mw_system_find("moeswitch"),
                               *plain = mw_system_find("dysharp");
        struct mw_system s = *whole, other = *plain;
        if (mw_system_fit_layer(&s, &r.params, &r.w) != layers[i].small ||
            s.dispatch_throttle != layers[i].throttled || s.token_order != layers[i].throttled)
            fail_msg("%s: small %d, dispatch_throttle %d", layers[i].options, !s.target_list_cache,
                     s.dispatch_throttle);
        assert_int_equal(sends_as(&s, plain), layers[i].small);
        assert_int_equal(sends_as(&s, whole), layers[i].throttled);
        mw_system_fit_layer(&other, &r.params, &r.w);
        assert_true(sends_as(&other, plain)); // no other system changes
        end(&r);
    }
}

/// The limit grows with the experts of a GPU. If these are few, it grows as tokens bring fewer rows
/// to an engine.
static void limits_throttle(void **state)
{
    (void)state;
    assert_int_equal(mw_throttle_ahead(16, 8, 6, 0), 26);
    assert_int_equal(mw_throttle_ahead(16, 4, 4, 0), 14);
    assert_int_equal(mw_throttle_ahead(128, 8, 6, 0), 194);
    assert_int_equal(mw_throttle_ahead(1, 8, 6, 0), 6);
    assert_int_equal(mw_throttle_ahead(16, 1, 1, 0), 26);
    assert_int_equal(mw_throttle_ahead(16, 1, 2, 0), 14);
    assert_int_equal(mw_throttle_ahead(16, 1, 8, 0), 6);
}

/// Tokens that do not wait for the order: as many as the throttle allows, or as the links carry
/// while a GPU counts and orders.
static void early_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        unsigned early, cached;
    } layers[] = {
        {"--gpus 8 --tile 16", 26, 26}, // the limit of the throttle
        {"--gpus 16 --tile 2", 6, 6},   // its least
        {"--gpus 16 --tile 2 --tokens-per-gpu 256", 12, 6},
        {"--gpus 16 --tile 2 --set order_cycles=60", 12, 10},
        {"--gpus 16 --tile 2 --link-latency 500", 10, 10},
    };
    for (unsigned i = 0; i < sizeof layers / sizeof *layers; i++) {
        struct run r;
        prepare(&r, layers[i].options);
        const struct mw_system s =
            mw_system_as_set(mw_system_find("moeswitch"), &r.params.settings);
        const unsigned early = mw_early_tokens(&s, &r.params, &r.w, false),
                       later = mw_early_tokens(&s, &r.params, &r.w, true);
        if (early != layers[i].early || later != layers[i].cached)
            fail_msg("%s: %u tokens, with a handle %u", layers[i].options, early, later);
        end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_up_all_systems),
        cmocka_unit_test(has_limit_and_rows),
        cmocka_unit_test(rates_of_models),
        cmocka_unit_test(suggests_a_smaller_run),
        cmocka_unit_test(notes_small_layers),
        cmocka_unit_test(counts_rows_in_last_tiles),
        cmocka_unit_test(leaves_out_what_cannot_help),
        cmocka_unit_test(limits_throttle),
        cmocka_unit_test(early_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
