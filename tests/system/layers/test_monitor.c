// SPDX-License-Identifier: Apache-2.0
//
// What the monitors of the switch's ports show of a layer: the same flits, waits and packets as the
// counters, at no cost in cycles. Also the picture, and what is refused.
#include "system/command.h"

#include "analysis/bounds.h"
#include "moeswitch.h"

#include <sys/stat.h>

#define RUN \
    "run --gpus 4 --flit-bytes 8 --hidden 64 --experts 8 --k 3 --tokens-per-gpu 32 --tile 2 "

static int set_up(void **state)
{
    return scratch_make(state) || mkdir(scratch("files"), 0777);
}

static double sum(const cJSON *array)
{
    double total = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, array) total += item->valuedouble;
    return total;
}

/// Flits of one direction of port `port`, from the counters, summed over the layers.
static double counted(const cJSON *system, int port, const char *direction)
{
    const cJSON *d = member(cJSON_GetArrayItem(member(system, "ports"), port), direction);
    return sum(d) - number(d, "payload_bytes");
}

/// For all layers of a system, the sums of the series equal the counters.
static void check_series(const cJSON *system, unsigned gpus, unsigned interval)
{
    double turn = 0, credit = 0;
    for (int p = 0; p < (int)gpus; p++) {
        double up = 0, down = 0;
        const cJSON *layer;
        cJSON_ArrayForEach(layer, member(system, "layers"))
        {
            const cJSON *series = member(layer, "series");
            const cJSON *port = cJSON_GetArrayItem(member(series, "ports"), p);
            uint64_t cycles = (uint64_t)number(layer, "cycles");
            assert_int_equal(number(series, "samples"), (cycles + interval - 1) / interval);
            assert_int_equal(cJSON_GetArraySize(member(port, "up")), number(series, "samples"));
            up += sum(member(port, "up"));
            down += sum(member(port, "down"));
            turn += sum(member(port, "wait_turn"));
            credit += sum(member(port, "wait_credit"));
        }
        assert_int_equal(up, counted(system, p, "up"));
        assert_int_equal(down, counted(system, p, "down"));
    }
    assert_int_equal(turn, number(member(system, "stalls"), "switch_output"));
    assert_int_equal(credit, number(member(system, "stalls"), "switch_credit"));
}

/// Packets of the histograms of all ports of a layer.
static double check_histograms(const cJSON *layer)
{
    double all = 0;
    const cJSON *port;
    cJSON_ArrayForEach(port, member(layer, "latency"))
    {
        double packets = 0, last = -1;
        const cJSON *bin;
        cJSON_ArrayForEach(bin, member(port, "bins"))
        {
            double from = cJSON_GetArrayItem(bin, 0)->valuedouble;
            assert_true(from > last && from >= 3); // no packet takes less
            last = from;
            packets += cJSON_GetArrayItem(bin, 1)->valuedouble;
        }
        assert_int_equal(packets, number(port, "packets"));
        assert_true(number(port, "p50") <= number(port, "p99"));
        assert_true(number(port, "p99") <= number(port, "p99_9"));
        assert_true(number(port, "p99_9") <= number(port, "max"));
        assert_true(number(port, "max") >= last);
        all += packets;
    }
    return all;
}

static cJSON *read_systems(const char *name, cJSON **whole)
{
    *whole = read_json(scratch(name));
    return cJSON_GetObjectItem(*whole, "systems");
}

static void shows_what_the_counters_count(void **state)
{
    (void)state;
    assert_int_equal(run_command(RUN "--layers 0,1 --json %s", scratch("plain.json")), 0);
    cJSON *plain_whole, *plain = read_systems("plain.json", &plain_whole);
    for (unsigned interval = 37; interval < 500; interval += 200) {
        assert_int_equal(run_command(RUN "--layers 0,1 --interval %u --json %s", interval,
                                     scratch("monitor.json")),
                         0);
        assert_non_null(strstr(out_text, "99.9 %"));
        cJSON *whole, *systems = read_systems("monitor.json", &whole);
        assert_int_equal(cJSON_GetArraySize(systems), MW_SYSTEMS);
        for (int i = 0; i < MW_SYSTEMS; i++) {
            const cJSON *s = cJSON_GetArrayItem(systems, i);
            assert_int_equal(number(s, "cycles"), number(cJSON_GetArrayItem(plain, i), "cycles"));
            const cJSON *layer;
            bool whole_series = true;
            cJSON_ArrayForEach(layer, member(s, "layers"))
            {
                whole_series &= number(member(layer, "series"), "lost") == 0;
                assert_true(check_histograms(layer) > 0);
            }
            if (interval > 200)
                assert_true(whole_series);
            if (whole_series)
                check_series(s, 4, interval);
            else
                assert_non_null(strstr(out_text, "samples were lost: choose a longer --interval"));
        }
        cJSON_Delete(whole);
    }
    cJSON_Delete(plain_whole);
}

/// Each class on its own, and all of them: every packet is in one of them.
static void classes_add_up(void **state)
{
    (void)state;
    double packets[5];
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(run_command(RUN "--system dysharp --interval 999 --set latency_classes=%u "
                                         "--json %s",
                                     i < 4 ? 1u << i : 15u, scratch("class.json")),
                         0);
        cJSON *whole, *systems = read_systems("class.json", &whole);
        packets[i] = check_histograms(
            cJSON_GetArrayItem(member(cJSON_GetArrayItem(systems, 0), "layers"), 0));
        assert_true(packets[i] > 0);
        cJSON_Delete(whole);
    }
    assert_int_equal(packets[0] + packets[1] + packets[2] + packets[3], packets[4]);
}

static void draws_a_picture(void **state)
{
    (void)state;
    assert_int_equal(run_command(RUN "--plot %s", scratch("files/run.svg")), 0);
    char *svg = read_file(scratch("files/run.svg"));
    assert_non_null(svg);
    assert_int_equal(strncmp(svg, "<svg ", 5), 0);
    assert_string_equal(svg + strlen(svg) - 7, "</svg>\n");
    assert_non_null(strstr(svg, "dysharp-basic, layer 0"));
    assert_null(strstr(svg, "some lost"));
    assert_null(strstr(svg, "nan"));
    free(svg);
    remove(scratch("files/run.svg"));
}

static void refuses_bad_input(void **state)
{
    (void)state;
    ASSERT_REFUSES("run", "--interval 1", "--interval 1", "2 to 65535");
    ASSERT_REFUSES("run", "--interval 65536", "--interval 65536");
    ASSERT_REFUSES("run", "--interval 100 --set latency_classes=16", "latency_classes=16",
                   "0 to 15");
    ASSERT_REFUSES("run", "--plot /nowhere/x.svg --gpus 4 --flit-bytes 8", "/nowhere/x.svg");
    ASSERT_REFUSES("run",
                   "--set small=1 --gpus 4 --flit-bytes 8 --hidden 32 --experts 8 --k 2 "
                   "--tokens-per-gpu 4 --interval 100",
                   "the device has no monitors");
}

static void library_checks_its_arguments(void **state)
{
    (void)state;
    struct mw_open_options o;
    struct mw_device *d;
    uint32_t bins[MW_HISTOGRAM_BINS];
    mw_open_defaults(&o);
    o.gpus = 4;
    o.flit_bytes = 8;
    assert_int_equal(mw_open(&o, &d), 0);
    assert_int_equal(mw_monitor_set(d, 16, 0), MW_ERR_INVALID);
    assert_int_equal(mw_monitor_set(d, 15, 1), MW_ERR_INVALID);
    assert_int_equal(mw_monitor_set(d, 15, 65536), MW_ERR_INVALID);
    assert_int_equal(mw_monitor_set(d, 0, 2), 0);
    assert_int_equal(mw_histogram_read(d, 4, bins), MW_ERR_INVALID);
    for (unsigned p = 0; p < 4; p++) {
        assert_int_equal(mw_histogram_read(d, p, bins), 0);
        for (unsigned b = 0; b < MW_HISTOGRAM_BINS; b++)
            assert_int_equal(bins[b], 0);
    }
    uint64_t first;
    size_t count = 1;
    struct mw_sample sample[4];
    assert_int_equal(mw_series_read(d, 0, sample, 1, &first, &count), 0);
    assert_int_equal(count, 0);
    mw_close(d);
    assert_int_equal(mw_histogram_from(0), 0);
    for (unsigned b = 0; b < 8; b++)
        assert_int_equal(mw_histogram_from(b), b);
    assert_int_equal(mw_histogram_from(8), 8);
    assert_int_equal(mw_histogram_from(9), 10);
    assert_int_equal(mw_histogram_from(63), 7 << 14);
    assert_int_equal(mw_histogram_from(64), 1 << 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_what_the_counters_count),
        cmocka_unit_test(classes_add_up),
        cmocka_unit_test(draws_a_picture),
        cmocka_unit_test(refuses_bad_input),
        cmocka_unit_test(library_checks_its_arguments),
    };
    return cmocka_run_group_tests_name("monitor", tests, set_up, scratch_remove);
}
