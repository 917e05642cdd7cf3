// SPDX-License-Identifier: Apache-2.0
//
// The firmware's queue of layers on this machine, with a device in memory (fake.h). Layers start
// one after another with their own registers. Checked: their records, and the time at which FED
// answers. Also the effect of a failure, of a reset by the host, and of a late layer on the queue.
#include "fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "command.h"
#include "log.h"
#include "watch.h"

enum { XS = MW_MAP_NODES_ALL + offsetof(mw_node_t, xs_base) };

static struct board board;
static struct feed feed;
static struct watch watch;

static uint32_t *fabric(size_t offset)
{
    return &fake.regs.fabric[offset / 4];
}
#define STATE fabric(offsetof(mw_fabric_t, state))

static void begin(void)
{
    fake_reset();
    fake.no_streams = fake.never_done = true;
    log_open();
    log_clear();
    assert_true(board_find(&board));
    feed_begin(&feed);
    watch_begin(&watch);
}

static void put_registers(const struct mw_frame_register *list, unsigned count)
{
    memcpy(&fake.regs.soc[offsetof(mw_soc_t, mbox_command) / 4], list, count * sizeof *list);
}

/// FEED of a layer that sets xs_base to `value` everywhere, and the epoch. Returns the status.
static unsigned add(uint32_t value, bool sweep, uint32_t *number)
{
    const struct mw_frame_register list[] = {{XS, value},
                                             {offsetof(mw_fabric_t, epoch), value & 3}};
    unsigned words;
    put_registers(list, 2);
    fake_command(MW_FRAME_FEED, sweep, 2);
    command_poll(&feed, &board, true);
    *number = fake.regs.soc[offsetof(mw_soc_t, mbox_reply_lo) / 4];
    return fake_reply(&words);
}

static void must_add(uint32_t value, bool sweep, uint32_t number)
{
    uint32_t got;
    assert_int_equal(add(value, sweep, &got), MW_STATUS_OK);
    assert_int_equal(got, number);
}

/// FED without a timeout. Returns its status. `record` gets the record, `count` whether there was
/// one.
static unsigned ask(uint32_t number, struct mw_frame_fed *record, unsigned *count)
{
    unsigned words;
    fake.regs.soc[offsetof(mw_soc_t, mbox_count) / 4] = 0;
    fake_command(MW_FRAME_FED, number, 0);
    command_poll(&feed, &board, true);
    unsigned status = fake_reply(&words);
    *count = fake.regs.soc[offsetof(mw_soc_t, mbox_reply_count) / 4];
    assert_int_equal(words * 8, status || !*count ? 0 : sizeof *record);
    memcpy(record, &fake.regs.soc[offsetof(mw_soc_t, mbox_reply) / 4], sizeof *record);
    return status;
}

static void expect(uint32_t number, unsigned outcome)
{
    struct mw_frame_fed r;
    unsigned count;
    assert_int_equal(ask(number, &r, &count), MW_STATUS_OK);
    assert_int_equal(count, 1);
    assert_int_equal(r.number, number);
    assert_int_equal(r.outcome, outcome);
}

/// The record of a layer that did not run.
static void expect_unstarted(uint32_t number, unsigned outcome)
{
    struct mw_frame_fed r;
    unsigned count;
    assert_int_equal(ask(number, &r, &count), MW_STATUS_OK);
    assert_int_equal(count, 1);
    assert_int_equal(r.outcome, outcome);
    assert_int_equal(r.start, 0);
    assert_int_equal(r.cycles, 0);
    assert_int_equal(r.error, 0);
}

static void expect_none(uint32_t number, unsigned status)
{
    struct mw_frame_fed r;
    unsigned count;
    assert_int_equal(ask(number, &r, &count), status);
    assert_int_equal(count, 0);
}

static void poll(void)
{
    watch_poll(&watch, &board, feed_busy(&feed));
    feed_poll(&feed, &board);
}

/// Ends the running layer.
static void end_layer(uint32_t cycles)
{
    assert_int_equal(*STATE, MW_FABRIC__STATE__BUSY_bm);
    *STATE = MW_FABRIC__STATE__DONE_bm;
    *fabric(offsetof(mw_fabric_t, cycles)) = cycles;
}

static void expect_running(uint32_t value, unsigned layers)
{
    assert_int_equal(fake.layers, layers);
    for (unsigned g = 0; g < FAKE_GPUS; g++)
        assert_int_equal(fake.regs.node[g][offsetof(mw_node_t, xs_base) / 4], value);
    assert_int_equal(*fabric(offsetof(mw_fabric_t, epoch)), value & 3);
}

static void test_queue(void **state)
{
    (void)state;
    begin();
    uint32_t number;
    uint64_t last = 0;
    for (unsigned i = 0; i < MW_HOST_FEED_LAYERS; i++)
        must_add(100 + i, false, i);
    assert_int_equal(add(7, false, &number), MW_STATUS_STATE);
    for (unsigned i = 0; i < 20; i++) {
        poll();
        poll();
        expect_running(100 + i, i + 1);
        expect_none(i, MW_STATUS_OK);
        end_layer(1000 + i);
        poll();
        expect(i, MW_FED_DONE);
        must_add(100 + i + MW_HOST_FEED_LAYERS, false, i + MW_HOST_FEED_LAYERS);
        struct mw_frame_fed r;
        unsigned count;
        assert_int_equal(ask(i, &r, &count), MW_STATUS_OK);
        assert_int_equal(r.cycles, 1000 + i);
        assert_int_equal(r.error, 0);
        assert_true(r.start > last);
        last = r.start;
        // exactly as many records as are kept
        expect_none(i - MW_HOST_FEED_RECORDS, MW_STATUS_STATE);
        if (i >= MW_HOST_FEED_RECORDS - 1)
            expect(i - (MW_HOST_FEED_RECORDS - 1), MW_FED_DONE);
        expect_none(i + MW_HOST_FEED_LAYERS + 1, MW_STATUS_STATE);
    }
    assert_false(fake.regs.soc[offsetof(mw_soc_t, fabric_reset) / 4] &
                 MW_SOC__FABRIC_RESET__HOLD_bm);
}

/// A layer's start is the value of the clock, in all 64 bits.
static void test_start(void **state)
{
    (void)state;
    for (unsigned bit = 10; bit < 64; bit++) {
        struct mw_frame_fed r;
        unsigned count;
        begin();
        fake.time = UINT64_C(1) << bit;
        const uint64_t before = fake.time;
        must_add(1, false, 0);
        poll();
        const uint64_t behind = fake.time;
        end_layer(5);
        poll();
        assert_int_equal(ask(0, &r, &count), MW_STATUS_OK);
        assert_true(r.start > before && r.start <= behind);
    }
}

/// A FEED with the most registers, and one with one more. Registers are at the last address of the
/// fabric, and at the first one beyond it.
static void test_registers(void **state)
{
    (void)state;
    struct mw_frame_register list[MW_HOST_FEED_REGISTERS + 1];
    unsigned words;
    begin();
    for (unsigned i = 0; i <= MW_HOST_FEED_REGISTERS; i++)
        list[i] = (struct mw_frame_register){XS, 10 + i};
    put_registers(list, MW_HOST_FEED_REGISTERS);
    fake_command(MW_FRAME_FEED, 0, MW_HOST_FEED_REGISTERS);
    command_poll(&feed, &board, true);
    assert_int_equal(fake_reply(&words), MW_STATUS_OK);
    poll();
    assert_int_equal(fake.regs.node[0][offsetof(mw_node_t, xs_base) / 4],
                     10 + MW_HOST_FEED_REGISTERS - 1);
    fake_command(MW_FRAME_FEED, 0, MW_HOST_FEED_REGISTERS + 1);
    command_poll(&feed, &board, true);
    assert_int_equal(fake_reply(&words), MW_STATUS_LENGTH);
    list[0].address = MW_MAP_SOC;
    put_registers(list, 1);
    fake_command(MW_FRAME_FEED, 0, 1);
    command_poll(&feed, &board, true);
    assert_int_equal(fake_reply(&words), MW_STATUS_RANGE);
}

/// If the device is idle, a layer starts at once. After an empty queue nothing starts.
static void test_late(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned j = 0; j < 10; j++)
            poll();
        assert_int_equal(fake.layers, i);
        must_add(50 + i, false, i);
        poll();
        expect_running(50 + i, i + 1);
        end_layer(5);
        poll();
        expect(i, MW_FED_DONE);
    }
}

/// FED answers when the layer is done, when its time is over, or when another frame has arrived.
/// This also holds while the lower half of the clock wraps.
static void test_patience(void **state)
{
    (void)state;
    uint32_t *link = &fake.regs.soc[offsetof(mw_soc_t, link) / 4];
    for (unsigned i = 0; i < 6; i++) {
        const unsigned how = i % 3;
        begin();
        if (i >= 3)
            fake.time = UINT32_MAX - 10000;
        must_add(1, false, 0);
        poll();
        fake.regs.soc[offsetof(mw_soc_t, mbox_count) / 4] = 20000;
        fake_command(MW_FRAME_FED, 0, 0);
        uint64_t since = fake.time;
        unsigned words;
        for (unsigned polls = 0; polls < 10; polls++) {
            command_poll(&feed, &board, true);
            assert_false(fake.replied);
            poll();
        }
        if (how == 0)
            end_layer(9);
        else if (how == 1)
            *link |= MW_SOC__LINK__WAITING_bm;
        while (!fake.replied) {
            poll();
            command_poll(&feed, &board, true);
            assert_true(fake.time - since < 20200);
        }
        assert_true(how != 2 || fake.time - since >= 20000);
        assert_int_equal(fake_reply(&words), MW_STATUS_OK);
        assert_int_equal(words, how == 0 ? 3 : 0);
        // the time of the next one starts again
        fake_command(MW_FRAME_FED, how == 0 ? 1 : 0, 0);
        *link = 0;
        command_poll(&feed, &board, true);
        assert_int_equal(fake.replied, how == 0);
    }
}

static void test_sweep(void **state)
{
    (void)state;
    begin();
    fake.sweep_state = MW_FABRIC__STATE__SWEEP_BUSY_bm;
    must_add(1, true, 0);
    must_add(2, false, 1);
    for (unsigned i = 0; i < 5; i++) {
        poll();
        assert_int_equal(fake.sweeps, 1);
        assert_int_equal(fake.layers, 0);
    }
    *STATE = 0;
    poll();
    expect_running(1, 1);
    end_layer(1);
    poll();
    expect_running(2, 2);
    assert_int_equal(fake.sweeps, 1);
}

/// After an error of the fabric, or a register that does not exist, no layer starts until the host
/// resets the fabric.
static void test_failure(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 2; how++) {
        begin();
        uint32_t number;
        fake.holes = true;
        const struct mw_frame_register hole[] = {{0x60000, 1}};
        put_registers(hole, 1);
        if (how == 0) {
            must_add(1, false, 0);
        } else {
            unsigned words;
            fake_command(MW_FRAME_FEED, 0, 1);
            command_poll(&feed, &board, true);
            assert_int_equal(fake_reply(&words), MW_STATUS_OK);
        }
        must_add(2, false, 1);
        must_add(3, true, 2);
        poll();
        if (how == 0) {
            fake.regs.fabric[offsetof(mw_fabric_t, node_error) / 4] = 2;
            fake.regs.node[1][offsetof(mw_node_t, status.error) / 4] = 1 << 16 | 9;
            end_layer(77);
        }
        poll();
        poll();
        expect(0, how ? MW_FED_REFUSED : MW_FED_FAILED);
        expect(1, MW_FED_DROPPED);
        expect(2, MW_FED_DROPPED);
        assert_int_equal(fake.layers, how ? 0 : 1);
        assert_int_equal(add(4, false, &number), MW_STATUS_STATE);
        struct mw_frame_log e;
        assert_true(log_get(log_next() - 1, &e));
        assert_int_equal(e.code, how ? MW_LOG_BUS : MW_LOG_FABRIC);
        assert_int_equal(e.detail, how ? 0x60000 : 9);
        fake_host_reset();
        fake.regs.fabric[offsetof(mw_fabric_t, node_error) / 4] = 0;
        must_add(5, false, 3);
        poll();
        expect_running(5, how ? 1 : 2);
        expect_none(2, MW_STATUS_STATE);
    }
}

/// RESET at any access of the firmware, except those for which it holds RESET. Then the queue is
/// empty, and none of its layers starts afterwards.
static void test_reset(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (unsigned at = 1; at < 200; at++) {
        begin();
        must_add(1, true, 0);
        must_add(2, false, 1);
        fake.reset_in = at;
        for (unsigned i = 0; i < 200; i++) {
            poll();
            if (*STATE & MW_FABRIC__STATE__BUSY_bm)
                end_layer(1);
        }
        assert_int_equal(fake.reset_in, 0);
        assert_int_equal(fake.layers, fake.reset_layers);
        seen |= 1u << fake.layers;
        fake.never_done = true;
        must_add(3, false, 2);
        poll();
        expect_running(3, fake.reset_layers + 1);
    }
    assert_int_equal(seen, 7); // before the first, between the two, after them
    begin();
    must_add(1, false, 0);
    must_add(2, false, 1);
    poll();
    fake_host_reset();
    unsigned layers = fake.layers;
    for (unsigned i = 0; i < 5; i++)
        poll();
    assert_int_equal(fake.layers, layers);
    expect_none(0, MW_STATUS_STATE);
    expect_none(1, MW_STATUS_STATE);
    must_add(3, false, 2);
    poll();
    expect_running(3, layers + 1);
    // an idle queue: the next layer is not taken for one from before the reset
    end_layer(1);
    poll();
    fake_host_reset();
    must_add(4, false, 3);
    poll();
    expect_running(4, layers + 2);
    // the record of a layer from before the reset is gone at once
    end_layer(1);
    poll();
    expect(3, MW_FED_DONE);
    fake_host_reset();
    expect_none(3, MW_STATUS_STATE);
}

/// The host starts a layer itself when the next one of the queue should begin. That one is not
/// started, and its record has no data of the host's layer.
static void test_stranger(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 3; how++) {
        const struct mw_frame_register list[] = {{XS, 5}, {offsetof(mw_fabric_t, epoch), 1}};
        unsigned words, layers;
        begin();
        memset(feed.queue.record, 0xa5, sizeof feed.queue.record); // of layers long ago
        put_registers(list, 2);
        fake_command(MW_FRAME_FEED, how == 2,
                     how); // with nothing, with an unlocked register, with all
        command_poll(&feed, &board, true);
        assert_int_equal(fake_reply(&words), MW_STATUS_OK);
        must_add(2, false, 1);
        *STATE = MW_FABRIC__STATE__BUSY_bm;
        layers = fake.layers;
        for (unsigned i = 0; i < 3; i++)
            poll();
        *STATE = MW_FABRIC__STATE__DONE_bm;
        for (unsigned i = 0; i < 3; i++)
            poll();
        assert_int_equal(fake.layers, layers);
        expect_unstarted(0, MW_FED_REFUSED);
        expect_unstarted(1, MW_FED_DROPPED);
        struct mw_frame_log e;
        assert_true(log_get(log_next() - 1, &e));
        assert_int_equal(e.code, MW_LOG_BUS);
    }
}

static void test_refused(void **state)
{
    (void)state;
    begin();
    uint32_t number;
    unsigned words;
    const struct mw_frame_register bad[] = {{MW_MAP_SOC + 8, 1}, {2, 0}};
    for (unsigned i = 0; i < 2; i++) {
        put_registers(&bad[i], 1);
        fake_command(MW_FRAME_FEED, 0, 1);
        command_poll(&feed, &board, true);
        assert_int_equal(fake_reply(&words), MW_STATUS_RANGE);
    }
    for (unsigned type = MW_FRAME_FEED; type <= MW_FRAME_FED; type++) {
        fake_command(type, UINT64_C(1) << 32, 0);
        command_poll(&feed, &board, true);
        assert_int_equal(fake_reply(&words), MW_STATUS_LENGTH);
        fake_command(type, 0, 0);
        command_poll(&feed, &board, false);
        assert_int_equal(fake_reply(&words), MW_STATUS_TYPE);
    }
    // a layer that the host started itself
    *STATE = MW_FABRIC__STATE__BUSY_bm;
    assert_int_equal(add(1, false, &number), MW_STATUS_STATE);
    *STATE = MW_FABRIC__STATE__DONE_bm;
    must_add(1, false, 0);
    // and no self-test between the two
    fake_command(MW_FRAME_SELFTEST, 1, 0);
    command_poll(&feed, &board, true);
    assert_int_equal(fake_reply(&words), MW_STATUS_STATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue),     cmocka_unit_test(test_start),
        cmocka_unit_test(test_registers), cmocka_unit_test(test_late),
        cmocka_unit_test(test_patience),  cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_failure),   cmocka_unit_test(test_reset),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_stranger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
