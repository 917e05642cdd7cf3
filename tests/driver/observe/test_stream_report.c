// SPDX-License-Identifier: Apache-2.0
//
// The streams in the report of a stuck device. The report has the instruction that each waits for,
// by its register and its operands in GPU memory, and what the GPU has reached.
#include "driver/fake_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPU = 1, WAITING = MW_NODE__STATUS__STREAM0__WAITING_bm };

static const unsigned SOME[4] = {2, 2, 2, 2};
static struct mw_stream stream[4];

/// Start a layer that does not end, with these streams.
static void start(void)
{
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    c.tile = 5;
    c.in_flight = 3;
    fake.stuck = true;
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_code(mw_stream_load(device, &l, stream, 1), 0);
    assert_code(mw_layer_configure(device, &c, &l, SOME, SOME, 1), 0);
    assert_code(mw_launch(device), 0);
}

static void at(unsigned index, unsigned op, unsigned bits)
{
    *fake_node(&fake, GPU, NODE(status.stream0)) = index << 8 | op << 16 | bits;
}

/// The report must have this of stream 0 of that GPU.
static void assert_line_is(const char *what)
{
    char line[300];
    snprintf(line, sizeof line, "\nGPU %d stream 0: %s\n", GPU, what);
    char *text = mw_state_report(device);
    assert_non_null(text);
    if (!strstr(text, line))
        fail_msg("\"%s\" does not say \"%s\"", text, line);
    free(text);
}

/// Make the streams of all GPUs: that of GPU 1 waits for each of these instructions.
static void make_streams(void)
{
    for (unsigned g = 0; g < 4; g++)
        mw_stream_init(&stream[g]);
    struct mw_stream *s = &stream[GPU];
    mw_stream_wait(s, MW_EV_SW3, 4);
    mw_stream_wait(s, MW_EV_ROWS, 40);
    mw_stream_wait(s, MW_EV_ROWS_DONE, 1);
    mw_stream_poll(s, MW_EV_TOKENS, 2, 60);
    mw_stream_wait(s, MW_EV_SW23, 5);
    mw_stream_delay(s, 70);
    mw_stream_count(s, 0, 2, false);
    mw_stream_prefix(s);
    mw_stream_signal(s, MW_EV_SW8);
    mw_stream_flag(s, MW_EV_SW7, false);
    mw_stream_fence(s);
    mw_stream_order(s, 0, 2, 0);
    mw_stream_dymultimem_st(s, 0, 2);
    mw_stream_st(s, 1, 1);
    mw_stream_st_linear(s, 3, 0x10, 0x20, 0x30);
    mw_stream_multimem_st(s, 11, 0x40, 0x50, 0x300000060);
    mw_stream_multimem_red(s, 11, 0x40, 0x50, 0x60);
    mw_stream_expert(s, 0);
    mw_stream_expert_rows(s);
    mw_stream_expert_range(s, 1, 2);
    mw_stream_expert_gathered(s, 3, 4);
    mw_stream_expert_landed(s, 6);
    mw_stream_expert_homes(s, 1, 1, false);
    mw_stream_dymultimem_ld_reduce(s, 0, 2, true);
    mw_stream_multimem_ld_reduce(s, 14, 0x70, 0x80, 0x90);
    mw_stream_sum_st(s, 1, 2);
    mw_stream_sum(s, 0, 2, false);
    mw_stream_sum(s, 0, 0, true);
    mw_stream_sync(s, 0, 4);
    mw_stream_sync_pushes(s, 2, 4, 4);
    mw_stream_ld_cais(s, 0, 8, 0, 0);
    mw_stream_ld_cais(s, 8, 8, 4, 0);
    for (unsigned g = 0; g < 4; g++)
        mw_stream_end(&stream[g]);
}

static void every_instruction(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "wait, waiting: event counter SW3 >= 4, which no register shows",
        "wait, waiting: event counter ROWS >= 40, which is 17",
        "wait, waiting: event counter ROWS_DONE >= 1, which is 0",
        "wait, waiting: event counter TOKENS >= 2, which is 1; then 60 cycles",
        "wait, waiting: event counter SW23 >= 5, which no register shows",
        "delay, waiting: 70 cycles",
        "count, waiting: tokens 0 to 1",
        "prefix, waiting: copy counts",
        "signal, waiting: event counter SW8",
        "flag, waiting: event counter SW7",
        "fence, waiting: stores of this GPU",
        "order, waiting: tokens 0 to 1",
        "dymultimem.st, waiting: tokens 0 to 1; at most 3 in flight, 1 finished",
        "st, waiting: tokens 1 to 1; at most 3 in flight, 1 finished",
        "st.linear, waiting: 32 bytes from 0x10 to 0x30, GPU 3",
        "multimem.st, waiting: 80 bytes from 0x40 to 0x300000060, group 11",
        "multimem.red, waiting: 80 bytes from 0x40 to 0x60, group 11",
        "expert, waiting: rows as they arrive; tiles of 5 rows, 9 started; 17 rows complete",
        "expert.rows, waiting: all rows; tiles of 5 rows, 9 started; 17 rows complete",
        "expert.rows, waiting: tokens 1 to 2 of each home; tiles of 5 rows, 9 started; 17 rows "
        "complete",
        "expert.rows, waiting: gathered tokens 3 to 6; tiles of 5 rows, 9 started; 17 rows "
        "complete",
        "expert.rows, waiting: the next 6 loaded rows; tiles of 5 rows, 9 started; 17 rows "
        "complete",
        "expert.rows, waiting: tokens 1 to 1 of each home; tiles of 5 rows, 9 started; 17 rows "
        "complete",
        "dymultimem.ld_reduce, waiting: tokens 0 to 1; 1 finished",
        "multimem.ld_reduce, waiting: 128 bytes from 0x70 to 0x90, group 14",
        "sum.st, waiting: tokens 1 to 2 of each home",
        "sum, waiting: tokens 0 to 1",
        "sum, waiting: no tokens",
        "sync, waiting: own rows 0 to 3",
        "sync, waiting: tile of GPU 2, rows 4 to 7",
        "ld.cais, waiting: rows 0 to 7 of each home",
        "ld.cais, waiting: rows 8 to 15 of each home, SYNC tiles of 4 rows",
    };
    enum { COUNT = sizeof expected / sizeof *expected };
    fake_open_with_all();
    make_streams();
    assert_int_equal(stream[GPU].count, COUNT + 1);
    start();
    *fake_node(&fake, GPU, NODE(status.rows_received)) = 17;
    *fake_node(&fake, GPU, NODE(status.tokens_done)) = 1;
    *fake_node(&fake, GPU, NODE(status.expert_tiles)) = 9;
    for (unsigned i = 0; i < COUNT; i++) {
        const unsigned op = stream[GPU].instr[i].op, next = stream[GPU].instr[i + 1].op;
        const bool polls = op == MW_I_WAIT || op == MW_I_DELAY;
        char line[300];
        if (op == next && !polls)
            snprintf(line, sizeof line, "instruction %u (or %u) %s", i, i + 1, expected[i]);
        else
            snprintf(line, sizeof line, "instruction %u %s", i, expected[i]);
        at(i + 1, op, WAITING);
        assert_line_is(line);
    }
    *fake_node(&fake, GPU, NODE(status.state)) = MW_NODE__STATUS__STATE__ROWS_DONE_bm;
    at(3, MW_I_WAIT, WAITING);
    assert_line_is("instruction 2 wait, waiting: event counter ROWS_DONE >= 1, which is 1");
}

/// An instruction that waits for its unit was not issued yet.
static void before_its_unit(void **state)
{
    (void)state;
    fake_open_with_all();
    make_streams();
    start();
    at(6, MW_I_COUNT, WAITING);
    assert_line_is("instruction 6 count, waiting: tokens 0 to 1");
    mw_stream_init(&stream[GPU]);
    mw_stream_fence(&stream[GPU]);
    mw_stream_end(&stream[GPU]);
    assert_code(mw_reset(device), 0);
    start();
    at(0, MW_I_FENCE, WAITING);
    assert_line_is("instruction 0 fence, waiting: stores of this GPU");
}

/// Without its operands the line has the opcode of the register.
static void without_operands(void **state)
{
    (void)state;
    fake_open_with_all();
    make_streams();
    at(6, MW_I_COUNT, WAITING);
    assert_line_is("instruction 6 count, waiting"); // no layer runs
    start();
    at(6, MW_I_COUNT, 0); // it fetches its next instruction
    assert_line_is("instruction 6 count");
    at(7, MW_I_END, MW_NODE__STATUS__STREAM0__ENDED_bm);
    assert_line_is("instruction 7 end, ended");
    at(6, MW_I_FENCE, WAITING); // memory has another one
    assert_line_is("instruction 6 fence, waiting");
    at(6, MW_I_COUNT, WAITING);
    *fake_fabric(&fake, FABRIC(down)) = 1 << GPU; // its memory does not answer
    assert_line_is("instruction 6 count, waiting");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_instruction),
        TEST(before_its_unit),
        TEST(without_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
