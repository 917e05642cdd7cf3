// SPDX-License-Identifier: Apache-2.0
//
// Collectives besides those of experts, by alpha-beta: a latency per step of a ring, and bytes over
// the rate of the slowest link.
#ifndef MW_COST_COLLECTIVE_H
#define MW_COST_COLLECTIVE_H

#include "hardware/hardware.h"

/// Ranks of a collective: `ranks` GPUs that are `stride` apart in the order of all GPUs.
struct mw_group {
    unsigned ranks, stride;
};

/// Whether all ranks lie in one machine's switches.
bool mw_group_is_local(const struct mw_hardware *h, struct mw_group g);
/// Seconds of an all-gather or a reduce-scatter of `bytes` in all, of one rank's view. 0 with one
/// rank.
double mw_gather_seconds(const struct mw_hardware *h, struct mw_group g, double bytes);
/// Seconds of `bytes` from a GPU to the one `stride` further.
double mw_send_seconds(const struct mw_hardware *h, unsigned stride, double bytes);

#endif
