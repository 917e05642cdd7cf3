// SPDX-License-Identifier: Apache-2.0
//
// What is read of a device: counters, time series of its ports, the errors of a layer, and the
// report of a stuck one.
#include "driver/fake_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void counters(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 13; i++)
        *fake_fabric(&fake, FABRIC(counters) + 4 * (16 * 2 + i)) = 100 + i;
    *fake_node(&fake, 1, NODE(status.stall_store)) = 5;
    *fake_node(&fake, 1, NODE(status.retired)) = 6;
    *fake_node(&fake, 1, NODE(status.error)) = MW_HWERR_CREDIT | 3u << 16;
    *fake_fabric(&fake, FABRIC(cycles)) = 99;
    struct mw_counters k;
    assert_code(mw_counters_read(device, &k), 0);
    assert_int_equal(k.cycles, 99);
    assert_int_equal(k.port[2].cycles, 99);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(k.port[2].up_flits[i], 100 + i);
        assert_int_equal(k.port[2].down_flits[i], 104 + i);
        assert_int_equal(k.port[1].up_flits[i], 0);
    }
    assert_int_equal(k.port[2].up_payload, 108);
    assert_int_equal(k.port[2].down_payload, 109);
    assert_int_equal(k.port[2].rejected, 110);
    assert_int_equal(k.port[2].stall_output, 111);
    assert_int_equal(k.port[2].stall_credit, 112);
    assert_int_equal(k.gpu[1].stall_store, 5);
    assert_int_equal(k.gpu[1].retired, 6);
    assert_int_equal(k.gpu[1].errors, 3);
    assert_int_equal(k.gpu[1].first_error, MW_HWERR_CREDIT);
    struct mw_port_counters one;
    for (unsigned p = 0; p < 4; p++) {
        assert_code(mw_port_counters_read(device, p, &one), 0);
        assert_memory_equal(&one, &k.port[p], sizeof one);
    }
    assert_code(mw_port_counters_read(device, 4, &one), MW_ERR_INVALID);
    assert_message("port 4 of 4");
}

/// Counters of loads are read if the device has them.
static void load_counters(void **state)
{
    (void)state;
    struct mw_load_counters k;
    struct mw_device_info info;
    struct mw_sum_counters none;
    memset(&k, 0xff, sizeof k);
    memset(&none, 0xff, sizeof none);
    assert_code(mw_sum_counters_read(device, &none), 0);
    assert_int_equal(none.port[2].reds, 0);
    assert_code(mw_load_counters_read(device, &k), 0);
    assert_int_equal(k.port[2].loads, 0);
    *fake_fabric(&fake, FABRIC(primitives)) |=
        MW_FABRIC__PRIMITIVES__MERGE_LOADS_bm | MW_FABRIC__PRIMITIVES__MERGE_REDS_bm;
    *fake_fabric(&fake, FABRIC(load_room)) = 8u << 24 | 32u << 16 | 16u << 9 | 320;
    *fake_fabric(&fake, FABRIC(tables)) |= 10u << MW_FABRIC__TABLES__LOAD_PARTS_bp;
    *fake_fabric(&fake, FABRIC(sum_room)) = 48;
    fake_reopen();
    assert_code(mw_info(device, &info), 0);
    assert_true(info.merge_entries == 320 && info.open_loads == 32 && info.open_syncs == 8);
    assert_int_equal(info.kept_bytes, 16384);
    assert_int_equal(info.load_parts, 1 << 10);
    assert_int_equal(info.sum_entries, 48);
    for (unsigned i = 0; i < 13; i++)
        *fake_fabric(&fake, FABRIC(load_counters) + 4 * (16 * 2 + i)) = 100 + i;
    assert_code(mw_load_counters_read(device, &k), 0);
    const uint32_t want[] = {100, 101, 102, 103, 104, 105, 106};
    assert_memory_equal(&k.port[2], want, sizeof want);
    assert_true(k.kept[2] == 107 && k.kept[1] == 0);
    struct mw_sum_counters sums;
    assert_code(mw_sum_counters_read(device, &sums), 0);
    const uint32_t of_sums[] = {108, 109, 110, 111, 112};
    assert_memory_equal(&sums.port[2], of_sums, sizeof of_sums);
    assert_int_equal(sums.port[1].reds, 0);
    assert_int_equal(k.port[1].loads, 0);
    fake_fail_at(&fake, 0);
    assert_code(mw_load_counters_read(device, &k), MW_ERR_IO);
    fake_fail_at(&fake, 0);
    assert_code(mw_sum_counters_read(device, &sums), MW_ERR_IO);
}

/// A ring of samples that has wrapped: all samples, the oldest first, and any part of them.
static void series(void **state)
{
    (void)state;
    enum { GPUS = 4, RECORDED = MW_SERIES_SAMPLES + 3 };
    struct mw_sample list[GPUS * MW_SERIES_SAMPLES];
    uint64_t first;
    size_t count;
    assert_code(mw_series_read(device, 0, list, MW_SERIES_SAMPLES, &first, &count),
                MW_ERR_CAPACITY);
    *fake_fabric(&fake, FABRIC(monitor)) = MW_FABRIC__MONITOR__PRESENT_bm;
    *fake_fabric(&fake, FABRIC(samples)) = RECORDED;
    for (unsigned n = 3; n < RECORDED; n++)
        for (unsigned p = 0; p < GPUS; p++) {
            uint32_t at = 8 * (MW_SERIES_SAMPLES * p + n % MW_SERIES_SAMPLES);
            *fake_fabric(&fake, FABRIC(series) + at) = n | (1000 + p) << 16;
            *fake_fabric(&fake, FABRIC(series) + at + 4) = (2000 + n) | (3000 + p) << 16;
        }
    for (unsigned from = 0; from < RECORDED + 2; from += 7)
        for (size_t max = 0; max <= MW_SERIES_SAMPLES; max += 32) {
            unsigned start = from < 3 ? 3 : from;
            size_t rest = start < RECORDED ? RECORDED - start : 0;
            assert_code(mw_series_read(device, from, list, max, &first, &count), 0);
            assert_int_equal(first, start);
            assert_int_equal(count, rest < max ? rest : max);
            for (unsigned i = 0; i < GPUS * count; i++) {
                assert_int_equal(list[i].up, start + i / GPUS);
                assert_int_equal(list[i].down, 1000 + i % GPUS);
                assert_int_equal(list[i].wait_credit, 2000 + start + i / GPUS);
                assert_int_equal(list[i].wait_turn, 3000 + i % GPUS);
            }
        }
}

static void monitor_limits(void **state)
{
    (void)state;
    uint32_t bins[MW_HISTOGRAM_BINS];
    *fake_fabric(&fake, FABRIC(monitor)) = MW_FABRIC__MONITOR__PRESENT_bm;
    static const struct {
        unsigned classes, interval;
        int code;
    } tried[] = {{0, 0, 0}, {15, 2, 0}, {15, 65535, 0}, {16, 2, -1}, {15, 65536, -1}, {15, 1, -1}};
    for (unsigned i = 0; i < sizeof tried / sizeof *tried; i++) {
        const int code = mw_monitor_set(device, tried[i].classes, tried[i].interval);
        assert_code(code, tried[i].code ? MW_ERR_INVALID : 0);
        if (!code)
            assert_int_equal(*fake_fabric(&fake, FABRIC(monitor)),
                             MW_FABRIC__MONITOR__PRESENT_bm |
                                 tried[i].classes << MW_FABRIC__MONITOR__CLASSES_bp |
                                 tried[i].interval << MW_FABRIC__MONITOR__INTERVAL_bp);
        *fake_fabric(&fake, FABRIC(monitor)) = MW_FABRIC__MONITOR__PRESENT_bm;
    }
    for (unsigned p = 0; p < 4; p++)
        for (unsigned b = 0; b < MW_HISTOGRAM_BINS; b++)
            *fake_fabric(&fake, FABRIC(histogram) + 4 * (MW_HISTOGRAM_BINS * p + b)) = 1000 * p + b;
    for (unsigned p = 0; p < 4; p++) {
        assert_code(mw_histogram_read(device, p, bins), 0);
        for (unsigned b = 0; b < MW_HISTOGRAM_BINS; b++)
            assert_int_equal(bins[b], 1000 * p + b);
    }
    assert_code(mw_histogram_read(device, 4, bins), MW_ERR_INVALID);
}

/// A device whose ring continues. `ahead` samples are recorded when its first word is read, and the
/// next one is then being written.
static struct {
    unsigned recorded, ahead;
    bool words;
} ring;

static int read_ring(void *context, uint32_t address, uint32_t *value)
{
    enum { GPUS = 4 };
    const uint32_t words = FABRIC(series), end = words + 8 * MW_SERIES_SAMPLES * GPUS;
    int status = fake_transport.cfg_read(context, address, value);
    if (address == FABRIC(samples))
        *value = ring.recorded + (ring.words ? ring.ahead : 0);
    if (address < words || address >= end)
        return status;
    ring.words = true;
    const unsigned place = (address - words) / 8 % MW_SERIES_SAMPLES,
                   now = ring.recorded + ring.ahead, // the number of that which is written
        next = now % MW_SERIES_SAMPLES;
    const bool torn = ring.ahead && place == next;
    // the last one that has this place
    const unsigned number = now - 1 - (now - 1 - place) % MW_SERIES_SAMPLES;
    *value = torn ? 0xffff : number & 0xffff;
    return status;
}

static void series_goes_on(void **state)
{
    (void)state;
    enum { GPUS = 4, KEPT = MW_SERIES_SAMPLES };
    static const unsigned recorded[] = {0,        1,        KEPT - 2, KEPT - 1,    KEPT,
                                        KEPT + 1, KEPT + 9, 2 * KEPT, 5 * KEPT - 1};
    static const unsigned ahead[] = {0, 1, 2, KEPT / 2, KEPT - 1, KEPT, KEPT + 1, 3 * KEPT};
    static struct mw_sample list[GPUS * KEPT];
    struct mw_transport moving = fake_transport;
    struct mw_device *d;
    moving.cfg_read = read_ring;
    *fake_fabric(&fake, FABRIC(monitor)) = MW_FABRIC__MONITOR__PRESENT_bm;
    assert_code(fake_open_by(&fake, &moving, &d), 0);
    for (unsigned r = 0; r < sizeof recorded / sizeof *recorded; r++)
        for (unsigned a = 0; a < sizeof ahead / sizeof *ahead; a++)
            for (unsigned from = 0; from <= recorded[r]; from++) {
                uint64_t first;
                size_t count;
                const unsigned now = recorded[r] + ahead[a],
                               oldest = recorded[r] > KEPT ? recorded[r] - KEPT : 0,
                               start = from > oldest ? from : oldest;
                // the samples that the ring lost meanwhile, and the place that is being written
                unsigned whole = ahead[a] && now + 1 > KEPT ? now + 1 - KEPT : 0;
                whole = start == recorded[r] ? start : whole; // no request was sent
                whole = whole > recorded[r] ? recorded[r] : whole > start ? whole : start;
                if (from + 3 < recorded[r] && from > oldest + 3 && from % 7 &&
                    (from + KEPT - now) % KEPT > 3)
                    continue; // far from both ends
                ring.recorded = recorded[r];
                ring.ahead = ahead[a];
                ring.words = false;
                assert_code(mw_series_read(d, from, list, KEPT, &first, &count), 0);
                assert_int_equal(first, whole);
                assert_int_equal(count, recorded[r] - whole);
                for (unsigned i = 0; i < GPUS * count; i++)
                    assert_int_equal(list[i].up, (first + i / GPUS) & 0xffff);
            }
    mw_close(d);
}

static void report(void **state)
{
    (void)state;
    *fake_node(&fake, 1, NODE(status.stream3)) = 1 | 4 << 8 | MW_I_DYMULTIMEM_LD_REDUCE << 16;
    *fake_node(&fake, 1, NODE(status.state)) = 0xf0 ^ 1 << 5;
    *fake_node(&fake, 2, NODE(status.state)) = 0xf0 | MW_NODE__STATUS__STATE__LOAD_BUSY_bm;
    *fake_node(&fake, 1, NODE(status.error)) = MW_HWERR_CREDIT | 3u << 16;
    *fake_fabric(&fake, FABRIC(cycles)) = 4711;
    char *text = mw_state_report(device);
    assert_non_null(text);
    assert_non_null(strstr(text, "4711 cycles since go"));
    assert_non_null(strstr(text, "GPU 1 stream 3: instruction 4 dymultimem.ld_reduce, waiting\n"));
    assert_non_null(strstr(text, "busy: send rx "));
    assert_non_null(strstr(text, "busy: load rx "));
    assert_non_null(strstr(text, "GPU 1: 3 errors, the first: packet without credit"));
    assert_null(strstr(text, "is down"));
    assert_null(strstr(text, "discarded"));
    free(text);
    *fake_node(&fake, 2, NODE(status.stream0)) =
        2 << 8 | MW_I_END << 16 | MW_NODE__STATUS__STREAM0__ENDED_bm;
    *fake_fabric(&fake, FABRIC(down)) = 1 << 2;
    *fake_fabric(&fake, FABRIC(error)) = MW_HWERR_PARTITION | 3 << 8 | 7u << 16;
    *fake_fabric(&fake, FABRIC(counters) + 4 * (16 * 3 + 14)) = 6; // cut short or not let in
    text = mw_state_report(device);
    assert_non_null(strstr(text, "GPU 2 stream 0: instruction 2 end, ended\n"));
    assert_non_null(strstr(text, "port 2 is down\n"));
    assert_null(strstr(text, "port 0 is down"));
    assert_null(strstr(text, "port 1 is down"));
    assert_non_null(strstr(text, "switch: 7 errors, the first at input 3: "));
    assert_non_null(strstr(text, "port 3: 0 packets for it discarded, 6 of it cut short"));
    free(text);
    struct mw_counters k;
    assert_code(mw_counters_read(device, &k), 0);
    assert_int_equal(k.switch_errors, 7);
    assert_int_equal(k.switch_first_error, MW_HWERR_PARTITION);
    assert_int_equal(k.switch_error_port, 3);
    fake_fail_at(&fake, 0);
    text = mw_state_report(device);
    assert_non_null(strstr(text, "device: register 0x30 cannot be read"));
    free(text);
}

// ---- errors -------------------------------------------------------------------------------------

static void configure(const struct mw_layer_config *c, struct mw_layout *l)
{
    static const unsigned tokens[4] = {5, 5, 5, 5}, experts[4] = {3, 3, 3, 3};
    assert_code(mw_layout_make(device, c, l), 0);
    assert_code(mw_layer_configure(device, c, l, tokens, experts, 1), 0);
}

static void hardware_errors(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    configure(&c, &l);
    assert_code(mw_launch(device), 0);
    *fake_fabric(&fake, FABRIC(node_error)) = 1 << 3;
    *fake_node(&fake, 3, NODE(status.error)) = MW_HWERR_BOUNDS | 12u << 16;
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_DEVICE);
    assert_message("GPU 3: address, row, token or event counter outside its region (12 errors)");
    assert_code(mw_launch(device), 0); // the layer has ended nevertheless
    *fake_fabric(&fake, FABRIC(error)) = MW_HWERR_PARTITION | 2 << 8 | 1u << 16;
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_DEVICE);
    assert_message("switch, input 2: target outside the partition");
}

static const unsigned numbers[3] = {7, 300, 511}; ///< of the experts of GPU 1

static void map_experts(void)
{
    for (unsigned e = 0; e < 3; e++) {
        const struct mw_expert_place place = {numbers[e], 1, e};
        assert_code(mw_expert_map_set(device, &place, 1), 0);
    }
}

/// Makes routes for `rows` of each expert of GPU 1, in the tables of all GPUs. Then a layer ends
/// with an error of GPU 1.
static void rows_for(const struct mw_layout *l, unsigned k, const unsigned rows[3])
{
    unsigned left[3] = {rows[0], rows[1], rows[2]};
    for (unsigned g = 0; g < 4; g++)
        for (unsigned t = 0; t < 5; t++) {
            int16_t ids[3] = {-1, -1, -1};
            const float weights[3] = {1, 1, 1};
            for (unsigned e = 0; e < 3; e++)
                if (left[e]) {
                    ids[e] = (int16_t)numbers[e];
                    left[e]--;
                }
            mw_route_pack(fake.mem[g] + l->rt_base + t * MW_ROUTE_BYTES, ids, weights, k);
        }
    assert_code(mw_launch(device), 0);
    *fake_fabric(&fake, FABRIC(node_error)) = 1 << 1;
    *fake_node(&fake, 1, NODE(status.error)) = MW_HWERR_BOUNDS | 1u << 16;
    assert_code(mw_wait(device, NULL, NULL), MW_ERR_DEVICE);
}

/// If a layer fails because rows have no place, its message has their expert, and how many places
/// they need.
static void rows_without_a_place(void **state)
{
    (void)state;
    struct mw_layer_config c = small_config();
    struct mw_layout l;
    char text[100];
    *fake_fabric(&fake, FABRIC(tables)) = 512 | 16u << 16 | 64u << 24;
    fake_reopen();
    map_experts();
    configure(&c, &l); // 8 places
    rows_for(&l, c.k, (const unsigned[]){8, 8, 8});
    assert_null(strstr(mw_message(), "region holds"));
    rows_for(&l, c.k, (const unsigned[]){8, 9, 2});
    assert_message(": expert 300 gets 9 rows, their region holds 8 (");
    assert_message("raise rows_per_expert to 9 or more");
    assert_null(strstr(mw_message(), "too small"));
    snprintf(text, sizeof text, "from 0x%llx on",
             (unsigned long long)(l.xd_base + (8u << l.row_shift)));
    assert_message(text);
    rows_for(&l, c.k, (const unsigned[]){9, 3, 12});
    assert_message(": expert 511 gets 12 rows");
    assert_message("; 1 more are too small");
    rows_for(&l, c.k, (const unsigned[]){11, 11, 9});
    assert_message(": expert 7 gets 11 rows");
    assert_message("; 2 more are too small");
    // of each source
    *fake_fabric(&fake, FABRIC(node_error)) = 0;
    fake_open_with_all();
    map_experts();
    c.row_returns = c.source_lists = true;
    c.rows_per_expert = 4;
    configure(&c, &l);
    rows_for(&l, c.k, (const unsigned[]){4, 5, 4});
    assert_message(": expert 300 gets 5 rows from GPU 0, their region holds 4 (");
    snprintf(text, sizeof text, "from 0x%llx on",
             (unsigned long long)(l.xd_base + ((1u << l.n_shift) * 4u << l.row_shift)));
    assert_message(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)
    const struct CMUnitTest tests[] = {
        TEST(counters),        TEST(load_counters),        TEST(series),
        TEST(series_goes_on),  TEST(monitor_limits),       TEST(report),
        TEST(hardware_errors), TEST(rows_without_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
