// SPDX-License-Identifier: Apache-2.0
//
// A distribution of latencies in the switch, in the bins of the device's histograms.
#ifndef MW_HOST_LATENCIES_H
#define MW_HOST_LATENCIES_H

#include "formats/json.h"

#include "moeswitch.h"

struct mw_latencies {
    uint64_t bin[MW_HISTOGRAM_BINS]; ///< packets, see mw_histogram_from
};

/// Add what left at one port. Returns 0 or a MW_ERR_ code.
int mw_latencies_read(struct mw_latencies *l, struct mw_device *device, unsigned port);
void mw_latencies_add(struct mw_latencies *l, const struct mw_latencies *other);
uint64_t mw_latencies_packets(const struct mw_latencies *l);
/// Cycles that the share `share` (0 to 1) of the packets does not exceed: upper end of its
/// bin; 0 without packets.
uint32_t mw_latencies_at(const struct mw_latencies *l, double share);
/// Members packets, p50, p99, p99_9, max, and bins: [first latency, packets] of those with any.
void mw_latencies_json(struct mw_json *j, const struct mw_latencies *l);

#endif
