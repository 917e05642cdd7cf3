// SPDX-License-Identifier: Apache-2.0
//
// Tests of the command `moeswitch run` with a planned device: options, exit status, messages,
// output files. The golden model and the analytic counts replace the real device. test_jobs.c tests
// what runs at the same time.
#define _POSIX_C_SOURCE 200809L

#include "host/run/planned_device.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

// ---- tests ------------------------------------------------------------------------------------

static void runs_all_systems(void **state)
{
    (void)state;
    assert_int_equal(RUN(SMALL), MW_EXIT_OK);
    assert_string_equal(err_text, "");
    assert_int_equal(device.runs, MW_SYSTEMS);
    const char *u = strstr(out_text, "\nunicast "), *b = strstr(out_text, "\ndysharp-basic ");
    const char *d = strstr(out_text, "\ndysharp ");
    assert_true(u && b && d && u < b && b < d);
    assert_non_null(strstr(d, " 1.500 ")); // over unicast
    assert_int_equal(RUN(SMALL, "--system", "dysharp"), MW_EXIT_OK);
    assert_int_equal(device.runs, MW_SYSTEMS + 1);
    assert_null(strstr(out_text, "\nunicast "));
}

/// A list runs in its order. The others are compared with its first system.
static void runs_listed_systems(void **state)
{
    (void)state;
    const char *json = scratch("listed.json");
    assert_int_equal(RUN(SMALL, "--system", "dysharp,unicast", "--jobs", "2", "--json", json),
                     MW_EXIT_OK);
    assert_int_equal(device.runs, 2);
    const char *d = strstr(out_text, "\ndysharp "), *u = strstr(out_text, "\nunicast ");
    assert_true(d && u && d < u);
    assert_non_null(strstr(d, " 2000    1.000 "));
    assert_non_null(strstr(u, " 3000    0.667 "));
    assert_null(strstr(out_text, "\nmoeswitch "));
    char *text = read_file(json);
    remove(json);
    d = strstr(text, "\"system\": \"dysharp\"");
    u = strstr(text, "\"system\": \"unicast\"");
    assert_true(d && u && d < u);
    assert_non_null(strstr(u, "\"speedup_over\": \"dysharp\""));
    free(text);
    // one alone is compared with nothing
    assert_int_equal(RUN(SMALL, "--system", "dysharp"), MW_EXIT_OK);
    assert_non_null(strstr(out_text, " 2000        - "));
}

static void passes_options_on(void **state)
{
    (void)state;
    assert_int_equal(RUN("--gpus", "2", "--tokens-per-gpu", "5", "--hidden", "40", "--experts", "6",
                         "--k", "2", "--layers", "3,0,3", "--tile", "7", "--partial-tiles",
                         "--expert-cycles", "0", "--flit-bytes=8", "--link-latency", "64",
                         "--link-cycles", "3", "--system", "dysharp", "--in-flight", "9",
                         "--open-rows", "2", "--seed", "0x10", "--spread", "far", "--set",
                         "store_credits=1"),
                     MW_EXIT_OK);
    const struct mw_run_params *p = &device.params;
    const uint64_t got[] = {
        p->shape.gpus,   p->shape.tokens_per_gpu, p->shape.hidden,  p->shape.seed,
        p->shape.spread, p->layer_count,          p->layers[0],     p->layers[1],
        p->tile,         p->partial_tiles,        p->expert_cycles, p->flit_bytes,
        p->link_latency, p->link_cycles,          p->in_flight,     p->open_rows};
    const uint64_t want[] = {2, 5, 40, 16, MW_SPREAD_FAR, 3, 3, 0, 7, true, 0, 8, 64, 3, 9, 2};
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(p->settings.count, 1);
    assert_string_equal(p->settings.item[0].name, "store_credits");
    assert_int_equal(p->settings.item[0].value, 1);
    assert_non_null(strstr(out_text, "layers 3,0,3"));
}

/// The settings of --costs papers, and of further options.
static void costs_of_the_papers(void **state)
{
    (void)state;
#define COSTS "--gpus", "8", "--tokens-per-gpu", "16", "--hidden", "512", "--system", "unicast"
    assert_int_equal(RUN(COSTS, "--seed", "1"), MW_EXIT_OK);
    assert_non_null(strstr(out_text, "costs of software: none\n"));
    assert_int_equal(device.params.settings.count, 0);

    assert_int_equal(RUN(COSTS, "--costs", "papers", "--set", "poll_cycles=7"), MW_EXIT_OK);
    const struct mw_settings *s = &device.params.settings;
    char *bound = strstr(out_text, "strict bound ");
    assert_non_null(bound);
    // 5 us of 2.34 ms, as are 1 us and 14 ns for each of 8192 tokens
    double share = strtod(bound + 13, NULL) / 65.7e6 / 35.56e-6;
    assert_int_equal(s->count, 5);
    static const struct {
        const char *name;
        double microseconds; ///< 0: as set
    } expect[] = {{"poll_cycles", 0},
                  {"launch_cycles", 5},
                  {"exchange_cycles", 1},
                  {"barrier_cycles", 1},
                  {"address_cycles", 0.014 * 8192 / 16}};
    for (unsigned i = 0; i < 5; i++) {
        char text[64];
        assert_string_equal(s->item[i].name, expect[i].name);
        snprintf(text, sizeof text, "%s %llu", expect[i].name,
                 (unsigned long long)s->item[i].value);
        assert_non_null(strstr(out_text, text));
        double cycles = i ? expect[i].microseconds * share : 7;
        assert_true(fabs((double)s->item[i].value - cycles) <= 0.5 + 0.02 * cycles);
    }
    assert_int_equal(RUN(COSTS, "--costs", "paper"), MW_EXIT_INPUT);
    assert_non_null(strstr(err_text, "--costs paper: "));
    assert_non_null(strstr(err_text, "none"));
    assert_int_equal(RUN(COSTS, "--set", "barrier_cycles=16777216"), MW_EXIT_INPUT);
    assert_non_null(strstr(err_text, "expected 0 to 16777215"));
    // a launch as long as that fits no register: the line states what to set
    assert_int_equal(RUN("--gpus", "2", "--tokens-per-gpu", "4096", "--hidden", "4096",
                         "--flit-bytes", "8", "--link-cycles", "4", "--costs", "papers", "--system",
                         "dysharp"),
                     MW_EXIT_INPUT);
    assert_non_null(strstr(err_text, "--set launch_cycles=65535"));
#undef COSTS
}

/// Sizes by the model's name. Options override them, before or after --model.
static void takes_sizes_of_a_model(void **state)
{
    (void)state;
    assert_int_equal(RUN("--model", "list"), MW_EXIT_OK);
    assert_int_equal(device.runs, 0);
    static const struct {
        const char *name;
        unsigned experts, k, hidden;
    } known[] = {{"DeepSeek-V3", 256, 8, 7168},  {"deepseek-v2-lite", 64, 6, 2048},
                 {"Qwen3-235B", 128, 8, 4096},   {"gpt-oss-20b", 32, 4, 2880},
                 {"gpt-oss-120b", 128, 4, 2880}, {"mixtral-8x7b", 8, 2, 4096},
                 {"phi-3.5-moe", 16, 2, 4096},   {"pangu-ultra-moe", 256, 8, 7680},
                 {"small", 64, 8, 2048},         {"medium", 128, 8, 4096},
                 {"large", 256, 8, 7168}};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        char line[80];
        assert_int_equal(RUN("--model", "list"), MW_EXIT_OK);
        snprintf(line, sizeof line, " %7u %3u %7u  ", known[i].experts, known[i].k,
                 known[i].hidden);
        assert_non_null(strstr(out_text, line));
        assert_int_equal(RUN("--model", known[i].name, "--gpus", "4", "--tokens-per-gpu", "1",
                             "--system", "dysharp"),
                         MW_EXIT_OK);
        assert_int_equal(device.params.experts, known[i].experts);
        assert_int_equal(device.params.k, known[i].k);
        assert_int_equal(device.params.shape.hidden, known[i].hidden);
        assert_true(device.experts == known[i].experts && device.k == known[i].k);
    }
    assert_int_equal(RUN("--hidden", "64", "--model", "mixtral-8x7b", "--k", "3", "--gpus", "4",
                         "--tokens-per-gpu", "1", "--json", scratch("model.json")),
                     MW_EXIT_OK);
    remove(scratch("model.json"));
    assert_int_equal(device.params.shape.hidden, 64);
    assert_int_equal(device.params.k, 3);
    assert_int_equal(device.params.experts, 8);
    assert_non_null(strstr(out_text, "(Mixtral-8x7B)"));
}

/// A trace keeps its experts and k. It must be one of the model.
static void model_and_trace_agree(void **state)
{
    (void)state;
    uint16_t ids[4][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}};
    float weights[4][2] = {{0.5f, 0.5f}, {1, 2}, {3, 4}, {5, 6}};
    const char *folder = write_trace("m", 1, 4, 2, 8, &ids[0][0], &weights[0][0]);
    assert_int_equal(
        RUN("--trace", folder, "--gpus", "4", "--tokens-per-gpu", "1", "--model", "mixtral-8x7b"),
        MW_EXIT_OK);
    assert_int_equal(device.params.shape.hidden, 4096);
    device.runs = 0;
    REFUSE("--model phi-3.5-moe: 16 experts, k 2, but ", "--trace", folder, "--gpus", "4",
           "--tokens-per-gpu", "1", "--model", "phi-3.5-moe");
}

/// A trace as a serving engine writes it: one array [tokens, layers, k], and no weights. Every
/// report states it.
static void tells_of_a_trace_without_weights(void **state)
{
    (void)state;
    const uint8_t ids[4][2][2] = {
        {{0, 1}, {2, 3}}, {{1, 2}, {3, 0}}, {{2, 3}, {0, 1}}, {{3, 0}, {1, 2}}};
    char *path = strdup(scratch("routed.npy")), *json = strdup(scratch("routed.json"));
    write_npy(path, "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 2, 2)}", ids,
              sizeof ids);
#define ROUTED "--trace", path, "--gpus", "4", "--tokens-per-gpu", "1", "--hidden", "8"
    REFUSE("shape (4, 2, 2): the order of its axes is not declared", ROUTED, "--experts", "8");
    REFUSE("say --experts E", ROUTED, "--axes", "tokens,layers,k");
    REFUSE("--axes tokens,layer,k: expected tokens, k and perhaps layers", ROUTED, "--axes",
           "tokens,layer,k");
    REFUSE("--axes: only with --trace", "--axes", "tokens,layers,k");
    assert_int_equal(
        RUN(ROUTED, "--axes", "tokens,layers,k", "--experts", "8", "--layer", "1", "--json", json),
        MW_EXIT_OK);
    assert_non_null(strstr(out_text, "the trace has no gate weights: every one is taken as 1/k"));
    char *text = read_file(json);
    assert_non_null(strstr(text, "\"weights\": \"1/k\""));
    free(text);
    assert_int_equal(RUN(ROUTED, "--axes", "tokens,layers,k", "--model", "mixtral-8x7b"),
                     MW_EXIT_OK);
    remove(json);
    remove(path);
    free(json);
    free(path);
}

static void help_and_defaults(void **state)
{
    (void)state;
    assert_int_equal(RUN("--help"), MW_EXIT_OK);
    assert_int_equal(device.runs, 0);
    static const char *const names[] = {"--trace DIR",     "--model NAME",    "--layer L",
                                        "--layers",        "--gpus",          "--tokens-per-gpu",
                                        "--hidden",        "--tile",          "--system",
                                        "--expert-cycles", "--json",          "--trace-fst",
                                        "--partial-tiles", "--allow-padding", "--flit-bytes",
                                        "--link-latency",  "--in-flight",     "--open-rows",
                                        "--seed",          "--experts",       "--k",
                                        "--sigma",         "--locality",      "--groups",
                                        "--topk-groups",   "--spread",        "--set"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strstr(out_text, names[i]))
            fail_msg("help does not name %s", names[i]);
    struct mw_run_params p;
    mw_run_defaults(&p);
    assert_int_equal(p.shape.gpus, 8);
    assert_int_equal(p.shape.hidden, 512);
    assert_int_equal(p.flit_bytes, 16);
    assert_int_equal(p.link_latency, 1);
    assert_int_equal(p.link_cycles, 1);
    assert_int_equal(p.systems, 0);
}

static void refuses_bad_options(void **state)
{
    (void)state;
    static const struct {
        const char *words[5], *cause;
    } bad[] = {
        {{"--gpus", "1"}, "--gpus 1: expected a whole number from 2 to 72"},
        {{"--gpus", "33"}, "--gpus 33"},
        {{"--gpus", "-8"}, "--gpus -8"},
        {{"--gpus", "8x"}, "--gpus 8x"},
        {{"--gpus", ""}, "--gpus "},
        {{"--gpus"}, "--gpus: the value is missing"},
        {{"--gpus", "6"}, "--gpus 6: the 64 experts"},
        {{"--tokens-per-gpu", "0"}, "--tokens-per-gpu 0"},
        {{"--hidden", "99999999999999999999"}, "--hidden 9999"},
        {{"--k", "17"}, "--k 17"},
        {{"--k", "9", "--experts", "8"}, "k = 9 with 8 experts"},
        {{"--layer", "x"}, "--layer x: expected a layer number from 0 to 9999"},
        {{"--layer", "1,5"}, "--layer 1,5: one layer; --layers takes several"},
        {{"--layers", "1,,2"}, "--layers 1,,2"},
        {{"--layers", "1,2,"}, "--layers 1,2,"},
        {{"--tile", "0"}, "--tile 0"},
        {{"--flit-bytes", "32"}, "--flit-bytes 32: expected 8 or 16"},
        {{"--link-latency", "0"}, "--link-latency 0"},
        {{"--link-cycles", "0"}, "--link-cycles 0"},
        {{"--link-cycles", "5"}, "--link-cycles 5"},
        {{"--system", "nvl"}, "--system nvl: expected unicast"},
        {{"--system", "unicast,nvl"}, "--system unicast,nvl: expected unicast"},
        {{"--system", "unicast,"}, "--system unicast,: a name between commas is empty"},
        {{"--system", ",unicast"}, "--system ,unicast: a name between commas is empty"},
        {{"--system", "nvls,unicast,nvls"}, "--system nvls,unicast,nvls: nvls is there twice"},
        {{"--system", ""}, "--system : the name is empty"},
        {{"--system", "all,unicast"}, "--system all,unicast: all stands alone, not in a list"},
        {{"--gpus", "8", "--gpus", "16"}, "--gpus 16: --gpus is there twice"},
        {{"--layer", "0", "--layers", "1"}, "--layer and --layers: both say which layers run"},
        {{"--set", "window=4", "--set", "window=8"}, "--set window=8: window is set twice"},
        {{"--set", "store_credits=256"}, "--set store_credits=256: expected 0 to 255"},
        {{"--tile", "256"}, "--tile 256: expected a whole number from 1 to 255"},
        {{"--link-latency", "2048"}, "--link-latency 2048: expected a whole number from 1 to 2047"},
        {{"--spread", "wide"}, "--spread wide"},
        {{"--sigma", "nan"}, "--sigma nan"},
        {{"--locality", "1.5"}, "--locality 1.5"},
        {{"--set", "credits"}, "--set credits: expected NAME=VALUE"},
        {{"--set", "=1"}, "--set =1"},
        {{"--json", ""}, "--json: the name is empty"},
        {{"--json", "/nowhere/at/all.json"}, "/nowhere/at/all.json: cannot write"},
        {{"--json", "/tmp"}, "/tmp: cannot write"},
        {{"--json", "same", "--trace-fst", "same"}, "both are same"},
        {{"--placement", "even"},
         "--placement even: expected contiguous or loads, or a path with a dot or a slash"},
        {{"--placement", "nowhere.csv"}, "nowhere.csv: cannot open"},
        {{"--placement", "same.csv", "--json", "same.csv"}, "--json same.csv"},
        {{"--placement", "loads", "--expert-loads", "nowhere.csv"}, "nowhere.csv: cannot open"},
        {{"--expert-loads", "earlier"}, "--expert-loads earlier: only with --placement loads"},
        {{"--replicas", "4097"}, "--replicas 4097: expected a whole number from 0 to 4096"},
        {{"--replicas", "1"}, "are 65 places, which cannot be divided evenly over 8 GPUs; 8 can"},
        {{"--replicas", "449"}, "--replicas 449: at most 448"},
        {{"--replica-choice", "any"}, "--replica-choice any: expected hash, least, near or shared"},
        {{"--workload", "ag-gemm", "--replicas", "8"}, "--replicas: not with --workload ag-gemm"},
        {{"--bogus"}, "--bogus: unknown option"},
        {{"--model", "deepsek-v3"}, "--model deepsek-v3: did you mean deepseek-v3? known are "},
        {{"--model", "llama"}, "--model llama: known are deepseek-v3, "},
        {{"--dispatch-type", "fp8"},
         "--dispatch-type fp8: expected bf16, e4m3-tensor, e4m3 or nvfp4"},
        {{"--pass", "both"}, "--pass both: expected forward, backward, step, stack or recompute"},
        {{"--pass", "step", "--batches", "2"}, "--batches: only with --pass forward"},
        {{"--pass", "stack", "--batches", "2"}, "--batches: only with --pass forward"},
        {{"--pass", "stack", "--dispatch-type", "e4m3"},
         "--pass: results are bf16, and hidden values of the next layer: only with"},
        {{"--pass", "step", "--workload", "ag-gemm"}, "--workload: only with --pass forward"},
        {{"--pass", "step", "--expert-cycles", "32768"},
         "--pass: an expert's row of 32768 cycles takes twice as many in a backward layer, more"},
        {{"--no-gate-gradients"}, "--no-gate-gradients: not with --pass forward"},
        {{"word"}, "word: unexpected word"},
        {{"--trace", "/nowhere"}, "/nowhere/meta.json: cannot open"},
        {{"--trace", "/nowhere", "--k", "3"}, "--k: not with --trace"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuse(bad[i].cause, bad[i].words);
}

static void refuses_bad_traces_and_leaves_nothing(void **state)
{
    (void)state;
    uint16_t ids[1][4][2] = {{{0, 1}, {2, 3}, {0, 2}, {1, 3}}};
    float weights[1][4][2] = {{{0.5f, 0.5f}, {1, 2}, {3, 4}, {5, 6}}};
    const char *folder = write_trace("t", 1, 4, 2, 4, &ids[0][0][0], &weights[0][0][0]);
    const char *json = scratch("out.json"), *fst = scratch("out.fst");
    unsigned before = scratch_entries();
#define TRACED \
    "--trace", folder, "--gpus", "2", "--hidden", "8", "--json", json, "--trace-fst", fst, \
        "--tokens-per-gpu"
    REFUSE("6 tokens were requested, the trace has 4 (moeswitch run --repeat-tokens repeats them)",
           TRACED, "3", "--layer", "0");
    REFUSE("layer 1 was requested", TRACED, "2", "--layer", "1");
    weights[0][3][1] = NAN;
    ids[0][2][1] = MW_NO_EXPERT;
    write_trace("t", 1, 4, 2, 4, &ids[0][0][0], &weights[0][0][0]);
    REFUSE("topk_ids.npy: layer 0, token 2, column 1: -1", TRACED, "2", "--layer", "0");
    REFUSE("topk_weights.npy: layer 0, token 3, column 1: the weight is NaN", TRACED, "2",
           "--allow-padding");
    assert_int_equal(scratch_entries(), before);
    weights[0][3][1] = 1;
    write_trace("t", 1, 4, 2, 4, &ids[0][0][0], &weights[0][0][0]);
    assert_int_equal(RUN(TRACED, "2", "--allow-padding"), MW_EXIT_OK);
    assert_true(exists(json));
    remove(json);
}

/// The device refuses a run only after its waveforms were opened.
static void device_refuses_and_leaves_nothing(void **state)
{
    (void)state;
    unsigned before = scratch_entries();
    device.status = MW_EXIT_INPUT;
    device.faulty = "dysharp";
    assert_int_equal(RUN(SMALL, "--json", scratch("o.json"), "--trace-fst", scratch("o.fst")),
                     MW_EXIT_INPUT);
    assert_string_equal(err_text, "moeswitch: dysharp: as planned\n");
    assert_int_equal(scratch_entries(), before);
}

/// A run that does not fit is refused before anything runs or is written.
static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    unsigned before = scratch_entries();
    device.too_large = true;
    REFUSE("too large, as planned", SMALL, "--json", scratch("big.json"), "--trace-fst",
           scratch("big.fst"));
    assert_int_equal(device.checks, 1);
    device.too_large = false;
    device.touched = UINT64_C(1) << 60;
    REFUSE("takes 1024.0 PiB of memory", SMALL, "--json", scratch("big.json"));
    assert_null(strstr(err_text, "--jobs"));
    REFUSE("takes 2048.0 PiB of memory", SMALL, "--jobs", "2");
    assert_non_null(strstr(err_text, "--jobs"));
    REFUSE("takes 1024.0 PiB of memory", SMALL, "--jobs", "3", "--system",
           "dysharp"); // only one runs
    assert_string_equal(out_text, "");
    assert_int_equal(scratch_entries(), before);
}

/// A run of all systems leaves out those that the device lacks. A system that is requested by its
/// name runs, so that the device reports what it lacks.
static void leaves_out_what_the_device_lacks(void **state)
{
    (void)state;
    device.lacks = MW_SYSTEMS - 1; // the last one, moeswitch
    assert_int_equal(RUN(SMALL), MW_EXIT_OK);
    assert_int_equal(device.runs, MW_SYSTEMS - 1);
    assert_string_equal(err_text, "");
    assert_non_null(strstr(out_text, "moeswitch is left out: as planned\n"));
    assert_null(strstr(out_text, "\nmoeswitch  "));
    assert_int_equal(RUN(SMALL, "--system", "moeswitch"), MW_EXIT_OK);
    assert_int_equal(device.runs, MW_SYSTEMS);
}

static void names_waves_after_systems(void **state)
{
    (void)state;
    const char *fst = scratch("a.b.fst");
    assert_int_equal(RUN(SMALL, "--trace-fst", fst, "--system", "unicast"), MW_EXIT_OK);
    assert_string_equal(device.fst, fst);
    assert_int_equal(RUN(SMALL, "--trace-fst", fst), MW_EXIT_OK);
    assert_true(exists(scratch("a.b-unicast.fst")));
    assert_true(exists(scratch("a.b-dysharp-basic.fst")));
    assert_true(exists(scratch("a.b-dysharp.fst")));
    assert_int_equal(RUN(SMALL, "--trace-fst", scratch("plain"), "--system", "all"), MW_EXIT_OK);
    assert_true(exists(scratch("plain-dysharp")));
}

static void tells_a_mismatch(void **state)
{
    (void)state;
    device.wrong_bit = true;
    device.faulty = "dysharp-basic";
    const char *json = scratch("wrong.json");
    assert_int_equal(RUN(SMALL, "--layers", "1,4", "--json", json), MW_EXIT_MISMATCH);
    assert_int_equal(device.runs, MW_SYSTEMS); // the others still run
    err_text[strlen(err_text) - 1] = 0;
    assert_line(err_text, "dysharp-basic, layer 4: 1 wrong elements", "token 3, element 2",
                "expected 0x", "got 0x");
    assert_true(exists(json));
    device.wrong_bit = false;
    device.wrong_count = true;
    assert_int_equal(RUN(SMALL, "--layers", "1,4"), MW_EXIT_MISMATCH);
    err_text[strlen(err_text) - 1] = 0;
    assert_line(err_text, "dysharp-basic, layer 1: 1 counters differ", "port 1 up, store");
    device.wrong_count = false;
    device.too_fast = true;
    assert_int_equal(RUN(SMALL, "--layers", "1,4"), MW_EXIT_MISMATCH);
    err_text[strlen(err_text) - 1] = 0;
    assert_line(err_text, "dysharp-basic, layer 4: took 100 cycles, less than its own bound of",
                "mend the system's row in mw_systems");
}

static void tells_a_stuck_device(void **state)
{
    (void)state;
    unsigned before = scratch_entries();
    device.status = MW_EXIT_STUCK;
    device.faulty = "dysharp";
    assert_int_equal(RUN(SMALL, "--json", scratch("stuck.json")), MW_EXIT_STUCK);
    assert_non_null(strstr(err_text, "GPU 0: stream 1 waits\nport 3: store queue 16\n"));
    assert_non_null(strstr(err_text, "moeswitch: dysharp: as planned\n"));
    assert_int_equal(scratch_entries(), before);
    device.status = MW_EXIT_FAILED;
    assert_int_equal(RUN(SMALL), MW_EXIT_FAILED);
}

static void json_is_the_same_twice(void **state)
{
    (void)state;
    char a[256], b[256];
    snprintf(a, sizeof a, "%s", scratch("one.json"));
    snprintf(b, sizeof b, "%s", scratch("two.json"));
    write_file(b, "old", 3); // is replaced
    assert_int_equal(RUN(SMALL, "--json", a), MW_EXIT_OK);
    assert_int_equal(RUN(SMALL, "--json", b), MW_EXIT_OK);
    char *x = read_file(a), *y = read_file(b);
    drop_wall(x);
    drop_wall(y);
    assert_string_equal(x, y);
    assert_non_null(strstr(x, "\"system\": \"dysharp\""));
    free(x);
    free(y);
    assert_int_equal(RUN(SMALL, "--json", "/dev/null"), MW_EXIT_OK);
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

/// Head and JSON report the places of experts. Without a placement they have no line of it.
static void reports_a_placement(void **state)
{
    (void)state;
    assert_int_equal(RUN(SMALL), MW_EXIT_OK);
    assert_null(strstr(out_text, "placement"));
    assert_int_equal(RUN(SMALL, "--placement", "loads", "--expert-loads", "earlier", "--replicas",
                         "4", "--replica-choice", "near"),
                     MW_EXIT_OK);
    assert_non_null(
        strstr(out_text, "placement: loads of the layer before, of layer 0 of itself; "));
    assert_non_null(strstr(out_text, "choice: near"));
    assert_int_equal(RUN(SMALL, "--replicas", "8", "--json", "-"), MW_EXIT_OK);
    assert_non_null(strstr(out_text, "\"experts\": 8,\n    \"placement\": \"contiguous\",\n    "
                                     "\"replicas\": 8,\n    \"replica_choice\": \"hash\""));
}

/// The worked example, with the options of a user.
static void strict_bound_of_the_main_job(void **state)
{
    (void)state;
    const char *folder = real_trace("deepseek-v2-lite-intent");
    if (!folder)
        skip();
    assert_int_equal(RUN("--trace", folder, "--layer", "7", "--gpus", "8", "--tokens-per-gpu",
                         "256", "--hidden", "512", "--system", "dysharp"),
                     MW_EXIT_OK);
    assert_non_null(strstr(out_text, "strict bound 135207 cycles (port "));
    assert_non_null(strstr(out_text, "4.135 remote GPUs per token"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(runs_all_systems, reset),
        cmocka_unit_test_setup(runs_listed_systems, reset),
        cmocka_unit_test_setup(passes_options_on, reset),
        cmocka_unit_test_setup(costs_of_the_papers, reset),
        cmocka_unit_test_setup(takes_sizes_of_a_model, reset),
        cmocka_unit_test_setup(model_and_trace_agree, reset),
        cmocka_unit_test_setup(tells_of_a_trace_without_weights, reset),
        cmocka_unit_test_setup(help_and_defaults, reset),
        cmocka_unit_test_setup(refuses_bad_options, reset),
        cmocka_unit_test_setup(refuses_bad_traces_and_leaves_nothing, reset),
        cmocka_unit_test_setup(device_refuses_and_leaves_nothing, reset),
        cmocka_unit_test_setup(leaves_out_what_the_device_lacks, reset),
        cmocka_unit_test_setup(names_waves_after_systems, reset),
        cmocka_unit_test_setup(tells_a_mismatch, reset),
        cmocka_unit_test_setup(tells_a_stuck_device, reset),
        cmocka_unit_test_setup(json_is_the_same_twice, reset),
        cmocka_unit_test_setup(reports_a_placement, reset),
        cmocka_unit_test_setup(refuses_what_does_not_fit, reset),
        cmocka_unit_test_setup(strict_bound_of_the_main_job, reset),
    };
    return cmocka_run_group_tests_name("run", tests, scratch_make, finish_words);
}
