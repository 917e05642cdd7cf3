// SPDX-License-Identifier: Apache-2.0
//
// Ports that are down because their GPU misbehaves, and GPUs that are made to.
#include "core/registers.h"
#include "core/state.h"
#include "core/tables.h"

enum {
    PORT_POLLS = 100000, ///< a port that is flushed waits for rows of others, at most a few of
                         ///< their time limits
    LIMIT_MOST = 22,
};

static int check_port(const struct mw_device *d, unsigned gpu)
{
    return gpu < d->info.gpus ? 0 : mwi_fail(MW_ERR_INVALID, "GPU %u of %u", gpu, d->info.gpus);
}

static int read_down(struct mw_device *d, const char *call, struct mw_gpu_set *down)
{
    mwi_lock(d);
    int status = mwi_check_well(d, call);
    return mwi_unlock(d, status ? status : mwi_set_read(d, MWI_FABRIC(down), down));
}

int mw_ports_down_wide(struct mw_device *device, struct mw_gpu_set *down)
{
    MWI_NEED(device);
    MWI_NEED(down);
    struct mw_gpu_set got;
    int status = read_down(device, __func__, &got);
    if (!status)
        *down = got;
    return status;
}

int mw_ports_down(struct mw_device *device, uint32_t *mask)
{
    MWI_NEED(device);
    MWI_NEED(mask);
    struct mw_gpu_set got;
    int status = mwi_check_mask(device, __func__);
    if (!status)
        status = read_down(device, __func__, &got);
    if (!status)
        *mask = got.word[0];
    return status;
}

// Until the port is down, or up.
static int wait_for_port(struct mw_device *device, unsigned gpu, bool down)
{
    for (unsigned i = 0; i < PORT_POLLS; i++) {
        struct mw_gpu_set set;
        int status = mwi_set_read(device, MWI_FABRIC(down), &set);
        if (status || mwi_set_has(&set, gpu) == down)
            return status;
    }
    return mwi_fail(MW_ERR_TIMEOUT, "port %u does not %s", gpu, down ? "go down" : "come up");
}

int mw_port_disable(struct mw_device *device, unsigned gpu)
{
    MWI_NEED(device);
    int status = check_port(device, gpu);
    if (status)
        return status;
    mwi_lock(device);
    status = mwi_check_well(device, __func__);
    if (!status)
        status = mwi_write(device, MWI_FABRIC(ports), gpu | MW_FABRIC__PORTS__DOWN_bm);
    if (!status)
        status = wait_for_port(device, gpu, true);
    return mwi_unlock(device, status);
}

int mw_port_enable(struct mw_device *device, unsigned gpu)
{
    MWI_NEED(device);
    int status = check_port(device, gpu);
    if (status)
        return status;
    mwi_lock(device);
    struct mw_gpu_set down = {{0}};
    status = mwi_check_well(device, __func__);
    if (!status)
        status = mwi_set_read(device, MWI_FABRIC(down), &down);
    if (!status && !mwi_set_has(&down, gpu))
        return mwi_unlock(device, 0);
    if (!status)
        status = mwi_write(device, MWI_FABRIC(ports), gpu | MW_FABRIC__PORTS__UP_bm);
    if (!status)
        status = wait_for_port(device, gpu, false);
    // its registers are as after power-up, and its allocation table may be half written
    mwi_state_unconfigured(device);
    mwi_state_rows_lost(device, "mw_port_enable reset a GPU");
    return mwi_unlock(device, status);
}

int mw_port_limit(struct mw_device *device, unsigned period_log2)
{
    MWI_NEED(device);
    if (period_log2 > LIMIT_MOST)
        return mwi_fail(MW_ERR_INVALID, "a period of 2^%u cycles: at most 2^%d", period_log2,
                        LIMIT_MOST);
    mwi_lock(device);
    int status = mwi_check_well(device, __func__);
    return mwi_unlock(device, status ? status : mwi_write(device, MWI_FABRIC(limit), period_log2));
}

int mw_fault_set(struct mw_device *device, unsigned gpu, unsigned faults, unsigned after)
{
    MWI_NEED(device);
    int status = check_port(device, gpu);
    if (!status && (faults & ~(unsigned)MW_FAULT_ALL || after > UINT16_MAX * 64u))
        status = mwi_fail(MW_ERR_INVALID,
                          "faults 0x%x after %u cycles: expected bits of 0x%x, at most %u cycles",
                          faults, after, MW_FAULT_ALL, UINT16_MAX * 64u);
    if (status)
        return status;
    mwi_lock(device);
    status = mwi_check_idle(device, __func__);
    if (!status)
        status = mwi_write(device, MWI_NODE(gpu, fault),
                           faults | (after / 64) << MW_NODE__FAULT__AFTER_bp);
    return mwi_unlock(device, status);
}
