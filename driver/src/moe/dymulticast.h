// SPDX-License-Identifier: Apache-2.0
//
// Dynamic multicast objects, as handles see them. Fields are covered by the device's lock, but
// those that stay what they are since the object was made.
#ifndef MW_DYMULTICAST_H
#define MW_DYMULTICAST_H

#include "moeswitch.h"

struct mw_dymulticast {
    struct mw_device *device;
    unsigned block_bytes, k, experts, dispatch_type; ///< of its properties
    bool cached_handles, gate_gradients;             ///< as well
    unsigned experts_per_gpu;                        ///< most of a GPU
    struct mw_expert_place *places;                  ///< [experts], by expert
    unsigned holders; ///< the program, until it destroys the object, and handles
    bool destroyed;
    bool bound;
    struct mw_layer_config config;
    struct mw_layout layout;
};

/// Let an object go, under the lock of its device, which it ends.
void mwi_dymulticast_put(struct mw_dymulticast *object);

#endif
