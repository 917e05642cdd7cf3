// SPDX-License-Identifier: Apache-2.0
//
// `moeswitch list` and `info`.
#include "base/text.h"
#include "cli/command_help.h"
#include "device/device.h"
#include "device/device_build.h"
#include "host.h"

#include <inttypes.h>

enum {
    FOUND = 64, ///< devices that are listed
    LOG = 32,   ///< entries that are shown
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
    return mw_device_open_built(&o, device, err);
}

// ---- list ---------------------------------------------------------------------------------------

static const char *state_text(int state)
{
    return state == 0 ? "free" : state == MW_ERR_BUSY ? "in use" : "may not be opened";
}

static const struct mw_option info_options[] = {MW_DEVICE_ASKED_OPTIONS};

static MW_TERMS(info_exits, {"0", "it was reported"},
                {"2", "bad input, or a device of another size"}, {"4", MW_EXIT_FAILED_TEXT});
static const struct mw_section info_sections[] = {{"Exit status", info_exits}, {0}};

static MW_TERMS(list_exits, {"0", "there are some, or none"}, {"2", "bad input"},
                {"4", MW_EXIT_FAILED_TEXT});
static const struct mw_section list_sections[] = {{"Exit status", list_exits}, {0}};

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
        fprintf(out, "%-20s %-12s %6u %5x.%02x  %s\n",
                *found[i].serial ? MW_SHOWN(found[i].serial) : "?", MW_SHOWN(found[i].path),
                found[i].mbit_per_s, found[i].protocol >> 8, found[i].protocol & 0xff,
                state_text(found[i].state));
    if (!count)
        fputs("no moeswitch is on USB; --device sim needs none\n", out);
    return MW_EXIT_OK;
}

// ---- info ---------------------------------------------------------------------------------------

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
    fprintf(out, "device           %s, serial number %s\n", MW_SHOWN(f.name), MW_SHOWN(f.serial));
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
            MW_SHOWN(m.backend), MW_SHOWN(m.verilator), MW_SHOWN(m.compiler), MW_SHOWN(m.flags),
            MW_SHOWN(m.sources));
    if (*m.cpu)
        fprintf(out, "needs            %s\n", MW_SHOWN(m.cpu));
    return MW_EXIT_OK;
}

/// The primitives that the device has, by the names of their settings.
static void show_primitives(const struct mw_device_info *i, FILE *out)
{
    const struct {
        const char *name;
        bool there;
    } all[] = {{"adder_bypass", i->adder_bypass},
               {"target_list_cache", i->target_list_cache},
               {"switch_reductions", i->switch_reductions},
               {"tile_reductions", i->tile_reductions},
               {"token_order", i->token_order},
               {"link_rate", i->link_rate},
               {"delay", i->delay},
               {"row_ranges", i->row_ranges},
               {"more_events", i->more_events},
               {"gathered", i->gathered},
               {"row_sparse", i->row_sparse},
               {"source_lists", i->source_lists},
               {"packet_manager", i->packet_manager},
               {"cache_limit", i->cache_limit}};
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
    .option = info_options,
    .count = sizeof info_options / sizeof *info_options,
    .summary = "say what a device is",
    .synopsis = "[OPTION]...",
    .text = "Says what a device is: firmware and its error log, or what a model was made of, and "
            "sizes.",
    .section = info_sections,
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
