// SPDX-License-Identifier: Apache-2.0
//
// Tests of `moeswitch selftest` with a library made by hand. The firmware of a device returns at
// most as many results at once as a reply holds, for any number of GPUs.
#include "host/support.h"

#include "host.h"
#include "run/run.h"
#include "run/selftest.h"

/// The device, and the requests that it got.
static struct {
    unsigned gpus;
    uint32_t tests; ///< all requested ones
    unsigned calls, runs;
    uint32_t bad_test, bad_unit; ///< fails
    bool bad;
    uint8_t memory[MW_MAX_PORTS][65536];
} device;

enum { REPLY_RESULTS = MW_HOST_MAX_COMMAND / sizeof(struct mw_selftest) };

const char *mw_message(void)
{
    return "as planned";
}

void mw_open_defaults_of(struct mw_open_options *options, size_t size)
{
    memset(options, 0, size);
}

int mw_open(const struct mw_open_options *options, struct mw_device **d)
{
    assert_string_equal(options->transport, "usb");
    *d = (struct mw_device *)&device;
    return 0;
}

void mw_close(struct mw_device *d)
{
    (void)d;
}

int mw_info(struct mw_device *d, struct mw_device_info *info)
{
    (void)d;
    *info = (struct mw_device_info){
        .gpus = device.gpus, .flit_bytes = 16, .mem_bytes = UINT64_C(1) << 34};
    return 0;
}

int mw_simulation_info(struct mw_device *d, struct mw_simulation *model)
{
    (void)d, (void)model;
    return MW_ERR_NODEV;
}

int mw_list(struct mw_found *list, size_t max)
{
    (void)list, (void)max;
    return 0;
}

int mw_firmware_info(struct mw_device *d, struct mw_firmware *f)
{
    (void)d;
    *f = (struct mw_firmware){.features = 1u << MW_FEATURE_SELFTEST};
    return 0;
}

int mw_log_read(struct mw_device *d, uint32_t first, struct mw_log_entry *list, size_t max,
                size_t *count)
{
    (void)d, (void)first, (void)list, (void)max;
    *count = 0;
    return 0;
}

int mw_selftest(struct mw_device *d, uint32_t tests, struct mw_selftest *list, size_t max,
                size_t *count)
{
    (void)d;
    device.calls++;
    device.tests |= tests;
    *count = 0;
    for (unsigned t = 0; t < 32; t++) {
        for (unsigned g = 0; tests >> t & 1 && g < device.gpus; g++) {
            if (*count == REPLY_RESULTS)
                return MW_ERR_INVALID;
            assert_true(*count < max);
            bool bad = device.bad && t == device.bad_test && g == device.bad_unit;
            list[(*count)++] = (struct mw_selftest){t, g, 100, bad};
        }
    }
    return 0;
}

static int move(const struct mw_transfer *list, size_t count, bool write)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t *at = device.memory[list[i].gpu] + list[i].address;
        assert_true(list[i].address + list[i].bytes <= sizeof device.memory[0]);
        memcpy(write ? at : list[i].data, write ? list[i].data : at, list[i].bytes);
    }
    return 0;
}

int mw_mem_write(struct mw_device *d, const struct mw_transfer *list, size_t count)
{
    (void)d;
    return move(list, count, true);
}

int mw_mem_read(struct mw_device *d, const struct mw_transfer *list, size_t count)
{
    (void)d;
    return move(list, count, false);
}

int mw_run_command(int argc, char **argv, FILE *out, FILE *err)
{
    (void)argc, (void)argv, (void)out, (void)err;
    device.runs++;
    return MW_EXIT_OK;
}

static char *out_text, *err_text;

static int run_selftest(void)
{
    size_t out_size, err_size;
    char *argv[] = {(char *)"selftest", (char *)"--device", (char *)"usb", NULL};
    free(out_text);
    free(err_text);
    FILE *out = open_memstream(&out_text, &out_size), *err = open_memstream(&err_text, &err_size);
    assert_true(out && err);
    int status = mw_selftest_command(3, argv, out, err);
    fclose(out);
    fclose(err);
    return status;
}

static int reset(void **state)
{
    (void)state;
    memset(&device, 0, sizeof device);
    return 0;
}

static void passes_with_any_number_of_gpus(void **state)
{
    (void)state;
    static const unsigned sizes[] = {2, 16, 17, 32};
    for (unsigned i = 0; i < 4; i++) {
        reset(NULL);
        device.gpus = sizes[i];
        if (run_selftest() != MW_EXIT_OK)
            fail_msg("%u GPUs: %s", sizes[i], err_text);
        assert_true(device.tests == (1u << MW_TEST_MEMORY | 1u << MW_TEST_LINK));
        assert_int_equal(count_of("own tests   ", out_text), 2 * sizes[i]);
        assert_int_equal(device.runs, 1);
    }
}

/// Every result is shown, also after one that failed.
static void tells_a_failed_test(void **state)
{
    (void)state;
    device.gpus = 32;
    device.bad = true;
    device.bad_test = MW_TEST_MEMORY;
    device.bad_unit = 31;
    assert_int_equal(run_selftest(), MW_EXIT_MISMATCH);
    assert_string_equal(err_text, "moeswitch: the device's own tests failed\n");
    assert_non_null(strstr(out_text, "MEMORY 31: 100 checked, 1 wrong\n"));
    assert_non_null(strstr(out_text, "LINK 31: 100 checked, 0 wrong\n"));
    assert_int_equal(device.runs, 0);
}

static int finish(void **state)
{
    (void)state;
    free(out_text);
    free(err_text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(passes_with_any_number_of_gpus, reset),
        cmocka_unit_test_setup(tells_a_failed_test, reset),
    };
    return cmocka_run_group_tests_name("selftest", tests, NULL, finish);
}
