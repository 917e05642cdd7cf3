// SPDX-License-Identifier: Apache-2.0
//
// How long the phases of a layer take on a simulated device, under a system that runs one phase
// after the other. The device has no counter of it. Its streams show when they run which
// instruction, and such a system has a wait between dispatch and experts:
//
// - dispatch ends when the last GPU begins its experts. By then every row is in memory at every
//   GPU, and each GPU has seen that: the time of counts, fence and barrier is part of dispatch.
// - experts end when the last GPU's last expert instruction retires.
// - combine is the rest of the layer.
#ifndef MW_HOST_PHASES_H
#define MW_HOST_PHASES_H

#include "base/error.h"
#include "experiment/timeline.h"

/// Cycles of each phase, whose sum is the layer's.
struct mw_phase_cycles {
    bool known;
    uint64_t dispatch, expert, combine;
};

/// What is known while a layer runs.
struct mw_phases {
    struct mw_timeline *timeline; ///< gets the events too, or NULL
    unsigned gpus;
    bool begun[MW_MAX_PORTS], runs[MW_MAX_PORTS][MW_STREAMS];
    uint64_t begin[MW_MAX_PORTS], end[MW_MAX_PORTS]; ///< of a GPU's experts
};

/// A mw_watch_fn. `phases` is a struct mw_phases.
void mw_phases_take(void *phases, const struct mw_watch_event *event);
/// Watch `device`, which hands `timeline` (or NULL) what it would get alone. A device that shows
/// nothing leaves the phases unknown.
int mw_phases_start(struct mw_phases *p, struct mw_device *device, unsigned gpus,
                    struct mw_timeline *timeline, struct mw_error *err);
/// The phases of a layer of `cycles`, from its events.
void mw_phases_of(const struct mw_phases *p, uint64_t cycles, struct mw_phase_cycles *result);
/// The same, and no more events.
int mw_phases_stop(const struct mw_phases *p, struct mw_device *device, uint64_t cycles,
                   struct mw_phase_cycles *result, struct mw_error *err);

#endif
