// SPDX-License-Identifier: Apache-2.0
//
// The command build/moeswitch itself, with the device: exit status, messages, files that it writes
// and files that it must not leave.
#include "base/text.h"
#include "system/command.h"
#include "systems/system_list.h"

#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/// A small run that every model passes quickly. Options are appended.
#define SMALL_RUN SIZED(6, 32, 2)
#define SIZED(tokens, hidden, tile) \
    "--gpus 2 --flit-bytes 8 --tokens-per-gpu " #tokens " --hidden " #hidden " --tile " #tile " "
#define EXPERTS_8 "--experts 8 --k 2 "
#define SYNTHETIC SMALL_RUN EXPERTS_8

static int set_up(void **state)
{
    return scratch_make(state) || mkdir(scratch("files"), 0777);
}

// ---- output -------------------------------------------------------------------------------------

static void prints_and_succeeds(void **state)
{
    (void)state;
    assert_int_equal(run_command("run " SYNTHETIC), MW_EXIT_OK);
    assert_string_equal(err_text, "");
    for (unsigned i = 0; i < MW_SYSTEMS; i++) {
        char line[64];
        snprintf(line, sizeof line, "\n%-14s ", mw_systems[i].name);
        assert_non_null(strstr(out_text, line));
    }
}

static void prints_help(void **state)
{
    (void)state;
    static const char *const asked[] = {"help run", "run --help", "run -h"};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(run_command("%s", asked[i]), MW_EXIT_OK);
        assert_non_null(strstr(out_text, "usage: moeswitch run "));
        assert_non_null(strstr(out_text, "\n  130  interrupted"));
    }
    assert_int_equal(run_command("-h"), MW_EXIT_OK);
    assert_non_null(strstr(out_text, "usage: moeswitch COMMAND"));
    assert_int_equal(run_command("run " SYNTHETIC "--system dysharp --set fault_gpu=2"),
                     MW_EXIT_INPUT);
    assert_non_null(strstr(err_text, "--set fault_gpu=2: expected 0 to 1\n"));
    assert_int_equal(run_command("help trace info"), MW_EXIT_INPUT);
    assert_string_equal(err_text, "moeswitch: info: unexpected word behind help trace\n");
    assert_int_equal(run_command("sweep ''"), MW_EXIT_INPUT);
    assert_string_equal(err_text, "moeswitch: a word is empty, see moeswitch sweep --help\n");
    assert_int_equal(run_command("trce info"), MW_EXIT_INPUT);
    assert_string_equal(err_text,
                        "moeswitch: trce: unknown command, see moeswitch --help (trace?)\n");
}

/// Data instead of tables, no output, and tables that fit.
static void prints_what_is_requested(void **state)
{
    (void)state;
    assert_int_equal(run_command("run " SYNTHETIC "--details --interval 100 --batches 2"),
                     MW_EXIT_OK);
    for (const char *line = out_text; *line; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > 100)
            fail_msg("wider than 100 columns: %s", line);
    assert_non_null(strstr(out_text, "\nuplink_idle "));
    assert_null(strchr(out_text, '\033'));
    assert_int_equal(run_command("run " SYNTHETIC "--json -"), MW_EXIT_OK);
    assert_int_equal(out_text[0], '{');
    assert_string_equal(out_text + strlen(out_text) - 3, "\n}\n");
    assert_int_equal(run_command("run " SYNTHETIC "--csv -"), MW_EXIT_OK);
    assert_int_equal(strncmp(out_text, "tool,params.trace,", 18), 0);
    assert_int_equal(run_command("run " SYNTHETIC "--quiet"), MW_EXIT_OK);
    assert_string_equal(out_text, "");
    assert_string_equal(err_text, "");
    ASSERT_REFUSES("run", SYNTHETIC "--plot - --csv -",
                   "--csv and --plot: both are standard output");
    ASSERT_REFUSES("run", SYNTHETIC "--trace-fst -", "--trace-fst -: waveforms need a file");
}

/// The JSON without the lines of every system that hold any of these keys, up to a NULL.
static char *without(const char *const *keys, char *text)
{
    char *to = text;
    for (char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        length += line[length] == '\n';
        char first[40] = "";
        memcpy(first, line, length < sizeof first - 1 ? length : sizeof first - 1);
        bool kept = true;
        for (unsigned k = 0; keys[k]; k++)
            kept = kept && !strstr(first, keys[k]);
        if (kept) {
            memmove(to, line, length);
            to += length;
        }
        line += length;
    }
    *to = 0;
    return text;
}
static char *without_wall(char *text)
{
    static const char *const keys[] = {"\"seconds_wall\"", "\"sim_cycles_per_s\"", NULL};
    return without(keys, text);
}
/// ... and what differs between models of one fabric
static char *without_model(char *text)
{
    static const char *const keys[] = {"\"simulated_by\"", NULL};
    return without(keys, without_wall(text));
}

/// The JSON of a run with these words, to be freed.
static char *json_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *json_of(const char *format, ...)
{
    char words[500], json[256];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    snprintf(json, sizeof json, "%s", scratch("files/run.json"));
    assert_int_equal(run_command("run %s --json %s", words, json), MW_EXIT_OK);
    char *text = read_file(json);
    assert_non_null(text);
    assert_int_equal(remove(json), 0);
    return text;
}

static void assert_same(char *const text[2])
{
    assert_string_equal(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}

/// Batches of consecutive tokens, and all of them once more through the queue.
static void feeds_batches(void **state)
{
    (void)state;
    char *text = json_of(SYNTHETIC "--batches 5");
    assert_string_equal(err_text, "");
    assert_non_null(strstr(out_text, "layer 0, tokens from 48 on: "));
    assert_non_null(strstr(out_text, "\n5 batches of 12 tokens: "));
    assert_int_equal(count_of("\"feeding\"", text), MW_SYSTEMS);
    free(text);
}

/// The message of a run about gradients of gate weights. They were checked, with their flits, two
/// of each remote (token, expert), or they were not made, with the reason.
static void runs_gradients(void **state)
{
    (void)state;
    const struct {
        const char *options, *said, *json;
    } run[] = {
        {"", "Every bit of dX and of 192 gradients of gate weights (dw) was checked",
         "\"gate_gradients\": {\"made\": 192, \"wrong\": 0, \"uplink_flits\": "},
        {" --no-gate-gradients", "Every bit of dX was checked, and every flit. Gradients of gate",
         "\"gate_gradients\": false"},
        {" --dispatch-type e4m3",
         "note: gradients of gate weights are left to the host: experts make them of bf16 rows, "
         "not "
         "of e4m3\n",
         "\"gate_gradients\": false"},
    };
    for (unsigned i = 0; i < sizeof run / sizeof *run; i++) {
        char *text = json_of("--gpus 2 --flit-bytes 8 --tokens-per-gpu 16 --hidden 128 "
                             "--experts 8 --k 3 --pass backward --system dysharp%s",
                             run[i].options);
        assert_string_equal(err_text, "");
        assert_non_null(strstr(out_text, run[i].said));
        assert_non_null(strstr(out_text, "(twice in backward layers)"));
        assert_non_null(strstr(text, run[i].json));
        free(text);
    }
}

/// Three layers of each requested pass. The line of a system is that of the passes that count.
static void runs_passes(void **state)
{
    (void)state;
    const char *const pass[] = {"backward", "step", "stack"};
    for (unsigned i = 0; i < 3; i++) {
        const char *html = scratch("files/pass.html"), *plot = scratch("files/pass.svg"),
                   *timeline = scratch("files/pass.json");
        char line[128], *text = json_of(SYNTHETIC "--pass %s --system dysharp --html %s --plot %s "
                                                  "--timeline %s",
                                        pass[i], html, plot, timeline);
        assert_string_equal(err_text, "");
        for (unsigned p = 0; p < MW_PASSES; p++) {
            char title[64], *made = read_file(plot);
            snprintf(title, sizeof title, ">dysharp, layer 0, %s<", mw_pass_names[p]);
            assert_non_null(strstr(made, title));
            free(made);
            made = read_file(timeline);
            snprintf(title, sizeof title, "\"name\": \"layer 0, %s\"", mw_pass_names[p]);
            assert_non_null(strstr(made, title));
            free(made);
        }
        remove(html);
        remove(plot);
        remove(timeline);
        unsigned long cycles, forward, backward, again;
        const char *at = strstr(text, "\"pass_cycles\"");
        assert_non_null(at);
        assert_int_equal(sscanf(at,
                                "\"pass_cycles\": {\"forward\": %lu, \"backward\": %lu, "
                                "\"counted_again\": %lu",
                                &forward, &backward, &again),
                         3);
        assert_int_equal(
            sscanf(strstr(strstr(text, "\"systems\""), "\"cycles\": "), "\"cycles\": %lu", &cycles),
            1);
        assert_int_equal(cycles, backward + (i ? forward : 0));
        assert_true(backward < again && again > forward);
        snprintf(line, sizeof line, "\ndysharp        %9lu %11lu        -        - %13lu %8lu ",
                 forward, backward, again, again - backward);
        assert_non_null(strstr(out_text, line));
        snprintf(line, sizeof line, "\"pass\": \"%s\"", pass[i]);
        assert_non_null(strstr(text, line));
        assert_non_null(strstr(text, "\"pass\": \"counted again\""));
        const char *stack = strstr(text, "\"stack\": {\"layers\": 2, \"cached\": 1");
        assert_true(i < 2 ? !stack
                          : stack && strstr(stack, "\"wrong\": 0, \"other_cycles\": 0, "
                                                   "\"other_flits\": false"));
        assert_true(i < 2 || strstr(out_text, "\n2 layers once more through the device's queue"));
        free(text);
    }
}

static void same_json_twice(void **state)
{
    (void)state;
    char *text[2];
    for (unsigned i = 0; i < 2; i++) {
        text[i] = json_of("--gpus 4 --flit-bytes 8 --tokens-per-gpu 12 --hidden 64 "
                          "--layers 1,0,1,2,3 --link-latency 3");
        size_t whole = strlen(text[i]);
        without_wall(text[i]);
        assert_true(strlen(text[i]) < whole);
        static const char *const keys[] = {"\"systems\"",
                                           "\"system\"",
                                           "\"cycles\"",
                                           "\"speedup\"",
                                           "\"own_bound_cycles\"",
                                           "\"strict_share\"",
                                           "\"own_share\"",
                                           "\"strict_bound_cycles\"",
                                           "\"own_link_bound_cycles\"",
                                           "\"wrong\"",
                                           "\"params\"",
                                           "\"stalls\""};
        for (unsigned k = 0; k < sizeof keys / sizeof *keys; k++)
            assert_non_null(strstr(text[i], keys[k]));
    }
    assert_same(text);
    assert_int_equal(entries("files"), 0);
}

/// Concurrent systems on their own devices.
static void same_json_side_by_side(void **state)
{
    (void)state;
    char *text[2];
    for (unsigned i = 0; i < 2; i++) {
        text[i] = json_of(SYNTHETIC "--layers 1,0 --interval 64 --jobs %u", i ? 3 : 1);
        assert_string_equal(err_text, "");
        without_wall(text[i]);
    }
    assert_same(text);
}

/// Ctrl-C, and the signals by which others end it, in the middle of minutes of simulation.
static void ends_when_interrupted(void **state)
{
    (void)state;
    char words[900];
    snprintf(words, sizeof words, "run " SIZED(512, 8192, 2) EXPERTS_8 "--jobs 2 --json %s",
             scratch("files/never.json"));
    assert_interrupts(words, SIGINT, "moeswitch: interrupted\n");
    assert_interrupts(words, SIGTERM, "moeswitch: interrupted\n");
    assert_interrupts(words, SIGHUP, "moeswitch: interrupted\n");
    assert_int_equal(entries("files"), 0);
}

/// Waveforms, from a model that is built at its first use. It is one model of the whole fabric,
/// while the one without waveforms is split between the nodes. Every figure must be the same. An
/// FST file starts with a header block (0) of 329 bytes.
static void writes_waves(void **state)
{
    (void)state;
    char fst[512];
    snprintf(fst, sizeof fst, "%s", scratch("files/run.fst"));
    char *text[2];
    for (unsigned i = 0; i < 2; i++) {
        text[i] = json_of(WITH_WAVES "%s%s", i ? "--trace-fst " : "", i ? fst : "");
        without_model(text[i]);
    }
    assert_same(text);
    FILE *f = fopen(fst, "rb");
    assert_non_null(f);
    unsigned char head[9];
    assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
    fclose(f);
    const unsigned char expected[9] = {0, 0, 0, 0, 0, 0, 0, 1, 0x49};
    assert_memory_equal(head, expected, sizeof expected);
    assert_int_equal(remove(fst), 0);
    assert_int_equal(entries("files"), 0);
}

// ---- text from outside --------------------------------------------------------------------------

/// What is neither UTF-8 nor shown: an escape sequence, a line's end, bytes of no character.
#define STRANGE "a\033[31m\nb\xff\xc2\x85"

/// Text of a file, or of standard output or error: lines of valid UTF-8 without control characters.
static void assert_text(const char *what, const char *text)
{
    uint32_t code;
    unsigned n;
    for (const char *at = text; *at; at += n) {
        n = mw_text_char(at, &code);
        if (!n || (code != '\n' && !mw_text_is_plain(code)))
            fail_msg("%s: byte 0x%02x: %s", what, (unsigned char)*at, at);
    }
}

/// Names of files, models and values that hold anything come out as text, wherever they are shown.
static void shows_strange_names_as_text(void **state)
{
    (void)state;
    static const uint16_t ids[16] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};
    static const float weights[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const char meta[] =
        "{\"experts\": 8, \"axes\": \"layers,tokens,k\", \"model\": \"m\\u001b[2J\\n\xff\"}";
    static const char *const outputs[] = {"json", "csv", "html", "timeline", "plot"};
    char folder[256], words[1500], file[300];
    snprintf(folder, sizeof folder, "%s", write_trace(STRANGE, 1, 8, 2, 8, ids, weights));
    snprintf(file, sizeof file, "%s/meta.json", folder);
    write_file(file, meta, sizeof meta - 1);
    size_t at = (size_t)snprintf(words, sizeof words,
                                 "run --gpus 2 --flit-bytes 8 --tokens-per-gpu 4 --hidden 16 "
                                 "--tile 2 --system dysharp --interval 64 --trace \"%s\"",
                                 folder);
    for (unsigned i = 0; i < sizeof outputs / sizeof *outputs; i++)
        at += (size_t)snprintf(words + at, sizeof words - at, " --%s \"%s-%s\"", outputs[i], folder,
                               outputs[i]);
    if (run_command("%s", words))
        fail_msg("%s", err_text);
    assert_text("run", out_text);
    for (unsigned i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        snprintf(file, sizeof file, "%s-%s", folder, outputs[i]);
        char *text = read_file(file);
        assert_non_null(text);
        assert_text(outputs[i], text);
        free(text);
        remove(file);
    }
    static const char *const others[] = {
        "trace info \"%s\"", "trace info \"%s\" --csv -", "trace info \"%s\" --json -",
        "bench dispatch --gpus 2 --flit-bytes 8 --minbytes 512 --maxbytes 512 --trace \"%s\"",
        // refused, each with the name in its line
        "\"%s\"", "run \"%s\"", "run --\"%s\"", "run --gpus \"%s\"", "run --system \"%s\"",
        "run --set \"%s=1\"", "run --model \"%s\"", "run --device \"usb:%s\"", "bench \"%s\"",
        "sweep \"%s\"", "run --json \"%s\"", "info --device \"%s\"", "trace info \"%s/none\"",
        "firmware \"%s\""};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        int status = run_command(others[i], folder);
        assert_int_equal(status != 0, i >= 4);
        assert_text(others[i], out_text);
        assert_text(others[i], err_text);
    }
}

// ---- bad input ----------------------------------------------------------------------------------

#define REFUSES(words, ...) ASSERT_REFUSES("run", words, __VA_ARGS__)

enum { LAYERS = 2, TOKENS = 16, K = 2, EXPERTS = 8, VALUES = LAYERS * TOKENS * K };
#define SHAPE "'shape': (2, 16, 2), "

/// A trace made by hand, that one test then damages.
struct made {
    uint16_t ids[VALUES];
    float weights[VALUES];
    char folder[256];
};

static void write_made(struct made *m)
{
    snprintf(m->folder, sizeof m->folder, "%s",
             write_trace("trace", LAYERS, TOKENS, K, EXPERTS, m->ids, m->weights));
}

static void make(struct made *m)
{
    for (unsigned i = 0; i < VALUES; i++) {
        m->ids[i] = (uint16_t)((i * 3 + i / 7) % (EXPERTS / 2) * 2 + i % 2);
        m->weights[i] = 0.25f + 0.5f * (float)(i % 2);
    }
    write_made(m);
}

/// Run the trace in `folder`.
#define TRACE_REFUSES_AT(m, sizes, options, ...) \
    do { \
        char words_[600]; \
        snprintf(words_, sizeof words_, sizes "--trace %s %s", (m)->folder, options); \
        REFUSES(words_, __VA_ARGS__); \
    } while (0)
/// Layer 1 of it.
#define TRACE_REFUSES(m, options, ...) \
    TRACE_REFUSES_AT(m, SMALL_RUN, "--layer 1 " options, __VA_ARGS__)

static void good_trace_passes(void **state)
{
    (void)state;
    struct made m;
    make(&m);
    assert_int_equal(run_command("run " SMALL_RUN "--trace %s --layers 1,0", m.folder), MW_EXIT_OK);
    // places may be empty where that is allowed
    m.ids[37] = MW_NO_EXPERT;
    write_made(&m);
    assert_int_equal(run_command("run " SMALL_RUN "--trace %s --layer 1 --allow-padding", m.folder),
                     MW_EXIT_OK);
}

/// Layer 1, token 1, second place.
#define REFUSES_ELEMENT(m, id, weight, ...) \
    do { \
        make(m); \
        (m)->ids[35] = id; \
        (m)->weights[35] = weight; \
        write_made(m); \
        TRACE_REFUSES(m, "", __VA_ARGS__); \
    } while (0)

static void refuses_bad_elements(void **state)
{
    (void)state;
    struct made m;
    REFUSES_ELEMENT(&m, EXPERTS, 1, "topk_ids.npy", "layer 1, token 1, column 1", "expert 8");
    REFUSES_ELEMENT(&m, m.ids[34], 1, "topk_ids.npy", "layer 1, token 1", "twice");
    REFUSES_ELEMENT(&m, MW_NO_EXPERT, 1, "topk_ids.npy", "layer 1, token 1, column 1", "-1");
    REFUSES_ELEMENT(&m, m.ids[35], (float)NAN, "topk_weights.npy", "layer 1, token 1, column 1",
                    "NaN");
}

static void refuses_bad_shapes(void **state)
{
    (void)state;
    struct made m;
    make(&m);
    TRACE_REFUSES_AT(&m, SIZED(9, 32, 2), "", "topk_ids.npy", "18 tokens", "has 16");
    TRACE_REFUSES(&m, "--batches 2", "topk_ids.npy", "24 tokens", "has 16");
    TRACE_REFUSES(&m, "--batches 1", "--batches 1", "2 to 64");
    REFUSES(SYNTHETIC "--batches 40 --layers 0,1", "--batches 40", "2 layers", "64");
    TRACE_REFUSES_AT(&m, SMALL_RUN, "--layer 2", "topk_ids.npy", "layer 2", "0 to 1");
    TRACE_REFUSES_AT(&m, "--gpus 3 --tokens-per-gpu 4 ", "", "--gpus 3", "8 experts",
                     "cannot be divided");
    TRACE_REFUSES(&m, "--experts 16", "--experts 16", "meta.json says 8");
}

static void refuses_bad_files(void **state)
{
    (void)state;
    struct made m;
    char ids[300], meta[300];
    make(&m);
    snprintf(ids, sizeof ids, "%s/topk_ids.npy", m.folder);
    snprintf(meta, sizeof meta, "%s/meta.json", m.folder);
    assert_int_equal(truncate(ids, 150), 0);
    TRACE_REFUSES(&m, "", "topk_ids.npy", "truncated");
    assert_int_equal(truncate(ids, 7), 0);
    TRACE_REFUSES(&m, "", "topk_ids.npy");
    assert_int_equal(truncate(ids, 0), 0);
    TRACE_REFUSES(&m, "", "topk_ids.npy");
    write_file(ids, "PK\x03\x04 this is a zip file, not an array, whatever its name says", 60);
    TRACE_REFUSES(&m, "", "topk_ids.npy", "not a .npy file");
    write_npy(ids, "{'descr': '<f2', 'fortran_order': False, " SHAPE "}", m.ids, sizeof m.ids);
    TRACE_REFUSES(&m, "", "topk_ids.npy", "'<f2'", "u1, u2, u4, u8, i1, i2, i4, i8");
    write_npy(ids, "{'descr': '<u2', 'fortran_order': False, 'shape': (32, 2), }", m.ids,
              sizeof m.ids);
    TRACE_REFUSES(&m, "", "topk_weights.npy", "shape (2, 16, 2), but topk_ids.npy has (32, 2)");
    write_npy(ids, "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 8, 4), }", m.ids,
              sizeof m.ids);
    TRACE_REFUSES(&m, "", "topk_weights.npy", "shape");
    make(&m);
    write_file(meta, "{\"experts\": 0}", 14);
    TRACE_REFUSES(&m, "", "meta.json", "experts");
    assert_int_equal(remove(meta), 0);
    TRACE_REFUSES(&m, "", "meta.json");
    make(&m);
    assert_int_equal(remove(ids), 0);
    TRACE_REFUSES(&m, "", "topk_ids.npy", "cannot open");
    REFUSES(SMALL_RUN "--trace /nowhere/at/all", "/nowhere/at/all");
}

/// What no trace and no option shows: the device refuses it.
static void refuses_what_the_device_cannot_hold(void **state)
{
    (void)state;
    REFUSES(SIZED(8193, 32, 2) EXPERTS_8, "--tokens-per-gpu 8193", "1 to 8192");
    REFUSES(SIZED(6, 16377, 2) EXPERTS_8, "--hidden 16377", "1 to 16376");
    REFUSES(SIZED(6, 33, 2) EXPERTS_8, "cannot hold", "66 bytes per row", "8-byte flit",
            "multiple of 4");
    REFUSES(SIZED(8192, 16376, 2) "--experts 32 --k 16", "cannot hold",
            "bytes of memory per GPU, it has 8589934592", "combine rows", "--tokens-per-gpu");
    REFUSES(SMALL_RUN "--experts 130 --k 2", "cannot hold", "experts per GPU: 65, it has 64",
            "--gpus");
    REFUSES(SYNTHETIC "--open-rows 65", "--open-rows 65", "0 to 64");
    REFUSES(SYNTHETIC "--open-rows 9", "open_rows: 9, the device holds 8");
    REFUSES(SIZED(6, 32, 256) EXPERTS_8, "--tile 256", "1 to 255");
    REFUSES(SYNTHETIC "--expert-cycles 65536", "--expert-cycles", "65536");
    REFUSES(SYNTHETIC "--in-flight 65536", "--in-flight", "65536");
    REFUSES(SYNTHETIC "--link-latency 2048", "--link-latency 2048", "1 to 2047");
    REFUSES(SYNTHETIC "--set credits=1", "--set credits=1", "no setting of that name");
    REFUSES(SYNTHETIC "--set store_credits=256", "--set store_credits=256", "0 to 255");
    REFUSES(SYNTHETIC "--set small=2", "--set small=2", "0 to 1");
    REFUSES(SYNTHETIC "--set store_credit=1", "(store_credits?)");
    REFUSES(SYNTHETIC "--set start_delay=65536", "start_delay");
    REFUSES(SYNTHETIC "--set launch_cycles=65536", "launch_cycles=65536: expected 0 to 65535");
    REFUSES("--set small=1 --set target_list_cache=1 --gpus 4 --flit-bytes 8 --hidden 32 --experts "
            "8 --k 2 "
            "--tokens-per-gpu 4 --tile 1",
            "no system is left", "--set");
}

/// A file that was there before a refused run is still the same.
static void keeps_old_output(void **state)
{
    (void)state;
    const char *json = scratch("files/old.json");
    write_file(json, "old", 3);
    assert_int_equal(run_command("run " SIZED(6, 33, 2) EXPERTS_8 "--json %s", json),
                     MW_EXIT_INPUT);
    char *text = read_file(json);
    assert_string_equal(text, "old");
    free(text);
    assert_int_equal(entries("files"), 1);
    assert_int_equal(remove(json), 0);
}

static void reports_a_stuck_device(void **state)
{
    (void)state;
    int status = run_command("run " SIZED(6, 32, 16) EXPERTS_8
                             "--in-flight 1 --system dysharp "
                             "--set tile_guard=0 --set quiet_cycles=20000 --json %s",
                             scratch("files/stuck.json"));
    assert_int_equal(status, MW_EXIT_STUCK);
    assert_non_null(strstr(err_text, "expert, waiting"));
    assert_non_null(strstr(err_text, "moeswitch: dysharp: layer 0: no progress for"));
    assert_int_equal(entries("files"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_and_succeeds),
        cmocka_unit_test(prints_help),
        cmocka_unit_test(prints_what_is_requested),
        cmocka_unit_test(feeds_batches),
        cmocka_unit_test(runs_passes),
        cmocka_unit_test(runs_gradients),
        cmocka_unit_test(same_json_twice),
        cmocka_unit_test(same_json_side_by_side),
        cmocka_unit_test(ends_when_interrupted),
        cmocka_unit_test(shows_strange_names_as_text),
        cmocka_unit_test(good_trace_passes),
        cmocka_unit_test(refuses_bad_elements),
        cmocka_unit_test(refuses_bad_shapes),
        cmocka_unit_test(refuses_bad_files),
        cmocka_unit_test(refuses_what_the_device_cannot_hold),
        cmocka_unit_test(keeps_old_output),
        cmocka_unit_test(reports_a_stuck_device),
        cmocka_unit_test(writes_waves),
    };
    return cmocka_run_group_tests(tests, set_up, scratch_remove);
}
