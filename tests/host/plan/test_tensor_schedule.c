// SPDX-License-Identifier: Apache-2.0
//
// Schedules of tensor-parallel streams: times worked out by hand, every system on every workload,
// and runs of the RTL.
#include "host/support.h"

#include "cost/tensor_schedule.h"

#include <math.h>

static struct mw_tp_problem problem(enum mw_tp_kind kind, unsigned gpus, unsigned rows)
{
    return (struct mw_tp_problem){.o = {.kind = kind, .rows = rows, .merge_entries = 320},
                                  .gpus = gpus,
                                  .hidden = 512,
                                  .flit_bytes = 16,
                                  .link_cycles = 1,
                                  .tile = 4,
                                  .cycles = {32, 32, 32}};
}

static double cycles_of(const char *system, const struct mw_tp_problem *p, unsigned latency)
{
    return mw_tensor_schedule(p, mw_tp_system_find(system), latency);
}

static bool between(double value, double low, double high)
{
    return value >= low && value <= high;
}

/// A phase follows another one: 64 rows of the engine, then 8 x 7 of the uplink with 72 flits each.
static void phases_by_hand(void **state)
{
    (void)state;
    const struct mw_tp_problem p = problem(MW_TP_GEMM_RS, 8, 64);
    const double sum = 64 * 32 + 7 * 8 * 72 + 8;
    assert_true(between(cycles_of("nvls", &p, 1), sum, sum + 400));
    // own terms: 8 rows of 64 flits, and a cycle for each
    const double terms = 64 * 32 + 8 * (64 + 1) + 7 * 8 * 72;
    assert_true(between(cycles_of("cais-base", &p, 1), terms, terms + 400));
}

/// A home's port gets every row that others add, and every row that its GPU loads. Of the former
/// only sums leave it.
static void ports_add_up_what_comes(void **state)
{
    (void)state;
    const struct mw_tp_problem p = problem(MW_TP_GEMM_AR, 8, 320);
    const double rows = 2 * 7 * 40 * 72;
    assert_true(between(cycles_of("cais", &p, 1), rows, 1.1 * rows));
    assert_true(cycles_of("cais-base", &p, 1) > rows + 320 * 32);
}

/// Links that packets cross in sequence, and the link of the last credit. With one row of each GPU,
/// a layer of the RTL gets longer by that many cycles if each link takes one cycle more.
static void crossings_by_hand(void **state)
{
    (void)state;
    enum { SUM = 4, MULTICAST = 2, LOAD = 6, ADD = 2, BARRIER = 2, CREDIT = 1 };
    static const struct {
        const char *system;
        enum mw_tp_kind kind;
        unsigned crossings;
    } of[] = {
        {"nvls", MW_TP_GEMM_RS, BARRIER + SUM + CREDIT},
        {"nvls", MW_TP_GEMM_AR, BARRIER + SUM + MULTICAST + 2 + CREDIT}, // 2: the acknowledgement
        {"tiles", MW_TP_GEMM_RS, SUM + CREDIT},
        {"tiles", MW_TP_GEMM_AR, SUM + MULTICAST + CREDIT},
        {"tiles", MW_TP_SUBLAYER, SUM + MULTICAST + CREDIT},
        {"cais-ordered", MW_TP_AG_GEMM, LOAD + CREDIT},
        {"cais-ordered", MW_TP_GEMM_AR, SUM + LOAD + CREDIT},
        {"cais-ordered", MW_TP_SUBLAYER, SUM + LOAD + CREDIT},
        {"cais", MW_TP_GEMM_RS, BARRIER + ADD + CREDIT},
        {"cais", MW_TP_GEMM_AR, BARRIER + ADD + LOAD + CREDIT},
        {"cais", MW_TP_SUBLAYER, BARRIER + ADD + LOAD + CREDIT},
        {"cais-base", MW_TP_GEMM_AR, BARRIER + ADD + BARRIER + LOAD - 2 + CREDIT}, // 2: SYNC
    };
    for (unsigned i = 0; i < sizeof of / sizeof *of; i++) {
        const struct mw_tp_problem p = problem(of[i].kind, 8, 8);
        const double more = cycles_of(of[i].system, &p, 1500) - cycles_of(of[i].system, &p, 500);
        assert_true(fabs(more - of[i].crossings * 1000.0) < 1e-6);
    }
}

/// A started tile takes the time of all its rows.
static void tiles_are_whole(void **state)
{
    (void)state;
    struct mw_tp_problem p = problem(MW_TP_SUBLAYER, 8, 64);
    p.cycles[MW_TP_LN] = 1000;
    const double some = cycles_of("chain", &p, 1);
    p.tile = 1; // eight ranges with one own row each: eight tiles of LN
    assert_true(between(some - cycles_of("chain", &p, 1), 8 * 3 * 900, 8 * 3 * 1100));
}

/// The engine and the links each bound every system from below.
static void bounds_hold(void **state)
{
    (void)state;
    for (unsigned kind = MW_TP_AG_GEMM; kind < MW_TP_KINDS; kind++)
        for (unsigned gpus = 2; gpus <= 32; gpus *= 2)
            for (unsigned i = 0; i < MW_TP_SYSTEMS; i++) {
                const struct mw_tp_problem p = problem((enum mw_tp_kind)kind, gpus, 12 * gpus);
                const struct mw_tp_system *s = mw_tp_systems[i];
                if (mw_tp_unfit(&p, s))
                    continue;
                const double cycles = mw_tensor_schedule(&p, s, 5);
                const double rows = kind == MW_TP_SUBLAYER ? 2.125 : 1;
                assert_true(cycles >= 12 * gpus * 32 * (kind == MW_TP_SUBLAYER ? 2 : 1));
                assert_true(cycles >= 12 * (gpus - 1) * 72);
                assert_true(cycles <= 40 * rows * 12 * gpus * 72 + 10000);
            }
}

/// Rows of a GEMM may take more cycles than an instruction can hold, and be as many as in runs.
static void sizes_have_no_limit(void **state)
{
    (void)state;
    struct mw_tp_problem p = problem(MW_TP_SUBLAYER, 8, MW_TP_MOST_ROWS);
    for (unsigned i = 0; i < MW_TP_PARTS; i++)
        p.cycles[i] = 100000;
    for (unsigned i = 0; i < MW_TP_SYSTEMS; i++)
        assert_true(between(mw_tensor_schedule(&p, mw_tp_systems[i], 2047),
                            2.0 * MW_TP_MOST_ROWS * 100000, 2.5 * MW_TP_MOST_ROWS * 100000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_by_hand),    cmocka_unit_test(ports_add_up_what_comes),
        cmocka_unit_test(crossings_by_hand), cmocka_unit_test(tiles_are_whole),
        cmocka_unit_test(bounds_hold),       cmocka_unit_test(sizes_have_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
