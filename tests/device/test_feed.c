// SPDX-License-Identifier: Apache-2.0
//
// Feeding on the whole Verilated device, at its endpoints and at its ULPI pins. Firmware, host link
// and fabric run batches of tokens under several systems, with the bits and the cycles of the
// transport sim. They run them once more while the next batch is written and the last one read.
// Printed are tokens per second of the device's time, and the cost of feeding in cycles of the
// fabric.
#include "frames.h"
#include "systems/system_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric_regs.h"
#include "golden/golden.h"
#include "host/support.h"
#include "map.h"
#include "node_regs.h"
#include "report/report.h"
#include "run/run.h"
#include "systems/systems.h"

enum { LIMIT = 20000000 };

static struct endpoints *device;

/// Run one system on one device. Returns the result, which has the golden bits.
static void run(const struct mw_run_params *p, const struct mw_workload *w, unsigned system,
                struct mw_result *r)
{
    struct mw_error err;
    assert_int_equal(mw_result_make(r, w, &mw_systems[system], &err), MW_EXIT_OK);
    int status = mw_system_run(p, w, r);
    if (status)
        fail_msg("%s: %s", mw_systems[system].name, r->error.text);
    size_t values = (size_t)w->tokens * w->shape.hidden;
    uint16_t *golden = malloc(values * sizeof *golden);
    assert_non_null(golden);
    for (unsigned l = 0; l < w->layers; l++) {
        mw_golden_layer(w, l, golden);
        assert_memory_equal(r->layer[l].out, golden, values * sizeof *golden);
    }
    free(golden);
}

static void check_feeding(const struct mw_result *r, uint64_t launched)
{
    assert_true(r->has_feeding);
    assert_int_equal(r->feeding.wrong, 0);
    assert_int_equal(r->feeding.apart.layer_cycles, launched);
}

static void compare(const struct mw_run_params *frames, const struct mw_workload *w,
                    unsigned system, struct mw_summary *s)
{
    struct mw_run_params sim = *frames;
    struct mw_result a, *b = calloc(1, sizeof *b);
    uint64_t cycles = 0;
    sim.device = (struct mw_device_choice){0};
    run(&sim, w, system, &a);
    run(frames, w, system, b);
    for (unsigned l = 0; l < w->layers; l++) {
        assert_int_equal(a.layer[l].cycles, b->layer[l].cycles);
        cycles += a.layer[l].cycles;
    }
    check_feeding(&a, cycles);
    check_feeding(b, cycles);
    assert_true(b->feeding.fed.device_cycles < b->feeding.apart.device_cycles);
    *s = (struct mw_summary){.system = mw_systems[system].name, .result = b};
    mw_result_free(&a);
}

static void test_feeding(void **state)
{
    const char *model = *state;
    bool usb = strcmp(model, "mwdevice") != 0;
    struct mw_run_params p;
    struct mw_trace trace;
    struct mw_workload w;
    struct mw_error err = {0};
    struct mw_summary s[MW_SYSTEMS];
    // at the pins, where runs take longer, only the last system. With few cases, every second one
    // up to the last
    const unsigned systems = usb ? 1 : test_cases(3, MW_SYSTEMS), step = test_cases(2, 1);
    device = endpoints_open(model);
    endpoints_sync(device);
    mw_run_defaults(&p);
    p.shape.gpus = 2;
    p.flit_bytes = 8;
    p.experts = 8;
    p.k = 2;
    p.tile = 2;
    p.partial_tiles = true;
    p.shape.tokens_per_gpu = usb ? 16 : 32;
    p.shape.hidden = 64;
    p.shape.batches = usb ? 4 : 6; // the epochs wrap
    const char *seed = getenv("MW_SEED");
    p.shape.seed = seed ? strtoull(seed, NULL, 0) : 1;
    p.device = (struct mw_device_choice){.custom = &endpoints_transport, .custom_context = device};
    if (mw_run_prepare(&p, &trace, &w, &err))
        fail_msg("%s", err.text);
    for (unsigned i = 0; i < systems; i++)
        compare(&p, &w, MW_SYSTEMS - 1 - step * (systems - 1 - i), &s[i]);
    mw_report_feeding(stdout, &w, s, systems);
    for (unsigned i = 0; i < systems; i++) {
        struct mw_result *r = (struct mw_result *)s[i].result;
        mw_result_free(r);
        free(r);
    }
    mw_workload_free(&w);
    mw_trace_free(&trace);
    endpoints_close(device);
}

/// Feed two layers without streams. The registers of the first make the second wait for a sweep of
/// many rows. Returns its number.
static uint32_t feed_slowly(struct endpoints *e)
{
    const struct mw_frame_register rows[] = {
        {MW_MAP_NODES_ALL + offsetof(mw_node_t, row), 16u << MW_NODE__ROW__LOCAL_EXPERTS_bp},
        {MW_MAP_NODES_ALL + offsetof(mw_node_t, shifts), 11u << MW_NODE__SHIFTS__CAP_SHIFT_bp}};
    assert_int_equal(endpoints_call(e, MW_FRAME_FEED, 0, 0, rows, sizeof rows), MW_STATUS_OK);
    assert_int_equal(endpoints_call(e, MW_FRAME_FEED, 1, 0, NULL, 0), MW_STATUS_OK);
    return (uint32_t)e->reply.argument;
}

/// Requests of a host at a wrong time.
static void test_states(void **state)
{
    struct endpoints *e = device = endpoints_open(*state);
    const struct mw_frame_register epoch = {offsetof(mw_fabric_t, epoch), 0}, hole = {0x60000, 0};
    struct mw_frame_fed r;
    endpoints_sync(e);
    assert_int_equal(endpoints_call(e, MW_FRAME_RESET, 0, 0, NULL, 0), MW_STATUS_OK);
    assert_int_equal(endpoints_call(e, MW_FRAME_FED, 0, 0, NULL, 0), MW_STATUS_STATE);
    // layers without streams end at once, and the tables are swept before the first
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(endpoints_call(e, MW_FRAME_FEED, i == 0, 0, &epoch, sizeof epoch),
                         MW_STATUS_OK);
        assert_int_equal(e->reply.argument, i);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(endpoints_call(e, MW_FRAME_FED, i, LIMIT / 2, NULL, 0), MW_STATUS_OK);
        assert_int_equal(e->reply.count, 1);
        memcpy(&r, e->payload, sizeof r);
        assert_int_equal(r.number, i);
        assert_int_equal(r.outcome, MW_FED_DONE);
    }
    // a register that is not there stops the queue, up to RESET
    assert_int_equal(endpoints_call(e, MW_FRAME_FEED, 0, 0, &hole, sizeof hole), MW_STATUS_OK);
    assert_int_equal(endpoints_call(e, MW_FRAME_FED, 2, LIMIT / 2, NULL, 0), MW_STATUS_OK);
    memcpy(&r, e->payload, sizeof r);
    assert_int_equal(r.outcome, MW_FED_REFUSED);
    assert_int_equal(endpoints_call(e, MW_FRAME_FEED, 0, 0, &epoch, sizeof epoch), MW_STATUS_STATE);
    assert_int_equal(endpoints_call(e, MW_FRAME_LOG_READ, 0, 0, NULL, 0), MW_STATUS_OK);
    struct mw_frame_log last;
    memcpy(&last, e->payload + 8 * e->reply.words - sizeof last, sizeof last);
    assert_int_equal(last.code, MW_LOG_BUS);
    assert_int_equal(last.detail & 0x7fffffff, hole.address);
    // RESET while layers wait for sweeps: the rest never starts, and their numbers are no longer
    // stored
    assert_int_equal(endpoints_call(e, MW_FRAME_RESET, 0, 0, NULL, 0), MW_STATUS_OK);
    uint32_t last_layer = feed_slowly(e);
    assert_int_equal(last_layer, 4);
    assert_int_equal(endpoints_call(e, MW_FRAME_FED, last_layer, 100, NULL, 0), MW_STATUS_OK);
    assert_int_equal(e->reply.count, 0);
    assert_int_equal(endpoints_call(e, MW_FRAME_SELFTEST, 1, 0, NULL, 0), MW_STATUS_STATE);
    assert_int_equal(endpoints_call(e, MW_FRAME_RESET, 0, 0, NULL, 0), MW_STATUS_OK);
    assert_int_equal(endpoints_call(e, MW_FRAME_WAIT, 200000, 0, NULL, 0), MW_STATUS_OK);
    assert_int_equal(e->reply.count, 0);
    assert_int_equal(endpoints_call(e, MW_FRAME_FED, last_layer, 0, NULL, 0), MW_STATUS_STATE);
    // a waiting FED does not block the next frame
    last_layer = feed_slowly(e);
    uint64_t begin = e->cycles;
    struct mw_frame_header h = {
        .type = MW_FRAME_FED, .sequence = e->sequence++, .argument = last_layer, .count = LIMIT};
    e->ops->out(e->model, e->bytes, endpoints_make(e, &h, NULL, 0));
    h = (struct mw_frame_header){.type = MW_FRAME_INFO, .sequence = e->sequence++};
    e->ops->out(e->model, e->bytes, endpoints_make(e, &h, NULL, 0));
    endpoints_receive(e, LIMIT);
    assert_int_equal(e->reply.type, MW_FRAME_FED | MW_FRAME_REPLY);
    assert_int_equal(e->reply.count, 0);
    assert_true(e->cycles - begin < 5000);
    endpoints_receive(e, LIMIT);
    endpoints_close(e);
}

int main(void)
{
    endpoints_clock("20000");
    static char ends[] = "mwdevice", usb[] = "mwdevice_usb";
    const struct CMUnitTest tests[] = {
        {"test_states", test_states, NULL, NULL, ends},
        {"test_feeding", test_feeding, NULL, NULL, ends},
        {"test_feeding at the pins", test_feeding, NULL, NULL, usb},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
