// SPDX-License-Identifier: Apache-2.0
//
// No command replaces a file that it reads, or writes two outputs to one file. The second name can
// be equal, different, a symbolic link, a hard link, or that of a missing file of the trace. Each
// command is refused before anything runs.
#include "host/support.h"
#include "host/words.h"

#include "bench/bench.h"
#include "device/device.h"
#include "plan/plan.h"
#include "run/run.h"
#include "sweep/sweep.h"
#include "trace/gen.h"
#include "trace/trace_info.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALL "--gpus", "2", "--flit-bytes", "8", "--hidden", "16", "--tokens-per-gpu", "2"

static const char *trace;
static char ids[200], meta[200], hard[200], soft[200], absent[200];

static void make_trace(void)
{
    static const uint16_t experts[] = {0, 1, 1, 2, 2, 3, 3, 0};
    static const float weights[] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
    trace = strdup(write_trace("trace", 1, 4, 2, 4, experts, weights));
    snprintf(ids, sizeof ids, "%s/topk_ids.npy", trace);
    snprintf(meta, sizeof meta, "%s/meta.json", trace);
    snprintf(absent, sizeof absent, "%s/topk.npz", trace);
    snprintf(hard, sizeof hard, "%s", scratch("hard"));
    snprintf(soft, sizeof soft, "%s", scratch("soft"));
    assert_int_equal(link(meta, hard), 0);
    assert_int_equal(symlink(ids, soft), 0);
}

/// The size of a file, or -1.
static long size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) ? -1 : (long)st.st_size;
}

#define REFUSES(command, name, part, ...) \
    refuse_words(command, name, (const char *const[]){__VA_ARGS__, NULL}, part)

static void run_keeps_its_trace(void **state)
{
    (void)state;
    static const char *const options[] = {"--json", "--csv", "--plot", "--html", "--timeline"};
    const char *const outputs[] = {meta, ids, hard, soft, absent};
    const long before[] = {size_of(meta), size_of(ids)};
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++)
        for (unsigned o = 0; o < sizeof outputs / sizeof *outputs; o++) {
            REFUSES(mw_run_command, "run", "would replace the input", SMALL, "--trace", trace,
                    options[i], outputs[o]);
            REFUSES(mw_run_command, "run", options[i], SMALL, "--trace", trace, options[i],
                    outputs[o]);
        }
    // a file by itself, and waveforms of one system and of several
    REFUSES(mw_run_command, "run", "would replace the input", SMALL, "--experts", "4", "--axes",
            "layers,tokens,k", "--trace", ids, "--json", soft);
    REFUSES(mw_run_command, "run", "would replace the input", SMALL, "--system", "unicast",
            "--trace", trace, "--trace-fst", hard);
    assert_int_equal(symlink(meta, scratch("waves-dysharp.fst")), 0);
    REFUSES(mw_run_command, "run", "would replace the input", SMALL, "--trace", trace,
            "--trace-fst", scratch("waves.fst"));
    assert_int_equal(size_of(meta), before[0]);
    assert_int_equal(size_of(ids), before[1]);
    assert_int_equal(size_of(absent), -1);
}

static void others_keep_theirs(void **state)
{
    (void)state;
    REFUSES(mw_bench_command, "bench", "would replace the input", "dispatch", "--gpus", "2",
            "--trace", trace, "--json", hard);
    REFUSES(mw_trace_command, "trace", "would replace the input", "info", trace, "--csv", soft);
    const char *counts = scratch("made/topk_ids.npy");
    assert_int_equal(mkdir(scratch("made"), 0777), 0);
    write_file(counts, "1,2,3,4\n", 8);
    REFUSES(mw_gen_command, "gen", "exists, and is not overwritten", scratch("made"), "--counts",
            counts, "--k", "1");
    assert_int_equal(size_of(counts), 8);
    const char *words = scratch("firmware.hex");
    write_file(words, "@0\n1\n", 5);
    assert_int_equal(symlink("firmware.hex", scratch("kept.hex")), 0);
    REFUSES(mw_firmware_command, "firmware", "would replace the input", words, "--save",
            scratch("kept.hex"));
}

static void sweeps_keep_theirs(void **state)
{
    (void)state;
    char grid[200], out[200], text[600];
    snprintf(grid, sizeof grid, "%s", scratch("grid.json"));
    snprintf(out, sizeof out, "%s", scratch("swept"));
    snprintf(text, sizeof text,
             "{\"trace\": \"%s\", \"gpus\": 2, \"flit-bytes\": 8, \"hidden\": 16, "
             "\"tokens-per-gpu\": [1, 2], \"system\": \"unicast\"}",
             trace);
    write_file(grid, text, strlen(text));
    assert_int_equal(mkdir(out, 0777), 0);
    assert_int_equal(symlink(grid, scratch("swept/results.csv")), 0);
    REFUSES(mw_sweep_command, "sweep", "would replace the input", grid, "--out", out, "--collect");
    assert_int_equal(unlink(scratch("swept/results.csv")), 0);
    assert_int_equal(link(meta, scratch("swept/results.csv")), 0);
    REFUSES(mw_sweep_command, "sweep", "would replace the input", grid, "--out", out, "--collect");
    assert_int_equal(size_of(grid), (long)strlen(text));
}

/// A file of a machine is an input of all four.
static void machines_stay(void **state)
{
    (void)state;
    static const char text[] =
        "{\"name\": \"m\", \"gpus\": 2, \"planes\": 1, \"link_gbytes_per_s\": 8, "
        "\"link_latency_ns\": 3, \"memory_gbytes_per_s\": 80, \"tflops\": {\"bf16\": 1}, "
        "\"source\": \"s\"}";
    static const char gridded[] = "{\"gpus\": 2, \"flit-bytes\": 8, \"experts\": 2, \"k\": 1}";
    const char *machine = scratch("swept/results.csv"), *grid = scratch("machines.json");
    unlink(machine);
    mkdir(scratch("swept"), 0777);
    write_file(machine, text, sizeof text - 1);
    write_file(grid, gridded, sizeof gridded - 1);
    REFUSES(mw_run_command, "run", "would replace the input", "--flit-bytes", "8", "--hardware",
            machine, "--json", machine);
    REFUSES(mw_bench_command, "bench", "would replace the input", "unicast", "--flit-bytes", "8",
            "--hardware", machine, "--csv", machine);
    REFUSES(mw_sweep_command, "sweep", "would replace the input", grid, "--hardware", machine,
            "--out", scratch("swept"), "--collect");
    REFUSES(mw_plan_command, "plan", "would replace the input", "--model", "mixtral-8x7b",
            "--hardware", machine, "--memory", "80", "--json", machine);
    assert_int_equal(size_of(machine), sizeof text - 1);
}

static void models_stay(void **state)
{
    (void)state;
    static const char text[] =
        "{\"num_experts\": 4, \"num_hidden_layers\": 1, \"hidden_size\": 64, "
        "\"num_attention_heads\": 4, "
        "\"vocab_size\": 9, \"intermediate_size\": 8, \"num_experts_per_tok\": 2}";
    static const char *const options[] = {"--json", "--csv", "--html", "--moe-csv"};
    const char *config = scratch("config.json");
    write_file(config, text, sizeof text - 1);
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++)
        REFUSES(mw_plan_command, "plan", "would replace the input", "--model", config, "--hardware",
                "hgx-h100", options[i], config);
    assert_int_equal(size_of(config), sizeof text - 1);
}

/// Two outputs that are one, by names that differ.
static void two_outputs_are_two(void **state)
{
    (void)state;
    const char *file = scratch("one"), *other = scratch("other");
    write_file(file, "old", 3);
    assert_int_equal(link(file, other), 0);
    REFUSES(mw_run_command, "run", "--json and --csv: both are", SMALL, "--json", file, "--csv",
            other);
    REFUSES(mw_run_command, "run", "both are", SMALL, "--json", "-", "--csv", "/dev/fd/1");
    REFUSES(mw_run_command, "run", "--plot and --trace-fst: both are", SMALL, "--plot",
            scratch("w-nvls.fst"), "--trace-fst", scratch("w.fst"));
    assert_int_equal(size_of(file), 3);
    // a new file would take the place of the one that standard output goes to
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        if (!freopen(file, "w", stdout))
            _exit(9);
        int status =
            run_words(mw_run_command, "run", (const char *const[]){SMALL, "--json", file, NULL});
        _exit(status == MW_EXIT_INPUT && strstr(err_text, "standard output is that file") ? 0 : 8);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int begin(void **state)
{
    int status = scratch_make(state);
    make_trace();
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_keeps_its_trace), cmocka_unit_test(others_keep_theirs),
        cmocka_unit_test(sweeps_keep_theirs),  cmocka_unit_test(machines_stay),
        cmocka_unit_test(models_stay),         cmocka_unit_test(two_outputs_are_two),
    };
    return cmocka_run_group_tests_name("inputs stay", tests, begin, finish_words);
}
