// SPDX-License-Identifier: Apache-2.0
//
// The whole Verilated device at its ULPI pins on unusual buses. One host does not chirp, so both
// stay at full speed. Another bus is suspended during transfers of both directions, and resumed.
// Nothing is lost.
#include "frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric_regs.h"

#define FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))

enum { LIMIT = 20000000, BLOCK = 4096, ASLEEP = 30000 };

static uint8_t data[BLOCK];

static void fill(void)
{
    const char *text = getenv("MW_SEED");
    uint64_t state = text ? strtoull(text, NULL, 0) : 1;
    for (size_t i = 0; i < sizeof data; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        data[i] = (uint8_t)(state >> 40);
    }
}

/// The device, between two tests: each begins with a new connection of the bus.
static struct endpoints *kept;

static struct endpoints *open_device(void)
{
    struct endpoints *e = kept ? kept : endpoints_open("mwdevice_usb");
    kept = NULL;
    return e;
}

/// A SYNC after a reset of the bus needs no gap: nothing is received in part.
static void sync_at_once(struct endpoints *e)
{
    const struct mw_frame_header h = {.type = MW_FRAME_SYNC,
                                      .sequence = e->sequence++,
                                      .argument = 5,
                                      .count = MW_HOST_PROTOCOL_MAJOR << 16};
    e->ops->out(e->model, e->bytes, endpoints_make(e, &h, NULL, 0));
    endpoints_receive(e, LIMIT);
    assert_int_equal(e->reply.argument, 5);
    assert_int_equal(e->reply.status, MW_STATUS_OK);
    assert_int_equal(endpoints_call(e, MW_FRAME_INFO, 0, 0, NULL, 0), MW_STATUS_OK);
}

static void check_block(struct endpoints *e, uint64_t place)
{
    assert_int_equal(endpoints_call(e, MW_FRAME_MEM_READ, place, BLOCK, NULL, 0), MW_STATUS_OK);
    assert_memory_equal(e->payload, data, BLOCK);
}

static void test_full_speed(void **state)
{
    (void)state;
    const uint64_t place = UINT64_C(1) << MW_HOST_GPU_SHIFT | 4096;
    struct endpoints *e = open_device();
    fill();
    for (unsigned full = 1; full < 3; full++) { // and back to high speed
        assert_true(e->ops->plug(e->model, full == 1));
        sync_at_once(e);
        uint64_t begin = e->cycles;
        assert_int_equal(endpoints_call(e, MW_FRAME_MEM_WRITE, place, 0, data, BLOCK),
                         MW_STATUS_OK);
        check_block(e, place);
        double rate = 2.0 * BLOCK / (double)(e->cycles - begin);
        print_message("%s speed: %.2f MB/s\n", full == 1 ? "full" : "high", 60 * rate);
        // at full speed the limit is 19 packets of 64 bytes per millisecond
        assert_true(full == 1 ? rate * 60000 > 900 && rate * 60000 <= 19 * 64 : rate > 0.5);
        struct mw_frame_register r = {FABRIC(id), 0};
        assert_int_equal(endpoints_call(e, MW_FRAME_REG_READ, 0, 0, &r, sizeof r), MW_STATUS_OK);
        memcpy(&r, e->payload, sizeof r);
        assert_int_equal(r.value >> 16, 0x4d57);
    }
    kept = e;
}

/// The bus is suspended once after about `after` cycles, while a frame is sent or its reply is
/// received.
static void sleep_in(struct endpoints *e, const struct mw_frame_header *header, size_t bytes,
                     uint64_t after)
{
    struct mw_frame_header h = *header;
    h.sequence = e->sequence++;
    e->ops->out(e->model, e->bytes, endpoints_make(e, &h, data, bytes));
    e->ops->run(e->model, after);
    assert_true(e->ops->suspend(e->model, ASLEEP));
    endpoints_receive(e, LIMIT);
    assert_int_equal(e->reply.type, h.type | MW_FRAME_REPLY);
    assert_int_equal(e->reply.status, MW_STATUS_OK);
}

static void test_suspend(void **state)
{
    (void)state;
    struct endpoints *e = open_device();
    fill();
    assert_true(e->ops->plug(e->model, false));
    sync_at_once(e);
    sleep_in(e, &(struct mw_frame_header){.type = MW_FRAME_MEM_WRITE, .argument = 64}, BLOCK, 2000);
    check_block(e, 64);
    // after the request, in the middle of the reply
    sleep_in(e,
             &(struct mw_frame_header){.type = MW_FRAME_MEM_READ, .argument = 64, .count = BLOCK},
             0, 2500);
    assert_memory_equal(e->payload, data, BLOCK);
    // the device is suspended while it has something to send
    sleep_in(e, &(struct mw_frame_header){.type = MW_FRAME_WAIT, .argument = 1000}, 0, 10);
    check_block(e, 64);
    kept = e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_full_speed),
                                       cmocka_unit_test(test_suspend)};
    endpoints_clock("15000");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (kept)
        endpoints_close(kept);
    return failed;
}
