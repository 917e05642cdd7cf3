// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch run --hardware` with the device: a machine of two GPUs whose cycle is a nanosecond.
#include "system/command.h"

#include <math.h>
#include <sys/stat.h>

#define LAYER "--flit-bytes 8 --experts 8 --k 2 --hidden 512 --tokens-per-gpu 32 --tile 4 "

static char machine[300], json[300];

static int set_up(void **state)
{
    static const char text[] =
        "{\"name\": \"m\", \"gpus\": 2, \"planes\": 3, \"link_gbytes_per_s\": 24, "
        "\"link_latency_ns\": 10, \"memory_gbytes_per_s\": 999, \"tflops\": {\"bf16\": 1}, "
        "\"source\": \"s\"}";
    int status = scratch_make(state) || mkdir(scratch("files"), 0777);
    snprintf(machine, sizeof machine, "%s", scratch("machine.json"));
    snprintf(json, sizeof json, "%s", scratch("report.json"));
    write_file(machine, text, sizeof text - 1);
    return status;
}

/// A system of the report. Free `whole` by cJSON_Delete.
static const cJSON *system_of(int number, cJSON **whole)
{
    *whole = read_json(json);
    return cJSON_GetArrayItem(member(*whole, "systems"), number);
}

static bool is_null(const cJSON *system, const char *key)
{
    return cJSON_IsNull(member(system, key));
}

/// Phases add up to the layer. If they overlap, the report has none. Measuring them, also with
/// --timeline, costs no cycle.
static void reports_phases(void **state)
{
    (void)state;
    cJSON *whole;
    assert_int_equal(run_command("run " LAYER "--hardware %s --system unicast,dysharp --layers 0,1 "
                                 "--expert-cycles 5 --timeline %s --json %s",
                                 machine, scratch("timeline.json"), json),
                     MW_EXIT_OK);
    assert_non_null(strstr(out_text, "dispatch   experts   combine algorithm"));
    const cJSON *s = system_of(0, &whole);
    const double us = number(s, "us"), cycles = number(s, "cycles");
    const double dispatch = number(s, "dispatch_us"), combine = number(s, "combine_us");
    assert_true(fabs(us - cycles / 1000) < 1e-9);
    assert_true(fabs(dispatch + number(s, "expert_us") + combine - us) < 1e-9);
    assert_true(dispatch > 0.1 && combine > 0.1);
    // rows of the busier engine, of two layers, 5 cycles each
    assert_true(number(s, "expert_us") * 1000 >= 2 * 64 * 5);
    assert_true(number(s, "dispatch_gbytes_per_s") < 24);
    s = cJSON_GetArrayItem(member(whole, "systems"), 1);
    assert_true(is_null(s, "dispatch_us") && is_null(s, "expert_us") && is_null(s, "combine_us"));
    assert_true(is_null(s, "dispatch_gbytes_per_s") && is_null(s, "combine_gbytes_per_s"));
    assert_true(number(s, "us") > 0);
    cJSON_Delete(whole);
    // of the 8 packets of a row a plane has 3: the same by hand
    assert_int_equal(run_command("run --flit-bytes 8 --experts 8 --k 2 --hidden 192 --gpus 2 "
                                 "--tokens-per-gpu 32 --tile 4 --link-latency 10 --layers 0,1 "
                                 "--expert-cycles 5 --system unicast --json %s",
                                 json),
                     MW_EXIT_OK);
    s = system_of(0, &whole);
    assert_true(number(s, "cycles") == cycles);
    assert_null(cJSON_GetObjectItem(s, "dispatch_us"));
    cJSON_Delete(whole);
}

/// The rate in the last warning, in percent. The warning must appear once.
static double warned(void)
{
    double rate = 0;
    const char *at = strstr(err_text, ": at most ");
    assert_int_equal(strncmp(err_text, "moeswitch: warning: ", 20), 0);
    assert_non_null(at);
    assert_int_equal(sscanf(at, ": at most %lf %% of the link's rate\n", &rate), 1);
    assert_ptr_equal(strchr(err_text, '\n'), err_text + strlen(err_text) - 1);
    return rate;
}

/// Too few credits for the round trip: the stated rate is not exceeded, and is nearly reached.
static void warns_of_few_credits(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *settings;
        unsigned latency, credits;
        double least; ///< share of the stated rate that is reached
    } lines[] = {
        {"unicast", "store_credits=4", 64, 4, 0.97},
        {"unicast", "store_credits=3", 17, 3, 0.97},
        {"unicast", "down_store_credits=5", 64, 5, 0.8},
        {"reduce_scatter", "part_credits=2", 40, 2, 0.8},
    };
    for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
        char credits[40];
        cJSON *whole;
        assert_int_equal(run_command("bench %s --gpus 2 --flit-bytes 8 --minbytes 64K "
                                     "--link-latency %u --set %s --json %s",
                                     lines[i].pattern, lines[i].latency, lines[i].settings, json),
                         MW_EXIT_OK);
        const double rate = warned();
        snprintf(credits, sizeof credits, " %u credits of ", lines[i].credits);
        assert_non_null(strstr(err_text, credits));
        whole = read_json(json);
        const double share = 100 * number(cJSON_GetArrayItem(member(whole, "rows"), 0), "share");
        print_message("%s: %.1f %% of at most %.1f %%\n", lines[i].settings, share, rate);
        assert_true(share <= rate + 0.1 && share >= lines[i].least * rate);
        cJSON_Delete(whole);
    }
    // a run warns too: of its sums only where the switch makes them
    assert_int_equal(run_command("run --gpus 2 " LAYER "--system unicast --link-latency 60"),
                     MW_EXIT_OK);
    assert_string_equal(err_text, "");
    assert_int_equal(run_command("run --gpus 2 " LAYER "--system dysharp --link-latency 60"),
                     MW_EXIT_OK);
    assert_true(warned() < 60);
    assert_int_equal(
        run_command("run --hardware %s " LAYER "--system unicast --set store_credits=1", machine),
        MW_EXIT_OK);
    assert_true(warned() < 50);
}

static void refuses_what_does_not_divide(void **state)
{
    (void)state;
    ASSERT_REFUSES("run", "--hardware hgx-h100 --gpus 6 --model deepseek-v3 --tokens-per-gpu 4096",
                   "--gpus 6: the 256 experts of ");
    ASSERT_REFUSES("run", "--hardware hgx-h100 --model deepseek-v3 --hidden 7164",
                   "--hidden 7164: not a multiple of half of --flit-bytes 16");
}

/// All three planes of the machine, with the bits of their own packets, take the time of one.
static void runs_every_plane_of(const char *type)
{
    cJSON *whole;
    assert_int_equal(run_command("run " LAYER "--dispatch-type %s --hardware %s "
                                 "--system unicast,moeswitch --json %s",
                                 type, machine, json),
                     MW_EXIT_OK);
    const double one[] = {number(system_of(0, &whole), "cycles"),
                          number(cJSON_GetArrayItem(member(whole, "systems"), 1), "cycles")};
    cJSON_Delete(whole);
    assert_int_equal(run_command("run " LAYER "--dispatch-type %s --hardware %s "
                                 "--system unicast,moeswitch --planes all --jobs 2 --json %s",
                                 type, machine, json),
                     MW_EXIT_OK);
    assert_string_equal(err_text, "");
    for (int i = 0; i < 2; i++) {
        const cJSON *s = system_of(i, &whole), *cycles = member(member(s, "planes"), "cycles");
        assert_true(number(s, "wrong") == 0 && number(s, "flit_errors") == 0);
        assert_true(number(s, "cycles") == one[i]);
        assert_int_equal(cJSON_GetArraySize(cycles), 3);
        for (int p = 0; p < 3; p++)
            assert_true(cJSON_GetArrayItem(cycles, p)->valuedouble == one[i]);
        cJSON_Delete(whole);
    }
}

static void runs_every_plane(void **state)
{
    (void)state;
    runs_every_plane_of("bf16");
    runs_every_plane_of("e4m3-tensor");
    runs_every_plane_of("e4m3");
}

/// Control characters of a name do not reach a terminal.
static void shows_names(void **state)
{
    (void)state;
    static const char text[] =
        "{\"name\": \"m\\u001b[2J\", \"gpus\": 2, \"planes\": 3, \"link_gbytes_per_s\": 24, "
        "\"link_latency_ns\": 10, \"memory_gbytes_per_s\": 999, \"tflops\": {\"bf16\": 1}, "
        "\"source\": \"s\"}";
    const char *path = scratch("terminal.json");
    write_file(path, text, sizeof text - 1);
    assert_int_equal(run_command("run " LAYER "--hardware %s --system dysharp", path), MW_EXIT_OK);
    assert_non_null(strstr(out_text, "one plane of 3"));
    assert_null(strchr(out_text, '\033'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_phases),       cmocka_unit_test(runs_every_plane),
        cmocka_unit_test(warns_of_few_credits), cmocka_unit_test(refuses_what_does_not_divide),
        cmocka_unit_test(shows_names),
    };
    return cmocka_run_group_tests_name("machine", tests, set_up, scratch_remove);
}
