// SPDX-License-Identifier: Apache-2.0
//
// Devices: opening, what they are, reset, closing.
#include "api/event_fd.h"
#include "api/transport_list.h"
#include "core/known_tables.h"
#include "core/registers.h"
#include "core/state.h"
#include "core/struct_size.h"
#include "core/tables.h"
#include "observe/sample_publish.h"
#include "transport_usb/transport_usb.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MWI_MAGIC = 0x4d57,
    MWI_MAJOR = 2,                                                   ///< of the registers
    MWI_MAX_LATENCY = MWI_GET(MW_FABRIC__LINK__LATENCY, UINT32_MAX), ///< cycles its register holds
};

// ---- opening ------------------------------------------------------------------------------------

void mw_open_defaults_of(struct mw_open_options *options, size_t size)
{
    const struct mw_open_options defaults = {
        .transport = "sim", .gpus = 8, .flit_bytes = 16, .link_latency = 1};
    mwi_give_open(options, &defaults, size);
}

/// Numbers of bits that the library shifts by, sizes that it allocates and divides by.
static int check_info(const struct mw_device_info *info, unsigned mem_log2, unsigned rows_log2,
                      unsigned tokens_log2)
{
    enum { MEM_MOST = 34, ROWS_MOST = 20, TOKENS_MOST = 20, EXPERTS_MOST = 4096 };
    if (info->gpus < 2 || info->gpus > MW_MAX_PORTS ||
        (info->flit_bytes != 8 && info->flit_bytes != 16))
        return mwi_fail(MW_ERR_VERSION, "the device claims %u GPUs and %u-byte flits", info->gpus,
                        info->flit_bytes);
    if (mem_log2 < 8 || mem_log2 > MEM_MOST || rows_log2 > ROWS_MOST || tokens_log2 > TOKENS_MOST)
        return mwi_fail(MW_ERR_VERSION,
                        "the device claims 2^%u bytes, 2^%u rows and 2^%u tokens per GPU: this "
                        "library supports 2^8 to 2^%d, 2^%d, 2^%d",
                        mem_log2, rows_log2, tokens_log2, MEM_MOST, ROWS_MOST, TOKENS_MOST);
    if (!info->experts || info->experts > EXPERTS_MOST || !info->local_experts ||
        info->groups > MW_STATIC_GROUPS || !info->max_latency || !info->open_rows)
        return mwi_fail(MW_ERR_VERSION,
                        "the device claims %u experts, %u of a GPU, %u groups, links of %u cycles, "
                        "%u open rows",
                        info->experts, info->local_experts, info->groups, info->max_latency,
                        info->open_rows);
    return 0;
}

/// Of a device that merges loads.
static int read_load_room(struct mw_device *d, struct mw_device_info *info)
{
    uint32_t room;
    int status = mwi_read(d, MWI_FABRIC(load_room), &room);
    if (status)
        return status;
    info->merge_entries = MWI_GET(MW_FABRIC__LOAD_ROOM__ENTRIES, room);
    info->kept_bytes = MWI_GET(MW_FABRIC__LOAD_ROOM__KEEP, room) << 10;
    info->open_loads = MWI_GET(MW_FABRIC__LOAD_ROOM__OPEN_LOADS, room);
    info->open_syncs = MWI_GET(MW_FABRIC__LOAD_ROOM__OPEN_SYNCS, room);
    if (!info->merge_reds) // then a device may lack the register
        return 0;
    status = mwi_read(d, MWI_FABRIC(sum_room), &room);
    info->sum_entries = MWI_GET(MW_FABRIC__SUM_ROOM__ENTRIES, room);
    return status;
}

static int read_info(struct mw_device *d, struct mw_device_info *info)
{
    struct {
        uint32_t id, size, capacity, windows, tables, primitives, up_room, down_room, lookahead;
    } r;
    int status;
    if ((status = mwi_read(d, MWI_FABRIC(id), &r.id)) ||
        (status = mwi_read(d, MWI_FABRIC(size), &r.size)) ||
        (status = mwi_read(d, MWI_FABRIC(capacity), &r.capacity)) ||
        (status = mwi_read(d, MWI_FABRIC(windows), &r.windows)) ||
        (status = mwi_read(d, MWI_FABRIC(tables), &r.tables)) ||
        (status = mwi_read(d, MWI_FABRIC(primitives), &r.primitives)) ||
        (status = mwi_read(d, MWI_FABRIC(up_room), &r.up_room)) ||
        (status = mwi_read(d, MWI_FABRIC(down_room), &r.down_room)) ||
        (status = mwi_read(d, MWI_FABRIC(lookahead), &r.lookahead)))
        return status;
    const unsigned instrs_log2 = MWI_GET(MW_FABRIC__TABLES__STREAM_INSTRS, r.tables);
    if (MWI_GET(MW_FABRIC__ID__MAGIC, r.id) != MWI_MAGIC)
        return mwi_fail(MW_ERR_VERSION, "identification 0x%x: not a moeswitch device", r.id);
    if (MWI_GET(MW_FABRIC__ID__MAJOR, r.id) != MWI_MAJOR)
        return mwi_fail(MW_ERR_VERSION, "the device has registers of version %u, the library %d",
                        MWI_GET(MW_FABRIC__ID__MAJOR, r.id), MWI_MAJOR);
    const unsigned mem_log2 = MWI_GET(MW_FABRIC__SIZE__MEM_LOG2, r.size),
                   rows_log2 = MWI_GET(MW_FABRIC__CAPACITY__ROWS_LOG2, r.capacity),
                   tokens_log2 = MWI_GET(MW_FABRIC__CAPACITY__TOKENS_LOG2, r.capacity);
    *info = (struct mw_device_info){
        .gpus = MWI_GET(MW_FABRIC__SIZE__PORTS, r.size),
        .flit_bytes = MWI_GET(MW_FABRIC__SIZE__FLIT_BYTES, r.size),
        .mem_bytes = UINT64_C(1) << (mem_log2 & 63),
        .banks = MWI_GET(MW_FABRIC__SIZE__BANKS, r.size),
        .rows = 1u << (rows_log2 & 31),
        .tokens = 1u << (tokens_log2 & 31),
        .local_experts = MWI_GET(MW_FABRIC__CAPACITY__LOCAL_EXPERTS, r.capacity),
        .experts = MWI_GET(MW_FABRIC__TABLES__EXPERTS, r.tables),
        .groups = MWI_GET(MW_FABRIC__TABLES__GROUPS, r.tables),
        .stream_instrs = instrs_log2 ? 1u << instrs_log2 : MW_STREAM_INSTRS_LEAST,
        .load_parts = MWI_GET(MW_FABRIC__TABLES__LOAD_PARTS, r.tables)
                          ? 1u << MWI_GET(MW_FABRIC__TABLES__LOAD_PARTS, r.tables)
                          : 0,
        .open_rows = MWI_GET(MW_FABRIC__WINDOWS__OPEN_ROWS, r.windows),
        .part_pkts = MWI_GET(MW_FABRIC__WINDOWS__PART_PKTS, r.windows),
        .store_pkts = MWI_GET(MW_FABRIC__UP_ROOM__STORE_PKTS, r.up_room),
        .rx_store_pkts = MWI_GET(MW_FABRIC__DOWN_ROOM__STORE_PKTS, r.down_room),
        .ctrl_pkts = MWI_GET(MW_FABRIC__UP_ROOM__CTRL_PKTS, r.up_room),
        .rx_result_pkts = MWI_GET(MW_FABRIC__DOWN_ROOM__RESULT_PKTS, r.down_room),
        .window = MWI_GET(MW_FABRIC__LOOKAHEAD__MOST, r.lookahead),
        .max_latency = MWI_GET(MW_FABRIC__WINDOWS__MAX_LATENCY, r.windows),
        .adder_bypass = MWI_GET(MW_FABRIC__PRIMITIVES__ADDER_BYPASS, r.primitives),
        .target_list_cache = MWI_GET(MW_FABRIC__PRIMITIVES__TARGET_LIST_CACHE, r.primitives),
        .switch_reductions = MWI_GET(MW_FABRIC__PRIMITIVES__SWITCH_REDUCTIONS, r.primitives),
        .tile_reductions = MWI_GET(MW_FABRIC__PRIMITIVES__TILE_REDUCTIONS, r.primitives),
        .merge_loads = MWI_GET(MW_FABRIC__PRIMITIVES__MERGE_LOADS, r.primitives),
        .merge_reds = MWI_GET(MW_FABRIC__PRIMITIVES__MERGE_REDS, r.primitives),
        .gate_gradients = MWI_GET(MW_FABRIC__PRIMITIVES__GATE_GRADIENTS, r.primitives),
        .row_types = MWI_GET(MW_FABRIC__PRIMITIVES__ROW_TYPES, r.primitives),
        .cached_handle = MWI_GET(MW_FABRIC__PRIMITIVES__CACHED_HANDLE, r.primitives),
        .balance_rows = MWI_GET(MW_FABRIC__PRIMITIVES__BALANCE_ROWS, r.primitives),
        .token_order = MWI_GET(MW_FABRIC__PRIMITIVES__TOKEN_ORDER, r.primitives),
        .link_rate = MWI_GET(MW_FABRIC__PRIMITIVES__LINK_RATE, r.primitives),
        .delay = MWI_GET(MW_FABRIC__PRIMITIVES__DELAY, r.primitives),
        .row_ranges = MWI_GET(MW_FABRIC__PRIMITIVES__ROW_RANGES, r.primitives),
        .row_sparse = MWI_GET(MW_FABRIC__PRIMITIVES__ROW_SPARSE, r.primitives),
        .source_lists = MWI_GET(MW_FABRIC__PRIMITIVES__SOURCE_LISTS, r.primitives),
        .more_events = MWI_GET(MW_FABRIC__PRIMITIVES__MORE_EVENTS, r.primitives),
        .gathered = MWI_GET(MW_FABRIC__PRIMITIVES__GATHERED, r.primitives),
        .packet_manager = MWI_GET(MW_FABRIC__PRIMITIVES__PACKET_MANAGER, r.primitives),
        .cache_limit = MWI_GET(MW_FABRIC__PRIMITIVES__CACHE_LIMIT, r.primitives),
        .multimem_red = MWI_GET(MW_FABRIC__PRIMITIVES__MULTIMEM_RED, r.primitives),
        .red_types = MWI_GET(MW_FABRIC__PRIMITIVES__RED_TYPES, r.primitives),
        .cache_entries = 1u << (MWI_GET(MW_FABRIC__CAPACITY__CACHE_LOG2, r.capacity) & 31),
    };
    status = info->merge_loads ? read_load_room(d, info) : 0;
    return status ? status : check_info(info, mem_log2, rows_log2, tokens_log2);
}

static int set_up(struct mw_device *d, const struct mw_open_options *o)
{
    int status = read_info(d, &d->info);
    if (status)
        return status;
    unsigned gpus = o->gpus ? o->gpus : d->info.gpus;
    unsigned flit_bytes = o->flit_bytes ? o->flit_bytes : d->info.flit_bytes;
    if (d->info.gpus != gpus || d->info.flit_bytes != flit_bytes)
        return mwi_fail(MW_ERR_INVALID,
                        "the device has %u GPUs and %u-byte flits, requested were %u and %u",
                        d->info.gpus, d->info.flit_bytes, gpus, flit_bytes);
    if (o->link_latency > d->info.max_latency)
        return mwi_fail(MW_ERR_CAPACITY, "link latency %u: the device has at most %u cycles",
                        o->link_latency, d->info.max_latency);
    d->info.link_latency = o->link_latency;
    status = mwi_tables_make(d);
    return status ? status : mwi_restore(d);
}

static int check_options(const struct mw_open_options *o, const struct mw_transport *transport)
{
    if (!transport)
        return mwi_no_transport(o);
    bool any = transport == &mwi_transport_usb; // a device there is as it is
    if (!(any && o->gpus == 0) && (o->gpus < 2 || o->gpus > MW_MAX_PORTS))
        return mwi_fail(MW_ERR_INVALID, "%u GPUs: 2 to %d are possible", o->gpus, MW_MAX_PORTS);
    if (!(any && o->flit_bytes == 0) && o->flit_bytes != 8 && o->flit_bytes != 16)
        return mwi_fail(MW_ERR_INVALID, "%u-byte flits: 8 and 16 are possible", o->flit_bytes);
    if (o->link_latency < 1)
        return mwi_fail(MW_ERR_INVALID, "link latency 0: at least 1 cycle");
    if (o->link_latency > MWI_MAX_LATENCY)
        return mwi_fail(MW_ERR_CAPACITY, "link latency %u: a device has at most %d cycles",
                        o->link_latency, MWI_MAX_LATENCY);
    if ((unsigned)o->primitives > MW_PRIMITIVES_BASIC)
        return mwi_fail(MW_ERR_INVALID, "primitives %u: 0 to %d are possible",
                        (unsigned)o->primitives, MW_PRIMITIVES_BASIC);
    return 0;
}

static int connect(struct mw_device *d, const struct mw_open_options *o)
{
    char text[MWI_MESSAGE] = "";
    mwi_say_nothing();
    int status = d->transport->open(o, &d->context, text, sizeof text);
    if (status)
        return mwi_fail_also(status, "transport %s: %s", d->transport->name,
                             *text ? text : mw_strerror(status));
    status = set_up(d, o);
    if (status)
        d->transport->close(d->context);
    return status;
}

int mw_open(const struct mw_open_options *options, struct mw_device **device)
{
    MWI_NEED(device);
    *device = NULL;
    MWI_NEED(options);
    struct mw_open_options o;
    int status = mwi_take_open(&o, options);
    const struct mw_transport *transport = status ? NULL : mwi_find_transport(&o);
    if (status || (status = check_options(&o, transport)))
        return status;
    struct mw_transport own;
    if ((status = mwi_take_transport(&own, transport)))
        return status;
    struct mw_device *d = calloc(1, sizeof *d);
    if (!d || mwi_lock_init(&d->lock)) {
        free(d);
        return mwi_fail(MW_ERR_NOMEM, "no memory for a device");
    }
    d->process = getpid();
    d->own_transport = own;
    d->transport = &d->own_transport;
    d->holders = 1;
    mwi_state_init(&d->state);
    mwi_lock(d);
    status = connect(d, &o);
    if (status) {
        mwi_put(d);
        return status;
    }
    if (o.share)
        mwi_share_begin(d);
    *device = d;
    return mwi_unlock(d, 0);
}

void mw_close(struct mw_device *device)
{
    struct mw_device *d = device;
    if (!d)
        return;
    const bool inherited = mwi_inherited(d);
    mwi_lock(d);
    d->state.closed = true;
    d->write_count = 0;
    if (!inherited)
        mwi_lock_wake(&d->lock);
    mwi_unlock(d, 0);
    mwi_notify_stop(d);
    mwi_lock(d);
    mwi_share_end(d);
    if (!inherited)
        d->transport->close(d->context);
    mwi_put(d);
}

int mw_reset(struct mw_device *device)
{
    MWI_NEED(device);
    struct mw_device *d = device;
    struct mw_device_info info;
    mwi_lock(d);
    int status =
        d->state.lost == MW_ERR_NODEV ? mwi_check_well(d, __func__) : mwi_check_open(d, __func__);
    if (!status && !d->transport->reset)
        status = mwi_fail(MW_ERR_VERSION, "%s: transport %s cannot", __func__, d->transport->name);
    if (status)
        return mwi_unlock(d, status);
    d->write_count = 0;
    mwi_say_nothing();
    status = d->transport->reset(d->context);
    if (status) {
        mwi_fail_also(status, "the device cannot be reset");
        return mwi_unlock(d, mwi_state_lost(d, status));
    }
    mwi_state_reset(d);
    status = read_info(d, &info);
    if (!status && (info.gpus != d->info.gpus || info.flit_bytes != d->info.flit_bytes ||
                    info.mem_bytes != d->info.mem_bytes || info.experts != d->info.experts))
        status =
            mwi_fail(MW_ERR_VERSION, "the device is not the one that was opened: open it again");
    if (!status)
        status = mwi_restore(d);
    if (status)
        mwi_state_lost(d, status);
    return mwi_unlock(d, status);
}

int mw_info(struct mw_device *device, struct mw_device_info *info)
{
    MWI_NEED(device);
    MWI_NEED(info);
    int status = mwi_check_open(device, __func__);
    if (!status)
        *info = device->info;
    return status;
}

int mw_simulation_info(struct mw_device *device, struct mw_simulation *model)
{
    MWI_NEED(device);
    MWI_NEED(model);
    struct mw_simulation got = {0};
    mwi_lock(device);
    int status = mwi_check_open(device, __func__);
    if (!status && !device->transport->model)
        status = mwi_fail(MW_ERR_NODEV, "transport %s: there is no model", device->transport->name);
    if (!status)
        status = device->transport->model(device->context, &got);
    if (!status)
        *model = got;
    return mwi_unlock(device, status);
}

int mw_watch(struct mw_device *device, mw_watch_fn event, void *context)
{
    MWI_NEED(device);
    mwi_lock(device);
    int status = mwi_check_open(device, __func__);
    if (!status && !device->transport->watch)
        status = mwi_fail(MW_ERR_CAPACITY,
                          "transport %s: only a simulated device shows its internal state",
                          device->transport->name);
    if (!status)
        status = device->transport->watch(device->context, event, context);
    return mwi_unlock(device, status);
}
