// SPDX-License-Identifier: Apache-2.0
//
// A layer's sizes: the defaults and names of its configuration, and where everything lies in the
// GPUs' memories. Every limit of the device that a size can break is checked here.
#include "api/layout.h"

#include "core/layer_sizes.h"
#include "core/state.h"
#include "core/struct_size.h"

#include <string.h>

enum {
    MAX_ROW_BYTES = 32752, ///< 15 bits, a multiple of 16
    TOKEN_BITS = 20,       ///< of a global token index and of a row number (rtl/common/node_pkg.sv)
    ALIGN = 128,           ///< of regions: a flit of each bank
    MERGE_ENTRIES = 511,   ///< of a register: as many as there are
};

void mw_layer_defaults_of(struct mw_layer_config *config, size_t size)
{
    const struct mw_layer_config defaults = {.tile = 1,
                                             .partial_wait = 64,
                                             .adder_bypass = true,
                                             .throttle_lead = 1,
                                             .throttle_idle = 256,
                                             .rpm_timer = 256,
                                             .merge_entries = MERGE_ENTRIES,
                                             .sum_cycles = 1024};
    mwi_give_layer(config, &defaults, size);
}

/// What mw_layer_set may set.
static const struct setting {
    const char *name;
    size_t offset, size; ///< of the field: an unsigned, or a bool
    unsigned low, high;
} SETTINGS[] = {
#define SETTING(field, low, high) \
    { \
#field, offsetof(struct mw_layer_config, field), \
            sizeof((struct mw_layer_config *)NULL)->field, low, high \
    }
    SETTING(tile, 1, 255),
    SETTING(expert_cycles, 0, 65535),
    SETTING(partial_wait, 0, 65535),
    SETTING(in_flight, 0, 65535),
    SETTING(open_rows, 0, 255),
    SETTING(store_credits, 0, 255),
    SETTING(part_credits, 0, 255),
    SETTING(ctrl_credits, 0, 255),
    SETTING(down_store_credits, 0, 255),
    SETTING(down_part_credits, 0, 255),
    SETTING(throttle, 0, 255),
    SETTING(down_throttle, 0, 255),
    SETTING(window, 0, 31),
    SETTING(start_delay, 0, 65535),
    SETTING(partial_tiles, false, true),
    SETTING(adder_bypass, false, true),
    SETTING(own_by_adder, false, true),
    SETTING(balance_rows, false, true),
    SETTING(target_list_cache, false, true),
    SETTING(switch_reductions, false, true),
    SETTING(tile_reductions, false, true),
    SETTING(merge_loads, false, true),
    SETTING(load_first, 0, 32767),
    SETTING(load_expert, 0, 63),
    SETTING(merge_entries, 0, MERGE_ENTRIES),
    SETTING(keep_answers, false, true),
    SETTING(load_bytes, 0, 16384),
    SETTING(sum_entries, 0, MERGE_ENTRIES),
    SETTING(sum_cycles, 0, 65535),
    SETTING(fetch_cycles, 0, 65535),
    SETTING(sum_gpus, 0, MW_MAX_PORTS),
    SETTING(sum_first, 0, 32767),
    SETTING(row_returns, false, true),
    SETTING(source_lists, false, true),
    SETTING(dispatch_throttle, false, true),
    SETTING(throttle_lead, 0, 65535),
    SETTING(throttle_ahead, 0, 65535),
    SETTING(throttle_idle, 0, 65535),
    SETTING(link_cycles, 0, 4),
    SETTING(launch_cycles, 0, 65535),
    SETTING(packet_manager, false, true),
    SETTING(rpm_timer, 0, 65535),
    SETTING(scatter, 0, 5),
    SETTING(cache_entries, 0, 65536),
};

static int check_range(const struct setting *s, uint64_t value)
{
    if (value >= s->low && value <= s->high)
        return 0;
    return mwi_fail(MW_ERR_INVALID, "%s: %llu is not in %u .. %u", s->name,
                    (unsigned long long)value, s->low, s->high);
}

int mwi_check_settings(const struct mw_layer_config *c)
{
    int status = 0;
    for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS && !status; i++) {
        const struct setting *s = &SETTINGS[i];
        unsigned value;
        if (s->size == sizeof(bool))
            continue;
        memcpy(&value, (const char *)c + s->offset, sizeof value);
        status = check_range(s, value);
    }
    return status;
}

int mw_layer_set(struct mw_layer_config *config, const char *name, uint64_t value)
{
    MWI_NEED(config);
    MWI_NEED(name);
    int status = mwi_check_layer_size(config);
    if (status)
        return status;
    for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++) {
        const struct setting *s = &SETTINGS[i];
        if (strcmp(name, s->name) != 0 || s->offset + s->size > config->size)
            continue;
        if (s->size == sizeof(bool) && value > 1)
            return mwi_fail(MW_ERR_INVALID, "%s is 0 or 1", name);
        if ((status = check_range(s, value)))
            return status;
        unsigned number = (unsigned)value;
        bool on = value;
        memcpy((char *)config + s->offset, s->size == sizeof on ? (void *)&on : &number, s->size);
        return 0;
    }
    return mwi_fail(MW_ERR_INVALID, "%s: no such setting", name);
}

static int above(const char *what, uint64_t value, uint64_t most)
{
    return mwi_fail(MW_ERR_CAPACITY, "%s: %llu, the device holds %llu", what,
                    (unsigned long long)value, (unsigned long long)most);
}

static uint64_t lists_of(const struct mw_device_info *info, const struct mw_layer_config *c)
{
    return mwi_lists_of(c, mwi_log2_up(info->gpus));
}

int mwi_check_row_bytes(const struct mw_device_info *info, const char *what, unsigned bytes)
{
    if (bytes < 1 || bytes % info->flit_bytes)
        return mwi_fail(MW_ERR_INVALID, "%s: %u is no multiple of the %u-byte flit", what, bytes,
                        info->flit_bytes);
    return bytes > MAX_ROW_BYTES ? above(what, bytes, MAX_ROW_BYTES) : 0;
}

int mwi_check_row_type(const struct mw_device_info *info, unsigned type, const char *what,
                       unsigned bytes)
{
    if (type == MW_ROWTYPE_BF16)
        return 0;
    if (type > MW_ROWTYPE_NVFP4)
        return mwi_fail(MW_ERR_INVALID, "dispatch_type: there is no type %u", type);
    if (!info->row_types)
        return mwi_fail(MW_ERR_CAPACITY,
                        "dispatch_type: this device's rows are bf16 in both directions: leave it "
                        "out");
    if (type != MW_ROWTYPE_E4M3 && bytes % (2 * MW_SCALE_BLOCK))
        return mwi_fail(MW_ERR_INVALID, "%s: %u are no multiple of %d, a block of %d values", what,
                        bytes, 2 * MW_SCALE_BLOCK, MW_SCALE_BLOCK);
    return mwi_check_row_bytes(info, "bytes per row of dispatch", mwi_row_parts(type, bytes).bytes);
}

static int check_dispatch(const struct mw_device_info *info, const struct mw_layer_config *c)
{
    if (c->dispatch_type != MW_ROWTYPE_BF16 && c->merge_loads)
        return mwi_fail(MW_ERR_INVALID, "dispatch_type: not with merge_loads");
    return mwi_check_row_type(info, c->dispatch_type, "row_bytes", c->row_bytes);
}

int mwi_check_gradients(const struct mw_device_info *info, unsigned type)
{
    if (!info->gate_gradients)
        return mwi_fail(MW_ERR_CAPACITY, "gate_gradients: this device's experts return no "
                                         "gradients of gate weights: leave it out");
    if (type != MW_ROWTYPE_BF16)
        return mwi_fail(MW_ERR_INVALID, "gate_gradients: only for rows of dispatch in bf16");
    return 0;
}

int mwi_check_cached(const struct mw_device_info *info, const char *what)
{
    if (!info->cached_handle)
        return mwi_fail(MW_ERR_CAPACITY,
                        "%s: each layer of this device counts its own rows: leave it out", what);
    return 0;
}

static int check_handle(const struct mw_device_info *info, const struct mw_layer_config *c)
{
    if (c->handle == MW_HANDLE_NONE)
        return 0;
    if (c->handle > MW_HANDLE_CACHED)
        return mwi_fail(MW_ERR_INVALID, "handle: there is no value %u", c->handle);
    if (c->merge_loads)
        return mwi_fail(MW_ERR_INVALID, "handle: not with merge_loads");
    return mwi_check_cached(info, "handle");
}

static int check_credits(const struct mw_device_info *info, const struct mw_layer_config *c)
{
    const struct {
        const char *name;
        unsigned asked, there;
    } all[] = {{"store_credits", c->store_credits, info->store_pkts},
               {"part_credits", c->part_credits, info->part_pkts},
               {"ctrl_credits", c->ctrl_credits, info->ctrl_pkts},
               {"down_store_credits", c->down_store_credits, info->rx_store_pkts},
               {"down_part_credits", c->down_part_credits, info->rx_result_pkts}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].asked > all[i].there)
            return above(all[i].name, all[i].asked, all[i].there);
    return 0;
}

/// Rows that are loaded in parts.
static int check_parts(const struct mw_device_info *info, const struct mw_layer_config *c)
{
    const unsigned bytes = c->load_bytes;
    if (!bytes)
        return 0;
    if (bytes < MW_PAYLOAD_MAX_BYTES || bytes & (bytes - 1))
        return mwi_fail(MW_ERR_INVALID, "load_bytes %u: a power of two from %d on, or 0", bytes,
                        MW_PAYLOAD_MAX_BYTES);
    if (c->row_bytes % bytes)
        return mwi_fail(MW_ERR_INVALID, "load_bytes %u: rows have %u bytes, no multiple", bytes,
                        c->row_bytes);
    if (!info->load_parts)
        return mwi_fail(MW_ERR_CAPACITY,
                        "load_bytes: this device loads whole rows alone: leave it out");
    if (c->row_bytes / bytes > info->open_loads)
        return above("parts of a row that is loaded", c->row_bytes / bytes, info->open_loads);
    const uint64_t parts = (uint64_t)c->tokens_per_gpu << mwi_load_parts(c);
    return parts > info->load_parts ? above("parts of a GPU's rows", parts, info->load_parts) : 0;
}

static int check_loads(const struct mw_device_info *info, const struct mw_layer_config *c)
{
    const uint64_t numbers = (uint64_t)info->gpus << mwi_log2_up(c->tokens_per_gpu);
    if (c->keep_answers && !c->merge_loads)
        return mwi_fail(MW_ERR_INVALID, "keep_answers: only with merge_loads");
    if (c->load_bytes && !c->merge_loads)
        return mwi_fail(MW_ERR_INVALID, "load_bytes: only with merge_loads");
    if ((c->sum_entries || c->sum_gpus) && !info->merge_reds)
        return mwi_fail(MW_ERR_CAPACITY, "%s: this device's switch adds up no reds: leave it out",
                        c->sum_entries ? "sum_entries" : "sum_gpus");
    if (c->sum_entries && c->down_store_credits == 1)
        return mwi_fail(MW_ERR_INVALID,
                        "down_store_credits 1: at least 2 with sum_entries, as a table of sums "
                        "keeps one");
    if (c->sum_gpus > info->gpus)
        return mwi_fail(MW_ERR_INVALID, "sum_gpus %u: the device has %u GPUs", c->sum_gpus,
                        info->gpus);
    if (!c->merge_loads)
        return 0;
    if (c->keep_answers && !info->kept_bytes)
        return mwi_fail(MW_ERR_CAPACITY, "keep_answers: this device keeps none: leave it out");
    if (!info->merge_loads)
        return mwi_fail(MW_ERR_CAPACITY,
                        "merge_loads: this device's switch merges no loads: leave it out");
    if (!c->tile_reductions)
        return mwi_fail(MW_ERR_INVALID, "merge_loads: only with tile_reductions");
    if (c->load_expert >= c->experts_per_gpu)
        return mwi_fail(MW_ERR_INVALID, "load_expert: %u of %u experts per GPU", c->load_expert,
                        c->experts_per_gpu);
    if (c->received_rows < numbers)
        return mwi_fail(MW_ERR_INVALID,
                        "merge_loads: %u received rows, the tokens of all GPUs take %llu",
                        c->received_rows, (unsigned long long)numbers);
    return numbers > info->rows ? above("tokens of all GPUs that land as rows", numbers, info->rows)
                                : check_parts(info, c);
}

int mwi_check_sizes(const struct mw_device_info *info, const struct mw_layer_config *c)
{
    if (c->k < 1 || c->k > MW_MAX_TARGETS)
        return mwi_fail(MW_ERR_INVALID, "k = %u: 1 to %d experts per token", c->k, MW_MAX_TARGETS);
    int status = mwi_check_row_bytes(info, "bytes per row", c->row_bytes);
    if (status)
        return status;
    if (c->buffers > MW_FEED_BUFFERS)
        return mwi_fail(MW_ERR_INVALID, "%u buffers: at most %d", c->buffers, MW_FEED_BUFFERS);
    if (c->stream_instrs > info->stream_instrs)
        return mwi_fail(MW_ERR_INVALID, "%u instructions per stream: at most %u", c->stream_instrs,
                        info->stream_instrs);
    if (c->tokens_per_gpu > info->tokens || c->tokens_per_gpu > 32768)
        return above("tokens per GPU", c->tokens_per_gpu,
                     info->tokens < 32768 ? info->tokens : 32768);
    if (c->experts_per_gpu > info->local_experts)
        return above("experts per GPU", c->experts_per_gpu, info->local_experts);
    if (c->open_rows > info->open_rows)
        return above("open_rows", c->open_rows, info->open_rows);
    if (c->window > info->window)
        return above("window", c->window, info->window);
    status = check_credits(info, c);
    if (!status)
        status = check_loads(info, c);
    if (!status)
        status = check_dispatch(info, c);
    if (!status && c->gate_gradients)
        status = mwi_check_gradients(info, c->dispatch_type);
    if (!status)
        status = check_handle(info, c);
    if (status)
        return status;
    if (c->target_list_cache && !info->target_list_cache)
        return mwi_fail(
            MW_ERR_CAPACITY,
            "target_list_cache: this device does not remember lists of targets: leave it out");
    if (c->switch_reductions && !info->switch_reductions)
        return mwi_fail(
            MW_ERR_CAPACITY,
            "switch_reductions: this device's switch opens no reductions: leave it out");
    if (c->switch_reductions && !c->target_list_cache)
        return mwi_fail(MW_ERR_INVALID, "switch_reductions: only with target_list_cache");
    if (c->tile_reductions && !info->tile_reductions)
        return mwi_fail(
            MW_ERR_CAPACITY,
            "tile_reductions: this device's switch opens no reductions of rows that all "
            "GPUs compute: leave it out");
    if (c->tile_reductions && (!c->switch_reductions || c->k != 1))
        return mwi_fail(MW_ERR_INVALID, "tile_reductions: only with switch_reductions and k = 1");
    if (c->row_returns && !info->row_sparse)
        return mwi_fail(
            MW_ERR_CAPACITY,
            "row_returns: this device's hubs do not return rows one by one: leave it out");
    if (c->row_returns && (c->switch_reductions || c->received_rows))
        return mwi_fail(MW_ERR_INVALID, "row_returns: not with %s",
                        c->switch_reductions ? "switch_reductions" : "received_rows");
    if (c->source_lists && !info->source_lists)
        return mwi_fail(MW_ERR_CAPACITY, "source_lists: this device has no lists of rows of each "
                                         "source: leave it out");
    if (c->source_lists && !c->row_returns)
        return mwi_fail(MW_ERR_INVALID, "source_lists: only with row_returns");
    if (lists_of(info, c) > info->local_experts)
        return above("lists of rows, experts per GPU times GPUs, rounded up to a power of two",
                     lists_of(info, c), info->local_experts);
    if (c->balance_rows && !info->balance_rows)
        return mwi_fail(MW_ERR_CAPACITY,
                        "balance_rows: this device's hubs serve all GPUs in turn: leave it out");
    if (c->dispatch_throttle && !info->token_order)
        return mwi_fail(MW_ERR_CAPACITY,
                        "dispatch_throttle: this device does not throttle dispatch: leave it out");
    if (c->link_cycles > 1 && !info->link_rate)
        return mwi_fail(MW_ERR_CAPACITY,
                        "link_cycles: this device's links take a flit per cycle: leave it out");
    if ((c->packet_manager || c->scatter) && !info->packet_manager)
        return mwi_fail(MW_ERR_CAPACITY, "%s: this device's hubs merge no stores: leave it out",
                        c->packet_manager ? "packet_manager" : "scatter");
    if (c->cache_entries > info->cache_entries)
        return above("cache_entries", c->cache_entries, info->cache_entries);
    if (c->cache_entries && c->cache_entries != info->cache_entries && !info->cache_limit)
        return mwi_fail(MW_ERR_CAPACITY,
                        "cache_entries: this device's layers use all %u: leave it out",
                        info->cache_entries);
    if (c->cache_entries && (c->cache_entries < 16 || c->cache_entries & (c->cache_entries - 1)))
        return mwi_fail(MW_ERR_INVALID, "cache_entries: %u is no power of two from 16 on",
                        c->cache_entries);
    return 0;
}

static unsigned at_least(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

static void make_shifts(const struct mw_device_info *info, const struct mw_layer_config *c,
                        struct mw_layout *l)
{
    l->token_shift = mwi_log2_up(at_least(c->tokens_per_gpu, 1));
    l->n_shift = mwi_log2_up(info->gpus);
    l->k_shift = mwi_log2_up(c->k);
    // a row must begin with a group of four flits (expert_fetch.sv)
    l->row_shift = mwi_log2_up(at_least(c->row_bytes, 4 * info->flit_bytes));
    l->gate_shift = mwi_log2_up(at_least(4 * c->k, MW_MEM_ALIGN));
    l->cap_shift = mwi_log2_up(at_least(c->rows_per_expert, 1));
}

static int check_shifts(const struct mw_device_info *info, const struct mw_layer_config *c,
                        const struct mw_layout *l)
{
    uint64_t rows = lists_of(info, c) << l->cap_shift;
    if (c->rows_per_expert > info->rows)
        return above("rows per expert", c->rows_per_expert, info->rows);
    if (rows > info->rows)
        return above(
            c->source_lists
                ? "rows of all lists of a GPU, those of one rounded up to a power of two"
                : "rows of all experts of a GPU, those of one rounded up to a power of two",
            rows, info->rows);
    if (l->n_shift + l->token_shift > TOKEN_BITS)
        return above("tokens of all GPUs", UINT64_C(1) << (l->n_shift + l->token_shift),
                     1u << TOKEN_BITS);
    uint64_t copies = (uint64_t)c->received_rows << l->k_shift;
    if (copies > 1u << TOKEN_BITS)
        return above("received rows times k", copies, 1u << TOKEN_BITS);
    return 0;
}

/// Take `bytes` for a region. Sizes that are checked are below 2^60, and so is the sum of them.
static uint64_t take(struct mw_layout *l, uint64_t bytes)
{
    uint64_t at = l->end;
    l->end = (at + bytes + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static void take_buffers(struct mw_layout *l, const struct mw_layer_config *c)
{
    l->rt_bytes = (uint64_t)c->tokens_per_gpu * MW_ROUTE_BYTES;
    l->row_bytes = (uint64_t)c->tokens_per_gpu << l->row_shift;
    l->buffer[0] = (struct mw_feed_buffer){l->rt_base, l->xs_base, l->out_base};
    for (l->buffers = 1; l->buffers < c->buffers; l->buffers++) {
        struct mw_feed_buffer *b = &l->buffer[l->buffers];
        b->rt_base = take(l, l->rt_bytes);
        b->xs_base = take(l, l->row_bytes);
        b->out_base = take(l, l->row_bytes);
    }
}

static void take_regions(const struct mw_device_info *info, struct mw_layout *l,
                         const struct mw_layer_config *c)
{
    const bool unicast = c->received_rows > 0;
    const uint64_t experts = c->experts_per_gpu, rows = lists_of(info, c) << l->cap_shift,
                   tokens = c->tokens_per_gpu, received = c->received_rows;
    // stores into the space of 2^token_shift tokens' slots count as rows: gradients lie after it
    const uint64_t homes = c->gate_gradients ? UINT64_C(1) << l->token_shift : tokens;
    const uint64_t slots = unicast          ? tokens << l->n_shift
                           : c->row_returns ? homes << l->k_shift
                                            : 0;
    unsigned instrs = c->stream_instrs ? c->stream_instrs : info->stream_instrs;
    for (unsigned i = 0; i < MW_STREAMS; i++)
        l->stream[i] = take(l, (uint64_t)instrs * MW_INSTR_BYTES);
    l->rt_base = take(l, tokens * MW_ROUTE_BYTES);
    l->ce_base = take(l, 2 * experts);
    l->al_base = take(l, 4 * (experts << (l->n_shift + l->token_shift)));
    l->xs_base = take(l, tokens << l->row_shift);
    l->out_base = take(l, tokens << l->row_shift);
    take_buffers(l, c);
    l->yd_base = take(l, (unicast ? received << l->k_shift : rows) << l->row_shift);
    l->xd_base = take(l, (unicast ? received : rows) << l->row_shift);
    l->xd_cached = take(l, c->handle ? (unicast ? received : rows) << l->row_shift : 0);
    l->gt_base = take(l, unicast ? received * MW_META_BYTES : rows << l->gate_shift);
    l->cb_base = take(l, slots << l->row_shift);
    l->rl_base = take(
        l, c->switch_reductions ? (uint64_t)MW_LIST_BYTES << (l->n_shift + l->token_shift) : 0);
    l->load_base = l->xs_base;
    l->loaded_bytes = c->merge_loads ? c->row_bytes : 0;
    l->reds_counted = c->merge_loads && c->sum_gpus;
    l->scratch = take(l, c->scratch_bytes);
    l->dw_base = take(l, c->gate_gradients ? 4 * tokens << l->k_shift : 0);
    l->xf_base = l->xd_base;
    l->st_lo = unicast ? l->xd_base : c->row_returns ? l->cb_base : l->scratch;
    l->st_hi = l->end;
}

int mw_layout_make(struct mw_device *device, const struct mw_layer_config *config,
                   struct mw_layout *layout)
{
    MWI_NEED(device);
    MWI_NEED(config);
    MWI_NEED(layout);
    int status = mwi_check_open(device, __func__);
    return status ? status : mw_layout_of(&device->info, config, layout);
}

int mw_layout_of(const struct mw_device_info *info, const struct mw_layer_config *config,
                 struct mw_layout *layout)
{
    MWI_NEED(info);
    MWI_NEED(config);
    MWI_NEED(layout);
    struct mw_layer_config c;
    struct mw_layout l = {0};
    if (!info->gpus || !info->flit_bytes)
        return mwi_fail(MW_ERR_INVALID, "a device of %u GPUs with flits of %u bytes", info->gpus,
                        info->flit_bytes);
    int status = mwi_take_layer(&c, config);
    if (!status)
        status = mwi_check_sizes(info, &c);
    if (status)
        return status;
    make_shifts(info, &c, &l);
    if ((status = check_shifts(info, &c, &l)))
        return status;
    if (c.scratch_bytes > info->mem_bytes)
        return above("scratch bytes", c.scratch_bytes, info->mem_bytes);
    take_regions(info, &l, &c);
    if (l.end > info->mem_bytes)
        return above("bytes of memory per GPU", l.end, info->mem_bytes);
    *layout = l;
    return 0;
}
