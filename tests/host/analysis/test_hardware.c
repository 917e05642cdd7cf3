// SPDX-License-Identifier: Apache-2.0
//
// Tests of machines (--hardware). Figures derived from them equal those worked out by hand. Files
// are written and read back, and each invalid file is refused. A run uses the values of its
// machine.
#include "host/support.h"
#include "host/words.h"

#include "bench/bench.h"
#include "experiment/phases.h"
#include "hardware/derive.h"
#include "trace/row_type.h"
#include "hardware/hardware_command.h"
#include "run/run.h"

#include "isa.h"

#include <math.h>
#include <unistd.h>

#define SHOW(...) \
    run_words(mw_hardware_command, "hardware", (const char *const[]){__VA_ARGS__, NULL})

static const struct mw_hardware *preset(const char *name)
{
    const struct mw_hardware *h;
    for (unsigned i = 0; (h = mw_hardware_preset(i)); i++)
        if (strcmp(h->name, name) == 0)
            return h;
    fail_msg("no preset %s", name);
    return NULL;
}

// ---- what follows from a machine ----------------------------------------------------------------

/// A row of 7168 values has 112 packets. Cycle: flit bytes over the plane's GB/s.
static void derives_a_plane(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned flit, hidden, latency; ///< of the simulated plane
        double ns;
    } planes[] = {
        {"hgx-h100", 16, 28 * 64, 1758, 16 / 112.5}, // 112.5 GB/s a plane
        {"hgx-h100", 8, 28 * 64, 3516, 8 / 112.5},
        {"gh200-nvl32", 16, 13 * 64, 781, 0.32}, // 12.4 packets: 13 of them
        {"gb200-nvl72", 16, 7 * 64, 781, 0.32},  // 6.2: 7
        {"hgx-b200", 16, 7 * 64, 781, 0.32},     // the same links
        {"moe-hub", 16, 28 * 64, 781, 0.32},
    };
    struct mw_error err = {0};
    for (unsigned i = 0; i < sizeof planes / sizeof *planes; i++) {
        struct mw_plane p;
        const struct mw_expert_shape expert = {.hidden = 7168};
        assert_int_equal(mw_plane_of(&p, preset(planes[i].name), planes[i].flit, 1, &expert, &err),
                         MW_EXIT_OK);
        assert_int_equal(p.hidden, planes[i].hidden);
        assert_int_equal(p.row_hidden, 7168);
        assert_int_equal(p.link_latency, planes[i].latency);
        assert_true(fabs(p.cycle_ns - planes[i].ns) < 1e-9);
        assert_int_equal(p.expert_cycles, 0);
        assert_true(fabs(mw_plane_us(&p, 1000000) - 1000 * planes[i].ns) < 1e-6);
    }
}

/// Values in 128 bytes of a row, by its type.
static const unsigned values_of[MW_ROW_TYPES] = {64, 128, 128, 256};

/// A row shorter than a packet stays whole. No plane has less than 1/P of a row, and P
/// of them have it all.
static void shares_are_whole_packets(void **state)
{
    (void)state;
    struct mw_hardware h = *preset("hgx-h100");
    struct mw_error err = {0};
    for (h.planes = 1; h.planes <= 64; h.planes++)
        for (unsigned hidden = 8; hidden <= 1024; hidden += 8) {
            struct mw_plane p;
            for (unsigned type = 0; type < MW_ROW_TYPES; type++) {
                const unsigned packet = values_of[type];
                const struct mw_expert_shape expert = {.hidden = hidden,
                                                       .values = mw_row_type_values(type)};
                assert_int_equal(mw_plane_of(&p, &h, 16, 1, &expert, &err), MW_EXIT_OK);
                assert_true(p.hidden * h.planes >= hidden && p.hidden <= hidden);
                assert_true(p.hidden == hidden || p.hidden % packet == 0);
                assert_true(p.hidden <= packet || (p.hidden - packet) * h.planes < hidden);
            }
        }
}

/// The planes together have every element of every row once, and a plane no more of it than its
/// share.
static void planes_have_every_element_once(void **state)
{
    (void)state;
    enum { MOST = 1100 };
    static const unsigned hidden[] = {8, 64, 72, 448, 512, MOST};
    struct mw_hardware h = *preset("hgx-h100");
    struct mw_error err = {0};
    for (h.planes = 1; h.planes <= 19; h.planes += 3)
        for (unsigned i = 0; i < sizeof hidden / sizeof *hidden; i++)
            for (unsigned token = 0; token < 40; token++) {
                const unsigned type = token % MW_ROW_TYPES;
                const struct mw_expert_shape expert = {.hidden = hidden[i],
                                                       .values = mw_row_type_values(type)};
                unsigned seen[MOST] = {0};
                struct mw_plane p;
                assert_int_equal(mw_plane_of(&p, &h, 8, 1, &expert, &err), MW_EXIT_OK);
                for (unsigned plane = 0; plane < h.planes; plane++)
                    for (unsigned e = 0; e < p.hidden; e++) {
                        const unsigned element = mw_plane_element(&h, &p, plane, token, e);
                        assert_int_equal((element / values_of[type] + token) % h.planes, plane);
                        if (element < hidden[i])
                            seen[element]++;
                    }
                for (unsigned e = 0; e < hidden[i]; e++)
                    assert_int_equal(seen[e], 1);
            }
}

/// DeepSeek-V3's expert: 3 GEMMs of 7168 x 2048. With many rows the FLOPS limit, with few
/// the load of its weights.
static void rows_follow_the_roofline(void **state)
{
    (void)state;
    struct mw_plane p;
    struct mw_error err = {0};
    const struct mw_hardware *h = preset("hgx-h100");
    struct mw_expert_shape expert = {.hidden = 7168, .size = 2048, .rows = 1e6};
    const double ns = 16 / 112.5, flops = 2.0 * 3 * 7168 * 2048;
    assert_int_equal(mw_plane_of(&p, h, 16, 1, &expert, &err), MW_EXIT_OK);
    assert_int_equal(p.expert_cycles, (int)round(flops / 989e3 / ns)); // 89 ns
    assert_true(p.weights_share < 1);
    expert.type = MW_GEMM_FP8;
    assert_int_equal(mw_plane_of(&p, h, 16, 1, &expert, &err), MW_EXIT_OK);
    assert_int_equal(p.expert_cycles, (int)round(flops / 1979e3 / ns));
    expert.type = MW_GEMM_BF16;
    expert.rows = 128;
    assert_int_equal(mw_plane_of(&p, h, 16, 1, &expert, &err), MW_EXIT_OK);
    assert_int_equal(p.expert_cycles,
                     (int)round(flops / 3350 / 128 / ns)); // 2 bytes for 2 operations
    assert_true(p.weights_share > 1);
    expert.type = MW_GEMM_FP4;
    assert_int_equal(mw_plane_of(&p, h, 16, 1, &expert, &err), MW_EXIT_INPUT);
    assert_line(err.text, "hgx-h100", "no TFLOPS of fp4");
}

// ---- files --------------------------------------------------------------------------------------

static const char *file(const char *text)
{
    const char *path = scratch("machine.json");
    write_file(path, text, strlen(text));
    return path;
}

/// Every preset, written and read as a file, is written the same again.
static void files_come_back(void **state)
{
    (void)state;
    const struct mw_hardware *h;
    for (unsigned i = 0; (h = mw_hardware_preset(i)); i++) {
        assert_int_equal(SHOW(h->name), MW_EXIT_OK);
        char *first = strdup(out_text);
        assert_non_null(first);
        assert_int_equal(SHOW(file(first)), MW_EXIT_OK);
        assert_string_equal(out_text, first);
        free(first);
    }
    assert_int_equal(SHOW(NULL), MW_EXIT_OK);
    assert_non_null(strstr(out_text, "gb200-nvl72"));
}

#define MACHINE(gpus, planes, link, ns, memory, tflops) \
    "{\"name\": \"m\", \"gpus\": " gpus ", \"planes\": " planes ", \"link_gbytes_per_s\": " link \
    ", \"link_latency_ns\": " ns ", \"memory_gbytes_per_s\": " memory ", \"tflops\": " tflops \
    ", \"source\": \"s\"}"

/// Memory and network may be missing, and are then not written.
static void plans_need_more(void **state)
{
    (void)state;
    const char *text = MACHINE("8", "4", "450", "250", "3350", "{\"bf16\": 989}");
    char more[400];
    assert_int_equal(SHOW(file(text)), MW_EXIT_OK);
    assert_null(strstr(out_text, "memory_gbytes\""));
    assert_null(strstr(out_text, "network"));
    snprintf(more, sizeof more, "{\"memory_gbytes\": 80, \"network_gbytes_per_s\": 50, %s",
             text + 1);
    assert_int_equal(SHOW(file(more)), MW_EXIT_OK);
    assert_non_null(strstr(out_text, "\"memory_gbytes\": 80"));
    assert_non_null(strstr(out_text, "\"network_gbytes_per_s\": 50"));
    assert_null(strstr(out_text, "network_latency_ns"));
    snprintf(more, sizeof more, "{\"network_latency_ns\": 0, %s", text + 1);
    refuse_words(mw_hardware_command, "hardware", (const char *const[]){file(more), NULL},
                 "\"network_latency_ns\" is not a number from 0.1");
}

static void refuses_bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } files[] = {
        {"[]", "not a JSON object"},
        {"{", "malformed JSON"},
        {MACHINE("1", "4", "450", "250", "3350", "{\"bf16\": 989}"),
         "\"gpus\" is not a number from 2 to 128"},
        {MACHINE("8.5", "4", "450", "250", "3350", "{\"bf16\": 989}"),
         "\"gpus\" is not a whole number"},
        {MACHINE("129", "4", "450", "250", "3350", "{\"bf16\": 989}"),
         "\"gpus\" is not a number from 2 to 128"},
        {MACHINE("8", "0", "450", "250", "3350", "{\"bf16\": 989}"),
         "\"planes\" is not a number from 1 to 64"},
        {MACHINE("8", "4", "0", "250", "3350", "{\"bf16\": 989}"),
         "\"link_gbytes_per_s\" is not a number from"},
        {MACHINE("8", "4", "-450", "250", "3350", "{\"bf16\": 989}"),
         "\"link_gbytes_per_s\" is not a number from"},
        {MACHINE("8", "4", "\"450\"", "250", "3350", "{\"bf16\": 989}"),
         "\"link_gbytes_per_s\" is not a number"},
        {MACHINE("8", "4", "450", "0", "3350", "{\"bf16\": 989}"),
         "\"link_latency_ns\" is not a number from 0.1"},
        {MACHINE("8", "4", "450", "250", "0", "{\"bf16\": 989}"),
         "\"memory_gbytes_per_s\" is not a number"},
        {MACHINE("8", "4", "450", "250", "449", "{\"bf16\": 989}"),
         "contradiction: links of 450 GB/s and a memory"},
        {MACHINE("8", "4", "450", "250", "3350", "{}"),
         "\"tflops\" is not an object with bf16, fp8 or fp4"},
        {MACHINE("8", "4", "450", "250", "3350", "{\"bf16\": -1}"),
         "\"bf16\" is not a number from"},
        {MACHINE("8", "4", "450", "250", "3350", "{\"int8\": 1}"),
         "\"tflops\" has no type \"int8\""},
        {MACHINE("8", "4", "450", "250", "3350", "{\"bf16\": 989, \"fp8\": 500}"),
         "contradiction: 989 TFLOPS of bf16"},
        {MACHINE("8", "4", "450", "250", "3350", "{\"bf16\": 989, \"fp4\": 500}"),
         "contradiction: 989 TFLOPS of bf16, but 500 of fp4"},
        {"{\"name\": \"m\", \"gpu\": 8}", "key \"gpu\" is unknown"},
        {"{\"name\": \"m\", \"gpus\": 8}", "key \"planes\" is missing"},
        {"{\"gpus\": 8, \"gpus\": 9}", "\"gpus\""},
    };
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        refuse_words(mw_hardware_command, "hardware",
                     (const char *const[]){file(files[i].text), NULL}, files[i].says);
    refuse_words(mw_hardware_command, "hardware", (const char *const[]){"hgx-h10", NULL},
                 "did you mean hgx-h100?");
    refuse_words(mw_hardware_command, "hardware", (const char *const[]){"/nowhere.json", NULL},
                 "cannot open");
    refuse_words(mw_hardware_command, "hardware", (const char *const[]){"cais", "dysharp", NULL},
                 "one machine");
}

// ---- a run --------------------------------------------------------------------------------------

static int parse(struct mw_run_params *p, struct mw_error *err, const char *const *words)
{
    char *argv[16] = {(char *)"run"};
    int argc = 1;
    bool help;
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)words[argc - 1];
    *err = (struct mw_error){0};
    return mw_run_parse(p, argc, argv, &help, err);
}
#define PARSE(...) parse(&p, &err, (const char *const[]){__VA_ARGS__, NULL})

static void a_run_takes_what_no_option_says(void **state)
{
    (void)state;
    struct mw_run_params p;
    struct mw_error err;
    assert_int_equal(
        PARSE("--hardware", "gh200-nvl32", "--model", "deepseek-v3", "--tokens-per-gpu", "4096"),
        0);
    assert_int_equal(p.shape.gpus, 32);
    assert_int_equal(p.flit_bytes, 16);
    assert_int_equal(p.link_latency, 781);
    assert_int_equal(p.shape.hidden, 13 * 64);
    assert_true(p.expert_cycles_given);
    assert_int_equal(p.expert_cycles, 278); // 89 ns of 0.32 ns
    // a flit of two cycles takes the machine's time of a flit, too
    assert_int_equal(PARSE("--hardware", "gh200-nvl32", "--model", "deepseek-v3",
                           "--tokens-per-gpu", "4096", "--link-cycles", "2"),
                     0);
    assert_true(fabs(p.plane.cycle_ns - 0.16) < 1e-9);
    assert_int_equal(p.link_latency, 1563);
    assert_int_equal(p.expert_cycles, 557);
    assert_int_equal(PARSE("--hardware", "hgx-h100", "--gpus", "4", "--link-latency", "9",
                           "--expert-cycles", "7", "--hidden", "512"),
                     0);
    assert_int_equal(p.shape.gpus, 4);
    assert_int_equal(p.link_latency, 9);
    assert_int_equal(p.expert_cycles, 7);
    assert_int_equal(p.shape.hidden, 128);
    // a row has 56 packets of 128 e4m3 values, of which one of 18 planes has 4 at most
    assert_int_equal(PARSE("--hardware", "gb200-nvl72", "--gpus", "8", "--model", "deepseek-v3",
                           "--dispatch-type", "e4m3-tensor"),
                     0);
    assert_int_equal(p.shape.hidden, 4 * 128);
    // without a model there is no size of an expert
    assert_int_equal(PARSE("--hardware", "hgx-h100"), 0);
    assert_false(p.expert_cycles_given);
}

static void a_run_refuses_what_the_fabric_lacks(void **state)
{
    (void)state;
    struct mw_run_params p;
    struct mw_error err;
    assert_int_equal(PARSE("--hardware", "hgx-h100", "--gpus", "9"), MW_EXIT_INPUT);
    assert_line(err.text, "--gpus 9", "hgx-h100 has 8");
    const char *large = file(MACHINE("128", "18", "900", "250", "8000", "{\"bf16\": 2500}"));
    assert_int_equal(PARSE("--hardware", large), MW_EXIT_INPUT);
    assert_line(err.text, "m: it has 128 GPUs", "at most 72", "--gpus 72");
    assert_int_equal(PARSE("--hardware", "gb200-nvl72", "--experts", "288"), MW_EXIT_OK);
    assert_int_equal(p.shape.gpus, 72);
    assert_int_equal(PARSE("--hardware", "hgx-h100", "--flit-bytes", "8"), MW_EXIT_INPUT);
    assert_line(err.text, "250 ns are 3516 cycles", "at most 2047");
    assert_int_equal(
        PARSE("--hardware", "hgx-h100", "--model", "deepseek-v3", "--tokens-per-gpu", "1"),
        MW_EXIT_INPUT);
    assert_line(err.text, "a row of an expert takes 184870 cycles, more than 65535");
    assert_int_equal(PARSE("--gemm-type", "fp8"), MW_EXIT_INPUT);
    assert_line(err.text, "only with --hardware");
    assert_int_equal(PARSE("--hardware", "hgx-h100", "--device", "usb"), MW_EXIT_INPUT);
    assert_line(err.text, "only with --device sim");
    assert_int_equal(PARSE("--hardware", "hgx-h100", "--workload", "ag-gemm"), MW_EXIT_INPUT);
    assert_line(err.text, "--hardware: not with --workload");
    assert_int_equal(PARSE("--hardware", "hgx-h100", "--hidden", "12"), MW_EXIT_INPUT);
    assert_line(err.text, "--hidden 12", "not a multiple");
}

// ---- phases ------------------------------------------------------------------------------------

static void take(struct mw_phases *p, uint64_t cycle, unsigned gpu, unsigned stream,
                 enum mw_stream_state state, unsigned op)
{
    const struct mw_watch_event e = {.cycle = cycle,
                                     .kind = MW_WATCH_STREAM,
                                     .place = gpu,
                                     .stream = {.number = stream, .state = state, .op = op}};
    mw_phases_take(p, &e);
}

/// The last GPU to begin its experts ends dispatch, and the last to end them begins combine.
static void phases_follow_the_last_gpu(void **state)
{
    (void)state;
    struct mw_phases p = {.gpus = 2};
    struct mw_phase_cycles c;
    take(&p, 5, 0, 0, MW_STREAM_RUN, MW_I_ST);
    take(&p, 90, 0, 0, MW_STREAM_WAIT, MW_I_WAIT);
    take(&p, 100, 0, 0, MW_STREAM_UNIT, MW_I_EXPERT_ROWS);
    take(&p, 102, 0, 0, MW_STREAM_RUN, MW_I_EXPERT_ROWS);
    mw_phases_of(&p, 1000, &c);
    assert_false(c.known); // GPU 1 has none yet
    take(&p, 110, 1, 2, MW_STREAM_RUN, MW_I_EXPERT);
    take(&p, 111, 1, 0, MW_STREAM_RUN, MW_I_SUM_ST);
    take(&p, 400, 1, 2, MW_STREAM_FETCH, MW_I_EXPERT);
    take(&p, 300, 0, 0, MW_STREAM_FETCH, MW_I_EXPERT_ROWS);
    take(&p, 302, 0, 0, MW_STREAM_RUN, MW_I_EXPERT_ROWS);
    take(&p, 450, 0, 0, MW_STREAM_FETCH, MW_I_EXPERT_ROWS);
    mw_phases_of(&p, 1000, &c);
    assert_true(c.known);
    assert_int_equal(c.dispatch, 110);
    assert_int_equal(c.expert, 340);
    assert_int_equal(c.combine, 550);
    mw_phases_of(&p, 449, &c);
    assert_false(c.known); // a layer that ended before its experts
}

// ---- the other commands -------------------------------------------------------------------------

/// `bench` parses the same option, and refuses with the messages of `run`.
static void bench_takes_a_machine(void **state)
{
    (void)state;
    struct mw_bench_params p;
    struct mw_error err = {0};
    bool help;
    char *words[] = {"bench", "unicast", "--hardware", "gh200-nvl32", NULL, NULL, NULL};
    assert_int_equal(mw_bench_parse(&p, 4, words, &help, &err), 0);
    assert_int_equal(p.gpus, 32);
    assert_int_equal(p.flit_bytes, 16);
    assert_int_equal(p.link_latency, 781);
    assert_true(fabs(p.plane.cycle_ns - 0.32) < 1e-9);
    words[4] = "--link-latency";
    words[5] = "9";
    assert_int_equal(mw_bench_parse(&p, 6, words, &help, &err), 0);
    assert_int_equal(p.link_latency, 9);
    static const struct {
        const char *words[4], *says;
    } bad[] = {
        {{"hgx-h100", "--gpus", "9"}, "--gpus 9: hgx-h100 has 8"},
        {{"hgx-h100", "--flit-bytes", "8"},
         "250 ns are 3516 cycles of 0.071 ns, links have at most"},
        {{"hgx-h100", "--device", "usb"}, "--hardware: only with --device sim"},
        {{"hgx-h10"}, "--hardware hgx-h10: did you mean hgx-h100?"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const *w = bad[i].words;
        refuse_words(mw_bench_command, "bench",
                     (const char *const[]){"unicast", "--hardware", w[0], w[1], w[2], NULL},
                     bad[i].says);
        refuse_words(mw_run_command, "run",
                     (const char *const[]){"--hardware", w[0], w[1], w[2], NULL}, bad[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derives_a_plane),
        cmocka_unit_test(shares_are_whole_packets),
        cmocka_unit_test(planes_have_every_element_once),
        cmocka_unit_test(rows_follow_the_roofline),
        cmocka_unit_test(files_come_back),
        cmocka_unit_test(plans_need_more),
        cmocka_unit_test(refuses_bad_files),
        cmocka_unit_test(a_run_takes_what_no_option_says),
        cmocka_unit_test(a_run_refuses_what_the_fabric_lacks),
        cmocka_unit_test(phases_follow_the_last_gpu),
        cmocka_unit_test(bench_takes_a_machine),
    };
    return cmocka_run_group_tests_name("hardware", tests, scratch_make, finish_words);
}
