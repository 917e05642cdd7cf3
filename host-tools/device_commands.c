// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch list`, `info` and `selftest`.
#include "command_help.h"
#include "commands.h"
#include "device.h"
#include "fit.h"
#include "host.h"
#include "random.h"
#include "run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FOUND = 64,         ///< devices that are listed
    LOG = 32,           ///< entries that are shown
    TEST_BYTES = 65536, ///< written to and read from each GPU's memory over the link
};

int mw_set_device_asked(void *p, const char *name, const char *text, struct mw_error *err)
{
    struct mw_device_asked *a = p;
    a->device_text = text;
    return mw_set_device(&a->device, name, text, err);
}

int mw_device_parse(const struct mw_option_table *table, struct mw_device_asked *a, int argc,
                    char **argv, FILE *out, struct mw_error *err)
{
    struct mw_options_said said;
    *a = (struct mw_device_asked){.device_text = "sim"};
    int status = mw_options_parse(table, argc, argv, a, &said, err);
    a->help = said.help && !status;
    if (a->help)
        mw_command_help(table, out);
    return status;
}

int mw_device_finish(int status, const struct mw_error *err, FILE *errors)
{
    if (err->text[0])
        fprintf(errors, "moeswitch: %s\n", err->text);
    return status;
}

int mw_device_open(struct mw_device_asked *a, struct mw_device **device, struct mw_error *err)
{
    struct mw_open_options o;
    int status = mw_device_sizes(&a->device, &a->gpus, &a->flit_bytes, err);
    if (status)
        return status;
    mw_device_options(&a->device, &o);
    o.gpus = a->gpus;
    o.flit_bytes = a->flit_bytes;
    int code = mw_open(&o, device);
    return code ? mw_device_failed(err, "device", code) : MW_EXIT_OK;
}

// ---- list -------------------------------------------------------------------------------------------

static const char *state_text(int state)
{
    return state == 0 ? "free" : state == MW_ERR_BUSY ? "in use" : "may not be opened";
}

static const struct mw_option device_options[] = {MW_DEVICE_ASKED_OPTIONS};
enum { DEVICE_OPTIONS = sizeof device_options / sizeof *device_options };

static MW_TERMS(exits, {"0", "it was told"}, {"2", "bad input, or a device of another size"},
                {"4", MW_EXIT_FAILED_TEXT}) static const
    struct mw_section device_sections[] = {{"Exit status", exits}, {0}};

static MW_TERMS(list_exits, {"0", "there are some, or none"}, {"2", "bad input"},
                {"4", MW_EXIT_FAILED_TEXT}) static const
    struct mw_section list_sections[] = {{"Exit status", list_exits}, {0}};

const struct mw_option_table mw_list_table = {
    .command = "list",
    .summary = "list the devices on USB",
    .synopsis = "[OPTION]...",
    .text =
        "Lists the devices on USB: serial number for --device usb:SERIAL, place (bus-port.port), "
        "Mbit/s, version of the host protocol, and whether one may be opened.",
    .section = list_sections,
};

int mw_list_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    struct mw_found found[FOUND];
    struct mw_device_asked a;
    int status = mw_device_parse(&mw_list_table, &a, argc, argv, out, &err);
    if (status || a.help)
        return mw_device_finish(status, &err, errors);
    int count = mw_list(found, FOUND);
    if (count < 0)
        return mw_device_finish(mw_device_failed(&err, "list", count), &err, errors);
    if (count)
        fprintf(out, "%-20s %-12s %6s %8s  %s\n", "serial", "place", "Mbit/s", "protocol", "state");
    for (int i = 0; i < count && i < FOUND; i++)
        fprintf(out, "%-20s %-12s %6u %5x.%02x  %s\n", *found[i].serial ? found[i].serial : "?",
                found[i].path, found[i].mbit_per_s, found[i].protocol >> 8,
                found[i].protocol & 0xff, state_text(found[i].state));
    if (!count)
        fputs("no moeswitch is on USB; --device sim needs none\n", out);
    return MW_EXIT_OK;
}

// ---- info -------------------------------------------------------------------------------------------

static const char *log_text(uint32_t code)
{
    switch (code) {
#define TEXT(name, value, text) \
    case value: \
        return text;
        MW_LOG_LIST(TEXT)
    default:
        return "unknown";
    }
}

static int show_log(struct mw_device *device, FILE *out, struct mw_error *err)
{
    struct mw_log_entry entry[LOG];
    size_t count;
    int code = mw_log_read(device, 0, entry, LOG, &count);
    if (code)
        return mw_device_failed(err, "error log", code);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "log %-6" PRIu32 "%7" PRIu32 " s   %s: 0x%" PRIx32 "\n", entry[i].number,
                entry[i].seconds, log_text(entry[i].code), entry[i].detail);
    return MW_EXIT_OK;
}

static int show_firmware(struct mw_device *device, FILE *out, struct mw_error *err)
{
    struct mw_firmware f;
    int code = mw_firmware_info(device, &f);
    if (code)
        return mw_device_failed(err, "firmware", code);
    fprintf(out, "device           %s, serial number %s\n", f.name, f.serial);
    fprintf(out, "host protocol    %u.%u (this library: %d.%d)\n", f.protocol_major,
            f.protocol_minor, MW_HOST_PROTOCOL_MAJOR, MW_HOST_PROTOCOL_MINOR);
    fprintf(out,
            "firmware         %" PRIu32 ".%" PRIu32 ".%" PRIu32 "%s%s%s, %" PRIu32
            " resets by its watchdog\n",
            f.version >> 24, f.version >> 16 & 0xff, f.version & 0xffff,
            f.features >> MW_FEATURE_SELFTEST & 1 ? ", self-test" : "",
            f.features >> MW_FEATURE_LOG & 1 ? ", error log" : "",
            f.features >> MW_FEATURE_FEED & 1 ? ", queue of layers" : "", f.resets);
    if (f.clock_hz)
        fprintf(out, "clock            %.3f MHz, %.3f million cycles of the fabric per second\n",
                f.clock_hz / 1e6, f.clock_hz / 1e6 / f.cycle_clocks);
    else
        fputs("clock            simulated\n", out);
    return f.features >> MW_FEATURE_LOG & 1 ? show_log(device, out, err) : MW_EXIT_OK;
}

static int show_model(struct mw_device *device, FILE *out, struct mw_error *err)
{
    struct mw_simulation m;
    int code = mw_simulation_info(device, &m);
    if (code)
        return mw_device_failed(err, "model", code);
    fprintf(out,
            "model            %s; Verilator %s, %s\n"
            "made with        %s\n"
            "made of          %s\n",
            m.backend, m.verilator, m.compiler, m.flags, m.sources);
    if (*m.cpu)
        fprintf(out, "needs            %s\n", m.cpu);
    return MW_EXIT_OK;
}

/// The primitives that the device has, by the names of their settings.
static void show_primitives(const struct mw_device_info *i, FILE *out)
{
    const struct {
        const char *name;
        bool there;
    } all[] = {{"copy_lane", i->copy_lane},
               {"list_once", i->list_once},
               {"switch_asks", i->switch_asks},
               {"token_order", i->token_order}};
    const char *before = "primitives       ";
    bool some = false;
    for (unsigned k = 0; k < sizeof all / sizeof *all; k++) {
        if (!all[k].there)
            continue;
        fprintf(out, "%s%s", before, all[k].name);
        before = ", ";
        some = true;
    }
    fprintf(out, "%s\n", some ? "" : "primitives       none");
}

static void show_sizes(const struct mw_device_info *i, FILE *out)
{
    char memory[32];
    fprintf(out,
            "GPUs             %u, %s of memory each in %u banks\n"
            "flits            %u bytes\n"
            "links            up to %u cycles\n"
            "a GPU            %u rows, %u tokens, %u experts, %u open reductions\n"
            "tables           %u experts, %u static groups\n"
            "credits          %u and %u packets of stores up and down, %u of partial sums\n",
            i->gpus, mw_bytes_text(i->mem_bytes, memory, sizeof memory), i->banks, i->flit_bytes,
            i->max_latency, i->rows, i->tokens, i->local_experts, i->open_rows, i->experts,
            i->groups, i->store_pkts, i->rx_store_pkts, i->part_pkts);
    show_primitives(i, out);
}

const struct mw_option_table mw_info_table = {
    .command = "info",
    .option = device_options,
    .count = DEVICE_OPTIONS,
    .summary = "say what a device is",
    .synopsis = "[OPTION]...",
    .text = "Says what a device is: firmware and its error log, or what a model was made of, and "
            "sizes.",
    .section = device_sections,
};

int mw_info_command(int argc, char **argv, FILE *out, FILE *errors)
{
    struct mw_error err = {0};
    struct mw_device_asked a;
    struct mw_device *device = NULL;
    struct mw_device_info info;
    int status = mw_device_parse(&mw_info_table, &a, argc, argv, out, &err);
    if (a.help)
        return MW_EXIT_OK;
    if (!status)
        status = mw_device_open(&a, &device, &err);
    if (!status && a.device.usb)
        status = show_firmware(device, out, &err);
    else if (!status)
        status = show_model(device, out, &err);
    if (!status && mw_info(device, &info) == 0)
        show_sizes(&info, out);
    mw_close(device);
    return mw_device_finish(status, &err, errors);
}

// ---- selftest -----------------------------------------------------------------------------------------

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

/// One of the firmware's tests. They are asked for one by one: a reply has room for one result of each
/// of 32 GPUs.
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

/// A layer under every system, against the golden model.
static int layer_test(const struct mw_device_asked *a, FILE *out, FILE *errors)
{
    char gpus[16], flit[16];
    char device[256];
    snprintf(gpus, sizeof gpus, "%u", a->gpus);
    snprintf(flit, sizeof flit, "%u", a->flit_bytes);
    snprintf(device, sizeof device, "%s", a->device_text);
    char *words[] = {"run", "--device",         device, "--gpus", gpus, "--flit-bytes",
                     flit,  "--hidden",         "64",   "--k",    "2",  "--experts",
                     gpus,  "--tokens-per-gpu", "8",    "--tile", "2",  "--partial-tiles",
                     NULL};
    return mw_run_command(sizeof words / sizeof *words - 1, words, out, errors);
}

static MW_TERMS(selftest_exits, {"0", "all is well"}, {"1", "something is wrong"},
                {"2", "bad input, or a device of another size"},
                {"3", "the device stopped making progress"}, {"4", MW_EXIT_FAILED_TEXT},
                {"130", MW_EXIT_INTERRUPTED_TEXT}) static const
    struct mw_section selftest_sections[] = {{"Exit status", selftest_exits}, {0}};

const struct mw_option_table mw_selftest_table = {
    .command = "selftest",
    .option = device_options,
    .count = DEVICE_OPTIONS,
    .summary = "test a device",
    .synopsis = "[OPTION]...",
    .text =
        "Lets the device test itself, moves data to all memories and back, and runs a small layer "
        "under every system against the golden model. What was in the device is lost.",
    .section = selftest_sections,
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
