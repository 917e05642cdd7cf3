// SPDX-License-Identifier: Apache-2.0
//
// What the monitors of the switch's ports recorded of one layer.
#ifndef MW_HOST_MONITOR_H
#define MW_HOST_MONITOR_H

#include "base/error.h"
#include "experiment/latencies.h"

struct mw_monitor {
    unsigned ports, interval;
    unsigned link_cycles; ///< that a flit takes on a link
    struct mw_latencies latencies[MW_MAX_PORTS];
    struct mw_sample
        *list; ///< [samples][ports], sample i is of cycles i * interval on; zeros where lost
    size_t samples, lost, room;
};

/// Interval that shows a layer of about `cycles` cycles well. It gives as many samples as can be
/// fetched while the layer runs, or as many as the device keeps.
unsigned mw_monitor_interval(uint64_t cycles, unsigned ports);
struct mw_run_params;
/// Make the ports record a layer of about `cycles` cycles, and the latencies of the packets of
/// `classes` (a mask of MW_CLS_). `*m` is allocated. If the device has no monitors and `params`
/// does not require them, it is NULL. Returns MW_EXIT_OK, or another status and a line in `err`.
int mw_monitor_start(struct mw_monitor **m, struct mw_device *device,
                     const struct mw_run_params *params, unsigned ports, uint64_t cycles,
                     unsigned classes, struct mw_error *err);
/// How often to poll a device whose clock waits for this program, so that no sample is lost.
uint64_t mw_monitor_step(const struct mw_monitor *m);
/// Fetch the samples that have come since the last time. Returns 0 or a MW_ERR_ code.
int mw_monitor_fetch(struct mw_monitor *m, struct mw_device *device);
/// The same at the end of the layer, and the histograms.
int mw_monitor_finish(struct mw_monitor *m, struct mw_device *device);
void mw_monitor_free(struct mw_monitor *m);

/// Of all ports together.
struct mw_latencies mw_monitor_all(const struct mw_monitor *m);

/// Two members, "latency" and "series", of the layer's object.
void mw_monitor_json(struct mw_json *j, const struct mw_monitor *m);

#endif
