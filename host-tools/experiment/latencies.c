// SPDX-License-Identifier: Apache-2.0
#include "experiment/latencies.h"

int mw_latencies_read(struct mw_latencies *l, struct mw_device *device, unsigned port)
{
    uint32_t bins[MW_HISTOGRAM_BINS];
    int status = mw_histogram_read(device, port, bins);
    for (unsigned b = 0; b < MW_HISTOGRAM_BINS && !status; b++)
        l->bin[b] += bins[b];
    return status;
}

void mw_latencies_add(struct mw_latencies *l, const struct mw_latencies *other)
{
    for (unsigned b = 0; b < MW_HISTOGRAM_BINS; b++)
        l->bin[b] += other->bin[b];
}

uint64_t mw_latencies_packets(const struct mw_latencies *l)
{
    uint64_t sum = 0;
    for (unsigned b = 0; b < MW_HISTOGRAM_BINS; b++)
        sum += l->bin[b];
    return sum;
}

uint32_t mw_latencies_at(const struct mw_latencies *l, double share)
{
    uint64_t all = mw_latencies_packets(l), sum = l->bin[0];
    unsigned b = 0;
    while (b + 1 < MW_HISTOGRAM_BINS && (double)sum < share * (double)all)
        sum += l->bin[++b];
    return all ? mw_histogram_from(b + 1) - 1 : 0;
}

void mw_latencies_json(struct mw_json *j, const struct mw_latencies *l)
{
    mw_json_uint(j, "packets", mw_latencies_packets(l));
    mw_json_uint(j, "p50", mw_latencies_at(l, 0.5));
    mw_json_uint(j, "p99", mw_latencies_at(l, 0.99));
    mw_json_uint(j, "p99_9", mw_latencies_at(l, 0.999));
    mw_json_uint(j, "max", mw_latencies_at(l, 1));
    mw_json_array(j, "bins", true);
    for (unsigned b = 0; b < MW_HISTOGRAM_BINS; b++) {
        if (!l->bin[b])
            continue;
        mw_json_array(j, NULL, true);
        mw_json_uint(j, NULL, mw_histogram_from(b));
        mw_json_uint(j, NULL, l->bin[b]);
        mw_json_end(j);
    }
    mw_json_end(j);
}
