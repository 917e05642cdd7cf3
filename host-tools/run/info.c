// SPDX-License-Identifier: Apache-2.0
//
// See info.h.
#include "run/info.h"

#include "base/text.h"
#include "device/device.h"
#include "golden/reduce.h"
#include "systems/system_list.h"
#include "systems/systems.h"
#include "tp_run/tp_run.h"
#include "host.h"
#include "soc_regs.h"

#include <inttypes.h>

enum {
    LOG = 32, ///< entries that are shown
    MAX_RESTARTS = MW_SOC__RESTART__COUNT_bm >> MW_SOC__RESTART__COUNT_bp, ///< that a device counts
};

/// Of the systems of one kind, by index: its name, and what the device lacks for it or NULL.
typedef const char *name_of(unsigned system);
typedef const char *lack_of(unsigned system, const struct mw_device_info *info);

static const struct mw_option info_options[] = {MW_DEVICE_ASKED_OPTIONS};

static MW_TERMS(info_exits, {"0", "the device is described"},
                {"2", "bad input, or a device of another size"}, {"4", MW_EXIT_FAILED_TEXT});
static const struct mw_section info_sections[] = {{"Exit status", info_exits}, {0}};

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
            "firmware         %" PRIu32 ".%" PRIu32 ".%" PRIu32
            "%s%s%s, restarts since power-up: %" PRIu32 "%s\n",
            f.version >> 24, f.version >> 16 & 0xff, f.version & 0xffff,
            f.features >> MW_FEATURE_SELFTEST & 1 ? ", self-test" : "",
            f.features >> MW_FEATURE_LOG & 1 ? ", error log" : "",
            f.features >> MW_FEATURE_FEED & 1 ? ", queue of layers" : "", f.resets,
            f.resets == MAX_RESTARTS ? " or more" : "");
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

static void show_reductions(const struct mw_device_info *i, FILE *out)
{
    const char *before = "reductions       ";
    for (unsigned d = 0; d < MW_DTYPES; d++) {
        if (!(i->red_types >> d & 1))
            continue;
        fprintf(out, "%s%s", before, mw_reduce_type_name(d));
        before = ", ";
    }
    fprintf(out, "%s\n", i->red_types ? "" : "reductions       none");
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
               {"merge_loads", i->merge_loads},
               {"merge_reds", i->merge_reds},
               {"row_types", i->row_types},
               {"gate_gradients", i->gate_gradients},
               {"cached_handle", i->cached_handle},
               {"balance_rows", i->balance_rows},
               {"token_order", i->token_order},
               {"link_rate", i->link_rate},
               {"delay", i->delay},
               {"row_ranges", i->row_ranges},
               {"more_events", i->more_events},
               {"gathered", i->gathered},
               {"row_sparse", i->row_sparse},
               {"source_lists", i->source_lists},
               {"packet_manager", i->packet_manager},
               {"cache_limit", i->cache_limit},
               {"multimem_red", i->multimem_red}};
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

/// The systems of one kind that it can run; of each other one a primitive that it lacks.
static void show_systems(const char *head, unsigned count, name_of *name, lack_of *lack,
                         const struct mw_device_info *i, FILE *out)
{
    for (unsigned lacking = 0; lacking < 2; lacking++) {
        const char *before = lacking ? "lacks for        " : head;
        for (unsigned s = 0; s < count; s++) {
            const char *primitive = lack(s, i);
            if (!primitive != !lacking)
                continue;
            fprintf(out, lacking ? "%s%s: %s" : "%s%s", before, name(s), primitive);
            before = ", ";
        }
        if (*before == ',')
            fputc('\n', out);
    }
}

static const char *moe_name(unsigned s)
{
    return mw_systems[s].name;
}

static const char *moe_lack(unsigned s, const struct mw_device_info *i)
{
    return mw_system_lack(&mw_systems[s], i);
}

static const char *tp_name(unsigned s)
{
    return mw_tp_systems[s]->name;
}

static const char *tp_lack(unsigned s, const struct mw_device_info *i)
{
    return mw_tp_lack(mw_tp_systems[s], true, i);
}

/// Room for loads and sums, where the device merges them.
static void show_merging(const struct mw_device_info *i, FILE *out)
{
    char kept[32];
    if (i->merge_loads) {
        fprintf(out, "loads            %u open and %u open SYNCs of a GPU, %u entries",
                i->open_loads, i->open_syncs, i->merge_entries);
        if (i->kept_bytes)
            fprintf(out, " and %s of kept answers",
                    mw_bytes_text(i->kept_bytes, kept, sizeof kept));
        fputs(" at a port\n", out);
    }
    if (i->merge_reds)
        fprintf(out, "sums             %u entries at a port\n", i->sum_entries);
}

static void show_sizes(const struct mw_device_info *i, FILE *out)
{
    char memory[32];
    fprintf(out,
            "GPUs             %u, %s of memory each in %u banks\n"
            "flits            %u bytes\n"
            "links            up to %u cycles\n"
            "a GPU            %u rows, %u tokens, %u experts, %u open reductions\n"
            "streams          %d on each GPU, of up to %u instructions\n"
            "tables           %u experts, %u static groups\n"
            "credits          %u and %u packets of stores up and down, %u of partial sums\n",
            i->gpus, mw_bytes_text(i->mem_bytes, memory, sizeof memory), i->banks, i->flit_bytes,
            i->max_latency, i->rows, i->tokens, i->local_experts, i->open_rows, MW_STREAMS,
            i->stream_instrs, i->experts, i->groups, i->store_pkts, i->rx_store_pkts, i->part_pkts);
    show_merging(i, out);
    show_primitives(i, out);
    show_reductions(i, out);
    show_systems("MoE systems      ", MW_SYSTEMS, moe_name, moe_lack, i, out);
    show_systems("tensor-parallel  ", MW_TP_SYSTEMS, tp_name, tp_lack, i, out);
}

const struct mw_option_table mw_info_table = {
    .command = "info",
    .option = info_options,
    .count = sizeof info_options / sizeof *info_options,
    .summary = "describe a device",
    .synopsis = "[OPTION]...",
    .text = "Describes a device: its firmware and error log, or how its model was built; its "
            "sizes; and for which systems of `moeswitch run` it has the primitives.",
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
