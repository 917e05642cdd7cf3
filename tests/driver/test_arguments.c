// SPDX-License-Identifier: Apache-2.0
//
// Wrong arguments to every call: pointers that are NULL, and numbers without an object.
#include "fake_device.h"

#include <stdlib.h>
#include <string.h>

enum { GPUS = 4 };

#define REFUSED(call) \
    do { \
        assert_code(call, MW_ERR_INVALID); \
        assert_message("NULL"); \
    } while (0)

static void device_and_memory(void **state)
{
    (void)state;
    struct mw_device_info info;
    struct mw_firmware firmware;
    struct mw_firmware_image image;
    const struct mw_open_options open = {.size = sizeof open, .transport = "usb"};
    uint32_t words[8] = {0};
    struct mw_open_options o;
    struct mw_device *d;
    struct mw_transfer t = {0};
    struct mw_selftest test;
    struct mw_log_entry entry;
    size_t count;
    uint32_t mask;
    struct mw_gpu_set set = {{0}};
    mw_open_defaults(&o);
    REFUSED(mw_open(NULL, &d));
    REFUSED(mw_open(&o, NULL));
    o.primitives = (enum mw_primitives)(MW_PRIMITIVES_BASIC + 1);
    assert_code(mw_open(&o, &d), MW_ERR_INVALID);
    assert_message("primitives 3: 0 to 2 are possible");
    mw_open_defaults(&o);
    o.transport = NULL;
    REFUSED(mw_open(&o, &d));
    assert_message("sim and usb are possible");
    REFUSED(mw_firmware_read(&o, words, 1, &count));
    REFUSED(mw_reset(NULL));
    REFUSED(mw_info(NULL, &info));
    REFUSED(mw_info(device, NULL));
    REFUSED(mw_list(NULL, 1));
    REFUSED(mw_firmware_info(NULL, &firmware));
    REFUSED(mw_firmware_info(device, NULL));
    REFUSED(mw_selftest(NULL, 1, &test, 1, &count));
    REFUSED(mw_selftest(device, 1, NULL, 1, &count));
    REFUSED(mw_selftest(device, 1, &test, 1, NULL));
    REFUSED(mw_log_read(NULL, 0, &entry, 1, &count));
    REFUSED(mw_log_read(device, 0, NULL, 1, &count));
    REFUSED(mw_log_read(device, 0, &entry, 1, NULL));
    REFUSED(mw_firmware_check(NULL, 1, &image));
    REFUSED(mw_firmware_check(words, 1, NULL));
    assert_code(mw_firmware_check(words, 8, &image), MW_ERR_INVALID);
    assert_message("no header");
    REFUSED(mw_firmware_read(NULL, words, 1, &count));
    REFUSED(mw_firmware_read(&open, NULL, 1, &count));
    REFUSED(mw_firmware_read(&open, words, 1, NULL));
    REFUSED(mw_firmware_load(NULL, words, 8, NULL, NULL));
    REFUSED(mw_firmware_load(&open, NULL, 8, NULL, NULL));
    REFUSED(mw_mem_write(NULL, &t, 1));
    REFUSED(mw_mem_write(device, NULL, 1));
    REFUSED(mw_mem_read(NULL, &t, 1));
    REFUSED(mw_mem_read(device, NULL, 1));
    REFUSED(mw_ports_down(NULL, &mask));
    REFUSED(mw_ports_down(device, NULL));
    REFUSED(mw_ports_down_wide(NULL, &set));
    REFUSED(mw_ports_down_wide(device, NULL));
    REFUSED(mw_port_enable(NULL, 0));
    REFUSED(mw_port_disable(NULL, 0));
    REFUSED(mw_port_limit(NULL, 1));
    REFUSED(mw_fault_set(NULL, 0, 0, 0));
    assert_int_equal(mw_total_cycles(NULL), 0);
    assert_null(mw_state_report(NULL));
    mw_close(NULL);
}

static void tables_and_layers(void **state)
{
    (void)state;
    const struct mw_gpu_set set = {{0}};
    const struct mw_expert_place place = {0};
    struct mw_multicast *m;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    const unsigned some[GPUS] = {0};
    REFUSED(mw_expert_map_set(NULL, &place, 1));
    REFUSED(mw_expert_map_set(device, NULL, 1));
    REFUSED(mw_partition_set(NULL, 0, 1));
    REFUSED(mw_partition_set_wide(NULL, 0, &set));
    REFUSED(mw_partition_set_wide(device, 0, NULL));
    REFUSED(mw_multicast_create(NULL, 64, &m));
    REFUSED(mw_multicast_create(device, 64, NULL));
    REFUSED(mw_multicast_add_device(NULL, 0));
    REFUSED(mw_multicast_bind_addr(NULL, 0));
    REFUSED(mw_multicast_group(NULL));
    mw_multicast_destroy(NULL);
    mw_layer_defaults(NULL);
    REFUSED(mw_layer_set(NULL, "tile", 1));
    REFUSED(mw_layer_set(&c, NULL, 1));
    REFUSED(mw_layout_make(NULL, &c, &l));
    REFUSED(mw_layout_make(device, NULL, &l));
    REFUSED(mw_layout_make(device, &c, NULL));
    struct mw_device_info info = {0};
    REFUSED(mw_layout_of(NULL, &c, &l));
    assert_code(mw_layout_of(&info, &c, &l), MW_ERR_INVALID); // without GPUs
    assert_code(mw_info(device, &info), 0);
    REFUSED(mw_layout_of(&info, NULL, &l));
    REFUSED(mw_layout_of(&info, &c, NULL));
    assert_code(mw_layout_of(&info, &c, &l), 0);
    assert_code(mw_layout_make(device, &c, &l), 0);
    REFUSED(mw_layer_configure(NULL, &c, &l, some, some, 1));
    REFUSED(mw_layer_configure(device, NULL, &l, some, some, 1));
    REFUSED(mw_layer_configure(device, &c, NULL, some, some, 1));
    REFUSED(mw_layer_configure(device, &c, &l, NULL, some, 1));
    REFUSED(mw_layer_configure(device, &c, &l, some, NULL, 1));
}

static void make(void *context, unsigned gpu, struct mw_stream *s)
{
    (void)context, (void)gpu, (void)s;
}

static void streams(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    struct mw_stream s[GPUS];
    assert_code(mw_layout_make(device, &c, &l), 0);
    mw_stream_init(NULL);
    mw_route_pack(NULL, NULL, NULL, 1);
    REFUSED(mw_stream_end(NULL));
    REFUSED(mw_stream_wait(NULL, 0, 0));
    REFUSED(mw_stream_wait(NULL, 99, 0));
    REFUSED(mw_stream_count(NULL, 0, 0, false));
    REFUSED(mw_stream_prefix(NULL));
    REFUSED(mw_stream_signal(NULL, 99));
    REFUSED(mw_stream_flag(NULL, 0, false));
    REFUSED(mw_stream_flag_rows(NULL, 0, false));
    REFUSED(mw_stream_delay(NULL, UINT32_MAX));
    REFUSED(mw_stream_poll(NULL, 0, 0, 0));
    REFUSED(mw_stream_poll(NULL, 0, 0, UINT32_MAX));
    REFUSED(mw_stream_expert_range(NULL, 0, 1));
    REFUSED(mw_stream_multimem_st_rows(NULL, 0, UINT32_MAX, UINT32_MAX, 15, 0));
    REFUSED(mw_stream_multimem_st_routes(NULL, 0, 0, 1, 0));
    REFUSED(mw_stream_expert_gathered(NULL, 0, 1));
    REFUSED(mw_stream_expert_cycles(NULL, 1));
    REFUSED(mw_stream_expert_gradients(NULL));
    REFUSED(mw_stream_expert_homes(NULL, 0, 1, true));
    REFUSED(mw_stream_expert_landed(NULL, 1));
    REFUSED(mw_stream_ld_cais(NULL, 0, 1, 1, 0));
    REFUSED(mw_stream_sync(NULL, 0, 1));
    REFUSED(mw_stream_sync_pushes(NULL, 0, 0, 1));
    REFUSED(mw_stream_sum_dense(NULL, 0, 1, (enum mw_dense)1));
    REFUSED(mw_stream_multimem_ld_reduce_rows(NULL, 0, 0, 0, 1, 10));
    REFUSED(mw_stream_sum_gathered(NULL, 0, 1, 0));
    REFUSED(mw_stream_fence(NULL));
    REFUSED(mw_stream_dymultimem_st(NULL, 0, 1));
    REFUSED(mw_stream_dymultimem_st_rows(NULL, 0, 1, true));
    REFUSED(mw_stream_st(NULL, 0, 1));
    REFUSED(mw_stream_st_linear(NULL, 99, 0, 16, 0));
    REFUSED(mw_stream_multimem_st(NULL, 99, 0, 16, 0));
    REFUSED(mw_stream_multimem_red(NULL, 0, UINT64_MAX, 16, 0));
    REFUSED(mw_stream_red_cais(NULL, 0, UINT64_MAX, 16, 0));
    REFUSED(mw_stream_red_cais_homes(NULL, 0, UINT64_MAX, 16, 0));
    REFUSED(mw_stream_multimem_ld_reduce(NULL, 0, 0, 16, 0));
    REFUSED(mw_stream_dymultimem_ld_reduce(NULL, 0, 1, true));
    REFUSED(mw_stream_reduction(NULL, 0, 0));
    REFUSED(mw_stream_expert(NULL, 99));
    REFUSED(mw_stream_expert_rows(NULL));
    REFUSED(mw_stream_sum_st(NULL, 0, 1));
    REFUSED(mw_stream_sum(NULL, 0, 1, true));
    REFUSED(mw_stream_load(NULL, &l, s, 1));
    REFUSED(mw_stream_load(device, NULL, s, 1));
    REFUSED(mw_stream_load(device, &l, NULL, 1));
    REFUSED(mw_streams_load(NULL, &l, 1, make, NULL));
    REFUSED(mw_streams_load(device, NULL, 1, make, NULL));
    REFUSED(mw_streams_load(device, &l, 1, NULL, NULL));
}

static void data(void **state)
{
    (void)state;
    const struct mw_tokens none[GPUS] = {{0}}, one[GPUS] = {{.tokens = 1}};
    const unsigned tokens[GPUS] = {1};
    uint16_t *out[GPUS] = {NULL};
    const uint16_t coefficient[GPUS] = {0};
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    assert_code(mw_layout_make(device, &c, &l), 0);
    REFUSED(mw_expert_map_even(NULL, 4));
    REFUSED(mw_routing_load(NULL, 0, 1, none));
    REFUSED(mw_routing_load(device, 0, 1, NULL));
    REFUSED(mw_rows_load(NULL, 0, 16, 4, none));
    REFUSED(mw_rows_load(device, 0, 16, 4, NULL));
    REFUSED(mw_rows_read(NULL, 0, 16, 4, tokens, out));
    REFUSED(mw_rows_read(device, 0, 16, 4, NULL, out));
    REFUSED(mw_rows_read(device, 0, 16, 4, tokens, NULL));
    REFUSED(mw_rows_read(device, 0, 16, 4, tokens, out));
    REFUSED(mw_coefficients_load(NULL, &l, 1, coefficient));
    REFUSED(mw_coefficients_load(device, NULL, 1, coefficient));
    REFUSED(mw_coefficients_load(device, &l, 1, NULL));
    assert_code(mw_routing_load(device, 0, 1, one), MW_ERR_INVALID);
    assert_message("GPU 0: 1 tokens without topk_idx or topk_weights");
    assert_code(mw_rows_load(device, 0, 16, 4, one), MW_ERR_INVALID);
    assert_message("GPU 0: 1 tokens without x");
    assert_code(mw_routing_load(device, 0, 0, none), MW_ERR_INVALID);
    assert_code(mw_routing_load(device, 0, 17, none), MW_ERR_INVALID);
    assert_code(mw_rows_load(device, 0, 32, 4, none), MW_ERR_INVALID);
    assert_code(mw_rows_load(device, 0, 0, 4, none), MW_ERR_INVALID);
    assert_code(mw_rows_load(device, 0, 16, 16, none), MW_ERR_INVALID);
    assert_code(mw_coefficients_load(device, &l, 17, coefficient), MW_ERR_CAPACITY);
    assert_code(mw_expert_map_even(device, 6), MW_ERR_INVALID);
    assert_code(mw_expert_map_even(device, 0), MW_ERR_INVALID);
    assert_code(mw_expert_map_even(device, 68), MW_ERR_CAPACITY);
    assert_code(mw_routing_load(device, 0, 1, none), 0);
}

static void running(void **state)
{
    (void)state;
    struct mw_progress p;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    struct mw_port_counters port;
    struct mw_counters *k = malloc(sizeof *k);
    struct mw_load_counters loads;
    struct mw_sum_counters sums;
    struct mw_sample sample;
    uint32_t bins[MW_HISTOGRAM_BINS];
    uint64_t first;
    size_t count;
    unsigned issued;
    assert_non_null(k);
    assert_code(mw_layout_make(device, &c, &l), 0);
    REFUSED(mw_launch(NULL));
    REFUSED(mw_wait(NULL, NULL, NULL));
    REFUSED(mw_query(NULL, &p));
    REFUSED(mw_query(device, NULL));
    REFUSED(mw_cancel(NULL));
    REFUSED(mw_event_fd(NULL));
    REFUSED(mw_feed(NULL, &l, 0, NULL));
    REFUSED(mw_feed(device, NULL, 0, NULL));
    REFUSED(mw_fed_wait(NULL, 0, NULL, NULL));
    REFUSED(mw_stream_position(NULL, 0, 0, &issued));
    REFUSED(mw_stream_position(device, 0, 0, NULL));
    REFUSED(mw_counters_read(NULL, k));
    REFUSED(mw_counters_read(device, NULL));
    REFUSED(mw_load_counters_read(NULL, &loads));
    REFUSED(mw_load_counters_read(device, NULL));
    REFUSED(mw_sum_counters_read(NULL, &sums));
    REFUSED(mw_sum_counters_read(device, NULL));
    REFUSED(mw_port_counters_read(NULL, 0, &port));
    REFUSED(mw_port_counters_read(device, 0, NULL));
    REFUSED(mw_monitor_set(NULL, 0, 0));
    REFUSED(mw_histogram_read(NULL, 0, bins));
    REFUSED(mw_histogram_read(device, 0, NULL));
    REFUSED(mw_series_read(NULL, 0, &sample, 1, &first, &count));
    REFUSED(mw_series_read(device, 0, NULL, 1, &first, &count));
    REFUSED(mw_series_read(device, 0, &sample, 1, NULL, &count));
    REFUSED(mw_series_read(device, 0, &sample, 1, &first, NULL));
    REFUSED(mw_watch(NULL, NULL, NULL));
    struct mw_shared_id id = {1, 0};
    struct mw_shared shared;
    REFUSED(mw_shared_list(NULL, 1, &count));
    REFUSED(mw_shared_list(&id, 1, NULL));
    REFUSED(mw_shared_look(NULL, 100, &shared));
    REFUSED(mw_shared_look(&id, 100, NULL));
    assert_int_equal(mw_shared_look(&id, 100, &shared), MW_ERR_NODEV);
    free(k);
}

static void objects(void **state)
{
    (void)state;
    const struct mw_dymulticast_prop prop = {
        .size = sizeof prop, .block_bytes = 32, .region_sets = 2, .k = 1, .experts = 4};
    struct mw_dymulticast *m;
    struct mw_layout l;
    struct mw_handle *h;
    size_t count;
    uint16_t x[16] = {0}, coefficient[4] = {0}, *out[GPUS] = {NULL};
    int16_t idx = 0;
    float weight = 1;
    struct mw_tokens part[GPUS] = {{1, x, &idx, &weight}};
    REFUSED(mw_dymulticast_create(NULL, &prop, &m));
    REFUSED(mw_dymulticast_create(device, NULL, &m));
    REFUSED(mw_dymulticast_create(device, &prop, NULL));
    assert_code(mw_dymulticast_create(device, &prop, &m), 0);
    REFUSED(mw_dymulticast_bind_addr(NULL, 4, 4));
    assert_code(mw_dymulticast_bind_addr(m, 4, 4), 0);
    REFUSED(mw_dymulticast_layout(NULL, &l));
    REFUSED(mw_dymulticast_layout(m, NULL));
    REFUSED(mw_dispatch(NULL, part, coefficient, &h));
    REFUSED(mw_dispatch(m, NULL, coefficient, &h));
    REFUSED(mw_dispatch(m, part, NULL, &h));
    REFUSED(mw_dispatch(m, part, coefficient, NULL));
    for (unsigned i = 0; i < 3; i++) {
        struct mw_tokens some[GPUS] = {part[0]};
        if (i == 0)
            some[0].x = NULL;
        else if (i == 1)
            some[0].topk_idx = NULL;
        else
            some[0].topk_weights = NULL;
        assert_code(mw_dispatch(m, some, coefficient, &h), MW_ERR_INVALID);
        assert_message("GPU 0: 1 tokens without x, topk_idx or topk_weights");
        assert_null(h);
    }
    REFUSED(mw_handle_create(NULL, part, coefficient, &h));
    REFUSED(mw_handle_create(m, part, coefficient, NULL));
    assert_code(mw_handle_create(m, part, coefficient, &h), 0);
    REFUSED(mw_handle_set(NULL, "tile", 1));
    REFUSED(mw_handle_set(h, NULL, 1));
    REFUSED(mw_dispatch_start(NULL, NULL));
    REFUSED(mw_dispatch_wait(NULL, NULL, NULL));
    REFUSED(mw_received(NULL, 0, NULL, x, 1, &count, NULL));
    REFUSED(mw_received(h, 0, NULL, x, 1, NULL, NULL));
    REFUSED(mw_expert_output(NULL, 0, x, NULL));
    REFUSED(mw_expert_output(h, 0, NULL, NULL)); // it has a row
    assert_code(mw_received(h, 4, NULL, x, 1, &count, NULL), MW_ERR_INVALID);
    assert_message("mw_received: expert 4 of 4");
    assert_code(mw_expert_output(h, 4, x, NULL), MW_ERR_INVALID);
    assert_message("mw_expert_output: expert 4 of 4");
    for (unsigned i = 0; i < 4; i++) {
        const struct mw_wait_options wrong = {.size = 1};
        assert_code(i == 0   ? mw_dispatch_start(h, &wrong)
                    : i == 1 ? mw_dispatch_wait(h, &wrong, NULL)
                    : i == 2 ? mw_received(h, 0, NULL, x, 1, &count, &wrong)
                             : mw_expert_output(h, 0, x, &wrong),
                    MW_ERR_INVALID);
    }
    REFUSED(mw_layer_run(NULL, out, NULL, NULL));
    REFUSED(mw_layer_run(h, NULL, NULL, NULL));
    REFUSED(mw_layer_run(h, out, NULL, NULL));
    REFUSED(mw_combine(NULL, out, NULL, NULL));
    REFUSED(mw_combine(h, NULL, NULL, NULL));
    REFUSED(mw_combine(h, out, NULL, NULL)); // GPU 0 has a token
    assert_int_equal(fake.go, 0);
    mw_handle_destroy(h);
    mw_handle_destroy(NULL);
    mw_dymulticast_destroy(m);
    mw_dymulticast_destroy(NULL);
}

/// Experts at places of the program: each once, at a place of its own.
static void places(void **state)
{
    (void)state;
    static const struct mw_expert_place good[3] = {{2, 3, 1}, {0, 3, 0}, {1, 0, 0}};
    struct mw_dymulticast_prop prop = {.size = sizeof prop,
                                       .block_bytes = 32,
                                       .region_sets = 2,
                                       .k = 2,
                                       .experts = 3,
                                       .places = good};
    struct mw_dymulticast *m;
    struct mw_layout l;
    assert_code(mw_dymulticast_create(device, &prop, &m), 0);
    assert_code(mw_dymulticast_bind_addr(m, 4, 4), 0);
    assert_code(mw_dymulticast_layout(m, &l), 0);
    mw_dymulticast_destroy(m);
    static const struct {
        struct mw_expert_place place; ///< in the place of the last
        int code;
        const char *text;
    } bad[] = {
        {{3, 0, 0}, MW_ERR_INVALID, "place 2 is of expert 3: each of 0 to 2 has one"},
        {{2, 0, 0}, MW_ERR_INVALID, "place 2 is of expert 2"},
        {{1, 3, 1}, MW_ERR_INVALID, "experts 2 and 1: both are number 1 of GPU 3"},
        {{1, 4, 0}, MW_ERR_INVALID, "GPU 4 of 4"},
        {{1, 0, 16}, MW_ERR_CAPACITY, "index 16"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct mw_expert_place list[3] = {good[0], good[1], bad[i].place};
        prop.places = list;
        assert_code(mw_dymulticast_create(device, &prop, &m), bad[i].code);
        assert_message(bad[i].text);
        assert_null(m);
    }
    prop.places = NULL;
    prop.experts = 4 * 17; // the fake holds 64, 16 on a GPU
    assert_code(mw_dymulticast_create(device, &prop, &m), MW_ERR_CAPACITY);
}

/// Useless arguments are refused by the call that gets them, with the cause.
static void useless(void **state)
{
    (void)state;
    static const struct {
        unsigned block_bytes;
        int code;
        const char *text;
    } blocks[] = {
        {0, MW_ERR_INVALID, "block_bytes: 0 is no multiple of the 8-byte flit"},
        {7, MW_ERR_INVALID, "block_bytes: 7"},
        {12, MW_ERR_INVALID, "block_bytes: 12"},
        {32760, MW_ERR_CAPACITY, "block_bytes: 32760, the device holds 32752"},
        {0xfffffff8, MW_ERR_CAPACITY, "block_bytes: 4294967288"},
    };
    struct mw_dymulticast_prop prop = {.size = sizeof prop, .region_sets = 2, .k = 1, .experts = 4};
    struct mw_dymulticast *m;
    struct mw_multicast *group;
    struct mw_layout l;
    for (unsigned i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        prop.block_bytes = blocks[i].block_bytes;
        assert_code(mw_dymulticast_create(device, &prop, &m), blocks[i].code);
        assert_message(blocks[i].text);
        assert_null(m);
    }
    prop.block_bytes = 32752;
    assert_code(mw_dymulticast_create(device, &prop, &m), 0);
    mw_dymulticast_destroy(m);
    prop.block_bytes = 8;
    assert_code(mw_dymulticast_create(device, &prop, &m), 0);
    assert_code(mw_dymulticast_bind_addr(m, 0, 4), MW_ERR_INVALID);
    assert_message("0 tokens and 4 rows per expert: at least 1 of each");
    assert_code(mw_dymulticast_bind_addr(m, 4, 0), MW_ERR_INVALID);
    assert_code(mw_dymulticast_layout(m, &l), MW_ERR_STATE);
    assert_code(mw_dymulticast_bind_addr(m, 1, 1), 0);
    assert_code(mw_dymulticast_bind_addr(m, 4, 4096), MW_ERR_CAPACITY); // what was bound stays
    assert_code(mw_dymulticast_layout(m, &l), 0);
    mw_dymulticast_destroy(m);

    assert_code(mw_multicast_create(device, 0, &group), MW_ERR_INVALID);
    assert_message("0 bytes");
    assert_null(group);
    assert_code(mw_multicast_create(device, 1, &group), 0);
    assert_code(mw_multicast_add_device(group, 2), 0);
    assert_code(mw_multicast_add_device(group, 2), MW_ERR_INVALID);
    assert_message("GPU 2 is a member");
    mw_multicast_destroy(group);

    assert_code(mw_partition_set(device, 0, 1u << GPUS), MW_ERR_INVALID);
    assert_message("partition 0x10 of GPU 0: GPUs are bits 0 to 3");
    assert_code(mw_partition_set(device, 0, UINT32_MAX), MW_ERR_INVALID);
    assert_code(mw_partition_set(device, 0, (1u << GPUS) - 1), 0);
    assert_code(mw_partition_set(device, 0, 0), 0);
}

/// A layout that the library did not make, and that has more buffers than there is room for.
static void buffers_of_a_layout(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    const unsigned some[GPUS] = {0};
    uint32_t number;
    assert_code(mw_layout_make(device, &c, &l), 0);
    assert_code(mw_layer_configure(device, &c, &l, some, some, 1), 0);
    l.buffers = 1000000000;
    assert_code(mw_feed(device, &l, 999999999, &number), MW_ERR_INVALID);
    assert_message("the layout has 1000000000 buffers: at most 4");
    assert_code(mw_feed(device, &l, 0, &number), MW_ERR_INVALID);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
    const struct CMUnitTest tests[] = {
        TEST(device_and_memory),
        TEST(tables_and_layers),
        TEST(streams),
        TEST(data),
        TEST(running),
        TEST(objects),
        TEST(places),
        TEST(useless),
        TEST(buffers_of_a_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
