// SPDX-License-Identifier: Apache-2.0
//
// The whole Verilated device without its USB core, at its endpoints. A layer through frames gives
// the golden bits and the cycles of the transport sim. Firmware and hardware answer concurrently.
// Resets, errors and a crash of the firmware lose nothing that was acknowledged.
#include "frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "system/layers.h"

#include "fabric_regs.h"
#include "map.h"
#include "soc_regs.h"

enum { LIMIT = 20000000 };
enum { GPUS = 2 };

static uint64_t seed(void)
{
    const char *text = getenv("MW_SEED");
    return text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
}

static uint64_t rng;

static uint32_t random32(void)
{
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(rng >> 33);
}

// ---- devices ------------------------------------------------------------------------------------

/// The device at the pins, kept between two tests, because reset and enumeration of the bus take
/// longer than most tests.
static struct endpoints *kept;

static bool at_pins(const char *model)
{
    return strcmp(model, "mwdevice") != 0;
}

/// A device after its reset. At the pins it is the device of the previous test.
static struct endpoints *open_device(const char *model)
{
    struct endpoints *e = at_pins(model) ? kept : NULL;
    kept = at_pins(model) ? NULL : kept;
    return e ? e : endpoints_open(model);
}

static void close_device(struct endpoints *e, const char *model)
{
    if (at_pins(model))
        kept = e;
    else
        endpoints_close(e);
}

// ---- one layer ----------------------------------------------------------------------------------

/// Counters keep their values after the layer, whenever they are read. Each cycle of the layer has
/// a flit on the uplink or has none.
static void check_counters(struct mw_device *device, const struct layer *l)
{
    struct mw_counters later;
    uint8_t data[4096];
    const struct mw_transfer t = {0, 0, sizeof data, data};
    assert_int_equal(mw_mem_read(device, &t, 1), 0);
    assert_int_equal(mw_counters_read(device, &later), 0);
    assert_memory_equal(&l->counters, &later, sizeof later);
    assert_int_equal(later.cycles, l->cycles);
    for (unsigned g = 0; g < GPUS; g++) {
        uint64_t flits = 0;
        for (unsigned c = 0; c < MW_NUM_CLASSES; c++)
            flits += later.port[g].up_flits[c];
        assert_true(flits > 0);
        assert_int_equal(later.gpu[g].link_idle + flits, later.cycles);
    }
}

static void run_layer(const struct mw_open_options *options, struct layer *l)
{
    struct mw_device *device;
    int status = mw_open(options, &device);
    if (status)
        fail_msg("open: %s: %s", mw_strerror(status), mw_message());
    layer_pass(l, device, options->custom ? "through frames" : "sim");
    check_counters(device, l);
    mw_close(device);
}

static void options_for(struct mw_open_options *o)
{
    mw_open_defaults(o);
    o->gpus = GPUS;
    o->flit_bytes = 8;
}

static void test_layer(void **state)
{
    const char *model = *state;
    struct endpoints *e = open_device(model);
    struct mw_open_options sim, frames;
    struct mw_random r = {rng};
    options_for(&sim);
    options_for(&frames);
    frames.custom = &endpoints_transport;
    frames.custom_context = e;
    endpoints_sync(e);
    // twice: the second time on a device that has run, which RESET restores
    for (int i = 0; i < 2; i++) {
        static const struct layer_shape shape = {GPUS, 8, 64, 6, 3, false};
        struct layer l;
        layer_make(&l, &shape, &r);
        run_layer(&sim, &l);
        uint64_t cycles = l.cycles;
        struct mw_counters counters = l.counters;
        run_layer(&frames, &l);
        assert_int_equal(l.cycles, cycles);
        assert_memory_equal(&l.counters, &counters, sizeof counters);
        print_message("%llu cycles, as sim; %llu in all\n", (unsigned long long)cycles,
                      (unsigned long long)e->cycles);
        layer_free(&l);
    }
    close_device(e, model);
}

static void pull_the_cable(struct endpoints *e)
{
    if (e->ops->plug)
        assert_true(e->ops->plug(e->model, false));
    else
        e->ops->link_reset(e->model);
    endpoints_sync(e);
}

/// The cable is pulled while a layer runs, and plugged in again, without effect on the layer.
static void test_cable(void **state)
{
    static const struct layer_shape shape = {GPUS, 8, 64, 6, 3, false};
    struct endpoints *e = open_device(*state);
    struct mw_open_options o;
    struct mw_device *d;
    struct mw_random r = {rng};
    struct layer l;
    options_for(&o);
    o.custom = &endpoints_transport;
    o.custom_context = e;
    endpoints_sync(e);
    layer_make(&l, &shape, &r);
    assert_int_equal(mw_open(&o, &d), 0);
    uint64_t cycles = layer_pass(&l, d, "plugged in");
    struct mw_counters counters = l.counters;
    e->in_layer = pull_the_cable;
    assert_int_equal(layer_pass(&l, d, "pulled out and plugged in"), cycles);
    assert_null(e->in_layer);
    assert_memory_equal(&l.counters, &counters, sizeof counters);
    mw_close(d);
    layer_free(&l);
    close_device(e, *state);
}

// ---- hardware and firmware at the endpoints -----------------------------------------------------

static uint32_t reg_read(struct endpoints *e, uint32_t address)
{
    struct mw_frame_register r = {address, 0};
    assert_int_equal(endpoints_call(e, MW_FRAME_REG_READ, 0, 0, &r, sizeof r), MW_STATUS_OK);
    memcpy(&r, e->payload, sizeof r);
    return r.value;
}

static void reg_write(struct endpoints *e, uint32_t address, uint32_t value)
{
    const struct mw_frame_register r = {address, value};
    assert_int_equal(endpoints_call(e, MW_FRAME_REG_WRITE, 0, 0, &r, sizeof r), MW_STATUS_OK);
    assert_int_equal(e->reply.count, 1);
}

#define SOC(reg) (MW_MAP_SOC + (uint32_t)offsetof(mw_soc_t, reg))
#define FABRIC(reg) ((uint32_t)offsetof(mw_fabric_t, reg))

static void test_answers(void **state)
{
    const char *model = *state;
    struct endpoints *e = open_device(model);
    struct mw_frame_info info;
    // requested before the firmware runs: it answers when it does
    endpoints_sync(e);
    assert_int_equal(endpoints_call(e, MW_FRAME_INFO, 0, 0, NULL, 0), MW_STATUS_OK);
    assert_int_equal(e->reply.words * 8, sizeof info);
    memcpy(&info, e->payload, sizeof info);
    assert_int_equal(info.gpus, GPUS);
    assert_int_equal(info.flit_bytes, 8);
    assert_int_equal(info.clock_hz, 0);
    assert_int_equal(reg_read(e, FABRIC(id)) >> 16, 0x4d57);
    if (!at_pins(model) || test_cases(0, 1)) // half a million cycles
        endpoints_selftest(e, GPUS);
    assert_int_equal(endpoints_call(e, MW_FRAME_RESET, 0, 0, NULL, 0), MW_STATUS_OK);
    assert_int_equal(endpoints_call(e, MW_FRAME_LOG_READ, 0, 0, NULL, 0), MW_STATUS_OK);
    assert_int_equal(e->reply.argument, 1);
    // a reset restores the fabric's registers and does not change memories
    uint8_t data[4096], back[sizeof data];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)random32();
    uint64_t place = UINT64_C(1) << MW_HOST_GPU_SHIFT | 0x123450;
    assert_int_equal(endpoints_call(e, MW_FRAME_MEM_WRITE, place, 0, data, sizeof data),
                     MW_STATUS_OK);
    reg_write(e, FABRIC(link), 5);
    assert_int_equal(reg_read(e, FABRIC(link)), 5);
    assert_int_equal(endpoints_call(e, MW_FRAME_RESET, 0, 0, NULL, 0), MW_STATUS_OK);
    assert_int_equal(reg_read(e, FABRIC(link)), 1);
    assert_int_equal(endpoints_call(e, MW_FRAME_MEM_READ, place, sizeof data, NULL, 0),
                     MW_STATUS_OK);
    memcpy(back, e->payload, sizeof back);
    assert_memory_equal(data, back, sizeof data);
    close_device(e, model);
}

/// The CPU restarts repeatedly. The hardware's frames are always answered, those of the firmware as
/// soon as it runs again.
static void test_restarts(void **state)
{
    const char *model = *state;
    struct endpoints *e = open_device(model);
    const int starts = (int)test_cases(6, 12);
    endpoints_sync(e);
    for (int i = 0; i < starts; i++) {
        e->cycles += e->ops->run(e->model, random32() % 20000);
        reg_write(e, SOC(control), MW_SOC__CONTROL__RESTART_bm);
        reg_write(e, FABRIC(link), 1 + i % 7);
        assert_int_equal(reg_read(e, FABRIC(link)), 1 + i % 7);
        if (i % 2)
            assert_int_equal(endpoints_call(e, MW_FRAME_RESET, 0, 0, NULL, 0), MW_STATUS_OK);
        if (i % 3)
            assert_int_equal(endpoints_call(e, MW_FRAME_INFO, 0, 0, NULL, 0), MW_STATUS_OK);
    }
    assert_int_equal(endpoints_call(e, MW_FRAME_INFO, 0, 0, NULL, 0), MW_STATUS_OK);
    struct mw_frame_info info;
    memcpy(&info, e->payload, sizeof info);
    assert_int_equal(info.resets, starts);
    assert_int_equal(endpoints_call(e, MW_FRAME_LOG_READ, 0, 0, NULL, 0), MW_STATUS_OK);
    struct mw_frame_log last;
    memcpy(&last, e->payload + 8 * e->reply.words - sizeof last, sizeof last);
    assert_int_equal(last.code, MW_LOG_BOOT);
    assert_int_equal(last.detail, 3);
    close_device(e, model);
}

/// A host's access to the firmware's own registers returns an error and has no effect. RESET is
/// always answered.
static void test_forbidden(void **state)
{
    const char *model = *state;
    struct endpoints *e = open_device(model);
    static const uint32_t places[] = {SOC(fabric_reset), SOC(watchdog),   SOC(mbox_send),
                                      SOC(firmware),     SOC(fault),      SOC(uart),
                                      SOC(uart_tx),      SOC(mbox_reply), SOC(mbox_reply_lo)};
    endpoints_sync(e);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const struct mw_frame_register r[] = {{FABRIC(link), 2 + (uint32_t)i}, {places[i], 1}};
        assert_int_equal(endpoints_call(e, MW_FRAME_REG_WRITE, 0, 0, r, sizeof r),
                         MW_STATUS_ACCESS);
        assert_int_equal(e->reply.count, 1);
        assert_int_equal(reg_read(e, FABRIC(link)), 2 + i);
    }
    assert_int_equal(reg_read(e, SOC(fabric_reset)) & MW_SOC__FABRIC_RESET__HOLD_bm, 0);
    assert_int_equal(reg_read(e, SOC(watchdog)), MW_SOC__WATCHDOG__PERIOD_reset);
    assert_int_equal(endpoints_call(e, MW_FRAME_RESET, 0, 0, NULL, 0), MW_STATUS_OK);
    assert_int_equal(reg_read(e, FABRIC(link)), 1);
    assert_int_equal(endpoints_call(e, MW_FRAME_INFO, 0, 0, NULL, 0), MW_STATUS_OK);
    close_device(e, model);
}

/// The host accesses the RAM of the CPU by frames. Tested are the answers while the CPU is held,
/// and the link with a firmware that disables the watchdog and answers no command.
static void test_firmware(void **state)
{
    enum { PATIENCE = 1 << 20, WAIT = 30000 };
    // lui x1, 0x80080 / sw x0, 0x18(x1) / j .
    static const uint32_t deaf[] = {0x800800b7, 0x0000ac23, 0x0000006f};
    uint32_t before[3], ram = MW_MAP_SOC_RAM;
    bool last;
    struct endpoints *e = endpoints_open(*state);
    const struct mw_frame_register first = {ram, deaf[0]};
    const struct mw_frame_header info = {.type = MW_FRAME_INFO};
    endpoints_sync(e);
    assert_int_equal(endpoints_call(e, MW_FRAME_REG_WRITE, 0, 0, &first, sizeof first),
                     MW_STATUS_ACCESS);
    assert_int_equal(endpoints_call(e, MW_FRAME_REG_READ, 0, 0, &first, sizeof first),
                     MW_STATUS_ACCESS);
    reg_write(e, SOC(hold), 1);
    assert_int_equal(reg_read(e, ram + MW_HOST_IMAGE_AT), MW_HOST_IMAGE_MAGIC);
    assert_int_equal(endpoints_call(e, MW_FRAME_INFO, 0, 0, NULL, 0), MW_STATUS_STATE);
    assert_int_equal(endpoints_call(e, MW_FRAME_LOG_READ, 0, 0, NULL, 0), MW_STATUS_STATE);
    assert_int_equal(endpoints_call(e, MW_FRAME_RESET, 0, 0, NULL, 0), MW_STATUS_OK);
    assert_int_equal(endpoints_call(e, MW_FRAME_MEM_READ, 0, 4096, NULL, 0), MW_STATUS_OK);
    for (uint32_t i = 0; i < 3; i++) {
        before[i] = reg_read(e, ram + 4 * i);
        reg_write(e, ram + 4 * i, deaf[i]);
    }
    // the CPU stays held for the next host
    e->ops->link_reset(e->model);
    endpoints_session(e);
    assert_int_equal(endpoints_call(e, MW_FRAME_INFO, 0, 0, NULL, 0), MW_STATUS_STATE);
    reg_write(e, SOC(hold), 0);
    struct mw_frame_header h = info;
    h.sequence = e->sequence++;
    e->ops->out(e->model, e->bytes, endpoints_make(e, &h, NULL, 0));
    for (uint64_t passed = 0; passed < WAIT; passed += e->ops->run(e->model, WAIT - passed))
        assert_int_equal(e->ops->in(e->model, e->bytes, sizeof e->bytes, &last), 0);
    e->ops->link_reset(e->model);
    uint64_t since = e->cycles;
    endpoints_session(e);
    assert_true(e->cycles - since > PATIENCE / 2 && e->cycles - since < 2 * PATIENCE);
    assert_int_equal(reg_read(e, SOC(restart)), 1 | 2 << MW_SOC__RESTART__COUNT_bp);
    reg_write(e, SOC(hold), 1);
    for (uint32_t i = 0; i < 3; i++)
        reg_write(e, ram + 4 * i, before[i]);
    reg_write(e, SOC(hold), 0);
    assert_int_equal(endpoints_call(e, MW_FRAME_INFO, 0, 0, NULL, 0), MW_STATUS_OK);
    assert_int_equal(endpoints_call(e, MW_FRAME_LOG_READ, 0, 0, NULL, 0), MW_STATUS_OK);
    assert_int_equal(e->reply.argument, 2);
    endpoints_close(e);
}

/// Frames to a GPU whose port is enabled again, while its node is reset. All are answered, losses
/// are reported, and RESET works at any time.
static void test_flush(void **state)
{
    const char *model = *state;
    struct endpoints *e = open_device(model);
    static uint8_t data[4096], back[sizeof data];
    const uint64_t second = UINT64_C(1) << MW_HOST_GPU_SHIFT;
    const unsigned rounds = test_cases(24, 60);
    unsigned lost = 0, done = 0;
    endpoints_sync(e);
    for (unsigned i = 0; i < rounds; i++) {
        const struct mw_frame_register ports[] = {{FABRIC(ports), 1 | MW_FABRIC__PORTS__DOWN_bm},
                                                  {FABRIC(ports), 1 | MW_FABRIC__PORTS__UP_bm}};
        unsigned frames = 1 + random32() % 4;
        assert_int_equal(endpoints_call(e, MW_FRAME_REG_WRITE, 0, 0, ports, sizeof *ports),
                         MW_STATUS_OK);
        assert_int_equal(endpoints_call(e, MW_FRAME_REG_WRITE, 0, 0, &ports[1], sizeof *ports),
                         MW_STATUS_OK);
        e->cycles += e->ops->run(e->model, random32() % 64);
        for (unsigned n = 0; n < frames; n++) {
            bool write = random32() % 2;
            size_t bytes = 16 * (1 + random32() % (sizeof data / 16));
            struct mw_frame_header h = {.type = write ? MW_FRAME_MEM_WRITE : MW_FRAME_MEM_READ,
                                        .sequence = e->sequence++,
                                        .argument = second,
                                        .count = write ? 0 : (uint32_t)bytes};
            e->ops->out(e->model, e->bytes, endpoints_make(e, &h, data, write ? bytes : 0));
        }
        for (unsigned n = 0; n < frames; n++) {
            endpoints_receive(e, LIMIT);
            unsigned status = e->reply.status ? e->reply.status : e->trailer;
            assert_true(status == MW_STATUS_OK || status == MW_STATUS_STATE);
            lost += status == MW_STATUS_STATE;
            done += status == MW_STATUS_OK;
        }
        if (i % 4 == 0)
            assert_int_equal(endpoints_call(e, MW_FRAME_RESET, 0, 0, NULL, 0), MW_STATUS_OK);
        while (reg_read(e, FABRIC(down)))
            ;
        for (size_t j = 0; j < sizeof data; j++)
            data[j] = (uint8_t)random32();
        assert_int_equal(endpoints_call(e, MW_FRAME_MEM_WRITE, second, 0, data, sizeof data),
                         MW_STATUS_OK);
        assert_int_equal(endpoints_call(e, MW_FRAME_MEM_READ, second, sizeof back, NULL, 0),
                         MW_STATUS_OK);
        memcpy(back, e->payload, sizeof back);
        assert_memory_equal(data, back, sizeof back);
    }
    print_message("%u frames met the reset, %u did not\n", lost, done);
    assert_true(lost > rounds / 8 && done > rounds / 8);
    close_device(e, model);
}

/// Garbage, cut and repeated frames and resets of the link between writes and reads. What was
/// acknowledged is there.
static void test_faults(void **state)
{
    const char *model = *state;
    struct endpoints *e = open_device(model);
    enum { BLOCK = 1024, BLOCKS = 16 };
    static uint8_t wrote[BLOCKS][BLOCK];
    bool known[BLOCKS] = {false};
    unsigned faults = 0;
    const int rounds = (int)(at_pins(model) ? test_cases(10, 25) : test_cases(80, 200));
    for (int i = 0; i < rounds; i++) {
        if (i % 5 == 0)
            endpoints_sync(e);
        unsigned b = random32() % BLOCKS;
        uint64_t place = (uint64_t)(b % GPUS) << MW_HOST_GPU_SHIFT | b * BLOCK;
        if (known[b]) {
            assert_int_equal(endpoints_call(e, MW_FRAME_MEM_READ, place, BLOCK, NULL, 0),
                             MW_STATUS_OK);
            assert_memory_equal(e->payload, wrote[b], BLOCK);
        }
        for (int j = 0; j < BLOCK; j++)
            wrote[b][j] = (uint8_t)random32();
        assert_int_equal(endpoints_call(e, MW_FRAME_MEM_WRITE, place, 0, wrote[b], BLOCK),
                         MW_STATUS_OK);
        known[b] = true;
        if (i % 5 != 4)
            continue;
        // the frame breaks before a block is written, then the host brings the link into step
        unsigned victim = random32() % BLOCKS;
        struct mw_frame_header h = {.type = MW_FRAME_MEM_WRITE,
                                    .sequence = e->sequence++,
                                    .argument = (uint64_t)(victim % GPUS) << MW_HOST_GPU_SHIFT |
                                                victim * BLOCK};
        uint8_t junk[BLOCK] = {1};
        size_t bytes = endpoints_make(e, &h, junk, sizeof junk);
        switch (random32() % 4) {
        case 0: // cut
            bytes = 1 + random32() % (bytes - 1);
            break;
        case 1: // a wrong bit
            e->bytes[random32() % bytes] ^= (uint8_t)(1 << random32() % 8);
            break;
        case 2: // it comes twice
            e->ops->out(e->model, e->bytes, bytes);
            break;
        default: // the bus is reset in the middle
            e->ops->out(e->model, e->bytes, bytes);
            e->cycles += e->ops->run(e->model, random32() % 200);
            e->ops->link_reset(e->model);
            bytes = 0;
        }
        e->ops->out(e->model, e->bytes, bytes);
        known[victim] = false;
        faults++;
    }
    assert_int_equal(faults, rounds / 5);
    endpoints_sync(e);
    assert_int_equal(endpoints_call(e, MW_FRAME_INFO, 0, 0, NULL, 0), MW_STATUS_OK);
    close_device(e, model);
}

/// Bytes per clock of MEM_WRITE and MEM_READ back to back, to and from the fabric's memories.
static void test_rate(void **state)
{
    const char *model = *state;
    bool usb = at_pins(model);
    struct endpoints *e = open_device(model);
    endpoints_sync(e);
    enum { FRAMES = 8 };
    static uint8_t data[MW_HOST_MAX_PAYLOAD];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)random32();
    for (int write = 1; write >= 0; write--) {
        uint64_t begin = e->cycles;
        for (unsigned i = 0; i < FRAMES; i++) {
            struct mw_frame_header h = {.type = write ? MW_FRAME_MEM_WRITE : MW_FRAME_MEM_READ,
                                        .sequence = e->sequence++,
                                        .argument = (uint64_t)(i % GPUS) << MW_HOST_GPU_SHIFT,
                                        .count = write ? 0 : sizeof data};
            e->ops->out(e->model, e->bytes, endpoints_make(e, &h, data, write ? sizeof data : 0));
        }
        for (unsigned i = 0; i < FRAMES; i++) {
            endpoints_receive(e, LIMIT);
            assert_int_equal(e->reply.status, MW_STATUS_OK);
            if (!write)
                assert_memory_equal(e->payload, data, sizeof data);
        }
        double rate = (double)FRAMES * sizeof data / (double)(e->cycles - begin);
        print_message("%s: %.3f bytes per clock, %.1f MB/s at 60 MHz\n",
                      write ? "MEM_WRITE" : "MEM_READ", rate, 60 * rate);
        assert_true(rate > (usb ? 50.0 / 60 : 7.5));
    }
    close_device(e, model);
}

int main(void)
{
    rng = seed();
    print_message("MW_SEED=%llu\n", (unsigned long long)rng);
    // at the endpoints, and again at the pins of the PHY. There the first test sends requests
    // before the firmware runs, and edges of both clocks have any distance
    endpoints_clock("17000");
    static char device[] = "mwdevice", usb[] = "mwdevice_usb";
    const struct CMUnitTest tests[] = {
        {"test_layer", test_layer, NULL, NULL, device},
        {"test_cable", test_cable, NULL, NULL, device},
        {"test_answers", test_answers, NULL, NULL, device},
        {"test_restarts", test_restarts, NULL, NULL, device},
        {"test_forbidden", test_forbidden, NULL, NULL, device},
        {"test_firmware", test_firmware, NULL, NULL, device},
        {"test_flush", test_flush, NULL, NULL, device},
        {"test_faults", test_faults, NULL, NULL, device},
        {"test_rate", test_rate, NULL, NULL, device},
        {"test_answers at the pins", test_answers, NULL, NULL, usb},
        {"test_layer at the pins", test_layer, NULL, NULL, usb},
        {"test_cable at the pins", test_cable, NULL, NULL, usb},
        {"test_faults at the pins", test_faults, NULL, NULL, usb},
        {"test_rate at the pins", test_rate, NULL, NULL, usb},
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (kept)
        endpoints_close(kept);
    return failed;
}
