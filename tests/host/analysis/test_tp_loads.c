// SPDX-License-Identifier: Apache-2.0
//
// Streams of cais-ordered: the rows of a range, the events that loads wait for, and tables that are
// too small for a tile.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tp/streams.h"

/// 352 rows on 8 GPUs.
static struct mw_tp_problem problem(enum mw_tp_kind kind)
{
    return (struct mw_tp_problem){.o = {.kind = kind, .rows = 352, .merge_entries = 32},
                                  .gpus = 8,
                                  .hidden = 512,
                                  .flit_bytes = 16,
                                  .link_cycles = 1,
                                  .tile = 4,
                                  .seed = 7};
}

static struct mw_tp_problem sublayer(uint64_t cycles, unsigned link_cycles, unsigned tile)
{
    struct mw_tp_problem p = problem(MW_TP_SUBLAYER);
    p.link_cycles = link_cycles;
    p.tile = tile;
    for (unsigned i = 0; i < MW_TP_PARTS; i++)
        p.cycles[i] = cycles;
    return p;
}

/// The streams of a GPU, and their ranges.
static unsigned make(const struct mw_tp_problem *p, unsigned gpu, struct mw_stream *s)
{
    const struct mw_layout layout = {.row_shift = 10, .token_shift = 12};
    const struct mw_tp_system *system = mw_tp_system_find("cais-ordered");
    const struct mw_tp_at at = {p, &layout, gpu, system->ranges(p), 0, NULL};
    for (unsigned k = 0; k < MW_STREAMS; k++)
        mw_stream_init(&s[k]);
    system->make(&at, s);
    return at.ranges;
}

struct counts {
    unsigned ranges, gemms, norms, landed;
};

static struct counts count(const struct mw_tp_problem *p)
{
    struct mw_stream s[MW_STREAMS];
    struct counts c = {.ranges = make(p, 0, s)};
    for (unsigned k = 0; k < MW_STREAMS; k++)
        for (unsigned i = 0; i < s[k].count; i++) {
            c.gemms += s[k].instr[i].op == MW_I_EXPERT_ROWS && s[k].instr[i].flags == 7;
            c.norms += s[k].instr[i].op == MW_I_SYNC;
            c.landed += s[k].instr[i].op == MW_I_EXPERT_ROWS && s[k].instr[i].flags == 3;
        }
    return c;
}

/// Ranges of two rows, unless the engine has no time for so many changes of instructions, or for LN
/// in tiles that are not full. GEMM-2 computes the last of them row by row, if that fills tiles.
static void ranges_are_as_small_as_the_engine_allows(void **state)
{
    (void)state;
    static const struct {
        unsigned cycles, link_cycles, tile, gemms, norms, landed;
    } cases[] = {{64, 2, 1, 22, 22, 29}, {64, 2, 4, 22, 22, 29},   {64, 2, 16, 22, 6, 22},
                 {32, 1, 1, 11, 11, 11}, {32, 1, 4, 11, 11, 11},   {32, 1, 16, 11, 5, 11},
                 {16, 1, 4, 22, 22, 29}, {1000, 1, 4, 22, 22, 29}, {0, 1, 4, 22, 22, 29},
                 {64, 2, 32, 11, 3, 11}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct mw_tp_problem p =
            sublayer(cases[i].cycles, cases[i].link_cycles, cases[i].tile);
        const struct counts c = count(&p);
        assert_int_equal(c.ranges, cases[i].gemms);
        assert_int_equal(c.gemms, cases[i].gemms);
        assert_int_equal(c.norms, cases[i].norms);
        assert_int_equal(c.landed, cases[i].landed);
    }
}

/// One ld.cais has all rows, and every row is offered once, in order. GEMM-2 waits for as many rows
/// as it uses, so that the engine is free for LN. The last rows wait for GEMM-1 and LN.
static void loads_follow_the_offers(void **state)
{
    (void)state;
    const struct mw_tp_problem p = sublayer(64, 2, 4);
    struct mw_stream s[MW_STREAMS];
    unsigned loads = 0, offered = 2 * 44, landed = 0, rows = 0, done = 0, waited = 0;
    assert_int_equal(make(&p, 3, s), 22);
    for (unsigned k = 0; k < MW_STREAMS; k++)
        for (unsigned i = 0; i < s[k].count; i++) {
            const struct mw_instr *in = &s[k].instr[i];
            if (in->op == MW_I_LD_CAIS) {
                loads++;
                assert_true(in->a == 2 * 44 && in->b == 44 && in->imm == 2);
                assert_int_equal(in->flags, MW_LOAD_BESIDE);
            } else if (in->op == MW_I_SYNC) {
                assert_int_equal(in->a, offered);
                offered += in->b;
                assert_int_equal(s[k].instr[i - 1].op, MW_I_EXPERT_ROWS);
            } else if (in->op == MW_I_WAIT && in->imm == MW_EV_ROWS) {
                rows = in->a;
            } else if (in->op == MW_I_WAIT && in->imm == MW_EV_SW2) {
                waited = in->a;
            } else if (in->op == MW_I_FLAG) {
                done++;
            } else if (in->op == MW_I_EXPERT_ROWS && in->flags == 3) {
                landed += in->b;
                assert_true(landed == rows || waited == 2);
            }
        }
    assert_int_equal(loads, 1);
    assert_int_equal(offered, 3 * 44);
    assert_int_equal(landed, 352);
    assert_int_equal(done, 2);
}

/// The most rows of each home that GEMM-1 may have reported before their sums arrive.
static unsigned lead(const struct mw_tp_problem *p)
{
    unsigned sums = 0, most = 0;
    struct mw_stream s[MW_STREAMS];
    make(p, 0, s);
    for (unsigned i = 0; i < s[MW_TP_FIRST].count; i++) {
        const struct mw_instr *in = &s[MW_TP_FIRST].instr[i];
        if (in->op == MW_I_WAIT && in->imm != MW_EV_SW2)
            sums = in->a;
        else if (in->op == MW_I_EXPERT_ROWS && in->flags == 7 && in->a + in->b - sums > most)
            most = in->a + in->b - sums;
    }
    return most;
}

/// The lead is short for ranges of any length: loads wait for the sums of all rows that are
/// reported. It is longer if the engine also computes GEMM-2.
static void sums_are_not_far_behind(void **state)
{
    (void)state;
    struct mw_tp_problem p = sublayer(64, 2, 4);
    assert_int_equal(lead(&p), 12);
    p = sublayer(32, 1, 4);
    assert_int_equal(lead(&p), 12);
    p.o.rows = 704;
    assert_int_equal(lead(&p), 12);
    p.o.rows = 1408;
    assert_int_equal(lead(&p), 12);
    p.o.rows = 6464; // ranges of eight rows
    assert_int_equal(lead(&p), 16);
    p = problem(MW_TP_GEMM_AR);
    assert_int_equal(lead(&p), 8);
    p = sublayer(64, 2, 4); // more GPUs share what eight have
    p.gpus = 16;
    assert_int_equal(lead(&p), 6);
}

/// Loads that all GPUs send together fit into the table. After sums these are of two rows.
static void tables_hold_a_tile_of_loads(void **state)
{
    (void)state;
    struct mw_error err = {0};
    struct mw_tp_problem p = problem(MW_TP_AG_GEMM);
    p.o.merge_entries = p.tile;
    assert_int_equal(mw_tp_check(&p, &err), MW_EXIT_OK);
    p.o.merge_entries = 0;
    assert_int_equal(mw_tp_check(&p, &err), MW_EXIT_OK);
    p.o.merge_entries = p.tile - 1;
    assert_int_equal(mw_tp_check(&p, &err), MW_EXIT_INPUT);
    p.o.no_sync = true;
    assert_int_equal(mw_tp_check(&p, &err), MW_EXIT_OK);
    p.o.no_sync = false;
    p.o.load_bytes = 256; // four of a row
    p.o.merge_entries = 4 * p.tile;
    assert_int_equal(mw_tp_check(&p, &err), MW_EXIT_OK);
    p.o.merge_entries--;
    assert_int_equal(mw_tp_check(&p, &err), MW_EXIT_INPUT);
    assert_string_equal(err.text, "--merge-entries 15: fewer than the 16 loads that all GPUs make "
                                  "together: expected as many, 0, or --no-sync");
    p = problem(MW_TP_SUBLAYER);
    p.o.merge_entries = MW_TP_SYNC_ROWS;
    assert_int_equal(mw_tp_check(&p, &err), MW_EXIT_OK);
    p.o.merge_entries = MW_TP_SYNC_ROWS - 1;
    assert_int_equal(mw_tp_check(&p, &err), MW_EXIT_INPUT);
}

static void assert_refused_entries(const struct mw_tp_problem *p, unsigned entries,
                                   const char *line)
{
    struct mw_error err = {0};
    assert_int_equal(mw_tp_check_entries(p, entries, &err), line ? MW_EXIT_INPUT : MW_EXIT_OK);
    if (line)
        assert_string_equal(err.text, line);
}

/// An option may request no more entries than the device has. Without one there may be fewer than
/// usual, but not fewer than a tile has rows.
static void devices_may_have_small_tables(void **state)
{
    (void)state;
    struct mw_tp_problem p = problem(MW_TP_AG_GEMM);
    p.o.merge_entries = 32;
    assert_refused_entries(&p, 31, NULL);
    p.o.entries_given = true;
    assert_refused_entries(&p, 32, NULL);
    assert_refused_entries(&p, 31,
                           "--merge-entries 32: expected at most the 31 of the device's "
                           "tables");
    p.o.entries_given = false;
    p.tile = 5;
    assert_refused_entries(&p, 5, NULL);
    assert_refused_entries(&p, 4,
                           "--workload ag-gemm: the device's tables have 4 entries, fewer than the "
                           "5 loads that all GPUs make together: expected --merge-entries 0, or "
                           "--no-sync");
    p.o.load_bytes = 512;
    assert_refused_entries(&p, 10, NULL);
    assert_refused_entries(&p, 9,
                           "--workload ag-gemm: the device's tables have 9 entries, fewer than the "
                           "10 loads that all GPUs make together: expected --merge-entries 0, or "
                           "--no-sync");
    p.o.merge_entries = 0;
    assert_refused_entries(&p, 4, NULL);
    p = problem(MW_TP_SUBLAYER);
    assert_refused_entries(&p, MW_TP_SYNC_ROWS, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_as_small_as_the_engine_allows),
        cmocka_unit_test(loads_follow_the_offers),
        cmocka_unit_test(sums_are_not_far_behind),
        cmocka_unit_test(tables_hold_a_tile_of_loads),
        cmocka_unit_test(devices_may_have_small_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
