// SPDX-License-Identifier: Apache-2.0
//
// Counters of a layer, and the report of a device that makes no progress.
#include "core/registers.h"
#include "core/state.h"
#include "observe/stream_report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static int read_port(struct mw_device *d, unsigned port, struct mw_port_counters *c)
{
    uint32_t *const place[] = {
        &c->cycles,        &c->up_flits[0],   &c->up_flits[1],   &c->up_flits[2],
        &c->up_flits[3],   &c->down_flits[0], &c->down_flits[1], &c->down_flits[2],
        &c->down_flits[3], &c->up_payload,    &c->down_payload,  &c->rejected,
        &c->stall_output,  &c->stall_credit,  &c->discarded,     &c->dropped,
    };
    enum { COUNT = sizeof place / sizeof *place };
    struct mw_register list[COUNT] = {{.address = MWI_FABRIC(cycles)}};
    for (unsigned i = 1; i < COUNT; i++)
        list[i].address = MWI_FABRIC(counters) + 4 * (MWI_PORT_WORDS * port + i - 1);
    int status = mwi_read_list(d, list, COUNT);
    for (unsigned i = 0; i < COUNT && !status; i++)
        *place[i] = list[i].value;
    return status;
}

static int read_gpu(struct mw_device *d, unsigned gpu, struct mw_gpu_counters *c)
{
    uint32_t word = 0;
    const struct {
        uint32_t address;
        uint32_t *place;
    } wanted[] = {
        {MWI_NODE(gpu, status.stall_store), &c->stall_store},
        {MWI_NODE(gpu, status.part_empty), &c->part_empty},
        {MWI_NODE(gpu, status.stall_ctrl), &c->stall_ctrl},
        {MWI_NODE(gpu, status.link_idle), &c->link_idle},
        {MWI_NODE(gpu, status.mem_conflict), &c->mem_conflict},
        {MWI_NODE(gpu, status.expert_idle), &c->expert_idle},
        {MWI_NODE(gpu, status.expert_wait), &c->expert_wait},
        {MWI_NODE(gpu, status.alloc_hit), &c->alloc_hit},
        {MWI_NODE(gpu, status.alloc_miss), &c->alloc_miss},
        {MWI_NODE(gpu, status.rows_received), &c->rows_received},
        {MWI_NODE(gpu, status.tokens_done), &c->tokens_done},
        {MWI_NODE(gpu, status.retired), &c->retired},
        {MWI_NODE(gpu, status.expert_tiles), &c->expert_tiles},
        {MWI_NODE(gpu, status.error), &word},
        // these where there are such
        {MWI_NODE(gpu, status.rpm_in), &c->rpm_in},
        {MWI_NODE(gpu, status.rpm_out), &c->rpm_out},
        {MWI_NODE(gpu, status.rpm_merged), &c->rpm_merged},
        {MWI_NODE(gpu, status.rpm_full), &c->rpm_full},
        {MWI_NODE(gpu, status.rpm_timer), &c->rpm_timer},
    };
    enum { COUNT = sizeof wanted / sizeof *wanted, MANAGER = 5 };
    const unsigned count = COUNT - (d->info.packet_manager ? 0 : MANAGER);
    struct mw_register list[COUNT];
    for (size_t i = 0; i < count; i++)
        list[i].address = wanted[i].address;
    int status = mwi_read_list(d, list, count);
    for (size_t i = 0; i < count && !status; i++)
        *wanted[i].place = list[i].value;
    c->errors = MWI_GET(MW_NODE__STATUS__ERROR__COUNT, word);
    c->first_error = MWI_GET(MW_NODE__STATUS__ERROR__FIRST, word);
    return status;
}

int mw_counters_read(struct mw_device *device, struct mw_counters *counters)
{
    MWI_NEED(device);
    MWI_NEED(counters);
    *counters = (struct mw_counters){0};
    mwi_lock(device);
    uint32_t cycles = 0, error = 0;
    int status = mwi_check_well(device, __func__);
    if (!status)
        status = mwi_read(device, MWI_FABRIC(cycles), &cycles);
    if (!status)
        status = mwi_read(device, MWI_FABRIC(error), &error);
    counters->cycles = cycles;
    counters->switch_errors = MWI_GET(MW_FABRIC__ERROR__COUNT, error);
    counters->switch_first_error = MWI_GET(MW_FABRIC__ERROR__FIRST, error);
    counters->switch_error_port = MWI_GET(MW_FABRIC__ERROR__PORT, error);
    for (unsigned g = 0; g < device->info.gpus && !status; g++) {
        status = read_port(device, g, &counters->port[g]);
        if (!status)
            status = read_gpu(device, g, &counters->gpu[g]);
    }
    return mwi_unlock(device, status);
}

enum { MOST_PLACES = 8 }; ///< counters of a port that are read together
/// Read so many of a port's load_counters, from `first` on, to their places.
static int read_places(struct mw_device *d, unsigned port, unsigned first, uint32_t *const *place,
                       unsigned count)
{
    struct mw_register list[MOST_PLACES];
    for (unsigned i = 0; i < count; i++)
        list[i].address = MWI_FABRIC(load_counters) + 4 * (MWI_PORT_WORDS * port + first + i);
    int status = mwi_read_list(d, list, count);
    for (unsigned i = 0; i < count && !status; i++)
        *place[i] = list[i].value;
    return status;
}

static int read_loads(struct mw_device *d, unsigned port, struct mw_load_counters *c)
{
    uint32_t *const place[] = {
        &c->port[port].loads,        &c->port[port].fetches,
        &c->port[port].bypasses,     &c->port[port].evictions,
        &c->port[port].most_entries, &c->port[port].spread,
        &c->port[port].longest,      &c->kept[port],
    };
    enum { COUNT = sizeof place / sizeof *place };
    static_assert(sizeof place / sizeof *place <= MOST_PLACES, "room for all counters of loads");
    return read_places(d, port, 0, place, COUNT);
}

int mw_load_counters_read(struct mw_device *device, struct mw_load_counters *counters)
{
    MWI_NEED(device);
    MWI_NEED(counters);
    *counters = (struct mw_load_counters){0};
    mwi_lock(device);
    int status = mwi_check_well(device, __func__);
    const unsigned ports = device->info.merge_loads ? device->info.gpus : 0;
    for (unsigned p = 0; p < ports && !status; p++)
        status = read_loads(device, p, counters);
    return mwi_unlock(device, status);
}

static int read_sums(struct mw_device *d, unsigned port, struct mw_sum_counters *c)
{
    uint32_t *const place[] = {
        &c->port[port].reds,        &c->port[port].sums,         &c->port[port].parts,
        &c->port[port].saved_flits, &c->port[port].most_entries,
    };
    enum { COUNT = sizeof place / sizeof *place, FIRST = 8 };
    static_assert(sizeof place / sizeof *place <= MOST_PLACES, "room for all counters of sums");
    return read_places(d, port, FIRST, place, COUNT);
}

int mw_sum_counters_read(struct mw_device *device, struct mw_sum_counters *counters)
{
    MWI_NEED(device);
    MWI_NEED(counters);
    *counters = (struct mw_sum_counters){0};
    mwi_lock(device);
    int status = mwi_check_well(device, __func__);
    const unsigned ports = device->info.merge_reds ? device->info.gpus : 0;
    for (unsigned p = 0; p < ports && !status; p++)
        status = read_sums(device, p, counters);
    return mwi_unlock(device, status);
}

int mw_port_counters_read(struct mw_device *device, unsigned port,
                          struct mw_port_counters *counters)
{
    MWI_NEED(device);
    MWI_NEED(counters);
    if (port >= device->info.gpus)
        return mwi_fail(MW_ERR_INVALID, "port %u of %u", port, device->info.gpus);
    mwi_lock(device);
    int status = mwi_check_well(device, __func__);
    return mwi_unlock(device, status ? status : read_port(device, port, counters));
}

int mw_stream_position(struct mw_device *device, unsigned gpu, unsigned stream, unsigned *issued)
{
    MWI_NEED(device);
    MWI_NEED(issued);
    if (gpu >= device->info.gpus || stream >= MW_STREAMS)
        return mwi_fail(MW_ERR_INVALID, "stream %u of GPU %u: there are %d of each of %u", stream,
                        gpu, MW_STREAMS, device->info.gpus);
    mwi_lock(device);
    uint32_t word = 0;
    int status = mwi_check_well(device, __func__);
    if (!status)
        status = mwi_read(device, MWI_NODE(gpu, status.stream0) + 4 * stream, &word);
    *issued = word & MW_NODE__STATUS__STREAM0__ENDED_bm
                  ? MW_STREAM_INSTRS
                  : MWI_GET(MW_NODE__STATUS__STREAM0__INDEX, word);
    return mwi_unlock(device, status);
}

// ---- report -------------------------------------------------------------------------------------

uint64_t mw_total_cycles(struct mw_device *device)
{
    if (!device)
        return 0;
    mwi_lock(device);
    bool can = mwi_is_open(device) && device->transport->total_cycles;
    uint64_t cycles =
        can && !mwi_flush(device) ? device->transport->total_cycles(device->context) : 0;
    mwi_unlock(device, 0);
    return cycles;
}

/// Writes the names of the bits that are 0 ("busy") in a field of idle bits.
static void print_busy(FILE *out, uint32_t idle, const char *const *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!(idle >> i & 1))
            fprintf(out, " %s", names[i]);
}

static void report_gpu(FILE *out, struct mw_device *d, unsigned gpu, bool memory)
{
    static const char *const units[] = {"control", "send", "expert", "combine"};
    static const char *const hub[] = {"rx", "rx_store", "reduction", "control",
                                      "tx", "uplink",   "downlink",  "token_tracker"};
    uint32_t state;
    struct mw_gpu_counters c = {0};
    if (mwi_read(d, MWI_NODE(gpu, status.state), &state) || read_gpu(d, gpu, &c)) {
        fprintf(out, "GPU %u: %s\n", gpu, mw_message());
        return;
    }
    fprintf(out, "GPU %u: %s, %u rows complete, %u tokens finished, %u tiles; busy:", gpu,
            state & MW_NODE__STATUS__STATE__IDLE_bm ? "idle" : "not idle", c.rows_received,
            c.tokens_done, c.expert_tiles);
    print_busy(out, MWI_GET(MW_NODE__STATUS__STATE__UNIT_IDLE, state), units, 4);
    fputs(state & MW_NODE__STATUS__STATE__LOAD_BUSY_bm ? " load" : "", out);
    print_busy(out, MWI_GET(MW_NODE__STATUS__STATE__HUB_IDLE, state), hub, 8);
    fprintf(out, "%s\n", state & MW_NODE__STATUS__STATE__ROWS_DONE_bm ? "; rows done" : "");
    if (c.errors)
        fprintf(out, "GPU %u: %u errors, the first: %s\n", gpu, c.errors,
                mw_hw_strerror(c.first_error));
    const struct mwi_reached reached = {.rows = c.rows_received,
                                        .tokens = c.tokens_done,
                                        .tiles = c.expert_tiles,
                                        .rows_done = state & MW_NODE__STATUS__STATE__ROWS_DONE_bm};
    mwi_report_streams(out, d, gpu, memory, &reached);
}

/// Whether the device answers. `down` gets the ports that are down.
static bool report_fabric(FILE *out, struct mw_device *d, struct mw_gpu_set *down)
{
    uint32_t state = 0, cycles = 0, error = 0;
    if (mwi_read(d, MWI_FABRIC(state), &state) || mwi_read(d, MWI_FABRIC(cycles), &cycles) ||
        mwi_read(d, MWI_FABRIC(error), &error) || mwi_set_read(d, MWI_FABRIC(down), down)) {
        fprintf(out, "device: %s\n", mw_message());
        return false;
    }
    fprintf(out, "device: %u cycles since go; switch %s, links %s\n", cycles,
            state & MW_FABRIC__STATE__SWITCH_IDLE_bm ? "idle" : "busy",
            state & MW_FABRIC__STATE__LINKS_IDLE_bm ? "idle" : "busy");
    if (MWI_GET(MW_FABRIC__ERROR__COUNT, error))
        fprintf(out, "switch: %u errors, the first at input %u: %s\n",
                MWI_GET(MW_FABRIC__ERROR__COUNT, error), MWI_GET(MW_FABRIC__ERROR__PORT, error),
                mw_hw_strerror(MWI_GET(MW_FABRIC__ERROR__FIRST, error)));
    for (unsigned p = 0; p < d->info.gpus; p++)
        if (mwi_set_has(down, p))
            fprintf(out, "port %u is down\n", p);
    return true;
}

static void report_port(FILE *out, struct mw_device *d, unsigned port)
{
    struct mw_port_counters c = {0};
    if (read_port(d, port, &c))
        return;
    fprintf(out,
            "port %u: flits up %u %u %u %u, down %u %u %u %u (control, store, request, partial)\n",
            port, c.up_flits[0], c.up_flits[1], c.up_flits[2], c.up_flits[3], c.down_flits[0],
            c.down_flits[1], c.down_flits[2], c.down_flits[3]);
    if (c.discarded || c.dropped)
        fprintf(out, "port %u: %u packets for it discarded, %u of it cut short or not let in\n",
                port, c.discarded, c.dropped);
}

/// Whether the place of the instructions that the device executes is known: one layer runs.
static bool shows_instructions(const struct mw_device *d)
{
    return d->state.now == MW_STATE_RUNNING && d->state.fed.count <= 1;
}

char *mw_state_report(struct mw_device *device)
{
    char *text = NULL;
    size_t size = 0;
    if (!device)
        return NULL;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    mwi_lock(device);
    if (device->state.now == MW_STATE_UNKNOWN)
        fprintf(out, "device: what it does is not known: %s\n", device->state.why);
    const bool open = !mwi_check_open(device, "device");
    struct mw_gpu_set down = {{0}};
    bool memory = false;
    if (open)
        memory = report_fabric(out, device, &down) && shows_instructions(device);
    else
        fprintf(out, "%s\n", mw_message());
    for (unsigned g = 0; g < device->info.gpus && open; g++) {
        report_gpu(out, device, g, memory && !mwi_set_has(&down, g));
        report_port(out, device, g);
    }
    mwi_unlock(device, 0);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}
