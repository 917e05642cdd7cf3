// SPDX-License-Identifier: Apache-2.0
//
// --hardware of every command: the parameters of the device that a machine sets and no option, and
// what the fabric cannot be.
#ifndef MW_HOST_MACHINE_H
#define MW_HOST_MACHINE_H

#include "device/device.h"
#include "hardware/derive.h"

/// GPUs and flit width, where they are 0. MW_EXIT_INPUT: no simulated device, or more GPUs than
/// the machine or the fabric has.
int mw_machine_sizes(const struct mw_hardware *hardware, const struct mw_device_choice *device,
                     unsigned *gpus, unsigned *flit_bytes, struct mw_error *err);
/// MW_EXIT_INPUT: links cannot be as long as `link_latency` cycles of `plane`.
int mw_machine_latency(const struct mw_hardware *hardware, const struct mw_plane *plane,
                       unsigned link_latency, struct mw_error *err);

#endif
