// SPDX-License-Identifier: Apache-2.0
//
// The table of `moeswitch sweep` with the device. Its rows equal those of runs by hand, and its
// pictures have every point of the table.
#include "system/command/sweep.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- rows ---------------------------------------------------------------------------------------

/// Every number of a row is the one that a run by hand has.
static void rows_are_runs(void **state)
{
    (void)state;
    char *text = read_file(reference_csv()), expected[300];
    assert_non_null(text);
    assert_int_equal(run_command("run --system moeswitch --gpus 4 --k 3 --experts 8 --flit-bytes 8 "
                                 "--hidden 64 --tokens-per-gpu 48 --tile 2 --sigma 1 --json %s",
                                 scratch("by-hand.json")),
                     MW_EXIT_OK);
    cJSON *root = read_json(scratch("by-hand.json"));
    const cJSON *s = cJSON_GetArrayItem(member(root, "systems"), 0), *up = member(s, "up");
    const cJSON *allocator = member(s, "allocator");
    char *line = strrchr(text, '\n');
    *line = 0;
    line = strrchr(text, '\n') + 1; // the last point
    snprintf(expected, sizeof expected, "moeswitch,0,4,48,,64,8,3,1,0.2,0,0,2,0,");
    assert_memory_equal(line, expected, strlen(expected));
    assert_non_null(strstr(line, ",\"synthetic(experts=8,k=3,sigma=1,locality=0.2)\","));
    snprintf(expected, sizeof expected, ",near,1,%.0f,", number(s, "cycles"));
    assert_non_null(strstr(line, expected));
    snprintf(expected, sizeof expected, ",%.0f,%.0f,", number(s, "strict_bound_cycles"),
             number(s, "own_bound_cycles"));
    assert_non_null(strstr(line, expected));
    snprintf(expected, sizeof expected, ",%.0f,", number(up, "payload_bytes_max"));
    assert_non_null(strstr(line, expected));
    const double hits = number(allocator, "hits"), misses = number(allocator, "misses");
    assert_true(hits > 0 && misses > 0);
    snprintf(expected, sizeof expected, ",%.0f,%.0f,", hits, misses);
    assert_non_null(strstr(line, expected));
    cJSON_Delete(root);
    free(text);
}

/// Cell `name` of row `row` of a table. Valid until the next call.
static const char *cell_of(const char *path, unsigned row, const char *name)
{
    char *text = read_file(path);
    assert_non_null(text);
    const char *cell = cell_in(text, row, name);
    free(text);
    return cell;
}

/// Of tensor-parallel workloads a row has all that the report states of them.
static void workloads_have_their_columns(void **state)
{
    (void)state;
    static const char text[] =
        "{\"workload\": [\"gemm-rs\", \"sublayer\"], \"system\": [\"nvls\", \"chain\"], "
        "\"gpus\": 2, \"flit-bytes\": 8, \"rows\": [8, 24], \"hidden\": 64, \"tile\": 2, "
        "\"gemm-rs-cycles\": 7, \"jitter\": 20, \"start-spread\": 50, \"seed\": 3}";
    char csv[300], cycles[40], speedup[40];
    write_file(scratch("workloads.json"), text, sizeof text - 1);
    assert_int_equal(
        run_command("sweep %s --out %s", scratch("workloads.json"), scratch("workloads")),
        MW_EXIT_OK);
    snprintf(csv, sizeof csv, "%s/results.csv", scratch("workloads"));
    assert_int_equal(run_command("run --workload sublayer --gpus 2 --flit-bytes 8 --rows 24 "
                                 "--hidden 64 --tile 2 --gemm-rs-cycles 7 --jitter 20 "
                                 "--start-spread 50 --seed 3 --system nvls,chain --json %s",
                                 scratch("by-hand.json")),
                     MW_EXIT_OK);
    cJSON *root = read_json(scratch("by-hand.json"));
    const cJSON *s = cJSON_GetArrayItem(member(root, "systems"), 1), *p = member(root, "params");
    enum { LAST = 7 }; // sublayer, chain, 24 rows
    snprintf(cycles, sizeof cycles, "%.0f", number(s, "cycles"));
    assert_string_equal(cell_of(csv, LAST, "workload"), "sublayer");
    assert_string_equal(cell_of(csv, LAST, "system"), "chain");
    assert_string_equal(cell_of(csv, LAST, "cycles"), cycles);
    snprintf(speedup, sizeof speedup, "%.3f", atof(cell_of(csv, LAST, "speedup")));
    snprintf(cycles, sizeof cycles, "%.3f", number(s, "speedup"));
    assert_string_equal(speedup, cycles);
    static const struct {
        const char *column, *value;
    } same[] = {{"rows", "24"},   {"shape", ""},          {"gemm_rs_cycles", "7"},
                {"jitter", "20"}, {"start_spread", "50"}, {"ranges", "11"},
                {"wrong", "0"},   {"flit_errors", "0"}};
    for (unsigned i = 0; i < sizeof same / sizeof *same; i++)
        assert_string_equal(cell_of(csv, LAST, same[i].column), same[i].value);
    assert_int_equal(atoi(cell_of(csv, LAST, "ln_cycles")), (int)number(p, "ln_cycles"));
    assert_int_equal(atoi(cell_of(csv, LAST, "limit_cycles")),
                     (int)number(member(s, "limit"), "cycles"));
    assert_string_equal(cell_of(csv, LAST, "limit_at"),
                        cJSON_GetStringValue(member(member(s, "limit"), "at")));
    assert_string_equal(cell_of(csv, 0, "workload"), "gemm-rs");
    assert_string_equal(cell_of(csv, 0, "ln_cycles"), "");
    cJSON_Delete(root);
}

// ---- pictures -----------------------------------------------------------------------------------

/// Column `name` of every row of a table, as numbers.
static void read_column(const char *path, const char *name, double *value)
{
    char *text = read_file(path), *save, *at = strtok_r(text, "\n", &save);
    unsigned column = 0;
    assert_non_null(text);
    for (char *c = at; strncmp(c, name, strlen(name)) != 0 || !strchr(",", c[strlen(name)]);
         column++)
        c = strchr(c, ',') + 1;
    while ((at = strtok_r(NULL, "\n", &save))) {
        bool quoted = false;
        for (unsigned n = column; n; at++) {
            quoted ^= *at == '"';
            n -= *at == ',' && !quoted;
        }
        *value++ = *at == ',' ? NAN : atof(at);
    }
    free(text);
}

/// The points of a picture, in the order in which they were drawn.
static unsigned read_points(const char *path, double (*point)[2], unsigned most)
{
    unsigned n = 0;
    char *text = read_file(path);
    assert_non_null(text);
    for (char *c = text; (c = strstr(c, "<use xlink:href='#gpPt6' transform='translate(")); c++) {
        assert_true(n < most);
        assert_int_equal(sscanf(strchr(c, '('), "(%lf,%lf)", &point[n][0], &point[n][1]), 2);
        n++;
    }
    free(text);
    return n;
}

/// Heights are linear in the values, and places in those of the axis.
static void assert_linear(const double *value, const double (*point)[2], unsigned xy,
                          unsigned count)
{
    unsigned low = 0, high = 0;
    for (unsigned i = 0; i < count; i++) {
        low = value[i] < value[low] ? i : low;
        high = value[i] > value[high] ? i : high;
    }
    const double slope = (point[high][xy] - point[low][xy]) /
                         (value[high] > value[low] ? value[high] - value[low] : 1);
    assert_true(value[high] > value[low] ? (xy ? slope < 0 : slope > 0) : slope == 0);
    for (unsigned i = 0; i < count; i++)
        if (fabs(point[low][xy] + slope * (value[i] - value[low]) - point[i][xy]) > 0.5)
            fail_msg("point %u: %g is at %g", i, value[i], point[i][xy]);
}

static void pictures_hold_the_table(void **state)
{
    (void)state;
    static const char *const columns[] = {"speedup",      "up_payload_bytes", "down_payload_bytes",
                                          "strict_share", "own_share",        "hit_rate"};
    static const char *const axes[] = {"k", "gpus"};
    char svg[300];
    double place[POINTS], value[POINTS], point[6 * POINTS][2];
    reference_csv();
    if (run_command("sweep %s --out %s --plot", grid, reference))
        fail_msg("%s", err_text);
    for (unsigned a = 0; a < 2; a++) {
        snprintf(svg, sizeof svg, "%s/by-%s.svg", reference, axes[a]);
        // unicast has no allocator
        assert_int_equal(read_points(svg, point, 6 * POINTS), 5 * POINTS + POINTS / 2);
        read_column(reference_csv(), axes[a], place);
        for (unsigned c = 0; c < 6; c++) {
            const unsigned first = c == 5 ? POINTS / 2 : 0; // the rows are by system
            read_column(reference_csv(), columns[c], value);
            for (unsigned i = 0; i < first; i++)
                assert_true(isnan(value[i]));
            assert_linear(value + first, &point[c * POINTS], 1, POINTS - first);
            assert_linear(place + first, &point[c * POINTS], 0, POINTS - first);
        }
        char *text = read_file(svg);
        assert_non_null(strstr(text, "unicast"));
        assert_non_null(strstr(text, "moeswitch"));
        assert_non_null(strstr(text, "</svg>"));
        // lines of runs that differ in this option alone, in each picture of a column
        const char *const other[] = {"<title>moeswitch, gpus 4</title>",
                                     "<title>moeswitch, k 3</title>"};
        assert_int_equal(count_of(other[a], text), 6);
        free(text);
    }
    snprintf(svg, sizeof svg, "%s/by-experts.svg", reference);
    assert_int_not_equal(access(svg, F_OK), 0);
}

/// A single column, from the reports or from the grid.
static void one_column_is_drawn(void **state)
{
    (void)state;
    static const char text[] =
        "{\"workload\": \"ag-gemm\", \"system\": \"cais-ordered\", \"gpus\": 4, \"flit-bytes\": 8, "
        "\"rows\": 48, \"hidden\": 64, \"tile\": 2, \"start-spread\": [0, 700, 4000], "
        "\"no-sync\": [false, true]}";
    enum { RUNS = 6 };
    char csv[300], svg[300], name[200];
    double place[RUNS], value[RUNS], point[RUNS][2];
    write_file(scratch("loads.json"), text, sizeof text - 1);
    snprintf(name, sizeof name, "%s", scratch("loads"));
    for (unsigned i = 0; i < 2; i++) {
        static const char *const columns[] = {"load_entries", "cycles"};
        if (run_command("sweep %s --out %s --plot-column %s", scratch("loads.json"), name,
                        columns[i]))
            fail_msg("%s", err_text);
        snprintf(csv, sizeof csv, "%s/results.csv", name);
        snprintf(svg, sizeof svg, "%s/by-start_spread.svg", name);
        assert_int_equal(read_points(svg, point, RUNS), RUNS);
        read_column(csv, "start_spread", place);
        read_column(csv, columns[i], value);
        assert_true(value[RUNS - 1] > value[0]); // late starts without SYNC
        assert_linear(value, point, 1, RUNS);
        assert_linear(place, point, 0, RUNS);
        char *picture = read_file(svg);
        assert_non_null(strstr(picture, "<title>cais-ordered, no-sync true</title>"));
        assert_non_null(strstr(picture, columns[i]));
        free(picture);
    }
    assert_true(atof(cell_of(csv, 0, "load_merge_rate")) == 1);
    assert_true(atof(cell_of(csv, RUNS - 1, "load_merge_rate")) < 1);
    assert_int_equal(
        run_command("sweep %s --out %s --plot-column load_entry", scratch("loads.json"), name), 2);
    assert_non_null(strstr(err_text, "--plot-column load_entry: the table has no such column"));
    assert_int_equal(run_command("sweep %s --list --plot-column cycles", scratch("loads.json")), 2);
    assert_non_null(strstr(err_text, "--list and --plot-column: the first writes no table"));
}

/// Before any run, if there is no gnuplot.
static void checks_gnuplot_first(void **state)
{
    (void)state;
    char line[600];
    snprintf(line, sizeof line, "PATH=/nowhere build/moeswitch sweep %s --out %s --plot 2>%s", grid,
             scratch("unplotted"), scratch("err"));
    int status = system(line);
    assert_int_equal(WEXITSTATUS(status), MW_EXIT_INPUT);
    char *text = read_file(scratch("err"));
    text[strlen(text) - 1] = 0;
    assert_line(text, "moeswitch: --plot: gnuplot does not run (gnuplot: No such file");
    free(text);
    assert_int_not_equal(access(scratch("unplotted"), F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_runs),           cmocka_unit_test(workloads_have_their_columns),
        cmocka_unit_test(pictures_hold_the_table), cmocka_unit_test(one_column_is_drawn),
        cmocka_unit_test(checks_gnuplot_first),
    };
    return cmocka_run_group_tests_name("sweep_table", tests, set_up, finish);
}
