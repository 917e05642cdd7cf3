// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch calibrate`: least squares find known coefficients, and features of layers equal those
// worked out by hand. Also tables of sweeps and each reason to refuse one, and the repository's
// calibration.
#include "host/support.h"
#include "host/words.h"

#include "base/input.h"
#include "calibrate/calibrate.h"
#include "systems/system_list.h"

#include <glob.h>
#include <math.h>
#include <sys/stat.h>

#define REFUSE(part, ...) \
    refuse_words(mw_calibrate_command, "calibrate", (const char *const[]){__VA_ARGS__, NULL}, part)

static bool near(double a, double b, double share)
{
    return fabs(a - b) <= share * fabs(b) + 1e-12;
}

// ---- least squares ------------------------------------------------------------------------------

enum { POINTS = 40 };

/// Features of any size, the last of them constant.
static void make_points(struct mw_fit_point point[POINTS], const double coefficient[MW_FEATURES])
{
    for (unsigned p = 0; p < POINTS; p++) {
        for (unsigned f = 0; f < MW_FEATURES; f++)
            point[p].feature[f] = 1 + (p * 7919u + f * 104729u + p * f * 31u) % 9973u;
        point[p].feature[MW_F_CONSTANT] = 1;
        point[p].cycles = mw_fit_value(coefficient, point[p].feature);
    }
}

static void finds_coefficients(void **state)
{
    (void)state;
    static const double known[][MW_FEATURES] = {{1, 2, 0.5, 0.25, 3, 1.5, 8, 2, 100},
                                                {1.2, 0, 0.9, 0, 0, 1, 0, 0, 0},
                                                {[MW_F_CONSTANT] = 7}};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        struct mw_fit_point point[POINTS];
        double found[MW_FEATURES];
        make_points(point, known[i]);
        assert_true(mw_fit_features(point, POINTS, found));
        for (unsigned p = 0; p < POINTS; p++)
            assert_true(near(mw_fit_value(found, point[p].feature), point[p].cycles, 1e-6));
    }
}

/// A part whose time decreases with its length gets no coefficient.
static void has_no_negative_coefficient(void **state)
{
    (void)state;
    static const double known[MW_FEATURES] = {2, 2, 2, 2, -0.1, 2, 2, 2, 1};
    struct mw_fit_point point[POINTS];
    double found[MW_FEATURES];
    make_points(point, known);
    assert_true(mw_fit_features(point, POINTS, found));
    for (unsigned f = 0; f < MW_FEATURES; f++)
        assert_true(found[f] >= 0);
    assert_true(found[4] == 0);
}

static void errors_are_relative(void **state)
{
    (void)state;
    struct mw_calibration c[MW_FITS] = {0};
    struct mw_calibration_run run[4] = {0};
    struct mw_calibration_errors e;
    c[MW_FIT_MOE].coefficient[0][MW_F_CONSTANT] = 100;
    c[MW_FIT_MOE].coefficient[1][MW_F_CONSTANT] = 100;
    static const double cycles[] = {100, 80, 125, 50};
    for (unsigned i = 0; i < 4; i++) {
        run[i] = (struct mw_calibration_run){.system = i == 3, .held = i > 0};
        run[i].point.feature[MW_F_CONSTANT] = 1;
        run[i].point.cycles = cycles[i];
    }
    assert_int_equal(mw_calibration_errors(&e, c, run, 4, MW_FIT_MOE, MW_FIT_SYSTEMS, true, NULL),
                     MW_EXIT_OK);
    assert_int_equal(e.runs, 3);
    assert_true(near(e.median, 0.25, 1e-9) && near(e.largest, 1, 1e-9));
    assert_int_equal(mw_calibration_errors(&e, c, run, 4, MW_FIT_MOE, 0, false, NULL), MW_EXIT_OK);
    assert_true(e.runs == 1 && e.median == 0 && e.largest == 0);
}

// ---- features -----------------------------------------------------------------------------------

/// Two GPUs with two experts each. Each token goes to one expert of each GPU.
static void features_by_hand(void **state)
{
    (void)state;
    uint16_t ids[16];
    for (unsigned i = 0; i < 8; i++) {
        ids[2 * i] = (uint16_t)(i % 2);
        ids[2 * i + 1] = (uint16_t)(2 + i % 2);
    }
    const struct mw_trace trace = {.layers = 1, .tokens = 8, .k = 2, .experts = 4, .ids = ids};
    const struct mw_moe_layer layer = {.tokens = 8,
                                       .dispatch = 64,
                                       .combine = 64,
                                       .tile = 3,
                                       .expert_cycles = 10,
                                       .flit_bytes = 16,
                                       .link_latency = 5};
    const struct mw_system *s = mw_system_find("unicast");
    struct mw_error err = {0};
    struct mw_routing r;
    struct mw_moe_counts counts;
    double f[MW_FEATURES], double_f[MW_FEATURES];
    // a sample of half of the layer's tokens
    assert_int_equal(mw_routing_make(&r, &trace, 0, 2, 8, 4, &err), MW_EXIT_OK);
    mw_moe_count(&r, s, &layer, &counts);
    mw_moe_features(&r, s, &counts, &layer, f);
    // each expert has 8 rows: three tiles of three rows, of two experts
    assert_true(f[MW_F_SECOND] == 2 * 3 * 3 * 10);
    assert_true(f[MW_F_TILE] == 3 * 10);
    assert_true(f[MW_F_LATENCY] == 5 && f[MW_F_CONSTANT] == 1);
    assert_true(
        near(f[MW_F_FIRST], 2 * (counts.dispatch + fmax(counts.combine, counts.adder)), 1e-12));
    // rows of twice the values: more flits, in dispatch alone
    struct mw_moe_layer wide = layer;
    wide.dispatch = 128;
    mw_moe_count(&r, s, &wide, &counts);
    mw_moe_features(&r, s, &counts, &wide, double_f);
    assert_true(double_f[MW_F_FIRST] > f[MW_F_FIRST] + 8 * 8);
    assert_true(double_f[MW_F_THIRD] == f[MW_F_THIRD]);
    mw_routing_free(&r);
}

static void outside_by_name(void **state)
{
    (void)state;
    uint16_t ids[] = {0, 1, 2, 3};
    const struct mw_trace trace = {.layers = 1, .tokens = 4, .k = 1, .experts = 4, .ids = ids};
    struct mw_moe_layer layer = {.tokens = 8,
                                 .dispatch = 64,
                                 .combine = 64,
                                 .tile = 3,
                                 .expert_cycles = 10,
                                 .flit_bytes = 16,
                                 .link_latency = 5};
    struct mw_calibration c = {0};
    struct mw_error err = {0};
    struct mw_routing r;
    assert_int_equal(mw_routing_make(&r, &trace, 0, 4, 8, 1, &err), MW_EXIT_OK);
    mw_moe_ranges(&r, &layer, c.low);
    mw_moe_ranges(&r, &layer, c.high);
    assert_int_equal(mw_moe_outside(&c, &r, &layer), 0);
    layer.tokens = 9;
    layer.link_latency = 4;
    assert_int_equal(mw_moe_outside(&c, &r, &layer), 1 << MW_R_TOKENS | 1 << MW_R_LATENCY);
    mw_routing_free(&r);
}

/// Every system's time grows with the longest part, and ranges are ranges.
static void repository_has_a_calibration(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MW_FITS; i++) {
        const struct mw_calibration *c = &mw_calibrated[i];
        for (unsigned s = 0; s < mw_fit_kinds[i].systems; s++) {
            double sum = 0;
            for (unsigned f = 0; f < MW_FEATURES; f++) {
                assert_true(c->coefficient[s][f] >= 0);
                sum += f < MW_F_TILE ? c->coefficient[s][f] : 0;
            }
            assert_true(sum >= 0.9);
        }
        for (unsigned r = 0; r < mw_fit_kinds[i].ranges; r++)
            assert_true(c->low[r] < c->high[r]);
    }
}

/// Every system of the repository has runs. A new one has none, and coefficients of 0.
static void finds_fitted_systems(void **state)
{
    (void)state;
    struct mw_calibration c = mw_calibrated[MW_FIT_MOE];
    for (unsigned i = 0; i < MW_SYSTEMS; i++) {
        assert_true(mw_calibration_has(&c, i));
        memset(c.coefficient[i], 0, sizeof c.coefficient[i]);
        assert_false(mw_calibration_has(&c, i));
        c.coefficient[i][MW_F_CONSTANT] = 1;
        assert_true(mw_calibration_has(&c, i));
    }
}

// ---- tables of sweeps ---------------------------------------------------------------------------

#define NAMES \
    "system,gpus,tokens_per_gpu,hidden,experts,k,tile,expert_cycles,link_latency,flit_bytes,seed," \
    "sigma,locality,cycles\n"
#define ROW "unicast,2,4,64,4,2,3,10,5,16,1,0.5,0.2,"

static void reads_sweeps(void **state)
{
    (void)state;
    struct mw_calibration_run *run = NULL;
    struct mw_calibration c[MW_FITS];
    struct mw_error err = {0};
    size_t count = 0;
    const char *path = scratch_text("results.csv", NAMES ROW "900\n" ROW "901\n");
    assert_int_equal(mw_calibration_read(&run, &count, path, false, &err), MW_EXIT_OK);
    assert_int_equal(mw_calibration_read(&run, &count, path, true, &err), MW_EXIT_OK);
    assert_int_equal(count, 4);
    assert_true(run[1].point.cycles == 901 && !run[1].held && run[2].held);
    assert_true(run[0].point.feature[MW_F_LATENCY] == 5 && run[0].range[MW_R_GPUS] == 2);
    assert_int_equal(mw_calibration_fit(c, run, count, &err), MW_EXIT_INPUT);
    assert_line(err.text, "unicast: 2 runs to fit 9 coefficients are too few");
    free(run);
}

static void refuses_tables(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"system,gpus\nunicast,2\n", "no column \"hidden\""},
        {NAMES "t3,2,4,64,4,2,3,10,5,16,1,0.5,0.2,9\n", "line 2: t3 is no system of MoE layers"},
        {NAMES ROW "0\n", "\"0\" of column cycles"},
        {NAMES "unicast,2,4,,4,2,3,10,5,16,1,0.5,0.2,9\n", "\"\" of column hidden"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mw_calibration_run *run = NULL;
        struct mw_error err = {0};
        size_t count = 0;
        const char *path = scratch_text("bad.csv", bad[i].text);
        assert_int_equal(mw_calibration_read(&run, &count, path, false, &err), MW_EXIT_INPUT);
        assert_line(err.text, bad[i].part);
        free(run);
    }
}

#define TENSOR_NAMES \
    "workload,system,gpus,rows,hidden,tile,gemm_rs_cycles,ln_cycles,ag_gemm_cycles,link_latency," \
    "flit_bytes,cycles\n"

/// Parts that a workload lacks are empty.
static void reads_workloads(void **state)
{
    (void)state;
    struct mw_calibration_run *run = NULL;
    struct mw_error err = {0};
    size_t count = 0;
    const char *path =
        scratch_text("tensor.csv", TENSOR_NAMES "gemm-rs,t3,8,64,64,4,20,,,5,16,3000\n"
                                                "sublayer,nvls,8,64,64,4,20,9,30,5,16,7000\n");
    assert_int_equal(mw_calibration_read(&run, &count, path, false, &err), MW_EXIT_OK);
    assert_int_equal(count, 2);
    assert_int_equal(mw_calibration_runs(run, count, MW_FIT_TENSOR), 2);
    assert_string_equal(mw_fit_system(MW_FIT_TENSOR, run[0].system), "t3");
    assert_true(run[0].range[MW_TR_ROWS] == 64 && run[0].range[MW_TR_CYCLES] == 20);
    // phases with barriers: 64 rows of 20 and of 30 cycles, and those of LN concurrent with the
    // sums
    assert_true(run[1].point.feature[MW_T_SCHEDULE] >= 64 * (20 + 30));
    free(run);
    run = NULL;
    count = 0;
    path = scratch_text("tensor.csv", TENSOR_NAMES "gemm,t3,8,64,64,4,20,,,5,16,3000\n");
    assert_int_equal(mw_calibration_read(&run, &count, path, false, &err), MW_EXIT_INPUT);
    assert_line(err.text, "line 2: gemm is no workload");
    path = scratch_text("tensor.csv", TENSOR_NAMES "gemm-rs,dysharp,8,64,64,4,20,,,5,16,3000\n");
    assert_int_equal(mw_calibration_read(&run, &count, path, false, &err), MW_EXIT_INPUT);
    assert_line(err.text, "dysharp is no system of tensor parallelism");
    free(run);
}

/// A workload that a system lacks runs with the streams of another one, whose time counts. Rows
/// beyond the counted ones add their share.
static void workloads_of_any_size(void **state)
{
    (void)state;
    struct mw_tensor_work work = {.kind = MW_TP_AG_GEMM,
                                  .gpus = 72,
                                  .rows = 1 << 21,
                                  .hidden = 416,
                                  .cycles = {0, 0, 100},
                                  .tile = 4,
                                  .flit_bytes = 16,
                                  .link_latency = 781};
    struct mw_calibration c = {0};
    unsigned chain = 0, pull = 0, ordered = 0;
    for (unsigned i = 0; i < MW_TP_SYSTEMS; i++) {
        const char *name = mw_fit_system(MW_FIT_TENSOR, i);
        chain = strcmp(name, "chain") == 0 ? i : chain;
        pull = strcmp(name, "pull") == 0 ? i : pull;
        ordered = strcmp(name, "cais-ordered") == 0 ? i : ordered;
    }
    for (unsigned i = 0; i < MW_TP_SYSTEMS; i++) {
        const unsigned as = mw_tensor_system(MW_TP_AG_GEMM, i);
        const char *name = mw_fit_system(MW_FIT_TENSOR, i);
        const bool other = strcmp(name, "t3") == 0          ? as == pull
                           : strcmp(name, "tiles") == 0     ? as == chain
                           : strcmp(name, "nvls-tile") == 0 ? as == chain
                           : strncmp(name, "cais", 4) == 0  ? as == ordered
                                                            : as == i;
        assert_true(other);
        assert_int_equal(mw_tensor_system(MW_TP_SUBLAYER, i), i);
    }
    c.coefficient[chain][MW_T_SCHEDULE] = 1;
    const double twice = mw_tensor_cycles(&c, &work, chain);
    assert_true(near(twice, 100.0 * (1 << 21), 0.15));
    work.rows = 1 << 20;
    assert_true(near(mw_tensor_cycles(&c, &work, chain), twice / 2, 1e-3));
}

// ---- the command --------------------------------------------------------------------------------

static void refuses_commands(void **state)
{
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", scratch("grids"));
    REFUSE("the folder of grids is missing", "--jobs", "1");
    REFUSE("no such folder", folder);
    assert_int_equal(mkdir(folder, 0777), 0);
    REFUSE("no fit-*.json and no held-*.json", folder);
    REFUSE("--list and --write", folder, "--list", "--write", "x");
    REFUSE("unexpected word", folder, "more");
}

/// --list prints the commands of the sweeps.
static void lists_runs(void **state)
{
    (void)state;
    char folder[512], path[600];
    snprintf(folder, sizeof folder, "%s", scratch("few"));
    assert_int_equal(mkdir(folder, 0777), 0);
    static const char grid[] = "{\"system\": [\"unicast\", \"dysharp\"], \"gpus\": 2, "
                               "\"flit-bytes\": 8, \"hidden\": 64, \"tokens-per-gpu\": [2, 4]}";
    snprintf(path, sizeof path, "%s/fit-a.json", folder);
    write_file(path, grid, sizeof grid - 1);
    assert_int_equal(run_words(mw_calibrate_command, "calibrate",
                               (const char *const[]){folder, "--list", "--out", folder, NULL}),
                     MW_EXIT_OK);
    assert_int_equal(count_of("\n", out_text), 4);
    // a grid that has a table has been run
    snprintf(path, sizeof path, "%s/fit-a.csv", folder);
    write_file(path, "x\n", 2);
    assert_int_equal(run_words(mw_calibrate_command, "calibrate",
                               (const char *const[]){folder, "--list", "--out", folder, NULL}),
                     MW_EXIT_OK);
    assert_string_equal(out_text, "");
    assert_int_equal(
        run_words(mw_calibrate_command, "calibrate",
                  (const char *const[]){folder, "--list", "--again", "--out", folder, NULL}),
        MW_EXIT_OK);
    assert_non_null(strstr(out_text, "run --system"));
    // without any run, the table stays
    assert_int_equal(
        run_words(mw_calibrate_command, "calibrate",
                  (const char *const[]){folder, "--again", "--collect", "--out", folder, NULL}),
        MW_EXIT_INPUT);
    assert_non_null(strstr(err_text, "no run of its grids has a result"));
    char *kept;
    size_t size;
    struct mw_error err = {0};
    assert_int_equal(mw_input_text(&kept, &size, path, 100, "a table", &err), MW_EXIT_OK);
    assert_string_equal(kept, "x\n");
    free(kept);
}

/// Coefficients of tensor parallelism are those of the repository's tables, and predict the runs
/// that are not fitted within the limits.
static void fits_the_tables(void **state)
{
    (void)state;
    struct mw_calibration_run *run = NULL;
    struct mw_calibration c[MW_FITS];
    struct mw_calibration_errors e;
    struct mw_error err = {0};
    size_t count = 0;
    glob_t tables;
    assert_int_equal(glob("bench/calibrate/*-tp-*.csv", 0, NULL, &tables), 0);
    for (size_t i = 0; i < tables.gl_pathc; i++)
        assert_int_equal(mw_calibration_read(&run, &count, tables.gl_pathv[i],
                                             strstr(tables.gl_pathv[i], "held-") != NULL, &err),
                         MW_EXIT_OK);
    globfree(&tables);
    assert_int_equal(mw_calibration_fit(c, run, count, &err), MW_EXIT_OK);
    for (unsigned s = 0; s < MW_TP_SYSTEMS; s++)
        for (unsigned f = 0; f < MW_TENSOR_FEATURES; f++)
            assert_true(near(c[MW_FIT_TENSOR].coefficient[s][f],
                             mw_calibrated[MW_FIT_TENSOR].coefficient[s][f], 1e-4));
    assert_int_equal(mw_calibration_errors(&e, mw_calibrated, run, count, MW_FIT_TENSOR,
                                           MW_FIT_SYSTEMS, true, &err),
                     MW_EXIT_OK);
    assert_true(e.runs >= 20 && e.median <= mw_fit_kinds[MW_FIT_TENSOR].median);
    assert_true(e.largest <= mw_fit_kinds[MW_FIT_TENSOR].largest);
    free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_coefficients),  cmocka_unit_test(has_no_negative_coefficient),
        cmocka_unit_test(errors_are_relative), cmocka_unit_test(features_by_hand),
        cmocka_unit_test(outside_by_name),     cmocka_unit_test(repository_has_a_calibration),
        cmocka_unit_test(reads_sweeps),        cmocka_unit_test(refuses_tables),
        cmocka_unit_test(reads_workloads),     cmocka_unit_test(workloads_of_any_size),
        cmocka_unit_test(refuses_commands),    cmocka_unit_test(lists_runs),
        cmocka_unit_test(fits_the_tables),     cmocka_unit_test(finds_fitted_systems),
    };
    return cmocka_run_group_tests_name("calibrate", tests, scratch_make, finish_words);
}
