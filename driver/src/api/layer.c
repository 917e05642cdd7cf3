// SPDX-License-Identifier: Apache-2.0
//
// A layer on the device: its registers, and go.
#include "api/layer.h"

#include "api/layout.h"
#include "core/layer_sizes.h"
#include "core/registers.h"
#include "core/state.h"
#include "core/struct_size.h"
#include "core/tables.h"

#include <assert.h>
#include <string.h>

enum {
    QUIET_CYCLES = 200000,  ///< beside what the layer's own times explain
    SWEEP_POLLS = 10000000, ///< each is some cycles
    SWEEP_LOOKS = 64,       ///< of them in one request
    SWEEP_PAUSE = 256,      ///< ... after which a mw_combine may be ended
};

// ---- registers ----------------------------------------------------------------------------------

struct reg_value {
    uint32_t offset; ///< in a node
    uint32_t value;
};

#define REG(name) (uint32_t) offsetof(mw_node_t, name)
enum { MAX_REGS = 40 };

/// Cycles that pass on a link after each flit.
static unsigned link_wait(const struct mw_layer_config *c)
{
    return c->link_cycles ? c->link_cycles - 1 : 0;
}

/// Of the entries of the allocator's cache that the layer uses.
static unsigned cache_log2(const struct mw_device_info *info, const struct mw_layer_config *c)
{
    enum { USUAL = 512 };
    const unsigned few = info->cache_entries < USUAL ? info->cache_entries : USUAL;
    return mwi_log2_up(c->cache_entries ? c->cache_entries : few);
}

static uint32_t expert_register(const struct mw_layer_config *c)
{
    return MWI_PUT(MW_NODE__EXPERT__TILE, c->tile) |
           MWI_PUT(MW_NODE__EXPERT__EXPERT_CYCLES, c->expert_cycles);
}

/// Upper limit of the store credits of an uplink. Kept answers enter by the same queues: they have
/// the rest.
static unsigned store_credits(const struct mw_layer_config *c, const struct mw_device_info *info)
{
    const unsigned most = info->store_pkts - MW_KEPT_STORES;
    return c->keep_answers && (!c->store_credits || c->store_credits > most) ? most
                                                                             : c->store_credits;
}

/// The registers of one GPU. Returns how many.
static unsigned node_registers(struct reg_value *r, const struct mw_device *d,
                               const struct mw_layer_config *c, const struct mw_layout *l,
                               unsigned gpu, unsigned tokens, unsigned experts, unsigned streams)
{
    const struct mw_device_info *info = &d->info;
    const struct reg_value all[] = {
        {REG(shape), MWI_PUT(MW_NODE__SHAPE__K, c->k) | MWI_PUT(MW_NODE__SHAPE__TOKENS, tokens)},
        {REG(shifts), MWI_PUT(MW_NODE__SHIFTS__TOKEN_SHIFT, l->token_shift) |
                          MWI_PUT(MW_NODE__SHIFTS__N_SHIFT, l->n_shift) |
                          MWI_PUT(MW_NODE__SHIFTS__K_SHIFT, l->k_shift) |
                          MWI_PUT(MW_NODE__SHIFTS__ROW_SHIFT, l->row_shift) |
                          MWI_PUT(MW_NODE__SHIFTS__GATE_SHIFT, l->gate_shift) |
                          MWI_PUT(MW_NODE__SHIFTS__CAP_SHIFT, l->cap_shift) |
                          MWI_PUT(MW_NODE__SHIFTS__CACHE_LOG2, cache_log2(info, c))},
        {REG(row), MWI_PUT(MW_NODE__ROW__ROW_BYTES, c->row_bytes) |
                       MWI_PUT(MW_NODE__ROW__LOCAL_EXPERTS, experts)},
        {REG(xs_base), MWI_BASE(l->xs_base)},
        {REG(rt_base), MWI_BASE(l->rt_base)},
        {REG(xd_base), MWI_BASE(c->handle == MW_HANDLE_CACHED ? l->xd_cached : l->xd_base)},
        {REG(yd_base), MWI_BASE(l->yd_base)},
        {REG(gt_base), MWI_BASE(l->gt_base)},
        {REG(al_base), MWI_BASE(l->al_base)},
        {REG(out_base), MWI_BASE(l->out_base)},
        {REG(cb_base), MWI_BASE(l->cb_base)},
        {REG(ce_base), MWI_BASE(l->ce_base)},
        {REG(rl_base), MWI_BASE(l->rl_base)},
        {REG(st_lo), MWI_BASE(l->st_lo)},
        {REG(st_hi), MWI_BASE(l->st_hi)},
        {REG(stream_base0), MWI_BASE(l->stream[0])},
        {REG(stream_base1), MWI_BASE(l->stream[1])},
        {REG(stream_base2), MWI_BASE(l->stream[2])},
        {REG(stream_base3), MWI_BASE(l->stream[3])},
        {REG(streams),
         MWI_PUT(MW_NODE__STREAMS__ENABLE, streams) |
             MWI_PUT(MW_NODE__STREAMS__START_DELAY, c->launch_cycles + c->start_delay * gpu)},
        {REG(expert), expert_register(c)},
        {REG(partial), MWI_PUT(MW_NODE__PARTIAL__ENABLE, c->partial_tiles) |
                           MWI_PUT(MW_NODE__PARTIAL__WAIT_CYCLES, c->partial_wait)},
        {REG(window),
         MWI_PUT(MW_NODE__WINDOW__IN_FLIGHT, c->in_flight) |
             MWI_PUT(MW_NODE__WINDOW__OPEN_ROWS, c->open_rows ? c->open_rows : info->open_rows)},
        {REG(credits), MWI_PUT(MW_NODE__CREDITS__STORE, store_credits(c, info)) |
                           MWI_PUT(MW_NODE__CREDITS__PART, c->part_credits) |
                           MWI_PUT(MW_NODE__CREDITS__CTRL, c->ctrl_credits) |
                           MWI_PUT(MW_NODE__CREDITS__THROTTLE, c->throttle)},
        {REG(uses), MWI_PUT(MW_NODE__USES__ADDER_BYPASS, c->adder_bypass) |
                        MWI_PUT(MW_NODE__USES__OWN_BY_ADDER, c->own_by_adder) |
                        MWI_PUT(MW_NODE__USES__BALANCE_ROWS, c->balance_rows) |
                        MWI_PUT(MW_NODE__USES__TARGET_LIST_CACHE, c->target_list_cache) |
                        MWI_PUT(MW_NODE__USES__SWITCH_REDUCTIONS, c->switch_reductions) |
                        MWI_PUT(MW_NODE__USES__TILE_REDUCTIONS, c->tile_reductions) |
                        MWI_PUT(MW_NODE__USES__MERGE_LOADS, c->merge_loads) |
                        MWI_PUT(MW_NODE__USES__DISPATCH_THROTTLE, c->dispatch_throttle) |
                        MWI_PUT(MW_NODE__USES__ROW_RETURNS, c->row_returns) |
                        MWI_PUT(MW_NODE__USES__PACKET_MANAGER, c->packet_manager) |
                        MWI_PUT(MW_NODE__USES__SOURCE_LISTS, c->source_lists)},
        {REG(merge), MWI_PUT(MW_NODE__MERGE__TIMER, c->rpm_timer) |
                         MWI_PUT(MW_NODE__MERGE__SCATTER, c->scatter)},
        {REG(link), MWI_PUT(MW_NODE__LINK__WAIT_CYCLES, link_wait(c))},
        {REG(lead), MWI_PUT(MW_NODE__LEAD__ROWS, c->throttle_lead)},
        {REG(dispatch_throttle), MWI_PUT(MW_NODE__DISPATCH_THROTTLE__AHEAD, c->throttle_ahead) |
                                     MWI_PUT(MW_NODE__DISPATCH_THROTTLE__IDLE, c->throttle_idle)},
        // these where there are such
        {REG(loads), MWI_PUT(MW_NODE__LOADS__FIRST, c->load_first) |
                         MWI_PUT(MW_NODE__LOADS__EXPERT, c->load_expert) |
                         MWI_PUT(MW_NODE__LOADS__PARTS, mwi_load_parts(c))},
        {REG(load_base), MWI_BASE(l->load_base)},
        {REG(red_rows), MWI_PUT(MW_NODE__RED_ROWS__FIRST, c->sum_first) |
                            MWI_PUT(MW_NODE__RED_ROWS__COUNT, mwi_row_reds(c))},
    };
    enum { LOADS = 2, REDS = 1 };
    const unsigned without = info->merge_reds ? 0 : REDS + (info->merge_loads ? 0 : LOADS);
    unsigned count = sizeof all / sizeof *all - without;
    static_assert(sizeof all / sizeof *all + 4 <= MAX_REGS, "room for all registers");
    for (unsigned i = 0; i < count; i++)
        r[i] = all[i];
    if (info->row_types)
        r[count++] = (struct reg_value){
            REG(dispatch_row), MWI_PUT(MW_NODE__DISPATCH_ROW__BYTES, mwi_dispatch_bytes(c)) |
                                   MWI_PUT(MW_NODE__DISPATCH_ROW__KIND, c->dispatch_type)};
    if (info->gate_gradients) {
        r[count++] = (struct reg_value){REG(xf_base), MWI_BASE(l->xf_base)};
        r[count++] = (struct reg_value){REG(dw_base), MWI_BASE(l->dw_base)};
    }
    if (info->cached_handle)
        r[count++] = (struct reg_value){
            REG(handle), MWI_PUT(MW_NODE__HANDLE__EPOCH, mwi_state_kept_epoch(d)) |
                             MWI_PUT(MW_NODE__HANDLE__CACHED, c->handle == MW_HANDLE_CACHED)};
    return count;
}

int mwi_check_config(const struct mw_device *d, const struct mw_layer_config *c)
{
    int status = mwi_check_settings(c);
    if (status)
        return status;
    if (c->launch_cycles + c->start_delay * (uint64_t)(d->info.gpus - 1) > 65535)
        return mwi_fail(MW_ERR_INVALID,
                        "start_delay, launch_cycles: the last GPU may start 65535 cycles late");
    return mwi_check_sizes(&d->info, c);
}

#define NODES_ALL(reg) (MW_MAP_NODES_ALL + (uint32_t)offsetof(mw_node_t, reg))

unsigned mwi_moved_registers(const struct mw_device *d, const struct mw_layer_config *c,
                             const struct mw_layout *l, struct mw_register list[MWI_MOVED])
{
    const bool cached = c->handle == MW_HANDLE_CACHED;
    const struct mw_register all[] = {
        {NODES_ALL(rt_base), MWI_BASE(l->rt_base)},
        {NODES_ALL(xs_base), MWI_BASE(l->xs_base)},
        {NODES_ALL(out_base), MWI_BASE(l->out_base)},
        {NODES_ALL(xd_base), MWI_BASE(cached ? l->xd_cached : l->xd_base)},
        {NODES_ALL(yd_base), MWI_BASE(l->yd_base)},
        {NODES_ALL(ce_base), MWI_BASE(l->ce_base)},
        {NODES_ALL(stream_base0), MWI_BASE(l->stream[0])},
        {NODES_ALL(stream_base1), MWI_BASE(l->stream[1])},
        {NODES_ALL(stream_base2), MWI_BASE(l->stream[2])},
        {NODES_ALL(stream_base3), MWI_BASE(l->stream[3])},
        {NODES_ALL(expert), expert_register(c)},
    };
    enum { BASES = sizeof all / sizeof *all };
    static_assert(BASES + 3 == MWI_MOVED, "room for all registers");
    unsigned count = BASES;
    memcpy(list, all, sizeof all);
    if (d->info.gate_gradients) {
        list[count++] = (struct mw_register){NODES_ALL(xf_base), MWI_BASE(l->xf_base)};
        list[count++] = (struct mw_register){NODES_ALL(dw_base), MWI_BASE(l->dw_base)};
    }
    if (d->info.cached_handle)
        list[count++] = (struct mw_register){
            NODES_ALL(handle), cached ? MWI_PUT(MW_NODE__HANDLE__EPOCH, mwi_state_kept_epoch(d)) |
                                            MWI_PUT(MW_NODE__HANDLE__CACHED, 1)
                                      : 0};
    return count;
}

int mwi_check_layout(const struct mw_device *d, const struct mw_layout *l)
{
    const uint64_t address[] = {
        l->stream[0], l->stream[1], l->stream[2], l->stream[3], l->rt_base, l->ce_base,  l->al_base,
        l->xs_base,   l->out_base,  l->yd_base,   l->xd_base,   l->gt_base, l->cb_base,  l->rl_base,
        l->st_lo,     l->st_hi,     l->load_base, l->xf_base,   l->dw_base, l->xd_cached};
    for (unsigned i = 0; i < sizeof address / sizeof *address; i++)
        if (address[i] % MW_BASE_UNIT || address[i] > d->info.mem_bytes)
            return mwi_fail(MW_ERR_INVALID,
                            "the layout has address 0x%llx: expected a multiple of %d, at most "
                            "0x%llx",
                            (unsigned long long)address[i], MW_BASE_UNIT,
                            (unsigned long long)d->info.mem_bytes);
    if (l->token_shift > 15 || l->n_shift > 15 || l->k_shift > 15 || l->row_shift > 15 ||
        l->gate_shift > 15 || l->cap_shift > 31)
        return mwi_fail(MW_ERR_INVALID, "the layout has a shift that does not fit its register");
    return 0;
}

static int check_own(const struct mw_device *d, const struct mw_layer_config *c,
                     const unsigned *tokens, const unsigned *experts, unsigned streams)
{
    if (streams >= 1u << MW_STREAMS)
        return mwi_fail(MW_ERR_INVALID, "streams 0x%x: there are %d", streams, MW_STREAMS);
    for (unsigned g = 0; g < d->info.gpus; g++)
        if (tokens[g] > c->tokens_per_gpu || experts[g] > c->experts_per_gpu)
            return mwi_fail(MW_ERR_INVALID,
                            "GPU %u: %u tokens and %u experts, the layout has %u and %u", g,
                            tokens[g], experts[g], c->tokens_per_gpu, c->experts_per_gpu);
    return 0;
}

static int write_nodes(struct mw_device *d, const struct mw_layer_config *c,
                       const struct mw_layout *l, const unsigned *tokens, const unsigned *experts,
                       unsigned streams)
{
    int status = 0;
    for (unsigned g = 0; g < d->info.gpus && !status; g++) {
        struct reg_value r[MAX_REGS];
        unsigned count = node_registers(r, d, c, l, g, tokens[g], experts[g], streams);
        for (unsigned i = 0; i < count && !status; i++)
            status = mwi_write(d, MWI_NODE(g, shape) + r[i].offset, r[i].value);
    }
    return status;
}

static int write_loads(struct mw_device *d, const struct mw_layer_config *c)
{
    return !d->info.merge_loads
               ? 0
               : mwi_write(d, MWI_FABRIC(loads),
                           MWI_PUT(MW_FABRIC__LOADS__FIRST, c->load_first) |
                               MWI_PUT(MW_FABRIC__LOADS__ENTRIES, c->merge_entries) |
                               MWI_PUT(MW_FABRIC__LOADS__PARTS, mwi_load_parts(c)) |
                               MWI_PUT(MW_FABRIC__LOADS__KEEP, c->keep_answers) |
                               MWI_PUT(MW_FABRIC__LOADS__ENABLE, c->merge_loads));
}

static int write_fetches(struct mw_device *d, const struct mw_layer_config *c)
{
    return !d->info.merge_loads ? 0 : mwi_write(d, MWI_FABRIC(fetches), c->fetch_cycles);
}

static int write_sums(struct mw_device *d, const struct mw_layer_config *c)
{
    return !d->info.merge_reds ? 0
                               : mwi_write(d, MWI_FABRIC(sums),
                                           MWI_PUT(MW_FABRIC__SUMS__ENTRIES, c->sum_entries) |
                                               MWI_PUT(MW_FABRIC__SUMS__CYCLES, c->sum_cycles) |
                                               MWI_PUT(MW_FABRIC__SUMS__PUSHES, c->sum_gpus > 0));
}

int mwi_configure(struct mw_device *d, const struct mw_layer_config *config,
                  const struct mw_layout *layout, const unsigned *tokens, const unsigned *experts,
                  unsigned streams)
{
    mwi_state_unconfigured(d);
    int status = mwi_write(d, MWI_FABRIC(credits),
                           MWI_PUT(MW_FABRIC__CREDITS__STORE, config->down_store_credits) |
                               MWI_PUT(MW_FABRIC__CREDITS__PART, config->down_part_credits) |
                               MWI_PUT(MW_FABRIC__CREDITS__WAIT_CYCLES, link_wait(config)) |
                               MWI_PUT(MW_FABRIC__CREDITS__THROTTLE, config->down_throttle));
    if (!status)
        status = mwi_write(d, MWI_FABRIC(lookahead),
                           MWI_PUT(MW_FABRIC__LOOKAHEAD__PACKETS, config->window));
    if (!status)
        status = mwi_write(d, MWI_FABRIC(rows),
                           MWI_PUT(MW_FABRIC__ROWS__ROW_BYTES, config->row_bytes) |
                               MWI_PUT(MW_FABRIC__ROWS__ROW_SHIFT, layout->row_shift) |
                               MWI_PUT(MW_FABRIC__ROWS__TOKEN_SHIFT, layout->token_shift) |
                               MWI_PUT(MW_FABRIC__ROWS__TILES, config->tile_reductions) |
                               MWI_PUT(MW_FABRIC__ROWS__ENABLE, config->switch_reductions));
    if (!status)
        status = write_loads(d, config);
    if (!status)
        status = write_fetches(d, config);
    if (!status)
        status = write_sums(d, config);
    if (!status)
        status = write_nodes(d, config, layout, tokens, experts, streams);
    if (!status)
        status = mwi_flush(d);
    if (!status) {
        d->configured = (struct mwi_configured){.config = *config, .layout = *layout};
        memcpy(d->configured.tokens, tokens, d->info.gpus * sizeof *tokens);
        mwi_moved_registers(d, config, layout, d->configured.moved);
    }
    if (!status)
        mwi_state_configured(d, config, layout, tokens,
                             QUIET_CYCLES + 2ull * config->tile * config->expert_cycles +
                                 config->partial_wait + config->launch_cycles +
                                 config->start_delay * (uint64_t)d->info.gpus);
    return status;
}

int mw_layer_configure(struct mw_device *device, const struct mw_layer_config *config,
                       const struct mw_layout *layout, const unsigned *tokens,
                       const unsigned *experts, unsigned streams)
{
    MWI_NEED(device);
    MWI_NEED(config);
    MWI_NEED(layout);
    MWI_NEED(tokens);
    MWI_NEED(experts);
    struct mw_layer_config c;
    int status = mwi_take_layer(&c, config);
    if (status)
        return status;
    mwi_lock(device);
    status = mwi_check_idle(device, __func__);
    if (!status)
        status = mwi_check_config(device, &c);
    if (!status)
        status = mwi_check_layout(device, layout);
    if (!status)
        status = check_own(device, &c, tokens, experts, streams);
    if (!status && c.handle == MW_HANDLE_CACHED)
        status = mwi_check_kept(device, __func__, &c, layout);
    if (!status)
        status = mwi_configure(device, &c, layout, tokens, experts, streams);
    return mwi_unlock(device, status);
}

// ---- go -----------------------------------------------------------------------------------------

/// Clear the allocation tables. A caller that ends it leaves a device that may continue it.
static int sweep(struct mw_device *d, const struct mwi_pause *pause)
{
    const uint64_t resets = d->state.resets;
    int status = mwi_write(d, MWI_FABRIC(control), MW_FABRIC__CONTROL__SWEEP_bm);
    // A simulated device advances only while it is polled, so many reads in one list save round
    // trips.
    struct mw_register looks[SWEEP_LOOKS];
    unsigned count = d->transport->cfg_list ? SWEEP_LOOKS : 1;
    for (unsigned i = 0; i < SWEEP_POLLS && !status; i += count) {
        for (unsigned k = 0; k < count; k++)
            looks[k].address = MWI_FABRIC(state);
        status = mwi_read_list(d, looks, count);
        if (!status && !(looks[count - 1].value & MW_FABRIC__STATE__SWEEP_BUSY_bm))
            return 0;
        if (!status && pause && i / SWEEP_PAUSE != (i + count) / SWEEP_PAUSE)
            status = mwi_pause(d, pause);
    }
    if (!mwi_is_open(d) || d->state.resets != resets)
        return status;
    if (!status)
        status = mwi_fail(MW_ERR_TIMEOUT, "the allocation tables are not cleared");
    return mwi_state_lost(d, status); // it may continue
}

int mwi_launch(struct mw_device *d, const struct mwi_pause *pause, bool again)
{
    bool first = false;
    unsigned epoch = again ? mwi_state_last_epoch(d) : mwi_state_epoch(d, d->state.handle, &first);
    int status = mwi_groups_load(d);
    if (!status && first)
        status = sweep(d, pause);
    if (!status)
        status = mwi_write(d, MWI_FABRIC(epoch), epoch);
    if (!status)
        status = mwi_write(d, MWI_FABRIC(control), MW_FABRIC__CONTROL__GO_bm);
    if (!status)
        status = mwi_flush(d);
    if (!status && again)
        mwi_state_continued(d);
    else if (!status)
        mwi_state_started(d);
    return status;
}

int mw_launch(struct mw_device *device)
{
    MWI_NEED(device);
    mwi_lock(device);
    int status = mwi_check_launch(device, __func__);
    if (!status)
        status = mwi_map_load(device, NULL, 0);
    if (!status)
        status = mwi_launch(device, NULL, false);
    return mwi_unlock(device, status);
}
