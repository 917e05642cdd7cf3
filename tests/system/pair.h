// SPDX-License-Identifier: Apache-2.0
//
// Runs two models of one fabric with the same calls. Both must answer equally in the same cycle:
// registers, host streams and done. At the end memories, counters and monitors must be equal.
// Layers of every size run with random limits, latencies and stalls. Meanwhile the test reads,
// writes, disables and enables ports, makes GPUs misbehave, and resets. With one model alone, that
// model compares by itself.
#ifndef MW_TEST_PAIR_H
#define MW_TEST_PAIR_H

#include "layers.h"

struct pair_models {
    const char *path[2]; ///< the second may be NULL
    const char *name[2];
    unsigned gpus, flit_bytes;
    size_t area; ///< of each GPU's memory that is written at first, and compared at the end
    bool small;  ///< a device in the sizes of synth-check: no window, no monitor
};

/// Layers in sequence, with a RESET now and then.
void pair_any_layers(const struct pair_models *models, unsigned layers);
/// GPUs misbehave, ports go down and up, and partitions change during layers. Then RESET interrupts
/// this, and a layer must be right.
void pair_what_goes_wrong(const struct pair_models *models, unsigned layers);
/// In the middle of a layer each port in turn goes down and comes up again, twice. This resets its
/// node alone, and the others continue.
void pair_ports_again(const struct pair_models *models);

#endif
