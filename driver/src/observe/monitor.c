// SPDX-License-Identifier: Apache-2.0
//
// Monitors of the switch's ports: latency histograms and time series.
#include "core/registers.h"
#include "core/state.h"

#include <stdlib.h>

enum {
    BINS = MW_MONITOR_BINS,
    SUB = 1 << MW_MONITOR_SUB_LOG2, ///< bins of an octave
    KEPT = MW_MONITOR_SAMPLES,
    WORDS = 2, ///< of a sample
};

_Static_assert((int)BINS == (int)MW_HISTOGRAM_BINS && (int)KEPT == (int)MW_SERIES_SAMPLES,
               "the public header has the device's numbers of bins and samples");

static int check_monitors(struct mw_device *d)
{
    uint32_t word = 0;
    int status = mwi_check_well(d, "the monitors");
    if (!status)
        status = mwi_read(d, MWI_FABRIC(monitor), &word);
    if (!status && !(word & MW_FABRIC__MONITOR__PRESENT_bm))
        status = mwi_fail(MW_ERR_CAPACITY, "the device has no monitors");
    return status;
}

int mw_monitor_set(struct mw_device *device, unsigned classes, unsigned interval)
{
    MWI_NEED(device);
    if (classes >= 1u << MW_NUM_CLASSES || interval == 1 || interval > UINT16_MAX)
        return mwi_fail(
            MW_ERR_INVALID,
            "classes 0x%x, interval %u: expected a mask of %d bits, 0 or 2 to %d cycles", classes,
            interval, MW_NUM_CLASSES, UINT16_MAX);
    mwi_lock(device);
    int status = mwi_check_idle(device, __func__);
    if (!status)
        status = check_monitors(device);
    if (!status)
        status = mwi_write(device, MWI_FABRIC(monitor),
                           MWI_PUT(MW_FABRIC__MONITOR__CLASSES, classes) |
                               MWI_PUT(MW_FABRIC__MONITOR__INTERVAL, interval));
    return mwi_unlock(device, status);
}

uint32_t mw_histogram_from(unsigned bin)
{
    if (bin < 2 * SUB)
        return bin;
    if (bin >= BINS)
        return 1u << MW_MONITOR_STAMP_BITS;
    return (SUB + bin % SUB) << (bin / SUB - 1);
}

int mw_histogram_read(struct mw_device *device, unsigned port, uint32_t bins[MW_HISTOGRAM_BINS])
{
    MWI_NEED(device);
    MWI_NEED(bins);
    if (port >= device->info.gpus)
        return mwi_fail(MW_ERR_INVALID, "port %u of %u", port, device->info.gpus);
    struct mw_register list[BINS];
    for (unsigned b = 0; b < BINS; b++)
        list[b].address = MWI_FABRIC(histogram) + 4 * (BINS * port + b);
    mwi_lock(device);
    int status = check_monitors(device);
    if (!status)
        status = mwi_read_list(device, list, BINS);
    for (unsigned b = 0; b < BINS && !status; b++)
        bins[b] = list[b].value;
    return mwi_unlock(device, status);
}

/// `count` samples of every port, from number `start` on, the oldest first: read in one go.
static int read_samples(struct mw_device *d, uint64_t start, size_t count, struct mw_sample *s)
{
    size_t ports = d->info.gpus, words = WORDS * ports * count;
    if (!count)
        return 0;
    struct mw_register *list = malloc(words * sizeof *list);
    if (!list)
        return mwi_fail(MW_ERR_NOMEM, "no memory for %zu samples", count);
    for (size_t i = 0; i < words; i++) {
        size_t sample = (start + i / WORDS / ports) % KEPT, port = i / WORDS % ports;
        list[i].address =
            MWI_FABRIC(series) + 4 * (uint32_t)(WORDS * (KEPT * port + sample) + i % WORDS);
    }
    int status = mwi_read_list(d, list, words);
    for (size_t i = 0; i < ports * count && !status; i++) {
        uint32_t flits = list[WORDS * i].value, waits = list[WORDS * i + 1].value;
        s[i] = (struct mw_sample){(uint16_t)flits, (uint16_t)(flits >> 16), (uint16_t)waits,
                                  (uint16_t)(waits >> 16)};
    }
    free(list);
    return status;
}

int mw_series_read(struct mw_device *device, uint64_t from, struct mw_sample *list, size_t max,
                   uint64_t *first, size_t *count)
{
    MWI_NEED(device);
    if (max)
        MWI_NEED(list);
    MWI_NEED(first);
    MWI_NEED(count);
    mwi_lock(device);
    uint32_t recorded = 0, now = 0;
    int status = check_monitors(device);
    if (!status)
        status = mwi_read(device, MWI_FABRIC(samples), &recorded);
    uint64_t oldest = recorded > KEPT ? recorded - KEPT : 0, start = from > oldest ? from : oldest;
    size_t got = start < recorded ? (size_t)(recorded - start) : 0;
    got = got < max ? got : max;
    if (!status)
        status = read_samples(device, start, got, list);
    if (!status)
        status = mwi_read(device, MWI_FABRIC(samples), &now);
    // what was overwritten meanwhile, or may just be: the place of the next sample is
    // that of the oldest one
    size_t stale = 0;
    if (now != recorded && (uint64_t)now + 1 > KEPT + start)
        stale = (size_t)(now + 1 - KEPT - start);
    stale = stale < got ? stale : got;
    for (size_t i = 0; i < (got - stale) * device->info.gpus; i++)
        list[i] = list[i + stale * device->info.gpus];
    *first = start + stale;
    *count = got - stale;
    return mwi_unlock(device, status);
}
