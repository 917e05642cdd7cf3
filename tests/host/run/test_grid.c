// SPDX-License-Identifier: Apache-2.0
//
// Tests of the grids of `moeswitch sweep`: what they are made of, which contradict themselves, and
// the table of results made by hand.
#include "host/support.h"
#include "host/words.h"

#include "analysis/bounds.h"
#include "sweep/sweep.h"
#include "systems/system_list.h"

#include <unistd.h>

static struct mw_grid grid;
static char folder[200];

#define write_grid(text) scratch_text("grid.json", text)

static void read_grid(const char *text)
{
    struct mw_error err = {0};
    mw_grid_free(&grid);
    if (mw_grid_read(&grid, write_grid(text), &err))
        fail_msg("%s", err.text);
}

/// Valid until the next call.
static const char *join(char *const *part, unsigned count, const char *between)
{
    static char text[1000];
    *text = 0;
    for (unsigned i = 0; i < count; i++) {
        strcat(text, i ? between : "");
        strcat(text, part[i]);
    }
    return text;
}

/// The words of a point, apart by spaces.
static const char *words_of(size_t point)
{
    struct mw_point p;
    unsigned n = mw_grid_point(&grid, point, &p);
    assert_null(p.word[n]);
    return join(p.word, n, " ");
}

// ---- points -------------------------------------------------------------------------------------

static void makes_every_point_once(void **state)
{
    (void)state;
    read_grid("{\"gpus\": [4, 8], \"system\": [\"dysharp\", \"unicast\"], \"sigma\": 0.25,"
              " \"partial-tiles\": [false, true], \"set\": {\"window\": [0, 16]}}");
    assert_int_equal(grid.points, 16);
    assert_string_equal(words_of(0), "run --gpus 4 --system dysharp --sigma 0.25 --set window=0");
    assert_string_equal(words_of(1), "run --gpus 4 --system dysharp --sigma 0.25 --set window=16");
    assert_string_equal(
        words_of(15), "run --gpus 8 --system unicast --sigma 0.25 --partial-tiles --set window=16");
    char text[100];
    mw_grid_text(&grid, 15, text, sizeof text);
    assert_string_equal(text, "gpus 8, system unicast, partial-tiles true, set.window 16");
    unsigned axis = mw_grid_axis(&grid, "system");
    assert_int_equal(mw_grid_other(&grid, 15, axis, 0), 11);
    assert_int_equal(mw_grid_other(&grid, 15, axis, 1), 15);
    assert_string_equal(
        words_of(11), "run --gpus 8 --system dysharp --sigma 0.25 --partial-tiles --set window=16");
    static char seen[16][1000];
    for (size_t i = 0; i < 16; i++) {
        strcpy(seen[i], words_of(i));
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(seen[i], seen[j]);
    }
}

/// An option with `count` numbers from `from` on, after what the object has.
static void add_numbers(char *text, const char *name, unsigned from, unsigned count)
{
    sprintf(text + strlen(text), "%s\"%s\": [", strlen(text) > 1 ? ", " : "", name);
    for (unsigned i = 0; i < count; i++)
        sprintf(text + strlen(text), "%s%u", i ? ", " : "", from + i);
    strcat(text, "]");
}

/// The most runs and the most options that are allowed, and one more.
static void takes_the_largest_grid(void **state)
{
    (void)state;
    static char text[20000];
    static const char *const ten[] = {"k", "tile", "seed", "hidden"};
    struct mw_error err;
    for (unsigned more = 0; more < 2; more++) {
        strcpy(text, "{");
        for (unsigned i = 0; i < 4; i++)
            add_numbers(text, ten[i], 1, 10);
        add_numbers(text, "in-flight", 1, 10 + more);
        strcat(text, ", \"system\": \"dysharp\"}");
        mw_grid_free(&grid);
        assert_int_equal(mw_grid_read(&grid, write_grid(text), &err), more ? MW_EXIT_INPUT : 0);
        assert_int_equal(grid.points, more ? 0 : MW_MAX_POINTS);
    }
    assert_non_null(strstr(err.text, "more than 100000 runs"));
    for (unsigned more = 0; more < 2; more++) { // "system" is an option, too, and is added
        strcpy(text, "{\"set\": {");
        for (unsigned i = 0; i < MW_MAX_AXES - 1 + more; i++)
            sprintf(text + strlen(text), "%s\"s%u\": %u", i ? ", " : "", i, i);
        strcat(text, "}}");
        mw_grid_free(&grid);
        assert_int_equal(mw_grid_read(&grid, write_grid(text), &err), more ? MW_EXIT_INPUT : 0);
        if (more)
            break;
        assert_int_equal(grid.axes, MW_MAX_AXES);
        struct mw_point p; // every option is two words
        assert_int_equal(mw_grid_point(&grid, MW_SYSTEMS - 1, &p), 1 + 2 * MW_MAX_AXES);
        assert_string_equal(p.word[2], "s0=0");
        assert_string_equal(p.word[2 * MW_MAX_AXES - 2], "s46=46");
        assert_string_equal(p.word[2 * MW_MAX_AXES], mw_systems[MW_SYSTEMS - 1].name);
        assert_null(p.word[2 * MW_MAX_AXES + 1]);
    }
    assert_non_null(strstr(err.text, "more than 48 options"));
}

/// Values of the axis "system", apart by commas.
static const char *systems_of(const char *text)
{
    read_grid(text);
    const struct mw_axis *a = &grid.axis[mw_grid_axis(&grid, "system")];
    return join(a->value, a->count, ",");
}

/// For tensor-parallel workloads, "all" are the systems that run every workload of the grid.
static void takes_systems_of_workloads(void **state)
{
    (void)state;
    struct mw_error err = {0};
    double weight[2 * MW_TP_SYSTEMS];
    assert_string_equal(systems_of("{\"workload\": \"sublayer\"}"),
                        "nvls,nvls-tile,chain,pull,t3,ring,tiles,cais-ordered,cais,cais-base");
    assert_string_equal(grid.left_out, "");
    assert_string_equal(systems_of("{\"workload\": \"ag-gemm\", \"system\": \"all\"}"),
                        "nvls,chain,pull,ring,cais-ordered");
    assert_string_equal(grid.left_out, "nvls-tile, t3, tiles, cais, cais-base");
    assert_string_equal(systems_of("{\"workload\": [\"ag-gemm\", \"gemm-rs\"], \"gpus\": 2}"),
                        "nvls,chain,ring");
    assert_string_equal(grid.left_out, "nvls-tile, pull, t3, tiles, cais-ordered, cais, cais-base");
    assert_int_equal(mw_grid_check(&grid, weight, &err), 0);
    assert_string_equal(systems_of("{\"gpus\": [2, 16], \"workload\": \"sublayer\"}"),
                        "nvls,nvls-tile,chain,pull,t3,tiles,cais-ordered,cais,cais-base");
    assert_string_equal(grid.left_out, "ring");
    assert_int_equal(mw_grid_check(&grid, weight, &err), 0);
    assert_string_equal(systems_of("{\"workload\": [\"moe\", \"sublayer\"]}"), "nvls");
    read_grid("{\"workload\": \"gemm-rs\", \"system\": [\"chain\", \"pull\"]}");
    assert_int_equal(mw_grid_check(&grid, weight, &err), MW_EXIT_INPUT);
    assert_line(err.text, "--system pull with --workload gemm-rs: ", "(at system pull)");
    read_grid("{\"workload\": \"sublayer\", \"rows\": 15, \"system\": \"chain\"}");
    assert_int_equal(mw_grid_check(&grid, weight, &err), MW_EXIT_INPUT);
    assert_line(err.text, "--rows 15: not a multiple of the 8 GPUs");
}

/// Without a system, and with all of them, each one is a separate run.
static void takes_all_systems(void **state)
{
    (void)state;
    char id[2][MW_SYSTEMS][MW_POINT_ID], name[40];
    for (unsigned i = 0; i < 2; i++) {
        read_grid(i ? "{\"system\": \"all\"}" : "{}");
        assert_int_equal(grid.points, MW_SYSTEMS);
        for (unsigned p = 0; p < MW_SYSTEMS; p++) {
            snprintf(name, sizeof name, "run --system %s", mw_systems[p].name);
            assert_string_equal(words_of(p), name);
            mw_grid_id(&grid, p, id[i][p]);
        }
    }
    assert_memory_equal(id[0], id[1], sizeof id[0]);
}

/// All 64 bits of numbers that most JSON readers round, also as the text that our
/// writer makes of them.
static void keeps_large_numbers(void **state)
{
    (void)state;
    read_grid("{\"system\": \"dysharp,unicast\", \"seed\": [18446744073709551615, "
              "\"18446744073709551614\", 9007199254740993],"
              " \"set\": {\"window\": \"18446744073709551613\"}}");
#define WINDOW "--set window=18446744073709551613"
    assert_int_equal(grid.points, 6);
    assert_string_equal(words_of(0), "run --system dysharp --seed 18446744073709551615 " WINDOW);
    assert_string_equal(words_of(1), "run --system dysharp --seed 18446744073709551614 " WINDOW);
    assert_string_equal(words_of(5), "run --system unicast --seed 9007199254740993 " WINDOW);
}

/// A result keeps its name when other points are added or removed, and never has that of another
/// run.
static void names_points_by_what_they_are(void **state)
{
    (void)state;
    char a[MW_POINT_ID], b[MW_POINT_ID];
    read_grid("{\"system\": \"unicast\", \"gpus\": 4, \"k\": 2}");
    mw_grid_id(&grid, 0, a);
    assert_int_equal(strlen(a), 16);
    assert_string_equal(a, "5d5609a5c37f34f0");
    read_grid("{\"k\": [1, 2], \"gpus\": [2, 4], \"system\": [\"dysharp\", \"unicast\"]}");
    for (size_t i = 0; i < 8; i++) {
        mw_grid_id(&grid, i, b);
        assert_int_equal(strcmp(a, b) == 0, i == 7);
    }
    // values that are exchanged between options are another run
    read_grid("{\"system\": \"unicast\", \"gpus\": 2, \"k\": 4}");
    mw_grid_id(&grid, 0, b);
    assert_string_not_equal(a, b);
    read_grid("{\"system\": \"unicast\", \"gpus\": 4, \"set\": {\"k\": 2}}");
    mw_grid_id(&grid, 0, b);
    assert_string_not_equal(a, b);
}

// ---- grids that cannot be -----------------------------------------------------------------------

#define WORDS(...) \
    (const char *const[]) \
    { \
        __VA_ARGS__, NULL \
    }
#define REFUSE(part, ...) refuse_words(mw_sweep_command, "sweep", WORDS(__VA_ARGS__), part)
#define SWEEP(...) run_words(mw_sweep_command, "sweep", WORDS(__VA_ARGS__))

/// One line, status 2, and nothing is written.
static void refuses(const char *text, const char *part)
{
    const char *path = write_grid(text), *out = scratch("never");
    REFUSE(part, path, "--out", out, "--list");
    assert_int_equal(strncmp(strchr(err_text, ' ') + 1, path, strlen(path)), 0);
    assert_int_not_equal(access(out, F_OK), 0);
}

static void refuses_what_is_no_grid(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "line 1: malformed JSON"},
        {"{\"gpus\": 4,\n}", "line 2: malformed JSON"},
        {"[4]", "line 1: not a JSON object"},
        {"{\"gpu\": 4}", "\"gpu\" is no option of moeswitch run (\"gpus\"?)"},
        {"{\"help\": true}", "\"help\" is no option"},
        {"{\"gpus\": []}", "\"gpus\": the list is empty"},
        {"{\"gpus\": null}", "\"gpus\": expected a number or a text, or a list of them"},
        {"{\"gpus\": [[4]]}", "\"gpus\": expected a number or a text"},
        {"{\"gpus\": true}", "\"gpus\": expected a number or a text"},
        {"{\"partial-tiles\": 1}", "\"partial-tiles\": expected true or false"},
        {"{\"set\": 4}", "\"set\": expected an object"},
        {"{\"set\": {\"window\": \"4\"}}", "\"set.window\": expected a number"},
        {"{\"json\": \"x\"}", "\"json\": the sweep itself says that"},
        {"{\"trace-fst\": \"x\"}", "\"trace-fst\": the sweep itself says that"},
        {"{\"plot\": \"x\"}", "\"plot\": the sweep itself says that"},
        {"{\"jobs\": 2}", "\"jobs\": the sweep itself says that"},
        {"{\"quiet\": true}", "\"quiet\": the sweep itself says that"},
        {"{\"details\": true}", "\"details\": the sweep itself says that"},
        {"{\"k\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], \"tile\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],"
         " \"seed\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], \"hidden\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],"
         " \"in-flight\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], \"open-rows\": [1, 2]}",
         "more than 100000 runs"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(bad[i].text, bad[i].part);
}

/// Each message has the two contradicting options, and their place in the grid.
static void refuses_contradictions(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"{\"gpus\": 4, \"k\": 2,\n \"gpus\": 8}", "line 2: the key \"gpus\" is there twice"},
        {"{\"set\": {\"window\": 4, \"window\": 8}}", "the key \"window\" is there twice"},
        {"{\"set\": {\"window\": 4}, \"set\": {\"window\": 8}}", "the key \"set\" is there twice"},
        {"{\"gpus\": [4, 8, 4]}", "\"gpus\": the value 4 is there twice"},
        {"{\"gpus\": [4, \"4\"]}", "\"gpus\": the value 4 is there twice"},
        {"{\"system\": [\"all\", \"dysharp\"]}", "\"system\": the value dysharp is there twice"},
        {"{\"layer\": 1, \"layers\": \"2,3\"}", "\"layer\" and \"layers\" say the same"},
        {"{\"system\": \"dysarp\"}", "--system dysarp: expected unicast"},
        {"{\"system\": \"dysharp,unicast,dysharp\"}",
         "\"system\": the value dysharp is there twice"},
        {"{\"system\": \"dysharp,\"}", "--system : the name is empty"},
        {"{\"seed\": [18446744073709551615, 18446744073709551616]}",
         "--seed 18446744073709551616: expected a whole number from 0 to 18446744073709551615"},
        {"{\"seed\": [18446744073709551615, 18446744073709551615]}",
         "\"seed\": the value 18446744073709551615 is there twice"},
        {"{\"layer\": 1, \"layers\": 2}", "\"layer\" and \"layers\" say the same"},
        {"{\"gpus\": [2, 4, 6]}", "--gpus 6: the 64 experts of synthetic"},
        {"{\"gpus\": [2, 4, 6]}", "(at gpus 6, system unicast)"},
        {"{\"gpus\": [2, 73]}", "--gpus 73: expected a whole number from 2 to 72 (at gpus 73"},
        {"{\"gpus\": 4, \"k\": [2, 8], \"experts\": [4, 16]}", "k = 8 with 4 experts"},
        {"{\"gpus\": 4, \"k\": [2, 8], \"experts\": [4, 16]}",
         "(at k 8, experts 4, system unicast)"},
        {"{\"k\": 17}", "--k 17: expected a whole number from 1 to 16"},
        {"{\"k\": 2.5}", "--k 2.5: expected a whole number"},
        {"{\"hidden\": -1}", "--hidden -1: expected"},
        {"{\"sigma\": [0, 5]}", "--sigma 5: expected a number from 0 to 4"},
        {"{\"model\": [\"small\", \"tiny\"]}", "--model tiny: known are"},
        {"{\"model\": \"list\"}", "--model list: expected the name of one"},
        {"{\"groups\": [8, 3], \"topk-groups\": 2}", "3 groups (--groups), expected"},
        {"{\"trace\": \"/nowhere\", \"k\": 2}", "--k: not with --trace, which says it itself"},
        {"{\"trace\": \"/nowhere\"}", "/nowhere/meta.json: cannot open"},
        {"{\"device\": \"usb\"}", "--device usb: a sweep runs on simulated devices"},
        {"{\"set\": {\"windo\": 4}}", "--set windo=4: there is no setting of that name"},
        {"{\"set\": {\"window\": -4}}", "--set window=-4: expected NAME=VALUE"},
        {"{\"set\": {\"small\": [0, 2]}}", "--set small=2: expected 0 to 1 (at set.small 2"},
        {"{\"batches\": 20, \"layers\": \"1,2,3,4\"}", "--batches 20: of 4 layers"},
        {"{\"flit-bytes\": [8, 12]}", "--flit-bytes 12: expected 8 or 16"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(bad[i].text, bad[i].part);
    // a trace of one model under the name of another
    static const uint16_t ids[4] = {0, 1, 2, 3};
    static const float weights[4] = {1, 1, 1, 1};
    char text[400];
    snprintf(text, sizeof text, "{\"trace\": \"%s\", \"model\": \"small\", \"gpus\": 2}",
             write_trace("trace", 1, 2, 2, 4, ids, weights));
    refuses(text, "--model small: 64 experts, k 8, but");
    snprintf(text, sizeof text, "{\"trace\": \"%s\", \"gpus\": 2, \"tokens-per-gpu\": [1, 2]}",
             scratch("trace"));
    refuses(text, "4 tokens were requested, the trace has 2");
}

static void refuses_bad_words(void **state)
{
    (void)state;
    static const struct {
        const char *words[4], *part;
    } bad[] = {
        {{NULL}, "the grid's file is missing"},
        {{"/nowhere/grid.json"}, "/nowhere/grid.json: cannot open"},
        {{"a", "b"}, "b: unexpected word"},
        {{"a", "--jobs", "0"}, "--jobs 0: expected"},
        {{"a", "--list", "--plot"}, "--list and --plot"},
        {{"a", "--list", "--collect"}, "--list and --collect"},
        {{"a", "--out", ""}, "--out: the name is empty"},
        {{"a", "--job=3x"}, "--jobs 3x: expected"},
        {{"a", "--lists"}, "--lists: unknown option, see moeswitch sweep --help (--list?)"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse_words(mw_sweep_command, "sweep", bad[i].words, bad[i].part);
    write_grid("{\"gpus\": 2}");
    REFUSE("/nowhere/at/all: cannot make the folder: No such file or directory",
           scratch("grid.json"), "--out", "/nowhere/at/all");
    assert_int_equal(SWEEP("--help"), MW_EXIT_OK);
    assert_non_null(strstr(out_text, "usage: moeswitch sweep FILE"));
}

// ---- the table ----------------------------------------------------------------------------------

/// Write this text in place of a point's report.
static void put_report(size_t point, const char *text)
{
    char id[MW_POINT_ID], path[400];
    mw_grid_id(&grid, point, id);
    snprintf(path, sizeof path, "%s/results/%s.json", folder, id);
    write_file(path, text, strlen(text));
}

/// Write what a run would write for a point.
static void write_result(size_t point, const char *system, unsigned cycles, const char *more)
{
    char text[2000];
    snprintf(text, sizeof text,
             "{\"params\": {\"trace\": \"a \\\"b\\\", c\", \"layers\": [3, 7], \"gpus\": 4, "
             "\"partial_tiles\": true, \"sigma\": 0.1, \"seed\": \"18446744073709551615\"}, "
             "\"systems\": [{\"system\": \"%s\", "
             "\"cycles\": %u, \"own_share\": 0.875, \"allocator\": {\"hits\": 3, \"misses\": 1}, "
             "\"simulated_by\": {\"sources\": \"aa\"}, \"wrong\": 0%s}]}",
             system, cycles, more);
    put_report(point, text);
}

static const char *csv(void)
{
    static char *text;
    char path[300];
    snprintf(path, sizeof path, "%s/results.csv", folder);
    free(text);
    text = read_file(path);
    assert_non_null(text);
    return text;
}

/// A cell of the table's line, counted from 1. Valid until the next call.
#define cell(line, name) cell_in(csv(), (line)-1, name)

/// A new folder, without results.
static void begin_table(void)
{
    static unsigned tables;
    snprintf(folder, sizeof folder, "%s%u", scratch("table"), tables++);
    read_grid(
        "{\"system\": [\"unicast\", \"dysharp\"], \"gpus\": 4, \"set\": {\"window\": [2, 4]}}");
    SWEEP(grid.path, "--out", folder, "--list"); // makes the folder
}

static void tables_what_came_out(void **state)
{
    (void)state;
    begin_table();
    write_result(0, "unicast", 3000, "");
    write_result(1, "unicast", 2000, "");
    write_result(2, "dysharp", 1500, "");
    assert_int_equal(SWEEP(grid.path, "--out", folder, "--collect"), MW_EXIT_OK);
    assert_string_equal(err_text, "");
    assert_non_null(strstr(out_text, "results.csv: 3 of 4 runs, 0 of them new\n"));
    assert_int_equal(count_of("\n", csv()), 1 + 3);
    assert_non_null(strstr(csv(), "\nunicast,3 7,4,"));
    assert_non_null(strstr(csv(), ",\"a \"\"b\"\", c\","));
    assert_string_equal(cell(3, "cycles"), "1500");
    assert_string_equal(cell(3, "speedup"), "2");
    assert_string_equal(cell(2, "speedup"), "1");
    assert_string_equal(cell(2, "set.window"), "4");
    assert_string_equal(cell(3, "set.window"), "2");
    assert_string_equal(cell(1, "hit_rate"), "0.75");
    assert_string_equal(cell(1, "own_share"), "0.875");
    assert_string_equal(cell(1, "sigma"), "0.1");
    assert_string_equal(cell(1, "partial_tiles"), "1");
    assert_string_equal(cell(1, "locality"), "");
    assert_string_equal(cell(1, "seed"), "18446744073709551615");
    // what is left to run, and nothing else
    assert_int_equal(SWEEP(grid.path, "--out", folder, "--list"), MW_EXIT_OK);
    assert_non_null(strstr(out_text, "--system dysharp --gpus 4 --set window=4 --json "));
    assert_ptr_equal(strchr(out_text, '\n'), out_text + strlen(out_text) - 1);
    // unicast's own speed-up alone without a unicast
    read_grid("{\"system\": [\"dysharp\"], \"gpus\": 4, \"set\": {\"window\": [2, 4]}}");
    assert_int_equal(SWEEP(grid.path, "--out", folder, "--collect"), MW_EXIT_OK);
    assert_string_equal(cell(1, "speedup"), "");
}

/// Cycles of the passes, and the cycles that the handle saves, which may be negative.
static void tables_passes(void **state)
{
    (void)state;
    begin_table();
    write_result(0, "unicast", 3000,
                 ", \"pass_cycles\": {\"forward\": 40, \"backward\": 70, \"counted_again\": 75}");
    write_result(1, "unicast", 2000,
                 ", \"pass_cycles\": {\"forward\": 40, \"backward\": 70, \"counted_again\": 67}");
    write_result(2, "dysharp", 1500, "");
    assert_int_equal(SWEEP(grid.path, "--out", folder, "--collect"), MW_EXIT_OK);
    static const struct {
        const char *column, *value[3];
    } expected[] = {{"forward_cycles", {"40", "40", ""}},
                    {"backward_cycles", {"70", "70", ""}},
                    {"counted_again_cycles", {"75", "67", ""}},
                    {"handle_saved_cycles", {"5", "-3", ""}}};
    for (unsigned i = 0; i < sizeof expected / sizeof *expected; i++)
        for (unsigned line = 0; line < 3; line++)
            assert_string_equal(cell(line + 1, expected[i].column), expected[i].value[line]);
    assert_non_null(strstr(csv(), ",hit_rate,forward_cycles,backward_cycles,counted_again_cycles,"
                                  "handle_saved_cycles,wrong,"));
}

/// The sweep reports wrong bits, wrong counters and wrong bounds of any run.
static void reports_wrong_results(void **state)
{
    (void)state;
    static const char *const more[] = {NULL, ", \"flit_errors\": 2",
                                       ", \"feeding\": {\"wrong\": 7}", ", \"below_bound\": 1"};
    for (unsigned i = 0; i < 4; i++) {
        begin_table();
        write_result(0, "unicast", 3000, "");
        if (i)
            write_result(3, "dysharp", 1500, more[i]);
        else // in the place where a run has it
            put_report(3, "{\"params\": {}, \"systems\": [{\"system\": \"dysharp\", "
                          "\"cycles\": 5, \"wrong\": 1}]}");
        assert_int_equal(SWEEP(grid.path, "--out", folder, "--collect"), MW_EXIT_MISMATCH);
        err_text[strlen(err_text) - 1] = 0;
        assert_line(err_text, "1 runs have wrong results, the first is ", ".json");
    }
}

/// A report that cannot be the result of its run counts as missing, and this is reported.
static void reports_what_is_no_result(void **state)
{
    (void)state;
    begin_table();
    write_result(0, "unicast", 3000, "");
    write_result(1, "dysharp", 2000, ""); // under the name of another
    put_report(2, "");
    write_result(3, "dysharp", 0, "");
    assert_int_equal(SWEEP(grid.path, "--out", folder, "--collect"), MW_EXIT_OK);
    assert_non_null(strstr(out_text, ": 1 of 4 runs"));
    assert_non_null(strstr(err_text, "not the report of this run; it counts as not run\n"));
    assert_non_null(strstr(err_text, "ends too early; it counts as not run\n"));
}

/// A report of two systems, or without a requested part, counts as not run. A run without hits has
/// a hit rate, one without look-ups has none. Without a run of unicast there is no speed-up.
static void tables_what_is_missing(void **state)
{
    (void)state;
    begin_table();
    put_report(0, "{\"params\": {}, \"systems\": [{\"system\": \"unicast\", \"cycles\": 5}, "
                  "{\"system\": \"dysharp\", \"cycles\": 5}]}");
    put_report(1, "{\"systems\": [{\"system\": \"unicast\", \"cycles\": 5}]}");
#define MISSES(count) \
    "{\"params\": {\"layers\": [4]}, \"systems\": [{\"system\": \"dysharp\", \"cycles\": 5, " \
    "\"allocator\": {\"hits\": 0, \"misses\": " #count "}}]}"
    put_report(2, MISSES(4));
    put_report(3, MISSES(0));
    assert_int_equal(SWEEP(grid.path, "--out", folder, "--collect"), MW_EXIT_OK);
    assert_non_null(strstr(out_text, ": 2 of 4 runs"));
    assert_string_equal(cell(1, "hit_rate"), "0");
    assert_string_equal(cell(2, "hit_rate"), "");
    assert_string_equal(cell(1, "speedup"), "");
    assert_string_equal(cell(1, "layers"), "4");
    const unsigned columns = mw_columns(&grid);
    read_grid("{\"layer\": [1, 2], \"gpus\": 4, \"set\": {\"window\": [2, 4]}}");
    assert_int_equal(mw_columns(&grid), columns); // has the column of layers
}

/// A machine adds columns to the table, if the grid or the command line specifies it. Without a
/// machine they do not exist.
static void tables_machines(void **state)
{
    (void)state;
    static const char own[] =
        ",row_hidden,cycle_ns,us,dispatch_us,expert_us,combine_us,algorithm_gbytes_per_s,"
        "bus_gbytes_per_s,dispatch_gbytes_per_s,combine_gbytes_per_s";
    const unsigned count = count_of(",", own);
    char names[sizeof own] = "";
    begin_table();
    const unsigned without = mw_columns(&grid);
    read_grid("{\"system\": \"dysharp\", \"hardware\": [\"cais\", \"moe-hub\"], \"experts\": 8,"
              " \"k\": 2, \"tokens-per-gpu\": 8, \"set\": {\"window\": 4}}");
    assert_int_equal(mw_columns(&grid), without + 1 + count);
    for (unsigned i = 0; i < count; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), ",%s",
                 mw_column_name(&grid, without + 1 + i));
    assert_string_equal(names, own);
    write_result(1, "dysharp", 2000,
                 ", \"us\": 0.25, \"combine_us\": null, \"bus_gbytes_per_s\": 12.5");
    assert_int_equal(SWEEP(grid.path, "--out", folder, "--collect"), MW_EXIT_OK);
    assert_string_equal(cell(1, "hardware"), "moe-hub");
    assert_string_equal(cell(1, "us"), "0.25");
    assert_string_equal(cell(1, "combine_us"), "");
    assert_string_equal(cell(1, "bus_gbytes_per_s"), "12.5");
    assert_string_equal(cell(1, "algorithm_gbytes_per_s"), "");
    REFUSE("grid.json: \"hardware\" is there twice", grid.path, "--out", folder, "--hardware",
           "cais", "--list");
    read_grid("{\"system\": \"dysharp\", \"experts\": 8, \"k\": 2, \"tokens-per-gpu\": 8}");
    assert_int_equal(SWEEP(grid.path, "--out", folder, "--hardware", "cais", "--list"), MW_EXIT_OK);
    assert_non_null(strstr(out_text, "--hardware cais --json "));
    REFUSE("--hardware cai: did you mean cais?", grid.path, "--hardware", "cai");
    // of a machine whose links no device has, the first such point
    refuses("{\"hardware\": \"hgx-h100\", \"flit-bytes\": [16, 8]}",
            "links have at most 2047: --flit-bytes 16, or a shorter --link-latency (at");
    refuses("{\"hardware\": \"hgx-h100\", \"flit-bytes\": 16, \"link-cycles\": 2}",
            "links have at most 2047: take a shorter --link-latency (at");
}

/// Runs on two fabrics have no common table.
static void refuses_results_of_other_rtl(void **state)
{
    (void)state;
    begin_table();
    char id[MW_POINT_ID];
    mw_grid_id(&grid, 2, id);
    write_result(0, "unicast", 3000, "");
    put_report(2, "{\"params\": {}, \"systems\": [{\"system\": \"dysharp\", \"cycles\": 5, "
                  "\"simulated_by\": {\"sources\": \"bb\"}}]}");
    assert_int_equal(SWEEP(grid.path, "--out", folder, "--collect"), MW_EXIT_INPUT);
    err_text[strlen(err_text) - 1] = 0;
    assert_line(err_text, id, "simulated from other RTL than ", "remove the older results");
}

static int finish(void **state)
{
    mw_grid_free(&grid);
    return finish_words(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_every_point_once),
        cmocka_unit_test(takes_the_largest_grid),
        cmocka_unit_test(takes_all_systems),
        cmocka_unit_test(takes_systems_of_workloads),
        cmocka_unit_test(keeps_large_numbers),
        cmocka_unit_test(names_points_by_what_they_are),
        cmocka_unit_test(refuses_what_is_no_grid),
        cmocka_unit_test(refuses_contradictions),
        cmocka_unit_test(refuses_bad_words),
        cmocka_unit_test(tables_what_came_out),
        cmocka_unit_test(tables_passes),
        cmocka_unit_test(reports_wrong_results),
        cmocka_unit_test(reports_what_is_no_result),
        cmocka_unit_test(tables_what_is_missing),
        cmocka_unit_test(tables_machines),
        cmocka_unit_test(refuses_results_of_other_rtl),
    };
    return cmocka_run_group_tests_name("grid", tests, scratch_make, finish);
}
