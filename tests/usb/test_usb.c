// SPDX-License-Identifier: Apache-2.0
//
// The usb transport over a mocked usbfs: sizes, credits, versions, several devices, and every
// failure of the transfers. After each failure the same device handle, or a new one, must work
// again, and what was acknowledged must be there.
#include "bus.h"

#include "moeswitch.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"

enum {
    SMALL_TIMEOUT = 300,  ///< ms
    DEFAULT_TIMEOUT = 10, ///< s
};

static uint64_t seed = 1;

static struct mw_device *open_device(const char *serial, int expected)
{
    struct mw_open_options o;
    struct mw_device *device;
    mw_open_defaults(&o);
    o.transport = "usb";
    o.serial = serial;
    o.gpus = o.flit_bytes = 0;
    o.timeout_ms = SMALL_TIMEOUT;
    int status = mw_open(&o, &device);
    if (status != expected)
        print_error("open: %d, expected %d: %s\n", status, expected, mw_message());
    assert_int_equal(status, expected);
    return device;
}

static void assert_message(const char *part)
{
    if (!strstr(mw_message(), part))
        fail_msg("\"%s\" is not in \"%s\"", part, mw_message());
}

static void fill(uint8_t *bytes, size_t count, struct mw_random *random)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)mw_random_next(random);
}

/// Write and read back pieces of these sizes, on both GPUs.
static void check_sizes(struct mw_device *device, const size_t *bytes, size_t count)
{
    struct mw_transfer list[32];
    uint8_t *sent[32];
    struct mw_random random = {seed};
    assert_true(count <= 32);
    for (size_t i = 0; i < count; i++) {
        sent[i] = malloc(bytes[i] + 1);
        fill(sent[i], bytes[i], &random);
        list[i] = (struct mw_transfer){
            .gpu = i % BUS_GPUS, .address = i * (BUS_MEM / 32), .bytes = bytes[i], .data = sent[i]};
    }
    assert_int_equal(mw_mem_write(device, list, count), 0);
    for (size_t i = 0; i < count; i++)
        list[i].data = calloc(1, bytes[i] + 1);
    assert_int_equal(mw_mem_read(device, list, count), 0);
    for (size_t i = 0; i < count; i++) {
        assert_memory_equal(list[i].data, sent[i], bytes[i]);
        free(list[i].data);
        free(sent[i]);
    }
}

/// A short write and read on a device that should be well.
static void check_well(struct mw_device *device)
{
    static const size_t sizes[] = {16, 4096, 100000 - 100000 % 16};
    check_sizes(device, sizes, 3);
}

// ---- set-up -------------------------------------------------------------------------------------

static struct bus *bus;
static struct bus_device *stub;  ///< plugged into it as A, if a test requests it,
static struct mw_device *opened; ///< and open

static int make_bus(void **state)
{
    (void)state;
    bus = bus_create();
    opened = NULL;
    return 0;
}

static int open_a(void **state)
{
    make_bus(state);
    stub = bus_plug(bus, &(struct mwd_settings){.serial = "A"});
    opened = open_device("A", 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    mw_close(opened);
    bus_destroy(bus);
    return 0;
}

/// A layer that fits every device here.
static struct mw_layout small_layer(struct mw_device *device, unsigned buffers,
                                    struct mw_layer_config *c)
{
    struct mw_layout l;
    mw_layer_defaults(c);
    c->k = 2;
    c->tokens_per_gpu = 4;
    c->row_bytes = 32;
    c->experts_per_gpu = 2;
    c->rows_per_expert = 8;
    c->buffers = buffers;
    assert_int_equal(mw_layout_make(device, c, &l), 0);
    return l;
}

static const unsigned layer_tokens[BUS_GPUS] = {4, 4}, layer_experts[BUS_GPUS] = {2, 2};

// ---- what works ---------------------------------------------------------------------------------

static void test_info(void **state)
{
    (void)state;
    bus_plug(bus, &(struct mwd_settings){.serial = "MW0001"});
    struct mw_device *device = open_device(NULL, 0);
    struct mw_device_info info;
    struct mw_firmware firmware;
    assert_int_equal(mw_info(device, &info), 0);
    assert_int_equal(info.gpus, BUS_GPUS);
    assert_int_equal(info.flit_bytes, BUS_FLIT);
    assert_int_equal(info.mem_bytes, BUS_MEM);
    assert_int_equal(mw_firmware_info(device, &firmware), 0);
    assert_string_equal(firmware.serial, "MW0001");
    assert_string_equal(firmware.name, "stub");
    assert_int_equal(firmware.protocol_major, 1);
    mw_close(device);
}

/// Frames that just fill a packet, or a transfer's buffer, need a zero-length packet.
static void test_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {16,         480,   512, 480 + 512, 65536 - 32, 65536, 65552,
                                   66048 - 32, 16384, 0,   32,        200000,     48,    131072};
    check_sizes(opened, sizes, sizeof sizes / sizeof *sizes);
    assert_int_equal(bus_counts(stub).wrong_zero_flag, 0);
}

static void test_full_speed(void **state)
{
    (void)state;
    static const size_t sizes[] = {16, 32, 64, 512, 65536, 70000 - 70000 % 16};
    bus_plug(bus, &(struct mwd_settings){.serial = "A", .packet = 64});
    struct mw_device *device = open_device("A", 0);
    check_sizes(device, sizes, sizeof sizes / sizeof *sizes);
    mw_close(device);
}

/// A device with the smallest credits that the protocol allows.
static void test_small_credits(void **state)
{
    (void)state;
    static const size_t sizes[] = {16, 4096, 4112, 1 << 18};
    bus_plug(bus, &(struct mwd_settings){.serial = "A", .window = 1, .credit = 64});
    bus_plug(bus, &(struct mwd_settings){.serial = "B", .window = 3, .credit = 4096});
    for (unsigned i = 0; i < 2; i++) {
        struct mw_device *device = open_device(i ? "B" : "A", 0);
        check_sizes(device, sizes, 3 + i);
        mw_close(device);
    }
}

static void test_registers(void **state)
{
    (void)state;
    struct mw_expert_place places[64];
    for (unsigned e = 0; e < 64; e++)
        places[e] = (struct mw_expert_place){.expert = e, .gpu = e % 2, .local_expert = e / 2 % 16};
    assert_int_equal(mw_expert_map_set(opened, places, 64), 0);
    assert_int_equal(mw_partition_set(opened, 1, 3), 0);
    assert_true(mw_total_cycles(opened) > 0);
}

static void test_selftest_and_log(void **state)
{
    (void)state;
    struct mw_selftest result[8];
    struct mw_log_entry log[8];
    size_t count;
    assert_int_equal(mw_selftest(opened, 1, result, 8, &count), 0);
    assert_int_equal(count, BUS_GPUS);
    for (unsigned g = 0; g < BUS_GPUS; g++) {
        assert_int_equal(result[g].unit, g);
        assert_int_equal(result[g].failed, 0);
        assert_true(result[g].checked > 0);
    }
    bus_fault(stub, BUS_CORRUPT_OUT, 0, 0); // the first byte of a header
    assert_int_equal(mw_partition_set(opened, 0, 1), MW_ERR_IO);
    assert_int_equal(mw_log_read(opened, 0, log, 8, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(log[0].code, 0); // BOOT
    assert_int_equal(log[1].code, 1); // LINK
    assert_int_equal(mw_log_read(opened, 1, log, 8, &count), 0);
    assert_int_equal(count, 1);
}

/// All tests of a device whose results do not fit into one reply.
static void test_selftest_of_many(void **state)
{
    (void)state;
    bus_plug_in(bus, &(struct bus_plugged){.settings = {.serial = "A"}, .gpus = MW_HOST_MAX_GPUS});
    struct mw_device *device = open_device("A", 0);
    struct mw_selftest result[2 * MW_HOST_MAX_GPUS];
    size_t count;
    assert_int_equal(mw_selftest(device, 3, result, 2 * MW_HOST_MAX_GPUS, &count), 0);
    assert_int_equal(count, MW_HOST_MAX_GPUS); // the stub has no links to test
    for (unsigned g = 0; g < MW_HOST_MAX_GPUS; g++)
        assert_int_equal(result[g].unit, g);
    assert_int_equal(mw_selftest(device, 3, result, 5, &count), 0);
    assert_int_equal(count, MW_HOST_MAX_GPUS);
    mw_close(device);
}

/// The stored data of the device stay when it does not answer once.
static void test_firmware_lost(void **state)
{
    (void)state;
    struct mw_firmware firmware = {.version = 7};
    struct mw_selftest result[BUS_GPUS];
    size_t count;
    bus_freeze(stub, true);
    assert_int_equal(mw_firmware_info(opened, &firmware), MW_ERR_TIMEOUT);
    assert_int_equal(firmware.version, 7);
    bus_freeze(stub, false);
    assert_int_equal(mw_selftest(opened, 1, result, BUS_GPUS, &count), 0);
}

/// Layers of the stub are done as soon as they are started. Tested are fed layers, and the answers
/// of a device of version 1.0.
static void test_feed(void **state)
{
    (void)state;
    bus_plug(bus, &(struct mwd_settings){.serial = "A"});
    bus_plug(bus, &(struct mwd_settings){.serial = "OLD", .major = 1, .minor = 0});
    bus_plug(bus, &(struct mwd_settings){.serial = "PLAIN", .features = 1});
    for (unsigned i = 0; i < 3; i++) {
        struct mw_device *device = open_device(i == 0 ? "A" : i == 1 ? "OLD" : "PLAIN", 0);
        struct mw_layer_config c;
        const struct mw_layout l = small_layer(device, 2, &c);
        uint32_t number[12] = {0};
        uint8_t data[128] = {1};
        assert_int_equal(mw_layer_configure(device, &c, &l, layer_tokens, layer_experts, 1), 0);
        for (unsigned n = 0; n < 12; n++) {
            const struct mw_transfer t = {1, l.buffer[n % 2].xs_base, sizeof data, data};
            assert_int_equal(mw_mem_write(device, &t, 1), 0);
            int status = mw_feed(device, &l, n % 2, &number[n]);
            assert_int_equal(status, i ? MW_ERR_VERSION : 0);
            if (i) {
                assert_message(i == 1 ? "version 1.0 of the host protocol, which has no queue of "
                                        "layers: upgrade its firmware"
                                      : "no queue of layers: upgrade it");
                break;
            }
            assert_int_equal(number[n], n);
            if (n)
                assert_int_equal(mw_fed_wait(device, n - 1, NULL, NULL), 0);
        }
        assert_int_equal(mw_fed_wait(device, number[0], NULL, NULL),
                         i ? MW_ERR_VERSION : MW_ERR_STATE);
        assert_int_equal(mw_fed_wait(device, number[i ? 0 : 11], NULL, NULL),
                         i ? MW_ERR_VERSION : 0);
        check_well(device);
        mw_close(device);
    }
}

// ---- which device -------------------------------------------------------------------------------

static void test_serials(void **state)
{
    (void)state;
    open_device(NULL, MW_ERR_NODEV);
    assert_message("1209:0001");
    bus_plug(bus, &(struct mwd_settings){.serial = "A1"});
    bus_plug(bus, &(struct mwd_settings){.serial = "B2"});
    open_device(NULL, MW_ERR_INVALID);
    assert_message("A1");
    assert_message("B2");
    open_device("C3", MW_ERR_NODEV);
    assert_message("no device has the serial number C3; there are: ");
    struct mw_device *a = open_device("A1", 0), *b = open_device("B2", 0);
    check_well(a);
    check_well(b);

    struct mw_found found[4];
    assert_int_equal(mw_list(found, 4), 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_string_equal(found[i].serial, i ? "B2" : "A1");
        assert_int_equal(found[i].state, MW_ERR_BUSY);
        assert_int_equal(found[i].mbit_per_s, 480);
        assert_int_equal(found[i].protocol, MW_HOST_PROTOCOL_MAJOR << 8 | MW_HOST_PROTOCOL_MINOR);
    }
    mw_close(a);
    assert_int_equal(mw_list(found, 1), 2);
    assert_string_equal(found[0].serial, "A1");
    assert_int_equal(found[0].state, 0);
    mw_close(b);
}

static void test_second_opener(void **state)
{
    (void)state;
    open_device("A", MW_ERR_BUSY);
    assert_message("in use by another program");
    check_well(opened);
    mw_close(opened);
    opened = open_device("A", 0);
    check_well(opened);
}

static void test_versions(void **state)
{
    (void)state;
    static const struct {
        struct mwd_settings settings;
        int code;
        const char *says;
    } cases[] = {
        {{.serial = "new", .major = 2}, MW_ERR_VERSION, "upgrade this library"},
        {{.serial = "newer", .major = 1, .minor = 9, .needs_minor = MW_HOST_PROTOCOL_MINOR + 1},
         MW_ERR_VERSION,
         "finds too old: upgrade this library"},
        {{.serial = "addition", .major = 1, .minor = 9}, 0, ""},
        {{.serial = "no keys", .major = 1, .minor = MW_HOST_KEY_MINOR - 1}, 0, ""},
        {{.serial = "bare", .features = 1 << 30}, MW_ERR_VERSION, "no fabric"},
        {{.serial = "plain", .features = 1}, 0, ""},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        bus_plug(bus, &cases[i].settings);
        struct mw_device *device = open_device(cases[i].settings.serial, cases[i].code);
        if (cases[i].code)
            assert_message(cases[i].says);
        else
            check_well(device);
        if (device && cases[i].settings.features) {
            struct mw_selftest result;
            size_t count;
            assert_int_equal(mw_selftest(device, 1, &result, 1, &count), MW_ERR_VERSION);
            assert_message("no self-test: upgrade it");
        }
        mw_close(device);
    }
}

static void test_wrong_size(void **state)
{
    (void)state;
    bus_plug(bus, &(struct mwd_settings){.serial = "A"});
    struct mw_open_options o;
    struct mw_device *device;
    mw_open_defaults(&o); // 8 GPUs
    o.transport = "usb";
    assert_int_equal(mw_open(&o, &device), MW_ERR_INVALID);
    assert_message("has 2 GPUs and 8-byte flits, requested were 8 and 16");
}

static void test_memory_limit(void **state)
{
    (void)state;
    bus_plug(bus, &(struct mwd_settings){.serial = "A"});
    bus_memory_limit(bus, "1\n");
    open_device("A", MW_ERR_NOMEM);
    assert_message("echo 16 | sudo tee /sys/module/usbcore/parameters/usbfs_memory_mb");
    bus_memory_limit(bus, "0\n"); // none
    mw_close(open_device("A", 0));
    bus_memory_limit(bus, "16\n");
    mw_close(open_device("A", 0));
}

// ---- what goes wrong ----------------------------------------------------------------------------

enum { BIG = 3 << 20 };

/// A big write with a fault in it. Returns its status.
static int write_big(uint8_t *data)
{
    struct mw_transfer t = {.gpu = 1, .address = 4096, .bytes = BIG, .data = data};
    return mw_mem_write(opened, &t, 1);
}

static void test_timeout(void **state)
{
    (void)state;
    uint8_t *data = calloc(1, BIG);
    bus_freeze(stub, true);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    assert_int_equal(write_big(data), MW_ERR_TIMEOUT);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - start.tv_sec < DEFAULT_TIMEOUT); // it is that of this device
    assert_message("0 of 3145728 bytes had been written");
    assert_int_equal(mw_partition_set(opened, 0, 1), MW_ERR_TIMEOUT);
    assert_message("SYNC");
    bus_freeze(stub, false);
    // whether that register was written is undefined
    struct mw_transfer t = {.bytes = 16, .data = data};
    assert_int_equal(mw_mem_read(opened, &t, 1), MW_ERR_STATE);
    assert_message("call mw_reset");
    assert_int_equal(mw_reset(opened), 0);
    check_well(opened);
    assert_true(bus_counts(stub).cancels > 0);
    // closing must not wait for a device that does not move
    bus_freeze(stub, true);
    free(data);
}

/// Requests that begin a layer and whose replies are lost. No other layer begins before a reset.
static void test_lost_layer(void **state)
{
    (void)state;
    struct mw_layer_config c;
    const struct mw_layout l = small_layer(opened, 1, &c);
    uint32_t number;
    for (unsigned fed = 0; fed < 2; fed++) {
        assert_int_equal(mw_layer_configure(opened, &c, &l, layer_tokens, layer_experts, 1), 0);
        bus_freeze(stub, true);
        assert_int_equal(fed ? mw_feed(opened, &l, 0, &number) : mw_launch(opened), MW_ERR_TIMEOUT);
        bus_freeze(stub, false);
        assert_int_equal(mw_launch(opened), MW_ERR_STATE);
        assert_message("call mw_reset");
        assert_int_equal(mw_feed(opened, &l, 0, &number), MW_ERR_STATE);
        assert_int_equal(mw_reset(opened), 0);
        assert_int_equal(mw_layer_configure(opened, &c, &l, layer_tokens, layer_experts, 1), 0);
        assert_int_equal(mw_launch(opened), 0);
        assert_int_equal(mw_wait(opened, NULL, NULL), 0);
        assert_int_equal(mw_feed(opened, &l, 0, &number), 0);
        assert_int_equal(mw_fed_wait(opened, number, NULL, NULL), 0);
    }
    check_well(opened);
}

struct caller {
    int status;
    char message[256];
    atomic_int read, end; ///< relaxed: they must not order the data that they announce
};

static void wait_for(atomic_int *what)
{
    while (!atomic_load_explicit(what, memory_order_relaxed))
        usleep(1000);
}

static void *call(void *context)
{
    struct caller *c = context;
    uint32_t mask;
    c->status = mw_ports_down(opened, &mask);
    snprintf(c->message, sizeof c->message, "%s", mw_message());
    atomic_store_explicit(&c->read, 1, memory_order_relaxed);
    wait_for(&c->end);
    return NULL;
}

/// One thread reads the cause of its failed call while the link fails once more. ThreadSanitizer
/// checks this in its build.
static void test_message_of_a_link_that_breaks_again(void **state)
{
    (void)state;
    struct caller caller = {0};
    pthread_t thread;
    bus_freeze(stub, true);
    assert_int_equal(pthread_create(&thread, NULL, call, &caller), 0);
    wait_for(&caller.read);
    bus_unplug(stub);
    usleep(SMALL_TIMEOUT * 1000); // the library detects it or not. If not, nothing is checked
    atomic_store_explicit(&caller.end, 1, memory_order_relaxed);
    pthread_join(thread, NULL);
    assert_int_equal(caller.status, MW_ERR_TIMEOUT);
    assert_non_null(strstr(caller.message, "no reply to REG_READ"));
}

static void test_unplug(void **state)
{
    (void)state;
    uint8_t *data = calloc(1, BIG);
    bus_fault(stub, BUS_UNPLUG, 40, 0);
    assert_int_equal(write_big(data), MW_ERR_NODEV);
    assert_message("of 3145728 bytes had been written");
    assert_message("unplugged");
    assert_int_equal(mw_partition_set(opened, 0, 1), MW_ERR_NODEV);
    bus_unplug(stub);
    mw_close(opened);
    open_device("A", MW_ERR_NODEV);
    stub = bus_plug(bus, &(struct mwd_settings){.serial = "A"});
    opened = open_device("A", 0);
    check_well(opened);
    bus_unplug(stub); // while nothing is under way
    assert_int_equal(write_big(data), MW_ERR_NODEV);
    assert_message("0 of 3145728 bytes had been written");
    free(data);
}

/// Each kind of damage, at many places. The call may fail, and then reports the cause. The next one
/// works.
static void test_faults(void **state)
{
    (void)state;
    uint8_t *data = malloc(BIG), *back = malloc(BIG);
    struct mw_random random = {seed};
    unsigned failed = 0;
    for (unsigned fault = BUS_CORRUPT_IN; fault < BUS_UNPLUG; fault++) {
        for (unsigned i = 0; i < 8; i++) {
            fill(data, 256, &random);
            for (size_t at = 256; at < BIG; at *= 2)
                memcpy(data + at, data, at < BIG - at ? at : BIG - at);
            bus_fault(stub, fault, (unsigned)mw_random_below(&random, 40),
                      fault == BUS_PAUSE ? mw_random_below(&random, 2 * SMALL_TIMEOUT)
                                         : mw_random_next(&random) >> 8);
            int status = write_big(data);
            if (status) {
                failed++;
                assert_true(status == MW_ERR_IO || status == MW_ERR_TIMEOUT);
                assert_message("bytes had been written");
                assert_message("usb:A: ");
                status = write_big(data);
            }
            struct mw_transfer t = {.gpu = 1, .address = 4096, .bytes = BIG, .data = back};
            bus_fault(stub, BUS_NONE, 0, 0);
            if (status)
                print_error("fault %u: %s\n", fault, mw_message());
            assert_int_equal(status, 0);
            assert_int_equal(mw_mem_read(opened, &t, 1), 0);
            assert_memory_equal(data, back, BIG);
        }
    }
    assert_true(failed > 44); // of 80
    assert_true(bus_counts(stub).clear_halts >= 4);
    free(data);
    free(back);
}

int main(int argc, char **argv)
{
    (void)argc;
    bus_prepare(argv);
    const char *text = getenv("MW_SEED");
    seed = text ? strtoull(text, NULL, 0) : 1;
    print_message("seed %llu\n", (unsigned long long)seed);
#define WITH_BUS(test) cmocka_unit_test_setup_teardown(test, make_bus, end)
#define WITH_A(test) cmocka_unit_test_setup_teardown(test, open_a, end)
    const struct CMUnitTest tests[] = {
        WITH_BUS(test_info),
        WITH_A(test_sizes),
        WITH_BUS(test_full_speed),
        WITH_BUS(test_small_credits),
        WITH_A(test_registers),
        WITH_A(test_selftest_and_log),
        WITH_BUS(test_selftest_of_many),
        WITH_A(test_firmware_lost),
        WITH_BUS(test_serials),
        WITH_A(test_second_opener),
        WITH_BUS(test_versions),
        WITH_BUS(test_wrong_size),
        WITH_BUS(test_memory_limit),
        WITH_A(test_timeout),
        WITH_A(test_lost_layer),
        WITH_A(test_message_of_a_link_that_breaks_again),
        WITH_A(test_unplug),
        WITH_A(test_faults),
        WITH_BUS(test_feed),
    };
    return cmocka_run_group_tests_name("usb", tests, NULL, NULL);
}
