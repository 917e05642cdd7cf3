// SPDX-License-Identifier: Apache-2.0
//
// What a device allows after a failure. Every request that changes the device is lost in turn,
// executed and not. Then only a reset is allowed. After it a layer begins in a swept epoch with all
// that it needs.
#include "driver/fake_device.h"

#include <stdlib.h>
#include <string.h>

enum { GPUS = 4, MOST_CALLS = 400 };

static struct mw_layer_config config;
static struct mw_layout layout;
static struct mw_multicast *group;
static const unsigned SOME[GPUS] = {2, 2, 2, 2};

static int setup(void **state)
{
    (void)state;
    fake_init(&fake, GPUS, 8);
    config = small_config();
    config.buffers = 2;
    group = NULL;
    return fake_open(&fake, &device) || mw_layout_make(device, &config, &layout);
}

static int teardown(void **state)
{
    (void)state;
    mw_multicast_destroy(group);
    mw_close(device);
    fake_free(&fake);
    return 0;
}

static void reopen(bool lists)
{
    mw_multicast_destroy(group);
    group = NULL;
    mw_close(device);
    fake_fail_at(&fake, FAKE_NEVER);
    fake_lose_at(&fake, FAKE_NEVER);
    fake.lists = lists;
    assert_code(fake_open(&fake, &device), 0);
    assert_code(mw_multicast_create(device, 64, &group), 0);
    assert_code(mw_multicast_add_device(group, 1), 0);
}

static int configure(void)
{
    return mw_layer_configure(device, &config, &layout, SOME, SOME, 1);
}

/// Everything that changes a device, up to the first call that fails.
static int change_all(void)
{
    const struct mw_expert_place place = {5, 1, 2};
    int status = mw_expert_map_set(device, &place, 1);
    if (!status)
        status = mw_partition_set(device, 0, 3);
    if (!status)
        status = mw_multicast_bind_addr(group, 0);
    if (!status)
        status = mw_port_limit(device, 12);
    if (!status)
        status = mw_fault_set(device, 1, 0, 0);
    if (!status)
        status = configure();
    return status ? status : mw_launch(device);
}

/// Only calls that read may reach the device.
static void assert_unknown(void)
{
    struct mw_counters c;
    struct mw_progress progress;
    struct mw_device_info info;
    uint8_t data[16];
    uint32_t number, mask;
    struct mw_gpu_set set = {{0}};
    const struct mw_transfer t = {0, 0, sizeof data, data};
    const struct mw_expert_place place = {0, 0, 0};
    struct mw_multicast *m;
    long calls = fake.calls;
    const int refused[] = {mw_launch(device),
                           mw_wait(device, NULL, NULL),
                           configure(),
                           mw_feed(device, &layout, 0, &number),
                           mw_fed_wait(device, 0, NULL, NULL),
                           mw_mem_write(device, &t, 1),
                           mw_mem_read(device, &t, 1),
                           mw_expert_map_set(device, &place, 1),
                           mw_partition_set(device, 0, 1),
                           mw_partition_set_wide(device, 0, &set),
                           mw_multicast_create(device, 64, &m),
                           mw_multicast_bind_addr(group, 0),
                           mw_counters_read(device, &c),
                           mw_ports_down(device, &mask),
                           mw_ports_down_wide(device, &set),
                           mw_port_limit(device, 3),
                           mw_port_enable(device, 1),
                           mw_port_disable(device, 1),
                           mw_fault_set(device, 1, 0, 0),
                           mw_monitor_set(device, 0, 0),
                           mw_cancel(device)};
    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_code(refused[i], MW_ERR_STATE);
    assert_message("call mw_reset");
    assert_int_equal(fake.calls, calls);
    assert_code(mw_query(device, &progress), 0);
    assert_int_equal(progress.state, MW_STATE_UNKNOWN);
    assert_code(mw_info(device, &info), 0);
}

/// After a reset: a whole layer, whose tables were cleared before it.
static void assert_well(bool bound)
{
    unsigned sweeps = fake.sweeps, resets = fake.resets;
    assert_code(mw_reset(device), 0);
    assert_int_equal(fake.resets, resets + 1);
    assert_int_equal(*fake_fabric(&fake, FABRIC(link)), 1);
    assert_code(mw_launch(device), MW_ERR_STATE);
    assert_message("no layer was configured");
    int waited = mw_wait(device, NULL, NULL);
    assert_true(waited == MW_ERR_STATE || waited == MW_ERR_CANCELED); // what ran, if anything did
    assert_code(mw_wait(device, NULL, NULL), waited);
    assert_code(configure(), 0);
    assert_code(mw_launch(device), 0);
    assert_int_equal(fake.sweeps, sweeps + 1);
    assert_int_equal(*fake_fabric(&fake, FABRIC(epoch)), 0);
    assert_int_equal(fake.groups_at_go[0], bound ? 2 : 0);
    assert_int_equal(fake.groups_at_go[4], 0);
    assert_code(mw_wait(device, NULL, NULL), 0);
}

static void lost(bool lists, bool carried_out)
{
    long at;
    int code;
    for (at = 0; at < MOST_CALLS; at++) {
        reopen(lists);
        if (carried_out)
            fake_lose_at(&fake, at);
        else
            fake_fail_at(&fake, at);
        code = change_all();
        bool hit = fake.calls > at;
        fake_fail_at(&fake, FAKE_NEVER);
        fake_lose_at(&fake, FAKE_NEVER);
        if (!hit)
            break;
        bool bound = mw_multicast_group(group) >= 0;
        if (!code) { // a read, of which nothing was lost
            assert_true(carried_out);
            assert_code(mw_wait(device, NULL, NULL), 0);
            continue;
        }
        assert_code(code, carried_out ? MW_ERR_TIMEOUT : MW_ERR_IO);
        assert_unknown();
        assert_well(bound);
    }
    assert_true(at > 8 && at < MOST_CALLS);
}

static void writes_fail(void **state)
{
    (void)state;
    lost(false, false);
}

static void replies_are_lost(void **state)
{
    (void)state;
    lost(false, true);
}

/// Where the transport gathers writes.
static void lists_fail(void **state)
{
    (void)state;
    lost(true, false);
}

static void replies_to_lists_are_lost(void **state)
{
    (void)state;
    lost(true, true);
}

/// The device has begun the layer: no other layer gets its epoch.
static void lost_feed(void **state)
{
    (void)state;
    uint32_t number;
    reopen(false);
    assert_code(configure(), 0);
    fake_lose_at(&fake, 0);
    fake.stuck = true;
    assert_code(mw_feed(device, &layout, 0, &number), MW_ERR_TIMEOUT);
    fake_lose_at(&fake, FAKE_NEVER);
    assert_unknown();
    fake.stuck = false;
    assert_well(false);
    assert_code(mw_feed(device, &layout, 0, &number), 0);
    assert_code(mw_fed_wait(device, number, NULL, NULL), 0);
}

/// A read that fails loses no stored state.
static void looks_fail(void **state)
{
    (void)state;
    struct mw_counters c;
    uint64_t cycles = 0;
    assert_code(configure(), 0);
    assert_code(mw_launch(device), 0);
    for (unsigned at = 0; at < 4; at++) {
        fake_fail_at(&fake, at);
        assert_code(mw_wait(device, NULL, NULL), MW_ERR_IO);
    }
    fake_fail_at(&fake, 0);
    assert_code(mw_counters_read(device, &c), MW_ERR_IO);
    fake_fail_at(&fake, FAKE_NEVER);
    assert_code(mw_wait(device, NULL, &cycles), 0);
    assert_int_equal(cycles, 1000);
    assert_code(mw_launch(device), 0);
    assert_int_equal(fake.sweeps, 1);
    assert_code(mw_wait(device, NULL, NULL), 0);
}

static void reset_fails(void **state)
{
    (void)state;
    reopen(false);
    assert_code(mw_multicast_bind_addr(group, 0), 0);
    assert_code(configure(), 0);
    for (long at = 0; at < 8; at++) { // the reset, six reads, the link
        fake_fail_at(&fake, at);
        assert_code(mw_reset(device), MW_ERR_IO);
        fake_fail_at(&fake, FAKE_NEVER);
        assert_unknown();
    }
    *fake_fabric(&fake, FABRIC(size)) += 1;
    assert_code(mw_reset(device), MW_ERR_VERSION);
    assert_message("not the one that was opened");
    *fake_fabric(&fake, FABRIC(size)) -= 1;
    assert_unknown();
    assert_well(true);
    // of a device without a failure, and of one that runs
    assert_well(true);
    assert_code(mw_launch(device), 0);
    assert_well(true);
}

static void expert_map_after_reset(void **state)
{
    (void)state;
    const struct mw_expert_place place = {5, 1, 2};
    assert_code(mw_expert_map_set(device, &place, 1), 0);
    assert_code(mw_reset(device), 0);
    assert_code(configure(), 0);
    assert_code(mw_launch(device), 0);
    assert_int_equal(fake.emap_at_go[5], 1 << 13 | 1 << 6 | 2);
    assert_code(mw_wait(device, NULL, NULL), 0);
}

static void no_reset(void **state)
{
    (void)state;
    struct mw_transport old = fake_transport;
    struct mw_device *d;
    old.reset = NULL;
    assert_code(fake_open_by(&fake, &old, &d), 0);
    assert_code(mw_reset(d), MW_ERR_VERSION);
    mw_close(d);
}

/// A device that is gone stays gone.
static void unplugged(void **state)
{
    (void)state;
    reopen(false);
    assert_code(configure(), 0);
    fake.fail_with = MW_ERR_NODEV;
    fake_fail_at(&fake, 0);
    assert_code(mw_partition_set(device, 0, 1), MW_ERR_NODEV);
    fake_fail_at(&fake, FAKE_NEVER);
    assert_code(mw_launch(device), MW_ERR_NODEV);
    assert_message("open it again");
    assert_code(mw_reset(device), MW_ERR_NODEV);
    // while a layer runs, too
    reopen(false);
    assert_code(configure(), 0);
    assert_code(mw_launch(device), 0);
    fake_fail_at(&fake, 0);
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_NODEV);
    fake_fail_at(&fake, FAKE_NEVER);
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_NODEV);
    assert_message("open it again");
}

// ---- what a device reports of itself ------------------------------------------------------------

static int open_with(uint32_t offset, uint32_t value)
{
    uint32_t *reg = fake_fabric(&fake, offset), was = *reg;
    struct mw_device *d = NULL;
    *reg = value;
    int status = fake_open(&fake, &d);
    *reg = was;
    mw_close(d);
    return status;
}

static void sizes(void **state)
{
    (void)state;
    assert_code(open_with(FABRIC(size), GPUS | 8u << 8 | 34u << 16 | 4u << 24), 0);
    assert_code(open_with(FABRIC(size), GPUS | 8u << 8 | 35u << 16 | 4u << 24), MW_ERR_VERSION);
    assert_message("2^35 bytes");
    assert_code(open_with(FABRIC(size), GPUS | 8u << 8 | 255u << 16 | 4u << 24), MW_ERR_VERSION);
    assert_code(open_with(FABRIC(size), GPUS | 8u << 8 | 0u << 16 | 4u << 24), MW_ERR_VERSION);
    assert_code(open_with(FABRIC(capacity), 32 | 7u << 8 | 9u << 16 | 16u << 24), MW_ERR_VERSION);
    assert_code(open_with(FABRIC(capacity), 10 | 200u << 8 | 9u << 16 | 16u << 24), MW_ERR_VERSION);
    assert_message("2^200 tokens");
    assert_code(open_with(FABRIC(tables), 0 | 16u << 16), MW_ERR_VERSION);
    assert_code(open_with(FABRIC(tables), 64 | 128u << 16), 0);
    assert_code(open_with(FABRIC(tables), 64 | 129u << 16), MW_ERR_VERSION);
    assert_message("129 groups");
    assert_code(open_with(FABRIC(windows), 8 | 8u << 10), MW_ERR_VERSION);
    assert_message("links of 0 cycles");
    assert_code(open_with(FABRIC(windows), 8u << 10 | 64u << 20), MW_ERR_VERSION);
    assert_message(" 0 open rows");
}

/// Firmware that does not answer loses nothing that was read of it before.
static int firmware(void *context, struct mw_firmware *f)
{
    (void)context;
    memset(f, 0, sizeof *f);
    return MW_ERR_TIMEOUT;
}

static void firmware_fails(void **state)
{
    (void)state;
    struct mw_transport with = fake_transport;
    struct mw_device *d;
    struct mw_firmware f = {.version = 7};
    with.firmware = firmware;
    assert_code(fake_open_by(&fake, &with, &d), 0);
    assert_code(mw_firmware_info(d, &f), MW_ERR_TIMEOUT);
    assert_int_equal(f.version, 7);
    mw_close(d);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(writes_fail), TEST(replies_are_lost),
        TEST(lists_fail),  TEST(replies_to_lists_are_lost),
        TEST(lost_feed),   TEST(looks_fail),
        TEST(reset_fails), TEST(expert_map_after_reset),
        TEST(no_reset),    TEST(unplugged),
        TEST(sizes),       TEST(firmware_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
