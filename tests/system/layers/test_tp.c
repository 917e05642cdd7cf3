// SPDX-License-Identifier: Apache-2.0
//
// Tensor-parallel workloads on the simulated fabric: every system that fits, at sizes that divide
// badly, with limits, jitter and skew. Every element and every flit must be right, and no bound too
// high. MW_SEED sets the seed.
#include "run/run.h"
#include "system/bench.h"
#include "system/command.h"
#include "system/workloads.h"

/// Models that other tests need, too.
static const struct {
    unsigned gpus, flit_bytes, most; ///< most: rows of a home
} models[] = {{2, 8, 13}, {4, 8, 9}, {8, 16, 5}, {3, 16, 9}};

enum { MODELS = sizeof models / sizeof *models };

static struct workload workload;

static int prepare(const char *words, struct mw_error *err)
{
    return workload_prepare(&workload, words, err);
}

/// Run a system. Returns its cycles.
static uint64_t pass(const struct mw_tp_system *system)
{
    return workload_pass(&workload, system, (struct mw_device_choice){0}).layer.cycles;
}

/// Of few cases every second system, in turn.
static void pass_some(const char *words)
{
    static unsigned turn;
    const unsigned step = test_cases(2, 1);
    workload_make(&workload, words);
    print_message("%s\n", words);
    for (unsigned i = turn++ % step; i < MW_TP_SYSTEMS; i += step)
        if (!mw_tp_unfit(&workload.problem, mw_tp_systems[i]))
            pass(mw_tp_systems[i]);
}

static unsigned below(struct mw_random *r, unsigned n)
{
    return (unsigned)mw_random_below(r, n);
}

/// Times of some of the workload's parts, as options.
static void add_times(char *words, size_t size, enum mw_tp_kind kind, struct mw_random *r)
{
    const struct mw_tp_problem p = {.o = {.kind = kind}};
    for (unsigned i = 0; i < MW_TP_PARTS; i++) {
        const size_t at = strlen(words);
        if (mw_tp_has(&p, (enum mw_tp_part)i) && below(r, 2))
            snprintf(words + at, size - at, " --%s %u", mw_tp_parts[i].option, below(r, 60));
    }
}

/// Sizes, limits, times and delays at random.
static void random_sizes(void **state)
{
    (void)state;
    struct mw_random r = {test_seed()};
    for (unsigned m = 0; m < MODELS; m++)
        for (unsigned kind = MW_TP_AG_GEMM; kind < MW_TP_KINDS; kind++) {
            char words[600];
            snprintf(words, sizeof words,
                     "--workload %s --gpus %u --flit-bytes %u --rows %u --hidden %u --tile %u "
                     "--expert-cycles %u --seed %u --jitter %u --start-spread %u --open-rows %u "
                     "--set throttle=%u --set down_throttle=%u --set store_credits=%u --set "
                     "part_credits=%u",
                     mw_tp_kind_names[kind], models[m].gpus, models[m].flit_bytes,
                     models[m].gpus * (1 + below(&r, models[m].most)), 64u << below(&r, 3),
                     1 + below(&r, 5), below(&r, 40), below(&r, 1000), below(&r, 2) * 50,
                     below(&r, 2) * 500, below(&r, 3), below(&r, 2) * 40, below(&r, 2) * 40,
                     below(&r, 5), below(&r, 3));
            add_times(words, sizeof words, (enum mw_tp_kind)kind, &r);
            const struct mw_tp_problem p = {.o = {.kind = (enum mw_tp_kind)kind}};
            if (models[m].flit_bytes == 16 && mw_tp_gathers(&p) && below(&r, 2))
                strcat(words, " --keep-answers");
            if (mw_tp_gathers(&p) && strstr(words, "--hidden 64 ") == NULL && below(&r, 2))
                strcat(words, " --load-bytes 128");
            if (mw_tp_gathers(&p) && below(&r, 2))
                strcat(words, " --set fetch_cycles=300");
            pass_some(words);
        }
}

/// Cycles of a sub-layer whose parts have these times per row. Its phases run in sequence.
static uint64_t phases(unsigned gemm_1, unsigned ln, unsigned gemm_2)
{
    struct mw_error err = {0};
    char words[300];
    snprintf(words, sizeof words,
             "--workload sublayer --gpus 2 --flit-bytes 8 --rows 24 --hidden 64 --tile 4 "
             "--gemm-rs-cycles %u --ln-cycles %u --ag-gemm-cycles %u",
             gemm_1, ln, gemm_2);
    assert_int_equal(prepare(words, &err), 0);
    return pass(mw_tp_system_find("nvls"));
}

/// A part's time counts for its own rows alone: those of GEMMs are 24, and those of LN 12.
static void parts_take_their_times(void **state)
{
    (void)state;
    enum { MORE = 200, POLLS = 8 }; // the wait of a barrier polls every fourth cycle
    const uint64_t base = phases(30, 30, 30);
    const uint64_t first = phases(30 + MORE, 30, 30), ln = phases(30, 30 + MORE, 30);
    const uint64_t second = phases(30, 30, 30 + MORE),
                   all = phases(30 + MORE, 40 + MORE, 40 + MORE);
    assert_in_range(first, base + 24 * MORE - POLLS, base + 24 * MORE + POLLS);
    assert_in_range(ln, base + 12 * MORE - POLLS, base + 12 * MORE + POLLS);
    assert_in_range(second, base + 24 * MORE - POLLS, base + 24 * MORE + POLLS);
    assert_in_range(all, base + 60 * MORE + 360 - POLLS, base + 60 * MORE + 360 + POLLS);
}

/// The same run takes the same cycles.
static void cycles_repeat(void **state)
{
    (void)state;
    static const char words[] = "--workload sublayer --gpus 4 --flit-bytes 8 --rows 36 --hidden 64 "
                                "--tile 3 --jitter 30 --start-spread 300";
    struct mw_error err = {0};
    assert_int_equal(prepare(words, &err), 0);
    const uint64_t cycles = pass(mw_tp_system_find("chain"));
    assert_int_equal(pass(mw_tp_system_find("chain")), cycles);
}

/// Sums in another order than the golden model's, and packets that are not in the list, end a run
/// with exit status 1.
static void differences_show(void **state)
{
    (void)state;
    static const char words[] = "--workload gemm-ar --gpus 4 --flit-bytes 8 --rows 12 --hidden 64";
    static struct mw_tp_result r;
    struct mw_error err = {0};
    struct mw_tp_system wrong = *mw_tp_system_find("nvls");
    wrong.reduce = MW_TP_STEPS;
    assert_int_equal(prepare(words, &err), 0);
    r = (struct mw_tp_result){.system = &wrong};
    assert_int_equal(mw_tp_device_run(&workload.params, &workload.problem, &r, &err), 0);
    assert_true(r.layer.wrong > 0);
    assert_true(r.first.expected != r.first.got);
    mw_tp_summarize(&r, &workload.problem, 0, NULL);
    assert_true(r.summary.flit_errors > 0);
    assert_int_equal(mw_tp_report_differences(stderr, &r, &workload.problem), MW_EXIT_MISMATCH);
}

/// Chained parts are faster than phases, and loads that nothing merges slower than a multicast.
static void chain_is_faster(void **state)
{
    (void)state;
    static const char words[] = "--workload sublayer --gpus 8 --flit-bytes 16 --rows 48 --hidden "
                                "512 --tile 4 --expert-cycles 32";
    struct mw_error err = {0};
    assert_int_equal(prepare(words, &err), 0);
    const uint64_t chain = pass(mw_tp_system_find("chain"));
    const uint64_t nvls = pass(mw_tp_system_find("nvls"));
    const uint64_t pull = pass(mw_tp_system_find("pull"));
    print_message("chain %llu, nvls %llu, pull %llu cycles\n", (unsigned long long)chain,
                  (unsigned long long)nvls, (unsigned long long)pull);
    assert_true(nvls > chain * 5 / 4 && pull > chain * 5 / 4);
}

// ---- options of merged loads --------------------------------------------------------------------

/// Of all homes together, but for the entries: of the one with most.
struct loads {
    unsigned loads, fetches, bypasses, most_entries, kept, evictions;
};

/// Counters of the loads of ag-gemm under cais-ordered, with right bits and flits.
static struct loads loads_of(unsigned gpus, unsigned flit_bytes, const char *options)
{
    struct loads sum = {0};
    char words[400];
    snprintf(words, sizeof words,
             "--workload ag-gemm --gpus %u --flit-bytes %u --tile 3 --expert-cycles 20%s", gpus,
             flit_bytes, options);
    workload_make(&workload, words);
    const struct mw_tp_result r =
        workload_pass(&workload, mw_tp_system_find("cais-ordered"), (struct mw_device_choice){0});
    for (unsigned g = 0; g < workload.problem.gpus; g++) {
        sum.loads += r.loads.port[g].loads;
        sum.fetches += r.loads.port[g].fetches;
        sum.bypasses += r.loads.port[g].bypasses;
        sum.kept += r.loads.kept[g];
        sum.evictions += r.loads.port[g].evictions;
        if (r.loads.port[g].most_entries > sum.most_entries)
            sum.most_entries = r.loads.port[g].most_entries;
    }
    print_message("%s: %u fetches of %u loads, %u entries, %u loads of kept rows, %u evictions\n",
                  options, sum.fetches, sum.loads, sum.most_entries, sum.kept, sum.evictions);
    return sum;
}

/// With 4 GPUs and small rows.
static struct loads loads_with(const char *options)
{
    char words[200];
    snprintf(words, sizeof words, " --rows 48 --hidden 64%s", options);
    return loads_of(4, 8, words);
}

/// Run gemm-ar under cais, and check bits and flits. Returns the sums of all homes'
/// counters, and the maximum of entries.
static struct mw_port_sums sums_with(const char *options)
{
    struct mw_port_sums sum = {0};
    char words[300];
    snprintf(words, sizeof words,
             "--workload gemm-ar --gpus 4 --flit-bytes 8 --rows 48 --hidden 64 --tile 3 "
             "--expert-cycles 20%s",
             options);
    workload_make(&workload, words);
    const struct mw_tp_result r =
        workload_pass(&workload, mw_tp_system_find("cais"), (struct mw_device_choice){0});
    for (unsigned g = 0; g < workload.problem.gpus; g++) {
        const struct mw_port_sums *c = &r.sums.port[g];
        sum.reds += c->reds;
        sum.sums += c->sums;
        sum.parts += c->parts;
        if (c->most_entries > sum.most_entries)
            sum.most_entries = c->most_entries;
    }
    print_message("%s: %u sums of %u reds, %u parts, %u entries\n", options, sum.sums, sum.reds,
                  sum.parts, sum.most_entries);
    return sum;
}

/// With few entries or a short time sums leave in parts. Without entries each red passes.
static void reds_are_added_as_the_settings_say(void **state)
{
    (void)state;
    enum { ROWS = 48, REDS = 3 * ROWS };
    const struct mw_port_sums all = sums_with("");
    const struct mw_port_sums few = sums_with(" --set sum_entries=1 --jitter 60 --start 300");
    const struct mw_port_sums brief = sums_with(" --set sum_cycles=1 --jitter 60 --start 300");
    const struct mw_port_sums none = sums_with(" --set sum_entries=0");
    assert_true(all.reds == REDS && all.sums == ROWS && all.parts == 0);
    assert_true(few.reds <= REDS && few.parts > 0 && few.most_entries == 1);
    assert_true(brief.sums > ROWS && brief.parts > 0);
    assert_true(none.reds == 0 && none.most_entries == 0);
}

/// A table in which no entry may be in use merges nothing, as if no GPU sent loads that may merge.
static void loads_merge_as_the_options_say(void **state)
{
    (void)state;
    enum { ROWS = 48, LOADS = 3 * ROWS };
    const struct loads all = loads_with(""), few = loads_with(" --merge-entries 3");
    const struct loads none = loads_with(" --merge-entries 0"), alone = loads_with(" --no-merge");
    assert_true(all.loads == LOADS && few.loads == LOADS);
    assert_true(all.fetches < LOADS && all.bypasses == 0);
    assert_in_range(few.most_entries, 1, 3);
    assert_true(few.fetches >= all.fetches && few.fetches < LOADS);
    assert_true(none.loads == LOADS && none.fetches == LOADS && none.bypasses == LOADS);
    assert_true(none.most_entries == 0);
    assert_true(alone.loads == LOADS && alone.fetches == LOADS && alone.bypasses == LOADS);
}

/// GPUs that start apart merge more loads if they wait for each other.
static void sync_merges_the_loads_of_late_gpus(void **state)
{
    (void)state;
    const struct loads sync = loads_with(" --start-spread 4000");
    const struct loads apart = loads_with(" --start-spread 4000 --no-sync");
    assert_true(apart.loads == sync.loads && apart.fetches > sync.fetches);
}

/// Jitter and late starts spread the loads of a row. With kept rows each row is still fetched once.
/// Without SYNC kept rows answer loads of GPUs that start late.
static void kept_rows_answer_late_loads(void **state)
{
    (void)state;
    enum { ROWS = 144 };
    static const unsigned gpus[] = {3, 8};
    static const char late[] = " --rows 144 --hidden 512 --jitter 30 --start-spread 3000";
    for (unsigned i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        const unsigned loads = ROWS * (gpus[i] - 1);
        char words[200];
        const struct loads without = loads_of(gpus[i], 16, late);
        snprintf(words, sizeof words, "%s --keep-answers", late);
        const struct loads with = loads_of(gpus[i], 16, words);
        snprintf(words, sizeof words, "%s --keep-answers --no-sync", late);
        const struct loads apart = loads_of(gpus[i], 16, words);
        assert_true(without.kept == 0 && without.evictions == 0);
        assert_true(with.loads == loads && with.fetches == ROWS && with.bypasses == 0);
        assert_true(with.evictions == ROWS - 16 * gpus[i]); // places of a port: 16
        assert_true(apart.loads == loads && apart.fetches + apart.kept <= loads);
        assert_true(apart.kept > with.kept && apart.evictions >= with.evictions);
        if (gpus[i] > 3) // two readers load in the same cycles
            assert_true(without.fetches > ROWS && with.kept > 0);
    }
}

/// Each part of a row has its own load. With kept answers more loads merge. If a row is fetched
/// after all loads, all merge.
static void parts_of_rows_merge(void **state)
{
    (void)state;
    enum { ROWS = 48, PARTS = 8, LOADS = 7 * ROWS * PARTS };
    static const char parts[] = " --rows 48 --hidden 512 --load-bytes 128 --jitter 30 "
                                "--start-spread 3000 --merge-entries 24";
    char words[200];
    const struct loads without = loads_of(8, 16, parts);
    snprintf(words, sizeof words, "%s --keep-answers", parts);
    const struct loads with = loads_of(8, 16, words);
    assert_true(without.loads == LOADS && with.loads == LOADS);
    assert_true(without.fetches > ROWS * PARTS && without.fetches < LOADS);
    assert_in_range(with.fetches, ROWS * PARTS, without.fetches - 1);
    assert_true(with.kept > 0);
    snprintf(words, sizeof words, "%s --set fetch_cycles=2000", parts);
    assert_int_equal(loads_of(8, 16, words).fetches, ROWS * PARTS);
}

// ---- what is refused ----------------------------------------------------------------------------

static void refuses(const char *words, const char *line)
{
    struct mw_error err = {0};
    assert_int_equal(prepare(words, &err), MW_EXIT_INPUT);
    assert_line(err.text, line);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    refuses("--workload ag_gemm", "--workload ag_gemm: expected");
    refuses("--workload sublayer --gpus 8 --rows 100", "--rows 100: not a multiple of the 8 GPUs");
    refuses("--workload sublayer --gpus 2 --rows 65536", "at most 2730 for each of the 2 GPUs");
    refuses("--workload sublayer --hidden 500", "needs a power of two from 64 to 4096");
    refuses("--workload sublayer --hidden 32", "needs a power of two from 64 to 4096");
    refuses("--workload sublayer --rows 1", "--rows 1: expected a whole number from 2");
    refuses("--workload sublayer --jitter 201", "--jitter 201: expected a whole number from 0");
    refuses("--workload sublayer --experts 8", "--experts: not with --workload sublayer");
    refuses("--workload gemm-rs --trace-fst x", "--trace-fst: not with --workload gemm-rs");
    refuses("--workload gemm-rs --set scatter=1", "--set scatter: not with --workload gemm-rs");
    refuses("--workload gemm-rs --system dysharp", "--system dysharp: not with --workload gemm-rs");
    refuses("--system chain", "--system chain: not with --workload moe");
    refuses("--rows 64", "--rows: not with --workload moe");
    refuses("--shape llama-7b-ffn", "--shape: not with --workload moe");
    refuses("--workload sublayer --shape llama-7b-ffn --ag-gemm-cycles 3", "not with --shape");
    refuses("--workload sublayer --ln-cycles 65536", "--ln-cycles 65536: expected a whole number");
    refuses("--workload sublayer --ag-gemm-cycles x", "--ag-gemm-cycles x: expected a whole");
    refuses("--workload gemm-rs --ln-cycles 3",
            "--ln-cycles: not with --workload gemm-rs, which has no LN");
    refuses("--workload gemm-ar --ag-gemm-cycles 3", "--workload gemm-ar, which has no GEMM-2");
    refuses("--workload ag-gemm --gemm-rs-cycles 3", "--workload ag-gemm, which has no GEMM-1");
    refuses("--gemm-rs-cycles 3", "--gemm-rs-cycles: not with --workload moe");
    refuses("--workload gemm-rs --shape llama-7b", "--shape llama-7b: expected");
    refuses("--workload gemm-rs --gpus 4 --shape llama-7b-ffn", "those of 8 GPUs, not of 4");
    refuses("--workload gemm-rs --shape llama-7b-ffn --expert-cycles 3", "not with --shape");
    refuses("--workload gemm-rs --system pull", "the workload gathers nothing");
    refuses("--workload ag-gemm --system t3", "the workload reduces nothing");
    refuses("--workload gemm-ar --system nvls-tile", "only sublayer has an LN");
    refuses("--workload sublayer --gpus 16 --rows 32 --system ring", "steps of at most 15 GPUs");
    refuses("--workload sublayer --gpus 59 --rows 118 --system pull", "from at most 58 GPUs");
    refuses("--workload sublayer --gpus 57 --rows 114 --system t3", "from at most 56 GPUs");
    refuses("--workload sublayer --no-sync", "--no-sync: not with --workload sublayer, whose rows");
    refuses("--workload ag-gemm --tile 4 --merge-entries 3",
            "fewer than the 4 loads that all GPUs");
    refuses("--workload ag-gemm --hidden 64 --load-bytes 256",
            "--load-bytes 256: expected a power of two up to the 128 bytes of a row");
    refuses("--workload ag-gemm --load-bytes 192", "--load-bytes 192: expected a power of two");
    refuses("--workload ag-gemm --load-bytes 64", "--load-bytes 64: expected a whole number from");
    refuses("--workload gemm-rs --load-bytes 128", "--load-bytes: not with --workload gemm-rs");
    refuses("--load-bytes 128", "--load-bytes: not with --workload moe");
    refuses("--workload ag-gemm --merge-entries 321", "--merge-entries 321: expected a whole");
    refuses("--workload ag-gemm --no-merge --merge-entries 9", "not with --no-merge");
    refuses("--workload gemm-rs --no-merge", "--no-merge: not with --workload gemm-rs, which");
    refuses("--workload gemm-rs --keep-answers", "--keep-answers: not with --workload gemm-rs");
    refuses("--keep-answers", "--keep-answers: not with --workload moe");
    refuses("--workload ag-gemm --keep-answers --no-merge", "--keep-answers: not with --no-merge");
    refuses("--workload ag-gemm --keep-answers --merge-entries 0",
            "--keep-answers: not with --merge-entries 0");
}

/// What the command prints, and its exit status.
static void command_runs(void **state)
{
    (void)state;
    assert_int_equal(run_command("run --workload gemm-rs --gpus 2 --flit-bytes 8 --rows 8"), 0);
    assert_non_null(strstr(out_text, "nvls-tile is left out: "));
    assert_non_null(strstr(out_text, "pull is left out: "));
    assert_non_null(strstr(out_text, "strict bound "));
    assert_non_null(strstr(out_text, "\nchain "));
    assert_int_equal(
        run_command("run --workload sublayer --gpus 2 --flit-bytes 8 --rows 8 --system "
                    "chain --json %s --csv %s",
                    scratch("tp.json"), scratch("tp.csv")),
        0);
    assert_non_null(strstr(out_text, "cycles per row: GEMM-1 "));
    cJSON *root = read_json(scratch("tp.json"));
    const cJSON *system = cJSON_GetArrayItem(member(root, "systems"), 0);
    assert_string_equal(cJSON_GetStringValue(member(member(root, "params"), "workload")),
                        "sublayer");
    assert_true(number(member(system, "up"), "use_mean") > 0);
    assert_true(number(member(system, "limit"), "cycles") >= number(system, "own_bound_cycles"));
    assert_true(number(system, "wrong") == 0 && number(system, "flit_errors") == 0);
    cJSON_Delete(root);
    char *csv = read_file(scratch("tp.csv"));
    assert_non_null(csv);
    assert_non_null(strstr(csv, "limit.at"));
    free(csv);
}

/// "all" leaves out what the device cannot run. By name it is refused.
static void lacking_systems_are_left_out(void **state)
{
    (void)state;
    setenv("MOESWITCH_MODEL", "build/model/n2f8-published/libmwsim.so", 1);
    assert_int_equal(run_command("run --workload gemm-rs --gpus 2 --flit-bytes 8 --rows 8"), 0);
    assert_non_null(strstr(out_text, "tiles is left out: the device lacks the primitive "
                                     "tile_reductions"));
    assert_non_null(strstr(out_text, "\nring "));
    assert_null(strstr(out_text, "\ntiles  "));
    assert_int_equal(
        run_command("run --workload gemm-rs --gpus 2 --flit-bytes 8 --rows 8 --system tiles"), 2);
    unsetenv("MOESWITCH_MODEL");
}

/// A shape's times, those of its links, and what is assumed.
static void shapes_are_scaled(void **state)
{
    (void)state;
    assert_int_equal(run_command("run --workload sublayer --shape deepseek-v3-attention-200 "
                                 "--flit-bytes 8 --rows 8 --hidden 512 --system chain --json %s",
                                 scratch("shape.json")),
                     0);
    assert_non_null(strstr(out_text, "rows of 1024 bytes stand for rows of 14336"));
    assert_non_null(strstr(out_text, "70 % of 989 Tflop/s and 3350 GB/s of memory (assumed)"));
    assert_non_null(strstr(out_text, "cycles per row: GEMM-1 152, LN 16, GEMM-2 148"));
    assert_non_null(
        strstr(out_text, "64 cycles to read a row, which is longer than the time of LN"));
    cJSON *root = read_json(scratch("shape.json"));
    const cJSON *params_of = member(root, "params");
    assert_true(number(params_of, "gpus") == 4 && number(params_of, "gemm_rs_cycles") == 152);
    assert_true(number(params_of, "ln_cycles") == 16 && number(params_of, "ag_gemm_cycles") == 148);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(params_of, "expert_cycles")));
    cJSON_Delete(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sizes),
        cmocka_unit_test(parts_take_their_times),
        cmocka_unit_test(cycles_repeat),
        cmocka_unit_test(differences_show),
        cmocka_unit_test(chain_is_faster),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(command_runs),
        cmocka_unit_test(lacking_systems_are_left_out),
        cmocka_unit_test(shapes_are_scaled),
        cmocka_unit_test(loads_merge_as_the_options_say),
        cmocka_unit_test(reds_are_added_as_the_settings_say),
        cmocka_unit_test(sync_merges_the_loads_of_late_gpus),
        cmocka_unit_test(kept_rows_answer_late_loads),
        cmocka_unit_test(parts_of_rows_merge),
    };
    return cmocka_run_group_tests_name("tensor-parallel", tests, scratch_make, scratch_remove);
}
