// SPDX-License-Identifier: Apache-2.0
//
// Workloads on devices that lack a primitive or room: refused by name, before anything runs.
#include "fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric_regs.h"
#include "run/run.h"
#include "systems/systems.h"
#include "tp_run/tp_run.h"

enum { GPUS = 2 };

/// The options of a run on a device with these primitives.
static void on_device(struct mw_run_params *params, struct fake *fake, uint32_t primitives,
                      int words, char **argv, struct mw_error *err)
{
    bool help;
    fake_init(fake, GPUS, 8);
    *fake_fabric(fake, offsetof(mw_fabric_t, primitives)) = primitives;
    assert_int_equal(mw_run_parse(params, words, argv, &help, err), 0);
    params->device = (struct mw_device_choice){.custom = &fake_transport, .custom_context = fake};
}

/// Run `workload` under `system` on a device with these primitives. Returns the line of the error.
static const char *refused(char *workload, const char *system, char *rows, uint32_t primitives)
{
    static struct mw_error err;
    static struct mw_run_params params;
    static struct fake fake;
    char *argv[] = {"run", "--workload",   workload, "--gpus",   "2",   "--rows",
                    rows,  "--flit-bytes", "8",      "--hidden", "512", NULL};
    struct mw_tp_problem problem;
    struct mw_tp_result r = {.system = mw_tp_system_find(system)};
    on_device(&params, &fake, primitives, sizeof argv / sizeof *argv - 1, argv, &err);
    assert_int_equal(mw_tp_prepare(&params, &problem, &err), 0);
    assert_int_equal(mw_tp_device_run(&params, &problem, &r, &err), MW_EXIT_INPUT);
    assert_int_equal(fake.go, 0);
    assert_int_equal(fake.closed, 1);
    fake_free(&fake);
    return err.text;
}

static void a_missing_primitive_is_named(void **state)
{
    (void)state;
    static const struct {
        uint32_t bit;
        const char *system, *name;
    } needs[] = {{MW_FABRIC__PRIMITIVES__GATHERED_bm, "chain", "gathered"},
                 {MW_FABRIC__PRIMITIVES__MORE_EVENTS_bm, "chain", "more_events"},
                 {MW_FABRIC__PRIMITIVES__DELAY_bm, "chain", "delay"},
                 {MW_FABRIC__PRIMITIVES__MULTIMEM_RED_bm, "t3", "multimem_red"},
                 {MW_FABRIC__PRIMITIVES__MULTIMEM_RED_bm, "ring", "multimem_red"},
                 {MW_FABRIC__PRIMITIVES__TILE_REDUCTIONS_bm, "tiles", "tile_reductions"},
                 {MW_FABRIC__PRIMITIVES__MERGE_REDS_bm, "cais", "merge_reds"}};
    for (unsigned i = 0; i < sizeof needs / sizeof *needs; i++) {
        char line[320];
        snprintf(line, sizeof line,
                 "%s: the device lacks the primitive %s (moeswitch info lists its primitives): the "
                 "model of make model has it: leave out --set small=1 and MOESWITCH_MODEL",
                 needs[i].system, needs[i].name);
        assert_string_equal(refused("gemm-ar", needs[i].system, "8", ~needs[i].bit), line);
    }
}

/// Check that a device with these primitives holds a small MoE layer under `moeswitch`.
static int checked(uint32_t primitives, char *setting, struct mw_error *err)
{
    static struct mw_run_params params;
    static struct fake fake;
    char *argv[] = {"run",      "--gpus",    "2",      "--hidden", "512",   "--flit-bytes", "8",
                    "--system", "moeswitch", "--tile", "1",        "--set", setting,        NULL};
    uint64_t touched[MW_SYSTEMS];
    struct mw_left_out left_out[MW_SYSTEMS];
    on_device(&params, &fake, primitives, sizeof argv / sizeof *argv - 1, argv, err);
    const struct mw_demand demand = {.shape = params.shape,
                                     .k = 2,
                                     .experts = 4,
                                     .layers = 1,
                                     .rows_per_expert = 8,
                                     .rows_per_list = 8,
                                     .received_rows = 8,
                                     .rows = 32,
                                     .received = 16};
    const int status = mw_systems_check(&params, &demand, false, touched, left_out, err);
    fake_free(&fake);
    return status;
}

/// Hubs that cannot balance partial sums run the same packets, unless the setting asks for it.
static void moeswitch_runs_without_balance(void **state)
{
    (void)state;
    const uint32_t all = UINT32_MAX, none = ~MW_FABRIC__PRIMITIVES__BALANCE_ROWS_bm;
    struct mw_error err = {0};
    assert_int_equal(checked(all, "balance_rows=1", &err), MW_EXIT_OK);
    assert_int_equal(checked(none, "token_order=1", &err), MW_EXIT_OK);
    assert_int_equal(checked(none, "balance_rows=0", &err), MW_EXIT_OK);
    assert_int_equal(checked(none, "balance_rows=1", &err), MW_EXIT_INPUT);
    assert_non_null(strstr(err.text, "balance_rows: this device's hubs serve all GPUs in turn"));
}

/// A memory of a MB holds no 2 000 rows of a KB, three times in and out.
static void rows_need_room(void **state)
{
    (void)state;
    const char *line = refused("sublayer", "chain", "2000", UINT32_MAX);
    assert_non_null(strstr(line, "the device cannot hold this run: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_missing_primitive_is_named),
                                       cmocka_unit_test(moeswitch_runs_without_balance),
                                       cmocka_unit_test(rows_need_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
