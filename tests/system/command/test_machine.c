// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch run --hardware` with the device behind it: a machine of two GPUs whose cycle is a
// nanosecond.
#include "system/command.h"

#include <math.h>

#define LAYER "--flit-bytes 8 --experts 8 --k 2 --hidden 512 --tokens-per-gpu 32 --tile 4 "

static char machine[300], json[300];

static int set_up(void **state)
{
    static const char text[] =
        "{\"name\": \"m\", \"gpus\": 2, \"planes\": 3, \"link_gbytes_per_s\": 24, "
        "\"link_latency_ns\": 10, \"memory_gbytes_per_s\": 999, \"tflops\": {\"bf16\": 1}, "
        "\"source\": \"s\"}";
    int status = scratch_make(state);
    snprintf(machine, sizeof machine, "%s", scratch("machine.json"));
    snprintf(json, sizeof json, "%s", scratch("report.json"));
    write_file(machine, text, sizeof text - 1);
    return status;
}

/// A system of the report; `whole` must be freed by cJSON_Delete.
static const cJSON *system_of(int number, cJSON **whole)
{
    *whole = read_json(json);
    return cJSON_GetArrayItem(member(*whole, "systems"), number);
}

static bool is_null(const cJSON *system, const char *key)
{
    return cJSON_IsNull(member(system, key));
}

/// Phases add up to the layer; where they overlap there are none. Watching them, with --timeline
/// too, takes no cycle.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_phases),
    };
    return cmocka_run_group_tests_name("machine", tests, set_up, scratch_remove);
}
