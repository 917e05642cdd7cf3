// SPDX-License-Identifier: Apache-2.0
//
// Devices: opening, what they are, registers, memory, and the tables that outlive a layer.
#include "internal.h"

#include <stdlib.h>
#include <string.h>

// ---- opening --------------------------------------------------------------------------------------

void mw_open_defaults(struct mw_open_options *options)
{
    *options = (struct mw_open_options){
        .transport = "sim", .gpus = 8, .flit_bytes = 16, .link_latency = 1, .build = true};
}

static int read_info(struct mw_device *d)
{
    struct {
        uint32_t id, size, capacity, windows, tables, lookahead;
    } r;
    int status;
    if ((status = mwi_read(d, MWI_FABRIC(id), &r.id)) ||
        (status = mwi_read(d, MWI_FABRIC(size), &r.size)) ||
        (status = mwi_read(d, MWI_FABRIC(capacity), &r.capacity)) ||
        (status = mwi_read(d, MWI_FABRIC(windows), &r.windows)) ||
        (status = mwi_read(d, MWI_FABRIC(tables), &r.tables)) ||
        (status = mwi_read(d, MWI_FABRIC(lookahead), &r.lookahead)))
        return status;
    if (MWI_GET(MW_FABRIC__ID__MAGIC, r.id) != MWI_MAGIC)
        return mwi_fail(MW_ERR_VERSION, "identification 0x%x: not a moeswitch device", r.id);
    if (MWI_GET(MW_FABRIC__ID__MAJOR, r.id) != MWI_MAJOR)
        return mwi_fail(MW_ERR_VERSION, "the device has registers of version %u, the library %d",
                        MWI_GET(MW_FABRIC__ID__MAJOR, r.id), MWI_MAJOR);
    d->info = (struct mw_device_info){
        .gpus = MWI_GET(MW_FABRIC__SIZE__PORTS, r.size),
        .flit_bytes = MWI_GET(MW_FABRIC__SIZE__FLIT_BYTES, r.size),
        .mem_bytes = UINT64_C(1) << MWI_GET(MW_FABRIC__SIZE__MEM_LOG2, r.size),
        .banks = MWI_GET(MW_FABRIC__SIZE__BANKS, r.size),
        .rows = 1u << MWI_GET(MW_FABRIC__CAPACITY__ROWS_LOG2, r.capacity),
        .tokens = 1u << MWI_GET(MW_FABRIC__CAPACITY__TOKENS_LOG2, r.capacity),
        .local_experts = MWI_GET(MW_FABRIC__CAPACITY__LOCAL_EXPERTS, r.capacity),
        .experts = MWI_GET(MW_FABRIC__TABLES__EXPERTS, r.tables),
        .groups = MWI_GET(MW_FABRIC__TABLES__GROUPS, r.tables),
        .open_rows = MWI_GET(MW_FABRIC__WINDOWS__OPEN_ROWS, r.windows),
        .part_pkts = MWI_GET(MW_FABRIC__WINDOWS__PART_PKTS, r.windows),
        .store_pkts = MWI_GET(MW_FABRIC__WINDOWS__STORE_PKTS, r.windows),
        .rx_store_pkts = MWI_GET(MW_FABRIC__WINDOWS__RX_STORE_PKTS, r.windows),
        .window = MWI_GET(MW_FABRIC__LOOKAHEAD__MOST, r.lookahead),
        .max_latency = MWI_GET(MW_FABRIC__TABLES__MAX_LATENCY, r.tables),
    };
    return 0;
}

static int set_up(struct mw_device *d, const struct mw_open_options *o)
{
    int status = read_info(d);
    if (status)
        return status;
    if (d->info.gpus < 2 || d->info.gpus > MW_MAX_PORTS ||
        (d->info.flit_bytes != 8 && d->info.flit_bytes != 16))
        return mwi_fail(MW_ERR_VERSION, "the device claims %u GPUs and %u-byte flits", d->info.gpus,
                        d->info.flit_bytes);
    unsigned gpus = o->gpus ? o->gpus : d->info.gpus;
    unsigned flit_bytes = o->flit_bytes ? o->flit_bytes : d->info.flit_bytes;
    if (d->info.gpus != gpus || d->info.flit_bytes != flit_bytes)
        return mwi_fail(MW_ERR_INVALID,
                        "the device has %u GPUs and %u-byte flits, asked for were %u and %u",
                        d->info.gpus, d->info.flit_bytes, gpus, flit_bytes);
    if (o->link_latency > d->info.max_latency)
        return mwi_fail(MW_ERR_CAPACITY, "link latency %u: the device has at most %u cycles",
                        o->link_latency, d->info.max_latency);
    d->info.link_latency = o->link_latency;
    status = mwi_write(d, MWI_FABRIC(link), o->link_latency);
    return status ? status : mwi_flush(d);
}

static const struct mw_transport *find_transport(const struct mw_open_options *o)
{
    if (o->custom)
        return o->custom;
    static const struct mw_transport *const list[] = {&mwi_transport_sim, &mwi_transport_usb};
    for (size_t i = 0; o->transport && i < sizeof list / sizeof *list; i++)
        if (strcmp(o->transport, list[i]->name) == 0)
            return list[i];
    return NULL;
}

static int init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;
    if (pthread_mutexattr_init(&attr))
        return -1;
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    int status = pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
    return status;
}

int mw_open(const struct mw_open_options *options, struct mw_device **device)
{
    *device = NULL;
    const struct mw_transport *transport = find_transport(options);
    if (!transport)
        return mwi_fail(MW_ERR_NODEV, "transport %s: there is none of that name",
                        options->transport ? options->transport : "(null)");
    bool any = transport == &mwi_transport_usb; // a device there is as it is
    if (!(any && options->gpus == 0) && (options->gpus < 2 || options->gpus > MW_MAX_PORTS))
        return mwi_fail(MW_ERR_INVALID, "%u GPUs: 2 to %d are possible", options->gpus,
                        MW_MAX_PORTS);
    if (!(any && options->flit_bytes == 0) && options->flit_bytes != 8 && options->flit_bytes != 16)
        return mwi_fail(MW_ERR_INVALID, "%u-byte flits: 8 and 16 are possible",
                        options->flit_bytes);
    if (options->link_latency < 1)
        return mwi_fail(MW_ERR_INVALID, "link latency 0: at least 1 cycle");

    struct mw_device *d = calloc(1, sizeof *d);
    if (!d || init_lock(&d->lock)) {
        free(d);
        return mwi_fail(MW_ERR_NOMEM, "no memory for a device");
    }
    d->transport = transport;
    d->sweep = true;
    char text[400] = "";
    mwi_say_nothing();
    int status = transport->open(options, &d->context, text, sizeof text);
    if (status) {
        mwi_fail_also(status, "transport %s: %s", transport->name,
                      *text ? text : mw_strerror(status));
    } else {
        status = set_up(d, options);
        if (status)
            transport->close(d->context);
    }
    if (status) {
        pthread_mutex_destroy(&d->lock);
        free(d);
        return status;
    }
    *device = d;
    return 0;
}

void mw_close(struct mw_device *device)
{
    if (!device)
        return;
    device->transport->close(device->context);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

int mw_info(struct mw_device *device, struct mw_device_info *info)
{
    *info = device->info;
    return 0;
}

uint64_t mw_total_cycles(struct mw_device *device)
{
    mwi_lock(device);
    mwi_flush(device);
    uint64_t cycles =
        device->transport->total_cycles ? device->transport->total_cycles(device->context) : 0;
    mwi_unlock(device, 0);
    return cycles;
}

// ---- memory -----------------------------------------------------------------------------------------

static int check_transfers(const struct mw_device *d, const struct mw_transfer *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct mw_transfer *t = &list[i];
        if (t->gpu >= d->info.gpus)
            return mwi_fail(MW_ERR_INVALID, "transfer %zu: GPU %u of %u", i, t->gpu, d->info.gpus);
        if (t->address % MW_MEM_ALIGN || t->bytes % MW_MEM_ALIGN || (t->bytes && !t->data))
            return mwi_fail(MW_ERR_INVALID,
                            "transfer %zu: address 0x%llx, %zu bytes: multiples of %d and data "
                            "are needed",
                            i, (unsigned long long)t->address, t->bytes, MW_MEM_ALIGN);
        if (t->address > d->info.mem_bytes || t->bytes > d->info.mem_bytes - t->address)
            return mwi_fail(MW_ERR_RANGE, "transfer %zu: 0x%llx + %zu bytes: GPU %u has 0x%llx", i,
                            (unsigned long long)t->address, t->bytes, t->gpu,
                            (unsigned long long)d->info.mem_bytes);
    }
    return 0;
}

int mw_mem_write(struct mw_device *device, const struct mw_transfer *list, size_t count)
{
    mwi_lock(device);
    int status = check_transfers(device, list, count);
    if (!status)
        status = mwi_check_free(device, "mw_mem_write", list, count);
    if (!status)
        status = mwi_flush(device);
    if (!status)
        mwi_say_nothing();
    if (!status && (status = device->transport->mem_write(device->context, list, count)))
        mwi_fail_also(status, "writing GPU memory failed");
    return mwi_unlock(device, status);
}

int mw_mem_read(struct mw_device *device, const struct mw_transfer *list, size_t count)
{
    mwi_lock(device);
    int status = check_transfers(device, list, count);
    if (!status)
        status = mwi_check_free(device, "mw_mem_read", list, count);
    if (!status)
        status = mwi_flush(device);
    if (!status)
        mwi_say_nothing();
    if (!status && (status = device->transport->mem_read(device->context, list, count)))
        mwi_fail_also(status, "reading GPU memory failed");
    return mwi_unlock(device, status);
}

// ---- tables -----------------------------------------------------------------------------------------

/// One entry of the expert map, emap_t of rtl/hub/node_pkg.sv.
static uint32_t place_word(const struct mw_expert_place *p)
{
    return 1u << 11 | p->gpu << 6 | p->local_expert;
}

int mw_expert_map_set(struct mw_device *device, const struct mw_expert_place *places, size_t count)
{
    mwi_lock(device);
    int status = mwi_check_idle(device, "mw_expert_map_set");
    for (size_t i = 0; i < count && !status; i++) {
        const struct mw_expert_place *p = &places[i];
        if (p->gpu >= device->info.gpus)
            status = mwi_fail(MW_ERR_INVALID, "expert %u: GPU %u of %u", p->expert, p->gpu,
                              device->info.gpus);
        else if (p->expert >= device->info.experts || p->local_expert >= device->info.local_experts)
            status = mwi_fail(MW_ERR_CAPACITY,
                              "expert %u, index %u on its GPU: the device has %u experts, %u on "
                              "a GPU",
                              p->expert, p->local_expert, device->info.experts,
                              device->info.local_experts);
    }
    for (size_t i = 0; i < count && !status; i++)
        status = mwi_write(device, MWI_FABRIC(emap) + 4 * places[i].expert, place_word(&places[i]));
    return mwi_unlock(device, status);
}

int mw_partition_set(struct mw_device *device, unsigned gpu, uint32_t reachable)
{
    if (gpu >= device->info.gpus)
        return mwi_fail(MW_ERR_INVALID, "GPU %u of %u", gpu, device->info.gpus);
    mwi_lock(device);
    int status = mwi_check_idle(device, "mw_partition_set");
    if (!status)
        status = mwi_write(device, MWI_FABRIC(partitions) + 4 * gpu, reachable);
    return mwi_unlock(device, status);
}
