// SPDX-License-Identifier: Apache-2.0
//
// Waiting for layers.
#ifndef MW_WAIT_H
#define MW_WAIT_H

#include "core/device.h"

/// As mw_wait for the layer of that number, under the lock, which it releases meanwhile.
int mwi_wait(struct mw_device *device, const struct mw_wait_options *options, uint64_t number,
             uint64_t *cycles);
/// Let the running layer advance for one slice.
int mwi_look(struct mw_device *device);

/// One step of waiting: let the device run, and report whether the condition is met.
typedef int (*mwi_step_fn)(struct mw_device *device, void *context, uint64_t cycles, bool *done);
/// Steps until that, or until nothing has moved for too long. The lock is released between slices
/// of a step, and while `progress` is called.
int mwi_run_to_done(struct mw_device *device, const struct mw_wait_options *options,
                    mwi_step_fn step, void *context);

#endif
