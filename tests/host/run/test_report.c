// SPDX-License-Identifier: Apache-2.0
//
// Tests of results and reports: comparison with golden and analytic values, the figures made of
// them, the table's lines, the JSON's fields.
#define _XOPEN_SOURCE 700

#include "host/support.h"

#include "analysis/bounds.h"
#include "golden/golden.h"
#include "report/page.h"
#include "report/report.h"
#include "run/run.h"
#include "systems/system_list.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

static struct mw_run_params params;
static struct mw_trace trace;
static struct mw_workload workload;
static struct mw_expected expected[MW_MAX_LAYERS];
static struct mw_result result;

/// The workload of `params`, and a result of `dysharp` that is right to the bit and the flit.
static void make_result(void)
{
    assert_int_equal(mw_run_prepare(&params, &trace, &workload, NULL), MW_EXIT_OK);
    assert_int_equal(mw_result_make(&result, &workload, mw_system_find("dysharp"), NULL),
                     MW_EXIT_OK);
    for (unsigned l = 0; l < workload.layers; l++) {
        struct mw_traffic phases[MW_PHASES];
        struct mw_expected *e = &expected[l];
        assert_int_equal(mw_expected_make(e, &workload, l, NULL), MW_EXIT_OK);
        for (unsigned t = 0; t < workload.tokens; t++)
            mw_expected_token(e, &workload, l, t);
        memcpy(result.layer[l].out, e->out, 24 * 128 * 2);
        if (e->dw)
            memcpy(result.layer[l].dw, e->dw, mw_expected_places(&workload) * sizeof *e->dw);
        result.layer[l].cycles = 2000 + 500 * l;
        const struct mw_link_parameters link = mw_run_links(&params);
        mw_traffic_count(&workload, l, result.system, &link, phases);
        for (unsigned p = 0; p < MW_PHASES; p++)
            mw_traffic_add(&result.layer[l].traffic, &phases[p]);
        mw_result_stall(&result.layer[l], "store_credit", 7);
        mw_result_stall(&result.layer[l], "bank", 1 + l);
        mw_result_stall(&result.layer[l], "bank", 10);
    }
    result.simulated_cycles = 9000;
    result.seconds = 0.5;
}

static struct mw_summary summary(void)
{
    struct mw_summary s;
    mw_summarize(&s, &result, &workload, &params, 9000, "unicast");
    return s;
}

static FILE *f; ///< open from begin() to end(), after which the text is in `said`
static char *said;
static size_t said_size;

static void begin(void)
{
    free(said);
    said = NULL;
    f = open_memstream(&said, &said_size);
    assert_non_null(f);
}

static void end(void)
{
    fclose(f);
}

/// 4 GPUs with 6 tokens and 4 experts each.
static void set_sizes(unsigned k)
{
    mw_run_defaults(&params);
    params.shape = (struct mw_shape){.gpus = 4, .tokens_per_gpu = 6, .hidden = 128, .seed = 11};
    params.experts = 16;
    params.k = k;
}

/// Two layers.
static int set_up(void **state)
{
    (void)state;
    set_sizes(4);
    params.layers[0] = 2, params.layers[1] = 0;
    params.layer_count = 2;
    params.settings.item[0] = (struct mw_setting){"store_credits", 3};
    params.settings.count = 1;
    make_result();
    return 0;
}

/// A layer forward, backward and backward counted again, with gradients of gate weights.
static int set_up_passes(void **state)
{
    (void)state;
    set_sizes(3);
    params.shape.passes = MW_RUN_BACKWARD;
    params.shape.gate_gradients = true;
    make_result();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mw_result_free(&result);
    mw_workload_free(&workload);
    mw_trace_free(&trace);
    for (unsigned l = 0; l < MW_MAX_LAYERS; l++)
        mw_expected_free(&expected[l]);
    return 0;
}

static void finds_wrong_elements(void **state)
{
    (void)state;
    mw_result_check(&result, &workload, expected);
    assert_int_equal(result.layer[0].wrong, 0);
    assert_int_equal(result.layer[1].wrong, 0);
    result.layer[1].out[5 * 128 + 9] ^= 1;
    result.layer[1].out[23 * 128 + 127] ^= 0x8000;
    mw_result_check(&result, &workload, expected);
    assert_int_equal(result.layer[0].wrong, 0);
    assert_int_equal(result.layer[1].wrong, 2);
    assert_int_equal(result.layer[1].first.token, 5);
    assert_int_equal(result.layer[1].first.element, 9);
    assert_int_equal(result.layer[1].first.expected, expected[1].out[5 * 128 + 9]);
    assert_int_equal(result.layer[1].first.got, expected[1].out[5 * 128 + 9] ^ 1);
}

static char *json_text(const struct mw_summary *s)
{
    struct mw_json j = {0};
    assert_int_equal(mw_report_json(&j, &params, &trace, &workload, s, 1, NULL), MW_EXIT_OK);
    char *text = strdup(j.text);
    mw_json_free(&j);
    return text;
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(item))
        fail_msg("no number %s", key);
    return item ? item->valuedouble : 0;
}

/// A wrong place of a home's table, and one that must not be written: k = 3 of four places.
static void finds_wrong_gradients(void **state)
{
    (void)state;
    mw_result_check(&result, &workload, expected);
    assert_null(result.layer[0].dw);
    assert_int_equal(result.layer[0].gradients, 0);
    for (unsigned l = 1; l < 3; l++) {
        assert_int_equal(result.layer[l].gradients, 24 * 3);
        assert_int_equal(result.layer[l].wrong_gradients, 0);
    }
    assert_int_equal(expected[1].dw[4 * 5 + 3], (uint32_t)MW_NO_GRADIENT);
    assert_int_not_equal(expected[1].dw[0], expected[2].dw[0]); // x, and dY in its place
    result.layer[1].dw[4 * 5 + 3] = 0;
    result.layer[2].dw[4 * 23] ^= 0x80000000;
    result.layer[2].dw[4 * 7 + 2] ^= 1;
    mw_result_check(&result, &workload, expected);
    assert_int_equal(result.layer[1].wrong_gradients, 1);
    assert_int_equal(result.layer[2].wrong_gradients, 2);
    assert_int_equal(result.layer[2].first_gradient.token, 7);
    assert_int_equal(result.layer[2].first_gradient.place, 2);
    const struct mw_summary s = summary();
    assert_int_equal(s.wrong, 3);
    assert_int_equal(s.gradients.made, 2 * 24 * 3);
    assert_int_equal(s.gradients.wrong, 3);
    begin();
    const struct mw_link_parameters link = mw_run_links(&params);
    assert_int_equal(mw_report_differences(f, &result, &workload, &link), MW_EXIT_MISMATCH);
    end();
    assert_non_null(strstr(said, "dysharp, layer 0, backward: 1 wrong gradients of gate weights, "
                                 "first: token 5, place 3 of its list: expected 0x5a5a5a5a "));
    assert_non_null(strstr(said, "dysharp, layer 0, counted again: 2 wrong gradients"));
    assert_null(strstr(said, "wrong elements"));
    begin();
    struct mw_summary both[2] = {s, s};
    both[0].pass[MW_PASS_FORWARD] = both[0].pass[MW_PASS_BACKWARD] = 1000;
    both[1].pass[MW_PASS_FORWARD] = 2000;
    both[1].pass[MW_PASS_BACKWARD] = 250;
    mw_report_passes(f, &workload, both, 1);
    mw_report_passes(f, &workload, both, 2);
    end();
    assert_non_null(strstr(said, "    0.500    4.000 "));
    assert_non_null(strstr(said, "144 gradients of gate weights (dw) was checked, and every flit: "
                                 "3 dw are\n"));
    char *text = json_text(&s);
    cJSON *root = cJSON_Parse(text);
    const cJSON *o = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "systems"), 0);
    const cJSON *all = cJSON_GetObjectItem(o, "gate_gradients");
    assert_int_equal(number(all, "made"), 144);
    assert_int_equal(number(all, "wrong"), 3);
    assert_int_equal(number(all, "uplink_flits"), s.gradients.flits);
    const cJSON *layer = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "layers"), 1);
    assert_int_equal(number(cJSON_GetObjectItem(layer, "first_wrong_gradient"), "token"), 5);
    cJSON_Delete(root);
    free(text);
}

static void finds_every_wrong_counter(void **state)
{
    const struct mw_link_parameters f16 = {.flit_bytes = 16}, f8 = {.flit_bytes = 8};
    (void)state;
    struct mw_flit_error first;
    assert_int_equal(mw_result_flit_errors(&result, &workload, &f16, &first), 0);
    for (unsigned p = 0; p < 4; p++)
        for (unsigned d = 0; d < MW_DIRECTIONS; d++)
            for (unsigned c = 0; c < MW_CLASSES; c++) {
                uint64_t *counter = &result.layer[1].traffic.flits[p][d][c], was = *counter;
                ++*counter;
                assert_int_equal(mw_result_flit_errors(&result, &workload, &f16, &first), 1);
                assert_int_equal(first.layer, 1);
                assert_int_equal(first.port, p);
                assert_string_equal(first.direction, mw_direction_names[d]);
                assert_string_equal(first.what, mw_class_names[c]);
                assert_int_equal(first.counted, was + 1);
                assert_int_equal(first.expected, was);
                --*counter;
            }
    result.layer[0].traffic.payload[3][MW_DOWN] -= 2;
    assert_int_equal(mw_result_flit_errors(&result, &workload, &f16, &first), 1);
    assert_string_equal(first.what, "payload");
    assert_true(mw_result_flit_errors(&result, &workload, &f8, &first) > 8);
}

static void finds_a_layer_below_its_bound(void **state)
{
    (void)state;
    const struct mw_link_parameters link = mw_run_links(&params);
    struct mw_bounds bounds;
    struct mw_below_bound below;
    for (unsigned l = 0; l < 2; l++) {
        mw_bounds_compute(&workload, l, result.system, &link, &bounds);
        assert_true(bounds.own.cycles > 100);
        result.layer[l].cycles = bounds.own.cycles;
    }
    assert_int_equal(mw_result_below_bound(&result, &workload, &link, &below), 0);
    result.layer[1].cycles--;
    assert_int_equal(mw_result_below_bound(&result, &workload, &link, &below), 1);
    assert_int_equal(below.layer, 1);
    assert_int_equal(below.cycles, bounds.own.cycles - 1);
    assert_int_equal(below.bound, bounds.own.cycles);
}

static void sums_layers(void **state)
{
    (void)state;
    struct mw_summary s = summary();
    struct mw_link_parameters link = {16, 1, params.expert_cycles, 0};
    uint64_t strict = 0, own = 0, own_link = 0;
    double payload = 0, most = 0;
    for (unsigned l = 0; l < 2; l++) {
        struct mw_bounds b;
        mw_bounds_compute(&workload, l, result.system, &link, &b);
        strict += b.strict.cycles;
        own += b.own.cycles;
        own_link += b.own_link.cycles;
    }
    for (unsigned p = 0; p < 4; p++) {
        double here = (double)(result.layer[0].traffic.payload[p][MW_UP] +
                               result.layer[1].traffic.payload[p][MW_UP]);
        payload += here / 4;
        most = here > most ? here : most;
    }
    assert_int_equal(s.cycles, 4500);
    assert_int_equal(s.strict, strict);
    assert_int_equal(s.own, own);
    assert_int_equal(s.own_link, own_link);
    assert_true(fabs(s.speedup - 2.0) < 1e-12);
    assert_true(fabs(s.strict_share - (double)strict / 4500) < 1e-12);
    assert_true(fabs(s.direction[MW_UP].payload_mean - payload) < 1e-6);
    assert_true(s.direction[MW_UP].payload_max == most);
    assert_true(fabs(s.direction[MW_DOWN].use_max - s.direction[MW_DOWN].wire_max / 16 / 4500) <
                1e-12);
    assert_true(s.cycles_per_second == 18000);
    assert_int_equal(s.stalls, 2);
    assert_string_equal(s.stall[1].cause, "bank");
    assert_int_equal(s.stall[1].cycles, 23);
    mw_summarize(&s, &result, &workload, &params, 0, NULL);
    assert_true(s.speedup == 0);
}

static void prints_a_line_per_system(void **state)
{
    (void)state;
    const struct mw_summary s = summary();
    begin();
    mw_report_line(f, &s);
    end();
    assert_ptr_equal(strchr(said, '\n'), said + said_size - 1);
    said[said_size - 1] = 0;
    assert_line(said, "dysharp ", " 4500 ", "2.000", " 0 ");
    assert_null(strchr(said, '\033')); // no terminal
    begin();
    mw_report_resources(f, &s, 1);
    mw_report_resources(f, &s, 0); // nothing
    end();
    char share[32], adder[32];
    snprintf(share, sizeof share, "%.1f\n", 100 * (double)s.limit.cycles / 4500);
    snprintf(adder, sizeof adder, " %llu ", (unsigned long long)s.adder.cycles);
    assert_true(s.limit.cycles >= s.own && s.banks.cycles > 0);
    assert_non_null(strstr(said, "\ndysharp "));
    assert_null(strstr(strstr(said, "\ndysharp ") + 1, "\ndysharp "));
    assert_non_null(strstr(said, adder));
    assert_string_equal(said + said_size - strlen(share), share);
    begin();
    mw_report_head(f, &params, &trace, &workload);
    mw_report_columns(f, mw_systems[0].name);
    end();
    assert_non_null(strstr(said, "layers 2,0: 4 GPUs, 6 tokens each, hidden 128, 16 experts, k 4"));
    assert_non_null(strstr(said, "layer 2: strict bound "));
}

/// No line of any table is wider than a table may be, if its figures are not larger than the
/// columns.
static void tables_fit(void **state)
{
    (void)state;
    static const struct mw_feeding feeding = {.clock_hz = 60000000,
                                              .apart = {12345678, 1234567, 123456},
                                              .fed = {12345678, 1234567, 123456}};
    struct mw_summary s[MW_SYSTEMS];
    begin();
    result.has_feeding = true;
    result.feeding = feeding;
    for (unsigned i = 0; i < MW_SYSTEMS; i++) {
        s[i] = summary();
        s[i].system = "dysharp-basic";
        s[i].cycles = 1234567890;
        s[i].speedup = 1000.123;
        s[i].cycles_per_second = 12345678;
        snprintf(s[i].own_at, sizeof s[i].own_at, "port 31 down");
        s[i].direction[MW_UP].payload_max = s[i].direction[MW_UP].payload_mean = 1e9;
    }
    params.layer_count = MW_MAX_LAYERS; // a long line of numbers
    mw_report_head(f, &params, &trace, &workload);
    mw_report_columns(f, mw_systems[0].name);
    params.layer_count = 2;
    for (unsigned i = 0; i < MW_SYSTEMS; i++)
        mw_report_line(f, &s[i]);
    mw_report_traffic(f, s, MW_SYSTEMS);
    mw_report_resources(f, s, MW_SYSTEMS);
    mw_report_stalls(f, s, MW_SYSTEMS);
    mw_report_feeding(f, &workload, s, MW_SYSTEMS);
    end();
    for (const char *line = said; *line; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > MW_TABLE_WIDTH)
            fail_msg("%zu columns: %s", strcspn(line, "\n"), line);
    result.has_feeding = false;
}

/// A cause is reported once, with every system's cycles, 0 where it has none.
static void tells_stalls_by_cause(void **state)
{
    (void)state;
    struct mw_summary s[2];
    begin();
    s[0] = summary();
    s[1] = s[0];
    s[1].system = "other";
    s[1].stall[0] = (struct mw_stall){"late", 5};
    mw_report_stalls(f, s, 2);
    mw_report_stalls(f, s, 0); // nothing
    mw_report_traffic(f, s, 0);
    end();
    assert_string_equal(
        said, "\nCycles in which a part of the device had to wait, summed over all parts\n"
              "cause                  dysharp         other\n"
              "store_credit                14             0\n"
              "bank                        23            23\n"
              "late                         0             5\n");
}

/// CSV and JSON report the same values of a system, by the same names.
static void csv_is_json(void **state)
{
    (void)state;
    struct mw_summary s[2];
    struct mw_json j = {0};
    struct mw_csv csv;
    size_t size = 0;
    s[0] = summary();
    s[1] = s[0];
    s[1].system = "a \"system\", 2";
    s[1].speedup = 0;
    mw_csv_begin(&csv, "systems", &j);
    assert_int_equal(mw_report_json(&j, &params, &trace, &workload, s, 2, NULL), MW_EXIT_OK);
    char *text = mw_csv_text(&csv, &size);
    assert_non_null(text);
    assert_int_equal(size, strlen(text));
    static const char *const parts[] = {"tool,params.trace,",
                                        ",params.layers,",
                                        ",system,simulated_by,",
                                        ",cycles,speedup,",
                                        ",up.wire_bytes_mean,",
                                        ",stalls.bank,",
                                        ",dysharp,,4500,2,",
                                        ",2 0,",
                                        ",\"a \"\"system\"\", 2\",,4500,,"};
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i]))
            fail_msg("no %s in %s", parts[i], text);
    assert_null(strstr(text, "ports"));
    assert_int_equal(count_of("\n", text), 3);
    free(text);
    mw_csv_free(&csv);
    mw_json_free(&j);
}

/// On a terminal a wrong result is red, unless NO_COLOR forbids it.
static void colours_terminals_alone(void **state)
{
    (void)state;
    int pty = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(pty >= 0 && grantpt(pty) == 0 && unlockpt(pty) == 0);
    FILE *terminal = fdopen(open(ptsname(pty), O_RDWR | O_NOCTTY), "r+");
    assert_non_null(terminal);
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    assert_string_equal(mw_look(terminal, MW_BAD), "\033[1;31m");
    assert_string_equal(mw_look(terminal, MW_PLAIN), "\033[0m");
    setenv("TERM", "dumb", 1);
    assert_string_equal(mw_look(terminal, MW_BAD), "");
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "", 1); // set, but empty: as if it was not
    assert_string_equal(mw_look(terminal, MW_BAD), "\033[1;31m");
    setenv("NO_COLOR", "1", 1);
    assert_string_equal(mw_look(terminal, MW_BAD), "");
    unsetenv("NO_COLOR");
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_string_equal(mw_look(file, MW_BAD), "");
    fclose(file);
    fclose(terminal);
    close(pty);
}

static void names_what_simulated(void **state)
{
    (void)state;
    const struct mw_summary s = summary();
    begin();
    mw_report_model(f, &s, 1); // a device that is real
    fflush(f);
    assert_int_equal(said_size, 0);
    result.model = (struct mw_simulation){"plain", "5.49 rev", "g++ 12", "", "", ""};
    mw_report_model(f, &s, 1);
    end();
    assert_string_equal(said, "simulated by plain, of Verilator 5.49 rev and g++ 12\n");
}

static void json_has_every_field(void **state)
{
    (void)state;
    result.layer[1].out[77] ^= 4;
    result.layer[0].alloc_hits = 70;
    result.layer[0].alloc_misses = 4;
    result.layer[1].alloc_hits = 5;
    result.layer[1].alloc_misses = 9;
    mw_result_check(&result, &workload, expected);
    struct mw_summary s = summary();
    char *text = json_text(&s);
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    const cJSON *p = cJSON_GetObjectItem(root, "params");
    assert_int_equal(number(p, "gpus"), 4);
    assert_int_equal(number(p, "expert_cycles"), params.expert_cycles);
    assert_int_equal(number(cJSON_GetObjectItem(p, "settings"), "store_credits"), 3);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(p, "layers")), 2);
    const cJSON *o = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "systems"), 0);
    assert_string_equal(cJSON_GetObjectItem(o, "system")->valuestring, "dysharp");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(o, "simulated_by")));
    assert_int_equal(number(o, "cycles"), 4500);
    assert_true(number(o, "speedup") == 2);
    assert_int_equal(number(o, "strict_bound_cycles"), s.strict);
    assert_int_equal(number(o, "own_bound_cycles"), s.own);
    assert_int_equal(number(o, "own_link_bound_cycles"), s.own_link);
    assert_true(fabs(number(o, "strict_share") - s.strict_share) < 1e-5);
    assert_true(fabs(number(o, "own_share") - s.own_share) < 1e-5);
    assert_int_equal(number(o, "wrong"), 1);
    assert_int_equal(number(o, "flit_errors"), 0);
    assert_int_equal(number(o, "below_bound"), 0);
    assert_int_equal(number(o, "sim_cycles_per_s"), 18000);
    assert_int_equal(number(cJSON_GetObjectItem(o, "stalls"), "bank"), 23);
    assert_int_equal(number(cJSON_GetObjectItem(o, "allocator"), "hits"), 70 + 5);
    assert_int_equal(number(cJSON_GetObjectItem(o, "allocator"), "misses"), 4 + 9);
    uint64_t parts[4] = {0};
    const cJSON *each;
    cJSON_ArrayForEach(each, cJSON_GetObjectItem(o, "layers"))
    {
        static const char *const names[] = {"adder", "engine", "banks", "limit"};
        for (unsigned i = 0; i < 4; i++)
            parts[i] += (uint64_t)number(cJSON_GetObjectItem(each, names[i]), "cycles");
    }
    const uint64_t sums[4] = {s.adder.cycles, s.engine.cycles, s.banks.cycles, s.limit.cycles};
    assert_memory_equal(parts, sums, sizeof sums);
    const cJSON *port = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "ports"), 3);
    assert_int_equal(number(cJSON_GetObjectItem(port, "down"), "store"),
                     s.traffic.flits[3][MW_DOWN][MW_STORE]);
    const cJSON *layer = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "layers"), 1);
    assert_int_equal(number(layer, "layer"), 0);
    assert_int_equal(number(cJSON_GetObjectItem(layer, "first_wrong"), "element"), 77);
    cJSON_Delete(root);
    free(text);
    mw_summarize(&s, &result, &workload, &params, 0, NULL);
    text = json_text(&s);
    assert_non_null(strstr(text, "\"speedup\": null"));
    free(text);
}

/// Two runs differ in wall-clock fields only, and those come last.
static void json_differs_in_wall_clock_only(void **state)
{
    (void)state;
    struct mw_summary s = summary();
    char *a = json_text(&s);
    result.seconds = 0.75;
    s = summary();
    char *b = json_text(&s);
    char *end_a = strstr(a, "\"seconds_wall\""), *end_b = strstr(b, "\"seconds_wall\"");
    assert_non_null(end_a);
    assert_int_equal(end_a - a, end_b - b);
    assert_memory_equal(a, b, (size_t)(end_a - a));
    assert_string_not_equal(end_a, end_b);
    assert_int_equal(count_of("\": ", end_a), 2);
    free(a);
    free(b);
}

/// The text of the page for a text in its JSON.
static void assert_embeds(const char *value, const char *embedded)
{
    struct mw_json j = {0};
    size_t size = 0;
    char want[400];
    assert_int_equal(mw_json_open(&j, NULL), MW_EXIT_OK);
    mw_json_object(&j, NULL, false);
    mw_json_string(&j, "a  key", value);
    mw_json_uint(&j, "number", 7);
    mw_json_end(&j);
    assert_int_equal(mw_json_close(&j, NULL), MW_EXIT_OK);
    char *page = mw_page_html(MW_PAGE_RUN, &j, &size);
    assert_non_null(page);
    assert_int_equal(strlen(page), size);
    snprintf(want, sizeof want, "id=\"data\">\n{\"a  key\":\"%s\",\"number\":7}</script>\n",
             embedded);
    if (!strstr(page, want))
        fail_msg("the page has not: %s", want);
    assert_null(strstr(page, "@data@"));
    free(page);
    mw_json_free(&j);
}

/// No text in the JSON can end the element that it stands in, or the string.
static void page_embeds_any_text(void **state)
{
    (void)state;
    assert_embeds("plain,  with: spaces", "plain,  with: spaces");
    assert_embeds("</script><!--<script>", "\\u003c/script>\\u003c!--\\u003cscript>");
    assert_embeds("a\"<b \\\" \\", "a\\\"\\u003cb \\\\\\\" \\\\");
    assert_embeds("\xe2\x80\xa8\xe2\x80\xa9\n\xff", "\\u2028\\u2029\\u000a\xef\xbf\xbd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_wrong_elements, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_wrong_gradients, set_up_passes, tear_down),
        cmocka_unit_test_setup_teardown(finds_every_wrong_counter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_a_layer_below_its_bound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sums_layers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(prints_a_line_per_system, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tables_fit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_stalls_by_cause, set_up, tear_down),
        cmocka_unit_test_setup_teardown(csv_is_json, set_up, tear_down),
        cmocka_unit_test(colours_terminals_alone),
        cmocka_unit_test_setup_teardown(names_what_simulated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(json_has_every_field, set_up, tear_down),
        cmocka_unit_test_setup_teardown(json_differs_in_wall_clock_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(page_embeds_any_text, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
