// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch selftest`: the firmware's own tests, the way to the memories, and a layer
// under every system.
#include "run/selftest.h"

#include "base/random.h"
#include "device/device.h"
#include "host.h"
#include "run/run.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    TEST_BYTES = 65536, ///< written to and read from each GPU's memory over the link
};

static const char *test_text(uint32_t test)
{
    switch (test) {
#define NAME(name, value, text) \
    case value: \
        return #name;
        MW_TEST_LIST(NAME)
    default:
        return "unknown";
    }
}

/// One of the firmware's tests. They are requested one by one: a reply has room for one result of
/// each of 32 GPUs.
static int own_test(struct mw_device *device, unsigned test, bool *wrong, FILE *out,
                    struct mw_error *err)
{
    struct mw_selftest result[MW_MAX_PORTS];
    size_t count;
    int code = mw_selftest(device, 1u << test, result, MW_MAX_PORTS, &count);
    if (code)
        return mw_device_failed(err, "self-test", code);
    for (size_t i = 0; i < count && i < MW_MAX_PORTS; i++) {
        const struct mw_selftest *r = &result[i];
        *wrong |= r->failed != 0;
        fprintf(out, "own tests   %s %" PRIu32 ": %" PRIu32 " checked, %" PRIu32 " wrong\n",
                test_text(r->test), r->unit, r->checked, r->failed);
    }
    return MW_EXIT_OK;
}

/// The tests that the firmware has.
static int own_tests(struct mw_device *device, FILE *out, struct mw_error *err)
{
#define NUMBER(name, value, text) value,
    static const unsigned tests[] = {MW_TEST_LIST(NUMBER)};
#undef NUMBER
    struct mw_firmware f;
    bool wrong = false;
    int code = mw_firmware_info(device, &f);
    if (code)
        return mw_device_failed(err, "firmware", code);
    if (!(f.features >> MW_FEATURE_SELFTEST & 1)) {
        fputs("own tests   none: the firmware has no self-test\n", out);
        return MW_EXIT_OK;
    }
    for (unsigned i = 0; i < sizeof tests / sizeof *tests; i++) {
        int status = own_test(device, tests[i], &wrong, out, err);
        if (status)
            return status;
    }
    return wrong ? mw_fail(err, MW_EXIT_MISMATCH, "the device's own tests failed") : MW_EXIT_OK;
}

/// Random bytes to every memory and back, all GPUs side by side.
static int memory_test(struct mw_device *device, FILE *out, struct mw_error *err)
{
    struct mw_device_info info;
    struct mw_transfer list[MW_MAX_PORTS];
    struct mw_random random = {1};
    mw_info(device, &info);
    size_t bytes = info.mem_bytes < TEST_BYTES ? info.mem_bytes : TEST_BYTES, wrong = 0;
    uint8_t *sent = malloc(info.gpus * bytes), *back = calloc(info.gpus, bytes);
    if (!sent || !back) {
        free(sent);
        free(back);
        return mw_fail_memory(err, "the test");
    }
    for (size_t i = 0; i < info.gpus * bytes; i++)
        sent[i] = (uint8_t)mw_random_next(&random);
    for (unsigned g = 0; g < info.gpus; g++)
        list[g] = (struct mw_transfer){.gpu = g, .bytes = bytes, .data = sent + g * bytes};
    int code = mw_mem_write(device, list, info.gpus);
    for (unsigned g = 0; g < info.gpus; g++)
        list[g].data = back + g * bytes;
    if (!code)
        code = mw_mem_read(device, list, info.gpus);
    for (size_t i = 0; i < info.gpus * bytes; i++)
        wrong += sent[i] != back[i];
    free(sent);
    free(back);
    if (code)
        return mw_device_failed(err, "memory", code);
    fprintf(out, "memories    %u of %zu bytes written and read, %zu wrong\n", info.gpus, bytes,
            wrong);
    return wrong ? mw_fail(err, MW_EXIT_MISMATCH, "a memory's contents are wrong") : MW_EXIT_OK;
}

/// A layer under every system, against the golden model. It fits 16 KB per GPU.
static int layer_test(const struct mw_device_asked *a, FILE *out, FILE *errors)
{
    char gpus[16], flit[16];
    snprintf(gpus, sizeof gpus, "%u", a->gpus);
    snprintf(flit, sizeof flit, "%u", a->flit_bytes);
    char *words[] = {"run",
                     "--device",
                     (char *)a->device_text,
                     "--gpus",
                     gpus,
                     "--flit-bytes",
                     flit,
                     "--hidden",
                     "64",
                     "--k",
                     "2",
                     "--experts",
                     gpus,
                     "--tokens-per-gpu",
                     "4",
                     "--tile",
                     "2",
                     "--partial-tiles",
                     NULL};
    return mw_run_command(sizeof words / sizeof *words - 1, words, out, errors);
}

static const struct mw_option options[] = {MW_DEVICE_ASKED_OPTIONS};

static MW_TERMS(exits, {"0", "all is well"}, {"1", "something is wrong"},
                {"2", "bad input, or a device of another size"},
                {"3", "the device stopped making progress"}, {"4", MW_EXIT_FAILED_TEXT},
                {"130", MW_EXIT_INTERRUPTED_TEXT});
static const struct mw_section sections[] = {{"Exit status", exits}, {0}};

const struct mw_option_table mw_selftest_table = {
    .command = "selftest",
    .option = options,
    .count = sizeof options / sizeof *options,
    .summary = "test a device",
    .synopsis = "[OPTION]...",
    .text =
        "Lets the device test itself, moves data to all memories and back, and runs a small layer "
        "under every system against the golden model. The contents of the device are lost.",
    .section = sections,
};

int mw_selftest_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    struct mw_device_asked a;
    struct mw_device *device = NULL;
    int status = mw_device_parse(&mw_selftest_table, &a, argc, argv, out, &err);
    if (a.help)
        return MW_EXIT_OK;
    if (!status)
        status = mw_device_open(&a, &device, &err);
    if (!status && a.device.usb)
        status = own_tests(device, out, &err);
    if (!status)
        status = memory_test(device, out, &err);
    mw_close(device);
    status = mw_device_finish(status, &err, errors);
    return status ? status : layer_test(&a, out, errors);
}
