// SPDX-License-Identifier: Apache-2.0
//
// The firmware's parts on this machine, with a device in memory (fake.h): replies word for word,
// errors that the self-tests find, and the log. Starts may cut the log anywhere.
#include "fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "command.h"
#include "console.h"
#include "log.h"
#include "selftest.h"
#include "watch.h"

static struct board board;
static struct feed feed;

static void begin(void)
{
    fake_reset();
    log_open();
    log_clear();
    assert_true(board_find(&board));
    feed_begin(&feed);
}

static const void *reply_payload(void)
{
    return &fake.regs.soc[offsetof(mw_soc_t, mbox_reply) / 4];
}

/// Runs a command up to its reply. Returns the words of the payload.
static unsigned ask(unsigned kind, uint64_t argument, unsigned status)
{
    unsigned words;
    fake_command(kind, argument, 0);
    command_poll(&feed, &board, true);
    assert_int_equal(fake_reply(&words), status);
    return words;
}

static void test_board(void **state)
{
    (void)state;
    begin();
    assert_int_equal(board.gpus, FAKE_GPUS);
    assert_int_equal(board.flit_bytes, 8);
    assert_int_equal(board.mem_log2, FAKE_MEM_LOG2);
    assert_int_equal(GET(MW_SOC__UART__DIVISOR, fake.regs.soc[offsetof(mw_soc_t, uart) / 4]), 129);
    // seconds: exact to a second over an hour, to 5 in a million over weeks
    for (uint64_t s = 0; s < 4000000; s = s * 3 + 1) {
        fake.time = s * 15000000 + 7500000;
        uint32_t reported = board_seconds(&board);
        assert_true(llabs((long long)reported - (long long)s) <= 1 + (long long)s / 100000);
    }
    fake.regs.fabric[0] ^= 1u << 16;
    assert_false(board_find(&board));
}

static void test_info(void **state)
{
    (void)state;
    begin();
    fake.regs.soc[offsetof(mw_soc_t, restart) / 4] = PUT(MW_SOC__RESTART__COUNT, 5);
    assert_int_equal(ask(MW_FRAME_INFO, 0, MW_STATUS_OK) * 8, sizeof(struct mw_frame_info));
    struct mw_frame_info i;
    memcpy(&i, reply_payload(), sizeof i);
    assert_int_equal(i.gpus, FAKE_GPUS);
    assert_int_equal(i.mem_bytes, 1 << FAKE_MEM_LOG2);
    assert_int_equal(i.clock_hz, 60000000);
    assert_int_equal(i.cycle_clocks, 4);
    assert_int_equal(i.resets, 5);
    assert_int_equal(i.features, 15);
    assert_string_equal(i.name, "moeswitch");
    // without a fabric: no GPUs, and the feature is missing
    fake_command(MW_FRAME_INFO, 0, 0);
    command_poll(&feed, &board, false);
    memcpy(&i, reply_payload(), sizeof i);
    assert_int_equal(i.gpus, 0);
    assert_int_equal(i.features, 6);
}

static void test_refused(void **state)
{
    (void)state;
    begin();
    unsigned words;
    for (unsigned kind = 0; kind < 256; kind++) {
        bool known = kind == MW_FRAME_INFO || kind == MW_FRAME_SELFTEST ||
                     kind == MW_FRAME_LOG_READ || kind == MW_FRAME_LOG_CLEAR ||
                     kind == MW_FRAME_FEED || kind == MW_FRAME_FED;
        if (!known)
            assert_int_equal(ask(kind, 0, MW_STATUS_TYPE), 0);
        fake_command(kind, 0, kind == MW_FRAME_FEED ? MW_HOST_FEED_REGISTERS + 1 : 1);
        command_poll(&feed, &board, true);
        assert_int_equal(fake_reply(&words), MW_STATUS_LENGTH);
        assert_int_equal(words, 0);
    }
    ask(MW_FRAME_SELFTEST, 4, MW_STATUS_LENGTH);
    ask(MW_FRAME_SELFTEST, UINT64_C(1) << 32, MW_STATUS_LENGTH);
    fake.regs.fabric[offsetof(mw_fabric_t, state) / 4] = MW_FABRIC__STATE__BUSY_bm;
    ask(MW_FRAME_SELFTEST, 1, MW_STATUS_STATE);
    // without a command nothing is sent
    fake.replied = false;
    command_poll(&feed, &board, true);
    assert_false(fake.replied);
}

static void run_selftest(struct mw_frame_selftest *t)
{
    assert_int_equal(ask(MW_FRAME_SELFTEST, 3, MW_STATUS_OK) * 8,
                     2 * FAKE_GPUS * sizeof(struct mw_frame_selftest));
    memcpy(t, reply_payload(), 2 * FAKE_GPUS * sizeof *t);
}

static void test_selftest(void **state)
{
    (void)state;
    struct mw_frame_selftest t[2 * FAKE_GPUS];
    begin();
    run_selftest(t);
    for (unsigned i = 0; i < 2 * FAKE_GPUS; i++) {
        assert_int_equal(t[i].test, i / FAKE_GPUS);
        assert_int_equal(t[i].unit, i % FAKE_GPUS);
        assert_true(t[i].checked >= 64);
        assert_int_equal(t[i].failed, 0);
    }
    assert_int_equal(fake.layers, 1);
    assert_int_equal(fake.resets, 2);
    assert_true(fake.feeds > 0);
    assert_int_equal(log_next() - log_first(), 0);
}

static void test_selftest_faults(void **state)
{
    (void)state;
    struct mw_frame_selftest t[2 * FAKE_GPUS];
    for (unsigned bit = 0; bit < 32; bit++) {
        begin();
        fake.stuck = 1u << bit;
        run_selftest(t);
        for (unsigned g = 0; g < FAKE_GPUS; g++)
            assert_true(t[g].failed > 0);
    }
    for (unsigned line = 1; line <= FAKE_MEM_LOG2 - 2; line++) {
        begin();
        fake.dead_line = line;
        struct mw_frame_selftest r;
        selftest_memory(&board, 0, SELFTEST_WORDS_BOOT, &r);
        assert_true(r.failed > 0);
    }
    begin();
    fake.lost_from = 1;
    run_selftest(t);
    assert_int_equal(t[FAKE_GPUS].failed, 64);
    assert_int_equal(t[FAKE_GPUS + 1].failed, 0);
    assert_int_equal(t[FAKE_GPUS + 2].failed, 64);
    assert_int_equal(log_next() - log_first(), 2);
    begin();
    fake.never_done = true;
    run_selftest(t);
    assert_true(t[FAKE_GPUS].failed && t[FAKE_GPUS + 1].failed && t[FAKE_GPUS + 2].failed);
}

static void test_log(void **state)
{
    (void)state;
    begin();
    uint32_t from = log_next();
    for (unsigned i = 0; i < 100; i++) {
        log_add(&board, i, i * i);
        // after a start the log has all earlier entries
        if (i % 7 == 0)
            assert_true(log_open());
        unsigned there = i < LOG_ENTRIES ? i + 1 : LOG_ENTRIES;
        assert_int_equal(log_next(), from + i + 1);
        assert_int_equal(log_first(), from + i + 1 - there);
        struct mw_frame_log e;
        for (uint32_t n = log_first(); n != log_next(); n++) {
            assert_true(log_get(n, &e));
            assert_int_equal(e.number, n);
            assert_int_equal(e.code, n - from);
            assert_int_equal(e.detail, (n - from) * (n - from));
        }
        assert_false(log_get(log_next(), &e));
        assert_false(log_get(log_first() - 1, &e));
    }
    log_clear();
    assert_true(log_open());
    assert_int_equal(log_first(), log_next());
    assert_int_equal(log_next(), from + 100);
}

static void test_log_read(void **state)
{
    (void)state;
    begin();
    uint32_t from = log_next();
    for (unsigned i = 0; i < 40; i++)
        log_add(&board, 1, i);
    for (uint32_t ask_from = from; ask_from <= from + 41; ask_from++) {
        unsigned words = ask(MW_FRAME_LOG_READ, ask_from, MW_STATUS_OK);
        uint32_t first = ask_from < from + 8 || ask_from > from + 40 ? from + 8 : ask_from;
        assert_int_equal(words * 8 / sizeof(struct mw_frame_log), from + 40 - first);
        const struct mw_frame_log *e = reply_payload();
        for (uint32_t i = 0; i < from + 40 - first; i++)
            assert_int_equal(e[i].number, first + i);
        assert_int_equal(fake.regs.soc[offsetof(mw_soc_t, mbox_reply_lo) / 4], from + 40);
    }
    // a number whose lower half is that of an entry
    assert_int_equal(ask(MW_FRAME_LOG_READ, UINT64_C(1) << 32 | (from + 39), MW_STATUS_OK) * 8,
                     LOG_ENTRIES * sizeof(struct mw_frame_log));
    assert_int_equal(ask(MW_FRAME_LOG_CLEAR, 0, MW_STATUS_OK), 0);
    assert_int_equal(ask(MW_FRAME_LOG_READ, 0, MW_STATUS_OK), 0);
}

static void test_watch(void **state)
{
    (void)state;
    begin();
    struct watch w;
    uint32_t *busy = &fake.regs.fabric[offsetof(mw_fabric_t, state) / 4];
    // earlier errors of the link do not count
    fake.regs.soc[offsetof(mw_soc_t, link) / 4] = PUT(MW_SOC__LINK__ERRORS, 5) | 1 << 8;
    watch_begin(&w);
    watch_poll(&w, &board, false);
    assert_int_equal(log_next() - log_first(), 0);
    // a layer without an error, and one with an error at GPU 2
    for (unsigned error = 0; error < 2; error++) {
        fake.regs.fabric[offsetof(mw_fabric_t, node_error) / 4] = error ? 4 : 0;
        fake.regs.node[2][offsetof(mw_node_t, status.error) / 4] = 3 << 16 | 8;
        *busy = MW_FABRIC__STATE__BUSY_bm;
        watch_poll(&w, &board, false);
        *busy = MW_FABRIC__STATE__DONE_bm;
        watch_poll(&w, &board, false);
        watch_poll(&w, &board, false);
        assert_int_equal(log_next() - log_first(), error);
    }
    fake.regs.soc[offsetof(mw_soc_t, fault) / 4] = 0x80060000 | MW_SOC__FAULT__VALID_bm;
    watch_poll(&w, &board, false);
    fake.regs.soc[offsetof(mw_soc_t, link) / 4] = PUT(MW_SOC__LINK__ERRORS, 6) | 2 << 8;
    watch_poll(&w, &board, false);
    watch_poll(&w, &board, false);
    const struct {
        uint32_t code, detail;
    } want[] = {{MW_LOG_FABRIC, 8}, {MW_LOG_BUS, 0x80060000}, {MW_LOG_LINK, 2}};
    assert_int_equal(log_next() - log_first(), 3);
    for (unsigned i = 0; i < 3; i++) {
        struct mw_frame_log e;
        assert_true(log_get(log_first() + i, &e));
        assert_int_equal(e.code, want[i].code);
        assert_int_equal(e.detail, want[i].detail);
    }
    assert_int_equal(fake.regs.soc[offsetof(mw_soc_t, fault) / 4], 0);
}

static void test_console(void **state)
{
    (void)state;
    begin();
    console_number(0);
    console_number(4294967295u);
    console_hex(0x0123cdef);
    assert_string_equal(fake.console, "042949672950123cdef");
    // a full queue loses characters, and the firmware does not wait
    fake.room = 3;
    console_text("abcdef");
    assert_string_equal(fake.console, "042949672950123cdefabc");
    fake_reset();
    fake.regs.soc[offsetof(mw_soc_t, uart_rx) / 4] = MW_SOC__UART_RX__VALID_bm | 'x';
    console_poll(&board);
    console_poll(&board);
    assert_string_equal(fake.console, "v version, l log, s state\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_board),           cmocka_unit_test(test_info),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_selftest),
        cmocka_unit_test(test_selftest_faults), cmocka_unit_test(test_log),
        cmocka_unit_test(test_log_read),        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_console),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
