// SPDX-License-Identifier: Apache-2.0
//
// See collective.h.
#include "cost/collective.h"

#include <math.h>

enum { LINKS = 2 }; ///< of a way through a switch

struct way {
    double seconds, rate; ///< latency; bytes per second
};

static struct way way_of(const struct mw_hardware *h, bool local)
{
    if (local)
        return (struct way){LINKS * h->link_ns * 1e-9, h->link_gbytes * 1e9};
    return (struct way){h->network_ns * 1e-9, h->network_gbytes * 1e9};
}

bool mw_group_is_local(const struct mw_hardware *h, struct mw_group g)
{
    return (g.ranks - 1) * g.stride < h->gpus && h->gpus % g.stride == 0;
}

/// Rings over all ports of a machine: its ranks share them, and no ring is faster than a link.
double mw_gather_seconds(const struct mw_hardware *h, struct mw_group g, double bytes)
{
    const struct way local = way_of(h, true), far = way_of(h, false);
    const double share = bytes / g.ranks;
    if (mw_group_is_local(h, g))
        return (g.ranks - 1) * (local.seconds + share / local.rate);
    const unsigned fit = h->gpus > g.stride ? h->gpus / g.stride : 1;
    const unsigned here = fit < g.ranks ? fit : g.ranks;
    const unsigned machines = (g.ranks + here - 1) / here;
    const double rate = fmin(here * far.rate, local.rate);
    return (machines - 1) * far.seconds + (g.ranks - machines) * local.seconds +
           (g.ranks - 1) * share / rate;
}

double mw_send_seconds(const struct mw_hardware *h, unsigned stride, double bytes)
{
    const struct way w = way_of(h, stride < h->gpus);
    return w.seconds + bytes / w.rate;
}
