// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"

#include "base/text.h"
#include "cli/command_help.h"
#include "far_links.h"
#include "trace/workload.h"
#include "transport_sim/model_place.h"

#include <string.h>

enum { SIM_GPUS = 8, SIM_FLIT_BYTES = 16 };

MW_TERMS(mw_device_values, {"sim", NULL}, {"sim:lanes", NULL}, {"sim:plain", NULL}, {"usb", NULL});

int mw_set_device(void *place, const char *name, const char *text, struct mw_error *err)
{
    struct mw_device_choice *device = place;
    static const char prefix[] = "usb:";
    *device = (struct mw_device_choice){0};
    if (strcmp(text, "sim") == 0)
        return MW_EXIT_OK;
    if (strcmp(text, "sim:lanes") == 0 || strcmp(text, "sim:plain") == 0) {
        device->backend = strchr(text, ':') + 1;
        return MW_EXIT_OK;
    }
    device->usb = true;
    if (strcmp(text, "usb") == 0)
        return MW_EXIT_OK;
    if (strncmp(text, prefix, sizeof prefix - 1) != 0 || !text[sizeof prefix - 1]) {
        char names[64];
        mw_terms_names(mw_device_values, names, sizeof names);
        return mw_fail(err, MW_EXIT_INPUT, "--%s %s: expected %s, or usb:SERIAL", name, text,
                       names);
    }
    device->serial = text + sizeof prefix - 1;
    return MW_EXIT_OK;
}

void mw_device_options(const struct mw_device_choice *device, struct mw_open_options *options)
{
    mw_open_defaults(options);
    options->transport = device->usb ? "usb" : "sim";
    options->serial = device->serial;
    options->backend = device->backend;
    options->custom = device->custom;
    options->custom_context = device->custom_context;
    options->share = true;
}

int mw_device_failed(struct mw_error *err, const char *what, int code)
{
    bool input = code == MW_ERR_CAPACITY || code == MW_ERR_INVALID || code == MW_ERR_RANGE;
    return mw_fail(err, input ? MW_EXIT_INPUT : MW_EXIT_FAILED, "%s: %s", what, mw_message());
}

int mw_device_lacks(struct mw_error *err, const struct mw_device_choice *device,
                    const char *primitive)
{
    return mw_fail(err, MW_EXIT_INPUT, MW_DEVICE_LACKS ": %s", primitive,
                   device->usb ? "load a bitstream that has it (docs/user/boards.md)"
                               : "the model of make model has it: leave out --set small=1 and "
                                 "MOESWITCH_MODEL");
}

void mw_device_built(struct mw_device_info *info, const struct mw_open_options *options)
{
    const unsigned flit_bytes = options->flit_bytes;
    const bool far = mwi_model_is_far(options);
    // sim/model.mk: SMALL_PARAMS and large. The rest is rtl/common/cfg_pkg.sv's
    const struct mw_device_info large = {
        .gpus = options->gpus,
        .flit_bytes = flit_bytes,
        .mem_bytes = UINT64_C(1) << (flit_bytes == 8 ? 33 : 34),
        .banks = 4,
        .rows = 1 << 18,
        .tokens = options->gpus > 32 ? MW_BUILT_FAR_TOKENS : MW_BUILT_TOKENS,
        .local_experts = 64,
        .experts = MW_BUILT_EXPERTS,
        .groups = options->gpus >= 16 ? MW_BUILT_FAR_GROUPS : MW_BUILT_GROUPS,
        .open_rows = far ? MW_FAR_OPEN_ROWS : MW_BUILT_OPEN_ROWS,
        .part_pkts = far ? MW_FAR_PART_PKTS : MW_BUILT_PARTS,
        .store_pkts = far ? MW_FAR_STORE_PKTS : MW_BUILT_STORES,
        .rx_store_pkts = far ? MW_FAR_RX_STORE_PKTS : MW_BUILT_STORES,
        .ctrl_pkts = far ? MW_FAR_CTRL_PKTS : MW_BUILT_CTRLS,
        .rx_result_pkts = far ? MW_FAR_RX_RESULT_PKTS : MW_BUILT_RESULTS,
        .window = MW_BUILT_WINDOW,
        .max_latency = far ? MW_FAR_MAX_LATENCY : MW_BUILT_LATENCY,
        .link_latency = 1,
        .adder_bypass = true,
        .target_list_cache = true,
        .switch_reductions = true,
        .tile_reductions = true,
        .merge_loads = true,
        .row_types = true,
        .gate_gradients = true,
        .cached_handle = true,
        .balance_rows = true,
        .merge_entries = MW_BUILT_MERGES,
        .merge_reds = true,
        .sum_entries = MW_BUILT_SUMS,
        .stream_instrs = MW_STREAM_INSTRS,
        .kept_bytes = options->flit_bytes == 16 ? MW_BUILT_MERGE_KEEP : 0,
        .open_loads = far ? MW_FAR_OPEN_LOADS : MW_BUILT_LOADS,
        .load_parts = options->gpus > 32 ? 4 * MW_BUILT_FAR_TOKENS : 4 * MW_BUILT_TOKENS,
        .open_syncs = far ? MW_FAR_OPEN_SYNCS : MW_BUILT_SYNCS,
        .token_order = true,
        .link_rate = true,
        .delay = true,
        .row_ranges = true,
        .row_sparse = true,
        .source_lists = true,
        .more_events = true,
        .gathered = true,
        .packet_manager = true,
        .cache_limit = true,
        .multimem_red = true,
        .red_types = MW_BUILT_RED_TYPES,
        .cache_entries = MW_BUILT_CACHE,
    };
    *info = large;
    if (!options->small)
        return;
    *info = (struct mw_device_info){
        .gpus = options->gpus,
        .flit_bytes = flit_bytes,
        .mem_bytes = 1 << 14,
        .banks = large.banks,
        .rows = 1 << 6,
        .tokens = 1 << 5,
        .local_experts = 4,
        .experts = 32,
        .groups = MW_BUILT_GROUPS,
        .open_rows = large.open_rows,
        .part_pkts = large.part_pkts,
        .store_pkts = 16,
        .rx_store_pkts = 12,
        .ctrl_pkts = large.ctrl_pkts,
        .rx_result_pkts = large.rx_result_pkts,
        .max_latency = 8,
        .link_latency = 1,
        .cache_entries = 64,
        .stream_instrs = MW_STREAM_INSTRS_LEAST,
        .red_types = 1u << MW_DTYPE_BF16,
    };
}

int mw_device_sizes(const struct mw_device_choice *device, unsigned *gpus, unsigned *flit_bytes,
                    struct mw_error *err)
{
    struct mw_device_info info = {.gpus = SIM_GPUS, .flit_bytes = SIM_FLIT_BYTES};
    if (*gpus && *flit_bytes)
        return MW_EXIT_OK;
    if (device->usb) {
        struct mw_open_options o;
        struct mw_device *d;
        mw_device_options(device, &o);
        o.gpus = o.flit_bytes = 0;
        int code = mw_open(&o, &d);
        if (!code)
            code = mw_info(d, &info);
        if (code)
            return mw_device_failed(err, "device", code);
        mw_close(d);
    }
    *gpus = *gpus ? *gpus : info.gpus;
    *flit_bytes = *flit_bytes ? *flit_bytes : info.flit_bytes;
    return MW_EXIT_OK;
}
