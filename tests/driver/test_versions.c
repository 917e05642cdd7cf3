// SPDX-License-Identifier: Apache-2.0
//
// A program and a library of different versions: structs without their size or from another header,
// and transports that lack functions. Also versions, and names of codes.
#include "fake_device.h"

#include <sys/mman.h>
#include <unistd.h>

enum { GPUS = 4 };

/// Structs of an older header end earlier, those of a newer one later.
static void struct_sizes(void **state)
{
    (void)state;
    struct {
        struct mw_layer_config c;
        unsigned later;
    } config = {.c = small_config()};
    struct mw_layout l;
    struct mw_device *d;
    struct mw_open_options o;
    struct mw_wait_options w = {.quiet_cycles = 1};
    struct mw_dymulticast_prop prop = {.block_bytes = 32, .region_sets = 2, .k = 1, .experts = 4};
    struct mw_dymulticast *m;

    mw_open_defaults(&o);
    o.size = 0;
    assert_code(mw_open(&o, &d), MW_ERR_INVALID);
    assert_message("set it to sizeof(struct mw_open_options)");
    assert_code(mw_wait(device, &w, NULL), MW_ERR_INVALID);
    assert_message("sizeof(struct mw_wait_options)");
    assert_code(mw_dymulticast_create(device, &prop, &m), MW_ERR_INVALID);
    // a transport that was built before the last two functions existed
    struct mw_transport transport = fake_transport;
    transport.size = 0;
    mw_open_defaults(&o);
    o.gpus = GPUS;
    o.flit_bytes = 8;
    o.custom = &transport;
    o.custom_context = &fake;
    assert_code(mw_open(&o, &d), MW_ERR_INVALID);
    assert_message("sizeof(struct mw_transport)");
    transport.size = offsetof(struct mw_transport, reset);
    assert_code(mw_open(&o, &d), 0);
    assert_code(mw_reset(d), MW_ERR_VERSION);
    mw_close(d);

    config.c.size = 0;
    assert_code(mw_layout_make(device, &config.c, &l), MW_ERR_INVALID);

    config.c.size = sizeof config;
    assert_code(mw_layout_make(device, &config.c, &l), 0);
    config.later = 1;
    assert_code(mw_layout_make(device, &config.c, &l), MW_ERR_VERSION);
    assert_message("upgrade the library");
    config.c.size = offsetof(struct mw_layer_config, scatter);
    config.c.scatter = 1u << 31; // nothing of that struct
    assert_code(mw_layout_make(device, &config.c, &l), 0);
    const unsigned some[GPUS] = {0};
    assert_code(mw_layer_configure(device, &config.c, &l, some, some, 1), 0);
    assert_code(mw_layer_set(&config.c, "scatter", 3), MW_ERR_INVALID);
    assert_int_equal(config.c.scatter, 1u << 31);
    // defaults stay inside
    memset(&config, 0xee, sizeof config);
    mw_layer_defaults_of(&config.c, offsetof(struct mw_layer_config, scatter));
    assert_int_equal(config.c.tile, 1);
    assert_int_equal(config.c.scatter, 0xeeeeeeee);
}

enum {
    LATER = 256
}; // bytes after a struct that the library may read: later headers have more fields

/// Memory that ends LATER bytes after a struct of `bytes` bytes, where it may be read and what
/// follows may not.
static void *at_the_edge(size_t bytes, void **pages, size_t *length)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *length = 3 * page;
    assert_true(bytes + LATER <= 2 * page);
    *pages = mmap(NULL, *length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(*pages != MAP_FAILED);
    assert_int_equal(mprotect((char *)*pages + 2 * page, page, PROT_NONE), 0);
    return (char *)*pages + 2 * page - LATER - bytes;
}

/// Returns the status of a call that gets the struct. The call has no lasting effect.
typedef int use_fn(void *given);

static int use_open(void *given)
{
    struct mw_device *d;
    int status = mw_open(given, &d);
    mw_close(d);
    return status;
}

static int use_firmware_read(void *given)
{
    size_t count;
    int status = mw_firmware_read(given, NULL, 0, &count);
    return status == MW_ERR_NODEV ? 0 : status; // the fake has none
}

static int use_firmware_load(void *given)
{
    const uint32_t words[8] = {0};
    int status = mw_firmware_load(given, words, 8, NULL, NULL);
    return status == MW_ERR_NODEV ? 0 : status;
}

static int use_transport(void *given)
{
    struct mw_device *d;
    int status = fake_open_by(&fake, given, &d);
    mw_close(d);
    return status;
}

static int use_layout(void *given)
{
    struct mw_layout l;
    return mw_layout_make(device, given, &l);
}

static int use_configure(void *given)
{
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    const unsigned some[GPUS] = {0};
    assert_code(mw_layout_make(device, &c, &l), 0);
    return mw_layer_configure(device, given, &l, some, some, 1);
}

static int use_set(void *given)
{
    return mw_layer_set(given, "tile", 1);
}

static int use_wait(void *given)
{
    int status = mw_wait(device, given, NULL);
    return status == MW_ERR_STATE ? 0 : status; // nothing runs
}

static int use_fed_wait(void *given)
{
    int status = mw_fed_wait(device, 7, given, NULL);
    return status == MW_ERR_STATE ? 0 : status;
}

static int use_prop(void *given)
{
    struct mw_dymulticast *m;
    int status = mw_dymulticast_create(device, given, &m);
    mw_dymulticast_destroy(m);
    return status;
}

/// Every size, and larger ones. Accepted are only the ends of fields, from the size of the first
/// header on, at which the struct of some header may end.
static void every_size(const void *good, size_t first, size_t bytes, use_fn *use)
{
    void *pages;
    size_t length;
    char *given = at_the_edge(bytes, &pages, &length);
    memcpy(given, good, bytes);
    for (size_t size = 0; size < bytes + 2 * LATER; size++) {
        memcpy(given, &size, sizeof size);
        const bool may_be = size % 8 == 0 && size >= first && size <= bytes + LATER;
        assert_code(use(given), may_be ? 0 : MW_ERR_INVALID);
        if (!may_be)
            assert_message("set it to sizeof(struct mw_");
    }
    for (unsigned bit = 10; bit < 64; bit++)
        for (int less = 0; less < 2; less++) {
            const size_t size = (UINT64_C(1) << bit) - 8 * (size_t)less;
            memcpy(given, &size, sizeof size);
            assert_code(use(given), MW_ERR_INVALID);
        }
    munmap(pages, length);
}

static void struct_of_every_size(void **state)
{
    (void)state;
    struct mw_open_options o;
    mw_open_defaults(&o);
    o.gpus = GPUS;
    o.flit_bytes = 8;
    o.custom = &fake_transport;
    o.custom_context = &fake;
    const struct mw_layer_config c = small_config();
    const struct mw_wait_options w = {.size = sizeof w};
    const struct mw_dymulticast_prop p = {
        .size = sizeof p, .block_bytes = 32, .region_sets = 2, .k = 1, .experts = 4};
    const size_t open = offsetof(struct mw_open_options, backend),
                 layer = (offsetof(struct mw_layer_config, adder_bypass) + 7) / 8 * 8,
                 transport = offsetof(struct mw_transport, total_cycles);
    every_size(&o, open, sizeof o, use_open);
    every_size(&o, open, sizeof o, use_firmware_read);
    every_size(&o, open, sizeof o, use_firmware_load);
    every_size(&fake_transport, transport, sizeof fake_transport, use_transport);
    every_size(&c, layer, sizeof c, use_layout);
    every_size(&c, layer, sizeof c, use_configure);
    every_size(&c, layer, sizeof c, use_set);
    every_size(&w, sizeof w, sizeof w, use_wait);
    every_size(&w, sizeof w, sizeof w, use_fed_wait);
    every_size(&p, offsetof(struct mw_dymulticast_prop, dispatch_type), sizeof p, use_prop);
}

/// Defaults for a struct of a size that no header has: nothing is written but a size that
/// every call refuses.
static void defaults_of_every_size(void **state)
{
    (void)state;
    static unsigned char buffer[2048];
    for (size_t size = 0; size < sizeof(struct mw_layer_config) + LATER; size++) {
        for (unsigned kind = 0; kind < 2; kind++) {
            struct mw_layer_config c = {.size = 99};
            struct mw_open_options o = {.size = 99};
            memset(buffer, 0xee, sizeof buffer);
            memcpy(buffer, &c.size, sizeof c.size);
            if (kind)
                mw_layer_defaults_of((struct mw_layer_config *)(void *)buffer, size);
            else
                mw_open_defaults_of((struct mw_open_options *)(void *)buffer, size);
            memcpy(&o.size, buffer, sizeof o.size);
            const bool written = o.size == size && size > 0;
            assert_true(written || o.size == (size < sizeof size ? 99 : 0));
            assert_int_equal(buffer[written ? size : sizeof size], 0xee);
        }
    }
    struct mw_open_options o = {.size = 99};
    mw_open_defaults_of(&o, SIZE_MAX);
    assert_int_equal(o.size, 0);
}

/// A transport without a function that every one has.
static void transport_lacks(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        const char *name;
    } needed[] = {
#define NEEDED(field) {offsetof(struct mw_transport, field), #field " is NULL"}
        NEEDED(name),      NEEDED(open),      NEEDED(close),    NEEDED(cfg_read),
        NEEDED(cfg_write), NEEDED(mem_write), NEEDED(mem_read), NEEDED(run_until),
    };
    for (unsigned i = 0; i < sizeof needed / sizeof *needed; i++) {
        struct mw_transport t = fake_transport;
        memset((char *)&t + needed[i].at, 0, sizeof(void *));
        assert_code(use_transport(&t), MW_ERR_INVALID);
        assert_message(needed[i].name);
    }
}

static void versions_and_names(void **state)
{
    (void)state;
    assert_string_equal(mw_version(), MW_VERSION);
    assert_string_equal(mw_error_name(MW_ERR_STATE), "MW_ERR_STATE");
    assert_string_equal(mw_error_name(0), "MW_ERR_OK");
    assert_string_equal(mw_error_name(-99), "unknown");
#define CHECK(name, value, text) assert_string_equal(mw_error_name(value), "MW_ERR_" #name);
    MW_ERR_LIST(CHECK)
#undef CHECK
}

/// The message is that of the last call that failed, even if later calls succeeded.
static void message_stays(void **state)
{
    (void)state;
    uint8_t data[16] = {0};
    const struct mw_transfer t = {0, 0, sizeof data, data};
    assert_code(mw_partition_set(device, 99, 1), MW_ERR_INVALID);
    assert_code(mw_mem_write(device, &t, 1), 0);
    assert_code(mw_partition_set(device, 1, 1), 0);
    assert_string_equal(mw_message(), "GPU 99 of 4");
    fake_fail_at(&fake, 0);
    assert_code(mw_mem_write(device, &t, 1), MW_ERR_IO);
    assert_string_equal(mw_message(), "writing GPU memory failed");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
    const struct CMUnitTest tests[] = {
        TEST(struct_sizes),    TEST(struct_of_every_size), TEST(defaults_of_every_size),
        TEST(transport_lacks), TEST(versions_and_names),   TEST(message_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
