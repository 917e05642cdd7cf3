// SPDX-License-Identifier: Apache-2.0
//
// Feeding over a fake device: the registers of each layer, and which memory may be moved while
// layers run. Also when a buffer is free, and every failure.
#include "fake_device.h"

#include <stdlib.h>
#include <string.h>

enum { GPUS = 4 };

static struct mw_layer_config config;
static struct mw_layout layout;

static void configure(void)
{
    const unsigned tokens[GPUS] = {5, 5, 5, 5}, experts[GPUS] = {3, 3, 3, 3};
    assert_code(mw_layer_configure(device, &config, &layout, tokens, experts, 1), 0);
}

static int setup(void **state)
{
    (void)state;
    fake_init(&fake, GPUS, 8);
    config = small_config();
    config.buffers = 3;
    return fake_open(&fake, &device) || mw_layout_make(device, &config, &layout);
}

static void layouts(void **state)
{
    (void)state;
    assert_int_equal(layout.buffers, 3);
    assert_int_equal(layout.buffer[0].rt_base, layout.rt_base);
    assert_int_equal(layout.buffer[0].xs_base, layout.xs_base);
    assert_int_equal(layout.buffer[0].out_base, layout.out_base);
    // no two parts of buffers lie in the same memory, nor in that of another region
    uint64_t at[11] = {layout.yd_base, layout.stream[0]}, bytes[11] = {1, 1};
    for (unsigned i = 0; i < 3; i++) {
        const uint64_t base[] = {layout.buffer[i].rt_base, layout.buffer[i].xs_base,
                                 layout.buffer[i].out_base};
        for (unsigned j = 0; j < 3; j++) {
            at[2 + 3 * i + j] = base[j];
            bytes[2 + 3 * i + j] = j ? layout.row_bytes : layout.rt_bytes;
            assert_true(base[j] + bytes[2 + 3 * i + j] <= layout.end);
        }
    }
    for (unsigned i = 0; i < 11; i++)
        for (unsigned j = 0; j < i; j++)
            assert_true(at[i] + bytes[i] <= at[j] || at[j] + bytes[j] <= at[i]);
    config.buffers = MW_FEED_BUFFERS + 1;
    assert_code(mw_layout_make(device, &config, &layout), MW_ERR_INVALID);
    assert_message("at most 4");
    config.buffers = 0;
    assert_code(mw_layout_make(device, &config, &layout), 0);
    assert_int_equal(layout.buffers, 1);
}

static void layers(void **state)
{
    (void)state;
    uint32_t number[10];
    uint64_t last = 0;
    configure();
    for (unsigned i = 0; i < 10; i++) {
        unsigned b = i % 3;
        if (i >= 2) {
            struct mw_fed fed;
            assert_code(mw_fed_wait(device, number[i - 2], NULL, &fed), 0);
            assert_int_equal(fed.cycles, fake.layer_cycles);
            assert_true(fed.start > last);
            last = fed.start;
        }
        assert_code(mw_feed(device, &layout, b, &number[i]), 0);
        if (i < 2)
            continue;
        // the one before this runs now, after a sweep perhaps, with its own buffer and epoch
        for (unsigned n = 0; fake.go < i && n < 10; n++)
            mwi_queue_poll(&fake.queue);
        const struct mw_feed_buffer *running = &layout.buffer[(i - 1) % 3];
        for (unsigned g = 0; g < GPUS; g++) {
            assert_int_equal(*fake_node(&fake, g, NODE(rt_base)), BASE(running->rt_base));
            assert_int_equal(*fake_node(&fake, g, NODE(xs_base)), BASE(running->xs_base));
            assert_int_equal(*fake_node(&fake, g, NODE(out_base)), BASE(running->out_base));
        }
        assert_int_equal(fake.go, i);
        assert_int_equal(*fake_fabric(&fake, FABRIC(epoch)), (i - 1) % 4);
        assert_int_equal(fake.sweeps, 1 + (i - 1) / 4);
    }
    assert_code(mw_fed_wait(device, number[9], NULL, NULL), 0);
    assert_int_equal(fake.go, 10);
    assert_code(mw_fed_wait(device, number[0], NULL, NULL), MW_ERR_STATE);
}

/// Numbers continue with 0 after the largest one.
static void numbers_begin_anew(void **state)
{
    (void)state;
    uint32_t number[10];
    fake.queue.layers.next = UINT32_MAX - 3;
    mwi_queue_reset(&fake.queue);
    configure();
    for (unsigned i = 0; i < 10; i++) {
        if (i >= 3)
            assert_code(mw_fed_wait(device, number[i - 3], NULL, NULL), 0);
        for (unsigned busy = i < 2 ? 0 : i - 2; busy < i; busy++)
            assert_code(mw_feed(device, &layout, busy % 3, &number[i]), MW_ERR_STATE);
        assert_code(mw_feed(device, &layout, i % 3, &number[i]), 0);
        assert_int_equal(number[i], UINT32_MAX - 3 + i);
    }
    for (unsigned i = 7; i < 10; i++)
        assert_code(mw_fed_wait(device, number[i], NULL, NULL), 0);
    assert_int_equal(fake.go, 10);
}

/// A read of `bytes` at `address` of GPU 1.
static int read_at(uint64_t address, size_t bytes)
{
    uint8_t data[1024];
    struct mw_transfer t = {1, address, bytes, data};
    assert_true(bytes <= sizeof data);
    return mw_mem_read(device, &t, 1);
}

/// Expect that all of a buffer may be accessed, or nothing.
static void expect_buffer(unsigned buffer, int code)
{
    const struct mw_feed_buffer *b = &layout.buffer[buffer];
    assert_code(read_at(b->rt_base, layout.rt_bytes), code);
    assert_code(read_at(b->xs_base, layout.row_bytes), code);
    assert_code(read_at(b->out_base + 16, layout.row_bytes - 16), code);
}

static void memory(void **state)
{
    (void)state;
    uint32_t number[2];
    configure();
    assert_code(mw_feed(device, &layout, 0, &number[0]), 0);
    expect_buffer(0, MW_ERR_STATE);
    expect_buffer(1, 0);
    expect_buffer(2, 0);
    assert_code(mw_feed(device, &layout, 2, &number[1]), 0);
    expect_buffer(0, MW_ERR_STATE);
    expect_buffer(1, 0);
    expect_buffer(2, MW_ERR_STATE);
    // outside, across the end, and from before the beginning
    assert_code(read_at(layout.yd_base, 16), MW_ERR_STATE);
    assert_code(read_at(layout.stream[0], 16), MW_ERR_STATE);
    assert_code(read_at(layout.buffer[1].xs_base, layout.row_bytes + 16), MW_ERR_STATE);
    assert_code(read_at(layout.buffer[1].rt_base - 16, 32), MW_ERR_STATE);
    assert_message("not inside");
    assert_code(read_at(layout.buffer[1].xs_base + layout.row_bytes, 0), 0);
    // one piece that may be moved does not help another
    uint8_t data[32];
    const struct mw_transfer two[] = {{0, layout.buffer[1].xs_base, 32, data},
                                      {0, layout.buffer[2].xs_base, 32, data}};
    assert_code(mw_mem_write(device, two, 2), MW_ERR_STATE);
    assert_message("transfer 1");
    assert_code(mw_mem_write(device, two, 1), 0);
    // if the later one is done, the earlier one is, too
    assert_code(mw_fed_wait(device, number[1], NULL, NULL), 0);
    expect_buffer(0, 0);
    assert_code(read_at(layout.yd_base, 16), 0);
    assert_code(mw_fed_wait(device, number[0], NULL, NULL), 0);
}

static void states(void **state)
{
    (void)state;
    uint32_t number;
    assert_code(mw_feed(device, &layout, 0, &number), MW_ERR_STATE);
    assert_message("no layer was configured");
    assert_code(mw_fed_wait(device, 0, NULL, NULL), MW_ERR_STATE);
    configure();
    assert_code(mw_feed(device, &layout, 3, &number), MW_ERR_INVALID);
    assert_message("has 3");
    assert_code(mw_launch(device), 0);
    assert_code(mw_feed(device, &layout, 0, &number), MW_ERR_STATE);
    assert_code(mw_wait(device, NULL, NULL), 0);
    assert_code(mw_feed(device, &layout, 0, &number), 0);
    assert_code(mw_feed(device, &layout, 0, &number), MW_ERR_STATE);
    assert_message("uses buffer 0");
    // nothing else that needs an idle device
    const struct mw_expert_place place = {0, 0, 0};
    assert_code(mw_expert_map_set(device, &place, 1), MW_ERR_STATE);
    assert_code(mw_launch(device), MW_ERR_STATE);
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_STATE);
    assert_code(mw_fed_wait(device, number, NULL, NULL), 0);
    // the registers are those of the fed layer
    assert_code(mw_launch(device), MW_ERR_STATE);
    assert_message("since mw_feed");
    configure();
    assert_code(mw_launch(device), 0);
    assert_code(mw_wait(device, NULL, NULL), 0);
}

static void failures(void **state)
{
    (void)state;
    uint32_t number[3];
    configure();
    *fake_fabric(&fake, FABRIC(node_error)) = 4;
    *fake_node(&fake, 2, NODE(status.error)) = 1 << 16 | 8;
    for (unsigned i = 0; i < 3; i++)
        assert_code(mw_feed(device, &layout, i, &number[i]), 0);
    assert_code(mw_fed_wait(device, number[0], NULL, NULL), MW_ERR_DEVICE);
    assert_message(mw_hw_strerror(8));
    assert_code(mw_fed_wait(device, number[2], NULL, NULL), MW_ERR_DEVICE);
    assert_message("one before it failed");
    assert_int_equal(fake.go, 1);
    // all have ended, and the queue accepts no more
    expect_buffer(2, 0);
    assert_code(mw_feed(device, &layout, 0, &number[0]), MW_ERR_STATE);
}

static void stuck(void **state)
{
    (void)state;
    uint32_t number;
    const struct mw_wait_options o = {.size = sizeof o, .quiet_cycles = 10000, .step_cycles = 1000};
    configure();
    fake.stuck = true;
    assert_code(mw_feed(device, &layout, 0, &number), 0);
    assert_code(mw_fed_wait(device, number, &o, NULL), MW_ERR_TIMEOUT);
    assert_message("no progress");
    assert_code(mw_feed(device, &layout, 0, NULL), MW_ERR_STATE);
}

/// Every call of the transport in turn fails once. If the call may have fed the layer, only a reset
/// is allowed. Afterwards the device works again.
static void transport_fails(void **state)
{
    (void)state;
    configure();
    for (long at = 0; at < 5; at++) {
        uint32_t number = 0;
        fake_fail_at(&fake, at);
        int code = mw_feed(device, &layout, 0, &number);
        if (code) {
            assert_code(code, MW_ERR_IO);
            fake_fail_at(&fake, FAKE_NEVER);
            expect_buffer(0, MW_ERR_STATE);
            assert_message("call mw_reset");
            assert_code(mw_feed(device, &layout, 0, &number), MW_ERR_STATE);
            assert_code(mw_reset(device), 0);
            expect_buffer(0, 0);
            configure();
            assert_code(mw_feed(device, &layout, 0, &number), 0);
        }
        int waited = mw_fed_wait(device, number, NULL, NULL);
        assert_true(code || waited == MW_ERR_IO || waited == 0 || waited == MW_ERR_DEVICE);
        fake_fail_at(&fake, FAKE_NEVER);
        if (waited == MW_ERR_IO)
            waited = mw_fed_wait(device, number, NULL, NULL);
        if (waited == MW_ERR_DEVICE) // a register could not be written: the queue stops
            break;
        assert_code(waited, 0);
    }
}

/// Fields of a layout that differ between layers of a stack, and the register of each.
static const struct {
    size_t field;
    uint32_t reg;
} MOVED[] = {
#define MOVES(field, reg) \
    { \
        offsetof(struct mw_layout, field), NODE(reg) \
    }
    MOVES(rt_base, rt_base),        MOVES(xs_base, xs_base),        MOVES(out_base, out_base),
    MOVES(yd_base, yd_base),        MOVES(ce_base, ce_base),        MOVES(xf_base, xf_base),
    MOVES(dw_base, dw_base),        MOVES(stream[0], stream_base0), MOVES(stream[1], stream_base1),
    MOVES(stream[2], stream_base2), MOVES(stream[3], stream_base3),
};
enum { MOVES = sizeof MOVED / sizeof *MOVED };

static uint64_t *moved(struct mw_layout *l, unsigned i)
{
    return (uint64_t *)(void *)((char *)l + MOVED[i].field);
}

/// The device has that layer's registers in every node.
static void expect_layer(struct mw_layout *l, uint64_t xd_base, uint32_t handle, unsigned epoch)
{
    for (unsigned g = 0; g < GPUS; g++) {
        for (unsigned i = 0; i < MOVES; i++)
            assert_int_equal(*fake_node(&fake, g, MOVED[i].reg), BASE(*moved(l, i)));
        assert_int_equal(*fake_node(&fake, g, NODE(xd_base)), BASE(xd_base));
        assert_int_equal(*fake_node(&fake, g, NODE(handle)), handle);
    }
    assert_int_equal(*fake_fabric(&fake, FABRIC(epoch)), epoch);
}

static void runs(uint32_t number)
{
    assert_code(mw_fed_wait(device, number, NULL, NULL), 0);
}

/// Layers at other addresses, with and without a handle: each has its own registers, a mw_feed
/// after them those of the configured layer.
static void stack(void **state)
{
    (void)state;
    struct mw_layout a, b;
    uint32_t number;
    const uint32_t of_epoch_1 = 1 << MW_NODE__HANDLE__EPOCH_bp | MW_NODE__HANDLE__CACHED_bm;
    fake_open_with_all();
    config.handle = MW_HANDLE_KEEP;
    config.gate_gradients = true;
    assert_code(mw_layout_make(device, &config, &layout), 0);
    a = b = layout;
    for (unsigned i = 0; i < MOVES; i++) {
        *moved(&a, i) += 0x2000 + 0x100 * i;
        *moved(&b, i) += 0x4000 + 0x100 * i;
    }
    a.xd_base += 0x2000;
    b.xd_base += 0x4000;
    b.xd_cached += 0x4000;
    configure();
    assert_code(mw_feed_layer(device, &a, MW_HANDLE_CACHED, 0, &number), MW_ERR_HANDLE);
    assert_message("mw_feed_layer: there is no handle that a cached layer could use");
    assert_code(mw_feed_layer(device, &a, MW_HANDLE_NONE, 0, &number), 0);
    // while it may run, no buffer may be accessed, neither its own nor another
    for (unsigned i = 0; i < 3; i++)
        expect_buffer(i, MW_ERR_STATE);
    runs(number);
    expect_buffer(0, 0);
    expect_layer(&a, a.xd_base, 0, 0);
    assert_code(mw_feed_layer(device, &b, MW_HANDLE_KEEP, 70, &number), 0);
    runs(number);
    assert_int_equal(*fake_node(&fake, 3, NODE(expert)),
                     1 << MW_NODE__EXPERT__TILE_bp | 70 << MW_NODE__EXPERT__EXPERT_CYCLES_bp);
    assert_code(mw_feed_layer(device, &a, MW_HANDLE_CACHED, 0, NULL), 0);
    runs(number);
    assert_code(mw_feed_layer(device, &b, MW_HANDLE_CACHED, 0, &number), 0);
    runs(number);
    expect_layer(&b, b.xd_cached, of_epoch_1, 3);
    assert_int_equal(fake.go, 4);
    // no epoch is left. A layer that counts gets one after a sweep, and invalidates the handle
    assert_code(mw_feed_layer(device, &a, MW_HANDLE_CACHED, 0, &number), MW_ERR_HANDLE);
    assert_message("no epoch is left");
    assert_code(mw_feed_layer(device, &a, MW_HANDLE_NONE, 0, &number), 0);
    runs(number);
    expect_layer(&a, a.xd_base, 0, 0);
    assert_int_equal(fake.sweeps, 2);
    assert_code(mw_feed_layer(device, &a, MW_HANDLE_CACHED, 0, &number), MW_ERR_HANDLE);
    assert_message("a layer behind it has counted its own rows");
    assert_code(mw_feed(device, &layout, 1, &number), 0);
    runs(number);
    b = layout;
    b.rt_base = layout.buffer[1].rt_base;
    b.xs_base = layout.buffer[1].xs_base;
    b.out_base = layout.buffer[1].out_base;
    expect_layer(&b, layout.xd_base, 0, 1);
    runs(number);
}

/// Refused layers: a fifth one that waits, invalid arguments, and layouts whose shared regions or
/// sizes differ.
static void stack_refused(void **state)
{
    (void)state;
    struct mw_layout l;
    assert_code(mw_feed_layer(device, &layout, MW_HANDLE_NONE, 0, NULL), MW_ERR_STATE);
    assert_message("mw_feed_layer: no layer was configured");
    configure();
    assert_code(mw_feed_layer(device, &layout, MW_HANDLE_KEEP, 0, NULL), MW_ERR_INVALID);
    assert_message("configure it with MW_HANDLE_KEEP");
    assert_code(mw_feed_layer(device, &layout, 3, 0, NULL), MW_ERR_INVALID);
    assert_message("handle: there is no value 3");
    l = layout;
    l.al_base += 0x1000;
    assert_code(mw_feed_layer(device, &l, MW_HANDLE_NONE, 0, NULL), MW_ERR_INVALID);
    assert_message("mw_feed_layer: al_base is 0x");
    assert_message("all layers share it");
    l = layout;
    l.gt_base += 0x1000;
    assert_code(mw_feed_layer(device, &l, MW_HANDLE_NONE, 0, NULL), MW_ERR_INVALID);
    assert_message("gt_base");
    assert_code(mw_feed_layer(device, &layout, MW_HANDLE_NONE, 65536, NULL), MW_ERR_INVALID);
    assert_message("expert_cycles: 65536 is not in 0 .. 65535");
    l = layout;
    l.cap_shift++;
    assert_code(mw_feed_layer(device, &l, MW_HANDLE_NONE, 0, NULL), MW_ERR_INVALID);
    assert_message("cap_shift");
    l = layout;
    l.xs_base += 8;
    assert_code(mw_feed_layer(device, &l, MW_HANDLE_NONE, 0, NULL), MW_ERR_INVALID);
    assert_message("the layout has address 0x");
    for (unsigned i = 0; i < MW_FEED_BUFFERS; i++)
        assert_code(mw_feed_layer(device, &layout, MW_HANDLE_NONE, 0, NULL), 0);
    assert_code(mw_feed_layer(device, &layout, MW_HANDLE_NONE, 0, NULL), MW_ERR_STATE);
    assert_message("4 layers are not done yet");
}

static void no_queue(void **state)
{
    (void)state;
    struct mw_transport old = fake_transport;
    struct mw_device *d;
    old.feed = NULL;
    old.fed = NULL;
    assert_code(fake_open_by(&fake, &old, &d), 0);
    assert_code(mw_feed(d, &layout, 0, NULL), MW_ERR_VERSION);
    assert_code(mw_feed_layer(d, &layout, MW_HANDLE_NONE, 0, NULL), MW_ERR_VERSION);
    assert_code(mw_fed_wait(d, 0, NULL, NULL), MW_ERR_VERSION);
    mw_close(d);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, fake_teardown)
    const struct CMUnitTest tests[] = {
        TEST(layouts),  TEST(layers), TEST(numbers_begin_anew), TEST(memory), TEST(states),
        TEST(failures), TEST(stuck),  TEST(transport_fails),    TEST(stack),  TEST(stack_refused),
        TEST(no_queue)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
