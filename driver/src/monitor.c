// SPDX-License-Identifier: Apache-2.0
//
// Monitors of the switch's ports: latency histograms and time series.
#include "internal.h"

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
    uint32_t word;
    int status = mwi_read(d, MWI_FABRIC(monitor), &word);
    if (!status && !(word & MW_FABRIC__MONITOR__PRESENT_bm))
        status = mwi_fail(MW_ERR_CAPACITY, "the device has no monitors");
    return status;
}

int mw_monitor_set(struct mw_device *device, unsigned classes, unsigned interval)
{
    if (classes >= 1u << MW_NUM_CLASSES || interval == 1 || interval > UINT16_MAX)
        return mwi_fail(
            MW_ERR_INVALID,
            "classes 0x%x, interval %u: expected a mask of %d bits, 0 or 2 to %d cycles", classes,
            interval, MW_NUM_CLASSES, UINT16_MAX);
    mwi_lock(device);
    int status = mwi_check_idle(device, "mw_monitor_set");
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

/// One sample of every port.
static int read_sample(struct mw_device *d, uint64_t sample, struct mw_sample *s)
{
    struct mw_register list[WORDS * MW_MAX_PORTS];
    unsigned ports = d->info.gpus;
    for (unsigned i = 0; i < WORDS * ports; i++)
        list[i].address = MWI_FABRIC(series) +
                          4 * WORDS * (uint32_t)(KEPT * (i / WORDS) + sample % KEPT) +
                          4 * (i % WORDS);
    int status = mwi_read_list(d, list, WORDS * (size_t)ports);
    for (unsigned p = 0; p < ports && !status; p++) {
        uint32_t flits = list[WORDS * p].value, waits = list[WORDS * p + 1].value;
        s[p] = (struct mw_sample){(uint16_t)flits, (uint16_t)(flits >> 16), (uint16_t)waits,
                                  (uint16_t)(waits >> 16)};
    }
    return status;
}

int mw_series_read(struct mw_device *device, uint64_t from, struct mw_sample *list, size_t max,
                   uint64_t *first, size_t *count)
{
    mwi_lock(device);
    uint32_t recorded = 0, now = 0;
    int status = check_monitors(device);
    if (!status)
        status = mwi_read(device, MWI_FABRIC(samples), &recorded);
    uint64_t oldest = recorded > KEPT ? recorded - KEPT : 0, start = from > oldest ? from : oldest;
    size_t got = start < recorded ? (size_t)(recorded - start) : 0;
    got = got < max ? got : max;
    for (size_t i = 0; i < got && !status; i++)
        status = read_sample(device, start + i, list + i * device->info.gpus);
    if (!status)
        status = mwi_read(device, MWI_FABRIC(samples), &now);
    // what was overwritten meanwhile, or may just be: the place of the next sample is that of the oldest one
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
